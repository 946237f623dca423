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
	Cause: cause.Unknown, Weight: cause.Strong, Headline: "was refused its first tensor, {asked}, on a card of {total}",
	Means: "This process holds nothing of the card yet, and one tensor of {asked} was refused. So it is hardly the size of the model: something else holds the card, or its driver gives no single piece of that size, which is seen with Intel's under WSL. The first large tensor is mostly the embedding, vocabulary times width.",
	Not:   "`--gpu-memory-utilization`, `--max-model-len`: no cache was made yet.",
	Cures: []cause.Cure{
		{Fix: "restart_session", Title: "Find the size at which it stops", Told: "In the same container. If it stops at 1 already, the driver or the container is at fault; at a size near {asked}, it is a limit for one piece; if it reaches 8192, something held the card for a while.", Kind: "python", Text: "import torch\nfor mib in (1, 256, 512, 900, 1100, 2048, 4096, 8192):\n    torch.empty(mib << 20, dtype=torch.uint8, device=\"{device}\")\n    print(mib)", Cost: "a minute"},
		{Fix: "kill_stale_process", Title: "See what else holds the card", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
		{Fix: "upgrade_version", Title: "If it is a limit for one piece: another driver, and no WSL", Told: "Driver and image that belong together; Linux itself in place of WSL. Until then a model whose embedding is smaller.", Cost: "half an hour"},
	},
	Sources: []string{"https://github.com/intel/ipex-llm/issues/12584", "https://github.com/intel/intel-extension-for-pytorch/issues/325", "https://github.com/intel/intel-extension-for-pytorch/issues/846"},
}}
