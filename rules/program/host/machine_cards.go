package host

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/host/kinds"
	"github.com/oomdoc/oomdoc/rules/program/host/oomd"
	"github.com/oomdoc/oomdoc/rules/when"
)

// writesPython: Python was ended, or a training with PyTorch, whose reader sits in
// the container.
func writesPython(c *ledger.Case) bool { return inPython(c) || loaderKilled(c) }

// ofGuest are what the kernel prints of the hardware of a virtual machine.
var ofGuest = []string{"Hardware name: QEMU", "Hardware name: VMware", "Hardware name: innotek GmbH VirtualBox", "Hardware name: Xen", "Hardware name: Microsoft Corporation Virtual Machine", "Hardware name: Amazon EC2", "Hardware name: Google Google Compute Engine", "Hardware name: Red Hat KVM", "Hardware name: OpenStack", "-azure #"}

// inGuest: the log is that of a virtual machine.
func inGuest(c *ledger.Case) bool { return c.Near(ofGuest...) }

// asked: who asked for memory last is a program of which it is known what bounds
// it, and nothing says who was killed.
func asked(c *ledger.Case) bool {
	who := askerOf.FindStringSubmatch(c.Failure.Message)
	if who == nil || named(c) {
		return false
	}
	p, _ := kinds.Of(who[1])
	return p.Bound != ""
}

// machine is the card of a whole machine that was full.
var machine = cause.Card{
	ID: "linux/machine", Kinds: []fact.Kind{fact.KernelKill}, If: uncapped, Unsaid: []string{"microsoft-standard-WSL2", "earlyoom"},
	Cause: cause.HostMemory, Weight: cause.Decisive, Figures: machineFigures,
	Headline: "killed {victim}[[, which held {held}]]: the machine's RAM was used up",
	Means:    "The machine itself ran out of RAM[[ and of its {swap} of swap]]; this was not the limit of a container or job.[[ {swap_left} of swap was still free, so it was memory that cannot be swapped, or a burst faster than the disk.]][[ The kernel usually kills the process that holds the most; this one held {largest}.]][[ {adjusted}]][[ The machine has {ram_total}.]][[ There is no swap ({no_swap}) to absorb a peak.]][[ {asker} asked for memory when none was left; that need not be what was killed.]]",
	Not:      "[[{beside}: the whole machine was full.]]",
	Cures: []cause.Cure{
		{Fix: "lower_num_workers", If: inPython, Title: "Reduce what {victim} holds", Ways: []cause.Way{
			{For: "Workers (data loader, Pool, joblib)", Text: "use 2, or half as many: each has its own copy of the data"},
			{For: "Data that is read whole", Text: "read it in parts (`chunksize=`) or memory-mapped (`np.load(path, mmap_mode=\"r\")`), with smaller types (float32, uint8)"},
			{For: "It climbs over hours", Text: "results are being kept, for example in a list: write them out as they come"},
		}, Told: "This shows whether its memory jumps or climbs:", Kind: "shell", Text: watchRAM, Cost: "some rewriting"},
		{Fix: "lower_num_workers", If: when.All(named, when.Not(inPython)), Title: "Reduce what {victim} holds", Ways: []cause.Way{
			{For: "A server, node or database", Text: "set the cache or memory limit in its own configuration"},
			{For: "It jumps when it loads something", Text: "give it less input at a time, or fewer threads"},
			{For: "It climbs over hours", Text: "a cache grows or it leaks: limit the cache, update the program (or go back, if an update brought it), or restart it on a schedule"},
		}, Told: "This shows whether its memory jumps or climbs, and what else is large:", Kind: "shell", Text: watchRAM, Cost: "free to look"},
		{Fix: "lower_num_workers", If: when.All(asked, when.Not(inPython)), Title: "Reduce what {asker} holds", Told: "{asker_bound}.", Cost: "some speed"},
		{Fix: "close_other_apps", If: when.Not(when.Any(named, inPython, asked)), Title: "Find out what was killed, and what fills the RAM", Kind: "shell", Text: "sudo dmesg -T | grep -E 'Killed process|oom-kill:' | tail -2; ps -eo pid,rss,etime,args --sort=-rss | head -6", Told: "The line \"Killed process\" names what was killed and how much it held.", Cost: "free"},
		{Fix: "raise_memory_limit", If: when.Not(inPython), Title: "Give the machine more RAM[[ (it has {ram_total})]]", Told: "Or move one of the large programs to another machine.", Cost: "money"},
		{Fix: "add_swap", If: when.Not(oomd.FullSwap), Title: "Add swap for a short peak", Steps: swapSteps, Cost: "disk, and slow when used"},
		{Fix: "close_other_apps", If: inPython, Title: "Give this program its own memory limit", Told: "`systemd-run --user --scope -p MemoryMax=80% COMMAND` (your command): then only this program is killed, and the rest of the machine stays usable.", Cost: "it is killed a little earlier"},
	},
	Sources: []string{"linux/mm/oom_kill.c", "systemd/man/systemd.resource-control.xml"},
}

// inCloud: the virtual machine is one of a provider, by its hardware or its kernel.
func inCloud(c *ledger.Case) bool {
	return c.Near("Hardware name: Amazon EC2", "Hardware name: Google Google Compute Engine", "Hardware name: OpenStack", "-azure #")
}

