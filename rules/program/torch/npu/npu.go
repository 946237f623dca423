// Package npu knows what PyTorch says on Huawei's NPUs, of which a line seldom
// says what ran there.
package npu

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Cards are about an NPU that is full.
var Cards = []cause.Card{{
	ID: "pytorch/npu-driver", Kinds: []fact.Kind{fact.DeviceAlloc}, If: onNPU, Said: []string{"halMemAlloc failed"}, Figures: ascendModules,
	Headline: "ran out of NPU memory: the driver could not provide {asked}",
	Means:    "The NPU is full.[[ In the driver's table the application holds {app}.]][[ Communication between NPUs (HCCL) holds {hccl}.]] That is weights, activations, operator workspaces, and on a server the KV cache.",
	Not:      "NVIDIA's tools and variables: Ascend has `npu-smi info` and `PYTORCH_NPU_ALLOC_CONF`.",
	Cures: []cause.Cure{
		{Fix: "lower_gpu_memory_utilization", Title: "Lower the memory share, or the batch size", Ways: []cause.Way{{For: "Serving (vLLM-Ascend)", Text: "set `--gpu-memory-utilization` 0.1 lower (default 0.9), and halve `--max-num-batched-tokens`"}, {For: "Training", Text: "halve the micro-batch and double the gradient accumulation; turn on activation recomputation"}}, Cost: "fewer or shorter requests at a time; slower"},
		{Fix: "restart_session", Title: "If it failed after a while: check whether memory grows", Told: "Restart it and run `watch -n 5 npu-smi info`. If memory grows from request to request, update vllm-ascend, CANN and torch_npu together.", Cost: "free"},
		{Fix: "expandable_segments", Title: "Turn on expandable_segments (against fragmentation)", Kind: "shell", Text: "export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True", Cost: "free"},
		{Fix: "multi_gpu", Title: "Split it over more NPUs", Told: "Training: DeepSpeed ZeRO-3 or FSDP. Serving: a larger `--tensor-parallel-size`.", Cost: "needs the cards"},
	},
	Sources: []string{"vllm-ascend/docs/source/faqs.md", "https://github.com/vllm-project/vllm-ascend/issues/1987", "https://gitee.com/ascend/pytorch"},
}, {
	ID: "pytorch/npu-pieces", Kinds: []fact.Kind{fact.TorchAlloc}, If: when.All(onNPU, loose),
	Cause: cause.Fragmentation, Weight: cause.Strong,
	Headline: "ran out of NPU memory while {slack} of it was reserved but unused (fragmentation)",
	Means:    "PyTorch holds {mine} of {total}. {slack} of that is unused, but split into blocks too small for {asked}. Changing input sizes usually cause that (texts, images, an evaluation between steps).",
	Not:      "NVIDIA's allocator variable: an NPU reads `PYTORCH_NPU_ALLOC_CONF`.",
	Cures: []cause.Cure{
		{Fix: "expandable_segments", Title: "Turn on expandable_segments", Told: "Set it before the program starts, for every rank, without `max_split_size_mb`. If your torch_npu does not know it, update torch_npu and CANN, or set `max_split_size_mb:128` instead.", Kind: "shell", Text: "export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True", Cost: "free"},
		lessLive, serveLess, recompute, perhapsTraining, moreNPUs,
	},
	Sources: []string{"vllm-ascend/docs/source/faqs.md", "https://gitee.com/ascend/pytorch"}, Figures: cures.Scene,
}, {
	ID: "pytorch/npu-full", Kinds: []fact.Kind{fact.TorchAlloc}, If: when.All(onNPU, ledger.FillsCard, when.Not(loose)), Phases: []string{"unknown"},
	Cause: cause.ModelTooLarge, Weight: cause.Strong, Figures: pieceFigures,
	Headline: "filled the NPU with its own tensors: {mine} of {total}",
	Means:    "Nearly all of the NPU's memory holds tensors that this process is using. {apart} {piece}",
	Not:      "[[`max_split_size_mb`, `expandable_segments`: at most {least} to gain.]]",
	Cures: []cause.Cure{
		joined, lessAtOnce, lessShare, serveLess, recompute, moreNPUs,
		{Fix: "use_lower_quant", Title: "Use quantised weights, or train a LoRA", Told: "Serving: a W8A8 checkpoint (made with ModelSlim, see modelscope.cn) with `--quantization ascend` takes half of 16 bit. Training: use LoRA instead of full training.", Cost: "slight loss of quality"},
	},
	Later:   "If it fails only after many steps, tensors pile up (`loss` instead of `loss.item()`).",
	Sources: []string{"vllm-ascend/docs/source/faqs.md", "https://github.com/vllm-project/vllm-ascend/issues/1987", "https://github.com/vllm-project/vllm-ascend/issues/5020"},
}}

