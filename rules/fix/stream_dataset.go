package fix

import (
	"fmt"

	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var streamDataset = Fix{
	ID:       "stream_dataset",
	Title:    "Stream the data instead of loading all of it",
	Tradeoff: "The order is less random with streaming; some rewriting.",
	Cost:     moderate,
	Check:    CheckRAM,
	Next:     "Fewer workers; a smaller prefetch.",
	Told:     "Read the data in pieces instead of all at once.",
	Steps:    step.Stream,
	Why:      whyStream,
}

// whyStream names the line that makes a list longer.
func whyStream(c *ledger.Case) string {
	if !ledger.GrowsList(c) {
		return ""
	}
	return fmt.Sprintf("The line that failed makes a list longer (line %d). If that goes on for as long as the program runs, no memory is enough, and swap or a higher limit only delay the end.", ledger.FailedAt(c, "appends").Line)
}
