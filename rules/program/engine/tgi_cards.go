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
	"github.com/oomdoc/oomdoc/rules/program/era"
	"github.com/oomdoc/oomdoc/rules/when"
)

const (
	tgiIssues   = "https://github.com/huggingface/text-generation-inference/issues/"
	tgiCausal   = "https://github.com/huggingface/text-generation-inference/blob/main/server/text_generation_server/models/flash_causal_lm.py"
	tgiGlobals  = "https://github.com/huggingface/text-generation-inference/blob/main/server/text_generation_server/models/globals.py"
	loraxMain   = "https://github.com/predibase/lorax/blob/main/launcher/src/main.rs"
	tgiLauncher = "https://github.com/huggingface/text-generation-inference/blob/main/launcher/src/main.rs"
)

// inTGI: an allocation on the card under TGI.
func inTGI(c *ledger.Case) bool { return c.In("tgi") && c.Root(onCard...) }

// TGITiny: so few tokens can't be what is too much, unless the sentence also
// says for how many a cache was wanted.
func TGITiny(c *ledger.Case) bool {
	n := ledger.IntSetting(c, "max_batch_prefill_tokens")
	return c.Root(fact.TGIWarmup) && n > 0 && n <= 512 && !when.Fact("tgi_total_tokens")(c)
}

// tgiFew: a small part of the default, without a cache that was wanted for more.
func tgiFew(c *ledger.Case) bool {
	n := ledger.IntSetting(c, "max_batch_prefill_tokens")
	return n > 0 && n <= 2048 && !when.Fact("tgi_total_tokens")(c)
}

// tgiBatch are the tokens of the trial batch.
func tgiBatch(c *ledger.Case) map[string]string {
	out := map[string]string{"tokens": "", "total_tokens": "", "slack_beside": "", "any_error": "", "beside": "", "at16": "Weights take 2 GB per billion parameters at 16 bit. If that nearly fills the GPU, quantise them first.", "ignored": "", "scores": ""}
	if each, ok := tgiEach(c); ok && ledger.AlreadyQuantised(c) == "" {
		out["at16"] = fmt.Sprintf("At 16 bit the weights are about %s on each GPU%s.", units.Amount(each), map[bool]string{false: ": if that nearly fills it, quantise them first"}[tgiLongTrial(c)])
	}
	if tgiScores(c) {
		n, words := int64(cmp.Or(ledger.IntSetting(c, "max_batch_prefill_tokens"), 4096)), int64(128_000)
		if m := ledger.Named(c).Model; m != nil && m.Vocab > 0 {
			words = int64(m.Vocab)
		}
		out["scores"] = fmt.Sprintf("Before 3.0 (December 2024) TGI also computes scores of the whole vocabulary for each of these tokens: %s for %d tokens and %s words.", units.Amount(n*words*4), n, ledger.Thousands(words))
	}
	if n := ledger.IntSetting(c, "max_batch_total_tokens"); n > 0 && !tgiTotal(c) {
		out["ignored"] = fmt.Sprintf("A lower `--max-batch-total-tokens` (%d here): with flash attention TGI computes its own value and ignores yours.", n)
	}
	if c.Others.Has() && c.Others.Bytes > 1<<30 {
		out["beside"] = c.Others.String()
	}
	switch {
	case c.Asked.Has(): // the refusal itself is in the log
		out["any_error"] = out["scores"]
	case !era.Told(c, "tgi") || era.Lacks(c, "tgi", era.WarmupSaysMemory):
		out["any_error"] = "TGI before 1.1.1 (November 2023) and its Gaudi build print this for any error: check that the traceback above ends in \"out of memory\"."
	}
	if n := ledger.IntSetting(c, "max_batch_prefill_tokens"); n > 0 {
		out["tokens"] = fmt.Sprint(n)
	}
	if x, ok := c.Fact("tgi_total_tokens"); ok && x.Count != nil {
		out["total_tokens"] = fmt.Sprintf("%.0f", x.Count.Value)
	}
	if c.Slack.Has() && c.Asked.Has() && c.Slack.Bytes > c.Asked.Bytes {
		out["slack_beside"] = c.Slack.String()
	}
	return out
}

