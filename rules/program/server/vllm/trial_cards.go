package vllm

import (
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// trialCards are about a trial run that took, by vLLM's own figures, what the KV
// cache should have had.
var trialCards = []cause.Card{{
	ID: "vllm/cache-trial", Kinds: noRoomForCache, If: MostlyTrial,
	Cause: cause.BatchTooLarge, Weight: cause.Decisive, Figures: trialFigures,
	Headline: "did not start: its trial run took {trial}[[ of its {share_gib}]]",
	Means:    "The weights take {weights}, but the trial run took {trial}[[ of the {share_gib} that vLLM may use]]. Nothing is left for the KV cache. The trial run computes the largest batch that the settings allow, whatever you will send.",
	Not:      "A quantised or smaller model: the weights are not what fills the GPU.[[ {length_set}]]",
	Cures: []cause.Cure{
		Given(func(c *ledger.Case) bool { n := ledger.IntSetting(c, "max_num_seqs"); return n == 0 || n > 8 },
			Flags("lower_max_num_seqs", "Make the trial run smaller: lower `max_num_seqs`", "The trial run shrinks with it. {where}", "more requests wait", Option("max_num_seqs", "8"))),
		Given(longPrompts, Flags("lower_max_batched_tokens", "Then lower `max_num_batched_tokens`", "Fewer tokens are then computed per step.", "slower long prompts", Option("max_num_batched_tokens", "2048"))),
		{Fix: "lower_resolution", If: longPrompts, Title: "If the model reads images, allow fewer and smaller ones", Told: "Use `--limit-mm-per-prompt` and `--mm-processor-kwargs`: the trial run uses the largest that are allowed.", Cost: "larger ones are scaled down"},
	},
	Sources: []string{"vllm/worker/worker.py", "vllm/worker/enc_dec_model_runner.py", "vllm/v1/worker/gpu_worker.py"},
}}

// indexer is about models whose attention looks at chosen tokens only (DeepSeek-V3.2
// and later, GLM-5): which, a matrix of scores tells, in 32 bit, with a row of
// max_model_len for each token (vllm/utils/deep_gemm.py).
var indexer = cause.Card{
	ID: "vllm/indexer", Said: []string{"mqa_logits"}, If: func(c *ledger.Case) bool { return c.In("vllm") && ledger.Requested(c) >= units.GiB },
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: indexerFigures,
	Headline: "asked for {asked} at once for the token scores of sparse attention",
	Means:    "`mqa_logits` makes a table of scores: one row per token of the step, each as long as `max_model_len`.[[ {asked} is {rows} rows of {row} tokens.]] It needs room outside vLLM's share, and the trial run at start does not plan for so many rows.",
	Not:      "A smaller quantisation or model: this table does not depend on the weights.",
	Cures: []cause.Cure{
		Flags("lower_context", "Lower `max_model_len` and `max_num_seqs`", "Half of either halves the table. Set the length that you need. {where}", "longer prompts are refused, more requests wait", Option("max_model_len", "65536"), Option("max_num_seqs", "32")),
		Flags("lower_gpu_memory_utilization", "Or lower `gpu_memory_utilization`", "That leaves {more} more outside the KV cache.", "a smaller KV cache", Option("gpu_memory_utilization", "0.75")),
		Words("upgrade_version", "Or update vLLM, and report it if it stays", "In a report name the model, both limits and this size.", "flags may have changed"),
	},
	Sources: []string{"vllm/utils/deep_gemm.py", "vllm/model_executor/layers/sparse_attn_indexer.py"},
}

// indexerFigures are the rows of the matrix where it is whole rows of the longest
// prompt, or of the length that models of a million tokens have.
func indexerFigures(c *ledger.Case) map[string]string {
	out := figures(c)
	out["rows"], out["row"], out["more"] = "", "", "a sixth of the card"
	if total := ledger.SizeOf(c.F().Total); total > 0 {
		out["more"] = units.Amount(total * 15 / 100)
	}
	length := int64(ledger.IntSetting(c, "max_model_len"))
	if n := c.F().MaxModelLen; n != nil {
		length = int64(n.Value)
	}
	if length <= 0 {
		length = 1 << 20
	}
	if n := ledger.Requested(c); n%(4*length) == 0 {
		out["rows"], out["row"] = ledger.Thousands(n/(4*length)), ledger.Thousands(length)
	}
	return out
}

// longPrompts: the longest prompt has more tokens than a step is to compute.
func longPrompts(c *ledger.Case) bool {
	n := c.F().MaxModelLen
	return n == nil || n.Value > 2048
}

// ShortPrompts: no step computes more tokens than a step is to have anyway.
func ShortPrompts(c *ledger.Case) bool { return !longPrompts(c) }

// LightTrial says that the weights are what fills the share, where they are large and
// prompts short; which of the two it is otherwise has to be read off the log.
func LightTrial(c *ledger.Case) (light, which string) {
	w, n := ledger.SizeOf(c.F().Weights), ledger.IntSetting(c, "max_model_len")
	if w >= 6*units.GiB && n > 0 && n <= 8192 {
		return "The weights are " + units.Amount(w) + ". Beside them the trial run takes little: with prompts of " + strconv.Itoa(n) + " tokens at most.", ""
	}
	taken := ""
	if w > 0 {
		taken = " (" + units.Amount(w) + ")"
	}
	return "", "If `Model loading took … GiB`" + taken + " is about four fifths of the GPU or more, the weights are too large. If it is far less, look at the trial run, a low share, or other programs."
}

// Light reports that, of a model that reads no images.
func Light(c *ledger.Case) bool {
	light, _ := LightTrial(c)
	return light != "" && !c.Near(ImageEncoders...)
}

// SpareReserve: PyTorch holds much that is unused, as it does not while weights load.
func SpareReserve(c *ledger.Case) bool { return c.Slack.Has() && c.Slack.Bytes > units.GiB }

// FewPieces: what it holds unused is less than what was wanted.
func FewPieces(c *ledger.Case) bool { return SpareReserve(c) && c.Slack.Bytes < c.Asked.Bytes }

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

// MostlyTrial: the trial run took far more than the weights and the cache. One
// that computed a whole long prompt is cured by computing it in chunks.
func MostlyTrial(c *ledger.Case) bool {
	if n := c.F().MaxModelLen; WholePrompts(c) && n != nil && n.Value > 4096 {
		return false
	}
	trial, w := TrialTook(c), ledger.SizeOf(c.F().Weights)
	return trial > units.GiB && w > 0 && trial > 2*w && trial > 2*ledger.SizeOf(c.F().KVAvailable)
}

func trialFigures(c *ledger.Case) map[string]string {
	out := figures(c)
	out["trial"], out["weights"] = units.Amount(TrialTook(c)), units.Amount(ledger.SizeOf(c.F().Weights))
	if n := c.F().MaxModelLen; n != nil && n.Value <= 2048 {
		out["length_set"] = "A lower `max_model_len`: it is " + strconv.Itoa(int(n.Value)) + " already."
	}
	if n := ledger.SizeOf(c.F().Desired); n > 0 {
		out["share_gib"] = units.Amount(n)
	}
	return out
}
