package host

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// pool is a server that answers with several processes, or runs jobs in them,
// and what bounds their number and their growth.
type pool struct{ process, fewer, renewed string }

// pools, with upstream's documentation of each bound:
// uwsgi-docs.readthedocs.io (Options), docs.gunicorn.org (settings), php.net
// (install.fpm.configuration), httpd.apache.org/docs (mpm_common,
// mpm_prefork), puma.io, docs.celeryq.dev (configuration), unicorn's
// configurator, phusionpassenger.com (configuration).
var pools = []pool{
	{"uwsgi", "`processes = 2` in its ini (or `cheaper` for as many as are needed)", "`max-requests = 1000` and `reload-on-rss = 200` (MB)"},
	{"gunicorn", "`--workers 2`", "`--max-requests 1000 --max-requests-jitter 100`"},
	{"php-fpm", "`pm.max_children` in the pool's configuration", "`pm.max_requests = 500`"},
	{"apache2", "`MaxRequestWorkers`", "`MaxConnectionsPerChild 1000`"},
	{"httpd", "`MaxRequestWorkers`", "`MaxConnectionsPerChild 1000`"},
	{"puma", "`workers` in puma.rb (WEB_CONCURRENCY in Rails)", "the gem puma_worker_killer, until the leak is found"},
	{"celery", "`--concurrency 2`", "`--max-tasks-per-child 100`, or `--max-memory-per-child` in KB"},
	{"unicorn", "`worker_processes` in unicorn.rb", "the gem unicorn-worker-killer"},
	{"sidekiq", "`concurrency` in sidekiq.yml", "a restart on a schedule, until the leak is found"},
}

// poolOf is the server that the victim belongs to. The kernel cuts names at 15
// characters.
func poolOf(c *ledger.Case) (pool, bool) {
	victim, _ := c.Fact("victim")
	i := slices.IndexFunc(pools, func(p pool) bool { return strings.HasPrefix(victim.Text, p.process) })
	if i < 0 {
		return pool{}, false
	}
	return pools[i], true
}

func poolEnded(c *ledger.Case) bool {
	_, ok := poolOf(c)
	return ok && ownCgroup(c)
}

// podShare is the share of the node's memory that a pod requests, in percent, by
// the oom_score_adj of its processes: 1000 - 1000 x request / capacity for pods
// that request less than their limit (kubernetes/pkg/kubelet/qos/policy.go).
// Other programs hardly set a value this high.
func podShare(c *ledger.Case) (percent float64, ok bool) {
	at, _ := c.Fact("victim_score_adj")
	n, err := strconv.Atoi(at.Text)
	return float64(1000-n) / 10, err == nil && n >= 600 && n < 1000
}

// inPod: a limit whose owner no line names, of a pod by its score.
func inPod(c *ledger.Case) bool {
	_, pod := podShare(c)
	return pod && unnamed(c)
}

func poolFigures(c *ledger.Case) map[string]string {
	out := cgroupFigures(c)
	p, _ := poolOf(c)
	out["fewer"], out["renewed"], out["pod"], out["adj"] = p.fewer, p.renewed, "", ""
	if share, ok := podShare(c); ok && unnamed(c) {
		at, _ := c.Fact("victim_score_adj")
		out["adj"], out["pod"] = at.Text, fmt.Sprintf("%.1f %%", share)
		out["whose"] = "a Kubernetes pod, by its oom_score_adj of " + at.Text
	}
	return out
}

// allLimits lists the limits of all pods.
const allLimits = "kubectl get pods -A -o custom-columns=NS:.metadata.namespace,NAME:.metadata.name,LIMIT:.spec.containers[*].resources.limits.memory,REQUEST:.spec.containers[*].resources.requests.memory"

