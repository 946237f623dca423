package cause

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

var hostMemory = Rule{
	ID:       HostMemory,
	Title:    HostTitle,
	Headline: hostHeadline,
	Settles:  "Run `free -h` (Linux) or open Task Manager, Performance, Memory (Windows) while it loads; `sudo dmesg -T | grep -i -E 'oom|killed process'` shows what the kernel killed.",
	Clues: []Clue{
		Said(Stated, "Windows error 1455: Windows has reached its commit limit (RAM plus page file), even if some RAM is free.", fact.CommitLimit),
		Said(Stated, "A data loader worker ran out of shared memory (/dev/shm); the line where the main process stopped is not the cause.", fact.SharedMemory),
		Said(Decisive, "Shared memory (/dev/shm) is full, not a disk; a container gets only 64 MB of it by default.", fact.SharedSegment),
		Said(Decisive, "A process was killed by signal 9, usually by the kernel's out-of-memory killer.", fact.WorkerKilled, fact.RankKilled),
	},
	Remedies: HostRemedies,
}

// HostTitle only repeats what ran out.
const HostTitle = "System memory (RAM) ran out, not GPU memory"

// hostHeadline names whose memory it is where the message says so.
func hostHeadline(c *ledger.Case) string {
	switch {
	case ledger.SharedMemory(c):
		return "Shared memory (/dev/shm) is too small"
	case c.Root(fact.CommitLimit):
		return "Windows reached its commit limit (RAM and page file together)"
	case c.Root(fact.ContainerKill):
		return "The container reached its memory (RAM) limit"
	case c.Root(fact.SlurmKill):
		return "The job reached its memory (RAM) limit"
	case c.Root(fact.BuildKilled):
		return "Too many compilers ran at once for the computer's memory (RAM)"
	case c.Root(fact.KernelKill) && ledger.Capped(c):
		return "A memory (RAM) limit of the container, job or service was reached"
	}
	return ""
}

// Large is where one array stops being work and becomes a wrong shape or too
// much at once.
const Large = 24 * units.GiB

// Bounds of what ONNX Runtime's request can mean.
const (
	Absurd = int64(1) << 50
	// NoMachine is what no ordinary machine has: a size in bytes of which more
	// RAM is no cure.
	NoMachine = int64(1) << 40
	Unusual   = 64 * units.GiB
	Crumb     = 64 * units.MiB
)

// HostRemedies cure a lack of system memory by whose memory it is: shared
// memory, Windows' promises, a limit of a container or job, the machine.
var HostRemedies = []Remedy{
	{Fix: "detach_accumulated", Fit: Foremost, If: ClimbingHost},
	{Fix: "raise_shm_size", Fit: Foremost, If: ledger.SharedMemory},
	{Fix: "raise_pagefile", Fit: Foremost, If: reader.OnWindows},
	{Fix: "lower_build_jobs", Fit: Foremost, If: when.Root(fact.BuildKilled)},
	{Fix: "raise_memory_limit", Fit: Foremost, If: ledger.Capped},
	{Fix: "stream_dataset", Fit: Foremost, If: ledger.GrowsList},
	{Fix: "close_other_apps", Fit: Foremost, If: ledger.OtherHoldsMore},
	{Fix: "use_smaller_model", Fit: Cures, If: when.Root(fact.AppleKill)},
	{Fix: "lower_num_workers", Fit: Cures, If: when.Any(manyAtOnce, killedWithWorkers)},
	{Fix: "lower_resolution", Fit: Cures, If: wantsLargeBuffer},
	{Fix: "raise_memory_limit", Fit: Cures, If: when.Any(when.Root(fact.Evicted), inPod)},
	{Fix: "use_lower_quant", Fit: Cures, If: when.Root(fact.AppleKill)},
	{Fix: "stream_dataset", Fit: Helps, If: when.Root(fact.NumpyAlloc)},
	{Fix: "add_swap", Fit: Helps, If: swapHelps},
	{Fix: "raise_memory_limit", Fit: Helps, If: maybeCapped},
	{Fix: "close_other_apps", Fit: Helps, If: reader.OnWindows},
	{Fix: "lower_context", Fit: Helps, If: when.Root(fact.AppleKill)},
	{Fix: "lower_batch_size", Fit: Helps, If: wantsLargeBuffer},
	{Fix: "close_other_apps", Fit: MayHelp, If: func(c *ledger.Case) bool { return !reader.OnWindows(c) && swapHelps(c) && !ledger.OtherHoldsMore(c) }},
	{Fix: "use_smaller_model", Fit: MayHelp, If: LoadsModel},
	{Fix: "use_lower_quant", Fit: MayHelp, If: LoadsModel},
	{Fix: "use_mmap", Fit: MayHelp, If: LoadsModel},
	{Fix: "lower_num_workers", Fit: MayHelp, If: func(c *ledger.Case) bool {
		return !LoadsModel(c) && !when.Any(manyAtOnce, killedWithWorkers)(c) && !c.Root(fact.AppleKill) && !wholeDataAtOnce(c) && !otherVictim(c)
	}},
	{Fix: "stream_dataset", Fit: LastResort, If: (*ledger.Case).Training},
	{Fix: "use_smaller_model", Fit: LastResort, If: func(c *ledger.Case) bool {
		return !LoadsModel(c) && !c.Root(fact.AppleKill, fact.NumpyAlloc) && (ledger.RunsModels(c) || !ledger.Capped(c) && !otherVictim(c))
	}},
}

