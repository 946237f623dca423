// Package lab knows repositories and libraries that people train and run language
// and speech models with, beside the larger trainers: each with options of its
// own, and what it holds in each phase.
package lab

import (
	"maps"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/apps/kit"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/trainer"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// spelling is how a program does a fix.
type spelling = map[string]func(*ledger.Case) []step.Step

// say is a step in words.
func say(text string) func(*ledger.Case) []step.Step { return step.Paste("text", text) }

// config is a step in a program's file.
func config(text string) func(*ledger.Case) []step.Step { return step.Paste("config", text) }

// cardFull are the ways in which a card is told to be full.
var cardFull = []fact.Kind{fact.TorchAlloc, fact.TorchAsync, fact.CUDAError, fact.CUDAHandle, fact.DeviceAlloc, fact.PlainDevice, fact.MPSAlloc}

// fixes are cures as the program itself spells them, the best first.
func fixes(ids ...string) []cause.Cure {
	out := make([]cause.Cure, len(ids))
	for i, id := range ids {
		out[i] = cause.Cure{Fix: id}
	}
	return out
}

// phaseFigures are what the cards below name: "in" is where it failed, as far as
// the log shows that.
func phaseFigures(c *ledger.Case) map[string]string {
	out := trainer.TextFigures(c)
	maps.Copy(out, parts.Filled(c))
	out["in"] = ""
	if c.Training() {
		out["in"] = "in a training step"
		switch {
		case saves(c):
			out["in"] = "while saving or merging the model"
		case cures.Evaluating(c):
			out["in"] = "while evaluating between training steps"
		}
		if out["in"] == "in a training step" && len(ledger.Trace(c)) == 0 && c.Signal("many_steps") == nil {
			out["in"] = "while training or setting it up"
		}
	}
	return out
}

// ours reports that the card is full and the program's own: neither another
// library of the process nor the contexts of other ranks hold what is missing.
func ours(c *ledger.Case) bool { return parts.Own(c) && !foreign(c) && !ranks(c) }

// foreign reports that a quarter of the card and more is this process's, but not
// PyTorch's: another library took it.
func foreign(c *ledger.Case) bool {
	f := c.F()
	if f.ProcessUsed == nil || f.Allocated == nil || f.Total == nil {
		return false
	}
	return 4*(f.ProcessUsed.Bytes-f.Allocated.Bytes-ledger.SizeOf(f.ReservedUnallocated)) > f.Total.Bytes
}

// ranks reports that others on the card, each with little, hold what is missing
// together.
func ranks(c *ledger.Case) bool {
	held := int64(0)
	for _, p := range c.F().OtherProcesses {
		held += p.Bytes
	}
	return len(c.F().OtherProcesses) > 1 && c.Shortfall.Has() && held >= c.Shortfall.Bytes
}

// trains reports a training, and not a use of what it made.
func trains(c *ledger.Case) bool { return c.Training() && !cures.Uses(c) }

// savers are functions that collect or merge the weights of a whole model.
var savers = []string{"save_model", "_save_checkpoint", "merge_and_unload", "merge_adapter", "save_pretrained", "_zero3_consolidated_16bit_state_dict", "_full_post_state_dict_hook"}

// saves reports that the model was being saved or merged: no batch matters.
func saves(c *ledger.Case) bool {
	return slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool {
		return slices.Contains(savers, f.Function) || strings.Contains(f.Source, ".merge_and_unload(")
	})
}

// evaluations are what an evaluation between training steps reads instead of the
// training's batch size, by program.
var evaluations = map[string]string{
	"composer":       "In the YAML file: `device_eval_batch_size: 1`. The micro-batch size is for training only.",
	"llm-foundry":    "In the YAML file: `device_eval_batch_size: 1`. The micro-batch size is for training only.",
	"deepspeed-chat": "Use `--per_device_eval_batch_size 1` (default 16).",
	"ludwig":         "In the configuration, under `trainer`: `eval_batch_size: 1`.",
}

// forPhase are a training's fixes: between its steps the evaluation's own batch
// size comes first, and nothing is kept for a backward pass.
func forPhase(program string, names []string) []cause.Cure {
	out := fixes(names...)
	for i := range out {
		if out[i].Fix == "gradient_checkpointing" {
			out[i].If = when.Not(cures.Evaluating)
		}
	}
	if told := evaluations[program]; told != "" {
		for i := range out {
			if out[i].Fix == "lower_batch_size" {
				out[i].If = when.Not(cures.Evaluating)
			}
		}
		out = append([]cause.Cure{{Fix: "lower_batch_size", If: cures.Evaluating, Title: "Lower the evaluation's batch size", Told: told, Cost: "slower"}}, out...)
	}
	return out
}

