package host

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/host/kinds"
	"github.com/oomdoc/oomdoc/rules/program/limits"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// inNamespace is "-n rl " where the log names the pod's namespace.
func inNamespace(c *ledger.Case) string {
	if ns, ok := c.Fact("namespace"); ok && ns.Text != "" {
		return "-n " + ns.Text + " "
	}
	return ""
}

func podFigures(c *ledger.Case) map[string]string {
	out := hostFigures(c)
	out["available"], out["request"], out["lived"], out["restarts"] = "", "", "", ""
	if n, ok := c.Fact("restarts"); ok && n.Count != nil && n.Count.Value > 1 {
		out["restarts"] = n.Count.Text
	}
	if ran, ok := c.Fact("ran_seconds"); ok && ran.Count != nil {
		out["lived"] = lived(int(ran.Count.Value))
	}
	if f := c.F(); f.Free != nil {
		out["available"] = f.Free.String()
	}
	code, _ := c.Fact("exit_code")
	out["exited"], out["mapped"], out["injected"], out["counts"] = exited(code.Text), "", "", counted(c)
	out["others"], out["either"], out["models"] = "", "either the limit is far too low for the program, or other processes and files in memory (an `emptyDir` with medium Memory, /dev/shm) fill it", ""
	if servesModels(c) {
		out["models"] = "A server of models loads libraries of several hundred MB and passes the weights through RAM: several GiB."
	}
	if tableOfOne(c) {
		out["others"], out["either"] = units.Amount(besideVictim(c)), ""
	}
	if whichPod(c) != nil && !named(c) {
		out["injected"] = "A proxy that a mesh puts in (`istio-proxy`) has annotations instead: `sidecar.istio.io/proxyMemoryLimit`."
	}
	if n := mapped(c); n >= 16<<20 {
		out["mapped"] = units.Amount(n)
	}
	if r, ok := c.Fact("memory_request"); ok {
		out["request"] = r.Text
	}
	return out
}

// exited says what an exit code beside OOMKilled tells of who was killed.
func exited(code string) string {
	switch code {
	case "0":
		return "Exit code 0 with OOMKilled: the kernel killed a child process (a worker, a subprocess, one end of a pipe) at the container's own limit, and the main process ended as if all were well. The pod counts as completed, but do not trust its result. On the node `dmesg -T` names the process"
	case "", "137":
		return "The kernel ended a process of the container at the container's own memory limit"
	}
	return "Exit code " + code + " with OOMKilled: the kernel killed a child process at the container's own limit, and the main process then gave up"
}

// lived says what the time that a container ran tells.
func lived(seconds int) string {
	switch {
	case seconds < 120:
		return fmt.Sprintf("It ran for %d seconds, so what it loads at its start does not fit.", seconds)
	case seconds < 3*3600:
		return fmt.Sprintf("It ran for %d minutes.", seconds/60)
	}
	return fmt.Sprintf("It ran for %d hours: a slow climb is more likely than one large load.", seconds/3600)
}

// resources is what to write into a pod's specification. Where the log shows
// nothing to reckon from the number is the reader's to put in.
func resources(c *ledger.Case, look, put string) []step.Step {
	to, model := wanted(c, "Gi"), "8Gi"
	if to == "" {
		if little(c) && !servesModels(c) {
			model = "512Mi"
		}
		if guest(c) {
			put = "what the container needs, and a few hundred MiB"
		} else if servesModels(c) {
			put = "later the peak that you measured, and a quarter"
		}
		return []step.Step{
			{Kind: "shell", Text: look},
			{Kind: "config", Text: "resources:\n  requests: {memory: " + model + "}   # " + model + ": put " + put + "\n  limits: {memory: " + model + "}"},
		}
	}
	return []step.Step{{Kind: "config", Text: fmt.Sprintf("resources:\n  requests: {memory: %s}\n  limits: {memory: %[1]s}", to)}}
}

func evictedSteps(c *ledger.Case) []step.Step {
	return resources(c, "kubectl top pod "+inNamespace(c)+"--containers   # what each takes now; again at its peak", "the peak and a quarter")
}

func podSteps(c *ledger.Case) []step.Step {
	return resources(c, "kubectl describe pod "+inNamespace(c)+"POD | grep -A2 -i -E 'limits|requests'", "twice today's limit")
}

