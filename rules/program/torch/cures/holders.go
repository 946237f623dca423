package cures

import (
	"slices"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// holders says what may hold a card where this log was made, and how much of it
// there is to gain.
func holders(c *ledger.Case) string {
	told := "An old python of yours: by its PID (`kill PID`, or in the system's task list)."
	switch shared := Ranked(c) || c.Reader.Cards > 1 || c.Signal(fact.InContainer) != nil || ledger.OnCluster(c) || c.Total.Bytes > 30*units.GiB; {
	case c.Signal("notebook") != nil:
		told += " Other notebooks: restart their kernels."
	case shared && c.Training():
		told = "An earlier launch of yours, or a rank of this one on the wrong card: `ps -o pid,user,etime,cmd -p PID`, then `kill PID`. What is somebody else's stays: take another card."
	case shared:
		told = "An earlier run of yours: `ps -o pid,user,etime,cmd -p PID`, then `kill PID`. What is somebody else's stays: take another card."
	case ownScript(c):
		told += " On a desktop also the browser, games, simulators and viewers."
	default:
		told += " Notebooks: restart their kernels. On a desktop also browser and games."
	}
	if e := c.OthersAtMost; e.Has() && e.Bytes > 0 {
		told += " About " + e.String() + " to gain."
	}
	return told
}

// BeforeStart is a look before the program starts, and what it tells.
func BeforeStart(c *ledger.Case) []step.Step {
	full := "an earlier run of yours (by its PID), a notebook (restart its kernel), a desktop's programs, another user"
	switch {
	case Ranked(c) || c.Reader.Cards > 1 || ledger.OnCluster(c):
		full = "an earlier launch of yours (by its PID), another user's job, or ranks of yours that took the wrong card"
	case ownScript(c):
		full = "an earlier run of yours (by its PID: `kill PID`), another user, a desktop's programs"
	}
	return []step.Step{{Kind: "text", Text: "Full already: " + full + ". Empty: it is this program itself."}, {Kind: "shell", Text: "nvidia-smi"}}
}

// ownScript: the log shows a script of the reader's own at work, no notebook.
func ownScript(c *ledger.Case) bool {
	return c.Signal("notebook") == nil && slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool { return x.Own })
}
