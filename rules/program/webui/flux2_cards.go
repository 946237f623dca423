package webui

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// flux2ToCard is for FLUX.2-dev, whose parts fit few cards at 16 bit.
var flux2ToCard = cause.Card{
	ID: "diffusers/flux2-to-cuda", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"FLUX.2-dev", "Flux2Pipeline"}, Unsaid: []string{"accelerator.backward", "klein"}, If: when.All(plainDiffusers, flux2Whole), Cause: cause.ModelTooLarge, Weight: cause.Decisive,
	Headline: "ran out of graphics memory while all of FLUX.2 was moved to the card",
	Means:    "At 16 bit the transformer of FLUX.2-dev has 64 GB, its text encoder 48[[; the card has {total}]]. Even with `enable_model_cpu_offload` each of them goes to the card whole, so both have to be smaller.",
	Not:      "A smaller image: it failed on the weights. `enable_model_cpu_offload()` alone: the transformer does not fit by itself.",
	Cures: []cause.Cure{
		{Fix: "use_lower_quant", Title: "Load it in 4 bit", Told: "Transformer and text encoder are in 4 bit in this repository, the larger about 18 GB. First `pip install -U diffusers transformers accelerate bitsandbytes`.", Kind: "python", Text: "import torch\nfrom diffusers import Flux2Pipeline\n\npipe = Flux2Pipeline.from_pretrained(\"diffusers/FLUX.2-dev-bnb-4bit\", torch_dtype=torch.bfloat16)\npipe.enable_model_cpu_offload()   # instead of pipe.to(...)", Cost: "Slight loss of quality."},
		offloadLayers,
		{Fix: "use_smaller_model", Title: "Or a smaller model", Told: "FLUX.2-klein (4 or 9 billion parameters), or FLUX.1, whose transformer has 24 GB at 16 bit.", Cost: "Some quality."},
	},
	Sources: []string{"flux2/docs/flux2_dev_hf.md", diffusersDocs},
}

// flux2Whole: a pipeline goes to a card that its largest part does not fit.
func flux2Whole(c *ledger.Case) bool {
	return c.Near("pipe.to(", "pipeline.to(", ".to(\"cuda\")") && c.Total.Bytes > 0 && c.Total.Bytes < 60*units.GiB
}
