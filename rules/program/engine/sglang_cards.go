package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/engine/cards"
	"github.com/oomdoc/oomdoc/rules/when"
)

const (
	sglangTuning = "https://docs.sglang.io/advanced_features/hyperparameter_tuning.html"
	sglangCode   = "https://github.com/sgl-project/sglang/blob/main/python/sglang/srt/"
	sglangThread = "https://github.com/sgl-project/sglang/"
)

// as is a cure whose step is the program's own: the log's command edited.
func as(fix, title, told, cost string) cause.Cure {
	return cause.Cure{Fix: fix, Title: title, Told: told, Cost: cost, Own: true}
}

// sglangCard: an allocation on the card under SGLang, after its start check.
func sglangCard(c *ledger.Case) bool {
	return c.In("sglang") && !ledger.Roomy(c) && c.Root(fact.TorchAlloc, fact.TorchAsync, fact.CUDAError, fact.CUDAHandle)
}

// sglangLoading: weights are still coming, no graph has been captured.
func sglangLoading(c *ledger.Case) bool { return sglangCard(c) && !c.Contains("private pools") }

// sglangWeights is what the weights took of what was free.
func sglangWeights(c *ledger.Case) map[string]string {
	out := map[string]string{"before": "", "took": "", "floor": "", "now": "", "whole": ""}
	f := c.F()
	out["unset"] = "This is 0.05 above a usual default. If you set your own value, raise that by 0.05 at a time. Where CPU and GPU share memory (DGX Spark, Jetson), leave the system 8 to 16 GB."
	if u, ok := shareSet(c); ok {
		out["now"], out["unset"] = fmt.Sprintf("%g", u), ""
	}
	floor, ok := StaticFloor(c)
	if !ok {
		return out
	}
	out["floor"] = fmt.Sprintf("%.3f", floor)
	if took := sglangTook(c); took > 0 {
		out["before"], out["took"] = units.Amount(took+f.Free.Bytes), units.Amount(took)
	}
	return out
}

// StaticFloor is the share that the weights alone take: what SGLang prints, or
// 1 - free after / free before loading (model_runner.py). A floor below the
// share that was set is that of a draft model, which loads after the main one.
func StaticFloor(c *ledger.Case) (float64, bool) {
	if x, ok := c.Fact("fraction_floor"); ok && x.Count != nil {
		return x.Count.Value, true
	}
	took := sglangTook(c)
	if took <= 0 {
		return 0, false
	}
	floor := float64(took) / float64(took+c.F().Free.Bytes)
	set, ok := shareSet(c)
	return floor, ok && floor >= set-0.02 || !ok && floor > 0.6
}

// sglangTook is what the weights took, which older builds leave to the reader: what
// was free before less what was free after; 0 where it is not known.
func sglangTook(c *ledger.Case) int64 {
	f := c.F()
	if f.Free == nil {
		return 0
	}
	return cmp.Or(ledger.SizeOf(f.Weights), max(ledger.Sized(c, "sglang_before")-f.Free.Bytes, 0))
}

// sglangPages says how many pages the free tokens are.
func sglangPages(c *ledger.Case) map[string]string {
	out := map[string]string{"wanted": "", "there": "", "pages": ""}
	x, ok := c.Fact("tokens_wanted")
	n := c.F().KVTokens
	if !ok || x.Count == nil || n == nil {
		return out
	}
	wanted, there := int64(x.Count.Value), int64(n.Value)
	out["wanted"], out["there"] = fmt.Sprint(wanted), fmt.Sprint(there)
	var pages []string
	for _, size := range []int64{64, 128, 256} {
		if there > 0 && there%size == 0 {
			pages = append(pages, fmt.Sprintf("%d of %d", there/size, size))
		}
	}
	if n := len(pages); n > 0 {
		pages[0] = strings.Replace(pages[0], " of ", " pages of ", 1)
		out["pages"] = strings.TrimPrefix(strings.Join(pages[:n-1], ", ")+" or "+pages[n-1], " or ")
	}
	return out
}

