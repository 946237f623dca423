package rest

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
)

// Gaudi is PyTorch on Intel's accelerators, whose bridge refuses in words of its own.
var Gaudi = program.Program{
	Name: "gaudi", Shown: "PyTorch on Gaudi", Work: "text-inference", Edits: "code", Language: "python",
	Commands: []string{"hl-smi"},
	Proofs:   []string{"MODULE:PT_DEVMEM", "habana_frameworks/torch/", "optimum/habana/"},
	Cards: []cause.Card{gaudiServed, {
		ID: "gaudi/card", Kinds: []fact.Kind{fact.PlainDevice, fact.DeviceAlloc, fact.PlainMemory}, Said: []string{"PT_DEVMEM"}, If: func(c *ledger.Case) bool { return !c.In("vllm-gaudi") && !servesGaudi(c) },
		Among: own, Headline: "ran out of the accelerator's memory[[: {asked} was refused]]",
		Means: "A Gaudi has 32 GB, a Gaudi 2 96 GB and a Gaudi 3 128 GB. The message does not say how much was in use, nor by whom. In lazy mode everything between two `mark_step` calls stays in memory until the graph has run.",
		Not:   "`PYTORCH_CUDA_ALLOC_CONF` or `nvidia-smi`: this is not an NVIDIA GPU.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch size, or the sequence length", Told: "Use the script's own option. In training, gradient accumulation keeps the effective batch size.", Cost: "slower"},
			{Fix: "mixed_precision", Title: "Compute in bfloat16", Told: "If it runs in 32 bit now. In training turn on gradient checkpointing as well.", Kind: "python", Text: "with torch.autocast(device_type=\"hpu\", dtype=torch.bfloat16):\n    loss = model(**batch).loss   # your own call", Cost: "hardly any accuracy"},
			{Fix: "kill_stale_process", Title: "Check whether the accelerator was free", Told: "It lists each card with its processes. End an earlier run of yours.", Kind: "shell", Text: "hl-smi", Cost: "free"},
		},
		Sources: []string{"habana_frameworks/torch/core", "https://docs.habana.ai/en/latest/PyTorch/Getting_Started_with_PyTorch_and_Gaudi/Getting_Started_with_PyTorch.html", "accelerate/src/accelerate/utils/memory.py: should_reduce_batch_size"},
	}},
}
