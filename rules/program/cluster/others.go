package cluster

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// LiteLLM is a gateway: the memory is that of a server behind it.
var LiteLLM = program.Program{
	Name: "litellm", Shown: "LiteLLM", Work: "text-inference", Edits: "flags", Language: "python",
	Proofs: []string{"litellm.InternalServerError", "litellm.APIConnectionError", "litellm.exceptions.", "litellm/llms/", "litellm/main.py", "litellm/router.py"},
	Cards:  liteLLMCards,
}

// OlmOCR reads pages of documents with a vLLM that it starts itself.
var OlmOCR = program.Program{
	Name: "olmocr", Shown: "olmOCR", Work: "text-inference", Edits: "flags", Language: "python", Systems: []string{"linux", "wsl"},
	Proofs:  []string{"olmocr.pipeline", "olmocr/pipeline.py", "olmocr/work_queue.py"},
	Sources: program.Sources{"olmocr/olmocr/pipeline.py": "--gpu-memory-utilization --max_model_len --tensor-parallel-size --server"},
}

// Orpheus speaks with a vLLM inside its own class.
var Orpheus = program.Program{
	Name: "orpheus-tts", Shown: "Orpheus TTS", Work: "audio", Edits: "code", Language: "python", Systems: []string{"linux", "wsl"},
	Proofs: []string{"orpheus_tts/engine_class.py", "orpheus_tts/decoder.py"},
}

// Exo spreads a model over the machines of a home.
var Exo = program.Program{
	Name: "exo", Work: "text-inference", Edits: "flags", Language: "python",
	Proofs: []string{"exo/worker/", "exo/master/", "exo/inference/", "exo/api/", "processing tensor for shard Shard(model_id"},
	Steps: steps{
		"use_lower_quant":   text("Choose the 4-bit version of the model in the dashboard: names with `4bit`."),
		"use_smaller_model": text("Choose a smaller model in the dashboard; it shows what each needs and what the machines have free."),
		"multi_gpu":         text("Start exo on one more machine in the same network: the model is divided by free memory."),
		"lower_context":     text("Start a new chat: the KV cache of a long one grows on every machine."),
		"upgrade_version":   text("`git pull` in exo's folder on every machine, so that all run the same version."),
	},
	Cards: exoCards,
	Remedies: map[string][]cause.Remedy{
		cause.ModelTooLarge: {{Fix: "use_lower_quant", Fit: cause.Cures}, {Fix: "multi_gpu", Fit: cause.Cures}, {Fix: "close_other_apps", Fit: cause.Helps}, {Fix: "use_smaller_model", Fit: cause.Helps}},
	},
}

// Petals serves blocks of a large model to others.
var Petals = program.Program{
	Name: "petals", Shown: "Petals", Work: "text-inference", Edits: "flags", Language: "python",
	Proofs:  []string{"petals/server/", "petals/client/", "petals.server", "petals.cli."},
	Sources: program.Sources{"petals/src/petals/cli/run_server.py": "--attn_cache_tokens --num_blocks --quant_type"},
	Steps: steps{
		"fewer_gpu_layers": text("Start the server with `--num_blocks 4`: fewer blocks of the model on this GPU."),
		"lower_context":    text("Start the server with `--attn_cache_tokens 4096`: a smaller KV cache for all clients together."),
		"use_lower_quant":  text("Start the server with `--quant_type nf4`."),
		"upgrade_version":  step.Paste("shell", "pip install -U git+https://github.com/bigscience-workshop/petals"),
	},
	Cards: petalsCards,
	Remedies: map[string][]cause.Remedy{
		cause.ModelTooLarge: {{Fix: "fewer_gpu_layers", Fit: cause.Cures}, {Fix: "use_lower_quant", Fit: cause.Helps}, {Fix: "lower_context", Fit: cause.Helps}},
		cause.BatchTooLarge: {{Fix: "fewer_gpu_layers", Fit: cause.Cures}, {Fix: "lower_context", Fit: cause.Helps}},
	},
}

// RKLLM is Rockchip's runtime: the NPU uses the board's memory.
var RKLLM = program.Program{
	Name: "rkllm", Shown: "RKLLM", Work: "text-inference", Edits: "code", Language: "cpp",
	Proofs:  []string{"rkllm:", "rkllm-runtime", "librkllmrt", "rkllm_init", "rkllm_api_demo"},
	Useless: map[string]func(*ledger.Case) string{"fewer_gpu_layers": func(*ledger.Case) string { return "" }},
	Steps: steps{
		"lower_context":     text("Set it in the parameters for `rkllm_init` (in the demo the third argument). It must not exceed what the model was converted for."),
		"use_lower_quant":   text("On RK3576 convert the model again with `quantized_dtype=\"w4a16\"` instead of w8a8; RK3588 has w8a8 only, so use a smaller model there."),
		"use_smaller_model": text("With w8a8 a model needs more than 1 GB per billion parameters, and the board's RAM also holds the KV cache and the system."),
		"upgrade_version":   text("Use the newest librkllmrt.so, and convert the model with the toolkit of the same version."),
	},
	Cards: []cause.Card{{
		ID: "rkllm/init", Kinds: []fact.Kind{fact.GGMLAlloc}, Said: []string{"ggml_calloc: " + "failed to allocate"},
		Cause: cause.HostMemory, Weight: cause.Good, Headline: "could not get memory while loading the model",
		Means: "The NPU has no memory of its own: weights, KV cache and system share the board's RAM. Either RAM was full (check `free -h` just before the start), or the model file does not match the runtime's version or the chip. Ignore the size in the message.",
		Not:   "A shorter prompt: it failed while loading the model.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Lower `max_context_len`", Cost: "shorter conversations"},
			{Fix: "use_smaller_model", Title: "Or use a smaller model", Cost: "lower quality"},
			{Fix: "upgrade_version", Title: "If RAM is free, match runtime and model", Cost: "a conversion"},
		},
		Sources: []string{"https://github.com/airockchip/rknn-llm/issues/183"},
	}},
	Remedies: map[string][]cause.Remedy{
		cause.ModelTooLarge: {{Fix: "use_smaller_model", Fit: cause.Cures}, {Fix: "use_lower_quant", Fit: cause.Cures}, {Fix: "lower_context", Fit: cause.Helps}, {Fix: "close_other_apps", Fit: cause.MayHelp}},
		cause.HostMemory:    {{Fix: "lower_context", Fit: cause.Cures}, {Fix: "use_smaller_model", Fit: cause.Cures}, {Fix: "close_other_apps", Fit: cause.Helps}, {Fix: "add_swap", Fit: cause.LastResort}},
	},
}

