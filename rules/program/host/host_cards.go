package host

import (
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/limits"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Cures that several share.
var (
	lessAtOnce = cause.Cure{Fix: "lower_num_workers", Title: "Hold less at once", Kind: "text", Text: "Fewer worker processes, a smaller batch of data, files read in pieces: each worker is a copy of what it holds.", Cost: "Some speed"}
	whoKilled  = cause.Cure{Fix: "close_other_apps", Title: "Ask the kernel who and why", Kind: "shell", Text: "sudo dmesg -T | grep -i -E 'oom|killed process'   # no line: it was not the out-of-memory killer", Cost: "Free"}
)

const swap16 = "sudo fallocate -l 16G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile"

// ownCgroup: a limit was reached that is neither Kubernetes' nor Slurm's nor
// WSL's.
func ownCgroup(c *ledger.Case) bool {
	return capped(c) && !ownLimit("kubepods", "/slurm", "init.scope")(c)
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

var kernelCards = []cause.Card{
	{
		ID: "linux/pip", Kinds: []fact.Kind{fact.ShellKilled}, Said: []string{"Collecting torch", ".whl (", "Downloading torch"}, Unsaid: []string{"Successfully installed", "Traceback (most recent call last)"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Means: "pip was ended by signal 9 while it fetched a large package: it keeps the download in memory to put it into its cache. On small machines (1 to 2 GB) and in builds of images that is enough.",
		Not:   "Another mirror or Python version: the size of the file decides.",
		Cures: []cause.Cure{
			{Fix: "use_mmap", Title: "Install without the cache", Kind: "shell", Text: "pip install --no-cache-dir torch   # your own package", Cost: "Downloaded again next time"},
			{Fix: "add_swap", Title: "Add swap", Kind: "shell", Text: "sudo fallocate -l 4G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile", Cost: "4 GB of disk"},
		},
		Sources: []string{"pip/src/pip/_vendor/cachecontrol/filewrapper.py", "https://pip.pypa.io/en/stable/cli/pip_install/"},
	},
	{
		ID: "linux/another-held-more", Kinds: []fact.Kind{fact.KernelKill}, If: func(c *ledger.Case) bool { return uncapped(c) && ledger.OtherHoldsMore(c) },
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: otherFigures,
		Headline: "killed {victim}, but {other} {other_more}",
		Means:    "The whole machine was out of RAM. The kernel ended {victim}[[ ({held})]]; its own table of processes shows {other}, PID {other_pid}, with {other_held}.[[ {adjusted}]] So the one that died is not the only one to look at, and perhaps not the first.",
		Not:      "A smaller {victim} alone: the other one would take that, too.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Look at {other}, and end or bound it", Steps: stepsCloseBiggest, Cost: "Free"},
			{Fix: "lower_num_workers", Title: "If both are yours: one after the other", Told: "Run them in turn, or give each a limit of its own, so that the one that grows is the one that dies: `systemd-run --user --scope -p MemoryMax=8G COMMAND` (8G: what it may take).", Cost: "Time"},
			{Fix: "add_swap", Title: "Swap, if the peak was short", Kind: "shell", Text: swap16, Cost: "16 GB of disk, slow"},
		},
		Sources: []string{"linux/mm/oom_kill.c", "systemd/man/systemd.resource-control.xml"},
	},
	{
		ID: "linux/many-alike", Kinds: []fact.Kind{fact.KernelKill}, If: manyAlike,
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: teamFigures,
		Headline: "killed one of {count} {team} processes, which held {together} together",
		Means:    "Not one process is too large: the kernel's table lists {count} {team} processes with {each} each on average, {together} in all[[ ({shared})]][[; {limit} is the limit that they share]]. Such a group is as a rule one program's workers: data loaders, a process pool, one rank a card. Each is a copy of what it loads.",
		Not:      "Making the one that was killed smaller: it was only the next in line.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Half as many processes", Ways: []cause.Way{
				{For: "Data loader", Text: "`num_workers=2` (0 to see what the main process needs alone)"},
				{For: "Pool, joblib", Text: "`Pool(processes=4)`, `n_jobs=4`: each costs about {each}"},
				{For: "One process a card", Text: "load the weights in one of them, or memory-mapped (safetensors), so that they are not held once for each"},
			}, Cost: "Slower"},
			{Fix: "stream_dataset", Title: "Share what they copy", Told: "Open large arrays with `np.load(path, mmap_mode=\"r\")` inside the worker, in place of a list or DataFrame in the parent: a fork copies Python objects little by little as they are touched.", Cost: "Some rewriting"},
			{Fix: "raise_memory_limit", If: capped, Steps: limitSteps, Title: "Raise the limit", Cost: "Less for the rest of the machine"},
			{Fix: "add_swap", If: uncapped, Title: "Swap, if it was close", Kind: "shell", Text: swap16, Cost: "16 GB of disk, slow"},
		},
		Sources: []string{"linux/mm/oom_kill.c", "https://github.com/pytorch/pytorch/issues/13246"},
	},
	{
		ID: "linux/machine-small", Kinds: []fact.Kind{fact.KernelKill}, If: smallVictim, Unsaid: []string{"microsoft-standard-WSL2", "earlyoom"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: machineFigures,
		Headline: "killed {victim}, which held just {held}: many processes together filled the RAM",
		Means:    "The kernel ends the one that weighs most; where that is {held}, no single process is to blame: the machine is small[[ ({ram_total})]], or many workers and services share it.[[ There is no swap ({no_swap}), so any peak is fatal.]] Which, the table above the kill says, one line for each process (rss in pages of 4 KiB).",
		Not:      "Hunting a leak in {victim} alone, or limits of containers.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Count by program, then fewer workers", Kind: "shell", Text: "ps -eo rss=,comm= | awk '{s[$2]+=$1; n[$2]++} END {for (p in s) print int(s[p]/1024), n[p], p}' | sort -rn | head", Told: "MiB, number, name. uWSGI: `processes = 2`, `max-requests = 1000`, `reload-on-rss = 200`; gunicorn `--workers 2 --max-requests 1000`; PHP-FPM `pm.max_children`; a database's connections:", Cost: "Requests wait at a peak"},
			{Fix: "add_swap", Title: "Swap, for peaks", Steps: swapSteps, Cost: "Disk; slow while it is used"},
			{Fix: "raise_memory_limit", Title: "More RAM for the machine", Told: "The next size of the virtual machine. On VMware or Proxmox see whether ballooning takes RAM back (`vmware-toolbox-cmd stat balloon`).", Cost: "Money"},
		},
		Sources: []string{"linux/mm/oom_kill.c", "https://uwsgi-docs.readthedocs.io/en/latest/Options.html", "https://docs.gunicorn.org/en/stable/settings.html"},
	},
	{
		ID: "linux/machine", Kinds: []fact.Kind{fact.KernelKill}, If: uncapped, Unsaid: []string{"microsoft-standard-WSL2", "earlyoom"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: machineFigures,
		Headline: "killed {victim}[[, which held {held}]]: the machine's RAM was used up",
		Means:    "No limit of a container or job: the machine itself ran out of RAM[[ and of its {swap} of swap]][[, though {swap_left} of swap was free: what counts then is what cannot be swapped, or a burst faster than the disk]]. [[{largest} in one process is the largest part of it as a rule, for the kernel ends the one with the most. ]][[{adjusted} ]][[The machine has {ram_total}. ]][[There is no swap ({no_swap}), so any peak is fatal. ]]The log does not show how it came there: a jump while something loads is a matter of size, a climb over hours is something that is kept.",
		Not:      "Raising the limit of a container, and anything about the graphics card.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Watch which of the two it is, then hold less", Kind: "shell", Text: "watch -n 5 'free -h; ps -eo pid,rss,etime,args --sort=-rss | head -5'", Ways: []cause.Way{
				{For: "It jumps at a load", Text: "read in parts, memory-mapped, in 16 bit in place of 32; fewer worker processes"},
				{For: "It climbs", Text: "something that it keeps, such as a list, a cache or open tabs: write results out, close what is done, or restart it now and then"},
				{For: "Something else is large", Text: "end it"},
			}, Cost: "Free"},
			{Fix: "add_swap", Title: "Swap, for a short peak", Steps: swapSteps, Cost: "Disk; slow while it is used"},
			{Fix: "close_other_apps", Title: "Let this program die alone, and early", Told: "`systemd-run --user --scope -p MemoryMax=80% COMMAND` (your own command): a limit for it alone, so that the desktop and its other programs stay alive.", Cost: "It dies a little earlier"},
		},
		Sources: []string{"linux/mm/oom_kill.c", "systemd/man/systemd.resource-control.xml"},
	},
	{
		ID: "linux/cgroup-crumbs", Kinds: []fact.Kind{fact.KernelKill}, If: func(c *ledger.Case) bool { return ownCgroup(c) && crumb(c) },
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: cgroupFigures,
		Headline: "killed processes of {held} each: their sum reached the limit, not one of them",
		Means:    "The memory limit of {whose} was reached by many small processes together, or by files in /dev/shm and other tmpfs, which count as well. The one named ({victim}) held {held}: making it smaller changes nothing. If the same program is killed again and again, something starts it again each time.",
		Not:      "Swap or more RAM in the machine: the limit stays where it is.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", If: when.Not(unnamed), Title: "See how many run, and the limit", Steps: limitSteps, Told: "Count them first: `ps -eo comm= | sort | uniq -c | sort -rn | head` inside the container; then `df -h /dev/shm /tmp`.", Cost: "Less for the rest of the machine"},
			{Fix: "raise_memory_limit", If: unnamed, Title: "See whose limit it was, and how many run", Kind: "shell", Text: "sudo dmesg -T | grep -o 'oom_memcg=[^,]*' | tail -1", Told: "Inside it count them, `ps -eo comm= | sort | uniq -c | sort -rn | head`, and look at `df -h /dev/shm /tmp`. The path that the next line prints names the owner: kubepods is a pod (its `resources.limits.memory`), docker or libpod a container (`--memory`), .service or .scope a unit (`MemoryMax=`).", Cost: "Free"},
			{Fix: "lower_num_workers", If: inPython, Title: "Limit the number of processes", Told: "A pool that starts one for each core sees the machine's cores, not the container's: set the number (`Pool(4)`, `-n 4`, `--workers 4`), or limit it from outside with `docker run --pids-limit 200`.", Cost: "Less at a time"},
			{Fix: "lower_num_workers", If: when.Not(inPython), Title: "Fewer processes, or connections", Told: "A server's workers; a database's `max_connections`, and its shared buffers, which are shared memory and count once for all.", Cost: "Less at a time"},
			{Fix: "empty_cache", Title: "Files in memory", Told: "What programs that have ended left in /dev/shm, and in /tmp where that is a tmpfs, stays until it is deleted. What a running one keeps there is its own.", Cost: "Free"},
		},
		Sources: []string{"linux/mm/memcontrol.c", "linux/mm/oom_kill.c", "docker/cli/command/container/opts.go"},
	},
	{
		ID: "linux/cgroup", Kinds: []fact.Kind{fact.KernelKill}, If: ownCgroup,
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: cgroupFigures,
		Headline: "killed {victim}: {whose} reached its own memory limit[[ of {limit}]]",
		Means:    "\"Memory cgroup\" in the line: a limit was reached, not the end of the machine's RAM, of which there may be plenty. It is that of {whose}.[[ {victim} held {held} itself]][[, and {swapped} more in swap: it would not stop at this limit]].[[ The other {rest} of the {limit} are further processes in it, and files in /dev/shm and tmpfs, which count as well; page cache is given up first.]]",
		Not:      "More RAM in the machine, or closing programs outside: the limit stays where it is.[[ More swap: {swapped} of it did not save it.]]",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", If: when.Not(unnamed), Title: "Raise that limit", Steps: limitSteps, Told: "[[{wanted} is {basis}; come down once the real peak is known.]]", Cost: "Less for the rest of the machine"},
			{Fix: "raise_memory_limit", If: unnamed, Title: "See whose limit it was, and raise it", Kind: "shell", Text: "sudo dmesg -T | grep -o 'oom_memcg=[^,]*' | tail -1", Told: "The path that this prints names the owner.[[ {wanted} is {basis}.]]", Ways: []cause.Way{
				{For: "docker", Text: "`docker update --memory 16g --memory-swap 16g CONTAINER`, for good in Compose `mem_limit:`"},
				{For: "A name with .service", Text: "`sudo systemctl set-property NAME.service MemoryMax=16G`"},
				{For: "A name with .scope", Text: "`MemoryMax=` where it is started (`systemd-run --scope -p MemoryMax=16G`)"},
				{For: "kubepods, slurm", Text: "the pod's `resources.limits.memory`; the job's `--mem`"},
			}, Cost: "Less for the rest of the machine"},
			{Fix: "lower_num_workers", Title: "Or stay below it", If: inPython, Ways: []cause.Way{
				{For: "Several processes", Text: "fewer workers: each is a copy of what it loads (`num_workers=2`, `Pool(4)`; counted by the machine's cores, not the container's, unless set)"},
				{For: "One process", Text: "read data in parts or memory-mapped"},
				{For: "A model", Text: "load it in 16 bit, from safetensors"},
			}, Cost: "Some speed"},
			{Fix: "lower_num_workers", Title: "Or let {victim} need less", If: when.Not(inPython), Ways: []cause.Way{
				{For: "One large input", Text: "a part of it at a time, a coarser resolution, or fewer threads"},
				{For: "Its own setting", Text: "{bounded}"},
				{For: "It grows all the time", Text: "a leak: {leak}; else its newest version"},
			}, Cost: "Detail, or time"},
			{Fix: "detach_accumulated", Title: "It took hours or days to die: something grows", Told: "`systemd-cgtop -m` (`docker stats` for a container) every few minutes. A steady climb is a leak: update the program, or restart it on a schedule until that is found.", Cost: "Free"},
		},
		Sources: []string{"linux/mm/memcontrol.c", "linux/mm/oom_kill.c", "linux/Documentation/admin-guide/cgroup-v2.rst", "systemd/man/systemd.resource-control.xml", "https://docs.docker.com/reference/cli/docker/container/update/", "https://docs.oracle.com/en/java/javase/21/docs/specs/man/java.html", "node/doc/api/cli.md"},
	},
	{
		ID: "linux/systemd-oomd", Kinds: []fact.Kind{fact.OOMD},
		Cause: cause.HostMemory, Weight: cause.Decisive, Figures: oomdFigures,
		Headline: "(systemd-oomd) ended a whole group of programs before memory was gone",
		Means:    "Not the kernel: systemd-oomd ends a cgroup, a terminal tab or a whole desktop session with all that runs in it.[[ {unsaid}]][[ RAM and swap were both over 90 % full: {swapped} of {swap} of swap, beside {ram} of RAM.]][[ {swarm} processes ran in that one group: something started there multiplies, such as `make -j` without a number, tests or `xargs` in parallel without a bound, or a script that calls itself.]]",
		Not:      "Looking in dmesg: the kernel did not do this; `journalctl -u systemd-oomd` has it.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", If: swarm, Title: "Find what multiplies", Told: "In another terminal, while it runs; then give it a bound: `make -j8`, `pytest -n 4`, `xargs -P 4`.", Kind: "shell", Text: "ps -eo comm= | sort | uniq -c | sort -rn | head", Cost: "Free; less in parallel is slower"},
			{Fix: "raise_memory_limit", If: swarm, Title: "Put a bound around it", Told: "It then dies early and alone. Your own command in place of the last word:", Kind: "shell", Text: "systemd-run --user --scope -p TasksMax=300 -p MemoryMax={most} bash", Cost: "What needs more is ended"},
			{Fix: "restart_session", If: swarm, Title: "See what your shell starts by itself", Told: "A line of ~/.bashrc, direnv or an alias that calls itself; an editor's or agent's watcher that starts a process for each file.", Cost: "Free"},
			{Fix: "lower_num_workers", If: when.All(when.Not(swarm), fullSwap), Title: "Find what fills RAM and swap, and do less at once", Told: "The group with the most is first; fewer workers or jobs, smaller inputs, or a program that leaks and wants a restart.", Kind: "shell", Text: "systemd-cgtop -m   # every group; then: ps aux --sort=-rss | head", Cost: "Some speed"},
			{Fix: "add_swap", If: when.Not(fullSwap), Title: "More swap, on an SSD", Kind: "shell", Text: swap16, Cost: "16 GB of disk"},
			{Fix: "raise_memory_limit", If: when.Not(swarm), Title: "Start the job in a group of its own", Told: "Then that group is what is ended, not your terminal or desktop with it. Your own command in place of the last two words:", Kind: "shell", Text: "systemd-run --user --scope python train.py", Cost: "It can still be ended itself"},
			{Fix: "lower_num_workers", If: when.Not(when.Any(swarm, fullSwap)), Title: "Less at once", Told: "Fewer workers or compile jobs, a smaller batch of data; `systemd-cgtop -m` shows which group takes it while it runs.", Cost: "Some speed"},
		},
		Sources: []string{"systemd/man/oomd.conf.xml", "systemd/man/systemd.resource-control.xml"},
	},
	{
		ID: "linux/earlyoom", Kinds: []fact.Kind{fact.KernelKill}, Said: []string{"earlyoom"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Means: "earlyoom, a daemon, ended the process before the kernel had to: by default when available RAM and free swap are both below 10 %. It picks the process with the highest score, as a rule the largest. A small or full swap makes it act early.",
		Not:   "Looking in dmesg: the daemon logs by itself (`journalctl -u earlyoom`).",
		Cures: []cause.Cure{
			{Fix: "add_swap", Title: "Add swap", Kind: "shell", Text: swap16, Cost: "16 GB of disk"},
			lessAtOnce,
			{Fix: "raise_memory_limit", Title: "Let it act later", Kind: "text", Text: "In /etc/default/earlyoom set `EARLYOOM_ARGS=\"-m 4 -s 10\"` (percent of RAM and of swap that must be free) and restart the service.", Cost: "Less warning before a stall"},
		},
		Sources: []string{"earlyoom/README.md", "earlyoom/earlyoom.default"},
	},
}

