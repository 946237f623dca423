package host

import (
	"fmt"
	"regexp"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
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
	out["exited"] = exited(code.Text)
	if r, ok := c.Fact("memory_request"); ok {
		out["request"] = r.Text
	}
	return out
}

// exited says what an exit code beside OOMKilled tells of who was killed.
func exited(code string) string {
	switch code {
	case "0":
		return "Exit code 0 with OOMKilled: a child was killed (a worker, a subprocess, one end of a pipe), the main process ended as if all were well. The pod counts as done, but do not trust its result. The kernel did it at the container's own limit; on the node `dmesg -T` names the process"
	case "", "137":
		return "137 with OOMKilled: the kernel ended a process of the container at the container's own limit"
	}
	return "Exit code " + code + " with OOMKilled: the kernel ended a child at the container's own limit, and the main process gave up for it"
}

// lived says what the time that a container ran tells.
func lived(seconds int) string {
	switch {
	case seconds < 120:
		return fmt.Sprintf("It lived %d seconds: what it loads at its start does not fit.", seconds)
	case seconds < 3*3600:
		return fmt.Sprintf("It lived %d minutes.", seconds/60)
	}
	return fmt.Sprintf("It lived %d hours: something grows, more likely than one large load.", seconds/3600)
}

// resources is what to write into a pod's specification. Where the log shows
// nothing to reckon from the number is the reader's to put in.
func resources(c *ledger.Case, look string) []step.Step {
	to := wanted(c, "Gi")
	if to == "" {
		return []step.Step{
			{Kind: "shell", Text: look},
			{Kind: "config", Text: "resources:\n  requests: {memory: 8Gi}   # 8Gi: put the peak and a quarter\n  limits: {memory: 8Gi}"},
		}
	}
	return []step.Step{{Kind: "config", Text: fmt.Sprintf("resources:\n  requests: {memory: %s}\n  limits: {memory: %[1]s}", to)}}
}

func evictedSteps(c *ledger.Case) []step.Step {
	return resources(c, "kubectl top pod "+inNamespace(c)+"--containers   # what each takes now; again at its peak")
}

func podSteps(c *ledger.Case) []step.Step {
	return resources(c, "kubectl top pod "+inNamespace(c)+"--containers\nkubectl describe pod "+inNamespace(c)+"POD | grep -A2 -i -E 'limits|requests'")
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
		return podSteps(c)
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

var kubernetesCards = []cause.Card{
	{
		ID: "kubernetes/evicted", Kinds: []fact.Kind{fact.Evicted},
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: podFigures,
		Headline: "evicted the pod: its node, not the pod, ran low on RAM",
		Means:    "The kubelet throws pods out when its node runs low on RAM, before the kernel has to[[ ({available} was left)]]. A pod's limit plays no part: reaching that reads OOMKilled. First go the pods that use more than they requested, so a pod without a request, or with one that is too low, goes before its neighbours. [[This one used {held} and had requested {request}. ]]Who filled the node is open: this pod, if its use grows, or a neighbour.",
		Not:      "Raising the limit alone. Evicted pods in the list hold no memory: delete them at leisure.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Request what it really uses", Told: "The scheduler then places it where that is free, and a pod that stays below its request is thrown out last.[[ {wanted} is {basis}.]] Write it into the Deployment or Job: a bare pod has to be created again.", Steps: evictedSteps, Cost: "Pending while no node has that free; OOMKilled above it"},
			{Fix: "close_other_apps", Title: "See who fills the node", Told: "`kubectl top node; kubectl top pod --all-namespaces | sort -rnk4` shows it. Pods far above their requests need honest ones, too; one that climbs is the leak.", Cost: "Free"},
			{Fix: "lower_num_workers", Title: "Take less, or a node of its own", Told: "Fewer parallel environments, workers or samples in memory; or a larger node by `nodeSelector`. Save checkpoints to a persistent volume: an eviction loses what lies in the pod.", Cost: "Time, or money"},
		},
		Sources: []string{"https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/", "https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/"},
	},
	{
		ID: "kubernetes/limit-small", Kinds: []fact.Kind{fact.KernelKill}, If: func(c *ledger.Case) bool { return capped(c) && c.In("kubernetes") && little(c) }, Figures: podFigures,
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ended the container at its memory limit: a very small one, for {victim} held only {held}",
		Means:    "The kernel ended {victim} at the limit of the pod[[ ({limit})]]; the node may have had plenty of RAM. {held} of its own is what a program has when it starts, so the limit itself is far below its need, or other processes and files in memory (an `emptyDir` with medium Memory, /dev/shm) fill it. Where nobody wrote such a limit, a LimitRange of the namespace sets one.",
		Not:      "A smaller model or batch: it had not come that far. A larger node, swap on it, or more replicas.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Look at the limit, and raise it to the real need", Told: "`kubectl get limitrange` shows a default of the namespace. A model server needs its models in RAM and some GB beside: begin far above, measure the peak, come down.", Steps: podSteps, Cost: "less room for other pods"},
			{Fix: "empty_cache", Title: "See what else counts", Told: "In the container: `ps aux --sort=-rss | head; df -h /dev/shm`, and volumes with `medium: Memory`.", Cost: "free"},
			{Fix: "detach_accumulated", Title: "It then dies later: watch it climb", Kind: "shell", Text: "watch -n 10 kubectl top pod --containers", Cost: "free"},
		},
		Sources: []string{"linux/mm/memcontrol.c", "https://kubernetes.io/docs/concepts/policy/limit-range/", "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/"},
	},
	{
		ID: "kubernetes/limit", Kinds: []fact.Kind{fact.ContainerKill, fact.KernelKill}, If: func(c *ledger.Case) bool { return capped(c) && c.In("kubernetes") },
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: podFigures,
		Headline: "ended the container at its memory limit[[ of {limit}]] (OOMKilled)",
		Means:    "{exited}; the node may have had plenty of RAM. [[The process that was killed held {held}. ]]What counts: all processes of the container, and files in memory (an `emptyDir` with medium Memory, /dev/shm); page cache is given up first.[[ {lived}]][[ It was restarted {restarts} times: starting it again changes nothing.]]",
		Not:      "A larger node, swap on it, or more replicas: the limit of each pod stays as it is.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the limit, and the request with it", Told: "In the Deployment, Job or Helm values, under the container: the next deployment undoes what was set by command alone.[[ {wanted} is {basis}.]]", Steps: limitOfPod, Cost: "Less room for other pods"},
			{Fix: "lower_num_workers", Title: "Make it see its limit", Ways: []cause.Way{
				{For: "Workers", Text: "many programs start one for each core of the node, not of the container: set the number yourself"},
				{For: "JVM", Text: "`-XX:MaxRAMPercentage=75` leaves room beside the heap"},
				{For: "Node.js", Text: "`NODE_OPTIONS=--max-old-space-size=` three quarters of the limit, in MB"},
				{For: "Go", Text: "`GOMEMLIMIT` at nine tenths of the limit"},
			}, Cost: "Some throughput"},
			{Fix: "stream_dataset", Title: "Size or growth?", Kind: "shell", Text: "watch -n 10 kubectl top pod --containers", Told: "A jump at a load: read in parts, memory-mapped. A steady climb: a leak, which a larger limit only postpones.", Cost: "Free"},
		},
		Sources: []string{"https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/", "https://kubernetes.io/docs/tasks/configure-pod-container/assign-memory-resource/", "https://kubernetes.io/docs/reference/kubectl/generated/kubectl_set/kubectl_set_resources", "https://nodejs.org/api/cli.html", "https://pkg.go.dev/runtime/debug"},
	},
}
