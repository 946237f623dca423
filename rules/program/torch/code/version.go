package code

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// What the version of PyTorch decides, as far as the log gives it away: the
// allocator's message names the variable it reads, its shape changed in 2.1,
// and many programs print the version at the start.

// AllocConf is the step that sets an option of PyTorch's allocator.
func AllocConf(c *ledger.Case, option string) []step.Step {
	return []step.Step{step.Environ(c, allocVariable(c), option)}
}

// allocVariable returns the environment variable of PyTorch's allocator: the
// name in the log's own hint, else the one that most versions read.
// PYTORCH_ALLOC_CONF is read from 2.9 on and silently ignored before; the
// older names are still read (c10/core/AllocatorConfig.cpp).
func allocVariable(c *ledger.Case) string {
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

// dtypeArgument is what from_pretrained calls the precision: dtype from
// transformers 4.56 on, when torch_dtype became deprecated.
func dtypeArgument(c *ledger.Case) string {
	if c.Signal("dtype_argument") != nil {
		return "dtype"
	}
	return "torch_dtype"
}

// beforeAmpere are names of cards without bfloat16 arithmetic.
var beforeAmpere = []string{
	"T4", "V100", "P100", "P40", "P4", "K80", "M40", "M60", "GTX", "RTX 20", "RTX20", "TITAN", "Quadro RTX", "Quadro P", "Tesla P", "Tesla K", "Tesla M",
}

// halfType is the 16-bit type of this card as a Python expression: bfloat16
// from Ampere on (compute capability 8), float16 on older ones. A card that
// the log does not name decides at run time; torch.cuda.is_bf16_supported()
// would be wrong there: it counts emulation.
func halfType(c *ledger.Case) string {
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

// fromPretrained writes the loading of the log's model with transformers. The
// arguments come one a line, with a comment or without; setup goes before.
func fromPretrained(c *ledger.Case, setup string, arguments ...string) step.Step {
	var b strings.Builder
	imports := "AutoModelForCausalLM"
	if strings.Contains(setup+strings.Join(arguments, ""), "BitsAndBytesConfig") {
		imports += ", BitsAndBytesConfig"
	}
	b.WriteString("import torch\nfrom transformers import " + imports + "\n\n")
	b.WriteString(setup)
	fmt.Fprintf(&b, "model = AutoModelForCausalLM.from_pretrained(\n    %s,\n", quote.Python(c.ModelName()))
	for _, a := range arguments {
		value, comment, _ := strings.Cut(a, "   #")
		if comment != "" {
			comment = "   #" + comment
		}
		b.WriteString("    " + value + "," + comment + "\n")
	}
	b.WriteString(")")
	return step.Step{Kind: "python", Text: b.String()}
}
