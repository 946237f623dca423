package engine

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// omniFits is what a diffusion model of vLLM-Omni's does not need on the card.
var omniFits = []cause.Cure{
	{Fix: "cpu_offload", Title: "Keep the transformer in system memory, a block on the card at a time", Told: "RAM has to hold all of it, pinned. Added to the command that starts vLLM-Omni:", Kind: "config", Text: "--enable-layerwise-offload", Cost: "slower steps"},
	{Fix: "multi_gpu", Title: "Or split it over the cards", Told: "Not every model and version splits all of its layers: see in `nvidia-smi` that each card holds less than before, else it is no cure. Sequence parallelism (ulysses, ring) splits no weights.", Kind: "config", Text: "--tensor-parallel-size 2 --enable-cpu-offload", Cost: "needs the cards"},
	{Fix: "use_lower_quant", Title: "Or load 8-bit weights", Told: "About half; a version that quantises only after a 16-bit load fails the same way. Then take a checkpoint that is FP8 already.", Kind: "config", Text: "--quantization fp8", Cost: "slight loss of quality"},
}

// OmniCards are vLLM-Omni's.
var OmniCards = []cause.Card{
	{
		ID: "vllm-omni/diffusion-load", Kinds: onCard, Said: []string{"vllm_omni/diffusion/models/", "vllm_omni/diffusion/model_loader", "vllm_omni/diffusion/registry"}, Phases: []string{"load", "unknown"}, If: ledger.FillsCard,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of the card while building the diffusion model",
		Means:    "It was still building the model layer by layer: {mine} of {total} is its own, nearly all of it weights, and the next {asked} was refused. Image and video models count every part at 16 bit, 2 bytes per parameter: Qwen-Image, as an example, has a transformer of 20 billion (37 GiB) and a text encoder of 7 billion (14 GiB). Where several workers run, each card that is as full as this one loads the whole of it.",
		Not:      "Smaller images, fewer steps, `max_num_seqs`: nothing was generated yet.",
		Cures:    omniFits,
		Sources:  []string{"vllm-omni/docs/user_guide/diffusion/cpu_offload_diffusion.md", "vllm-omni/docs/user_guide/quantization/overview.md", "https://github.com/vllm-project/vllm-omni/issues/919"},
	},
	{
		ID: "vllm-omni/stages", Kinds: []fact.Kind{fact.VLLMFreeTooLow, fact.VLLMNoCache},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "did not start: the shares of its stages do not fit the card together",
		Means:    "vLLM-Omni starts an engine for each stage, and each takes its own share of its card. Stages on one card whose shares add up to more than it has fail like this, the later one.",
		Not:      "`--gpu-memory-utilization` alone: each stage has its own in the YAML.",
		Cures: []cause.Cure{
			{Fix: "lower_gpu_memory_utilization", Title: "Divide the card among the stages", Cost: "a smaller cache for each"},
			{Fix: "multi_gpu", Title: "Or give a stage a card of its own", Cost: "needs it"},
		},
		Sources: []string{"vllm-omni/docs/configuration/gpu_memory_utilization.md"},
	},
}
