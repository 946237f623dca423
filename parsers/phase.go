package parsers

import (
	"cmp"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
)

// phaseSignals say which phase a signal proves, the strongest first.
var phaseSignals = []struct{ signal, phase string }{
	{"optimizer_step", "training"}, {"backward", "training"}, {"training", "training"},
	{"cache_creation", "kv_cache"}, {"eval_accumulate", "inference"}, {"validating", "inference"},
	{"generating", "inference"}, {"loading", "load"}, {"inferring", "inference"},
	{"dataloader", "training"}, {"epochs", "training"},
}

// PhaseOf returns the phase that the signals of a log prove, or "unknown".
func PhaseOf(f *fact.Facts) string {
	for _, p := range phaseSignals {
		for _, s := range f.Signals {
			if s.ID == p.signal {
				return p.phase
			}
		}
	}
	if slices.ContainsFunc(f.Code, trains) && !slices.ContainsFunc(f.Code, prepares) {
		return "training"
	}
	return "unknown"
}

// trains: a script or function of the reader's own, by the words of its name:
// train_controlnet.py, run_pretraining, feature_loss.
func trains(x fact.Code) bool {
	return x.Own && named(x, "train", "training", "trainer", "pretrain", "pretraining", "finetune", "finetuning", "loss", "losses")
}

// prepares: a function that makes or loads something before any step.
func prepares(x fact.Code) bool {
	return named(x, "init", "initialize", "setup", "build", "load", "prepare", "barrier")
}

// named: the name of a file or function has one of the words.
func named(x fact.Code, words ...string) bool {
	name := strings.ToLower(x.File[strings.LastIndexAny(x.File, `/\`)+1:] + " " + x.Function)
	return slices.ContainsFunc(strings.FieldsFunc(name, func(r rune) bool { return r < 'a' || r > 'z' }), func(word string) bool { return slices.Contains(words, word) })
}

// Lines around a failure in which frames count as its own: a traceback stands
// before its message, or after it where the message was logged first.
const (
	framesBefore = 90
	framesAfter  = 60
)

// PhaseAt returns the phase in which a failure struck, as tracebacks beside it
// or the last stage before it show, or "" if nothing does.
func PhaseAt(f *fact.Facts, x fact.Failure) string {
	if s := cmp.Or(frameIn(f, x.Line-framesBefore, x.EndLine), frameIn(f, x.EndLine, x.EndLine+framesAfter)); s != nil {
		return s.Phase
	}
	var last, next *fact.Stage
	for i := range f.Stages {
		switch s := &f.Stages[i]; {
		case s.Frame:
		case s.Line <= x.Line && (last == nil || s.Line >= last.Line):
			last = s
		case s.Line > x.EndLine && (next == nil || s.Line < next.Line):
			next = s
		}
	}
	if s := cmp.Or(last, next); s != nil { // next: logs that stand newest first
		return s.Phase
	}
	return ""
}

// frameIn returns the innermost frame between two lines, the last of equals.
func frameIn(f *fact.Facts, from, to int) *fact.Stage {
	var best *fact.Stage
	for i := range f.Stages {
		s := &f.Stages[i]
		if s.Frame && s.Line >= from && s.Line <= to && (best == nil || s.Inner >= best.Inner) {
			best = s
		}
	}
	return best
}

// Specificity orders kinds by how much they explain: of several statements
// about one crash the highest is the root.
func Specificity(k fact.Kind) int {
	for _, p := range families() {
		if n, ok := p.Explains[k]; ok {
			return n
		}
	}
	return 2
}
