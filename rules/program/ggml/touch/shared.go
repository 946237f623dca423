package touch

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// DropCaches frees what a Jetson's driver does not take back by itself.
var DropCaches = cause.Cure{
	Fix: "close_other_apps", Title: "Free the file cache and the desktop's memory", Cost: "free; files are read again",
	Kind: "text", Text: "`sync; echo 3 | sudo tee /proc/sys/vm/drop_caches`, then start it again at once. On a Jetson the GPU can take only memory that is really free, and Linux fills that with files. Without the desktop (`sudo systemctl isolate multi-user.target`) there is 1 to 2 GB more.",
}

// RaiseShare gives graphics without memory of their own more of the RAM. On
// Linux amdgpu maps up to half of it (GTT), as TTM's limit of pages of 4 KiB says.
var RaiseShare = cause.Cure{Fix: "raise_memory_limit", Title: "Give the GPU a larger share of the RAM", Cost: "less RAM for programs", Steps: shareSteps}

// HostBuffers is about weights that stay in RAM, but in memory that the card's
// driver holds (llama-model.cpp, make_cpu_buft_list; llama-model-loader.cpp: not
// where the file is mapped).
var HostBuffers = cause.Card{
	ID: "llama.cpp/host-buffers", Kinds: []fact.Kind{fact.GGMLRuntime, fact.GGMLAlloc}, Said: []string{"Queue::submit", "Not enough memory for command submission"}, If: func(c *ledger.Case) bool {
		_, copied := c.Setting("no_mmap")
		return copied && c.Backend == "vulkan" && c.In("llama.cpp") && !c.In("ollama")
	},
	Cause: cause.HostMemory, Weight: cause.Strong, Headline: "could not hand its work to the GPU: the driver cannot hold all buffers at once",
	Means: "With `--no-mmap` the weights that stay in RAM lie in buffers of the GPU's driver (`Vulkan_Host`), so that the GPU can read them. A command needs all its buffers at once, and on Linux amdgpu maps half of the RAM unless told more (GTT): the model can load, and fail at the first request. If the GPU itself is full, it looks the same.",
	Not:   "A smaller batch.",
	Cures: []cause.Cure{
		{Fix: "use_mmap", Title: "Leave out `--no-mmap` and `--mlock`", Kind: "text", Text: "The weights in RAM are then pages of the mapped file, outside of the driver. If you need `--no-mmap`: `--no-host` (builds of 2026) keeps them in ordinary memory.", Cost: "slower prompts; the file is read again where RAM is short"},
		{Fix: RaiseShare.Fix, If: func(c *ledger.Case) bool { return c.Contains("radv") || c.Contains("radeon") }, Title: RaiseShare.Title, Cost: RaiseShare.Cost, Steps: RaiseShare.Steps},
		{Fix: "fewer_gpu_layers", Title: "If it stays: leave more of the GPU free", Told: "", Cost: "slower"},
	},
	Sources: []string{"llama.cpp/src/llama-model.cpp", "llama.cpp/src/llama-model-loader.cpp", "llama.cpp/common/arg.cpp", "https://github.com/ggml-org/llama.cpp/issues/17546"},
}

func shareSteps(c *ledger.Case) []step.Step {
	if c.Windows() {
		return []step.Step{{Kind: "text", Text: "AMD Software, Performance, Tuning: Variable Graphics Memory; or in the BIOS: UMA frame buffer size. Restart."}}
	}
	return []step.Step{{Kind: "text", Text: "Kernel options `ttm.pages_limit=N ttm.page_pool_size=N`, N in pages of 4 KiB (15728640 is 60 GiB; leave 4 GiB or more of the RAM), in GRUB_CMDLINE_LINUX_DEFAULT of /etc/default/grub; `sudo update-grub`, restart. The BIOS' UMA frame buffer size can stay small."}}
}
