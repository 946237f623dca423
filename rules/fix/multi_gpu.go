package fix

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
)

var multiGpu = Fix{
	ID:    "multi_gpu",
	Title: "Spread it over more cards",
	Doc: []string{
		"Weights can be split over several cards: `device_map=\"auto\"` puts whole layers on each (one card works at a time), tensor parallelism splits every layer (all work at once). Two cards of 12 GB hold a little less than one of 24: each has its own context and buffers, 0.5 to 1 GiB.",
		"Plain data parallel training does not help: every card holds a full copy.",
	},
	Tradeoff: "Another card; some speed is lost between the cards.",
	Cost:     0.6,
	Check:    "`nvidia-smi` after loading: all cards hold a share.",
	Next:     "If one card fills first, give it less.",
	Steps: func(c *ledger.Case) []step.Step {
		return []step.Step{{Kind: "env", Text: "export CUDA_VISIBLE_DEVICES=0,1"}, step.FromPretrained(c, "half = "+reader.HalfType(c)+"\n", reader.DtypeArgument(c)+"=half", `device_map="auto"`)}
	},
}
