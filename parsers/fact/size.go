package fact

import (
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
)

// String writes the size in the unit that a reader expects, no finer than it
// was printed. All of a report writes it so.
func (s *Size) String() string {
	if s.Bytes == 0 && s.Text != "" {
		return s.Text // what could not be read
	}
	return units.AmountWithin(s.Bytes, s.Within())
}

// Within is how far rounding can put the size off: half of its last digit.
func (s *Size) Within() int64 {
	if s.Text == "" || s.Text[0] == '[' || s.Text[0] == '(' {
		return 0 // a shape, which is exact
	}
	number := strings.TrimRight(s.Text, "bBikKmMgGtTyYeEsS ")
	one, ok := units.Parse("1" + strings.TrimSpace(s.Text[len(number):]))
	if !ok || one <= 1 {
		return 0
	}
	_, decimals, _ := strings.Cut(number, ".")
	for range decimals {
		one /= 10
	}
	return one / 2
}
