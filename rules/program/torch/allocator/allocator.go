// Package allocator holds fixes against the figures of PyTorch's messages: what
// each can win back, whether that is enough, and where an option does nothing.
package allocator

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/code"
)

// What PyTorch's literal says of them, by fix.
var (
	Whys = map[string]func(*ledger.Case) string{
		"expandable_segments": whySlack, "max_split_size": whySlack, "load_in_4bit": whyQuarter,
		"detach_accumulated": whyDetach,
	}
	Effects = map[string]func(*ledger.Case) *effect.Effect{
		"expandable_segments": effectSlack, "max_split_size": effectSlack, "bigger_gpu": effectLargerCard, "select_gpu": effectOwnCards,
		"load_in_4bit": Narrowed("load_in_4bit", InFourBit), "load_in_8bit": Narrowed("load_in_8bit", InEightBit), "use_lower_quant": Narrowed("use_lower_quant", InFourBit),
		"half_precision": effectHalf, "kill_stale_process": Kill, "optimizer_8bit": effectOptimizer8bit, "close_other_apps": effectOthersYield, "cpu_offload": effectMaxMemory, "lower_context": effectShorterPrompt, "raise_memory_limit": effectMemoryLimit,
	}
	Useless = map[string]func(*ledger.Case) string{
		"expandable_segments": uselessExpandable, "max_split_size": uselessSplitSize, "empty_cache": uselessEmptyCache, "raise_watermark": uselessWatermark,
		"kill_stale_process": uselessKill, "close_other_apps": uselessClosing,
	}
)

// whySlack and effectSlack: what the allocator holds unused, against the
// request.
func whySlack(c *ledger.Case) string {
	if !ledger.TorchFigures(c) || !c.Slack.Has() || c.Slack.Bytes < c.F().Requested.Bytes {
		return ""
	}
	return fmt.Sprintf("%s is reserved and not in use; %s was asked for.", c.Slack, c.F().Requested)
}

func effectSlack(c *ledger.Case) *effect.Effect {
	f := c.F()
	if !ledger.TorchFigures(c) || !c.Slack.Has() || f.Free == nil || ledger.Roomy(c) {
		return nil
	}
	have := c.Slack.Bytes + f.Free.Bytes
	return &effect.Effect{NeedBytes: f.Requested.Bytes, HaveBytes: have, Fits: have >= f.Requested.Bytes, Basis: "log", Certainty: effect.Bound,
		Note: fmt.Sprintf("%s reserved and not in use + %s free: at most this much can become one block.", c.Slack, f.Free)}
}

func uselessExpandable(c *ledger.Case) string {
	if set, ok := c.Setting("expandable_segments"); ok && set.Value == "true" {
		if c.Root(fact.CUDAError) && c.Contains("driver error") { // only the calls of this option print it (c10/cuda/driver_api.h)
			return fmt.Sprintf("It is set (line %d), and this message comes from it: some boards refuse it even with memory free. Try without it.", set.Line)
		}
		return fmt.Sprintf("It is set already (line %d), and it still failed: memory is really short.", set.Line)
	}
	switch {
	case !c.In("pytorch") && !ledger.TorchFigures(c):
		return ""
	case c.Root(fact.CPUAlloc, fact.CommitLimit):
		return notTheCard
	case c.Backend == "cpu":
		return ""
	case c.Backend == "mps", c.Backend == "xpu":
		return notItsAllocator
	case c.Root(fact.TorchAsync):
		return asyncIgnoresIt
	}
	if why := uselessSlack(c); why != "" {
		return why
	}
	switch {
	case c.Windows():
		return "It is ignored on Windows."
	case beforeExpandable(c):
		return "It came with PyTorch 2.1, and this message is from an older version."
	}
	return ""
}

// Why options of PyTorch's caching allocator do nothing.
const (
	asyncIgnoresIt  = "This program uses CUDA's asynchronous allocator, which ignores it."
	notItsAllocator = "It is an option of PyTorch's CUDA allocator; this backend has another."
	notTheCard      = "System memory (RAM) ran out; this option is about GPU memory."
)

