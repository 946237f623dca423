package fix

import (
	"cmp"

	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
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
	Steps: func(c *ledger.Case) []step.Step {
		return []step.Step{{Kind: "shell", Text: "pip install -U bitsandbytes accelerate"}, step.FromPretrained(c,
			"config = BitsAndBytesConfig(\n    load_in_4bit=True,\n    bnb_4bit_quant_type=\"nf4\",\n    bnb_4bit_use_double_quant=True,\n    bnb_4bit_compute_dtype="+reader.HalfType(c)+",\n)\n",
			"quantization_config=config", `device_map="auto"`)}
	},
	Useless: useless4bit,
}

func useless4bit(c *ledger.Case) string {
	return cmp.Or(ledger.SetQuantised(c, "load_in_4bit"), ledger.AlreadyQuantised(c), noBitsAndBytes(c))
}