var (
	// boundDaemon limits a server of which one small process was killed.
	boundDaemon = cause.Cure{Fix: "lower_num_workers", If: when.All(known, when.Not(ofMachine)), Title: "Limit the memory of {victim}", Told: "{bound}.", Cost: "some speed"}
	// boundFirst is the same for one that took its size from the machine's RAM: a
	// higher limit alone only postpones the kill.
	boundFirst  = cause.Cure{Fix: "lower_num_workers", If: ofMachine, Title: "Limit the memory of {victim}", Told: "{bound}.", Cost: "some speed"}
	watchGrowth = cause.Cure{Fix: "detach_accumulated", Title: "If it happens again, check whether memory climbs", Told: "Look at {watch} every few minutes. If memory climbs steadily, something leaks, and a higher limit only delays the kill.", Cost: "free"}
	// raisePod raises a pod's limit; what it is the log does not show.
	raisePod = cause.Cure{Fix: "raise_memory_limit", If: inPod, Title: "Raise the pod's memory limit", Kind: "shell",
		Told: "`kubectl top pod -A --containers` shows which pod is near its limit. Double its `resources.limits.memory`, and lower it once you know the peak. All limits:",
		Text: allLimits,
		Cost: "less for the rest of the node"}
	raiseOwner = cause.Cure{Fix: "raise_memory_limit", If: when.Not(inPod), Title: "Raise the memory limit", Steps: limitSteps, Cost: "less for the rest of the machine"}
)

// workerCards are cards of limits that many processes share.
var workerCards = []cause.Card{
	{
		ID: "linux/cgroup-workers", Kinds: []fact.Kind{fact.KernelKill}, If: poolEnded,
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: poolFigures,
		Headline: "killed a worker of {victim}: all workers together reached a memory limit",
		Means:    "\"Memory cgroup\" means that a memory limit was reached, not the end of the machine's RAM. It is the limit of {whose}[[, which requests {pod} of the node's memory]]. All {victim} workers share it; the killed one held {held}. Either there are too many, or they grow from request to request.",
		Not:      "More RAM in the machine: the limit stays the same.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Run fewer workers, and restart them regularly", Told: "Number: {fewer}, but fewer than today. Restart after some requests, against growth: {renewed}.", Cost: "requests wait at a peak"},
			raisePod, raiseOwner,
			{Fix: "detach_accumulated", Title: "Check whether the workers grow", Kind: "shell", Text: "ps -C {victim} -o pid,rss,etime --sort=-rss | head", Told: "Run this inside the container after the start and an hour later. If all are large from the start, load data before they fork (preload), or run fewer. If only old ones are large, the application leaks.", Cost: "free"},
		},
		Sources: []string{"linux/mm/memcontrol.c", "https://uwsgi-docs.readthedocs.io/en/latest/Options.html", "https://docs.gunicorn.org/en/stable/settings.html", "https://www.php.net/manual/en/install.fpm.configuration.php", "kubernetes/pkg/kubelet/qos/policy.go"},
	},
	{
		ID: "linux/cgroup-pod", Kinds: []fact.Kind{fact.KernelKill}, If: when.All(inPod, when.Not(crumb)),
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: poolFigures,
		Headline: "killed {victim}: its container, most likely of a Kubernetes pod, reached its memory limit",
		Means:    "\"Memory cgroup\" means that a memory limit was reached, not the end of the node's RAM. An oom_score_adj of {adj} is what Kubernetes gives a pod that requests {pod} of the node's memory. {victim} held {held}; other processes of the container and files in /dev/shm count as well.",
		Not:      "A larger node, or fewer other pods: the limit stays the same.",
		Cures: []cause.Cure{
			raisePod,
			{Fix: "lower_num_workers", Title: "Reduce what {victim} uses", If: inPython, Told: "Run fewer workers (`--workers 2`, `Pool(4)`): the default counts the node's cores, not the pod's. Read data in parts or memory-mapped.", Cost: "some speed"},
			{Fix: "lower_num_workers", Title: "Reduce what {victim} uses", If: when.Not(inPython), Told: "Run fewer workers or threads (many programs count the node's cores, not the pod's), with smaller caches and inputs. Give Java a heap of at most three quarters of the limit.", Cost: "some speed"},
			watchGrowth,
		},
		Sources: []string{"kubernetes/pkg/kubelet/qos/policy.go", "linux/mm/memcontrol.c", "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/"},
	},
}
