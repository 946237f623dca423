// Package pipelines knows how diffusers loads a pipeline and what of it is on the
// card.
package pipelines

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

const docs = "https://huggingface.co/docs/diffusers/optimization/memory"

// fourBits loads FLUX.2's 4-bit files into RAM: without device_map they go to
// the card as they are read.
var fourBits = cause.Cure{
	Fix: "use_lower_quant", Title: "Load it in 4 bit, into RAM first", Told: "First `pip install -U diffusers transformers accelerate bitsandbytes`. The larger part takes about 18 GB in 4 bit, both together more than 24 GB. So `device_map=\"cpu\"` loads them into RAM first.", Kind: "python",
	Text: "import torch\nfrom diffusers import AutoModel, Flux2Pipeline\nfrom transformers import Mistral3ForConditionalGeneration\n\nrepo = \"diffusers/FLUX.2-dev-bnb-4bit\"\nencoder = Mistral3ForConditionalGeneration.from_pretrained(repo, subfolder=\"text_encoder\", torch_dtype=torch.bfloat16, device_map=\"cpu\")\ndit = AutoModel.from_pretrained(repo, subfolder=\"transformer\", torch_dtype=torch.bfloat16, device_map=\"cpu\")\npipe = Flux2Pipeline.from_pretrained(repo, text_encoder=encoder, transformer=dit, torch_dtype=torch.bfloat16)\npipe.enable_model_cpu_offload()   # about 20 GB; no pipe.to(...)", Cost: "Slight loss of quality; RAM for both.",
}

// Whole is for FLUX.2-dev, whose parts fit few cards at 16 bit; plain holds for a
// script of the reader's own, layers offloads layer by layer.
func Whole(plain func(*ledger.Case) bool, layers cause.Cure) cause.Card {
	return cause.Card{
		ID: "diffusers/flux2-to-cuda", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"FLUX.2-dev", "Flux2Pipeline"}, Unsaid: []string{"accelerator.backward", "klein"}, If: when.All(plain, flux2Whole), Cause: cause.ModelTooLarge, Weight: cause.Decisive,
		Headline: "ran out of GPU memory while it moved all of FLUX.2 to the card",
		Means:    "At 16 bit the transformer of FLUX.2-dev has 64 GB and its text encoder 48; the card has {total}. Even `enable_model_cpu_offload` puts each of them on the card whole. So you need a quantised version.",
		Not:      "A smaller image: loading the weights failed. `enable_model_cpu_offload()` alone: the transformer alone is too large.",
		Cures:    []cause.Cure{fourBits, layers, flux2Smaller},
		Sources:  []string{"flux2/docs/flux2_dev_hf.md", docs},
	}
}

var flux2Smaller = cause.Cure{Fix: "use_smaller_model", Title: "Or use a smaller model", Told: "FLUX.2-klein (4B or 9B), or FLUX.1 (its transformer has 24 GB at 16 bit).", Cost: "Some quality."}

// flux2Whole: a pipeline goes to a card that its largest part does not fit.
func flux2Whole(c *ledger.Case) bool {
	return c.Near("pipe.to(", "pipeline.to(", ".to(\"cuda\")") && c.Total.Bytes > 0 && c.Total.Bytes < 60*units.GiB
}

// Loading is about a pipeline's parts that go to the card as they are read.
func Loading(plain func(*ledger.Case) bool, offload cause.Cure) cause.Card {
	return cause.Card{
		ID: "diffusers/loading", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, If: when.All(plain, loads, when.Not(when.Any(ledger.Roomy, ledger.Crowded))), Cause: cause.ModelTooLarge, Weight: cause.Decisive,
		Headline: "filled the card[[ ({total})]] while it was still loading the pipeline",
		Means:    "Normally `from_pretrained` loads into RAM. With `device_map=\"cuda\"` or \"balanced\" the parts go to the card at once; so do 4-bit and 8-bit parts (bitsandbytes), even from a quantised repository. Text encoder and transformer together do not fit.",
		Not:      "A smaller image, or `enable_model_cpu_offload()` in a later line: it failed before that.",
		Cures: []cause.Cure{
			where(flux2, fourBits),
			{Fix: "cpu_offload", Title: "Load the large parts into RAM, then offload", Told: "Load the text encoder in the same way, with its class from transformers:", If: when.Not(flux2), Kind: "python", Text: "from diffusers import AutoModel\n\ndit = AutoModel.from_pretrained(repo, subfolder=\"transformer\", torch_dtype=torch.bfloat16, device_map=\"cpu\")   # repo, and its quantization_config: as in your call\npipe = DiffusionPipeline.from_pretrained(repo, transformer=dit, torch_dtype=torch.bfloat16)   # no device_map\npipe.enable_model_cpu_offload()", Cost: "Some seconds for each image; RAM for all parts."},
			{Fix: "restart_session", Title: "Or load one part at a time", Told: "Load the pipeline with `transformer=None` and call `pipe.encode_prompt`. Then `del pipe` and `torch.cuda.empty_cache()`. Load it again with `text_encoder=None` and pass `prompt_embeds`.", Cost: "Some lines of code."},
			where(flux2, flux2Smaller), where(when.Not(flux2), offload),
		},
		Sources: []string{"diffusers/src/diffusers/quantizers/bitsandbytes/bnb_quantizer.py", "flux2/docs/flux2_dev_hf.md", "https://github.com/black-forest-labs/flux2/issues/11", docs},
	}
}

