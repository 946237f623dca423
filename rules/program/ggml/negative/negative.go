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
	Means: "The training text is cut into pieces as long as the context. It has fewer tokens than the context (`-c`; unset it is often the model's maximum), so the number of pieces went below zero. RAM is not full.",
	Not:   "More RAM, swap or a smaller model: no amount of memory would do.",
	Cures: []cause.Cure{
		{Fix: "lower_context", Title: "Train with a shorter context: `-c 256`", Kind: "text", Text: "Set `-c` to a quarter of your text's tokens or less. One token is about four characters of English, so a 4 KB file has about 1000.", Cost: "shorter passages are learned at a time"},
		{Fix: "fix_shape", Title: "Or use a longer training text", Kind: "text", Text: "It needs several times as many tokens as the context.", Cost: "more text"},
		{Fix: "upgrade_version", Title: "Update to a newer build", Cost: "a download"},
	},
	Sources: []string{"llama.cpp/common/common.cpp", "https://github.com/ggml-org/llama.cpp/issues/27648"},
}, {
	ID: "llama.cpp/below-zero", Kinds: []fact.Kind{fact.GGMLAlloc, fact.GGMLLimit}, If: Asked,
	Cause: cause.SoftwareBug, Weight: cause.Decisive, Headline: "asked for a size below zero: a bug in the program, not too little memory",
	Means: "The program calculated a negative size and asked for it. No amount of memory would do.",
	Not:   "More RAM, swap, fewer layers or a smaller model: the size itself is wrong.",
	Cures: []cause.Cure{
		{Fix: "upgrade_version", Title: "Update to a newer build", Cost: "a download"},
		{Fix: "fix_shape", Title: "Try it with few options and a small input", Kind: "text", Text: "An empty input, or one that is shorter than another setting, often causes this. The function names in the backtrace hint at which. Add your options back one by one.", Cost: "some trials"},
	},
	Sources: []string{"ggml/src/ggml.c", "ggml/src/ggml-alloc.c"},
}}
