package kit

import (
	"slices"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// fixes are cures as the program itself spells them, the best first.
func fixes(ids ...string) []cause.Cure {
	out := make([]cause.Cure, len(ids))
	for i, id := range ids {
		out[i] = cause.Cure{Fix: id}
	}
	return out
}

// seen is what to do first where the log shows neither the card nor who holds it.
var seen = cause.Cure{
	Fix: "close_other_apps", Title: "See what else is on the card", If: func(c *ledger.Case) bool { return !c.Total.Has() && !atWork(c) },
	Told: "The log does not show how much of the card was free. Run this before you start the program. If the card is already nearly full, close what uses it. If not, use the other fixes.", Kind: "shell", Text: "nvidia-smi", Cost: "free",
}

// atWork: the log shows that the model was loaded and at work, so that what the
// program does itself comes first.
func atWork(c *ledger.Case) bool { return c.Training() || c.Phase == "inference" }

// looking puts the look at the card before the cures where the phase is open,
// and after the best of them where the program was at work.
func looking(look cause.Cure, cures []cause.Cure) []cause.Cure {
	after := look
	after.If = func(c *ledger.Case) bool { return !c.Total.Has() && atWork(c) }
	return slices.Concat([]cause.Cure{look}, cures[:1], []cause.Cure{after}, cures[1:])
}

// phase is what a program has to say of one phase; its own proof is all that the
// log must show besides.
func phase(id, headline, means, not, source string, when func(*ledger.Case) bool, cures []cause.Cure) cause.Card {
	return cause.Card{
		ID: id, Kinds: onCard, If: func(c *ledger.Case) bool { return !ledger.Roomy(c) && ledger.NeverFits(c) == "" && when(c) },
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: headline,
		Means: means, Not: not, Cures: looking(seen, cures), Sources: []string{source},
	}
}

// learning is a program in training.
func learning(name, means, not, source string, cures ...string) cause.Card {
	return phase(name+"/train", "ran out of GPU memory[[ ({total})]] in training", means, not, source, (*ledger.Case).Training, fixes(cures...))
}

// working is a program in use.
func working(name, doing, means, not, source string, cures ...string) cause.Card {
	k := phase(name+"/use", "ran out of GPU memory[[ {while}]]", means, not, source, func(c *ledger.Case) bool { return !c.Training() && c.Phase != "load" }, fixes(cures...))
	k.Figures = while(doing)
	return k
}

// while says what a program was doing, where the log shows that it was in use.
func while(doing string) func(*ledger.Case) map[string]string {
	inUse := map[string]string{"inference": doing}
	return func(c *ledger.Case) map[string]string { return map[string]string{"while": inUse[c.Phase]} }
}

// opening is a program whose models found no room.
func opening(name, means, not, source string, cures ...string) cause.Card {
	k := phase(name+"/weights", "ran out of GPU memory[[ ({total})]] while it loaded its models", means, not, source, func(c *ledger.Case) bool { return c.Phase == "load" }, fixes(cures...))
	k.Cause = cause.ModelTooLarge
	return k
}

// ramFilled is a program that filled the computer's own memory.
func ramFilled(name, means, not, source string, cures ...string) cause.Card {
	return cause.Card{
		ID: name + "/ram", Kinds: offRAM, Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of system memory (RAM)", Means: means, Not: not, Cures: fixes(cures...), Sources: []string{source},
	}
}

// noSums: the processor takes all of it, so that no share is to be computed.
var noSums = map[string]func(*ledger.Case) *effect.Effect{"cpu_offload": func(*ledger.Case) *effect.Effect { return nil }}

// notTrained leaves the CPU to those who do not train, and the batch size to
// those who do.
func notTrained(list []cause.Remedy) []cause.Remedy {
	for i := range list {
		if fix := list[i].Fix; fix == "cpu_offload" || fix == "lower_batch_size" {
			list[i].If = func(c *ledger.Case) bool { return c.Training() == (fix == "lower_batch_size") }
		}
	}
	return list
}

// swapOrPage leaves the page file to Windows and swap to the rest: one of both.
func swapOrPage(list []cause.Remedy) []cause.Remedy {
	for i := range list {
		if fix := list[i].Fix; fix == "raise_pagefile" || fix == "add_swap" {
			list[i].If = func(c *ledger.Case) bool { return c.Windows() == (fix == "raise_pagefile") }
		}
	}
	return list
}
