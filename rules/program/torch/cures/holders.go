package cures

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// holders says what may hold a card where this log was made, and how much of it
// there is to gain.
func holders(c *ledger.Case) string {
	told := "If an earlier Python run of yours is still there, end it by its PID."
	if c.Windows() {
		told = "If an earlier Python run of yours is still there, end it in Task Manager."
	}
	switch shared := Ranked(c) || c.Reader.Cards > 1 || c.Signal(fact.InContainer) != nil || ledger.OnCluster(c) || c.Total.Bytes > 30*units.GiB; {
	case c.Signal("notebook") != nil:
		told += " Shut down other notebooks."
	case shared && c.Training():
		told = "Look for an earlier launch of yours, or a rank of this one on the wrong card: `ps -o pid,user,etime,cmd -p PID`, then `kill PID`. If it is somebody else's, use another GPU."
	case shared:
		told = "`ps -o pid,user,cmd -p PID` shows whose a listed process is. An earlier run of yours: `kill PID`. Several processes of this run: start fewer, or give each its own GPU. Somebody else's: use another GPU. vLLM, JAX and TensorFlow reserve most of a card."
	case ownScript(c):
		told += " On a desktop, browsers, games and viewers use it too."
	case (strings.HasSuffix(c.Reader.Work, "inference") || c.Reader.Work == "embedding") && len(c.Stack) > 1:
		told += " A second instance of it, or another model server, counts as well."
	default:
		told += " Restart notebook kernels, and close browsers and games."
	}
	if own := c.F().ProcessUsed; own != nil && own.Bytes == 0 {
		told += " This program seems to be in a container: look on the host."
	}
	if e := c.OthersAtMost; e.Has() && e.Bytes > 0 {
		told += " That can free about " + e.String() + "."
	}
	return told
}

// BeforeStart is a look before the program starts, and what it tells.
func BeforeStart(c *ledger.Case) []step.Step {
	full := "an earlier run of yours (end it by its PID), a notebook (restart its kernel), desktop programs, or another user"
	switch {
	case Ranked(c) || c.Reader.Cards > 1 || ledger.OnCluster(c):
		full = "an earlier launch of yours (end it by its PID), another user's job, or ranks of yours that took the wrong card"
	case ownScript(c):
		full = "an earlier run of yours (`kill PID`), desktop programs, or another user"
	}
	return []step.Step{{Kind: "text", Text: "If it is already full, something else holds it: " + full + ". If it is empty, this program itself fills it."}, {Kind: "shell", Text: "nvidia-smi"}}
}

// ownScript: the log shows a script of the reader's own at work, no notebook.
func ownScript(c *ledger.Case) bool {
	return c.Signal("notebook") == nil && slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool { return x.Own })
}

// ListedBytes is what the listed processes hold beside this one.
func ListedBytes(c *ledger.Case) (sum int64) {
	for _, p := range c.F().OtherProcesses {
		if !p.Own && p.PID != c.OurPID {
			sum += p.Bytes
		}
	}
	return sum
}
