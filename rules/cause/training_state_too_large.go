package cause

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
)

var trainingStateTooLarge = Rule{
	ID:      TrainingStateTooLarge,
	Title:   "Optimizer and gradients do not fit beside the model",
	Settles: "Print `torch.cuda.memory_allocated()` before and after the first `optimizer.step()`.",
	Clues: []Clue{
		First(If(SmallestStep, Likely, "The batch size is 1 and gradient checkpointing is on, so weights, gradients and optimizer state fill the GPU.")),
	},
	Remedies: []Remedy{
		{Fix: "shard_training", Fit: Cures, If: Distributed},
		{Fix: "optimizer_8bit", Fit: Cures},
		{Fix: "offload_optimizer", Fit: Cures},
		{Fix: "use_lora", Fit: Helps, If: FineTunes},
		{Fix: "use_lora", Fit: LastResort},
		{Fix: "gradient_checkpointing", Fit: LastResort},
	},
}

// SmallestStep reports a training whose step is as small as it gets fills the card.
func SmallestStep(c *ledger.Case) bool {
	return c.Training() && ledger.IntSetting(c, "per_device_train_batch_size", "train_micro_batch_size_per_gpu", "batch_size") == 1 &&
		ledger.Has(c, fact.Checkpoints) && ledger.FillsCard(c) && c.Asked.Bytes*10 < c.Total.Bytes
}

// FineTunes: what is trained was trained before, so that adapters make sense.
func FineTunes(c *ledger.Case) bool { return c.Model != nil || c.In("transformers") }

// Distributed: torchrun, a rank in a prefix, or a card other than the first.
func Distributed(c *ledger.Case) bool { return c.Signal("distributed") != nil || reader.ManyGPUs(c) }
