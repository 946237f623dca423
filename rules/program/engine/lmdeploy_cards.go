package engine

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/era"
	"github.com/oomdoc/oomdoc/rules/program/server/launch"
	"github.com/oomdoc/oomdoc/rules/program/server/parts"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

const (
	lmdeployFAQ      = "https://github.com/InternLM/lmdeploy/blob/main/docs/en/faq.md"
	lmdeployMessages = "https://github.com/InternLM/lmdeploy/blob/main/lmdeploy/messages.py"
	lmdeployIssues   = "https://github.com/InternLM/lmdeploy/issues/"
)

// lmdeploySet are the engine's arguments that the log shows.
func lmdeploySet(c *ledger.Case) map[string]string {
	out := map[string]string{"cache_share": "", "session": setting(c, "session_len"), "sequences": setting(c, "max_batch_size")}
	if u, ok := shareSet(c); ok {
		out["cache_share"] = fmt.Sprintf("%g", u)
	}
	if out["session"] == "None" {
		out["session"] = ""
	}
	out["long"], out["bits"], out["fits"], out["share_here"] = "", "", "", "0.8 by default"
	switch out["cache_share"] {
	case "":
	case "0.8":
		out["share_here"] = "0.8, the default"
	default:
		out["share_here"] = out["cache_share"]
	}
	if longSession(c) {
		out["long"] = out["session"]
	}
	if fourBits(c) {
		out["bits"] = "Fewer bits: the weights are 4 bit already."
	}
	if c.Model != nil && c.Model.Parameters > 0 && fourBits(c) {
		out["fits"] = fmt.Sprintf("The weights are about %s at 4 bit%s.", units.Amount(c.Model.Parameters*6/10), parts.VisionStays(c))
	}
	out["at16"], out["at4"], out["less_share"] = "", "", lmdeployLess(c)
	if out["fills16"] = ""; lmdeployFills(c) {
		out["fills16"] = fmt.Sprintf("At 16 bit they leave nothing of the %s of this card, whatever the share.", c.Total)
	}
	switch out["cache_takes"] = "a share of what is free after the weights (here " + out["share_here"] + ")"; {
	case out["cache_share"] != "":
	case era.Lacks(c, "lmdeploy", era.ShareOfFree):
		out["cache_takes"] = "half of the whole card in this release (from 0.2.2 on 0.8 of what the weights leave)"
	case !era.Told(c, "lmdeploy"):
		out["cache_takes"] = "a share of what is free after the weights (0.8 by default; before 0.2.2 half of the whole card)"
	}
	if c.Model != nil && c.Model.Parameters > 0 && !fourBits(c) {
		out["at16"], out["at4"] = units.Amount(c.Model.Parameters*2), units.Amount(c.Model.Parameters*6/10)
	}
	return out
}

// lmdeployFills: by the model's name its weights at 16 bit are as large as the card.
func lmdeployFills(c *ledger.Case) bool {
	if c.Model == nil || fourBits(c) || !c.Total.Has() {
		return false
	}
	return 2*c.Model.Parameters/int64(max(1, ledger.IntSetting(c, "tp"))) > c.Total.Bytes*9/10
}

// lmdeployOfFree is for releases whose cache takes its share of the whole card.
var lmdeployOfFree = cause.Cure{
	Fix: "upgrade_version", Title: "Or update LMDeploy to 0.2.2 or later", If: func(c *ledger.Case) bool { return era.Lacks(c, "lmdeploy", era.ShareOfFree) },
	Told: "There the KV cache takes a share of what the weights leave, so it always fits:", Kind: "shell", Text: "pip install -U lmdeploy", Cost: "an update to test",
}

// lmdeployLess is three quarters of the share of the KV cache, to the twentieth.
func lmdeployLess(c *ledger.Case) string {
	now, ok := shareSet(c)
	if !ok {
		now = 0.8
	}
	return fmt.Sprintf("%g", max(0.05, math.Round(now*15)/20))
}

// where is a cure where a condition holds.
func where(holds func(*ledger.Case) bool, k cause.Cure) cause.Cure {
	k.If = holds
	return k
}

// longSession: the log shows a session of more than 32k tokens; oneRequest: one
// at a time; fourBits: the weights are at 4 bit already.
func longSession(c *ledger.Case) bool { return ledger.IntSetting(c, "session_len") > 32768 }

