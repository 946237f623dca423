package server

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// KServe runs vLLM or Transformers in pods; its options are the container's args.
var KServe = program.Program{
	Name: "kserve", Shown: "KServe", Work: "text-inference", Edits: "admin", Language: "python",
	Proofs:  []string{"huggingfaceserver/", "kserve/model_server.py", "kserve/protocol/", "serving.kserve.io"},
	Like:    []*program.Program{&VLLM},
	Sources: program.Sources{"vllm/engine/arg_utils.py": shared + " --model_name --model_id"},
	Steps: steps{
		"lower_context":                step.Paste("config", "spec:   # of the InferenceService\n  predictor:\n    model:\n      modelFormat: {name: huggingface}\n      args: [\"--model_name=llm\", \"--max-model-len=8192\"]   # your own args, with this one"),
		"lower_gpu_memory_utilization": step.Paste("config", "args: [\"--gpu-memory-utilization=0.8\"]   # spec.predictor.model.args of the InferenceService, beside your own"),
		"raise_gpu_memory_utilization": step.Paste("config", "args: [\"--gpu-memory-utilization=0.95\"]   # spec.predictor.model.args of the InferenceService, beside your own"),
		"lower_max_num_seqs":           step.Paste("config", "args: [\"--max-num-seqs=32\"]   # spec.predictor.model.args of the InferenceService, beside your own"),
		"lower_max_batched_tokens":     step.Paste("config", "args: [\"--max-num-batched-tokens=4096\"]   # spec.predictor.model.args of the InferenceService, beside your own"),
		"enforce_eager":                step.Paste("config", "args: [\"--enforce-eager\"]   # spec.predictor.model.args of the InferenceService, beside your own"),
		"quantize_kv_cache":            step.Paste("config", "args: [\"--kv-cache-dtype=fp8\"]   # spec.predictor.model.args of the InferenceService, beside your own"),
		"multi_gpu":                    step.Paste("config", "args: [\"--tensor-parallel-size=2\"]   # spec.predictor.model.args of the InferenceService\nresources:\n  limits: {nvidia.com/gpu: \"2\"}"),
		"raise_memory_limit":           step.Paste("config", "resources:   # spec.predictor.model of the InferenceService\n  requests: {memory: 48Gi}\n  limits: {memory: 48Gi}"),
		"upgrade_version":              text("Take a newer kserve/huggingfaceserver image, or name one with a newer vLLM in the ServingRuntime."),
	},
}

// RayServe is Ray's serving of language models, with vLLM inside.
var RayServe = program.Program{
	Name: "ray-serve", Shown: "Ray Serve", Work: "text-inference", Edits: "code", Language: "python",
	Proofs: []string{"ray/llm/_internal/serve", "ray/serve/llm/", "ray.serve.llm", "LLMServer:", "LLMRouter:"},
	Like:   []*program.Program{&VLLM},
	Steps: steps{
		"lower_context":                step.Paste("python", "LLMConfig(model_loading_config=loading, engine_kwargs=dict(max_model_len=8192))   # loading: your own; beside your other engine_kwargs"),
		"lower_gpu_memory_utilization": step.Paste("python", "LLMConfig(model_loading_config=loading, engine_kwargs=dict(gpu_memory_utilization=0.8))   # loading: your own; beside your other engine_kwargs"),
		"raise_gpu_memory_utilization": step.Paste("python", "LLMConfig(model_loading_config=loading, engine_kwargs=dict(gpu_memory_utilization=0.95))   # loading: your own; beside your other engine_kwargs"),
		"lower_max_num_seqs":           step.Paste("python", "LLMConfig(model_loading_config=loading, engine_kwargs=dict(max_num_seqs=32))   # loading: your own; beside your other engine_kwargs"),
		"lower_max_batched_tokens":     step.Paste("python", "LLMConfig(model_loading_config=loading, engine_kwargs=dict(max_num_batched_tokens=4096))   # loading: your own; beside your other engine_kwargs"),
		"enforce_eager":                step.Paste("python", "LLMConfig(model_loading_config=loading, engine_kwargs=dict(enforce_eager=True))   # loading: your own; beside your other engine_kwargs"),
		"quantize_kv_cache":            step.Paste("python", "LLMConfig(model_loading_config=loading, engine_kwargs=dict(kv_cache_dtype=\"fp8\"))   # loading: your own; beside your other engine_kwargs"),
		"multi_gpu":                    step.Paste("python", "LLMConfig(model_loading_config=loading, engine_kwargs=dict(tensor_parallel_size=2))   # loading: your own; beside your other engine_kwargs"),
		"upgrade_version":              step.Paste("shell", "pip install -U \"ray[serve,llm]\""),
	},
}