// replicaPod is the name that a Deployment gives its pods: its own, the hash of
// the template and five letters.
var replicaPod = regexp.MustCompile(`^([a-z0-9-]{1,50})-[a-z0-9]{8,10}-[a-z0-9]{5}$`)

// limitOfPod sets the limit of the Deployment that the pod's name tells, else in
// the specification.
func limitOfPod(c *ledger.Case) []step.Step {
	pod, _ := c.Fact("pod")
	name, to := replicaPod.FindStringSubmatch(pod.Text), wanted(c, "Gi")
	if name == nil || to == "" {
		return append(whichPod(c), podSteps(c)...)
	}
	only := ""
	if own, ok := c.Fact("container"); ok {
		only = "-c " + own.Text + " "
	}
	return []step.Step{{Kind: "shell", Text: fmt.Sprintf("kubectl set resources deployment %s %s%s--requests=memory=%s --limits=memory=%[4]s", name[1], inNamespace(c), only, to)}}
}

// little is less than any server of models holds once it runs.
func little(c *ledger.Case) bool {
	rss := c.F().KilledRSS
	return rss != nil && rss.Bytes < 256<<20 && withSwap(c) == 0
}

// servesModels: what was killed runs models, by its name or by the log.
func servesModels(c *ledger.Case) bool {
	victim, _ := c.Fact("victim")
	return ledger.RunsModels(c) || slices.Contains([]string{"tritonserver", "ollama", "llama-server", "text-generation", "VLLM::EngineCor", "VLLM::EngineCore"}, victim.Text)
}

// mapped is what the victim held beside its private memory: files and memory that
// it shares, which a limit counts as well.
func mapped(c *ledger.Case) int64 {
	return ledger.Sized(c, "victim_file") + ledger.Sized(c, "victim_shmem")
}

// guest: what was killed is the virtual machine in which a pod runs.
func guest(c *ledger.Case) bool {
	victim, _ := c.Fact("victim")
	return capped(c) && c.In("kubernetes") && kinds.VirtualMachine(victim.Text)
}

// proxied: what was killed is the proxy that a service mesh puts into others' pods.
func proxied(c *ledger.Case) bool {
	victim, _ := c.Fact("victim")
	own, _ := c.Fact("container")
	return capped(c) && c.In("kubernetes") && (kinds.Proxy(victim.Text) || own.Text == "istio-proxy" || own.Text == "linkerd-proxy")
}

// podUID is the pod's own number in a cgroup's path, which systemd writes with "_".
var podUID = regexp.MustCompile(`pod([0-9a-f]{8}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{4}[-_][0-9a-f]{12})`)

// whichPod names the pod of which the log shows the number alone.
func whichPod(c *ledger.Case) []step.Step {
	uid := podUID.FindStringSubmatch(limits.CgroupPath(c))
	if _, known := c.Fact("pod"); known || uid == nil {
		return nil
	}
	return []step.Step{{Kind: "shell", Text: "kubectl get pods -A -o custom-columns=NS:.metadata.namespace,POD:.metadata.name,UID:.metadata.uid,CONTAINERS:.spec.containers[*].name | grep " + strings.ReplaceAll(uid[1], "_", "-") + "   # whose it was"}}
}

// besideVictim is what the kernel's table lists for all processes but the one that
// was killed.
func besideVictim(c *ledger.Case) int64 {
	victim, sum := killedPID(c), int64(0)
	for _, p := range c.Facts.Tasks {
		if p.PID != victim {
			sum += p.Bytes
		}
	}
	return sum
}

func killedPID(c *ledger.Case) int {
	victim, ok := c.Fact("victim")
	if !ok || victim.Count == nil {
		return -1
	}
	return int(victim.Count.Value)
}

// tableOfOne: the kernel's table lists the victim, and next to nothing beside it.
func tableOfOne(c *ledger.Case) bool {
	for _, p := range c.Facts.Tasks {
		if p.PID == killedPID(c) {
			return p.Bytes > 4*besideVictim(c)
		}
	}
	return false
}

// atStart: the container ended within minutes, so that nothing climbed.
func atStart(c *ledger.Case) bool {
	ran, ok := c.Fact("ran_seconds")
	return ok && ran.Count != nil && ran.Count.Value < 120
}

// forHours: the container had run for hours, so that something climbed.
func forHours(c *ledger.Case) bool {
	ran, ok := c.Fact("ran_seconds")
	return ok && ran.Count != nil && ran.Count.Value >= 3*3600
}

