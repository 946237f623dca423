package torch

import (
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/torch/operation"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Cures by what decides the size of an operation.
var (
	fewerPixels = cause.Cure{
		Fix: "lower_batch_size", Title: "Give it less at a time", Cost: "slower",
		Ways: []cause.Way{
			{For: fix.Training, Text: "half the batch size[[ ({batch})]], or crops of half the width and height: a quarter."},
			{For: fix.Using, Text: "`with torch.inference_mode():` around it, one input at a time; a large image or volume in tiles, or scaled down."},
		},
	}
	fewerRows = cause.Cure{
		Fix: "lower_batch_size", Title: "Give it less at a time", Cost: "slower",
		Ways: []cause.Way{
			{For: fix.Training, Text: "half the batch size[[ ({batch})]], or shorter samples; gradient accumulation keeps the result."},
			{For: fix.Using, Text: "`with torch.inference_mode():` around it, and a loop over pieces: `[f(part) for part in x.split(1024)]`."},
		},
	}
	halfBits = cause.Cure{
		Fix: "mixed_precision", If: when.Not(when.Any(cures.Has(fact.MixedPrecision), ledger.Before2020, cures.HalfTooLarge)), Title: "Compute it in 16 bit", Cost: "hardly any quality",
		Told: "{half16} around the forward pass (training: with a `GradScaler`) halves what the layers keep.",
	}
	checkpointed = cause.Cure{
		Fix: cures.CheaperTraining.Fix, If: cures.CheaperTraining.If, Title: cures.CheaperTraining.Title, Cost: cures.CheaperTraining.Cost,
		Told: "Gradient checkpointing (`torch.utils.checkpoint`) keeps only a few activations and computes the others again.",
	}
	halfWeights = cause.Cure{
		Fix: "half_precision", If: when.Not(when.Any((*ledger.Case).Training, cures.HalfTooLarge)), Title: "16 bit, if it is 32 now", Cost: "hardly any quality",
		Told: "`model.half()` and `x.half()` halve weights and what is computed.",
	}
	inPieces = cause.Cure{
		Fix: "lower_batch_size", Title: "Do it in parts", Cost: "some lines of code",
		Told: "Loop over slices, keep of each what is needed and move it to RAM: `out.append(part.cpu())`.",
	}
	shapesOfLine = cause.Cure{
		Fix: "fix_shape", Title: "Print the shapes that go in", Cost: "a minute",
		Told: "Before that line; the product of the result's sizes times 4 bytes (2 in 16 bit) should come out near {asked}. One size mostly surprises.",
	}
)

// imagery: pictures or volumes go through the network, as far as its layers tell.
func imagery(c *ledger.Case) bool {
	if slices.ContainsFunc([]string{"points", "coords", "xyz", "rays", "pts"}, func(word string) bool {
		return slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool { return f.Own && strings.Contains(f.Source, word) })
	}) {
		return false // a network over points
	}
	return c.Reader.Work == "vision" || strings.HasSuffix(c.Reader.Work, "-generation") && c.Reader.Work != "text-generation" || slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool {
		return strings.Contains(f.Source, "conv2d") || strings.Contains(f.Source, "conv3d") || strings.Contains(f.Source, "conv_transpose") || strings.Contains(f.Source, "interpolate") || strings.Contains(f.Source, "upsample") || strings.Contains(f.Source, "pool") || f.Function == "_conv_forward" || strings.Contains(f.File, "torch/nn/modules/conv.py")
	})
}

// shapesOfHuge is the same where half of it would not fit either.
var shapesOfHuge = cause.Cure{Fix: "fix_shape", If: cures.HalfTooLarge, Title: shapesOfLine.Title, Cost: shapesOfLine.Cost, Told: shapesOfLine.Told}

// smallerPicture is for one piece that is a good part of the card.
var smallerPicture = cause.Cure{
	Fix: "lower_resolution", Title: "Smaller images or volumes: this piece is one layer's", Cost: "detail", If: when.All(cures.QuarterOfCard, imagery, when.Not(manySamples)),
	Told: "{asked} for a single result is what images at their full size make: cut them into tiles (1,024 pixels a side with some overlap) and put the results together in RAM, or scale them down before the batch is built: half the width and height is a quarter[[, and here it takes {times} times less]]. Print the shape that goes in.",
}

