package ggml

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// PoolCard is about loaders that reckon their pool themselves, as the examples
// of ggml and whisper.cpp do.
func PoolCard(program string) cause.Card {
	return cause.Card{
		ID: program + "/arena-loading", Kinds: []fact.Kind{fact.GGMLPool}, Said: []string{"model_load: ggml ctx size"}, If: when.All(when.Not(beyondArena), slightlyShort), Figures: poolNumbers,
		Cause: cause.SoftwareBug, Weight: cause.Strong, Headline: "planned its own memory pool {lack} too small while it loaded a model",
		Means: "The loader adds up in its source how large a pool the tensors of this file need, and reserved {pool}; they need {lack} more. So small a gap is usually ggml's bookkeeping for each tensor, which grew while the estimate stayed. RAM and GPU memory are not short; a crash right after it is the same fault.",
		Not:   "Closing programs, more RAM or a smaller quantisation: the estimate stays short.",
		Cures: []cause.Cure{
			{
				Fix: "upgrade_version", Title: "Correct the estimate, or update", Ways: []cause.Way{
					{For: "In the source", Text: "find the line that prints `ggml ctx size` (the name before it is the function), add `ctx_size += 1024*1024;` just before it, and build again as you did. It costs 1 MiB of RAM."},
					{For: "Update", Text: "`git pull` and build again. An example that is no longer kept up may be gone: whisper.cpp has `talk-llama` for `talk`, with a GGUF model."},
				}, Cost: "a rebuild",
			},
		},
		Sources: []string{"ggml/examples/gpt-2/main-alloc.cpp", "https://github.com/ggml-org/whisper.cpp/issues/1804"}, Solved: 1,
	}
}

// slightlyShort: the pool lacks less than what the cure adds to it.
func slightlyShort(c *ledger.Case) bool {
	lack := ledger.Requested(c) - ledger.SizeOf(c.F().Free)
	return lack > 0 && lack < units.MiB
}

// BatchCard is about a batch for which such a build has no room.
func BatchCard(program, where string) cause.Card {
	return cause.Card{
		ID: program + "/arena-batch", Kinds: []fact.Kind{fact.GGMLPool}, If: beyondArena, Figures: poolNumbers,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran over a memory pool of fixed size inside itself: the batch is larger than planned for",
		Means: "The pool for temporaries has a fixed size in these builds of 2023, made for batches of 512 tokens; here the batch is {batch_size}. [[It has {pool}, and {lack} more was needed. ]]Neither RAM nor GPU memory is short, and the crash after it is the same fault.",
		Not:   "More RAM or fewer layers on the GPU: the pool keeps its size.",
		Cures: []cause.Cure{
			does("lower_batch_size", "Set the batch size back to 512", "text", where, "slower prompts"),
			as("upgrade_version", "Update to a version without such a pool", "old `.bin` files need a GGUF of the same model"),
		},
		Sources: []string{"llama.cpp/ggml.c", "https://github.com/abetlen/llama-cpp-python/issues/546"}, Solved: 1,
	}
}

// hostNumbers say what system memory was to hold.
func hostNumbers(c *ledger.Case) map[string]string {
	out := map[string]string{"part": "for the part of the model that stays off the GPU", "little": ""}
	switch c.Failure.Stage {
	case "compute":
		out["part"] = "of working memory"
	case "":
		out["part"] = "in one buffer"
	}
	if below(units.GiB)(c) {
		out["little"] = "A piece that small is usually refused only when almost nothing is left."
	}
	return out
}
