package server

import (
	"fmt"
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/era"
	"github.com/oomdoc/oomdoc/rules/program/server/stage"
	"github.com/oomdoc/oomdoc/rules/program/server/vllm"
	"github.com/oomdoc/oomdoc/rules/when"
)

// vllmOpenCards are about messages whose step no line names, but of which a frame, a
// size or the model's name tells more than nothing.
var vllmOpenCards = []cause.Card{
	{ // "the model's" is how 0.22 and later write it
		ID: "vllm/cache-pipeline", Kinds: []fact.Kind{fact.VLLMCacheTooSmall}, If: func(c *ledger.Case) bool {
			return vllm.Stages(c) > 1 && !c.Contains("the model's max seq len") && (!era.Told(c, "vllm") || era.Lacks(c, "vllm", era.ByStage) && !era.Lacks(c, "vllm", era.ManyStages))
		}, Figures: stageFigures,
		Cause: cause.ContextTooLong, Weight: cause.Decisive,
		Headline: "did not start: {refuses}",
		Means:    "The weights fit. With `--pipeline-parallel-size` {stages}, each GPU stage caches only its own layers. But vLLM 0.11 to 0.16 compares the cache of all layers with the room of one stage, so it refuses lengths that fit.[[ The real limit is about {real_limit} tokens, not {limit_tokens}.]]",
		Not:      "`--tensor-parallel-size` instead if your GPUs differ in size: each then gets an equal part.",
		Cures: []cause.Cure{
			as("upgrade_version", "Update vLLM to 0.17 or later, which fixed this check", "flags may have changed"),
			added("lower_context", "Until then lower `max_model_len`", "{fit} tokens pass this check[[ (its limit: {limit_tokens})]]. From 0.14 on, `--max-model-len auto` takes what passes. {where}", "longer prompts are refused"),
			tell("balance_split", "If one GPU is smaller, give its stage fewer layers", "`VLLM_PP_LAYER_PARTITION` has the layers of each stage, such as `10,38` for 48 (in the order of `CUDA_VISIBLE_DEVICES`). The stage with the least room for cache sets the length of all.", "free"),
			added("quantize_kv_cache", "Or use an 8-bit KV cache", "About twice as many tokens fit if it is 16 bit now. Not every GPU and attention backend supports it.", "slight loss"),
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py", "vllm/distributed/utils.py", vllmThreads + "pull/33698", vllmThreads + "issues/34076"},
	},
	{
		ID: "vllm/after-sized", Kinds: onCard, Phases: []string{"graph_capture"}, If: when.All(stage.OnCard, func(c *ledger.Case) bool { return !c.Contains("private pools") }), Figures: sizedFigures,
		Unsaid: []string{"Capturing the model for CUDA graphs", "Capturing cudagraphs for decoding", "Capturing CUDA graph", "in capture_model", "model_runner.capture_model(", "_capture_cudagraphs", "in capture_begin", "in capture_end", "torch/cuda/graphs.py", "Graph capturing"},
		Cause:  cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "ran out of GPU memory after it had sized its KV cache",
		Means:    "The weights and the trial run fitted.[[ {crowd}]] Then come the KV cache, CUDA graphs and, in a script, the first requests; the log does not show which of them failed. Graphs and requests use memory outside vLLM's share ({from}), and so does a desktop or Windows under WSL.",
		Not:      cacheFills,
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", If: otherHolders, Title: "End what else uses the GPU, or give each its part", Told: "That can be an earlier start, a notebook or another server. The shares of two servers may add up to 0.95 at most.", Kind: "shell", Text: "nvidia-smi", Cost: "what you end stops"},
			lessShare("Lower `gpu_memory_utilization`", tooShortThen+" {where}"),
			{Fix: "close_other_apps", Title: "See what else uses the GPU", If: when.All(maybeOthers, when.Not(otherHolders)), Told: "Before the start it should be nearly empty; start servers one by one.", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			withoutGraphs,
			piecesCure,
		},
		Sources: []string{"vllm/worker/worker.py", "vllm/v1/worker/gpu_worker.py", "docs/configuration/conserving_memory.md"},
	},
	{
		ID: "vllm/vision-open", Kinds: onCard, Phases: []string{"unknown"}, Said: append([]string{"get_input_embeddings_v0"}, visionEncoder...), If: when.All(stage.OnCard, when.Not(stage.CacheTaken)), Figures: vllmFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in the model's vision encoder",
		Means:    "It failed in the part that reads images and videos: in the trial run at start, or on a request if `GPU KV cache size` (old: `# GPU blocks`) stands above the error. The trial run uses the largest images that the model accepts. Fewer or smaller images help in both cases.",
		Cures: []cause.Cure{
			added("lower_resolution", "Allow fewer and smaller images", "`max_pixels` (here about a million) works for Qwen-VL and similar models. If you need no video, add `\"video\": 0`. {where}", "larger ones are scaled down"),
			lessShare("If it was a request, lower `gpu_memory_utilization`", tooShortThen),
			vllm.Flags("lower_max_num_seqs", "Or lower `max_num_seqs` and `max_num_batched_tokens`", "The images of one batch count towards them.", "more requests wait", vllm.Option("max_num_seqs", "8"), vllm.Option("max_num_batched_tokens", "4096")),
		},
		Sources: []string{"docs/configuration/conserving_memory.md", "vllm/model_executor/models/qwen2_5_vl.py", vllmThreads + "issues/18550"},
	},
	{
		ID: "vllm/cached-open", Kinds: onCard, Phases: []string{"unknown"}, If: when.All(stage.OnCard, when.Not(stage.LoadingWeights), vllm.LightByName), Figures: openFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "ran out of GPU memory, most likely after its KV cache was allocated",
		Means:    "By the model's name its weights are about {light}, but PyTorch holds {live}. Most of that is probably KV cache, so what failed came later: {later}. Such work uses only the memory outside vLLM's share ({from}).",
		Not:      "A quantised model alone: the KV cache takes what the weights leave.",
		Cures: []cause.Cure{
			lessShare("Lower `gpu_memory_utilization`", tooShortThen+" {where}"),
			vllm.Flags("lower_max_batched_tokens", "Or compute less per step", "Do this first if no line `GPU KV cache size` stands above the error: then it was the trial run at start.", "slower long prompts, more requests wait", vllm.Option("max_num_batched_tokens", "2048"), vllm.Option("max_num_seqs", "32")),
			vllm.Given(seesImages, vllm.Words("lower_resolution", "Or allow fewer and smaller images", "`--limit-mm-per-prompt '{\"image\": 1}'` (before 0.8.5 `image=1`) and, for Qwen-VL and similar, `--mm-processor-kwargs '{\"max_pixels\": 1003520}'`.", "larger ones are scaled down")),
			piecesCure,
			withoutGraphs,
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "docs/configuration/conserving_memory.md", vllmThreads + "issues/26863"},
	},
	{
		ID: "vllm/large-open", Kinds: onCard, Phases: []string{"unknown"}, If: when.All(stage.OnCard, when.Not(when.Any(stage.LoadingWeights, stage.CacheTaken)), func(c *ledger.Case) bool { return ledger.Requested(c) >= stage.OnePiece }), Figures: vllmFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "wanted {asked} of GPU memory at once",
		Means:    "Weights are rarely that large in one piece, so this was most likely working memory, in the trial run at start or for a request. Usual causes are large images or videos, attention without flash attention, or scores of the whole vocabulary for many tokens.",
		Not:      "A higher `--gpu-memory-utilization`: the KV cache then takes even more.",
		Cures: []cause.Cure{
			vllm.Flags("lower_max_batched_tokens", "Compute fewer tokens per step", "", "slower long prompts, more requests wait", vllm.Option("max_num_batched_tokens", "2048"), vllm.Option("max_num_seqs", "16")),
			{Fix: "lower_resolution", Title: "If the model reads images, allow fewer and smaller ones", Told: "At start vLLM tries as many as `limit_mm_per_prompt` allows, at the largest size. If you need no video, add `\"video\": 0`. {where}", Cost: "larger ones are scaled down", Steps: added("lower_resolution", "", "", "").Steps},
			added("multi_gpu", "Or split the model over more GPUs", halvesThem, "needs more GPUs"),
		},
		Sources: []string{"docs/configuration/conserving_memory.md", "vllm/v1/worker/gpu_model_runner.py", vllmThreads + "issues/22173"},
	},
}

// sizedFigures say that others and the share are together more than the card.
func sizedFigures(c *ledger.Case) map[string]string {
	out := vllmFigures(c)
	now, _ := vllmShare.now(c)
	share := int64(now * float64(cardTotal(c)))
	if out["crowd"] = ""; otherHolders(c) && share+c.Others.Bytes > cardTotal(c) {
		out["crowd"] = fmt.Sprintf("Other processes hold %s; with a share of %s that is more than the card's %s.", c.Others, units.Amount(share), units.Amount(cardTotal(c)))
	}
	return out
}

// stageFigures are what one of the stages needs of the cache.
func stageFigures(c *ledger.Case) map[string]string {
	out := vllmFigures(c)
	n := vllm.Stages(c)
	out["refuses"] = "one request of full length needs more KV cache than is left"
	if f := c.F(); f.KVAvailable != nil && ledger.SizeOf(f.KVNeeded)/n <= f.KVAvailable.Bytes && out["tokens"] != "" {
		out["refuses"] = "its check refuses " + out["tokens"] + " tokens, although they should fit"
	}
	out["stages"], out["of_stage"], out["real_limit"] = strconv.FormatInt(n, 10), units.Amount(ledger.SizeOf(c.F().KVNeeded)/n), ""
	if x := c.F().EstMaxModelLen; x != nil {
		out["real_limit"] = ledger.Thousands(int64(x.Value) * n)
	}
	return out
}

func openFigures(c *ledger.Case) map[string]string {
	out := vllmFigures(c)
	w, _ := vllm.LightWeights(c)
	out["light"], out["live"], out["later"] = units.Amount(w), units.Amount(ledger.SizeOf(c.F().Allocated)), "CUDA graphs, or a request"
	if when.Set("enforce_eager", "True")(c) {
		out["later"] = "a request, since CUDA graphs are turned off"
	}
	return out
}
