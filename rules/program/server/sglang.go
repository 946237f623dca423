package server

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/engine"
	"github.com/oomdoc/oomdoc/rules/program/engine/cards"
	"github.com/oomdoc/oomdoc/rules/program/server/launch"
	"github.com/oomdoc/oomdoc/rules/program/server/parts"
	"github.com/oomdoc/oomdoc/rules/program/server/stage"
	"github.com/oomdoc/oomdoc/rules/program/torch/code"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// SGLang is what is peculiar to SGLang. Its static share has a direction
// too: raise it when the start finds no room for the pool, lower it when graphs
// or requests fail.
var SGLang = program.Program{
	Name: "sglang", Shown: "SGLang", Rank: 80,
	Commands: []string{"sglang.launch_server"},
	Units:    []string{"sglang"},
	Work:     "text-inference", Edits: "flags", Language: "python", Systems: []string{"linux", "wsl"},
	Cards: append(slices.Concat([]cause.Card{parts.PrefillGraphs}, engine.SGLangCards), parts.CompilerKilled("sglang")),
	Sources: program.Sources{
		"sglang/python/sglang/srt/server_args.py": "--chunked-prefill-size --context-length --cpu-offload-gb --cuda-graph-max-bs --cuda-graph-max-bs-decode --disable-cuda-graph --kv-cache-dtype" +
			" --max-running-requests --mem-fraction-static --model-path --quantization --tp-size --attention-backend --torchao-config --load-format --disable-radix-cache --enable-hierarchical-cache --disable-piecewise-cuda-graph --enable-piecewise-cuda-graph --enable-symm-mem" +
			" --hicache-ratio --mamba-full-memory-ratio --max-lora-rank --max-loras-per-batch --max-mamba-cache-size --moe-a2a-backend --page-size --piecewise-cuda-graph-max-tokens --schedule-conservativeness",
	},
	Clues: map[string][]cause.Clue{
		cause.BudgetMisconfigured: {sglangShareTooSmall, sglangOutsideShare,
			cause.Said(cause.Fair, "The states of a hybrid model did not fit beside weights and cache.", fact.SGLangState),
			cause.Said(cause.Weak, "A paused pool could not be taken back: something took its place on the card in between.", fact.MemorySaver)},
		cause.ModelTooLarge: {figures.First(
			cause.If(mostlyWeights, cause.Good, "The weights take {floor} of what was free on the card."),
			cause.If(nil, cause.Weak, "The weights may be most of the card."),
		).Of(fact.SGLangStatic)},
		cause.BatchTooLarge: {
			figures.First(
				cause.If(pagesDiffer, cause.Weak, "With pages each running request needs a page of its own, so that many requests find no room though tokens are free."),
				cause.If(nil, cause.Likely, "The token pool has no room for the next step of all running requests.")).Of(fact.SGLangTokens),
			cause.Said(cause.Weak, "More requests run at once than there are slots.", fact.SGLangSlots),
			cause.Said(cause.Weak, "The batch was larger than the workspace allows.", fact.FlashInferWorkspace),
			cause.Said(cause.Weak, "Each running request keeps a state.", fact.SGLangState)},
		cause.SoftwareBug: {
			figures.First(cause.If(pagesDiffer, cause.Good, "{tokens_wanted} tokens were refused while {kv_tokens} are free: tokens and pages are counted differently, which some versions get wrong.")),
			cause.Said(cause.Fair, "Request slots are a number of the scheduler, no memory of the card; they leak in some versions.", fact.SGLangSlots),
			cause.Said(cause.Good, "FlashInfer's workspace has a fixed size, which this batch exceeds; the card is not full.", fact.FlashInferWorkspace),
			cause.Said(cause.Decisive, "SGLang's own books of the pool do not add up.", fact.SGLangLeak)},
		cause.LeakedProcess:   {cause.Said(cause.Good, "One card has much less free memory than the others before anything is loaded.", fact.SGLangUnbalanced), cause.Said(cause.Hint, "Another process may have taken the place of the paused pool.", fact.MemorySaver)},
		cause.DeviceImbalance: {cause.Said(cause.Weak, "The cards differ in free memory, or in size.", fact.SGLangUnbalanced)},
		cause.RetainedMemory:  {cause.Said(cause.Hint, "The trainer in the same process may not have given its memory back.", fact.MemorySaver)},
		cause.Unknown:         {cause.Said(cause.Weak, "The log does not say what took the place of the paused pool.", fact.MemorySaver)},
	},
	Remedies: map[string][]cause.Remedy{
		cause.BudgetMisconfigured: {
			{Fix: "lower_max_num_seqs", Fit: cause.Cures, If: when.Root(fact.SGLangState)},
			{Fix: "lower_mem_fraction", Fit: cause.Cures, If: when.Any(sglangOnCard, when.Root(fact.MemorySaver))},
			{Fix: "raise_mem_fraction", Fit: cause.Cures, If: when.Root(fact.SGLangStatic, fact.SGLangState)},
			{Fix: "lower_max_batched_tokens", Fit: cause.Helps, If: when.All(when.In("inference"), sglangOnCard)},
			{Fix: "use_lower_quant", Fit: cause.MayHelp, If: when.Any(staticRefused, when.All(when.In("kv_cache"), sglangOnCard))},
			{Fix: "multi_gpu", Fit: cause.MayHelp, If: staticRefused},
			{Fix: "enforce_eager", Fit: cause.MayHelp, If: when.All(when.In("graph_capture"), sglangOnCard)},
			{Fix: "lower_context", Fit: cause.MayHelp, If: sglangOnCard},
			{Fix: "lower_max_num_seqs", Fit: cause.MayHelp, If: sglangOnCard},
		},
		cause.ModelTooLarge: smallerWeights,
		cause.BatchTooLarge: {
			{Fix: "lower_max_num_seqs", Fit: cause.Cures},
			{Fix: "lower_max_batched_tokens", Fit: cause.MayHelp},
			{Fix: "raise_mem_fraction", Fit: cause.MayHelp, If: when.Root(fact.SGLangTokens)},
			{Fix: "lower_mem_fraction", Fit: cause.MayHelp, If: sglangOnCard},
			{Fix: "upgrade_version", Fit: cause.MayHelp, If: when.Not(sglangOnCard)},
		},
		cause.SoftwareBug:    serverBug,
		cause.Fragmentation:  inPieces,
		cause.RetainedMemory: {{Fix: "empty_cache", Fit: cause.Cures}, {Fix: "lower_mem_fraction", Fit: cause.Helps}},
		cause.Unknown:        {{Fix: "lower_mem_fraction", Fit: cause.Cures}, {Fix: "empty_cache", Fit: cause.Helps}, {Fix: "lower_gpu_memory_utilization", Fit: cause.MayHelp}},
	},
	Steps: map[string]func(c *ledger.Case) []step.Step{
		"raise_mem_fraction":       sglangServer.Adds(launch.Hundredths("mem_fraction_static", raisedFraction)),
		"lower_mem_fraction":       sglangShare.relative(sglangServer.Adds(launch.Hundredths("mem_fraction_static", sglangShare.lowered))),
		"lower_max_num_seqs":       sglangServer.Adds(launch.Divided("max_running_requests", 64, launch.Half)),
		"lower_max_batched_tokens": sglangServer.Adds(launch.Divided("chunked_prefill_size", 4096, cards.TokensDivisor)),
		"lower_context":            sglangServer.Adds(launch.Divided("context_length", 16384, launch.Half)),
		"enforce_eager":            launch.After("text", "Since June 2026 the option is --cuda-graph-max-bs-decode. Capture graphs for small batches only; --disable-cuda-graph turns them off:", sglangServer.Adds(launch.To("cuda_graph_max_bs", "16"))),
		"quantize_kv_cache":        sglangServer.Adds(launch.To("kv_cache_dtype", "fp8_e5m2")),
		"cpu_offload":              sglangServer.Adds(launch.Whole("cpu_offload_gb", cards.Offloaded)),
		"multi_gpu":                sglangServer.Adds(launch.Whole("tp_size", cards.For("tp_size"))),
		"use_lower_quant":          sglangWeights,
		"upgrade_version":          step.Paste("shell", "pip install -U sglang"),
	},
	Effects: map[string]func(c *ledger.Case) *effect.Effect{
		"raise_mem_fraction":       effectFraction,
		"multi_gpu":                cards.Effect("tp_size"),
		"lower_mem_fraction":       sglangShare.smaller,
		"lower_max_batched_tokens": cards.TokensUnless(func(c *ledger.Case) bool { return c.Phase == "load" || c.Phase == "graph_capture" }),
		"lower_context":            func(*ledger.Case) *effect.Effect { return nil }, // a step's pieces are of one chunk, however long the prompt
	},
	Useless: map[string]func(c *ledger.Case) string{
		"lower_context": figures.Why(cause.If(when.All(when.In("kv_cache"), sglangOnCard), cause.None, "SGLang sizes its KV pool by the static share of the card, not by the longest context.")),
	},
}

