// Package pictures reads PyTorch's messages where no other program shows, and
// figures or frames are those of programs that make pictures, and of small Macs.
package pictures

import (
	"fmt"
	"math"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/operation"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// torchAlone: no program shows besides PyTorch.
func torchAlone(c *ledger.Case) bool { return len(c.Stack) == 1 }

// clipInRAM: what was refused is the word table of a picture model's encoder.
func clipInRAM(c *ledger.Case) bool {
	return c.Explained != nil && strings.Contains(c.Explained.What, "text encoder")
}

var (
	morePageFile = cause.Cure{
		Fix: "raise_pagefile", Title: "Enlarge the page file", Cost: "Disk space, a restart.", If: when.Not(onLinux),
		Told: "Press Win+R, run `sysdm.cpl`, then Advanced, Performance: Settings, Advanced, Virtual memory: Change. Untick \"Automatically manage\". Choose an SSD with room, Custom size, initial 16384, maximum 49152 MB, Set, OK. Restart.",
	}
	// Cards read PyTorch's message where its figures or its frames are
	// those of programs that make pictures, which it does not name.
	Cards = []cause.Card{
		{
			ID: "pytorch/clip-in-ram", Kinds: []fact.Kind{fact.CPUAlloc}, If: when.All(torchAlone, clipInRAM), Cause: cause.HostMemory, Weight: cause.Decisive,
			Headline: "ran out of system memory (RAM), most likely while loading an image model",
			Means:    "This is system memory (RAM), not GPU memory. [[{windows} ]]Such a small request fails only when nearly all of it is taken. [[{explained} ]]So Stable Diffusion or a similar model was probably loading; its checkpoint can be in RAM twice for a moment.",
			Figures: func(c *ledger.Case) map[string]string {
				out := map[string]string{"windows": "", "explained": c.Explained.Sentence}
				if !onLinux(c) {
					out["windows"] = "Windows counts RAM plus page file (\"Committed\" in Task Manager)."
				}
				return out
			},
			Not: "Low-VRAM modes: they use more RAM.",
			Cures: []cause.Cure{
				morePageFile,
				{Fix: "add_swap", If: onLinux},
				{Fix: "close_other_apps", Title: "Restart the computer, and load the model first", Told: "Close browser, games and any second web UI. In Task Manager, Performance, Memory, \"Committed x / y GB\" should leave 10 GB or more.", Cost: "Free.", If: when.Not(onLinux)},
				{Fix: "close_other_apps", Title: "End other programs that use RAM", Kind: "shell", Text: "ps aux --sort=-rss | head", Cost: "Free.", If: onLinux},
				{Fix: "use_smaller_model", Title: "Use a smaller file of the model", Told: "Use a pruned fp16 .safetensors file instead of a .ckpt: SD 1.5 then takes 2 GB instead of 4 to 7, SDXL 6.5. AUTOMATIC1111 loads straight to the GPU with `--lowram`.", Cost: "None for making images."},
			},
			Sources: []string{"https://github.com/easydiffusion/easydiffusion/issues/289", "https://github.com/AUTOMATIC1111/stable-diffusion-webui/issues/5020", "https://huggingface.co/openai/clip-vit-large-patch14"}, Solved: 2,
		},
		Slack("pytorch/slack-pictures", makesPictures),
		{
			ID: "pytorch/count-misread", Kinds: []fact.Kind{fact.TorchAlloc}, If: when.All(neverFits, when.Not(ledger.AbsurdSize), misread), Cause: cause.OversizedAllocation, Weight: cause.Decisive,
			Headline: "asked for {asked} at once, which no GPU has",
			Means:    "No normal input needs that much, so the size was computed from a wrong number. Usual reasons: a compiled extension built for another GPU or version, data in a type or layout that it does not expect, NaN or out-of-range coordinates, or a broadcast of everything by everything.",
			Not:      "A smaller batch, 16 bit, closing programs, a larger GPU: the size is not a real need.",
			Cures: []cause.Cure{
				rebuiltForCard,
				{Fix: "fix_shape", Title: "Print the inputs of the failing call", Kind: "python", Told: "Look for NaN, a negative count, a wrong type or swapped dimensions.", Text: "print(x.shape, x.dtype, x.is_contiguous(), x.isnan().any(), x.min(), x.max())   # x: each tensor that goes in", Cost: "a minute"},
				{Fix: "upgrade_version", If: when.Not(operation.Is(operation.Extension)), Title: "If it is a compiled extension: rebuild it", Cost: "some minutes", Told: "Build it with the PyTorch and CUDA installed now, from the source version that the program asks for. Then run the program's own example to rule out your data."},
				{Fix: "cpu_offload", Title: "Find the call that asked for it", Cost: "slower, once", Kind: "shell", Told: "With this the traceback ends at the failing call. If it can run on the CPU, the error there is usually clearer.", Text: "export CUDA_LAUNCH_BLOCKING=1   # before the start"},
			},
			Sources: []string{"pytorch/c10/cuda/CUDACachingAllocator.cpp", "pytorch/torch/utils/cpp_extension.py", "https://github.com/graphdeco-inria/diff-gaussian-rasterization"},
		},
		{
			ID: "pytorch/first-piece", Kinds: []fact.Kind{fact.TorchAlloc}, If: when.All(onlyMessage, neverFits, nearlyNothing, when.Not(when.Any(ledger.AbsurdSize, nothing, layer))), Cause: cause.OversizedAllocation, Weight: cause.Decisive,
			Headline: "asked for {asked} at once, but the GPU has only {total}",
			Means:    "The program held only {held}, so nothing leaks: one tensor is far too large. {asked} is {count} 32-bit numbers, for example a matrix of {side} x {side}. Besides the inputs in step 1, an (N, 1) tensor broadcast with (N) can be the reason.",
			Figures:  pieceFigures,
			Not:      "Closing programs, allocator settings: even an empty GPU is too small.[[ 16 bit: still {beyond}.]]",
			Cures: []cause.Cure{
				{Fix: "lower_batch_size", Title: "Make that input smaller, or process it in parts", Ways: []cause.Way{
					{For: "Images, volumes, video", Text: "half the width and height (attention then takes a sixteenth, {sixteenth}), crops or tiles, fewer frames"},
					{For: "A whole data set or test set", Text: "use a DataLoader, move one batch at a time (`x = x.cuda()`), and evaluate under `torch.no_grad()`"},
					{For: "Text", Text: "truncate the longest input"},
					{For: "All against all", Text: "in blocks of rows: `torch.cat([torch.cdist(a, b).min(1).values for a in A.split(2048)])`"},
				}, Cost: "Slower."},
				{Fix: "fix_shape", Title: "Print the tensor shapes before the failing line", Kind: "python", Told: "Look for a dimension larger than you expect.", Text: "print(x.shape, x.dtype, x.device)   # x: each tensor of that line", Cost: "A minute."},
				{Fix: "efficient_attention", Title: "If it is attention: use a fused kernel", Told: "`torch.nn.functional.scaled_dot_product_attention` (PyTorch 2.0 and later), xformers or flash-attn store no score matrix.", Cost: "None."},
			},
			Sources: []string{"pytorch/c10/cuda/CUDACachingAllocator.cpp", "https://pytorch.org/docs/stable/notes/faq.html", "https://github.com/sw-gong/MoNet/issues/1"},
		},
		{
			ID: "pytorch/einsum-scores", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"_VF.einsum(", "einsum('b i d, b j d"}, If: when.All(torchAlone, hugePiece, when.Not((*ledger.Case).Training)), Cause: cause.OversizedAllocation, Weight: cause.Strong,
			Headline: "asked for {asked} at once in an einsum, perhaps attention scores",
			Means:    "Often such an `einsum` is the attention of older Stable Diffusion code, for example with Hires. fix. Its score matrix grows with the square of the pixels: twice the width and height takes 16 times the memory. The log does not name the program.",
			Not:      "`max_split_size_mb`, closing programs: the single request is too large.",
			Cures: []cause.Cure{
				{Fix: "efficient_attention", Title: "Use memory-efficient attention", Ways: []cause.Way{
					{For: "AUTOMATIC1111", Text: "add `--opt-sdp-attention` to `set COMMANDLINE_ARGS=` in `webui-user.bat` (before PyTorch 2: `--xformers`)"},
					{For: "diffusers", Text: "automatic with PyTorch 2; with 1.x call `pipe.enable_xformers_memory_efficient_attention()`"},
					{For: "Your own code", Text: "`torch.nn.functional.scaled_dot_product_attention(q, k, v)` instead of the two einsums"},
				}, Cost: "None; usually faster."},
				{Fix: "lower_resolution", Title: "Lower the image size", Told: "Half the width and height takes a sixteenth: {sixteenth}. Use Hires. fix at 1.5 instead of 2, or upscale in tiles afterwards.", Cost: "Detail, or one more step."},
				{Fix: "vae_tiling", Title: "If it was the VAE: decode in tiles", Told: "AUTOMATIC1111: install the Tiled VAE extension. diffusers: `pipe.vae.enable_tiling()`.", Cost: "Some seconds."},
			},
			Figures: pieceFigures,
			Sources: []string{"https://github.com/AUTOMATIC1111/stable-diffusion-webui/blob/master/modules/sd_hijack_optimizations.py", "https://github.com/KohakuBlueleaf/a1111-sd-webui-lycoris/issues/33"},
		},
	}
)

