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
		Means: "The weights fit. With `--pipeline-parallel-size` {stages} each stage caches its own layers only, but vLLM 0.11 to 0.16 compares the cache of all layers with what one stage has left, so it refuses lengths that fit. With equal stages one needs about {of_stage} for {tokens} tokens[[, and the real limit is about {real_limit} tokens, not {limit_tokens}]].",
		Not:   "`--tensor-parallel-size` in place of stages where the cards differ: each then gets an equal part.",
		Cures: []cause.Cure{
			as("upgrade_version", "Update vLLM to 0.17 or later: it checks each stage by its own layers", "flags may have changed"),
			added("lower_context", "Until then lower `max_model_len`", "{fit} tokens pass this check[[ (its limit: {limit_tokens})]]. From 0.14 on `--max-model-len auto` takes what passes. {where}", "longer prompts are refused"),
			tell("balance_split", "If one card is smaller, give its stage fewer layers", "`VLLM_PP_LAYER_PARTITION` has the layers of each stage, such as `10,38` for 48 (in the order of `CUDA_VISIBLE_DEVICES`). The stage with the least room for cache sets the length of all.", "free"),
			added("quantize_kv_cache", "Or use an 8-bit KV cache", "About twice as many tokens, if it is 16 bit now. Not every card and attention backend supports it.", "slight loss"),
		},
		Sources: []string{"vllm/v1/core/kv_cache_utils.py", "vllm/distributed/utils.py", vllmThreads + "pull/33698", vllmThreads + "issues/34076"},
	},
	{
		ID: "vllm/after-sized", Kinds: onCard, Phases: []string{"graph_capture"}, If: when.All(stage.OnCard, func(c *ledger.Case) bool { return !c.Contains("private pools") }), Figures: sizedFigures,
		Unsaid: []string{"Capturing the model for CUDA graphs", "Capturing cudagraphs for decoding", "Capturing CUDA graph", "in capture_model", "model_runner.capture_model(", "_capture_cudagraphs", "in capture_begin", "in capture_end", "torch/cuda/graphs.py", "Graph capturing"},
		Cause:  cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "ran out of graphics memory after it had sized its KV cache",
		Means:    "The cache's size stands above the error, so weights and trial run had fitted.[[ {crowd}]] Then vLLM allocates the cache, and CUDA graphs and, in a script, the first requests come on top, outside its share ({from}); the log does not show which it was.[[ {asked} was wanted with {free} free.]] Whatever else is on the card, a desktop or Windows under WSL, has to fit beside the share, too.",
		Not:      cacheFills,
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", If: otherHolders, Title: "End what else is on the card, or give each its part", Told: "An earlier start, a notebook, another server. Shares count from the whole card: those of two servers may add up to 0.95 at most.", Kind: "shell", Text: "nvidia-smi", Cost: "what you end stops"},
			lessShare("Lower `gpu_memory_utilization`", tooShortThen+" {where}"),
			{Fix: "close_other_apps", Title: "See what else is on the card", If: when.All(maybeOthers, when.Not(otherHolders)), Told: "Before the start it should be nearly empty; start servers one by one.", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			withoutGraphs,
			piecesCure,
		},
		Sources: []string{"vllm/worker/worker.py", "vllm/v1/worker/gpu_worker.py", "docs/configuration/conserving_memory.md"},
	},
	{
		ID: "vllm/vision-open", Kinds: onCard, Phases: []string{"unknown"}, Said: append([]string{"get_input_embeddings_v0"}, visionEncoder...), If: when.All(stage.OnCard, when.Not(stage.CacheTaken)), Figures: vllmFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory in the model's vision encoder",
		Means:    "The traceback is in the part that reads images and videos[[: {asked} more was wanted with {room} free]]. At start vLLM tries the largest images that the model accepts; later it is those of a request. Which it was, earlier lines show: `GPU KV cache size` (old: `# GPU blocks`) above the error means a request. Fewer or smaller images help in both.",
		Cures: []cause.Cure{
			added("lower_resolution", "Allow fewer and smaller images", "`max_pixels` (here about a million) is for Qwen-VL and similar models. If you need no video, add `\"video\": 0`. {where}", "larger ones are scaled down"),
			lessShare("If it was a request, lower `gpu_memory_utilization`", tooShortThen),
			vllm.Flags("lower_max_num_seqs", "Or lower `max_num_seqs` and `max_num_batched_tokens`", "The images of one batch count towards them.", "more requests wait", vllm.Option("max_num_seqs", "8"), vllm.Option("max_num_batched_tokens", "4096")),
		},
		Sources: []string{"docs/configuration/conserving_memory.md", "vllm/model_executor/models/qwen2_5_vl.py", vllmThreads + "issues/18550"},
	},
	{
		ID: "vllm/cached-open", Kinds: onCard, Phases: []string{"unknown"}, If: when.All(stage.OnCard, when.Not(stage.LoadingWeights), vllm.LightByName), Figures: openFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "ran out of graphics memory, most likely after its KV cache was allocated",
		Means:    "By the model's name its weights are about {light}; PyTorch holds {live}. So most of that is KV cache, unless the trial run at start took it, and what failed came later: {later}. Such work has only what lies outside vLLM's share ({from})[[: {asked} was wanted, {short} more than was left]].",
		Not:      "A smaller quantisation alone: the KV cache takes what the weights leave of the share.",
		Cures: []cause.Cure{
			lessShare("Lower `gpu_memory_utilization`", tooShortThen+" {where}"),
			vllm.Flags("lower_max_batched_tokens", "Or compute less in one step", "If `GPU KV cache size` does not stand above the error, it was the trial run: then this comes first.", "slower long prompts, more requests wait", vllm.Option("max_num_batched_tokens", "2048"), vllm.Option("max_num_seqs", "32")),
			vllm.Given(seesImages, vllm.Words("lower_resolution", "Or allow fewer and smaller images", "`--limit-mm-per-prompt '{\"image\": 1}'` (before 0.8.5 `image=1`) and, for Qwen-VL and similar, `--mm-processor-kwargs '{\"max_pixels\": 1003520}'`.", "larger ones are scaled down")),
			piecesCure,
			withoutGraphs,
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "docs/configuration/conserving_memory.md", vllmThreads + "issues/26863"},
	},
	{
		ID: "vllm/large-open", Kinds: onCard, Phases: []string{"unknown"}, If: when.All(stage.OnCard, when.Not(when.Any(stage.LoadingWeights, stage.CacheTaken)), func(c *ledger.Case) bool { return ledger.Requested(c) >= stage.OnePiece }), Figures: vllmFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "wanted {asked} of graphics memory in one piece",
		Means:    "A matrix of weights is hardly that large (the experts of a very large model can be), so this was most likely computed: in the trial run at start, or for a request. Pieces of that size are images or videos in a vision encoder, attention without a fused kernel, or scores of all words for many tokens (logits).",
		Not:      "A larger share of the card: vLLM then takes even more of it for its cache.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "If the model reads images, allow fewer and smaller ones", Told: "At start vLLM tries as many as `limit_mm_per_prompt` allows, of the largest size. Turn video off (`\"video\": 0`) if you need none. {where}", Cost: "larger ones are scaled down", Steps: added("lower_resolution", "", "", "").Steps},
			vllm.Flags("lower_max_batched_tokens", "Compute less in one step", "", "slower long prompts, more requests wait", vllm.Option("max_num_batched_tokens", "2048"), vllm.Option("max_num_seqs", "16")),
			added("multi_gpu", "Or split the model over more cards", halvesThem, "needs more cards"),
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
