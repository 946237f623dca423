package data

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// savedLater is Redis' line of a save that began.
var savedLater = []string{"Background saving started by pid"}

func savedAgain(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Words, func(w fact.Word) bool { return w.Text == savedLater[0] && w.Line > c.Failure.Line })
}

// forkFigures say that a later save began, so that memory was short for a while.
func forkFigures(c *ledger.Case) map[string]string {
	told := map[string]string{"later": ""}
	if savedAgain(c) {
		told["later"] = "A later save began (\"Background saving started\"), so memory was short only for a while."
	}
	return told
}

// glutenFigures are those of the settings and the stats that Gluten prints
// below its message.
func glutenFigures(c *ledger.Case) map[string]string {
	told := map[string]string{"pool": "", "task": "", "worst": "", "held": "", "alone": "", "twice": "12g"}
	pool, task, held := int64(0), ledger.Sized(c, "gluten_task"), ledger.Sized(c, "gluten_held")
	if c.F().Limit != nil {
		pool = c.F().Limit.Bytes
	}
	if pool > 0 {
		told["pool"], told["twice"] = units.Amount(pool), strings.ReplaceAll(units.Amount((2*pool+units.GiB-1)/units.GiB*units.GiB), ".00 GiB", "g")
	}
	if task > 0 && pool > task {
		told["task"] = units.Amount(task)
	}
	if worst, ok := c.Fact("gluten_held"); ok && held > 0 && pool > 0 {
		name, _, _ := strings.Cut(strings.TrimSpace(worst.Text), ":")
		told["worst"], told["held"] = quote.Told(name), units.Amount(held)
		if held*10 >= pool*9 {
			told["alone"] = ", nearly all of it"
		}
	}
	return told
}
