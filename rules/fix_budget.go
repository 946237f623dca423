package rules

import (
	"fmt"

	"github.com/oomdoc/oomdoc/parsers/fact"

	"github.com/oomdoc/oomdoc/internal/units"
)

var raiseGpuMemoryUtilization = Fix{
	ID:    "raise_gpu_memory_utilization",
	Title: "Give the engine a larger share of the card",
	Doc: paragraphs(
		"vLLM takes a fixed share of the card (`--gpu-memory-utilization`, 0.9 by default, 0.92 in versions of 2026) and fills what the weights and the working memory leave of it with KV cache. If the cache comes out too small, or none is left, a larger share helps, as long as the card really has it.",
		"Up to 0.95 is usual on a card that nothing else uses; above, CUDA graphs and the desktop collide with it. It does not help when the weights alone exceed the card, or when another program holds memory: then the start fails because less is free than the share.",
	),
	Tradeoff: "Less reserve: a spike of a long prompt may fail later.",
	Cost:     0.05,
	Check:    "The start prints how many tokens the KV cache has; it must be above the context length.",
	Next:     "Shorten the context, or keep the cache at 8 bit.",
	Steps:    stepsVLLM("--gpu-memory-utilization 0.95"),
}

var lowerGpuMemoryUtilization = Fix{
	ID:    "lower_gpu_memory_utilization",
	Title: "Give the engine a smaller share of the card",
	Doc: paragraphs(
		"vLLM plans its memory at the start and takes the whole share. What it did not plan for then fails: CUDA graphs, NCCL, a second process, an image encoder, a sampler warm-up with many sequences. A smaller share leaves room for that.",
		"It also is the cure when the start says that less memory is free than the share asks for, if what holds the rest has to stay. It does not help when the KV cache is too small: then it makes things worse.",
	),
	Tradeoff: "A smaller KV cache: fewer requests at a time, or a shorter context.",
	Cost:     0.05,
	Check:    "The start runs through, and `nvidia-smi` shows 1 to 2 GiB free under load.",
	Next:     "If the KV cache is now too small, shorten the context or lower the number of sequences.",
	Steps:    stepsVLLM("--gpu-memory-utilization 0.8"),
}

var raiseMemFraction = Fix{
	ID:    "raise_mem_fraction",
	Title: "Raise the static memory fraction",
	Doc: paragraphs(
		"SGLang's `--mem-fraction-static` is the share of the card for weights and KV cache; the rest is for what is computed. When the start says that no memory is left for the cache, raise it in steps of 0.05.",
	),
	Tradeoff: "Less room for what is computed: long prompts may fail.",
	Cost:     0.05,
	Check:    "The start prints `max_total_num_tokens`; it must be above the context length.",
	Next:     "Shorten the context, or use a quantised model.",
	Steps: func(c *Case) []Step {
		return []Step{{Kind: "shell", Text: "python -m sglang.launch_server --model-path " + shellQuote(c.ModelName()) + " --mem-fraction-static 0.9"}}
	},
}

var lowerMemFraction = Fix{
	ID:    "lower_mem_fraction",
	Title: "Lower the static memory fraction",
	Doc: paragraphs(
		"SGLang's `--mem-fraction-static` is the share for weights and KV cache. When it fails while serving or while capturing CUDA graphs, too little was left for what is computed: lower it in steps of 0.05.",
	),
	Tradeoff: "A smaller KV cache: fewer requests at a time.",
	Cost:     0.05,
	Check:    "It survives the longest prompt you expect, with 1 to 2 GiB free in `nvidia-smi`.",
	Next:     "Lower `--chunked-prefill-size`, then the largest batch for CUDA graphs.",
	Steps: func(c *Case) []Step {
		return []Step{{Kind: "shell", Text: "python -m sglang.launch_server --model-path " + shellQuote(c.ModelName()) + " --mem-fraction-static 0.8"}}
	},
}

var raiseMemoryLimit = Fix{
	ID:    "raise_memory_limit",
	Title: "Raise the memory limit that was set",
	Doc: paragraphs(
		"A limit below what the machine has was reached: of a container (`docker run -m`, `limits.memory` in Kubernetes), of a batch job (`#SBATCH --mem`), of WSL (`.wslconfig`), or of this process on the card (`torch.cuda.set_per_process_memory_fraction`). More memory in the machine, or swap on the host, does not help then; the limit does.",
		"Raise it to what the program needs plus a quarter. If the machine does not have that much, the program has to need less.",
	),
	Tradeoff: "Less for the other programs of the machine.",
	Cost:     0.2,
	Check:    "`docker stats`, `kubectl top pod` or `sacct -o MaxRSS` stay below the new limit; for PyTorch the message no longer says `allowed`.",
	Next:     "If the need grows with the limit, something leaks: look for what grows.",
	Steps:    stepsMemoryLimit,
	Effect:   effectMemoryLimit,
}

