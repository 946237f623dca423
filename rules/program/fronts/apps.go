package fronts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/ggml"
	"github.com/oomdoc/oomdoc/rules/step"
)

// values are what is put for %d into the setting of a fix.
var values = map[string]func(*ledger.Case) int64{
	"fewer_gpu_layers": ggml.LayersToSet, "lower_context": ggml.ContextToSet, "lower_ubatch": ggml.BatchToTry, "lower_batch_size": ggml.BatchToTry, "moe_cpu_offload": ggml.ExpertsToMove,
}

// spells are the steps of an app on llama.cpp: KIND, then the text with %d for
// the value.
func spells(settings map[string]string) map[string]func(*ledger.Case) []step.Step {
	out := map[string]func(*ledger.Case) []step.Step{}
	for fix, setting := range settings {
		kind, text, _ := strings.Cut(setting, " ")
		value := values[fix]
		if value == nil || !strings.Contains(text, "%d") {
			out[fix] = step.Paste(kind, text)
			continue
		}
		out[fix] = func(c *ledger.Case) []step.Step {
			if fix == "fewer_gpu_layers" && !ggml.LayersKnown(c) {
				return []step.Step{
					{Kind: "text", Text: "N is half of the layers that are on the GPU now (see `offloaded N/M layers to GPU` in the load lines). If it runs, raise N step by step."},
					{Kind: kind, Text: strings.ReplaceAll(text, "%d", "N")},
				}
			}
			return []step.Step{{Kind: kind, Text: fmt.Sprintf(text, value(c))}}
		}
	}
	return out
}

// anywhere are fixes that need no setting of the app.
var anywhere = []string{"use_lower_quant", "use_smaller_model", "close_other_apps", "kill_stale_process", "raise_pagefile", "raise_memory_limit", "add_swap"}

// offered are llama.cpp's remedies as far as an app has a setting for them.
func offered(settings map[string]string) map[string][]cause.Remedy {
	out := map[string][]cause.Remedy{}
	for id, remedies := range ggml.LlamaCpp.Remedies {
		for _, r := range remedies {
			if settings[r.Fix] != "" || slices.Contains(anywhere, r.Fix) {
				out[id] = append(out[id], r)
			}
		}
	}
	if settings["restart_session"] != "" { // another model may still be loaded
		out[cause.ModelTooLarge] = append(out[cause.ModelTooLarge], cause.Remedy{Fix: "restart_session", Fit: cause.Helps})
	}
	return out
}

// app is a program that runs llama.cpp inside and has settings of its own.
func app(p program.Program, settings map[string]string) program.Program {
	p.Like = []*program.Program{&ggml.LlamaCpp}
	p.Steps, p.Remedies = spells(settings), offered(settings)
	if p.Work == "" {
		p.Work = "text-inference"
	}
	return p
}

// LocalAI has a YAML file for each model, in its models folder.
var LocalAI = app(program.Program{
	Name: "localai", Closed: true, Work: "text-inference", Shown: "LocalAI", Edits: "flags", Language: "go", Cards: localAICards,
	Units:  []string{"localai", "local-ai"},
	Proofs: []string{"LocalAI version:", "GRPC(", "GRPC Service Ready", "BackendLoader starting", "could not load model - all backends returned error", "could not load model: rpc error", "could not load model (no success)", "grpc process not found", "LocalAI API is listening", "failed to load model with internal loader", "mudler/LocalAI", "core/backend/llm.go", "backend/go/", "): stderr ", "[llama-cpp] Fails", "[llama-cpp] Attempting to load", "[llama-ggml] Attempting to load", "with backend llama-ggml"},
	// A line of a backend: "DBG GRPC(model-127.0.0.1:40351): stderr llama_...".
	Beside: map[string][]string{"GRPC(": {"-127."}, "): stderr ": {"ggml", "llama", "load_tensors", "alloc_tensor", "cudaerror", "sched_"}},
	Sources: program.Sources{
		"LocalAI/core/cli/run.go": "SINGLE_ACTIVE_BACKEND MAX_ACTIVE_BACKENDS LOCALAI_MAX_ACTIVE_BACKENDS",
	},
	Titles: map[string]string{
		"fewer_gpu_layers": "Lower `gpu_layers` in the model's YAML", "lower_context": "Lower `context_size` in the model's YAML",
		"restart_session": "Keep one model loaded at a time",
	},
}, map[string]string{
	"fewer_gpu_layers":             "config gpu_layers: %d   # in the model's YAML in the models folder; then restart LocalAI",
	"lower_context":                "config context_size: %d   # in the model's YAML; then restart LocalAI",
	"lower_batch_size":             "config parameters:\n  batch: %d   # in the model's YAML",
	"lower_ubatch":                 "config options:\n  - ubatch:%d   # in the model's YAML",
	"moe_cpu_offload":              "config options:\n  - n_cpu_moe:%d   # in the model's YAML",
	"enable_flash_attention":       "config flash_attention: \"on\"   # in the model's YAML",
	"quantize_kv_cache":            "config flash_attention: \"on\"   # in the model's YAML\ncache_type_k: q8_0\ncache_type_v: q8_0",
	"balance_split":                "config tensor_split: \"2,3\"   # in the model's YAML: proportions in the order of the GPUs",
	"use_mmap":                     "config mmap: true   # in the model's YAML",
	"lower_gpu_memory_utilization": "config gpu_memory_utilization: 0.8   # in the model's YAML (vLLM backend)",
	"raise_gpu_memory_utilization": "config gpu_memory_utilization: 0.95   # in the model's YAML (vLLM backend)",
	"restart_session":              "env MAX_ACTIVE_BACKENDS=1   # in LocalAI's environment: it unloads a model before it loads the next (older versions: SINGLE_ACTIVE_BACKEND=true)",
	"upgrade_version":              "text Take a newer image or binary of LocalAI, and update the backend: Backends page, llama-cpp.",
})