func onLinux(c *ledger.Case) bool {
	return c.Reader.OS == "linux" || c.Contains("can't allocate memory")
}

// neverFits: more than the whole card for one tensor.
func neverFits(c *ledger.Case) bool { return ledger.NeverFits(c) != "" }

// rebuiltForCard is for a call into a compiled extension whose kernel counted
// wrong, mostly because it did not run.
var rebuiltForCard = cause.Cure{
	Fix: "upgrade_version", If: operation.Is(operation.Extension), Title: "Rebuild the extension for this card", Cost: "some minutes",
	Told: "An extension built for another GPU may not run its kernel, and then returns a garbage count. `nvcc` must have the CUDA version of PyTorch. Delete the extension's `build` folder first.",
	Kind: "shell", Text: "python -c \"import torch; print(torch.version.cuda, torch.cuda.get_device_capability())\"; nvcc --version | tail -2\nexport TORCH_CUDA_ARCH_LIST=8.6   # the capability that this prints\npip install --no-build-isolation --no-cache-dir --force-reinstall --no-deps ./EXTENSION   # EXTENSION: its source folder",
}

// misread: more than any computation asks for, or than a compiled extension does.
func misread(c *ledger.Case) bool {
	asked := c.Asked.Bytes / units.GiB
	return asked >= 64*1024 || asked > 4*1024 && untraced(c) || asked >= 1024 && c.Backend == "cuda" && operation.Is(operation.Extension)(c)
}

