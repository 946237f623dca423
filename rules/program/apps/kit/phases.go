package kit

import (
	"slices"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Fixes are cures as the program itself spells them, the best first.
func Fixes(ids ...string) []cause.Cure {
	out := make([]cause.Cure, len(ids))
	for i, id := range ids {
		out[i] = cause.Cure{Fix: id}
	}
	return out
}

// Seen is what to do first where the log shows neither the card nor who holds it.
var Seen = cause.Cure{
	Fix: "close_other_apps", Title: "See what else is on the card", If: func(c *ledger.Case) bool { return !c.Total.Has() && !AtWork(c) },
	Told: "The log does not show how much of the card was free. Run this before you start the program. If the card is already nearly full, close what uses it. If not, use the other fixes.", Kind: "shell", Text: "nvidia-smi", Cost: "free",
}

// AtWork: the log shows that the model was loaded and at work, so that what the
// program does itself comes first.
func AtWork(c *ledger.Case) bool { return c.Training() || c.Phase == "inference" }

// Looking puts the look at the card before the cures where the phase is open,
// and after the best of them where the program was at work.
func Looking(look cause.Cure, cures []cause.Cure) []cause.Cure {
	after := look
	after.If = func(c *ledger.Case) bool { return !c.Total.Has() && AtWork(c) }
	return slices.Concat([]cause.Cure{look}, cures[:1], []cause.Cure{after}, cures[1:])
}

// Phase is what a program has to say of one phase; its own proof is all that the
// log must show besides.
func Phase(id, headline, means, not, source string, when func(*ledger.Case) bool, cures []cause.Cure) cause.Card {
	return cause.Card{
		ID: id, Kinds: OnCard, If: func(c *ledger.Case) bool { return !ledger.Roomy(c) && ledger.NeverFits(c) == "" && when(c) },
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: headline,
		Means: means, Not: not, Cures: Looking(Seen, cures), Sources: []string{source},
	}
}

// Learning is a program in training.
func Learning(name, means, not, source string, cures ...string) cause.Card {
	return Phase(name+"/train", "ran out of GPU memory[[ ({total})]] in training", means, not, source, (*ledger.Case).Training, Fixes(cures...))
}

// Working is a program in use.
func Working(name, doing, means, not, source string, cures ...string) cause.Card {
	k := Phase(name+"/use", "ran out of GPU memory[[ {while}]]", means, not, source, func(c *ledger.Case) bool { return !c.Training() && c.Phase != "load" }, Fixes(cures...))
	k.Figures = While(doing)
	return k
}

// While says what a program was doing, where the log shows that it was in use.
func While(doing string) func(*ledger.Case) map[string]string {
	inUse := map[string]string{"inference": doing}
	return func(c *ledger.Case) map[string]string { return map[string]string{"while": inUse[c.Phase]} }
}

// Opening is a program whose models found no room.
func Opening(name, means, not, source string, cures ...string) cause.Card {
	k := Phase(name+"/weights", "ran out of GPU memory[[ ({total})]] while it loaded its models", means, not, source, func(c *ledger.Case) bool { return c.Phase == "load" }, Fixes(cures...))
	k.Cause = cause.ModelTooLarge
	return k
}

// RamFilled is a program that filled the computer's own memory.
func RamFilled(name, means, not, source string, cures ...string) cause.Card {
	return cause.Card{
		ID: name + "/ram", Kinds: OffRAM, Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of system memory (RAM)", Means: means, Not: not, Cures: Fixes(cures...), Sources: []string{source},
	}
}

// noSums: the processor takes all of it, so that no share is to be computed.
var NoSums = map[string]func(*ledger.Case) *effect.Effect{"cpu_offload": func(*ledger.Case) *effect.Effect { return nil }}

// NotTrained leaves the CPU to those who do not train, and the batch size to
// those who do.
func NotTrained(list []cause.Remedy) []cause.Remedy {
	for i := range list {
		if fix := list[i].Fix; fix == "cpu_offload" || fix == "lower_batch_size" {
			list[i].If = func(c *ledger.Case) bool { return c.Training() == (fix == "lower_batch_size") }
		}
	}
	return list
}

// SwapOrPage leaves the page file to Windows and swap to the rest: one of both.
func SwapOrPage(list []cause.Remedy) []cause.Remedy {
	for i := range list {
		if fix := list[i].Fix; fix == "raise_pagefile" || fix == "add_swap" {
			list[i].If = func(c *ledger.Case) bool { return c.Windows() == (fix == "raise_pagefile") }
		}
	}
	return list
}
