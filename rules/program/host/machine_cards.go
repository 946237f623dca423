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
	Means:    "The machine itself ran out of RAM[[ and of its {swap} of swap]], not the limit of a container or job.[[ {swap_left} of swap was still free, so it was memory that cannot be swapped, or a burst faster than the disk.]][[ The kernel usually ends the process that holds most; this one held {largest}.]][[ {adjusted}]][[ The machine has {ram_total}.]][[ There is no swap ({no_swap}) to absorb a peak.]][[ {asker} asked for memory when none was left; that need not be what was killed.]]",
	Not:      "[[{beside}: the whole machine was full.]]",
	Cures: []cause.Cure{
		{Fix: "lower_num_workers", If: inPython, Title: "Reduce what {victim} holds", Ways: []cause.Way{
			{For: "Workers (data loader, Pool, joblib)", Text: "use 2, or half as many: each holds its own copy of the data"},
			{For: "Data that is read whole", Text: "read it in parts (`chunksize=`) or memory-mapped (`np.load(path, mmap_mode=\"r\")`), in smaller types (float32, uint8)"},
			{For: "It climbs over hours", Text: "something is kept, such as a list of results: write results out as they come"},
		}, Told: "The command below shows whether memory jumps or climbs.", Kind: "shell", Text: watchRAM, Cost: "Some rewriting"},
		{Fix: "lower_num_workers", If: when.All(named, when.Not(inPython)), Title: "Reduce what {victim} holds", Ways: []cause.Way{
			{For: "A server, node or database", Text: "the cache or memory limit in its own configuration, as an amount"},
			{For: "It jumps when it loads something", Text: "give it a part of the input at a time, or fewer threads"},
			{For: "It climbs over hours", Text: "a cache or a leak: limit the cache, update the program (or go back, if it came with an update), restart it on a schedule"},
		}, Told: "The command below shows whether memory jumps or climbs, and who else is large.", Kind: "shell", Text: watchRAM, Cost: "Free to look"},
		{Fix: "lower_num_workers", If: when.All(asked, when.Not(inPython)), Title: "Reduce what {asker} holds", Told: "{asker_bound}.", Cost: "Some speed"},
		{Fix: "close_other_apps", If: when.Not(when.Any(named, inPython, asked)), Title: "See who was killed, and who holds the RAM", Kind: "shell", Text: "sudo dmesg -T | grep -E 'Killed process|oom-kill:' | tail -2; ps -eo pid,rss,etime,args --sort=-rss | head -6", Told: "The line \"Killed process\" names the victim and what it held.", Cost: "A look is free"},
		{Fix: "raise_memory_limit", If: when.Not(inPython), Title: "Give the machine more RAM[[: it has {ram_total}]]", Told: "Or move one of the large programs to another machine.", Cost: "Money"},
		{Fix: "add_swap", If: when.Not(oomd.FullSwap), Title: "Add swap for a short peak", Steps: swapSteps, Cost: "Disk; slow while it is used"},
		{Fix: "close_other_apps", If: inPython, Title: "Give this program its own memory limit", Told: "`systemd-run --user --scope -p MemoryMax=80% COMMAND` (your own command): then only this program is killed, and the rest of the machine stays usable.", Cost: "It is killed a little earlier"},
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
var boundContainers = cause.Cure{Fix: "lower_parallel", If: runsContainers, Title: "Bound the containers, and start fewer at once", Told: "A score of -999 is what containerd's service has (in Kubernetes kubelet and kube-proxy too): the machine runs containers. `docker stats --no-stream` shows what each holds; `docker run -m 2g`, `mem_limit: 2g` in Compose, or `resources.limits.memory` bounds it, so that one cannot take the machine.", Cost: "What needs more is ended alone"}

// cloudRAM is how an instance gets more.
var cloudRAM = cause.Cure{Fix: "raise_memory_limit", If: inCloud, Title: "Take the next size of the instance[[: it has {ram_total}]]", Told: "In the provider's console or command line, with the instance stopped.", Cost: "Money"}

// guestRAM is how a virtual machine gets more.
var guestRAM = cause.Cure{Fix: "raise_memory_limit", If: when.Not(inCloud), Title: "Give the virtual machine more RAM[[: it has {ram_total}]]", Told: "On its host, in the settings of what runs it (QEMU `-m`, libvirt `<memory>`, VirtualBox, VMware). A tool that builds in a virtual machine of its own has an option for it (debos `--memory=4GB`).", Cost: "Less for the host, or money"}

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
	Headline: "ran out of RAM while {writer} wrote a file that is held in RAM (tmpfs)",
	Means:    "The call trace goes through `shmem_write_begin`: {writer} was writing to a tmpfs (/tmp, /dev/shm, /run, or the scratch of a build), whose files are RAM.[[ The largest process in the kernel's table held {most}, so the files fill it, not the programs.]] Ending a process does not free them.",
	Not:      "Looking for a leak in the process that was ended.[[ {host_swap}: it does not reach the virtual machine.]]",
	Cures: []cause.Cure{
		{Fix: "stream_dataset", Title: "Put those files on a disk", Told: "A tool that builds in a virtual machine of its own has an option for scratch space on disk (debos `--scratchsize=8G`). Elsewhere `df -h -t tmpfs` shows the one that fills: use another folder (`TMPDIR=/var/tmp`), or mount a disk there.", Cost: "Slower than RAM"},
		only(cloudRAM, when.All(inGuest, inCloud)), only(guestRAM, when.All(inGuest, when.Not(inCloud))),
		{Fix: "raise_memory_limit", If: when.Not(inGuest), Title: "Bound the tmpfs", Told: "Then the write fails with \"No space left on device\" instead: `sudo mount -o remount,size=2G /tmp` (the one that fills; by default half of the RAM each).", Cost: "Less room there"},
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
