// Package screen shows pages on a terminal: it finds out what background it
// has, and puts Markdown in colours that can be read there.
package screen

import (
	"fmt"
	"strings"
	"sync"

	"github.com/alecthomas/chroma/v2"
	chromastyles "github.com/alecthomas/chroma/v2/styles"
	"github.com/charmbracelet/glamour"
	"github.com/charmbracelet/glamour/ansi"
	"github.com/muesli/termenv"
)

// Page is Markdown in colours, with nothing else that a terminal obeys. The
// Markdown comes wrapped: glamour would break lines inside figures ("4." /
// "47 GiB") and pad each of them.
func Page(markdown string, on Background) ([]byte, error) {
	r, err := glamour.NewTermRenderer(
		glamour.WithStyles(style(on)),
		glamour.WithWordWrap(0),
		glamour.WithPreservedNewLines(),
		glamour.WithColorProfile(termenv.ANSI256),
	)
	if err != nil {
		return nil, fmt.Errorf("set up colours: %w", err)
	}
	out, err := r.Render(ampersands.Replace(markdown))
	if err != nil {
		return nil, fmt.Errorf("put in colours: %w", err)
	}
	return []byte(strings.Trim(paint(harmless(out), palettes[on]), "\n") + "\n"), nil
}

// standIn is put in the place of "&", so that glamour finds no HTML entity to
// decode: it does so even in code, and "&#27;" would become an escape
// character. The page itself has no private characters: render drops them.
const standIn = '\ue000'

var ampersands = strings.NewReplacer("&amp;", string(standIn), "&", string(standIn))

// paint colours the bars: what is taken stands out against what is free.
func paint(s string, p palette) string {
	for _, c := range []struct {
		mark string
		color
	}{{"█", p.mine}, {"▄", p.mine}, {"▓", p.cache}, {"▒", p.others}, {"▞", p.others}, {"▚", p.driver}, {"░", p.quiet}, {"·····", p.quiet}} {
		s = runs(s, c.mark, func(run string) string { return "\x1b[38;5;" + c.String() + "m" + run + "\x1b[0m" })
	}
	return s
}

// runs replaces each run of a mark.
func runs(s, mark string, with func(string) string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, mark)
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		rest := strings.TrimLeft(s[i:], mark)
		run := s[i : len(s)-len(rest)]
		b.WriteString(s[:i] + with(run))
		s = rest
	}
}

// style has no margins, so that what is copied from the terminal has no blanks
// before it: Python would not take them.
func style(on Background) ansi.StyleConfig {
	p, bold, none := palettes[on], true, uint(0)
	heading, code := p.heading.String(), p.code.String()
	return ansi.StyleConfig{
		Document:    ansi.StyleBlock{Margin: &none},
		Heading:     ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Color: &heading, Bold: &bold, BlockSuffix: "\n"}},
		Strong:      ansi.StylePrimitive{Bold: &bold},
		List:        ansi.StyleList{LevelIndent: 2},
		Item:        ansi.StylePrimitive{BlockPrefix: "• "},
		Enumeration: ansi.StylePrimitive{BlockPrefix: ". "},
		Code:        ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Color: &code}},
		CodeBlock:   ansi.StyleCodeBlock{StyleBlock: ansi.StyleBlock{Margin: &none}, Theme: theme(on)},
	}
}

// theme is the name of the style of code blocks, as chroma knows it.
func theme(on Background) string {
	themes()
	return names[on]
}

var names = [...]string{Unknown: "oomdoc", Dark: "oomdoc-dark", Light: "oomdoc-light"}

// themes tells chroma the styles of code blocks: its register is the one way to
// give it some.
var themes = sync.OnceFunc(func() {
	for on, name := range names {
		chromastyles.Register(chroma.MustNewStyle(name, entries(palettes[on])))
	}
})

// entries are the colours of code; a name is written as running text is.
func entries(p palette) chroma.StyleEntries {
	return chroma.StyleEntries{
		chroma.Keyword: p.heading.hex(), chroma.NameBuiltin: p.heading.hex(), chroma.NameTag: p.heading.hex(),
		chroma.LiteralString: p.code.hex(), chroma.LiteralNumber: p.number.hex(), chroma.Comment: p.quiet.hex(),
	}
}

// harmless lets colours pass and no other control, whatever glamour makes of
// a page. The no-break spaces of hanging indents become blanks again.
func harmless(s string) string {
	var b strings.Builder
	b.Grow(len(s))
	for i, r := range s {
		switch {
		case r == 0x1b && colorLen(s[i:]) > 0:
			b.WriteRune(r)
		case r == '\n':
			b.WriteRune(r)
		case r == '\u00a0':
			b.WriteByte(' ')
		case r == standIn:
			b.WriteByte('&')
		case r < ' ' || r >= 0x7f && r <= 0x9f:
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// colorLen is the length of an SGR sequence ("\x1b[1;38;5;39m") at the front.
func colorLen(s string) int {
	rest, ok := strings.CutPrefix(s, "\x1b[")
	if !ok {
		return 0
	}
	n := strings.IndexFunc(rest, func(r rune) bool { return r != ';' && (r < '0' || r > '9') })
	if n < 0 || rest[n] != 'm' {
		return 0
	}
	return n + 3
}
