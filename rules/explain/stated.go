package explain

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/rules/ledger"
)

// noSize reads numbers that no tensor has.
func noSize(q *Question) *ledger.Explained {
	const tebi, pebi = 1 << 40, 1 << 50
	x := &ledger.Explained{} // of the cause the parsers' words say more
	switch {
	case q.Asked >= pebi:
		x.Asked, x.What = "The size in the message", "is not a real size: a length was probably overwritten, negative or never set"
	case q.Asked >= tebi && ledger.OnCard(q.C):
		x.What = "is more than any GPU has: probably the number itself is wrong, or two large counts were multiplied"
	default:
		return nil
	}
	return x
}

// wrapped reads a number that is too large to be kept as a size: 64 bits without
// a sign, in which a size below zero is 2^64 less a little. PyTorch prints
// "more than 1EB" for those (format_size, c10/cuda/CUDACachingAllocator.cpp).
func wrapped(c *ledger.Case) *ledger.Explained {
	x := &ledger.Explained{Cause: "oversized_allocation", Lines: []int{c.Failure.Line}}
	n, ok := unsigned(c.Failure.Message)
	switch below := -n; {
	case ok && n < 0 && below > 0:
		x.Asked = "The size in the message"
		x.What = fmt.Sprintf("is a negative number (-%s) read as a huge one", ledger.Thousands(below))
		if below <= 1<<31 && below >= 1<<20 {
			x.What += ", as when a count above 2^31 overflows 32 bits"
		}
	case strings.Contains(c.Failure.Message, "allocate 1717986918"): // 2^34 GiB are 2^64 bytes
		x.Asked, x.What = "The size in the message", "is a negative number read as a huge one"
	case ledger.AbsurdSize(c):
		x.Asked, x.What = "The size in the message", "is not a real size: a length was probably overwritten, negative or never set"
	default:
		return nil
	}
	x.Lines = lines(x.Lines, 0)
	x.Say()
	return x
}

// unsigned is the number of twenty digits that a message says was to be
// allocated, as the size with a sign that it was. Drivers print totals and free
// figures of that kind too, which nobody asked for.
func unsigned(message string) (int64, bool) {
	at := 0
	for _, digits := range strings.FieldsFunc(message, func(r rune) bool { return r < '0' || r > '9' }) {
		at += strings.Index(message[at:], digits)
		before := strings.ToLower(message[max(0, at-48):at])
		at += len(digits)
		if n, err := strconv.ParseUint(digits, 10, 64); err == nil && len(digits) == 20 && strings.Contains(before, "alloc") {
			return int64(n), true
		}
	}
	return 0, false
}
