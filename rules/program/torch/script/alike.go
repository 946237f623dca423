package script

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/when"
)

// likeness is how far apart the figures of ranks may be that hold the same.
const likeness = units.GiB / 8

// alike counts the cards on which the same piece was refused beside as much.
func alike(c *ledger.Case) int {
	own := c.F()
	if own.Allocated == nil || own.Requested == nil {
		return 0
	}
	var cards []int
	for _, x := range c.Facts.Failures {
		f := x.Figures
		if x.Kind != c.Failure.Kind || f.Device == nil || f.Allocated == nil || f.Requested == nil || slices.Contains(cards, int(f.Device.Value)) {
			continue
		}
		if ledger.Near(f.Allocated.Bytes, own.Allocated.Bytes, likeness) && f.Requested.Bytes == own.Requested.Bytes {
			cards = append(cards, int(f.Device.Value))
		}
	}
	return len(cards)
}

// whole: several cards hold the same and are full of it, without a sign of
// something that divides a model.
// A step that is under way has cards of its own.
func whole(c *ledger.Case) bool {
	step := len(ledger.Trace(c)) > 0 || cures.LateStep(c) || c.Signal("backward", "optimizer_step") != nil
	return !step && ledger.FillsCard(c) && alike(c) > 1 && !ledger.Has(c, fact.Sharded)
}

// AlikeCards are about cards of one job that hold the same.
var AlikeCards = []cause.Card{
	{
		ID: "pytorch/same-on-each", Kinds: []fact.Kind{fact.TorchAlloc}, If: when.All(whole, cures.OnOneCard, cures.OwnCard),
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory on {cards} GPUs at once, each just as full",
		Means:    "{cards} GPUs failed with nearly the same figures. Unless something already shards the model (FSDP, ZeRO-3, tensor parallelism), each GPU holds a full copy, so adding GPUs does not help.[[ {stage}]]",
		Not:      "More GPUs under DDP. {settings}.",
		Cures: []cause.Cure{
			{Fix: "shard_training", Title: "Shard the model over the GPUs", Cost: "communication between the GPUs", Told: "FSDP: `FULL_SHARD` with an auto-wrap policy. DeepSpeed: stage 3 as below (drop the offload entries if it fits without them), and create `TrainingArguments` before `from_pretrained`:", Kind: "config", Text: "\"zero_optimization\": {\"stage\": 3, \"offload_optimizer\": {\"device\": \"cpu\"}, \"offload_param\": {\"device\": \"cpu\"}}"},
			{Fix: "half_precision", Title: "Check that the weights are in 16 bit", Cost: "hardly any quality", Told: "Pass `torch_dtype=torch.bfloat16` to `from_pretrained` (float16 before RTX 30 and A100): 32 bit takes twice the memory. In training also turn on mixed precision."},
			{Fix: "lower_batch_size", Title: "If it fails in a step: lower the batch size per GPU", Cost: "slower", Told: cures.AnyWork, Ways: cures.LessAtOnce[:2]},
			cures.CheaperTraining,
			{Fix: "use_lora", Title: "Train fewer parameters", Cost: "for most purposes the same result", Told: "Train a LoRA adapter, or freeze layers: frozen parameters need no gradients and no optimizer state."},
		},
		Figures: func(c *ledger.Case) map[string]string {
			out := cures.Scene(c)
			out["cards"], out["stage"] = fmt.Sprint(alike(c)), ""
			if c.F().Requested != nil && c.Slack.Has() && c.Slack.Bytes < 64*units.MiB && !strings.Contains(c.Phase, "training") {
				out["stage"] = "PyTorch has hardly any unused memory reserved, which is typical while weights load or optimizer state is created."
			}
			return out
		},
		Sources: []string{"pytorch/torch/nn/parallel/distributed.py", "https://www.deepspeed.ai/docs/config-json/"},
	},
}
