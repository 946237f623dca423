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
	return added("lower_gpu_memory_utilization", title, "{low} instead of {from}[[ frees {freed} on each card]][[; {own}]]."+more, "a smaller KV cache")
}

const (
	cacheFills   = "A shorter context alone: the KV cache fills the share at any length."
	trialFirst   = "`--gpu-memory-utilization`: the trial run comes before the share is applied."
	tooShortThen = " If the KV cache is then too small for the context, lower `max_model_len`."
)

// vllmRunCards are about trial runs, graphs and requests.
var vllmRunCards = []cause.Card{
	{
		ID: "vllm/sampler-share", Kinds: []fact.Kind{fact.VLLMWarmup}, If: when.Not(manySequences),
		Cause: cause.BudgetMisconfigured, Weight: cause.Likely, Figures: vllmFigures, Headline: "did not start: no room was left to warm up the sampler",
		Means: "Weights and KV cache had taken nearly all of the card. The last step before serving runs the sampler with {seqs} dummy requests. It sorts a row of the whole vocabulary for each[[: about {sort} in one piece for 150,000 tokens]], outside vLLM's share.",
		Not:   "A shorter context: the sampler's rows depend only on requests and vocabulary.",
		Cures: []cause.Cure{
			added("lower_max_num_seqs", "Lower `max_num_seqs`", "[[The piece shrinks to {sort_fewer}. ]]Nothing changes until more than {fewer} requests run at once. {where}", "more requests wait"),
			lessShare("Or lower `gpu_memory_utilization`", tooShortThen),
			typed("close_other_apps", "Check what else is on the card", "nvidia-smi", "free"),
		},
		Sources: []string{"vllm/v1/worker/gpu_model_runner.py", vllmThreads + "issues/27508"},
	},
	{
		ID: "vllm/sampler-warmup", Kinds: []fact.Kind{fact.VLLMWarmup}, If: manySequences,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: vllmFigures, Headline: "did not start: warming up the sampler for {seqs} sequences needs too much",
		Means: "Weights and KV cache were in place. The last step before serving runs the sampler with {seqs} dummy requests (`max_num_seqs`; large cards and vLLM 0.8.0 to 0.8.3 default to 1024). It sorts a row of the whole vocabulary for each[[: about {sort} in one piece for 150,000 tokens]], outside vLLM's share.",
		Not:   "A shorter context: the rows depend only on requests and vocabulary.",
		Cures: []cause.Cure{
			added("lower_max_num_seqs", "Lower `max_num_seqs`", "[[The piece shrinks to {sort_fewer}. ]]Nothing changes until more than {fewer} requests run at once. {where}", "more requests wait"),
			lessShare("Or lower `gpu_memory_utilization`", tooShortThen),
			vllm.Flags("enforce_eager", "Or turn off CUDA graphs", "They hold 0.2 to 3 GiB.", "slower tokens", vllm.Option("enforce_eager", "True")),
		},
		Sources: []string{"vllm/v1/worker/gpu_model_runner.py", vllmThreads + "issues/14452", vllmThreads + "issues/27508"},
	},
	{
		ID: "vllm/kernel-warmup", Kinds: onCard, If: stage.OnCard, Said: stage.Kernels, Phases: []string{"warmup", "unknown"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Figures: vllmFigures, Headline: "did not start: no room was left to warm up its kernels",
		Means: "Weights and KV cache were in place. vLLM then runs its kernels once with the largest batch[[ (here {kernels})]]. Their buffers lie outside its share of the card[[: {asked} more was wanted, {short} more than was left]].",
		Not:   cacheFills,
		Cures: []cause.Cure{
			lessShare("Lower `gpu_memory_utilization`", tooShortThen+" {where}"),
			vllm.Flags("lower_max_batched_tokens", "Or lower `max_num_batched_tokens`", "The buffers have that many rows.", "slower long prompts", vllm.Option("max_num_batched_tokens", "2048")),
			vllm.Given(func(c *ledger.Case) bool { return c.Near("deep_gemm_warmup") }, cause.Cure{Fix: "enforce_eager", Title: "Or skip the DeepGEMM warm-up", Told: "The kernels are then built when a request first needs them (0.11.1 and later):", Kind: "env", Text: "export VLLM_DEEP_GEMM_WARMUP=skip", Cost: "slow first requests"}),
			piecesCure,
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "vllm/model_executor/warmup/kernel_warmup.py", "vllm/envs.py"},
	},
	{
		ID: "vllm/sampler-rows", Kinds: onCard, If: when.All(stage.OnCard, sampledRows), Phases: []string{"warmup", "unknown", "graph_capture"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "ran out of graphics memory, most likely while sampling for {seqs} sequences",
		Means:    "{seqs} sequences x {words} tokens ({whose} vocabulary) x {bytes} bytes is the {asked} that was refused, what the sampler needs at this `max_num_seqs`. {stage}.",
		Not:      "A shorter context: the piece does not depend on it.",
		Cures: []cause.Cure{
			added("lower_max_num_seqs", "Lower `max_num_seqs`", "{asked} becomes {piece_fewer}. Nothing changes until more than {fewer} requests run at once. {where}", "more requests wait"),
			afterGraphs(lessShare("Or lower `gpu_memory_utilization`", tooShortThen)),
			vllm.Flags("lower_max_batched_tokens", "Or lower `max_num_batched_tokens`", "If it was not the sampler: each step then computes less.", "slower long prompts", vllm.Option("max_num_batched_tokens", "2048")),
		},
		Sources: []string{"vllm/v1/worker/gpu_model_runner.py", "vllm/v1/sample/ops/topk_topp_sampler.py", vllmThreads + "issues/15105"},
	},
	{
		ID: "vllm/profile-video", Kinds: onCard, If: stage.Profiling, Said: []string{"_process_video_input"},
		Cause: cause.BatchTooLarge, Weight: cause.Decisive, Figures: vllmFigures,
		Headline: "did not start: its trial run on the longest video did not fit",
		Means:    "The traceback is in `_process_video_input`: the trial run at start encodes the longest video that the model accepts, whatever you will send, and the vision encoder did not fit beside the weights[[: {asked} wanted, {room} free beside {mine}]]. The KV cache is still to come.",
		Not:      trialFirst,
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Turn off video input", Told: "The trial run then encodes one image per prompt. {where}", Kind: "config", Text: "--limit-mm-per-prompt '{\"image\": 1, \"video\": 0}'", Cost: "videos are refused"},
			{Fix: "lower_context", Title: "Or lower the context length: `max_model_len`", Told: "The trial's video is cut to the longest prompt.", Steps: vllm.Server.Sets(launch.AtMost("max_model_len", 8192), launch.AtMost("max_num_seqs", 8)), Cost: "long prompts are refused"},
			vllm.Words("use_lower_quant", "Or load smaller weights", "{fewer_bits} Or `--quantization fp8` on RTX 40 and later: about half of 16 bit.", "slight loss of quality"),
		},
		Sources: []string{"docs/configuration/conserving_memory.md", "vllm/model_executor/models/glm4_1v.py", vllmThreads + "issues/18550"},
	},
	{
		ID: "vllm/profile-images", Kinds: onCard, If: stage.Profiling, Said: visionEncoder,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "did not start: its trial run on the largest images did not fit",
		Means:    "The trial run at start encodes the largest images and videos that the model accepts, as many as one prompt may have, and the vision encoder did not fit[[: {asked} wanted, {room} free beside {mine}]]. Your own images may be far smaller.",
		Not:      trialFirst,
		Cures: []cause.Cure{
			added("lower_resolution", "Allow fewer and smaller images", "`max_pixels` (here about a million) is for Qwen-VL and similar models. If you need no video, add `\"video\": 0`. {where}", "larger ones are scaled down"),
			{Fix: "lower_batch_size", Title: "Or serve text only", Told: "The encoder then does not run at all:", Kind: "config", Text: "--limit-mm-per-prompt '{\"image\": 0, \"video\": 0}'", Cost: "images are refused"},
			added("lower_max_batched_tokens", "Or lower `max_num_batched_tokens`", "The images of one batch count towards it.", "slower long prompts"),
		},
		Sources: []string{"docs/configuration/conserving_memory.md", vllmThreads + "issues/18550", "https://github.com/gke-labs/open-rl/pull/215"}, Solved: 1,
	},
	{
		ID: "vllm/profile-encoder", Kinds: onCard, If: stage.Profiling, Said: []string{"enc_dec_model_runner.py", "models/mllama.py"},
		Cause: cause.BatchTooLarge, Weight: cause.Decisive, Figures: loadFigures,
		Headline: "did not start: its trial run on images did not fit beside the weights",
		Means:    "The weights are loaded. The trial run of an encoder-decoder model computes an image for each of `max_num_seqs` sequences at once (256 unless set). That did not fit[[: {asked} was wanted, {room} was free]][[ beside the {mine} in use]].",
		Not:      trialFirst + " `--enable-chunked-prefill`: vLLM refuses it for these models.",
		Cures: []cause.Cure{
			{Fix: "lower_max_num_seqs", Title: "Lower `max_num_seqs`", Told: "The images in the trial shrink in proportion (256 sequences unless set). {where}", Cost: "more requests wait", Steps: vllm.Server.Sets(launch.AtMost("max_num_seqs", 16))},
			{Fix: "lower_context", Title: "Lower the context length as well", Told: "The KV cache must hold one request of full length; the model's own is 131,072 tokens.", Cost: "longer prompts are refused", Steps: vllm.Server.Sets(launch.AtMost("max_num_seqs", 8), launch.AtMost("max_model_len", 8192))},
			{Fix: "enforce_eager", Title: "If it then fails at CUDA graphs, turn them off", Told: "`--enforce-eager`", Cost: "slower tokens"},
		},
		Sources: []string{"vllm/worker/enc_dec_model_runner.py", "vllm/model_executor/models/mllama.py", vllmThreads + "issues/8879", vllmThreads + "issues/9445"}, Solved: 2,
	},
	{
		ID: "vllm/trial-beside-full", Kinds: onCard, If: when.All(stage.Profiling, weightsFill),
		Cause: cause.ModelTooLarge, Weight: cause.Decisive, Figures: loadFigures,
		Headline: "did not start: the weights take {loaded} of the card's {total}",
		Means:    "The weights are {loaded_part} of the card, and the trial run[[, {asked} more,]] did not fit beside them.[[ {past_it}]] A model that fits usually leaves a tenth of the card or more for activations and KV cache.",
		Not:      "`--enforce-eager`, fewer batched tokens or a shorter context alone: too little is left for the KV cache.",
		Cures: []cause.Cure{
			vllm.Words("use_lower_quant", "Load smaller weights", quantised, "slight loss of quality"),
			added("multi_gpu", "Or use more cards", halvesThem, "needs more cards"),
			vllm.Words("cpu_offload", "Or keep a part in system memory", "`--cpu-offload-gb 6` (in Python `cpu_offload_gb=6`), with `--max-num-batched-tokens 2048`; every token then reads that part over the bus.", "many times slower"),
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "vllm/config/offload.py", "docs/configuration/conserving_memory.md"},
	},
	{
		ID: "vllm/trial-crowded", Kinds: onCard, If: when.All(stage.Profiling, crowded),
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Figures: loadFigures,
		Headline: "did not start: {mine} of {total} was in use when its trial run wanted {asked} more",
		Means:    "The weights are loaded. The trial run at start, which computes {trial_of} at once, did not fit beside them. Usually most of the {mine} is weights; the line `Model loading took` says how much. If that is nine tenths of the card, a smaller trial run passes, but no room is left for the KV cache.",
		Not:      trialFirst,
		Cures: []cause.Cure{
			vllm.Flags("lower_max_batched_tokens", "Shrink the trial run first", "{where}", "slower long prompts, more requests wait", vllm.Option("max_num_batched_tokens", "2048"), vllm.Option("max_num_seqs", "16"), vllm.Option("max_model_len", "4096")),
			vllm.Given(stage.OnAscend, vllm.Words("use_lower_quant", "Or load smaller weights", "A W8A8 checkpoint of it (made by ModelSlim, on modelscope.cn) with `--quantization ascend` is half of 16 bit.", "slight loss of quality")),
			vllm.Words("use_lower_quant", "Or load smaller weights", quantised, "slight loss of quality"),
			added("multi_gpu", "Or use more cards", halvesThem, "needs more cards"),
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "docs/configuration/conserving_memory.md"},
	},
	{
		ID: "vllm/profile-run", Kinds: onCard, If: stage.Profiling,
		Cause: cause.BatchTooLarge, Weight: cause.Likely, Figures: loadFigures,
		Headline: "did not start: its trial run did not fit beside the weights",
		Means:    "The weights are loaded. The trial run at start computes {trial_of} at once, and that did not fit[[: {asked} was wanted, {room} was free]][[ beside the {mine} in use]]. The line `Model loading took … GiB` says how much of that is weights: near the card's size, they are the problem.",
		Not:      trialFirst,
		Cures: []cause.Cure{
			vllm.Flags("lower_max_batched_tokens", "Lower `max_num_batched_tokens` and `max_num_seqs`", "The trial run shrinks with them. {where}", "long prompts and many users are slower", vllm.Option("max_num_batched_tokens", "2048"), vllm.Option("max_num_seqs", "32")),
			readsImages,
			vllm.Words("use_lower_quant", "Or load smaller weights", quantised, "slight loss of quality"),
			added("multi_gpu", "Or use more cards", halvesThem, "needs more cards"),
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "docs/configuration/conserving_memory.md"},
	},
	{
		ID: "vllm/graphs", Kinds: onCard, Phases: []string{"graph_capture"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "did not start: no room was left to capture CUDA graphs",
		Means:    "Weights and KV cache had taken vLLM's share[[ ({share} of the card)]]. CUDA graphs, usually 0.2 to 3 GiB, did not fit in the rest[[: {room} was free]]. Versions before 0.21 do not count them towards the share.",
		Not:      "A shorter context alone: the KV cache fills the share at any length.",
		Cures: []cause.Cure{
			lessShare("Lower `gpu_memory_utilization`", tooShortThen+" {where}"),
			vllm.Flags("lower_max_num_seqs", "Or lower `max_num_seqs`", "Graphs are captured for up to that many sequences.", "more requests wait", vllm.Option("max_num_seqs", "16")),
			added("enforce_eager", "Or turn off CUDA graphs: `enforce_eager`", "This step is then skipped.", "slower tokens, most with small models"),
		},
		Sources: []string{"docs/configuration/conserving_memory.md", "vllm/v1/worker/gpu_model_runner.py"},
	},
	{
		ID: "vllm/cache-alloc-xpu", Kinds: onCard, Phases: []string{"kv_cache"}, If: when.All(stage.OnCard, ledger.Roomy, stage.OnIntel),
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "was refused {asked} for its cache although {room} of the Intel card is reported free",
		Means:    "The driver refused a piece of the KV cache. vLLM plans the cache from the reported free memory, and on Intel cards not all of that can be allocated: the driver, buffers of other ranks and pinned system memory need some of it. The log does not say which; another program on the card is possible too.",
		Not:      "A higher share: it plans an even larger cache.",
		Cures: []cause.Cure{
			added("lower_gpu_memory_utilization", "Lower `gpu_memory_utilization`", "{low} instead of {from}[[ is {freed} less on each card]]; if it is still refused, 0.05 less again."+tooShortThen+" {where}", "fewer tokens at once"),
			{Fix: "restart_session", Title: "Start on an empty card, with enough RAM", Told: "After `docker compose down` check that the card is empty and RAM is free. Give the container no tight `mem_limit`, and with several ranks `shm_size: \"16g\"`.", Kind: "shell", Text: "xpu-smi ps; free -h", Cost: "a minute"},
			{Fix: "upgrade_version", Title: "Update driver and image together", Told: "Intel's compute runtime on the host and the vLLM (llm-scaler) image must match. Smaller weights (FP8, 4 bit) leave more room meanwhile.", Cost: "an update to test"},
		},
		Sources: []string{"vllm/v1/worker/gpu_model_runner.py", "https://github.com/intel/llm-scaler/issues/672"},
	},
	{
		ID: "vllm/cache-alloc", Kinds: onCard, Phases: []string{"kv_cache"}, If: stage.OnCard,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "did not start: the KV cache it had planned did not fit on the card",
		Means:    "vLLM had sized the KV cache by its share of the card; when it allocated it, one piece[[ of {asked}]] was refused[[ with {room} free]]. Usual reasons: something else took memory after the measurement (a second server, a desktop), a size set by hand (`--kv-cache-memory-bytes`, `--num-gpu-blocks-override`), or memory that the trial run did not show.",
		Cures: []cause.Cure{
			lessShare("Lower `gpu_memory_utilization`", tooShortThen+" {where}"),
			vllm.Given(maybeOthers, typed("close_other_apps", "Check what else is on the card; start servers one by one", "nvidia-smi", "free")),
			piecesCure,
			{Fix: "lower_context", Title: "If you set the cache size by hand, remove that", Told: "Start without `--kv-cache-memory-bytes` and `--num-gpu-blocks-override`; vLLM then measures.", Cost: "free"},
			as("upgrade_version", "If the card was empty, update vLLM: it measured too little", "flags may have changed"),
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "vllm/v1/core/kv_cache_utils.py"},
	},
	{
		ID: "vllm/nccl", Kinds: []fact.Kind{fact.NCCLAlloc},
		Cause: cause.BudgetMisconfigured, Weight: cause.Likely, Figures: vllmFigures,
		Headline: "ran out of graphics memory when NCCL asked for its buffers",
		Means:    "NCCL, which connects the cards, could not allocate its buffers: a few hundred MB per card, outside vLLM's share. Two ranks on one card fail the same way; `nvidia-smi` shows whether each has its own.",
		Not:      "`--max-model-len`: the buffers do not depend on it.",
		Cures: []cause.Cure{
			added("lower_gpu_memory_utilization", "Lower `gpu_memory_utilization`", "{low} instead of {from}. {where}", "a smaller KV cache"),
			typed("close_other_apps", "Check that each rank has a card of its own", "nvidia-smi", "free"),
		},
		Sources: []string{"vllm/distributed/device_communicators/pynccl.py"},
	},
	{
		ID: "vllm/prompt-logprobs", Kinds: onCard, Said: []string{"_get_prompt_logprobs", "in compute_logprobs", "prompt_logprobs", "in gather_logprobs", "in get_logprobs"}, Phases: []string{"inference", "unknown"}, If: stage.OnCard,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "ran out of graphics memory while computing log-probabilities",
		Means:    "A request asked for log-probabilities, usually of its prompt. That takes a row of the whole vocabulary in 32-bit floats for every token computed at once: 0.6 MB per token with a vocabulary of 150,000, several times over. The trial run at start does not include it, so the KV cache had taken the room.",
		Cures: []cause.Cure{
			vllm.Flags("lower_max_batched_tokens", "Lower `max_num_batched_tokens`", "Fewer prompt tokens are then computed at once. {where}", "slower long prompts", vllm.Option("max_num_batched_tokens", "512"), vllm.Option("max_num_seqs", "128")),
			lessShare("Or lower `gpu_memory_utilization`", ""),
			tell("lower_batch_size", "Or do not ask for them", "Leave `prompt_logprobs` (lm-eval: `loglikelihood` tasks) out of requests where only generated tokens matter.", "no scores of the prompt"),
		},
		Sources: []string{"vllm/v1/sample/sampler.py", vllmThreads + "issues/5907", vllmThreads + "pull/52054"},
	},
	{
		ID: "vllm/vision-request", Kinds: onCard, Phases: []string{"inference"}, Said: []string{"_execute_mm_encoder", "_merge_multimodal_embeddings", "_process_image_input", "_process_video_input", "in embed_multimodal", "in get_multimodal_embeddings"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "ran out of graphics memory while encoding the images of a request",
		Means:    "A request's images or video frames went through the vision encoder, and its activations did not fit beside weights and KV cache[[: {asked} more was wanted with {room} free]]. Usually more or larger images came together than the trial run at start had planned for.",
		Cures: []cause.Cure{
			vllm.Given(littleShort, lessShare("Lower `gpu_memory_utilization`", tooShortThen+" {where}")),
			added("lower_resolution", "Allow fewer and smaller images", "The number counts per prompt, all turns of a chat together. `max_pixels` is for Qwen-VL and similar models. Clients can scale images down too. {where}", "larger ones are scaled down"),
			vllm.Given(when.Not(littleShort), lessShare("Or lower `gpu_memory_utilization`", tooShortThen)),
			as("lower_max_num_seqs", "Or lower `max_num_seqs`", "more requests wait"),
		},
		Sources: []string{"docs/configuration/conserving_memory.md", "https://github.com/MiaAI-Lab/GLM-5.3-Flash-EXL3-2x-DGX-Sparks/pull/183"}, Solved: 1,
	},
	{
		ID: "vllm/sampler-request", Kinds: onCard, Phases: []string{"inference", "unknown"}, Said: []string{"logits_sort", "apply_top_k_top_p", "apply_penalties", "apply_all_penalties"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "ran out of graphics memory in the sampler",
		Means:    "For top-p, top-k and penalties the sampler works on a row of the whole vocabulary, in 32-bit floats, for every running sequence[[; {asked} was wanted, {room} was free]]. That memory lies outside vLLM's share and grows with the number of sequences, not with their length.",
		Not:      cacheFills,
		Cures: []cause.Cure{
			added("lower_max_num_seqs", "Lower `max_num_seqs`", "Nothing changes until more than {fewer} requests run at once. {where}", "more requests wait"),
			lessShare("Or lower `gpu_memory_utilization`", ""),
			{Fix: "upgrade_version", Title: "Or use FlashInfer's sampler", Told: "It needs no sort. Install flashinfer for your CUDA version and start with:", Kind: "env", Text: "export VLLM_USE_FLASHINFER_SAMPLER=1", Cost: "NVIDIA cards only"},
		},
		Sources: []string{"vllm/v1/sample/ops/topk_topp_sampler.py", "vllm/envs.py", vllmThreads + "issues/5907"},
	},
	{
		ID: "vllm/gguf-dequant", Kinds: onCard, Said: []string{"_fused_mul_mat_gguf", "fused_mul_mat_gguf", "quantization/gguf.py", "ggml_dequantize"}, Phases: []string{"inference", "warmup", "unknown"},
		Cause: cause.BatchTooLarge, Weight: cause.Good, Figures: vllmFigures,
		Headline: "ran out of graphics memory while unpacking GGUF weights",
		Means:    "For larger batches vLLM unpacks whole GGUF weight matrices to 16 bit, which needs memory beside the weights. Its GGUF support is experimental and needs more memory than llama.cpp for the same file.",
		Cures: []cause.Cure{
			tell("use_lower_quant", "Use an AWQ or GPTQ checkpoint instead", "Search the model's name with -AWQ or -GPTQ-Int4 on huggingface.co: same size, no unpacking, faster in vLLM.", "another download"),
			lessShare("Or lower `gpu_memory_utilization`", ""),
		},
		Sources: []string{"vllm/model_executor/layers/quantization/gguf.py"},
	},
	{
		ID: "vllm/serving-large", Kinds: onCard, If: when.All(stage.OnCard, func(c *ledger.Case) bool { return ledger.Requested(c) >= 2<<30 }), Phases: []string{"inference"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: servingFigures,
		Headline: "ran out of graphics memory while serving: a step wanted {asked} in one piece",
		Means:    "The server had started and was working on requests. {asked} in one piece is usually what one step computes: log-probabilities of a prompt (a row of the whole vocabulary in 32-bit floats for each token[[: {rows} tokens with a vocabulary of 150,000]]), or large or many images. The trial run at start needed less, so the KV cache had taken the room.",
		Cures: []cause.Cure{
			vllm.Flags("lower_max_batched_tokens", "Lower `max_num_batched_tokens` and `max_num_seqs`", "The piece shrinks with the tokens of one step. {where}", "slower long prompts", vllm.Option("max_num_batched_tokens", "2048"), vllm.Option("max_num_seqs", "32")),
			lessShare("Lower `gpu_memory_utilization`", tooShortThen),
			aRequest,
		},
		Sources: []string{"vllm/v1/sample/sampler.py", "docs/configuration/conserving_memory.md", vllmThreads + "issues/5907"},
	},
	{
		ID: "vllm/serving", Kinds: onCard, If: stage.OnCard, Phases: []string{"inference"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "ran out of graphics memory while serving requests",
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
		Headline: "ran out of graphics memory after its KV cache was allocated",
		Means:    "The message counts memory of CUDA graphs, so weights and KV cache were in place. What failed came after: the last warm-up at start, or a request that needed more than the trial run[[: {asked}, {short} more than was left]]. vLLM fills its share with KV cache, so such work has only what lies outside the share.",
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
		Headline: "did not start: no room was left for its last warm-up",
		Means:    "The log names the step, `compile_or_warm_up_model`, which comes after weights and KV cache: vLLM runs the model once more at its largest sizes, then prepares CUDA graphs and sampler. All of that needs memory outside its share[[: {asked} more was wanted, {short} more than was left]].",
		Not:      cacheFills,
		Cures: []cause.Cure{
			lessShare("Lower `gpu_memory_utilization`", tooShortThen+" {where}"),
			vllm.Flags("lower_max_batched_tokens", "Or lower `max_num_batched_tokens` and `max_num_seqs`", "", "slower long prompts, more requests wait", vllm.Option("max_num_batched_tokens", "2048"), vllm.Option("max_num_seqs", "32")),
			added("enforce_eager", "Or turn off CUDA graphs and compilation", "", "slower tokens"),
			piecesCure,
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py"},
	},
	{
		ID: "vllm/phase-open", Kinds: onCard, If: when.All(stage.OnCard, when.Any(notOthers, ledger.Roomy)), Phases: []string{"unknown"}, Figures: loadFigures,
		Headline: "ran out of graphics memory; the log does not show in which step",
		Means:    "Which step failed decides what helps, and earlier lines of the log show it. With `GPU KV cache size` (old: `# GPU blocks`) above the error it was CUDA graphs[[ {or_request}]]; with `Model loading took` (old: `Loading model weights took`) alone, the trial run at start[[; {neither}]].",
		Cures: []cause.Cure{
			{Fix: "lower_gpu_memory_utilization", Title: "Choose by the last of these lines in your log", Ways: []cause.Way{
				{For: "GPU KV cache size", Text: "`--gpu-memory-utilization {low}` instead of {from}[[ frees {freed}]][[; {own}]]"},
				{For: "Model loading took", Text: "A smaller trial run: `--max-num-batched-tokens 2048 --max-num-seqs 16[[{chunked}]]`, with images also a lower `--limit-mm-per-prompt`"},
				{For: "Neither", Text: "{or_weights}maller weights (AWQ, GPTQ or FP8)[[: about {in16} billion parameters at 16 bit or {in4} at 4 bit fit this card]], or `--tensor-parallel-size {twice}`"},
			}, Cost: "less cache or speed"},
			vllm.Given(when.Not(vllm.FewPieces), piecesCure),
			{Fix: "close_other_apps", Title: "Check that nothing else is on the card", If: maybeOthers, Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			{Fix: "lower_max_batched_tokens", Title: "Start with small limits, then raise them", Told: "[[{or_weights}maller weights or more cards are what helps if it fails again while they load. ]]In a script these are arguments of `LLM(…)`, with underscores.", Cost: "slower, shorter prompts", Steps: vllm.Server.Sets(launch.From("gpu_memory_utilization", lowerKnown), launch.AtMost("max_model_len", 4096), launch.AtMost("max_num_seqs", 16), launch.AtMost("max_num_batched_tokens", 2048), vllm.Chunks, launch.To("enforce_eager", "True"))},
			vllm.Given(vllm.FewPieces, piecesCure),
			added("multi_gpu", "Or split it over more cards", halvesThem, "needs more cards"),
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
var readsImages = vllm.Given(func(c *ledger.Case) bool { return seesImages(c) || c.Near(vllm.ImageEncoders...) }, vllm.Words("lower_resolution", "Or allow fewer and smaller images", "`--limit-mm-per-prompt '{\"image\": 1}'` (before 0.8.5 `image=1`) and, for Qwen-VL and similar, `--mm-processor-kwargs '{\"max_pixels\": 1003520}'`.", "larger ones are scaled down"))

const servingMeans = "vLLM had started. It fills its share with KV cache at start, so a request that needs more than the trial run has only what lies outside the share[[: {asked} was wanted, {short} more than was left]]. Long prompts, many requests at once, images or log-probabilities can do that."

// withoutGraphs wins what CUDA graphs hold.
var withoutGraphs = vllm.Given(when.Not(when.Set("enforce_eager", "True")), added("enforce_eager", "Or turn off CUDA graphs: `enforce_eager`", "They hold 0.2 to 3 GiB beside the share on most versions.", "slower tokens, most with small models"))

// aRequest is a cure where one kind of request needs far more than others.
var aRequest = tell("lower_batch_size", "Or find the request that causes it", "Look at the last `POST` or `Received request` before the failure: `prompt_logprobs`, `echo` with `logprobs` (lm-eval's loglikelihood tasks), or images. For images lower `--limit-mm-per-prompt` or send smaller ones.", "that request has to ask for less")

// piecesCure wins the allocator's reserve, where it holds some.
var piecesCure = cause.Cure{
	Fix: "expandable_segments", Title: "Set `expandable_segments:True`", If: reserveCovers,
	Told: "PyTorch holds {slack} in reserve, unused, and {asked} was wanted: fragmentation is part of this. Set it before vLLM starts:", Kind: "env", Text: "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", Cost: "free; no margin by itself",
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