func oneRequest(c *ledger.Case) bool { return setting(c, "max_batch_size") == "1" }

func fourBits(c *ledger.Case) bool {
	return slices.Contains([]string{"awq", "gptq"}, strings.Trim(setting(c, "model_format"), "'\"")) || ledger.AlreadyQuantised(c) != ""
}

// besideTurboMind: the log shows its configuration, or hardly anything that the
// process holds is PyTorch's.
func besideTurboMind(c *ledger.Case) bool {
	f := c.F()
	return c.Near("TurbomindEngineConfig(") || f.ProcessUsed != nil && f.Allocated != nil && f.Allocated.Bytes*4 < f.ProcessUsed.Bytes
}

var (
	lmdeployShare    = inLMDeploy("lower_mem_fraction", "Lower `cache_max_entry_count`", "cache_max_entry_count=0.2", "--cache-max-entry-count 0.2", "fewer tokens at a time")
	lmdeployRequests = inLMDeploy("lower_batch_size", "Or lower `max_batch_size`", "max_batch_size=8", "--max-batch-size 8", "more requests wait")
	lmdeployBoth     = inLMDeploy("lower_mem_fraction", "Lower `cache_max_entry_count` and `session_len`", "cache_max_entry_count=0.2, session_len=8192", "--cache-max-entry-count 0.2 --session-len 8192", "fewer tokens at a time; longer conversations are cut")
	lmdeployQuant    = where(when.Not(fourBits), cause.Cure{
		Fix: "use_lower_quant", Title: "Load 4-bit weights", Told: "They are about a quarter of 16 bit. Use an AWQ or GPTQ checkpoint from huggingface.co (`--model-format awq` or `gptq`), or make one with `lmdeploy lite auto_awq`.",
		Cost: "slight loss of quality",
	})
	lmdeploySplit = where(when.Not((*ledger.Case).Windows), inLMDeploy("multi_gpu", "Split it over two GPUs", "tp=2", "--tp 2", "needs a second GPU")) // its build for Windows has no NCCL
	// lmdeployFree is for boards on which card and system share one memory, too.
	lmdeployFree  = cause.Cure{Fix: "close_other_apps", Title: "Check what is on the GPU before the start", Told: "Use `nvidia-smi`, on a Jetson `free -h`. End other engines, and close desktop and browser.", Cost: "free"}
	lmdeployTorch = cause.Cure{Fix: "upgrade_version", Title: "Or use the PyTorch engine", Told: "Use `--backend pytorch` instead of TurboMind (without `--model-format`). Some boards and models need it.", Cost: "slower"}
)

// lmdeployCards are LMDeploy's.
var lmdeployCards = slices.Concat(lmdeployLoadCards, lmdeployCacheCards)