// Dynamo is NVIDIA's router in front of vLLM, SGLang or TensorRT-LLM workers.
var Dynamo = program.Program{
	Name: "dynamo", Shown: "NVIDIA Dynamo", Work: "text-inference", Edits: "flags", Language: "python",
	Proofs:  []string{"dynamo/vllm/", "dynamo/sglang/", "dynamo/trtllm/", "dynamo_runtime::", "dynamo_llm::", "python -m dynamo.", "python3 -m dynamo."},
	Like:    []*program.Program{&VLLM},
	Sources: program.Sources{"vllm/engine/arg_utils.py": shared + " --model"},
	Steps: startedAs("python -m dynamo.vllm --model", steps{
		"upgrade_version": step.Paste("shell", "pip install -U \"ai-dynamo[vllm]\""),
	}),
}

// NIM is NVIDIA's container: its engine is set by variables.
var NIM = program.Program{
	Name: "nim", Shown: "NVIDIA NIM", Work: "text-inference", Edits: "admin", Language: "python",
	Proofs:  []string{"/opt/nim/", "nim_llm_sdk", "vllm_nvext", "nimlib.", "NIM_MODEL_PROFILE"},
	Like:    []*program.Program{&VLLM},
	Sources: program.Sources{"https://docs.nvidia.com/nim/large-language-models/latest/configuration.html": "NIM_KVCACHE_PERCENT NIM_MAX_MODEL_LEN NIM_MAX_NUM_SEQS NIM_MODEL_PROFILE"},
	Steps: steps{
		"lower_context":                text("Start the container with `-e NIM_MAX_MODEL_LEN=8192` (vLLM profiles)."),
		"lower_gpu_memory_utilization": text("Start the container with `-e NIM_KVCACHE_PERCENT=0.8`: the share of the card for weights and cache."),
		"raise_gpu_memory_utilization": text("Start the container with `-e NIM_KVCACHE_PERCENT=0.95`."),
		"lower_max_num_seqs":           text("Start the container with `-e NIM_MAX_NUM_SEQS=32`."),
		"use_lower_quant":              text("Run `list-model-profiles` in the container and choose an FP8 or smaller profile that it calls compatible: `-e NIM_MODEL_PROFILE=ID` (ID: the long number beside it)."),
		"multi_gpu":                    text("Run `list-model-profiles` in the container and choose a profile with `tp2` or more: `-e NIM_MODEL_PROFILE=ID` (ID: the long number beside it); give the container that many cards."),
		"upgrade_version":              text("Pull a newer tag of the same NIM from nvcr.io."),
	},
}

// GPUStack schedules models onto workers by estimates of its own.
var GPUStack = program.Program{
	Name: "gpustack", Shown: "GPUStack", Work: "text-inference", Edits: "admin", Language: "python",
	Proofs:  []string{"gpustack/worker/", "gpustack/policies/", "gpustack.worker", "gpustack.policies", "gpustack/gpustack"},
	Sources: program.Sources{"gpustack/docs/faq.md": "--gpu-memory-utilization --limit-mm-per-prompt --max-model-len", "llama-box/README.md": "--ctx-size --gpu-layers", "vllm/engine/arg_utils.py": "--max-num-seqs --enforce-eager --max-num-batched-tokens"},
	Steps: steps{
		"lower_context":                text("Edit Model, Advanced, Backend Parameters: `--max-model-len=8192` (vLLM) or `--ctx-size=8192` (llama-box)."),
		"lower_gpu_memory_utilization": text("Edit Model, Advanced, Backend Parameters: `--gpu-memory-utilization=0.8`."),
		"raise_gpu_memory_utilization": text("Edit Model, Advanced, Backend Parameters: `--gpu-memory-utilization=0.95`."),
		"lower_max_num_seqs":           text("Edit Model, Advanced, Backend Parameters: `--max-num-seqs=32`."),
		"lower_max_batched_tokens":     text("Edit Model, Advanced, Backend Parameters: `--max-num-batched-tokens=4096`."),
		"enforce_eager":                text("Edit Model, Advanced, Backend Parameters: `--enforce-eager`."),
		"lower_resolution":             text("Edit Model, Advanced, Backend Parameters: `--limit-mm-per-prompt={\"image\": 1}`."),
		"fewer_gpu_layers":             text("Edit Model, Advanced, Backend Parameters: `--gpu-layers=20`."),
		"multi_gpu":                    text("Edit Model, Scheduling, Manual: select two cards of one worker."),
		"select_gpu":                   text("Edit Model, Scheduling, Manual: select a card that the Resources page shows as free."),
		"upgrade_version":              text("Update GPUStack, or choose a newer version of the backend in Edit Model, Advanced."),
	},
	Remedies: map[string][]cause.Remedy{
		cause.LeakedProcess: {{Fix: "select_gpu", Fit: 1.02}, {Fix: "kill_stale_process", Fit: 1}, {Fix: "lower_gpu_memory_utilization", Fit: 0.85}},
	},
}

