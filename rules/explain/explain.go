// Package explain says what the bytes that were asked for are: which tensor, of
// which factors. It says so only where chance is no explanation.
//
// A size can be matched by accident. 2.00 GiB is known to half a hundredth, and
// a model has some hundred tensors: some of them will always be near. So a
// reading counts only where the number of candidates that would fit a number
// like this one by chance is small:
//
//	expected = candidates of this order / numbers of this order that could have been printed
//
// Candidates of this order are the distinct sizes tried between half and double
// the number. What could have been printed is that range in steps of what the
// number is known to: twice its rounding, the 2 MiB of PyTorch's allocator, a
// byte. A round number tells less than it has digits: factors are powers of two
// more often than not, so that a size whose lowest set bit is 2^27 says as much
// as its odd part and no more. Its step is twice that bit, unless the log names
// the part ("failed to allocate buffer for kv cache"): then which tensor it is
// is no question, and that its factors are round no coincidence.
//
// The bound is [MostChance]. What widens a search (no model named, no phase)
// raises the expected number, what the log states lowers it; no reading needs an
// exception. Where two readings fit, neither is given.
package explain

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// MostChance is how many candidates may be expected to fit by chance.
const MostChance = 0.035

// smallest: below, too many things have that size.
const smallest = 32 * units.MiB

// Reading says what a number is, nil where it does not know or is not sure.
type Reading func(q *Question) *ledger.Explained

// Of explains the number of a case, nil where that is not sure. Programs' own
// readings go before those that suit any.
func Of(c *ledger.Case, own []Reading) *ledger.Explained {
	size := c.F().Requested
	if size == nil {
		return wrapped(c)
	}
	q := &Question{C: c, Asked: size.Bytes, Within: size.Within()}
	for _, read := range append(slices.Clip(own), noSize) {
		x := read(q)
		if x == nil || x.Bytes < smallest && x.Bytes > 0 {
			continue
		}
		x.Asked = cmp.Or(x.Asked, map[bool]string{true: ledger.Thousands(size.Bytes) + " bytes", false: size.String()}[q.Within == 0])
		x.Lines = lines(x.Lines, size.Line)
		x.Say()
		return x
	}
	return nil
}

func lines(stated []int, own int) []int {
	out := append([]int{own}, stated...)
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(n int) bool { return n <= 0 })
}

// Question is the number that asks what it is.
type Question struct {
	C      *ledger.Case
	Asked  int64
	Within int64 // how far rounding can put it off
}

// OnCard: PyTorch's caching allocator, which prints what it asks the driver for.
func (q *Question) OnCard() bool {
	return q.C.Root(fact.TorchAlloc, fact.TorchAsync) && !ledger.InHost(q.C) && q.C.Backend != "cpu" && q.C.Backend != "mps"
}

// printed is what a tensor of so many bytes would be printed as.
func (q *Question) printed(bytes int64) int64 {
	if q.OnCard() {
		return fit.PyTorchAllocation(bytes)
	}
	return bytes
}

// Search is one set of candidates that is held against the number.
type Search struct {
	*Question
	// Named: the log says which part of the model it is.
	Named bool
	// Slack is what the allocator may add.
	Slack int64
	tried map[int64]bool
	fits  []*ledger.Explained
}

// Size adds a candidate and reports whether it is the number.
func (s *Search) Size(bytes int64) bool {
	printed := s.printed(bytes)
	if bytes <= 0 || printed < s.Asked/2 || printed/2 > s.Asked || !s.Named && s.Within == 0 && grain(printed) != grain(s.Asked) {
		return false
	}
	if s.tried == nil {
		s.tried = map[int64]bool{}
	}
	s.tried[printed] = true
	d := s.Asked - printed
	return d >= -s.Within && d <= s.Within+s.Slack
}

// Try adds a candidate that is a product.
func (s *Search) Try(what string, terms ...ledger.Term) *ledger.Explained {
	bytes := int64(1)
	for _, t := range terms {
		if t.Value <= 0 || bytes > 1<<60/t.Value {
			return nil
		}
		bytes *= t.Value
	}
	return s.Add(&ledger.Explained{What: what, Terms: terms, Bytes: bytes})
}

// Sum adds a candidate of several pieces.
func (s *Search) Sum(what string, parts ...ledger.Piece) *ledger.Explained {
	bytes := int64(0)
	for _, p := range parts {
		bytes += p.Bytes
	}
	return s.Add(&ledger.Explained{What: what, Parts: parts, Bytes: bytes})
}

// Add keeps a candidate if it is the number.
func (s *Search) Add(x *ledger.Explained) *ledger.Explained {
	if !s.Size(x.Bytes) {
		return nil
	}
	s.fits = append(s.fits, x)
	return x
}

// Step is what the number is known to.
func (s *Search) Step() int64 {
	switch {
	case s.OnCard():
		return max(2*s.Within, 2*units.MiB)
	case s.Named:
		return max(2*s.Within, s.Slack, 1)
	}
	return max(2*s.Within, 2*grain(s.Asked))
}

// chance is how many of the candidates would fit by chance.
func (s *Search) chance() float64 {
	return float64(len(s.tried)) * float64(s.Step()) / (1.5 * float64(s.Asked))
}

// Found is the one reading, nil where there are several or chance may have made it.
func (s *Search) Found() *ledger.Explained {
	if len(s.fits) == 0 || s.chance() > MostChance {
		return nil
	}
	first := s.fits[0]
	for _, x := range s.fits[1:] {
		if x.What != first.What || fmt.Sprint(x.Terms, x.Parts) != fmt.Sprint(first.Terms, first.Parts) {
			return nil
		}
		if x.Model != first.Model {
			first.Model = "" // several models have that shape
		}
	}
	return first
}

// grain is the lowest set bit.
func grain(n int64) int64 { return n & -n }

// Term is a factor of a product.
func Term(name string, value int64) ledger.Term { return ledger.Term{Name: name, Value: value} }

// RoomFor is the value of a factor that fits what there was room for, a
// twentieth left free for what varies, in whole multiples; 0 where the room is
// not known or would be none.
func (q *Question) RoomFor(bytes, value, multiple int64) int64 {
	room := q.C.Room
	if !room.Has() || room.Bytes <= 0 || bytes <= 0 || room.Bytes >= bytes {
		return 0
	}
	return int64(float64(value)*0.95*float64(room.Bytes)/float64(bytes)) / multiple * multiple
}
