package stage

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// omniFits is what a diffusion model of vLLM-Omni's does not need on the card.
var omniFits = []cause.Cure{
	{Fix: "cpu_offload", Title: "Offload the transformer layer by layer", Told: "Its blocks stay in system memory and come to the card one at a time; RAM must hold all of it, pinned. Added to the command that starts vLLM-Omni:", Kind: "config", Text: "--enable-layerwise-offload", Cost: "slower steps"},
	{Fix: "multi_gpu", Title: "Or split it over the cards", Told: "Not every model and version splits all layers: check in `nvidia-smi` that each card holds less than before. Sequence parallelism (ulysses, ring) splits no weights.", Kind: "config", Text: "--tensor-parallel-size 2 --enable-cpu-offload", Cost: "needs the cards"},
	{Fix: "use_lower_quant", Title: "Or load 8-bit weights", Told: "About half. Versions that quantise only after a 16-bit load fail the same way: then take a checkpoint that is FP8 already.", Kind: "config", Text: "--quantization fp8", Cost: "slight loss of quality"},
}

// OmniCards are vLLM-Omni's.
var OmniCards = []cause.Card{
	{
		ID: "vllm-omni/diffusion-load", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync, fact.CUDAError, fact.CUDAHandle, fact.NCCLAlloc, fact.XPURuntime}, Said: []string{"vllm_omni/diffusion/models/", "vllm_omni/diffusion/model_loader", "vllm_omni/diffusion/registry"}, Phases: []string{"load", "unknown"}, If: ledger.FillsCard,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory while building the diffusion model",
		Means:    "It was still building the model: {mine} of {total} is its own, mostly weights, and {asked} more was refused. Every part counts, at 16 bit 2 bytes per parameter: Qwen-Image, for example, has a transformer of 20 billion (37 GiB) and a text encoder of 7 billion (14 GiB).",
		Not:      "Smaller images, fewer steps or `max_num_seqs`: nothing was generated yet.",
		Cures:    omniFits,
		Sources:  []string{"vllm-omni/docs/user_guide/diffusion/cpu_offload_diffusion.md", "vllm-omni/docs/user_guide/quantization/overview.md", "https://github.com/vllm-project/vllm-omni/issues/919"},
	},
	{
		ID: "vllm-omni/stages", Kinds: []fact.Kind{fact.VLLMFreeTooLow, fact.VLLMNoCache},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: sisterStage,
		Headline: "did not start: too little memory for the share of one stage",
		Means:    "vLLM-Omni starts an engine for each stage, and each takes its own share of its card.[[ Of {card} {held} was in use when this one started, about the {sister} that another stage of this log had loaded.]] If the shares of the stages on one card add up to too much, the later one fails like this; another program on the card has the same effect.",
		Not:      "`--gpu-memory-utilization` alone: each stage has its own in the YAML.",
		Cures: []cause.Cure{
			{Fix: "lower_gpu_memory_utilization", Title: "Divide the card among the stages", Cost: "a smaller cache for each"},
			{Fix: "multi_gpu", Title: "Or give a stage a card of its own", Cost: "needs it"},
		},
		Sources: []string{"vllm-omni/docs/configuration/gpu_memory_utilization.md"},
	},
}

// sisterStage is what another stage loaded, where it explains what was in use.
func sisterStage(c *ledger.Case) map[string]string {
	out := map[string]string{"sister": "", "held": "", "card": ""}
	f := c.F()
	for _, x := range c.Facts.Facts {
		if x.Name == "weights_loaded" && x.Size != nil && f.Total != nil && f.Free != nil {
			if held := f.Total.Bytes - f.Free.Bytes; held >= x.Size.Bytes && held-x.Size.Bytes < 3*units.GiB {
				out["sister"], out["held"], out["card"] = units.Amount(x.Size.Bytes), units.Amount(held), units.Amount(f.Total.Bytes)
			}
		}
	}
	return out
}