// Jan is a desktop program; its settings are those of its llama.cpp provider and
// of each model.
var Jan = app(program.Program{
	Name: "jan", Closed: true, Work: "text-inference", Shown: "Jan", Edits: "flags", Language: "js", Cards: janCards,
	Proofs: []string{"[llamacpp-router stdout]", "[llamacpp-router stderr]", "[tauri_plugin_llamacpp", "tauri_plugin_llamacpp::", "[@janhq/", "Jan.app/Contents", `Jan\data\llamacpp`, "Jan/data/llamacpp/", "ai.jan.app", "[CORTEX]:", "cortex.llamacpp", "[APP]::Error", "llama_engine.cc:"},
}, map[string]string{
	"fewer_gpu_layers":       "ui Gear icon next to the model: GPU Layers: %d",
	"lower_context":          "ui Gear icon next to the model: Context Size: %d",
	"lower_ubatch":           "ui Settings, Model Providers, Llama.cpp: uBatch Size %d",
	"lower_batch_size":       "ui Settings, Model Providers, Llama.cpp: Batch Size %d",
	"enable_flash_attention": "ui Settings, Model Providers, Llama.cpp: Flash Attention on",
	"quantize_kv_cache":      "ui Settings, Model Providers, Llama.cpp: Flash Attention on, KV Cache K Type and V Type q8_0",
	"use_mmap":               "ui Settings, Model Providers, Llama.cpp: Disable mmap off",
	"restart_session":        "ui Settings, Model Providers, Llama.cpp: Auto-Unload Old Models on; or stop the other model in System Monitor",
	"select_gpu":             "ui Settings, Hardware: switch on the one GPU that shall be used",
	"upgrade_version":        "ui Settings, General: Check for Updates; then Settings, Model Providers, Llama.cpp: Version & Backend",
})

// GPT4All falls back to the processor by itself where the card is full.
var GPT4All = app(program.Program{
	Name: "gpt4all", Closed: true, Work: "text-inference", Shown: "GPT4All", Edits: "flags", Language: "cpp", Cards: gpt4AllCards,
	Proofs: []string{"embllm WARNING", "gpt4all/_pyllmodel.py", "gpt4all/gpt4all.py", "nomic.ai/GPT4All", "gpt4all-chat", "LAMA ERROR: failed to load model", "gpt4all-backend/"},
}, map[string]string{
	"fewer_gpu_layers": "ui Settings, Model: GPU Layers %d",
	"lower_context":    "ui Settings, Model: Context Length %d; then reload the model",
	"lower_batch_size": "ui Settings, Model: Prompt Batch Size %d",
	"lower_ubatch":     "ui Settings, Model: Prompt Batch Size %d",
	"cpu_offload":      "ui Settings, Application: Device CPU",
	"upgrade_version":  "ui Settings, Application: check for updates",
})