// otherVictim: the kernel names what it ended, and that runs no models.
func otherVictim(c *ledger.Case) bool {
	v, ok := c.Fact("victim")
	name := strings.ToLower(v.Text)
	return ok && name != "" && !ledger.RunsModels(c) && !slices.ContainsFunc([]string{"python", "pt_", "llama", "ollama", "vllm", "torch"}, func(part string) bool { return strings.Contains(name, part) })
}

// ClimbingHost: what the program printed of its memory rose until the
// computer's own ran out, or many steps had fitted into it.
func ClimbingHost(c *ledger.Case) bool {
	if c.Root(fact.CPUAlloc) && ledger.Requested(c) > 0 && ledger.Requested(c) < 64*units.MiB && c.Signal("many_steps") != nil && c.Signal("many_steps").Line < c.Failure.Line {
		return true // as many steps as that worked, and the next asked for little
	}
	s := c.Signal("climbing")
	return s != nil && (s.Line == 0 && c.Root(fact.KernelKill) || s.Line < c.Failure.Line && c.Root(fact.CPUAlloc, fact.PythonMemory, fact.NumpyAlloc, fact.BadAlloc, fact.ShellKilled))
}

// inPod: a pod has a limit as a rule, and the node no swap.
func inPod(c *ledger.Case) bool { return c.Root(fact.ShellKilled) && c.In("kubernetes") }

// maybeCapped: a kill of which the log does not say whether a limit or the
// machine was at its end.
func maybeCapped(c *ledger.Case) bool {
	return !wholeDataAtOnce(c) && !reader.OnWindows(c) && c.Root(fact.ShellKilled, fact.RankKilled, fact.WorkerKilled, fact.RayKilled, fact.BadAlloc, fact.PythonMemory, fact.NumpyAlloc, fact.CPUAlloc, fact.RustAlloc, fact.NativeAlloc, fact.ORTAlloc)
}

// wholeDataAtOnce: one piece that no swap and no limit makes room for.
func wholeDataAtOnce(c *ledger.Case) bool {
	return ledger.Requested(c) >= Unusual || c.Root(fact.NumpyAlloc, fact.RustAlloc) && ledger.Requested(c) >= Large
}

// swapHelps: the machine itself is short, or may be.
func swapHelps(c *ledger.Case) bool {
	return !ledger.Capped(c) && !ledger.OnCluster(c) && !reader.OnWindows(c) && !wholeDataAtOnce(c) && !ledger.SharedMemory(c) && !c.Root(fact.AppleKill, fact.Evicted)
}

// manyAtOnce: workers, tasks or threads share the memory, and each holds some.
func manyAtOnce(c *ledger.Case) bool {
	f := c.F()
	return c.Root(fact.SharedMemory, fact.WorkerKilled, fact.RayKilled) || c.Root(fact.ORTAlloc) && f.Requested != nil && f.Requested.Bytes < 64*units.MiB
}

// killedWithWorkers: a program with data loader workers was killed.
func killedWithWorkers(c *ledger.Case) bool {
	return c.Root(fact.ShellKilled, fact.KernelKill) && c.Signal("workers") != nil
}

// wantsLargeBuffer: the size of one input decides.
func wantsLargeBuffer(c *ledger.Case) bool {
	f := c.F()
	return c.Root(fact.ORTAlloc) && f.Requested != nil && f.Requested.Bytes >= 64*units.MiB
}

// LoadsModel reports a program that died while it read a model.
func LoadsModel(c *ledger.Case) bool { return c.Phase == "load" && !ledger.SharedMemory(c) }
