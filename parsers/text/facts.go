package text

import (
	"slices"

	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/parsers/fact"
)

// Card keeps a card that a program names at its start.
func Card(f *fact.Facts, d fact.Device, text string) {
	f.Devices = append(f.Devices, d)
	f.Facts = append(f.Facts, fact.Fact{Name: "total", Size: d.Total, Text: text, Line: d.Line})
}

// HasFact reports a named figure.
func HasFact(f *fact.Facts, name string) bool {
	return slices.ContainsFunc(f.Facts, func(x fact.Fact) bool { return x.Name == name })
}

// Requested is what a failure asked for, 0 where it does not say.
func Requested(x fact.Failure) int64 {
	if x.Figures.Requested == nil {
		return 0
	}
	return x.Figures.Requested.Bytes
}

// Fold makes one failure out of all of a kind: the one that is chosen.
func Fold(f *fact.Facts, kind fact.Kind, choose func(all []fact.Failure) fact.Failure) {
	var all, others []fact.Failure
	for _, x := range f.Failures {
		if x.Kind == kind {
			all = append(all, x)
		} else {
			others = append(others, x)
		}
	}
	if len(all) > 0 {
		f.Failures = append(others, choose(all))
	}
}

// Fail adds a failure that begins at one squeezed offset and ends at another,
// with its line numbers, message and source filled in.
func Fail(f *fact.Facts, l *Log, from, to int, x fact.Failure) {
	x.At, x.End = from, to
	x.Line = l.Line(from)
	x.EndLine = max(x.Line, l.Line(max(to-1, from))) // lines of several ranks do not stand in their order
	x.Source, x.Date = l.Source(from), clean.DateNear(l.Lines, l.LineIndex(from))
	if x.Message == "" {
		x.Message = l.Text(from, to)
	}
	f.Failures = append(f.Failures, x)
}
