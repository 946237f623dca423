package ggml

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml/books"
	"github.com/oomdoc/oomdoc/rules/when"
)

const (
	inPlace      = "The compute buffer{refused} Weights and KV cache were in place."
	inPieces     = "One buffer| of {requested}| is more than this device gives in one piece, however much is free."
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
			cause.If(ledger.InHost, 0.3, "The buffer for the weights{refused}"),
			cause.If(when.All(byOllama, above(1)), 0.4, "The buffer for the weights{refused}"), // Ollama chose how much to load: see plannedTooMuch
			cause.If(belowMetalLimit, 0.25, "The buffer for the weights{refused}"),
			cause.If(nil, 0.78, "The buffer for the weights{refused} It never came to a context: the weights alone do not fit beside what is there.")),
		evidence(bareBuffer,
			cause.If(when.All(onVulkan, above(nearLimit)), 0.25, whichIsNot),
			cause.If(when.All(onVulkan, when.Not(above(units.MiB))), 0.3, whichIsNot),
			cause.If(roundPiece, 0.35, whichIsNot),
			cause.If(nil, 0.5, whichIsNot+" The largest buffer is the weights', as a rule.")),
		// whisper.cpp's compute buffers have the size that the model gives them.
		evidence(when.All(transcribes, buffer("compute", "kv"), when.Not(ledger.InHost)), cause.If(nil, 0.6, "A buffer{refused} Its size follows from the size of the Whisper model.")),
		evidence(when.Root(fact.GGMLMetal),
			cause.If(unlimited, 0.4, "A Metal command buffer failed: weights, cache and graph need more than Metal gives."),
			cause.If(fewWeights, 0.15, "The weights are well below Metal's limit."),
			cause.If(nil, 0.7, "The weights take about {weights} of the {limit} that Metal recommends to use at most.")),
		evidence(when.All(when.Root(fact.LlamaGuard), when.Not(contextFrom(0)), when.Not(when.Fact("guard_nan"))),
			cause.If(nil, 0.5, "The program stopped before loading: by its own estimate|, {system_required},| model and context do not fit.")),
		evidence(when.All(when.Root(fact.GGMLSYCL), deviceFull), cause.If(nil, 0.55, "The driver had no device memory left to give.")),
		cause.Said(0.42, "The model was loaded, and then the card had nothing left for the scratch memory of the computation.", fact.GGMLRuntime),
	},
	cause.ContextTooLong: {
		evidence(when.All(buffer("kv"), when.Not(transcribes)),
			cause.If(ledger.InHost, 0.62, "The KV cache{refused}"),
			cause.If(nil, 0.75, "The KV cache{refused} The weights were in place.")),
		evidence(buffer("compute", "output"),
			cause.If(noText, 0, ""),
			cause.If(absurdGraph, 0.12, inPlace),
			cause.If(when.All(ledger.InHost, below(units.GiB)), 0.1, inPlace),
			cause.If(when.All(when.Root(fact.GGMLLimit), when.Not(contextFrom(0))), 0.35, inPlace),
			cause.If(byOllama, 0.35, inPlace),
			cause.If(nil, 0.5, inPlace)),
		evidence(when.All(bareBuffer, roundPiece, when.Not(onVulkan)), cause.If(nil, 0.6, "A whole multiple of 64 MiB is a KV cache, as a rule.")),
		evidence(buffer("state"), cause.If(nil, 0.33, "The recurrent state of a hybrid model{refused}")),
		cause.Said(0.8, "One layer's part of the KV cache is larger than what this Vulkan device can address in a piece.", fact.GGMLCannotRun),
		evidence(when.Root(fact.GGMLRuntime),
			cause.If(contextFrom(16384), 0.55, "The context is {context} tokens long, so that the KV cache takes much of the card."),
			cause.If(longPrompt, 0.5, "The prompt alone is {prompt_tokens} tokens long: the KV cache takes much of the card, and its scratch memory the rest."),
			cause.If(when.Fact("pinned_refused"), 0.5, "{pinned_refused} of pinned memory was refused before: a round figure like that is a KV cache."),
			cause.If(nil, 0.33, "The KV cache may be what fills the card.")),
		evidence(when.Root(fact.GGMLMetal),
			cause.If(when.All(contextFrom(16384), fewWeights), 0.65, "The weights take {weights} of {limit}; the cache for {context} tokens is what is left to explain it."),
			cause.If(nil, 0.25, "The context may be what goes over the limit.")),
		evidence(when.Root(fact.LlamaGuard),
			cause.If(contextFrom(0), 0.85, "The program itself computed that a context of {context} tokens does not fit, before it allocated anything."),
			cause.If(AbsurdEstimate, 0.55, "{system_required} is far more than any model's weights: the context length drives the estimate."),
			cause.If(when.Not(when.Fact("guard_nan")), 0.25, "The estimate counts the context too.")),
	},
	cause.BatchTooLarge: {
		evidence(when.All(buffer("compute"), when.Not(when.Any(absurdGraph, noText))),
			cause.If(LargeBatch, 0.55, "The physical batch is {ubatch} tokens; the compute buffer grows with it (512 is the default)."),
			cause.If(nil, 0.28, "The compute buffer grows with the physical batch.")),
		evidence(arena,
			cause.If(beyondArena, 0.8, "The batch is {batch_size} tokens; the arena of this build is planned for 512."),
			cause.If(nil, 0.15, "A batch or prompt that this build did not plan for.")),
		// stable-diffusion.cpp names the part that it computed.
		evidence(when.All(diffuses, when.Root(fact.GGMLSYCL, fact.GGMLAlloc, fact.GGMLLimit, fact.GGMLRuntime)),
			cause.If(when.Fact("diffusion_part"), 0.7, "The last step asked for {diffusion_part} of working memory, which grows with the size of the image."),
			cause.If(stage("compute"), 0.6, "The working memory of one step was refused; it grows with the size of the image or the batch.")),
	},
	cause.OversizedAllocation: {
		evidence(when.Root(fact.GGMLLimit),
			cause.If(when.Any(stage("weights"), bare), 0.7, inPieces),
			cause.If(contextFrom(32768), 0.42, inPieces),
			cause.If(nil, 0.55, inPieces)),
		evidence(bareBuffer, cause.If(when.All(onVulkan, above(nearLimit)), 0.45, "One buffer of {requested} is at the 4 GiB that most Vulkan drivers give in one piece.")),
		// No setting makes one buffer that large but attention scores over the whole
		// context, or a fault in the planning.
		evidence(buffer("compute"), cause.If(absurdGraph, 0.55, "One compute buffer of {requested} is out of all proportion.")),
	},
	cause.HostMemory: {
		evidence(hostRefused,
			cause.If(stage("weights"), 0.78, "A buffer{refused} That part of the weights lies in system memory, so that the card does not matter."),
			cause.If(when.Any(stage("kv"), stage("state")), 0.35, "A buffer{refused}"),
			cause.If(bare, 0.7, "A buffer{refused}"),
			cause.If(when.Not(above(units.GiB)), 0.8, "A buffer{refused} So little is refused only when nearly nothing is left, or when Windows has promised away RAM and page file."),
			cause.If(nil, 0.38, "A buffer{refused}")),
		// Cards that share the system's memory are full when that is.
		evidence(when.All(unified, when.Any(buffer("weights", ""), when.Root(fact.GGMLRuntime))),
			cause.If(nil, 0.55, "{card} has no memory of its own: what it takes comes from the system's, and what the driver may take of that is limited.")),
	},
	cause.DeviceImbalance: {
		unevenSplit,
		evidence(OddCard, cause.If(nil, 0.75, "The device that failed is the processor's own graphics with little memory: it should not take part.")),
	},
	cause.SoftwareBug: {
		// Arenas and plans of fixed size are the program's own mistake, unless a
		// setting explains it.
		evidence(arena, cause.If(beyondArena, 0.35, plannedWrong), cause.If(nil, 0.78, plannedWrong)),
		evidence(beyondContext, cause.If(nil, 0.62, "{requested} of compute buffer for a context of {context} tokens is out of proportion: a fault of this version, or a vision part that is counted in.")),
		evidence(buffer(), cause.If(belowMetalLimit, 0.55, "{requested} was refused although Metal recommends up to {limit}: one buffer was over the largest that Metal gives (later versions use several), or other programs hold the memory.")),
		evidence(when.All(when.Root(fact.LlamaGuard), when.Not(contextFrom(0))), cause.If(when.Fact("guard_nan"), 0.85, "The estimate has no number (NaN): the guard's own arithmetic failed, and no memory was asked for.")),
		evidence(when.All(when.Root(fact.GGMLAlloc), when.Not(ledger.InHost)), cause.If(below(units.MiB), 0.45, "{requested} are refused: the device is full to the last byte, or the driver's number of allocations is used up.")),
		evidence(when.All(when.Root(fact.GGMLSYCL), deviceFull), cause.If(nil, 0.35, "The driver reports its own faults as a full device too.")),
		cause.Said(0.4, "The oneAPI runtime reports memory for other faults too (copies between devices, its 4 GiB limit of one allocation).", fact.GGMLSYCL),
	},
	cause.Unknown: {
		evidence(buffer("state"), cause.If(nil, 0.45, "The recurrent state of a hybrid model was refused; it grows with the number of slots, not with the context, and no size is stated.")),
		evidence(bareBuffer, cause.If(when.All(onVulkan, when.Not(above(nearLimit))), 0.35, "The lines say only that this much was refused, not for what.")),
		cause.Said(0.2, "The message has no size.", fact.GGMLRuntime, fact.GGMLSYCL),
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
	weight, why := 0.25, "It is not the first card that is full."
	switch loads := c.Failure.Stage == "weights"; {
	case !loads && least > 0 && least*13 < own.Weights*10:
		weight, why = 0.8, fmt.Sprintf("%s holds %s of weights, another card only %s: the split gives the full card too much.", c.Failure.Memory, units.Amount(own.Weights), units.Amount(least))
	case loads && split && own.Free > 0 && fitsTogether(c, int64(len(cards)), free):
		weight, why = 0.85, fmt.Sprintf("The cards have %s free together, and this one %s: the split does not follow their sizes.", units.Amount(free), units.Amount(own.Free))
	case loads || full == 0:
		return cause.Nothing()
	case below(units.GiB)(c):
		weight, why = 0.6, "Only "+units.Amount(ledger.Requested(c))+" is missing, while the cards before this one took their share."
	}
	return cause.Seen(weight, why, c.Failure.Line)
}

// fitsTogether: the weights, if every card was to take what this one was refused,
// are within what the cards have together, with a tenth or cache and reserves to
// spare.
func fitsTogether(c *ledger.Case, cards, free int64) bool {
	weights := ledger.Requested(c) * cards
	cache := cacheOfShape(c, offloadedLayers(c))
	return weights <= free*9/10 || cache > 0 && weights+cache+cards*loadReserve <= free
}
