package vllm

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/server/stage"
	"github.com/oomdoc/oomdoc/rules/when"
)

// nominal: an NVIDIA card shows the size that it is sold with, as under WSL and
// Windows; Linux' own driver shows less.
func nominal(c *ledger.Case) bool {
	f := c.F()
	return c.Backend == "cuda" && f.Total != nil && f.Total.Bytes > 0 && f.Total.Bytes%units.GiB == 0
}

// refusedRoomy is about a request that the card had room for.
var refusedRoomy = cause.Card{
	ID: "vllm/refused-though-free", Kinds: onCard, If: when.All(stage.OnCard, ledger.Roomy, nominal), Unsaid: []string{"cuMemMap", "cumem"},
	Among:    []string{cause.Unknown, cause.HostMemory, cause.SoftwareBug, cause.BudgetMisconfigured, cause.ModelTooLarge, cause.LeakedProcess, cause.BatchTooLarge, cause.ContextTooLong, cause.DeviceImbalance, cause.RetainedMemory},
	Headline: "was refused {asked} although {free} of GPU memory was free",
	Means:    "The GPU was not full when the message was written, so something else is the limit. A total of exactly {total} suggests Windows or WSL, where GPU memory also counts against RAM plus page file. Other causes: a container's memory limit, or a process that filled the GPU for a moment.",
	Not:      "Only lowering `--max-model-len` or `--gpu-memory-utilization`: the GPU had room.",
	Cures: []cause.Cure{
		{Fix: "raise_pagefile", Title: "WSL, Windows: give it more RAM and swap", Told: "In `C:\\Users\\YOU\\.wslconfig` (YOU: your Windows name), adjusted to your RAM; the default is half. Then run `wsl --shutdown`. On Windows itself, enlarge the page file.", Kind: "config", Text: "[wsl2]\nmemory=24GB\nswap=32GB", Cost: "RAM and disk"},
		{Fix: "raise_memory_limit", Title: "In a container, raise its limits", Told: "`docker run --ipc=host --ulimit memlock=-1`, with a higher `--memory` or none. `free -h` in it shows what is left.", Cost: "free"},
		{Fix: "restart_session", Title: "Restart, and watch the GPU meanwhile", Told: "If it fills up just before the failure, another process is the cause: end it.", Kind: "shell", Text: "nvidia-smi -l 1", Cost: "free"},
	},
	Sources: []string{"https://learn.microsoft.com/en-us/windows/wsl/wsl-config", "https://docs.nvidia.com/cuda/wsl-user-guide/index.html", "https://docs.vllm.ai/en/latest/deployment/docker.html"},
}
