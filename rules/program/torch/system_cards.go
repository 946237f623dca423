package torch

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// systemCards are about graphics other than NVIDIA's and AMD's.
var systemCards = []cause.Card{
	{
		ID: "pytorch/xpu-piece", Kinds: []fact.Kind{fact.TorchAlloc}, If: func(c *ledger.Case) bool {
			return c.Root(fact.TorchAlloc) && c.Backend == "xpu" && c.Asked.Bytes >= 4*units.GiB && (!c.Total.Has() || c.Asked.Bytes < c.Total.Bytes)
		},
		Cause: cause.SoftwareBug, Weight: cause.Strong,
		Headline: "was refused one piece of {asked} on an Intel card that has room",
		Means:    "Intel's Arc driver refuses a single allocation of 4 GiB and more, however much is free, unless the program allows larger ones.[[ The card has {total}; this program holds {mine}.]] So the card is not full: one tensor is too large for one piece.",
		Not:      "Closing programs, `empty_cache()`: room is not what is lacking.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Allow pieces above 4 GiB, and update the driver", Cost: "sometimes slower", Told: "Newer PyTorch and Intel drivers ask for them by themselves; this variable asks for it in others. Set it before the start:", Kind: "env", Text: "export UR_L0_ENABLE_RELAXED_ALLOCATION_LIMITS=1"},
			{Fix: "lower_batch_size", Title: "Split the tensor into pieces below 4 GiB", Cost: "some lines of code", Told: "A smaller batch, or chunks along the first axis: `x.split(n)`, each moved to the card on its own."},
			{Fix: "half_precision", Title: "Or 16 bit", Cost: "precision", Told: "`dtype=torch.bfloat16` halves it: {asked} comes to half."},
		},
		Sources: []string{"https://github.com/intel/intel-extension-for-pytorch/issues/325", "https://github.com/intel/compute-runtime/blob/master/programmers-guide/ALLOCATIONS_GREATER_THAN_4GB.md"},
	},
	{
		ID: "pytorch/mac-full", Kinds: []fact.Kind{fact.MPSAlloc}, If: when.All(when.Root(fact.MPSAlloc), func(c *ledger.Case) bool { return c.Limit.Has() && macMemory(c) != nil }),
		Headline: "reached the limit for graphics on a Mac of {ram}",
		Means:    "A Mac's graphics use its ordinary memory. PyTorch stops at {limit}, 1.7 times what macOS recommends, which makes this a Mac of {ram}: above that it is swapping already.[[ This program's tensors hold {mine}.]][[ \"Other allocations\" are what the graphics of the same program hold beside them: {other}.]]",
		Not:      "`torch.cuda` settings and fp8 weights: MPS has neither.",
		Later:    kept, Figures: macMemory,
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: (*ledger.Case).Training, Title: "Make one step smaller", Cost: "slower", Ways: []cause.Way{{For: fix.Training, Text: "{less}"}}},
			{Fix: "use_smaller_model", If: when.All((*ledger.Case).Training, func(c *ledger.Case) bool { return cheaperOnMac(c) != "" }), Title: "Keep less of each step, and train less", Cost: "a quarter slower; for most purposes the same result", Ways: []cause.Way{{For: fix.Training, Text: "{cheaper}"}}},
			{Fix: "lower_batch_size", If: when.Not((*ledger.Case).Training), Title: "Halve the work", Cost: "slower, or less detail", Ways: []cause.Way{
				{For: fix.Pictures, Text: "half the width and height, or fewer frames; decode in tiles where the program offers it."},
				{For: "Text", Text: "a shorter context, or a smaller quantisation of the model (MLX and GGUF builds run in less)."},
			}},
			{Fix: "close_other_apps", Title: "Close other programs", Cost: "free", Told: "Activity Monitor, Memory: browsers and other apps share these {ram}. Restart the program first if it has run for a while."},
			{Fix: "raise_watermark", Title: "If only a little is lacking: lift the limit", Cost: "the Mac swaps, and may freeze", Kind: "env", Text: "export PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0"},
			{Fix: "use_smaller_model", If: when.Not((*ledger.Case).Training), Title: "A smaller model, or 16 bit", Cost: "some quality", Told: "16 bit or a GGUF build of the same model."},
		},
		Sources: []string{"pytorch/aten/src/ATen/mps/MPSAllocator.mm"},
	},
}

// macMemory is the memory of the Mac whose limit the message names: 1.7 times
// the working set that macOS recommends, two thirds of the memory up to 32 GB
// and three quarters above; nil where no Mac has such a limit.
func macMemory(c *ledger.Case) map[string]string {
	for _, gb := range [...]int64{8, 16, 18, 24, 32, 36, 48, 64, 96, 128, 192} {
		recommended := gb * units.GiB * 3 / 4
		if gb <= 32 {
			recommended = gb * units.GiB * 2 / 3
		}
		if !ledger.Near(c.Limit.Bytes, recommended*17/10, units.GiB/20) {
			continue
		}
		figures := batch(c)
		figures["less"], figures["cheaper"] = less(c, figures["batch"]), cheaperOnMac(c)
		figures["ram"], figures["other"] = fmt.Sprintf("%d GB", gb), ""
		if o := c.F().OtherAllocations; o != nil && o.Bytes > units.GiB {
			figures["other"] = units.Amount(o.Bytes)
		}
		return figures
	}
	return nil
}

// cheaperOnMac is cheaper on graphics for which bitsandbytes has no kernels.
func cheaperOnMac(c *ledger.Case) string {
	trainer := c.In("transformers")
	var ways []string
	if !ledger.Has(c, fact.Checkpoints) {
		ways = append(ways, map[bool]string{true: "`gradient_checkpointing=True` in TrainingArguments", false: "gradient checkpointing (`torch.utils.checkpoint`)"}[trainer])
	}
	if !ledger.Has(c, fact.Adapters) && trainer {
		ways = append(ways, "a LoRA (`peft`): gradients and Adam for its few parameters only")
	}
	if !trainer {
		ways = append(ways, "frozen layers")
	}
	return strings.Join(ways, "; ") + "."
}
