package engine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/engine/cards"
	"github.com/oomdoc/oomdoc/rules/program/era"
	"github.com/oomdoc/oomdoc/rules/program/server/launch"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// TGI is what is peculiar to Text Generation Inference.
var TGI = program.Program{
	Name: "tgi", Shown: "TGI", Rank: 80,
	Units:    []string{"tgi", "text-generation-inference"},
	Commands: []string{"text-generation-server"},
	Work:     "text-inference", Edits: "flags", Language: "python", Systems: []string{"linux", "wsl"},
	Cards: TGICards,
	Sources: program.Sources{
		"text-generation-inference/launcher/src/main.rs": "--cuda-graphs --cuda-memory-fraction --kv-cache-dtype --max-batch-prefill-tokens --max-input-length --max-input-tokens --max-total-tokens --model-id --num-shard" +
			" --quantize --enable-prefill-logprobs --max-batch-total-tokens --revision",
	},
	Clues: map[string][]cause.Clue{
		cause.BatchTooLarge: {cause.Figures{}.First(
			cause.If(func(c *ledger.Case) bool { return c.In("tgi") && c.Phase == "warmup" && c.Root(fact.TorchAlloc) }, cause.Good, "It failed in the warm-up, which runs the largest batch that the settings allow."),
			cause.If(TGITiny, cause.Hint, "The warm-up batch did not fit."),
			cause.If(tgiWarmup, cause.Good, "The warm-up wants a cache for {tgi_total_tokens} tokens at once beside the weights, and did not get it."),
			cause.If(tgiWarmup, cause.Good, "The warm-up runs {max_batch_prefill_tokens} tokens at once and did not fit; several versions say so of any error in the warm-up, so read the lines above."),
		)},
		cause.SoftwareBug: {cause.Figures{}.First(
			cause.If(TGITiny, cause.Good, "{max_batch_prefill_tokens} tokens can't be what is too much: this version puts the sentence on any error of the warm-up."),
			cause.If(tgiWarmup, cause.Hint, "Several versions put this sentence on any error of the warm-up."),
		)},
		cause.ModelTooLarge: {cause.Said(cause.Hint, "The card may be full of weights before the warm-up begins.", fact.TGIWarmup)},
		cause.HostMemory:    {cause.Said(cause.Strong, "A shard was killed by signal 9: usually Linux did that because system RAM ran out.", fact.TGIKilled)},
	},
	Remedies: map[string][]cause.Remedy{
		cause.BatchTooLarge: {
			{Fix: "lower_max_batched_tokens", Fit: cause.Cures, If: when.Not(TGITiny)},
			{Fix: "upgrade_version", Fit: cause.MayHelp, If: tgiWarmup},
			{Fix: "lower_context", Fit: cause.MayHelp, If: when.Not(tgiWarmup)}, // the trial batch has as many tokens
			{Fix: "multi_gpu", Fit: cause.MayHelp, If: when.Not(tgiLongTrial)},
			{Fix: "use_lower_quant", Fit: cause.LastResort, If: when.Not(tgiLongTrial)},
		},
		cause.BudgetMisconfigured: {{Fix: "enforce_eager", Fit: cause.MayHelp}, {Fix: "lower_max_batched_tokens", Fit: cause.MayHelp, If: when.Not(tgiCapture)}, {Fix: "use_lower_quant", Fit: cause.LastResort, If: when.Not(tgiCapture)}},
		cause.SoftwareBug:         {{Fix: "upgrade_version", Fit: cause.Cures}, {Fix: "use_lower_quant", Fit: cause.MayHelp, If: when.Not(tgiLongTrial)}},
		cause.ModelTooLarge:       {{Fix: "use_lower_quant", Fit: cause.Cures, If: when.Not(when.Any(tgiQuantised, tgiLongTrial, tgiCapture))}, {Fix: "multi_gpu", Fit: cause.Helps, If: when.Not(tgiLongTrial)}, {Fix: "use_smaller_model", Fit: cause.Helps, If: when.Not(when.Any(tgiLongTrial, tgiCapture))}},
	},
	Effects: map[string]func(c *ledger.Case) *effect.Effect{
		"multi_gpu": cards.Effect("num_shard"),
		// In the warm-up every piece of a layer is linear in the tokens.
		"lower_max_batched_tokens": cards.TokensUnless(func(c *ledger.Case) bool {
			return c.Phase != "warmup" || tgiTotal(c)
		}),
	},
	Steps: map[string]func(c *ledger.Case) []step.Step{
		"lower_max_batched_tokens": func(c *ledger.Case) []step.Step {
			if tgiTotal(c) {
				return tgiServer.Adds(launch.Divided("max_batch_total_tokens", 0, launch.Half))(c)
			}
			prefill := launch.Divided("max_batch_prefill_tokens", 4096, cards.TokensDivisor)
			n, _ := strconv.Atoi(prefill(c).Value)
			input, total := tgiLimits(c, n)
			return tgiServer.Adds(prefill, launch.To(inputLimit(c), strconv.Itoa(input)), launch.To("max_total_tokens", strconv.Itoa(total)))(c)
		},
		"lower_context": func(c *ledger.Case) []step.Step {
			return tgiServer.Adds(launch.To(inputLimit(c), "1024"), launch.To("max_total_tokens", "2048"))(c)
		},
		"multi_gpu":         tgiServer.Adds(launch.Whole("num_shard", cards.For("num_shard"))),
		"use_lower_quant":   tgiServer.Adds(launch.From("quantize", era.Either("tgi", "bitsandbytes-nf4", "bitsandbytes", "bitsandbytes-nf4"))),
		"quantize_kv_cache": tgiServer.Adds(launch.To("kv_cache_dtype", "fp8_e5m2")),
		"enforce_eager":     tgiServer.Adds(launch.To("cuda_graphs", "0")),
		"upgrade_version":   step.Paste("shell", "docker pull ghcr.io/huggingface/text-generation-inference:latest"),
	},
}

