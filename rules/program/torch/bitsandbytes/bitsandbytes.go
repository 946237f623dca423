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
		Headline: "ran out of graphics memory in bitsandbytes",
		Means:    "bitsandbytes (8- and 4-bit models, 8-bit optimizers) got \"out of memory\" from CUDA; it prints neither sizes nor the model. The card was full: by this program, or by others. A path such as `D:\\a` is that of the machine that built the package.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Free the card and watch it while you try again", Told: "Close browser, games and other AI programs, end a left-over python. If memory fills up before it fails, the card is too full; if not, update bitsandbytes.", Kind: "shell", Text: "nvidia-smi -l 1", Cost: "Free."},
			{Fix: "lower_context", Title: "Shorten the prompt, or lower the batch size", Ways: []cause.Way{
				{For: fix.Generating, Text: "a shorter prompt or file, 4 bit instead of 8; a 7B model needs 5 to 6 GB at 4 bit, a 13B 9 to 10; with less, a GGUF file in llama.cpp, partly on the CPU"},
				{For: fix.Training, Text: "batch 1, shorter samples, gradient checkpointing; `paged_adamw_8bit` lets the optimizer go to RAM"},
			}, Cost: "Context or speed."},
			{Fix: "upgrade_version", Title: "Update bitsandbytes", Told: "Since 0.43 the official package supports Windows; forks are no longer needed. In the environment of your program:", Kind: "shell", Text: "pip uninstall -y bitsandbytes bitsandbytes-windows\npip install -U bitsandbytes\npython -m bitsandbytes", Cost: "May want a newer PyTorch."},
			{Fix: "use_smaller_model"},
		},
		Sources: []string{"bitsandbytes/csrc/ops.cu", "https://github.com/jllllll/bitsandbytes-windows-webui/issues/14", "https://github.com/bitsandbytes-foundation/bitsandbytes/issues/464"},
	},
	{
		ID: "pytorch/bitsandbytes-managed", Kinds: []fact.Kind{fact.BitsAndBytes}, If: managedMemory,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "did not get managed memory for bitsandbytes' paged optimizer",
		Means:    "bitsandbytes asked for managed memory, which card and RAM share, for a paged optimizer (`paged_adamw_*`, as in QLoRA scripts). It prints no sizes. {full}",
		Not:      "[[{idle}]]", Figures: aroundIt,
		Cures: []cause.Cure{
			{Fix: "optimizer_8bit", Title: "Use an optimizer that is not paged (adamw_8bit)", Told: "In a LoRA run its state is small. Where a config names the class: `torch.optim.AdamW` in place of `PagedAdamW32bit` (XTuner: `optim_type = AdamW`). With transformers' Trainer:", Kind: "python", Text: "args = TrainingArguments(\"out\", optim=\"adamw_8bit\")   # or adamw_torch; instead of paged_adamw_...; with your other arguments", Cost: "It no longer moves to RAM when the card is tight."},
			{Fix: "raise_memory_limit", Title: "Give it more system memory (RAM), if that is short", Told: "Run `free -h` while it starts. WSL takes half of the machine's RAM unless `memory=24GB` is set under `[wsl2]` in %UserProfile%\\.wslconfig (then `wsl --shutdown`); Docker: `--memory`.", Cost: "Less for the rest of the machine."},
			{Fix: "lower_batch_size", If: func(c *ledger.Case) bool { return aroundIt(c)["idle"] == "" }, Title: "Lower the LoRA rank and the batch size", Told: "For example `r=8` in LoraConfig and batch 1.", Cost: "Slower."},
		},
		Sources: []string{"bitsandbytes/csrc/pythonInterface.cpp", "https://github.com/bitsandbytes-foundation/bitsandbytes/issues/726", "https://github.com/bitsandbytes-foundation/bitsandbytes/issues/959", "https://docs.nvidia.com/cuda/wsl-user-guide/index.html", "xtuner/xtuner/configs/internlm/internlm_7b/internlm_7b_full_alpaca_e3.py"},
	},
}

// managedMemory: the file of bitsandbytes that asks for managed memory.
func managedMemory(c *ledger.Case) bool { return c.Contains("pythoninterface") }

// aroundIt says what the last line of DeepSpeed's that counts memory shows.
func aroundIt(c *ledger.Case) map[string]string {
	out := map[string]string{"idle": "", "full": "RAM, or the part of it that WSL or a container may use, was too little, or this system supports managed memory badly (Windows, WSL)."}
	for _, x := range c.Facts.Talk {
		m := usedRAM().FindStringSubmatch(x.Text)
		if m == nil || x.Line > c.Failure.Line {
			continue
		}
		if used, err := strconv.ParseFloat(m[1], 64); err == nil && used < 50 {
			out["full"] = "RAM was not full: the log shows " + m[1] + " % of it in use just before. So this system does not give managed memory as bitsandbytes asks for it (WSL and Windows support only a part), or a limit of its own holds there."
			out["idle"] = "A smaller batch or model: the memory that was refused is the optimizer's, and RAM was not full."
		}
	}
	return out
}

var usedRAM = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)CPU Virtual Memory:\s+used = [\d.]+ GB, percent = ([\d.]+)%`)
})
