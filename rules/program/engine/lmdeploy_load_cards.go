package engine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/server/launch"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

const lmdeployExecutor = "https://github.com/InternLM/lmdeploy/blob/main/lmdeploy/pytorch/engine/executor/base.py"

// lmdeployServer edits a command of LMDeploy's, or says what to add to it.
var lmdeployServer = launch.Server{Command: "lmdeploy_command", Start: "lmdeploy serve api_server"}

// lmdeploySamples are halves of the samples' length and number.
func lmdeploySamples(c *ledger.Case) map[string]string {
	half := func(name string, most int) string {
		if n := ledger.IntSetting(c, name); n > 1 && n <= most {
			return strconv.Itoa(n / 2)
		}
		return strconv.Itoa(most)
	}
	return map[string]string{"shorter": half("calib_seqlen", 1024), "fewer": half("calib_samples", 64)}
}

// inLMDeploy is how its settings are written, in a program and on a command
// line.
func inLMDeploy(fix, title, python, flags, cost string) cause.Cure {
	var set []launch.Choice
	for words := strings.Fields(flags); len(words) > 1; words = words[2:] {
		name := strings.ReplaceAll(words[0][2:], "-", "_")
		if n, err := strconv.Atoi(words[1]); err == nil && name != "tp" {
			set = append(set, launch.AtMost(name, n))
			continue
		}
		set = append(set, launch.To(name, words[1]))
	}
	return cause.Cure{Fix: fix, Title: title, Cost: cost, Steps: func(c *ledger.Case) []step.Step {
		steps := lmdeployServer.Adds(set...)(c)
		if lmdeployServer.Logged(c) != nil {
			return steps
		}
		config := "`TurbomindEngineConfig(" + python + ")` (or PytorchEngineConfig)"
		if !besideTurboMind(c) && (c.Kind(fact.LMDeployCache) || slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool { return strings.Contains(x.File, "lmdeploy/pytorch/") })) {
			config = "`PytorchEngineConfig(" + python + ")`"
		}
		return append([]step.Step{{Kind: "text", Text: "In Python use " + config + ". On the command line add, after the model:"}}, steps[len(steps)-1:]...)
	}}
}

func lmdeployOn(c *ledger.Case) bool { return c.In("lmdeploy") }

var (
	lmdeployLook    = cause.Cure{Fix: "kill_stale_process", Title: "Check that nothing else is on the GPU", Told: "It may be an earlier start, a notebook or another server: end what is yours.", Kind: "shell", Text: look, Cost: "free"}
	lmdeploySmaller = where(fourBits, cause.Cure{Fix: "use_smaller_model", Title: "Use a smaller model", Told: "The weights are 4 bit already: use the next smaller model of the family.", Cost: "lower quality"})
)

