package addon

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// InVolume: a convolution over width, height and frames at once. Of the three that
// have a _conv_forward it is the last in torch/nn/modules/conv.py: from line 600 on
// in PyTorch 1.8 to 2.10, where that of images is before 560.
func InVolume(c *ledger.Case) bool {
	return slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool {
		return strings.Contains(f.Source, "F.conv3d(") || f.Function == "_conv_forward" && f.At >= 590 && strings.HasSuffix(strings.ReplaceAll(f.File, `\`, "/"), "torch/nn/modules/conv.py")
	})
}
