package render

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/internal/units"
)

// Bounds of what is quoted: the figures stand at the front of a message.
const (
	quotedLines = 4 // of one piece of evidence
	quotedItems = 3
)

// evidence quotes the lines that show a cause, with their numbers, as a
// compiler does. A cause without lines of its own has the failure's.
//
// What was read on the machine has its source for a number.
func evidence(r *diagnose.Report, in *diagnose.Incident, c diagnose.Cause, width int) string {
	quotes := c.Evidence
	if len(quotes) == 0 && in.Message != "" {
		quotes = []diagnose.Evidence{{Line: in.Line, Text: in.Message}}
	}
	quotes = quotes[:min(len(quotes), quotedItems)]
	gutter := 1
	for _, q := range quotes {
		gutter = max(gutter, len(numberOf(r, q.Line)))
	}
	room := max(pageWidth(width)-gutter-len(" | ")-len(indent), 20)
	var b strings.Builder
	for _, q := range quotes {
		for i, line := range quote(q.Text, room) {
			number := ""
			if i == 0 {
				number = numberOf(r, q.Line)
			}
			fmt.Fprintf(&b, "%*s | %s\n", gutter, number, line)
		}
	}
	return b.String()
}

func numberOf(r *diagnose.Report, line int) string {
	if source := sourceOf(r, line); source != "" {
		return source
	}
	return strconv.Itoa(line)
}

// quote wraps a line of the log, and leaves out what is beyond the bound.
func quote(text string, width int) []string {
	lines := wrap(inline{{visible(text), plain}}.words(false), Layout{Width: width}, 0)
	if len(lines) > quotedLines {
		lines = lines[:quotedLines]
		last := &lines[quotedLines-1]
		for columns(*last)+2 > width && strings.Contains(*last, " ") {
			*last = (*last)[:strings.LastIndexByte(*last, ' ')]
		}
		*last += " …"
	}
	for i, line := range lines {
		lines[i] = cut(line, width)
	}
	return lines
}

// cut shortens a line that has no blank to be broken at.
func cut(s string, width int) string {
	if columns(s) <= width || width <= 0 {
		return s
	}
	runes := []rune(s)
	return string(runes[:min(len(runes), width-1)]) + "…"
}

// figure is an amount in the unit that a reader expects.
func figure(bytes int64) string { return units.Amount(bytes) }
