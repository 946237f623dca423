package rules

import (
	"fmt"

	"github.com/oomdoc/oomdoc/parsers/fact"

	"github.com/oomdoc/oomdoc/internal/units"
)

// Clues from what the program was doing: training, evaluating, generating,
// loading.

func optimizerStep(c *Case) Finding {
	s := c.Signal("optimizer_step")
	if s == nil || !allocator(c) {
		return nothing()
	}
	weight := 0.75
	if crowded(c) {
		weight = 0.3
	}
	return seen(weight, "It failed in the optimizer: the states of Adam are made at the first step.", s.Line, c.Failure.Line)
}

func evaluationAccumulates(c *Case) Finding {
	s := c.Signal("eval_accumulate")
	if s == nil || !allocator(c) {
		return nothing()
	}
	return seen(0.85, "It failed while results of the evaluation were being collected: they are all kept on the card.", s.Line, c.Failure.Line)
}

// climbing: what the program printed of its own memory rose from step to step.
func climbing(c *Case) Finding {
	s := c.Signal("climbing")
	if s == nil || !c.Root(fact.TorchAlloc) || s.Line > c.Failure.Line || roomy(c) {
		return nothing()
	}
	return seen(0.85, "What is allocated rises from step to step although the steps are alike: something of each is kept.", s.Line, c.Failure.Line)
}

func growsAtInference(c *Case) Finding {
	if s := c.Signal("validating"); s != nil && !roomy(c) {
		return seen(0.5, "It failed in validation after training worked: graphs of the validation are kept when gradients are not switched off.", s.Line, c.Failure.Line)
	}
	if s := c.Signal("second_model"); s != nil && c.Root(fact.TorchAlloc) && c.Phase == "load" && c.Signal("notebook") != nil && !roomy(c) {
		return seen(0.85, "Another model was loaded in this notebook before, and is still held if nothing dropped it.", s.Line, c.Failure.Line)
	}
	if c.Root(fact.TorchAlloc) && c.Phase == "load" && c.Signal("notebook") != nil && !roomy(c) {
		return seen(0.35, "In a notebook the model of an earlier run may still be held.", c.Failure.Line)
	}
	if c.Root(fact.TorchAlloc) && c.Signal("inferring") != nil && !c.Training() && c.F().Requested != nil && c.F().Requested.Bytes < 256*units.MiB {
		return seen(0.3, "It failed at inference with a small request: results or gradients of earlier work may be kept.", c.Failure.Line)
	}
	return nothing()
}

func logitsUpcast(c *Case) Finding {
	s := c.Signal("logits_fp32")
	if s == nil || !allocator(c) {
		return nothing()
	}
	weight := 0.7
	if f := c.F(); c.Training() && f.Requested != nil && f.Total != nil && f.Requested.Bytes*3 > f.Total.Bytes {
		weight = 0.92 // the size of the piece is explained
	}
	return seen(weight, "It failed while the logits (tokens x vocabulary) were turned into 32-bit numbers: they grow with the length of the sequence.", s.Line, c.Failure.Line)
}

// lastFrames is how many lines above a message its innermost frames stand: a
// frame has up to three, twice as many where a blank line follows each.
const lastFrames = 14

// failedAt returns the evidence of an activity in the innermost frames of the
// traceback that ends in the failure, nil if it is not there.
func failedAt(c *Case, id string) *fact.Signal {
	for i := range c.Facts.Signals {
		if s := &c.Facts.Signals[i]; s.ID == id && s.Line <= c.Failure.Line && c.Failure.Line-s.Line <= lastFrames {
			return s
		}
	}
	return nil
}

// writesScores: the failing line multiplies queries by keys, or computes on
// their product.
func writesScores(c *Case) bool { return failedAt(c, "scores") != nil || returnsWeights(c) }

// returnsWeights: nn.MultiheadAttention was at the matrix that it returns
// unless told not to.
func returnsWeights(c *Case) bool { return failedAt(c, "mha_weights") != nil }

func attentionMatrix(c *Case) Finding {
	s := c.Signal("attention")
	if s == nil || !allocator(c) {
		return nothing()
	}
	return seen(0.35, "It failed in attention, which grows with the length of the sequence.", s.Line, c.Failure.Line)
}

