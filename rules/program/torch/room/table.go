package room

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Tabled: a list in the log shows who holds the card.
func Tabled(c *ledger.Case) bool { _, ok := Holder(c); return ok }

// IdleCard takes another card where a list in the log shows which one is empty.
var IdleCard = cause.Cure{
	Fix: "select_gpu", Title: "Take a card that is nearly empty", Cost: "free", If: func(c *ledger.Case) bool { return IdleInTable(c) != nil },
	Steps: func(c *ledger.Case) []step.Step {
		d := IdleInTable(c)
		told := fmt.Sprintf("The list in the log shows GPU %d with %s of %s in use. Before the start, in the same shell:", d.Index, units.Amount(d.Used.Bytes), units.Amount(d.Total.Bytes))
		return []step.Step{{Kind: "text", Text: told}, step.Environ(c, "CUDA_VISIBLE_DEVICES", strconv.Itoa(d.Index))}
	},
}

// Shown says what a list in the log shows of the card that refused.
func Shown(c *ledger.Case) map[string]string {
	told := "If `nvidia-smi` shows it empty, the model alone is too large, or the driver is in a bad state."
	if d := FullInTable(c); d != nil {
		told = fmt.Sprintf("The list in the log shows GPU %d with %s of %s in use.", d.Index, units.Amount(d.Used.Bytes), units.Amount(d.Total.Bytes))
		if p, ok := Holder(c); ok {
			told = fmt.Sprintf("%s, %s of it by process %d.", strings.TrimSuffix(told, "."), units.Amount(p.Bytes), p.PID)
		}
	}
	return map[string]string{"shown": told}
}

// LittleInTable is the card in a pasted table that shows hardly any of it in use,
// nil where there is none.
func LittleInTable(c *ledger.Case) *fact.Device {
	for i := range c.Facts.Devices {
		if d := &c.Facts.Devices[i]; d.Index == max(ledger.GPU(c), 0) && d.Used != nil && d.Used.Bytes < units.GiB && d.Total != nil && ledger.Near(d.Total.Bytes, c.Total.Bytes, units.GiB) {
			return d
		}
	}
	return nil
}
