package effect

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// HostLimit: the limit was reached, so that more than it is needed. How
// much more, no log of a kill says.
func HostLimit(c *ledger.Case) *Effect {
	gib := step.TwiceLimit(c)
	if gib == 0 || !ledger.Capped(c) || c.Root(fact.YARNKill) || strings.Contains(ledger.CgroupPath(c), "init.scope") {
		return nil
	}
	f := c.F()
	held := ""
	if rss := f.KilledRSS; rss != nil && rss.Bytes <= f.Limit.Bytes {
		held = fmt.Sprintf(" The process that was killed held %s of it.", units.Amount(rss.Bytes))
	}
	return &Effect{NeedBytes: max(f.Limit.Bytes, ledger.SizeOf(f.KilledRSS)) + 1, HaveBytes: gib * units.GiB, Fits: true, Basis: "log", Certainty: Bound,
		Note: fmt.Sprintf("The limit of %s was reached: more than that is needed, and how much more a kill does not say. A lower bound; %d GiB is twice the limit, to see what it comes to.%s", f.Limit, gib, held)}
}
