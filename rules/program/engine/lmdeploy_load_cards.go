package engine

import (
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
		return append([]step.Step{{Kind: "text", Text: "In Python `TurbomindEngineConfig(" + python + ")` (or PytorchEngineConfig); after `lmdeploy chat` or `serve api_server` and the model:"}}, steps[len(steps)-1:]...)
	}}
}

func lmdeployOn(c *ledger.Case) bool { return c.In("lmdeploy") }

var (
	lmdeployLook    = cause.Cure{Fix: "kill_stale_process", Title: "Check that nothing else is on the card", Told: "An earlier start, a notebook, another server: end what is yours.", Kind: "shell", Text: look, Cost: "free"}
	lmdeploySmaller = where(fourBits, cause.Cure{Fix: "use_smaller_model", Title: "Use a smaller model", Told: "The weights are at 4 bit already: take the next smaller one of the family.", Cost: "lower quality"})
)

// lmdeployLoadCards are about what comes before the KV cache, and beside it.
var lmdeployLoadCards = []cause.Card{
	besideOthers("lmdeploy", lmdeployOn, tmKeep, lmdeployMessages),
	{
		ID: "lmdeploy/converting", Kinds: []fact.Kind{fact.TurboMind}, Said: []string{"in _create_weight", "(_create_weight_func)", "model_comm.process_weight", "in _process_weights", "Convert to turbomind format"}, Unsaid: []string{"Convert to turbomind format: 100%", "[BlockManager] block_size", "in _create_model_instance", "ipykernel/", "IPython/core/"}, If: when.Not(shareBelow(0.31)),
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory while it loaded the weights",
		Means:    "TurboMind was still making or filling its weights on the card; the KV cache comes later. 16-bit weights take 2 GB per billion parameters, 4-bit ones about 0.6[[: here about {at16} or {at4}]]. The message names no size, so another program on the card is possible, too.",
		Figures:  lmdeploySet,
		Not:      "A lower `cache_max_entry_count` or `session_len`: neither has an effect while weights load.",
		Cures:    []cause.Cure{lmdeployQuant, lmdeploySmaller, lmdeployLook, lmdeploySplit},
		Sources:  []string{"https://github.com/InternLM/lmdeploy/blob/main/lmdeploy/turbomind/turbomind.py", "https://github.com/InternLM/lmdeploy/blob/main/lmdeploy/turbomind/deploy/target_model/base.py"},
	},
	{
		ID: "lmdeploy/blocks", Kinds: []fact.Kind{fact.PlainMemory, fact.PlainHost, fact.PlainDevice}, Said: []string{"[BlockManager] max_block_count", "[BlockManager] block_size"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "found no room for a block of its KV cache",
		Means:    "TurboMind's cache is made of blocks, as many as `cache_max_entry_count` (0.8 unless set) of what is free after the weights holds. `max_block_count` in the lines above says how many: at 0 the weights fill the card, or something else does; above that another program took the memory since.",
		Cures:    []cause.Cure{lmdeployLook, lmdeployQuant, lmdeploySmaller, lmdeploySplit},
		Sources:  []string{"https://github.com/InternLM/lmdeploy/blob/main/src/turbomind/models/llama/BlockManager.cc", lmdeployFAQ},
	},
	{
		ID: "lmdeploy/pytorch-load", Kinds: onCard, If: lmdeployOn, Said: []string{"in _build_model", "in build_patched_model", "in load_model_weights", "in build_model_from_hf_config", "in create_weights", "in _load_weights_by_tp"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "did not start: the weights do not fit on the card",
		Means:    "LMDeploy's PyTorch engine was still making its layers or loading weights into them: {mine} of {total} is its own, and the KV cache is still to come.",
		Not:      "A lower `cache_max_entry_count` or `max_prefill_token_num`: neither has an effect while weights load.",
		Cures:    []cause.Cure{lmdeployQuant, lmdeploySmaller, lmdeploySplit, lmdeployLook},
		Sources:  []string{lmdeployExecutor},
	},
	{
		ID: "lmdeploy/state-cache", Kinds: []fact.Kind{fact.LMDeployCache}, Said: []string{"memory for state cache"},
		Cause: cause.BatchTooLarge, Weight: cause.Decisive,
		Headline: "did not start: no room for the states of a hybrid model",
		Means:    "A hybrid model (linear attention, Mamba) keeps a state of fixed size for each request that may run, `max_batch_size` of them, beside the KV cache. After the weights there is no room for so many.",
		Not:      "A lower `cache_max_entry_count` or `session_len`: the states have a pool of their own.",
		Cures: []cause.Cure{
			inLMDeploy("lower_batch_size", "Lower `max_batch_size`", "max_batch_size=16", "--max-batch-size 16", "more requests wait"),
			lmdeployQuant, lmdeploySplit, lmdeployLook,
		},
		Sources: []string{lmdeployExecutor},
	},
	{
		ID: "lmdeploy/vision", Kinds: onCard, Said: []string{"lmdeploy/vl/", "serve/vl_async_engine.py"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "ran out of graphics memory while it read an image",
		Means:    "The vision part runs in PyTorch beside the engine, whose weights and KV cache (0.8 of what was free, unless set) were taken before.[[ {asked} was needed and {free} was left.]] Large images are cut into tiles, each of which counts.",
		Not:      "A shorter `session_len`: the KV cache has its share whatever the length.",
		Cures: []cause.Cure{
			inLMDeploy("lower_mem_fraction", "Give the KV cache a smaller share", "cache_max_entry_count=0.3", "--cache-max-entry-count 0.3", "fewer tokens at a time"),
			{Fix: "lower_resolution", Title: "Send smaller or fewer images", Told: "Half the width and height; for InternVL limit the tiles in the message: `\"max_dynamic_patch\": 4` beside `url`.", Cost: "fine detail"},
			lmdeployQuant,
			{Fix: "lower_batch_size", Title: "Read one image at a time", Told: "1 is the default of `--vision-max-batch-size`, in Python `VisionConfig(max_batch_size=1)`.", Cost: "slower"},
		},
		Sources: []string{"https://github.com/InternLM/lmdeploy/blob/main/lmdeploy/vl/engine.py", "https://github.com/InternLM/lmdeploy/blob/main/docs/en/multi_modal/internvl.md", lmdeployMessages},
	},
	{
		ID: "lmdeploy/calibrate", Kinds: onCard, Said: []string{"lmdeploy/lite/"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory while it quantised a model",
		Means:    "`lmdeploy lite` sends sample texts through the 16-bit model, layer by layer, to find the scales. The layers' inputs of all samples and one layer at work are on the card: that grows with `--batch-size` and `--calib-seqlen`.[[ {asked} was wanted and {free} was free.]]",
		Not:      "`--cache-max-entry-count`: it is for serving.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Use smaller samples", Told: "In place of your values; 1 and 2048 are the defaults:", Kind: "config", Text: "--batch-size 1 --calib-seqlen 1024", Cost: "slower, hardly any quality"},
			{Fix: "use_lower_quant", Title: "Or take a checkpoint that is 4 bit already", Told: "Search huggingface.co for the model's name with AWQ or GPTQ, then `--model-format awq` or `gptq`.", Cost: "a download"},
			{Fix: "chunked_prefill", Title: "Or fewer samples", Told: "128 is the default:", Kind: "config", Text: "--calib-samples 64", Cost: "a little quality"},
			lmdeployLook,
		},
		Sources: []string{"https://github.com/InternLM/lmdeploy/blob/main/lmdeploy/cli/lite.py", "https://github.com/InternLM/lmdeploy/blob/main/lmdeploy/lite/quantization/calibration.py"},
	},
}
