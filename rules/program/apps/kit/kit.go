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
	onCard = []fact.Kind{fact.TorchAlloc, fact.TorchAsync, fact.CUDAError, fact.CUDAHandle, fact.DeviceAlloc, fact.PlainDevice, fact.MPSAlloc, fact.MPSBuffer}
	inRAM  = []fact.Kind{fact.CPUAlloc, fact.PythonMemory, fact.NumpyAlloc, fact.BadAlloc, fact.MmapFailed, fact.CommitLimit, fact.NativeAlloc}
	killed = []fact.Kind{fact.ShellKilled, fact.KernelKill, fact.RankKilled, fact.ContainerKill, fact.WorkerKilled}
	offRAM = slices.Concat(inRAM, killed)
)

func cure(fix, title, kind, text, cost string) cause.Cure {
	return cause.Cure{Fix: fix, Title: title, Kind: kind, Text: text, Cost: cost}
}

// cards lets those about a card be silent where system memory (RAM) was
// refused: the allocator's words for both are alike.
func cards(list ...cause.Card) []cause.Card {
	for i := range list {
		k := &list[i]
		if !slices.Contains(k.Kinds, fact.TorchAlloc) {
			continue
		}
		also := k.If
		k.If = func(c *ledger.Case) bool { return !c.Root(inRAM...) && !ledger.Crowded(c) && (also == nil || also(c)) }
	}
	return list
}

// Cures that many share.
var (
	lookAtCard = cure("close_other_apps", "See what else is on the card", "shell", "nvidia-smi", "Free.")
	managePage = cause.Cure{Fix: "raise_pagefile", If: func(c *ledger.Case) bool { return c.Windows() || c.Reader.OS == "" }, Title: "Let Windows manage the page file", Kind: "ui",
		Text: "Press Win+R, run sysdm.cpl: Advanced, Performance: Settings, Advanced, Virtual memory: Change, System managed size, Set, OK. Restart", Cost: "Disk space; slow while it is used."}
	addSwap = cause.Cure{Fix: "add_swap", If: func(c *ledger.Case) bool { return c.Reader.OS == "linux" }} // managePage's, on Linux
)

// byPhase is one step in training, another in use.
func byPhase(training, use step.Step) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		if c.Training() {
			return []step.Step{training}
		}
		return []step.Step{use}
	}
}

// noCard hides the card from a program: it computes on the processor then.
func noCard(c *ledger.Case) []step.Step {
	return []step.Step{step.Environ(c, "CUDA_VISIBLE_DEVICES", "-1")}
}

// visible names the document that defines what noCard sets.
var visible = program.Sources{"cuda-c-programming-guide/environment-variables": "CUDA_VISIBLE_DEVICES"}

// framed reports that a frame of the log's tracebacks has one of these in its
// file's name or in its line of code.
func framed(c *ledger.Case, texts ...string) bool {
	return slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool {
		return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(x.File, t) || strings.Contains(x.Source, t) })
	})
}

// half writes an option at half of the value that the log shows, at most a usual
// one; %d stands for it.
func half(kind, text string, usual int, names ...string) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		n := usual
		if own := ledger.IntSetting(c, names...); own > 0 {
			n = min(max(own/2, 1), usual)
		}
		return []step.Step{{Kind: kind, Text: strings.ReplaceAll(text, "%d", strconv.Itoa(n))}}
	}
}

// halfBatch is half of the reader's own batch size.
func halfBatch(kind, text string, usual int) func(*ledger.Case) []step.Step {
	return half(kind, text, usual, step.BatchSettings...)
}

// unlike holds where the log does not show an option at this value; "" is a
// switch.
func unlike(name, value string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool {
		s, ok := c.Setting(name)
		return !ok || s.Default || !strings.EqualFold(s.Value, value)
	}
}

// above holds where the log does not show a number at this value or below it.
func above(n int, names ...string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { own := ledger.IntSetting(c, names...); return own == 0 || own > n }
}

// without holds where none of these words stands near the failure; a card of the
// program has to look for them.
func without(words ...string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return !c.Near(words...) }
}

// looksFor lets a card look for words beside the proofs of its program.
func looksFor(k cause.Card, words ...string) cause.Card {
	k.Said = words
	return k
}

// bound puts a condition on a card's cures by one fix.
func bound(k cause.Card, fix string, holds func(*ledger.Case) bool) cause.Card {
	k.Cures = slices.Clone(k.Cures)
	for i := range k.Cures {
		if also := k.Cures[i].If; k.Cures[i].Fix == fix {
			k.Cures[i].If = func(c *ledger.Case) bool { return holds(c) && (also == nil || also(c)) }
		}
	}
	return k
}

// only is a cure under a condition.
func only(holds func(*ledger.Case) bool, it cause.Cure) cause.Cure {
	it.If = holds
	return it
}

// saved lets a card's cure by a fix be silent where the log shows it done.
func saved(k cause.Card, fix string, words ...string) cause.Card {
	k.ID += "-saved"
	k.Said = words
	k.Cures = slices.DeleteFunc(slices.Clone(k.Cures), func(x cause.Cure) bool { return x.Fix == fix })
	return k
}

// words is a step in words.
func words(text string) func(*ledger.Case) []step.Step { return step.Paste("text", text) }

func training(c *ledger.Case) bool { return c.Training() }
