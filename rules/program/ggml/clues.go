package ggml

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml/books"
	"github.com/oomdoc/oomdoc/rules/program/ggml/pool"
	"github.com/oomdoc/oomdoc/rules/when"
)

const (
	inPlace      = "The compute buffer{refused} Weights and KV cache were in place."
	inPieces     = "One buffer| of {requested}| is more than this device allows in one piece, however much is free."
	whichIsNot   = "A buffer{refused} The lines that would say which part of the model it was are not in the log."
	plannedWrong = "A buffer of fixed size inside the program is too small|: it has {free} and needs {requested}, {short} more|. It is neither RAM nor VRAM that is short: that version planned it wrong."
	// nearLimit is close to what most Vulkan drivers give in one piece.
	nearLimit = pieceLimit * 7 / 8
)

// llamaClues judge ggml's messages. What was refused decides: weights, KV cache
// or compute buffer, in device or in system memory.
var llamaClues = map[string][]cause.Clue{
	cause.ModelTooLarge: {
		evidence(weightsWere,
			cause.If(ledger.InHost, cause.Weak, "The buffer for the weights{refused}"),
			cause.If(when.All(byOllama, above(1)), cause.Weak, "The buffer for the weights{refused}"), // Ollama chose how much to load: see plannedTooMuch
			cause.If(belowMetalLimit, cause.Hint, "The buffer for the weights{refused}"),
			cause.If(nil, cause.Strong, "The buffer for the weights{refused} It never came to a context: the weights alone do not fit beside what is there.")),
		evidence(bareBuffer,
			cause.If(when.All(onVulkan, above(nearLimit)), cause.Hint, whichIsNot),
			cause.If(when.All(onVulkan, when.Not(above(units.MiB))), cause.Weak, whichIsNot),
			cause.If(roundPiece, cause.Weak, whichIsNot),
			cause.If(nil, cause.Fair, whichIsNot+" The largest buffer is usually that of the weights.")),
		// whisper.cpp's compute buffers have the size that the model gives them.
		evidence(when.All(transcribes, buffer("compute", "kv"), when.Not(ledger.InHost)), cause.If(nil, cause.Good, "A buffer{refused} Its size follows from the size of the Whisper model.")),
		evidence(when.Root(fact.GGMLMetal),
			cause.If(unlimited, cause.Weak, "A Metal command buffer failed: weights, cache and graph need more than Metal gives."),
			cause.If(fewWeights, cause.Hint, "The weights are well below Metal's limit."),
			cause.If(nil, cause.Likely, "The weights take about {weights} of the {limit} that Metal recommends to use at most.")),
		evidence(when.All(when.Root(fact.LlamaGuard), when.Not(contextFrom(0)), when.Not(when.Fact("guard_nan"))),
			cause.If(nil, cause.Fair, "The program stopped before loading: by its own estimate|, {system_required},| model and context do not fit.")),
		evidence(when.All(when.Root(fact.GGMLSYCL), deviceFull), cause.If(nil, cause.Good, "The driver had no device memory left to give.")),
		cause.Said(cause.Weak, "The model was loaded, and then the GPU had nothing left for the temporary memory of the computation.", fact.GGMLRuntime),
	},
	cause.ContextTooLong: {
		evidence(when.All(buffer("kv"), when.Not(transcribes)),
			cause.If(ledger.InHost, cause.Good, "The KV cache{refused}"),
			cause.If(nil, cause.Strong, "The KV cache{refused} The weights were in place.")),
		evidence(buffer("compute", "output"),
			cause.If(noText, cause.None, ""),
			cause.If(absurdGraph, cause.Hint, inPlace),
			cause.If(when.All(ledger.InHost, below(units.GiB)), cause.Hint, inPlace),
			cause.If(when.All(when.Root(fact.GGMLLimit), when.Not(contextFrom(0))), cause.Weak, inPlace),
			cause.If(byOllama, cause.Weak, inPlace),
			cause.If(nil, cause.Fair, inPlace)),
		evidence(when.All(bareBuffer, roundPiece, when.Not(onVulkan)), cause.If(nil, cause.Good, "A whole multiple of 64 MiB is usually a KV cache.")),
		evidence(buffer("state"), cause.If(nil, cause.Weak, "The recurrent state of a hybrid model{refused}")),
		cause.Said(cause.Strong, "One layer's part of the KV cache is larger than what this Vulkan device can address in a piece.", fact.GGMLCannotRun),
		evidence(when.Root(fact.GGMLRuntime),
			cause.If(contextFrom(16384), cause.Good, "The context is {context} tokens long, so the KV cache takes much of the GPU."),
			cause.If(longPrompt, cause.Fair, "The prompt alone is {prompt_tokens} tokens long: the KV cache takes much of the GPU, and temporary memory comes on top."),
			cause.If(when.Fact("pinned_refused"), cause.Fair, "{pinned_refused} of pinned memory was refused before: a round figure like that is a KV cache."),
			cause.If(nil, cause.Weak, "The KV cache may be what fills the GPU.")),
		evidence(when.Root(fact.GGMLMetal),
			cause.If(when.All(contextFrom(16384), fewWeights), cause.Likely, "The weights take only {weights} of {limit}, so the cache for {context} tokens is the likeliest reason."),
			cause.If(nil, cause.Hint, "The context may be what goes over the limit.")),
		evidence(when.Root(fact.LlamaGuard),
			cause.If(contextFrom(0), cause.Strong, "The program itself computed that a context of {context} tokens does not fit, before it allocated anything."),
			cause.If(AbsurdEstimate, cause.Good, "{system_required} is far more than any model's weights: the context length drives the estimate."),
			cause.If(when.Not(when.Fact("guard_nan")), cause.Hint, "The estimate counts the context too.")),
	},
	cause.BatchTooLarge: {
		evidence(when.All(buffer("compute"), when.Not(when.Any(absurdGraph, noText))),
			cause.If(LargeBatch, cause.Good, "The physical batch is {ubatch} tokens; the compute buffer grows with it (512 is the default)."),
			cause.If(nil, cause.Hint, "The compute buffer grows with the physical batch.")),
		evidence(arena,
			cause.If(pool.Beyond, cause.Strong, "The batch is {batch_size} tokens; the arena of this build is planned for 512."),
			cause.If(nil, cause.Hint, "A batch or prompt that this build did not plan for.")),
		// stable-diffusion.cpp names the part that it computed.
		evidence(when.All(diffuses, when.Root(fact.GGMLSYCL, fact.GGMLAlloc, fact.GGMLLimit, fact.GGMLRuntime)),
			cause.If(when.Fact("diffusion_part"), cause.Likely, "The last step asked for {diffusion_part} of working memory, which grows with the size of the image."),
			cause.If(stage("compute"), cause.Good, "The working memory of one step did not fit; it grows with the size of the image or the batch.")),
	},
	cause.OversizedAllocation: {
		evidence(when.Root(fact.GGMLLimit),
			cause.If(when.Any(stage("weights"), bare), cause.Likely, inPieces),
			cause.If(contextFrom(32768), cause.Weak, inPieces),
			cause.If(nil, cause.Good, inPieces)),
		evidence(bareBuffer, cause.If(when.All(onVulkan, above(nearLimit)), cause.Fair, "One buffer of {requested} is at the 4 GiB that most Vulkan drivers give in one piece.")),
		// No setting makes one buffer that large but attention scores over the whole
		// context, or a fault in the planning.
		evidence(buffer("compute"), cause.If(absurdGraph, cause.Good, "One compute buffer of {requested} is out of all proportion.")),
	},
	cause.HostMemory: {
		evidence(hostRefused,
			cause.If(stage("weights"), cause.Strong, "A buffer{refused} That part of the weights lies in system memory, so the GPU does not matter."),
			cause.If(when.Any(stage("kv"), stage("state")), cause.Weak, "A buffer{refused}"),
			cause.If(bare, cause.Likely, "A buffer{refused}"),
			cause.If(when.Not(above(units.GiB)), cause.Strong, "A buffer{refused} A piece that small is usually refused only when almost nothing is left, or when Windows has committed all RAM and page file."),
			cause.If(nil, cause.Weak, "A buffer{refused}")),
		// Cards that share the system's memory are full when that is.
		evidence(when.All(unified, when.Not(when.Root(fact.GGMLLimit)), when.Any(buffer("weights", ""), when.Root(fact.GGMLRuntime))),
			cause.If(nil, cause.Good, "{card} has no memory of its own: it uses system RAM, and only up to a limit of the driver.")),
	},
	cause.DeviceImbalance: {
		cause.Clue{Look: unevenSplit}.Of(fact.GGMLAlloc, fact.GGMLLimit),
		evidence(OddCard, cause.If(nil, cause.Strong, "The device that failed is the CPU's integrated GPU with little memory: it should not take part.")),
	},
	cause.SoftwareBug: {
		// Arenas and plans of fixed size are the program's own mistake, unless a
		// setting explains it.
		evidence(arena, cause.If(pool.Beyond, cause.Weak, plannedWrong), cause.If(nil, cause.Strong, plannedWrong)),
		evidence(beyondContext, cause.If(nil, cause.Good, "{requested} of compute buffer for a context of {context} tokens is out of proportion: a fault of this version, or a vision part that is counted in.")),
		evidence(buffer(), cause.If(belowMetalLimit, cause.Good, "{requested} was refused although Metal recommends up to {limit}: one buffer was over the largest that Metal gives (later versions use several), or other programs hold the memory.")),
		evidence(when.All(when.Root(fact.LlamaGuard), when.Not(contextFrom(0))), cause.If(when.Fact("guard_nan"), cause.Strong, "The estimate has no number (NaN): the guard's own arithmetic failed, and no memory was asked for.")),
		evidence(when.All(when.Root(fact.GGMLAlloc), when.Not(ledger.InHost)), cause.If(below(units.MiB), cause.Fair, "{requested} was refused: the device is completely full, or the driver's number of allocations is used up.")),
		evidence(when.All(when.Root(fact.GGMLSYCL), deviceFull), cause.If(nil, cause.Weak, "The driver reports its own faults as a full device too.")),
		cause.Said(cause.Weak, "The oneAPI runtime reports memory for other faults too (copies between devices, its 4 GiB limit of one allocation).", fact.GGMLSYCL),
	},
	cause.Unknown: {
		evidence(buffer("state"), cause.If(nil, cause.Fair, "The recurrent state of a hybrid model did not fit; it grows with the number of slots, not with the context.")),
		evidence(bareBuffer, cause.If(when.All(onVulkan, when.Not(above(nearLimit))), cause.Weak, "The lines say only that this much did not fit, not what it was for.")),
		cause.Said(cause.Hint, "The message has no size.", fact.GGMLRuntime, fact.GGMLSYCL),
	},
}