// operationCards say what the failing line computes, and so what makes it
// smaller, whatever the program.
var operationCards = []cause.Card{
	operationCard("convolution", "in a convolution",
		"A convolution writes batch x channels x height x width (x depth or frames), and training keeps that for every layer. The weights are small beside it: what goes in decides.",
		smallerPicture, fewerPixels, halfBits, shapesOfHuge, checkpointed, halfWeights),
	operationCard("upsampling", "as it enlarged or resampled a map",
		"Its result has the size that is asked for: twice the width and height are four times the memory, of all channels at once.",
		cause.Cure{Fix: "cpu_offload", If: func(c *ledger.Case) bool { return !c.Training() && (evaluating(c) || c.Phase == "inference") }, Title: "Enlarge the result only, or in RAM", Cost: "hardly slower", Told: "Scores of classes: `.argmax(1)` first and enlarge that one map (`mode=\"nearest\"`), in place of a map for each class; or `F.interpolate(x.cpu(), ...)`, which RAM holds."},
		smallerPicture, fewerPixels, halfBits, shapesOfHuge, checkpointed, halfWeights),
	operationCard("pointwise", "in an activation or normalisation layer",
		"Its result is as large as what goes in: batch x channels x height x width, or batch x length x width; training keeps that for every layer. So the batch and the size of a sample decide, hardly the weights.[[ {recording}]]",
		smallerPicture, onlyIf(imagery, fewerPixels), onlyIf(when.Not(imagery), fewerRows), halfBits, shapesOfHuge, checkpointed, halfWeights),
	operationCard("recurrent", "in a recurrent layer",
		"A recurrent layer keeps every time step of every sample: batch x length x width. One long sample makes the whole padded batch as long.",
		cause.Cure{Fix: "lower_batch_size", Title: "Fewer or shorter sequences at a time", Cost: "slower", Told: "Half the batch size[[ ({batch})]]; cut the longest sequences, or sort by length so that little is padded."},
		halfBits, checkpointed, halfWeights),
	operationCard("projection", "in a matrix product",
		"Its result is rows x width: all samples and positions that go in at once, times the width of the layer. The matrix itself was there before.",
		fewerRows, halfBits, checkpointed, halfWeights),
	operationCard("concatenation", "as it put tensors together",
		"The result is a new tensor beside its pieces: for a moment both are there, twice the memory. If the pieces come from a loop, such as the results of all batches, they grow with the data set.",
		cause.Cure{Fix: "detach_accumulated", Title: "Results of a loop: move each to RAM as it comes", Cost: "none to speak of", Kind: "python", Text: "results.append(output.detach().cpu())   # and torch.cat at the end, in RAM"},
		fewerRows, halfBits, halfWeights),
	operationCard("creation", "as it made a new tensor",
		"The size stands in the line itself: the product of the shape, times 4 bytes (2 in 16 bit).",
		shapesOfLine, inPieces, halfWeights),
	operationCard("repetition", "as it copied a tensor",
		"That makes a whole copy, or several, beside what is there. `expand` and broadcasting show the same values without a copy.",
		cause.Cure{Fix: "fix_shape", Title: "Broadcast instead of repeating", Cost: "none", Told: "`x.expand(n, -1)` or `x[:, None]` instead of `repeat`; work in place where the old values are not needed."},
		fewerRows, halfBits),
	operationCard("gathering", "as it picked rows by index",
		"That makes a row for every index: in a graph edges x features, however few the nodes.",
		cause.Cure{Fix: "lower_batch_size", Title: "Fewer indices at a time", Cost: "slower", Told: "Smaller batches or graphs; sample neighbours; or sum up in pieces of the edges."},
		halfBits, shapesOfLine),
	operationCard("spectrum", "in a Fourier transform",
		"A spectrum has as many values as its input, complex (twice the size), and overlapping windows multiply that. The whole recording or image goes in at once.",
		cause.Cure{Fix: "lower_batch_size", Title: "Cut it into pieces", Cost: "slower", Told: "Sound: pieces of 30 to 60 seconds, one at a time. Images and fields: smaller grids, or one channel after the other."},
		fewerRows, halfWeights),
	operationCard("decomposition", "in linear algebra",
		"Solving, inverting or decomposing n x n needs several matrices of that size as workspace. Twice the rows is four times the memory.",
		cause.Cure{Fix: "cpu_offload", Title: "Let the processor do this step", Cost: "slower", Told: "`.cpu()` before it and `.to(device)` after it: RAM is mostly larger."},
		cause.Cure{Fix: "lower_batch_size", Title: "Compute less of it", Cost: "an approximation", Told: "`torch.svd_lowrank` or `torch.lobpcg` where the leading part is enough; `solve` instead of an inverse; one matrix of a batch at a time."},
		shapesOfLine),
	operationCard("sorting", "as it sorted or searched a tensor",
		"The result has the values and an index of 8 bytes for each, beside a copy to work on: several times the input.",
		inPieces, fewerRows, shapesOfLine),
	operationCard("moving", "as data was put on the card",
		"Nothing was computed yet in that line: it only moves data. A whole data set, or everything that a loop has collected, does not belong there at once.",
		cause.Cure{Fix: "stream_dataset", Title: "Keep the data in RAM and move a batch at a time", Cost: "hardly slower", Kind: "python", Text: "for x, y in loader:          # a DataLoader over data that stays in RAM\n    x, y = x.to(device), y.to(device)"},
		fewerRows, halfWeights),
	operationCard("extension", "in compiled code of a library",
		"The call goes into compiled code, which asks for room by what it is given: the number of points, boxes, voxels or pixels.",
		cause.Cure{Fix: "lower_batch_size", Title: "Give that call less", Cost: "less detail, or slower", Told: "Fewer or coarser points, a lower resolution or level, one sample at a time."},
		shapesOfLine, halfWeights),
}

