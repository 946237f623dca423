package ram

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// pinned is about memory of the computer that the driver refused in its own
// words.
var pinned = cause.Card{
	ID: "pytorch/pinned-host", Kinds: []fact.Kind{fact.CUDAError}, If: Pins,
	Cause: cause.HostMemory, Weight: cause.Strong,
	Headline: "ran out of pinned system memory (RAM), not GPU memory",
	Means:    "The failing line asks for pinned memory: RAM that cannot be swapped out. The CUDA driver hands it out, so the error looks like a GPU error. Either too little RAM was free, or a limit on pinned memory was reached: WSL allows about half of the RAM, containers may set one.",
	Not:      "`PYTORCH_CUDA_ALLOC_CONF`, or closing other GPU programs: RAM is what ran out.",
	Cures: []cause.Cure{
		{Fix: "lower_num_workers", If: deepspeed, Title: "Turn off pinned memory in the DeepSpeed config", Told: "Change whichever of the two you have. The offloaded data must still fit into RAM (about 16 bytes per parameter with Adam).", Kind: "config", Text: "\"offload_optimizer\": {\"device\": \"cpu\", \"pin_memory\": false},\n\"offload_param\": {\"device\": \"cpu\", \"pin_memory\": false}", Cost: "slower transfers"},
		{Fix: "lower_num_workers", If: when.Not(deepspeed), Title: "Turn off pinned memory (pin_memory=False)", Told: "Set it in that call (remove `.pin_memory()`), or use your program's option.", Cost: "slower transfers"},
		{Fix: "close_other_apps", Title: "Check free RAM, and close other programs", Told: "Pinned memory needs free RAM; swap does not count.", Kind: "shell", Text: "free -h; ulimit -l", Cost: "free"},
		{Fix: "raise_memory_limit", Title: "Raise the limit on pinned memory", Told: "WSL: set `memory=` in .wslconfig, then run `wsl --shutdown`. Docker: add to `docker run`:", Kind: "config", Text: "--ulimit memlock=-1 --ipc=host", Cost: "less for the rest of the machine"},
	},
	Sources: []string{"pytorch/aten/src/ATen/cuda/CachingHostAllocator.cpp", "DeepSpeed/deepspeed/runtime/zero/offload_config.py", "https://docs.nvidia.com/cuda/wsl-user-guide/index.html"},
}

// deepspeed offloads by a file of its own (deepspeed/runtime/zero/offload_config.py).
func deepspeed(c *ledger.Case) bool { return c.In("deepspeed") }

// Pins: the innermost frame before a driver's refusal asks for pinned
// memory.
func Pins(c *ledger.Case) bool {
	var last *fact.Code
	for i := range c.Facts.Code {
		if x := &c.Facts.Code[i]; x.Line < c.Failure.Line && c.Failure.Line-x.Line <= 4 {
			last = x
		}
	}
	return last != nil && (strings.Contains(last.Source, "pin_memory=True") || strings.Contains(last.Source, ".pin_memory()") || strings.Contains(last.Source, "cudaHostRegister("))
}
