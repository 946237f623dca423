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

// exllamaOpen is about them where the traceback ends before it says whether
// weights or cache were refused.
var exllamaOpen = cause.Card{
	ID: "text-generation-webui/exllama-open", Kinds: torchFull, Said: []string{"ExLlamav2_HF_loader", "ExLlamav2_loader", "ExLlamav3_HF_loader", "ExLlamav3_loader"}, Unsaid: []string{"in load_gen", "in load_autosplit", "create_state_tensors", "exllamav2/cache.py", "exllamav3/cache"}, If: func(c *ledger.Case) bool { return c.Phase != "inference" && !severalSplit(c) }, Figures: exllamaSizes,
	Cause: cause.ContextTooLong, Weight: cause.Strong,
	Headline: "did not load: ExLlama found no room on the GPU for weights or KV cache",
	Means:    "ExLlama puts all weights on the GPU, and the KV cache for the whole `max_seq_len`[[: {mine} of {total} was its own when {asked} more was refused]]. The last lines do not show which of the two it was.[[ For {name} the cache takes {each} per token at 16 bit: {eight} for 8192 tokens, {long} for 32768.]] Unless you set it, `max_seq_len` was the model's own maximum before April 2025.",
	Not:      "`load-in-4bit`, `load-in-8bit`: they are the Transformers loader's. `max_split_size_mb`: little is scattered while a model loads.",
	Cures: []cause.Cure{
		inTab("lower_context", "Lower `max_seq_len`", "Model tab (`ctx-size` since 2025), then Load. If it loads at 4096, it was the cache.", "older parts of a long chat are cut off", contextFlag),
		cacheInBits,
		{Fix: "use_lower_quant", Title: "If it fails at any length: fewer bits per weight", Told: "A file of 16 bit, which ExLlamaV2 loads as well, takes 2 GB for each billion parameters; an EXL2 or EXL3 build at 4 bits a quarter of that.", Cost: "loss of quality below 4 bits"},
	},
	Sources: []string{exllamaV2 + "cache.py", textgenCode + "exllamav2_hf.py", textgenIssues + "5418"},
}

// cublasCard is about cuBLAS' own memory while a model answers.
var cublasCard = cause.Card{
	ID: "text-generation-webui/cublas", Kinds: []fact.Kind{fact.CUDAHandle}, Said: []string{"in generate_with_callback", "in generate_with_streaming", "in generate_reply", "in gentask", "text_generation.py", "callbacks.py"}, Unsaid: []string{"modules/training.py", `modules\training.py`}, Figures: textgenSizes,
	Cause: cause.ModelTooLarge, Weight: cause.Strong,
	Headline: "loaded the model, and had no room left for the first multiplication",
	Means:    "cuBLAS multiplies the matrices. It sets up its handle when the first prompt is computed, after the model was loaded, and needs some ten to a few hundred MiB: the weights, or another program, fill the GPU.[[ {name} takes {full} at 16 bit and about {quarter} at 4.]] The message has no sizes; `nvidia-smi` after loading shows what is left.",
	Not:      "Reinstalling CUDA, `max_split_size_mb`, a shorter prompt alone: the handle comes before it.",
	Cures: []cause.Cure{
		{Fix: "close_other_apps", Title: "See what is on the GPU after loading", Told: "End other programs there (games, browsers, an earlier python); about 1 GB has to stay free for a chat.", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
		inTab("load_in_4bit", "Load it in 4 bit: `load-in-4bit`", "Model tab, Transformers loader, tick `load-in-4bit`, then Load (not for GPTQ, AWQ or EXL2 files).", "slight loss of quality", flag("--load-in-4bit", fixed(""))),
		textgenGGUF,
		{Fix: "use_smaller_model", Title: "Use a smaller model", Told: "At 4 bit: 7B about 4.5 GB, 13B 8, 30B 18, and 1 to 2 GB for the conversation."},
	},
	Sources: []string{"pytorch/aten/src/ATen/cuda/CublasHandlePool.cpp", textgenIssues + "963"},
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
