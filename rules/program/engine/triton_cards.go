package engine

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

const (
	tritonModels = "https://docs.nvidia.com/deeplearning/triton-inference-server/user-guide/docs/user_guide/model_configuration.html"
	ftBackend    = "https://github.com/triton-inference-server/fastertransformer_backend"
)

// oneInstance is what Triton multiplies.
var oneInstance = cause.Cure{
	Fix: "lower_num_workers", Title: "One instance of the model on the card", Told: "In `config.pbtxt`; each instance has weights and buffers of its own.", Kind: "config",
	Text: "instance_group [ { count: 1 kind: KIND_GPU } ]", Cost: "fewer requests at once",
}

// inTriton is the engine's refusal while Triton makes an instance of it.
var inTriton = cause.Card{
	ID: "tensorrt-llm/in-triton", Kinds: []fact.Kind{fact.TRTRuntime}, If: func(c *ledger.Case) bool { return c.Failure.Stage != "pinned" }, Said: []string{"create instance", "backend_model", "modelInstanceState", "ModelInstanceState"},
	Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
	Headline: "could not make an instance of its engine in Triton: the card was full",
	Means:    "An instance takes the engine's weights, then a cache of nine tenths of what is free (some versions 0.85), then buffers for `max_batch_size` x beams x length: the last find what the cache left. A run of the same engine in Python reserves less, so that it works there proves nothing. Each further instance needs all of it again.",
	Not:      "Another conversion of the checkpoint: the engine itself was loaded.",
	Cures: []cause.Cure{
		{Fix: "lower_mem_fraction", Title: "A smaller cache", Told: "In `tensorrt_llm/config.pbtxt`; or fix it by `max_tokens_in_paged_kv_cache`.", Kind: "config", Text: "parameters: { key: \"kv_cache_free_gpu_mem_fraction\" value: { string_value: \"0.7\" } }", Cost: "fewer tokens at a time"},
		oneInstance,
		{Fix: "lower_batch_size", Title: "An engine for fewer requests", Told: "Build it again with a smaller `--max_batch_size` (a quarter), `--max_input_len` and one beam, and set `max_batch_size` in `config.pbtxt` to the same.", Cost: "more wait"},
	},
	Sources: []string{"https://github.com/triton-inference-server/tensorrtllm_backend/blob/main/all_models/inflight_batcher_llm/tensorrt_llm/config.pbtxt", trtIssues + "401", tritonModels},
}

// TritonCards are what is known of messages of Triton's backends.
var TritonCards = []cause.Card{
	{
		ID: "triton-server/fastertransformer", Kinds: []fact.Kind{fact.FasterTransformer},
		Headline: "was refused graphics memory in its FasterTransformer backend",
		Means:    "It gives no figures. Weights are loaded at the start, the buffers of a request when it comes: for its batch, beams, and length of prompt and answer. If a request ended it, such a request is too much beside the weights; if it died at the start, the weights are.",
		Not:      "Looking into the abort (signal 6) or the stack below it: that is how this backend ends after any CUDA error. `PYTORCH_CUDA_ALLOC_CONF`: no PyTorch here.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "It died at a request: ask for less at once", Told: "In the request a smaller `request_output_len` and `beam_width` 1, shorter prompts, one prompt per request; in `config.pbtxt` a small `max_batch_size` (templates have 1024):", Kind: "config", Text: "max_batch_size: 8", Cost: "shorter answers, more wait"},
			{Fix: "kill_stale_process", Title: "See what is on the card before the start", Told: "Each instance of the model, and an earlier server, holds the weights once more.", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			{Fix: "multi_gpu", Title: "It died at the start: split the weights", Told: "Convert the checkpoint for two cards and set `tensor_para_size` to 2 in `config.pbtxt`; or 16 bit, if it was converted at 32.", Cost: "a second card"},
		},
		Sources: []string{ftBackend + "/blob/main/docs/gpt_guide.md", ftBackend + "/blob/main/all_models/gpt/fastertransformer/config.pbtxt", tritonModels},
	},
}

// TritonSteps are fixes as Triton's operators apply them.
var TritonSteps = map[string]func(*ledger.Case) []step.Step{
	"lower_batch_size":   step.Paste("config", "max_batch_size: 8   # config.pbtxt of the model; preferred_batch_size of dynamic_batching not above it"),
	"lower_num_workers":  step.Paste("config", "instance_group [ { count: 1 kind: KIND_GPU } ]   # config.pbtxt; every instance has weights and buffers of its own"),
	"half_precision":     step.Paste("text", "Export the model in fp16 (`onnxconverter_common.float16`, or where it was trained): half the weights. For the processor `onnxruntime.quantization.quantize_dynamic` makes 8 bit of them."),
	"select_gpu":         step.Paste("config", "instance_group [ { count: 1 kind: KIND_GPU gpus: [ 1 ] } ]   # config.pbtxt"),
	"close_other_apps":   step.Paste("text", "tritonserver loads all models of its folder; added to its command this loads one: `--model-control-mode=explicit --load-model=NAME` (the model's folder), once for each that you want."),
	"kill_stale_process": step.Paste("shell", "nvidia-smi   # an earlier server, and every further instance (instance_group), holds the weights once more"),
}

// TritonSources are where Triton's own options are defined.
var TritonSources = program.Sources{
	"triton-inference-server/server/src/command_line_parser.cc":             "--model-repository --model-control-mode --load-model",
	"triton-inference-server/server/docs/user_guide/model_configuration.md": "KIND_GPU",
}
