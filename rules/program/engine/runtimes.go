package engine

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/engine/cards"
)

// MistralRs is mistral.rs, on candle.
var MistralRs = program.Program{
	Name: "mistral.rs", Work: "text-inference", Edits: "flags", Language: "rust",
	Proofs:  []string{"mistralrs_core", "mistralrs_server", "mistralrs-core/", "mistralrs_cli", "mistralrs serve", "mistralrs run", "mistralrs-core"},
	Sources: program.Sources{"mistral.rs/mistralrs-server/src/main.rs": "--num-device-layers --pa-ctxt-len --pa-gpu-mem-usage", "mistral.rs/mistralrs-cli/src/args": "--cpu --device-layers --isq --max-batch-size --max-num-batched-tokens --max-seq-len --max-seqs --pa-cache-type --pa-context-len --pa-memory-fraction"},
	Steps: steps{
		"use_lower_quant":              text("Quantise it while it loads: `--isq 4` (or 2, 3, 5, 6, 8; `mistralrs-server`: `--isq Q4K`), or load a GGUF with fewer bits."),
		"lower_context":                text("Limit the KV cache: `--pa-context-len 8192` (`mistralrs-server`: `--pa-ctxt-len 8192`)."),
		"lower_gpu_memory_utilization": text("Give the KV cache a smaller share: `--pa-memory-fraction 0.7` (`mistralrs-server`: `--pa-gpu-mem-usage 0.7`). The default is 0.9 if you set no length."),
		"lower_mem_fraction":           text("Give the KV cache a smaller share: `--pa-memory-fraction 0.7` (`mistralrs-server`: `--pa-gpu-mem-usage 0.7`). The default is 0.9 if you set no length."),
		"lower_max_num_seqs":           text("Serve fewer requests at a time: `--max-seqs 4` (32 is the default, 16 in `mistralrs-server`)."),
		"lower_batch_size":             text("Serve fewer requests at a time: `--max-seqs 4` (32 is the default, 16 in `mistralrs-server`)."),
		"lower_max_batched_tokens":     text("Read prompts in smaller parts: `--max-num-batched-tokens 1024` (late August 2026 and later; 4096 is the default)."),
		"quantize_kv_cache":            text("Keep the cache at 8 bit: `--pa-cache-type f8e4m3`."),
		"fewer_gpu_layers":             text("Put fewer layers on the GPU: `--device-layers \"0:20\"` (`mistralrs-server`: `--num-device-layers`) puts 20 on GPU 0 and the rest on the CPU."),
		"cpu_offload":                  text("Put fewer layers on the GPU: `--device-layers \"0:20\"` (`mistralrs-server`: `--num-device-layers`) puts 20 on GPU 0. `--cpu` uses none."),
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
var VLLMRs = cards.VLLMRs
