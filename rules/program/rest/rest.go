// Package rest has the cards of last resort: what is known of any failure from
// its kind, phase, figures and system alone, where no program's own card speaks.
package rest

import (
	"slices"
	"strconv"

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
	return !c.Root(fact.RMMAlloc) && (c.Root(ledger.HostKinds...) || c.Backend == "cpu" || ledger.InHost(c) || c.Kind(fact.PlainHost, fact.NativeAlloc, fact.BadAlloc, fact.PythonMemory, fact.NumpyAlloc, fact.RustAlloc, fact.MmapFailed))
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

	lookCard     = cause.Cure{Fix: "kill_stale_process", If: when.All(monitored, when.Not(when.Any(shared, pasted))), Title: "Check what is on the card before you start", Told: "If it is nearly full then, end what holds it (an earlier run, a second server):", Cost: "free", Steps: monitor}
	lookAny      = cause.Cure{Fix: "kill_stale_process", If: when.Not(when.Any(monitored, onMac, pasted)), Title: "Check what is on the card before you start", Cost: "free", Ways: lookWays}
	lookFirst    = first(lookCard)
	lookFirstAny = first(lookAny)
	lookShared   = cause.Cure{Fix: "close_other_apps", If: shared, Title: "Free RAM: an integrated GPU uses it", Told: "Most Intel GPUs have no memory of their own. Close what holds the most RAM, or give the container more. A separate card (Arc) shows its memory in `xpu-smi ps`.", Kind: "shell", Text: "free -h", Cost: "free"}
	lookMac      = cause.Cure{Fix: "close_other_apps", If: onMac, Title: "Quit what holds the most memory", Told: "Activity Monitor, Memory tab, sorted by Memory. The GPU uses the same RAM, so browsers and other models count.", Cost: "free"}

	lookWays = []cause.Way{
		{For: "Windows", Text: "Task Manager, Performance, GPU, \"Dedicated GPU memory\"."},
		{For: "Linux", Text: "`nvidia-smi`, `rocm-smi --showpids`, or `intel_gpu_top`, by the card's maker."},
	}

	windowsRAM  = cause.Cure{Fix: "raise_pagefile", If: reader.OnWindows, Title: "Enlarge the page file", Told: "Press Win+R, run `SystemPropertiesAdvanced`; Performance: Settings, Advanced, Virtual memory: Change. Tick \"Automatically manage\", or set a custom size: initial 16384, maximum 65536 MB. Restart.", Cost: "disk space and a restart"}
	windowsLook = cause.Cure{Fix: "close_other_apps", If: reader.OnWindows, Title: "Close the programs that have reserved the most", Told: "Task Manager, Details: right-click a column header, Select columns, \"Commit size\". Sort by it and close what you do not need: browsers, other models, an earlier run.", Cost: "free"}
	linuxLook   = cause.Cure{Fix: "close_other_apps", If: when.All(when.Not(reader.OnWindows), when.Not(onMac), when.Not(podded)), Title: "Check what fills the RAM, or which limit was hit", Told: "If \"available\" stays large while it fails, a limit was hit: `ulimit -v` in the shell, `cat /sys/fs/cgroup/memory.max` in a container. Otherwise stop the largest process.", Kind: "shell", Text: "free -h; ps -eo pid,rss,args --sort=-rss | head", Cost: "free"}
	swap        = cause.Cure{Fix: "add_swap", If: when.All(when.Not(reader.OnWindows), when.Not(onMac), when.Not(podded)), Title: "Add swap", Kind: "shell", Text: "sudo fallocate -l 16G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile", Cost: "16 GB of disk, and slow when used"}
	taskLimit   = cause.Cure{Fix: "raise_memory_limit", If: flyteTask, Title: "Give the task more memory", Told: "Write `@task(requests=Resources(mem=\"1Gi\"), limits=Resources(mem=\"2Gi\"))`, with `from flytekit import Resources`. Flyte gives a task that asks for nothing the default of its platform, which is small (a demo cluster: 200Mi). The platform's own limit (`task_resources` in its settings) has to allow it.", Cost: "less room for other pods"}
	podLimit    = cause.Cure{Fix: "raise_memory_limit", If: podded, Title: "Raise the memory limit of the pod", Told: "Double `resources.limits.memory` of its container, where the pod is defined (Deployment, Job, Helm values, an operator's resource). `kubectl top pod --containers` shows the use.", Cost: "less room for other pods"}
)

// podded: it ran in a pod of Kubernetes, whose reader has no machine.
func podded(c *ledger.Case) bool { return c.In("kubernetes") }

// flyteTask: the end of a pod in the words of Flyte's plugins.
func flyteTask(c *ledger.Case) bool { return c.Contains("exit code (137). reason [") }

// first is a look at the card where so little was refused that the rest is the
// matter.
func first(look cause.Cure) cause.Cure {
	look.If = when.All(fullBefore, look.If)
	return look
}

// pasted: a table of the card stands in the log.
func pasted(c *ledger.Case) bool { used, _ := onCards(c); return used > 0 }

func monitor(c *ledger.Case) []step.Step {
	return []step.Step{{Kind: "shell", Text: reader.Monitor(c)}}
}

const (
	overcommit = "https://www.kernel.org/doc/html/latest/mm/overcommit-accounting.html"
	cudaMalloc = "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html"
)

// cacheRefused: a server says what its KV cache needs, and that less is free.
func cacheRefused(c *ledger.Case) bool {
	need, have := ledger.SizeOf(c.F().KVNeeded), ledger.SizeOf(c.F().KVAvailable)
	return have > 0 && need > have && need < cause.Absurd
}

// halfCacheFits: in half the bits the cache has room.
func halfCacheFits(c *ledger.Case) bool {
	return ledger.SizeOf(c.F().KVNeeded)/2 <= ledger.SizeOf(c.F().KVAvailable)
}

// cacheFigures are what the cache needs and has, and its share in whole percents.
func cacheFigures(c *ledger.Case) map[string]string {
	need, have := ledger.SizeOf(c.F().KVNeeded), ledger.SizeOf(c.F().KVAvailable)
	if need <= 0 {
		return nil
	}
	return map[string]string{"cache": units.Amount(need), "room": units.Amount(have), "share": strconv.FormatInt(max(have*100/need, 1), 10)}
}
