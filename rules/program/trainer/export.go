package trainer

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// What trainers share with the repositories of papers.

// MMFamily is what the projects on MMEngine share.
var MMFamily = &mmFamily

// RAMGone are the ways in which a process is told that RAM is at its end.
var RAMGone = ramGone

// StepCard is a card on a training step that did not fit.
func StepCard(id string, said []string, means, not, source string, cures ...cause.Cure) cause.Card {
	return stepCard(id, said, means, not, source, cures...)
}

// OwnCard: nothing shows that others hold the card or that it was not full.
func OwnCard(c *ledger.Case) bool { return ownCard(c) }

// Filled are figures for sentences about a full card.
func Filled(c *ledger.Case) map[string]string { return filled(c) }

// Halved is half of a setting of the log, else a start.
func Halved(c *ledger.Case, start string, names ...string) string { return halved(c, start, names...) }
