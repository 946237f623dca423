// Package kit is what programs share that people start for a purpose of their
// own: kinds of failures, cures, cards by phase.
package kit

import (
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// What refuses memory of a card, and of the computer.
var (
	OnCard = []fact.Kind{fact.TorchAlloc, fact.TorchAsync, fact.CUDAError, fact.CUDAHandle, fact.DeviceAlloc, fact.PlainDevice, fact.MPSAlloc, fact.MPSBuffer}
	InRAM  = []fact.Kind{fact.CPUAlloc, fact.PythonMemory, fact.NumpyAlloc, fact.BadAlloc, fact.MmapFailed, fact.CommitLimit, fact.NativeAlloc}
	Killed = []fact.Kind{fact.ShellKilled, fact.KernelKill, fact.RankKilled, fact.ContainerKill, fact.WorkerKilled}
	OffRAM = slices.Concat(InRAM, Killed)
)

func Cure(fix, title, kind, text, cost string) cause.Cure {
	return cause.Cure{Fix: fix, Title: title, Kind: kind, Text: text, Cost: cost}
}

// Cards lets those about a card be silent where system memory (RAM) was
// refused: the allocator's words for both are alike.
func Cards(list ...cause.Card) []cause.Card {
	for i := range list {
		k := &list[i]
		if !slices.Contains(k.Kinds, fact.TorchAlloc) {
			continue
		}
		also := k.If
		k.If = func(c *ledger.Case) bool { return !c.Root(InRAM...) && !ledger.Crowded(c) && (also == nil || also(c)) }
	}
	return list
}

// Cures that many share.
var (
	LookAtCard = Cure("close_other_apps", "See what else is on the card", "shell", "nvidia-smi", "Free.")
	ManagePage = cause.Cure{Fix: "raise_pagefile", If: func(c *ledger.Case) bool { return c.Windows() || c.Reader.OS == "" }, Title: "Let Windows manage the page file", Kind: "ui",
		Text: "Press Win+R, run sysdm.cpl: Advanced, Performance: Settings, Advanced, Virtual memory: Change, System managed size, Set, OK. Restart", Cost: "Disk space; slow while it is used."}
	AddSwap = cause.Cure{Fix: "add_swap", If: func(c *ledger.Case) bool { return c.Reader.OS == "linux" }} // managePage's, on Linux
)

// Steps are those of a program by fix.
type Steps = map[string]func(*ledger.Case) []step.Step

// ByPhase is one step in training, another in use.
func ByPhase(training, use step.Step) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		if c.Training() {
			return []step.Step{training}
		}
		return []step.Step{use}
	}
}

// NoCard hides the card from a program: it computes on the processor then.
func NoCard(c *ledger.Case) []step.Step {
	return []step.Step{step.Environ(c, "CUDA_VISIBLE_DEVICES", "-1")}
}

// Visible names the document that defines what NoCard sets.
var Visible = program.Sources{"cuda-c-programming-guide/environment-variables": "CUDA_VISIBLE_DEVICES"}

// Framed reports that a frame of the log's tracebacks has one of these in its
// file's name or in its line of code.
func Framed(c *ledger.Case, texts ...string) bool {
	return slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool {
		return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(x.File, t) || strings.Contains(x.Source, t) })
	})
}

// Half writes an option at half of the value that the log shows, at most a usual
// one; %d stands for it.
func Half(kind, text string, usual int, names ...string) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		n := usual
		if own := ledger.IntSetting(c, names...); own > 0 {
			n = min(max(own/2, 1), usual)
		}
		return []step.Step{{Kind: kind, Text: strings.ReplaceAll(text, "%d", strconv.Itoa(n))}}
	}
}

// HalfBatch is half of the reader's own batch size.
func HalfBatch(kind, text string, usual int) func(*ledger.Case) []step.Step {
	return Half(kind, text, usual, step.BatchSettings...)
}

// Unlike holds where the log does not show an option at this value; "" is a
// switch.
func Unlike(name, value string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool {
		s, ok := c.Setting(name)
		return !ok || s.Default || !strings.EqualFold(s.Value, value)
	}
}

// Above holds where the log does not show a number at this value or below it.
func Above(n int, names ...string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { own := ledger.IntSetting(c, names...); return own == 0 || own > n }
}

// Without holds where none of these words stands near the failure; a card of the
// program has to look for them.
func Without(words ...string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return !c.Near(words...) }
}

// LooksFor lets a card look for words beside the proofs of its program.
func LooksFor(k cause.Card, words ...string) cause.Card {
	k.Said = words
	return k
}

// Bound puts a condition on a card's cures by one fix.
func Bound(k cause.Card, fix string, holds func(*ledger.Case) bool) cause.Card {
	k.Cures = slices.Clone(k.Cures)
	for i := range k.Cures {
		if also := k.Cures[i].If; k.Cures[i].Fix == fix {
			k.Cures[i].If = func(c *ledger.Case) bool { return holds(c) && (also == nil || also(c)) }
		}
	}
	return k
}

// Only is a cure under a condition.
func Only(holds func(*ledger.Case) bool, it cause.Cure) cause.Cure {
	it.If = holds
	return it
}

// Saved lets a card's cure by a fix be silent where the log shows it done.
func Saved(k cause.Card, fix string, words ...string) cause.Card {
	k.ID += "-saved"
	k.Said = words
	k.Cures = slices.DeleteFunc(slices.Clone(k.Cures), func(x cause.Cure) bool { return x.Fix == fix })
	return k
}

// Words is a step in words.
func Words(text string) func(*ledger.Case) []step.Step { return step.Paste("text", text) }

func Training(c *ledger.Case) bool { return c.Training() }