var (
	tgiFewer = where(when.Not(tgiTotal), as("lower_max_batched_tokens", "Lower `--max-batch-prefill-tokens`", "", "longer prompts are refused"))
	tgiCache = where(tgiTotal, as("lower_max_batched_tokens", "Lower `--max-batch-total-tokens`", "It sets the size of the KV cache. `--max-total-tokens` of a request must not be above it.", "fewer tokens at a time"))
	tgiQuant = where(when.All(when.Not(tgiQuantised), when.Not(tgiLongTrial)), as("use_lower_quant", "Quantise the weights", "8 bit needs about half of 16 bit, 4 bit a quarter. A GPTQ or AWQ checkpoint (`--quantize gptq` or `awq`) is faster.", "slight loss of quality"))
	// tgiNewer is for releases whose trial batch scores all of its tokens.
	tgiNewer = where(tgiScores, as("upgrade_version", "Use a 3.x image", "It does not compute those scores, unless `--enable-prefill-logprobs` is set.", "a download"))
	tgiLater = where(func(c *ledger.Case) bool { return tgiScores(c) && c.Asked.Has() && !tgiLongTrial(c) }, tgiNewer)
	// tgiSmaller is for weights that are at 4 or 8 bit already.
	tgiSmaller = where(tgiQuantised, as("use_smaller_model", "Use a smaller model", "The weights are quantised already: use the next smaller model of the family.", "lower quality"))
	tgiSplit   = where(when.Not(tgiLongTrial), as("multi_gpu", "Split it over more GPUs", "Also give `docker run` the option `--shm-size 1g`. Use a number that divides the model's attention heads.", "needs more GPUs"))
)

// tgiScores: the release asks for log-probabilities of the whole trial batch
// (router/client/src/client.rs), or the log does not tell the release.
func tgiScores(c *ledger.Case) bool {
	return !c.In("lorax") && (!era.Told(c, "tgi") || era.Lacks(c, "tgi", era.ScoresPrompts))
}

// tgiEach is what the weights take on each card at 16 bit, by the model's name.
func tgiEach(c *ledger.Case) (int64, bool) {
	w, ok := ledger.WeightsIn(c, "bf16")
	return w / int64(max(1, ledger.IntSetting(c, "num_shard"))), ok && w > 0
}

// tgiLongTrial: the trial batch is four times the default and more, and weights
// spread over several cards are small beside it.
func tgiLongTrial(c *ledger.Case) bool {
	each, ok := tgiEach(c)
	return c.Root(fact.TGIWarmup) && ledger.IntSetting(c, "max_batch_prefill_tokens") >= 16384 && ok && each < 16*units.GiB
}

// tgiTotal: the message is about the tokens of the whole batch. Since 1.0 models
// with flash attention ignore that limit (backends/v3/src/lib.rs).
func tgiTotal(c *ledger.Case) bool {
	return when.Fact("tgi_total_tokens")(c) && ledger.IntSetting(c, "max_batch_total_tokens") > 0
}

// tgiQuantised: the log shows weights of 4 bit, by an argument or the name.
func tgiQuantised(c *ledger.Case) bool {
	set := strings.ToLower(setting(c, "quantize"))
	if strings.Contains(set, "eetq") || strings.Contains(set, "fp8") || strings.HasSuffix(strings.Trim(set, "()"), "bitsandbytes") {
		return false // 8 bit: 4 is half of it
	}
	return set != "" && set != "none" || ledger.AlreadyQuantised(c) != ""
}

// fullOfWeights: in the trial batch nine tenths of the card were in use, which few
// tokens do not need: the default at most, or a small piece where none is shown.
func fullOfWeights(c *ledger.Case) bool {
	n := ledger.IntSetting(c, "max_batch_prefill_tokens")
	few := n > 0 && n <= 4500 || n == 0 && c.Asked.Has() && c.Asked.Bytes < 256<<20
	return c.Mine.Has() && c.Total.Has() && c.Mine.Bytes*10 > c.Total.Bytes*9 && few && c.Total.Bytes < 26<<30
}

