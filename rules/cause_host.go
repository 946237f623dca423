package rules

import "github.com/oomdoc/oomdoc/parsers/fact"

var hostMemory = Rule{
	ID:       HostMemory,
	Title:    "The computer's own memory (RAM) ran out, not the card's",
	Headline: hostHeadline,
	Doc: paragraphs(
		"The computer's own memory is short: RAM and page file, a container's or job's limit, or shared memory. The graphics card is not the problem, and options for it change nothing.",
		"Linux ends a program without a word of its own (`Killed`, exit code 137, `exitcode: -9`). Windows refuses (error 1455, `not enough memory`) when RAM and page file together are promised away, even with RAM free. A data loader in a container dies of a full `/dev/shm` (bus error).",
		"The size in a CPU allocator's message is the *last* piece asked for, often a few MB, and never the whole need.",
	),
	Settles: "Run `free -h` (Linux) or open Task Manager, Performance, Memory (Windows) while it loads; `sudo dmesg -T | grep -i -E 'oom|killed process'` shows what the kernel killed.",
	Clues: []Clue{
		cpuAllocation, freeButRefused, nativePaging, pinnedMemory,
		said(0.97, "Windows error 1455: all memory that Windows can promise (RAM and page file) is taken, free RAM or not.", fact.CommitLimit),
		said(0.96, "A data loader worker ran out of shared memory (/dev/shm); the place where the main process stopped is not the cause.", fact.SharedMemory),
		said(0.9, "A process was killed by signal 9: as a rule the kernel's out-of-memory killer.", fact.WorkerKilled, fact.RankKilled),
	},
	Remedies: []Remedy{
		{Fix: "raise_memory_limit", Fit: 0.8},
		{Fix: "close_other_apps", Fit: 0.75},
		{Fix: "add_swap", Fit: 0.75},
		{Fix: "lower_num_workers", Fit: 0.5},
		{Fix: "use_smaller_model", Fit: 0.5},
	},
}

// hostHeadline names whose memory it is where the message says so.
func hostHeadline(c *Case) string {
	switch {
	case sharedMemory(c):
		return "Shared memory (/dev/shm) is too small"
	case c.Root(fact.CommitLimit):
		return "Windows can promise no more memory (RAM and page file together)"
	case c.Root(fact.ContainerKill):
		return "The container reached its memory (RAM) limit"
	case c.Root(fact.SlurmKill):
		return "The job reached its memory (RAM) limit"
	case c.Root(fact.BuildKilled):
		return "Too many compilers ran at once for the computer's memory (RAM)"
	case c.Root(fact.KernelKill) && capped(c):
		return "A memory (RAM) limit of the container, job or service was reached"
	}
	return ""
}

// sharedMemory: /dev/shm is full, which other programs and swap hardly bear on.
func sharedMemory(c *Case) bool { return c.Root(fact.SharedMemory, fact.NCCLShm) }
