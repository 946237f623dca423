package fix

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
)

var multiGpu = Fix{
	ID:       "multi_gpu",
	Title:    "Spread it over more cards",
	Tradeoff: "Another card; some speed is lost between the cards.",
	Cost:     dear,
	Check:    "`nvidia-smi` after loading: all cards hold a share.",
	Next:     "If one card fills first, give it less.",
	Told:     "Spread it over more cards, if your program can.",
	Steps: func(c *ledger.Case) []step.Step {
		return []step.Step{{Kind: "env", Text: "export CUDA_VISIBLE_DEVICES=0,1"}, step.FromPretrained(c, "half = "+reader.HalfType(c)+"\n", reader.DtypeArgument(c)+"=half", `device_map="auto"`)}
	},
}