// driverGives: what is missing is less than driver and libraries hold, which a
// lower share leaves to PyTorch: it limits PyTorch's memory alone
// (set_per_process_memory_fraction), the cache is sized by the whole card's.
func driverGives(c *ledger.Case) bool {
	f := c.F()
	beside := ledger.SizeOf(f.Total) - ledger.SizeOf(f.Free) - ledger.SizeOf(f.Allocated) - ledger.SizeOf(f.ReservedUnallocated)
	return !c.Shortfall.Has() || f.Allocated == nil || c.Shortfall.Bytes < beside
}

// earlyTGI: LoRAX, or a TGI before 2.3, which has no TGI_WIGGLE_ROOM.
func earlyTGI(c *ledger.Case) bool { return inLoRAX(c) || era.Lacks(c, "tgi", "TGI_WIGGLE_ROOM") }

// tgiFraction is a share of the card, in TGI since 1.0.
var tgiFraction = cause.Cure{
	Fix: "lower_mem_fraction", Title: "Lower `--cuda-memory-fraction`", Told: "The default is 1.0 (0.9.4 and later, LoRAX). It frees at most what driver and libraries use. Add it after the image's name in `docker run`:",
	Kind: "config", Text: "--cuda-memory-fraction 0.9", Cost: "fewer tokens at a time",
}

// loraxCards are LoRAX's own.
var loraxCards = []cause.Card{loraxAdapter, {
	ID: "lorax/fraction", Kinds: []fact.Kind{fact.TorchAlloc}, If: func(c *ledger.Case) bool {
		limit, total := ledger.SizeOf(c.F().Limit), ledger.SizeOf(c.F().Total)
		return limit > 0 && limit*20 < total*19
	},
	Cause: cause.BudgetMisconfigured, Weight: cause.Decisive,
	Headline: "may use only {limit} of the GPU's {total}",
	Means:    "LoRAX limits itself to {limit} with `CUDA_MEMORY_FRACTION` (`--cuda-memory-fraction`, 1.0 by default). Weights, adapters and KV cache fill that part, so {asked} more did not fit.",
	Not:      "Closing other programs: the limit is reached, not the end of the GPU.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Raise `--cuda-memory-fraction`", Told: "As far as other programs on the GPU allow (`nvidia-smi`). Add it after the image's name in `docker run`, or set CUDA_MEMORY_FRACTION=0.9 in its environment:", Kind: "config", Text: "--cuda-memory-fraction 0.9", Cost: "less for other programs"},
		{Fix: "lower_max_batched_tokens", Title: "Or keep it, and lower `--max-batch-prefill-tokens`", Told: "Prompts then need less at once:", Kind: "config", Text: "--max-batch-prefill-tokens 2048 --max-input-length 1024 --max-total-tokens 2048", Cost: "longer prompts are refused"},
		{Fix: "use_lower_quant", Title: "Or quantise the base model", Told: "4 bit while loading is about a quarter of 16 bit; adapters still work.", Kind: "config", Text: "--quantize bitsandbytes-nf4", Cost: "slight loss of quality, slower"},
	},
	Sources: []string{loraxMain, "https://github.com/predibase/lorax/blob/main/server/lorax_server/utils/dist.py"},
}}

// tgiTrial is what a trial batch asked for in bytes.
func tgiTrial(id string, phases, said []string) cause.Card {
	return cause.Card{
		ID: id, Kinds: onCard, Phases: phases, Said: said, If: inTGI, Figures: tgiBatch,
		Headline: "did not start: its trial batch needed {asked} more GPU memory",
		Means:    "Before it serves, TGI tries the largest batch that its settings allow[[: {tokens} prompt tokens]]. That did not fit beside the {mine} in use.[[ {scores}]][[ {beside} of the GPU is used outside PyTorch, perhaps by another shard or program.]]",
		Not:      "[[{ignored}]]",
		Cures:    []cause.Cure{where(when.All(fullOfWeights, when.Not(tgiQuantised)), tgiQuant), tgiFewer, tgiNewer, tgiCache, tgiQuant, tgiSmaller, tgiSplit},
		Sources:  []string{tgiCausal, "https://github.com/huggingface/text-generation-inference/blob/v2.4.0/backends/client/src/v3/client.rs", tgiGlobals, tgiIssues + "563"},
	}
}