// Llamafile is llama.cpp in one file.
var Llamafile = app(program.Program{
	Name: "llamafile", Work: "text-inference", Edits: "flags", Language: "cpp",
	Proofs:  []string{"import_cuda_impl: initializing gpu module", "link_cuda_dso:", "extract_cuda_dso:", ".llamafile/v/", "llamafile_log_command", "llamafile_log", "import_cuda_impl:", ".llamafile "},
	Hints:   []string{".llamafile"},
	Sources: program.Sources{"llamafile/README.md": "--gpu"},
}, map[string]string{
	"fewer_gpu_layers":  "text Start it with `-ngl %d` (`-ngl 0` or `--gpu disable` leaves the GPU out).",
	"lower_context":     "text Start it with `-c %d`.",
	"lower_ubatch":      "text Start it with `-ub %d`.",
	"lower_batch_size":  "text Start it with `-b %d`.",
	"quantize_kv_cache": "text Start it with `-fa -ctk q8_0 -ctv q8_0`.",
	"upgrade_version":   "text Take the newest llamafile from github.com/mozilla-ai/llamafile; it runs the weights of an older one with `-m OLD.llamafile` (the file you have).",
})

// IkLlamaCpp is the fork ik_llama.cpp.
var IkLlamaCpp = app(program.Program{
	Name: "ik_llama.cpp", Shown: "ik_llama.cpp", Cards: ikCards, Work: "text-inference", Edits: "flags", Language: "cpp",
	Proofs: []string{"ik_llama.cpp/", "cache_ram_similarity:", "and stored in buffer", "HAVE_FANCY_SIMD is", "fused_moe     =", "fused_up_gate =", "ik_llama.cpp"},
	Sources: program.Sources{
		"ik_llama.cpp/common/common.cpp": "--fit --n-cpu-moe",
	},
}, map[string]string{
	"fewer_gpu_layers":       "text Start it with `-ngl %d`; for mixtures of experts keep all layers and move experts instead (`-ncmoe`).",
	"moe_cpu_offload":        "text Start it with `-ncmoe %d` (`--n-cpu-moe`). The experts of that many layers then stay in RAM. `--fit` chooses the number automatically.",
	"lower_context":          "text Start it with `-c %d`.",
	"lower_ubatch":           "text Start it with `-ub %d`; for DeepSeek-like models `-amb 512` also limits attention's part of the compute buffer.",
	"lower_batch_size":       "text Start it with `-b %d`.",
	"enable_flash_attention": "text Start it with `-fa on`, and with `-mla 3` for DeepSeek-like models.",
	"quantize_kv_cache":      "text Start it with `-ctk q8_0 -ctv q8_0` (`-ctk q8_0` alone with `-mla`).",
	"balance_split":          "text Set `-ts` with one number for each GPU, smaller for the one that failed.",
	"upgrade_version":        "text `git pull` in ik_llama.cpp and build again.",
})

// LlamaBox is GPUStack's server on llama.cpp, no longer developed since 2025.
var LlamaBox = app(program.Program{
	Name: "llama-box", Work: "text-inference", Edits: "flags", Language: "cpp",
	Proofs:  []string{"llama-box/", "/llama-box ", "llama-box-", "llama-box"},
	Sources: program.Sources{"llama-box/README.md": "--ctx-size --flash-attn --gpu-layers --parallel"},
}, map[string]string{
	"fewer_gpu_layers":       "text Start it with `-ngl %d` (in GPUStack: backend parameter `--gpu-layers`).",
	"lower_context":          "text Start it with `-c %d` (in GPUStack: backend parameter `--ctx-size`).",
	"lower_ubatch":           "text Start it with `-ub %d`.",
	"lower_batch_size":       "text Start it with `-b %d`.",
	"enable_flash_attention": "text Start it with `--flash-attn`.",
	"quantize_kv_cache":      "text Start it with `--flash-attn -ctk q8_0 -ctv q8_0`.",
	"balance_split":          "text Set `-ts` with one number for each GPU, smaller for the one that failed.",
	"lower_parallel":         "text Start it with `--parallel 1`.",
})