var sglangServer = launch.Server{
	Command: "sglang_command",
	Aliases: map[string]string{"--tp": "tp_size", "--tensor-parallel-size": "tp_size", "--dp": "dp_size"},
	Repeats: []string{"tp_size"},
	Dumps:   true,
	Start:   "python -m sglang.launch_server --model-path",
}

// sglangShare is mem_fraction_static. It counts from what was free before the
// weights (model_runner.py): at least the card less the driver's context.
var sglangShare = share{usual: 0.88, later: stage.SGLangShare, least: 0.3, off: 0.08, of: staticPool, tooLarge: sglangOnCard}

func staticPool(c *ledger.Case) int64 { return cardTotal(c) - ledger.DriverContext }

// sglangOnCard: an allocation on the card under SGLang, after its start check.
func sglangOnCard(c *ledger.Case) bool {
	return c.Framework == "sglang" && !ledger.Roomy(c) && c.Root(fact.TorchAlloc, fact.TorchAsync, fact.CUDAError, fact.CUDAHandle)
}

var staticRefused = when.Root(fact.SGLangStatic)

// fractionFloor is the share that the weights alone take: what SGLang prints,
// or 1 - free after / free before loading (model_runner.py).
func fractionFloor(c *ledger.Case) (float64, bool) {
	return engine.StaticFloor(c)
}

