package server

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// vllmLoadCards are about weights that are being loaded or packed.
var vllmLoadCards = []cause.Card{
	{
		ID: "vllm/wake-up", Kinds: onCard, Said: []string{"in wake_up", "cumem_allocator.cpp", "device_allocator/cumem.py"},
		Cause: cause.RetainedMemory, Weight: 0.75,
		Means: "vLLM slept, gave its memory back, and could not take it again: something else holds it now. In a training loop that is likely the trainer in the same job, with gradients or its own cache.",
		Not:   "`--max-model-len`: weights and cache come back in the sizes they had.",
		Cures: []cause.Cure{
			{Fix: "empty_cache", Title: "Give the trainer's memory back before wake-up", Kind: "python", Text: "import gc, torch\ngc.collect()\ntorch.cuda.empty_cache()   # in the trainer, before llm.wake_up()", Cost: "free"},
			as("lower_gpu_memory_utilization", "Give vLLM a smaller share", "a smaller KV cache"),
		},
		Sources: []string{"vllm/device_allocator/cumem.py", vllmThreads + "issues/16663"},
	},
	{
		ID: "vllm/load-draft", Kinds: onCard, Phases: []string{"load"}, Said: startsDraft,
		Cause: cause.ModelTooLarge, Weight: 0.8,
		Means: "The main model was in place. What did not fit is the draft model of speculative decoding, loaded after it and in its own precision; its cache comes on top later.",
		Not:   "`--gpu-memory-utilization`: no share counts while weights load.",
		Cures: []cause.Cure{
			tell("use_smaller_model", "Start without the draft model", "Leave `--speculative-config` out. If it then starts with room to spare, try a smaller or quantised draft model.", "slower tokens, same answers"),
			as("use_lower_quant", "Or load smaller main weights", "slight loss of quality"),
			as("multi_gpu", "Or split it over more cards", "needs them"),
		},
		Sources: []string{"vllm/v1/worker/gpu/spec_decode/speculator.py", "https://github.com/wtdcode/vllm-backport/issues/34"},
	},
	{
		ID: "vllm/load-repack", Kinds: onCard, Phases: []string{"load"}, Said: []string{"in process_weights_after_loading", "marlin_utils", "in gptq_marlin_repack", "in repack"},
		Cause: cause.ModelTooLarge, Weight: 0.7,
		Means: "The weights were read. What failed is packing them into the kernel's layout (Marlin, FP8, MoE), which holds a layer or all its experts twice for a moment. A model that fits afterwards can fail here.",
		Not:   "`--gpu-memory-utilization`, `--max-model-len`: neither counts before the weights are packed.",
		Cures: []cause.Cure{
			as("upgrade_version", "Update vLLM: 2026 versions pack one by one", "flags may have changed"),
			as("multi_gpu", "Split it over more cards", "needs them"),
			as("use_lower_quant", "Load smaller weights", "slight loss of quality"),
		},
		Sources: []string{"vllm/model_executor/model_loader/utils.py", vllmThreads + "pull/47851", vllmThreads + "issues/21864"}, Solved: 1,
	},
	{
		ID: "vllm/load-bitsandbytes", Kinds: onCard, Phases: []string{"load"}, Said: []string{"bitsandbytes_loader.py", "quantization/bitsandbytes.py"},
		Cause: cause.ModelTooLarge, Weight: 0.65,
		Means: "vLLM makes 4 bit out of a 16-bit checkpoint while it loads, so single tensors and unquantised parts are on the card at 16 bit for a while. The peak is above the size of the 4-bit model.",
		Not:   "`--gpu-memory-utilization`: no share counts while weights load.",
		Cures: []cause.Cure{
			tell("use_lower_quant", "Load a checkpoint that is 4 bit already", "Search the model's name with -AWQ, -GPTQ-Int4 or -bnb-4bit on huggingface.co and serve that: nothing is converted on the card, and AWQ and GPTQ are faster too.", "another download"),
			as("use_smaller_model", "Or use a smaller model", "lower quality"),
		},
		Sources: []string{"vllm/model_executor/model_loader/bitsandbytes_loader.py"},
	},
	{
		ID: "vllm/lora-slots", Kinds: onCard, Said: []string{"vllm/lora/", "in create_lora_weights", "in _create_lora_modules"}, Phases: []string{"load", "warmup", "kv_cache", "unknown"},
		Cause: cause.BudgetMisconfigured, Weight: 0.7,
		Means: "vLLM reserves buffers for every LoRA slot beside the weights at start: `max_loras` times `max_lora_rank`, in all layers, however small the adapters are. Those found no room.",
		Not:   "Smaller adapter files: the slots have the size of `--max-lora-rank`.",
		Cures: []cause.Cure{
			tell("lower_parallel", "Fewer and smaller LoRA slots", "Set `--max-loras 1` and `--max-lora-rank` to the rank of your largest adapter (`r` in its adapter_config.json).", "fewer adapters at a time"),
			as("use_lower_quant", "Load smaller base weights", "slight loss of quality"),
		},
		Sources: []string{"vllm/lora/layers", "vllm/config/lora.py", vllmThreads + "issues/29049"},
	},
	{
		ID: "vllm/load-pinned", Kinds: []fact.Kind{fact.CUDAError}, Said: []string{"pin_memory", "uva.py", "get_cuda_view_from_cpu_tensor", "maybe_offload_to_cpu"},
		Cause: cause.HostMemory, Weight: 0.7,
		Means: "It failed where weights or cache are put into pinned system memory for `--cpu-offload-gb`. CUDA's words are the same for both memories; pinned memory is limited by free RAM, the container, and on WSL by about half the RAM.",
		Not:   "A smaller share of the card: the card was not what was asked.",
		Cures: []cause.Cure{
			tell("cpu_offload", "Offload less to system memory", "Lower `--cpu-offload-gb` (it counts for each card), so that cards x value stays well below free RAM.", "more must fit on the card"),
			as("raise_memory_limit", "Give the container more memory", "only if the machine has it"),
		},
		Sources: []string{"vllm/config/offload.py", vllmThreads + "issues/1084"},
	},
	{
		ID: "vllm/load-others", Kinds: onCard, If: heldByOthers,
		Cause: cause.LeakedProcess, Weight: 0.75,
		Means: "It failed while weights were loaded, and {others} of {total} is not this process's. Another server or an earlier start of this one holds the card; vLLM itself has {mine}.",
		Not:   "`--gpu-memory-utilization`: no share counts while weights load.",
		Cures: []cause.Cure{
			typed("kill_stale_process", "See what holds the card; end what is yours", "nvidia-smi   # end what is yours with: kill PID", "free"),
			as("select_gpu", "Or use another card", "only where there is one"),
		},
		Sources: []string{"vllm/model_executor/model_loader/base_loader.py", vllmThreads + "issues/188"},
	},
	{
		ID: "vllm/load-weights", Kinds: onCard, If: when.All(ledger.LoadingWeights, notOthers),
		Cause: cause.ModelTooLarge, Weight: 0.9,
		Means: "It failed while vLLM loaded the weights: {mine} of {total} is its own already, {asked} more was refused, and more layers were to come. Cache and share are not reached yet.",
		Not:   "`--gpu-memory-utilization`, `--max-model-len`, `--enforce-eager`: none counts while weights load.",
		Cures: []cause.Cure{
			as("use_lower_quant", "Load smaller weights of the same model", "slight loss of quality"),
			as("multi_gpu", "Split the weights over more cards", "needs them"),
			as("cpu_offload", "Keep a part in system memory", "much slower"),
		},
		Sources: []string{"vllm/model_executor/model_loader/base_loader.py", "vllm/model_executor/layers/linear.py"},
	},
	{
		ID: "vllm/load-refused", Kinds: []fact.Kind{fact.VLLMLoad},
		Cause: cause.ModelTooLarge, Weight: 0.85,
		Means: "vLLM says so itself: the weights do not fit what is free on the card. The share counts only afterwards.",
		Not:   "A lower `--gpu-memory-utilization`, which vLLM's own tip names: it frees nothing for weights.",
		Cures: []cause.Cure{
			as("use_lower_quant", "Load smaller weights of the same model", "slight loss of quality"),
			as("multi_gpu", "Split the weights over more cards", "needs them"),
			typed("kill_stale_process", "Check that the card is empty before the start", "nvidia-smi", "free"),
		},
		Sources: []string{"vllm/v1/worker/gpu_model_runner.py", "vllm/model_executor/layers/linear.py"},
	},
}