// TGICards are those of Text Generation Inference.
var TGICards = slices.Concat(tgiStartCards, tgiBareCards[:1], tgiCards, tgiBareCards[1:])

var tgiCards = []cause.Card{
	{
		ID: "tgi/tiny", Kinds: []fact.Kind{fact.TGIWarmup}, If: TGITiny, Figures: tgiBatch,
		Headline: "failed in its warm-up, but {tokens} prompt tokens are too few to fill a GPU",
		Means:    "Several versions print this sentence for any error in the warm-up. The real error is the last line of the traceback above it, often a missing kernel for a quantised model, or an unsupported model. Only if that line says \"CUDA out of memory\" is the GPU full, usually with weights.",
		Not:      "An even smaller `--max-batch-prefill-tokens`.",
		Cures: []cause.Cure{
			as("upgrade_version", "Read the traceback above, and use the newest image", "It supports more models:", "a download"),
			{Fix: "use_lower_quant", Title: "If the model is quantised, try another kernel", Told: "Use `--quantize marlin` for GPTQ, `awq` for AWQ, `eetq` or `bitsandbytes-nf4` for a 16-bit checkpoint.", Cost: "perhaps slower"},
			{Fix: "close_other_apps", Title: "If it says out of memory, check what fills the GPU", Kind: "shell", Text: look, Cost: "free"},
		},
		Sources: []string{tgiCausal, tgiIssues + "1164"},
	},
	{
		ID: "tgi/warmup-few", Kinds: []fact.Kind{fact.TGIWarmup}, If: tgiFew, Figures: tgiBatch,
		Among:    []string{cause.BatchTooLarge, cause.ModelTooLarge},
		Headline: "did not start: no GPU memory even for a trial batch of {tokens} prompt tokens",
		Means:    "{tokens} prompt tokens need only a few hundred MB (the default is 4096). More likely the weights, the workspace of a quantisation kernel, or another program fill the GPU.[[ {any_error}]]",
		Not:      "A larger `--shm-size`: that is system RAM, for several GPUs.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Start the newest image on an empty GPU", Told: "Before the start this should list nothing. Stop other containers, notebooks or an earlier TGI:", Kind: "shell", Text: look, Cost: "a download"},
			where(tgiQuantised, tgiSmaller),
			{Fix: "use_lower_quant", If: when.Not(tgiQuantised), Title: "If the weights nearly fill the GPU, quantise them", Told: "16 bit takes 2 GB per billion parameters, `--quantize bitsandbytes-nf4` about a quarter. If the model is GPTQ already, put `-e DISABLE_EXLLAMA=True` before the image's name: the ExLlama kernels need extra buffers.", Cost: "slight loss of quality"},
			{Fix: "lower_context", Title: "Or lower all limits together", Told: "Instead of your values:", Kind: "config", Text: "--max-input-length 512 --max-total-tokens 1024 --max-batch-prefill-tokens 512", Cost: "longer prompts are refused"},
			tgiSplit,
		},
		Sources: []string{tgiCausal, tgiLauncher, tgiIssues + "755"},
	},
	{
		ID: "tgi/warmup", Kinds: []fact.Kind{fact.TGIWarmup}, Figures: tgiBatch,
		Cause: cause.BatchTooLarge, Weight: cause.Good,
		Headline: "did not start: its trial batch of {tokens} prompt tokens did not fit in GPU memory",
		Means:    "Before it serves, TGI tries the largest batch that its settings allow, {tokens} tokens[[ with a KV cache for {total_tokens}]]. The message does not say how much is missing. {at16}[[ {any_error}]]",
		Not:      "[[{ignored}]]",
		Cures:    []cause.Cure{tgiFewer, tgiLater, tgiCache, where(tgiLongTrial, as("upgrade_version", "Or use the newest image", "For recent models it often has attention that needs less memory.", "a download")), tgiQuant, tgiSplit, tgiSmaller},
		Sources:  []string{tgiCausal, tgiLauncher, tgiIssues + "1067"},
	},
	{
		ID: "tgi/load", Kinds: onCard, Phases: []string{"load"}, If: inTGI,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "did not start: the weights do not fit in GPU memory",
		Means:    "It failed while loading the weights. TGI already holds {mine} of {total}, and the KV cache still has to come.",
		Not:      "`--max-batch-prefill-tokens` or `--max-total-tokens`: they have no effect while weights load.",
		Cures:    []cause.Cure{tgiQuant, tgiSplit, as("use_smaller_model", "Or use a smaller model", "", "lower quality")},
		Sources:  []string{"https://github.com/huggingface/text-generation-inference/blob/main/server/text_generation_server/models/__init__.py"},
	},
	tgiTrial("tgi/trial", []string{"warmup"}, nil),
	tgiTrial("tgi/trial-failed", nil, []string{"Unable to warmup model", "Error: Warmup("}),
	{
		ID: "tgi/step-open", Kinds: onCard, If: when.All(inTGI, ledger.FillsAlone), Phases: []string{"unknown"}, Figures: tgiBatch,
		Headline: "ran out of GPU memory; the log does not show in which step",
		Means:    "TGI itself holds {mine} of {total}. Other lines show the step: `Shard 0 failed to start` or `ShardCannotStart` below the error means the weights; `Warming up model` above it the trial batch; `Connected` above it a request.",
		Cures: []cause.Cure{
			{Fix: "use_lower_quant", Title: "Choose by these lines", Ways: []cause.Way{
				{For: "Shard failed to start", Text: "Smaller weights: `--quantize bitsandbytes-nf4` or a GPTQ or AWQ checkpoint"},
				{For: "Warming up model", Text: "A smaller trial batch: `--max-batch-prefill-tokens 1024`, and lower limits per request"},
				{For: "Connected", Text: "Shorter requests, or fewer at a time"},
				{For: "Connected, still", Text: "More room beside the KV cache: `-e TGI_WIGGLE_ROOM=0.8` before the image's name (2.3 and later)"},
			}, Cost: "quality, length or tokens at a time"},
			tgiSplit,
		},
		Sources: []string{tgiLauncher, tgiGlobals},
	},
	{
		ID: "tgi/request", Kinds: onCard, If: inTGI, Figures: tgiBatch,
		Headline: "ran out of GPU memory on a request",
		Means:    "After its warm-up TGI gives nearly all free GPU memory to the KV cache; requests have a tenth of the GPU or less. This one needed {asked}, and {room} was free.[[ {slack_beside} of PyTorch's reserve is unused, which suggests fragmentation.]] Long prompts, `best_of` and log-probabilities need more.",
		Not:      "[[{ignored}]]",
		Cures: []cause.Cure{
			{Fix: "expandable_segments", Title: "Set `expandable_segments:True`", If: func(c *ledger.Case) bool { return tgiBatch(c)["slack_beside"] != "" }, Told: "Against fragmentation; add it before the image's name (PyTorch 2.1 and later):", Kind: "config", Text: "-e PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", Cost: "free"},
			where(when.All(earlyTGI, driverGives), tgiFraction),
			{Fix: "lower_mem_fraction", Title: "Lower `TGI_WIGGLE_ROOM`", If: when.Not(earlyTGI), Told: "The KV cache then leaves more free; the default is 0.90 to 0.95 (TGI 2.3, September 2024, and later). In `docker run` add it before the image's name:", Kind: "config", Text: "-e TGI_WIGGLE_ROOM=0.8", Cost: "a smaller KV cache"},
			tgiFewer, tgiCache,
			tgiQuant,
		},
		Sources: []string{tgiGlobals, tgiLauncher, tgiIssues + "2744", tgiIssues + "2083"},
	},
}
