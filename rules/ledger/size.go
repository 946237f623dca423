package ledger

import (
	"math"
	"strconv"

	"github.com/oomdoc/oomdoc/parsers/fact"
)

// Requested returns the bytes asked for, 0 if the log does not say.
func Requested(c *Case) int64 {
	if r := c.F().Requested; r != nil {
		return r.Bytes
	}
	return 0
}

// SizeOf is the bytes of a figure, 0 where it is not stated.
func SizeOf(s *fact.Size) int64 {
	if s == nil {
		return 0
	}
	return s.Bytes
}

// Proportion is size x part / whole, rounded up.
func Proportion(size, part, all int64) int64 {
	return int64(math.Ceil(float64(size) * float64(part) / float64(all)))
}

// CeilDiv divides and rounds up.
func CeilDiv(a, b int64) int64 { return (a + b - 1) / b }

// Whole reads a whole number.
func Whole(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil
}
