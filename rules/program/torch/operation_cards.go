package torch

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/torch/operation"
	"github.com/oomdoc/oomdoc/rules/program/torch/rest"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Cures by what decides the size of an operation.
var (
	fewerPixels = cause.Cure{
		Fix: "lower_batch_size", Title: "Lower the batch size or the input size", Cost: "slower", Told: "[[{any_pixels}]]",
		Ways: []cause.Way{
			{For: fix.Training, Text: "{fewer} crops of half the width and height (a quarter of the memory)."},
			{For: fix.Using, Text: "{run} it under `torch.inference_mode()`, one input at a time. Scale large images or volumes down, or work in tiles."},
		},
	}
	fewerRows = cause.Cure{
		Fix: "lower_batch_size", Title: "Lower the batch size or the input size", Cost: "slower", Told: "[[{any_rows}]]",
		Ways: []cause.Way{
			{For: fix.Training, Text: "{fewer} shorter samples. Gradient accumulation keeps the result."},
			{For: fix.Using, Text: "{run} it under `torch.inference_mode()`, and loop over parts: `[f(part) for part in x.split(1024)]`."},
		},
	}
	halfBits = cause.Cure{
		Fix: "mixed_precision", If: when.Not(when.Any(cures.Has(fact.MixedPrecision), ledger.Before2020, cures.HalfTooLarge)), Title: "Compute it in 16 bit", Cost: "hardly any quality",
		Told: "Run the forward pass under {half16}[[{scaled}]]: it halves most activations.",
	}
	checkpointed = cause.Cure{
		Fix: cures.CheaperTraining.Fix, If: when.All(cures.CheaperTraining.If, when.Not(neverFitting)), Title: "Turn on gradient checkpointing", Cost: cures.CheaperTraining.Cost,
		Told: "`torch.utils.checkpoint` stores a few activations and recomputes the others in the backward pass. transformers: `model.gradient_checkpointing_enable()`.",
	}
	// checkpointOpen is for a log that shows neither training nor use.
	checkpointOpen = cause.Cure{
		Fix: checkpointed.Fix, If: func(c *ledger.Case) bool {
			return !c.Training() && c.Phase == "unknown" && !cures.UnfreedEvaluation(c) && !neverFitting(c)
		}, Title: "If you train: turn on gradient checkpointing", Cost: checkpointed.Cost, Told: checkpointed.Told,
	}
	halfWeights = cause.Cure{
		Fix: "half_precision", If: when.Not(when.Any((*ledger.Case).Training, cures.HalfTooLarge, cures.NarrowAlready)), Title: "Use 16 bit, if it is 32 bit now", Cost: "hardly any quality",
		Told: "Training: {half16} around the forward pass[[{scaler}]]. Inference: `model.half()` and `x.half()`.",
	}
	// smallerType is for a tensor that a line makes or moves.
	smallerType = cause.Cure{
		Fix: "half_precision", If: when.Not(cures.NarrowAlready), Title: "Use a smaller data type, if it is 32 bit", Cost: "precision",
		Told: "`float16` takes half of `float32`. Images fit in `uint8`, masks in `bool`, most indices in `int32`.",
	}
	// noGraph is for a step of a program that may only use its model.
	noGraph = cause.Cure{
		Fix: "inference_mode", If: when.Not(when.Any((*ledger.Case).Training, cures.UnfreedEvaluation, cures.Freed)), Title: "If nothing is trained: turn gradients off", Cost: "none",
		Told: "Otherwise every layer's activations are kept.", Kind: "python", Text: "with torch.no_grad():\n    output = model(x)   # as in your call",
	}
	// detachedState is for sequences that are passed in parts.
	detachedState = cause.Cure{
		Fix: "detach_accumulated", If: when.Not(cures.UnfreedEvaluation), Title: "If you train on long sequences: cut them, and detach the state", Cost: "no gradient across the cuts",
		Told: "Pass each sequence in chunks, and call `h = h.detach()` between them (LSTM: on both states).",
	}
	inPieces = cause.Cure{
		Fix: "lower_batch_size", Title: "Process it in parts", Cost: "some lines of code",
		Told: "Loop over slices, and move each result to RAM: `out.append(f(part).cpu())`.",
	}
	shapesOfLine = cause.Cure{
		Fix: "fix_shape", Title: "Print the tensor shapes before that line", Cost: "a minute",
		Told: "The number of elements x 4 bytes (2 in 16 bit) should be about {asked}. Look for a size larger than you expect.",
	}
)

