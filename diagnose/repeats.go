package diagnose

import (
	"context"

	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/internal/scan"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// addRepeats adds messages that a scan only counted to the incidents that they
// repeat. It returns how many found none.
func addRepeats(ctx context.Context, groups []failureGroup, repeats []scan.Repeat) int {
	homeless := 0
	for _, r := range repeats {
		homeless += addRepeat(ctx, groups, valid(r.Text), r.Line, r.Count)
	}
	return homeless
}

// addUnread does the same with lines that no parser was given.
func addUnread(ctx context.Context, groups []failureGroup, lines []fact.Unread) int {
	homeless := 0
	for _, l := range lines {
		homeless += addRepeat(ctx, groups, l.Text, l.Line, l.Count)
	}
	return homeless
}

// addRepeat counts a line that was met again. One line is one statement.
func addRepeat(ctx context.Context, groups []failureGroup, line string, number, times int) (homeless int) {
	if ctx.Err() != nil {
		return 0 // nobody reads the report
	}
	facts := reader().Parse(text.NewLog(clean.Lines(line, number)))
	for _, x := range facts.Failures {
		if x.Wrapper {
			continue
		}
		g := repeated(groups, x)
		switch {
		case g == nil:
			return times
		case x.Kind == g.root.Kind:
			g.count += times
		}
		break
	}
	return 0
}

// repeated finds the incident of which a statement is a repeat.
func repeated(groups []failureGroup, x fact.Failure) *failureGroup {
	for i := range groups {
		for k := range groups[i].chain {
			if y := &groups[i].chain[k]; y.Kind == x.Kind && sameFigures(y, &x) {
				return &groups[i]
			}
		}
	}
	return nil
}
