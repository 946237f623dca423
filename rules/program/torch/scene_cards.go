package torch

import (
	"fmt"
	"slices"

	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/clues"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/torch/operation"
	"github.com/oomdoc/oomdoc/rules/program/torch/ranks"
	"github.com/oomdoc/oomdoc/rules/program/torch/rest"
	"github.com/oomdoc/oomdoc/rules/program/torch/room"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

// onOneCard, slackWouldDo and neverFitting are shared with cards elsewhere.
var (
	onOneCard    = cures.OnOneCard
	slackWouldDo = cures.SlackWouldDo
)

func halfOfCard(c *ledger.Case) bool { return c.Asked.Bytes*2 > c.Total.Bytes }

// narrow: others hold a part of the card that would cover what was lacking, and
// this program does not fill it.
func narrow(c *ledger.Case) bool {
	return c.Others.Has() && !ledger.FillsCard(c) && c.Others.Bytes > ledger.DriverContext
}

// overCommitted: more is held than the card has, which a driver allows that
// moves the rest into system memory.
func overCommitted(c *ledger.Case) bool { return c.Mine.Bytes > c.Total.Bytes+c.Total.Bytes/50 }

// figureCards read the allocator's message by what its figures say, for every
// program that has nothing narrower to say.
var figureCards = []cause.Card{
	{
		ID: "pytorch/tensorflow-beside", Kinds: cures.Allocators, Said: []string{"tensorflow/core/common_runtime/gpu", "tensorflow/stream_executor", "tensorflow/compiler/xla"},
		If:    when.All(onOneCard, ledger.Crowded, when.Not(cures.Listed)),
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "ran out of memory: TensorFlow has most likely taken the GPU",
		Means:    "PyTorch itself holds only {mine}; {others} more is in use, and the log shows TensorFlow starting. By default TensorFlow takes nearly all of a GPU's memory at its first use.",
		Not:      "`empty_cache()`: the memory is not PyTorch's.",
		Later:    "If `nvidia-smi` lists another process with most of the memory, it is that one instead.",
		Cures: []cause.Cure{
			{Fix: "limit_framework_preallocation", Title: "Turn on memory growth in TensorFlow", Cost: "none to speak of", Kind: "shell", Text: "export TF_FORCE_GPU_ALLOW_GROWTH=true   # before the start; Windows: set TF_FORCE_GPU_ALLOW_GROWTH=true"},
			{Fix: "cpu_offload", Title: "Or hide the GPU from TensorFlow", Cost: "slower, where it computes much", Told: "First thing in the script:", Kind: "python", Text: "import tensorflow as tf\ntf.config.set_visible_devices([], \"GPU\")"},
			room.IdleCard, cures.RuntimeFirst, cures.LookFirst, cures.OtherCard,
		},
		Sources: []string{allocatorSource, "https://www.tensorflow.org/guide/gpu#limiting_gpu_memory_growth"},
	},
	{
		ID: "pytorch/others-hold-much", Kinds: cures.Allocators, If: when.All(onOneCard, ledger.Crowded, when.Not(when.Any(ledger.Roomy, cures.Ranked, halfOfCard, clues.Pooled))),
		Cause: cause.LeakedProcess, Weight: cause.Strong,
		Headline: "ran out of memory: {others%} of the {card} card is in use outside this program",
		Means:    "This program holds {mine}; {others} more is in use. {rest}[[ {table}]]",
		Not:      "{futile}",
		Later:    "If nothing else is listed, or it fails with the card to itself: halve the batch or the input.",
		Cures: []cause.Cure{cures.EndListed, room.IdleCard, room.EndTabled, cures.RuntimeFirst, cures.LookFirst, cures.Hosted, loosePieces, looseBefore, rankCard, cures.OtherCard, lessOfOwn, movedWhole, fitBeside, serverShare,
			{Fix: "restart_session", If: when.Not(when.Any(room.Tabled, cures.Listed)), Title: "If no other process is listed: restart", Cost: "the state of the session is lost", Told: "A crashed process, or one of another container or user, can hold the GPU without being listed (`sudo fuser -v /dev/nvidia*` shows it on the host). Restart the kernel, then the container, then the machine."},
		}, Figures: occupants,
		Sources: []string{allocatorSource, cudaNotes},
	},
	rest.SimulatorBeside,
	rest.OtherLibraryBeside,
	{
		ID: "pytorch/over-the-card", Kinds: cures.Allocators, If: when.All(onOneCard, overCommitted), Among: ownDoing,
		Headline: "ran out of memory: it held {mine} on a card of {card}",
		Means:    "That is more than the card has. On Windows and WSL the driver moves what does not fit to system memory (\"shared GPU memory\"), which is very slow. So the real shortage is {over}, not {asked}.",
		Not:      "{settings}.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: cures.QuarterOfCard, Title: "Lower the batch size or the input size", Cost: "slower, or detail", Told: "Use batch size 1, then half the width and height, fewer frames, points or tokens, until it stays below {total}. {asked} for one tensor suggests attention over a long input or a large image, all pairs of something, or a whole batch."},
			cures.HalveStep, cures.MostlyComfyUI, cures.CheaperTraining, cures.Lighter, cures.LighterOptimizer,
			{Fix: "bigger_gpu", Title: "Or run it on a GPU with more memory", Cost: "money, or waiting", Told: "It needs more than {mine}. Rent one, or use a cloud notebook."},
			{Fix: "restart_session", Title: "To see at once what fits: turn off the fallback to system memory", Cost: "none", Told: "NVIDIA Control Panel, Manage 3D settings, CUDA - Sysmem Fallback Policy: Prefer No Sysmem Fallback. Then it fails at once when {total} is full, instead of slowing down."},
		}, Figures: over,
		Sources: []string{allocatorSource, "https://nvidia.custhelp.com/app/answers/detail/a_id/5490"},
	},
	{
		ID: "pytorch/one-piece-far-too-large", Kinds: cures.Allocators, If: when.All(onOneCard, farTooLarge),
		Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "asked for {asked} in one piece: {times} times the card",
		Means:    "No setting can bridge that. Most likely a size grew with the square of a count: attention without a fused kernel over a large image, video or text, all pairs of something, or a wrong broadcast. Or the input is far larger than you meant.",
		Not:      "Emptying the cache, closing programs, 16 bit: the size itself is the problem.",
		Cures: cures.LineFirst([]cause.Cure{
			{Fix: "lower_batch_size", If: bare, Title: "Try a much smaller input", Cost: "detail", Told: "Use batch size 1 and an eighth of the width and height, of the length or of the frames. If that runs, go up from there, or pass the input in parts or tiles. If not, a shape is wrong."},
			{Fix: "fix_shape", Title: "Print the tensor shapes before the failing line", Cost: "some minutes", Told: "It is the last line of your own code in the traceback. Elements x 4 bytes (2 in 16 bit) should be about {asked}.", Kind: "python", Text: "print(x.shape, x.dtype)   # x: each tensor of that line"},
			{Fix: "lower_batch_size", If: when.Not(bare), Title: "If the input is right but large: process it in parts", Cost: "some lines of code", Told: "Loop over slices and move each result to the CPU. Truncate the longest inputs."},
			{Fix: "efficient_attention", Title: "If it is attention: use a fused kernel", Cost: "none", Told: "`torch.nn.functional.scaled_dot_product_attention` (PyTorch 2.0 and later) stores no length x length matrix."},
		}...),
		Figures: times, Sources: []string{allocatorSource, memoryFAQ},
	},
	{
		ID: "pytorch/nothing-on-card", Kinds: cures.Allocators, If: when.All(onOneCard, neverFitting, room.NothingHeld, when.Not(farTooLarge), func(c *ledger.Case) bool {
			return len(c.Stack) == 1
		}),
		Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "asked for {asked} in one piece on a {card} card",
		Means:    "[[{share} ]]{before} was on the card, so this one block is far too large: an operation makes it (a broadcast, all pairs, attention over a large image or volume), or a whole model or data set is moved at once.[[ {which}]][[ {as}]]",
		Not:      "Closing programs, `empty_cache()`, allocator settings: the empty card is too small for that block.",
		Cures: cures.LineFirst([]cause.Cure{
			{Fix: "raise_memory_limit", If: room.SharedAMD, Title: "If the GPU shares RAM with the CPU: give it more of it", Cost: "a restart", Told: "Set a small VRAM share in the BIOS and a larger GTT (`ttm.pages_limit`, in pages of 4 KiB, on the kernel command line). This shows both pools:", Kind: "shell", Text: "sudo dmesg | grep -iE 'amdgpu.*memory'; rocminfo | grep -A4 'Pool 1'; uname -r"},
			{Fix: "fix_shape", Title: "Find the failing line in the traceback", Cost: "a minute", Ways: []cause.Way{
				{For: "An operation", Text: "print the input shapes, and look for a wrong broadcast (`[:, None]`). Otherwise work on blocks or a smaller image."},
				{For: "A model", Text: "load it in 16 or 4 bit, or with `device_map=\"auto\"` and `max_memory`: transformers reserves the size of all weights first."},
				{For: "A data set", Text: "leave it in RAM, and move each batch with `x.to(device)`."},
			}},
			{Fix: "upgrade_version", If: room.SharedAMD, Title: "Or install a newer ROCm build of PyTorch and a newer kernel", Cost: "half an hour", Told: "They count both pools. `torch.cuda.mem_get_info()` shows what is available."},
			{Fix: "lower_batch_size", If: when.Not(room.SharedAMD), Title: "Process it in parts", Cost: "some lines of code", Told: "Each part must stay well below {card}; half of it is still {half}."},
			cures.NoScores,
		}...),
		Figures: room.FirstBlock, Sources: []string{allocatorSource, "transformers/src/transformers/modeling_utils.py", "https://github.com/ROCm/TheRock/issues/2535", "https://rocm.docs.amd.com/en/docs-7.14.0/reference/system-optimization/rdna3-5.html"},
	},
	{
		ID: "pytorch/one-piece-too-large", Kinds: cures.Allocators, If: when.All(when.Any(onOneCard, func(c *ledger.Case) bool {
			return ledger.OnCard(c) && !c.Mine.Has() && !c.Limit.Has() && !ledger.AbsurdSize(c)
		}), neverFitting), Unsaid: []string{"rasterize_gaussians"},
		Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "asked for {asked} in one piece: the whole card has {card}",
		Means:    "Even an empty card is too small. A tensor of that size usually comes from one operation over the whole input: attention scores (length or pixels squared), logits (tokens x vocabulary), all pairs of something, an image or volume at full size.[[ {which}]]",
		Not:      "Emptying the cache, allocator settings, closing programs: even the empty card is too small.",
		Cures:    cures.LineFirst(cures.SmallerInput, cures.NoScores, cures.FindShape, cures.ByLine), Figures: room.Piece,
		Sources: []string{allocatorSource, memoryFAQ},
	},
	{
		ID: "pytorch/refused-though-free", Kinds: cures.Allocators, If: when.All(onOneCard, ledger.Roomy, when.Not(when.Any(neverFitting, cures.HiddenLimit, slackWouldDo))),
		Among:    []string{cause.Unknown, cause.HostMemory, cause.SoftwareBug, cause.BudgetMisconfigured},
		Headline: "could not get {asked}, although {free} was free",
		Means:    "The GPU was not full when the message was written, and the log does not show why it refused. Possible: {elsewhere}another program that took the memory for a moment; a limit for this process or container; a driver that gives out only part of the memory.",
		Not:      "[[{larger}]]", Figures: room.Elsewhere,
		Cures: []cause.Cure{
			cures.PagesFirst, cures.LessBooked, cures.LessBookedPictures,
			{Fix: "empty_cache", If: func(c *ledger.Case) bool { return c.Slack.Bytes > units.GiB && !room.CountsOut(c) }, Title: "Give back the {slack} that PyTorch keeps unused", Cost: "slower", Told: "Before the part that fails.", Kind: "python", Text: "torch.cuda.empty_cache()"},
			{Fix: "lower_batch_size", If: func(c *ledger.Case) bool { return c.Asked.Bytes > 2*units.GiB && !cures.Loading(c) }, Title: "Or ask for less in one piece: a smaller batch or input", Cost: "slower, or detail", Told: "Halve the batch size, or the width and height of the image (a quarter of the memory). {asked} for one tensor is a lot."},
			{Fix: "raise_memory_limit", If: room.CountsOut, Title: "Raise the limits on memory maps and open files", Cost: "free", Told: "The driver may use a memory map (65,530 per process) or an open file (ROCm 7.14; usually 1,024) for each block, and reports out of memory at either limit. In a container the starting shell's limits count, and `--ulimit memlock=-1`.", Kind: "shell", Text: "wc -l /proc/PID/maps; ls /proc/PID/fd | wc -l; free -h   # PID: the program's, shortly before it fails\nsudo sysctl -w vm.max_map_count=1048576; ulimit -n 1048576"},
			{Fix: "empty_cache", If: when.All(room.CountsOut, func(c *ledger.Case) bool { return c.Slack.Bytes > units.GiB }), Title: "Call torch.cuda.empty_cache() from time to time", Cost: "slower", Told: "{slack} of PyTorch's reserve is unused; calling it after each layer or file returns that, and its memory maps, to the driver."},
			{Fix: "restart_session", Title: "Restart the program, and watch the GPU while it runs", Cost: "free", Told: "If memory fills up just before the failure, it is another program, or a short peak of this one. Then halve the batch or input.", Kind: "shell", Text: "nvidia-smi -l 1"},
			cures.OnWindows,
			{Fix: "upgrade_version", Title: "If it always fails at the same amount: update driver and PyTorch", Cost: "half an hour", Told: "On AMD, Intel and shared graphics, also look up how much memory one program may use."},
		},
		Sources: []string{allocatorSource, "https://github.com/ultralytics/yolov5/issues/1996", "https://github.com/ROCm/legacy-rocm-build/issues/6661", "https://www.kernel.org/doc/Documentation/sysctl/vm.txt"},
	},
	lineSlack,
	slackCard("pytorch/slack-large", cause.Strong, when.All(slackWouldDo, bare, when.Not(lineDecides))),
	slackCard("pytorch/slack-some", cause.Good, func(c *ledger.Case) bool { return c.Slack.Has() && c.Slack.Bytes > c.Asked.Bytes }),
	{
		ID: "pytorch/large-piece", Kinds: cures.Allocators, If: when.All(onOneCard, when.Any(cures.QuarterOfCard, halfOfCard), when.Not(ledger.Roomy)), Among: ownDoing,
		Headline: "ran out of memory: one tensor of {asked} did not fit beside {mine}",
		Means:    "A single tensor of {asked} is {asked%} of the card. Probably one operation over the whole input made it{beside}: attention scores, logits of a long text, a large image or volume, a whole recording, or all pairs.[[ With what was there it comes to {together}, more than the card has.]]",
		Later:    cures.Kept, Cures: cures.LineFirst(cures.AtMilestone, cures.LessInput, closeFirst, onlyIf(when.All(cures.NoScores.If, when.Not(ledger.Before2020)), cures.NoScores), cures.CheaperTraining, halfThere, cures.FindShape, cures.SmallerModel), Figures: beside,
		Sources: []string{allocatorSource, memoryFAQ},
	},
}