// shapesOfHuge is the same where half of it would not fit either.
var shapesOfHuge = cause.Cure{Fix: "fix_shape", If: cures.HalfTooLarge, Title: shapesOfLine.Title, Cost: shapesOfLine.Cost, Told: shapesOfLine.Told}

// smallerPicture is for one piece that is a good part of the card.
var smallerPicture = cause.Cure{
	Fix: "lower_resolution", Title: "Use smaller images or volumes", Cost: "detail", If: when.All(cures.QuarterOfCard, cures.Imagery, when.Not(manySamples)),
	Told: "Scale the images down first (half the width and height[[ ({halved})]] takes a quarter), or cut them into tiles (1,024 pixels a side, with some overlap) and merge the results in RAM.[[ To fit here, it takes {times} times less.]] A single result of {asked} is typical of full-size images; print the input's shape.",
}

// operationCards say what the failing line computes, and so what makes it
// smaller, whatever the program.
var operationCards = []cause.Card{
	operationCard("convolution", "in a convolution",
		"The output of a convolution is batch x channels x height x width (x depth or frames). Training stores it for every layer.[[ {decide}]]",
		smallerPicture, fewerPixels, cures.LargeModel, halfBits, shapesOfHuge, checkpointed, halfWeights, checkpointOpen),
	operationCard("upsampling", "in an upsampling or resampling step",
		"The output has the target size for all channels at once. Twice the width and height takes four times the memory.",
		cause.Cure{Fix: "cpu_offload", If: func(c *ledger.Case) bool {
			return !c.Training() && (cures.UnfreedEvaluation(c) || c.Phase == "inference")
		}, Title: "Upsample only the final map, or on the CPU", Cost: "hardly slower", Told: "For class scores, take `.argmax(1)` first and upsample that one map (`mode=\"nearest\"`). Or do it in RAM: `F.interpolate(x.cpu(), ...)`."},
		smallerPicture, fewerPixels, halfBits, shapesOfHuge, checkpointed, halfWeights, checkpointOpen),
	operationCard("pointwise", "in an activation or normalisation layer",
		"The output of such a layer is as large as its input, and training stores it for every layer.[[ {decide}]][[ {recording}]]",
		smallerPicture, onlyIf(cures.Imagery, fewerPixels), onlyIf(when.Not(cures.Imagery), fewerRows), cures.LargeModel, halfBits, shapesOfHuge, checkpointed, halfWeights, checkpointOpen),
	operationCard("recurrent", "in a recurrent layer",
		"A recurrent layer stores every time step of every sample: batch x length x width. One long sample usually pads the whole batch.",
		cause.Cure{Fix: "lower_batch_size", Title: "Lower the batch size or the sequence length", Cost: "slower", Told: "Halve the batch size[[ ({batch})]], and truncate the longest sequences. Sorting by length reduces padding."},
		halfBits, detachedState, checkpointed, halfWeights),
	operationCard("projection", "in a matrix product",
		"The result has a row for every sample and position in the batch, so the batch size and the length decide its size.",
		fewerRows, halfBits, checkpointed, halfWeights, checkpointOpen),
	operationCard("logits", "at a language model's output layer",
		"The output layer (`lm_head`) gives a score for every word of the vocabulary at every token: batch x length x vocabulary. The loss and its gradient make more copies.[[ {asked} would be {tokens32} tokens with a vocabulary of 32,000, {tokens128} with 128,000 (Llama 3), {tokens152} with 152,000 (Qwen), in 32 bit.]]",
		cause.Cure{Fix: "lower_batch_size", Title: "Lower the batch size or the longest text", Cost: "slower, or texts are cut", Told: "[[{fits} ]]Pad to the longest text of each batch, not to a fixed length.",
			Ways: []cause.Way{{For: fix.Training, Text: "half the batch size[[ ({batch})]] with twice the gradient accumulation. Evaluation has its own batch size."}, {For: fix.Using, Text: "one prompt at a time under `torch.inference_mode()`, shorter prompts."}}},
		onlyIf(halfBits.If, halfBits), checkpointed, checkpointOpen),
	operationCard("softmax", "in a softmax",
		"The result is as large as the input: attention scores (batch x heads x length x length) or class scores (rows x classes). Training stores it for the backward pass.",
		fewerRows, cause.Cure{Fix: "efficient_attention", Title: cures.NoScores.Title, Cost: cures.NoScores.Cost, Told: cures.NoScores.Told},
		halfBits, checkpointed, halfWeights, shapesOfLine),
	operationCard("concatenation", "in a concatenation of tensors",
		"The result is a new tensor beside its parts, so for a moment both exist: about twice the memory.[[ {joined}]]",
		onlyIf(operation.AlongFeatures, fewerRows),
		cause.Cure{Fix: "detach_accumulated", If: when.Not(operation.AlongFeatures), Title: "If the parts come from a loop: move each result to RAM", Cost: "none to speak of", Kind: "python", Text: "results.append(output.detach().cpu())   # and torch.cat at the end, in RAM"},
		onlyIf(when.Not(operation.AlongFeatures), fewerRows), halfBits, halfWeights, shapesOfLine),
	operationCard("creation", "in creating a new tensor",
		"The failing line gives the size: the product of the shape, times 4 bytes (2 in 16 bit).",
		shapesOfLine, inPieces, smallerType,
		cause.Cure{Fix: "lower_resolution", Title: "Use a smaller input or fewer rows", Cost: "detail", Told: "If both sizes of the shape grow with the input, half the input takes a quarter. For pairs of pixels, half the width and height takes a sixteenth."}),
	operationCard("repetition", "in copying a tensor",
		"This makes one or more full copies beside the original. `expand` and broadcasting need no copy.",
		cause.Cure{Fix: "fix_shape", Title: "Broadcast instead of repeating", Cost: "none", Told: "Use `x.expand(n, -1)` or `x[:, None]` instead of `repeat`, and in-place operations where the old values are not needed."},
		fewerRows, halfBits),
	operationCard("gathering", "in indexing (gather)",
		"The result has a row for every index: in a graph, edges x features, even if the nodes are few.",
		cause.Cure{Fix: "lower_batch_size", Title: "Use fewer indices at a time", Cost: "slower", Told: "Use smaller batches or graphs, sample neighbours, or process the edges in parts."},
		halfBits, shapesOfLine),
	operationCard("spectrum", "in a Fourier transform",
		"The result is complex (twice the size), and overlapping windows multiply it. So the length of the recording or the size of the image decides.",
		cause.Cure{Fix: "lower_batch_size", Title: "Split the input", Cost: "slower", Told: "Audio: chunks of 30 to 60 seconds, one at a time. Images and grids: a smaller size, or one channel at a time."},
		noGraph, cause.Cure{Fix: "cpu_offload", Title: "Or compute it on the CPU", Cost: "slower", Told: "Call `.cpu()` before it, and `.to(device)` on the result."}),
	operationCard("decomposition", "in linear algebra",
		"Solving, inverting or decomposing an n x n matrix needs several matrices of that size. Twice the rows takes four times the memory.",
		cause.Cure{Fix: "cpu_offload", Title: "Do this step on the CPU", Cost: "slower", Told: "Call `.cpu()` before it and `.to(device)` after it: there is usually more RAM than GPU memory."},
		cause.Cure{Fix: "lower_batch_size", Title: "Compute only the leading part", Cost: "an approximation", Told: "Use `torch.svd_lowrank` or `torch.lobpcg` if the leading part is enough, `torch.linalg.solve` instead of an inverse, or one matrix of a batch at a time."},
		shapesOfLine),
	operationCard("sorting", "in sorting or searching a tensor",
		"Sorting needs room for the values, an 8-byte index for each and a working copy: up to several times the input.",
		inPieces, noGraph, shapesOfLine),
	operationCard("moving", "while copying data to the GPU",
		"The failing line only moves data to the GPU. A whole data set, or everything that a loop has collected, is usually too much at once.",
		cause.Cure{Fix: "cpu_offload", If: cures.Converting, Title: "Convert in RAM", Cost: "hardly slower", Told: "Leave out `.cuda()` and `.to(device)`, and load the parts with `torch.load(path, map_location=\"cpu\")`."},
		cause.Cure{Fix: "stream_dataset", If: when.Not(cures.Converting), Title: "Keep the data in RAM and move one batch at a time", Cost: "hardly slower", Kind: "python", Text: "for x, y in loader:          # a DataLoader over data that stays in RAM\n    x, y = x.to(device), y.to(device)"},
		onlyIf(when.Not(cures.Converting), fewerRows), smallerType),
	operationCard("extension", "in compiled code of a library",
		"The call runs compiled code. Its memory depends on the input: usually the number of points, boxes, voxels or pixels.",
		cause.Cure{Fix: "lower_batch_size", Title: "Use fewer points or a lower resolution", Cost: "less detail, or slower", Told: "Use fewer or coarser points, boxes or voxels, and one sample at a time."},
		noGraph, shapesOfLine, checkpointed),
}

