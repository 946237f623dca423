package ollama

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/era"
	"github.com/oomdoc/oomdoc/rules/program/ggml"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

const (
	beyondPlan   = "Ollama decided itself how much goes on the GPU; what the runner then needed was more than its estimate."
	runnerKilled = "The runner got signal 9 while it loaded: usually from the kernel's out-of-memory killer."
	cardFull     = "The driver answered 2 (out of memory) when Ollama only queried the GPU: it is full."
)

// figures are what sentences of clues name beside the log's own.
var figures = cause.Figures{
	"missing": cause.Amount(missing),
	"card":    ggml.SharedMemoryCard,
}

// evidence is a clue for cases of one sort: the first row that holds counts.
func evidence(these func(*ledger.Case) bool, rows ...cause.Row) cause.Clue {
	return cause.Where(these, figures.First(rows...)).Of(fact.GGMLRuntime, fact.GGMLAlloc, fact.GGMLLimit, fact.OllamaSystem, fact.OllamaKilled, fact.OllamaDriver)
}

func stage(name string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return c.Failure.Stage == name }
}

func onVulkan(c *ledger.Case) bool { return c.Backend == "vulkan" }
func bare(c *ledger.Case) bool     { return c.Failure.Stage == "" }

var clues = map[string][]cause.Clue{
	// Ollama counted layers by its own estimate, and the runner's real buffers
	// went over it.
	cause.BudgetMisconfigured: {
		cause.Said(cause.Fair, "Ollama's planner found no layout that fits, with the layers or the memory that it was told to use.", fact.OllamaLayout),
		evidence(when.All(byOllama, when.Any(when.Root(fact.GGMLRuntime, fact.GGMLAlloc), ggml.Device("weights")), when.Not(ledger.InHost)),
			cause.If(when.Root(fact.GGMLRuntime), cause.Fair, beyondPlan+" The reserve it left was used up while tokens were computed."),
			cause.If(when.Any(stage("weights"), when.All(stage("compute"), when.Not(ggml.AbsurdGraph)), when.All(bare, when.Not(onVulkan))), cause.Fair, beyondPlan)),
	},
	cause.ModelTooLarge: {
		cause.Said(cause.Fair, "The runner ended while it loaded, and a model that is too large is the usual reason.", fact.OllamaGuess),
		cause.Said(cause.Weak, "Not even a part of the model fits beside what is on the GPU.", fact.OllamaLayout),
		cause.Said(cause.Hint, "The model is larger than the memory that is left.", fact.OllamaKilled),
		evidence(when.Root(fact.OllamaSystem), cause.If(tooLittle, cause.Weak, "Far more is needed than there is.")),
	},
	cause.HostMemory: {
		evidence(when.Root(fact.OllamaSystem),
			cause.If(when.Not(checked), cause.Decisive, "Ollama compares the part of the model that is not planned for a card with free RAM and free swap, before it loads; that is not enough."),
			cause.If(barely, cause.Decisive, "{system_required} of RAM and swap are needed and {system_available} are free, both rounded: less than 0.1 GiB is missing."),
			cause.If(nil, cause.Decisive, "{system_required} of RAM and swap are needed for the part that is not planned for a card, and {system_available} are free: {missing} short.")),
		evidence(when.Root(fact.OllamaKilled),
			cause.If(ggml.Shared, cause.Strong, runnerKilled+" The graphics ({card}) share the system's memory."),
			cause.If(nil, cause.Strong, runnerKilled)),
		cause.Said(cause.Weak, "System memory may be what was short.", fact.OllamaGuess),
	},
	cause.RetainedMemory: {
		evidence(when.Root(fact.OllamaDriver),
			cause.If(notRecovered, cause.Good, cardFull+" The runner before was still being torn down and its memory had not come back."),
			cause.If(nil, cause.Weak, cardFull)),
	},
	cause.LeakedProcess: {cause.Said(cause.Weak, "Something holds the whole GPU.", fact.OllamaDriver)},
	cause.Unknown:       {cause.Said(cause.Hint, "The text is Ollama's guess for any end of its runner.", fact.OllamaGuess)},
}

func notRecovered(c *ledger.Case) bool { return c.Signal("vram_not_recovered") != nil }

// checked: Ollama's check of system memory says what it compared.
func checked(c *ledger.Case) bool {
	f := c.F()
	return f.SystemRequired != nil && f.SystemAvailable != nil
}

// missing is what system memory lacks by that check, 0 where it does not say.
func missing(c *ledger.Case) int64 {
	if !checked(c) {
		return 0
	}
	f := c.F()
	return max(ledger.SizeOf(f.SystemRequired)-ledger.SizeOf(f.SystemAvailable), 0)
}

func barely(c *ledger.Case) bool { return missing(c) < units.GiB/10 }

// tooLittle: more than closing programs can give.
func tooLittle(c *ledger.Case) bool {
	return checked(c) && missing(c)*10 > c.F().SystemAvailable.Bytes*3
}

// hopeless: no program to close and no page file makes up for it.
func hopeless(c *ledger.Case) bool { return checked(c) && missing(c) > 2*c.F().SystemAvailable.Bytes }

