package server

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/server/launch"
	"github.com/oomdoc/oomdoc/rules/program/server/stage"
	"github.com/oomdoc/oomdoc/rules/program/server/vllm"
	"github.com/oomdoc/oomdoc/rules/when"
)

// lessShare is the cure where something outside vLLM's share found no room.
func lessShare(title, more string) cause.Cure {
	return added("lower_gpu_memory_utilization", title, "{low} instead of {from}[[ frees {freed} on each GPU]][[; {own}]]."+more, "a smaller KV cache")
}

const (
	cacheFills   = "A lower `--max-model-len` alone: the KV cache fills the share at any length."
	trialFirst   = "`--gpu-memory-utilization`: the trial run comes before it takes effect."
	tooShortThen = " If vLLM then says that the context does not fit, lower `max_model_len` too."
)

// vllmRunCards are about trial runs, graphs and requests.
var vllmRunCards = []cause.Card{
	{
		ID: "vllm/sampler-share", Kinds: []fact.Kind{fact.VLLMWarmup}, If: when.Not(manySequences),
		Cause: cause.BudgetMisconfigured, Weight: cause.Likely, Figures: vllmFigures, Headline: "did not start: no GPU memory was left to warm up the sampler",
		Means: "Weights and KV cache had taken nearly all of the GPU. In the last step before serving, vLLM tries the sampler with {seqs} dummy requests. It sorts the whole vocabulary for each of them[[, about {sort} with 150,000 tokens]].",
		Not:   "A shorter context: this step depends only on the number of requests and the vocabulary.",
		Cures: []cause.Cure{
			added("lower_max_num_seqs", "Lower `max_num_seqs`", "[[It then needs about {sort_fewer}. ]]This changes nothing until more than {fewer} requests run at once. {where}", "more requests wait"),
			lessShare("Or lower `gpu_memory_utilization`", tooShortThen),
			typed("close_other_apps", "Check what else is on the GPU", "nvidia-smi", "free"),
		},
		Sources: []string{"vllm/v1/worker/gpu_model_runner.py", vllmThreads + "issues/27508"},
	},
	{
		ID: "vllm/sampler-warmup", Kinds: []fact.Kind{fact.VLLMWarmup}, If: manySequences,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: vllmFigures, Headline: "did not start: warming up the sampler for {seqs} requests needs too much GPU memory",
		Means: "Weights and KV cache were in place. In the last step before serving, vLLM tries the sampler with `max_num_seqs` dummy requests (large GPUs and vLLM 0.8.0 to 0.8.3 default to 1024). It sorts the whole vocabulary for each of them[[, about {sort} with 150,000 tokens]].",
		Not:   "A shorter context: this step depends only on the number of requests and the vocabulary.",
		Cures: []cause.Cure{
			added("lower_max_num_seqs", "Lower `max_num_seqs`", "[[It then needs about {sort_fewer}. ]]This changes nothing until more than {fewer} requests run at once. {where}", "more requests wait"),
			lessShare("Or lower `gpu_memory_utilization`", tooShortThen),
			vllm.Flags("enforce_eager", "Or turn off CUDA graphs", "That frees 0.2 to 3 GiB.", "slower tokens", vllm.Option("enforce_eager", "True")),
		},
		Sources: []string{"vllm/v1/worker/gpu_model_runner.py", vllmThreads + "issues/14452", vllmThreads + "issues/27508"},
	},
	{
		ID: "vllm/kernel-warmup", Kinds: onCard, If: stage.OnCard, Said: stage.Kernels, Phases: []string{"warmup", "unknown"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Figures: vllmFigures, Headline: "did not start: no GPU memory was left to warm up its kernels",
		Means: "Weights and KV cache were in place. vLLM then runs its kernels once with the largest batch[[ (here {kernels})]]. They need memory outside vLLM's share of the GPU.",
		Not:   cacheFills,
		Cures: []cause.Cure{
			lessShare("Lower `gpu_memory_utilization`", tooShortThen+" {where}"),
			vllm.Flags("lower_max_batched_tokens", "Or lower `max_num_batched_tokens`", "The kernels' buffers shrink with it.", "slower long prompts", vllm.Option("max_num_batched_tokens", "2048")),
			vllm.Given(func(c *ledger.Case) bool { return c.Near("deep_gemm_warmup") }, cause.Cure{Fix: "enforce_eager", Title: "Or skip the DeepGEMM warm-up", Told: "Kernels are then built when a request first needs them (0.11.1 and later):", Kind: "env", Text: "export VLLM_DEEP_GEMM_WARMUP=skip", Cost: "slow first requests"}),
			piecesCure,
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "vllm/model_executor/warmup/kernel_warmup.py", "vllm/envs.py"},
	},
	{
		ID: "vllm/sampler-rows", Kinds: onCard, If: when.All(stage.OnCard, sampledRows), Phases: []string{"warmup", "unknown", "graph_capture"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "ran out of GPU memory, most likely while sampling for {seqs} requests",
		Means:    "The {asked} matches the sampler: {seqs} requests x {words} tokens ({whose} vocabulary) x {bytes} bytes. {stage}.",
		Not:      "A shorter context: this size does not depend on it.",
		Cures: []cause.Cure{
			added("lower_max_num_seqs", "Lower `max_num_seqs`", "{asked} becomes {piece_fewer}. This changes nothing until more than {fewer} requests run at once. {where}", "more requests wait"),
			afterGraphs(lessShare("Or lower `gpu_memory_utilization`", tooShortThen)),
			vllm.Flags("lower_max_batched_tokens", "Or lower `max_num_batched_tokens`", "If it was not the sampler, each step then computes less.", "slower long prompts", vllm.Option("max_num_batched_tokens", "2048")),
		},
		Sources: []string{"vllm/v1/worker/gpu_model_runner.py", "vllm/v1/sample/ops/topk_topp_sampler.py", vllmThreads + "issues/15105"},
	},
	{
		ID: "vllm/profile-video", Kinds: onCard, If: stage.Profiling, Said: []string{"_process_video_input"},
		Cause: cause.BatchTooLarge, Weight: cause.Decisive, Figures: vllmFigures,
		Headline: "did not start: its trial run with the longest video did not fit",
		Means:    "At start vLLM encodes the longest video that the model accepts, whatever you will send. The vision encoder did not fit beside the weights. The KV cache still has to come.",
		Not:      trialFirst,
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Turn off video input", Told: "The trial run then encodes only one image per prompt. {where}", Kind: "config", Text: "--limit-mm-per-prompt '{\"image\": 1, \"video\": 0}'", Cost: "videos are refused"},
			{Fix: "lower_context", Title: "Or lower the context length: `max_model_len`", Told: "The trial run's video is cut to the longest prompt.", Steps: vllm.Server.Sets(launch.AtMost("max_model_len", 8192), launch.AtMost("max_num_seqs", 8)), Cost: "longer prompts are refused"},
			vllm.Words("use_lower_quant", "Or load a smaller version of the model", "{fewer_bits} Or `--quantization fp8` on RTX 40 and newer: about half of 16 bit.", "slight loss of quality"),
		},
		Sources: []string{"docs/configuration/conserving_memory.md", "vllm/model_executor/models/glm4_1v.py", vllmThreads + "issues/18550"},
	},
	{
		ID: "vllm/profile-images", Kinds: onCard, If: stage.Profiling, Said: visionEncoder,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "did not start: its trial run with the largest images did not fit",
		Means:    "At start vLLM encodes the largest images and videos that the model accepts, as many as one prompt may have. The vision encoder did not fit beside the weights. Your own images may be far smaller.",
		Not:      trialFirst,
		Cures: []cause.Cure{
			added("lower_resolution", "Allow fewer and smaller images", "`max_pixels` (here about a million) works for Qwen-VL and similar models. If you need no video, add `\"video\": 0`. {where}", "larger ones are scaled down"),
			{Fix: "lower_batch_size", Title: "Or serve text only", Told: "The encoder then does not run:", Kind: "config", Text: "--limit-mm-per-prompt '{\"image\": 0, \"video\": 0}'", Cost: "images are refused"},
			added("lower_max_batched_tokens", "Or lower `max_num_batched_tokens`", "The images of one batch count towards it.", "slower long prompts"),
		},
		Sources: []string{"docs/configuration/conserving_memory.md", vllmThreads + "issues/18550", "https://github.com/gke-labs/open-rl/pull/215"}, Solved: 1,
	},
	{
		ID: "vllm/profile-encoder", Kinds: onCard, If: stage.Profiling, Said: []string{"enc_dec_model_runner.py", "models/mllama.py"},
		Cause: cause.BatchTooLarge, Weight: cause.Decisive, Figures: loadFigures,
		Headline: "did not start: its trial run with images did not fit beside the weights",
		Means:    "The weights are loaded. For this kind of model the trial run computes an image for each of `max_num_seqs` requests at once, 256 by default. That did not fit.",
		Not:      "`--gpu-memory-utilization`: the trial run comes before it takes effect. `--enable-chunked-prefill`: vLLM refuses it for these models.",
		Cures: []cause.Cure{
			{Fix: "lower_max_num_seqs", Title: "Lower `max_num_seqs`", Told: "The trial run shrinks in proportion. {where}", Cost: "more requests wait", Steps: vllm.Server.Sets(launch.AtMost("max_num_seqs", 16))},
			{Fix: "lower_context", Title: "Lower the context length as well", Told: "The KV cache must hold one request of full length; the model's own maximum can be 131,072 tokens.", Cost: "longer prompts are refused", Steps: vllm.Server.Sets(launch.AtMost("max_num_seqs", 8), launch.AtMost("max_model_len", 8192))},
			{Fix: "enforce_eager", Title: "If it then fails at CUDA graphs, turn them off", Told: "`--enforce-eager`", Cost: "slower tokens"},
		},
		Sources: []string{"vllm/worker/enc_dec_model_runner.py", "vllm/model_executor/models/mllama.py", vllmThreads + "issues/8879", vllmThreads + "issues/9445"}, Solved: 2,
	},
	{
		ID: "vllm/trial-beside-full", Kinds: onCard, If: when.All(stage.Profiling, weightsFill),
		Cause: cause.ModelTooLarge, Weight: cause.Decisive, Figures: loadFigures,
		Headline: "did not start: the weights take {loaded} of the GPU's {total}",
		Means:    "The weights are {loaded_part} of the GPU, and the trial run at start did not fit beside them.[[ {past_it}]] A model that fits usually leaves a tenth of the GPU or more.",
		Not:      "`--enforce-eager`, fewer batched tokens or a shorter context alone: too little is left for the KV cache.",
		Cures: []cause.Cure{
			vllm.Words("use_lower_quant", "Load a smaller version of the model", quantised, "slight loss of quality"),
			added("multi_gpu", "Or use more GPUs", halvesThem, "needs more GPUs"),
			vllm.Words("cpu_offload", "Or keep a part in system RAM", "Start with `--cpu-offload-gb 6` (in Python `cpu_offload_gb=6`) and `--max-num-batched-tokens 2048`. Every token then reads that part over the slow bus.", "many times slower"),
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "vllm/config/offload.py", "docs/configuration/conserving_memory.md"},
	},
	{
		ID: "vllm/trial-crowded", Kinds: onCard, If: when.All(stage.Profiling, crowded),
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Figures: loadFigures,
		Headline: "did not start: {mine} of {total} was in use when its trial run needed {asked} more",
		Means:    "The weights are loaded. The trial run at start, which computes {trial_of} at once, did not fit beside them. The line `Model loading took` shows the size of the weights. If that is nine tenths of the GPU, a smaller trial run passes, but the KV cache will not fit.",
		Not:      trialFirst,
		Cures: []cause.Cure{
			vllm.Flags("lower_max_batched_tokens", "Make the trial run smaller first", "{where}", "slower long prompts, more requests wait", vllm.Option("max_num_batched_tokens", "2048"), vllm.Option("max_num_seqs", "16"), vllm.Option("max_model_len", "4096")),
			vllm.Given(stage.OnAscend, vllm.Words("use_lower_quant", "Or load smaller weights", "A W8A8 checkpoint (made by ModelSlim, on modelscope.cn) with `--quantization ascend` is half of 16 bit.", "slight loss of quality")),
			vllm.Words("use_lower_quant", "Or load a smaller version of the model", quantised, "slight loss of quality"),
			added("multi_gpu", "Or use more GPUs", halvesThem, "needs more GPUs"),
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "docs/configuration/conserving_memory.md"},
	},
	{
		ID: "vllm/profile-run", Kinds: onCard, If: stage.Profiling,
		Cause: cause.BatchTooLarge, Weight: cause.Likely, Figures: loadFigures,
		Headline: "did not start: its trial run did not fit beside the weights",
		Means:    "The weights are loaded. The trial run at start computes {trial_of} at once, and that did not fit.[[ It also takes images and videos of {mm_tokens} tokens, the most that are allowed.]] The line `Model loading took … GiB` shows the size of the weights: if it is close to the GPU's size, the weights are the problem.",
		Not:      trialFirst,
		Cures: []cause.Cure{
			vllm.Given(func(c *ledger.Case) bool { return ledger.IntSetting(c, "mm_tokens") > 8192 }, imagesTold("Allow fewer and smaller images")),
			vllm.Flags("lower_max_batched_tokens", "Lower `max_num_batched_tokens` and `max_num_seqs`", "The trial run shrinks with them. {where}", "long prompts and many users are slower", vllm.Option("max_num_batched_tokens", "2048"), vllm.Option("max_num_seqs", "32")),
			readsImages,
			vllm.Words("use_lower_quant", "Or load a smaller version of the model", quantised, "slight loss of quality"),
			added("multi_gpu", "Or use more GPUs", halvesThem, "needs more GPUs"),
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "docs/configuration/conserving_memory.md"},
	},
	{
		ID: "vllm/graphs", Kinds: onCard, Phases: []string{"graph_capture"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: func(c *ledger.Case) map[string]string { return stage.Graphs(c, vllmFigures(c)) },
		Headline: "did not start: no GPU memory was left to capture {graphs}",
		Means:    "Weights and KV cache took vLLM's share[[ ({share} of the GPU)]]. {graphs_take} did not fit in the rest.[[ {uncounted}]]",
		Not:      "A lower `--max-model-len` alone: the KV cache fills the share at any length.",
		Cures: []cause.Cure{
			lessShare("Lower `gpu_memory_utilization`", tooShortThen+" {where}"),
			vllm.Flags("lower_max_num_seqs", "Or lower `max_num_seqs`", "vLLM captures graphs for up to that many requests.", "more requests wait", vllm.Option("max_num_seqs", "16")),
			added("enforce_eager", "Or turn off {graphs}: `enforce_eager`", "vLLM then skips this step.", "slower tokens, most with small models"),
		},
		Sources: []string{"docs/configuration/conserving_memory.md", "vllm/v1/worker/gpu_model_runner.py"},
	},
	{
		ID: "vllm/cache-alloc-xpu", Kinds: onCard, Phases: []string{"kv_cache"}, If: when.All(stage.OnCard, ledger.Roomy, stage.OnIntel),
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "could not get {asked} for its KV cache although {room} of the Intel GPU is reported free",
		Means:    "vLLM plans the KV cache from the free memory that the driver reports. On Intel GPUs not all of that can be allocated: the driver and other processes of the same server need some. The log does not show which; another program on the GPU is possible too.",
		Not:      "A higher share: it plans an even larger cache.",
		Cures: []cause.Cure{
			added("lower_gpu_memory_utilization", "Lower `gpu_memory_utilization`", "{low} instead of {from}[[ is {freed} less on each GPU]]. If it fails again, take another 0.05 off. {where}", "fewer tokens at once"),
			{Fix: "restart_session", Title: "Start with an empty GPU and enough RAM", Told: "After `docker compose down` check that the GPU is empty and RAM is free. Give the container no tight `mem_limit`; with several GPUs set `shm_size: \"16g\"`.", Kind: "shell", Text: "xpu-smi ps; free -h", Cost: "a minute"},
			{Fix: "upgrade_version", Title: "Update driver and image together", Told: "Intel's compute runtime on the host and the vLLM (llm-scaler) image must match.", Cost: "an update to test"},
		},
		Sources: []string{"vllm/v1/worker/gpu_model_runner.py", "https://github.com/intel/llm-scaler/issues/672"},
	},
	{
		ID: "vllm/cache-alloc", Kinds: onCard, Phases: []string{"kv_cache"}, If: stage.OnCard,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "did not start: the KV cache it had planned did not fit in GPU memory",
		Means:    "vLLM sized the KV cache by its share of the GPU, but could not allocate all of it. Usually something else took memory in between (a second server, a desktop), or the size was set by hand (`--kv-cache-memory-bytes`, `--num-gpu-blocks-override`).",
		Cures: []cause.Cure{
			lessShare("Lower `gpu_memory_utilization`", tooShortThen+" {where}"),
			vllm.Given(maybeOthers, typed("close_other_apps", "Check what else is on the GPU; start servers one by one", "nvidia-smi", "free")),
			piecesCure,
			{Fix: "lower_context", Title: "If you set the cache size by hand, remove that", Told: "Without `--kv-cache-memory-bytes` and `--num-gpu-blocks-override` vLLM measures the size itself.", Cost: "free"},
			as("upgrade_version", "If the GPU was empty, update vLLM: it measured too little", "flags may have changed"),
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "vllm/v1/core/kv_cache_utils.py"},
	},
	{
		ID: "vllm/nccl", Kinds: []fact.Kind{fact.NCCLAlloc},
		Cause: cause.BudgetMisconfigured, Weight: cause.Likely, Figures: vllmFigures,
		Headline: "ran out of GPU memory when NCCL asked for its buffers",
		Means:    "NCCL connects the GPUs. Its buffers, a few hundred MB per GPU, did not fit. At the start they come before weights and KV cache: then something else filled the GPU, or two processes of the server share it. Later they must fit outside vLLM's share.",
		Not:      "`--max-model-len`: NCCL's buffers do not depend on it.",
		Cures: []cause.Cure{
			typed("close_other_apps", "Check that each process has its own GPU, empty before the start", "nvidia-smi", "free"),
			added("lower_gpu_memory_utilization", "If the weights had loaded, lower `gpu_memory_utilization`", "{low} instead of {from}. {where}", "a smaller KV cache"),
		},
		Sources: []string{"vllm/distributed/device_communicators/pynccl.py"},
	},
	{
		ID: "vllm/prompt-logprobs", Kinds: onCard, Said: []string{"_get_prompt_logprobs", "in compute_logprobs", "prompt_logprobs", "in gather_logprobs", "in get_logprobs"}, Phases: []string{"inference", "unknown"}, If: stage.OnCard,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "ran out of GPU memory while computing log-probabilities",
		Means:    "A request asked for log-probabilities, usually of its prompt. vLLM then needs scores of the whole vocabulary for every token: about 0.6 MB per token, several times over. The trial run at start does not include that.",
		Cures: []cause.Cure{
			vllm.Flags("lower_max_batched_tokens", "Lower `max_num_batched_tokens`", "Fewer prompt tokens are then computed at once. {where}", "slower long prompts", vllm.Option("max_num_batched_tokens", "512"), vllm.Option("max_num_seqs", "128")),
			lessShare("Or lower `gpu_memory_utilization`", ""),
			tell("lower_batch_size", "Or do not ask for them", "Leave out `prompt_logprobs` (lm-eval: `loglikelihood` tasks) where you only need the generated text.", "no scores of the prompt"),
		},
		Sources: []string{"vllm/v1/sample/sampler.py", vllmThreads + "issues/5907", vllmThreads + "pull/52054"},
	},
	{
		ID: "vllm/vision-request", Kinds: onCard, Phases: []string{"inference"}, Said: []string{"_execute_mm_encoder", "_merge_multimodal_embeddings", "_process_image_input", "_process_video_input", "in embed_multimodal", "in get_multimodal_embeddings"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "ran out of GPU memory while encoding the images of a request",
		Means:    "The images or video frames of a request did not fit beside weights and KV cache. Usually they were more or larger than the trial run at start had planned for.",
		Cures: []cause.Cure{
			vllm.Given(littleShort, lessShare("Lower `gpu_memory_utilization`", tooShortThen+" {where}")),
			added("lower_resolution", "Allow fewer and smaller images", "The number counts per prompt, including all turns of a chat. `max_pixels` works for Qwen-VL and similar models. {where}", "larger ones are scaled down"),
			vllm.Given(when.Not(littleShort), lessShare("Or lower `gpu_memory_utilization`", tooShortThen)),
			as("lower_max_num_seqs", "Or lower `max_num_seqs`", "more requests wait"),
		},
		Sources: []string{"docs/configuration/conserving_memory.md", "https://github.com/MiaAI-Lab/GLM-5.3-Flash-EXL3-2x-DGX-Sparks/pull/183"}, Solved: 1,
	},
	{
		ID: "vllm/sampler-request", Kinds: onCard, Phases: []string{"inference", "unknown"}, Said: []string{"logits_sort", "apply_top_k_top_p", "apply_penalties", "apply_all_penalties"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "ran out of GPU memory in the sampler",
		Means:    "For top-p, top-k and penalties, vLLM needs scores of the whole vocabulary for every running request. This memory is outside vLLM's share. It grows with the number of requests, not with their length.",
		Not:      cacheFills,
		Cures: []cause.Cure{
			added("lower_max_num_seqs", "Lower `max_num_seqs`", "This changes nothing until more than {fewer} requests run at once. {where}", "more requests wait"),
			lessShare("Or lower `gpu_memory_utilization`", ""),
			{Fix: "upgrade_version", Title: "Or use FlashInfer's sampler", Told: "It does not sort. Install flashinfer for your CUDA version and start with:", Kind: "env", Text: "export VLLM_USE_FLASHINFER_SAMPLER=1", Cost: "NVIDIA GPUs only"},
		},
		Sources: []string{"vllm/v1/sample/ops/topk_topp_sampler.py", "vllm/envs.py", vllmThreads + "issues/5907"},
	},
	{
		ID: "vllm/gguf-dequant", Kinds: onCard, Said: []string{"_fused_mul_mat_gguf", "fused_mul_mat_gguf", "quantization/gguf.py", "ggml_dequantize"}, Phases: []string{"inference", "warmup", "unknown"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "ran out of GPU memory while unpacking GGUF weights",
		Means:    "For larger batches vLLM unpacks GGUF weights to 16 bit, which needs extra memory. Its GGUF support is experimental and needs more memory than llama.cpp for the same file.",
		Cures: []cause.Cure{
			tell("use_lower_quant", "Use an AWQ or GPTQ checkpoint instead", "Search the model's name with AWQ or GPTQ on huggingface.co. They have about the same size, need no unpacking and are faster in vLLM.", "another download"),
			lessShare("Or lower `gpu_memory_utilization`", ""),
		},
		Sources: []string{"vllm/model_executor/layers/quantization/gguf.py"},
	},
	{
		ID: "vllm/serving-large", Kinds: onCard, If: when.All(stage.OnCard, func(c *ledger.Case) bool { return ledger.Requested(c) >= 2<<30 }), Phases: []string{"inference"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: servingFigures,
		Headline: "ran out of GPU memory while serving: one step wanted {asked} at once",
		Means:    "The server had started and was working on requests. A step that large usually computes log-probabilities of a prompt[[ ({rows} tokens with a vocabulary of 150,000)]], or large or many images. The trial run at start needed less, so the KV cache had taken the memory.",
		Cures: []cause.Cure{
			vllm.Flags("lower_max_batched_tokens", "Lower `max_num_batched_tokens` and `max_num_seqs`", "This size shrinks with the tokens of one step. {where}", "slower long prompts", vllm.Option("max_num_batched_tokens", "2048"), vllm.Option("max_num_seqs", "32")),
			lessShare("Or lower `gpu_memory_utilization`", tooShortThen),
			aRequest,
		},
		Sources: []string{"vllm/v1/sample/sampler.py", "docs/configuration/conserving_memory.md", vllmThreads + "issues/5907"},
	},
	{
		ID: "vllm/serving", Kinds: onCard, If: stage.OnCard, Phases: []string{"inference"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "ran out of GPU memory while serving requests",
		Means:    servingMeans,
		Cures: []cause.Cure{
			lessShare("Lower `gpu_memory_utilization`", tooShortThen+" {where}"),
			vllm.Flags("lower_max_batched_tokens", "Or lower `max_num_batched_tokens` and `max_num_seqs`", "", "slower long prompts, more requests wait", vllm.Option("max_num_batched_tokens", "2048"), vllm.Option("max_num_seqs", "32")),
			piecesCure,
			withoutGraphs,
			aRequest,
		},
		Later:   "The engine does not recover: restart it. If its memory grows from request to request under the same load, update vLLM.",
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "docs/configuration/conserving_memory.md"},
	},
	{
		ID: "vllm/after-graphs", Kinds: onCard, If: when.All(stage.OnCard, stage.CacheTaken, startedUp), Phases: []string{"unknown", "warmup"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "ran out of GPU memory after its KV cache was allocated",
		Means:    "The message counts memory of CUDA graphs, so weights and KV cache were already in place. What failed was the last warm-up at start or a request. Both can use only the memory outside vLLM's share.",
		Cures: []cause.Cure{
			lessShare("Lower `gpu_memory_utilization`", tooShortThen+" {where}"),
			vllm.Flags("lower_max_batched_tokens", "Or lower `max_num_batched_tokens` and `max_num_seqs`", "", "slower long prompts, more requests wait", vllm.Option("max_num_batched_tokens", "2048"), vllm.Option("max_num_seqs", "32")),
			piecesCure,
			withoutGraphs,
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "docs/configuration/conserving_memory.md"},
	},
	{
		ID: "vllm/last-warmup", Kinds: onCard, If: stage.OnCard, Said: stage.LastWarmup, Phases: []string{"warmup"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "did not start: no GPU memory was left for its last warm-up",
		Means:    "It failed in `compile_or_warm_up_model`, after the weights and the KV cache. There vLLM runs the model once more at its largest sizes and prepares CUDA graphs and the sampler. That needs memory outside its share of the GPU.",
		Not:      cacheFills,
		Cures: []cause.Cure{
			lessShare("Lower `gpu_memory_utilization`", tooShortThen+" {where}"),
			vllm.Flags("lower_max_batched_tokens", "Or lower `max_num_batched_tokens` and `max_num_seqs`", "", "slower long prompts, more requests wait", vllm.Option("max_num_batched_tokens", "2048"), vllm.Option("max_num_seqs", "32")),
			added("enforce_eager", "Or turn off CUDA graphs and compilation", "", "slower tokens"),
			piecesCure,
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py"},
	},
	vllm.ComputedOpen(notOthers, loadFigures, imagesTold("If the model reads images: allow fewer and smaller ones")), {
		ID: "vllm/phase-open", Kinds: onCard, If: when.All(stage.OnCard, when.Any(notOthers, ledger.Roomy)), Phases: []string{"unknown"}, Figures: loadFigures,
		Headline: "ran out of GPU memory; the log does not show in which step",
		Means:    "Earlier lines of your log show the step. `GPU KV cache size` (old: `# GPU blocks`) means CUDA graphs[[ {or_request}]]; only `Model loading took` (old: `Loading model weights took`) means the trial run at start[[; {neither}]].",
		Cures: []cause.Cure{
			{Fix: "lower_gpu_memory_utilization", Title: "Choose by the last of these lines in your log", Ways: []cause.Way{
				{For: "GPU KV cache size", Text: "`--gpu-memory-utilization {low}` instead of {from}[[ frees {freed}]][[; {own}]]"},
				{For: "Model loading took", Text: "A smaller trial run: `--max-num-batched-tokens 2048 --max-num-seqs 16[[{chunked}]]`, with images also a lower `--limit-mm-per-prompt`"},
				{For: "Neither", Text: "{or_weights}maller weights (AWQ, GPTQ or FP8)[[: about {in16} billion parameters at 16 bit or {in4} at 4 bit fit this card]], or `--tensor-parallel-size {twice}`"},
			}, Cost: "less cache or speed"},
			vllm.Given(when.Not(vllm.FewPieces), piecesCure),
			{Fix: "close_other_apps", Title: "Check that nothing else is on the GPU", If: maybeOthers, Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			{Fix: "lower_max_batched_tokens", Title: "Start with low limits, then raise them", Told: "[[{or_weights}maller weights or more GPUs help if it fails again while they load. ]]In a script these are arguments of `LLM(…)`, with underscores.", Cost: "slower, shorter prompts", Steps: vllm.Server.Sets(launch.From("gpu_memory_utilization", lowerKnown), launch.AtMost("max_model_len", 4096), launch.AtMost("max_num_seqs", 16), launch.AtMost("max_num_batched_tokens", 2048), vllm.Chunks, launch.To("enforce_eager", "True"))},
			vllm.Given(vllm.FewPieces, piecesCure),
			added("multi_gpu", "Or split it over more GPUs", halvesThem, "needs more GPUs"),
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "docs/configuration/conserving_memory.md"},
	},
}

// lowerKnown is a smaller share where the log shows the present one: a usual one may
// be more.
func lowerKnown(c *ledger.Case) string {
	if _, known := vllmShare.now(c); !known {
		return ""
	}
	return launch.Share(vllmShare.lowered(c))
}

// readsImages is a cure where the traceback goes through a model that reads them.
var readsImages = vllm.Given(func(c *ledger.Case) bool { return seesImages(c) || c.Near(vllm.ImageEncoders...) }, imagesTold("Or allow fewer and smaller images"))

func imagesTold(title string) cause.Cure {
	return vllm.Words("lower_resolution", title, "`--limit-mm-per-prompt '{\"image\": 1}'` (before 0.8.5 `image=1`) and, for Qwen-VL and similar, `--mm-processor-kwargs '{\"max_pixels\": 1003520}'`.", "larger ones are scaled down")
}

const servingMeans = "The server had started. vLLM fills its share of GPU memory with the KV cache, so requests can use only what is left outside it. This step needed more. Long prompts, many requests at once, large images or log-probabilities cause that."

// withoutGraphs wins what CUDA graphs hold.
var withoutGraphs = vllm.Given(when.Not(when.Set("enforce_eager", "True")), added("enforce_eager", "Or turn off CUDA graphs: `enforce_eager`", "That frees 0.2 to 3 GiB on most versions.", "slower tokens, most with small models"))

// aRequest is a cure where one kind of request needs far more than others.
var aRequest = tell("lower_batch_size", "Or find the request that causes it", "Look at the last `POST` or `Received request` line before the error. Typical ones use `prompt_logprobs`, `echo` with `logprobs` (lm-eval's loglikelihood tasks) or large images. For images lower `--limit-mm-per-prompt` or send smaller ones.", "that request must ask for less")

// piecesCure wins the allocator's reserve, where it holds some.
var piecesCure = cause.Cure{
	Fix: "expandable_segments", Title: "Set `expandable_segments:True`", If: reserveCovers,
	Told: "PyTorch holds {slack} that is reserved but unused, so fragmentation is part of this. Set it before vLLM starts:", Kind: "env", Text: "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", Cost: "free",
}

// littleShort: less than a GiB was lacking, which a smaller share frees.
func littleShort(c *ledger.Case) bool { return c.Shortfall.Has() && c.Shortfall.Bytes < 1<<30 }

// maybeOthers: the log does not rule out that others hold part of the card.
func maybeOthers(c *ledger.Case) bool { return !c.Others.Has() || c.OthersAtMost.Bytes > 1<<30 }

// reserveCovers: the allocator's unused reserve is about what was lacking.
func reserveCovers(c *ledger.Case) bool {
	return c.Slack.Has() && c.Shortfall.Has() && c.Asked.Has() && c.Slack.Bytes > c.Shortfall.Bytes && c.Slack.Bytes > c.Asked.Bytes/4 && !when.Set("expandable_segments", "")(c)
}

// afterGraphs is a cure for what fails after the cache was taken.
func afterGraphs(cure cause.Cure) cause.Cure {
	cure.If = startedUp
	return cure
}

func startedUp(c *ledger.Case) bool { return c.Contains("private pools") }

var visionEncoder = []string{"in embed_multimodal", ".embed_multimodal(", ".get_multimodal_embeddings(", "in get_multimodal_embeddings", "_process_image_input", "_process_video_input", "profile_multimodal", "_execute_mm_encoder", "vit_attn_wrappers.py", "vision_tower"} // in tracebacks of models that take pictures

func seesImages(c *ledger.Case) bool {
	return c.Near(visionEncoder...) || strings.Contains(strings.ToLower(c.ModelName()), "vl") || strings.Contains(strings.ToLower(c.ModelName()), "vision")
}

// weightsFill: what the load line says leaves less than a tenth of the card.
func weightsFill(c *ledger.Case) bool {
	w, total := ledger.Sized(c, "weights_loaded"), cardTotal(c)
	return total > 0 && w > 0 && w <= total && w*10 > total*9
}

// crowded: live tensors are nine tenths of the card in the trial run, and no
// line says how much of them are weights.
func crowded(c *ledger.Case) bool {
	return c.Total.Has() && ledger.Sized(c, "weights_loaded") == 0 && c.F().Weights == nil && ledger.SizeOf(c.F().Allocated)*10 > c.Total.Bytes*9
}
