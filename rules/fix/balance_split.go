package fix

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var balanceSplit = Fix{
	ID:       "balance_split",
	Title:    "Split the model unevenly over the cards",
	Tradeoff: "A few trials to find the split; no quality.",
	Cost:     cheap,
	Check:    "`nvidia-smi` after loading: every card has 1 to 2 GiB to spare, the first one included.",
	Next:     "If all cards are nearly full, the model is too big for their sum.",
	Told:     "Split the model unevenly over the cards, less on the one that is full.",
	Steps:    stepsBalance,
}

func stepsBalance(c *ledger.Case) []step.Step {
	if c.Training() {
		return []step.Step{{Kind: "python", Text: "import os, torch\n\ntorch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))   # before anything touches a GPU\ncheckpoint = torch.load(path, map_location=\"cpu\")      # not onto card 0"}}
	}
	full, other := ledger.GPU(c), ledger.OtherGPU(c)
	share := int64(5)
	if t := c.F().Total; t != nil {
		share = max(t.Bytes*3/5/units.GiB, 1)
	}
	return []step.Step{step.FromPretrained(c, "", `device_map="auto"`, fmt.Sprintf("max_memory={%d: \"%dGiB\", %d: \"%dGiB\"}", full, share, other, max(share*3/2, share+1)))}
}
