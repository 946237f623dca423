package torch

import (
	"fmt"
	"maps"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/when"
)

// xpuPiece is the size from which Intel's Arc driver refuses a single piece.
const xpuPiece = 4 * units.GiB

// systemCards are about graphics other than NVIDIA's and AMD's.
var systemCards = []cause.Card{
	{
		ID: "pytorch/xpu-piece", Kinds: []fact.Kind{fact.TorchAlloc, fact.XPUBlock}, If: func(c *ledger.Case) bool {
			return c.Root(fact.XPUBlock) || c.Root(fact.TorchAlloc) && c.Backend == "xpu" && c.Asked.Bytes >= xpuPiece && (!c.Total.Has() || c.Asked.Bytes < c.Total.Bytes)
		},
		Cause: cause.SoftwareBug, Weight: cause.Strong,
		Headline: "was refused one block[[ of {asked}]] on an Intel GPU: above the driver's 4 GiB limit",
		Means:    "Intel's Arc driver refuses a single allocation of 4 GiB or more, however much is free, unless the program allows larger ones. So the card is probably not full: one tensor is too large for one block.",
		Not:      "Closing programs, `empty_cache()`: the limit is per allocation.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Allow allocations above 4 GiB, and update the driver", Cost: "sometimes slower", Told: "Set this before the start (newer PyTorch and drivers do it by themselves). If nothing changes, use 2:", Kind: "env", Text: "export UR_L0_ENABLE_RELAXED_ALLOCATION_LIMITS=1"},
			{Fix: "lower_batch_size", Title: "Split the tensor into pieces below 4 GiB", Cost: "some lines of code", Told: "Use a smaller batch, or chunks along the first axis (`x.split(n)`), each moved to the GPU separately."},
			{Fix: "half_precision", If: func(c *ledger.Case) bool {
				return c.Asked.Bytes/2 < xpuPiece && !cures.NarrowAlready(c) && !cures.OfBytes(c)
			}, Title: "Or use 16 bit, if it is 32 bit now", Cost: "precision", Told: "`dtype=torch.bfloat16` halves it, to less than 4 GiB."},
			{Fix: "fix_shape", If: func(c *ledger.Case) bool { return c.Asked.Bytes/2 >= xpuPiece }, Title: "To be sure: ask for a piece just below", Cost: "free", Told: "If this runs and one of `4 * 2**30` does not, it is that limit; 16 bit then is not enough, half of {asked} is 4 GiB and more.", Kind: "python", Text: "torch.empty(4 * 2**30 - 2**20, dtype=torch.uint8, device=\"xpu\")"},
		},
		Sources: []string{"https://github.com/intel/intel-extension-for-pytorch/issues/325", "https://github.com/intel/compute-runtime/blob/master/programmers-guide/ALLOCATIONS_GREATER_THAN_4GB.md"},
	},
	{
		ID: "pytorch/mac-array", Kinds: []fact.Kind{fact.MPSBuffer}, If: func(c *ledger.Case) bool { return !c.Asked.Has() },
		Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "made one array that is too large for Metal",
		Means:    "A Metal array can have at most 4 GiB or 2^31 numbers, however much memory the Mac has. Attention over a long input, a large image or a large batch can exceed that. Metal ends the process at once, so there is no traceback.",
		Not:      "`PYTORCH_MPS_HIGH_WATERMARK_RATIO`, closing programs, a Mac with more memory: the limit is for one array.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the batch size or the input size", Cost: "slower, or less detail", Ways: []cause.Way{
				{For: fix.Training, Text: "half the batch size with gradient accumulation; shorter samples, smaller images."},
				{For: "Text", Text: "a shorter input: half the length takes a quarter of the attention scores."},
				{For: fix.Pictures, Text: "half the width and height, or fewer frames; decode in tiles; `pipe.enable_attention_slicing()` in diffusers."},
				{For: "Your own code", Text: "work in parts (`for part in x.split(n):`), and move each result to the CPU before you join them."},
			}},
			{Fix: "fix_shape", Title: "Find the failing line", Cost: "a minute", Told: "This prints the Python line at which Metal ended the process:", Kind: "shell", Text: "python -X faulthandler script.py   # script.py: what you start"},
			{Fix: "cpu_offload", Title: "Run that operation on the CPU", Cost: "slower", Told: "Change the failing line to `f(x.cpu()).to(\"mps\")`."},
			{Fix: "upgrade_version", Title: "Update macOS and PyTorch", Cost: "half an hour", Told: "Releases after 2.5 split more operations by themselves."},
		},
		Sources: []string{"https://github.com/pytorch/pytorch/issues/149325", "https://github.com/pytorch/pytorch/issues/84039", "https://github.com/pytorch/pytorch/issues/143859"},
	},
	{
		ID: "pytorch/mac-command", Kinds: []fact.Kind{fact.MPSAlloc}, If: func(c *ledger.Case) bool { return !c.Asked.Has() && !c.Limit.Has() },
		Headline: "ran out of the Mac's memory while running",
		Means:    "The Mac's memory, which the GPU and all programs share, was full, so Metal could not run a command. Its results are wrong or missing: do not trust what follows.",
		Not:      "`torch.cuda` settings: they do nothing on a Mac.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the batch size or the input size", Cost: "slower, or less detail", Ways: []cause.Way{
				{For: fix.Training, Text: "half the batch size with gradient accumulation, smaller samples, gradient checkpointing. Resume from the last checkpoint before the message."},
				{For: "Text", Text: "a shorter input, or a smaller or 4-bit model (MLX or GGUF)."},
				{For: fix.Pictures, Text: "half the width and height, or fewer frames."},
			}},
			{Fix: "close_other_apps", Title: "Close other programs, and watch the memory", Cost: "free", Told: "In Activity Monitor, Memory, the pressure should be green before the start. If it climbs while the program runs, call `torch.mps.empty_cache()` between parts, and keep no tensors."},
			{Fix: "use_smaller_model", Title: "Use 16 bit, or a smaller model", Cost: "some quality", If: when.Not((*ledger.Case).Training), Told: "`torch_dtype=torch.float16` where it is loaded halves a 32-bit model; for text take a 4-bit MLX or GGUF build, else its next smaller variant."},
		},
		Sources: []string{"pytorch/aten/src/ATen/mps/MPSStream.mm", "https://docs.pytorch.org/docs/stable/generated/torch.mps.empty_cache.html"},
	},
	{
		ID: "pytorch/mac-full", Kinds: []fact.Kind{fact.MPSAlloc}, If: when.All(when.Root(fact.MPSAlloc), func(c *ledger.Case) bool { return c.Limit.Has() && macMemory(c) != nil }),
		Headline: "reached its GPU memory limit on a Mac with {ram}",
		Means:    "A Mac's GPU uses the ordinary memory. PyTorch stops at {limit}, 1.7 times what macOS recommends, so this is probably a Mac with {ram}, and it is already swapping.[[ \"Other allocations\" ({other}) are Metal's own buffers for this program.]][[ {together}]]",
		Not:      "{lifting}`torch.cuda` settings and fp8 weights: MPS has neither.",
		Later:    cures.Kept, Figures: macMemory,
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: (*ledger.Case).Training, Title: "Lower the batch size, or use smaller samples", Cost: "slower", Ways: []cause.Way{{For: fix.Training, Text: "{less}"}}},
			{Fix: "use_smaller_model", If: when.All((*ledger.Case).Training, func(c *ledger.Case) bool { return cheaperOnMac(c) != "" }), Title: "Store fewer activations, train fewer parameters", Cost: "a quarter slower; for most purposes the same result", Ways: []cause.Way{{For: fix.Training, Text: "{cheaper}"}}},
			{Fix: "restart_session", If: when.All(when.Not((*ledger.Case).Training), filledOnMac), Title: "Restart the program, and do one thing at a time", Cost: "free", Told: "Earlier runs may still hold memory. In a notebook, restart the kernel."},
			{Fix: "lower_resolution", If: when.Not((*ledger.Case).Training), Title: "Halve the image size or the context", Cost: "slower, or less detail", Ways: []cause.Way{
				{For: fix.Pictures, Text: "half the width and height, or fewer frames; decode in tiles where the program offers it."},
				{For: "Text", Text: "a shorter context."},
			}},
			onlyIf(when.Not((*ledger.Case).Training), lighterOnMac),
			{Fix: "close_other_apps", Title: "Close other programs", Cost: "free", Told: "Browsers and other apps share these {ram}: see Activity Monitor, Memory. If the program has run for a while, restart it first."},
			{Fix: "raise_watermark", If: nearlyOnMac, Title: "Only little is missing: lift PyTorch's limit", Cost: "the Mac swaps, and may freeze", Kind: "env", Text: "export PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0"},
		},
		Sources: []string{"pytorch/aten/src/ATen/mps/MPSAllocator.mm"},
	},
	{
		ID: "pytorch/xpu-runtime", Kinds: []fact.Kind{fact.XPURuntime}, Figures: cures.LevelZero,
		Headline: "was stopped by Intel's Level Zero runtime: {ended}",
		Means:    "The runtime below PyTorch stopped, without figures. {code} The failing line may be an earlier one than the traceback shows.",
		Not:      "Settings of `PYTORCH_CUDA_ALLOC_CONF`: they are for NVIDIA.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", If: cures.Names("resources"), Title: "Update the driver and PyTorch", Cost: "half an hour", Told: "Install the newest graphics driver and the newest XPU build of PyTorch. If it ran before an update, go back to those versions."},
			{Fix: "lower_batch_size", Title: "Halve the batch or input, to see whether it is memory", Cost: "slower, or less detail", Told: cures.AnyWork, Ways: cures.LessAtOnce},
			{Fix: "kill_stale_process", Title: "Check what else is using the GPU", Cost: "free", Told: "Close what you do not need; on a desktop all windows use the GPU too (Windows: Task Manager, GPU memory).", Kind: "shell", Text: "xpu-smi ps"},
			{Fix: "upgrade_version", If: when.Not(cures.Names("resources")), Title: "If it fails with a small input, too: update the driver and PyTorch", Cost: "half an hour", Told: "Install the newest driver and XPU build of PyTorch. If the same work ran before an update, go back to the versions from then."},
		},
		Sources: []string{"https://github.com/intel/torch-xpu-ops/issues/1761", "https://github.com/pytorch/pytorch/issues/190972"},
	},
	{
		ID: "pytorch/mac-temporaries", Kinds: []fact.Kind{fact.MPSAlloc}, Among: []string{cause.SoftwareBug}, If: func(c *ledger.Case) bool { return metalOwn(c) != "" }, Figures: metalFigures,
		Headline: "reached its GPU memory limit on a Mac, most of it not in tensors",
		Means:    "Metal itself holds {other} for this program, besides its tensors[[ ({allocated})]]: temporary buffers, and a compiled graph for each input shape. If shapes vary (text lengths, graphs, last batches), these pile up in some versions until the limit is reached.",
		Not:      "Lifting the limit alone: usually memory keeps climbing, and macOS swaps.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Update PyTorch", Cost: "half an hour", Told: "Releases of 2026 give such graphs back with `torch.mps.empty_cache()`."},
			{Fix: "lower_batch_size", Title: "Pad inputs to a few fixed sizes", Cost: "some work on padding", Told: "Round lengths up to multiples of 64 or 128, and drop the smaller last batch (`drop_last=True`). Then there are only a few graphs."},
			{Fix: "empty_cache", Title: "Call torch.mps.empty_cache() regularly, and restart between parts", Cost: "a little time", Kind: "python", Text: "torch.mps.empty_cache()   # every 50 steps; print(torch.mps.driver_allocated_memory() / 2**30)"},
		},
		Sources: []string{"https://github.com/pytorch/pytorch/issues/132596", "https://github.com/pytorch/pytorch/issues/164299", "https://github.com/pytorch/pytorch/pull/181485"},
	},
	{
		ID: "pytorch/mac-piece", Kinds: []fact.Kind{fact.MPSBuffer}, If: func(c *ledger.Case) bool { return c.Asked.Has() }, Figures: metalFigures,
		Headline: "asked Metal for {asked} in one piece, too much for one buffer",
		Means:    "Metal gives no single buffer of that size, however much memory is free. Usually one operation over the whole input makes it: attention scores (length or pixels squared), all pairs of something, or a whole batch.",
		Not:      "`PYTORCH_MPS_HIGH_WATERMARK_RATIO`, closing programs, a quantised model: the one tensor stays as large.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the batch size or the input size", Cost: "slower, or less detail", Told: cures.LessInput.Told, Ways: cures.LessInput.Ways},
			{Fix: "efficient_attention", If: cures.MayBeAttention, Title: cures.NoScores.Title, Cost: cures.NoScores.Cost, Told: "In transformers: `attn_implementation=\"sdpa\"`. In your own code: `torch.nn.functional.scaled_dot_product_attention`. On Metal it may still store the scores; then compute them in slices. xformers and flash-attn do not run on a Mac."},
			{Fix: "cpu_offload", Title: "Run that operation on the CPU", Cost: "slower", Told: "Change the failing line to `f(x.cpu()).to(\"mps\")`, or run the whole program on the CPU."},
			{Fix: "upgrade_version", Title: "Update PyTorch and macOS", Cost: "half an hour", Told: "Later releases split more operations."},
		},
		Sources: []string{"https://github.com/jwohlwend/boltz/issues/14", "pytorch/aten/src/ATen/mps/MPSAllocator.mm"},
	},
	{
		ID: "pytorch/mac-rest", Kinds: []fact.Kind{fact.MPSAlloc}, Figures: metalFigures,
		Means: "A Mac's GPU shares the ordinary memory with all programs.[[ {hold}]][[ {lifted}]]",
		Not:   "`torch.cuda` settings, bitsandbytes: both are for NVIDIA.",
		Later: cures.Kept,
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: cures.HalveStep.Title, Cost: "slower, or less detail", Told: cures.AnyWork, Ways: cures.LessAtOnce},
			{Fix: "close_other_apps", Title: "Close other programs, and watch the memory", Cost: "free", Told: "In Activity Monitor, Memory, the pressure should be green before the start. If it climbs while the program runs, keep no tensors, and call `torch.mps.empty_cache()` between parts."},
			{Fix: "use_smaller_model", Title: "Use 16 bit, or a smaller model", Cost: "some quality", If: when.Not((*ledger.Case).Training), Told: "`torch_dtype=torch.float16` where it is loaded halves a 32-bit model; for text take a 4-bit MLX or GGUF build, else its next smaller variant."},
			{Fix: "gradient_checkpointing", If: (*ledger.Case).Training, Title: "Store fewer activations", Cost: "a quarter slower", Told: "For example {cheaper}"},
			{Fix: "cpu_offload", Title: "Run that operation on the CPU", Cost: "slower", Told: "Change the failing line to `f(x.cpu()).to(\"mps\")`."},
		},
		Sources: []string{"pytorch/aten/src/ATen/mps/MPSAllocator.mm"},
	},
}