func mostlyWeights(c *ledger.Case) bool { floor, ok := fractionFloor(c); return ok && floor > 0.87 }

// raisedFraction leaves 4 % of the card for the pool above the floor.
func raisedFraction(c *ledger.Case) float64 {
	if floor, ok := fractionFloor(c); ok {
		return min(0.97, max(0.85, math.Ceil((floor+0.04)*100)/100)) // a share below the usual is raised to that
	}
	now, _ := sglangShare.now(c)
	if now < 0.5 {
		return 0.85 // far below what anybody needs: the usual share, not a step
	}
	return min(0.95, now+0.05)
}

func effectFraction(c *ledger.Case) *effect.Effect {
	f := c.F()
	floor, ok := fractionFloor(c)
	if !ok || !c.Root(fact.SGLangStatic) || f.Weights == nil || f.Free == nil {
		return nil
	}
	before := f.Weights.Bytes + f.Free.Bytes
	return fits(f.Weights.Bytes, int64(raisedFraction(c)*float64(before)),
		fmt.Sprintf("weights %s of the %s that was free: above %.4f something is left for the pool", f.Weights, units.Amount(before), floor))
}

var sglangShareTooSmall = figures.First(
	cause.If(mostlyWeights, cause.Weak, "The weights alone take {floor} of what was free; the static share has to be above that."),
	cause.If(nil, cause.Strong, "The weights alone take {floor} of what was free; the static share has to be above that."),
	cause.If(nil, cause.Good, "At start the static share (mem_fraction_static) left nothing for the KV pool after the weights."),
).Of(fact.SGLangStatic)

var sglangOutsideShare = figures.First(append(outsideShare(sglangOnCard),
	cause.If(func(c *ledger.Case) bool { return sglangOnCard(c) && c.Contains("private pools") }, cause.Decisive, "The static share was taken and graphs exist: what came after did not fit beside them."))...)

// pagesDiffer: a step was refused although the pool has tokens enough.
func pagesDiffer(c *ledger.Case) bool {
	x, ok := c.Fact("tokens_wanted")
	n := c.F().KVTokens
	return c.Root(fact.SGLangTokens) && ok && n != nil && x.Count.Value <= n.Value
}

// TorchMemorySaver is SGLang's allocator of what can be released while it runs.
var TorchMemorySaver = program.Program{Name: "torch_memory_saver", Code: code.Steps, Like: []*program.Program{&SGLang}}

// sglangWeights are smaller weights: another checkpoint, or FP8 made of this
// one. That halves what stays, not what the load needs: the layers are made in
// 16 bit first (sgl-project/sglang#17945).
func sglangWeights(c *ledger.Case) []step.Step {
	const take = "Search the model's name with FP8, AWQ or GPTQ on huggingface.co."
	switch set, format := cards.Quantises(c), ledger.Quantised(c); {
	case format != "" && !strings.Contains(format, "8"):
		return []step.Step{{Kind: "text", Text: "The weights are at 4 bit already: use the next smaller model of the family."}}
	case format != "":
		return []step.Step{{Kind: "text", Text: "The weights are at 8 bit already: use a 4-bit version (search the model's name with AWQ or GPTQ on huggingface.co)."}}
	case set != "":
		return []step.Step{{Kind: "text", Text: take + " Leave out `--quantization` then."}}
	case c.Phase == "load":
		return []step.Step{{Kind: "text", Text: take + " `--quantization fp8` with a 16-bit checkpoint does not help: it loads at 16 bit first."}}
	}
	return launch.After("text", take+" Or let SGLang convert this one to FP8 (Ada, Hopper and newer).", sglangServer.Adds(launch.To("quantization", "fp8")))(c)
}
