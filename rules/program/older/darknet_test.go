package older

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// TestImagesAtOnce: what darknet prints counts, then batch / subdivisions of a .cfg.
func TestImagesAtOnce(t *testing.T) {
	cfg := func(batch, parts float64) []fact.Fact {
		return []fact.Fact{{Name: "darknet_batch", Count: &fact.Count{Value: batch}}, {Name: "darknet_parts", Count: &fact.Count{Value: parts}}}
	}
	for name, c := range map[string]struct {
		facts  fact.Facts
		want   int
		single bool
	}{
		"nothing":  {},
		"a .cfg":   {facts: fact.Facts{Facts: cfg(64, 8)}, want: 8},
		"singly":   {facts: fact.Facts{Facts: cfg(64, 64)}, want: 1, single: true},
		"its line": {facts: fact.Facts{Facts: cfg(64, 8), Settings: []fact.Setting{{Name: fact.OptionBatch, Flag: "mini_batch", Value: "4"}}}, want: 4},
	} {
		t.Run(name, func(t *testing.T) {
			got := &ledger.Case{Facts: &c.facts}
			assert.Equal(t, c.want, images(got))
			assert.Equal(t, c.single, images(got) == 1)
		})
	}
}
