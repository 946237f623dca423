// Package papers knows repositories of papers and small projects that many people
// train and run: detectors, segmenters, networks that restore, scenes.
package papers

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Repositories of papers have scripts of their own and few readers each: what a
// step and a run need there, and the options that change it.

// spelling is how a program does a fix.
type spelling = map[string]func(*ledger.Case) []step.Step

// say is a step in words.
func say(text string) func(*ledger.Case) []step.Step { return step.Paste("text", text) }

// withoutCheckpoints is for programs that have no setting for them.
var withoutCheckpoints = ways("lower_batch_size", "lower_resolution", "mixed_precision", "use_smaller_model")

// fromCard are the ways in which a piece of a card is refused, by whichever
// framework; a bare CUDA error names no piece and may be about others.
var fromCard = []fact.Kind{fact.TorchAlloc, fact.TorchAsync, fact.DeviceAlloc, fact.PlainDevice, fact.TFAlloc}

// trainSaid are words of a traceback that runs through a training script.
var trainSaid = []string{"train.py", "train_net.py", "trainer.py", "loss.backward(", ".backward(", "in train", "optimizer.step(", "in do_train", "in run_epoch", "finetune.py", "pretrain.py", "finetuning.py", "pretraining.py", "main_train_", "optimize_parameters", "train_dalle.py", "runner.train("}

// paperStep is a card on a training of such a repository: a step of it as a rule,
// so that the sentences of a card must hold for its validation as well.
func paperStep(id, means, not, source string, list ...cause.Cure) cause.Card {
	for i := range list {
		if list[i].Fix == "gradient_checkpointing" && list[i].If == nil {
			list[i].If = when.Not(cures.Evaluating) // nothing is kept there
		}
	}
	k := parts.StepCard(id, trainSaid, means, not, source, list...)
	k.Kinds, k.Means, k.Headline = fromCard, means, "ran out of GPU memory while {doing}[[: this run alone fills the {full} GPU]]"
	k.Figures = func(c *ledger.Case) map[string]string {
		out := maps.Clone(parts.Filled(c))
		if out["doing"] = "training"; cures.Evaluating(c) {
			out["doing"] = "evaluating"
		}
		return out
	}
	return k
}

// paperRun is a card where nothing shows a training step; what it says must hold
// for a training that the log does not show, too.
func paperRun(id, why, means, not, source string, cures ...cause.Cure) cause.Card {
	return cause.Card{
		ID: id, Kinds: fromCard, Unsaid: trainSaid, If: func(c *ledger.Case) bool { return parts.Own(c) && !c.Training() },
		Cause: why, Weight: cause.Strong, Headline: "ran out of GPU memory[[ ({total})]]", Figures: parts.Filled,
		Means: means,
		Not:   not, Cures: cures, Sources: []string{source},
	}
}

// paperEval is a card on an evaluation or a test, between steps of a training or
// by itself, where that has settings of its own.
func paperEval(id, means, not, source string, list ...cause.Cure) cause.Card {
	return cause.Card{
		ID: id, Kinds: fromCard, If: when.All(parts.Own, cures.Evaluating), Cause: cause.BatchTooLarge, Weight: cause.Decisive,
		Headline: "ran out of GPU memory while evaluating", Means: means, Not: not, Cures: list, Sources: []string{source},
	}
}

// paperPart is a card on one part of the work, which words of a traceback name,
// in training or not.
func paperPart(id string, said []string, why, headline, means, not, source string, cures ...cause.Cure) cause.Card {
	return cause.Card{
		ID: id, Kinds: fromCard, Said: said, If: parts.Own, Cause: why, Weight: cause.Decisive,
		Headline: headline, Means: means, Not: not, Cures: cures, Sources: []string{source},
	}
}

// above is the rank of repositories that have a copy of another's code: their
// own scripts say more.
const above = 120

// cached is a card on pictures that an option keeps in RAM.
func cached(id string, said []string, option, source string) cause.Card {
	return cause.Card{
		ID: id, Kinds: parts.RAMGone, Said: said, Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of system memory (RAM) with image caching on",
		Means:    "`" + option + "` keeps every image of the data set in RAM, uncompressed: about 0.9 MB at 640 x 480 and 1.2 MB at 640 x 640, however small the JPEG is. With several GPUs each process keeps its own copy.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Turn off image caching (" + option + ")", Kind: "text", Text: "Leave `" + option + "` out of your command. Images are then read from disk.", Cost: "Slower epochs on a slow disk."},
			{Fix: "lower_num_workers"}, {Fix: "add_swap", Cost: "Slow while it is used."},
		},
		Sources: []string{source},
	}
}

// own are the program's own fixes as cures, in this order.
func own(fixes ...string) []cause.Cure {
	out := make([]cause.Cure, len(fixes))
	for i, fix := range fixes {
		out[i].Fix = fix
	}
	return out
}

// ways are the same fixes in the same order for whatever fills a card.
func ways(fixes ...string) map[string][]cause.Remedy {
	out := map[string][]cause.Remedy{}
	for _, id := range []string{cause.BatchTooLarge, cause.TrainingStateTooLarge, cause.ModelTooLarge, cause.Unknown} {
		out[id] = cause.InOrder(fixes...)
	}
	return out
}

// halve is half of an option of the log's command, in words where the log does
// not show it; rest is what to know besides.
func halve(script, flag, rest string) func(*ledger.Case) []step.Step {
	name := strings.ReplaceAll(strings.ToLower(strings.TrimLeft(flag, "-")), "-", "_")
	return func(c *ledger.Case) []step.Step {
		told := "Halve `" + flag + "` in your `" + script + "` command" + rest
		own, ok := cures.Typed(c, flag)
		if s, set := c.Setting(name); !ok && set && !s.Default {
			own, ok = s.Value, true
		}
		if n := step.Divided(own, 2); ok && n > 0 && strconv.Itoa(n) != own {
			told = "Use `" + flag + " " + strconv.Itoa(n) + "` instead of " + own + " in your `" + script + "` command" + rest
		}
		return []step.Step{{Kind: "text", Text: told}}
	}
}

// tiles is half of the tiles that the reader's command has, or a first size.
func tiles(flag, start, rest string) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		told := "Add `" + flag + " " + start + "`" + rest
		if own, ok := cures.Typed(c, flag); ok && step.Divided(own, 2) > 0 {
			told = "Use `" + flag + " " + strconv.Itoa(step.Divided(own, 2)/8*8) + "` instead of " + own + rest
		}
		return []step.Step{{Kind: "text", Text: told}}
	}
}

// notInside: the program runs by itself, not as a part of a page that has
// settings of its own.
func notInside(list []cause.Card) []cause.Card {
	for i := range list {
		holds := list[i].If
		list[i].If = func(c *ledger.Case) bool {
			return !slices.ContainsFunc([]string{"comfyui", "a1111", "forge", "sdnext", "invokeai", "swarmui", "fooocus"}, func(name string) bool { return c.In(name) }) && (holds == nil || holds(c))
		}
	}
	return list
}
