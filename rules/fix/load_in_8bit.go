package fix

import (
	"cmp"

	"github.com/oomdoc/oomdoc/rules/ledger"
)

var loadIn8Bit = Fix{
	ID:       "load_in_8bit",
	Title:    "Load it in 8 bit",
	Tradeoff: "Hardly any quality; slower than 16 bit, and slower than 4 bit.",
	Cost:     moderate,
	Check:    "`model.get_memory_footprint() / 2**30` is about half of 2 GiB for each billion parameters.",
	Next:     "4 bit.",
	Needs:    Needs{works: []string{"text-inference", "text-training"}, python: true, branch: "A language model", told: "load it in 8 bit."},
	Told:     "Load an 8-bit version of the model, if your program offers one.",
	Useless:  useless8bit,
}

func useless8bit(c *ledger.Case) string {
	return cmp.Or(ledger.SetQuantised(c, "load_in_4bit", "load_in_8bit"), ledger.AlreadyQuantised(c), noBitsAndBytes(c))
}
