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
		Headline: "ran out of GPU memory in the sampler",
		Means:    "The sampler works on scores of the whole vocabulary for every running request, several times over for top-p and top-k. That grows with the number of running requests, not with their length.",
		Not:      "A smaller `--chunked-prefill-size` or a shorter context: the sampler does not depend on them.",
		Cures:    []cause.Cure{as("lower_max_num_seqs", "Lower `--max-running-requests`", "The sampler's memory shrinks with it.", "others wait"), sglangLess, {Fix: "lower_batch_size", Title: "Or ask for less", Told: "Requests without `top_logprobs_num` and with `n` of 1 need less.", Cost: "fewer details"}},
		Sources:  []string{sglangCode + "layers/sampler.py", sglangCode + "layers/logits_processor.py", sglangThread + "issues/1087"},
	},
	{
		ID: "sglang/tokens-prefill-full", Kinds: []fact.Kind{fact.SGLangTokens}, If: func(c *ledger.Case) bool {
			return strings.Contains(c.Failure.Message, "Prefill") && !sglangCounted("")(c) && sglangPages(c)["wanted"] != ""
		}, Figures: sglangPages,
		Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Headline: "had no room for a prompt: its KV cache is full",
		Means:    "A chunk of prompts needed {wanted} tokens of KV cache, and {there} were left. GPU memory itself was not short. SGLang should have let this prompt wait: it estimates how long running answers get, and that was too low, or this version counts wrongly.",
		Not:      "A lower `--mem-fraction-static`: it makes the KV cache smaller.",
		Cures: []cause.Cure{
			as("lower_max_num_seqs", "Lower `--max-running-requests`", "Also add `--schedule-conservativeness 1.3`, which admits requests more carefully.", "others wait"),
			as("lower_max_batched_tokens", "Or lower `--chunked-prefill-size`", "A prompt then needs fewer tokens at a time.", "slower long prompts"),
			as("upgrade_version", "Update SGLang", "This was fixed in April and again in June 2025 (pull requests 5081, 7397).", "a restart"),
			as("raise_mem_fraction", "Or raise `--mem-fraction-static`", "Only if `nvidia-smi` shows a few GB free while it serves.", "less for CUDA graphs and requests"),
		},
		Sources: []string{sglangCode + "mem_cache/common.py", sglangThread + "pull/5081", sglangThread + "pull/7397", sglangTuning},
	},
}
