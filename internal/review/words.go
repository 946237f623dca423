package review

import (
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/answer"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/wording"
	"github.com/oomdoc/oomdoc/rules/story"
)

// story looks at what happened; a headline keeps what stands before its colon.
func (l *looking) story(s *story.Story) {
	if rule, _ := l.fault(s.Headline); rule != "" {
		l.drop(rule, s.Headline)
		s.Headline, _, _ = strings.Cut(s.Headline, ": ")
	}
	l.text(&s.Summary)
}

// text drops the sentences that are at fault.
func (l *looking) text(s *string) {
	for rule, at := l.fault(*s); rule != ""; rule, at = l.fault(*s) {
		l.drop(rule, *s)
		rest := strings.TrimSpace(wording.Without(*s, at))
		if len(rest) >= len(*s) {
			return
		}
		*s = rest
	}
}

// fault returns the rule that a text breaks, and where; "" for none.
func (l *looking) fault(text string) (rule string, at int) {
	if at := l.otherShortfall(text); at >= 0 {
		return TwoShortfalls, at
	}
	if at := claimsAll(text); at >= 0 && !ledger.FillsAlone(l.Case) {
		return NotAlone, at
	}
	if at := max(strings.Index(text, "most of this card"), strings.Index(text, "most of this GPU")); at >= 0 && l.Others.Has() && l.Total.Has() && l.Others.Bytes*2 < l.Total.Bytes {
		return NotMost, at
	}
	return "", 0
}

// claimsAll is where a text says that this program has the card for itself, -1
// for nowhere.
func claimsAll(text string) int {
	if at := strings.Index(text, "alone fills"); at >= 0 {
		return at
	}
	at := strings.Index(text, "fills ")
	if at < 0 {
		return -1
	}
	if end := strings.Index(text[at:], " by itself"); end < 0 || strings.ContainsAny(text[at:at+end], ";,") {
		return -1
	}
	return at
}

// otherShortfall is where a shortfall stands that is not the ledger's, -1 for
// nowhere: "1.50 GiB short".
func (l *looking) otherShortfall(text string) int {
	const short = " short"
	for from := 0; ; {
		i := strings.Index(text[from:], short)
		if i < 0 {
			return -1
		}
		at := from + i
		from = at + len(short)
		words := strings.Fields(text[max(0, at-32):at])
		if len(words) < 2 || from < len(text) && text[from] >= 'a' && text[from] <= 'z' {
			continue
		}
		number, unit := strings.ReplaceAll(strings.Trim(words[len(words)-2], "*(:"), ",", ""), words[len(words)-1]
		said, ok := units.Parse(number + " " + unit)
		if !ok {
			continue
		}
		one, _ := units.Parse("1 " + unit)
		_, decimals, _ := strings.Cut(number, ".")
		for range decimals {
			one /= 10
		}
		if strings.HasSuffix(text[:at], "less than "+number+" "+unit) && l.Shortfall.Has() && l.Shortfall.Bytes < said {
			continue // it is told as a bound
		}
		if off := said - l.Shortfall.Bytes; !l.Shortfall.Has() || max(off, -off) > one/2+l.Shortfall.Within+said/1000+1 {
			return at
		}
	}
}

// checks of a share that stays free, in the words of the fixes.
var spare = []struct {
	said  string
	bytes int64
}{
	{"1 to 2 GiB free", units.GiB}, {"1 to 2 GiB to spare", units.GiB}, {"about 1 GiB of GPU memory", 3 * units.GiB / 4},
	{"about 1 GiB below", 3 * units.GiB / 4}, {"stays above 1 GiB", units.GiB},
}

// unmet: the check asks for room that the fix does not make by its own sum.
func (l *looking) unmet(f *answer.Advice) bool {
	e := f.Effect
	if e == nil || e.Counted != "" || !e.Fits {
		return false
	}
	for _, s := range spare {
		if strings.Contains(f.Check, s.said) && e.HaveBytes-e.NeedBytes < s.bytes && e.HaveBytes >= l.Total.Bytes-units.GiB && l.Total.Has() {
			return true
		}
	}
	return false
}
