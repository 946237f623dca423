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
func evidence(in *diagnose.Incident, c diagnose.Cause, width int) string {
	quotes := c.Evidence
	if len(quotes) == 0 && in.Message != "" {
		quotes = []diagnose.Evidence{{Line: in.Line, Text: in.Message}}
	}
	quotes = quotes[:min(len(quotes), quotedItems)]
	gutter := 1
	for _, q := range quotes {
		gutter = max(gutter, len(strconv.Itoa(q.Line)))
	}
	var b strings.Builder
	for _, q := range quotes {
		room := Layout{Width: barWidth(width) - gutter - 3}
		if width > 60 {
			room.Width = width - gutter - 3
		}
		lines := wrap(inline{{visible(q.Text), plain}}.words(false), room, 0)
		for i, line := range lines[:min(len(lines), quotedLines)] {
			number := ""
			if i == 0 {
				number = strconv.Itoa(q.Line)
			}
			if i == quotedLines-1 && len(lines) > quotedLines {
				line += " …"
			}
			fmt.Fprintf(&b, "%*s | %s\n", gutter, number, cut(line, room.Width))
		}
	}
	return b.String()
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
func figure(bytes int64) string { return units.Format(bytes) }