// untraced: no frame tells which operation it was.
func untraced(c *ledger.Case) bool {
	return torchAlone(c) && !c.Training() && c.Backend == "cuda" && len(ledger.Trace(c)) == 0 && len(c.F().OtherProcesses) == 0
}

// onlyMessage: nothing tells what the program was doing.
func onlyMessage(c *ledger.Case) bool {
	return torchAlone(c) && c.Phase == "unknown" && !c.Training() && c.Backend == "cuda" && len(c.F().OtherProcesses) == 0
}

// nearlyNothing: the program held less than a twentieth of the card.
func nearlyNothing(c *ledger.Case) bool {
	f := c.F()
	return f.Allocated != nil && f.Total != nil && f.Allocated.Bytes*20 < f.Total.Bytes
}

// layer: the traceback shows which layer of a network it was.
func layer(c *ledger.Case) bool { return operation.Is(operation.Convolution, operation.Upsampling)(c) }

// hugePiece: one request of more than half the card.
func hugePiece(c *ledger.Case) bool {
	return c.Asked.Has() && c.Total.Has() && c.Asked.Bytes*2 > c.Total.Bytes
}

// pieceFigures are what follows from the size of one piece.
func pieceFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"count": "", "side": "", "half": "", "quarter": "", "sixteenth": "", "held": "", "still": "", "beyond": ""}
	if !c.Asked.Has() {
		return out
	}
	asked := c.Asked.Bytes
	out["count"] = fmt.Sprintf("%.1f billion", float64(asked)/4e9)
	out["side"] = ledger.Thousands(int64(math.Sqrt(float64(asked)/4)/100+0.5) * 100)
	out["half"], out["quarter"], out["sixteenth"] = units.Amount(asked/2), units.Amount(asked/4), units.Amount(asked/16)
	if f := c.F(); f.Allocated != nil {
		out["held"] = f.Allocated.String()
	}
	if !c.Free.Has() || asked/2 > c.Free.Bytes {
		out["beyond"] = out["half"]
	}
	if c.Shortfall.Has() && c.Shortfall.Bytes > 0 && c.Free.Has() {
		if still := c.Shortfall.Bytes - c.Slack.Bytes; c.Slack.Has() && still > 0 {
			out["still"] = units.AmountWithin(still, units.MiB)
		}
	}
	return out
}

