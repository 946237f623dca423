package addon

import (
	"fmt"
	"maps"
	"math"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

const fooocus = "https://github.com/lllyasviel/Fooocus/"

// Unmerged are in the line that Fooocus and ComfyUI print for each weight to which a
// LoRA could not be added: "ERROR KEY MESSAGE", since 2024 "ERROR lora KEY MESSAGE"
// (calculate_weight in ldm_patched/modules/model_patcher.py, comfy/lora.py), of
// which the level is taken off.
var Unmerged = []string{".weight Allocation on device", ".weight CUDA out of memory", ".weight HIP out of memory", ".weight MPS backend out of memory"}

// Moving are frames and lines of weights on their way to the card: a traceback of a
// sampling step has none of them.
var Moving = append([]string{"in calculate_weight", "in patch_model", "in load_models_gpu", "in patched_load_models_gpu", "in prepare_sampling"}, Unmerged...)

// ToMove is for where nothing but the last line before may show it.
func ToMove(c *ledger.Case) bool {
	return c.Near(Moving...) || !c.Near("ksampler", "sample_hacked", "calc_cond_uncond_batch", "perform_upscale", "decode_vae")
}

// lifted are what readers of public threads did, on Macs of 8 GB too.
var (
	lifted = cause.Cure{
		Fix: "raise_watermark", Title: "Lift PyTorch's limit", Told: "Save your work first; close the browser.", Kind: "shell", Text: "PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0 python entry_with_update.py", Cost: "More swapping; the Mac may become very slow.",
	}
	forMacs = cause.Cure{Fix: "use_smaller_model", Title: "Use a program made for Macs", Told: "Draw Things runs SD 1.5 and quantised SDXL in less memory. Fooocus runs SDXL only.", Cost: "Another program."}
)

// FooocusMac are cards on Fooocus with PyTorch on a Mac.
var FooocusMac = []cause.Card{
	{
		ID: "fooocus/mac-weights", Kinds: []fact.Kind{fact.MPSAlloc}, Said: Moving, If: onMac, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory on this Mac (limit {limit}) while it loaded the model",
		Means:    "It failed before the first step[[: {merged}]]. {limit} is PyTorch's limit, 1.7 times what macOS recommends for graphics[[ (a Mac with {ram} GB is already swapping by then)]]. SDXL has about 7 GB of weights in all.",
		Figures:  macLimit,
		Not:      "A smaller image, fewer steps, no upscale: it failed before the first step.",
		Cures: []cause.Cure{
			lifted,
			{Fix: "close_other_apps", Title: "Turn off LoRAs and refiner, close other programs", Told: "Advanced, Model: every LoRA None (the default preset has one on), Refiner None. Performance: Speed or Quality; the others add a LoRA. Activity Monitor, Memory shows what else to close.", Cost: "Free."},
			forMacs,
		},
		Sources: []string{fooocus + "issues/980", fooocus + "issues/1139", fooocus + "issues/1341", fooocus + "blob/main/ldm_patched/modules/model_patcher.py", fooocus + "blob/main/presets/default.json"}, Solved: 2,
	},
	{
		ID: "fooocus/mac", Kinds: []fact.Kind{fact.MPSAlloc}, If: onMac, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory on this Mac (limit {limit})",
		Means:    "[[{guess}. ]]{limit} is PyTorch's limit, 1.7 times what macOS recommends for graphics[[ (a Mac with {ram} GB is already swapping by then)]]. Fooocus runs SDXL, with about 7 GB of weights.",
		Figures:  macLimit,
		Not:      "Fewer steps: every step needs the same memory. `PYTORCH_CUDA_ALLOC_CONF`: it is for CUDA.",
		Cures: []cause.Cure{
			onlyIf(fewMiB, lifted),
			{Fix: "lower_resolution", Title: "Make one smaller image at a time, without upscale and refiner", Told: "Advanced: a smaller size in Aspect Ratios, Image Number 1, no upscale. Model: Refiner None.", Cost: "Less detail."},
			onlyIf(when.Not(fewMiB), lifted), forMacs,
		},
		Sources: []string{fooocus + "issues/980", fooocus + "blob/main/readme.md", "pytorch/aten/src/ATen/mps/MPSAllocator.mm"}, Solved: 1,
	},
}

// FooocusUseless are the fixes of image programs that cannot help, but one: on a Mac of 8 GB
// Fooocus's readers lift PyTorch's limit, and it runs, by swapping.
func FooocusUseless(others map[string]func(*ledger.Case) string) map[string]func(*ledger.Case) string {
	out := maps.Clone(others)
	out["raise_watermark"] = func(*ledger.Case) string { return "" }
	return out
}

func onMac(c *ledger.Case) bool { return c.Says("fooocus") && c.F().Limit != nil }

func onlyIf(holds func(*ledger.Case) bool, it cause.Cure) cause.Cure {
	it.If = holds
	return it
}

// macLimit takes the ceiling apart: macOS recommends two thirds of the memory of
// Macs up to 36 GB.
func macLimit(c *ledger.Case) map[string]string {
	out := map[string]string{"recommended": "", "ram": "", "guess": "", "merged": ""}
	if c.Near(Unmerged...) {
		out["merged"] = "Fooocus was adding a LoRA to the weights, at 32 bit (see the lines `ERROR diffusion_model`)"
	}
	if !c.In("fooocus") {
		out["guess"] = "The line \"Total time\" is how Fooocus ends a run, so this is most likely Fooocus"
	}
	recommended := float64(c.F().Limit.Bytes) / 1.7 / float64(units.GiB)
	for _, ram := range []float64{8, 16, 24, 32} {
		if math.Abs(recommended-ram*2/3) < 0.02 {
			out["recommended"], out["ram"] = fmt.Sprintf("%.2f GiB", recommended), fmt.Sprint(ram)
		}
	}
	return out
}

// fewMiB: the last piece is small, so that the ceiling alone may be it.
func fewMiB(c *ledger.Case) bool { return c.Asked.Has() && c.Asked.Bytes <= 64*units.MiB }
