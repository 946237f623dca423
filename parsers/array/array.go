// Package array reads the other libraries that compute on arrays: JAX,
// TensorFlow, CuPy, ONNX Runtime, MLX, Paddle, NumPy and their like.
package array

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// parser makes a parser of nothing but wordings.
func parser(name string, explains map[fact.Kind]int, list ...text.Wording) text.Parser {
	return text.NewParser(name, explains, list, nil)
}

// states makes the reader of a wording whose figures a pattern finds.
func states(x fact.Failure, p *text.Pattern, within int) func(text.Message) int {
	return func(m text.Message) int { return stated(m, x, m.Find(p, within)) }
}

// needs is states for a wording that is another message without the figures.
func needs(x fact.Failure, p *text.Pattern, within int) func(text.Message) int {
	return func(m text.Message) int {
		k := m.Find(p, within)
		if !k.Ok() {
			return m.End
		}
		return stated(m, x, k)
	}
}

// stated adds a failure with the figures of a match, whose groups bear their keys
// in the report.
func stated(m text.Message, x fact.Failure, k text.Match) int {
	for _, key := range [...]string{"requested", "total", "free", "allocated", "reserved", "process_used", "limit", "weights"} {
		x.Figures.Set(key, k.Size(key), nil)
	}
	x.Figures.Set("device", nil, k.Count("device"))
	return m.Fail(x, m.Took(k))
}

// signal notes what a line shows of the work.
func signal(m text.Message, id string, line int, said string) {
	m.Facts.Signals = append(m.Facts.Signals, fact.Signal{ID: id, Line: line, Text: said})
}
