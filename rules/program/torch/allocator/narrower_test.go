package allocator

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/internal/workshop/made"
)

// While loading, what is held are weights; later the effect says how many of
// them it takes, and no fewer would do.
func TestNarrowerWeights(t *testing.T) {
	for _, n := range []narrower{InFourBit, InEightBit, InHalf} {
		made.Figures(5, func(r *rand.Rand) {
			c := made.Refused("pytorch", []string{"load", "inference"}[r.IntN(2)], units.GiB*(6+r.Int64N(90)), r.Int64N(units.GiB), units.GiB+r.Int64N(3*units.GiB))
			held, have, ok := WeightsAndRoom(c)
			if !ok {
				return
			}
			e := Narrower(c, n)
			least := n.least(c, held, have)
			short := c.F().Requested.Bytes - c.F().Free.Bytes
			require.GreaterOrEqual(t, Shrinks(least+2, n), short, "the least frees too little")
			if least > held {
				require.True(t, e == nil || !e.Fits)
				return
			}
			require.NotNil(t, e)
			require.Equal(t, e.NeedBytes <= e.HaveBytes, e.Fits)
		})
	}
}

// Where giving back memory is not enough, what is added says so.
func TestTwoChangesTogether(t *testing.T) {
	c := made.Refused("pytorch", "inference", 24*units.GiB, units.GiB, 6*units.GiB)
	assert.Empty(t, alsoSmaller(c, 6*units.GiB))
	assert.Contains(t, alsoSmaller(c, 4*units.GiB), "With 1/2 of the batch as well, the failed request needs at most 3.00 GiB")
	assert.Contains(t, alsoSmaller(c, 2*units.GiB), "1/4")
	c.Phase = "load"
	assert.Empty(t, alsoSmaller(c, 2*units.GiB))
}
