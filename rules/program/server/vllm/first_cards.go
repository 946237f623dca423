package vllm

import (
	"fmt"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/era"
)

// FirstNone is about releases of 2023 and early 2024, whose trial run is small: what
// leaves no room for the cache is nearly always the weights, or something else.
var FirstNone = cause.Card{
	ID: "vllm/cache-none-first", Kinds: []fact.Kind{fact.VLLMNoCache}, Said: []string{era.FirstEngine}, Figures: firstFigures,
	Cause: cause.ModelTooLarge, Weight: cause.Likely,
	Headline: "did not start: no GPU memory is left for the KV cache",
	Means:    "vLLM may use a share of the GPU ({share}). It loads the weights, runs one trial batch, and uses the rest for the KV cache: nothing is left here.[[ By the model's name the weights are about {named}.]] This release also counts what other programs hold on the GPU.",
	Cures: []cause.Cure{
		{Fix: "use_lower_quant", Title: "Load an AWQ version of the model", If: func(c *ledger.Case) bool { return ledger.Quantised(c) == "" }, Told: "It needs about 0.6 GB per billion parameters. Search the model's name with AWQ on huggingface.co, use it in place of the model, and add:", Kind: "config", Text: "--quantization awq --dtype half", Cost: "slight loss of quality"},
		{Fix: "close_other_apps", Title: "Check what else is on the GPU", Told: "Anything in use there is missing for vLLM. Under WSL the Windows desktop counts too.", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
		Flags("multi_gpu", "Or split the model over two GPUs", "Each then holds half of the weights.", "needs a second GPU", Option("tensor_parallel_size", "2")),
		{Fix: "use_smaller_model", Title: "Or use a smaller model", Cost: "quality"},
	},
	Sources: []string{"vllm/worker/worker.py", "docs/source/quantization/auto_awq.rst"},
}

// firstFigures are the share of the card, 0.9 in these releases, and the weights by
// the model's name.
func firstFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"share": "0.9 by default", "named": ""}
	if s, ok := c.Setting("gpu_memory_utilization"); ok {
		out["share"] = s.Value
	} else if u := c.F().Utilization; u != nil {
		out["share"] = fmt.Sprintf("%g", u.Value)
	}
	if _, ok := Weights(c); ok {
		out["named"] = Named(c)
	}
	return out
}
