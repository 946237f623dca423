package trainer

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/torch/operation"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Lightning runs loops that its users fill.
var Lightning = program.Program{
	Name: "lightning", Rank: 85, Shown: "Lightning",
	Edits: "code", Language: "python", Script: "lightning-script",
	Cards:  lightningCards,
	Proofs: []string{"-packages/lightning/", "-packages/pytorch_lightning/"},
}

// halfOfLightning is the setting of Lightning's Trainer for 16 bit.
var halfOfLightning = cause.Cure{
	Fix: "mixed_precision", Title: "Turn on mixed precision (16 bit)", Told: "Use `\"bf16-mixed\"` on RTX 30 and later, and `precision=16` before Lightning 2.0. It halves most activations.",
	Kind: "python", Text: "trainer = Trainer(precision=\"16-mixed\")   # with your other arguments", Cost: "Usually no loss of quality.",
}

// generatingWords are frames in which text is generated.
var generatingWords = []string{"in beam_search", "in _beam_search", "in greedy_search", "in beam_sample", "generation_utils.py", "generation/utils.py"}

func generates(c *ledger.Case) bool { return c.Near(generatingWords...) }

var lightningCards = []cause.Card{
	{
		ID: "lightning/sanity-check", Kinds: parts.Refused, Said: []string{"run_sanity_check", "Sanity Checking", "Validation sanity check"}, Unsaid: generatingWords, If: parts.Own,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory in the sanity check, before the first training step",
		Means:    "Lightning runs a few validation batches before training. Often validation uses larger images or a larger batch than training, or the model in 32 bit is too large by itself. Training usually needs even more, for gradients and optimizer state.",
		Not:      "`num_sanity_val_steps=0`: it only delays the failure to the first real validation.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the validation batch size", Kind: "python", Text: "def val_dataloader(self):\n    return DataLoader(self.val_set, batch_size=1, num_workers=2)", Cost: "A little time."},
			halfOfLightning,
			{Fix: "lower_resolution", Title: "Shrink the validation inputs", Told: "Halve the width and height, or the length, in the validation set's transforms.", Cost: "Metrics are on smaller inputs."},
		},
		Sources: []string{"pytorch-lightning/src/lightning/pytorch/trainer/trainer.py"},
	},
	{
		ID: "lightning/validation-generates", Kinds: parts.Refused, Said: []string{"run_sanity_check", "in validation_step", "evaluation_loop.py", "in _generative_step", "in run_evaluation", "in test_step"}, If: when.All(parts.Own, generates),
		Cause: cause.BatchTooLarge, Weight: cause.Decisive,
		Headline: "ran out of memory in validation, while generating text",
		Means:    "Validation generates text here. Each beam of each sample keeps its own KV cache, so memory grows with evaluation batch size x beams x length. The training batch size does not matter.",
		Not:      "`num_sanity_val_steps=0`: it only delays the failure to the first real validation. Gradient checkpointing: validation does not use it.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the evaluation batch size and the number of beams", Cost: "slower validation, slightly lower scores", Ways: []cause.Way{{For: "transformers' seq2seq example", Text: "`--eval_batch_size 4 --eval_beams 2`"}, {For: "Your own code", Text: "`batch_size=4` in `val_dataloader` and `num_beams=1` in the `generate` call; use all beams only in the final test."}}},
			{Fix: "lower_context", Title: "Shorten sources and targets in validation", Cost: "cut text is not scored", Told: "Half the length halves the KV cache. transformers' seq2seq example: `--max_source_length 512 --val_max_target_length 64`."},
			halfOfLightning,
		},
		Sources: []string{"transformers/examples/legacy/seq2seq/finetune.py", "transformers/src/transformers/generation/utils.py", "pytorch-lightning/src/lightning/pytorch/trainer/trainer.py"},
	},
	{
		ID: "lightning/validation-outputs", Kinds: parts.Refused, Said: []string{"in validation_step", "validation_epoch_end", "on_validation_epoch_end", "validation_step_outputs", "evaluation_loop.py"}, Unsaid: generatingWords, If: parts.Own,
		Cause: cause.RetainedMemory, Weight: cause.Good,
		Headline: "ran out of memory in validation",
		Means:    "If it fails at the first validation batch, that batch or its images are too large. If memory grows from batch to batch, tensors that `validation_step` returns or appends stay on the GPU until the epoch ends.",
		Not:      "Another `torch.no_grad()`: Lightning's loop already has it.",
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", Title: "Log numbers, keep no tensors on the GPU", Kind: "python", Text: "def validation_step(self, batch, batch_idx):\n    loss = self(batch)   # as in yours\n    self.log(\"val_loss\", loss)   # append .cpu() of what you need later; return nothing", Cost: "None."},
			{Fix: "lower_batch_size", Title: "Lower the validation batch size", Kind: "python", Text: "def val_dataloader(self):\n    return DataLoader(self.val_set, batch_size=1, num_workers=2)", Cost: "A little time."},
			halfOfLightning,
		},
		Sources: []string{"pytorch-lightning/src/lightning/pytorch/loops/evaluation_loop.py"},
	},
	{
		ID: "lightning/train-step", Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"training"}, Said: []string{"in training_step", "optimizer_closure", "_run_optimization", "training_epoch_loop.py"}, If: when.All(parts.Own, when.Not(operation.Apart)),
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory in a training step",
		Means:    "The batch did not fit beside weights, gradients and optimizer state. If it fails at the first step, batch or model are too large. If it fails after many steps, look for one very large sample, or outputs and losses kept in a list.",
		Not:      "More GPUs with `strategy=\"ddp\"`: each holds the whole model and the same batch.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch size, double gradient accumulation", Told: "Halve `batch_size` in your DataLoader, and:", Kind: "python", Text: "trainer = Trainer(accumulate_grad_batches=2)   # twice what it is now", Cost: "Slower; nearly the same result."},
			halfOfLightning,
			{Fix: "shard_training", Title: "Shard the model over several GPUs (FSDP)", If: func(c *ledger.Case) bool { return c.Reader.Cards != 1 }, Kind: "python", Text: "trainer = Trainer(strategy=\"fsdp\", devices=4)   # or \"deepspeed_stage_2\"; devices: your GPUs", Cost: "Communication between the GPUs."},
		},
		Sources: []string{"pytorch-lightning/src/lightning/pytorch/trainer/trainer.py"},
	},
}
