package addon

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// BuildsOnCard: the innermost frames make the layers of a network, under a
// default device (torch/utils/_device.py), outside ComfyUI's loader.
func BuildsOnCard(c *ledger.Case) bool {
	making, placed := 0, false
	for _, x := range c.Facts.Code {
		if strings.Contains(x.File, "/comfy/model_") || strings.Contains(x.File, "/comfy/sd.py") {
			return false
		}
		if x.Function == "__init__" {
			making++
		}
		placed = placed || strings.HasSuffix(x.File, "torch/utils/_device.py")
	}
	return making > 0 && placed
}

// Network is the library whose layers were being made.
func Network(c *ledger.Case) map[string]string {
	for _, x := range slices.Backward(c.Facts.Code) {
		if _, rest, ok := strings.Cut(x.File, "site-packages/"); ok {
			if name, _, _ := strings.Cut(rest, "/"); name != "torch" {
				return map[string]string{"network": name}
			}
		}
	}
	return map[string]string{"network": ""}
}

// Torch29: where module.py calls forward in PyTorch 2.9.
func Torch29(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool {
		return strings.HasSuffix(x.File, "torch/nn/modules/module.py") && (x.At == 1775 && x.Function == "_wrapped_call_impl" || x.At == 1786 && x.Function == "_call_impl")
	})
}
