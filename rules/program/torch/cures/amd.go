package cures

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/code"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

const (
	amdVariable = "TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL"
	// amdOff is PyTorch's warning of a kernel that it has and leaves off.
	amdOff  = "is still experimental. Enable it with " + amdVariable
	amdTold = "Set it before the program starts (PyTorch 2.5 and later). Which RX 7000, RX 9000 and Ryzen AI GPUs need it depends on the release; RX 6000 and older have no such kernels."
)

// maybeOff: a PyTorch for AMD that may have fused kernels and leave them off.
func maybeOff(c *ledger.Case) bool {
	latest := code.Latest(c)
	return c.Backend == "rocm" && (latest == 0 || latest >= 205)
}

// amdKernels turns them on.
var amdKernels = cause.Cure{
	Fix: NoScores.Fix, Title: "If it is attention: turn on PyTorch's fused kernels for AMD", Cost: "free to try", Told: amdTold,
	Steps: func(c *ledger.Case) []step.Step { return []step.Step{step.Environ(c, amdVariable, "1")} },
}

// byCard are a cure by fused kernels for an AMD card and for the others.
func byCard(cure cause.Cure) []cause.Cure {
	amd := amdKernels
	amd.If = when.All(maybeOff, cure.If)
	cure.If = when.All(when.Not(maybeOff), cure.If)
	return []cause.Cure{amd, cure}
}

// AMDAttention are about attention that writes its scores out on an AMD card.
var AMDAttention = []cause.Card{
	amdAttention("pytorch/amd-attention-never-fits", cause.OversizedAllocation, func(c *ledger.Case) bool { return ledger.NeverFits(c) != "" }),
	amdAttention("pytorch/amd-attention", cause.BatchTooLarge, func(c *ledger.Case) bool { return ledger.NeverFits(c) == "" }),
}

func amdAttention(id, what string, holds func(*ledger.Case) bool) cause.Card {
	return cause.Card{
		ID: id, Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"scaled_dot_product_attention", amdOff}, Unsaid: []string{"in _scaled_dot_product_attention"},
		If: when.All(maybeOff, holds, MayBeAttention, when.Not(ledger.Crowded), func(c *ledger.Case) bool {
			return (c.Near("scaled_dot_product_attention") || ledger.NeverFits(c) != "") && ledger.Requested(c) >= units.GiB/2 && !c.In("comfyui", "a1111", "forge", "fooocus")
		}),
		Cause: what, Weight: cause.Strong, Figures: amdFigures,
		Headline: "asked for {asked} in one call of attention[[, on a GPU with {card}]]",
		Means:    "PyTorch used plain attention, which stores a score for every pair of tokens: twice the length takes four times the memory. Fused kernels store no scores. PyTorch has them for AMD GPUs, but leaves those off that it calls experimental[[{warned}]].",
		Not:      "Allocator settings: it is one single request.",
		Cures: []cause.Cure{
			{Fix: NoScores.Fix, Title: "Turn on PyTorch's fused kernels for AMD", Cost: "free to try", Told: amdTold, Steps: amdKernels.Steps},
			{Fix: "lower_resolution", Title: "Lower the image size or the input length (fewer tokens)", Told: "Half the tokens need a quarter ({quarter}); half the batch size needs half ({half}).", Ways: []cause.Way{{For: fix.Pictures, Text: "0.7 x width and height is half the tokens; or fewer frames or input images"}, {For: fix.Generating, Text: "half the prompt"}}, Cost: "detail or context"},
			{Fix: "upgrade_version", Title: "Update PyTorch and ROCm together", Told: "Later releases have kernels for more GPUs. More calls can use them in 16 bit and without a mask.", Cost: "half an hour"},
		},
		Sources: []string{"https://github.com/pytorch/pytorch/pull/135869", "https://github.com/pytorch/pytorch/pull/156290", "https://github.com/pytorch/pytorch/pull/166397", "https://github.com/ROCm/aotriton/issues/118", "pytorch/aten/src/ATen/native/transformers/cuda/sdp_utils.cpp"},
	}
}

// amdFigures are what a shorter input needs, and whether PyTorch warned.
func amdFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"warned": "", "half": units.Amount(c.Asked.Bytes / 2), "quarter": units.Amount(c.Asked.Bytes / 4)}
	if c.Near(amdOff) {
		out["warned"] = ", as it warns here"
	}
	return out
}
