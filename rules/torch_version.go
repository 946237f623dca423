package rules

import (
	"fmt"
	"strconv"
	"strings"
)

// What the version of PyTorch decides, as far as the log gives it away: the
// allocator's message names the variable it reads, its shape changed in 2.1,
// and many programs print the version at the start.

// allocVariable returns the environment variable of PyTorch's allocator: the
// name in the log's own hint, else the one that most versions read.
// PYTORCH_ALLOC_CONF is read from 2.9 on and silently ignored before; the
// older names are still read (c10/core/AllocatorConfig.cpp).
func allocVariable(c *Case) string {
	if hint, ok := c.Fact("alloc_conf_variable"); ok {
		return hint.Text
	}
	switch {
	case c.Backend == "npu":
		return "PYTORCH_NPU_ALLOC_CONF"
	case torchVersion(c) >= 209:
		return "PYTORCH_ALLOC_CONF"
	case c.Backend == "rocm":
		return "PYTORCH_HIP_ALLOC_CONF"
	}
	return "PYTORCH_CUDA_ALLOC_CONF"
}

// torchVersion is the version that the log states, 2.9 as 209; 0 if it states
// none.
func torchVersion(c *Case) int {
	stated, ok := c.Fact("torch_version")
	if !ok {
		return 0
	}
	major, minor, _ := strings.Cut(stated.Text, ".")
	a, _ := strconv.Atoi(major)
	b, _ := strconv.Atoi(minor)
	return 100*a + b
}

// allocConf is the step that sets an option of PyTorch's allocator.
func allocConf(c *Case, option string) []Step {
	return []Step{environ(c, allocVariable(c), option)}
}

// environ sets an environment variable for what is started afterwards.
func environ(c *Case, name, value string) Step {
	switch {
	case c.Signal("notebook") != nil:
		return Step{Kind: "python", Text: fmt.Sprintf("# first cell, after a restart of the kernel, before torch is imported\nimport os\nos.environ[%s] = %s", pyQuote(name), pyQuote(value))}
	case c.Windows():
		return Step{Kind: "env", Text: fmt.Sprintf("set %s=%s\n$env:%[1]s = \"%[2]s\"   # instead, in PowerShell", name, value)}
	}
	return Step{Kind: "env", Text: "export " + name + "=" + value}
}

// beforeExpandable reports a message of a PyTorch older than 2.1, which has no
// expandable_segments. One without a hint (1.4 to 1.9) may as well be a newer
// one that was cut.
func beforeExpandable(c *Case) bool {
	if v := torchVersion(c); v > 0 {
		return v < 201
	}
	since, ok := c.Fact("torch_since")
	return ok && (since.Text == "1.0" || since.Text == "1.10")
}

// dtypeArgument is what from_pretrained calls the precision: dtype from
// transformers 4.56 on, when torch_dtype became deprecated.
func dtypeArgument(c *Case) string {
	if c.Signal("dtype_argument") != nil {
		return "dtype"
	}
	return "torch_dtype"
}

// beforeAmpere are names of cards without bfloat16 arithmetic.
var beforeAmpere = [...]string{
	"T4", "V100", "P100", "P40", "P4", "K80", "M40", "M60", "GTX", "RTX 20", "RTX20", "TITAN", "Quadro RTX", "Quadro P", "Tesla P", "Tesla K", "Tesla M",
}

// halfType is the 16-bit type of this card as a Python expression: bfloat16
// from Ampere on (compute capability 8), float16 on older ones. A card that
// the log does not name decides at run time; torch.cuda.is_bf16_supported()
// would be wrong there: it counts emulation.
func halfType(c *Case) string {
	for _, d := range c.Facts.Devices {
		for _, old := range beforeAmpere {
			if strings.Contains(d.Name, old) {
				return "torch.float16"
			}
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
