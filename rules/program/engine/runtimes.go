package engine

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// LiteLLM is a gateway: the memory is that of a server behind it.
var LiteLLM = program.Program{
	Name: "litellm", Shown: "LiteLLM", Work: "text-inference", Edits: "flags", Language: "python",
	Proofs: []string{"litellm.InternalServerError", "litellm.APIConnectionError", "litellm.exceptions.", "litellm/llms/", "litellm/main.py", "litellm/router.py"},
	Cards:  liteLLMCards,
}

// Exo spreads a model over the machines of a home.
var Exo = program.Program{
	Name: "exo", Work: "text-inference", Edits: "flags", Language: "python",
	Proofs: []string{"exo/worker/", "exo/master/", "exo/inference/", "exo/api/", "processing tensor for shard Shard(model_id"},
	Steps: steps{
		"use_lower_quant":   text("Choose the 4-bit version of the model in the dashboard: names with `4bit`."),
		"use_smaller_model": text("Choose a smaller model in the dashboard; it shows what each needs and what the machines have free."),
		"multi_gpu":         text("Start exo on one more machine in the same network: the model is divided by free memory."),
		"lower_context":     text("Start a new chat: the cache of a long one grows on every machine."),
		"upgrade_version":   text("`git pull` in exo's folder on every machine, so that all run the same version."),
	},
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
		"fewer_gpu_layers": text("Start the server with `--num_blocks 4`: fewer blocks of the model on this card."),
		"lower_context":    text("Start the server with `--attn_cache_tokens 4096`: a smaller cache for all clients together."),
		"use_lower_quant":  text("Start the server with `--quant_type nf4`."),
		"upgrade_version":  step.Paste("shell", "pip install -U git+https://github.com/bigscience-workshop/petals"),
	},
	Remedies: map[string][]cause.Remedy{
		cause.ModelTooLarge: {{Fix: "fewer_gpu_layers", Fit: cause.Cures}, {Fix: "use_lower_quant", Fit: cause.Helps}, {Fix: "lower_context", Fit: cause.Helps}},
		cause.BatchTooLarge: {{Fix: "fewer_gpu_layers", Fit: cause.Cures}, {Fix: "lower_context", Fit: cause.Helps}},
	},
}

