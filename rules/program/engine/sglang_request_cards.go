package engine

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// sglangRequestCards are about what a request needs that tells itself by a frame or
// by its figures.
var sglangRequestCards = []cause.Card{
	{
		ID: "sglang/sampler", Kinds: onCard, If: sglangCard, Phases: []string{"inference", "unknown"},
		Said:  []string{"srt/layers/sampler.py", "in top_k_top_p_sampling_from_probs", "in top_k_top_p_min_p_sampling_from_probs_torch", "in top_p_normalize_probs_torch", "flashinfer/sampling.py"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory in the sampler",
		Means:    "The sampler works on a row of the whole vocabulary, in 32-bit floats, for every running request, several times over for top-p and top-k.[[ {asked} was needed beside weights, KV cache pool and CUDA graphs, {room} was left.]] That grows with the number of running requests, not with their length.",
		Not:      "A smaller `--chunked-prefill-size` or a shorter context: the rows do not depend on them.",
		Cures:    []cause.Cure{as("lower_max_num_seqs", "Lower `--max-running-requests`", "The rows shrink in proportion.", "others wait"), sglangLess, {Fix: "lower_batch_size", Title: "Or ask for less", Told: "Requests without `top_logprobs_num`, and with `n` of 1, need fewer rows.", Cost: "fewer details"}},
		Sources:  []string{sglangCode + "layers/sampler.py", sglangCode + "layers/logits_processor.py", sglangThread + "issues/1087"},
	},
	{
		ID: "sglang/tokens-prefill-full", Kinds: []fact.Kind{fact.SGLangTokens}, If: func(c *ledger.Case) bool {
			return strings.Contains(c.Failure.Message, "Prefill") && !sglangCounted("")(c) && sglangPages(c)["wanted"] != ""
		}, Figures: sglangPages,
		Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Headline: "found no room for a prompt: its token pool is full",
		Means:    "A chunk of prompts needed {wanted} tokens of the KV pool, and {there} were left, counting what the prefix cache can give up. The card's memory is not what was refused. SGLang admits prompts by an estimate of how long the running answers get, and should have kept this one waiting; the estimate was too low for this load, or this version counts wrongly.",
		Not:      "A lower `--mem-fraction-static`: it makes the pool smaller.",
		Cures: []cause.Cure{
			as("lower_max_num_seqs", "Lower `--max-running-requests`", "Add `--schedule-conservativeness 1.3`, which admits requests more carefully.", "others wait"),
			as("lower_max_batched_tokens", "Or lower `--chunked-prefill-size`", "A prompt then takes its tokens in smaller parts.", "slower long prompts"),
			as("upgrade_version", "Update SGLang", "Counting for prompts was fixed in April and again in June 2025 (pull requests 5081, 7397).", "a restart"),
			as("raise_mem_fraction", "Or raise `--mem-fraction-static`", "If `nvidia-smi` shows a few GB free while it serves.", "less for graphs and requests"),
		},
		Sources: []string{sglangCode + "mem_cache/common.py", sglangThread + "pull/5081", sglangThread + "pull/7397", sglangTuning},
	},
}
