package server

import (
	"fmt"
	"strconv"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// TGI is what is peculiar to Text Generation Inference.
var TGI = program.Program{
	Name: "tgi", Shown: "TGI", Rank: 80,
	Clues: map[string][]cause.Clue{
		cause.BatchTooLarge: {tgiPrefill},
		cause.SoftwareBug:   {tgiAnyError},
		cause.ModelTooLarge: {cause.Said(0.22, "The card may be full of weights before the warm-up begins.", fact.TGIWarmup)},
		cause.HostMemory:    {cause.Said(0.85, "A shard was killed by signal 9: as a rule the kernel's out-of-memory killer.", fact.TGIKilled)},
	},
	Remedies: map[string][]cause.Remedy{
		cause.BatchTooLarge: {
			{Fix: "lower_max_batched_tokens", Fit: 1, If: when.Not(tgiTiny)},
			{Fix: "use_lower_quant", Fit: 0.55},
			{Fix: "upgrade_version", Fit: 0.65, If: when.Root(fact.TGIWarmup)},
			{Fix: "lower_context", Fit: 0.6, If: when.Not(tgiTiny)},
			{Fix: "multi_gpu", Fit: 0.6},
		},
		cause.SoftwareBug:   {{Fix: "upgrade_version", Fit: 1}, {Fix: "use_lower_quant", Fit: 0.6}},
		cause.ModelTooLarge: {{Fix: "use_lower_quant", Fit: 1}, {Fix: "multi_gpu", Fit: 0.9}, {Fix: "use_smaller_model", Fit: 0.8}},
	},
	Effects: map[string]func(c *ledger.Case) *effect.Effect{"lower_max_batched_tokens": tgiTokens},
	Steps: map[string]func(c *ledger.Case) []step.Step{
		"lower_max_batched_tokens": func(c *ledger.Case) []step.Step {
			if total := ledger.IntSetting(c, "max_batch_total_tokens"); total > 0 {
				return tgiWith(c, option{"max_batch_total_tokens", strconv.Itoa(max(1024, total/2))}) // what TGI computes by itself since 1.0
			}
			now := 4096 // the default
			if n := ledger.IntSetting(c, "max_batch_prefill_tokens"); n > 0 {
				now = n
			}
			n := max(512, now/effect.TokensDivisor(c))
			return tgiWith(c, option{"max_batch_prefill_tokens", strconv.Itoa(n)}, option{"max_input_tokens", strconv.Itoa(n / 2)}, option{"max_total_tokens", strconv.Itoa(n)})
		},
		"lower_context": func(c *ledger.Case) []step.Step {
			return tgiWith(c, option{"max_input_tokens", "1024"}, option{"max_total_tokens", "2048"})
		},
		"multi_gpu": func(c *ledger.Case) []step.Step {
			return tgiWith(c, option{"num_shard", strconv.Itoa(2 * max(1, ledger.IntSetting(c, "num_shard")))})
		},
		"use_lower_quant":   func(c *ledger.Case) []step.Step { return tgiWith(c, option{"quantize", "bitsandbytes-nf4"}) },
		"quantize_kv_cache": func(c *ledger.Case) []step.Step { return tgiWith(c, option{"kv_cache_dtype", "fp8_e5m2"}) },
		"enforce_eager":     func(c *ledger.Case) []step.Step { return tgiWith(c, option{"cuda_graphs", "0"}) },
		"upgrade_version":   step.Paste("shell", "docker pull ghcr.io/huggingface/text-generation-inference:latest"),
	},
}

var tgiServer = launch{
	command: "tgi_command",
	start: func(c *ledger.Case) []string {
		words := []string{"text-generation-launcher", "--model-id", c.ModelName()}
		for _, name := range [...]string{"quantize", "num_shard"} {
			if s, ok := c.Setting(name); ok {
				words = append(words, option{name: name}.flag(), s.Value)
			}
		}
		return words
	},
}

func tgiWith(c *ledger.Case, set ...option) []step.Step {
	return []step.Step{{Kind: "shell", Text: tgiServer.with(c, set...)}}
}

// tgiTiny: so few tokens can't be what is too much, unless the sentence also
// says for how many a cache was wanted.
func tgiTiny(c *ledger.Case) bool {
	n := ledger.IntSetting(c, "max_batch_prefill_tokens")
	return c.Root(fact.TGIWarmup) && n > 0 && n <= 512 && !when.Fact("tgi_total_tokens")(c)
}

func tgiPrefill(c *ledger.Case) cause.Finding {
	if c.In("tgi") && c.Phase == "warmup" && c.Root(fact.TorchAlloc) {
		return cause.Seen(0.62, "It failed in the warm-up, which runs the largest batch that the settings allow.", c.Failure.Line)
	}
	if !c.Root(fact.TGIWarmup) {
		return cause.Nothing()
	}
	if tgiTiny(c) {
		return cause.Seen(0.25, "The warm-up batch did not fit.", c.Failure.Line)
	}
	if total, ok := c.Fact("tgi_total_tokens"); ok {
		return cause.Seen(0.58, fmt.Sprintf("The warm-up wants a cache for %s tokens at once beside the weights, and did not get it.", total.Count.Text), c.Failure.Line)
	}
	return cause.Seen(0.58, fmt.Sprintf("The warm-up runs %d tokens at once and did not fit; several versions say so of any error in the warm-up, so read the lines above.", ledger.IntSetting(c, "max_batch_prefill_tokens")), c.Failure.Line)
}

// tgiTokens: in the warm-up every piece of a layer is linear in the tokens.
func tgiTokens(c *ledger.Case) *effect.Effect {
	if c.Phase != "warmup" || ledger.IntSetting(c, "max_batch_total_tokens") > 0 {
		return nil
	}
	return effect.EffectTokens(c)
}

func tgiAnyError(c *ledger.Case) cause.Finding {
	if !c.Root(fact.TGIWarmup) {
		return cause.Nothing()
	}
	if tgiTiny(c) {
		return cause.Seen(0.55, fmt.Sprintf("%d tokens can't be what is too much: this version puts the sentence on any error of the warm-up.", ledger.IntSetting(c, "max_batch_prefill_tokens")), c.Failure.Line)
	}
	return cause.Seen(0.22, "Several versions put this sentence on any error of the warm-up.", c.Failure.Line)
}
