package fit

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

// The parameter counts of the catalogue are those of its shapes.
func TestParametersRecomputed(t *testing.T) {
	for _, m := range Models() {
		tensors := m.tensors()
		if tensors == nil {
			assert.Equal(t, "diffusion", m.Kind, m.ID)
			continue
		}
		var n, active int64
		for _, x := range tensors {
			n += x.elements()
			active += activeElements(m, x)
		}
		assert.Equal(t, m.Parameters, n, m.ID)
		if m.ActiveParameters > 0 {
			assert.InEpsilon(t, m.ActiveParameters, active, 0.001, m.ID)
		}
	}
}

// activeElements counts the experts that one token meets; published counts have
// all of their biases.
func activeElements(m *Model, x tensor) int64 {
	if m.MoE != nil && x.count == m.MoE.Experts && x.role != roleExpertBias {
		return x.elements() / x.count * m.MoE.Active
	}
	return x.elements()
}

func TestCatalogueIsSound(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range Models() {
		assert.False(t, seen[m.ID], "twice: %s", m.ID)
		seen[m.ID] = true
		assert.Positive(t, m.Parameters, m.ID)
		if m.Pattern != "" {
			assert.Len(t, m.Pattern, m.Layers, m.ID)
		}
		for _, f := range Formats() {
			w, err := m.Weights(f)
			assert.NoError(t, err)
			assert.Positive(t, w.GPU, "%s %s", m.ID, f)
		}
	}
}