// macs are Macs' memories in GB by what macOS recommends to a graphics program,
// in hundredths of a GiB: two thirds of it, above 36 GB three quarters.
var macs = []struct{ recommended, ram int }{{533, 8}, {1067, 16}, {1200, 18}, {1600, 24}, {2133, 32}, {2700, 36}, {3600, 48}, {4800, 64}, {7200, 96}, {9600, 128}}

// macFigures are the limit taken apart: PyTorch allows 1.7 times what macOS
// recommends.
func macFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"used": "", "recommended": "", "ram": "", "where": ""}
	f := c.F()
	if f.Limit == nil || f.Allocated == nil {
		return out
	}
	used := f.Allocated.Bytes
	if o := f.OtherAllocations; o != nil {
		used += o.Bytes
	}
	out["used"], out["where"] = units.AmountWithin(used, units.MiB), "The log does not show whether the model or the input is too large for this Mac."
	if mostlyBeside(c) {
		out["where"] = "Tensors take only " + f.Allocated.Text + " of that. Metal holds " + f.OtherAllocations.Text + " beside them (cache, temporaries, compiled graphs), which piles up with inputs of many sizes."
	}
	rec := float64(f.Limit.Bytes) / 1.7 / float64(units.GiB)
	out["recommended"] = fmt.Sprintf("%.2f GiB", rec)
	for _, m := range macs {
		if math.Abs(rec-float64(m.recommended)/100) < 0.02 {
			out["ram"] = fmt.Sprintf("a Mac with %d GB", m.ram)
		}
	}
	if math.Abs(rec-4) < 0.02 {
		out["ram"] = "a graphics card of 4 GB, as in Intel Macs"
	}
	out["whence"] = "1.7 times what macOS recommends for graphics, unless the program or `PYTORCH_MPS_HIGH_WATERMARK_RATIO` changed it"
	if out["ram"] != "" {
		out["whence"] = "1.7 times what macOS recommends for graphics (" + out["recommended"] + ", as on " + out["ram"] + ")"
	}
	return out
}

// onMac: no program shows for certain.
func onMac(c *ledger.Case) bool { return torchAlone(c) && c.F().Limit != nil }

// smallMac: the limit is that of 8 GB or less.
func smallMac(c *ledger.Case) bool { return onMac(c) && c.F().Limit.Bytes < 10*units.GiB }

// littleMissing: the last piece is small, so that the limit alone may be it.
func littleMissing(c *ledger.Case) bool { return c.Asked.Has() && c.Asked.Bytes <= 64*units.MiB }

// liftLimit starts the program without PyTorch's own limit.
func liftLimit(c *ledger.Case) []step.Step {
	return []step.Step{step.Environ(c, "PYTORCH_MPS_HIGH_WATERMARK_RATIO", "0.0")}
}

