package reader

import (
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/rules/ledger"
)

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
	return !ok || era.Text == "2.2" || era.Text == "2.9"
}

// What the version of PyTorch decides, as far as the log gives it away: the
// allocator's message names the variable it reads, its shape changed in 2.1,
// and many programs print the version at the start.

// AllocVariable returns the environment variable of PyTorch's allocator: the
// name in the log's own hint, else the one that most versions read.
// PYTORCH_ALLOC_CONF is read from 2.9 on and silently ignored before; the
// older names are still read (c10/core/AllocatorConfig.cpp).
func AllocVariable(c *ledger.Case) string {
	if hint, ok := c.Fact("alloc_conf_variable"); ok {
		return hint.Text
	}
	switch {
	case c.Backend == "npu":
		return "PYTORCH_NPU_ALLOC_CONF"
	case TorchVersion(c) >= 209:
		return "PYTORCH_ALLOC_CONF"
	case c.Backend == "rocm":
		return "PYTORCH_HIP_ALLOC_CONF"
	}
	return "PYTORCH_CUDA_ALLOC_CONF"
}

// TorchVersion is the version that the log states, 2.9 as 209; 0 if it states
// none.
func TorchVersion(c *ledger.Case) int {
	stated, ok := c.Fact("torch_version")
	if !ok {
		return 0
	}
	major, minor, _ := strings.Cut(stated.Text, ".")
	a, _ := strconv.Atoi(major)
	b, _ := strconv.Atoi(minor)
	return 100*a + b
}

// DtypeArgument is what from_pretrained calls the precision: dtype from
// transformers 4.56 on, when torch_dtype became deprecated.
func DtypeArgument(c *ledger.Case) string {
	if c.Signal("dtype_argument") != nil {
		return "dtype"
	}
	return "torch_dtype"
}

// beforeAmpere are names of cards without bfloat16 arithmetic.
var beforeAmpere = []string{
	"T4", "V100", "P100", "P40", "P4", "K80", "M40", "M60", "GTX", "RTX 20", "RTX20", "TITAN", "Quadro RTX", "Quadro P", "Tesla P", "Tesla K", "Tesla M",
}

// HalfType is the 16-bit type of this card as a Python expression: bfloat16
// from Ampere on (compute capability 8), float16 on older ones. A card that
// the log does not name decides at run time; torch.cuda.is_bf16_supported()
// would be wrong there: it counts emulation.
func HalfType(c *ledger.Case) string {
	for _, d := range c.Facts.Devices {
		if slices.ContainsFunc(beforeAmpere, func(old string) bool { return strings.Contains(d.Name, old) }) {
			return "torch.float16"
		}
	}
	switch c.Backend {
	case "mps":
		return "torch.float16"
	case "rocm", "xpu", "npu", "cpu":
		return "torch.bfloat16"
	}
	return "torch.bfloat16 if torch.cuda.get_device_capability()[0] >= 8 else torch.float16"
}