// onlyIf is a cure with a condition.
func onlyIf(holds func(*ledger.Case) bool, cure cause.Cure) cause.Cure {
	cure.If = holds
	return cure
}

// operationCard is about one operation on a card that is this program's own.
func operationCard(id operation.ID, where, means string, list ...cause.Cure) cause.Card {
	if list = slices.Clone(list); slices.ContainsFunc(list, func(x cause.Cure) bool { return x.Fix == halfWeights.Fix }) {
		for i := range list {
			if list[i].Fix == halfBits.Fix { // halfWeights is for the rest
				list[i] = onlyIf(when.All(halfBits.If, (*ledger.Case).Training), halfBits)
			}
		}
	}
	list = slices.Insert(list, 1, onlyIf(when.All(cures.RuntimeFirst.If, when.Not((*ledger.Case).Training)), cures.RuntimeFirst), loosePieces, looseBefore)
	return cause.Card{
		ID: "pytorch/" + string(id), Kinds: refused, Among: ownDoing,
		If:       when.All(onOneCard, ownCard, operation.Is(id), when.Not(when.Any(cures.Loading, rest.OtherLibrary, ledger.AbsurdSize, cures.LateStep, inApp))),
		Headline: "ran out of memory " + where,
		Means:    means,
		Not:      "{settings}.[[ {each}]]",
		Later:    cures.Kept, Cures: slices.Concat(cures.LineCures(id), []cause.Cure{evaluateFreely, onlyIf(when.All(cures.AtMilestone.If, when.Not(cures.UnfreedEvaluation)), cures.AtMilestone)}, list), Figures: recording,
		Sources: []string{allocatorSource, memoryFAQ},
	}
}