// uselessSlack says why an option against fragmentation can't help: it wins
// back at most what is reserved and not in use.
func uselessSlack(c *ledger.Case) string {
	f := c.F()
	if !ledger.TorchFigures(c) {
		return ""
	}
	if why := ledger.NeverFits(c); why != "" {
		return why
	}
	if !c.Slack.Has() {
		return uselessSlackBound(c)
	}
	slack := c.Slack
	switch {
	case ledger.Roomy(c):
		return fmt.Sprintf("%s was free when %s was refused, so fragments are not the cause.", f.Free, f.Requested)
	case f.Free != nil && c.Slack.Bytes+f.Free.Bytes < f.Requested.Bytes:
		return "It can gain back at most the " + slack.String() + " that is reserved and not in use. With the " + f.Free.String() + " free, that is less than the " + f.Requested.String() + " asked for."
	case c.Slack.Bytes < 300*units.MiB:
		return fmt.Sprintf("It could gain back only the %s that is reserved and not in use.", slack)
	}
	return ""
}

// uselessSlackBound: a message without a reserved figure still bounds it.
func uselessSlackBound(c *ledger.Case) string {
	f := c.F()
	if f.Total == nil || f.Allocated == nil {
		return ""
	}
	if rest := f.Total.Bytes - f.Allocated.Bytes; rest < f.Requested.Bytes {
		return fmt.Sprintf("At most %s of the GPU could be fragments, and %s was asked for.", units.Amount(max(rest, 0)), f.Requested)
	}
	return ""
}

// beforeExpandable reports a message of a PyTorch older than 2.1, which has no
// expandable_segments: they all name the card in brackets.
func beforeExpandable(c *ledger.Case) bool {
	if v := code.TorchVersion(c); v > 0 {
		return v < 201
	}
	since, ok := c.Fact("torch_since")
	return ok && c.Backend != "npu" && (since.Text == "1.0" || since.Text == "1.4" || since.Text == "1.10")
}

func uselessSplitSize(c *ledger.Case) string {
	switch {
	case !c.In("pytorch"):
		return ""
	case c.Root(fact.TorchAsync):
		return asyncIgnoresIt
	case c.Backend == "mps", c.Backend == "xpu":
		return notItsAllocator
	case ledger.Before2020(c):
		return "This PyTorch does not read it: that came with 1.10."
	}
	return uselessSlack(c)
}

func uselessEmptyCache(c *ledger.Case) string {
	if c.Phase != "load" || !c.Root(fact.TorchAlloc) || !c.Slack.Has() || c.Slack.Bytes >= 300*units.MiB || c.Signal("notebook") != nil {
		return ""
	}
	return fmt.Sprintf("PyTorch gives back what it can before it raises this error: %s was reserved and not in use.", c.Slack)
}

// aLittle is a last piece so small that the limit alone may be in the way: the
// Mac swaps already, and some have run so.
const aLittle = 64 * units.MiB

// uselessWatermark: max allowed is 1.7 times recommendedMaxWorkingSetSize,
// which macOS sets to two thirds of the memory up to 32 GB and three quarters
// above: more than the memory itself.
func uselessWatermark(c *ledger.Case) string {
	limit, asked := c.F().Limit, c.F().Requested
	if !c.Root(fact.MPSAlloc) || limit == nil || asked != nil && asked.Bytes <= aLittle {
		return ""
	}
	for _, gb := range [...]int64{8, 16, 18, 24, 32, 36, 48, 64, 96, 128, 192} {
		ram := gb * units.GiB
		recommended := ram * 3 / 4
		if gb <= 32 {
			recommended = ram * 2 / 3
		}
		if ledger.Near(limit.Bytes, recommended*17/10, units.GiB/20) {
			return fmt.Sprintf("The limit of %s already exceeds the %d GB that this Mac has: beyond it there is only swapping.", limit, gb)
		}
	}
	return ""
}