func unlimited(c *ledger.Case) bool { return c.F().Limit == nil }

// AbsurdEstimate is more than any model people load at home: then the context
// drives the estimate.
func AbsurdEstimate(c *ledger.Case) bool { return ledger.SizeOf(c.F().SystemRequired) > 100*units.GiB }

// unevenSplit: the failing card was to take more of the model than its part of
// all memory, while others had room.
func unevenSplit(c *ledger.Case) cause.Finding {
	f, cards := c.F(), books.Cards(c)
	if f.Device == nil || f.Device.Value < 0 || ledger.InHost(c) || !ledger.GGMLRefused(c, "weights", "kv", "compute") {
		return cause.Nothing()
	}
	full, free, least, own := int(f.Device.Value), int64(0), int64(0), books.Card{}
	for i, x := range cards {
		free += x.Free
		if i == full {
			own = x
		} else if x.Weights > 0 && (least == 0 || x.Weights < least) {
			least = x.Weights
		}
	}
	_, split := c.Setting("tensor_split")
	weight, why := cause.Hint, "It is not the first GPU that is full."
	switch loads := c.Failure.Stage == "weights"; {
	case !loads && othersFull(c, cards, full):
		return cause.Nothing()
	case !loads && least > 0 && least*13 < own.Weights*10:
		weight, why = cause.Decisive, fmt.Sprintf("%s holds %s of weights, another GPU only %s: the split gives the full one too much.", c.Failure.Memory, units.Amount(own.Weights), units.Amount(least))
	case loads && split && own.Free > 0 && fitsTogether(c, int64(len(cards)), free):
		weight, why = cause.Decisive, fmt.Sprintf("The GPUs have %s free together, and this one %s: the split does not follow their sizes.", units.Amount(free), units.Amount(own.Free))
	case loads || full == 0:
		return cause.Nothing()
	case below(units.GiB)(c):
		weight, why = cause.Good, "Only "+units.Amount(ledger.Requested(c))+" is missing, while the GPUs before this one took their share."
	}
	return cause.Seen(weight, why, c.Failure.Line)
}

// othersFull: what the other cards had free before loading is taken up by the
// weights and the cache that the log books on them, so that nothing can move
// there.
func othersFull(c *ledger.Case, cards []books.Card, full int) bool {
	if len(cards) < 2 || full >= len(cards) {
		return false // not known
	}
	room := int64(0)
	for i, x := range cards {
		if i == full {
			continue
		}
		if x.Free == 0 || x.Weights == 0 {
			return false // not known
		}
		left := x.Free - x.Weights - contextReserve
		for _, b := range c.Facts.Buffers {
			if b.Kind != "weights" && b.Size.Line < c.Failure.Line && strings.HasSuffix(b.Device, fmt.Sprint(i)) && !fact.HostMemory(b.Device) {
				left -= b.Size.Bytes
			}
		}
		room += max(left, 0)
	}
	return room < ledger.Requested(c)/2
}

// fitsTogether: the weights, if every card was to take what this one was refused,
// are within what the cards have together, with a tenth or cache and reserves to
// spare.
func fitsTogether(c *ledger.Case, cards, free int64) bool {
	weights := ledger.Requested(c) * cards
	cache := cacheOfShape(c, offloadedLayers(c))
	return weights <= free*9/10 || cache > 0 && weights+cache+cards*loadReserve <= free
}
