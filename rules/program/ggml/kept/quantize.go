package kept

import (
	"maps"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Quantize is llama-quantize, which works in RAM.
var Quantize = cause.Card{
	ID: "llama.cpp/quantize", Kinds: []fact.Kind{fact.BadAlloc, fact.ShellKilled, fact.KernelKill, fact.OOMD}, Said: []string{"main: quantizing '", "llama_model_quantize"},
	Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "ran out of system memory (RAM) while quantising a file",
	Means: "`llama-quantize` works on one tensor at a time: its data, a copy at 32 bit and the result. The largest is usually the output or the token embedding; with a vocabulary of 150,000 and a width of 8,192 the copy alone takes 4.6 GiB.",
	Not:   "A smaller target type, or a GPU: the copy has 32 bit whatever it becomes.",
	Cures: []cause.Cure{
		{Fix: "close_other_apps", Title: "Free RAM, or raise the container's limit", Kind: "text", Text: "`free -h` shows it. Four times the largest tensor at 16 bit should be free.", Cost: "free"},
		{Fix: "chunked_prefill", Title: "Leave the output as it is: `--leave-output-tensor`", Kind: "text", Text: "Put it before the file names. It helps if `output.weight` was the tensor at which it failed.", Cost: "a larger file"},
		{Fix: "add_swap", Title: "Or add swap for it", Kind: "shell", Text: "sudo fallocate -l 16G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile", Cost: "disk, and slow"},
		{Fix: "use_lower_quant", Title: "Or download the file", Kind: "text", Text: "Most models are on huggingface.co as GGUF in all types.", Cost: "a download"},
	},
	Sources: []string{"llama.cpp/tools/quantize/quantize.cpp", "llama.cpp/src/llama-quant.cpp"},
}

// LittleCache: the KV cache that RAM had no room for is small, so RAM was full of
// other things.
func LittleCache(c *ledger.Case) bool { return c.Asked.Has() && c.Asked.Bytes < 512*units.MiB }

// LastPart are the numbers of a case, and that.
func LastPart(numbers func(*ledger.Case) map[string]string) func(c *ledger.Case) map[string]string {
	return func(c *ledger.Case) map[string]string {
		out := maps.Clone(numbers(c))
		if out["last"] = ""; LittleCache(c) {
			out["last"] = "It is small here: the model's weights and other programs had filled the RAM before."
		}
		return out
	}
}
