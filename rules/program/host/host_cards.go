package host

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/host/oomd"
	"github.com/oomdoc/oomdoc/rules/program/host/platforms"
	"github.com/oomdoc/oomdoc/rules/program/limits"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// watchRAM shows the largest processes while they grow.
const watchRAM = "watch -n 5 'free -h; ps -eo pid,rss,etime,args --sort=-rss | head -5'"

// ownerOf prints the path of the cgroup that was full: Linux 5.0 and later name it
// in "oom_memcg=", older ones in "killed as a result of limit of".
const ownerOf = "sudo dmesg -T | grep -oE 'oom_memcg=[^,]*|result of limit of .*' | tail -1"

const swap16 = "sudo fallocate -l 16G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile"

// ownCgroup: a limit was reached that is neither Kubernetes' nor Slurm's nor
// WSL's.
func ownCgroup(c *ledger.Case) bool {
	return capped(c) && !ownLimit("kubepods", "/slurm", "init.scope")(c) && (strings.HasPrefix(limits.CgroupPath(c), "/") || !c.In("kubernetes"))
}

// crumb: the victim held next to nothing.
func crumb(c *ledger.Case) bool {
	rss := c.F().KilledRSS
	return rss != nil && rss.Bytes < 64<<20
}

func capped(c *ledger.Case) bool   { return ledger.Capped(c) }
func uncapped(c *ledger.Case) bool { return !ledger.Capped(c) }

// ownLimit: the path of the cgroup has one of the parts.
func ownLimit(parts ...string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool {
		path := limits.CgroupPath(c)
		for _, p := range parts {
			if strings.Contains(path, p) {
				return true
			}
		}
		return false
	}
}

// ofOOMD are the cards of a group that systemd-oomd ended.
var ofOOMD = oomd.Cards(swapSteps)

