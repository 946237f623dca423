package trainer

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/torch/operation"
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
	Fix: "mixed_precision", Title: "Turn on mixed precision (16 bit)", Told: "Activations take about half; use `\"bf16-mixed\"` on RTX 30 and later, `precision=16` before Lightning 2.0.",
	Kind: "python", Text: "trainer = Trainer(precision=\"16-mixed\")   # with your other arguments", Cost: "None, as a rule.",
}

// generatingWords are frames in which text is generated.
var generatingWords = []string{"in beam_search", "in _beam_search", "in greedy_search", "in beam_sample", "generation_utils.py", "generation/utils.py"}

func generates(c *ledger.Case) bool { return c.Near(generatingWords...) }

var lightningCards = []cause.Card{
	{
		ID: "lightning/sanity-check", Kinds: refused, Said: []string{"run_sanity_check", "Sanity Checking", "Validation sanity check"}, Unsaid: generatingWords, If: ownCard,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory in the sanity check, before the first training step",
		Means:    "Lightning runs two validation batches before training. Training usually needs more still, for gradients and optimizer. Often validation uses larger images or a larger batch, or the model in 32 bit is too large by itself.[[ This process holds {mine} of {total}.]]",
		Not:      "`num_sanity_val_steps=0`: it only moves the failure to the first real validation.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the validation batch size", Kind: "python", Text: "def val_dataloader(self):\n    return DataLoader(self.val_set, batch_size=1, num_workers=2)", Cost: "A little time."},
			halfOfLightning,
			{Fix: "lower_resolution", Title: "Shrink the validation inputs", Told: "Half the width and height, or half the length, in the transforms of the validation set.", Cost: "Metrics of smaller inputs."},
		},
		Sources: []string{"pytorch-lightning/src/lightning/pytorch/trainer/trainer.py"},
	},
	{
		ID: "lightning/validation-generates", Kinds: refused, Said: []string{"run_sanity_check", "in validation_step", "evaluation_loop.py", "in _generative_step", "in run_evaluation", "in test_step"}, If: when.All(ownCard, generates),
		Cause: cause.BatchTooLarge, Weight: cause.Decisive,
		Headline: "ran out of memory in validation, while it generated text",
		Means:    "Validation generates text here, token by token. Each beam of each sample keeps its own KV cache, so memory grows with evaluation batch x beams x length, whatever the training batch is.[[ This process holds {mine} of {total}.]]",
		Not:      "`num_sanity_val_steps=0`: it only moves the failure to the first real validation. Gradient checkpointing: nothing is trained here.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the evaluation batch size and the number of beams", Cost: "slower validation, slightly lower scores", Ways: []cause.Way{{For: "seq2seq example of transformers", Text: "`--eval_batch_size 4 --eval_beams 2`"}, {For: "Code of your own", Text: "`batch_size=4` in `val_dataloader`, `num_beams=1` in the call of `generate`; all beams in the final test only."}}},
			{Fix: "lower_context", Title: "Shorten sources and targets in validation", Cost: "what is cut is not scored", Told: "Half the length is half of the cache. In the seq2seq example of transformers: `--max_source_length 512 --val_max_target_length 64`."},
			halfOfLightning,
		},
		Sources: []string{"transformers/examples/legacy/seq2seq/finetune.py", "transformers/src/transformers/generation/utils.py", "pytorch-lightning/src/lightning/pytorch/trainer/trainer.py"},
	},
	{
		ID: "lightning/validation-outputs", Kinds: refused, Said: []string{"in validation_step", "validation_epoch_end", "on_validation_epoch_end", "validation_step_outputs", "evaluation_loop.py"}, Unsaid: generatingWords, If: ownCard,
		Cause: cause.RetainedMemory, Weight: cause.Good,
		Headline: "ran out of memory in validation",
		Means:    "Two reasons are usual. A larger validation batch or larger images: then it fails at the first batch. Or tensors that `validation_step` returns or appends stay on the card until the epoch ends: then memory grows from batch to batch.",
		Not:      "Another `torch.no_grad()`: the loop has it.",
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", Title: "Log numbers, keep no tensors on the card", Kind: "python", Text: "def validation_step(self, batch, batch_idx):\n    loss = self(batch)   # as in yours\n    self.log(\"val_loss\", loss)   # and append .cpu() of what is needed later", Cost: "None."},
			{Fix: "lower_batch_size", Title: "Lower the batch size of validation", Kind: "python", Text: "def val_dataloader(self):\n    return DataLoader(self.val_set, batch_size=1, num_workers=2)", Cost: "A little time."},
			halfOfLightning,
		},
		Sources: []string{"pytorch-lightning/src/lightning/pytorch/loops/evaluation_loop.py"},
	},
	{
		ID: "lightning/train-step", Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"training"}, Said: []string{"in training_step", "optimizer_closure", "_run_optimization", "training_epoch_loop.py"}, If: when.All(ownCard, when.Not(operation.Apart)),
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory in a training step",
		Means:    "Activations of the batch did not fit beside weights, gradients and optimizer.[[ This process holds {mine} of {total}.]] If it fails at the first step, batch and model are too large; after many steps, one large sample, or outputs or losses that a list keeps.",
		Not:      "More devices with strategy ddp: each holds a whole copy and the same batch.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch size, double the accumulation", Told: "Halve `batch_size` in your DataLoader and double the accumulation:", Kind: "python", Text: "trainer = Trainer(accumulate_grad_batches=2)   # twice what it is now", Cost: "Slower; nearly the same result."},
			halfOfLightning,
			{Fix: "shard_training", Title: "Shard the model over several cards (FSDP)", If: func(c *ledger.Case) bool { return c.Reader.Cards != 1 }, Kind: "python", Text: "trainer = Trainer(strategy=\"fsdp\", devices=4)   # or \"deepspeed_stage_2\"; devices: your cards", Cost: "Communication between the cards."},
		},
		Sources: []string{"pytorch-lightning/src/lightning/pytorch/trainer/trainer.py"},
	},
}