// sglangCounted: tokens were refused although as many are free.
func sglangCounted(step string) func(c *ledger.Case) bool {
	return func(c *ledger.Case) bool {
		x, ok := c.Fact("tokens_wanted")
		n := c.F().KVTokens
		return ok && x.Count != nil && n != nil && x.Count.Value <= n.Value && strings.Contains(c.Failure.Message, step)
	}
}

// sglangSpace is FlashInfer's workspace against what was wanted of it.
func sglangSpace(c *ledger.Case) map[string]string {
	n := ledger.Requested(c)
	if n <= 0 {
		return map[string]string{"twice": ""}
	}
	twice := int64(512 * units.MiB)
	for twice < n*5/4 {
		twice *= 2
	}
	return map[string]string{"twice": fmt.Sprint(twice), "twice_mib": units.Amount(twice)}
}

var (
	sglangLess  = as("lower_mem_fraction", "Lower `--mem-fraction-static`", "", "a smaller KV cache")
	sglangChunk = as("lower_max_batched_tokens", "Lower `--chunked-prefill-size`", "", "slower long prompts")
	sglangFewer = as("lower_max_num_seqs", "Lower `--max-running-requests`", "", "others wait")
	sglangQuant = as("use_lower_quant", "Load a smaller version of the model", "", "slight loss of quality")
	sglangSplit = as("multi_gpu", "Split it over more GPUs", "", "needs more GPUs")
	sglangWho   = cause.Cure{Fix: "close_other_apps", Title: "Check what else is on the GPU", Told: "It may be another server, a trainer, or processes of an earlier start: end what is yours.", Kind: "shell", Text: look, Cost: "free"}
)

// pageCures are what gets round tokens that are counted in pages.
func pageCures(update cause.Cure, backends string) []cause.Cure {
	return []cause.Cure{
		update,
		as("lower_max_num_seqs", "Until then lower `--max-running-requests`", "Each running request can need its own page. Also add `--schedule-conservativeness 1.3`: SGLang then admits new requests later.", "others wait"),
		{Fix: "lower_max_batched_tokens", Title: "Or set `--page-size 1`", Told: backends, Kind: "config", Text: "--page-size 1", Cost: "a little speed"},
	}
}

// sglangBackends says which kernels work with pages of one token.
const sglangBackends = "FlashInfer and Triton allow this; FlashMLA needs 64, Cutlass MLA 128:"

var sglangUpdate = as("upgrade_version", "Update SGLang", "This was fixed in April and again in June 2025 (pull requests 5081, 7397). If a later version still does it, report it with the `server_args` line and both numbers.", "a restart")

