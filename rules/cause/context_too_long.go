package cause

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

var contextTooLong = Rule{
	ID:      ContextTooLong,
	Title:   "The context is too long for the memory that is left",
	Settles: "Run it once with a short context (2048). If that works, the context is the cause.",
	Clues: []Clue{
		isExplained(ContextTooLong, Likely),
	},
	Remedies: []Remedy{
		{Fix: "efficient_attention", Fit: Foremost, If: ledger.WritesScores},
		{Fix: "lower_context", Fit: Cures},
		{Fix: "quantize_kv_cache", Fit: MayHelp, If: when.Not((*ledger.Case).Training)}, // training keeps no KV cache
		{Fix: "lower_batch_size", Fit: MayHelp},
		{Fix: "gradient_checkpointing", Fit: MayHelp, If: (*ledger.Case).Training},
		{Fix: "enable_flash_attention", Fit: LastResort},
	},
}
