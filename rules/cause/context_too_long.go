package cause

import "github.com/oomdoc/oomdoc/rules/ledger"

var contextTooLong = Rule{
	ID:    ContextTooLong,
	Title: "The context is too long for the memory that is left",
	Doc: []string{
		"Every token of the context keeps keys and values in memory (the KV cache), and without flash attention also a row of the attention matrix. The cache grows in step with the length, the matrix with its square: what is fine at 2,000 tokens can be far too much at 32,000.",
		"For a Llama 3 with 8 billion parameters a token takes 128 KiB: 8,192 tokens are 1 GiB, 131,072 are 16. Programs that reserve the cache at the start fail while loading; others fail in the middle of a long conversation.",
		"In training the length multiplies the activations and the logits (tokens x vocabulary x 4 bytes).",
	},
	Settles: "Run it once with a short context (2048). If that works, the context is the cause.",
	Clues: []Clue{
		logitsUpcast, attentionMatrix,
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