// beside is scene with what one large piece is, and what it came to.
func beside(c *ledger.Case) map[string]string {
	figures := cures.Scene(c)
	figures["together"] = ""
	if sum := c.Mine.Bytes + c.Asked.Bytes; sum > c.Total.Bytes && c.Asked.Bytes < c.Total.Bytes && !ledger.FillsCard(c) {
		figures["together"] = units.AmountWithin(sum, c.Mine.Within+c.Asked.Within)
	}
	figures["beside"] = ", not a weight"
	if ledger.FillsCard(c) {
		figures["beside"] = ", on top of the " + c.Mine.String() + " already in use"
	}
	return figures
}

// bare: nothing tells which program it was, nor what it was doing.
func bare(c *ledger.Case) bool { return len(c.Stack) == 1 && c.Phase == "unknown" && !c.Training() }

// slackCard is about memory that lies unused in pieces.
func slackCard(id string, weight cause.Level, holds func(*ledger.Case) bool) cause.Card {
	return cause.Card{
		ID: id, Kinds: cures.Allocators, If: when.All(onOneCard, holds, when.Not(clues.LiveFills)),
		Cause: cause.Fragmentation, Weight: weight,
		Headline: "ran out of memory with {slack} of its reserve unused (fragmentation)",
		Means:    "{slack} of PyTorch's reserved memory is unused, but in pieces too small for {asked}. This usually comes from changing sizes: {varied}.[[ {jump}]]",
		Later:    "If it fails again with little unused memory, it is really too full: halve the batch size.",
		Not:      "[[Ending other programs: {few}.]]", Figures: fewOthers,
		Cures: []cause.Cure{
			closeFirst,
			{Fix: "lower_batch_size", If: littleSlack, Title: "Halve the batch size, or use smaller inputs", Cost: "slower", Told: "Only {slack} is unused, so allocator settings alone may not help for long. In training, gradient accumulation over two batches keeps the result."},
			{Fix: "expandable_segments", If: when.Not(cures.SplitEra)},
			{Fix: "max_split_size", If: cures.SplitEra, Title: "Set max_split_size_mb", Cost: "sometimes slower", Steps: cures.SplitSize},
			onlyIf(cures.LateJump, cures.LongestSample),
			cures.SmallerEvaluation, {Fix: "lower_batch_size", If: when.Not(when.Any(littleSlack, cures.Evaluating)), Title: "Lower the batch size, and use a few fixed sizes", Cost: "slower", Told: "Halve the batch size[[ ({batch})]], and pad or crop inputs to a few fixed sizes. Or start with the largest batch: freed blocks then fit the next request."},
			onlyIf(when.All(cures.QuarterOfCard, cures.MayBeAttention), cures.NoScores), {Fix: "mixed_precision", If: when.Not(when.Any(ledger.Before2020, cures.NarrowAlready, cures.Evaluating, cures.Has(fact.MixedPrecision), ranks.Engine)), Title: "Compute in 16 bit", Cost: "hardly any quality", Told: "{sixteen}"},
			ranks.OffloadOptimizer,
			onlyIf(when.All(cures.CheaperTraining.If, cures.Has(fact.MixedPrecision)), cures.CheaperTraining),
			onlyIf(cures.SmallColab, cures.LargerRuntime), cures.NewerAllocator,
		},
		Sources: []string{allocatorSource, "https://pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-alloc-conf"},
	}
}

