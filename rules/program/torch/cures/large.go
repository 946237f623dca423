package cures

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// LargeModel is for a card of a size on which large models are trained, filled
// before a small piece was refused.
var LargeModel = cause.Cure{
	Fix: "shard_training", If: lastStraw, Title: "If you train a large model: gradient checkpointing and sharding", Cost: "slower steps",
	Told: "Turn on gradient checkpointing for the whole network, and shard its state over the GPUs (ZeRO-2 or 3 or FSDP). Or train a LoRA, or use 8-bit Adam. Keep frozen parts (encoders, a VAE) in 16 bit, or compute their outputs beforehand.",
}

// lastStraw: the piece is less than a hundredth of what the program holds on a
// card of more than 30 GiB.
func lastStraw(c *ledger.Case) bool {
	return c.Asked.Bytes*100 < c.Mine.Bytes && c.Total.Bytes > 30*units.GiB && ledger.FillsCard(c) && c.Phase != "inference" && !Validating(c)
}

// sinceAmpere: cards of NVIDIA with 40 and with 80 GB and more compute in
// bfloat16; of those with 48 there is one that does not (Quadro RTX 8000).
func sinceAmpere(c *ledger.Case) bool {
	gib := c.Total.Bytes / units.GiB
	return c.Backend == "cuda" && (gib >= 38 && gib <= 41 || gib > 60)
}

// Decides says what a layer's output follows from.
func Decides(c *ledger.Case) string {
	if lastStraw(c) {
		return "But " + c.Asked.String() + " is little beside the " + c.Mine.String() + " already in use: the last straw. In training a large model, most of that is weights, gradients, optimizer state and other layers' activations."
	}
	return "So the batch size and the size of a sample decide, hardly the weights."
}

// Imagery: pictures or volumes go through the network, as far as its layers tell.
func Imagery(c *ledger.Case) bool {
	if slices.ContainsFunc([]string{"points", "coords", "xyz", "rays", "pts"}, func(word string) bool {
		return slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool { return f.Own && strings.Contains(f.Source, word) })
	}) {
		return false // a network over points
	}
	return c.Reader.Work == "vision" || strings.HasSuffix(c.Reader.Work, "-generation") && c.Reader.Work != "text-generation" || slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool {
		return strings.Contains(f.Source, "conv2d") || strings.Contains(f.Source, "conv3d") || strings.Contains(f.Source, "conv_transpose") || strings.Contains(f.Source, "interpolate") || strings.Contains(f.Source, "upsample") || strings.Contains(f.Source, "pool") || f.Function == "_conv_forward" || strings.Contains(f.File, "torch/nn/modules/conv.py")
	})
}

// SingleTensor: the failing line is of the path that foreach=False takes
// (_single_tensor_adam in torch/optim/adam.py).
func SingleTensor(c *ledger.Case) bool {
	return c.Near("denom = (exp_avg_sq.sqrt()", "denom = exp_avg_sq.sqrt()")
}
