package ggml

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/ggml"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// nearVulkanLimit is close to the 4 GiB that most Vulkan drivers give in one
// piece (maxMemoryAllocationSize, maxBufferSize).
const nearVulkanLimit = 7 * units.GiB / 2

func overLimit(c *ledger.Case) cause.Finding {
	if c.Root(fact.GGMLLimit) {
		why := fmt.Sprintf("One buffer of %s is more than this device gives in one piece, however much is free.", units.Format(ledger.Requested(c)))
		if ledger.Requested(c) == 0 {
			why = "One buffer is larger than this device gives in one piece, however much is free."
		}
		switch {
		case c.Failure.Stage == "weights" || c.Failure.Stage == "":
			return cause.Seen(0.7, why, c.Failure.Line)
		case c.F().Context != nil && c.F().Context.Value >= 32768:
			return cause.Seen(0.42, why, c.Failure.Line)
		}
		return cause.Seen(0.55, why, c.Failure.Line)
	}
	if c.Root(fact.GGMLAlloc) && c.Backend == "vulkan" && c.Failure.Stage == "" && ledger.Requested(c) >= nearVulkanLimit {
		return cause.Seen(0.45, fmt.Sprintf("One buffer of %s is at the 4 GiB that most Vulkan drivers give in one piece.", units.Format(ledger.Requested(c))), c.Failure.Line)
	}
	return cause.Nothing()
}

// absurdBuffer: no setting makes one compute buffer that large but attention
// scores over the whole context, or a fault in the planning.
func absurdBuffer(c *ledger.Case) cause.Finding {
	if !ledger.GgmlRefused(c, "compute") || !absurdGraph(c) {
		if ledger.GgmlRefused(c, "kv") && ledger.Requested(c) > 100*units.GiB {
			return cause.Seen(0.3, fmt.Sprintf("One cache of %s is more than any card has.", units.Format(ledger.Requested(c))), c.Failure.Line)
		}
		return cause.Nothing()
	}
	return cause.Seen(0.55, fmt.Sprintf("One compute buffer of %s is out of all proportion.", units.Format(ledger.Requested(c))), c.Failure.Line)
}

// absurdGraph reports a compute buffer beyond 64 GiB, or far beyond what attention
// scores over this context can need.
func absurdGraph(c *ledger.Case) bool {
	if r := ledger.Requested(c); r > 64*units.GiB && c.F().Context == nil {
		return true
	}
	return beyondContext(c)
}

// beyondContext: scores of 128 heads over the whole context and twice the
// largest vocabulary are an upper bound of a sane graph; a partial offload adds
// the output matrix and copies of experts, up to a few GiB.
func beyondContext(c *ledger.Case) bool {
	f := c.F()
	if !ledger.GgmlRefused(c, "compute") || f.Requested == nil || f.Context == nil {
		return false
	}
	ub := physicalBatch(c)
	return f.Requested.Bytes > int64(f.Context.Value)*ub*4*128+2*262144*ub*4+4*units.GiB
}

func absurdForContext(c *ledger.Case) cause.Finding {
	if !beyondContext(c) {
		return cause.Nothing()
	}
	return cause.Seen(0.62, fmt.Sprintf("%s of compute buffer for a context of %s tokens is out of proportion: a fault of this version, or a vision part that is counted in.", units.Format(ledger.Requested(c)), c.F().Context.Text), c.Failure.Line)
}

// hostBuffer: the computer's own memory was refused.
func hostBuffer(c *ledger.Case) cause.Finding {
	if !ledger.GgmlRefused(c) || !ledger.InHost(c) {
		return cause.Nothing()
	}
	why := asked(c, "A buffer")
	switch c.Failure.Stage {
	case "weights":
		return cause.Seen(0.78, why+" That part of the weights lies in system memory, so that the card does not matter.", c.Failure.Line)
	case "kv", "state":
		return cause.Seen(0.35, why, c.Failure.Line)
	case "compute", "output":
		if ledger.Requested(c) < units.GiB {
			return cause.Seen(0.8, why+" So little is refused only when nearly nothing is left, or when Windows has promised away RAM and page file.", c.Failure.Line)
		}
		return cause.Seen(0.38, why, c.Failure.Line)
	}
	return cause.Seen(0.7, why, c.Failure.Line)
}