// slightly: so little is missing that the smallest saving is enough.
func slightly(c *ledger.Case) bool { return checked(c) && missing(c) <= units.GiB*6/10 }

var remedies = map[string][]cause.Remedy{
	cause.BudgetMisconfigured: {
		{Fix: "fewer_gpu_layers", Fit: cause.Cures},
		{Fix: "lower_context", Fit: cause.Helps, If: when.Not(stage("weights"))},
		{Fix: "upgrade_version", Fit: cause.Helps},
		{Fix: "balance_split", Fit: cause.MayHelp, If: when.All(ggml.SeveralDevices, stage("weights"))},
	},
	cause.ModelTooLarge: {
		{Fix: "lower_context", Fit: cause.Foremost, If: when.Root(fact.GGMLMetal)},
		{Fix: "lower_parallel", Fit: cause.Cures, If: when.All(when.Root(fact.GGMLMetal), func(c *ledger.Case) bool { return era.Lacks(c, "ollama", era.OneSlot) })},
		{Fix: "use_lower_quant", Fit: cause.Foremost, If: hasTagOf4},
		{Fix: "use_smaller_model", Fit: cause.Cures},
		{Fix: "fewer_gpu_layers", Fit: cause.Cures, If: when.Not(when.Root(fact.GGMLMetal))},
		{Fix: "fewer_gpu_layers", Fit: cause.MayHelp, If: when.Root(fact.GGMLMetal)},
		{Fix: "use_lower_quant", Fit: cause.Helps},
		{Fix: "close_other_apps", Fit: cause.MayHelp},
		{Fix: "upgrade_version", Fit: cause.MayHelp},
	},
	cause.HostMemory: {
		{Fix: "raise_memory_limit", Fit: cause.Foremost, If: when.Root(fact.ContainerKill)},
		{Fix: "lower_context", Fit: cause.Cures, If: when.All(when.Root(fact.OllamaSystem), slightly)},
		{Fix: "use_smaller_model", Fit: cause.Cures, If: tooLittle},
		{Fix: "close_other_apps", Fit: cause.Cures, If: when.Not(hopeless)},
		{Fix: "raise_pagefile", Fit: cause.Cures, If: reader.OnWindows},
		{Fix: "use_lower_quant", Fit: cause.Cures, If: hopeless},
		{Fix: "add_swap", Fit: cause.Cures, If: when.Not(reader.OnWindows)},
		{Fix: "use_smaller_model", Fit: cause.Helps, If: when.Not(tooLittle)},
		{Fix: "raise_memory_limit", Fit: cause.Helps, If: when.Any(ledger.Capped, when.Not(when.Root(fact.KernelKill)))},
		{Fix: "use_mmap", Fit: cause.Helps, If: stage("weights")},
		{Fix: "lower_context", Fit: cause.Helps, If: when.All(when.Root(fact.OllamaSystem), when.Not(slightly))},
	},
	cause.RetainedMemory: {
		{Fix: "restart_session", Fit: cause.Cures},
		{Fix: "lower_parallel", Fit: cause.Helps},
		{Fix: "kill_stale_process", Fit: cause.Helps},
	},
	cause.LeakedProcess: {
		{Fix: "kill_stale_process", Fit: cause.Cures},
		{Fix: "restart_session", Fit: cause.Helps},
		{Fix: "lower_parallel", Fit: cause.MayHelp},
	},
}

// limitGiB is a limit for the container in GiB: what is needed and a GiB for
// the rest, 16 where the log does not say.
func limitGiB(c *ledger.Case) int64 {
	if need := c.F().SystemRequired; need != nil && need.Bytes < units.TiB {
		return ledger.CeilDiv(need.Bytes, units.GiB) + 1
	}
	return 16
}

// systemEffect holds what Ollama's check of system memory wants against what
// there would be.
func systemEffect(c *ledger.Case, have int64, certainty, note string) *effect.Effect {
	if !c.Root(fact.OllamaSystem) || !checked(c) {
		return nil
	}
	need := c.F().SystemRequired.Bytes
	note = figures.Why(cause.If(nil, cause.None, note))(c)
	return &effect.Effect{NeedBytes: need, HaveBytes: have, Fits: need <= have, Basis: "log", Certainty: certainty, Note: note}
}

// roomInLimit: in a container Ollama sees its limit, not the machine's memory.
func roomInLimit(c *ledger.Case) *effect.Effect {
	return systemEffect(c, limitGiB(c)*units.GiB, effect.Condition, "{system_required} needed and 1 GiB for the rest; enough if Ollama runs in a container whose limit it met, and the machine has that much.")
}

// roomInSwap: on Linux Ollama counts free swap as available (llm/server.go, 0.3
// and later); the step adds 32 GiB.
func roomInSwap(c *ledger.Case) *effect.Effect {
	if c.Windows() {
		return nil
	}
	return systemEffect(c, ledger.SizeOf(c.F().SystemAvailable)+32*units.GiB, "", "{system_available} available + 32 GiB of swap, which Ollama counts on Linux. Exact for this check; what lands in swap is slow.")
}