// Tabby is TabbyML's completion server: llama-server below it, told by
// ~/.tabby/config.toml.
var Tabby = app(program.Program{
	Name: "tabby", Closed: true, Work: "text-inference", Shown: "Tabby", Edits: "flags", Language: "rust", Cards: tabbyCards,
	Proofs:  []string{"llama_cpp_server::supervisor", "crates/llama-cpp-server/", "crates/tabby/", "tabbyml/tabby", "tabby::serve"},
	Sources: program.Sources{"tabby/crates/tabby/src/serve.rs": "--chat-model --model --parallelism", "tabby/crates/tabby-common/src/config.rs": "parallelism"},
}, map[string]string{
	"fewer_gpu_layers":  "config [model.completion.local]   # in ~/.tabby/config.toml; the chat model has [model.chat.local]\nmodel_id = \"StarCoder-1B\"   # your own; leave --model out\nparallelism = 1\nnum_gpu_layers = %d",
	"lower_context":     "config [model.completion.local]   # in ~/.tabby/config.toml\nmodel_id = \"StarCoder-1B\"   # your own; leave --model out\nparallelism = 1\ncontext_size = %d",
	"lower_parallel":    "text Start `tabby serve` with `--parallelism 1`, the default; for models in ~/.tabby/config.toml set `parallelism = 1` there (default 4).",
	"use_lower_quant":   "text Tabby's registry has each model in one quantisation: choose a smaller model, such as StarCoder-1B or Qwen2.5-Coder-1.5B.",
	"use_smaller_model": "text Choose a smaller model with `--model`; without `--chat-model` no second model is loaded.",
	"upgrade_version":   "shell docker pull tabbyml/tabby",
})

// ChatGLMCpp and QwenCpp are programs on ggml for one family of models.
var ChatGLMCpp = app(program.Program{
	Name: "chatglm.cpp", Edits: "flags", Language: "cpp",
	Proofs:  []string{"chatglm.cpp/", "chatglm_cpp/"},
	Sources: program.Sources{"chatglm.cpp/main.cpp": "--max_length --max_context_length"},
}, map[string]string{
	"lower_context":    "text Start it with lower `--max_length` and `--max_context_length`, for example 1024 and 512.",
	"lower_batch_size": "text Start it with a lower `--max_context_length`, for example 512.",
	"use_lower_quant":  "text Convert the model again to 4 bit: `python3 chatglm_cpp/convert.py -i MODEL -t q4_0 -o model-q4.bin` (MODEL: the name or folder you converted before).",
	"upgrade_version":  "shell pip install -U chatglm-cpp",
})

var QwenCpp = app(program.Program{
	Name: "qwen.cpp", Shown: "qwen.cpp", Cards: qwenCards, Work: "text-inference", Edits: "flags", Language: "cpp",
	Proofs:  []string{"qwen.cpp/", "qwen_cpp/"},
	Sources: program.Sources{"qwen.cpp/main.cpp": "--max_length --max_context_length"},
}, map[string]string{
	"lower_context":    "text Start it with lower `--max_length` and `--max_context_length`, for example 1024 and 512.",
	"lower_batch_size": "text Start it with a lower `--max_context_length`, for example 512.",
	"use_lower_quant":  "text Convert the model again to 4 bit: `python3 qwen_cpp/convert.py -i MODEL -t q4_0 -o model-q4.bin` (MODEL: the name or folder you converted before).",
	"upgrade_version":  "text qwen.cpp is no longer developed: llama.cpp runs Qwen's GGUF files.",
})

// LLamaSharp is the binding for .NET.
var LLamaSharp = app(program.Program{
	Name: "llamasharp", Work: "text-inference", Shown: "LLamaSharp", Edits: "code", Language: "csharp",
	Proofs:  []string{"LLama.Exceptions.", "LLama.Native.", "LLama.LLamaWeights", "LLama.LLamaContext", "LLamaSharp/", "LLama.LLamaStatelessExecutor", "LLama.LLamaInteractExecutor", "LLama.LLamaInstructExecutor", "LLama.LLamaEmbedder", "LLama.LLamaExecutorBase"},
	Sources: program.Sources{"LLamaSharp/LLama/Native/GGMLType.cs": "GGML_TYPE_Q8_0"},
}, map[string]string{
	"fewer_gpu_layers":       "config new ModelParams(path) { GpuLayerCount = %d }",
	"lower_context":          "config new ModelParams(path) { ContextSize = %d }",
	"lower_ubatch":           "config new ModelParams(path) { UBatchSize = %d }",
	"lower_batch_size":       "config new ModelParams(path) { BatchSize = %d }",
	"enable_flash_attention": "config new ModelParams(path) { FlashAttention = true }",
	"quantize_kv_cache":      "config new ModelParams(path) { FlashAttention = true, TypeK = GGMLType.GGML_TYPE_Q8_0, TypeV = GGMLType.GGML_TYPE_Q8_0 }",
	"use_mmap":               "config new ModelParams(path) { UseMemorymap = true }",
	"restart_session":        "config using var weights = LLamaWeights.LoadFromFile(parameters);   // dispose of the old weights and context before you load again",
	"upgrade_version":        "text `dotnet add package LLamaSharp`, and the same version of the backend package.",
})