// unifiedMemory: cards that share the system's memory are full when that is.
func unifiedMemory(c *ledger.Case) cause.Finding {
	d := sharedMemoryCard(c)
	if d == "" || ledger.InHost(c) || !ledger.GgmlRefused(c, "weights", "") && !c.Root(fact.GGMLRuntime) {
		return cause.Nothing()
	}
	return cause.Seen(0.55, fmt.Sprintf("%s has no memory of its own: what it takes comes from the system's, and what the driver may take of that is limited.", d), c.Failure.Line)
}

// softwareDevice reports that the failing device is a Vulkan driver that
// computes on the processor (Mesa's llvmpipe, SwiftShader): what it takes is the
// computer's own memory, and llama.cpp's own code is faster there. lavapipe
// states 2 GiB whatever the computer has (Mesa up to 22).
func softwareDevice(c *ledger.Case) bool {
	for _, d := range c.Facts.Devices {
		name := strings.ToLower(d.Name)
		if mayFail(c, d) && (strings.Contains(name, "llvmpipe") || strings.Contains(name, "swiftshader")) {
			return c.Backend == "vulkan"
		}
	}
	return false
}

// sharedMemoryCard names the card if the only one shares the system's memory.
func sharedMemoryCard(c *ledger.Case) string {
	name := ""
	for _, d := range c.Facts.Devices {
		if d.Name == "" {
			continue
		}
		if !ledger.SharesMemory(d.Name) {
			return ""
		}
		name = d.Name
	}
	return name
}

// unevenBuffers: the failing card holds far more of the weights than another.
func unevenBuffers(c *ledger.Case) cause.Finding {
	f := c.F()
	if !ledger.GgmlRefused(c, "kv", "compute") || f.Weights == nil || f.Device == nil || ledger.InHost(c) {
		return cause.Nothing()
	}
	for _, b := range c.Facts.Buffers {
		if b.Kind != "weights" || ggml.HostMemory(b.Device) || strings.EqualFold(b.Device, c.Failure.Memory) {
			continue
		}
		if b.Size.Bytes*13 < f.Weights.Bytes*10 {
			weight := 0.6
			if b.Size.Bytes*5 < f.Weights.Bytes*3 || c.Failure.Stage == "compute" {
				weight = 0.8
			}
			return cause.Seen(weight, fmt.Sprintf("%s holds %s of weights, %s only %s: the split gives the full card too much.", c.Failure.Memory, units.Format(f.Weights.Bytes), b.Device, units.Format(b.Size.Bytes)), f.Weights.Line, c.Failure.Line)
		}
	}
	return cause.Nothing()
}

// evenSplit: the weights meant for one card are more than it has free, while
// the free memory of all cards would hold as much for each.
func evenSplit(c *ledger.Case) cause.Finding {
	f := c.F()
	if !c.Root(fact.GGMLAlloc) || c.Failure.Stage != "weights" || f.Device == nil || ledger.InHost(c) {
		return cause.Nothing()
	}
	free, own, cards := int64(0), int64(0), int64(0)
	for _, d := range c.Facts.Devices {
		if d.Free == nil || d.Index < 0 {
			continue
		}
		cards++
		free += d.Free.Bytes
		if d.Index == int(f.Device.Value) {
			own = d.Free.Bytes
		}
	}
	if _, split := c.Setting("tensor_split"); !split || own == 0 || cards < 2 || ledger.Requested(c)*cards > free*9/10 {
		return cause.Nothing()
	}
	return cause.Seen(0.85, fmt.Sprintf("%s was to go to %s with %s free; the cards have %s together: the split does not follow their sizes.", units.Format(ledger.Requested(c)), c.Failure.Memory, units.Format(own), units.Format(free)), c.Failure.Line)
}

