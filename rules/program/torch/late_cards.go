package torch

import (
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/clues"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/torch/room"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

// lateCards are for places that say least: after all that know more.
var lateCards = []cause.Card{
	{
		ID: "pytorch/backward", Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"training"}, Said: []string{"loss.backward(", "torch/autograd/__init__.py", "_engine_run_backward", "run_backward("},
		If: when.All(ownCard, when.Not(cures.LateStep), func(c *ledger.Case) bool { return ledger.FailedAt(c, "backward") != nil }), Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory in the backward pass",
		Means:    "[[{second} ]]The forward pass fitted. The backward pass adds gradients to the stored activations, usually the peak of a training step. Often a slightly smaller batch or input is enough. If batch size 1 fails too, the model is too large: full training with Adam takes about 16 bytes per parameter, a LoRA about 2.",
		Not:      "`empty_cache()` in the loop: it frees only what no tensor uses.[[ {each}]]",
		Later:    cures.Kept, Figures: secondStep, Cures: []cause.Cure{loosePieces, looseBefore, cures.HalveStep, cures.HalveOld, keepSecond, cures.CheaperTraining, cures.LooseToo, cures.LighterOptimizer, cures.BiggerCard},
		Sources: []string{"pytorch/torch/autograd/__init__.py", "https://pytorch.org/docs/stable/checkpoint.html"},
	},
	{
		ID: "pytorch/late-without-figures", Kinds: []fact.Kind{fact.CUDAError}, If: func(c *ledger.Case) bool { return len(c.Stack) == 1 && cures.LateStep(c) },
		Cause: cause.RetainedMemory, Weight: cause.Strong, Headline: "ran out of GPU memory after many steps that went well",
		Means: "Earlier steps went well. So memory grows with the steps (stored losses or results, a replay buffer), or one sample was larger than the others, or another program started on the GPU meanwhile.[[ {outside}]]",
		Not:   "`empty_cache()`: it frees only what no tensor uses.",
		Cures: []cause.Cure{cures.AtMilestone, boundFirst, onlyIf(when.Not(countless), keepNumbers), boundLargest, keptOld, cures.EndListed, cures.LookFirst, fromCheckpoint}, Figures: lateFigures,
		Sources: []string{memoryFAQ, "pytorch/c10/cuda/CUDAException.cpp"},
	},
	{
		ID: "pytorch/no-figures-at-start", Kinds: []fact.Kind{fact.CUDAError}, If: func(c *ledger.Case) bool { return c.Phase == "load" || c.Phase == "unknown" || cures.CopiesInput(c) },
		Said:   []string{"in _apply", "self._apply(convert)", ".to(device)", ".cuda()", "_lazy_init", "torch._C._cuda_init", "torch.cuda.set_device"},
		Unsaid: []string{"-packages/transformers/", "-packages/diffusers/"}, Cause: cause.LeakedProcess, Weight: cause.Strong,
		Headline: "ran out of GPU memory while setting up the GPU or moving data there",
		Means:    "The message has no figures. It failed while the program started to use the GPU or moved something there, which takes little memory unless it is the model. Most often something else already holds the GPU: an earlier run, another user, another notebook. {shown}",
		Cures: []cause.Cure{
			cures.EndListed, room.IdleCard, room.EndTabled, cures.RuntimeFirst, cures.LookFirst, cures.OtherCard,
			{Fix: "restart_session", Title: "If the GPU is empty: test it with one number", Told: "If this fails too, restart the kernel or the machine, then install a PyTorch build for your driver. If it works, the model is probably too large.", Kind: "shell", Text: "python -c \"import torch; print(torch.zeros(1).cuda())\"", Cost: "A minute."},
		},
		Figures: room.Shown, Sources: []string{"pytorch/c10/cuda/CUDAException.cpp", "https://github.com/MIC-DKFZ/nnUNet/issues/359"}, Solved: 1,
	},
	{
		ID: "pytorch/no-figures-while-built", Kinds: []fact.Kind{fact.CUDAError}, If: cures.Built,
		Cause: cause.LeakedProcess, Weight: cause.Strong, Figures: builtPiece, Headline: "ran out of GPU memory while the network was being built",
		Means: "It failed while the network was being built on the GPU. {piece} So most likely the GPU was already full: another user's job, an earlier run, or one stopped with Ctrl+Z that still holds its memory. Otherwise other parts of this model are very large. The message has no figures.",
		Not:   "A smaller batch or input, mixed precision: the network itself was being built.",
		Cures: []cause.Cure{
			cures.EndListed, room.IdleCard, room.EndTabled, cures.RuntimeFirst, cures.LookFirst, cures.OtherCard,
			{Fix: "restart_session", Title: "If the GPU is empty: test it with one number", Cost: "the session is lost, if it fails", Told: "If this fails too, restart the kernel, the container or the machine, look for `Xid` in `sudo dmesg`, and install a PyTorch build for this driver and GPU.", Kind: "shell", Text: "python -c \"import torch; print(torch.zeros(1).cuda())\""},
		},
		Sources: []string{"pytorch/c10/cuda/CUDAException.cpp", "https://github.com/amdegroot/ssd.pytorch"},
	},
	{
		ID: "pytorch/no-figures-in-work", Kinds: []fact.Kind{fact.CUDAError}, Phases: []string{"training", "inference"}, If: func(c *ledger.Case) bool {
			return len(c.Stack) == 1 && !reader.LooksLikeWindows(c) && !reader.OnWindows(c)
		},
		Cause: cause.BatchTooLarge, Weight: cause.Fair, Headline: "ran out of GPU memory while running; the message has no figures",
		Means: "{refuser}.[[ {doing}]] Either this program or another one filled the GPU; `nvidia-smi` shows which.",
		Not:   "{no_settings}.",
		Later: "{later}", Figures: driverFigures,
		Cures:   []cause.Cure{cures.HalveStep, cures.HalveOld, cures.EndListed, cures.LookFirst, cures.OneOfMany, keptOld, cures.CheaperTraining, cures.SmallerModel, cures.BiggerCard},
		Sources: []string{"pytorch/c10/cuda/CUDAException.cpp", cudaNotes},
	},
	{
		ID: "pytorch/no-figures", Kinds: []fact.Kind{fact.CUDAError}, Phases: []string{"unknown"}, If: func(c *ledger.Case) bool {
			return len(c.Stack) == 1 && c.Signal("training") == nil && !reader.LooksLikeWindows(c) && !reader.OnWindows(c)
		},
		Unsaid: []string{"-packages/transformers/", "-packages/diffusers/"}, Cause: cause.Unknown, Weight: cause.Good,
		Headline: "ran out of GPU memory; the message has no figures",
		Means:    "{refuser}.[[ {doing}]] Either the GPU was full before this program started (another program, an earlier run), or this program filled it. `nvidia-smi` shows which.",
		Not:      "{no_settings}.",
		Later:    cures.Kept, Figures: cures.Scene,
		Cures: []cause.Cure{
			cures.EndListed, cures.RuntimeFirst, cures.LookFirst,
			{Fix: "lower_batch_size", If: when.Not(when.Any(ledger.Before2020, (*ledger.Case).Training)), Title: emptyFirst, Cost: "slower", Told: cures.AnyWork + " If even a small input fails, use the program's low-VRAM or offload option, 16 bit in place of 32, or a smaller model.", Ways: cures.HalveStep.Ways},
			{Fix: "lower_batch_size", If: when.All((*ledger.Case).Training, when.Not(ledger.Before2020)), Title: emptyFirst, Cost: "slower", Told: cures.AnyWork, Ways: cures.HalveStep.Ways},
			{Fix: "lower_batch_size", If: ledger.Before2020, Title: emptyFirst, Cost: "slower", Told: cures.AnyWork, Ways: cures.HalveOld.Ways[:2]},
			{Fix: "restart_session", Title: "If it fails even with an empty GPU and a small input: restart", Cost: "the session is lost", Told: "Restart the notebook kernel, then the machine: a crashed process can leave the driver in a bad state. Start with `CUDA_LAUNCH_BLOCKING=1` to see the line that really fails. With several GPUs, try another (`CUDA_VISIBLE_DEVICES=1`)."},
		},
		Sources: []string{"pytorch/c10/cuda/CUDAException.cpp", "https://github.com/MIC-DKFZ/nnUNet/issues/318"},
	},
}

