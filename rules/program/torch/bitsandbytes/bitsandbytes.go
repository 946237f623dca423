// Package bitsandbytes knows what bitsandbytes itself is refused, which neither
// says sizes nor passes through PyTorch's allocator.
package bitsandbytes

import (
	"regexp"
	"strconv"
	"sync"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Cards are about the model and about a paged optimizer.
var Cards = []cause.Card{
	{
		ID: "pytorch/bitsandbytes-native", Kinds: []fact.Kind{fact.BitsAndBytes}, If: func(c *ledger.Case) bool { return len(c.Stack) <= 2 && !c.Training() && !managedMemory(c) },
		Cause: cause.Unknown, Weight: cause.Strong,
		Headline: "ran out of GPU memory in bitsandbytes",
		Means:    "bitsandbytes (8- and 4-bit models, 8-bit optimizers) got \"out of memory\" from CUDA. Its message has no sizes, so the GPU may have been full with this program or with others. A path such as `D:\\a` or `/home/runner/work` belongs to the machine that built the package.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Free the GPU, and watch it while you try again", Told: "Close browser, games and other AI programs, and end leftover python processes. If memory fills up before it fails, continue with the next step; if not, update bitsandbytes.", Kind: "shell", Text: "nvidia-smi -l 1", Cost: "Free."},
			{Fix: "lower_context", Title: "Shorten the prompt, or lower the batch size", Ways: []cause.Way{
				{For: fix.Generating, Text: "use a shorter prompt, and 4 bit instead of 8. A 7B model needs 5 to 6 GB in 4 bit, a 13B model 9 to 10. With less, run a GGUF file in llama.cpp, partly on the CPU"},
				{For: fix.Training, Text: "batch size 1, shorter samples, gradient checkpointing; `optim=\"paged_adamw_8bit\"` lets the optimizer move to RAM"},
			}, Cost: "Context or speed."},
			{Fix: "upgrade_version", Title: "Update bitsandbytes", Told: "Since 0.43 the official package supports Windows; forks are no longer needed. In the environment of your program:", Kind: "shell", Text: "pip uninstall -y bitsandbytes bitsandbytes-windows\npip install -U bitsandbytes\npython -m bitsandbytes", Cost: "May want a newer PyTorch."},
			{Fix: "use_smaller_model"},
		},
		Sources: []string{"bitsandbytes/csrc/ops.cu", "https://github.com/jllllll/bitsandbytes-windows-webui/issues/14", "https://github.com/bitsandbytes-foundation/bitsandbytes/issues/464"},
	},
	{
		ID: "pytorch/bitsandbytes-managed", Kinds: []fact.Kind{fact.BitsAndBytes}, If: managedMemory,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "could not get memory for bitsandbytes' paged optimizer",
		Means:    "Paged optimizers (`paged_adamw_*`, common in QLoRA scripts) use managed memory, which GPU and RAM share, and bitsandbytes got none. {full}",
		Not:      "[[{idle}]]", Figures: aroundIt,
		Cures: []cause.Cure{
			{Fix: "optimizer_8bit", Title: "Use an optimizer that is not paged (adamw_8bit)", Told: "In a LoRA run its state is small anyway. XTuner: `optim_type = AdamW` in place of `PagedAdamW32bit`. transformers' Trainer:", Kind: "python", Text: "args = TrainingArguments(\"out\", optim=\"adamw_8bit\")   # or adamw_torch; instead of paged_adamw_...; with your other arguments", Cost: "It no longer moves to RAM when the GPU is full."},
			{Fix: "raise_memory_limit", Title: "If RAM is full: give it more", Told: "Check with `free -h` while it starts. WSL gets half of the RAM by default: set `memory=24GB` under `[wsl2]` in %UserProfile%\\.wslconfig, then `wsl --shutdown`. Docker: `--memory`.", Cost: "Less for the rest of the machine."},
			{Fix: "lower_batch_size", If: func(c *ledger.Case) bool { return aroundIt(c)["idle"] == "" }, Title: "Lower the LoRA rank and the batch size", Told: "For example `r=8` in LoraConfig and batch size 1.", Cost: "Slower."},
		},
		Sources: []string{"bitsandbytes/csrc/pythonInterface.cpp", "https://github.com/bitsandbytes-foundation/bitsandbytes/issues/726", "https://github.com/bitsandbytes-foundation/bitsandbytes/issues/959", "https://docs.nvidia.com/cuda/wsl-user-guide/index.html", "xtuner/xtuner/configs/internlm/internlm_7b/internlm_7b_full_alpaca_e3.py"},
	},
}

// managedMemory: the file of bitsandbytes that asks for managed memory.
func managedMemory(c *ledger.Case) bool { return c.Contains("pythoninterface") }

// aroundIt says what the last line of DeepSpeed's that counts memory shows.
func aroundIt(c *ledger.Case) map[string]string {
	out := map[string]string{"idle": "", "full": "Either RAM (or the part that WSL or a container may use) was full, or this system supports managed memory poorly (Windows, WSL)."}
	for _, x := range c.Facts.Talk {
		m := usedRAM().FindStringSubmatch(x.Text)
		if m == nil || x.Line > c.Failure.Line {
			continue
		}
		if used, err := strconv.ParseFloat(m[1], 64); err == nil && used < 50 {
			out["full"] = "RAM was not full: the log shows " + m[1] + " % in use just before. So this system probably does not provide managed memory as bitsandbytes needs it (WSL and Windows support only part of it), or another limit applies."
			out["idle"] = "A smaller batch or model: the optimizer's memory is what failed, and RAM was not full."
		}
	}
	return out
}

var usedRAM = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)CPU Virtual Memory:\s+used = [\d.]+ GB, percent = ([\d.]+)%`)
})
