package trainer

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// What trainers share with the rooms of repositories.

// MMFamily is what the projects on MMEngine share.
var MMFamily = &mmFamily

// StepCard is a card on a training step that did not fit.
func StepCard(id string, said []string, means, not, source string, cures ...cause.Cure) cause.Card {
	return stepCard(id, said, means, not, source, cures...)
}

// RAMGone are the ways in which a process is told that RAM is at its end.
var RAMGone = ramGone

// Own reports that the card is full and the program's own, in one piece.
func Own(c *ledger.Case) bool { return ownCard(c) }

// Ordinary reports that besides what was asked for is no single piece that no
// usual step has.
func Ordinary(c *ledger.Case) bool { return ordinary(c) }

// Filled is the card's size where the program fills it, for sentences.
func Filled(c *ledger.Case) map[string]string { return filled(c) }

// TextFigures are the figures of a step of a language model.
func TextFigures(c *ledger.Case) map[string]string { return textFigures(c) }

// Halved is half of a setting of the log, else a start.
func Halved(c *ledger.Case, start string, names ...string) string { return halved(c, start, names...) }

// Rounded is a count rounded to what it can mean.
func Rounded(n int64) string { return roundCount(n) }
