package plain

import (
	"cmp"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// role is what an amount in a message is.
type role byte

const (
	wanted role = iota + 1
	available
	limit
	used
)

// labels stand before or behind an amount and say what it is. The longer ones
// come first where one holds another.
var labels = []struct {
	word string
	role role
}{
	{"allocated:", used}, {"freed", used}, {"delta:", wanted}, {"wouldneed", wanted}, {"wouldbe", wanted}, {"allocat", wanted}, {"request", wanted}, {"requir", wanted}, {"needs", wanted}, {"needed", wanted}, {"need", wanted}, {"wanted", wanted}, {"asked", wanted}, {"asking", wanted}, {"estimated", wanted}, {"woulduse", wanted}, {"tryingto", wanted}, {"reserv", wanted},
	{"available", available}, {"usable", available}, {"free", available}, {"left", available}, {"remaining", available}, {"only", available}, {"youhave", available}, {"gpuhas", available}, {"onlyhas", available}, {"avail", available},
	{"limit", limit}, {"maximum", limit}, {"max", limit}, {"budget", limit}, {"total", limit}, {"capacity", limit}, {"allowed", limit}, {"quota", limit},
	{"inuse", used}, {"used", used}, {"usage", used}, {"using", used}, {"current", used}, {"uses", used},
}

var amountPattern = text.NewPattern(`(?<![0-9.]|\(-)(?:(?<n>SIZE)|(?<raw>[1-9]\d{7,15})(?![\d._]))`)

// mostAmounts is how many amounts of one message are looked at.
const mostAmounts = 6

// amounts reads what a message says of wants, free room and limits, by the words
// beside each number: "need 12.5 GB, 7.9 GB available", "2.1 GB of 2 GB used".
func amounts(m text.Message) map[role]*fact.Size {
	found := map[role]*fact.Size{}
	from, to, _ := own(m)
	s := m.Log.Squeezed()
	for at, n := from, 0; n < mostAmounts; n++ {
		k := m.Log.Find(amountPattern, at, to)
		if !k.Ok() {
			break
		}
		start, end := k.Span()
		r := roleOf(s[at:start], s[end:min(to, end+24)])
		if end < to && s[end] == '/' { // "7.4 GiB/7.4 GiB used"
			r = used
		} else if start > from && s[start-1] == '/' {
			r = limit
		}
		if found[r] == nil && r != 0 {
			found[r] = cmp.Or(k.Size("n"), text.RawBytes(k, "raw"))
		}
		at = end
	}
	return found
}

// roleOf tells by the word that follows an amount at once, or else by the last
// one before it.
func roleOf(before, after string) role {
	for _, filler := range []string{"of", "memory", "ram", "vram", "gpu", "device", "is", "are", "was", "were", "("} {
		after = strings.TrimPrefix(after, filler)
	}
	for _, l := range labels {
		if rest, ok := strings.CutPrefix(after, l.word); ok && !strings.HasPrefix(rest, ":") && !strings.HasPrefix(rest, "=") { // of the next amount
			return l.role
		}
	}
	best, at := role(0), -1
	for _, l := range labels {
		if i := strings.LastIndex(before, l.word); i > at {
			best, at = l.role, i
		}
	}
	if strings.HasSuffix(before, "of") && best == 0 { // "2.1 GB of 2 GB"
		return limit
	}
	return best
}

// outweighed reports a message in which more is wanted or used than there is.
func outweighed(found map[role]*fact.Size) bool {
	more := func(a, b role) bool { return found[a] != nil && found[b] != nil && found[a].Bytes > found[b].Bytes }
	return more(wanted, available) || more(wanted, limit) || more(used, limit) || more(used, wanted)
}
