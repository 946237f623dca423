package effect

import (
	"fmt"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Estimated is the effect of a fix by the model's size, nil where the size
// does not tell.
func Estimated(c *ledger.Case, fix string) *Effect {
	z, ok := ledger.SizingOf(c)
	if !ok {
		return nil
	}
	switch fix {
	case "use_lower_quant":
		return effectLowerQuant(z)
	case "load_in_4bit":
		return effectLoad(z, c, "nf4", "4 bit")
	case "load_in_8bit":
		return effectLoad(z, c, "int8", "8 bit")
	case "half_precision":
		return effectLoad(z, c, "bf16", "16 bit")
	case "cpu_offload":
		return effectOffload(z)
	case "multi_gpu":
		return effectCards(z)
	case "use_smaller_model":
		return effectSmaller(z)
	case "bigger_gpu":
		return Bigger(z)
	}
	return nil
}

// sized states an estimate against the card.
func sized(z ledger.Sizing, need, have int64, how string, args ...any) *Effect {
	return &Effect{NeedBytes: need, HaveBytes: have, Fits: need <= have, Basis: "estimate", Note: fmt.Sprintf(how, args...) + z.Basis()}
}

func effectLowerQuant(z ledger.Sizing) *Effect {
	format, need, ok := z.LowerQuant()
	if !ok {
		return nil
	}
	return sized(z, need, z.Have, "%s, all on the GPU, with %d tokens of context.", format, z.Setting.Context)
}

func effectLoad(z ledger.Sizing, c *ledger.Case, format, label string) *Effect {
	if z.Setting.Engine != "transformers" || format != "bf16" && ledger.AlreadyQuantised(c) != "" {
		return nil
	}
	need, ok := z.Need(z.Match, format)
	if !ok {
		return nil
	}
	return sized(z, need, z.Have, "Weights in %s, with %d tokens of context.", label, z.Setting.Context)
}

// effectOffload: the card takes what it can, the RAM must hold the rest.
func effectOffload(z ledger.Sizing) *Effect {
	weights, ok := ledger.WeightsIn(z.Case, z.Format)
	share := z.Have - ledger.BesideWeights
	if !ok || share <= 0 || weights <= share {
		return nil
	}
	return sized(z, share, z.Have, "%s of the weights stays on the GPU, and %s goes to system memory (RAM), which needs that much free.", units.Amount(share), units.Amount(weights-share))
}

// effectCards: how many cards like this one hold the weights.
func effectCards(z ledger.Sizing) *Effect {
	weights, ok := ledger.WeightsIn(z.Case, z.Format)
	each := z.Have - ledger.BesideWeights
	if !ok || each <= 0 || weights <= each {
		return nil
	}
	n := ledger.CeilDiv(weights, each)
	return sized(z, weights/n+ledger.BesideWeights, z.Have, "%d GPUs like this one hold it in %s: an equal part each, plus %s of overhead.", n, z.Format, units.Amount(ledger.BesideWeights))
}

func effectSmaller(z ledger.Sizing) *Effect {
	name, format, need, ok := z.Smaller()
	if !ok {
		return nil
	}
	return &Effect{NeedBytes: need, HaveBytes: z.Have, Fits: need <= z.Have, Basis: "estimate",
		Note: fmt.Sprintf("For example %s in %s, with %d tokens of context, computed from its shape.", name, format, z.Setting.Context)}
}

// Bigger is the smallest card that holds the model.
func Bigger(z ledger.Sizing) *Effect {
	need, ok := z.Need(z.Match, z.Format)
	if !ok || need <= z.Have {
		return nil
	}
	card, ok := fit.SmallestCard(need+need/20, "")
	if !ok {
		return nil
	}
	return sized(z, need, card.Bytes, "%s in %s with %d tokens of context needs a GPU with %d GB, such as %s.", z.Name, z.Format, z.Setting.Context, card.GB, card.Names[0])
}
