package text

import (
	"cmp"
	"strings"
	"sync"
	"time"

	"github.com/dlclark/regexp2/v2"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
)

// Pattern matches squeezed text: lower case, no white space. In the expression
// SIZE stands for a size with its unit, BYTES for a size whose unit may be
// missing, CELL for a whole size in a table, INT for an integer that may carry
// thousands separators, NUM for a decimal number.
//
// It compiles on first use, and is nothing but data before: three hundred of
// them are declared, and all of them would be paid for at every start.
type Pattern struct {
	expr string
	once sync.Once
	re   *regexp2.Regexp
}

// matchTimeout is a safety net only: no pattern here needs it (a test runs
// each on its worst input without), and in a browser it never fires. The clock
// is the one on the wall, and a figure that is missing because the machine was
// busy would be worse than a slow report: so it is twenty times what the worst
// input may take of the processor, which a quarter of a second would not be.
const matchTimeout = time.Second

// MaxWindow bounds the text one match may look at.
const MaxWindow = 16 << 10

// Macros are the words that patterns use for numbers.
var Macros = strings.NewReplacer(
	"SIZE", `(?>-?\d[\d,]{0,24}(?:\.\d{0,9})?)(?:[kmgt]i?b|bytes|byte)`,
	"BYTES", `\d[\d,]{0,24}(?:\.\d{0,9})?(?:[kmgt]i?b|bytes)?`,
	"INT", `\d[\d,]{0,24}`,
	"CELL", `\d{1,16}(?:[kmgt]i?)?b`,
	"NUM", `-?\d[\d,]{0,24}(?:\.\d{1,9})?`,
)

// NewPattern declares a pattern of squeezed text; it is compiled at its first use.
func NewPattern(expr string) *Pattern { return &Pattern{expr: expr} }

func (p *Pattern) compiled() *regexp2.Regexp {
	p.once.Do(func() {
		p.re = regexp2.MustCompile(Macros.Replace(p.expr), regexp2.ExplicitCapture)
		p.re.MatchTimeout = matchTimeout
	})
	return p.re
}

// Match is what a pattern found, which may be nothing.
type Match struct {
	Log  *Log
	base int
	m    *regexp2.Match
}

// Find matches p in the squeezed text from one offset to another.
func (l *Log) Find(p *Pattern, from, to int) Match {
	from, to = max(from, 0), min(to, len(l.squeezed.Lower))
	if from >= to || l.Stopped() {
		return Match{Log: l}
	}
	to = min(to, from+MaxWindow)
	m, err := p.compiled().FindStringMatch(l.squeezed.Lower[from:to])
	if err != nil {
		l.Timeouts++ // never print err: it contains the input
	}
	return Match{Log: l, base: from, m: m}
}

// Ok reports that something was found.
func (m Match) Ok() bool { return m.m != nil }

// Span returns the squeezed offsets of the match.
func (m Match) Span() (from, to int) {
	at, n := m.m.ByteRange()
	return m.base + at, m.base + at + n
}

// Line returns the line on which the match begins.
func (m Match) Line() int {
	from, _ := m.Span()
	return m.Log.Line(from)
}

// Group returns the squeezed offsets of a captured group.
func (m Match) Group(name string) (from, to int, ok bool) {
	if !m.Ok() {
		return 0, 0, false
	}
	g := m.m.GroupByName(name)
	if g == nil || len(g.Captures) == 0 || g.RuneLength == 0 {
		return 0, 0, false
	}
	at, n := g.ByteRange()
	return m.base + at, m.base + at + n, true
}

// Size returns a captured size, or nil if it is missing or no amount.
func (m Match) Size(name string) *fact.Size { return m.size(name, "", units.Parse) }

// SizeIn is [Match.Size] for a figure printed without its unit.
func (m Match) SizeIn(name, unit string) *fact.Size { return m.size(name, unit, units.Parse) }

func (m Match) size(name, unit string, parse func(string) (int64, bool)) *fact.Size {
	from, to, _ := m.Group(name)
	return m.Log.size(from, to, unit, parse)
}

// Count returns a captured number, or nil.
func (m Match) Count(name string) *fact.Count {
	from, to, _ := m.Group(name)
	return m.Log.Count(from, to)
}

// Lower returns a captured group squeezed: lower case, no white space.
func (m Match) Lower(name string) string {
	from, to, _ := m.Group(name)
	return m.Log.squeezed.Lower[from:to]
}

// Text returns a captured group as written.
func (m Match) Text(name string) string {
	from, to, _ := m.Group(name)
	return m.Log.Text(from, to)
}

// Through returns the text as written from one captured group to the end of
// another.
func (m Match) Through(first, last string) string {
	from, _, ok := m.Group(first)
	_, to, ok2 := m.Group(last)
	if !ok || !ok2 {
		return m.Text(first)
	}
	return m.Log.figureText(from, to)
}

// States reads all groups of a match: one that is named like a figure is that
// figure of g, where g is given, and any other a fact of that name. A number
// without a unit is a count, unless the name ends in the unit that it lacks:
// "free_gib". "set_NAME" is a setting, "is_NAME" one that a message gives away
// without anybody having set it.
func (m Match) States(f *fact.Facts, g *fact.Figures) {
	if !m.Ok() {
		return
	}
	for _, group := range m.m.Groups()[1:] {
		from, _, ok := m.Group(group.Name)
		if !ok {
			continue
		}
		line := m.Log.Line(from)
		if kind, setting, _ := strings.Cut(group.Name, "_"); kind == "set" || kind == "is" {
			value := strings.ReplaceAll(m.Lower(group.Name), ",", "")
			f.Settings = append(f.Settings, fact.Setting{Name: setting, Value: value, Line: line, Default: kind == "is"})
			continue
		}
		name, size, count := m.figure(group.Name)
		if size == nil && count == nil || g != nil && g.Set(name, size, count) {
			continue
		}
		f.Facts = append(f.Facts, fact.Fact{Name: name, Size: size, Count: count, Text: m.Log.LineText(from), Line: line})
	}
}

// figure returns the figure that a group captured, under its name without the
// unit.
func (m Match) figure(group string) (name string, size *fact.Size, count *fact.Count) {
	for _, unit := range [...]string{"gib", "mib", "kib", "bytes"} {
		if name, ok := strings.CutSuffix(group, "_"+unit); ok {
			return name, cmp.Or(m.SizeIn(group, unit), RawBytes(m, group)), nil
		}
	}
	if text := m.Lower(group); Letter(text[len(text)-1]) {
		return group, m.Size(group), nil
	}
	return group, nil, m.Count(group)
}