// evaluateFreely is for an evaluation that nothing shows to be free of gradients.
var evaluateFreely = cause.Cure{
	Fix: "inference_mode", If: when.All(cures.UnfreedEvaluation, when.Not(neverFitting)), Title: "Turn gradients off in the evaluation, and use a smaller batch there", Cost: "none",
	Told: "Without `torch.no_grad()` each pass stores activations as in training; `model.eval()` does not change that. If it is there already, lower the `batch_size` of the evaluation loader.",
	Kind: "python", Text: "with torch.no_grad():   # around the loop of the evaluation\n    ...",
}

// manySamples: the log states a batch of several.
func manySamples(c *ledger.Case) bool { return cures.Batch(c)["batch"] != "" }

// recording is scene with what a function that works in place says of gradients.
func recording(c *ledger.Case) map[string]string {
	figures := logitFigures(c)
	maps.Copy(figures, cures.Scene(c))
	figures["decide"] = cures.Decides(c)
	figures["recording"], figures["times"], figures["joined"] = "", "", "If the parts are the results of a loop, they grow with the data set."
	if operation.AlongFeatures(c) {
		figures["joined"] = "It joins features of the same samples, so the number of samples per call decides."
	}
	if room := c.Total.Bytes - c.Mine.Bytes; room > 0 && cures.HalfTooLarge(c) {
		figures["times"] = strconv.FormatInt(ledger.CeilDiv(c.Asked.Bytes, room), 10)
	}
	for _, f := range ledger.Trace(c) {
		for _, name := range [...]string{"silu_(", "hardswish_(", "mish_("} {
			if strings.Contains(f.Source, name) {
				figures["recording"] = "`" + strings.TrimSuffix(name, "(") + "` works in place and needs memory only if gradients are on: this is training, or inference without `torch.no_grad()`."
			}
		}
	}
	return figures
}

// inApp: the reader started a program whose code is not theirs to change.
func inApp(c *ledger.Case) bool {
	return c.Reader.Edits != "code" && c.Reader.Edits != "" && c.Reader.Edits != "unknown"
}
