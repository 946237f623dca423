package rest

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
)

// Gaudi is PyTorch on Intel's accelerators, whose bridge refuses in words of its own.
var Gaudi = program.Program{
	Name: "gaudi", Shown: "PyTorch on Gaudi", Work: "text-inference", Edits: "code", Language: "python",
	Commands: []string{"hl-smi"},
	Proofs:   []string{"MODULE:PT_DEVMEM", "habana_frameworks/torch/", "optimum/habana/"},
	Cards: []cause.Card{{
		ID: "gaudi/card", Kinds: []fact.Kind{fact.PlainDevice, fact.DeviceAlloc, fact.PlainMemory}, Said: []string{"PT_DEVMEM"},
		Cause: cause.BatchTooLarge, Weight: cause.Fair, Headline: "ran out of the card's memory[[: {asked} was refused]]",
		Means: "The card has 32 GB (Gaudi), 96 (Gaudi 2) or 128 (Gaudi 3); the message says neither how much was in use nor by whom. In lazy mode operations are collected into a graph until `mark_step`, and what lies between two of them stays until it has run.",
		Not:   "`PYTORCH_CUDA_ALLOC_CONF`, `nvidia-smi`: this is no card of NVIDIA's.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch size, or the length of the samples", Told: "By the script's or the benchmark's own option; accumulate gradients for the same result.", Cost: "slower"},
			{Fix: "mixed_precision", Title: "Compute in bfloat16", Told: "If it runs in 32 bit now; in training also gradient checkpointing.", Kind: "python", Text: "with torch.autocast(device_type=\"hpu\", dtype=torch.bfloat16):\n    loss = model(**batch).loss   # your own call", Cost: "hardly any accuracy"},
			{Fix: "kill_stale_process", Title: "See whether the card was free", Told: "It lists each card with its processes; end an earlier run of yours.", Kind: "shell", Text: "hl-smi", Cost: "a look is free"},
		},
		Sources: []string{"habana_frameworks/torch/core", "https://docs.habana.ai/en/latest/PyTorch/Getting_Started_with_PyTorch_and_Gaudi/Getting_Started_with_PyTorch.html", "accelerate/src/accelerate/utils/memory.py: should_reduce_batch_size"},
	}},
}
