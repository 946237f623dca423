package textgen

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// exllamaWeights is about the ExLlama loaders of text-generation-webui.
var exllamaWeights = cause.Card{
	ID: "text-generation-webui/exllama-weights", Kinds: torchFull, Said: []string{"in load_gen", "in load_autosplit_gen"}, If: func(c *ledger.Case) bool { return exllamaHF(c) && !severalSplit(c) }, Figures: expertSizes,
	Cause: cause.ModelTooLarge, Weight: cause.Strong,
	Headline: "did not load: ExLlama puts all weights on the GPU, and they do not fit",
	Means:    "It failed while layers were loaded[[: {mine} of {total} was its own by then]].[[ {experts}]] ExLlama keeps a whole model on GPUs and cannot leave a part in RAM; the KV cache comes on top.",
	Not:      "`load-in-8bit`, `load-in-4bit`: they are the Transformers loader's.[[ {cache}]]",
	Cures: []cause.Cure{
		{Fix: "use_lower_quant", Title: "Use a GGUF file, or fewer bits per weight", Told: "GGUF Q4_K_M with the llama.cpp loader: `n-gpu-layers` as many as the GPU holds, the rest stays in RAM. Or another EXL2 build: each bit less frees 0.12 GB per billion parameters.[[ {bits}]]", Cost: "slower, or loss of quality below 4 bits"},
		{Fix: "use_smaller_model", Title: "Use a smaller model", Told: "At 4 bit: 7B about 4.5 GB, 13B 8, 30B 18, 70B 40, and 1 to 2 GB for the conversation.", Cost: "lower quality"},
		{Fix: "balance_split", Title: "With two GPUs, split the weights: `gpu-split`", Told: "`gpu-split` with the GB for each, 2 to 3 below its size, such as `20,22`; or tick autosplit.", Cost: "needs a second GPU"},
	},
	Sources: []string{exllamaV2 + "model.py", exllamaV2 + "moe_mlp.py", textgenCode + "exllamav2_hf.py"},
}

// exllamaHF: one of the ExLlama loaders, in transformers' clothes or not.
func exllamaHF(c *ledger.Case) bool {
	return strings.HasPrefix(loader(c), "exllama") || slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool { return strings.Contains(x.File, "exllamav2/") })
}

// expertSizes is what a mixture of experts adds, and whether the cache was made
// yet.
func expertSizes(c *ledger.Case) map[string]string {
	out := map[string]string{"experts": "", "bits": "", "cache": "A shorter context alone: ExLlama loads weights first here, the cache after them."}
	for _, x := range c.Facts.Code {
		switch {
		case strings.HasSuffix(x.File, "exllamav2/moe_mlp.py"):
			out["experts"] = "It is a mixture of experts (moe_mlp.py): all experts lie there, though a token uses two. An 8x7B has 47 billion parameters: 23 GB at 4 bits, 14 at 2.4."
			out["bits"] = "An 8x7B at 3.5 bits takes 20 GB, at 2.4 bits 14."
		case strings.Contains(x.Function, "autosplit"):
			out["cache"] = "" // there each layer brings its part of the cache along
		}
	}
	return out
}