// vllmRunCards are about trial runs, graphs and requests.
var vllmRunCards = []cause.Card{
	{
		ID: "vllm/sampler-share", Kinds: []fact.Kind{fact.VLLMWarmup}, If: when.Not(manySequences),
		Cause: cause.BudgetMisconfigured, Weight: 0.65,
		Means: "Everything was in place; the last step before serving runs the sampler with {max_num_seqs} dummy requests, a usual number. Weights, cache and graphs had taken nearly all of the card, and this comes on top of vLLM's share.",
		Not:   "`--max-model-len`: the sampler's rows depend on requests and vocabulary only.",
		Cures: []cause.Cure{
			as("lower_gpu_memory_utilization", "Leave more of the card free", "a smaller KV cache"),
			as("lower_max_num_seqs", "Or allow fewer sequences at a time", "more requests wait"),
		},
		Sources: []string{"vllm/v1/worker/gpu_model_runner.py", vllmThreads + "issues/27508"},
	},
	{
		ID: "vllm/sampler-warmup", Kinds: []fact.Kind{fact.VLLMWarmup}, If: manySequences,
		Cause: cause.BatchTooLarge, Weight: 0.8,
		Means: "Everything was in place; the last step before serving runs the sampler with {max_num_seqs} dummy requests. It sorts a row of the whole vocabulary in 32 bit for each, several GiB with a large vocabulary, outside vLLM's share.",
		Not:   "`--max-model-len`: the rows depend on requests and vocabulary only.",
		Cures: []cause.Cure{
			as("lower_max_num_seqs", "Allow fewer sequences at a time", "more requests wait"),
			as("lower_gpu_memory_utilization", "Or leave more of the card free", "a smaller KV cache"),
		},
		Sources: []string{"vllm/v1/worker/gpu_model_runner.py", vllmThreads + "issues/14452", vllmThreads + "issues/27508"},
	},
	{
		ID: "vllm/profile-images", Kinds: onCard, If: ledger.Profiling, Said: []string{"in embed_multimodal", "in get_multimodal_embeddings", "_process_image_input", "_process_video_input", "profile_multimodal", "_execute_mm_encoder", "vit_attn_wrappers.py", "vision_tower"},
		Cause: cause.BatchTooLarge, Weight: 0.85,
		Means: "The trial run at start encodes the largest images and videos that the model accepts, as many as allowed for a prompt, and the vision encoder found no room. Your own images may be far smaller.",
		Not:   "`--gpu-memory-utilization`: the trial run comes before the share is applied.",
		Cures: []cause.Cure{
			as("lower_resolution", "Allow fewer and smaller images", "larger ones are scaled down"),
			tell("lower_batch_size", "Text only: no images, no videos", "If you send text alone: `--limit-mm-per-prompt '{\"image\": 0, \"video\": 0}'`. The encoder is then not run at all.", "images are refused"),
			as("lower_max_batched_tokens", "Compute fewer tokens at once", "slower long prompts"),
		},
		Sources: []string{"docs/configuration/conserving_memory.md", vllmThreads + "issues/18550", "https://github.com/gke-labs/open-rl/pull/215"}, Solved: 1,
	},
	{
		ID: "vllm/profile-run", Kinds: onCard, If: ledger.Profiling,
		Cause: cause.BatchTooLarge, Weight: 0.7,
		Means: "The weights are in place. The trial run at start computes `max_num_batched_tokens` at once, and its working memory found no room beside them. If next to nothing was free before it, the weights are the real problem.",
		Not:   "`--gpu-memory-utilization`: the trial run comes before the share is applied.",
		Cures: []cause.Cure{
			as("lower_max_batched_tokens", "Compute fewer tokens at once", "slower long prompts"),
			as("lower_max_num_seqs", "Allow fewer sequences at a time", "more requests wait"),
			as("use_lower_quant", "Or load smaller weights", "slight loss of quality"),
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "docs/configuration/conserving_memory.md"},
	},
	{
		ID: "vllm/graphs", Kinds: onCard, Phases: []string{"graph_capture"},
		Cause: cause.BudgetMisconfigured, Weight: 0.82,
		Means: "Weights and cache had taken vLLM's share of the card; capturing CUDA graphs, which versions before 2026 do not count into it, found no room in the rest.",
		Not:   "`--max-model-len`: the cache takes what the share leaves, however long requests may be.",
		Cures: []cause.Cure{
			as("lower_gpu_memory_utilization", "Leave more of the card free", "a smaller KV cache"),
			tell("lower_max_num_seqs", "Capture fewer graphs", "Graphs are captured up to `--max-num-seqs`: set it to what you really serve at a time (16 or 32), or list the sizes: `--compilation-config '{\"cudagraph_capture_sizes\": [1, 2, 4, 8, 16]}'`.", "larger batches run without graphs"),
			as("enforce_eager", "Or run without CUDA graphs", "slower tokens"),
		},
		Sources: []string{"docs/configuration/conserving_memory.md", "vllm/v1/worker/gpu_model_runner.py"},
	},
	{
		ID: "vllm/cache-alloc", Kinds: onCard, Phases: []string{"kv_cache"}, If: ledger.VLLMOnCard,
		Cause: cause.BudgetMisconfigured, Weight: 0.8,
		Means: "vLLM had sized the cache by its share of the card, and when it took it the card no longer had that much: another process took memory in between, or fixed sizes were set that do not fit.",
		Not:   "`--max-model-len`: the cache takes the whole share at any length.",
		Cures: []cause.Cure{
			as("lower_gpu_memory_utilization", "Leave more of the card free", "a smaller KV cache"),
			typed("close_other_apps", "See who else is on the card", "nvidia-smi   # two servers that start at the same time measure each other; start them one after the other", "free"),
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "vllm/v1/core/kv_cache_utils.py"},
	},
	{
		ID: "vllm/nccl", Kinds: []fact.Kind{fact.NCCLAlloc},
		Cause: cause.BudgetMisconfigured, Weight: 0.65,
		Means: "NCCL, which connects the cards, could not get its own buffers: some hundred MB a card that lie outside vLLM's share. Two ranks on one card fail the same way.",
		Not:   "`--max-model-len`: the buffers do not depend on it.",
		Cures: []cause.Cure{
			as("lower_gpu_memory_utilization", "Leave more of the card free", "a smaller KV cache"),
			typed("close_other_apps", "Check that each rank has a card of its own", "nvidia-smi", "free"),
		},
		Sources: []string{"vllm/distributed/device_communicators/pynccl.py"},
	},
	{
		ID: "vllm/prompt-logprobs", Kinds: onCard, Said: []string{"_get_prompt_logprobs", "in compute_logprobs", "prompt_logprobs", "in gather_logprobs"}, Phases: []string{"inference", "unknown"},
		Cause: cause.BatchTooLarge, Weight: 0.85,
		Means: "A request asked for log-probabilities of its prompt: a row of the whole vocabulary in 32 bit for every token computed at once. The trial run at start does not include that, so the cache had taken the room.",
		Not:   "A shorter `--max-model-len`: a chunk of the prompt is enough.",
		Cures: []cause.Cure{
			as("lower_max_batched_tokens", "Compute fewer prompt tokens at once", "slower long prompts"),
			as("lower_gpu_memory_utilization", "Leave more of the card free", "a smaller KV cache"),
			tell("lower_batch_size", "Or do not ask for them", "Leave `prompt_logprobs` (in lm-eval: `loglikelihood` tasks) out of the request where only generated tokens matter.", "no scores of the prompt"),
		},
		Sources: []string{"vllm/v1/sample/sampler.py", vllmThreads + "issues/5907", vllmThreads + "pull/52054"},
	},
	{
		ID: "vllm/vision-request", Kinds: onCard, Phases: []string{"inference"}, Said: []string{"_execute_mm_encoder", "_process_image_input", "_process_video_input", "in embed_multimodal", "in get_multimodal_embeddings"},
		Cause: cause.BatchTooLarge, Weight: 0.75,
		Means: "A request's images or video frames went through the vision encoder, and more or larger ones came together than the trial run at start had allowed for.",
		Not:   "A shorter `--max-model-len`: the encoder's work follows pixels, not text.",
		Cures: []cause.Cure{
			as("lower_resolution", "Allow fewer and smaller images", "larger ones are scaled down"),
			as("lower_gpu_memory_utilization", "Leave more of the card free", "a smaller KV cache"),
			as("lower_max_num_seqs", "Serve fewer requests at a time", "more requests wait"),
		},
		Sources: []string{"docs/configuration/conserving_memory.md", "https://github.com/MiaAI-Lab/GLM-5.3-Flash-EXL3-2x-DGX-Sparks/pull/183"}, Solved: 1,
	},
	{
		ID: "vllm/sampler-request", Kinds: onCard, Phases: []string{"inference", "unknown"}, Said: []string{"logits_sort", "apply_top_k_top_p", "apply_penalties", "apply_all_penalties"},
		Cause: cause.BatchTooLarge, Weight: 0.75,
		Means: "The sampler sorts a row of the whole vocabulary in 32 bit for every running sequence (top-p, top-k, penalties). That memory lies outside vLLM's share and grows with the sequences, not with their length.",
		Cures: []cause.Cure{
			as("lower_max_num_seqs", "Run fewer sequences at a time", "more requests wait"),
			as("lower_gpu_memory_utilization", "Leave more of the card free", "a smaller KV cache"),
		},
		Sources: []string{"vllm/v1/sample/ops/topk_topp_sampler.py", vllmThreads + "issues/5907"},
	},
	{
		ID: "vllm/gguf-dequant", Kinds: onCard, Said: []string{"_fused_mul_mat_gguf", "fused_mul_mat_gguf", "quantization/gguf.py", "ggml_dequantize"}, Phases: []string{"inference", "warmup", "unknown"},
		Cause: cause.BatchTooLarge, Weight: 0.6,
		Means: "vLLM unpacks whole GGUF weight matrices to 16 bit for larger batches, which needs room beside the weights. Its GGUF support is experimental and needs more than llama.cpp for the same file.",
		Cures: []cause.Cure{
			tell("use_lower_quant", "Use an AWQ or GPTQ checkpoint instead", "Search the model's name with -AWQ or -GPTQ-Int4 on huggingface.co: same size, no unpacking, faster in vLLM.", "another download"),
			as("lower_gpu_memory_utilization", "Leave more of the card free", "a smaller KV cache"),
		},
		Sources: []string{"vllm/model_executor/layers/quantization/gguf.py"},
	},
	{
		ID: "vllm/serving", Kinds: onCard, If: ledger.VLLMOnCard, Phases: []string{"inference"},
		Cause: cause.BudgetMisconfigured, Weight: 0.75,
		Means: "Start and graphs went well; a request asked for {asked} of working memory and {room} was left, as vLLM fills its share with cache and the rest was taken. The trial run at start did not foresee this mix of requests.",
		Not:   "A shorter `--max-model-len`: the cache takes the whole share at any length.",
		Cures: []cause.Cure{
			as("lower_gpu_memory_utilization", "Leave more of the card free", "a smaller KV cache"),
			as("lower_max_batched_tokens", "Compute fewer tokens at once", "slower long prompts"),
			as("lower_max_num_seqs", "Run fewer sequences at a time", "more requests wait"),
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "docs/configuration/conserving_memory.md"},
	},
}
