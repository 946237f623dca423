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
		Headline: "ran out of graphics memory while loading a model that this version does not know",
		Means:    "The log says that the model has no vLLM implementation here, so it is built from Transformers' code, and that can need more memory than the checkpoint's size suggests. It failed while the weights were made[[: {mine} of {total} was its own, {asked} more was refused]].",
		Not:      "`--gpu-memory-utilization`, `--max-model-len`: neither has an effect while weights load.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Update vLLM to a version that knows the model", Told: "Its page on supported models lists the architectures; the warning is then gone.", Kind: "shell", Text: "pip install -U vllm", Cost: "flags may have changed"},
			Flags("multi_gpu", "Or split it over two cards", "{where}", "needs a second card", Option("tensor_parallel_size", "2")),
			{Fix: "use_smaller_model", Title: "Or take a model that this version knows", Told: "One of the family before it, in AWQ or GPTQ.", Cost: "another model"},
		},
		Sources: []string{"vllm/model_executor/model_loader/utils.py", "docs/models/supported_models.md"},
	},
	{
		ID: "vllm/pooler-warmup", Kinds: []fact.Kind{fact.VLLMWarmup}, Said: []string{"warming up pooler", "in _dummy_pooler_run"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: figures,
		Headline: "did not start: no room was left to try out its pooler",
		Means:    "The weights are loaded. An embedding, reranking or classifying model is tried with `max_num_seqs` dummy requests at once[[ ({requests})]], and their pooled outputs did not fit beside what is on the card. The message does not say how much was missing.",
		Not:      "A shorter context alone: the trial has so many requests whatever their length.",
		Cures: []cause.Cure{
			Flags("lower_max_num_seqs", "Lower `max_num_seqs`", "Requests beyond that wait; the vectors stay the same. {where}", "fewer requests at a time", Option("max_num_seqs", "32"), Option("max_num_batched_tokens", "8192")),
			Flags("lower_gpu_memory_utilization", "Or lower `gpu_memory_utilization`", "By 0.1; an embedding model needs little or no KV cache.", "none as a rule", Option("gpu_memory_utilization", "0.8")),
			{Fix: "close_other_apps", Title: "Check what else is on the card", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
		},
		Sources: []string{"vllm/v1/worker/gpu_model_runner.py"},
	},
	{
		ID: "vllm/cache-or-graphs", Kinds: onCard, Phases: []string{"kv_cache"}, If: when.All(stage.OnCard, func(c *ledger.Case) bool { return !c.Contains("private pools") }), Said: []string{"method initialize_cache", "method 'initialize_cache", `collective_rpc("initialize_cache`},
		Unsaid: []string{"worker/cache_engine.py", "in _allocate_kv_cache", "in initialize_kv_cache"},
		Cause:  cause.BudgetMisconfigured, Weight: cause.Strong, Figures: figures,
		Headline: "did not start: the KV cache, or the CUDA graphs after it, did not fit on the card",
		Means:    "The log names the step, `initialize_cache`: vLLM allocates the KV cache that it had sized by its share of the card, then captures CUDA graphs outside the share. One of the two was refused[[ {asked} with {room} free]]; the weights had fitted.",
		Not:      "A shorter context alone: the KV cache fills the share at any length.",
		Cures: []cause.Cure{
			{Fix: "lower_gpu_memory_utilization", Title: "Lower `gpu_memory_utilization`", Told: "By what is short and a little more. If the KV cache is then too small for the context, lower `max_model_len`. {where}", Own: true, Cost: "a smaller KV cache"},
			Flags("enforce_eager", "Or turn off CUDA graphs: `enforce_eager`", "It helps only where the lines above the error are about graphs (`Capturing the model for CUDA graphs`).", "slower tokens, most with small models", Option("enforce_eager", "True")),
			{Fix: "close_other_apps", Title: "Check what else is on the card; start servers one by one", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
		},
		Sources: []string{"vllm/worker/worker.py", "vllm/executor/multiproc_worker_utils.py"},
	},
	{
		ID: "vllm/image-attention", Kinds: onCard, If: when.All(stage.OnCard, beyondAny), Said: ImageEncoders,
		Cause: cause.BatchTooLarge, Weight: cause.Decisive, Figures: figures,
		Headline: "wanted {asked} in one piece for the attention of its image encoder",
		Means:    "The traceback is in the image encoder. There the plain form of attention stores the score of every image patch against every other, which grows with the square of its pixels. At start vLLM tries the largest image that the model accepts, whatever you will send.",
		Not:      "`--gpu-memory-utilization`, a smaller quantisation or more cards: the piece does not depend on them.",
		Cures: []cause.Cure{
			Flags("lower_resolution", "Limit the size of images, and turn off video", "Half the pixels is a quarter of the piece. `max_pixels` is for Qwen-VL and similar models. {where}", "larger images are scaled down", Option("mm_processor_kwargs", `{"max_pixels": 602112}`), Option("limit_mm_per_prompt", `{"image": 1, "video": 0}`)),
			{Fix: "enable_flash_attention", Title: "Give the encoder a fused attention", Told: "NVIDIA: `pip install flash-attn --no-build-isolation`, or a newer vLLM, which brings its own. AMD: the image `vllm/vllm-openai-rocm`, which has ROCm's flash-attn.", Cost: "an install to test"},
			{Fix: "lower_batch_size", Title: "Or serve text only", Told: "The encoder then does not run at all:", Steps: Server.Sets(launch.To("limit_mm_per_prompt", `{"image": 0, "video": 0}`)), Cost: "images are refused"},
		},
		Sources: []string{"vllm/model_executor/models/qwen2_vl.py", "docs/configuration/conserving_memory.md", threads + "issues/18550"},
	},
	{
		ID: "vllm/one-piece", Kinds: onCard, If: when.All(stage.OnCard, beyondAny, when.Not(stage.LoadingWeights)), Unsaid: ImageEncoders, Phases: []string{"warmup", "inference", "graph_capture", "unknown"},
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Figures: figures,
		Headline: "wanted {asked} in one piece, more than any part of a model takes",
		Means:    "No weight and no part of the KV cache is that large. Most likely it is the plain form of attention, which stores every token or image patch against every other: its size grows with the square of their number. vLLM falls back to it mostly in image encoders, on cards or builds without a fused attention, and its trial run at start uses the largest image or video that the model accepts.",
		Not:      "`--gpu-memory-utilization`, a smaller quantisation or more cards: the piece does not depend on them.",
		Cures: []cause.Cure{
			Flags("lower_resolution", "If the model reads images, limit their size and turn off video", "Half the pixels is a quarter of the piece. `max_pixels` is for Qwen-VL and similar models. {where}", "larger images are scaled down", Option("mm_processor_kwargs", `{"max_pixels": 602112}`), Option("limit_mm_per_prompt", `{"image": 1, "video": 0}`)),
			Flags("lower_context", "If it reads text only, lower the tokens of one step", "", "longer prompts are refused", Option("max_model_len", "4096"), Option("max_num_batched_tokens", "2048")),
			{Fix: "enable_flash_attention", Title: "Or give it a fused attention", Told: "NVIDIA: `pip install flash-attn --no-build-isolation`, or a newer vLLM. AMD: the image `vllm/vllm-openai-rocm`, which has ROCm's flash-attn.", Cost: "an install to test"},
		},
		Sources: []string{"vllm/model_executor/models/qwen2_vl.py", "docs/configuration/conserving_memory.md", threads + "issues/18550"},
	},
	{
		ID: "vllm/flashinfer-workspace", Kinds: []fact.Kind{fact.FlashInferWorkspace}, If: inVLLM,
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Figures: figures,
		Headline: "overflowed FlashInfer's workspace, a buffer of fixed size",
		Means:    "Neither the card nor RAM was full. FlashInfer plans a batch in a buffer of fixed size, 394 MiB unless set, and this batch needed more[[ ({asked})]]: many sequences, or a model with many heads.",
		Not:      "`--gpu-memory-utilization`, more RAM: the buffer has its own size.",
		Cures: []cause.Cure{
			{Fix: "limit_framework_preallocation", Title: "Enlarge the workspace", Told: "In bytes; this is 1 GiB. It is taken from the card, so lower `gpu_memory_utilization` by 0.03 if vLLM then runs short:", Kind: "env", Text: "export VLLM_FLASHINFER_WORKSPACE_BUFFER_SIZE=1073741824", Cost: "1 GiB of the card"},
			Flags("lower_max_num_seqs", "Or compute less at once", "{where}", "more requests wait", Option("max_num_seqs", "64"), Option("max_num_batched_tokens", "2048")),
			{Fix: "enable_flash_attention", Title: "Or take another attention backend", Told: "`--attention-backend FLASH_ATTN`; before 2026 `export VLLM_ATTENTION_BACKEND=FLASH_ATTN`.", Cost: "some cards are slower with it"},
		},
		Sources: []string{"vllm/envs.py", "vllm/v1/attention/backends/flashinfer.py"},
	},
	{
		ID: "vllm/load-gguf", Kinds: onCard, Phases: []string{"load"}, Said: []string{"gguf_loader.py", "quantization/gguf.py"},
		Cause: cause.ModelTooLarge, Weight: cause.Decisive, Figures: figures,
		Headline: "ran out of memory on the card while loading a GGUF file",
		Means:    "Most layers stay as small as in the file, but vLLM keeps some parts of a GGUF at 16 bit, such as embeddings of some models[[; {mine} of {total} was in use when {asked} more was refused]]. KV cache and activations are still to come.",
		Not:      "`--quantization bitsandbytes`: it does not apply to a GGUF.",
		Cures: []cause.Cure{
			{Fix: "use_lower_quant", Title: "Take an AWQ or GPTQ checkpoint of the model instead", Told: "Search its name with -AWQ or -GPTQ-Int4 on huggingface.co: vLLM runs these faster and with less memory beside the weights. Or a smaller GGUF (Q4_K_M, then Q3_K_M).", Cost: "another download"},
			{Fix: "cpu_offload", Title: "Or run this file with llama.cpp", Told: "llama.cpp, and Ollama or LM Studio on top of it, keep as many layers on the card as fit and the rest in RAM. vLLM has nothing like that for a GGUF.", Cost: "fewer users at a time"},
			Flags("multi_gpu", "Or split it over two cards", "Each then holds half.", "needs a second card", Option("tensor_parallel_size", "2")),
		},
		Sources: []string{"vllm/model_executor/model_loader/gguf_loader.py", "vllm/model_executor/layers/quantization/gguf.py", "llama.cpp/tools/server/README.md"},
	},
	{
		ID: "vllm/load-online-fp8", Kinds: onCard, Phases: []string{"load"}, If: convertsToFP8,
		Cause: cause.ModelTooLarge, Weight: cause.Decisive, Figures: figures,
		Headline: "ran out of memory while loading 16-bit weights that it was to convert to FP8",
		Means:    "`quantization` is fp8, and the model's name shows no FP8 checkpoint. Most versions then load it at 16 bit first and convert afterwards, so the card must hold twice what stays[[: {mine} of {total} was in use]].",
		Not:      "`--gpu-memory-utilization`, `--max-model-len`: neither has an effect while weights load.",
		Cures: []cause.Cure{
			{Fix: "use_lower_quant", Title: "Load a checkpoint that is FP8 already", Told: "Search the model's name with -FP8 or -FP8-dynamic on huggingface.co (Qwen, RedHatAI, neuralmagic publish many) and serve that without `quantization`[[: about {fp8}]].[[ This card then has {left} for cache and work.]][[ That is too much for this card: take an AWQ or GPTQ one, {four}.]]", Cost: "another download"},
			{Fix: "upgrade_version", Title: "Or update vLLM", Told: "2026 versions convert layer by layer while they load, without the 16-bit copy: `pip install -U vllm`", Cost: "flags may have changed"},
			Flags("multi_gpu", "Or split it over two cards", "Each then holds half.", "needs a second card", Option("tensor_parallel_size", "2")),
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
