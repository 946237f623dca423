package rules

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/units"
)

// named is what the model's name says; its zero value where the log names no
// model.
func named(c *Case) fit.Match {
	if c.Model == nil {
		return fit.Match{}
	}
	return fit.Find(c.Model.Name)
}

// quantised names the format of a model whose checkpoint is quantised already,
// "" for 16 or 32 bit and where the name does not say.
func quantised(c *Case) string {
	switch f := strings.ToLower(named(c).Format); {
	case f == "", strings.Contains(f, "16"), strings.Contains(f, "32"):
		return ""
	default:
		return f
	}
}

// alreadyQuantised says why loading in 4 or 8 bit cannot help, "" if it may.
func alreadyQuantised(c *Case) string {
	format := quantised(c)
	if format == "" || format == "fp8" {
		return ""
	}
	return fmt.Sprintf("%s is quantised already (%s): its loader reads it as it is, and bitsandbytes cannot quantise it again.", c.Model.Name, format)
}

// weightsIn is what the model's weights take in a format, for a model whose
// size the name tells; "" means the format that the name tells.
func weightsIn(c *Case, format string) (int64, bool) {
	m := named(c)
	if format == "" {
		format = m.Format
	}
	if m.Model != nil {
		if w, err := m.Model.Weights(format); err == nil {
			return w.Total, true
		}
	}
	return fit.WeightBytes(m.Parameters, format)
}

// besideWeights is what a short prompt needs beside the weights: the CUDA
// context, a small cache, activations.
const besideWeights = 3 * units.GiB / 2