// stepped reports what a step may well ask for: of a single piece as large as a
// third of the card, only where no operation is known to have asked for it.
func stepped(c *ledger.Case) bool {
	return ours(c) && ledger.NeverFits(c) == "" && (parts.Ordinary(c) || c.Operation == "")
}

// look is what to do first where the log shows neither the card nor who holds it.
var look = cause.Cure{
	Fix: "kill_stale_process", Title: "See what else is on the GPU", If: func(c *ledger.Case) bool { return !c.Total.Has() && !kit.AtWork(c) },
	Told: "Look before you start the program. If the GPU is nearly full, an earlier run, a notebook or another user holds it. If not, use the other fixes.", Kind: "shell", Text: "nvidia-smi", Cost: "free",
}

// phaseCard is what a program has to say of one phase. The program's own proof
// is all that the log must show besides.
func phaseCard(id, headline, means, not, source string, holds func(*ledger.Case) bool, list []cause.Cure) cause.Card {
	return cause.Card{
		ID: id, Kinds: cardFull, If: holds, Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: phaseFigures,
		Headline: headline, Means: means, Not: not, Cures: kit.Looking(look, list), Sources: []string{source},
	}
}

// stepOf is a step of a program that trains, or what its log leaves open.
func stepOf(program, means, not, source string, names ...string) cause.Card {
	return phaseCard(program+"/train", "ran out of GPU memory[[ {in}]][[: this run alone fills the {full} GPU]]", means, not, source,
		func(c *ledger.Case) bool {
			return stepped(c) && c.Phase != "load" && (c.Training() || c.Phase == "unknown") && !saves(c) && !cures.Uses(c) && c.Signal("eval_accumulate") == nil
		}, forPhase(program, names))
}

// trainOf is a training step of a program that is also used for what it learnt:
// what does not show a step is not taken for one.
func trainOf(program, means, not, source string, names ...string) cause.Card {
	k := stepOf(program, means, not, source, names...)
	k.If = func(c *ledger.Case) bool { return stepped(c) && c.Phase != "load" && trains(c) }
	return k
}

// useOf is a program at work that does not train.
func useOf(program, while, means, not, source string, names ...string) cause.Card {
	k := phaseCard(program+"/use", "ran out of GPU memory[[ {while}]]", means, not, source,
		func(c *ledger.Case) bool {
			return ours(c) && ledger.NeverFits(c) == "" && !trains(c) && !saves(c) && c.Phase != "load"
		}, fixes(names...))
	k.Figures = func(c *ledger.Case) map[string]string {
		out := phaseFigures(c)
		if out["while"] = ""; c.Phase == "inference" || cures.Uses(c) {
			out["while"] = while
		}
		return out
	}
	return k
}

// while says what a program was doing, where its card's words prove that.
func while(k cause.Card, doing string) cause.Card {
	k.Headline = "ran out of GPU memory " + doing
	return k
}

// loadOf is a program whose model found no room.
func loadOf(program, means, not, source string, cures ...string) cause.Card {
	k := phaseCard(program+"/weights", "ran out of GPU memory while loading the model", means, not, source,
		func(c *ledger.Case) bool { return ours(c) && c.Phase == "load" }, fixes(cures...))
	k.Cause = cause.ModelTooLarge
	return k
}

// titled names a fix of a card otherwise than its program does for training.
func titled(fix, title, cost string, k cause.Card) cause.Card {
	for i := range k.Cures {
		if k.Cures[i].Fix == fix {
			k.Cures[i].Title, k.Cures[i].Cost = title, cost
		}
	}
	return k
}

// cutting is a card on recordings that are only listened to.
func cutting(k cause.Card) cause.Card {
	return titled("lower_context", "Cut long recordings into parts", "parts to join", k)
}

// saying narrows a card to logs in which one of the words stands near the
// failure.
func saying(k cause.Card, id string, words ...string) cause.Card {
	k.ID, k.Said = id, words
	return k
}

// anyPhase lets a card speak whatever the frames seem to be about.
func anyPhase(k cause.Card) cause.Card {
	k.If = func(c *ledger.Case) bool { return ours(c) && ledger.NeverFits(c) == "" }
	return k
}
