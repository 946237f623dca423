// Package negative knows sizes below zero: a fault of the program, not of memory.
package negative

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Asked: the size that was asked for is 2^64 less a little.
func Asked(c *ledger.Case) bool {
	return c.Root(fact.GGMLAlloc) && c.Explained != nil && strings.Contains(c.Explained.Sentence, "a negative number")
}

// Cards are about a size that was computed wrong.
var Cards = []cause.Card{{
	ID: "llama.cpp/dataset-short", Kinds: []fact.Kind{fact.GGMLAlloc, fact.GGMLLimit}, Said: []string{"ggml_opt_dataset_init"}, If: Asked,
	Cause: cause.SoftwareBug, Weight: cause.Decisive, Headline: "asked for a size below zero: the training text is shorter than the context",
	Means: "`ggml_opt_dataset_init` was to hold the pieces of the training text; their number is (tokens - context - 1) / step, and it goes below zero where the text has fewer tokens than the context (`-c`, unset often the model's own length). RAM is not short.",
	Not:   "More RAM, swap or a smaller model.",
	Cures: []cause.Cure{
		{Fix: "lower_context", Title: "Train with a shorter context: `-c 256`", Kind: "text", Text: "`-c` well below the number of tokens of your text file; a quarter of it, so that there are several pieces.", Cost: "shorter passages are learned at a time"},
		{Fix: "fix_shape", Title: "Or use a longer training text", Kind: "text", Text: "It needs clearly more tokens than the context: about four characters are one token.", Cost: "more text"},
		{Fix: "upgrade_version", Title: "Update to a newer build", Cost: "a download"},
	},
	Sources: []string{"llama.cpp/common/common.cpp", "https://github.com/ggml-org/llama.cpp/issues/27648"},
}, {
	ID: "llama.cpp/below-zero", Kinds: []fact.Kind{fact.GGMLAlloc, fact.GGMLLimit}, If: Asked,
	Cause: cause.SoftwareBug, Weight: cause.Decisive, Headline: "asked for a size below zero: a fault in the program, not too little memory",
	Means: "A count or length went below zero before it was multiplied. No memory of any size would do.",
	Not:   "More RAM, swap, fewer layers or a smaller model: what was asked for is no size.",
	Cures: []cause.Cure{
		{Fix: "upgrade_version", Title: "Update to a newer build", Cost: "a download"},
		{Fix: "fix_shape", Title: "Check the numbers given to it", Kind: "text", Text: "Start with the smallest input and few options. A length, count or data set that is empty or shorter than another goes below zero; the function names in the backtrace show which.", Cost: "a trial"},
	},
	Sources: []string{"ggml/src/ggml.c", "ggml/src/ggml-alloc.c"},
}}
