package text

import (
	"strconv"

	"github.com/oomdoc/oomdoc/parsers/fact"
)

// WholeNumber reads digits; ok is false for anything else or too many.
func WholeNumber(s string) (int64, bool) {
	var n int64
	for i := 0; i < len(s); i++ {
		if s[i] < '0' || s[i] > '9' || n > 1<<58 {
			return 0, false
		}
		n = n*10 + int64(s[i]-'0')
	}
	return n, s != ""
}

// Letter reports a lower-case letter.
func Letter(c byte) bool { return c >= 'a' && c <= 'z' }

// noSize is above what [RawBytes] keeps, so that two of them can be added.
const noSize = 1 << 62

// RawBytes keeps sizes that no machine has.
func RawBytes(k Match, group string) *fact.Size {
	from, to, _ := k.Group(group)
	digits := k.Log.squeezed.Lower[from:k.Log.numberEnd(from, to)] // without what the next line ran into it
	n, err := strconv.ParseUint(digits, 10, 64)
	if err != nil || n >= noSize {
		return nil
	}
	return &fact.Size{Bytes: int64(n), Text: digits, Line: k.Line()}
}
