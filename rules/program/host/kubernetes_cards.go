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
	out["bound"] = kinds.OfLimit(out["bound"])
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
	out["others"], out["either"], out["models"] = "", "either the limit is far too low for the program, or other processes and files in memory (/dev/shm, an `emptyDir` with medium Memory) fill it", ""
	if servesModels(c) {
		out["models"] = "A model server needs several GiB: libraries of several hundred MB, and the weights pass through RAM."
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
		return "Exit code 0 with OOMKilled: the kernel killed a child process (a worker, a subprocess) at the container's own limit, and the main process ended as if all were well: do not trust its result"
	case "", "137":
		return "The kernel ended a process of the container because the container reached its own memory limit"
	}
	return "Exit code " + code + " with OOMKilled: the kernel killed a child process at the container's own limit, and the main process then gave up"
}

// lived says what the time that a container ran tells.
func lived(seconds int) string {
	switch {
	case seconds < 120:
		return fmt.Sprintf("It ran for only %d seconds, so what it loads at its start does not fit.", seconds)
	case seconds < 3*3600:
		return fmt.Sprintf("It ran for %d minutes.", seconds/60)
	}
	return fmt.Sprintf("It ran for %d hours, so memory more likely climbed slowly than jumped.", seconds/3600)
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

// proxySteps are the annotations that set a proxy's limit.
func proxySteps(c *ledger.Case) []step.Step {
	to, note := wanted(c, "Gi"), ""
	if to == "" {
		to, note = "1Gi", "        # 1Gi: at least twice today's limit"
	}
	return step.Paste("config", "annotations:\n  sidecar.istio.io/proxyMemory: "+to+note+"\n  sidecar.istio.io/proxyMemoryLimit: "+to)(c)
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
		Means:    "The kubelet sets this condition while a node has less than its threshold of RAM left (100 MiB by default). Until that ends, it evicts pods that use more than they requested, and accepts no new pods without requests. NodeHasNoDiskPressure and NodeHasSufficientPID beside it are good news.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Find the pods that fill the node", Told: "Replace NODE by the node's name. Look for a pod far above its request: move it, lower its use, or restart it. If it keeps climbing, it leaks.", Kind: "shell", Text: "kubectl describe node NODE | sed -n '/Conditions/,/Addresses/p; /Non-terminated/,/Events/p'\nkubectl top pod --all-namespaces --sort-by=memory | head", Cost: "free"},
			{Fix: "raise_memory_limit", Title: "Set requests to what the pods really use", Told: "The scheduler fills a node by `resources.requests.memory`, not by real use. If requests are too low, it puts too many pods there.", Cost: "fewer pods on each node"},
		},
		Sources: []string{"https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/", "https://kubernetes.io/docs/tasks/administer-cluster/reserve-compute-resources/"},
	},
	{
		ID: "kubernetes/evicted", Kinds: []fact.Kind{fact.Evicted},
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: podFigures,
		Headline: "evicted the pod because its node ran low on RAM",
		Means:    "The kubelet evicts pods when the whole node runs low on RAM[[ ({available} was left)]]. Pods that use more than they requested go first, so a pod with no request, or a low one, goes before its neighbours. [[This one used {held} and had requested {request}. ]]This pod or a neighbour filled the node.",
		Not:      "Raising only the limit: it plays no part in an eviction.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the memory request to what the pod really uses", Told: "The scheduler then places the pod where that much is free, and it is evicted last.[[ {wanted} is {basis}.]] Set it in the Deployment or Job; a bare pod has to be created again.", Steps: evictedSteps, Cost: "it stays pending while no node has that much free"},
			{Fix: "close_other_apps", Title: "Find out which pods fill the node", Told: "`kubectl top node; kubectl top pod -A --sort-by=memory | head` shows it. Raise the requests of pods that use far more than theirs. A pod that keeps climbing leaks.", Cost: "free"},
			{Fix: "lower_num_workers", Title: "Use less memory, or a larger node", Told: "Use fewer workers or load less data at once, or choose a larger node with `nodeSelector`. Save results to a persistent volume: an eviction deletes the pod's own files.", Cost: "time, or money"},
		},
		Sources: []string{"https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/", "https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/"},
	},
	{
		ID: "kubernetes/virtual-machine", Kinds: []fact.Kind{fact.KernelKill}, If: guest, Figures: podFigures,
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "killed the pod's virtual machine at the pod's memory limit[[ of {limit}]]",
		Means:    "{victim} is a virtual machine that runs the pod (Kata Containers, KubeVirt). The pod pays for all of it, its kernel and agent included.[[ It held {held} of private memory]][[ and {mapped} of files and shared memory, where the guest's RAM is]]. So the limit has to be well above what the container inside needs.",
		Not:      "A larger node or more replicas: the limit of each pod stays the same.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the pod's limit above what the container needs", Ways: []cause.Way{
				{For: "The pod", Text: "add a few hundred MiB for the machine itself, as in the block below"},
				{For: "All pods of Kata", Text: "set `overhead.podFixed.memory` in its RuntimeClass, which is added to each pod's limit. Or `sandbox_cgroup_only = false` in configuration.toml: then only the container's own part counts"},
			}, Steps: podSteps, Cost: "less room for other pods"},
			{Fix: "upgrade_version", Title: "If it came with an update, compare the releases", Told: "The machine's default size (`default_memory`) and what the pod pays for differ between releases.", Cost: "free to look"},
		},
		Sources: []string{"kata-containers/docs/design/host-cgroups.md", "kata-containers/docs/how-to/how-to-size-sandbox-overhead-runtime-rs.md", "https://kubernetes.io/docs/concepts/scheduling-eviction/pod-overhead/"},
	},
	{
		ID: "kubernetes/proxy", Kinds: []fact.Kind{fact.ContainerKill, fact.KernelKill}, If: proxied, Figures: podFigures,
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "killed the service mesh's proxy at its container's memory limit[[ of {limit}]]",
		Means:    "This is the proxy that the service mesh adds to the pod. It has its own container and its own limit.[[ It held {held}.]] A proxy holds the configuration of every service and endpoint that it is told about, and all open connections.[[ {lived}]][[ It was restarted {restarts} times.]]",
		Not:      "`resources` of your own container: the proxy is not in there.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the proxy's limit", Told: "Add these under `spec.template.metadata` of the Deployment (Linkerd: `config.linkerd.io/proxy-memory-limit`). For all of Istio's proxies set `values.global.proxy.resources`.[[ {wanted} is {basis}.]]", Steps: proxySteps, Cost: "less room for other pods"},
			{Fix: "lower_batch_size", Title: "Istio: tell the proxy about fewer services", Told: "By default each proxy is told about the whole mesh. A `Sidecar` resource in its namespace lists what it needs:", Kind: "config", Text: "apiVersion: networking.istio.io/v1\nkind: Sidecar\nmetadata: {name: default}\nspec:\n  egress:\n  - hosts: [\"./*\", \"istio-system/*\"]", Cost: "other services must be listed"},
			{Fix: "upgrade_version", If: when.Not(atStart), Title: "If it climbs for days, update the mesh", Kind: "shell", Text: "watch -n 10 kubectl top pod --containers", Told: "A steady climb is a leak; a higher limit only delays the kill.", Cost: "free to look"},
		},
		Sources: []string{"https://istio.io/latest/docs/reference/config/annotations/", "https://istio.io/latest/docs/reference/config/networking/sidecar/", "https://linkerd.io/2/reference/proxy-configuration/"},
	},
	{
		ID: "kubernetes/limit-small", Kinds: []fact.Kind{fact.KernelKill}, If: func(c *ledger.Case) bool { return capped(c) && c.In("kubernetes") && little(c) }, Figures: podFigures,
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "killed the container at its memory limit[[ of {limit}]]; {victim} held only {held}",
		Means:    "The kernel killed {victim} at the pod's memory limit; the node may have had plenty of RAM. {held} [[and {mapped} of files and shared memory ]]is little, so [[the limit is far too low: all other processes together held {others}]][[{either}]]. If nobody set that limit, a LimitRange of the namespace did.",
		Not:      "A larger node or more replicas: the limit of each pod stays the same.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the memory limit", Told: "[[{models} ]]Start well above the need, measure the peak with `kubectl top pod --containers`, then lower it. `kubectl get limitrange` shows a default of the namespace.", Steps: podSteps, Cost: "less room for other pods"},
			{Fix: "empty_cache", If: when.Not(tableOfOne), Title: "Find out what else fills the limit", Told: "While it runs, in the container: `ps aux --sort=-rss | head; df -h /dev/shm`. Also check volumes with `medium: Memory`.", Cost: "free"},
		},
		Sources: []string{"linux/mm/memcontrol.c", "https://kubernetes.io/docs/concepts/policy/limit-range/", "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/"},
	},
	{
		ID: "kubernetes/prometheus", Kinds: []fact.Kind{fact.ContainerKill}, Said: []string{"prometheus/prometheus:"}, Figures: podFigures,
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "killed Prometheus at its container's memory limit[[ of {limit}]] (OOMKilled)",
		Means:    "Prometheus keeps the newest two to three hours of every series in RAM. When it starts, it reads them back from its write-ahead log, which can take more than it needs later.[[ {lived}]][[ It was restarted {restarts} times.]] So it can fail at every new start.",
		Not:      "A larger node or more replicas: the limit of each pod stays the same.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the memory limit and the request", Told: "[[{wanted} is {basis}. ]]With the Prometheus operator set `spec.resources` of the Prometheus resource (Helm: `prometheus.prometheusSpec.resources`). It undoes changes to the StatefulSet or pod.", Kind: "config", Text: "resources:\n  requests: {memory: 8Gi}   # 8Gi: put twice today's limit\n  limits: {memory: 8Gi}", Cost: "less room for other pods"},
			{Fix: "lower_batch_size", Title: "Store fewer series", Told: "In its web page, Status, TSDB Status lists the metrics and labels with the most series. Drop them with `metric_relabel_configs`, or scrape fewer targets.", Cost: "what is dropped is not stored"},
			{Fix: "empty_cache", Title: "If it fails at every start, delete the write-ahead log", Told: "Stop it, and delete the folder `wal` in its data volume. It then starts without reading it back.", Cost: "the newest hours of data"},
		},
		Sources: []string{"prometheus/docs/storage.md", "prometheus-operator/Documentation/api-reference/api.md", "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/"},
	},
	{
		ID: "kubernetes/limit", Kinds: []fact.Kind{fact.ContainerKill, fact.KernelKill}, If: func(c *ledger.Case) bool { return capped(c) && c.In("kubernetes") },
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: podFigures,
		Headline: "killed the container at its memory limit[[ of {limit}]] (OOMKilled)",
		Means:    "{exited}; the node may have had plenty of RAM. [[The process that was killed held {held}. ]]{counts}[[ {lived}]][[ It was restarted {restarts} times.]]",
		Not:      "A larger node or more replicas: the limit of each pod stays the same.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the memory limit and the request", Told: "[[{wanted} is {basis}. ]]Set it in the Deployment, Job or Helm values, or in the operator's own resource: a change to the pod alone is undone.[[ {injected}]]", Steps: limitOfPod, Cost: "less room for other pods"},
			{Fix: "lower_num_workers", Title: "Keep {victim} below the limit", If: when.All(named, inPython), Told: "Run fewer workers (`--workers 2`, `num_workers=2`, `Pool(2)`): each has its own copy of the data, and the default counts the node's cores. Read data in parts or memory-mapped; load models in 16 bit from safetensors.", Cost: "some throughput"},
			boundDaemon,
			{Fix: "lower_num_workers", Title: "Reduce what runs in the container", If: when.All(named, when.Not(when.Any(inPython, known))), Told: "{victim} may be one of several processes. Run fewer workers or threads (many programs count the node's cores, not the container's), with smaller caches and inputs.", Cost: "some throughput"},
			{Fix: "lower_num_workers", Title: "Or let it start with less memory", If: when.All(when.Not(named), atStart), Told: "Run fewer workers or threads: many programs count the node's cores, not the container's. Java: `-XX:MaxRAMPercentage=75`. Node.js: `--max-old-space-size` (in MB) below the limit.", Cost: "some throughput"},
			{Fix: "stream_dataset", If: when.Any(when.All(when.Not(named), when.Not(atStart)), forHours), Title: "Check whether memory climbs to the new limit too", Kind: "shell", Text: "watch -n 10 kubectl top pod --containers", Told: "A steady climb is a leak or a cache without a bound, and a higher limit only delays the kill. Update the program, or look for a setting of its cache.", Cost: "free"},
		},
		Sources: []string{"https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/", "https://kubernetes.io/docs/tasks/configure-pod-container/assign-memory-resource/", "https://kubernetes.io/docs/reference/kubectl/generated/kubectl_set/kubectl_set_resources"},
	},
}