// lmdeployLoadCards are about what comes before the KV cache, and beside it.
var lmdeployLoadCards = []cause.Card{
	besideOthers("lmdeploy", lmdeployOn, tmKeep, lmdeployMessages),
	{
		ID: "lmdeploy/converting", Kinds: []fact.Kind{fact.TurboMind}, Said: []string{"in _create_weight", "(_create_weight_func)", "model_comm.process_weight", "in _process_weights", "Convert to turbomind format"}, Unsaid: []string{"Convert to turbomind format: 100%", "[BlockManager] block_size", "in _create_model_instance", "ipykernel/", "IPython/core/"}, If: when.Not(shareBelow(0.31)),
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory while loading the weights",
		Means:    "TurboMind was still loading its weights; the KV cache comes later. 16-bit weights take 2 GB per billion parameters, 4-bit ones about 0.6[[: here about {at16} or {at4}]]. The message names no size, so another program on the GPU is possible too.",
		Figures:  lmdeploySet,
		Not:      "A lower `cache_max_entry_count` or `session_len`: they have no effect while weights load.",
		Cures:    []cause.Cure{lmdeployQuant, lmdeploySmaller, lmdeployLook, lmdeploySplit},
		Sources:  []string{"https://github.com/InternLM/lmdeploy/blob/main/lmdeploy/turbomind/turbomind.py", "https://github.com/InternLM/lmdeploy/blob/main/lmdeploy/turbomind/deploy/target_model/base.py"},
	},
	{
		ID: "lmdeploy/blocks", Kinds: []fact.Kind{fact.PlainMemory, fact.PlainHost, fact.PlainDevice}, Said: []string{"[BlockManager] max_block_count", "[BlockManager] block_size"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "had no GPU memory left for its KV cache",
		Means:    "TurboMind's KV cache is made of blocks, as many as fit in `cache_max_entry_count` (0.8 by default) of what the weights leave. Look at `max_block_count` above: if it is 0, the weights or another program fill the GPU. If it is more, another program took the memory afterwards.",
		Cures:    []cause.Cure{lmdeployLook, lmdeployQuant, lmdeploySmaller, lmdeploySplit},
		Sources:  []string{"https://github.com/InternLM/lmdeploy/blob/main/src/turbomind/models/llama/BlockManager.cc", lmdeployFAQ},
	},
	{
		ID: "lmdeploy/pytorch-load", Kinds: onCard, If: lmdeployOn, Said: []string{"in _build_model", "in build_patched_model", "in load_model_weights", "in build_model_from_hf_config", "in create_weights", "in _load_weights_by_tp"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "did not start: the weights do not fit in GPU memory",
		Means:    "LMDeploy's PyTorch engine was still loading the weights. It already holds {mine} of {total}, and the KV cache still has to come.",
		Not:      "A lower `cache_max_entry_count` or `max_prefill_token_num`: they have no effect while weights load.",
		Cures:    []cause.Cure{lmdeployQuant, lmdeploySmaller, lmdeploySplit, lmdeployLook},
		Sources:  []string{lmdeployExecutor},
	},
	{
		ID: "lmdeploy/state-cache", Kinds: []fact.Kind{fact.LMDeployCache}, Said: []string{"memory for state cache"},
		Cause: cause.BatchTooLarge, Weight: cause.Decisive,
		Headline: "did not start: no GPU memory was left for the states of a hybrid model",
		Means:    "A hybrid model (linear attention, Mamba) keeps a state of fixed size for each possible request, `max_batch_size` of them, beside the KV cache. After the weights there was no room for so many.",
		Not:      "A lower `cache_max_entry_count` or `session_len`: the states have their own memory.",
		Cures: []cause.Cure{
			inLMDeploy("lower_batch_size", "Lower `max_batch_size`", "max_batch_size=16", "--max-batch-size 16", "more requests wait"),
			lmdeployQuant, lmdeploySplit, lmdeployLook,
		},
		Sources: []string{lmdeployExecutor},
	},
	{
		ID: "lmdeploy/vision", Kinds: onCard, Said: []string{"lmdeploy/vl/", "serve/vl_async_engine.py"}, Figures: lmdeploySet,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "ran out of GPU memory while reading an image",
		Means:    "The image part runs beside the engine, whose weights and KV cache (its share of what was free: {share_here}) were already in place. Large images are cut into tiles, and each tile counts.",
		Not:      "A shorter `session_len`: the KV cache takes its share at any length.",
		Cures: []cause.Cure{
			where(when.Not(shareBelow(0.31)), inLMDeploy("lower_mem_fraction", "Give the KV cache a smaller share", "cache_max_entry_count=0.3", "--cache-max-entry-count 0.3", "fewer tokens at a time")),
			{Fix: "lower_resolution", Title: "Send smaller or fewer images", Told: "Halve the width and height. For InternVL limit the tiles in the message: `\"max_dynamic_patch\": 4` beside `url`.", Cost: "less fine detail"},
			lmdeployQuant,
			{Fix: "lower_batch_size", Title: "Read one image at a time", Told: "Set `--vision-max-batch-size 1`, the default, or in Python `VisionConfig(max_batch_size=1)`.", Cost: "slower"},
		},
		Sources: []string{"https://github.com/InternLM/lmdeploy/blob/main/lmdeploy/vl/engine.py", "https://github.com/InternLM/lmdeploy/blob/main/docs/en/multi_modal/internvl.md", lmdeployMessages},
	},
	{
		ID: "lmdeploy/calibrate", Kinds: onCard, Said: []string{"lmdeploy/lite/"}, Figures: lmdeploySamples,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory while quantising a model",
		Means:    "`lmdeploy lite` runs sample texts through the 16-bit model, layer by layer. The samples' data and one layer are on the GPU at the same time. That grows with `--batch-size` and `--calib-seqlen`.",
		Not:      "`--cache-max-entry-count`: it is only for serving.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Use smaller samples", Told: "Instead of your values; the defaults are 1 and 2048:", Kind: "config", Text: "--batch-size 1 --calib-seqlen {shorter}", Cost: "slower, slightly less accurate"},
			{Fix: "use_lower_quant", Title: "Use a checkpoint that is already 4 bit", Told: "Search the model's name with AWQ or GPTQ on huggingface.co, then use `--model-format awq` or `gptq`.", Cost: "a download"},
			{Fix: "chunked_prefill", Title: "Or fewer samples", Told: "The default is 128:", Kind: "config", Text: "--calib-samples {fewer}", Cost: "a little quality"},
			lmdeployLook,
		},
		Sources: []string{"https://github.com/InternLM/lmdeploy/blob/main/lmdeploy/cli/lite.py", "https://github.com/InternLM/lmdeploy/blob/main/lmdeploy/lite/quantization/calibration.py"},
	},
}
