package reader

import "github.com/oomdoc/oomdoc/rules/ledger"

// ManyGPUs: a rank in the prefix, or a card other than the first.
func ManyGPUs(c *ledger.Case) bool {
	d := c.F().Device
	return c.Failure.Source != "" || d != nil && d.Value > 0
}

// HasExpandableSegments: PyTorch 2.1 and later, as far as the message tells; a
// message without an era is taken for a recent one, as are torch_npu's, whose
// wording never changed.
func HasExpandableSegments(c *ledger.Case) bool {
	if c.Backend == "npu" {
		return true
	}
	era, ok := c.Fact("torch_since")
	return !ok || era.Text >= "2.1"
}
