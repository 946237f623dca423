package cause

import "github.com/oomdoc/oomdoc/rules/ledger"

var contextTooLong = Rule{
	ID:      ContextTooLong,
	Title:   "The context is too long for the memory that is left",
	Settles: "Run it once with a short context (2048). If that works, the context is the cause.",
	Clues: []Clue{
		logitsUpcast, attentionMatrix, isExplained(ContextTooLong, 0.7),
	},
	Remedies: []Remedy{
		{Fix: "lower_context", Fit: 1},
		{Fix: "quantize_kv_cache", Fit: 0.75},
		{Fix: "enable_flash_attention", Fit: 0.5},
		{Fix: "lower_batch_size", Fit: 0.45},
	},
}

func logitsUpcast(c *ledger.Case) Finding {
	s := c.Signal("logits_fp32")
	if s == nil || !ledger.Allocator(c) {
		return Nothing()
	}
	weight := 0.7
	if f := c.F(); c.Training() && f.Requested != nil && f.Total != nil && f.Requested.Bytes*3 > f.Total.Bytes {
		weight = 0.92 // the size of the piece is explained
	}
	return Seen(weight, "It failed while the logits (tokens x vocabulary) were turned into 32-bit numbers: they grow with the length of the sequence.", s.Line, c.Failure.Line)
}

func attentionMatrix(c *ledger.Case) Finding {
	s := c.Signal("attention")
	if s == nil || !ledger.Allocator(c) {
		return Nothing()
	}
	return Seen(0.35, "It failed in attention, which grows with the length of the sequence.", s.Line, c.Failure.Line)
}
