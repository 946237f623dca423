package vllm

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/server/stage"
	"github.com/oomdoc/oomdoc/rules/when"
)

// heldNothing: not a tensor was there, and what was refused is a small part of the
// card.
func heldNothing(c *ledger.Case) bool {
	return c.Mine.Has() && c.Mine.Bytes == 0 && c.Total.Has() && c.Asked.Has() && c.Asked.Bytes*3 < c.Total.Bytes && !c.Free.Has()
}

// device is what PyTorch calls the card.
func device(c *ledger.Case) map[string]string {
	out := map[string]string{"device": "cuda"}
	if c.Backend == "xpu" || c.Backend == "npu" {
		out["device"] = c.Backend
	}
	return out
}

// refusedFirst are about a card that refused its first tensor.
var refusedFirst = []cause.Card{{
	ID: "vllm/first-tensor", Kinds: onCard, If: when.All(stage.OnCard, heldNothing), Figures: device,
	Cause: cause.Unknown, Weight: cause.Strong, Headline: "could not get its first {asked} of a GPU with {total}",
	Means: "vLLM holds nothing on this GPU yet, so the model's size is hardly the cause. Either something else uses the GPU, or its driver limits the size of one allocation. The latter is known from Intel GPUs under WSL.",
	Not:   "`--gpu-memory-utilization` or `--max-model-len`: nothing was loaded yet.",
	Cures: []cause.Cure{
		{Fix: "restart_session", Title: "Find the largest allocation that works", Told: "Run this in the same container. If it stops at 1, the driver or the container is at fault. If it stops near {asked}, that is the limit of one allocation. If it reaches 8192, something held the GPU for a while.", Kind: "python", Text: "import torch\nfor mib in (1, 256, 512, 900, 1100, 2048, 4096, 8192):\n    torch.empty(mib << 20, dtype=torch.uint8, device=\"{device}\")\n    print(mib)", Cost: "a minute"},
		{Fix: "kill_stale_process", Title: "See what else uses the GPU", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
		{Fix: "upgrade_version", Title: "If one allocation is limited, change the driver or leave WSL", Told: "Use the driver version that belongs to your image, and Linux itself instead of WSL.", Cost: "half an hour"},
	},
	Sources: []string{"https://github.com/intel/ipex-llm/issues/12584", "https://github.com/intel/intel-extension-for-pytorch/issues/325", "https://github.com/intel/intel-extension-for-pytorch/issues/846"},
}}