// activationsFillCard: this process fills the card, and what failed is work,
// not weights.
func activationsFillCard(c *Case) Finding {
	f := c.F()
	switch {
	case c.Root(fact.CUDAHandle) && !c.Failure.Weak, c.Root(fact.NVMLAssert):
		return seen(0.45, "Most often this means a full card, and most often the work of one step filled it.", c.Failure.Line)
	case c.Root(fact.BitsAndBytes):
		return seen(0.15, "The work of one step may fill the card.", c.Failure.Line)
	case c.Root(noFigures...) && c.Training():
		return seen(0.55, "It failed in a training step, where every sample's intermediate values are kept.", c.Failure.Line)
	case c.Root(noFigures...):
		return seen(0.3, "Often the work of one step fills the card.", c.Failure.Line)
	case !allocator(c) || roomy(c) || unaccounted(c) || c.Phase == "load" || absurdSize(c):
		return nothing()
	case neverFits(c) != "":
		return seen(0.15, "A smaller step may ask for a smaller piece.", c.Failure.Line)
	case f.Limit != nil && c.Root(fact.TorchAlloc):
		return seen(0.25, "The limit is reached by this program's own work.", c.Failure.Line)
	}
	why := "This program fills the card by itself."
	if f.Free != nil && f.Total != nil && f.Free.Bytes*10 > f.Total.Bytes {
		why = "What was free did not hold what one step of the work wanted."
	}
	switch {
	case crowded(c):
		return seen(0.15, "A smaller step might fit into what the others leave.", c.Failure.Line)
	case !c.Slack.Has() && f.Free == nil && f.Limit == nil:
		return seen(0.36, "The message is cut: the batch or the length of the input may be what filled the card.", c.Failure.Line)
	case c.Training():
		return seen(0.6, why+" It failed in a training step, where every sample's intermediate values are kept.", c.Failure.Line)
	case overfull(c):
		return seen(0.42, why, c.Failure.Line)
	case f.Requested != nil && f.Requested.Bytes > 6*units.GiB/5:
		return seen(0.5, why+fmt.Sprintf(" One request of %s is the size of a step's work, not of a weight.", f.Requested.Text), c.Failure.Line)
	}
	return seen(0.45, why, c.Failure.Line)
}

// weightsFillCard: the same, where the weights are the likelier reason.
func weightsFillCard(c *Case) Finding {
	f := c.F()
	switch {
	case c.Root(fact.NVMLAssert):
		return seen(0.3, "The model may be too large for this slice of a card.", c.Failure.Line)
	case c.Root(noFigures...) && c.Phase == "load":
		return seen(0.6, "It failed while the model was being loaded.", c.Failure.Line)
	case !allocator(c) || roomy(c) || unaccounted(c) || f.Limit != nil && c.Root(fact.TorchAlloc) || neverFits(c) != "" && c.Phase != "load":
		return nothing()
	case c.Phase == "load":
		return seen(0.8, "It failed while the model was being loaded: the weights do not fit.", c.Failure.Line)
	case c.Training():
		return seen(0.2, "The weights may be most of what this program holds.", c.Failure.Line)
	}
	if crowded(c) {
		return seen(0.1, "A smaller model might fit into what the others leave.", c.Failure.Line)
	}
	if c.Root(fact.TorchAsync) && figureless(c) {
		return seen(0.3, "The model may be too large for this card: the message does not say what was held.", c.Failure.Line)
	}
	alone := "This program alone fills the card; no other is needed to explain it."
	if f.Total != nil && c.Mine.Has() {
		alone = fmt.Sprintf("This program alone fills the card (%s of %s); no other is needed to explain it.", units.Format(c.Mine.Bytes), f.Total.Text)
	}
	switch {
	case c.Root(fact.MPSAlloc):
		return weightsOnMac(c)
	case cutShort(c):
		return seen(0.3, "The weights may be most of what this program holds; the message is cut before it says.", c.Failure.Line)
	case c.Slack.Has() && c.Slack.Bytes < 64*units.MiB && f.Requested != nil && f.Requested.Bytes < units.GiB && c.Signal("layer") == nil && !(before2020(c) && f.Requested.Bytes > 256*units.MiB):
		return seen(0.5, alone+" Its pool has next to no slack, as while weights are loaded: nothing was freed yet.", c.Failure.Line)
	case !c.Slack.Has() && f.Free == nil && f.Total != nil && !figureless(c) && (f.Total.Bytes <= 12*units.GiB || c.Mine.Bytes*20 > f.Total.Bytes*19):
		return seen(0.52, alone, c.Failure.Line)
	case f.Requested != nil && f.Total != nil && f.Requested.Bytes > units.GiB && f.Requested.Bytes*10 < f.Total.Bytes:
		return seen(0.52, alone, c.Failure.Line)
	}
	return seen(0.38, alone, c.Failure.Line)
}

// weightsOnMac: the limit tells the size of the Mac (1.7 x what Metal
// recommends); 9.07 GB is an 8 GB Mac.
func weightsOnMac(c *Case) Finding {
	limit := c.F().Limit
	if limit != nil && limit.Bytes < 10*units.GiB {
		return seen(0.55, fmt.Sprintf("%s is the limit of a Mac with 8 GB or less: most models do not fit beside macOS.", limit.Text), c.Failure.Line)
	}
	return seen(0.35, "The model may be most of what this program holds.", c.Failure.Line)
}
