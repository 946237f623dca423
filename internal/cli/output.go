package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"strings"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/internal/screen"
	"github.com/oomdoc/oomdoc/render"
)

// Widths in columns. Beyond widest, lines are hard to read; below narrowest,
// figures and commands no longer fit.
const (
	widthAuto    = -1
	widthPiped   = 80
	narrowest    = 40
	widest       = 100
	widthUnknown = 80
)

// fewestRows is the smallest window that an answer is cut for.
const fewestRows = 24

// write prints the reports in the format and the colours that were asked for.
func (s *session) write(reports []*diagnose.Report, o *options) error {
	if b, ok, err := s.export(reports, o); err != nil {
		return err
	} else if ok {
		return s.print(b)
	}
	for terse := range render.Tersest + 1 {
		out, err := s.pages(reports, o, terse)
		if err != nil {
			return err
		}
		if terse == render.Tersest || lines(out, s.width(o)) <= s.rows(reports, o) {
			return s.print(out)
		}
	}
	return nil
}

// lines is how many lines of a terminal a page takes: what is wider than the
// window goes on in the next.
func lines(page []byte, width int) int {
	n := 0
	for line := range strings.Lines(sgr.ReplaceAllString(string(page), "")) {
		n += 1 + max(utf8.RuneCountInString(strings.TrimRight(line, " \n"))-1, 0)/max(width, 1)
	}
	return n
}

// sgr are the colours of a page.
var sgr = regexp.MustCompile("\x1b\\[[0-9;]*m")

// pages are the reports as they are printed.
func (s *session) pages(reports []*diagnose.Report, o *options, terse int) ([]byte, error) {
	layout, colored := s.layout(o)
	var b strings.Builder
	for i, r := range reports {
		if i > 0 {
			b.WriteString("\n")
		}
		page := render.Options{Layout: layout, Brief: o.brief, Full: o.full, Terse: terse}
		if len(reports) > 1 {
			page.Name = cmp.Or(r.Input.Name, "standard input")
		}
		if o.format == "text" {
			b.WriteString(render.Text(r, page))
		} else {
			b.WriteString(render.Markdown(r, page))
		}
	}
	return s.finished(b.String(), colored, o)
}

// finished is a page as it is, or in colours.
func (s *session) finished(page string, colored bool, o *options) ([]byte, error) {
	if !colored {
		return []byte(page), nil
	}
	out, err := screen.Page(page, s.background(o))
	if err != nil {
		return nil, trouble("%v", err)
	}
	return out, nil
}

// printMarkdown prints a page as it is, or in colours.
func (s *session) printMarkdown(page string, colored bool, o *options) error {
	out, err := s.finished(page, colored, o)
	if err != nil {
		return err
	}
	return s.print(out)
}

// rows is how many lines an answer may have: on a terminal one less than its
// window, for the prompt that follows; elsewhere, and where all was asked for,
// as many as it takes.
func (s *session) rows(reports []*diagnose.Report, o *options) int {
	f, ok := terminal(s.stdout)
	if !ok || o.full || o.brief || len(reports) > 1 {
		return math.MaxInt
	}
	_, rows, err := term.GetSize(int(f.Fd()))
	if err != nil || rows <= 0 {
		return math.MaxInt
	}
	return max(rows, fewestRows) - 1
}

// layout is how wide to write, and whether colours will be put in.
func (s *session) layout(o *options) (render.Layout, bool) {
	colored := o.format == "markdown" && s.colored(o)
	_, seen := terminal(s.stdout)
	return render.Layout{Width: s.width(o), NoBreak: colored, Heads: colored || seen}, colored
}

// width is how many columns to fill.
func (s *session) width(o *options) int {
	if o.width > 0 {
		return max(o.width, narrowest)
	}
	if o.width == 0 {
		return 0
	}
	f, ok := terminal(s.stdout)
	if !ok {
		return widthPiped
	}
	columns, _, err := term.GetSize(int(f.Fd()))
	if err != nil || columns <= 0 {
		columns = widthUnknown
	}
	return min(max(columns, narrowest), widest)
}

func (s *session) colored(o *options) bool {
	switch o.color {
	case "always":
		return true
	case "never":
		return false
	}
	_, ok := terminal(s.stdout)
	return ok && s.getenv("NO_COLOR") == "" && s.getenv("TERM") != "dumb"
}

// background is what the terminal writes on: what the flag says, what the
// terminal answers, else what COLORFGBG says. It is asked once.
func (s *session) background(o *options) screen.Background {
	switch o.theme {
	case "dark":
		return screen.Dark
	case "light":
		return screen.Light
	}
	if s.on != nil {
		return *s.on
	}
	on := screen.Unknown
	in, typed := terminal(s.stdin)
	if out, shown := terminal(s.stdout); typed && shown && !s.taken {
		on = screen.Ask(in, out, s.getenv)
	}
	if on == screen.Unknown {
		on = screen.FromEnv(s.getenv("COLORFGBG"))
	}
	s.on = &on
	return on
}

func terminal(x any) (*os.File, bool) {
	f, ok := x.(*os.File)
	return f, ok && term.IsTerminal(int(f.Fd()))
}

// asJSON writes one report for people to read, several as one object a line.
func asJSON(reports []*diagnose.Report) ([]byte, error) {
	indent := ""
	if len(reports) == 1 {
		indent = "  "
	}
	return indented(reports, indent)
}

func indented(reports []*diagnose.Report, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	for _, r := range reports {
		if err := e.Encode(r); err != nil {
			return nil, fmt.Errorf("encode the report: %w", err)
		}
	}
	return escapeC1(b.Bytes()), nil
}

// escapeC1 escapes DEL and the C1 controls, which JSON allows as they are and
// some terminals obey. In JSON they can stand in strings only.
func escapeC1(b []byte) []byte {
	const del, first = 0x7f, 0xc2 // of the two bytes of a C1 control
	if bytes.IndexByte(b, del) < 0 && bytes.IndexByte(b, first) < 0 {
		return b
	}
	var out bytes.Buffer
	for _, r := range string(b) {
		if c1(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.Bytes()
}

func c1(r rune) bool { return r >= 0x7f && r <= 0x9f }
