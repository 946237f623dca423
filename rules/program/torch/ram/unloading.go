package ram

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Unloading is about weights on their way off the card, which need RAM of the
// kind that the driver hands out; cures are those of a program.
func Unloading(id string, cures ...cause.Cure) cause.Card {
	return cause.Card{
		ID: id, Kinds: []fact.Kind{fact.CUDAError}, If: Unloads, Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of pinned system memory (RAM) while moving weights off the GPU",
		Means:    "The failing line copies weights from the GPU to RAM (`non_blocking=True`), for which PyTorch uses pinned RAM. The CUDA driver hands that out, so the error looks like a GPU error. Only part of the RAM can be pinned, on Windows and WSL about half.",
		Not:      "Swapping more blocks: that takes more of this RAM. A smaller batch: it saves GPU memory only.",
		Cures: append(cures,
			cause.Cure{Fix: "raise_memory_limit", Title: "Give it more RAM, close other programs", Ways: []cause.Way{
				{For: "WSL", Text: "set `memory=` under `[wsl2]` in `%UserProfile%\\.wslconfig` (default: half of the RAM), then `wsl --shutdown`"},
				{For: "Docker, a rented pod", Text: "a higher memory limit"},
				{For: "Windows", Text: "close browsers and other AI programs. Task Manager, Performance, GPU: \"Shared GPU memory\" at its limit confirms the cause"},
			}, Cost: "Free, or a restart."},
		),
		Sources: []string{"pytorch/aten/src/ATen/native/TensorConversions.cpp", "pytorch/aten/src/ATen/cuda/CachingHostAllocator.cpp", "https://docs.nvidia.com/cuda/wsl-user-guide/index.html"},
	}
}

// unloading is for programs of which no more is known.
var unloading = Unloading("pytorch/unloading", cause.Cure{
	Fix: "cpu_offload", Title: "Offload less, or copy without pinned memory", Told: "First try your program's own setting: fewer blocks to swap, or 8-bit weights. In code, a blocking copy needs no pinned RAM:", Kind: "python", Text: "block.to(\"cpu\")   # in place of block.to(\"cpu\", non_blocking=True)", Cost: "Slower copies, or more VRAM.",
})

// Unloads: the innermost line outside PyTorch copies from the card to RAM without
// waiting, for which PyTorch pins the RAM.
func Unloads(c *ledger.Case) bool {
	var line, caller string
	for _, x := range ledger.Trace(c) {
		if !strings.Contains(x.File, "torch/nn/") {
			caller, line = line, x.Source
		}
	}
	if !strings.Contains(line, "non_blocking=True") {
		return false
	}
	return toRAM(line) || strings.Contains(line, ".to(device,") && toRAM(caller)
}

func toRAM(line string) bool {
	return strings.Contains(line, `"cpu"`) || strings.Contains(line, `'cpu'`) || strings.Contains(line, "offload_device")
}