var raiseWatermark = Fix{
	ID:    "raise_watermark",
	Title: "Raise the limit of PyTorch on a Mac (MPS watermark)",
	Doc: paragraphs(
		"PyTorch lets one process use 1.7 times what macOS recommends for the GPU. `PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0` takes the limit away. It must be set before the program starts; setting it after `import torch` does nothing.",
		"The standard limit is already more than the Mac's memory (9.07 GB on a Mac with 8, 18.13 on one with 16), so beyond it lies swapping: very slow, and it can freeze the machine. It can help for a short peak, or where a lower ratio was set.",
	),
	Tradeoff: "The Mac may swap heavily, freeze, or end programs.",
	Cost:     0.3,
	Check:    "The message no longer says `max allowed`; Activity Monitor's memory pressure stays green or yellow.",
	Next:     "Take it back, and make the work smaller: lower resolution, batch, or a smaller model.",
	Steps: func(c *Case) []Step {
		return []Step{environ(c, "PYTORCH_MPS_HIGH_WATERMARK_RATIO", "0.0")}
	},
	Useless: uselessWatermark,
}

var lowerSwapSpace = Fix{
	ID:    "lower_swap_space",
	Title: "Lower vLLM's swap space",
	Doc: paragraphs(
		"Older vLLM (its V0 engine) sets aside `--swap-space` GiB of *system* memory for each card, 4 by default, and pins it. On a machine with little RAM, or under WSL, which allows little pinned memory, that alone fails. Newer versions ignore the option or no longer have it.",
	),
	Tradeoff: "Preempted requests are computed again instead of being swapped.",
	Cost:     0.05,
	Check:    checkRAM,
	Next:     "Fewer cards in one process, or more system memory.",
	Steps:    stepsVLLM("--swap-space 1"),
}

// stepsVLLM is a vllm command with the log's model.
func stepsVLLM(flag string) func(c *Case) []Step {
	return func(c *Case) []Step {
		return []Step{{Kind: "shell", Text: "vllm serve " + shellQuote(c.ModelName()) + " " + flag}}
	}
}

func stepsMemoryLimit(c *Case) []Step {
	if limited(c) != "" || c.Root(fact.TorchAlloc, fact.TorchAsync) {
		return []Step{{Kind: "python", Text: fmt.Sprintf("torch.cuda.set_per_process_memory_fraction(1.0, %d)   # or remove the line that sets it lower", gpu(c))}}
	}
	if refusedByAllocator(c) {
		return stepsAddressSpace(c)
	}
	if c.Signal("wsl") != nil {
		return []Step{
			{Kind: "config", Text: "# C:\\Users\\YOU\\.wslconfig\n[wsl2]\nmemory=24GB\nswap=32GB"},
			{Kind: "shell", Text: "wsl --shutdown   # in PowerShell; then start WSL again"},
		}
	}
	return []Step{
		{Kind: "shell", Text: "docker run --memory=32g --memory-swap=32g IMAGE"},
		{Kind: "config", Text: "resources:\n  requests: {memory: 32Gi}\n  limits: {memory: 32Gi}"},
		{Kind: "shell", Text: "#SBATCH --mem=64G"},
	}
}

// effectMemoryLimit: without the fraction the card's free memory counts.
func effectMemoryLimit(c *Case) *Effect {
	f := c.F()
	switch {
	case f.Requested == nil || f.Free == nil:
		return nil
	case hiddenFraction(c).Weight > 0:
		return &Effect{NeedBytes: f.Requested.Bytes, HaveBytes: f.Free.Bytes, Fits: true, Basis: "log",
			Note: fmt.Sprintf("%s of the card was free when %s was refused: without a fraction that counts. Exact for this request.", f.Free.Text, f.Requested.Text)}
	case limited(c) == "":
		return nil
	}
	return &Effect{NeedBytes: f.Requested.Bytes, HaveBytes: f.Free.Bytes, Fits: f.Free.Bytes >= f.Requested.Bytes, Basis: "log",
		Note: fmt.Sprintf("%s of the card was free when the limit of %s refused %s. Exact for this request.", f.Free.Text, f.Limit.Text, f.Requested.Text)}
}

// uselessWatermark: max allowed is 1.7 times recommendedMaxWorkingSetSize,
// which macOS sets to two thirds of the memory up to 32 GB and three quarters
// above: more than the memory itself.
func uselessWatermark(c *Case) string {
	limit := c.F().Limit
	if !c.Root(fact.MPSAlloc) || limit == nil {
		return ""
	}
	for _, gb := range [...]int64{8, 16, 18, 24, 32, 36, 48, 64, 96, 128, 192} {
		ram := gb * units.GiB
		recommended := ram * 3 / 4
		if gb <= 32 {
			recommended = ram * 2 / 3
		}
		if near(limit.Bytes, recommended*17/10, units.GiB/20) {
			return fmt.Sprintf("The limit of %s already exceeds the %d GB that this Mac has: beyond it there is only swapping.", limit.Text, gb)
		}
	}
	return ""
}