// OpenLLM serves models of a repository, each with settings of its own.
var OpenLLM = program.Program{
	Name: "openllm", Shown: "OpenLLM", Work: "text-inference", Edits: "flags", Language: "python",
	Proofs: []string{"openllm/", "openllm.", "[openllm]", "openllm-models", "openllm_core/", "openllm_cli"},
	Like:   []*program.Program{&VLLM},
	Steps: steps{
		"lower_context":                text("The engine's options stand in the model's repository (`openllm repo list` shows where): set `max_model_len` there, beside the model, or serve a smaller tag."),
		"lower_gpu_memory_utilization": text("The engine's options stand in the model's repository (`openllm repo list` shows where): set `gpu_memory_utilization` to 0.8 there."),
		"use_lower_quant":              text("`openllm model list` shows the tags: serve one with `4bit` or `awq` in its name."),
		"use_smaller_model":            text("`openllm model list` shows the tags and the memory that each needs: `openllm serve` a smaller one."),
		"upgrade_version":              step.Paste("shell", "pip install -U openllm && openllm repo update"),
	},
}

// LiteLLM is a gateway: the memory is that of a server behind it.
var LiteLLM = program.Program{
	Name: "litellm", Shown: "LiteLLM", Work: "text-inference", Edits: "flags", Language: "python",
	Proofs: []string{"litellm.InternalServerError", "litellm.APIConnectionError", "litellm.exceptions.", "litellm/llms/", "litellm/main.py", "litellm/router.py"},
	Cards: []cause.Card{{
		ID: "litellm/behind", Said: []string{"litellm.InternalServerError", "litellm.APIConnectionError", "litellm.ServiceUnavailableError", "litellm.BadRequestError", "Received Model Group="},
		Cause: cause.Unknown, Weight: 0.55,
		Means: "LiteLLM only passes the error on. The memory is that of the model server behind it, on its machine; this log does not show what that server was doing. Its own log tells more.",
		Not:   "Restarting LiteLLM or its retries: the server behind it stays as full.",
		Cures: []cause.Cure{
			tell("restart_session", "Look at the server behind it", "Find the `api_base` of this model in your LiteLLM config, and read the log of the server there (Ollama, vLLM or another) from the same minute; paste that here.", "free"),
			tell("lower_parallel", "Send it fewer requests at a time", "Set `max_parallel_requests` (or `rpm`) under `litellm_params` of the model in the config, so that requests wait in LiteLLM.", "others wait"),
			tell("lower_context", "Cap what a request may ask for", "Set a smaller `max_tokens`, and for Ollama `num_ctx`, under `litellm_params` of the model.", "shorter conversations"),
		},
		Sources: []string{"litellm/exceptions.py", "https://docs.litellm.ai/docs/proxy/configs"},
	}},
}