// metalOwn is what Metal holds for the program beside its tensors, "" where that
// is less than the tensors.
func metalOwn(c *ledger.Case) string {
	f := c.F()
	if f.OtherAllocations == nil || f.Allocated == nil || f.OtherAllocations.Bytes < f.Allocated.Bytes {
		return ""
	}
	return units.Amount(f.OtherAllocations.Bytes)
}

// metalFigures say who holds what of a Mac's GPU memory.
func metalFigures(c *ledger.Case) map[string]string {
	f, figures := c.F(), cures.Batch(c)
	figures["less"], figures["cheaper"], figures["other"] = cures.Less(c, figures["batch"]), cheaperOnMac(c), metalOwn(c)
	maps.Copy(figures, cures.StepFigures(c, figures["less"]))
	figures["allocated"], figures["hold"], figures["lifted"] = "", "", ""
	if f.Allocated != nil {
		figures["allocated"] = units.Amount(f.Allocated.Bytes)
		figures["hold"] = "The program's tensors hold " + figures["allocated"] + "."
	}
	if f.Allocated != nil && f.OtherAllocations != nil {
		figures["hold"] = "The program's tensors hold " + figures["allocated"] + ", Metal beside them " + units.Amount(f.OtherAllocations.Bytes) + "."
	}
	if c.Root(fact.MPSAlloc) && !c.Limit.Has() {
		figures["lifted"] = "The message names no limit, so it was lifted (`PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0`) and macOS itself had no more memory."
	}
	return figures
}

