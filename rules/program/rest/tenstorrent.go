package rest

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// tenstorrent is about a chip whose memory is in banks; all but the name of the
// buffer is told of one bank.
var tenstorrent = cause.Card{
	ID: "figures/tenstorrent", Kinds: []fact.Kind{fact.PlainDevice}, Said: []string{"DRAM buffer across", "L1 buffer across"}, Figures: bankFigures,
	Cause: cause.ContextTooLong, Weight: cause.Strong,
	Headline: "ran out of memory on a Tenstorrent chip[[: a buffer of {asked} did not fit]]",
	Means:    "A buffer is spread over all banks of the chip's memory, and each bank needs room for its part in one piece.[[ {bank}]][[ {prompt}]][[ {state}]]",
	Cures: []cause.Cure{
		{Fix: "lower_context", If: served, Title: "Lower the context length: `--max-model-len`", Told: "The KV cache, and the prompt that is read at once, then take less:", Own: true, Cost: "longer prompts are refused"},
		{Fix: "lower_max_num_seqs", If: served, Title: "Or serve fewer requests at once: `--max-num-seqs`", Own: true, Cost: "others wait"},
		{Fix: "lower_context", If: when.Not(served), Title: "Lower the context length and the batch", Told: "Batch 1 and a shorter input; process long prompts in chunks. A model server: halve `--max-model-len` and `--max-num-seqs`.", Cost: "shorter texts, fewer at a time"},
		{Fix: "use_lower_quant", Title: "Keep the weights in a smaller data type", Told: "If the model's code lets you choose: `bfloat8_b` takes about half of `bfloat16`, `bfloat4_b` a quarter.", Cost: "some quality"},
		{Fix: "multi_gpu", Title: "Use more chips, or a model made for this system", Told: "On a mesh, each chip holds a part of the weights and cache. The model's page lists the systems it runs on.", Cost: "hardware"},
	},
	Sources: []string{"tt-metal/tt_metal/impl/allocator/bank_manager.cpp", "tt-metal/ttnn/cpp/ttnn-nanobind/bfloat_dtype_traits.hpp: bfloat8_b bfloat4_b"},
}

func served(c *ledger.Case) bool { return c.In("vllm") }

// bankFigures say what of a bank was wanted and there, as far as the build prints it.
func bankFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"bank": "", "prompt": "", "state": "The message does not say how much of a bank was in use: weights, KV cache and activations share it."}
	each, bank, free, largest := ledger.Sized(c, "tt_each"), ledger.Sized(c, "tt_bank"), ledger.Sized(c, "tt_free"), ledger.Sized(c, "tt_largest")
	banks, _ := c.Fact("tt_banks")
	if prompt, ok := c.Fact("tt_prompt"); ok && prompt.Count != nil {
		out["prompt"] = "It was reading a prompt of up to " + ledger.Thousands(int64(prompt.Count.Value)) + " tokens."
	}
	if each == 0 || banks.Count == nil {
		return out
	}
	out["bank"] = fmt.Sprintf("Here each of the %.0f banks needed %s", banks.Count.Value, units.Amount(each))
	if bank > 0 {
		out["bank"] += " of its " + units.Amount(bank)
	}
	out["bank"] += "."
	switch {
	case largest == 0:
	case free >= each:
		out["state"] = fmt.Sprintf("%s was free in a bank, but at most %s in one piece: the memory is fragmented.", units.Amount(free), units.Amount(largest))
	default:
		out["state"] = fmt.Sprintf("Only %s of it was free: weights, KV cache and activations fill the banks.", units.Amount(free))
	}
	return out
}