var tgiServer = launch.Server{
	Command: "tgi_command",
	Aliases: map[string]string{"--max-input-length": "max_input_tokens", "--max-input-tokens": "max_input_length"}, // the launcher refuses both together
	Repeats: []string{"quantize", "num_shard"},
	Dumps:   true,
	Start:   "text-generation-launcher --model-id",
	Where:   "After the image's name in `docker run`, instead of your values:",
}

// LoRAX is TGI's fork for adapters.
var LoRAX = program.Program{
	Name: "lorax", Shown: "LoRAX", Work: "text-inference", Edits: "flags", Language: "python", Systems: []string{"linux", "wsl"},
	Proofs:  []string{"lorax_client:", "lorax_launcher", "lorax_server/", "lorax_router"},
	Like:    []*program.Program{&TGI},
	Sources: program.Sources{"lorax/launcher/src/main.rs": "--cuda-memory-fraction --max-batch-prefill-tokens --max-input-length --max-total-tokens --quantize --adapter-memory-fraction --max-active-adapters"},
	Cards:   loraxCards,
}

// tgiLimits are the limits of a request under so many prompt tokens: prompts not
// above them, answers as long as now, but no longer than that: the trial batch
// has a cache for both.
func tgiLimits(c *ledger.Case, prefill int) (input, total int) {
	now, all := ledger.IntSetting(c, "max_input_length", "max_input_tokens"), ledger.IntSetting(c, "max_total_tokens")
	if now <= 0 || all <= now {
		return prefill / 2, prefill
	}
	input = min(now, prefill)
	return input, input + min(all-now, prefill)
}

// inLoRAX: it has the older name of a limit.
func inLoRAX(c *ledger.Case) bool {
	return c.In("lorax") || slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool { return strings.Contains(x.File, "lorax_server") })
}

// inputLimit is --max-input-length in LoRAX and in TGI before 2.0, --max-input-tokens since.
func inputLimit(c *ledger.Case) string {
	if inLoRAX(c) || era.Lacks(c, "tgi", "--max-input-tokens") {
		return "max_input_length"
	}
	return "max_input_tokens"
}

// before: the log's lines are older than a day, 0 where they have no date.
func before(c *ledger.Case, day int) bool { return c.Failure.Date > 0 && c.Failure.Date < day }

var tgiWarmup = when.Root(fact.TGIWarmup)