// macMemory is the memory of the Mac whose limit the message names: 1.7 times
// the working set that macOS recommends, two thirds of the memory up to 32 GB
// and three quarters above; nil where no Mac has such a limit.
func macMemory(c *ledger.Case) map[string]string {
	ram := macRAM(c)
	if ram == 0 {
		return nil
	}
	figures := cures.Batch(c)
	figures["less"], figures["cheaper"] = cures.Less(c, figures["batch"]), cheaperOnMac(c)
	maps.Copy(figures, cures.StepFigures(c, figures["less"]))
	figures["ram"], figures["other"], figures["together"], figures["lifting"] = fmt.Sprintf("%d GB", ram/units.GiB), "", "", ""
	if other := otherOnMac(c); other > units.GiB {
		figures["other"] = units.Amount(other)
		if all := c.Mine.Bytes + other; c.Mine.Has() && all >= c.Limit.Bytes {
			figures["together"] = "Together that is " + units.Amount(all) + ", the whole limit" + map[bool]string{true: "; the Mac itself has " + figures["ram"] + ".", false: "."}[beyondMac(c)]
		}
	}
	if !nearlyOnMac(c) {
		figures["lifting"] = "`PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0`, which the message suggests: without the limit the Mac swaps still more, and may freeze. "
	}
	return figures
}