// manyProcesses in one group are more than any program starts on purpose.
const manyProcesses = 200

// swarm: systemd-oomd ended hundreds of processes of one group.
func swarm(c *ledger.Case) bool {
	n, ok := c.Fact("oomd_processes")
	return ok && n.Count != nil && n.Count.Value >= manyProcesses
}

// fullSwap: more swap would be used up as well.
func fullSwap(c *ledger.Case) bool { return ledger.FullSwap(c) > 0 }

// oomdFigures are what systemd-oomd says of itself.
func oomdFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"ram": "", "swap": "", "swapped": "", "swarm": "", "unsaid": "", "most": "8G"}
	if ram := ledger.Sized(c, "oomd_ram"); ram > 0 {
		out["ram"], out["most"] = units.Amount(ram), strconv.FormatInt(max(1, ram*6/10/units.GiB), 10)+"G"
	}
	switch {
	case fullSwap(c):
		out["swap"], out["swapped"] = units.Amount(ledger.Sized(c, "oomd_swap")), units.Amount(ledger.Sized(c, "oomd_swap_used"))
	case !swarm(c):
		out["unsaid"] = "It does so when the processes spend most of their time waiting for memory (as a rule over half of 20 seconds), or when RAM and swap are both over 90 % full. So some RAM can have been free. A small swap, or none, makes such waits frequent."
	}
	if swarm(c) {
		n, _ := c.Fact("oomd_processes")
		out["swarm"] = n.Count.Text
	}
	return out
}
