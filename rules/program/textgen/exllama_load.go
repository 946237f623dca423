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
	Means:    "ExLlama keeps the whole model on GPUs and cannot leave a part in RAM.[[ {experts}]] The KV cache still comes on top.",
	Not:      "`load-in-8bit`, `load-in-4bit`: they are for the Transformers loader.[[ {cache}]]",
	Cures: []cause.Cure{
		{Fix: "use_lower_quant", Title: "Use a GGUF file, or fewer bits per weight", Told: "Load a GGUF file (Q4_K_M) with the llama.cpp loader: set `n-gpu-layers` to what the GPU holds, the rest stays in RAM. Or take an EXL2 build with fewer bits: one bit less saves 0.12 GB for each billion parameters.[[ {bits}]]", Cost: "slower, or loss of quality below 4 bits"},
		{Fix: "use_smaller_model", Title: "Use a smaller model", Told: "At 4 bit a 7B model takes about 4.5 GB, 13B 8, 30B 18, 70B 40, plus 1 to 2 GB for the conversation.", Cost: "lower quality"},
		{Fix: "balance_split", Title: "With two GPUs: split the weights with `gpu-split`", Told: "Set the GB for each GPU, 2 to 3 below its size, such as `20,22`; or tick autosplit.", Cost: "needs a second GPU"},
	},
	Sources: []string{exllamaV2 + "model.py", exllamaV2 + "moe_mlp.py", textgenCode + "exllamav2_hf.py"},
}

// exllamaOpen is about them where the traceback ends before it says whether
// weights or cache were refused.
var exllamaOpen = cause.Card{
	ID: "text-generation-webui/exllama-open", Kinds: torchFull, Said: []string{"ExLlamav2_HF_loader", "ExLlamav2_loader", "ExLlamav3_HF_loader", "ExLlamav3_loader"}, Unsaid: []string{"in load_gen", "in load_autosplit", "create_state_tensors", "exllamav2/cache.py", "exllamav3/cache"}, If: func(c *ledger.Case) bool { return c.Phase != "inference" && !severalSplit(c) }, Figures: exllamaSizes,
	Cause: cause.ContextTooLong, Weight: cause.Strong,
	Headline: "did not load: ExLlama had too little GPU memory for the weights or the KV cache",
	Means:    "ExLlama puts all weights on the GPU, plus the KV cache for the full `max_seq_len`. The log does not show which of the two did not fit.[[ For {name} the cache takes {eight} for 8192 tokens and {long} for 32768 (at 16 bit).]] Before April 2025 `max_seq_len` was the model's maximum unless you set it.",
	Not:      "`load-in-4bit`, `load-in-8bit`: they are for the Transformers loader. `max_split_size_mb`: there is little fragmentation while a model loads.",
	Cures: []cause.Cure{
		inTab("lower_context", "Lower `max_seq_len`", "Set it to 4096 in the Model tab (`ctx-size` since 2025), then Load. If that works, the cache was too large.", "older parts of a long chat are cut off", contextFlag),
		cacheInBits,
		{Fix: "use_lower_quant", Title: "If it fails at any length: fewer bits per weight", Told: "Take an EXL2 or EXL3 build at 4 bits: it needs about 0.5 GB for each billion parameters. A 16-bit model needs 2 GB.", Cost: "loss of quality below 4 bits"},
	},
	Sources: []string{exllamaV2 + "cache.py", textgenCode + "exllamav2_hf.py", textgenIssues + "5418"},
}

// cublasCard is about cuBLAS' own memory while a model answers.
var cublasCard = cause.Card{
	ID: "text-generation-webui/cublas", Kinds: []fact.Kind{fact.CUDAHandle}, Said: []string{"in generate_with_callback", "in generate_with_streaming", "in generate_reply", "in gentask", "text_generation.py", "callbacks.py"}, Unsaid: []string{"modules/training.py", `modules\training.py`}, Figures: textgenSizes,
	Cause: cause.ModelTooLarge, Weight: cause.Strong,
	Headline: "loaded the model, then had too little GPU memory left to start working",
	Means:    "cuBLAS, NVIDIA's library for matrix multiplication, starts at the first prompt and needs up to a few hundred MiB. The model, or another program, leaves too little.[[ {name} takes {full} at 16 bit and about {quarter} at 4 bit.]]",
	Not:      "Reinstalling CUDA, `max_split_size_mb`, a shorter prompt: cuBLAS starts before the prompt is read.",
	Cures: []cause.Cure{
		{Fix: "close_other_apps", Title: "See what is on the GPU after loading", Told: "Close other programs that use it (games, browsers, an earlier Python). About 1 GB must stay free for a chat.", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
		inTab("load_in_4bit", "Load it in 4 bit: `load-in-4bit`", "In the Model tab, with the Transformers loader, tick `load-in-4bit`, then Load. It does not work for GPTQ, AWQ or EXL2 files.", "slight loss of quality", flag("--load-in-4bit", fixed(""))),
		textgenGGUF,
		{Fix: "use_smaller_model", Title: "Use a smaller model", Told: "At 4 bit a 7B model takes about 4.5 GB, 13B 8, 30B 18, plus 1 to 2 GB for the conversation."},
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
	out := map[string]string{"experts": "", "bits": "", "cache": "A shorter context alone: the weights come first here."}
	for _, x := range c.Facts.Code {
		switch {
		case strings.HasSuffix(x.File, "exllamav2/moe_mlp.py"):
			out["experts"] = "This is a mixture of experts (MoE): all experts must be there, although each token uses only some. An 8x7B has 47 billion parameters: 23 GB at 4 bits, 14 GB at 2.4."
			out["bits"] = "An 8x7B takes 20 GB at 3.5 bits, 14 GB at 2.4."
		case strings.Contains(x.Function, "autosplit"):
			out["cache"] = "" // there each layer brings its part of the cache along
		}
	}
	return out
}