// emptyFirst is the title of a smaller step where others may hold the card.
const emptyFirst = "If the GPU is empty before the start: lower the batch size or the input size"

// keepSecond is keepNumbers for a loop that had just gone through a step.
var keepSecond = cause.Cure{Fix: keepNumbers.Fix, If: stepBefore, Title: "Free the previous step: store numbers instead of tensors", Cost: keepNumbers.Cost, Told: keepNumbers.Told}

// loosePieces is for a reserve of PyTorch's that would have been enough in one
// piece.
var (
	loosePieces = cause.Cure{Fix: "expandable_segments", If: when.All(muchLoose, when.Not(cures.SplitEra)), Title: "Let the allocator use its {slack} of fragmented reserve", Cost: "none, usually"}
	looseBefore = cause.Cure{Fix: "max_split_size", If: when.All(muchLoose, cures.SplitEra), Title: loosePieces.Title, Cost: "sometimes slower", Steps: cures.SplitSize}
)

func muchLoose(c *ledger.Case) bool {
	return slackBridges(c) && c.Slack.Bytes > units.GiB && !clues.LiveFills(c)
}

// stepBefore: the loop had counted its first steps.
func stepBefore(c *ledger.Case) bool {
	s := c.Signal("few_steps")
	return s != nil && s.Line <= c.Failure.Line
}

// secondStep is scene with what a step that had gone well before says.
func secondStep(c *ledger.Case) map[string]string {
	figures := cures.Scene(c)
	figures["second"] = ""
	if stepBefore(c) {
		figures["second"] = "A step was counted before, so the first one fits. The next also has the optimizer state made in the first (Adam: 8 bytes per parameter), and what the loop still holds, such as an output, a loss or a metric with its graph."
	}
	return figures
}

// builtPiece says what the line that failed puts on the card.
func builtPiece(c *ledger.Case) map[string]string {
	if f := ledger.OwnFrame(c); f != nil && f.Function == "__init__" && (strings.Contains(f.Source, ".cuda()") || strings.Contains(f.Source, ".to(device)")) {
		return map[string]string{"piece": "That line moves one of its parts there."}
	}
	return map[string]string{"piece": "No batch exists yet, and one layer's weights are usually only a few MB."}
}

// distributed: torchrun, a rank in a prefix, or a card other than the first.
func distributed(c *ledger.Case) bool { return c.Signal("distributed") != nil || reader.ManyGPUs(c) }

// neverFitting: more than the whole card for one tensor.
func neverFitting(c *ledger.Case) bool { return ledger.NeverFits(c) != "" }
