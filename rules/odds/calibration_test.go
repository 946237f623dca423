package odds

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
)

// TestCalibrated: whatever the odds, the likeliest cause stays first, none grows
// surer than it was said to be, and all add up to 1.
func TestCalibrated(t *testing.T) {
	stated := func(first float64) float64 {
		var share [Causes]float64
		for i := range share {
			share[i] = (1 - first) * 0.1 / (Causes - 2)
		}
		share[3], share[5] = first, (1-first)*0.9
		got := calibrated(share)
		sum := 0.0
		for i := range got {
			sum += got[i]
		}
		assert.InDelta(t, 1, sum, 1e-9)
		assert.Equal(t, share[3] > share[5], got[3] > got[5], "%.2f", first)
		assert.LessOrEqual(t, slices.Max(got[:]), slices.Max(share[:]))
		return got[3]
	}
	for first := 0.08; first <= 1; first += 0.01 {
		stated(first)
	}
	assert.InDelta(t, 0.61, stated(0.7), 0.03, "clues look better than they are")
	assert.InDelta(t, 0.92, stated(0.95), 0.015, "what is printed mostly holds")
}
