// Package data knows databases and query engines, which bound what they take
// themselves, and tools of tables and pictures beside them.
package data

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

// refused are the kinds of a refusal that names no card.
var refused = []fact.Kind{fact.PlainHost, fact.PlainMemory, fact.NativeAlloc, fact.PythonMemory, fact.BadAlloc}

// server is a program whose reader runs it and edits its settings.
func server(name, shown string, sources program.Sources, cards []cause.Card, proofs ...string) program.Program {
	return program.Program{Name: name, Shown: shown, Edits: "admin", Work: "data", Language: "other", Proofs: proofs, Sources: sources, Cards: cards}
}

// ownLimit refutes swap where a program reached a limit of its own.
var ownLimit = map[string]func(*ledger.Case) string{"add_swap": func(*ledger.Case) string {
	return "The limit is the program's own; the machine may have memory left."
}}

// first is what is left of the remedies for a full machine where it is not full: the
// first of the card's own.
func first(k cause.Card) map[string][]cause.Remedy {
	return map[string][]cause.Remedy{cause.HostMemory: {{Fix: k.Cures[0].Fix, Fit: cause.Helps}}}
}

// bounded are the figures of a message that states a limit.
func bounded(c *ledger.Case) map[string]string {
	told := map[string]string{"bound": "", "twice": ""}
	if limit := c.F().Limit; limit != nil {
		told["bound"], told["twice"] = units.Amount(limit.Bytes), units.Amount(2*limit.Bytes)
	}
	return told
}

// bundles are servers for Windows with MySQL in them.
var bundles = []string{"Wampserver", "wampmysqld", "C:/wamp", "C:/xampp", "mysqld.exe"}

// onWindows: by what the log shows, or by a bundle that exists for Windows.
func onWindows(c *ledger.Case) bool { return reader.OnWindows(c) || c.Near(bundles...) }

var (
	swap = cause.Cure{If: when.Not(onWindows), Fix: "add_swap", Title: "Add 4 GB of swap", Kind: "shell", Text: "sudo fallocate -l 4G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile", Cost: "4 GB of disk"}
	look = cause.Cure{If: when.Not(onWindows), Fix: "close_other_apps", Title: "Check what uses the RAM", Kind: "shell", Text: "free -h; ps -eo pid,rss,args --sort=-rss | head -6", Told: "Stop what a database server does not need. In a container its limit counts, not the machine's RAM.", Cost: "free"}
)