// lineDecides: the failing line says what was too large, and the reserve is not twice that or more.
func lineDecides(c *ledger.Case) bool { return operation.Decides(c) && c.Slack.Bytes < 2*c.Asked.Bytes }

// lineSlack is about both.
var lineSlack = func() cause.Card {
	card := slackCard("pytorch/slack-beside", cause.Good, func(c *ledger.Case) bool { return lineDecides(c) && c.Slack.Bytes > c.Asked.Bytes })
	card.Headline, card.Cures = "ran out of memory at {asked} of {made}, with {slack} of its reserve unused", cures.LineFirst(card.Cures...)
	return card
}()

// littleSlack: half a GiB and less, a margin rather than a find.
func littleSlack(c *ledger.Case) bool { return c.Slack.Bytes < units.GiB/2 }

// fewOthers is what ending other programs could win where that is little.
func fewOthers(c *ledger.Case) map[string]string {
	out := cures.Scene(c)
	out["varied"], out["made"], out["few"] = cures.Varied(c), operation.Name(c), ""
	switch {
	case c.OurPID != 0 && c.Others.Bytes < 64*units.MiB:
		out["few"] = "process " + quote.PID(c.OurPID) + " is, by its size, this program itself, under its number outside the container"
	case c.Others.Bytes >= units.MiB && c.Others.Bytes < min(units.GiB, 2*c.Shortfall.Bytes):
		out["few"] = "only " + c.Others.String() + " is outside it"
	}
	return out
}