// RKLLM is Rockchip's runtime: the NPU uses the board's memory.
var RKLLM = program.Program{
	Name: "rkllm", Shown: "RKLLM", Work: "text-inference", Edits: "code", Language: "cpp",
	Proofs: []string{"rkllm:", "rkllm-runtime", "librkllmrt", "rkllm_init", "rkllm_api_demo"},
	Steps: steps{
		"lower_context":     text("Set `max_context_len` lower in the parameters for `rkllm_init` (in the demo its third argument); it must not exceed what the model was converted for."),
		"use_lower_quant":   text("On RK3576 convert the model again with `quantized_dtype=\"w4a16\"` instead of w8a8; RK3588 has w8a8 only, so take a smaller model there."),
		"use_smaller_model": text("Take a smaller model: the board's RAM holds weights, cache and system together; w8a8 needs more than 1 GB per billion parameters."),
		"upgrade_version":   text("Take the newest librkllmrt.so, and convert the model with the toolkit of the same version."),
	},
	Cards: []cause.Card{{
		ID: "rkllm/init", Kinds: []fact.Kind{fact.GGMLAlloc}, Said: []string{"ggml_calloc: " + "failed to allocate"},
		Cause: cause.HostMemory, Weight: cause.Good, Headline: "was refused memory while it loaded the model",
		Means: "The NPU has no memory of its own: weights, KV cache and system share the board's RAM. The size in the message is no help. Either RAM was full (check with `free -h` just before the start), or model file and runtime do not match in version or chip.",
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

// MistralRs is mistral.rs, on candle.
var MistralRs = program.Program{
	Name: "mistral.rs", Work: "text-inference", Edits: "flags", Language: "rust",
	Proofs:  []string{"mistralrs_core", "mistralrs_server", "mistralrs-core/", "mistralrs_cli", "mistralrs serve", "mistralrs run", "mistralrs-core"},
	Sources: program.Sources{"mistral.rs/mistralrs-server/src/main.rs": "--pa-ctxt-len --pa-gpu-mem-usage", "mistral.rs/mistralrs-cli/src/args": "--cpu --device-layers --isq --max-batch-size --max-num-batched-tokens --max-seq-len --max-seqs --pa-cache-type --pa-context-len --pa-memory-fraction"},
	Steps: steps{
		"use_lower_quant":              text("Quantise it while it loads: `--isq 4` (or 2, 3, 5, 6, 8; `mistralrs-server`: `--isq Q4K`), or load a GGUF of fewer bits."),
		"lower_context":                text("Limit the KV cache: `--pa-context-len 8192` (`mistralrs-server`: `--pa-ctxt-len 8192`)."),
		"lower_gpu_memory_utilization": text("Give the KV cache a smaller part: `--pa-memory-fraction 0.7` (`mistralrs-server`: `--pa-gpu-mem-usage 0.7`). 0.9 is the default unless a length is set."),
		"lower_mem_fraction":           text("Give the KV cache a smaller part: `--pa-memory-fraction 0.7` (`mistralrs-server`: `--pa-gpu-mem-usage 0.7`). 0.9 is the default unless a length is set."),
		"lower_max_num_seqs":           text("Serve fewer requests at a time: `--max-seqs 4` (32 is the default)."),
		"lower_batch_size":             text("Serve fewer requests at a time: `--max-seqs 4` (32 is the default)."),
		"lower_max_batched_tokens":     text("Read prompts in smaller parts: `--max-num-batched-tokens 1024`."),
		"quantize_kv_cache":            text("Keep the cache at 8 bit: `--pa-cache-type f8e4m3`."),
		"fewer_gpu_layers":             text("Put fewer layers on the card: `--device-layers \"0:20\"` (card 0, 20 layers)."),
		"cpu_offload":                  text("Put fewer layers on the card: `--device-layers \"0:20\"` (card 0, 20 layers), or none: `--cpu`."),
		"upgrade_version":              text("Update mistral.rs: `git pull` and build again, or the newest release."),
	},
	Remedies: map[string][]cause.Remedy{
		cause.ModelTooLarge:  {{Fix: "use_lower_quant", Fit: cause.Cures}, {Fix: "lower_mem_fraction", Fit: cause.Helps}, {Fix: "lower_context", Fit: cause.Helps}, {Fix: "fewer_gpu_layers", Fit: cause.Helps}, {Fix: "close_other_apps", Fit: cause.MayHelp}},
		cause.BatchTooLarge:  {{Fix: "lower_mem_fraction", Fit: cause.Cures}, {Fix: "lower_max_num_seqs", Fit: cause.Cures}, {Fix: "lower_max_batched_tokens", Fit: cause.Helps}, {Fix: "use_lower_quant", Fit: cause.Helps}},
		cause.ContextTooLong: {{Fix: "lower_context", Fit: cause.Cures}, {Fix: "quantize_kv_cache", Fit: cause.Helps}, {Fix: "use_lower_quant", Fit: cause.Helps}},
		cause.Unknown:        {{Fix: "lower_mem_fraction", Fit: cause.Cures}, {Fix: "use_lower_quant", Fit: cause.Cures}, {Fix: "lower_context", Fit: cause.Helps}, {Fix: "close_other_apps", Fit: cause.MayHelp}},
	},
	Cards: mistralCards,
}

// VLLMRs is vllm.rs, a server in Rust on candle; it is no part of vLLM.
var VLLMRs = program.Program{
	Name: "vllm.rs", Work: "text-inference", Edits: "flags", Language: "rust",
	Proofs:  []string{"vllm_rs::", "attention_rs::", "vllm_rs.server", "target/release/vllm-rs"},
	Sources: program.Sources{"vllm.rs/src/server/mod.rs": "--fp8-kvcache --isq --kv-fraction --max-model-len --max-num-seqs", "vllm.rs/ReadMe.md": "--features --release"},
	Steps: steps{
		"lower_mem_fraction": text("Give the KV cache a smaller part: `--kv-fraction 0.4`, in place of `--max-model-len` (late November 2025 and later)."),
		"lower_context":      text("Start it with a lower `--max-model-len`: half of the present value."),
		"lower_max_num_seqs": text("Serve fewer requests at a time: `--max-num-seqs 1`."),
		"use_lower_quant":    text("Quantise it while it loads: `--isq q4k`, or load a GGUF of fewer bits (`--f`)."),
		"upgrade_version":    text("Update vllm.rs: `git pull` and build again, or `pip install -U vllm_rs`."),
	},
	Remedies: map[string][]cause.Remedy{
		cause.ModelTooLarge:  {{Fix: "use_lower_quant", Fit: cause.Cures}, {Fix: "lower_mem_fraction", Fit: cause.Helps}, {Fix: "lower_context", Fit: cause.Helps}},
		cause.ContextTooLong: {{Fix: "lower_mem_fraction", Fit: cause.Cures}, {Fix: "lower_context", Fit: cause.Cures}, {Fix: "use_lower_quant", Fit: cause.Helps}},
		cause.BatchTooLarge:  {{Fix: "lower_mem_fraction", Fit: cause.Cures}, {Fix: "lower_max_num_seqs", Fit: cause.Helps}, {Fix: "use_lower_quant", Fit: cause.Helps}},
	},
	Cards: vllmRsCards,
}
