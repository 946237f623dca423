package torch

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Where PyTorch's messages come from, and what its notes say of them.
const (
	allocatorSource = "pytorch/c10/cuda/CUDACachingAllocator.cpp"
	cudaNotes       = "https://pytorch.org/docs/stable/notes/cuda.html#memory-management"
	memoryFAQ       = "https://pytorch.org/docs/stable/notes/faq.html"
)

// lookFirst is the cure that costs nothing: see who holds the card.
var lookFirst = cause.Cure{
	Fix: "kill_stale_process", Title: "See what holds the card, end what is yours", Kind: "shell", Text: "nvidia-smi", Cost: "Free; what you end loses its unsaved work.",
}

// onlyLine: nothing tells which program it was, nor what it was doing.
func onlyLine(c *ledger.Case) bool {
	return len(c.Stack) == 1 && c.Phase == "unknown" && !c.Training() && ledger.Allocator(c) && !c.Limit.Has() && len(c.F().OtherProcesses) == 0 && c.Backend == "cuda"
}

// figureCards read the bare message of the allocator by what its figures say.
var figureCards = []cause.Card{
	{
		ID: "pytorch/label-size", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"one_hot(", "bincount(", "F.one_hot", "torch.bincount"},
		If: func(c *ledger.Case) bool {
			return ledger.OnCard(c) && (ledger.Requested(c) > 2*units.GiB || ledger.AbsurdSize(c))
		},
		Cause: cause.OversizedAllocation, Weight: 0.85,
		Means: "The size of one_hot and bincount follows from the largest label. One wrong label, such as an ignore value of 255 or an id that was never mapped, makes the tensor huge. Memory is not what is wrong.",
		Not:   "A smaller batch or a larger card: the label decides the size.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Print the range of the labels", Kind: "python", Text: "print(labels.min(), labels.max(), labels.dtype, labels.shape)   # before the failing line; the maximum must be below num_classes", Cost: "A minute."},
			{Fix: "lower_batch_size", Title: "Pass num_classes, and mask what is ignored", Kind: "text", Text: "Give `F.one_hot` its `num_classes`, and replace the ignore value before it, such as `labels[labels == 255] = 0`.", Cost: "None."},
		},
		Sources: []string{"pytorch/aten/src/ATen/native/Onehot.cpp", "https://pytorch.org/docs/stable/generated/torch.nn.functional.one_hot.html"},
	},
	{
		ID: "pytorch/one-piece-far-too-large", Kinds: []fact.Kind{fact.TorchAlloc}, If: when.All(onlyLine, farTooLarge, when.Not(ledger.AbsurdSize)),
		Cause: cause.OversizedAllocation, Weight: 0.9,
		Means: "One tensor of {asked} was asked for; the whole card has {total}. That is too far off for a setting to help: a shape is wrong, a broadcast made a matrix of everything by everything, or a length was never cut.",
		Not:   "Emptying the cache, closing programs or a larger card: the size itself is the mistake.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Print the shapes before the failing line", Kind: "text", Text: "Read the last line of your own code in the traceback and print the shapes that go into it. Four bytes an element: the product should come out near the size that was asked for.", Cost: "Some minutes."},
			{Fix: "lower_batch_size", Title: "If it is data: work in parts", Kind: "text", Text: "Split the input and join the results on the CPU: distances, predictions and features of a whole data set need not be one tensor.", Cost: "Some lines of code."},
			{Fix: "lower_context", Title: "Cut the longest input", Kind: "text", Text: "Print the length of each input: one that was never cut is enough, because attention grows with its square.", Cost: "What is cut is not read."},
		},
		Sources: []string{allocatorSource, memoryFAQ},
	},
	{
		ID: "pytorch/one-piece-too-large", Kinds: []fact.Kind{fact.TorchAlloc},
		If: when.All(onlyLine, neverFitting, when.Not(ledger.AbsurdSize)), Unsaid: []string{"rasterize_gaussians"},
		Cause: cause.OversizedAllocation, Weight: 0.9,
		Means: "One tensor of {asked} was asked for; the whole card has {total}. No setting of the allocator and no closed program makes that fit. A shape is wrong, or something grows with the square of a length.",
		Not:   "Emptying the cache or killing other programs: the empty card would be too small.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Halve the length, or the side of the picture", Kind: "text", Text: "What grows with the square falls to a quarter, attention over pictures to a sixteenth. It also shows at once whether that is it.", Cost: "Detail, or context."},
			{Fix: "efficient_attention", Title: "If it is attention: use the fused kind", Kind: "text", Text: "Attention that writes out its scores needs length x length x heads. Use `torch.nn.functional.scaled_dot_product_attention`, which never does.", Cost: "None."},
			{Fix: "fix_shape", Title: "Print the shapes before the failing line", Kind: "text", Text: "Read the last line of your own code in the traceback and print the shapes that go into it. Four bytes an element: the product should come out near the size that was asked for.", Cost: "Some minutes."},
		},
		Sources: []string{allocatorSource, memoryFAQ},
	},
	{
		ID: "pytorch/refused-though-free", Kinds: []fact.Kind{fact.TorchAlloc}, If: when.All(onlyLine, ledger.Roomy, when.Not(when.Any(neverFitting, reader.LooksLikeWindows, hiddenLimit))),
		Cause: cause.Unknown, Weight: 0.6,
		Means: "{asked} was refused with {free} free, so the card was not full at the moment of printing. Another process may have held memory for a moment, a limit may apply, or on Windows system memory ran out (the page file).",
		Not:   "Halving the batch: more than was asked for is free.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Run once more with the card watched", Kind: "shell", Text: "nvidia-smi --query-gpu=memory.used,memory.total --format=csv -lms 200", Cost: "Free."},
			{Fix: "raise_pagefile", Title: "On Windows: enlarge the page file", Kind: "text", Text: "CUDA reserves page file for what it puts on the card. Set the page file to the size of RAM plus the card, then restart.", Cost: "Disk space, and a restart."},
			{Fix: "upgrade_version", Title: "Elsewhere: update PyTorch and the driver"},
		},
		Sources: []string{allocatorSource, "https://github.com/ultralytics/yolov5/issues/1996"},
	},
	{
		ID: "pytorch/others-hold-much", Kinds: []fact.Kind{fact.TorchAlloc}, If: when.All(ledger.Crowded, onlyLine, when.Not(quarterOfCard)),
		Cause: cause.LeakedProcess, Weight: 0.75,
		Means: "Of {total}, {others} is not PyTorch's in this process. A CUDA context takes a few hundred MiB of that; the rest belongs to something else: an earlier run, another notebook, a desktop. The line does not say which.",
		Not:   "`empty_cache()` and allocator settings: they reach only this process.",
		Cures: []cause.Cure{
			lookFirst,
			{Fix: "restart_session", Title: "Restart every notebook kernel that used the card"},
			{Fix: "select_gpu"},
		},
		Sources: []string{allocatorSource, cudaNotes},
	},
	{
		ID: "pytorch/cached-era", Kinds: []fact.Kind{fact.TorchAlloc}, If: when.All(onlyLine, func(c *ledger.Case) bool { return ledger.Before2020(c) && !slackWouldDo(c) }),
		Cause: cause.BatchTooLarge, Weight: 0.7,
		Means: "The wording is that of PyTorch before 1.4: {mine} is this program's, {asked} more was refused. Most likely a step is too large; the line does not show what the program was doing.",
		Not:   "Allocator options such as max_split_size_mb: this version has none of them.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Training: halve the batch"},
			{Fix: "inference_mode", Title: "Using a model: turn gradients off", Kind: "python", Text: "model.eval()\nwith torch.no_grad():\n    output = model(x)", Cost: "None."},
			lookFirst,
		},
		Sources: []string{"pytorch/c10/cuda/CUDACachingAllocator.cpp (1.3)", "https://github.com/MIC-DKFZ/nnUNet/issues/122"}, Solved: 1,
	},
	{
		ID: "pytorch/slack-large", Kinds: []fact.Kind{fact.TorchAlloc}, If: when.All(onlyLine, slackWouldDo),
		Cause: cause.Fragmentation, Weight: 0.8,
		Means: "PyTorch holds {slack} that no tensor uses, and {asked} was refused: the unused memory lies in pieces that are too small, or in cached blocks of other sizes. It is typical of inputs of changing size.",
		Not:   "Killing other programs: the memory that is lacking is this process's own.",
		Cures: []cause.Cure{
			{Fix: "expandable_segments"},
			{Fix: "max_split_size"},
			{Fix: "lower_batch_size", Title: "Keep sizes alike: pad to few lengths", Kind: "text", Text: "Pad or crop inputs to a few fixed sizes, or sort them by length, so that freed blocks fit the next request.", Cost: "Some padding is computed in vain."},
		},
		Sources: []string{allocatorSource, "https://pytorch.org/docs/stable/notes/cuda.html#optimizing-memory-usage-with-pytorch-alloc-conf"},
	},
	{
		ID: "pytorch/small-card-full", Kinds: []fact.Kind{fact.TorchAlloc}, If: when.All(onlyLine, ledger.FillsCard, smallCard, cause.LastStraw),
		Cause: cause.ModelTooLarge, Weight: 0.5,
		Means: "This program fills the card by itself: {mine} of {total}, and {asked} more was refused. On a card of this size that is most often the model itself; the work of a step is the other reason. This line alone does not tell which.",
		Not:   "Allocator settings: only {slack} of what PyTorch holds is unused.",
		Cures: []cause.Cure{
			{Fix: "half_precision", Title: "Using a model: 16 bit, no gradients", Kind: "python", Text: "model = model.half().eval()\nwith torch.inference_mode():\n    output = model(x.half())", Cost: "None that shows, as a rule."},
			{Fix: "use_smaller_model", Title: "A smaller or a quantised model"},
			{Fix: "lower_batch_size", Title: "Training: halve the batch, accumulate twice"},
		},
		Sources: []string{allocatorSource, memoryFAQ, "https://github.com/facebookresearch/segment-anything/issues/351"},
	},
	{
		ID: "pytorch/last-straw", Kinds: []fact.Kind{fact.TorchAlloc}, If: when.All(onlyLine, ledger.FillsCard, cause.LastStraw),
		Cause: cause.BatchTooLarge, Weight: 0.55,
		Means: "{mine} of {total} is this program's own; the {asked} that was refused was only the last straw. Find what holds the rest: the model's weights, the work of a step, or tensors that are kept from step to step.",
		Not:   "Closing other programs or allocator settings: nearly all of the card is live tensors of this process.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch and see whether it moves", Kind: "text", Text: "Halve the batch or the input. If it then runs, it was the work; if it dies at the same step, it is the model; if it dies later, something is kept.", Cost: "A trial."},
			{Fix: "detach_accumulated", Title: "If memory grows from step to step: keep numbers"},
			{Fix: "inference_mode", Title: "If no gradients are wanted: turn them off"},
		},
		Sources: []string{allocatorSource, memoryFAQ},
	},
	{
		ID: "pytorch/large-piece", Kinds: []fact.Kind{fact.TorchAlloc}, If: when.All(onlyLine, quarterOfCard),
		Cause: cause.BatchTooLarge, Weight: 0.6,
		Means: "One tensor of {asked} did not fit into {free}. A single piece of that size is the result of one operation on the whole input at once, rarely a weight.",
		Not:   "Allocator settings: {slack} is all that they could win.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Give that operation less at a time", Kind: "text", Text: "The last line of your own code in the traceback makes this tensor. Halve what goes into it: batch, side length or sequence; its size shrinks with it.", Cost: "Slower."},
			{Fix: "mixed_precision", Title: "Compute it in 16 bit", Kind: "python", Text: "with torch.autocast(\"cuda\", dtype=torch.float16):\n    output = model(x)", Cost: "Training with float16 needs a GradScaler."},
			{Fix: "inference_mode", Title: "If no gradients are wanted: turn them off"},
		},
		Sources: []string{allocatorSource, memoryFAQ},
	},
}

// slackWouldDo: the allocator's own reserve covers what was refused, and is a
// good part of the card.
func slackWouldDo(c *ledger.Case) bool {
	return c.Slack.Has() && c.Asked.Has() && c.Total.Has() && c.Slack.Bytes > c.Asked.Bytes && c.Slack.Bytes*8 > c.Total.Bytes
}

// smallCard: up to 8 GB.
func smallCard(c *ledger.Case) bool { return c.Total.Has() && c.Total.Bytes <= 8*units.GiB }

// farTooLarge: many times the card, which no resolution or length explains.
func farTooLarge(c *ledger.Case) bool {
	return neverFitting(c) && c.Asked.Has() && c.Total.Has() && c.Asked.Bytes > 8*c.Total.Bytes
}

// hiddenLimit: what is held and wanted comes to no more than a share of the
// card, as set_per_process_memory_fraction leaves it.
func hiddenLimit(c *ledger.Case) bool {
	return cause.HiddenFraction(c).Weight > 0
}

func quarterOfCard(c *ledger.Case) bool {
	return c.Asked.Has() && c.Total.Has() && c.Asked.Bytes*4 >= c.Total.Bytes && c.Shortfall.Has() && c.Shortfall.Bytes > 0
}