// halfThere halves one large tensor.
var halfThere = cause.Cure{Fix: halfWeights.Fix, If: when.Not(when.Any(ledger.Before2020, cures.Has(fact.MixedPrecision))), Title: halfWeights.Title, Cost: halfWeights.Cost, Told: "Inference: `model.half()` and `x.half()`; training: {half16} around the forward pass. It halves this tensor."}

// lessOfOwn is for work without training that a little less would let through.
var lessOfOwn = cause.Cure{
	Fix: "inference_mode", Title: "Or turn gradients off and use a smaller input", Cost: "detail, if the input shrinks",
	If: func(c *ledger.Case) bool {
		return !c.Training() && slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool { return f.Function == "forward" }) && c.Shortfall.Has() && c.Shortfall.Bytes*2 < c.Mine.Bytes
	},
	Told: "Only {short} is missing, and without `torch.no_grad()` every layer's activations are kept. Half the width and height of an image takes a quarter.", Kind: "python", Text: "with torch.no_grad():\n    output = model(x)   # as in your call",
}

// rankCard is for a job of several processes of which two may share a card.
var rankCard = cause.Cure{
	Fix: "balance_split", If: when.All((*ledger.Case).Training, severalRanks), Title: "If two of your own ranks are on it: give each its GPU", Cost: "free",
	Told: "Use the device that the launcher assigns (`accelerator.device`, `LOCAL_RANK`), not a number of your own. Start as many ranks on each machine as it has GPUs. SLURM with torchrun or accelerate: `--ntasks-per-node=1`, with the machine's rank from `SLURM_NODEID`.", Kind: "python", Text: "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))",
}