var lmdeployCacheCards = []cause.Card{
	{
		ID: "lmdeploy/no-cache", Kinds: []fact.Kind{fact.LMDeployCache},
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "did not start: after the weights nothing is left for the KV cache",
		Means:    "LMDeploy's PyTorch engine measures what is free after the weights and gives the KV cache a share of it. Nothing was left, even with the smallest prompt buffer. Either the weights fill the GPU, or another program uses it.",
		Not:      "`--max-prefill-token-num`: LMDeploy has lowered it already. A larger `--cache-max-entry-count`: it is a share of what is left.",
		Cures:    []cause.Cure{lmdeployLook, lmdeployQuant, lmdeploySmaller, lmdeploySplit},
		Sources:  []string{lmdeployExecutor, lmdeployMessages},
	},
	{
		ID: "lmdeploy/pytorch-request", Kinds: onCard, If: lmdeployOn, Said: []string{"Engine loop failed with error", "Engine main loop failed", "in _async_step_background", "in async_loop", "in main_loop"}, Figures: lmdeploySet,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "ran out of GPU memory on a request",
		Means:    "At the start the KV cache took its share of what the weights left, `cache_max_entry_count` ({share_here}). Prompts and images must fit in the rest, and this one did not. The cache does not grow, so a smaller share makes room.",
		Not:      "A shorter `--session-len`: the KV cache takes its share at any length.",
		Cures: []cause.Cure{
			{Fix: "lower_mem_fraction", Title: "Lower `cache_max_entry_count`", Told: "To {less_share}. Add it after `lmdeploy serve api_server` and the model, or set it in `PytorchEngineConfig`:", Steps: func(c *ledger.Case) []step.Step {
				steps := lmdeployServer.Adds(launch.To("cache_max_entry_count", lmdeployLess(c)))(c)
				return steps[len(steps)-1:]
			}, Cost: "fewer tokens at a time"},
			{Fix: "lower_max_batched_tokens", Title: "Or lower `max_prefill_token_num`", Told: "Fewer prompt tokens are then computed at once (for `api_server` since 0.6; the default is 8192):", Steps: func(c *ledger.Case) []step.Step {
				steps := lmdeployServer.Adds(launch.AtMost("max_prefill_token_num", 2048))(c)
				return steps[len(steps)-1:]
			}, Cost: "slower long prompts"},
			lmdeployQuant, lmdeploySmaller,
		},
		Sources: []string{lmdeployMessages, lmdeployExecutor, "https://github.com/InternLM/lmdeploy/blob/main/lmdeploy/pytorch/engine/engine.py"},
	},
	{
		ID: "lmdeploy/beside-turbomind", Kinds: onCard, If: when.All(lmdeployOn, when.Not(withoutFigures), besideTurboMind), Figures: lmdeploySet,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "ran out of GPU memory while TurboMind was using the GPU",
		Means:    "TurboMind's KV cache takes a share of what is free after the weights, `cache_max_entry_count` ({share_here}). PyTorch, which loads the weights and reads images, has only the rest.[[ 16-bit weights are about {at16}, 4-bit ones {at4}.]][[ {fills16}]] If it failed while loading, the weights are too large.",
		Not:      "PyTorch's allocator settings: TurboMind does not use them.[[ {bits}]]",
		Cures:    []cause.Cure{where(lmdeployFills, lmdeployQuant), lmdeployBoth, lmdeployQuant, where(lmdeployFills, lmdeploySplit), lmdeployFree, where(when.Not(oneRequest), lmdeployRequests)},
		Sources:  []string{lmdeployFAQ, lmdeployMessages},
	},
	{
		ID: "lmdeploy/pytorch-engine", Kinds: onCard, Unsaid: []string{"TurbomindEngineConfig("}, If: when.All(lmdeployOn, when.Not(withoutFigures), when.Not(besideTurboMind)),
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "ran out of GPU memory in its PyTorch engine",
		Means:    "LMDeploy loads the weights and gives the KV cache a share of what is left, `cache_max_entry_count` (0.8 by default). Prompts must fit in the rest, up to `max_prefill_token_num` tokens at once. If it failed while loading, the weights are too large.",
		Cures: []cause.Cure{
			inLMDeploy("lower_mem_fraction", "Lower `cache_max_entry_count`", "cache_max_entry_count=0.4", "--cache-max-entry-count 0.4", "fewer tokens at a time"),
			{Fix: "lower_max_batched_tokens", Title: "Lower `max_prefill_token_num`", Told: "In Python `PytorchEngineConfig(max_prefill_token_num=2048)`. For `lmdeploy serve api_server` (since 0.6; the default is 8192):", Steps: func(c *ledger.Case) []step.Step {
				steps := lmdeployServer.Adds(launch.AtMost("max_prefill_token_num", 2048), launch.AtMost("max_batch_size", 16))(c)
				return steps[len(steps)-1:]
			}, Cost: "slower long prompts"},
			lmdeployQuant,
			lmdeploySplit,
		},
		Sources: []string{lmdeployMessages, "https://github.com/InternLM/lmdeploy/blob/main/lmdeploy/cli/utils.py"},
	},
	{
		ID: "lmdeploy/no-figures", Kinds: onCard, If: when.All(lmdeployOn, withoutFigures),
		Headline: "ran out of GPU memory; the message has no figures",
		Means:    "{step}", Figures: bareStep("Later it is a prompt or an image: the KV cache takes 0.8 of what the weights leave by default, and they have only the rest."),
		Cures:   []cause.Cure{where(when.In("load"), lmdeployLook), where(when.Not(when.In("load")), lmdeployBoth), lmdeployQuant, where(when.Not(when.In("load")), lmdeployLook), lmdeploySplit},
		Sources: []string{lmdeployFAQ, lmdeployMessages},
	},
	{
		ID: "lmdeploy/notebook", Kinds: []fact.Kind{fact.TurboMind}, Said: []string{"ipykernel/", "IPython/core/", "ipython-input-"},
		Cause: cause.ModelTooLarge, Weight: cause.Fair,
		Headline: "ran out of GPU memory in a notebook",
		Means:    "The message names no size.[[ `cache_max_entry_count` is {cache_share}.]] In a notebook, check the kernel first: an engine from an earlier cell keeps its weights and KV cache, even after `del`. A failed start can also leave a part in GPU memory.",
		Figures:  lmdeploySet,
		Not:      "`torch.cuda.empty_cache()`: TurboMind does not use PyTorch's allocator.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Restart the kernel", Told: "`nvidia-smi` must then show an empty GPU. Run only the cell that creates the engine.", Cost: "free"},
			lmdeployShare, lmdeployQuant,
		},
		Sources: []string{lmdeployFAQ, lmdeployIssues + "1593"},
	},
	{
		ID: "lmdeploy/small-share", Kinds: []fact.Kind{fact.TurboMind}, If: shareBelow(0.31), Figures: lmdeploySet,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory, although the share of its KV cache is small",
		Means:    "The KV cache may take only {cache_share} of what the weights leave, so it is hardly the cause. Either the weights and buffers[[ for {sequences} requests at once]][[ of up to {session} tokens]] fill the GPU, or something else uses it: check `nvidia-smi` before the start.",
		Not:      "An even smaller `cache_max_entry_count`.",
		Cures: []cause.Cure{
			{Fix: "use_lower_quant", Title: "Load 4-bit weights", Told: "They are about a quarter of 16 bit. Use an AWQ checkpoint from huggingface.co with `model_format=\"awq\"`, or make one with `lmdeploy lite auto_awq`.", Cost: "slight loss of quality"},
			{Fix: "lower_batch_size", Title: "Lower `max_batch_size`", Ways: []cause.Way{{For: "Python", Text: "`TurbomindEngineConfig(max_batch_size=8, ...)`, beside your own arguments."}, {For: "Server", Text: "`--max-batch-size 8`."}}, Cost: "others wait"},
			lmdeploySplit,
		},
		Sources: []string{lmdeployFAQ, lmdeployMessages, lmdeployIssues + "1459"},
	},
	{
		ID: "lmdeploy/turbomind-weights", Kinds: []fact.Kind{fact.TurboMind}, If: func(c *ledger.Case) bool { return c.Failure.Stage == "weights" }, Figures: lmdeploySet,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory for the weights",
		Means:    "`memory_utils.cu` is where TurboMind allocates its weights, before the KV cache. 16-bit weights take 2 GB per billion parameters, 4-bit ones about 0.6[[: here about {at16} or {at4}, divided by `tp`]]. The message names no size, so another program or a vision model on the GPU is possible too.",
		Not:      "A lower `cache_max_entry_count` or `session_len`: they have no effect while weights load.[[ {bits}]]",
		Cures: []cause.Cure{
			lmdeployQuant, lmdeploySmaller,
			{Fix: "kill_stale_process", Title: "Check what is on the GPU", Told: "It should be empty before the start. End an old Python process of yours with `kill PID`.", Kind: "shell", Text: look, Cost: "free"},
			lmdeploySplit,
		},
		Sources: []string{"https://github.com/InternLM/lmdeploy/blob/v0.5.3/src/turbomind/utils/memory_utils.cu", "https://github.com/InternLM/lmdeploy/blob/v0.5.3/src/turbomind/models/llama/LlamaDecoderLayerWeight.cc", lmdeployIssues + "2236"},
	},
	{
		ID: "lmdeploy/turbomind", Kinds: []fact.Kind{fact.TurboMind}, Figures: lmdeploySet,
		Cause: cause.BudgetMisconfigured, Weight: cause.Good,
		Headline: "ran out of GPU memory in TurboMind",
		Means:    "TurboMind's KV cache takes {cache_takes}. Buffers[[ for a session of {long} tokens]], a vision model and other programs have only the rest.[[ {fits}]] The message names no size; LMDeploy's FAQ recommends a smaller share for this error.",
		Not:      "`PYTORCH_CUDA_ALLOC_CONF`: TurboMind does not use PyTorch's allocator.[[ {bits}]]",
		Cures:    []cause.Cure{where(lmdeployFills, lmdeployQuant), lmdeployBoth, lmdeployOfFree, lmdeployQuant, lmdeployFree, where(when.Not(oneRequest), lmdeployRequests), lmdeployTorch},
		Sources:  []string{lmdeployFAQ, lmdeployMessages},
	},
}
