package cli

import (
	"fmt"
	"strings"

	"github.com/charmbracelet/glamour"
	"github.com/charmbracelet/glamour/ansi"
	"github.com/charmbracelet/glamour/styles"
	"github.com/muesli/termenv"
)

// styled shows Markdown in colours. The Markdown comes wrapped: glamour would
// break lines inside figures ("4." / "47 GiB") and pad each of them.
func styled(markdown string, dark bool) ([]byte, error) {
	r, err := glamour.NewTermRenderer(
		glamour.WithStyles(style(dark)),
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
	return []byte(strings.Trim(paint(harmless(out), dark), "\n") + "\n"), nil
}

// standIn is put in the place of "&", so that glamour finds no HTML entity to
// decode: it does so even in code, and "&#27;" would become an escape
// character. The page itself has no private characters: render drops them.
const standIn = '\ue000'

var ampersands = strings.NewReplacer("&amp;", string(standIn), "&", string(standIn))

// paint colours the bars: what is taken stands out against what is free.
func paint(s string, dark bool) string {
	mine, others, cache, driver := "160", "172", "26", "90"
	if dark {
		mine, others, cache, driver = "203", "214", "75", "140"
	}
	for _, c := range []struct{ mark, color string }{{"█", mine}, {"▓", cache}, {"▒", others}, {"▚", driver}, {"░", "244"}} {
		s = runs(s, c.mark, func(run string) string { return "\x1b[38;5;" + c.color + "m" + run + "\x1b[0m" })
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

// style is glamour's own without its margins, so that what is copied from the
// terminal has no blanks before it: Python would not take them.
func style(dark bool) ansi.StyleConfig {
	s, accent, code := styles.LightStyleConfig, "26", "125"
	if dark {
		s, accent, code = styles.DarkStyleConfig, "39", "222"
	}
	none, bold := uint(0), true
	s.Document = ansi.StyleBlock{Margin: &none}
	heading := ansi.StylePrimitive{Color: &accent, Bold: &bold, BlockSuffix: "\n"}
	s.Heading.StylePrimitive = heading
	for _, h := range []*ansi.StyleBlock{&s.H1, &s.H2, &s.H3, &s.H4} {
		*h = ansi.StyleBlock{}
	}
	s.Code = ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Color: &code}}
	s.CodeBlock.Margin = &none
	return s
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
		case r < ' ' || c1(r):
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