var kernelCards = []cause.Card{
	{
		ID: "linux/pip", Kinds: []fact.Kind{fact.ShellKilled}, Said: []string{"Collecting torch", ".whl (", "Downloading torch"}, Unsaid: []string{"Successfully installed", "Traceback (most recent call last)"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Means: "pip got signal 9 (killed) while it fetched a large package, most likely because RAM ran out: it keeps the download in memory to write it to its cache. Machines and image builds with 1 to 2 GB of RAM are too small for that.",
		Not:   "Another mirror: the file is as large there.",
		Cures: []cause.Cure{
			{Fix: "use_mmap", Title: "Install without pip's cache", Kind: "shell", Text: "pip install --no-cache-dir torch   # your own package", Cost: "Downloaded again next time"},
			{Fix: "add_swap", Title: "Add swap", Kind: "shell", Text: "sudo fallocate -l 4G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile", Cost: "4 GB of disk"},
		},
		Sources: []string{"pip/src/pip/_vendor/cachecontrol/filewrapper.py", "https://pip.pypa.io/en/stable/cli/pip_install/"},
	},
	{
		ID: "linux/another-held-more", Kinds: []fact.Kind{fact.KernelKill}, If: func(c *ledger.Case) bool { return uncapped(c) && ledger.OtherHoldsMore(c) },
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: otherFigures,
		Headline: "killed {victim}, but {other} {other_more}",
		Means:    "The whole machine was out of RAM. The kernel ended {victim}[[ ({held})]]; its own table of processes shows {other}, PID {other_pid}, with {other_held}.[[ {adjusted}]] So look at {other} as well.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Check {other}: stop it, or limit its memory", Steps: stepsCloseBiggest, Cost: "Free"},
			{Fix: "lower_num_workers", Title: "Run the two one after the other", Told: "Or give each a limit of its own, so that only the one that grows is killed: `systemd-run --user --scope -p MemoryMax=8G COMMAND` (8G: what it may take).", Cost: "Time"},
			{Fix: "add_swap", Title: "Add swap for a short peak", Steps: swapSteps, Cost: "Disk; slow while it is used"},
		},
		Sources: []string{"linux/mm/oom_kill.c", "systemd/man/systemd.resource-control.xml"},
	},
	{
		ID: "linux/many-alike", Kinds: []fact.Kind{fact.KernelKill}, If: manyAlike,
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: teamFigures,
		Headline: "killed one of {count} {team} processes, which held {together} together",
		Means:    "No single process is too large: the kernel's table lists {count} {team} processes with {each} each on average, {together} in all[[ ({shared})]][[; {limit} is the limit that they share]]. Such a group is usually one program's workers, each with its own copy of what it loads.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Run half as many {team} processes", Told: "Each one less frees about {each}.[[ {team_bound}]]", Cost: "Slower"},
			{Fix: "stream_dataset", If: inPython, Title: "Share large arrays between the workers", Told: "Open them with `np.load(path, mmap_mode=\"r\")` inside the worker, instead of a list or DataFrame in the parent: forked workers copy Python objects bit by bit as they touch them.", Cost: "Some rewriting"},
			{Fix: "raise_memory_limit", If: capped, Steps: limitSteps, Title: "Raise the limit", Cost: "Less for the rest of the machine"},
			{Fix: "add_swap", If: uncapped, Title: "Add swap, if it was close", Steps: swapSteps, Cost: "Disk; slow while it is used"},
		},
		Sources: []string{"linux/mm/oom_kill.c", "https://github.com/pytorch/pytorch/issues/13246"},
	},
	{
		ID: "linux/machine-small", Kinds: []fact.Kind{fact.KernelKill}, If: smallVictim, Unsaid: []string{"microsoft-standard-WSL2", "earlyoom"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: machineFigures,
		Headline: "killed {victim}, which held just {held}: the machine's RAM was full",
		Means:    "The kernel usually ends the largest process. That one held only {held}, so probably no single process is to blame: the machine is small[[ ({ram_total})]], or many processes share it.[[ There is no swap ({no_swap}) to absorb a peak.]] The kernel's table above the kill, where it is printed, has one line per process (rss in pages of 4 KiB).",
		Not:      "[[{beside}: the whole machine was full.]]",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Check which programs hold the RAM together", Kind: "shell", Text: "ps -eo rss=,comm= | awk '{s[$2]+=$1; n[$2]++} END {for (p in s) print int(s[p]/1024), n[p], p}' | sort -rn | head", Told: "The command below prints MiB, number and name of each. If one has many processes, lower its number of workers or connections. If {victim} grows over days, restart it and update it.", Cost: "A look is free"},
			{Fix: "add_swap", Title: "Add swap for peaks", Steps: swapSteps, Cost: "Disk; slow while it is used"},
			{Fix: "raise_memory_limit", Title: "Get a machine with more RAM", Told: "For example the next size of the virtual machine.[[ {balloon}]]", Cost: "Money"},
		},
		Sources: []string{"linux/mm/oom_kill.c"},
	},
	memoryFiles,
	virtual(machine),
	machine,
	{
		ID: "linux/pod-crumbs", Kinds: []fact.Kind{fact.KernelKill}, Said: []string{"oom_score_adj=99", "oom_score_adj=98", "oom_score_adj=97"}, If: when.All(unnamed, crumb, when.Not(inPod)),
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: cgroupFigures,
		Headline: "killed {victim}, which held only {held}: most likely a pod reached its memory limit",
		Means:    "The kernel says \"Memory cgroup\": a memory limit was reached, not the end of the machine's RAM. Beside it stands an oom_score_adj of 970 or more, as Kubernetes gives to pods that request little. {victim} held only {held} of private memory (anon-rss), so the container's processes, their shared memory and files in /dev/shm reached the limit together.",
		Not:      "A larger node: the limit stays the same.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the pod's memory limit", Kind: "shell", Text: allLimits, Told: "`kubectl top pod -A --containers` shows which pod is near its limit. Set `resources.limits.memory` to twice today's value, and lower it once the peak is known. All limits:", Cost: "Less for the rest of the node"},
			boundDaemon,
			{Fix: "lower_num_workers", If: when.Not(known), Title: "Run fewer processes in the container", Told: "In it `ps -eo comm= | sort | uniq -c | sort -rn | head` counts them. Set the number of workers yourself: many defaults count the node's cores.", Cost: "Less at a time"},
			watchGrowth,
		},
		Sources: []string{"kubernetes/pkg/kubelet/qos/policy.go", "linux/mm/memcontrol.c", "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/"},
	},
	{
		ID: "linux/cgroup-crumbs", Kinds: []fact.Kind{fact.KernelKill}, If: func(c *ledger.Case) bool { return ownCgroup(c) && crumb(c) },
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: cgroupFigures,
		Headline: "killed {victim} at a memory limit, though it held only {held}",
		Means:    "The memory limit of {whose} was reached. {victim} held only {held} of private memory (anon-rss), so most likely many processes together reached it, or files in /dev/shm and other tmpfs, which count as well.",
		Not:      "More RAM in the machine: the limit stays the same.",
		Cures: []cause.Cure{
			raisePod,
			{Fix: "raise_memory_limit", If: when.Not(unnamed), Title: "Check what fills the limit, and raise it", Steps: limitSteps, Told: "Inside the container `ps -eo comm= | sort | uniq -c | sort -rn | head` counts the processes, and `df -h /dev/shm /tmp` shows files in memory.", Cost: "Less for the rest of the machine"},
			{Fix: "raise_memory_limit", If: when.All(unnamed, when.Not(inPod)), Title: "Find whose limit it was, and raise it", Kind: "shell", Text: ownerOf, Told: "The path that this prints names the owner: kubepods is a pod (its `resources.limits.memory`), docker or libpod a container (`--memory`), .service or .scope a unit (`MemoryMax=`). Inside it `ps -eo comm= | sort | uniq -c | sort -rn | head` counts the processes.", Cost: "Free"},
			{Fix: "lower_num_workers", If: inPython, Title: "Limit the number of processes", Told: "A pool that starts one per core sees the machine's cores, not the container's: set the number (`Pool(4)`, `-n 4`, `--workers 4`).", Cost: "Less at a time"},
			boundDaemon,
			{Fix: "lower_num_workers", If: when.Not(when.Any(inPython, known)), Title: "Run fewer processes or connections", Told: "Lower the server's number of workers, or the number of jobs that run at once.", Cost: "Less at a time"},
			{Fix: "empty_cache", If: when.Not(known), Title: "Delete leftover files in memory", Told: "Files that ended programs left in /dev/shm (and in /tmp where that is a tmpfs) stay until they are deleted. Do not touch files of a running program.", Cost: "Free"},
			watchGrowth,
		},
		Sources: []string{"linux/mm/memcontrol.c", "linux/mm/oom_kill.c", "docker/cli/command/container/opts.go"},
	},
	{
		ID: "linux/cgroup-docker", Kinds: []fact.Kind{fact.KernelKill}, Said: []string{"dockerd:", "dockerd[", "shim reaped", "module=libcontainerd"}, If: when.All(unnamed, named, when.Not(inPod)),
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: cgroupFigures,
		Headline: "killed {victim}: most likely a Docker container reached its own memory limit",
		Means:    "The kernel says \"Memory cgroup\": a memory limit was reached, and the machine itself may have plenty of RAM. No line names the owner, but Docker's daemon reports the end of a container beside it.",
		Not:      "More RAM in the machine, or closing programs outside: the limit stays the same.",
		Cures: []cause.Cure{
			boundFirst,
			{Fix: "raise_memory_limit", Title: "Raise the container's limit", Steps: func(c *ledger.Case) []step.Step { return dockerSteps(c, "", false) }, Told: "[[{wanted} is {basis}; lower it once the real peak is known.]]", Cost: "Less for the rest of the machine"},
			boundDaemon,
			{Fix: "lower_num_workers", If: when.Not(known), Title: "Reduce what {victim} uses", Told: "Set its own cache or memory limit, workers or threads as numbers: defaults often follow the machine's RAM and cores, not the container's.", Cost: "Some speed"},
		},
		Sources: []string{"linux/mm/memcontrol.c", "https://docs.docker.com/reference/cli/docker/container/update/"},
	},
	{
		ID: "linux/cgroup", Kinds: []fact.Kind{fact.KernelKill}, If: ownCgroup,
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: cgroupFigures,
		Headline: "killed {victim}: {whose} reached its own memory limit[[ of {limit}]]",
		Means:    "The kernel says \"Memory cgroup\": a memory limit was reached, and the machine itself may have plenty of RAM.[[ {loader}]][[ {victim} held {held} itself, and {swapped} more in swap.]][[ The other {rest} of the {limit} are further processes, and files in /dev/shm and tmpfs, which count as well.]]",
		Not:      "{outside}: the limit stays the same.",
		Cures: []cause.Cure{
			boundFirst,
			{Fix: "lower_num_workers", If: when.All(loaderKilled, unnamed), Title: "Run fewer data loader workers", Told: "`num_workers=0` (scripts: `--workers 0`) shows what one process needs, then as many as fit. Read samples in `__getitem__`, do not cache them.", Cost: "The card may wait for data"},
			{Fix: "raise_memory_limit", If: when.Not(unnamed), Title: "Raise that memory limit", Steps: limitSteps, Told: "[[{wanted} is {basis}; lower it once the real peak is known.]]", Cost: "Less for the rest of the machine"},
			{Fix: "raise_memory_limit", If: when.All(unnamed, writesPython), Title: "Raise that limit, where it was set", Told: "[[{wanted} is {basis}.]]", Ways: []cause.Way{
				{For: "Docker", Text: "`--memory` of `docker run`, or `mem_limit:` in Compose, on the host"},
				{For: "A batch job or pod", Text: "its request (`--mem`), or `resources.limits.memory`"},
				{For: "A hosted notebook", Text: "a runtime with more RAM"},
			}, Cost: "Less for the rest of the machine"},
			{Fix: "raise_memory_limit", If: when.All(unnamed, when.Not(writesPython)), Title: "Find whose limit it was, and raise it", Kind: "shell", Text: ownerOf, Told: "The path that this prints names the owner. In place of 16g put twice today's limit.[[ {wanted} is {basis}.]]", Ways: []cause.Way{
				{For: "docker", Text: "`docker update --memory 16g --memory-swap 16g CONTAINER`, for good in Compose `mem_limit:`"},
				{For: "A name with .service", Text: "`sudo systemctl set-property NAME.service MemoryMax=16G`"},
				{For: "A name with .scope", Text: "`MemoryMax=` where it is started (`systemd-run --scope -p MemoryMax=16G`)"},
				{For: "kubepods, slurm", Text: "the pod's `resources.limits.memory`; the job's `--mem`"},
			}, Cost: "Less for the rest of the machine"},
			{Fix: "lower_num_workers", If: when.All(loaderKilled, when.Not(unnamed)), Title: "Run fewer data loader workers", Told: "`num_workers=0` (scripts: `--workers 0`) shows what one process needs, then as many as fit. Read samples in `__getitem__`, do not cache them.", Cost: "The card may wait for data"},
			{Fix: "lower_num_workers", Title: "Use less memory", If: when.All(inPython, when.Not(loaderKilled)), Told: "Fewer workers (`num_workers=2`, `Pool(4)`): each holds its own copy, and the default number counts the machine's cores, not the container's. In one process read data in parts or memory-mapped; load a model in 16 bit, from safetensors.", Cost: "Some speed"},
			{Fix: "stream_dataset", If: loaderKilled, Title: "Hold the data set's index in arrays", Told: "A list of Python objects in the data set is copied bit by bit into every worker as it is read. NumPy arrays or a memory-mapped file (`np.load(path, mmap_mode=\"r\")`) stay shared.", Cost: "Some rewriting"},
			{Fix: "lower_num_workers", Title: "Reduce what {victim} uses", If: when.All(known, when.Not(inPython), when.Not(ofMachine)), Told: "{bound}.", Cost: "Detail, or time"},
			{Fix: "lower_num_workers", Title: "Reduce what {victim} uses", If: when.Not(when.Any(inPython, known)), Ways: []cause.Way{
				{For: "A server or database", Text: "the cache or memory limit in its own configuration, as an amount: a share is often one of the machine's RAM"},
				{For: "One large input", Text: "a part of it at a time, a coarser resolution, or fewer threads"},
				{For: "It grows all the time", Text: "a leak or a cache without a bound: update it, or restart it on a schedule"},
			}, Cost: "Detail, or time"},
		},
		Sources: []string{"linux/mm/memcontrol.c", "linux/mm/oom_kill.c", "linux/Documentation/admin-guide/cgroup-v2.rst", "https://github.com/pytorch/pytorch/issues/13246", "systemd/man/systemd.resource-control.xml", "https://docs.docker.com/reference/cli/docker/container/update/", "https://docs.oracle.com/en/java/javase/21/docs/specs/man/java.html", "node/doc/api/cli.md"},
	},
	ofOOMD[0], ofOOMD[1],
	{
		ID: "linux/earlyoom", Kinds: []fact.Kind{fact.KernelKill}, Said: []string{"earlyoom"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Means: "The earlyoom daemon ended the process before the kernel had to: when available RAM and free swap are both below its limits (10 % each unless set otherwise; its line \"SIGTERM limits\" shows them). It picks the process with the highest score, usually the largest. With little or full swap it acts early.",
		Not:   "Looking in dmesg: the daemon logs by itself (`journalctl -u earlyoom`).",
		Cures: []cause.Cure{
			{Fix: "add_swap", Title: "Add swap", Kind: "shell", Text: swap16, Cost: "16 GB of disk"},
			platforms.LessAtOnce,
			{Fix: "raise_memory_limit", Title: "Let earlyoom act later", Kind: "text", Text: "In /etc/default/earlyoom set `EARLYOOM_ARGS=\"-m 2 -s 5\"` (percent of RAM and of swap; the values in its log, `-m` and `-s` or \"SIGTERM limits\", must be higher for this to act later) and restart the service.", Cost: "Less warning before a stall"},
		},
		Sources: []string{"earlyoom/README.md", "earlyoom/earlyoom.default"},
	},
}