// sglangTokenCards are about the token pool and what SGLang counts itself.
var sglangTokenCards = []cause.Card{
	{
		ID: "sglang/pages-jax", Kinds: []fact.Kind{fact.SGLangTokens}, Said: []string{"sgl_jax/", "sgl_jax."}, If: sglangCounted(""), Figures: sglangPages,
		Headline: "refused {wanted} tokens although {there} are free, because it counts pages",
		Means:    "The KV cache is short of whole pages; the TPU's memory itself is not short. Each running request takes whole pages[[: {there} tokens are {pages} tokens]]. A step for more requests than free pages then fails. The scheduler should have paused requests before; some versions count tokens instead of pages.",
		Not:      "A lower `--mem-fraction-static`: it makes the KV cache smaller.",
		Cures: pageCures(cause.Cure{
			Fix: "upgrade_version", Title: "Update sglang-jax", Told: "`git pull` in its folder and install it again; if the newest still does it, report it with both numbers and the page size.", Cost: "a restart",
		}, "If the model runs with it:"),
		Sources: []string{"https://github.com/sgl-project/sglang-jax/issues/1360", "https://github.com/sgl-project/sglang-jax/issues/622"},
	},
	{
		ID: "sglang/pages-prefill", Kinds: []fact.Kind{fact.SGLangTokens}, If: sglangCounted("Prefill"), Figures: sglangPages,
		Headline: "refused {wanted} tokens of prompts although {there} are free, because it counts pages",
		Means:    "The KV cache is short of whole pages; GPU memory itself is not short. With `--page-size` above 1 every request takes whole pages[[: {there} free tokens are {pages} tokens]]. Many short prompts can need more pages than that. The scheduler should have noticed; several versions count tokens instead.",
		Not:      "A lower `--mem-fraction-static`: it makes the KV cache smaller.",
		Cures:    pageCures(sglangUpdate, sglangBackends),
		Sources:  []string{sglangThread + "pull/5081", sglangThread + "pull/7397", sglangThread + "issues/7353"}, Solved: 1,
	},
	{
		ID: "sglang/pages", Kinds: []fact.Kind{fact.SGLangTokens}, If: sglangCounted(""), Figures: sglangPages,
		Headline: "refused {wanted} tokens although {there} are free, because it counts pages",
		Means:    "The KV cache is short of whole pages; GPU memory itself is not short. A step usually needs one more token per running request, here {wanted}, and requests at the end of a page need a new page.[[ {there} free tokens are {pages} tokens.]] SGLang should have paused requests before; some versions count wrongly.",
		Not:      "A lower `--mem-fraction-static`: it makes the KV cache smaller.",
		Cures: pageCures(as("upgrade_version", "Update SGLang", "How pages are counted was fixed several times in 2025; if a later version still does it, report it with the `server_args` line and both numbers.", "a restart"),
			sglangBackends),
		Sources: []string{sglangThread + "issues/4602", sglangThread + "pull/5081", sglangTuning},
	},
	{
		ID: "sglang/tokens-prefill", Kinds: []fact.Kind{fact.SGLangTokens}, If: func(c *ledger.Case) bool { return strings.Contains(c.Failure.Message, "Prefill") }, Figures: sglangPages,
		Headline: "had no room for a prompt in its KV cache",
		Means:    "Compare the two numbers below the error. If more tokens are \"available\" than were tried, SGLang counts wrongly: it should have let the prompt wait. If fewer are available, the KV cache is too small for this load.",
		Not:      "A lower `--mem-fraction-static`: it makes the KV cache smaller.",
		Cures: []cause.Cure{
			as("lower_max_num_seqs", "Lower `--max-running-requests`", "Also add `--schedule-conservativeness 1.3`, which admits requests more carefully.", "others wait"),
			as("upgrade_version", "If more was available than was tried, update SGLang", "If the newest still does it, report it with the `server_args` line and both numbers.", "a restart"),
			as("lower_max_batched_tokens", "Or lower `--chunked-prefill-size`", "A prompt then needs fewer tokens at a time.", "slower long prompts"),
			as("raise_mem_fraction", "Or raise `--mem-fraction-static`", "Only if `nvidia-smi` shows a few GB free while it serves.", "less for CUDA graphs and requests"),
		},
		Sources: []string{sglangThread + "pull/5081", sglangThread + "pull/7397", sglangThread + "issues/34676", sglangTuning},
	},
	{
		ID: "sglang/tokens", Kinds: []fact.Kind{fact.SGLangTokens}, Figures: sglangPages,
		Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Headline: "ran out of room in its KV cache",
		Means:    "The KV cache had no room for the next step of the running requests[[: {wanted} tokens wanted, {there} left]]. GPU memory itself need not be full. SGLang estimates how long answers get before it admits a request, and that was probably too low.",
		Not:      "A lower `--mem-fraction-static`: it makes the KV cache smaller.",
		Cures: []cause.Cure{
			as("lower_max_num_seqs", "Lower `--max-running-requests`", "Also add `--schedule-conservativeness 1.3`, which admits requests more carefully.", "others wait"),
			as("raise_mem_fraction", "Or raise `--mem-fraction-static`", "Only if `nvidia-smi` shows a few GB free while it serves.", "less for CUDA graphs and requests"),
			as("quantize_kv_cache", "Or use an 8-bit KV cache", "About twice as many tokens fit.", "a little quality"),
		},
		Sources: []string{sglangTuning},
	},
	{
		ID: "sglang/slots", Kinds: []fact.Kind{fact.SGLangSlots},
		Headline: "ran out of request slots, not of memory",
		Means:    "There are `--max-running-requests` slots for running requests, and a batch needed more than were free. The scheduler should prevent this. Some versions lose slots (with speculative decoding, pipeline parallelism or disaggregated prefill).",
		Not:      "`--mem-fraction-static` or smaller weights: no memory was refused.",
		Cures: []cause.Cure{
			as("lower_max_num_seqs", "Lower `--max-running-requests`, as the message says", "The scheduler then stays away from the last slots.", "others wait"),
			as("upgrade_version", "Update SGLang", "If it comes back after some hours, slots are being lost: report it with the `server_args` line.", "a restart"),
			{Fix: "restart_session", Title: "Until then, check for lost slots and restart", Told: "Slots are lost if `#running-req` in the last `Decode batch` lines is far below `--max-running-requests`. A restart brings them back.", Cost: "running requests end"},
		},
		Sources: []string{sglangCode + "mem_cache/memory_pool.py", sglangThread + "issues/10408"},
	},
	{
		ID: "sglang/workspace", Kinds: []fact.Kind{fact.FlashInferWorkspace}, Figures: sglangSpace,
		Headline: "needed more than FlashInfer's workspace holds",
		Means:    "FlashInfer works in a buffer of fixed size, 384 MiB by default (512 for some models). This batch needed {asked}. The GPU itself need not be full.",
		Not:      "Smaller weights or a smaller KV cache: the buffer keeps its size.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Make FlashInfer's workspace larger", Told: "In bytes; set it before the start. Update versions from before late 2025, which may not read it.", Kind: "env", Text: "export SGLANG_FLASHINFER_WORKSPACE_SIZE={twice}", Cost: "that much GPU memory"},
			sglangChunk,
			as("lower_max_num_seqs", "Or lower `--max-running-requests`", "", "others wait"),
		},
		Sources: []string{sglangCode + "environ.py", sglangCode + "layers/attention/flashinfer_backend.py", sglangThread + "issues/2102"},
	},
}

