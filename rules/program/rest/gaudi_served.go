package rest

import (
	"fmt"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// gaudiServed is about TGI on these accelerators, which nobody trains with: its limits
// on requests at a time are two numbers of tokens, and the router's lines say how many
// it had together.
var gaudiServed = cause.Card{
	ID: "gaudi/tgi", Kinds: []fact.Kind{fact.PlainDevice, fact.DeviceAlloc, fact.PlainMemory}, Said: []string{"PT_DEVMEM", "LIMIT_HPU_GRAPH=true"}, If: servesGaudi, Figures: gaudiBatch,
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of the accelerator's memory[[: {asked} was refused]]",
	Means: "[[{work} ]]Weights, the caches of all requests and the compiled graphs share the memory: 32 GB on a Gaudi, 96 GB on a Gaudi 2, 128 GB on a Gaudi 3. The message does not say how much was in use.",
	Not:   "`PYTORCH_CUDA_ALLOC_CONF` or `--cuda-memory-fraction`: this is not an NVIDIA GPU.",
	Cures: []cause.Cure{
		{Fix: "lower_max_num_seqs", If: reads, Title: "Read fewer prompts at once: `--max-batch-prefill-tokens`", Told: "It is prompts at once x `--max-input-tokens`[[: {fewer} x {length} here]]. Start with `-e PREFILL_BATCH_BUCKET_SIZE={fewer}` too: batches are rounded up to it.", Kind: "config", Text: "--max-batch-prefill-tokens {tokens}", Cost: "others wait"},
		{Fix: "lower_max_num_seqs", If: when.Not(reads), Title: "Serve fewer requests at once: `--max-batch-total-tokens`", Told: "It is requests at once x `--max-total-tokens`[[: {fewer} x {length} here]]. Start with `-e BATCH_BUCKET_SIZE={fewer}` too: batches are rounded up to it.", Kind: "config", Text: "--max-batch-total-tokens {tokens}", Cost: "others wait"},
		{Fix: "enforce_eager", If: func(c *ledger.Case) bool { return !c.Near("LIMIT_HPU_GRAPH=true") }, Title: "Compile no graphs for prompts", Told: "Before the image's name in `docker run`:", Kind: "config", Text: "-e LIMIT_HPU_GRAPH=true", Cost: "slower prompts"},
		{Fix: "lower_context", Title: "Or allow shorter requests", Told: "Half of `--max-input-tokens` and `--max-total-tokens`: a request takes cache and graphs for its full length.", Cost: "longer prompts are refused"},
		{Fix: "multi_gpu", Title: "Or split the model over more accelerators", Told: "`--sharded true --num-shard 2`, with two in `HABANA_VISIBLE_DEVICES`.", Cost: "more accelerators"},
	},
	Sources: []string{"https://github.com/huggingface/tgi-gaudi/blob/habana-main/README.md"},
}

func servesGaudi(c *ledger.Case) bool { return c.In("tgi") }

// reads: prompts were being read, by what the router says of the batch.
func reads(c *ledger.Case) bool { _, ok := c.Fact("tgi_reading"); return ok }

// gaudiBatch is half of the batch that failed, in tokens where their limit is known.
func gaudiBatch(c *ledger.Case) map[string]string {
	out := map[string]string{"work": "", "fewer": "4", "length": "", "tokens": "8192"}
	batch, what, length := "tgi_decoding", "writing answers to %d requests together.", ledger.IntSetting(c, "max_total_tokens")
	if reads(c) {
		batch, what, length = "tgi_reading", "reading %d prompts together.", max(ledger.IntSetting(c, "max_input_tokens"), ledger.IntSetting(c, "max_input_length"))
	}
	x, ok := c.Fact(batch)
	if !ok || x.Count == nil || x.Count.Value < 1 {
		return out
	}
	n := int(x.Count.Value)
	fewer := max(n/2, 1)
	out["work"], out["fewer"] = "TGI was "+fmt.Sprintf(what, n), fmt.Sprint(fewer)
	if length > 0 {
		out["length"], out["tokens"] = ledger.Thousands(int64(length)), fmt.Sprint(fewer*length)
	}
	return out
}