// macRAM is the memory of that Mac in bytes, 0 where no Mac has such a limit.
func macRAM(c *ledger.Case) int64 {
	for _, gb := range [...]int64{8, 16, 18, 24, 32, 36, 48, 64, 96, 128, 192} {
		recommended := gb * units.GiB * 3 / 4
		if gb <= 32 {
			recommended = gb * units.GiB * 2 / 3
		}
		if !ledger.Near(c.Limit.Bytes, recommended*17/10, units.GiB/20) {
			continue
		}
		return gb * units.GiB
	}
	return 0
}

// otherOnMac is what Metal holds for the program beside its tensors.
func otherOnMac(c *ledger.Case) int64 {
	if o := c.F().OtherAllocations; o != nil {
		return o.Bytes
	}
	return 0
}

// beyondMac: this program's share alone is more than the Mac has.
func beyondMac(c *ledger.Case) bool { return c.Mine.Bytes+otherOnMac(c) > macRAM(c) }

// filledOnMac: tensors alone fill it, up to a crumb that was refused.
func filledOnMac(c *ledger.Case) bool {
	return c.Asked.Has() && c.Asked.Bytes <= 16*units.MiB && c.Mine.Bytes*20 >= c.Limit.Bytes*19
}

// nearlyOnMac: so little is missing that a higher limit may do.
func nearlyOnMac(c *ledger.Case) bool {
	return !beyondMac(c) && c.Asked.Has() && c.Asked.Bytes <= units.GiB/2
}

// lighterOnMac is a model that takes less of memory that graphics and programs
// share.
var lighterOnMac = cause.Cure{Fix: "use_smaller_model", Title: "Use a smaller or quantised model, or 16 bit", Cost: "some quality", Ways: []cause.Way{
	{For: fix.Pictures, Text: "a GGUF file of the same model (Q4 to Q8), or a smaller one; 16 bit where it runs in 32."},
	{For: "Text", Text: "a 4-bit MLX or GGUF build."},
}}

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
