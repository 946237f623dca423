package ggml

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// fileThatFits is how large a GGUF of the same model may be with all its layers
// on the card, beside what cache and graph take there, and what the present one
// puts on the card. It needs weights that were all meant for it.
func fileThatFits(c *ledger.Case) (file, now int64, ok bool) {
	if b, over, ok := aboveMetal(c); ok {
		return b.Weights - over, b.Weights, b.Weights > over
	}
	b := budget(c)
	if c.Failure.Stage != "weights" || ledger.InHost(c) || severalDevices(c) || b.Free == 0 || b.Refused == 0 || b.Layers < 2 || b.Layers != layersInAll(c) {
		return 0, 0, false
	}
	file = b.Free - loadReserve - b.KV - b.Compute
	return file, b.Refused, file > 0 && file < b.Refused
}

// layersInAll is how many layers the model has, the output layer counted; 0 if
// the log does not say.
func layersInAll(c *ledger.Case) int64 {
	if f := c.F(); f.TotalLayers != nil {
		return int64(f.TotalLayers.Value)
	}
	if x, ok := c.Fact("n_layer"); ok {
		return int64(x.Count.Value) + 1
	}
	return 0
}

// effectFileThatFits: the largest file, by what the card had.
func effectFileThatFits(c *ledger.Case) *effect.Effect {
	file, now, ok := fileThatFits(c)
	if !ok || effect.Estimated(c, "use_lower_quant") != nil {
		return nil
	}
	b, over, metal := aboveMetal(c)
	if metal {
		return underLimit(c, b, over, now-file, fmt.Sprintf("a file of %s at most, instead of %s, leaves cache and graph their %s.", units.Format(file), units.Format(now), units.Format(b.KV+b.Compute)))
	}
	b = budget(c)
	e := b.effect(b.Free, b.Free, fmt.Sprintf("A file of %s at most, instead of %s; %s of the %s that were free are kept%s.", units.Format(file), units.Format(now), units.Format(b.Free-file), units.Format(b.Free), b.keptFor()))
	e.Certainty = effect.Bound
	return e
}

// keptFor says what is beside such a file.
func (b ggmlBudget) keptFor() string {
	if b.KV == 0 {
		return " for the driver's context and the graph; the KV cache, which the log does not tell, comes on top"
	}
	return fmt.Sprintf(" for the driver's context, the graph, and %s of KV cache for %d tokens", units.Format(b.KV), b.Context)
}

// noLayerFits reports that not even one layer can stay on the card; need is
// what that one and the rest take.
func (b ggmlBudget) noLayerFits(stage string) (need int64, none bool) {
	switch {
	case b.Free == 0 || b.Layers < 2 || b.Refused == 0:
		return 0, false
	case stage == "weights":
		need = b.perLayer() + b.Compute + b.Output + loadReserve
	case stage == "kv":
		need = (b.Weights+b.Refused)/b.Layers + b.Compute + contextReserve
	case stage == "compute" && b.Weights > 0:
		need = (b.Weights+b.KV)/b.Layers + b.Refused + contextReserve
	}
	return need, need > b.Free
}

func effectNoLayer(c *ledger.Case, b ggmlBudget) *effect.Effect {
	need, none := b.noLayerFits(c.Failure.Stage)
	if !none {
		return nil
	}
	return b.effect(need, b.Free, fmt.Sprintf("Not even one of the %d layers fits beside what the driver's context and the computation take: the card cannot help with these settings.", b.Layers))
}
