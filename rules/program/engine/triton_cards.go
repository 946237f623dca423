package engine

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/server/parts"
	"github.com/oomdoc/oomdoc/rules/step"
)

const (
	tritonModels = "https://docs.nvidia.com/deeplearning/triton-inference-server/user-guide/docs/user_guide/model_configuration.html"
	ftBackend    = "https://github.com/triton-inference-server/fastertransformer_backend"
)

// oneInstance is what Triton multiplies.
var oneInstance = cause.Cure{
	Fix: "lower_num_workers", Title: "Or run one instance of the model", Told: "Each instance has its own weights and buffers. In `config.pbtxt`:", Kind: "config",
	Text: "instance_group [ { count: 1 kind: KIND_CPU } ]   # KIND_CPU: as the backend's own template", Cost: "fewer requests at once",
}

// inTriton is the engine's refusal while Triton makes an instance of it.
var inTriton = cause.Card{
	ID: "tensorrt-llm/in-triton", Kinds: []fact.Kind{fact.TRTRuntime}, If: func(c *ledger.Case) bool { return c.Failure.Stage != "pinned" }, Said: []string{"create instance", "backend_model", "modelInstanceState", "ModelInstanceState"},
	Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
	Headline: "could not create an instance of its engine in Triton: GPU memory ran out",
	Means:    "Each instance allocates the engine's weights, buffers for `max_batch_size` x beams x length, and a KV cache. By default the KV cache takes nine tenths of what is free (some versions 0.85). Every further instance needs all of that again.",
	Cures: []cause.Cure{
		{Fix: "lower_mem_fraction", Title: "Lower `kv_cache_free_gpu_mem_fraction`", Told: "In `tensorrt_llm/config.pbtxt`; the default is 0.9. This helps if the engine runs outside Triton, or if a second instance fails:", Kind: "config", Text: "parameters: { key: \"kv_cache_free_gpu_mem_fraction\" value: { string_value: \"0.5\" } }", Cost: "fewer tokens at a time"},
		{Fix: "kill_stale_process", Title: "Check that the GPUs are empty before the start", Told: "End an earlier server (`kill PID`). An engine for several GPUs (`--world_size`) must then show one `tritonserver` on each.", Kind: "shell", Text: look, Cost: "free"},
		{Fix: "lower_batch_size", Title: "Or build the engine for fewer requests", Told: "Use a quarter of `--max_batch_size`, a smaller `--max_input_len` and one beam. Set `max_batch_size` in `config.pbtxt` to the same.", Cost: "more requests wait"},
		oneInstance,
	},
	Sources: []string{"https://github.com/triton-inference-server/tensorrtllm_backend/blob/main/all_models/inflight_batcher_llm/tensorrt_llm/config.pbtxt", trtIssues + "401", tritonModels},
}

// TritonCards are what is known of messages of Triton's backends.
var TritonCards = append(slices.Clip(parts.TritonKilled), []cause.Card{
	tritonShm, parts.CUDAPool, parts.TritonRequest,
	{
		ID: "triton-server/python-load", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"Failed to initialize Python stub", "creating server: Internal - failed to load all models"}, If: ledger.FillsAlone,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "did not load a model: its Python backend filled the GPU in `initialize`",
		Means:    "The model's `model.py` failed while Triton loaded it, before any request. It holds {mine} of {total}, and {asked} more did not fit. Each instance of a model is a separate process with its own weights.",
		Not:      "A smaller `max_batch_size` or smaller requests: none has come yet.",
		Cures: []cause.Cure{
			{Fix: "half_precision", Title: "Load the weights in 16 bit or fewer", Told: "In `initialize` of `model.py` use `torch_dtype=torch.float16` in `from_pretrained`, or a quantised checkpoint. A model moved with `.to(\"cuda\")` is often 32 bit.", Cost: "hardly any quality at 16 bit"},
			{Fix: "lower_num_workers", Title: "Run one instance of the model", Told: "In `config.pbtxt`:", Kind: "config", Text: "instance_group [ { count: 1 kind: KIND_GPU } ]", Cost: "fewer requests at once"},
			{Fix: "kill_stale_process", Title: "Check what else is on the GPU", Kind: "shell", Text: look, Cost: "free"},
		},
		Sources: []string{"https://github.com/triton-inference-server/python_backend/blob/main/src/pb_stub.cc", tritonModels},
	},
	{
		ID: "triton-server/fastertransformer", Kinds: []fact.Kind{fact.FasterTransformer},
		Headline: "ran out of GPU memory in its FasterTransformer backend",
		Means:    "If it failed at the start, the weights are too large. If it failed on a request, that request needs too much beside them: batch, beams, and length of prompt and answer count. The message has no figures.",
		Not:      "The abort (signal 6): this backend ends that way after any CUDA error. `PYTORCH_CUDA_ALLOC_CONF`: it does not use PyTorch.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "If it failed on a request, ask for less at once", Told: "Use a smaller `request_output_len`, `beam_width` 1, shorter prompts, and one prompt per request. In `config.pbtxt` set a small `max_batch_size` (templates have 1024):", Kind: "config", Text: "max_batch_size: 8", Cost: "shorter answers, more wait"},
			{Fix: "kill_stale_process", Title: "Check what is on the GPU before the start", Told: "An earlier server and each further instance of the model hold the weights again.", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			{Fix: "multi_gpu", Title: "If it failed at the start, split the weights", Told: "Convert the checkpoint for two GPUs and set `tensor_para_size` to 2 in `config.pbtxt`. If it was converted at 32 bit, convert it at 16 bit.", Cost: "needs a second GPU"},
		},
		Sources: []string{ftBackend + "/blob/main/docs/gpt_guide.md", ftBackend + "/blob/main/all_models/gpt/fastertransformer/config.pbtxt", tritonModels},
	},
}...)

// TritonSteps are fixes as Triton's operators apply them.
var TritonSteps = map[string]func(*ledger.Case) []step.Step{
	"lower_batch_size":   step.Paste("config", "max_batch_size: 8   # config.pbtxt of the model; preferred_batch_size of dynamic_batching not above it"),
	"lower_num_workers":  step.Paste("config", "instance_group [ { count: 1 kind: KIND_GPU } ]   # config.pbtxt; every instance has weights and buffers of its own"),
	"half_precision":     step.Paste("text", "Export the model in fp16 (`onnxconverter_common.float16`, or where it was trained): half the weights. For the CPU, `onnxruntime.quantization.quantize_dynamic` makes 8-bit weights."),
	"select_gpu":         step.Paste("config", "instance_group [ { count: 1 kind: KIND_GPU gpus: [ 1 ] } ]   # config.pbtxt"),
	"close_other_apps":   step.Paste("text", "tritonserver loads all models in its folder. To load only some, add `--model-control-mode=explicit` and `--load-model=NAME` (the model's folder) for each."),
	"kill_stale_process": step.Paste("shell", "nvidia-smi   # an earlier server, and every further instance (instance_group), holds the weights once more"),
}

// TritonSources are where Triton's own options are defined.
var TritonSources = program.Sources{
	"triton-inference-server/server/src/command_line_parser.cc":             "--model-repository --model-control-mode --load-model --cuda-memory-pool-byte-size",
	"triton-inference-server/server/docs/user_guide/model_configuration.md": "KIND_GPU",
}
