package rest

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
)

// CachedSlack is about messages of before 2020 with more unused than was asked for.
var CachedSlack = cause.Card{
	ID: "pytorch/cached-slack", Kinds: []fact.Kind{fact.TorchAlloc}, If: func(c *ledger.Case) bool {
		return ledger.Before2020(c) && cures.OwnCard(c) && ledger.FillsCard(c) && c.Slack.Bytes > c.Asked.Bytes && !c.In("comfyui", "a1111")
	},
	Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "ran out of memory: this program fills the GPU",
	Means:    "This PyTorch is older than 1.4 (the message says \"cached\"). {slack} of its reserve is unused but fragmented; the rest is in use. Usually the batch or one sample is too large. After many steps, stored tensors are another reason.",
	Not:      "`PYTORCH_CUDA_ALLOC_CONF`: your PyTorch does not read it (releases from 1.10 on do).",
	Later:    "If it fails again only after many steps: use `total += loss.item()`, and evaluate under `torch.no_grad()`.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Lower the batch size or the input size", Ways: []cause.Way{{For: fix.Training, Text: "half the batch, and `optimizer.step()` only every second time (nearly the same result)"}, {For: "Text", Text: "cut samples at 128 or 256 tokens (BERT and RoBERTa: `max_seq_length`); one long sample pads the whole batch"}, {For: "Pictures", Text: "half the width and height"}, {For: fix.Using, Text: "`with torch.no_grad():` around it (free)"}}, Cost: "Slower."},
		{Fix: "mixed_precision", Title: "Update PyTorch and use mixed precision", Told: "From 1.6 on `torch.cuda.amp.autocast()` with a `GradScaler` saves up to half of the activations. Use a release that still supports the card.", Cost: "The code may need changes."},
		{Fix: "gradient_checkpointing", If: func(c *ledger.Case) bool { return fix.Way(c, fix.Training) }, Title: "Turn on gradient checkpointing", Told: "In `forward()`, call the large layers through `torch.utils.checkpoint.checkpoint(layer, x)` (PyTorch 0.4 and later).", Cost: "About 30 % more time per step."},
	},
	Sources: []string{"pytorch/c10/cuda/CUDACachingAllocator.cpp", "https://github.com/UKPLab/sentence-transformers/issues/57", cures.CudaNotes},
}
