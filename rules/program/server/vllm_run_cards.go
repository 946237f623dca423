package server

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/server/launch"
	"github.com/oomdoc/oomdoc/rules/program/server/stage"
	"github.com/oomdoc/oomdoc/rules/when"
)

// lessShare is the cure where something outside vLLM's share found no room.
func lessShare(title, more string) cause.Cure {
	return added("lower_gpu_memory_utilization", title, "{low} instead of {from}[[ frees {freed} on each card]][[; {own}]]."+more, "a smaller KV cache")
}

const (
	cacheFills   = "A shorter context alone: the cache takes the whole share at any length."
	trialFirst   = "`--gpu-memory-utilization`: the trial run comes before the share is applied."
	tooShortThen = " If the cache is then too small for the context, allow shorter requests."
)

// vllmRunCards are about trial runs, graphs and requests.
var vllmRunCards = []cause.Card{
	{
		ID: "vllm/sampler-share", Kinds: []fact.Kind{fact.VLLMWarmup}, If: when.Not(manySequences),
		Cause: cause.BudgetMisconfigured, Weight: cause.Likely, Figures: vllmFigures, Headline: "did not start: no room was left to warm up the sampler",
		Means: "Weights, cache and graphs were in place and had taken nearly all of the card. The last step before serving runs the sampler with {seqs} dummy requests, which sorts a row of the whole vocabulary for each[[: about {sort} in one piece for 150,000 words]]. This comes on top of vLLM's share.",
		Not:   "A shorter context: the sampler's rows depend on requests and vocabulary only.",
		Cures: []cause.Cure{
			added("lower_max_num_seqs", "Allow fewer sequences at a time", "[[The piece shrinks with them, to {sort_fewer}. ]]Nothing is lost below {fewer} requests at once. {where}", "more requests wait"),
			lessShare("Or leave more of the card free", tooShortThen),
			typed("close_other_apps", "Check that nothing else came onto the card", "nvidia-smi", "free"),
		},
		Sources: []string{"vllm/v1/worker/gpu_model_runner.py", vllmThreads + "issues/27508"},
	},
	{
		ID: "vllm/sampler-warmup", Kinds: []fact.Kind{fact.VLLMWarmup}, If: manySequences,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: vllmFigures, Headline: "did not start: warming up the sampler for {seqs} sequences needs too much",
		Means: "Weights, cache and graphs were in place. The last step before serving runs the sampler with {seqs} dummy requests (`max_num_seqs`; large cards and vLLM 0.8.0 to 0.8.3 default to 1024). It sorts a row of the whole vocabulary for each[[: about {sort} in one piece for 150,000 words]], outside vLLM's share.",
		Not:   "A shorter context: the rows depend on requests and vocabulary only.",
		Cures: []cause.Cure{
			added("lower_max_num_seqs", "Allow fewer sequences at a time", "[[The piece shrinks to {sort_fewer}. ]]Costs nothing until more than {fewer} requests run together. {where}", "more requests wait"),
			lessShare("Or leave more of the card free", tooShortThen),
			flags("enforce_eager", "Or do without CUDA graphs", "That frees what they hold, 0.2 to 3 GiB.", "slower tokens", option("enforce_eager", "True")),
		},
		Sources: []string{"vllm/v1/worker/gpu_model_runner.py", vllmThreads + "issues/14452", vllmThreads + "issues/27508"},
	},
	{
		ID: "vllm/kernel-warmup", Kinds: onCard, If: stage.OnCard, Said: stage.Kernels, Phases: []string{"warmup", "unknown"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Figures: vllmFigures, Headline: "did not start: no room was left to warm up its kernels",
		Means: "Weights and KV cache were in place: vLLM then tries its kernels once with the largest batch[[ (here {kernels})]], before it makes CUDA graphs. Their buffers lie outside the share[[: {asked} more was wanted, {short} more than was left]].",
		Not:   "A shorter context alone: the cache takes the whole share at any length. Another quantisation: the weights are in.",
		Cures: []cause.Cure{
			lessShare("Leave more of the card free", tooShortThen+" {where}"),
			flags("lower_max_batched_tokens", "Or a smaller largest batch", "The buffers have that many rows.", "slower long prompts", option("max_num_batched_tokens", "2048")),
			given(func(c *ledger.Case) bool { return c.Near("deep_gemm_warmup") }, cause.Cure{Fix: "enforce_eager", Title: "Or leave this warm-up out", Told: "The kernels are then built when a request first needs them, in the room that is left then (0.11.1 and later):", Kind: "env", Text: "export VLLM_DEEP_GEMM_WARMUP=skip", Cost: "slow first requests"}),
			piecesCure,
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "vllm/model_executor/warmup/kernel_warmup.py", "vllm/envs.py"},
	},
	{
		ID: "vllm/sampler-rows", Kinds: onCard, If: when.All(stage.OnCard, sampledRows), Phases: []string{"warmup", "unknown", "graph_capture"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "ran out sampling for {seqs} sequences at once, most likely",
		Means:    "{seqs} sequences x {words} words ({whose} vocabulary) x {bytes} bytes is the {asked} that was refused: the warm-up of the sampler at that `max_num_seqs`. {stage}.",
		Not:      "A shorter context, on which the piece does not depend; `expandable_segments`[[ ({slack} to gain)]].",
		Cures: []cause.Cure{
			added("lower_max_num_seqs", "Allow fewer sequences at a time", "{asked} become {piece_fewer}, at no cost until more than {fewer} requests run together. {where}", "more requests wait"),
			afterGraphs(lessShare("Or leave more of the card free", tooShortThen)),
			flags("lower_max_batched_tokens", "Or compute fewer tokens at once", "If that was not it: less work in a step.", "slower long prompts", option("max_num_batched_tokens", "2048")),
		},
		Sources: []string{"vllm/v1/worker/gpu_model_runner.py", "vllm/v1/sample/ops/topk_topp_sampler.py", vllmThreads + "issues/15105"},
	},
	{
		ID: "vllm/profile-video", Kinds: onCard, If: stage.Profiling, Said: []string{"_process_video_input"},
		Cause: cause.BatchTooLarge, Weight: cause.Decisive, Figures: vllmFigures,
		Headline: "did not start: its trial run on the longest video did not fit",
		Means:    "The traceback is in `_process_video_input`: the trial run at start encodes the longest video that the model accepts, whatever you will send, and the vision encoder did not fit[[: {asked} wanted, {room} free beside {mine}]]. So most of the card is weights already, and the cache is still to come.",
		Not:      trialFirst,
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "No video: one image a prompt", Told: "The encoder's trial is then an image only. {where}", Kind: "config", Text: "--limit-mm-per-prompt '{\"image\": 1, \"video\": 0}'", Cost: "videos are refused"},
			{Fix: "lower_context", Title: "Limit the length, which bounds the trial", Told: "Its video is cut to the longest prompt. With it:", Steps: vllmServer.Sets(launch.To("max_model_len", "8192"), launch.To("max_num_seqs", "8")), Cost: "long prompts are refused"},
			words("use_lower_quant", "Or smaller weights, for what comes after the trial", "An FP8 or AWQ checkpoint of the same model, or `--quantization fp8` on RTX 40 and later: about half of 16 bit.", "slight loss of quality"),
		},
		Sources: []string{"docs/configuration/conserving_memory.md", "vllm/model_executor/models/glm4_1v.py", vllmThreads + "issues/18550"},
	},
	{
		ID: "vllm/profile-images", Kinds: onCard, If: stage.Profiling, Said: visionEncoder,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "did not start: its trial run on the largest images did not fit",
		Means:    "The trial run at start encodes the largest images and videos that the model accepts, as many as are allowed for a prompt, and the vision encoder did not fit[[: {asked} wanted, {room} free beside {mine}]]. Your own images may be far smaller.",
		Not:      trialFirst,
		Cures: []cause.Cure{
			added("lower_resolution", "Allow fewer and smaller images", "`max_pixels` is for models of the Qwen-VL kind; here about a million. Where video is not needed add `\"video\": 0`. {where}", "larger ones are scaled down"),
			{Fix: "lower_batch_size", Title: "Text only: no images, no videos", Told: "The encoder is then not run at all:", Kind: "config", Text: "--limit-mm-per-prompt '{\"image\": 0, \"video\": 0}'", Cost: "images are refused"},
			added("lower_max_batched_tokens", "Or compute fewer tokens at once", "Images of one batch count into it.", "slower long prompts"),
		},
		Sources: []string{"docs/configuration/conserving_memory.md", vllmThreads + "issues/18550", "https://github.com/gke-labs/open-rl/pull/215"}, Solved: 1,
	},
	{
		ID: "vllm/profile-encoder", Kinds: onCard, If: stage.Profiling, Said: []string{"enc_dec_model_runner.py", "models/mllama.py"},
		Cause: cause.BatchTooLarge, Weight: cause.Decisive, Figures: loadFigures,
		Headline: "did not start: its trial run on images did not fit beside the weights",
		Means:    "The weights are in place. The trial run of an encoder-decoder model computes an image for each of `max_num_seqs` sequences at once, 256 unless set, and [[{asked} of that found only {room}]][[ beside the {mine} that are taken]]. Your own requests may have one image each.",
		Not:      trialFirst + " `--enable-chunked-prefill`: vLLM refuses it for these models.",
		Cures: []cause.Cure{
			{Fix: "lower_max_num_seqs", Title: "Allow fewer sequences at a time", Told: "A sixteenth of the images in the trial. {where}", Cost: "more requests wait", Steps: vllmServer.Sets(launch.To("max_num_seqs", "16"))},
			{Fix: "lower_context", Title: "With it, a shorter context", Told: "The model's own is 131,072 tokens, and the cache has to hold one request of it:", Cost: "longer prompts are refused", Steps: vllmServer.Sets(launch.To("max_num_seqs", "8"), launch.To("max_model_len", "8192"))},
			{Fix: "enforce_eager", Title: "Without CUDA graphs", Told: "If it then fails at the graphs: `--enforce-eager`.", Cost: "slower tokens"},
		},
		Sources: []string{"vllm/worker/enc_dec_model_runner.py", "vllm/model_executor/models/mllama.py", vllmThreads + "issues/8879", vllmThreads + "issues/9445"}, Solved: 2,
	},
	{
		ID: "vllm/trial-beside-full", Kinds: onCard, If: when.All(stage.Profiling, weightsFill),
		Cause: cause.ModelTooLarge, Weight: cause.Decisive, Figures: loadFigures,
		Headline: "did not start: the weights take {loaded} of the card's {total}",
		Means:    "The weights are {loaded_part} of the card; the trial run of the model[[, {asked} more,]] was only the first thing that found no room.[[ {past_it}]] A model that fits leaves a tenth of the card or more for work and cache.",
		Not:      "`--enforce-eager`, fewer batched tokens, a shorter context alone: past this point nothing is left for the cache. `expandable_segments`: hardly anything lies unused.",
		Cures: []cause.Cure{
			words("use_lower_quant", "Load smaller weights", quantised, "slight loss of quality"),
			added("multi_gpu", "Or use more cards", halvesThem, "needs them"),
			words("cpu_offload", "Or keep a part in system memory", "`--cpu-offload-gb 6` (in Python `cpu_offload_gb=6`), with `--max-num-batched-tokens 2048`; every token then reads that part over the bus.", "many times slower"),
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "vllm/config/offload.py", "docs/configuration/conserving_memory.md"},
	},
	{
		ID: "vllm/trial-crowded", Kinds: onCard, If: when.All(stage.Profiling, crowded),
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Figures: loadFigures,
		Headline: "did not start: {mine} of {total} was taken when its trial run wanted {asked} more",
		Means:    "The weights are in; the trial run at start, which computes `max_num_batched_tokens` at once, found hardly any room. Most of the {mine} is weights, as a rule: `Model loading took` above says how much. If that is nine tenths of the card, a smaller trial passes and the cache then finds no room.",
		Not:      trialFirst + " `expandable_segments`[[ ({slack} to gain)]].",
		Cures: []cause.Cure{
			flags("lower_max_batched_tokens", "First a smaller trial run, to see how far it is", "{where}", "slower long prompts, more requests wait", option("max_num_batched_tokens", "2048"), option("max_num_seqs", "16"), option("max_model_len", "4096")),
			given(stage.OnAscend, words("use_lower_quant", "Or smaller weights", "A W8A8 checkpoint of it (made by ModelSlim, on modelscope.cn), started with `--quantization ascend`: half of 16 bit.", "slight loss of quality")),
			words("use_lower_quant", "Or smaller weights", quantised, "slight loss of quality"),
			added("multi_gpu", "Or more cards", halvesThem, "needs them"),
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "docs/configuration/conserving_memory.md"},
	},
	{
		ID: "vllm/profile-run", Kinds: onCard, If: stage.Profiling,
		Cause: cause.BatchTooLarge, Weight: cause.Likely, Figures: loadFigures,
		Headline: "did not start: its trial run did not fit beside the weights",
		Means:    "The weights are in place. The trial run at start computes `max_num_batched_tokens` at once (2,048 to 16,384 by default, for 16 bit models some hundred KiB each), and [[{asked} ]]of that found [[only {room} ]]beside the [[{mine} that are taken]]. The line `Model loading took … GiB` says how much of that are weights: near the card's size, they are the problem.",
		Not:      trialFirst,
		Cures: []cause.Cure{
			flags("lower_max_batched_tokens", "Make the trial run smaller", "A quarter of the default or less, with fewer sequences. {where}", "long prompts and many users are slower", option("max_num_batched_tokens", "2048"), option("max_num_seqs", "32")),
			words("use_lower_quant", "Or load smaller weights", quantised, "slight loss of quality"),
			added("multi_gpu", "Or use more cards", halvesThem, "needs them"),
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "docs/configuration/conserving_memory.md"},
	},
	{
		ID: "vllm/graphs", Kinds: onCard, Phases: []string{"graph_capture"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "did not start: no room was left to capture CUDA graphs",
		Means:    "Weights and cache were in place and had taken vLLM's share[[ ({share} of the card)]]. Capturing CUDA graphs, usually 0.2 to 3 GiB, did not fit in the rest[[: {room} was free]]. Versions before 0.21 do not count them into the share.",
		Not:      "A shorter context: the cache takes what the share leaves, however long requests may be.",
		Cures: []cause.Cure{
			lessShare("Leave more of the card free", tooShortThen+" {where}"),
			flags("lower_max_num_seqs", "Or capture fewer graphs", "They are made for up to that many sequences; set it to what you really serve at a time.", "more requests wait", option("max_num_seqs", "16")),
			added("enforce_eager", "Or do without graphs", "Sure to pass this step.", "slower tokens, most with small models"),
		},
		Sources: []string{"docs/configuration/conserving_memory.md", "vllm/v1/worker/gpu_model_runner.py"},
	},
	{
		ID: "vllm/cache-alloc-xpu", Kinds: onCard, Phases: []string{"kv_cache"}, If: when.All(stage.OnCard, ledger.Roomy, stage.OnIntel),
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "was refused {asked} for its cache although {room} of the Intel card is reported free",
		Means:    "It was taking the KV cache, piece by piece, when the driver refused one. vLLM plans the cache from the figure for free memory, and on Intel cards not all of that can be had: the driver, buffers of the other ranks and pinned system memory take their part. Which one, the log does not say; another program on the card is possible too.",
		Not:      "`empty_cache` or a higher share[[: the allocator's reserve is {slack}]].",
		Cures: []cause.Cure{
			added("lower_gpu_memory_utilization", "Plan a smaller cache", "{low} instead of {from}[[ is {freed} less on each card]]; still refused: 0.05 less again."+tooShortThen+" {where}", "fewer tokens at once"),
			{Fix: "restart_session", Title: "Start on a clean card and look at system memory", Told: "After `docker compose down` see that the card is empty and RAM is free; the container should have no tight `mem_limit`, and `shm_size: \"16g\"` with several ranks.", Kind: "shell", Text: "xpu-smi ps; free -h", Cost: "a minute"},
			{Fix: "upgrade_version", Title: "Update driver and image together", Told: "Intel's compute runtime on the host and the vLLM (llm-scaler) image belong to each other. Until then smaller weights (FP8, 4 bit) leave the most room.", Cost: "an update to test"},
		},
		Sources: []string{"vllm/v1/worker/gpu_model_runner.py", "https://github.com/intel/llm-scaler/issues/672"},
	},
	{
		ID: "vllm/cache-alloc", Kinds: onCard, Phases: []string{"kv_cache"}, If: stage.OnCard,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "did not start: the card no longer had what it had planned for the cache",
		Means:    "The weights are in and vLLM had sized the cache by its share; when it took it, one piece[[ of {asked}]] was refused[[ with {room} free]]. Either something else took memory after the measurement (a second server starting at the same time, a desktop), or a fixed size was set (`--kv-cache-memory-bytes`, `--num-gpu-blocks-override`), or working memory is held that the trial run did not show.",
		Not:      "A shorter context: the cache takes the whole share at any length.",
		Cures: []cause.Cure{
			lessShare("Leave more of the card free", tooShortThen+" {where}"),
			typed("close_other_apps", "See who else is on the card; start servers one after the other", "nvidia-smi", "free"),
			{Fix: "lower_context", Title: "You fixed the cache by hand: take that out", Told: "Start without `--kv-cache-memory-bytes` and `--num-gpu-blocks-override`; vLLM then measures.", Cost: "free"},
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "vllm/v1/core/kv_cache_utils.py"},
	},
	{
		ID: "vllm/nccl", Kinds: []fact.Kind{fact.NCCLAlloc},
		Cause: cause.BudgetMisconfigured, Weight: cause.Likely, Figures: vllmFigures,
		Headline: "ran out when NCCL asked for its buffers",
		Means:    "NCCL, which connects the cards, could not get its own buffers: some hundred MB per card that lie outside vLLM's share. Two ranks on one card fail the same way; `nvidia-smi` shows whether each has its own.",
		Not:      "`--max-model-len`: the buffers do not depend on it.",
		Cures: []cause.Cure{
			added("lower_gpu_memory_utilization", "Leave more of the card free", "{low} instead of {from}. {where}", "a smaller KV cache"),
			typed("close_other_apps", "Check that each rank has a card of its own", "nvidia-smi", "free"),
		},
		Sources: []string{"vllm/distributed/device_communicators/pynccl.py"},
	},
	{
		ID: "vllm/prompt-logprobs", Kinds: onCard, Said: []string{"_get_prompt_logprobs", "in compute_logprobs", "prompt_logprobs", "in gather_logprobs"}, Phases: []string{"inference", "unknown"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "ran out computing log-probabilities of a prompt",
		Means:    "A request asked for log-probabilities of its prompt: a row of the whole vocabulary in 32 bit for every token computed at once, 0.6 MB per token with 150,000 words, several times over. The trial run at start does not include that, so the cache had taken the room.",
		Not:      "A shorter `--max-model-len`: a chunk of the prompt is enough.",
		Cures: []cause.Cure{
			flags("lower_max_batched_tokens", "Compute fewer prompt tokens at once", "{where}", "slower long prompts", option("max_num_batched_tokens", "512"), option("max_num_seqs", "128")),
			lessShare("Or leave more of the card free", ""),
			tell("lower_batch_size", "Or do not ask for them", "Leave `prompt_logprobs` (in lm-eval: `loglikelihood` tasks) out of the request where only generated tokens matter.", "no scores of the prompt"),
		},
		Sources: []string{"vllm/v1/sample/sampler.py", vllmThreads + "issues/5907", vllmThreads + "pull/52054"},
	},
	{
		ID: "vllm/vision-request", Kinds: onCard, Phases: []string{"inference"}, Said: []string{"_execute_mm_encoder", "_merge_multimodal_embeddings", "_process_image_input", "_process_video_input", "in embed_multimodal", "in get_multimodal_embeddings"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "ran out encoding the images of a request",
		Means:    "A request's images or video frames went through the vision encoder, and more or larger ones came together than the trial run at start had allowed for[[: {asked} more was wanted with {room} free]].",
		Not:      "A shorter `--max-model-len`: the encoder's work follows pixels, not text.",
		Cures: []cause.Cure{
			added("lower_resolution", "Allow fewer and smaller images", "`max_pixels` is for models of the Qwen-VL kind. Clients can scale images down as well. {where}", "larger ones are scaled down"),
			lessShare("Or leave more of the card free", ""),
			as("lower_max_num_seqs", "Or serve fewer requests at a time", "more requests wait"),
		},
		Sources: []string{"docs/configuration/conserving_memory.md", "https://github.com/MiaAI-Lab/GLM-5.3-Flash-EXL3-2x-DGX-Sparks/pull/183"}, Solved: 1,
	},
	{
		ID: "vllm/sampler-request", Kinds: onCard, Phases: []string{"inference", "unknown"}, Said: []string{"logits_sort", "apply_top_k_top_p", "apply_penalties", "apply_all_penalties"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "ran out in the sampler",
		Means:    "The sampler sorts a row of the whole vocabulary in 32 bit for every running sequence (top-p, top-k, penalties)[[; {asked} of that found {room}]]. That memory lies outside vLLM's share and grows with the sequences, not with their length.",
		Not:      cacheFills,
		Cures: []cause.Cure{
			added("lower_max_num_seqs", "Run fewer sequences at a time", "Nothing is lost below {fewer} requests at once. {where}", "more requests wait"),
			lessShare("Or leave more of the card free", ""),
			{Fix: "upgrade_version", Title: "Or use FlashInfer's sampler", Told: "It needs no sort: install flashinfer for your CUDA and start with", Kind: "env", Text: "export VLLM_USE_FLASHINFER_SAMPLER=1", Cost: "NVIDIA cards only"},
		},
		Sources: []string{"vllm/v1/sample/ops/topk_topp_sampler.py", "vllm/envs.py", vllmThreads + "issues/5907"},
	},
	{
		ID: "vllm/gguf-dequant", Kinds: onCard, Said: []string{"_fused_mul_mat_gguf", "fused_mul_mat_gguf", "quantization/gguf.py", "ggml_dequantize"}, Phases: []string{"inference", "warmup", "unknown"},
		Cause: cause.BatchTooLarge, Weight: cause.Good, Figures: vllmFigures,
		Headline: "ran out unpacking GGUF weights",
		Means:    "vLLM unpacks whole GGUF weight matrices to 16 bit for larger batches, which needs room beside the weights. Its GGUF support is experimental and needs more than llama.cpp for the same file.",
		Cures: []cause.Cure{
			tell("use_lower_quant", "Use an AWQ or GPTQ checkpoint instead", "Search the model's name with -AWQ or -GPTQ-Int4 on huggingface.co: same size, no unpacking, faster in vLLM.", "another download"),
			lessShare("Or leave more of the card free", ""),
		},
		Sources: []string{"vllm/model_executor/layers/quantization/gguf.py"},
	},
	{
		ID: "vllm/serving-large", Kinds: onCard, If: when.All(stage.OnCard, func(c *ledger.Case) bool { return ledger.Requested(c) >= 2<<30 }), Phases: []string{"inference"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: servingFigures,
		Headline: "ran out of the card while serving: one request wanted {asked} in one piece",
		Means:    "It had started and was serving. A piece of {asked} is no cache: it is what one step computes, as a rule log-probabilities of a prompt (a row of the whole vocabulary in 32 bit for each token[[: {rows} tokens of a vocabulary of 150,000]]), or large or many images. The trial run at start has none of those, so the cache had taken the room.",
		Not:      cacheFills,
		Cures: []cause.Cure{
			flags("lower_max_batched_tokens", "Compute less at once", "The piece shrinks with the tokens of one step. {where}", "slower long prompts", option("max_num_batched_tokens", "2048"), option("max_num_seqs", "32")),
			lessShare("Leave more of the card free", tooShortThen),
			tell("lower_batch_size", "Or find the request that does it", "The last `POST` or `Received request` before the failure: `prompt_logprobs`, `echo` with `logprobs` (lm-eval's loglikelihood tasks), or images: `--limit-mm-per-prompt` and smaller ones.", "that request has to ask for less"),
		},
		Sources: []string{"vllm/v1/sample/sampler.py", "docs/configuration/conserving_memory.md", vllmThreads + "issues/5907"},
	},
	{
		ID: "vllm/serving", Kinds: onCard, If: stage.OnCard, Phases: []string{"inference"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "ran out of the card while serving requests",
		Means:    servingMeans,
		Not:      cacheFills,
		Cures: []cause.Cure{
			lessShare("Leave more of the card free", tooShortThen+" {where}"),
			flags("lower_max_batched_tokens", "Compute less at once", "", "slower long prompts, more requests wait", option("max_num_batched_tokens", "2048"), option("max_num_seqs", "32")),
			piecesCure,
		},
		Later:   "The engine does not recover by itself: start it again. If its memory grows from request to request although the load is the same, update vLLM.",
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "docs/configuration/conserving_memory.md"},
	},
	{
		ID: "vllm/after-graphs", Kinds: onCard, If: when.All(stage.OnCard, stage.CacheTaken, startedUp), Phases: []string{"unknown", "warmup"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "ran out of the card after its cache was taken",
		Means:    "Weights, cache and CUDA graphs were in place, for graphs hold memory already. What failed came after them: the last warm-up at start, or a request that needed more than the trial run had[[: {asked}, {short} more than was left]]. vLLM fills its share with cache at any length, so such work only finds what lies outside the share.",
		Not:      cacheFills,
		Cures: []cause.Cure{
			lessShare("Leave more of the card free", tooShortThen+" {where}"),
			flags("lower_max_batched_tokens", "Compute less at once", "", "slower long prompts, more requests wait", option("max_num_batched_tokens", "2048"), option("max_num_seqs", "32")),
			piecesCure,
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "docs/configuration/conserving_memory.md"},
	},
	{
		ID: "vllm/last-warmup", Kinds: onCard, If: stage.OnCard, Said: stage.AfterCache[:1], Phases: []string{"warmup"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "did not start: no room was left for its last warm-up",
		Means:    "The frames show `compile_or_warm_up_model`, which comes after weights and KV cache: the model is run once more for its largest sizes, then CUDA graphs and sampler are made ready. All of that lies outside vLLM's share[[: {asked} more was wanted, {short} more than was left]].",
		Not:      cacheFills,
		Cures: []cause.Cure{
			lessShare("Leave more of the card free", tooShortThen+" {where}"),
			flags("lower_max_batched_tokens", "Compute less at once", "", "slower long prompts, more requests wait", option("max_num_batched_tokens", "2048"), option("max_num_seqs", "32")),
			added("enforce_eager", "Or do without CUDA graphs and compilation", "", "slower tokens"),
			piecesCure,
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py"},
	},
	{
		ID: "vllm/phase-open", Kinds: onCard, If: when.All(stage.OnCard, notOthers), Phases: []string{"unknown"}, Figures: loadFigures,
		Headline: "ran out of the card, in a step that the log does not show",
		Means:    "Which step failed decides what helps, and the lines above this one tell. Without `Model loading took` it was the weights; with it, but without `GPU KV cache size` (old: `# GPU blocks`), the trial run at start; with both, CUDA graphs or a request, beside a cache that fills vLLM's share at any length.",
		Cures: []cause.Cure{
			{Fix: "lower_gpu_memory_utilization", Title: "By the last line that stands above", Ways: []cause.Way{
				{For: "GPU KV cache size", Text: "Leave more of the card free: `--gpu-memory-utilization {low}` instead of {from}[[ frees {freed}]][[; {own}]]"},
				{For: "Model loading took", Text: "A smaller trial run: `--max-num-batched-tokens 2048 --max-num-seqs 32[[{chunked}]]`, with images a lower `--limit-mm-per-prompt`; the share does not count yet"},
				{For: "Neither", Text: "Smaller weights (AWQ, GPTQ, FP8)[[: about {in16} billion parameters at 16 bit or {in4} at 4 bit fit this card]], or `--tensor-parallel-size {twice}`"},
			}, Cost: "less cache or speed"},
			piecesCure,
			{Fix: "close_other_apps", Title: "See that nothing else is on the card", If: maybeOthers, Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			flags("lower_max_batched_tokens", "Start with less of everything, then go up", "", "slower", option("max_model_len", "4096"), option("max_num_seqs", "16"), option("max_num_batched_tokens", "4096"), option("enforce_eager", "True")),
			added("multi_gpu", "Or split it over more cards", halvesThem, "needs them"),
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "docs/configuration/conserving_memory.md"},
	},
}

const servingMeans = "Start and graphs had gone well. vLLM fills its share with cache right then, at any length, so a request that needs more than the trial run did only finds what lies outside the share[[: {asked} was wanted, {short} more than was left]]. A long prompt, many requests at once, images or log-probabilities do that."

// piecesCure wins the allocator's reserve, where it holds some.
var piecesCure = cause.Cure{
	Fix: "expandable_segments", Title: "Free and quick to try: let PyTorch join its reserve", If: reserveCovers,
	Told: "{slack} is reserved and unused; {asked} was wanted. Before the start of vLLM:", Kind: "env", Text: "export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", Cost: "not a margin by itself",
}

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
