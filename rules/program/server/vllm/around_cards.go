package vllm

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/server/launch"
	"github.com/oomdoc/oomdoc/rules/program/server/stage"
	"github.com/oomdoc/oomdoc/rules/when"
)

const threads = "https://github.com/vllm-project/vllm/"

// onCard are the failures of an allocation on the card.
var onCard = []fact.Kind{fact.TorchAlloc, fact.TorchAsync, fact.CUDAError, fact.CUDAHandle, fact.XPURuntime}

// noRoomForCache are the refusals to start without room for a cache.
var noRoomForCache = []fact.Kind{fact.VLLMNoCache, fact.VLLMTokens, fact.VLLMCacheTooSmall}

// Around are cards about what is around vLLM: what else its process, its card and
// the computer's memory hold.
var Around = slices.Concat(refusedFirst, []cause.Card{refusedRoomy, indexer, teardown}, trialCards, besideCards, ramCards, swapCards, []cause.Card{
	{
		ID: "vllm/fallback", Kinds: onCard, If: when.All(stage.OnCard, stage.LoadingWeights), Said: []string{"has no vLLM implementation, falling back"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Figures: figures,
		Headline: "ran out of GPU memory while loading a model that this version does not support natively",
		Means:    "The model's weights did not fit. The log says that this vLLM version has no code of its own for the model and uses the Transformers implementation, which can need more memory.",
		Not:      "`--gpu-memory-utilization` or `--max-model-len`: both take effect only after the weights are loaded.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Compare the model's size with the GPU, then update vLLM", Told: "If the checkpoint's files are larger than the GPU memory, an update does not help: go to the next step. If they are smaller, a newer version may support the model natively. The warning about the fallback is then gone.", Kind: "shell", Text: "pip install -U vllm", Cost: "flags may have changed"},
			Flags("multi_gpu", "Or split the model over two GPUs", "{where}", "needs a second GPU", Option("tensor_parallel_size", "2")),
			{Fix: "use_smaller_model", Title: "Or load a smaller or quantised version", Told: "Search the model's name with AWQ, GPTQ or FP8 on huggingface.co, or take an earlier model of the family.", Cost: "another download"},
		},
		Sources: []string{"vllm/model_executor/model_loader/utils.py", "docs/models/supported_models.md"},
	},
	{
		ID: "vllm/pooler-warmup", Kinds: []fact.Kind{fact.VLLMWarmup}, Said: []string{"warming up pooler", "in _dummy_pooler_run"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: figures,
		Headline: "did not start: its trial run for an embedding or reranking model did not fit",
		Means:    "The weights are loaded. vLLM then tries the model's pooler (the step that turns tokens into vectors or scores) with `max_num_seqs` dummy requests at once[[: {requests}]]. That was too many for the GPU memory that was left.",
		Not:      "A lower `--max-model-len` alone: the number of dummy requests stays the same.",
		Cures: []cause.Cure{
			Flags("lower_max_num_seqs", "Lower `max_num_seqs`", "The results stay the same; requests beyond the limit wait. {where}", "fewer requests at a time", Option("max_num_seqs", "32"), Option("max_num_batched_tokens", "8192")),
			Flags("lower_gpu_memory_utilization", "Or lower `gpu_memory_utilization`", "By 0.1. This helps if `GPU KV cache size` stands above the error; an embedding model needs little or no KV cache.", "a smaller KV cache", Option("gpu_memory_utilization", "0.8")),
			{Fix: "close_other_apps", Title: "Check what else is on the GPU", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
		},
		Sources: []string{"vllm/v1/worker/gpu_model_runner.py"},
	},
	{
		ID: "vllm/cache-or-graphs", Kinds: onCard, Phases: []string{"kv_cache"}, If: when.All(stage.OnCard, func(c *ledger.Case) bool { return !c.Contains("private pools") }), Said: []string{"method initialize_cache", "method 'initialize_cache", `collective_rpc("initialize_cache`},
		Unsaid: []string{"worker/cache_engine.py", "in _allocate_kv_cache", "in initialize_kv_cache"},
		Cause:  cause.BudgetMisconfigured, Weight: cause.Strong, Figures: figures,
		Headline: "did not start: the KV cache or the CUDA graphs did not fit in GPU memory",
		Means:    "The weights fitted. It failed in `initialize_cache`, where vLLM allocates the KV cache and then captures CUDA graphs. The KV cache fills vLLM's share of the GPU; the graphs need room outside it.",
		Not:      "A lower `--max-model-len` alone: the KV cache fills the share at any length.",
		Cures: []cause.Cure{
			{Fix: "lower_gpu_memory_utilization", Title: "Lower `gpu_memory_utilization`", Told: "This makes the KV cache smaller and leaves more free. If vLLM then says that the context does not fit, lower `max_model_len` too. {where}", Own: true, Cost: "a smaller KV cache"},
			Flags("enforce_eager", "Or turn off CUDA graphs: `enforce_eager`", "Try this if the lines above the error are about graphs (`Capturing the model for CUDA graphs`).", "slower tokens, most with small models", Option("enforce_eager", "True")),
			{Fix: "close_other_apps", Title: "Check what else is on the GPU; start servers one by one", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
		},
		Sources: []string{"vllm/worker/worker.py", "vllm/executor/multiproc_worker_utils.py"},
	},
	{
		ID: "vllm/image-attention", Kinds: onCard, If: when.All(stage.OnCard, beyondAny), Said: ImageEncoders,
		Cause: cause.BatchTooLarge, Weight: cause.Decisive, Figures: figures,
		Headline: "wanted {asked} at once for the attention of its image encoder",
		Means:    "The error is in the image encoder. Without flash attention it stores a score for every pair of image patches, so twice the pixels need four times the memory. If this is at start: vLLM tries the largest image that the model accepts, whatever you will send.",
		Not:      "`--gpu-memory-utilization` or a quantised model: this request does not depend on them.",
		Cures: []cause.Cure{
			Flags("lower_resolution", "Limit the image size and turn off video", "Half the pixels need a quarter of the memory. `max_pixels` works for Qwen-VL and similar models. {where}", "larger images are scaled down", Option("mm_processor_kwargs", `{"max_pixels": 602112}`), Option("limit_mm_per_prompt", `{"image": 1, "video": 0}`)),
			{Fix: "enable_flash_attention", Title: "Or use flash attention in the encoder", Told: "NVIDIA: `pip install flash-attn --no-build-isolation`, or a newer vLLM, which brings its own. AMD: the image `vllm/vllm-openai-rocm` contains ROCm's flash-attn.", Cost: "an install to test"},
			{Fix: "lower_batch_size", Title: "Or serve text only", Told: "The encoder then does not run:", Steps: Server.Sets(launch.To("limit_mm_per_prompt", `{"image": 0, "video": 0}`)), Cost: "images are refused"},
		},
		Sources: []string{"vllm/model_executor/models/qwen2_vl.py", "docs/configuration/conserving_memory.md", threads + "issues/18550"},
	},
	{
		ID: "vllm/one-piece", Kinds: onCard, If: when.All(stage.OnCard, beyondAny, when.Not(stage.LoadingWeights)), Unsaid: ImageEncoders, Phases: []string{"warmup", "inference", "graph_capture", "unknown"},
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Figures: figures,
		Headline: "wanted {asked} at once, more than a layer or the KV cache of one takes",
		Means:    "Most likely this is attention without flash attention: it stores a score for every pair of tokens or image patches. vLLM uses that form mainly in image encoders, on GPUs or builds without flash attention. Its trial run at start uses the largest image or video that the model accepts.",
		Not:      "`--gpu-memory-utilization` or a quantised model: this request does not depend on them.",
		Cures: []cause.Cure{
			Flags("lower_resolution", "If the model reads images, limit their size and turn off video", "Half the pixels need a quarter of the memory. `max_pixels` works for Qwen-VL and similar models. {where}", "larger images are scaled down", Option("mm_processor_kwargs", `{"max_pixels": 602112}`), Option("limit_mm_per_prompt", `{"image": 1, "video": 0}`)),
			Flags("lower_context", "If it reads only text, lower the context and the tokens per step", "", "longer prompts are refused", Option("max_model_len", "4096"), Option("max_num_batched_tokens", "2048")),
			{Fix: "enable_flash_attention", Title: "Or install flash attention", Told: "NVIDIA: `pip install flash-attn --no-build-isolation`, or a newer vLLM. AMD: the image `vllm/vllm-openai-rocm` contains ROCm's flash-attn.", Cost: "an install to test"},
		},
		Sources: []string{"vllm/model_executor/models/qwen2_vl.py", "docs/configuration/conserving_memory.md", threads + "issues/18550"},
	},
	{
		ID: "vllm/flashinfer-workspace", Kinds: []fact.Kind{fact.FlashInferWorkspace}, If: inVLLM,
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Figures: figures,
		Headline: "needed more than FlashInfer's workspace, a buffer of fixed size",
		Means:    "GPU memory and RAM were not full. FlashInfer plans each batch in a buffer of fixed size (394 MiB by default), and this batch needed more. Many requests at once or a model with many attention heads cause that.",
		Not:      "`--gpu-memory-utilization` or more RAM: the buffer has its own size.",
		Cures: []cause.Cure{
			{Fix: "limit_framework_preallocation", Title: "Make the workspace larger", Told: "The value is in bytes: this is 1 GiB, taken from GPU memory. If vLLM then runs out, lower `gpu_memory_utilization` by 0.03.", Kind: "env", Text: "export VLLM_FLASHINFER_WORKSPACE_BUFFER_SIZE=1073741824", Cost: "1 GiB of GPU memory"},
			Flags("lower_max_num_seqs", "Or run fewer requests and tokens at once", "{where}", "more requests wait", Option("max_num_seqs", "64"), Option("max_num_batched_tokens", "2048")),
			{Fix: "enable_flash_attention", Title: "Or use another attention backend", Told: "Newer versions: `--attention-backend FLASH_ATTN`. Before 2026: `export VLLM_ATTENTION_BACKEND=FLASH_ATTN`.", Cost: "slower on some GPUs"},
		},
		Sources: []string{"vllm/envs.py", "vllm/v1/attention/backends/flashinfer.py"},
	},
	{
		ID: "vllm/load-gguf", Kinds: onCard, Phases: []string{"load"}, Said: []string{"gguf_loader.py", "quantization/gguf.py"},
		Cause: cause.ModelTooLarge, Weight: cause.Decisive, Figures: figures,
		Headline: "ran out of GPU memory while loading a GGUF file",
		Means:    "The weights did not fit, and the KV cache still has to come. vLLM loads the whole GGUF file to the GPU and keeps some parts of it at 16 bit, such as the embeddings of some models.",
		Not:      "`--quantization bitsandbytes`: it does not apply to a GGUF file.",
		Cures: []cause.Cure{
			{Fix: "use_lower_quant", Title: "Load an AWQ or GPTQ version of the model instead", Told: "Search the model's name with AWQ or GPTQ on huggingface.co: vLLM runs these faster. Or take a smaller GGUF file (Q4_K_M, then Q3_K_M).", Cost: "another download"},
			{Fix: "cpu_offload", Title: "Or run this file with llama.cpp", Told: "llama.cpp, Ollama and LM Studio can keep some layers in system RAM when the GPU is too small.", Cost: "slower with many users"},
			Flags("multi_gpu", "Or split it over two GPUs", "Each then holds about half.", "needs a second GPU", Option("tensor_parallel_size", "2")),
		},
		Sources: []string{"vllm/model_executor/model_loader/gguf_loader.py", "vllm/model_executor/layers/quantization/gguf.py", "llama.cpp/tools/server/README.md"},
	},
	{
		ID: "vllm/load-online-fp8", Kinds: onCard, Phases: []string{"load"}, If: convertsToFP8,
		Cause: cause.ModelTooLarge, Weight: cause.Decisive, Figures: figures,
		Headline: "ran out of GPU memory while loading 16-bit weights to convert them to FP8",
		Means:    "`quantization` is fp8, but the model's name does not look like an FP8 checkpoint. Most vLLM versions then load it at 16 bit and convert it afterwards. While loading it needs about twice the memory of the FP8 model.",
		Not:      "`--gpu-memory-utilization` or `--max-model-len`: both take effect only after the weights are loaded.",
		Cures: []cause.Cure{
			{Fix: "use_lower_quant", Title: "Load a checkpoint that is already FP8", Told: "Search the model's name with FP8 on huggingface.co (Qwen and RedHatAI publish many). Serve it without `quantization`[[: about {fp8}]].[[ That leaves {left} on this GPU for the KV cache.]][[ That is too much for this GPU: take an AWQ or GPTQ one, {four}.]]", Cost: "another download"},
			{Fix: "upgrade_version", Title: "Or update vLLM", Told: "Versions from 2026 convert each layer while it loads: `pip install -U vllm`", Cost: "flags may have changed"},
			Flags("multi_gpu", "Or split it over two GPUs", "Each then holds about half.", "needs a second GPU", Option("tensor_parallel_size", "2")),
		},
		Sources: []string{"docs/features/quantization/fp8.md", "vllm/model_executor/layers/quantization/fp8.py"},
	},
})

// ImageEncoders are frames of attention in image encoders.
var ImageEncoders = []string{"vit_attn_wrappers.py", "models/qwen2_vl.py", "models/qwen2_5_vl.py", "models/qwen3_vl.py", "models/glm4_1v.py", "models/siglip.py", "models/pixtral.py", "models/intern_vit.py"}

// beyondAny: more in one piece than the card has and than a layer's weights take.
func beyondAny(c *ledger.Case) bool {
	return c.Asked.Has() && c.Asked.Bytes > 20<<30 && (c.Total.Has() && c.Asked.Bytes > c.Total.Bytes || c.Asked.Bytes > 100<<30)
}

// figures are what these cards name.
func figures(c *ledger.Case) map[string]string {
	out := map[string]string{"where": Where(c)}
	besideFigures(c, out)
	smallerFigures(c, out)
	return out
}