// severalRanks: a card above the first, or more than one in the log.
func severalRanks(c *ledger.Case) bool { return reader.ManyGPUs(c) || c.Reader.Cards > 1 }

// fitBeside is for a card that must be shared, where this program holds a good
// part of it.
var fitBeside = cause.Cure{
	Fix: "lower_batch_size", Title: "If the others must stay: lower the batch size or the input size", Cost: "slower", If: func(c *ledger.Case) bool {
		return c.Mine.Bytes*2 > c.Others.Bytes && c.Shortfall.Bytes*4 < c.Mine.Bytes && !cures.Loading(c) && !operation.Is(operation.Moving)(c)
	}, Told: cures.AnyWork, Ways: cures.LessAtOnce,
}

// serverShare is for a process that the message names and that has most of the
// card.
var serverShare = cause.Cure{
	Fix: "lower_gpu_memory_utilization", Title: "If it is a model server that must stay: lower its share of the card", Cost: "less cache for it", If: func(c *ledger.Case) bool {
		return cures.Listed(c) && c.Others.Bytes*2 > c.Total.Bytes && !ledger.Before2020(c) && c.Reader.Program == "own-script"
	}, Told: "Start it with less: vLLM `--gpu-memory-utilization 0.5`, SGLang `--mem-fraction-static 0.5`; JAX `XLA_PYTHON_CLIENT_PREALLOCATE=false`; Ollama `ollama stop MODEL`.",
}

