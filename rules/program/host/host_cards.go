package host

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Cures that several share.
var (
	lessAtOnce = cause.Cure{Fix: "lower_num_workers", Title: "Hold less at once", Kind: "text", Text: "Fewer worker processes, a smaller batch of data, files read in pieces: each worker is a copy of what it holds.", Cost: "Some speed"}
	whoKilled  = cause.Cure{Fix: "close_other_apps", Title: "Ask the kernel who and why", Kind: "shell", Text: "sudo dmesg -T | grep -i -E 'oom|killed process'   # no line: it was not the out-of-memory killer", Cost: "Free"}
)

func capped(c *ledger.Case) bool   { return ledger.Capped(c) }
func uncapped(c *ledger.Case) bool { return !ledger.Capped(c) }

// ownLimit: the path of the cgroup has one of the parts.
func ownLimit(parts ...string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool {
		path := ledger.CgroupPath(c)
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
		Cause: cause.HostMemory, Weight: 0.82,
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
		Cause: cause.HostMemory, Weight: 0.95,
		Means: "The whole machine was out of memory. The kernel ended one process, but its own table shows another one that held more: the killed one is not the culprit here.",
		Not:   "Making the killed program smaller alone: the other one would take that, too.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "End or bound the one that held most", Kind: "shell", Text: "ps -eo pid,user,rss,etime,comm --sort=-rss | head   # the table in the log names it; rss there is in pages of 4 KiB", Cost: "Free"},
			{Fix: "add_swap", Title: "Add swap", Kind: "shell", Text: "sudo fallocate -l 16G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile", Cost: "16 GB of disk; slow"},
		},
		Sources: []string{"linux/mm/oom_kill.c"},
	},
	{
		ID: "linux/machine", Kinds: []fact.Kind{fact.KernelKill}, If: uncapped, Unsaid: []string{"microsoft-standard-WSL2", "earlyoom"},
		Cause: cause.HostMemory, Weight: 0.94,
		Means: "The kernel ran out of memory for the whole machine, swap included, and ended the process with the highest score, as a rule the largest. No limit of a container or job was reached. The card plays no part.",
		Not:   "Raising a container's limit: the machine itself was at its end.",
		Cures: []cause.Cure{
			{Fix: "add_swap", Title: "Add swap, if it was close", Kind: "shell", Text: "sudo fallocate -l 16G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile", Cost: "16 GB of disk; slow when used"},
			lessAtOnce,
			{Fix: "close_other_apps", Title: "See what else holds RAM", Kind: "shell", Text: "ps -eo pid,user,rss,etime,comm --sort=-rss | head", Cost: "Free"},
		},
		Sources: []string{"linux/mm/oom_kill.c"},
	},
	{
		ID: "linux/cgroup", Kinds: []fact.Kind{fact.KernelKill}, If: func(c *ledger.Case) bool { return capped(c) && !ownLimit("kubepods", "/slurm", "init.scope")(c) },
		Cause: cause.HostMemory, Weight: 0.95,
		Means: "A memory cgroup reached its own limit, and the kernel ended a process inside it; the machine may have had plenty. The path in the log says whose limit it is: docker, a service, a user. Files in /dev/shm and tmpfs count as well.",
		Not:   "Swap or more RAM in the machine: the limit stays where it is.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit"},
			lessAtOnce,
		},
		Sources: []string{"linux/mm/memcontrol.c", "linux/mm/oom_kill.c"},
	},
	{
		ID: "linux/systemd-oomd", Kinds: []fact.Kind{fact.OOMD}, Said: []string{"systemd-oomd"},
		Cause: cause.HostMemory, Weight: 0.93,
		Means: "systemd-oomd ended the whole group, a terminal or desktop session with all in it, because its processes waited for memory more than half of the time for 20 seconds. Memory need not have been gone; it acts before that.",
		Not:   "Looking for a kernel message: the kernel did not do this.",
		Cures: []cause.Cure{
			{Fix: "add_swap", Title: "Add swap, on a fast disk or zram", Kind: "shell", Text: "sudo fallocate -l 16G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile", Cost: "Disk space"},
			{Fix: "raise_memory_limit", Title: "Start it in a group of its own", Kind: "shell", Text: "systemd-run --user --scope python train.py   # your own command; your terminal is not ended with it then", Cost: "None; it can still be ended itself"},
			lessAtOnce,
		},
		Sources: []string{"systemd/man/oomd.conf.xml", "systemd/man/systemd.resource-control.xml"},
	},
	{
		ID: "linux/earlyoom", Kinds: []fact.Kind{fact.KernelKill}, Said: []string{"earlyoom"},
		Cause: cause.HostMemory, Weight: 0.95,
		Means: "earlyoom, a daemon, ended the process before the kernel had to: by default when free RAM and free swap are both below 10 %. A small or full swap makes it act early.",
		Not:   "Looking in dmesg: the daemon logs by itself (`journalctl -u earlyoom`).",
		Cures: []cause.Cure{
			{Fix: "add_swap", Title: "Add swap", Kind: "shell", Text: "sudo fallocate -l 16G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile", Cost: "16 GB of disk"},
			lessAtOnce,
			{Fix: "raise_memory_limit", Title: "Let it act later", Kind: "text", Text: "In /etc/default/earlyoom set `EARLYOOM_ARGS=\"-m 4 -s 10\"` (percent of RAM and of swap that must be free) and restart the service.", Cost: "Less warning before a stall"},
		},
		Sources: []string{"earlyoom/README.md", "earlyoom/earlyoom.default"},
	},
}
