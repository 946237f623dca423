package ram

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// pinned is about memory of the computer that the driver refused in its own
// words.
var pinned = cause.Card{
	ID: "pytorch/pinned-host", Kinds: []fact.Kind{fact.CUDAError}, If: pinsAtFailure,
	Cause: cause.HostMemory, Weight: cause.Strong,
	Headline: "was refused pinned system memory, not the card's",
	Means:    "The line that failed asks for pinned memory: RAM that cannot be swapped out, which the CUDA driver hands out, so that its refusal reads like one of the card. Free RAM was too little for it, or what may be pinned is limited: containers, WSL (about half of the RAM), `ulimit -l`. The card may be nearly empty.",
	Not:      "A smaller batch on the card, `PYTORCH_CUDA_ALLOC_CONF`, other programs on the card.",
	Cures: []cause.Cure{
		{Fix: "lower_num_workers", Title: "Without pinning, where it can be turned off", Told: "`pin_memory=False` in that call, or the program's option for it; transfers are a little slower.", Cost: "slower transfers"},
		{Fix: "close_other_apps", Title: "See what RAM is free", Told: "While it runs; what is pinned has to be free RAM, swap does not count. Fewer experts or layers in RAM need less.", Kind: "shell", Text: "free -h; ulimit -l", Cost: "free"},
		{Fix: "raise_memory_limit", Title: "Lift the limits", Told: "Added to `docker run`; under WSL `memory=` in .wslconfig, and `wsl --shutdown`.", Kind: "config", Text: "--ulimit memlock=-1 --ipc=host", Cost: "less for the rest of the machine"},
	},
	Sources: []string{"pytorch/aten/src/ATen/cuda/CachingHostAllocator.cpp", "https://docs.nvidia.com/cuda/wsl-user-guide/index.html"},
}

// pinsAtFailure: the innermost frame before a driver's refusal asks for pinned
// memory.
func pinsAtFailure(c *ledger.Case) bool {
	var last *fact.Code
	for i := range c.Facts.Code {
		if x := &c.Facts.Code[i]; x.Line < c.Failure.Line && c.Failure.Line-x.Line <= 4 {
			last = x
		}
	}
	return last != nil && (strings.Contains(last.Source, "pin_memory=True") || strings.Contains(last.Source, ".pin_memory()") || strings.Contains(last.Source, "cudaHostRegister("))
}
