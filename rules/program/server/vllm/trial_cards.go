package vllm

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// trialCards are about a trial run that took, by vLLM's own figures, what the KV
// cache should have had.
var trialCards = []cause.Card{{
	ID: "vllm/cache-trial", Kinds: noRoomForCache, If: mostlyTrial,
	Cause: cause.BatchTooLarge, Weight: cause.Decisive, Figures: trialFigures,
	Headline: "did not start: its trial run took {trial}[[ of its {share_gib}]]",
	Means:    "By vLLM's own figures the weights are {weights}, and the activations of its trial run took {trial}[[ of the {share_gib} that it may use]]; the KV cache gets what remains. The trial computes the largest batch that the settings allow (`max_num_seqs`, `max_num_batched_tokens`, and for models that read images or sound one input for each), whatever you will send.",
	Not:      "Smaller weights, a shorter answer: neither is what fills the card.",
	Cures: []cause.Cure{
		Given(func(c *ledger.Case) bool { n := ledger.IntSetting(c, "max_num_seqs"); return n == 0 || n > 8 },
			Flags("lower_max_num_seqs", "Let the trial run compute less: lower `max_num_seqs`", "The activations shrink about in proportion. {where}", "more requests wait", Option("max_num_seqs", "8"))),
		Given(longPrompts, Flags("lower_max_batched_tokens", "Then lower `max_num_batched_tokens`", "A step then computes fewer tokens.", "slower long prompts", Option("max_num_batched_tokens", "2048"))),
		{Fix: "lower_resolution", Title: "A model that reads images: allow fewer and smaller ones", Told: "`--limit-mm-per-prompt`, `--mm-processor-kwargs`: the trial takes the largest that are allowed.", Cost: "larger ones are scaled down"},
	},
	Sources: []string{"vllm/worker/worker.py", "vllm/worker/enc_dec_model_runner.py", "vllm/v1/worker/gpu_worker.py"},
}}

// longPrompts: the longest prompt has more tokens than a step is to compute.
func longPrompts(c *ledger.Case) bool {
	n := c.F().MaxModelLen
	return n == nil || n.Value > 2048
}

// TrialTook is what the trial run took beside the weights, 0 where the log does
// not say.
func TrialTook(c *ledger.Case) int64 {
	if n := ledger.Sized(c, "activation_peak"); n > 0 {
		return n
	}
	if peak, w := ledger.Sized(c, "peak_torch"), ledger.SizeOf(c.F().Weights); peak > w && w > 0 {
		return peak - w
	}
	return 0
}

// mostlyTrial: the trial run took far more than the weights and the cache. One
// that computed a whole long prompt is cured by computing it in chunks.
func mostlyTrial(c *ledger.Case) bool {
	if n := c.F().MaxModelLen; WholePrompts(c) && n != nil && n.Value > 4096 {
		return false
	}
	trial, w := TrialTook(c), ledger.SizeOf(c.F().Weights)
	return trial > units.GiB && w > 0 && trial > 2*w && trial > 2*ledger.SizeOf(c.F().KVAvailable)
}

func trialFigures(c *ledger.Case) map[string]string {
	out := figures(c)
	out["trial"], out["weights"] = units.Amount(TrialTook(c)), units.Amount(ledger.SizeOf(c.F().Weights))
	if n := ledger.SizeOf(c.F().Desired); n > 0 {
		out["share_gib"] = units.Amount(n)
	}
	return out
}
