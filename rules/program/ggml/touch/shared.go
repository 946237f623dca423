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
	Kind: "text", Text: "Run `sync; echo 3 | sudo tee /proc/sys/vm/drop_caches`, then start it again at once. On a Jetson the GPU gets only RAM that is really free, and Linux fills that with cached files. Without the desktop (`sudo systemctl isolate multi-user.target`) 1 to 2 GB more are free.",
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
	Cause: cause.HostMemory, Weight: cause.Strong, Headline: "could not send its work to the GPU: the driver cannot hold all buffers at once",
	Means: "With `--no-mmap` even the weights in RAM belong to the GPU driver (`Vulkan_Host`). On Linux AMD's driver maps only half of the RAM by default (GTT). So a model can load and then fail at the first request. A full GPU looks the same.",
	Not:   "A smaller batch: the buffers for the weights stay.",
	Cures: []cause.Cure{
		{Fix: "use_mmap", Title: "Leave out `--no-mmap` and `--mlock`", Kind: "text", Text: "The weights in RAM then no longer count for the driver. If you need `--no-mmap`, add `--no-host` (builds of 2026), which keeps them in ordinary RAM.", Cost: "slower prompts; the file is read again where RAM is short"},
		{Fix: RaiseShare.Fix, If: func(c *ledger.Case) bool { return c.Contains("radv") || c.Contains("radeon") }, Title: RaiseShare.Title, Cost: RaiseShare.Cost, Steps: RaiseShare.Steps},
		{Fix: "fewer_gpu_layers", Title: "If it still fails: leave more of the GPU free", Told: "", Cost: "slower"},
	},
	Sources: []string{"llama.cpp/src/llama-model.cpp", "llama.cpp/src/llama-model-loader.cpp", "llama.cpp/common/arg.cpp", "https://github.com/ggml-org/llama.cpp/issues/17546"},
}

func shareSteps(c *ledger.Case) []step.Step {
	if c.Windows() {
		return []step.Step{{Kind: "text", Text: "AMD Software, Performance, Tuning: Variable Graphics Memory; or in the BIOS: UMA frame buffer size. Restart."}}
	}
	return []step.Step{{Kind: "text", Text: "Add `ttm.pages_limit=N ttm.page_pool_size=N` to GRUB_CMDLINE_LINUX_DEFAULT in /etc/default/grub, run `sudo update-grub`, restart. N counts pages of 4 KiB: 15728640 is 60 GiB. Leave at least 4 GiB of the RAM. The BIOS' UMA frame buffer size can stay small."}}
}
