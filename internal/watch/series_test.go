package watch

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/diagnose"
)

const gib = 1 << 30

// course makes points: each pair is how many seconds, and the GiB at its end.
func course(from float64, legs ...float64) []int64 {
	out, at := []int64{int64(from * gib)}, from
	for i := 0; i < len(legs); i += 2 {
		for k := range int(legs[i]) {
			out = append(out, int64((at+(legs[i+1]-at)*float64(k+1)/legs[i])*gib))
		}
		at = legs[i+1]
	}
	return out
}

func TestShape(t *testing.T) {
	for _, c := range []struct {
		name   string
		points []int64
		want   string
	}{
		{"a leak", course(1, 60, 30), diagnose.Climb},
		{"a leak after loading", course(0, 5, 4, 100, 20), diagnose.Climb},
		{"a leak in stairs", course(1, 5, 1, 1, 5, 5, 5, 1, 9, 5, 9, 1, 13, 5, 13, 1, 17, 5, 17, 1, 21, 5, 21, 1, 25, 5, 25, 1, 29), diagnose.Climb},
		{"a model that is loaded", course(0, 3, 1, 2, 20, 40, 20), diagnose.Jump},
		{"a model that does not fit", course(0.1, 3, 0.2, 3, 30), diagnose.Jump},
		{"a step too large", course(0, 3, 8, 60, 8, 2, 30), diagnose.Spike},
		{"nothing of note", course(8, 60, 8.5), diagnose.Flat},
		{"up and down again", course(1, 5, 20, 5, 1), diagnose.Flat},
		{"too short", course(1, 2, 30), ""},
		{"nothing", nil, ""},
	} {
		assert.Equal(t, c.want, shape(c.points), c.name)
	}
}

// TestSeriesIsBounded: a run of a month is kept in as few points as one of ten
// minutes, and its peak is not lost.
func TestSeriesIsBounded(t *testing.T) {
	var s series
	for i := range 30 * 86400 {
		n := int64(5 * gib)
		if i == 1_000_003 {
			n = 40 * gib
		}
		s.add(n)
	}
	assert.Less(t, cap(s.points), 2*maxPoints)
	told := s.told("RAM", 0)
	assert.EqualValues(t, 40*gib, told.Peak)
	assert.Contains(t, told.Bytes, int64(40*gib))
	assert.LessOrEqual(t, len(told.Bytes), shown)
	assert.EqualValues(t, 5*gib, told.Last)
}

// TestPeakBetweenSamples: what the system counted and nobody saw was at the end.
func TestPeakBetweenSamples(t *testing.T) {
	var s series
	for _, n := range course(8, 20, 8) {
		s.add(n)
	}
	told := s.told("RAM", 30*gib)
	assert.Equal(t, diagnose.Spike, told.Shape)
	assert.EqualValues(t, 30*gib, told.Peak)
	assert.EqualValues(t, 8*gib, told.Last)
}

func TestUsedOf(t *testing.T) {
	for line, want := range map[string]int64{"0, 18432": 18432 << 20, " 3 , 0 ": 0} {
		_, used, ok := usedOf(line)
		assert.True(t, ok, line)
		assert.Equal(t, want, used, line)
	}
	for _, line := range []string{"", "0, [N/A]", "No devices were found", "-1, 5", "900, 5", "0"} {
		_, _, ok := usedOf(line)
		assert.False(t, ok, line)
	}
}