// What makes the work of an NPU smaller, whatever runs there.
var (
	lessAtOnce = cause.Cure{Fix: "lower_batch_size", If: when.Not(served), Title: "Lower the batch size, or the size of each input", Cost: "slower", Told: cures.AnyWork, Ways: cures.LessAtOnce}
	// lessLive is the same where tensors in use are most of the card.
	lessLive  = cause.Cure{Fix: lessAtOnce.Fix, If: when.All(lessAtOnce.If, func(c *ledger.Case) bool { live := c.F().Allocated; return live == nil || live.Bytes*2 > c.Total.Bytes }), Title: lessAtOnce.Title, Cost: lessAtOnce.Cost, Told: lessAtOnce.Told, Ways: lessAtOnce.Ways}
	serveLess = cause.Cure{
		Fix: "lower_max_batched_tokens", If: served, Title: "Let the server process less at once", Cost: "fewer requests at a time",
		Told: "Halve `--max-num-batched-tokens` and `--max-num-seqs`, and set `--gpu-memory-utilization` 0.05 to 0.1 lower (default 0.9).",
	}
	recompute = cause.Cure{Fix: "gradient_checkpointing", If: when.All((*ledger.Case).Training, when.Not(cures.Has(fact.Checkpoints))), Title: "Recompute the activations", Cost: "20 to 30 % more time per step", Told: "transformers: `model.gradient_checkpointing_enable()`. Other trainers call it recompute or activation checkpointing."}
	// perhapsTraining is for a log that shows neither training nor use.
	perhapsTraining = cause.Cure{Fix: "gradient_checkpointing", If: func(c *ledger.Case) bool { return !c.Training() && c.Phase == "unknown" && !served(c) }, Title: "If it trains: recompute activations, shard the state", Cost: recompute.Cost, Told: "Gradient checkpointing (transformers: `model.gradient_checkpointing_enable()`; other trainers: recompute), bfloat16, and ZeRO-3 or FSDP over several NPUs. `npu-smi info` shows whether an earlier run still uses this NPU."}
	moreNPUs        = cause.Cure{Fix: "multi_gpu", If: func(c *ledger.Case) bool { return ledger.GPU(c) <= 0 && !cures.Ranked(c) }, Title: "Split it over more NPUs", Cost: "needs the cards", Ways: []cause.Way{{For: fix.Training, Text: "DeepSpeed ZeRO-3 or FSDP."}, {For: fix.Generating, Text: "a larger tensor parallel size (vLLM: `--tensor-parallel-size`)."}}, Told: "`npu-smi info` shows whether all of them fill up, or only this one."}
)

// joined and lessShare are for a full NPU: pieces that were too small, and a
// server that the log does not name.
var (
	joined    = cause.Cure{Fix: "expandable_segments", If: spare, Title: "Turn on expandable_segments, to use what is reserved", Cost: "free", Told: "Set it before the program starts, for every rank.", Kind: "shell", Text: "export PYTORCH_NPU_ALLOC_CONF=expandable_segments:True"}
	lessShare = cause.Cure{Fix: "lower_gpu_memory_utilization", If: when.Not(when.Any(served, (*ledger.Case).Training)), Title: "If it is a model server: lower its memory share", Cost: "fewer or shorter requests at a time", Told: "By 0.05 to 0.1: SGLang `--mem-fraction-static`, vLLM-Ascend `--gpu-memory-utilization`. The share is for weights and KV cache; a request computes in what is left."}
)

// spare: what lies unused is more than was asked for.
func spare(c *ledger.Case) bool {
	return c.Slack.Has() && c.Asked.Has() && c.Slack.Bytes > c.Asked.Bytes
}

// served: the log shows that a model server runs there.
func served(c *ledger.Case) bool {
	return c.Says("vllm", "sglang", "mindie") || c.Contains("gpu_memory_utilization")
}

// ascendModules are what the driver's table says that the process and the
// communication of its cards hold.
func ascendModules(c *ledger.Case) map[string]string {
	out := map[string]string{"app": "", "hccl": ""}
	for figure, name := range map[string]string{"app": "ascend_app", "hccl": "ascend_hccl"} {
		if x, ok := c.Fact(name); ok && x.Size != nil && x.Size.Bytes > 0 {
			out[figure] = units.Amount(x.Size.Bytes)
		}
	}
	return out
}

// pieceFigures say what a piece of that size is as a rule.
func pieceFigures(c *ledger.Case) map[string]string {
	out := cures.Scene(c)
	out["apart"], out["least"] = "Neither fragmentation nor other programs are the cause.", ""
	if spare(c) {
		out["apart"] = c.Slack.String() + " more is reserved, but in blocks that " + c.Asked.String() + " does not fit into."
	} else if c.Slack.Has() {
		out["least"] = c.Slack.String()
	}
	piece := "The last request was small: it can be weights or something computed."
	if ledger.Requested(c) >= 1<<30 {
		piece = "A request of that size is usually something computed (activations, logits, a gathered buffer), not weights."
	}
	out["piece"] = piece
	return out
}

// loose: what lies unused would have been enough in one piece.
func loose(c *ledger.Case) bool {
	return spare(c) && c.Slack.Bytes*12 > c.Total.Bytes && c.Asked.Bytes > c.Free.Bytes
}

func onNPU(c *ledger.Case) bool { return c.Backend == "npu" }
