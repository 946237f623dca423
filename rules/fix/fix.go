// Package fix has what can be done: what it means, what it costs, how to do it
// and check it. A fix that computes has a file; the others stand together, by what
// they change. How a program spells it stands with the program.
package fix

import (
	"embed"
	"maps"
	"slices"
	"sync"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Fix is one thing a user can do.
type Fix struct {
	ID    string
	Title string // imperative: "Load it in 4 bit"
	// Tradeoff is what it costs: quality, speed, money, effort.
	Tradeoff string
	// Cost orders fixes that help alike.
	Cost Price
	// Check is how to see that it worked; Next what to try if it did not.
	Check, Next string
	// Needs is what it presupposes.
	Needs Needs
	// Told is what to do in words, for those whose program has no setting that is
	// known; "" where the title says it.
	Told string
	// Steps are what to paste, in the spelling of the program and version that
	// the case shows; nil: what is told, unless the program has its own.
	Steps func(c *ledger.Case) []step.Step
	// Why says why here, with figures; nil leaves it to the cause.
	Why func(c *ledger.Case) string
	// Effect computes whether it is enough; nil where nothing can be computed.
	Effect func(c *ledger.Case) *effect.Effect
	// Useless says why the fix, though usual advice, cannot help here: "" when
	// it can.
	Useless func(c *ledger.Case) string
}

// Price is what a fix costs the user: quality, speed, money, effort.
type Price uint8

const (
	free Price = iota + 1
	cheap
	moderate
	costly
	dear
)

var prices = [...]float64{free: 0.03, cheap: 0.12, moderate: 0.22, costly: 0.35, dear: 0.8}

// Share is how much of the worth of a fix goes with its price, at most 1.
func (p Price) Share() float64 { return prices[p] }

//go:embed docs/*.md
var docs embed.FS

// Doc explains the fix to a beginner, in paragraphs of Markdown: docs/ID.md.
func (f Fix) Doc() []string { return cause.Paragraphs(docs, f.ID) }

// Fixes returns every fix by its ID, in a map of the caller's own.
func Fixes() map[string]Fix { return maps.Clone(FixesByID()) }

// Cures returns the causes that list the fix as a remedy; engines add more.
func (f Fix) Cures() []cause.Rule {
	return slices.DeleteFunc(cause.All(), func(r cause.Rule) bool {
		return !slices.Contains(r.Cures(), f.ID)
	})
}

// FixesByID are all fixes, shared: see [Fixes].
var FixesByID = sync.OnceValue(func() map[string]Fix {
	byID := map[string]Fix{}
	for _, fix := range slices.Concat(ofWeights, ofWork, ofTraining, ofBudget, ofMachine, []Fix{lowerContext, lowerBatchSize, lowerResolution, streamDataset, killStaleProcess}) {
		if fix.Steps == nil {
			fix.Steps = step.Paste("text", fix.InWords())
		}
		byID[fix.ID] = fix
	}
	return byID
})

// Checks that several fixes share.
const (
	checkLoaded = "After loading, `torch.cuda.memory_allocated() / 2**30` and `torch.cuda.memory_reserved() / 2**30` (GiB) stay about 1 GiB below the GPU's total, and a short generation runs through."
	checkStep   = "One whole step (forward, backward, optimizer) runs through; `torch.cuda.max_memory_allocated() / 2**30` printed after it is what it really needs, in GiB."
	CheckCard   = "The same work runs through, and `nvidia-smi` shows about 1 GiB of GPU memory free meanwhile."
	CheckRAM    = "`free -h` (Linux; the column `available`) or Task Manager, Performance, Memory (Windows) while it runs: the figure stops falling before it reaches zero."
)
