package fix

import (
	"cmp"

	"github.com/oomdoc/oomdoc/rules/ledger"
)

var loadIn4Bit = Fix{
	ID:       "load_in_4bit",
	Title:    "Load it in 4 bit",
	Tradeoff: "Little quality; somewhat slower than 16 bit. Needs the bitsandbytes package.",
	Cost:     moderate,
	Check:    "`model.get_memory_footprint() / 2**30` is about a quarter of 2 GiB for each billion parameters; then a short generation runs.",
	Next:     "A smaller model, or `max_memory` with part of it in system memory.",
	Needs:    Needs{works: []string{"text-inference", "text-training"}, python: true, branch: "A language model", told: "load it in 4 bit."},
	Told:     "Load a 4-bit version of the model, if your program offers one.",
	Useless:  useless4bit,
}

func useless4bit(c *ledger.Case) string {
	return cmp.Or(ledger.SetQuantised(c, "load_in_4bit"), ledger.AlreadyQuantised(c), noBitsAndBytes(c))
}
