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

// signal notes what a line shows of the work.
func signal(m text.Message, id string, line int, said string) {
	m.Facts.Signals = append(m.Facts.Signals, fact.Signal{ID: id, Line: line, Text: said})
}