func flux2(c *ledger.Case) bool { return c.Near("FLUX.2-dev", "Flux2Pipeline") && !c.Near("klein") }

func where(holds func(*ledger.Case) bool, k cause.Cure) cause.Cure {
	k.If = holds
	return k
}

// loads: the traceback ends in the loading of a pipeline.
func loads(c *ledger.Case) bool {
	return slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool {
		return f.Function == "from_pretrained" && strings.HasSuffix(f.File, "diffusers/pipelines/pipeline_utils.py") || f.Function == "load_sub_model"
	})
}

// turnedOn is the call in a script, which a comment may have as well.
var turnedOn = []string{"pipe.enable_model_cpu_offload()", "pipeline.enable_model_cpu_offload()"}

// Offloads: the reader's script offloads idle parts already, or hooks of that are
// on the stack.
func Offloads(c *ledger.Case) bool {
	return c.Near(turnedOn...) ||
		slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool {
			return f.Function == "pre_forward" && strings.HasSuffix(f.File, "accelerate/hooks.py")
		})
}

// framed: the log has a traceback.
func framed(c *ledger.Case) bool {
	return slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool { return strings.HasSuffix(f.File, ".py") })
}

// Offloaded is about a script that is pasted beside its bare message.
func Offloaded(plain func(*ledger.Case) bool, cures ...cause.Cure) cause.Card {
	return cause.Card{
		ID: "diffusers/offloaded", Kinds: []fact.Kind{fact.TorchAlloc}, Said: turnedOn, Unsaid: []string{".to(\"cuda\")", "pipe.to(", "pipeline.to("},
		If: func(c *ledger.Case) bool {
			return plain(c) && !framed(c) && !ledger.Roomy(c) && !ledger.Crowded(c)
		}, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] although it offloads idle parts",
		Means:    "The script calls `enable_model_cpu_offload()`. Each part still goes to the card whole when its turn comes. Most likely the largest, the transformer, does not fit (FLUX.1's has 24 GB at 16 bit, T5-XXL 9.5). A full traceback would show whether it failed there or in a step.",
		Not:      "`enable_model_cpu_offload()`: the script has it already. Fewer steps: every step needs the same memory.",
		Cures:    cures, Sources: []string{docs, "diffusers/src/diffusers/pipelines/pipeline_utils.py", "https://github.com/black-forest-labs/flux/issues/459"},
	}
}

// Sequential is about a script that offloads layer by layer already.
func Sequential(plain func(*ledger.Case) bool, smaller, quant cause.Cure) cause.Card {
	return cause.Card{
		ID: "diffusers/steps-sequential", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"enable_sequential_cpu_offload()"},
		If: func(c *ledger.Case) bool {
			return plain(c) && !c.Training() && !c.In("omnigen", "cogvideo", "wan2gp", "hunyuanvideo") && !ledger.Roomy(c) && !c.Near("vae.decode(", "self.vae.decode(", "autoencoder_kl.py")
		},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] although it offloads layer by layer",
		Means:    "Sequential offload, which needs least, is on already: hardly any weights stay on the card. So the work of one step fills it. That grows with resolution, number of images and, for video, frames.",
		Not:      "`enable_model_cpu_offload()`: it needs more memory. Fewer steps: every step needs the same.",
		Cures: []cause.Cure{
			smaller,
			{Fix: "close_other_apps", Title: "See what else is on the card", Told: "If there was a `pipe.to(\"cuda\")` before it, take that out. This shows what else is there:", Kind: "shell", Text: "nvidia-smi", Cost: "Free."},
			quant,
		},
		Sources: []string{"https://huggingface.co/docs/diffusers/optimization/memory"},
	}
}