// liteLLMCards are the gateway's.
var liteLLMCards = []cause.Card{{
	ID: "litellm/behind", Said: []string{"litellm.InternalServerError", "litellm.APIConnectionError", "litellm.ServiceUnavailableError", "litellm.BadRequestError", "Received Model Group="},
	Cause: cause.Unknown, Weight: cause.Good,
	Headline: "passed on an out-of-memory error from the server behind it",
	Means:    "LiteLLM only passes the error on. The model server behind it ran out of memory, on its own machine. That server's log of the same minute shows why.",
	Not:      "Restarting LiteLLM: the server behind it stays full.",
	Cures: []cause.Cure{
		{Fix: "restart_session", Title: "Read the log of the server behind it", Told: "Its address is the `api_base` of this model in your LiteLLM config (Ollama, vLLM or another). Paste that log here: it shows what was asked for.", Cost: "free"},
		{Fix: "lower_parallel", Title: "Send it fewer requests at a time", Told: "Put this under `litellm_params` of the model, so that requests wait in LiteLLM:", Kind: "config", Text: "max_parallel_requests: 2", Cost: "others wait"},
		{Fix: "lower_context", Title: "Limit what a request may ask for", Told: "For Ollama set `num_ctx: 8192` too. Also under `litellm_params`:", Kind: "config", Text: "max_tokens: 1024", Cost: "shorter answers"},
	},
	Sources: []string{"https://github.com/BerriAI/litellm/blob/main/litellm/exceptions.py", "https://docs.litellm.ai/docs/proxy/configs"},
}}

// exoCards are of a machine that takes part in exo.
var exoCards = []cause.Card{{
	ID: "exo/metal", Kinds: []fact.Kind{fact.MetalMemory}, Said: []string{"processing tensor for shard Shard(", "exo/inference/", "exo/worker/"},
	Cause: cause.ModelTooLarge, Weight: cause.Strong,
	Headline: "ran out of memory on this Mac: its part of the model is too large",
	Means:    "exo gives each machine a part of the layers, and loads it with the first prompt. macOS lets the GPU use only two thirds to three quarters of the RAM. This machine's part, with its KV cache, is more. If earlier prompts ran, a long chat has grown too large.",
	Not:      "Free disk space, or another port: it is the GPU's part of the RAM.",
	Cures: []cause.Cure{
		{Fix: "multi_gpu", Title: "Start exo on one more machine", Told: "In the same network, with the same version: the layers are then divided again, by memory. 4 bit needs about 0.6 GB per billion parameters in all.", Cost: "another machine"},
		{Fix: "raise_memory_limit", Title: "Let the GPU use more of the RAM", Told: "macOS 14 and later. This is four fifths of it, until the next restart:", Kind: "shell", Text: "sudo sysctl iogpu.wired_limit_mb=$(( $(sysctl -n hw.memsize) / 1048576 * 4 / 5 ))", Cost: "less for other programs"},
		{Fix: "use_smaller_model", Title: "Or use a smaller model, or one with fewer bits", Cost: "lower quality", Own: true},
		{Fix: "lower_context", Title: "If earlier prompts ran, start a new chat", Cost: "the history is lost"},
	},
	Sources: []string{"https://github.com/exo-explore/exo/blob/main/README.md"},
}}

// petalsCards are of a server of Petals.
var petalsCards = []cause.Card{{
	ID: "petals/server", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"petals/server/", "petals.server"}, If: ledger.FillsAlone,
	Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
	Headline: "filled the GPU with blocks of the model and left too little for requests",
	Means:    "It holds {mine} of {total}: the blocks that it serves and the KV cache of all clients. What a request computes has only the rest, and {asked} more did not fit.",
	Not:      "PyTorch's allocator settings: the memory is in use.",
	Cures: []cause.Cure{
		{Fix: "fewer_gpu_layers", Title: "Serve fewer blocks (`--num_blocks`)", Told: "Three quarters of now: at the start Petals prints how many transformer blocks it serves (it fills the GPU unless `--num_blocks` is set).", Cost: "you serve less of the model"},
		{Fix: "lower_context", Title: "Or make the clients' KV cache smaller", Told: "Half of your value, or:", Kind: "config", Text: "--attn_cache_tokens 2048", Cost: "fewer clients at a time"},
		{Fix: "use_lower_quant", Title: "Or keep the blocks at 4 bit", Told: "If they are not (`quantized to nf4` in the log):", Kind: "config", Text: "--quant_type nf4", Cost: "slight loss of quality"},
		{Fix: "kill_stale_process", Title: "Check what else is on the GPU", Kind: "shell", Text: look, Cost: "free"},
	},
	Sources: []string{"petals/src/petals/cli/run_server.py", "https://github.com/bigscience-workshop/petals/blob/main/src/petals/server/server.py"},
}}
