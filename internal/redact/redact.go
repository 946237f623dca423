// Package redact masks what is private in a log and in the report on it:
// credentials, prompts, names of users, machines, folders and files, addresses.
// What a diagnosis needs stays: sizes, versions, times, cards, PCI addresses,
// hashes, names of models and packages.
//
// [Credentials] masks what must not be repeated even to its owner's screen. A
// [Masker] masks the rest as well, and tells one name from another.
package redact

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/internal/digrams"
)

// Credentials returns s with keys, tokens and passwords replaced by KEY or LOGIN.
// Text without any is returned as it is, and a masked text stays as it is.
func Credentials(s string) string {
	if !telling.in(s) && !strings.Contains(s, " -") {
		return s // advice, which most of a report is
	}
	name := func(kind, _ string) string { return kind }
	tells := credentialTells()
	has := tells.of(s)
	if tells.blocks.in(s, has) {
		s = maskBlocks(s, name)
		has = tells.of(s)
	}
	if tells.credentials.in(s, has) && tells.find(s) {
		if masked := apply(credentialRules(), glanceAt(s), s, name); masked != s {
			s, has = masked, tells.of(masked)
		}
	}
	if tells.separators.in(s, has) && tells.secrets.in(s, has) {
		s = maskNamed(s, name)
	}
	return maskTokens(s, name)
}

// byteSet is a set of bytes.
type byteSet [256]bool

func bytesOf(all string) *byteSet {
	var set byteSet
	for i := range len(all) {
		set[all[i]] = true
	}
	return &set
}

// in reports that one of the bytes stands in s.
func (set *byteSet) in(s string) bool {
	for i := range len(s) {
		if set[s[i]] {
			return true
		}
	}
	return false
}

var figures, telling = bytesOf("0123456789"), bytesOf("0123456789=@:")

// credentialSigns are texts of which one stands wherever [credentialRules] find
// something: most of a report is none of the log's.
var credentialSigns = texts{"=", "://", "@", "AAAA", "earer", "EARER", "uth", "UTH", "-u", "-p", "ook", "OOK", "login", "_KEY", "_PAT", "_PW"}

// naming says what stands for a private text of a kind: KEY, USER, HOST...
type naming func(kind, x string) string

// rule finds one kind of private text.
type rule struct {
	// near says whether the pattern can match at all: expressions are slow, and
	// most lines hold nothing private.
	near near
	// signs say so where near is nil: one of them, in lower case, and one of the
	// one or two bytes among which there is any.
	signs texts
	among string
	// re has a group for each private part, named by its kind; a digit at the
	// end tells groups of one kind apart.
	re *regexp.Regexp
	// private tells it from what only looks alike; nil: it always is. It gets
	// the text before the group, the group, and the text after.
	private func(before, x, after string) bool
}

// near looks for what a pattern needs.
type near func(t *glance) bool

// glance is a text at a glance: its lower case, and which pairs of bytes it has.
type glance struct {
	lower string
	has   digrams.Set
}

func glanceAt(s string) *glance {
	lower := strings.ToLower(s)
	return &glance{lower, digrams.Of(lower)}
}

// texts are looked for together.
type texts []string

// in reports that one of the texts stands in s, which has these neighbours, or
// had them before something in it was masked.
func (t texts) in(s string, has *digrams.Set) bool {
	return slices.ContainsFunc(t, func(text string) bool { return has.Contain(s, text) })
}

// signs wants one of several texts in lower case.
func signs(all ...string) near {
	return func(t *glance) bool { return texts(all).in(t.lower, &t.has) }
}

// apply masks what rules find, one rule after the other. What is at a glance may
// be of the text as it was: masking adds nothing that a rule looks for.
func apply(rules []rule, t *glance, s string, name naming) string {
	for _, r := range rules {
		if r.mayFind(t, s) {
			s = r.apply(s, name)
		}
	}
	return s
}

func (r rule) mayFind(t *glance, s string) bool {
	if r.near != nil {
		return r.near(t)
	}
	return r.hasAmong(s) && r.signs.in(t.lower, &t.has)
}

// hasAmong reports that s has one of the bytes, or that none is needed.
func (r rule) hasAmong(s string) bool {
	return r.among == "" || strings.IndexByte(s, r.among[0]) >= 0 || len(r.among) > 1 && strings.IndexByte(s, r.among[1]) >= 0
}

func (r rule) apply(s string, name naming) string {
	var b strings.Builder
	last, kinds := 0, r.re.SubexpNames()
	for _, m := range r.re.FindAllStringSubmatchIndex(s, -1) {
		for group := 1; group < len(kinds); group++ {
			from, to := m[2*group], m[2*group+1]
			if kinds[group] == "" || from < last || from == to || r.private != nil && !r.private(s[:from], s[from:to], s[to:]) {
				continue
			}
			b.WriteString(s[last:from] + masked(strings.TrimRight(kinds[group], "0123456789"), s[from:to], name))
			last = to
		}
	}
	if last == 0 {
		return s
	}
	return b.String() + s[last:]
}

// masked is a name for x, with the line ends that it holds: lines keep their
// numbers.
func masked(kind, x string, name naming) string {
	if pseudonym(x) {
		return x
	}
	return name(kind, x) + strings.Repeat("\n", strings.Count(x, "\n"))
}

// lazy compiles an expression when it is needed first: most runs mask nothing.
func lazy(expression string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expression) })
}

// pseudonym reports what stands for something private already.
func pseudonym(x string) bool { return pseudonyms().MatchString(x) }

var pseudonyms = lazy(`^(?:KEY|LOGIN|USER|HOST|IP|MAC|EMAIL|PHONE|PROMPT|NAMESPACE|POD|DIR|FILE|ACCOUNT)\d*$`)
