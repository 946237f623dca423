package stage

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// omniFits is what a diffusion model of vLLM-Omni's does not need on the card.
var omniFits = []cause.Cure{
	{Fix: "cpu_offload", Title: "Offload the transformer layer by layer", Told: "Its layers stay in system RAM, which must hold all of them, and go to the GPU one at a time. Add to the command that starts vLLM-Omni:", Kind: "config", Text: "--enable-layerwise-offload", Cost: "slower steps"},
	{Fix: "multi_gpu", Title: "Or split it over two GPUs", Told: "Check in `nvidia-smi` that each GPU holds less than before: not every model and version splits all layers. Sequence parallelism (ulysses, ring) splits no weights.", Kind: "config", Text: "--tensor-parallel-size 2 --enable-cpu-offload", Cost: "needs a second GPU"},
	{Fix: "use_lower_quant", Title: "Or load 8-bit weights", Told: "They take about half. If it fails the same way, your version converts only after a 16-bit load: use a checkpoint that is already FP8.", Kind: "config", Text: "--quantization fp8", Cost: "slight loss of quality"},
}

// OmniCards are vLLM-Omni's.
var OmniCards = []cause.Card{
	{
		ID: "vllm-omni/diffusion-load", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync, fact.CUDAError, fact.CUDAHandle, fact.NCCLAlloc, fact.XPURuntime}, Said: []string{"vllm_omni/diffusion/models/", "vllm_omni/diffusion/model_loader", "vllm_omni/diffusion/registry"}, Phases: []string{"load", "unknown"}, If: ledger.FillsCard,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory while loading the diffusion model",
		Means:    "It was still loading the model: {mine} of {total} is its own, mostly weights. All parts count, with 2 bytes per parameter at 16 bit. Qwen-Image, for example, has a transformer of 37 GiB and a text encoder of 14 GiB.",
		Not:      "Smaller images, fewer steps or `max_num_seqs`: nothing was generated yet.",
		Cures:    omniFits,
		Sources:  []string{"vllm-omni/docs/user_guide/diffusion/cpu_offload_diffusion.md", "vllm-omni/docs/user_guide/quantization/overview.md", "https://github.com/vllm-project/vllm-omni/issues/919"},
	},
	{
		ID: "vllm-omni/stages", Kinds: []fact.Kind{fact.VLLMFreeTooLow, fact.VLLMNoCache},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: sisterStage,
		Headline: "did not start: too little GPU memory for the share of one stage",
		Means:    "vLLM-Omni starts an engine for each stage, and each takes its own share of its GPU.[[ {held} of {card} was in use when this one started, about the {sister} that another stage had loaded.]] If the shares on one GPU add up to too much, or another program uses it, the later stage fails.",
		Not:      "`--gpu-memory-utilization` alone: each stage has its own value in the YAML file.",
		Cures: []cause.Cure{
			{Fix: "lower_gpu_memory_utilization", Title: "Divide the GPU among the stages", Cost: "a smaller cache for each"},
			{Fix: "multi_gpu", Title: "Or give a stage its own GPU", Cost: "needs a second GPU"},
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