// movedWhole is for a line that puts a good part of the card there at once.
var movedWhole = cause.Cure{
	Fix: "stream_dataset", Title: "Or move less to the GPU at a time", Cost: "detail, or some lines of code", If: when.All(operation.Is(operation.Moving), cures.QuarterOfCard),
	Told: "Move only the rows, objects or channels that you use, or keep the data in RAM and move a part at a time. Half the resolution takes an eighth of a volume. The failing line puts {asked} on a {card} card at once.",
}

// closeFirst is for a narrow miss beside which others hold far more.
var closeFirst = cause.Cure{
	Fix: "close_other_apps", Title: "Close other programs on the GPU", Cost: "free",
	If: func(c *ledger.Case) bool {
		return c.Others.Bytes > units.GiB && c.Shortfall.Has() && c.Shortfall.Bytes < units.GiB/8 && !slackWouldDo(c) && room.LittleInTable(c) == nil
	},
	Told: "End what you do not need now (another run, a simulator, a browser): `nvidia-smi` lists it by PID. {others} is outside this program, of which CUDA itself needs 300 to 600 MiB.",
}

// occupants says what else it could be where the message names no process.
func occupants(c *ledger.Case) map[string]string {
	figures := cures.Scene(c)
	figures["futile"] = "`empty_cache()` and allocator settings: they reach only this process."
	if slackBridges(c) {
		figures["futile"] = ""
	} else if c.Slack.Has() {
		figures["futile"] = "`empty_cache()` and allocator settings: they reach only this process, of which " + c.Slack.String() + " is unused."
		if c.Slack.Bytes == 0 {
			figures["futile"] = "`empty_cache()` and allocator settings: they reach only this process, and nothing of it is unused."
		}
	}
	figures["who"] = "an earlier run that never ended, another program or user, a desktop, or other libraries in this process (a renderer, TensorFlow, ONNX Runtime)"
	switch {
	case c.Reader.OS == "windows" || reader.LooksLikeWindows(c):
		figures["who"] = "a browser, a game, another AI program, an earlier run that never ended"
	case cures.Ranked(c) || c.Signal(fact.InContainer) != nil || c.Total.Bytes > 30*units.GiB:
		figures["who"] = "another job or user, another container, or an earlier run that never ended"
	}
	if c.Training() && severalRanks(c) {
		figures["who"] = "another job or user, an earlier launch that never ended, or a rank of this run that took the wrong card"
		if near := c.Others.Bytes * 10; near > c.Mine.Bytes*8 && near < c.Mine.Bytes*14 {
			figures["who"] += " (as much as this one holds would fit that)"
		}
	}
	figures["rest"] = "CUDA's own context is 300 to 600 MiB of that; the rest is probably " + figures["who"] + "."
	if cures.Listed(c) {
		figures["rest"] = "The message lists the processes" + fix.Occupants(c, ": ") + ". Usually it is " + figures["who"] + "."
	}
	p, tabled := room.Holder(c)
	figures["table"] = ""
	if tabled {
		figures["table"] = "The table in the log shows who: process " + quote.PID(p.PID) + " with " + units.Amount(p.Bytes) + "."
	}
	return figures
}

// over says by how much this program and its request exceed the card.
func over(c *ledger.Case) map[string]string {
	figures := cures.Scene(c)
	figures["over"] = units.AmountWithin(c.Mine.Bytes+c.Asked.Bytes-c.Total.Bytes, c.Mine.Within+c.Asked.Within+c.Total.Within)
	return figures
}

// times says how often the card would hold what was asked for.
func times(c *ledger.Case) map[string]string {
	return map[string]string{"times": fmt.Sprintf("%.0f", float64(c.Asked.Bytes)/float64(c.Total.Bytes))}
}

// farTooLarge: many times the card, which no resolution or length explains.
func farTooLarge(c *ledger.Case) bool {
	return neverFitting(c) && c.Asked.Has() && c.Total.Has() && c.Asked.Bytes > 8*c.Total.Bytes
}