var (
	macLift = cause.Cure{
		Fix: "raise_watermark", Title: "If little is missing: turn PyTorch's limit off", Told: "Save your work, and set this before Python starts:", Steps: liftLimit,
		Cost: "The Mac swaps, and may become very slow or hang.",
	}
	macTrain = cause.Cure{
		Fix: "gradient_checkpointing", If: (*ledger.Case).Training, Title: "Store fewer activations: gradient checkpointing", Cost: "A quarter slower.",
		Told: "transformers: `model.gradient_checkpointing_enable()`, with its Trainer `gradient_checkpointing=True`. Your own network: `torch.utils.checkpoint` around its large blocks.",
	}
	macBatch = cause.Cure{
		Fix: "lower_batch_size", If: (*ledger.Case).Training, Title: "Use shorter or smaller samples, and a smaller batch", Cost: "Slower.", Told: "Half the batch size with twice the gradient accumulation gives the same result. Or use half the length, or half the width and height.",
	}
	macAdapter = cause.Cure{
		Fix: "use_smaller_model", If: (*ledger.Case).Training, Title: "Train a smaller model, or only a part of it", Cost: "Quality.", Told: "Train a LoRA, or freeze layers (`requires_grad_(False)`): with Adam each trained parameter takes 16 bytes.",
	}
	macLess = cause.Cure{
		Fix: "lower_resolution", If: when.Not((*ledger.Case).Training), Title: "Lower the batch size or the input size", Told: "One input at a time, then:", Cost: "Detail, or time.",
		Ways: []cause.Way{
			{For: "Images or video", Text: "half the width and height, fewer frames"},
			{For: "Text", Text: "a shorter prompt; better, a 4-bit GGUF model in llama.cpp or Ollama"},
		},
	}
	macHalf = cause.Cure{
		Fix: "half_precision", Title: "Use 16 bit, if it runs in 32 bit", Cost: "Images turn black with some models.",
		Ways: []cause.Way{
			{For: "diffusers, transformers", Text: "`torch_dtype=torch.float16` in `from_pretrained`"},
			{For: "AUTOMATIC1111", Text: "remove `--no-half` from COMMANDLINE_ARGS in `webui-user.sh`"},
			{For: "ComfyUI", Text: "`python main.py --force-fp16`"},
		},
	}
	macClose = cause.Cure{Fix: "close_other_apps", Title: "Quit the browser and other large programs", Told: "In Activity Monitor, Memory, the memory pressure should be green before you start.", Cost: "Free."}
	macModel = cause.Cure{Fix: "use_smaller_model", If: when.Not((*ledger.Case).Training), Title: "Use a smaller model", Told: "Images: SD 1.5 (2 GB in 16 bit) instead of SDXL (7 GB). Text: in 4 bit count 0.6 GB per billion parameters.", Cost: "Quality."}

	macEmpty = cause.Cure{Fix: "empty_cache", If: mostlyBeside, Title: "Empty Metal's cache after each input, or restart the program", Cost: "A little time.", Told: "Call `gc.collect()` first.", Kind: "python", Text: "torch.mps.empty_cache()   # PyTorch 2.0 and later"}

	MacCards = []cause.Card{
		{
			ID: "pytorch/mac-small", Kinds: []fact.Kind{fact.MPSAlloc}, If: smallMac, Cause: cause.ModelTooLarge, Weight: cause.Strong,
			Headline: "ran out of memory on this Mac: its limit is {limit}",
			Means:    "The limit is PyTorch's own: {whence}. The program holds {used} and asked for {asked} more. {where}",
			Figures:  macFigures,
			Not:      "`PYTORCH_CUDA_ALLOC_CONF`: it is for NVIDIA.",
			Cures: []cause.Cure{
				macEmpty, macTrain, macBatch,
				{Fix: macHalf.Fix, Title: macHalf.Title, Ways: macHalf.Ways, Cost: macHalf.Cost, If: when.Not(when.Any(littleMissing, mostlyBeside, (*ledger.Case).Training))},
				macLess,
				{Fix: macLift.Fix, Title: macLift.Title, Told: macLift.Told, Steps: macLift.Steps, Cost: macLift.Cost, If: littleMissing},
				macAdapter, macClose, macModel,
			},
			Sources: []string{"pytorch/aten/src/ATen/mps/MPSAllocator.mm", "https://github.com/lllyasviel/Fooocus/issues/980"}, Solved: 1,
		},
		{
			ID: "pytorch/mac-buffer", Kinds: []fact.Kind{fact.MPSBuffer}, If: when.All(torchAlone, func(c *ledger.Case) bool { return c.Asked.Has() }), Cause: cause.OversizedAllocation, Weight: cause.Decisive,
			Headline: "asked the Mac's GPU (Metal) for {asked} at once, more than one buffer may have",
			Means:    "Metal allows no single buffer of that size, however much memory is free. Such sizes usually come from attention scores, which grow with the square of the tokens (pixels times frames).[[ To get down to {goal}, use {share} of the tokens.]]",
			Figures: func(c *ledger.Case) map[string]string {
				out := map[string]string{"goal": "", "share": ""}
				if n := math.Sqrt(float64(ledger.Requested(c)) / (4 * float64(units.GiB))); n >= 1.3 && !farAbove(c) {
					out["goal"], out["share"] = "4 GiB", fmt.Sprintf("about 1/%.0f", math.Ceil(n))
				}
				return out
			},
			Not: "`PYTORCH_MPS_HIGH_WATERMARK_RATIO`, closing programs, a quantised model: this buffer stays as large.",
			Cures: []cause.Cure{
				{Fix: "lower_resolution", If: farAbove, Title: "Set the size yourself: few frames, few pixels", Cost: "Size or length.", Told: "In diffusers: `pipe(..., height=320, width=512, num_frames=17)`. Its defaults for video go up to 720 x 1280 and 129 frames. Half the width and height takes a sixteenth of this buffer, half the frames a quarter. Scale input images down too."},
				{Fix: "fix_shape", If: farAbove, Title: "Print the shape that goes into attention", Cost: "A minute.", Told: "The number of tokens should be a few thousand to 30,000. Far more means an unintended size or swapped dimensions.", Kind: "python", Text: "print(query.shape)   # before the failing line"},
				{Fix: "lower_resolution", If: when.Not(farAbove), Title: "Use far fewer frames or pixels", Ways: []cause.Way{
					{For: "Video", Text: "fewer frames first (33 instead of 129 is a quarter of the tokens), then half the width and height (another quarter)"},
					{For: "Images", Text: "half the width and height gives a quarter of the tokens, a sixteenth of the buffer"},
					{For: "Text", Text: "a shorter input"},
				}, Cost: "Size or length."},
				{Fix: "efficient_attention", Title: "Compute attention in slices", Ways: []cause.Way{
					{For: "diffusers", Text: "`pipe.enable_attention_slicing()`"},
					{For: "ComfyUI", Text: "`python main.py --use-split-cross-attention`"},
					{For: "Your own code", Text: "loop over heads or blocks of queries; on Metal even `scaled_dot_product_attention` may store its scores"},
				}, Cost: "Slower."},
				{Fix: "use_smaller_model", Title: "Use a program made for Macs", Told: "Draw Things and MLX ports run many of these models with less memory.", Cost: "Another program."},
			},
			Sources: []string{"pytorch/aten/src/ATen/mps/MPSAllocator.mm", "https://github.com/Tencent-Hunyuan/HunyuanVideo-I2V/issues/66"},
		},
	}
)

// farAbove: no share of the usual size brings the buffer down to what fits.
func farAbove(c *ledger.Case) bool { return ledger.Requested(c) > 256*units.GiB }

// nothing: not even a tensor of the program's lay on the card.
func nothing(c *ledger.Case) bool { return c.F().Allocated.Bytes < 32*units.MiB }

// mostlyBeside: what Metal holds beside the tensors is more than they are.
func mostlyBeside(c *ledger.Case) bool {
	f := c.F()
	return f.OtherAllocations != nil && f.Allocated != nil && f.OtherAllocations.Bytes > f.Allocated.Bytes
}