// Exo spreads a model over the machines of a home.
var Exo = program.Program{
	Name: "exo", Work: "text-inference", Edits: "flags", Language: "python",
	Proofs: []string{"exo/worker/", "exo/master/", "exo/inference/", "exo/api/"},
	Steps: steps{
		"use_lower_quant":   text("Choose the 4-bit version of the model in the dashboard: names with `4bit`."),
		"use_smaller_model": text("Choose a smaller model in the dashboard; it shows what each needs and what the machines have free."),
		"multi_gpu":         text("Start exo on one more machine in the same network: the model is divided by free memory."),
		"lower_context":     text("Start a new chat: the cache of a long one grows on every machine."),
		"upgrade_version":   text("`git pull` in exo's folder on every machine, so that all run the same version."),
	},
	Remedies: map[string][]cause.Remedy{
		cause.ModelTooLarge: {{Fix: "use_lower_quant", Fit: 1}, {Fix: "multi_gpu", Fit: 0.95}, {Fix: "close_other_apps", Fit: 0.85}, {Fix: "use_smaller_model", Fit: 0.8}},
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
		cause.ModelTooLarge: {{Fix: "fewer_gpu_layers", Fit: 1}, {Fix: "use_lower_quant", Fit: 0.9}, {Fix: "lower_context", Fit: 0.8}},
		cause.BatchTooLarge: {{Fix: "fewer_gpu_layers", Fit: 1}, {Fix: "lower_context", Fit: 0.9}},
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
	Remedies: map[string][]cause.Remedy{
		cause.ModelTooLarge: {{Fix: "use_smaller_model", Fit: 1}, {Fix: "use_lower_quant", Fit: 0.95}, {Fix: "lower_context", Fit: 0.9}, {Fix: "close_other_apps", Fit: 0.7}},
		cause.HostMemory:    {{Fix: "lower_context", Fit: 1}, {Fix: "use_smaller_model", Fit: 0.95}, {Fix: "close_other_apps", Fit: 0.8}, {Fix: "add_swap", Fit: 0.5}},
	},
}

// MistralRs is mistral.rs, on candle.
var MistralRs = program.Program{
	Name: "mistral.rs", Work: "text-inference", Edits: "flags", Language: "rust",
	Proofs:  []string{"mistralrs_core", "mistralrs_server", "mistralrs-core/", "mistralrs_cli", "mistralrs serve", "mistralrs run", "mistralrs-core"},
	Sources: program.Sources{"mistral.rs/mistralrs-cli/src/args": "--cpu --device-layers --isq --max-batch-size --max-num-batched-tokens --max-seq-len --max-seqs --pa-cache-type --pa-context-len --pa-memory-fraction"},
	Steps: steps{
		"use_lower_quant":              text("Quantise it while it loads: `--isq 4` (or 2, 3, 5, 6, 8), or load a GGUF of fewer bits."),
		"lower_context":                text("Bound the cache: `--pa-context-len 8192`; and `--max-seq-len 4096` for what the automatic split over devices reserves."),
		"lower_gpu_memory_utilization": text("Give the cache a smaller part: `--pa-memory-fraction 0.7` (0.9 of the card is taken unless a length is set)."),
		"lower_mem_fraction":           text("Give the cache a smaller part: `--pa-memory-fraction 0.7` (0.9 of the card is taken unless a length is set)."),
		"lower_max_num_seqs":           text("Serve fewer requests at a time: `--max-seqs 4` (32 is the default), and `--max-batch-size 1`."),
		"lower_batch_size":             text("Serve fewer requests at a time: `--max-seqs 4` (32 is the default), and `--max-batch-size 1`."),
		"lower_max_batched_tokens":     text("Read prompts in smaller parts: `--max-num-batched-tokens 1024`."),
		"quantize_kv_cache":            text("Keep the cache at 8 bit: `--pa-cache-type f8e4m3`."),
		"fewer_gpu_layers":             text("Put fewer layers on the card: `--device-layers \"0:20\"` (card 0, 20 layers)."),
		"cpu_offload":                  text("Put fewer layers on the card: `--device-layers \"0:20\"` (card 0, 20 layers), or none: `--cpu`."),
		"upgrade_version":              text("Update mistral.rs: `git pull` and build again, or the newest release."),
	},
	Remedies: map[string][]cause.Remedy{
		cause.ModelTooLarge:  {{Fix: "use_lower_quant", Fit: 1}, {Fix: "lower_mem_fraction", Fit: 0.9}, {Fix: "lower_context", Fit: 0.85}, {Fix: "fewer_gpu_layers", Fit: 0.8}, {Fix: "close_other_apps", Fit: 0.6}},
		cause.BatchTooLarge:  {{Fix: "lower_mem_fraction", Fit: 1}, {Fix: "lower_max_num_seqs", Fit: 0.95}, {Fix: "lower_max_batched_tokens", Fit: 0.9}, {Fix: "use_lower_quant", Fit: 0.8}},
		cause.ContextTooLong: {{Fix: "lower_context", Fit: 1}, {Fix: "quantize_kv_cache", Fit: 0.9}, {Fix: "use_lower_quant", Fit: 0.8}},
		cause.Unknown:        {{Fix: "lower_mem_fraction", Fit: 1}, {Fix: "use_lower_quant", Fit: 0.95}, {Fix: "lower_context", Fit: 0.9}, {Fix: "close_other_apps", Fit: 0.7}},
	},
	Cards: []cause.Card{{
		ID: "mistral.rs/card", Kinds: []fact.Kind{fact.RustDriver},
		Cause: cause.ModelTooLarge, Weight: 0.5,
		Means: "The driver refused memory and names no size. mistral.rs loads weights at 16 bit unless told otherwise, and its cache takes nine tenths of what is left of the card, so that little is left for the work on a prompt.",
		Cures: []cause.Cure{
			{Fix: "use_lower_quant", Title: "Quantise while loading (--isq)", Cost: "slight loss of quality"},
			{Fix: "lower_mem_fraction", Title: "Give the cache a smaller part", Cost: "fewer tokens at a time"},
			{Fix: "lower_context", Title: "Bound the context", Cost: "shorter conversations"},
		},
		Sources: []string{"mistral.rs/mistralrs-cli/src/args/paged_attn.rs", "mistral.rs/mistralrs-cli/src/args/model.rs"},
	}},
}
