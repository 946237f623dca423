package text

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
)

func TestStates(t *testing.T) {
	l := NewLog(clean.Lines("started\nused 2.5 of 31 GiB, 7 left, share 0.9, blocks 1,024, seqs 1,000, batch 8", 1))
	p := NewPattern(`used(?<allocated_gib>NUM)of(?<total>SIZE),(?<free_mib>INT)left,share(?<utilization>NUM),` +
		`blocks(?<kv_blocks>INT),seqs(?<is_max_num_seqs>INT),batch(?<set_batch_size>INT)(?<limit>,SIZE)?`)
	var f fact.Facts
	var g fact.Figures
	l.Find(p, 0, len(l.Squeezed())).States(&f, &g)
	assert.Equal(t, fact.Figures{
		Allocated:   &fact.Size{Bytes: 5 * units.GiB / 2, Text: "2.5", Line: 2},
		Total:       &fact.Size{Bytes: 31 * units.GiB, Text: "31 GiB", Line: 2},
		Free:        &fact.Size{Bytes: 7 * units.MiB, Text: "7", Line: 2},
		Utilization: &fact.Count{Value: 0.9, Text: "0.9", Line: 2},
	}, g)
	if assert.Len(t, f.Facts, 1) {
		assert.Equal(t, "kv_blocks", f.Facts[0].Name)
		assert.Equal(t, &fact.Count{Value: 1024, Text: "1,024", Line: 2}, f.Facts[0].Count)
	}
	assert.Equal(t, []fact.Setting{
		{Name: "max_num_seqs", Value: "1000", Line: 2, Default: true}, {Name: "batch_size", Value: "8", Line: 2},
	}, f.Settings)

	f = fact.Facts{}
	l.Find(p, 0, len(l.Squeezed())).States(&f, nil)
	assert.Len(t, f.Facts, 5, "without a failure every figure is a fact")
}
