package reader

import "github.com/oomdoc/oomdoc/rules/ledger"

// Monitor is the program that shows what a card holds.
func Monitor(c *ledger.Case) string {
	switch c.Backend {
	case "rocm":
		return "rocm-smi"
	case "xpu":
		return "xpu-smi"
	case "npu":
		return "npu-smi info"
	case "mps", "metal":
		return "Activity Monitor"
	case "tpu":
		return "tpu-info"
	}
	return "nvidia-smi"
}
