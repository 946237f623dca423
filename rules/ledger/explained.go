package ledger

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
)

// Explained says what the bytes that were asked for are. rules/explain finds it.
type Explained struct {
	// What they are, after the number: "is the KV cache of 131,072 tokens".
	What string `json:"what"`
	// Terms are the factors whose product Bytes is; of several pieces each has
	// its own, in Parts, and Terms is empty.
	Terms []Term  `json:"terms,omitempty"`
	Parts []Piece `json:"parts,omitempty"`
	// Bytes is what the terms come to: what was asked for, but for the roundings
	// of the allocator and of what was printed. It is 0 for a number that is no
	// size.
	Bytes int64 `json:"bytes"`
	// Lines of the log that state the terms and the number.
	Lines []int `json:"lines,omitempty"`
	// Model is the model of the catalogue whose shape it is, where the log names
	// it or no other has that shape.
	Model string `json:"model,omitempty"`
	// Lower is the factor to lower, where one can be.
	Lower *Lower `json:"lower,omitempty"`
	// Cause is the cause that follows, "" where the number alone settles none.
	Cause string `json:"-"`
	// Asked is the number as printed, for the sentence.
	Asked string `json:"-"`
	// Sentence says it in English.
	Sentence string `json:"sentence"`
}

// Term is a factor: a count, or the bytes of one element.
type Term struct {
	Name  string `json:"name"`
	Value int64  `json:"value"`
}

// Piece is one of several summands.
type Piece struct {
	What  string `json:"what"`
	Terms []Term `json:"terms,omitempty"`
	Bytes int64  `json:"bytes"`
}

// Lower is a factor that can be lowered. To is the value that fits what there
// was room for, 0 where the log does not tell.
type Lower struct {
	Name string `json:"name"`
	To   int64  `json:"to,omitempty"`
	Fix  string `json:"fix"`
}

// Say writes the sentence.
func (x *Explained) Say() {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s", x.Asked, x.What)
	sep := ": "
	if len(x.Terms) > 0 {
		b.WriteString(sep + product(x.Terms))
	}
	for _, p := range x.Parts {
		b.WriteString(sep)
		sep = ", "
		b.WriteString(p.What)
		if len(p.Terms) > 0 && p.Bytes*8 > x.Bytes { // of a small part the size says enough
			fmt.Fprintf(&b, " = %s", product(p.Terms))
			continue
		}
		fmt.Fprintf(&b, " (%s)", units.Amount(p.Bytes))
	}
	if x.Model != "" {
		b.WriteString(", as in " + x.Model)
	}
	b.WriteString(".")
	x.Sentence = b.String()
}

// product writes "4,096 (tokens) x 151,936 (vocabulary) x 4 bytes".
func product(terms []Term) string {
	var out []string
	for _, t := range terms {
		switch n := Thousands(t.Value); {
		case t.Name == "bytes" && t.Value == 1:
			out = append(out, "1 byte")
		case slices.Contains([]string{"bytes", "bits", "tokens", "heads", "layers"}, t.Name):
			out = append(out, n+" "+t.Name)
		case t.Name == "":
			out = append(out, n)
		default:
			out = append(out, fmt.Sprintf("%s (%s)", n, t.Name))
		}
	}
	return strings.Join(out, " x ")
}

// Thousands writes a count with commas: 131,072.
func Thousands(n int64) string {
	s := strconv.FormatInt(n, 10)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
