// Package rest has the cards of last resort: what is known of any failure from
// its kind, phase, figures and system alone, where no program's own card speaks.
package rest

import (
	"slices"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Program is what any failure is like. It comes behind all others.
var Program = program.Program{Cards: cards}

// Beside returns it for what is no failure of PyTorch's, which has its own.
func Beside(c *ledger.Case) []*program.Program {
	if c.In("pytorch") {
		return nil
	}
	return []*program.Program{&Program}
}

// inRAM: system memory was refused.
func inRAM(c *ledger.Case) bool {
	return c.Root(ledger.HostKinds...) || c.Backend == "cpu" || ledger.InHost(c) || c.Kind(fact.PlainHost, fact.NativeAlloc, fact.BadAlloc, fact.PythonMemory, fact.NumpyAlloc, fact.RustAlloc, fact.MmapFailed)
}

// onCard: a graphics card's memory was refused.
func onCard(c *ledger.Case) bool {
	return !inRAM(c) && (ledger.OnCard(c) || c.Kind(fact.DeviceAlloc, fact.PlainDevice, fact.BufferLimit, fact.WGPUBuffer, fact.ORTDevice))
}

// loading: a model was being loaded.
func loading(c *ledger.Case) bool {
	return c.Phase == "load" || c.Near("loading model", "loadModel", "load_model")
}

// onMac: card and computer share one memory.
func onMac(c *ledger.Case) bool {
	return c.Backend == "metal" || c.Backend == "mps" || c.Reader.OS == "mac"
}

// fullBefore: the piece is too small to be the matter.
func fullBefore(c *ledger.Case) bool {
	asked := ledger.Requested(c)
	return asked > 0 && asked < 64*units.MiB
}

// address: a size that looks like an address of a process on 64 bit, which lies
// between 0x5500 0000 0000 and 0x7fff ffff ffff as a rule.
func address(c *ledger.Case) bool {
	n := ledger.Requested(c)
	return n >= 0x5500<<32 && n < 0x8000<<32
}

// noSize: more than any machine has, or so much that nothing could print it.
func noSize(c *ledger.Case) bool {
	return ledger.Requested(c) >= cause.Absurd || c.Root(fact.MLXBuffer, fact.BufferLimit) && c.F().Requested == nil && c.F().Limit != nil
}

// abovePiece: the device's own bound for one piece is known and below what was
// asked for.
func abovePiece(c *ledger.Case) bool {
	f := c.F()
	return c.Root(fact.BufferLimit, fact.MLXBuffer, fact.WGPUBuffer) && f.Limit != nil && ledger.Requested(c) > f.Limit.Bytes
}

// onePiece: so much at once is no step of ordinary work.
func onePiece(c *ledger.Case) bool {
	return ledger.Requested(c) >= cause.Large && c.Phase != "load" && !ledger.OnCluster(c)
}

// model: weights are what it loads, or what it runs.
func model(c *ledger.Case) bool { return ledger.RunsModels(c) }

// byCode: the reader writes what failed; byUse: runs it and sets options.
func byCode(c *ledger.Case) bool { return c.Reader.Edits == "code" }

// monitored: the kind of card is known, and with it the program that shows it.
func monitored(c *ledger.Case) bool {
	return slices.Contains([]string{"cuda", "rocm", "npu", "xpu", "tpu"}, c.Backend)
}

var (
	byUse = when.Not(byCode)

	lookCard = cause.Cure{Fix: "kill_stale_process", If: monitored, Title: "Check what is on the card, before the start and while it runs", Told: "If the card is full before the start, end what holds it: an earlier run, a notebook, a second server.", Cost: "free",
		Steps: func(c *ledger.Case) []step.Step { return []step.Step{{Kind: "shell", Text: reader.Monitor(c)}} }}
	lookAny = cause.Cure{Fix: "kill_stale_process", If: when.Not(when.Any(monitored, onMac)), Title: "Check what is on the card, before the start and while it runs", Cost: "free", Ways: []cause.Way{
		{For: "Windows", Text: "Task Manager, Performance, GPU, \"Dedicated GPU memory\"."},
		{For: "Linux", Text: "`nvidia-smi`, `rocm-smi --showpids`, or `intel_gpu_top`, by the card's maker."},
	}}
	lookMac = cause.Cure{Fix: "close_other_apps", If: onMac, Title: "Quit what holds the most memory", Told: "Activity Monitor, tab Memory, sorted by Memory. GPU and programs share the RAM, so browsers and other models count.", Cost: "free"}

	windowsRAM  = cause.Cure{Fix: "raise_pagefile", If: reader.OnWindows, Title: "Enlarge the page file", Told: "Windows refuses memory when \"Committed\" (Task Manager, Performance, Memory) is at its limit, even if RAM is free. Advanced system settings, Performance, Settings, Advanced, Virtual memory: system managed, on a drive with space; restart.", Cost: "disk space and a restart"}
	windowsLook = cause.Cure{Fix: "close_other_apps", If: reader.OnWindows, Title: "Close the programs with the largest commit size", Told: "Task Manager, Details, column \"Commit size\" (right-click the column header to add it): browsers, other models, an earlier run.", Cost: "free"}
	linuxLook   = cause.Cure{Fix: "close_other_apps", If: when.All(when.Not(reader.OnWindows), when.Not(onMac)), Title: "Check what holds the RAM, or which limit refused", Told: "If \"available\" is large while it fails, a limit refused: the shell's (`ulimit -v`) or a container's (`cat /sys/fs/cgroup/memory.max` inside it). Otherwise stop what is large.", Kind: "shell", Text: "free -h; ps -eo pid,rss,args --sort=-rss | head", Cost: "free"}
	swap        = cause.Cure{Fix: "add_swap", If: when.All(when.Not(reader.OnWindows), when.Not(onMac)), Title: "Add swap for a short peak", Kind: "shell", Text: "sudo fallocate -l 16G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile", Cost: "16 GB of disk; slow while it is used"}
)

const (
	overcommit = "https://www.kernel.org/doc/html/latest/mm/overcommit-accounting.html"
	cudaMalloc = "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html"
)