// cgroupStats is how the kernel's report of a cgroup begins (up to 5.2); what it
// calls cache are files, those in memory included.
var cgroupStats = regexp.MustCompile(`cache:(\d{1,14})KB rss:(\d{1,14})KB`)

// counted says what a limit counts, as far as the kernel's report leaves it open.
func counted(c *ledger.Case) string {
	for _, x := range c.Facts.Facts {
		k := cgroupStats.FindStringSubmatch(x.Text)
		if x.Name != "cgroup" || k == nil {
			continue
		}
		files, _ := ledger.Whole(k[1])
		if own, _ := ledger.Whole(k[2]); own > 20*files {
			return "The kernel's report counts " + units.Amount(own<<10) + " of memory of its processes and " + units.Amount(files<<10) + " of files, so it is no file in memory."
		}
	}
	if tableOfOne(c) {
		return "The kernel's table shows next to nothing beside it in that container."
	}
	return "All processes of the container count, and so do files in memory (an `emptyDir` with medium Memory, /dev/shm)."
}

// named: the log shows which process was killed.
func named(c *ledger.Case) bool {
	_, ok := c.Fact("victim")
	return ok
}

var kubernetesCards = []cause.Card{
	{
		ID: "kubernetes/node-pressure", Kinds: []fact.Kind{fact.Evicted}, Said: []string{"NodeHasInsufficientMemory", "KubeletHasInsufficientMemory"}, Unsaid: []string{"low on resource", "node had condition"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "reports that a node is short of RAM (MemoryPressure)",
		Means:    "The kubelet sets this condition while less than its threshold is available on the node (100 MiB unless it was set). It takes no new pods of the class BestEffort until then, and evicts pods that use more than they requested. NodeHasNoDiskPressure and NodeHasSufficientPID beside it are good news.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Find the pods that fill the node", Told: "Put in the node's name. Lower, move or restart the one far above its request; one that keeps climbing has a leak:", Kind: "shell", Text: "kubectl describe node NODE | sed -n '/Conditions/,/Addresses/p; /Non-terminated/,/Events/p'\nkubectl top pod --all-namespaces --sort-by=memory | head", Cost: "free"},
			{Fix: "raise_memory_limit", Title: "Set requests to what the pods really use", Told: "The scheduler fills a node by requests (`resources.requests.memory`), whatever is used. With requests that are too low it puts too many pods there.", Cost: "fewer pods for each node"},
		},
		Sources: []string{"https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/", "https://kubernetes.io/docs/tasks/administer-cluster/reserve-compute-resources/"},
	},
	{
		ID: "kubernetes/evicted", Kinds: []fact.Kind{fact.Evicted},
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: podFigures,
		Headline: "evicted the pod because its node ran low on RAM",
		Means:    "The kubelet evicts pods when its node runs low on RAM[[ ({available} was left)]]. The pod's limit plays no part: a pod that reaches it shows OOMKilled. Pods that use more than they requested go first, so a pod with no request, or one that is too low, goes before its neighbours. [[This one used {held} and had requested {request}. ]]Either this pod or a neighbour filled the node.",
		Not:      "Raising the limit alone: it plays no part in an eviction.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the memory request to what it really uses", Told: "The scheduler then places the pod where that much is free, and a pod below its request is evicted last.[[ {wanted} is {basis}.]] Set it in the Deployment or Job; a bare pod has to be created again.", Steps: evictedSteps, Cost: "Pending while no node has that free; OOMKilled above it"},
			{Fix: "close_other_apps", Title: "Check which pods fill the node", Told: "`kubectl top node; kubectl top pod --all-namespaces | sort -rnk4` shows it. Raise the requests of pods that are far above theirs; a pod that keeps climbing has a leak.", Cost: "Free"},
			{Fix: "lower_num_workers", Title: "Use less memory, or a larger node", Told: "Fewer workers, or less data in memory at once; or choose a larger node with `nodeSelector`. Save results to a persistent volume: an eviction deletes the pod's own files.", Cost: "Time, or money"},
		},
		Sources: []string{"https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/", "https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/"},
	},
	{
		ID: "kubernetes/virtual-machine", Kinds: []fact.Kind{fact.KernelKill}, If: guest, Figures: podFigures,
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ended the pod's virtual machine at the pod's memory limit[[ of {limit}]]",
		Means:    "{victim} is a virtual machine that runs in a pod (Kata Containers, KubeVirt): the pod is charged for all of it, its kernel and agent included.[[ It held {held} of private memory]][[ and {mapped} of files and shared memory, which is where the guest's RAM is]]. So the limit has to be far above what the container inside needs; the node may have had plenty of RAM.",
		Not:      "A larger node or more replicas: the limit of each pod stays the same.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the pod's limit, or count the machine apart", Ways: []cause.Way{
				{For: "The pod", Text: "a few hundred MiB for the machine itself, beside what the container needs:"},
				{For: "All pods of Kata", Text: "`overhead.podFixed.memory` of its RuntimeClass is added to each pod's limit; or `sandbox_cgroup_only = false` in its configuration.toml, which holds only the container's own part to it"},
			}, Steps: podSteps, Cost: "less room for other pods"},
			{Fix: "upgrade_version", Title: "If it came with an update, compare the releases", Told: "The default size of the machine (`default_memory`) and what the pod is charged for differ between releases.", Cost: "free to look"},
		},
		Sources: []string{"kata-containers/docs/design/host-cgroups.md", "kata-containers/docs/how-to/how-to-size-sandbox-overhead-runtime-rs.md", "https://kubernetes.io/docs/concepts/scheduling-eviction/pod-overhead/"},
	},
	{
		ID: "kubernetes/proxy", Kinds: []fact.Kind{fact.ContainerKill, fact.KernelKill}, If: proxied, Figures: podFigures,
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ended the mesh's proxy at its container's memory limit[[ of {limit}]]",
		Means:    "It is the proxy that the service mesh puts into the pod, at the limit of its own container; the program beside it has another.[[ It held {held}.]] A proxy holds the configuration of every service and endpoint that it is told of, and the connections that are open.[[ {lived}]][[ It was restarted {restarts} times.]]",
		Not:      "`resources` of the program's own container: the proxy is not in there.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the proxy's limit", Told: "Under `spec.template.metadata` of the Deployment (Linkerd: `config.linkerd.io/proxy-memory-limit`); for all of Istio's proxies `values.global.proxy.resources`.[[ {wanted} is {basis}.]]", Kind: "config", Text: "annotations:\n  sidecar.istio.io/proxyMemory: 1Gi        # 1Gi: put twice today's limit\n  sidecar.istio.io/proxyMemoryLimit: 1Gi", Cost: "less room for other pods"},
			{Fix: "lower_batch_size", Title: "Istio: tell it fewer services", Told: "By default each proxy is told of the whole mesh. A `Sidecar` resource in its namespace names what it needs:", Kind: "config", Text: "apiVersion: networking.istio.io/v1\nkind: Sidecar\nmetadata: {name: default}\nspec:\n  egress:\n  - hosts: [\"./*\", \"istio-system/*\"]", Cost: "other services must be listed"},
			{Fix: "upgrade_version", If: when.Not(atStart), Title: "If it climbs for days, update the mesh", Kind: "shell", Text: "watch -n 10 kubectl top pod --containers", Told: "A steady climb is a leak, of connections or of the proxy; a larger limit only postpones the kill.", Cost: "free to look"},
		},
		Sources: []string{"https://istio.io/latest/docs/reference/config/annotations/", "https://istio.io/latest/docs/reference/config/networking/sidecar/", "https://linkerd.io/2/reference/proxy-configuration/"},
	},
	{
		ID: "kubernetes/limit-small", Kinds: []fact.Kind{fact.KernelKill}, If: func(c *ledger.Case) bool { return capped(c) && c.In("kubernetes") && little(c) }, Figures: podFigures,
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ended the container at its memory limit[[ of {limit}]]; {victim} held only {held}",
		Means:    "The kernel ended {victim} at the limit of the pod; the node may have had plenty of RAM. {held} [[and {mapped} of files and shared memory ]]is little: [[the limit is far too low for it, since the kernel's table shows {others} for all other processes together]][[{either}]]. If nobody set that limit, a LimitRange of the namespace did.",
		Not:      "A larger node or more replicas: the limit of each pod stays the same.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the memory limit", Told: "[[{models} ]]Start well above the need, measure the peak (`kubectl top pod --containers`), then lower it. `kubectl get limitrange` shows a default of the namespace.", Steps: podSteps, Cost: "less room for other pods"},
			{Fix: "empty_cache", If: when.Not(tableOfOne), Title: "Check what else fills the limit", Told: "While it runs, in the container: `ps aux --sort=-rss | head; df -h /dev/shm`, and volumes with `medium: Memory`.", Cost: "free"},
		},
		Sources: []string{"linux/mm/memcontrol.c", "https://kubernetes.io/docs/concepts/policy/limit-range/", "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/"},
	},
	{
		ID: "kubernetes/prometheus", Kinds: []fact.Kind{fact.ContainerKill}, Said: []string{"prometheus/prometheus:"}, Figures: podFigures,
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ended Prometheus at its container's memory limit[[ of {limit}]] (OOMKilled)",
		Means:    "Prometheus holds the newest two to three hours of every series in RAM, and at a start reads them back from its write-ahead log, which can take more than it needs later.[[ {lived}]][[ It was restarted {restarts} times.]] So a limit that was once enough can end each new start.",
		Not:      "A larger node or more replicas: the limit of each pod stays the same.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the limit, and the request with it", Told: "[[{wanted} is {basis}. ]]With the Prometheus operator it stands in the Prometheus resource (`spec.resources`; Helm: `prometheus.prometheusSpec.resources`), which undoes a change to the StatefulSet or pod.", Kind: "config", Text: "resources:\n  requests: {memory: 8Gi}   # 8Gi: put twice today's limit\n  limits: {memory: 8Gi}", Cost: "Less room for other pods"},
			{Fix: "lower_batch_size", Title: "Keep fewer series", Told: "Status, TSDB Status in its web page lists the metrics and labels with most series. Drop them with `metric_relabel_configs`, scrape fewer targets, or less often.", Cost: "What is dropped is not stored"},
			{Fix: "empty_cache", Title: "If it fails at each start, and the newest hours may be lost", Told: "Delete the folder `wal` in its data volume while it is stopped: it then starts without reading it back.", Cost: "The newest hours of data"},
		},
		Sources: []string{"prometheus/docs/storage.md", "prometheus-operator/Documentation/api-reference/api.md", "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/"},
	},
	{
		ID: "kubernetes/limit", Kinds: []fact.Kind{fact.ContainerKill, fact.KernelKill}, If: func(c *ledger.Case) bool { return capped(c) && c.In("kubernetes") },
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: podFigures,
		Headline: "ended the container at its memory limit[[ of {limit}]] (OOMKilled)",
		Means:    "{exited}; the node may have had plenty of RAM. [[The process that was killed held {held}. ]]{counts}[[ {lived}]][[ It was restarted {restarts} times.]]",
		Not:      "A larger node or more replicas: the limit of each pod stays the same.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the limit, and the request with it", Told: "[[{wanted} is {basis}. ]]Set it in the Deployment, Job or Helm values; for a pod that an operator makes, in the operator's own resource. A change to the pod alone is undone.[[ {injected}]]", Steps: limitOfPod, Cost: "Less room for other pods"},
			{Fix: "lower_num_workers", Title: "Keep {victim} below the limit", If: when.All(named, inPython), Told: "Run fewer workers (`--workers 2`, `num_workers=2`, `Pool(2)`): each holds its own copy of the data, and the default counts the node's cores. Read data in parts or memory-mapped; load a model in 16 bit, from safetensors.", Cost: "Some throughput"},
			boundDaemon,
			{Fix: "lower_num_workers", Title: "Reduce what runs in the container", If: when.All(named, when.Not(when.Any(inPython, known))), Told: "{victim} may be one process of several. Run fewer workers or threads (many defaults count the node's cores, not the container's), with smaller caches and inputs.", Cost: "Some throughput"},
			{Fix: "stream_dataset", If: when.Any(when.All(when.Not(named), when.Not(atStart)), forHours), Title: "See whether it climbs to the new limit as well", Kind: "shell", Text: "watch -n 10 kubectl top pod --containers", Told: "A steady climb is a leak or a cache without a bound, and a larger limit only postpones the kill: update the program, or look for that setting.", Cost: "Free"},
		},
		Sources: []string{"https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/", "https://kubernetes.io/docs/tasks/configure-pod-container/assign-memory-resource/", "https://kubernetes.io/docs/reference/kubectl/generated/kubectl_set/kubectl_set_resources"},
	},
}
