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
		Headline: "killed pip, most likely because the machine ran out of RAM",
		Means:    "pip was killed (signal 9) while it fetched a large package. Many versions of pip hold the whole download in RAM to write it to their cache. Machines and image builds with 1 to 2 GB of RAM are too small for that.",
		Not:      "Another mirror: the file is just as large there.",
		Cures: []cause.Cure{
			{Fix: "use_mmap", Title: "Install without pip's cache", Kind: "shell", Text: "pip install --no-cache-dir torch   # your own package", Cost: "it downloads again next time"},
			{Fix: "add_swap", Title: "Add swap", Kind: "shell", Text: "sudo fallocate -l 4G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile", Cost: "4 GB of disk"},
		},
		Sources: []string{"pip/src/pip/_vendor/cachecontrol/filewrapper.py", "https://pip.pypa.io/en/stable/cli/pip_install/"},
	},
	{
		ID: "linux/another-held-more", Kinds: []fact.Kind{fact.KernelKill}, If: func(c *ledger.Case) bool { return uncapped(c) && ledger.OtherHoldsMore(c) },
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: otherFigures,
		Headline: "killed {victim}, but {other} {other_more}",
		Means:    "The whole machine was out of RAM. The kernel killed {victim}[[ ({held})]], but its own process table shows {other} (PID {other_pid}) with {other_held}.[[ {adjusted}]] So look at {other} as well.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Check {other}: stop it, or limit its memory", Steps: stepsCloseBiggest, Cost: "free"},
			{Fix: "lower_num_workers", Title: "Do not run both at the same time", Told: "Or limit each, so that only the one that grows is killed: `systemd-run --user --scope -p MemoryMax=8G COMMAND` (8G: what it may use).", Cost: "time"},
			{Fix: "add_swap", Title: "Add swap for a short peak", Steps: swapSteps, Cost: "Disk; slow while it is used"},
		},
		Sources: []string{"linux/mm/oom_kill.c", "systemd/man/systemd.resource-control.xml"},
	},
	{
		ID: "linux/many-alike", Kinds: []fact.Kind{fact.KernelKill}, If: manyAlike,
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: teamFigures,
		Headline: "killed one of {count} {team} processes; together they held {together}",
		Means:    "No single process is too large. The kernel's table lists {count} {team} processes with about {each} each, {together} in all[[ ({shared})]][[; they share a limit of {limit}]]. They are usually the workers of one program, and each has its own copy of the data.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Run half as many {team} processes", Told: "Each one less frees about {each}.[[ {team_bound}]]", Cost: "slower"},
			{Fix: "stream_dataset", If: inPython, Title: "Share large arrays between the workers", Told: "Open them with `np.load(path, mmap_mode=\"r\")` inside the worker, instead of a list or DataFrame in the parent: forked workers gradually copy Python objects as they use them.", Cost: "some rewriting"},
			{Fix: "raise_memory_limit", If: capped, Steps: limitSteps, Title: "Raise the limit", Cost: "less for the rest of the machine"},
			{Fix: "add_swap", If: uncapped, Title: "Add swap, if it was close", Steps: swapSteps, Cost: "Disk; slow while it is used"},
		},
		Sources: []string{"linux/mm/oom_kill.c", "https://github.com/pytorch/pytorch/issues/13246"},
	},
	{
		ID: "linux/board-gpu", Kinds: []fact.Kind{fact.KernelKill}, If: smallVictim, Said: []string{"GK20A", "GM20B", "NVIDIA Tegra", "Jetson", "(nvgpu)", "-tegra"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: machineFigures,
		Headline: "killed {victim}, which held only {held}: the board's RAM was full",
		Means:    "On this board (NVIDIA Tegra) CPU and GPU share one RAM[[ ({ram_total})]]. What a program allocates on the GPU takes that RAM, but is not counted in the {held} that the kernel shows. So if {victim} uses the GPU, it can be what filled it.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Give {victim} less work for the GPU", Told: "A smaller problem size, batch, input or model. A program that takes all the memory that the GPU reports takes nearly all the RAM of the board, so set its size yourself. `tegrastats` shows RAM while it runs.", Cost: "smaller or slower"},
			{Fix: "close_other_apps", Title: "Run without the desktop", Kind: "shell", Text: "sudo systemctl isolate multi-user.target   # back: graphical.target", Cost: "no desktop meanwhile"},
			{Fix: "add_swap", Title: "Add swap for the other programs", Told: "Memory of the GPU cannot be swapped, but theirs can.", Steps: swapSteps, Cost: "Disk; slow while it is used"},
		},
		Sources: []string{"linux/mm/oom_kill.c", "https://docs.nvidia.com/cuda/cuda-for-tegra-appnote/index.html"},
	},
	{
		ID: "linux/machine-small", Kinds: []fact.Kind{fact.KernelKill}, If: smallVictim, Unsaid: []string{"microsoft-standard-WSL2", "earlyoom"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: machineFigures,
		Headline: "killed {victim}, which held only {held}: the machine's RAM was full",
		Means:    "The kernel usually kills the largest process. This one held only {held}, so probably no single process is to blame: the machine is small[[ ({ram_total})]], or many processes share it.[[ There is no swap ({no_swap}) to absorb a peak.]] If the log has the kernel's process table, look there for names that occur often.",
		Not:      "[[{beside}: the whole machine was full.]]",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Find out which programs fill the RAM together", Kind: "shell", Text: "ps -eo rss=,comm= | awk '{s[$2]+=$1; n[$2]++} END {for (p in s) print int(s[p]/1024), n[p], p}' | sort -rn | head", Told: "This prints MiB, number of processes and name. If one name has many processes, lower its number of workers or connections. If {victim} grows for days, update it.", Cost: "free"},
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
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: crumbFigures,
		Headline: "killed {victim}, which held only {held}: most likely a pod reached its memory limit",
		Means:    "\"Memory cgroup\" means that a memory limit was reached, not the end of the machine's RAM. The oom_score_adj of 970 or more is typical of Kubernetes pods that request little. {victim} held only {held}, so all processes of the container reached the limit together, with their shared memory and files in /dev/shm.",
		Not:      "A larger node: the limit stays the same.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the pod's memory limit", Kind: "shell", Text: allLimits, Told: "`kubectl top pod -A --containers` shows which pod is near its limit. Double its `resources.limits.memory`, and lower it once you know the peak. All limits:", Cost: "less for the rest of the node"},
			boundDaemon,
			{Fix: "lower_num_workers", If: when.Not(known), Title: "Run fewer processes in the container", Told: "`ps -eo comm= | sort | uniq -c | sort -rn | head` inside it counts them. Set the number of workers yourself: many programs start one per core of the node.", Cost: "less at a time"},
			watchGrowth,
		},
		Sources: []string{"kubernetes/pkg/kubelet/qos/policy.go", "linux/mm/memcontrol.c", "https://kubernetes.io/docs/concepts/configuration/manage-resources-containers/"},
	},
	{
		ID: "linux/cgroup-crumbs", Kinds: []fact.Kind{fact.KernelKill}, If: func(c *ledger.Case) bool { return ownCgroup(c) && crumb(c) },
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: cgroupFigures,
		Headline: "killed {victim} at a memory limit, although it held only {held}",
		Means:    "The memory limit of {whose} was reached. {victim} held only {held}, so most likely many processes reached it together. Files in /dev/shm and other tmpfs folders count as well.",
		Not:      "More RAM in the machine: the limit stays the same.",
		Cures: []cause.Cure{
			raisePod,
			{Fix: "raise_memory_limit", If: when.Not(unnamed), Title: "Find what fills the limit, and raise it", Steps: limitSteps, Told: "Inside the container `ps -eo comm= | sort | uniq -c | sort -rn | head` counts processes, and `df -h /dev/shm /tmp` shows files in memory.", Cost: "less for the rest of the machine"},
			{Fix: "raise_memory_limit", If: when.All(unnamed, when.Not(inPod)), Title: "Find out whose limit it was, and raise it", Kind: "shell", Text: ownerOf, Told: "The printed path names the owner. kubepods is a pod (`resources.limits.memory`), docker or libpod a container (`--memory`), .service or .scope a systemd unit (`MemoryMax=`).", Cost: "free"},
			{Fix: "lower_num_workers", If: inPython, Title: "Limit the number of processes", Told: "A pool that starts one process per core counts the machine's cores, not the container's. Set the number: `Pool(4)`, `-n 4`, `--workers 4`.", Cost: "less at a time"},
			boundDaemon,
			{Fix: "lower_num_workers", If: when.Not(when.Any(inPython, known)), Title: "Run fewer processes or connections", Told: "Lower the server's number of workers, or the number of jobs that run at once.", Cost: "less at a time"},
			{Fix: "empty_cache", If: when.Not(known), Title: "Delete leftover files in memory", Told: "Files in /dev/shm (and in /tmp, if that is a tmpfs) stay after their program has ended, until you delete them. Leave those of running programs alone.", Cost: "free"},
			watchGrowth,
		},
		Sources: []string{"linux/mm/memcontrol.c", "linux/mm/oom_kill.c", "docker/cli/command/container/opts.go"},
	},
	{
		ID: "linux/cgroup-docker", Kinds: []fact.Kind{fact.KernelKill}, Said: []string{"dockerd:", "dockerd[", "shim reaped", "module=libcontainerd"}, If: when.All(unnamed, named, when.Not(inPod)),
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: cgroupFigures,
		Headline: "killed {victim}: most likely its Docker container reached its memory limit",
		Means:    "\"Memory cgroup\" means that a memory limit was reached; the machine itself may have plenty of RAM. No line names whose limit, but Docker reports the end of a container at the same time.",
		Not:      "More RAM in the machine, or closing programs outside: the limit stays the same.",
		Cures: []cause.Cure{
			boundFirst,
			{Fix: "raise_memory_limit", Title: "Raise the container's limit", Steps: func(c *ledger.Case) []step.Step { return dockerSteps(c, "", false) }, Told: "[[{wanted} is {basis}; lower it once you know the real peak.]]", Cost: "less for the rest of the machine"},
			boundDaemon,
			{Fix: "lower_num_workers", If: when.Not(known), Title: "Reduce what {victim} uses", Told: "Set its cache or memory limit and its number of workers or threads yourself: the defaults often follow the machine's RAM and cores, not the container's.", Cost: "some speed"},
		},
		Sources: []string{"linux/mm/memcontrol.c", "https://docs.docker.com/reference/cli/docker/container/update/"},
	},
	{
		ID: "linux/cgroup", Kinds: []fact.Kind{fact.KernelKill}, If: ownCgroup,
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: cgroupFigures,
		Headline: "killed {victim}: {whose} reached its own memory limit[[ of {limit}]]",
		Means:    "\"Memory cgroup\" means that a memory limit was reached; the machine itself may have plenty of RAM.[[ {loader}]][[ {victim} held {held} itself, and {swapped} more in swap.]][[ The other {rest} of the {limit} are further processes, and files in /dev/shm and tmpfs, which count as well.]]",
		Not:      "{outside}: the limit stays the same.",
		Cures: []cause.Cure{
			boundFirst,
			{Fix: "lower_num_workers", If: when.All(loaderKilled, unnamed), Title: "Run fewer data loader workers", Told: "First try `num_workers=0` (scripts: `--workers 0`), then as many as fit. Read samples in `__getitem__`, do not cache them.", Cost: "the GPU may wait for data"},
			{Fix: "raise_memory_limit", If: when.Not(unnamed), Title: "Raise that memory limit", Steps: limitSteps, Told: "[[{wanted} is {basis}; lower it once you know the real peak.]]", Cost: "less for the rest of the machine"},
			{Fix: "raise_memory_limit", If: when.All(unnamed, writesPython), Title: "Raise the limit where it was set", Told: "[[{wanted} is {basis}.]]", Ways: []cause.Way{
				{For: "Docker", Text: "`--memory` of `docker run`, or `mem_limit:` in Compose, on the host"},
				{For: "A batch job or pod", Text: "its request (`--mem`), or `resources.limits.memory`"},
				{For: "A hosted notebook", Text: "a runtime with more RAM"},
			}, Cost: "less for the rest of the machine"},
			{Fix: "raise_memory_limit", If: when.All(unnamed, when.Not(writesPython)), Title: "Find out whose limit it was, and raise it", Kind: "shell", Text: ownerOf, Told: "The printed path names the owner. Put twice today's limit in place of 16g.[[ {wanted} is {basis}.]]", Ways: []cause.Way{
				{For: "docker", Text: "`docker update --memory 16g --memory-swap 16g CONTAINER`, and `mem_limit:` in Compose to keep it"},
				{For: "A name with .service", Text: "`sudo systemctl set-property NAME.service MemoryMax=16G`"},
				{For: "A name with .scope", Text: "`MemoryMax=` where it is started (`systemd-run --scope -p MemoryMax=16G`)"},
				{For: "kubepods, slurm", Text: "the pod's `resources.limits.memory`; the job's `--mem`"},
			}, Cost: "less for the rest of the machine"},
			{Fix: "lower_num_workers", If: when.All(loaderKilled, when.Not(unnamed)), Title: "Run fewer data loader workers", Told: "First try `num_workers=0` (scripts: `--workers 0`), then as many as fit. Read samples in `__getitem__`, do not cache them.", Cost: "the GPU may wait for data"},
			{Fix: "lower_num_workers", Title: "Use less memory", If: when.All(inPython, when.Not(loaderKilled)), Told: "Use fewer workers (`num_workers=2`, `Pool(4)`): each holds its own copy, and the default counts the machine's cores, not the container's. Read data in parts or memory-mapped; load models in 16 bit from safetensors.", Cost: "some speed"},
			{Fix: "stream_dataset", If: loaderKilled, Title: "Keep the data set's index in NumPy arrays", Told: "Each worker gradually copies a list of Python objects as it reads it. NumPy arrays or a memory-mapped file (`np.load(path, mmap_mode=\"r\")`) stay shared.", Cost: "some rewriting"},
			{Fix: "lower_num_workers", Title: "Reduce what {victim} uses", If: when.All(known, when.Not(inPython), when.Not(ofMachine)), Told: "{bound}.", Cost: "Detail, or time"},
			{Fix: "lower_num_workers", Title: "Reduce what {victim} uses", If: when.Not(when.Any(inPython, known)), Ways: []cause.Way{
				{For: "A server or database", Text: "set its own cache or memory limit as an amount: a percentage often counts the machine's RAM"},
				{For: "One large input", Text: "process a part of it at a time, at a lower resolution, or with fewer threads"},
				{For: "It grows all the time", Text: "it leaks, or a cache has no bound: update it, or restart it on a schedule"},
			}, Cost: "Detail, or time"},
		},
		Sources: []string{"linux/mm/memcontrol.c", "linux/mm/oom_kill.c", "linux/Documentation/admin-guide/cgroup-v2.rst", "https://github.com/pytorch/pytorch/issues/13246", "systemd/man/systemd.resource-control.xml", "https://docs.docker.com/reference/cli/docker/container/update/", "https://docs.oracle.com/en/java/javase/21/docs/specs/man/java.html", "node/doc/api/cli.md"},
	},
	ofOOMD[0], ofOOMD[1],
	{
		ID: "linux/earlyoom", Kinds: []fact.Kind{fact.KernelKill}, Said: []string{"earlyoom"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "(earlyoom) killed the program before RAM was used up",
		Means:    "The earlyoom daemon did it, not the kernel. It acts when available RAM and free swap are both below its limits (10 % each by default). It picks the process with the highest score, usually the largest. With little or full swap it acts early.",
		Not:      "Looking in dmesg: `journalctl -u earlyoom` shows what it did.",
		Cures: []cause.Cure{
			{Fix: "add_swap", Title: "Add swap", Kind: "shell", Text: swap16, Cost: "16 GB of disk"},
			platforms.LessAtOnce,
			{Fix: "raise_memory_limit", Title: "Let earlyoom act later", Kind: "text", Text: "In /etc/default/earlyoom set `EARLYOOM_ARGS=\"-m 2 -s 5\"` (percent of free RAM and swap), then `sudo systemctl restart earlyoom`. Its log shows today's values.", Cost: "less warning before the machine stalls"},
		},
		Sources: []string{"earlyoom/README.md", "earlyoom/earlyoom.default"},
	},
}
