package vllm

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/server/launch"
)

// hosts are programs that start vLLM for their readers: trl/trainer/grpo_config.py,
// unsloth/models/loader.py, src/llamafactory/hparams/model_args.py,
// lm_eval/models/vllm_causallms.py, opencompass/models/vllm.py, ms-swift's
// command-line parameters, verl/trainer/config/rollout/rollout.yaml, OpenRLHF's
// cli/train_ppo_ray.py, Ray's
// ray/llm/_internal/serve/configs/server_models.py, FastChat's
// fastchat/serve/vllm_worker.py, olmOCR's olmocr/pipeline.py, Orpheus TTS's engine_class.py, Xinference's getting_started/using_xinference.rst,
// KServe's python/huggingfaceserver, GPUStack's docs/faq.md, NIM's configuration page.
var hosts = map[string]launch.Host{
	"trl": {
		Where: "In `GRPOConfig(…)`:", Pair: "{name}={value}", Sep: ", ", Share: 0.3,
		Names: map[string]string{"gpu_memory_utilization": "vllm_gpu_memory_utilization", "tensor_parallel_size": "vllm_tensor_parallel_size", "max_model_len": "vllm_max_model_length"},
	},
	"unsloth": {
		Where: "In `FastLanguageModel.from_pretrained(…)`:", Pair: "{name}={value}", Sep: ", ", Share: 0.5,
		Names: map[string]string{"gpu_memory_utilization": "gpu_memory_utilization", "max_model_len": "max_seq_length"},
	},
	"llama-factory": {
		Where: "In its YAML file:", Pair: "{name}: {value}", Sep: "\n",
		Names: map[string]string{"gpu_memory_utilization": "vllm_gpu_util", "max_model_len": "vllm_maxlen", "enforce_eager": "vllm_enforce_eager"},
		Rest:  "vllm_config: '{json}'",
	},
	"ms-swift": {
		Where: "Add to ms-swift's options (2.x: without `vllm_`):", Pair: "--{name} {value}", Bare: "--{name} true", Sep: " ",
		Names: map[string]string{
			"gpu_memory_utilization": "vllm_gpu_memory_utilization", "max_model_len": "vllm_max_model_len", "max_num_seqs": "vllm_max_num_seqs",
			"tensor_parallel_size": "vllm_tensor_parallel_size", "enforce_eager": "vllm_enforce_eager", "limit_mm_per_prompt": "vllm_limit_mm_per_prompt",
		},
		Rest: "--vllm_engine_kwargs '{json}'",
	},
	"lm-eval": {
		Where: "Add to your `--model_args`, after a comma:", Pair: "{name}={value}", Sep: ",",
		Names: map[string]string{"limit_mm_per_prompt": "", "mm_processor_kwargs": ""}, Rest: "{name}={value}",
	},
	"verl": {
		Where: "Add to your command:", Pair: "actor_rollout_ref.rollout.{name}={value}", Sep: " ", Share: 0.5,
		Names: map[string]string{
			"gpu_memory_utilization": "gpu_memory_utilization", "max_model_len": "max_model_len", "max_num_seqs": "max_num_seqs", "max_num_batched_tokens": "max_num_batched_tokens",
			"enforce_eager": "enforce_eager", "enable_chunked_prefill": "enable_chunked_prefill", "tensor_parallel_size": "tensor_model_parallel_size", "limit_mm_per_prompt": "", "mm_processor_kwargs": "",
		},
		Rest: "+actor_rollout_ref.rollout.engine_kwargs.vllm.{name}={value}",
	},
	"openrlhf": {
		Where: "Add to OpenRLHF's options (newer releases: `--vllm.` instead of `--vllm_`):", Pair: "--{name} {value}", Bare: "--{name}", Sep: " ",
		Names: map[string]string{"gpu_memory_utilization": "vllm_gpu_memory_utilization", "tensor_parallel_size": "vllm_tensor_parallel_size", "enforce_eager": "enforce_eager"},
	},
	"olmocr": {
		Where: "Add to the options of `olmocr`, which passes them on to vLLM:", Pair: "--{name} {value}", Bare: "--{name}", Sep: " ",
		Names: map[string]string{"gpu_memory_utilization": "gpu-memory-utilization", "max_model_len": "max_model_len", "tensor_parallel_size": "tensor-parallel-size", "enforce_eager": "enforce-eager", "enable_chunked_prefill": "enable-chunked-prefill", "limit_mm_per_prompt": ""},
		Rest:  "--{flag} {value}",
	},
	"orpheus-tts": {
		Where: "In `OrpheusModel(…)`:", Pair: "{name}={value}", Sep: ", ", Rest: "{name}={value}",
	},
	"ray-serve": {
		Where: "In `engine_kwargs` of your LLMConfig, or in your own engine's arguments:", Pair: "{name}={value}", Sep: ", ", Rest: "{name}={value}",
	},
	"opencompass": {
		Where: "In the model's file, in `model_kwargs=dict(…)`:", Pair: "{name}={value}", Sep: ", ",
		Rest: "{name}={value}",
	},
	"fastchat": {
		Where: "Add to the options of `fastchat.serve.vllm_worker`:", Pair: "--{flag} {value}", Sep: " ", Rest: "--{flag} {value}",
		Names: map[string]string{"enforce_eager": "", "enable_chunked_prefill": ""},
	},
	"kserve": {
		Where: "Add to `args:` of the InferenceService (`spec.predictor.model`), one item each:", Pair: "--{name}={value}", Bare: "--{name}", Sep: "\n", Rest: "--{flag}={value}",
		Names: map[string]string{"enforce_eager": "enforce-eager", "enable_chunked_prefill": "enable-chunked-prefill", "limit_mm_per_prompt": "", "mm_processor_kwargs": ""},
	},
	"openllm": {}, // its options are in the model's repository
	"nim": {
		Where: "Start the container with:", Pair: "-e {name}={value}", Sep: " ",
		Names: map[string]string{"max_model_len": "NIM_MAX_MODEL_LEN", "gpu_memory_utilization": "NIM_KVCACHE_PERCENT", "max_num_seqs": "NIM_MAX_NUM_SEQS"},
	},
	"gpustack": {
		Where: "Edit Model, Advanced, Backend Parameters:", Pair: "--{name}={value}", Bare: "--{name}", Sep: "\n", Rest: "--{flag}={value}",
		Names: map[string]string{"enforce_eager": "enforce-eager", "enable_chunked_prefill": "enable-chunked-prefill"},
	},
	"xinference": {
		Where: "Launch the model again with (web page: additional parameters passed to the inference engine):", Pair: "--{name} {value}", Bare: "--{name} True", Sep: " ",
		Names: map[string]string{"tensor_parallel_size": "n-gpu", "limit_mm_per_prompt": "", "mm_processor_kwargs": ""}, Rest: "--{name} {value}",
	},
}

// StartedBy: a program starts vLLM, and how its reader sets vLLM's options is known
// here, not among its own steps; or it is a trainer without a step for the share, and
// its words are for the training, not for the engine that it starts.
func StartedBy(c *ledger.Case, by *program.Program) bool {
	_, known := hosts[by.Name]
	trainer := by.Work == "text-training" && by.Steps["raise_gpu_memory_utilization"] == nil && by.Steps["lower_gpu_memory_utilization"] == nil
	return known || trainer && c.Root(fact.VLLMTokens, fact.VLLMCacheTooSmall, fact.VLLMNoCache, fact.VLLMFreeTooLow, fact.VLLMMamba)
}

// Share is the part of a card that vLLM takes under another program unless told
// otherwise.
func Share(c *ledger.Case) (float64, bool) {
	h, ok := Server.Host(c)
	return h.Share, ok && h.Share > 0
}
