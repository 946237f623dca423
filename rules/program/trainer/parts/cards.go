package parts

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Refused are the messages of a card, with figures and without.
var Refused = []fact.Kind{fact.TorchAlloc, fact.CUDAError}

// RAMGone are the ways in which a process is told that RAM is at its end.
var RAMGone = []fact.Kind{fact.KernelKill, fact.ShellKilled, fact.RankKilled, fact.SlurmKill, fact.ContainerKill, fact.WorkerKilled, fact.NumpyAlloc, fact.PythonMemory, fact.CPUAlloc}

// Own: nothing shows that others hold the card or that it was not full.
func Own(c *ledger.Case) bool {
	pieces := c.Slack.Has() && c.Asked.Has() && c.Total.Has() && c.Slack.Bytes > c.Asked.Bytes && c.Slack.Bytes*8 > c.Total.Bytes
	return ledger.OnCard(c) && !ledger.Crowded(c) && !ledger.Roomy(c) && !pieces && !c.Limit.Has() && !cures.Built(c)
}

// Ordinary: and what was asked for is no single piece of a third of the card or
// more, which no usual step has.
func Ordinary(c *ledger.Case) bool {
	return Own(c) && ledger.NeverFits(c) == "" && (!c.Total.Has() || c.Asked.Bytes*3 < c.Total.Bytes)
}

// StepCard is what all trainers have to say of a step that did not fit, in
// their own words.
func StepCard(id string, said []string, means, not, source string, list ...cause.Cure) cause.Card {
	later := ""
	if slices.Contains([]string{"monai/step", "fastai/step", "detectron2/step"}, id) { // their readers write code
		later = keptLater
	}
	return cause.Card{
		ID: id, Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"training", "unknown"}, Said: said, If: when.All(Ordinary, when.Not(cures.Evaluating)),
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of memory[[ {while}]]", Figures: Filled,
		Means: means + "[[ {spilled}]][[ It fills the {full} GPU by itself, so closing other programs gains little.]]",
		Not:   not, Later: later, Cures: list, Sources: []string{source},
	}
}

// WithFigures is a card with figures of its own.
func WithFigures(figures func(c *ledger.Case) map[string]string, k cause.Card) cause.Card {
	k.Figures = figures
	return k
}

// keptLater is what it was if a smaller step only puts the end off.
const keptLater = "If it fails again some epochs later, tensors pile up: add up `loss.item()` instead of `loss`, and move outputs to the CPU."

// Filled are figures for sentences: the card's size where this program fills it,
// and what others hold where that is much.
func Filled(c *ledger.Case) map[string]string {
	out := map[string]string{"full": "", "outside": "", "while": "", "spilled": ""}
	if c.Training() {
		out["while"] = "in a training step"
	}
	switch {
	case c.Total.Has() && c.Mine.Bytes > c.Total.Bytes+c.Total.Bytes/50:
		out["spilled"] = "It holds " + c.Mine.String() + " on a GPU with " + c.Total.String() + ", so the driver (usually on Windows) had already moved the rest to slow system RAM. Start with a quarter of the batch size."
	case ledger.FillsAlone(c) && c.Total.Has():
		out["full"] = c.Total.String()
	}
	if ledger.Crowded(c) && c.Others.Has() {
		out["outside"] = c.Others.String()
	}
	return out
}

// FreeOthers is what to do about others where they hold much.
var FreeOthers = cause.Cure{
	Fix: "kill_stale_process", Title: "Free the {outside} held by other programs", If: ledger.Crowded,
	Told: "End an old run of yours with `kill PID`. If the process is somebody else's, use another GPU: put `CUDA_VISIBLE_DEVICES=1` in front of your command. This alone may not be enough.",
	Kind: "shell", Text: "nvidia-smi", Cost: "Free; what you end loses its unsaved work.",
}