// smallOnLaterCard: little is refused, and not on the first card: the others
// had room.
func smallOnLaterCard(c *ledger.Case) cause.Finding {
	f := c.F()
	if !ledger.GgmlRefused(c, "kv", "compute") || f.Device == nil || ledger.InHost(c) {
		return cause.Nothing()
	}
	switch {
	case f.Device.Value >= 1 && ledger.Requested(c) > 0 && ledger.Requested(c) < units.GiB:
		return cause.Seen(0.6, fmt.Sprintf("Only %s is missing, on card %s, while the cards before it took their share.", units.Format(ledger.Requested(c)), f.Device.Text), c.Failure.Line)
	case f.Device.Value >= 1:
		return cause.Seen(0.25, "It is not the first card that is full.", c.Failure.Line)
	}
	return cause.Nothing()
}

// integratedCard: the failing device is the processor's own graphics, beside a
// real card.
func integratedCard(c *ledger.Case) cause.Finding {
	f := c.F()
	if f.Device == nil || !c.Root(fact.GGMLRuntime, fact.GGMLAlloc, fact.GGMLLimit) {
		return cause.Nothing()
	}
	culprit, others := "", false
	for _, d := range c.Facts.Devices {
		if d.Index == int(f.Device.Value) && ledger.SharesMemory(d.Name) {
			culprit = d.Name
		} else if d.Name != "" && !ledger.SharesMemory(d.Name) {
			others = true
		}
	}
	if culprit == "" || !others {
		return cause.Nothing()
	}
	return cause.Seen(0.75, fmt.Sprintf("Device %s is %s, the processor's own graphics with little memory: it should not take part.", f.Device.Text, culprit), c.Failure.Line)
}

// arenaTooSmall: arenas and plans of fixed size are the program's own mistake.
func arenaTooSmall(c *ledger.Case) cause.Finding {
	f := c.F()
	if !c.Root(fact.GGMLPool, fact.GGMLPlan) {
		return cause.Nothing()
	}
	weight := 0.78
	if batchOfPool(c).Weight > 0.5 {
		weight = 0.35 // a setting explains it
	}
	why := "A buffer of fixed size inside the program is too small. It is neither RAM nor VRAM that is short: that version planned it wrong."
	if f.Requested != nil && f.Free != nil {
		why = fmt.Sprintf("A buffer inside the program has %s and needs %s: %s too little. It is neither RAM nor VRAM that is short; that version planned it wrong.",
			units.Format(f.Free.Bytes), units.Format(f.Requested.Bytes), units.Format(f.Requested.Bytes-f.Free.Bytes))
	}
	return cause.Seen(weight, why, c.Failure.Line)
}

// refusedBelowLimit: Metal refuses one buffer far below the working set.
func refusedBelowLimit(c *ledger.Case) cause.Finding {
	f := c.F()
	if !ledger.GgmlRefused(c) || c.Backend != "metal" || f.Requested == nil || f.Limit == nil || f.Requested.Bytes*10 > f.Limit.Bytes*7 {
		return cause.Nothing()
	}
	return cause.Seen(0.55, fmt.Sprintf("%s was refused although Metal recommends up to %s: one buffer was over the largest that Metal gives (later versions use several), or other programs hold the memory.", units.Format(f.Requested.Bytes), units.Format(f.Limit.Bytes)), c.Failure.Line)
}

func tinyRefused(c *ledger.Case) cause.Finding {
	if !c.Root(fact.GGMLAlloc) || ledger.InHost(c) || ledger.Requested(c) == 0 || ledger.Requested(c) >= units.MiB {
		return cause.Nothing()
	}
	return cause.Seen(0.45, fmt.Sprintf("%s are refused: the device is full to the last byte, or the driver's number of allocations is used up.", units.Format(ledger.Requested(c))), c.Failure.Line)
}

func nothingSaid(c *ledger.Case) cause.Finding {
	switch {
	case ledger.GgmlRefused(c, "state"):
		return cause.Seen(0.45, "The recurrent state of a hybrid model was refused; it grows with the number of slots, not with the context, and no size is stated.", c.Failure.Line)
	case c.Root(fact.GGMLAlloc) && c.Failure.Stage == "" && c.Backend == "vulkan" && ledger.Requested(c) < nearVulkanLimit:
		return cause.Seen(0.35, "The lines say only that this much was refused, not for what.", c.Failure.Line)
	case c.Root(fact.GGMLRuntime, fact.GGMLSYCL):
		return cause.Seen(0.2, "The message has no size.", c.Failure.Line)
	}
	return cause.Nothing()
}
