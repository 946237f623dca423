package vllm

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

const metalPlan = "vllm-metal/vllm_metal/v1/worker.py"

// MetalCards are vllm-metal's, whose plan the message itself prints, with the figures
// that cards about a missing cache name.
func MetalCards(noCache func(*ledger.Case) map[string]string) []cause.Card {
	metalFigures := func(c *ledger.Case) map[string]string { return MetalFigures(c, noCache(c)) }
	return []cause.Card{
		{
			ID: "vllm/metal-trial", Kinds: []fact.Kind{fact.VLLMNoCache}, If: trialOutgrows, Figures: metalFigures,
			Cause: cause.BatchTooLarge, Weight: cause.Decisive,
			Headline: "did not start: its trial run took {overhead}, so nothing is left for the KV cache",
			Means:    "macOS allows the GPU {limit}, and vLLM may use {usable} of it ({share}). The weights take {weights} and the trial run {overhead}: {lacking} too much. The trial run computes as many tokens as `max_num_batched_tokens` allows.",
			Not:      "[[{enough} ]]Closing other programs: macOS sets the limit, whatever is free.",
			Cures: []cause.Cure{
				Flags("lower_max_batched_tokens", "Lower `max_num_batched_tokens`", "Take a quarter of your value, 2048 or less. The trial run shrinks with it. {where}", "slower long prompts", Option("max_num_batched_tokens", "2048")),
				Words("upgrade_version", "If an older version worked, change vllm-metal and MLX", "Install the newest vllm-metal with the MLX version that it asks for, or go back to the pair that worked. Unset `MLX_MAX_MB_PER_BUFFER`.", "a few minutes"),
				Words("use_smaller_model", "Or use a smaller model", "Its trial run is smaller too. A quantised version shrinks only the weights.", "lower quality"),
			},
			Sources: []string{metalPlan, "https://github.com/vllm-project/vllm-metal/issues/585"}, Solved: 1,
		},
		{
			ID: "vllm/metal-share", Kinds: []fact.Kind{fact.VLLMNoCache}, If: when.All(ShareTooSmall, when.Not(trialOutgrows)), Figures: metalFigures,
			Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
			Headline: "did not start: its share of the Mac's memory ({share}) is too small for this model",
			Means:    "macOS allows the GPU {limit}, and vLLM may use {usable} of it ({share}). The weights take {weights} and the trial run {overhead}[[: {lacking} too much, before any KV cache]]. Everything that macOS allows would be enough.",
			Not:      "A shorter context alone: the KV cache gets nothing at any length.",
			Cures: []cause.Cure{
				Words("raise_gpu_memory_utilization", "Raise vLLM's share to {wider}", "Use `--gpu-memory-utilization {wider}`. If the message names the variable `VLLM_METAL_MEMORY_FRACTION` (older versions), set that to {wider} instead. It may be set by the app that starts vLLM.", "less for everything else"),
				Words("lower_max_num_seqs", "Serve fewer requests at a time", "`--max-num-seqs 1` is enough for one user.", "others wait"),
				Words("use_lower_quant", "Or load smaller weights of the same model", "A 4-bit MLX version (its name ends in `-4bit`) is a little over a quarter of the 16-bit size.", "slight loss of quality"),
			},
			Sources: []string{metalPlan, "https://docs.vllm.ai/projects/vllm-metal/en/latest/configuration/"},
		},
		{
			ID: "vllm/metal-weights", Kinds: []fact.Kind{fact.VLLMNoCache}, If: func(c *ledger.Case) bool { return c.Backend == "metal" && !trialOutgrows(c) }, Figures: metalFigures,
			Cause: cause.ModelTooLarge, Weight: cause.Strong,
			Headline: "did not start: the weights leave nothing for the KV cache",
			Means:    "macOS allows the GPU {limit}, and vLLM may use {usable} of it ({share}). The weights take {weights} and the trial run {overhead}[[: {lacking} too much, before any KV cache]].",
			Not:      "A shorter context alone: the KV cache gets nothing at any length.[[ {enough}]]",
			Cures: []cause.Cure{
				Words("use_lower_quant", "Load smaller weights of the same model", "A 4-bit MLX version (its name ends in `-4bit`) is a little over a quarter of the 16-bit size.", "slight loss of quality"),
				Words("raise_gpu_memory_utilization", "Or raise `--gpu-memory-utilization`", "That gives {gain} more at most. In older versions `VLLM_METAL_MEMORY_FRACTION` takes precedence.", "less for everything else"),
				Words("raise_memory_limit", "Or let the GPU use more of the RAM", "`sudo sysctl iogpu.wired_limit_mb=$(( $(sysctl -n hw.memsize) / 1048576 * 4 / 5 ))`. It lasts until the next restart.", "too much can freeze the Mac"),
			},
			Sources: []string{metalPlan, "https://docs.vllm.ai/projects/vllm-metal/en/latest/configuration/"},
		},
	}
}

// trialOutgrows: the trial run is the largest part of the plan.
func trialOutgrows(c *ledger.Case) bool {
	f := c.F()
	return c.Backend == "metal" && f.ActivationPeak != nil && f.Weights != nil && f.Limit != nil && f.ActivationPeak.Bytes > max(f.Weights.Bytes, f.Limit.Bytes-f.Weights.Bytes)
}