// sglangStartCards are about what is refused at start.
var sglangStartCards = []cause.Card{
	{
		ID: "sglang/floor", Kinds: []fact.Kind{fact.SGLangStatic}, If: func(c *ledger.Case) bool { return sglangWeights(c)["floor"] != "" }, Figures: sglangWeights,
		Headline: "did not start: its weights leave nothing of the static share for the KV cache",
		Means:    "`--mem-fraction-static` is the share of GPU memory for weights and KV cache together. The weights alone need {floor}, so it must be higher[[; it is {now}]].[[ They took {took} of the {before} that was free.]] CUDA graphs and requests use the rest up to 1.",
		Not:      "A lower `--mem-fraction-static`: it makes this worse. A shorter context: the KV cache is sized by the share.",
		Cures: []cause.Cure{
			as("raise_mem_fraction", "Raise `--mem-fraction-static`", "", "less for CUDA graphs and requests"),
			as("multi_gpu", "Split it over more GPUs", "Do this if CUDA graphs or requests then fail: the weights are too large for one GPU.", "needs more GPUs"),
			as("use_lower_quant", "Or load a smaller version of the model", "", "slight loss of quality"),
		},
		Later:   "If it then runs out while it captures CUDA graphs, set `--cuda-graph-max-bs 16`, not a lower share.",
		Sources: []string{sglangCode + "model_executor/model_runner_kv_cache_mixin.py", sglangTuning, sglangThread + "issues/7691"},
	},
	{
		ID: "sglang/static-low", Kinds: []fact.Kind{fact.SGLangStatic}, If: shareBelow(0.5), Figures: sglangWeights,
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive,
		Headline: "did not start: a static share of {now} is too small even for the weights",
		Means:    "`--mem-fraction-static` is the share of GPU memory for weights and KV cache together; SGLang's default is 0.8 to 0.9. You set {now}, or what starts SGLang did (GPUStack, verl and other trainers). SGLang does not use the rest.",
		Not:      "A shorter context, fewer requests or an 8-bit cache: they do not shrink the weights. A lower share: it makes this worse.",
		Cures: []cause.Cure{
			as("raise_mem_fraction", "If SGLang has the GPU alone, use the usual share", "Or leave the option out. If CUDA graphs then do not fit, lower it by 0.05.", "less for other programs"),
			{Fix: "lower_context", Title: "If the GPU is shared, compute the share", Ways: []cause.Way{
				{For: "Share", Text: "at least (weights + cache) / free memory before the load. 8 billion parameters at 16 bit are 16 GB; with 8 GB of cache that is 0.3 of an 80 GB card"},
				{For: "GPUStack", Text: "Edit Model, Advanced, Backend Parameters: `--mem-fraction-static=0.85`"},
				{For: "verl", Text: "`actor_rollout_ref.rollout.gpu_memory_utilization`"},
			}, Cost: "less for other programs"},
			as("use_lower_quant", "Or load a smaller version of the model", "", "slight loss of quality"),
		},
		Sources: []string{sglangTuning, "sglang/python/sglang/srt/server_args.py", "https://docs.gpustack.ai/latest/user-guide/inference-backend-management/"},
	},
	{
		ID: "sglang/static", Kinds: []fact.Kind{fact.SGLangStatic}, Figures: sglangWeights,
		Cause: cause.BudgetMisconfigured, Weight: cause.Likely,
		Headline: "did not start: nothing of the static share is left for the KV cache",
		Means:    "`--mem-fraction-static`[[ ({now})]] is the share of GPU memory for weights and KV cache together, and the weights used all of it. Look at `Load weight end ... avail mem`: if several GB are left there, raise the share. If almost nothing is left, the weights are too large or another program uses the GPU.",
		Not:      "A lower `--mem-fraction-static`: it makes this worse.",
		Cures: []cause.Cure{
			as("raise_mem_fraction", "Raise `--mem-fraction-static`", "[[{unset}]]", "less for CUDA graphs and requests"),
			as("use_lower_quant", "Or load a smaller version of the model", "", "slight loss of quality"),
			as("multi_gpu", "Or split it over more GPUs", "", "needs more GPUs"),
		},
		Sources: []string{sglangCode + "model_executor/model_runner_kv_cache_mixin.py", sglangTuning, "https://github.com/sgl-project/sglang-omni/pull/292"},
	},
	{
		ID: "sglang/state", Kinds: []fact.Kind{fact.SGLangState},
		Cause: cause.BudgetMisconfigured, Weight: cause.Good,
		Headline: "did not start: no GPU memory was left for the states of a hybrid model",
		Means:    "A hybrid model (Mamba or linear attention) keeps a state of fixed size for each possible request, beside the KV cache. The static share has no room for that many.",
		Not:      "`--context-length`: these states do not grow with it.",
		Cures: []cause.Cure{
			as("lower_max_num_seqs", "Lower `--max-running-requests`", "`--max-mamba-cache-size 64` limits the states directly.", "others wait"),
			as("raise_mem_fraction", "Raise `--mem-fraction-static`", "", "less for CUDA graphs and requests"),
			sglangQuant,
		},
		Sources: []string{sglangCode + "mem_cache/memory_pool.py"},
	},
	{
		ID: "sglang/unbalanced", Kinds: []fact.Kind{fact.SGLangUnbalanced},
		Cause: cause.LeakedProcess, Weight: cause.Strong,
		Headline: "did not start: one GPU has much less free memory than the others",
		Means:    "Before loading, SGLang compares the free memory of the GPUs. One has less than nine tenths of the others. Something uses it, often a process of an earlier start, or that GPU is smaller.",
		Not:      "`--mem-fraction-static`: this check comes first.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Find what uses that GPU and end it", Told: "End what is yours (`kill PID`). Before the start every GPU should be nearly empty.", Kind: "shell", Text: look, Cost: "free"},
			{Fix: "select_gpu", Title: "Or leave that GPU out", Told: "Start with the others only (`nvidia-smi` shows what is free on each), and with a `--tp-size` that matches:", Kind: "env", Text: "export CUDA_VISIBLE_DEVICES=1,2   # their numbers", Cost: "fewer GPUs"},
			{Fix: "lower_mem_fraction", Title: "If the GPUs differ in size, turn the check off", Told: "The smallest GPU then sets the size of the KV cache on all:", Kind: "env", Text: "export SGLANG_ENABLE_TP_MEMORY_INBALANCE_CHECK=0   # versions of 2025: SGL_DISABLE_TP_MEMORY_INBALANCE_CHECK=1", Cost: "a smaller KV cache"},
		},
		Sources: []string{sglangCode + "model_executor/model_runner.py"},
	},
	{
		ID: "sglang/load", Kinds: onCard, Phases: []string{"load"}, If: sglangLoading,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "did not start: the weights do not fit in GPU memory",
		Means:    "It failed while loading the weights. SGLang already holds {mine} of {total}, and KV cache and CUDA graphs still have to come.[[ {online}]]", Figures: onlineQuant,
		Not:     "`--mem-fraction-static` or `--context-length`: they have no effect while weights load.",
		Cures:   []cause.Cure{sglangQuant, sglangSplit, where(cards.MostStays, as("cpu_offload", "Keep a part in system RAM", "", "much slower"))},
		Sources: []string{sglangCode + "model_loader/loader.py", sglangThread + "pull/17945"},
	},
	{
		ID: "sglang/built", Kinds: onCard, Phases: []string{"unknown"}, If: sglangBuilds,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "most likely did not start: the weights do not fit in GPU memory",
		Means:    "SGLang was most likely still building the model: the traceback ends in `torch/utils/_device.py`. It already holds {mine} of {total}.[[ {large}]][[ {online}]]", Figures: onlineQuant,
		Not:     "`--mem-fraction-static`, `--context-length`, CUDA graphs: they have no effect while the model is built.",
		Cures:   []cause.Cure{sglangStored, sglangSplit},
		Sources: []string{sglangCode + "model_loader/loader.py", sglangCode + "model_executor/model_runner.py"},
	},
}

