package rules

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers"
)

var hostMemory = Rule{
	ID:    HostMemory,
	Title: "The computer's own memory (RAM) ran out, not the card's",
	Doc: paragraphs(
		"The computer's own memory is short: RAM and page file, a container's or job's limit, or shared memory. The graphics card is not the problem, and options for it change nothing.",
		"Linux ends a program without a word of its own (`Killed`, exit code 137, `exitcode: -9`). Windows refuses (error 1455, `not enough memory`) when RAM and page file together are promised away, even with RAM free. A data loader in a container dies of a full `/dev/shm` (bus error).",
		"The size in a CPU allocator's message is the *last* piece asked for, often a few MB, and never the whole need.",
	),
	Settles: "Run `free -h` (Linux) or open Task Manager, Performance, Memory (Windows) while it loads; `sudo dmesg -T | grep -i -E 'oom|killed process'` shows what the kernel killed.",
	Remedies: []Remedy{
		{Fix: "raise_shm_size", Fit: 1.1, If: rootIs(parsers.SharedMemory, parsers.NCCLShm)},
		{Fix: "raise_pagefile", Fit: 1.1, If: onWindows},
		{Fix: "lower_build_jobs", Fit: 1.1, If: rootIs(parsers.BuildKilled)},
		{Fix: "raise_memory_limit", Fit: 1.1, If: capped},
		{Fix: "raise_memory_limit", Fit: 0.98, If: rootIs(parsers.Evicted)},
		{Fix: "raise_memory_limit", Fit: 0.85, If: maybeCapped},
		{Fix: "use_smaller_model", Fit: 1, If: rootIs(parsers.AppleKill)},
		{Fix: "use_lower_quant", Fit: 0.95, If: rootIs(parsers.AppleKill)},
		{Fix: "lower_context", Fit: 0.8, If: rootIs(parsers.AppleKill)},
		{Fix: "lower_num_workers", Fit: 1, If: manyAtOnce},
		{Fix: "stream_dataset", Fit: 0.9, If: rootIs(parsers.NumpyAlloc)},
		{Fix: "lower_resolution", Fit: 0.9, If: wantsLargeBuffer},
		{Fix: "lower_batch_size", Fit: 0.8, If: wantsLargeBuffer},
		{Fix: "add_swap", Fit: 0.87, If: swapHelps},
		{Fix: "close_other_apps", Fit: 0.85, If: onWindows},
		{Fix: "close_other_apps", Fit: 0.7, If: func(c *Case) bool { return !onWindows(c) && swapHelps(c) }},
		{Fix: "use_mmap", Fit: 0.6, If: loadsModel},
		{Fix: "use_smaller_model", Fit: 0.7, If: loadsModel},
		{Fix: "use_lower_quant", Fit: 0.65, If: loadsModel},
		{Fix: "lower_num_workers", Fit: 0.6, If: func(c *Case) bool { return !loadsModel(c) && !c.Root(parsers.AppleKill) }},
		{Fix: "stream_dataset", Fit: 0.5, If: (*Case).Training},
		{Fix: "use_smaller_model", Fit: 0.4},
	},
}

// maybeCapped: a kill of which the log does not say whether a limit or the
// machine was at its end.
func maybeCapped(c *Case) bool {
	return c.Root(parsers.ShellKilled, parsers.RankKilled, parsers.WorkerKilled, parsers.RayKilled, parsers.BadAlloc, parsers.PythonMemory, parsers.NumpyAlloc, parsers.CPUAlloc, parsers.RustAlloc, parsers.ORTAlloc)
}

// swapHelps: the machine itself is short, or may be.
func swapHelps(c *Case) bool {
	return !capped(c) && !onWindows(c) && !c.Root(parsers.SharedMemory, parsers.NCCLShm, parsers.AppleKill, parsers.Evicted)
}

// manyAtOnce: workers, tasks or threads share the memory, and each holds some.
func manyAtOnce(c *Case) bool {
	f := c.F()
	return c.Root(parsers.SharedMemory, parsers.WorkerKilled, parsers.RayKilled) || c.Root(parsers.ORTAlloc) && f.Requested != nil && f.Requested.Bytes < 64*units.MiB
}

// wantsLargeBuffer: the size of one input decides.
func wantsLargeBuffer(c *Case) bool {
	f := c.F()
	return c.Root(parsers.ORTAlloc) && f.Requested != nil && f.Requested.Bytes >= 64*units.MiB
}

// loadsModel reports a program that died while it read a model.
func loadsModel(c *Case) bool {
	return c.Phase == "load" && !c.Root(parsers.SharedMemory, parsers.NCCLShm)
}