// runsContainers: what asked has the score of containerd's service, its older
// shims, kubelet or kube-proxy (containerd/containerd.service, OOMScoreAdjust;
// kubernetes/pkg/kubelet/qos/policy.go).
func runsContainers(c *ledger.Case) bool { return c.Contains("oom_score_adj=-999") }

// boundContainers is for a machine whose containers have no limits of their own.
var boundContainers = cause.Cure{Fix: "lower_parallel", If: runsContainers, Title: "Limit each container, and start fewer at once", Told: "The score of -999 shows that the machine runs containers. `docker stats --no-stream` shows what each holds. Limit them with `docker run -m 2g`, `mem_limit: 2g` in Compose or `resources.limits.memory`, so that one cannot fill the machine.", Cost: "what needs more is killed alone"}

// cloudRAM is how an instance gets more.
var cloudRAM = cause.Cure{Fix: "raise_memory_limit", If: inCloud, Title: "Take the next size of the instance[[ (it has {ram_total})]]", Told: "Stop the instance, then change its type in the provider's console or command line.", Cost: "money"}

// guestRAM is how a virtual machine gets more.
var guestRAM = cause.Cure{Fix: "raise_memory_limit", If: when.Not(inCloud), Title: "Give the virtual machine more RAM[[ (it has {ram_total})]]", Told: "On its host, in the settings of QEMU (`-m`), libvirt (`<memory>`), VirtualBox or VMware. A tool that builds in its own virtual machine has an option for it (debos: `--memory`).", Cost: "less for the host, or money"}

// virtual is the card of a machine for a virtual one, whose RAM its host decides.
func virtual(k cause.Card) cause.Card {
	k.ID, k.Said = "linux/guest", ofGuest
	k.Headline = strings.Replace(k.Headline, "the machine's RAM", "the virtual machine's RAM", 1)
	k.Means = strings.NewReplacer("The machine itself", "The virtual machine itself", "The machine has", "It has").Replace(k.Means)
	at := slices.IndexFunc(k.Cures, func(x cause.Cure) bool { return x.Fix == "raise_memory_limit" })
	k.Cures = slices.Concat(k.Cures[:at], []cause.Cure{boundContainers, cloudRAM, guestRAM}, k.Cures[at+1:])
	return k
}

// traceLines bounds a call trace.
const traceLines = 40

// writesMemory: the call trace goes through a write to a file in RAM, which is
// deeper in it than cards look; a shared mapping goes through shmem_fault.
func writesMemory(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Words, func(w fact.Word) bool {
		return (w.Text == "shmem_write_begin" || w.Text == "shmem_file_write_iter") && w.Line >= c.Failure.Line && w.Line <= c.Failure.Line+traceLines
	})
}

// memoryFiles: who asked for the last page was writing a file that is held in RAM.
var memoryFiles = cause.Card{
	ID: "linux/memory-files", Kinds: []fact.Kind{fact.KernelKill}, If: when.All(uncapped, writesMemory), Said: []string{"shmem_alloc_page", "shmem_alloc_and_acct_page", "shmem_alloc_folio", "shmem_alloc_and_acct_folio", "shmem_alloc_and_add_folio", "shmem_getpage_gfp", "shmem_get_folio_gfp", "shmem_write_begin", "shmem_file_write_iter"}, Unsaid: []string{"microsoft-standard-WSL2"},
	Cause: cause.HostMemory, Weight: cause.Decisive, Figures: fileFigures,
	Headline: "ran out of RAM while {writer} wrote files into memory (tmpfs)",
	Means:    "{writer} was writing to a tmpfs: a folder whose files are kept in RAM (often /tmp, /dev/shm, /run, or the scratch space of a build).[[ The largest process held only {most}, so files fill the RAM, not programs.]] Killing a process does not free them.",
	Not:      "Looking for a leak in the killed process.[[ {host_swap}: it does not reach the virtual machine.]]",
	Cures: []cause.Cure{
		{Fix: "stream_dataset", Title: "Put those files on disk", Told: "`df -h -t tmpfs` shows which one fills up. Use another folder (`TMPDIR=/var/tmp`), or mount a disk there. A tool that builds in its own virtual machine has an option for it (debos: `--scratchsize=8G`).", Cost: "slower than RAM"},
		only(cloudRAM, when.All(inGuest, inCloud)), only(guestRAM, when.All(inGuest, when.Not(inCloud))),
		{Fix: "raise_memory_limit", If: when.Not(inGuest), Title: "Limit the size of the tmpfs", Told: "Writing then fails with \"No space left on device\" instead. For /tmp: `sudo mount -o remount,size=2G /tmp`. By default each may take half of the RAM.", Cost: "less room there"},
	},
	Sources: []string{"linux/mm/shmem.c", "linux/Documentation/filesystems/tmpfs.rst", "debos/README.md"},
}

// fileFigures name who wrote, and the largest process that the table lists.
func fileFigures(c *ledger.Case) map[string]string {
	out := machineFigures(c)
	out["writer"], out["most"], out["host_swap"] = "a program", "", ""
	if inGuest(c) {
		out["host_swap"] = "Swap on the host"
	}
	if who := askerOf.FindStringSubmatch(c.Failure.Message); who != nil {
		out["writer"] = plainName(who[1])
	}
	if len(c.Facts.Tasks) > 0 {
		if top, _ := topTask(c); top.Bytes < units.GiB {
			out["most"] = units.Amount(top.Bytes)
		}
	}
	return out
}
