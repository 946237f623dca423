package ledger

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
)

// Entry is one number of an incident. Its zero value is a number that the log
// does not give, which is not the same as no bytes.
type Entry struct {
	Bytes int64 `json:"bytes"` // may be negative
	// Line states it, 0 where it was reckoned.
	Line int `json:"line,omitempty"`
	// From are the figures that it is or was reckoned from.
	From []string `json:"from"`
	// Within is how far the roundings of what was printed can put it off.
	Within int64 `json:"within,omitempty"`
}

// Has reports that the number is known.
func (e Entry) Has() bool { return e.From != nil }

// String writes the number with its unit, no finer than it is known.
func (e Entry) String() string { return units.AmountWithin(e.Bytes, e.Within) }

// Round is a card's size as people say it: "24 GB" for 23.65 GiB would be a
// guess, so it is the log's figure without decimals where that says the same.
func (e Entry) Round() string {
	text := e.String()
	if whole, ok := strings.CutSuffix(text, ".00 GiB"); ok {
		return whole + " GiB"
	}
	return text
}

// stated is a figure of the log.
func stated(key string, s *fact.Size) Entry {
	if s == nil {
		return Entry{}
	}
	return Entry{Bytes: s.Bytes, Line: s.Line, From: []string{key}, Within: s.Within()}
}

func (e Entry) plus(other Entry) Entry { return e.reckoned(other, e.Bytes+other.Bytes) }

func (e Entry) minus(other Entry) Entry { return e.reckoned(other, e.Bytes-other.Bytes) }

func (e Entry) reckoned(other Entry, bytes int64) Entry {
	return Entry{Bytes: bytes, From: slices.Concat(e.From, other.From), Within: e.Within + other.Within}
}

// Percent is a share without decimals, never 0 % of something; "" where
// the whole is not known.
func Percent(part, all Entry) string {
	if all.Bytes <= 0 {
		return ""
	}
	p := float64(part.Bytes) / float64(all.Bytes) * 100
	if p > 0 && p < 1 {
		return "under 1 %"
	}
	return fmt.Sprintf("%.0f %%", p)
}

// Near reports that two amounts differ by no more than within.
func Near(a, b, within int64) bool { return a-b <= within && b-a <= within }

// Requested returns the bytes asked for, 0 if the log does not say.
func Requested(c *Case) int64 { return SizeOf(c.F().Requested) }

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
