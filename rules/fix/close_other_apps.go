package fix

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
)

var closeOtherApps = Fix{
	ID:       "close_other_apps",
	Title:    "Close other programs that use memory",
	Tradeoff: "Free; you can't use them meanwhile.",
	Cost:     free,
	Check:    "Start again with them closed, and compare the free figure of the message (or Task Manager) with the one before.",
	Next:     "If little was gained, make the work itself smaller.",
	Told:     "Close other programs that use the same memory.",
	Steps:    stepsCloseApps,
}

func stepsCloseApps(c *ledger.Case) []step.Step {
	switch {
	case c.Windows():
		return []step.Step{{Kind: "ui", Text: "Task Manager, tab Details: sort by Commit size (and Dedicated GPU memory), end what you do not need: browsers, games, other Python programs."}}
	case c.Backend == "mps" || c.Backend == "metal":
		return []step.Step{{Kind: "ui", Text: "Activity Monitor, tab Memory: quit what stands on top and is not needed."}}
	case ledger.OnCard(c):
		return []step.Step{{Kind: "shell", Text: reader.Monitor(c) + "   # lists programs that use the card; close browsers, games, other AI programs"}}
	}
	return []step.Step{{Kind: "shell", Text: "ps -eo pid,rss,comm --sort=-rss | head -n 15   # the largest programs; close those you do not need"}}
}