// sglangRunCards are about allocations beside the static share.
var sglangRunCards = []cause.Card{
	{
		ID: "sglang/graphs", Kinds: onCard, Phases: []string{"graph_capture"}, If: sglangCard,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "did not start: CUDA graphs did not fit beside weights and KV cache",
		Means:    "Weights and KV cache took the static share[[ ({mem_fraction_static})]], and CUDA graphs did not fit in the rest. Graphs for 160 to 512 requests need some GB on each GPU.",
		Not:      "A higher `--mem-fraction-static`: it leaves less for the graphs.",
		Cures: []cause.Cure{
			sglangGraphs, sglangNoGraphs,
			sglangLess, sglangQuant,
		},
		Sources: []string{sglangTuning, sglangThread + "pull/5634", sglangThread + "pull/5893"}, Solved: 2,
	},
	{
		ID: "sglang/pool", Kinds: onCard, Phases: []string{"kv_cache"}, If: sglangCard,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "did not start: the planned KV cache did not fit in GPU memory",
		Means:    "SGLang sizes the KV cache by the static share of what was free before loading. When it allocated it, less was free than planned[[: {room} for {asked}]]. Usually another process grew meanwhile, two processes share the GPU, or a draft model or vision encoder is loaded too.",
		Not:      "A shorter context: the KV cache is sized by the share.",
		Cures:    []cause.Cure{sglangLess, sglangWho, sglangQuant},
		Sources:  []string{sglangCode + "mem_cache/memory_pool.py"},
	},
	{
		ID: "sglang/pictures", Kinds: onCard, Said: []string{"in get_image_feature", "in get_video_feature", "self.vision_tower(", "self.vision_model(", "in vision_eager_attention_forward", "managers/mm_utils.py"}, Phases: []string{"inference"}, If: sglangCard,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "ran out of GPU memory while reading an image",
		Means:    "The vision encoder reads each image or video whole, beside weights and KV cache: it needed {asked}, and {room} was left. That grows with the size and number of images in one batch.",
		Not:      "A smaller `--chunked-prefill-size`: images are read before the prompt is split into chunks.",
		Cures: []cause.Cure{
			where(farShort, sglangPixels), sglangLess, where(when.Not(farShort), sglangPixels), sglangFewer,
		},
		Sources: []string{sglangCode + "managers/mm_utils.py", "https://docs.sglang.io/docs/basic_usage/glmv", sglangTuning},
	},
	{
		ID: "sglang/prefill", Kinds: onCard, Said: []string{"in forward_extend"}, Phases: []string{"inference"}, If: sglangCard,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "ran out of GPU memory while reading a prompt",
		Means:    "A chunk of prompts needed {asked}, and {room} was left beside weights and KV cache. The KV cache does not shrink, so a chunk must fit beside it. SGLang's guide recommends 5 to 8 GB free while serving (`available_gpu_mem` in the first lines).",
		Cures:    []cause.Cure{sglangChunk, sglangLess, sglangFewer},
		Sources:  []string{sglangTuning},
	},
	{
		ID: "sglang/decode", Kinds: onCard, Phases: []string{"inference"}, If: sglangCard,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "ran out of GPU memory on a request",
		Means:    "{asked} was needed, and {room} was left beside weights, KV cache and CUDA graphs. A smaller static share helps in any case. With long prompts smaller chunks help too, with many users fewer requests at a time.",
		Cures:    []cause.Cure{sglangLess, sglangChunk, sglangFewer},
		Sources:  []string{sglangTuning},
	},
	{
		ID: "sglang/beside", Kinds: onCard, If: when.All(sglangCard, func(c *ledger.Case) bool { return c.Contains("private pools") }),
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "ran out of GPU memory beside its static share",
		Means:    "Weights, KV cache and CUDA graphs were in place; what came after found {room} free. Of {total} SGLang itself holds {mine}, most of it by its static share.",
		Cures:    []cause.Cure{sglangLess, sglangChunk, sglangFewer, as("cpu_offload", "Keep a part of the weights in system RAM", "", "much slower")},
		Sources:  []string{sglangTuning, "https://github.com/guqiong96/lsglang/issues/7"},
	},
	{
		ID: "sglang/fills", Kinds: onCard, Phases: []string{"unknown"}, If: when.All(sglangCard, func(c *ledger.Case) bool { return c.Mine.Has() && c.Total.Has() && c.Mine.Bytes*10 > c.Total.Bytes*8 }),
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "fills the GPU by itself: {mine} of {total}",
		Means:    "SGLang uses a fixed share of the GPU for weights and KV cache. CUDA graphs and requests must fit in the rest, and {asked} did not. If the line `Load weight end` does not stand above the error, the weights are too large: load an FP8 or 4-bit version, or raise `--tp-size`.",
		Cures: []cause.Cure{
			where(when.All(sglangMaybeLoad, when.Not(sglangQuantised)), sglangStored),
			where(when.All(sglangMaybeLoad, sglangQuantised), as("use_lower_quant", "If it failed while loading, use smaller weights", "", "slight loss of quality")),
			where(sglangMaybeLoad, as("lower_mem_fraction", "If the weights had loaded, lower `--mem-fraction-static`", "", "a smaller KV cache")),
			where(when.Not(sglangMaybeLoad), sglangLess),
			{Fix: "enforce_eager", If: sglangSizesGraphs, Title: "If it failed at the start, lower `--cuda-graph-max-bs`", Told: "Larger batches then run without graphs. Since June 2026 the option is `--cuda-graph-max-bs-decode`.", Kind: "config", Text: "--cuda-graph-max-bs 16", Cost: "large batches are slower"},
			sglangChunk, sglangFewer,
		},
		Sources: []string{sglangTuning, sglangThread + "pull/5634"},
	},
}

// SGLangCards are SGLang's: the static share has a direction.
var SGLangCards = slices.Concat(sglangRequestCards, sglangMoreCards, sglangTokenCards, sglangStartCards, sglangRunCards, pausedCards, sglangBareCards)
