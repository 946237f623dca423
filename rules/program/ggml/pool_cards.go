package ggml

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// poolCard is about loaders that reckon their pool themselves, as the examples
// of ggml and whisper.cpp do.
func poolCard(program string) cause.Card {
	return cause.Card{
		ID: program + "/arena-loading", Kinds: []fact.Kind{fact.GGMLPool}, Said: []string{"model_load: ggml ctx size"}, If: when.All(when.Not(beyondArena), slightlyShort), Figures: poolNumbers,
		Cause: cause.SoftwareBug, Weight: 0.85,
		Headline: "reckoned its own memory pool {lack} too small while it loaded a model",
		Means:    "The loader adds up in its source how large a pool the tensors of this file need, and reserved {pool}; they need {lack} more. So small a gap is ggml's bookkeeping for each tensor, which grew while the estimate stayed. RAM and graphics memory are not short, and a crash right after it is the same fault.",
		Not:      "Closing programs, more RAM or a smaller quantisation: the estimate stays short.",
		Cures: []cause.Cure{
			{
				Fix: "upgrade_version", Title: "Mend the estimate, or take a version where it is right", Ways: []cause.Way{
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