// onlyIf is a cure with a condition.
func onlyIf(holds func(*ledger.Case) bool, cure cause.Cure) cause.Cure {
	cure.If = holds
	return cure
}

// operationCard is about one operation on a card that is this program's own.
func operationCard(id operation.ID, where, means string, list ...cause.Cure) cause.Card {
	return cause.Card{
		ID: "pytorch/" + string(id), Kinds: refused, Among: ownDoing,
		If:       when.All(onOneCard, ownCard, operation.Is(id), when.Not(when.Any(cures.Loading, otherLibrary, ledger.AbsurdSize, cures.LateStep, inApp))),
		Headline: "ran out of memory " + where,
		Means:    means + "[[ {mine} of {total} is this program's own.]]",
		Not:      "{settings}.",
		Later:    cures.Kept, Cures: append([]cause.Cure{evaluateFreely}, list...), Figures: recording,
		Sources: []string{allocatorSource, memoryFAQ},
	}
}

// evaluateFreely is for an evaluation that nothing shows to be free of gradients.
var evaluateFreely = cause.Cure{
	Fix: "inference_mode", If: evaluating, Title: "No gradients in the evaluation, and a batch size of its own", Cost: "none",
	Told: "Without `torch.no_grad()` each pass keeps what training keeps, beside what training left; `model.eval()` alone does not change that. The validation loader takes its own, smaller `batch_size`.",
	Kind: "python", Text: "with torch.no_grad():   # around the loop of the evaluation\n    ...",
}

// manySamples: the log states a batch of several.
func manySamples(c *ledger.Case) bool { return cures.Batch(c)["batch"] != "" }

// evaluating: a function of the reader's own that evaluates is at work, and no
// frame turns gradients off.
func evaluating(c *ledger.Case) bool {
	found := false
	for _, f := range ledger.Trace(c) {
		if strings.Contains(f.Function, "decorate_context") || strings.Contains(f.Source, "no_grad") || strings.Contains(f.Source, "inference_mode") {
			return false
		}
		if f.Own && slices.ContainsFunc([]string{"train", "update", "learn", "fit", "optimi"}, func(word string) bool { return strings.HasPrefix(f.Function, word) }) {
			return false // a part of training is called so
		}
		found = found || f.Own && slices.Contains([]string{"evaluate", "eval", "validate", "validation", "val", "valid", "test", "eval_epoch", "val_epoch", "test_epoch", "validate_epoch"}, f.Function)
	}
	return found
}

// recording is scene with what a function that works in place says of gradients.
func recording(c *ledger.Case) map[string]string {
	figures := cures.Scene(c)
	figures["recording"], figures["times"] = "", ""
	if room := c.Total.Bytes - c.Mine.Bytes; room > 0 && cures.HalfTooLarge(c) {
		figures["times"] = strconv.FormatInt(ledger.CeilDiv(c.Asked.Bytes, room), 10)
	}
	for _, f := range ledger.Trace(c) {
		for _, name := range [...]string{"silu_(", "hardswish_(", "mish_("} {
			if strings.Contains(f.Source, name) {
				figures["recording"] = "`" + strings.TrimSuffix(name, "(") + "` works in place and wants room only where gradients are recorded: this is training, or use without `torch.no_grad()`."
			}
		}
	}
	return figures
}

// inApp: the reader started a program whose code is not theirs to change.
func inApp(c *ledger.Case) bool {
	return c.Reader.Edits != "code" && c.Reader.Edits != "" && c.Reader.Edits != "unknown"
}
