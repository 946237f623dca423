package server

import (
	"fmt"
	"math"
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// SGLang is what is peculiar to SGLang. Its static share has a direction
// too: raise it when the start finds no room for the pool, lower it when graphs
// or requests fail.
var SGLang = program.Program{
	Name: "sglang", Shown: "SGLang", Rank: 80,
	Clues: map[string][]cause.Clue{
		cause.BudgetMisconfigured: {sglangShareTooSmall, sglangOutsideShare,
			cause.Said(0.5, "The states of a hybrid model found no room beside weights and cache.", fact.SGLangState),
			cause.Said(0.3, "A paused pool could not be taken back: something took its place on the card in between.", fact.MemorySaver)},
		cause.ModelTooLarge: {sglangWeights},
		cause.BatchTooLarge: {sglangPoolFull, sglangReserves,
			cause.Said(0.4, "More requests run at once than there are slots.", fact.SGLangSlots),
			cause.Said(0.3, "The batch was larger than the workspace allows.", fact.FlashInferWorkspace),
			cause.Said(0.4, "Each running request keeps a state.", fact.SGLangState)},
		cause.SoftwareBug: {sglangBooksDisagree,
			cause.Said(0.52, "Request slots are a number of the scheduler, no memory of the card; they leak in some versions.", fact.SGLangSlots),
			cause.Said(0.55, "FlashInfer's workspace has a fixed size, which this batch exceeds; the card is not full.", fact.FlashInferWorkspace),
			cause.Said(0.88, "SGLang's own books of the pool do not add up.", fact.SGLangLeak)},
		cause.LeakedProcess:   {cause.Said(0.62, "One card has much less free memory than the others before anything is loaded.", fact.SGLangUnbalanced), cause.Said(0.2, "Another process may have taken the place of the paused pool.", fact.MemorySaver)},
		cause.DeviceImbalance: {cause.Said(0.35, "The cards differ in free memory, or in size.", fact.SGLangUnbalanced)},
		cause.RetainedMemory:  {cause.Said(0.22, "The trainer in the same process may not have given its memory back.", fact.MemorySaver)},
		cause.Unknown:         {cause.Said(0.4, "The log does not say what took the place of the paused pool.", fact.MemorySaver)},
	},
	Remedies: map[string][]cause.Remedy{
		cause.BudgetMisconfigured: {
			{Fix: "raise_mem_fraction", Fit: 1, If: when.Root(fact.SGLangStatic)},
			{Fix: "lower_max_num_seqs", Fit: 1, If: when.Root(fact.SGLangState)},
			{Fix: "raise_mem_fraction", Fit: 0.8, If: when.Root(fact.SGLangState)},
			{Fix: "use_lower_quant", Fit: 0.75, If: when.Root(fact.SGLangStatic)},
			{Fix: "multi_gpu", Fit: 0.7, If: when.Root(fact.SGLangStatic)},
			{Fix: "lower_mem_fraction", Fit: 1, If: sglangOnCard},
			{Fix: "lower_mem_fraction", Fit: 1, If: when.Root(fact.MemorySaver)},
			{Fix: "enforce_eager", Fit: 0.7, If: func(c *ledger.Case) bool { return sglangOnCard(c) && c.Phase == "graph_capture" }},
			{Fix: "lower_max_batched_tokens", Fit: 0.8, If: func(c *ledger.Case) bool { return sglangOnCard(c) && c.Phase == "inference" }},
			{Fix: "use_lower_quant", Fit: 0.7, If: func(c *ledger.Case) bool { return sglangOnCard(c) && c.Phase == "kv_cache" }},
			{Fix: "lower_context", Fit: 0.6, If: sglangOnCard},
			{Fix: "cpu_offload", Fit: 0.6, If: func(c *ledger.Case) bool { return sglangOnCard(c) && c.Phase == "load" }},
			{Fix: "lower_max_num_seqs", Fit: 0.6, If: sglangOnCard},
		},
		cause.ModelTooLarge: {
			{Fix: "use_lower_quant", Fit: 1},
			{Fix: "raise_mem_fraction", Fit: 0.95, If: when.Root(fact.SGLangStatic)},
			{Fix: "multi_gpu", Fit: 0.9},
			{Fix: "use_smaller_model", Fit: 0.75},
			{Fix: "cpu_offload", Fit: 0.7},
		},
		cause.BatchTooLarge: {
			{Fix: "lower_max_num_seqs", Fit: 1},
			{Fix: "raise_mem_fraction", Fit: 0.7, If: when.Root(fact.SGLangTokens)},
			{Fix: "upgrade_version", Fit: 0.6, If: when.Not(sglangOnCard)},
			{Fix: "lower_max_batched_tokens", Fit: 0.75},
			{Fix: "lower_mem_fraction", Fit: 0.7, If: sglangOnCard},
		},
		cause.SoftwareBug: {
			{Fix: "upgrade_version", Fit: 1},
			{Fix: "lower_max_num_seqs", Fit: 0.8},
			{Fix: "lower_max_batched_tokens", Fit: 0.5, If: when.Root(fact.FlashInferWorkspace)},
		},
		cause.RetainedMemory: {{Fix: "empty_cache", Fit: 1}, {Fix: "lower_mem_fraction", Fit: 0.8}},
		cause.Unknown: {
			{Fix: "lower_mem_fraction", Fit: 1},
			{Fix: "empty_cache", Fit: 0.8},
			{Fix: "lower_gpu_memory_utilization", Fit: 0.7},
		},
		cause.Fragmentation: {
			{Fix: "lower_mem_fraction", Fit: 1, If: sglangOnCard},
			{Fix: "expandable_segments", Fit: 0.9},
			{Fix: "lower_max_batched_tokens", Fit: 0.5},
		},
	},
	Steps: map[string]func(c *ledger.Case) []step.Step{
		"raise_mem_fraction": func(c *ledger.Case) []step.Step {
			return sglangWith(c, option{"mem_fraction_static", percent(raisedFraction(c))})
		},
		"lower_mem_fraction": func(c *ledger.Case) []step.Step {
			steps := sglangWith(c, option{"mem_fraction_static", percent(loweredFraction(c))})
			if now, stated := staticFraction(c); !stated {
				steps[0].Text += fmt.Sprintf("   # %.2f less than %g, a usual default: take as much off what the start prints", now-loweredFraction(c), now)
			}
			return steps
		},
		"lower_max_num_seqs": func(c *ledger.Case) []step.Step {
			n := 32
			if running := ledger.IntSetting(c, "max_running_requests"); running > 1 {
				n = max(1, running/2)
			}
			return sglangWith(c, option{"max_running_requests", strconv.Itoa(n)})
		},
		"lower_max_batched_tokens": func(c *ledger.Case) []step.Step {
			n := 2048
			if chunk := ledger.IntSetting(c, "chunked_prefill_size"); chunk > 512 {
				n = chunk / effect.TokensDivisor(c)
			}
			return sglangWith(c, option{"chunked_prefill_size", strconv.Itoa(n)})
		},
		"lower_context": func(c *ledger.Case) []step.Step {
			n := 8192
			if length := ledger.IntSetting(c, "context_length"); length > 1024 {
				n = length / 2
			}
			return sglangWith(c, option{"context_length", strconv.Itoa(n)})
		},
		"enforce_eager": func(c *ledger.Case) []step.Step {
			return []step.Step{
				{Kind: "shell", Text: sglangServer.with(c, option{"cuda_graph_max_bs", "16"}) + "   # graphs for small batches only"},
				{Kind: "shell", Text: sglangServer.with(c, option{"disable_cuda_graph", "True"}) + "   # or none"},
			}
		},
		"quantize_kv_cache": func(c *ledger.Case) []step.Step { return sglangWith(c, option{"kv_cache_dtype", "fp8_e5m2"}) },
		"cpu_offload":       func(c *ledger.Case) []step.Step { return sglangWith(c, option{"cpu_offload_gb", "8"}) },
		"multi_gpu": func(c *ledger.Case) []step.Step {
			return sglangWith(c, option{"tp_size", strconv.Itoa(2 * max(1, ledger.IntSetting(c, "tp_size")))})
		},
		"use_lower_quant": func(c *ledger.Case) []step.Step {
			return append([]step.Step{{Kind: "text", Text: "Take an FP8, AWQ or GPTQ checkpoint of the same model: search its name with -FP8, -AWQ or -GPTQ-Int4 on huggingface.co. Or let SGLang make FP8 out of a 16-bit one while it loads:"}},
				sglangWith(c, option{"quantization", "fp8"})...)
		},
		"upgrade_version": step.Paste("shell", "pip install -U sglang"),
	},
	Effects: map[string]func(c *ledger.Case) *effect.Effect{
		"raise_mem_fraction":       effectFraction,
		"lower_mem_fraction":       effectLowerFraction,
		"lower_max_batched_tokens": effectPrefill,
		"lower_context":            func(*ledger.Case) *effect.Effect { return nil }, // a step's pieces are of one chunk, however long the prompt
	},
	Useless: map[string]func(c *ledger.Case) string{"raise_mem_fraction": uselessFraction, "lower_context": uselessForPool},
}

var sglangServer = launch{
	command: "sglang_command",
	aliases: map[string]string{"--tp": "tp_size", "--tensor-parallel-size": "tp_size", "--dp": "dp_size"},
	start: func(c *ledger.Case) []string {
		words := []string{"python", "-m", "sglang.launch_server", "--model-path", c.ModelName()}
		if n := ledger.IntSetting(c, "tp_size"); n > 1 {
			words = append(words, "--tp-size", strconv.Itoa(n))
		}
		return words
	},
}

func sglangWith(c *ledger.Case, set ...option) []step.Step {
	return []step.Step{{Kind: "shell", Text: sglangServer.with(c, set...)}}
}

// sglangOnCard: an allocation on the card under SGLang, after its start check.
func sglangOnCard(c *ledger.Case) bool {
	return c.Framework == "sglang" && c.Root(fact.TorchAlloc, fact.TorchAsync, fact.CUDAError, fact.CUDAHandle)
}

// staticFraction is the static share as stated, else, with false, a usual
// default.
func staticFraction(c *ledger.Case) (fraction float64, stated bool) {
	if u := c.F().Utilization; u != nil && u.Value > 0 && u.Value <= 1 {
		return u.Value, true
	}
	if s, ok := c.Setting("mem_fraction_static"); ok {
		if v, err := strconv.ParseFloat(s.Value, 64); err == nil && v > 0 && v <= 1 {
			return v, true
		}
	}
	return 0.88, false
}

// loweredFraction leaves what was lacking and half a GiB, and 0.08 at least:
// the graphs of other sizes and the next requests need room too.
func loweredFraction(c *ledger.Case) float64 {
	now, _ := staticFraction(c)
	less := 0.08
	if f := c.F(); f.Requested != nil && f.Free != nil && staticPool(c) > 0 {
		less = max(less, float64(f.Requested.Bytes-f.Free.Bytes+units.GiB/2)/float64(staticPool(c)))
	}
	return max(0.3, math.Floor((now-less)*100+1e-9)/100)
}

// staticPool is what the static share counts from: what was free before the
// weights (model_runner.py), at least the card less the driver's context.
func staticPool(c *ledger.Case) int64 { return cardTotal(c) - ledger.DriverContext }

// effectLowerFraction: weights and pool give back the share that is taken off,
// whatever it was.
func effectLowerFraction(c *ledger.Case) *effect.Effect {
	f := c.F()
	if !sglangOnCard(c) || f.Requested == nil || f.Free == nil || staticPool(c) <= 0 || ledger.Roomy(c) {
		return nil
	}
	now, stated := staticFraction(c)
	less := now - loweredFraction(c)
	given := int64(less * float64(staticPool(c)))
	note := fmt.Sprintf("%.2f less gives back %s at least, out of the KV pool, beside the %s that was free. Exact for this request; what comes after it needs room too.", less, units.Format(given), f.Free.Text)
	if !stated {
		note += fmt.Sprintf(" Take %.2f off what is set now: %.2f if that is %g.", less, loweredFraction(c), now)
	}
	have := f.Free.Bytes + given
	return &effect.Effect{NeedBytes: f.Requested.Bytes, HaveBytes: have, Fits: have >= f.Requested.Bytes, Basis: "log", Certainty: effect.Bound, Note: note}
}

// effectPrefill: the pieces of a prompt are linear in their tokens.
func effectPrefill(c *ledger.Case) *effect.Effect {
	if c.Phase == "load" || c.Phase == "graph_capture" {
		return nil
	}
	return effect.EffectTokens(c)
}

// fractionFloor is the share that the weights alone take: what SGLang prints,
// or 1 - free after / free before loading (model_runner.py).
func fractionFloor(c *ledger.Case) (float64, bool) {
	if x, ok := c.Fact("fraction_floor"); ok && x.Count != nil {
		return x.Count.Value, true
	}
	f := c.F()
	if f.Weights == nil || f.Free == nil || f.Weights.Bytes+f.Free.Bytes <= 0 {
		return 0, false
	}
	return float64(f.Weights.Bytes) / float64(f.Weights.Bytes+f.Free.Bytes), true
}

// raisedFraction leaves 4 % of the card for the pool above the floor.
func raisedFraction(c *ledger.Case) float64 {
	if floor, ok := fractionFloor(c); ok {
		return min(0.97, math.Ceil((floor+0.04)*100)/100)
	}
	now, _ := staticFraction(c)
	return min(0.95, now+0.05)
}

func sglangShareTooSmall(c *ledger.Case) cause.Finding {
	if !c.Root(fact.SGLangStatic) {
		return cause.Nothing()
	}
	floor, ok := fractionFloor(c)
	if !ok {
		return cause.Seen(0.6, "At start the static share (mem_fraction_static) left nothing for the KV pool after the weights.", c.Failure.Line)
	}
	why := fmt.Sprintf("The weights alone take %.3f of what was free; the static share has to be above that.", floor)
	if floor > 0.87 {
		return cause.Seen(0.42, why, c.Failure.Line)
	}
	return cause.Seen(0.75, why, c.Failure.Line)
}

func sglangWeights(c *ledger.Case) cause.Finding {
	floor, ok := fractionFloor(c)
	switch {
	case c.Root(fact.SGLangStatic) && uselessFraction(c) != "":
		return cause.Seen(0.25, "The weights leave little beside them.", c.Failure.Line)
	case c.Root(fact.SGLangStatic) && ok && floor > 0.87:
		return cause.Seen(0.55, fmt.Sprintf("The weights take %.0f %% of what was free on the card.", floor*100), c.Failure.Line)
	case c.Root(fact.SGLangStatic):
		return cause.Seen(0.3, "The weights may be most of the card.", c.Failure.Line)
	}
	return cause.Nothing()
}

func sglangOutsideShare(c *ledger.Case) cause.Finding {
	if !sglangOnCard(c) || ledger.Roomy(c) {
		return cause.Nothing()
	}
	switch {
	case c.Phase == "graph_capture":
		return cause.Seen(0.88, "Weights and KV pool took the static share, and the CUDA graphs found no room beside it.", c.Failure.Line)
	case c.Contains("private pools"):
		return cause.Seen(0.88, "The static share was taken and graphs exist: what came after found no room beside them.", c.Failure.Line)
	case c.Phase == "kv_cache":
		return cause.Seen(0.8, "The KV pool itself, of the size that the static share allows, did not fit beside what is on the card.", c.Failure.Line)
	case c.Phase == "inference":
		return cause.Seen(0.75, "Weights and KV pool took the static share, and a request found no room beside it.", c.Failure.Line)
	}
	return cause.Nothing()
}

// tokensLacking returns what a step wanted and what the pool had.
func tokensLacking(c *ledger.Case) (wanted, available float64, ok bool) {
	x, found := c.Fact("tokens_wanted")
	if !c.Root(fact.SGLangTokens) || !found || c.F().KVTokens == nil {
		return 0, 0, false
	}
	return x.Count.Value, c.F().KVTokens.Value, true
}

func sglangPoolFull(c *ledger.Case) cause.Finding {
	if !c.Root(fact.SGLangTokens) {
		return cause.Nothing()
	}
	if wanted, available, ok := tokensLacking(c); ok && wanted <= available {
		return cause.Seen(0.4, "With pages each running request needs a page of its own, so that many requests find no room though tokens are free.", c.Failure.Line)
	}
	return cause.Seen(0.72, "The token pool has no room for the next step of all running requests.", c.Failure.Line)
}

// sglangReserves: the floor that SGLang names lies below the refused share.
func sglangReserves(c *ledger.Case) cause.Finding {
	if !c.Root(fact.SGLangStatic) || uselessFraction(c) == "" {
		return cause.Nothing()
	}
	return cause.Seen(0.55, uselessFraction(c), c.Failure.Line)
}

func sglangBooksDisagree(c *ledger.Case) cause.Finding {
	wanted, available, ok := tokensLacking(c)
	if !ok || wanted > available {
		return cause.Nothing()
	}
	return cause.Seen(0.55, fmt.Sprintf("%.0f tokens were refused while %.0f are free: tokens and pages are counted differently, which some versions get wrong.", wanted, available), c.Failure.Line)
}

func effectFraction(c *ledger.Case) *effect.Effect {
	f := c.F()
	floor, ok := fractionFloor(c)
	if !ok || !c.Root(fact.SGLangStatic) || f.Weights == nil || f.Free == nil {
		return nil
	}
	before := f.Weights.Bytes + f.Free.Bytes
	return &effect.Effect{NeedBytes: f.Weights.Bytes, HaveBytes: int64(raisedFraction(c) * float64(before)), Fits: raisedFraction(c) > floor, Basis: "log",
		Note: fmt.Sprintf("weights %s of the %s that was free: above %.4f something is left for the pool", f.Weights.Text, units.Format(before), floor)}
}

// uselessForPool: the pool takes what the static share leaves, whatever a
// request may be long.
func uselessForPool(c *ledger.Case) string {
	if !sglangOnCard(c) || c.Phase != "kv_cache" {
		return ""
	}
	return "SGLang sizes its KV pool by the static share of the card, not by the longest context."
}

// uselessFraction: on hybrid models the printed floor can lie below the value
// that was refused: then other reserves took the rest.
func uselessFraction(c *ledger.Case) string {
	x, ok := c.Fact("fraction_floor")
	if !ok || x.Count == nil || c.F().Utilization == nil || x.Count.Value >= c.F().Utilization.Value {
		return ""
	}
	return fmt.Sprintf("SGLang names %s as the floor and refused %s, which is above it: states of the hybrid model or graphs took the rest. Lower --max-running-requests.", x.Count.Text, c.F().Utilization.Text)
}

// TorchMemorySaver is SGLang's allocator of what can be released while it runs.
var TorchMemorySaver = program.Program{
	Name: "torch_memory_saver",
	Like: []*program.Program{&SGLang},
}
