package cause

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

const upcast = "It failed while the logits (tokens x vocabulary) were turned into 32-bit numbers: they grow with the length of the sequence."

var contextTooLong = Rule{
	ID:      ContextTooLong,
	Title:   "The context is too long for the memory that is left",
	Settles: "Run it once with a short context (2048). If that works, the context is the cause.",
	Clues: []Clue{
		Shown("logits_fp32",
			If(when.All(ledger.Allocator, mostOfCard), Decisive, upcast), // the size of the piece is explained
			If(ledger.Allocator, Likely, upcast)),
		Shown("attention", If(ledger.Allocator, Weak, "It failed in attention, which grows with the length of the sequence.")),
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

// mostOfCard: a step of training asked for more than a third of the card.
func mostOfCard(c *ledger.Case) bool {
	f := c.F()
	return c.Training() && f.Requested != nil && f.Total != nil && f.Requested.Bytes*3 > f.Total.Bytes
}
