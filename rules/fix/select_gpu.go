package fix

import (
	"fmt"

	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var selectGpu = Fix{
	ID:       "select_gpu",
	Title:    "Use another card",
	Tradeoff: "Free, if there is another card; it may be the slower one.",
	Cost:     free,
	Check:    "`nvidia-smi` while it runs: the memory grows on the card you chose.",
	Next:     "If the other card is as full, find out who holds it.",
	Told:     "Choose another card in your program's settings, or by CUDA_VISIBLE_DEVICES before the start.",
	Steps:    stepsSelectGPU,
	Useless:  func(c *ledger.Case) string { return ledger.NeverFits(c) },
}

func stepsSelectGPU(c *ledger.Case) []step.Step {
	n := ledger.OtherGPU(c)
	switch c.Backend {
	case "rocm":
		return []step.Step{step.Environ(c, "HIP_VISIBLE_DEVICES", fmt.Sprint(n))}
	case "xpu":
		return []step.Step{step.Environ(c, "ZE_AFFINITY_MASK", fmt.Sprint(n))}
	case "npu":
		return []step.Step{step.Environ(c, "ASCEND_RT_VISIBLE_DEVICES", fmt.Sprint(n))}
	case "vulkan":
		return []step.Step{step.Environ(c, "GGML_VK_VISIBLE_DEVICES", fmt.Sprint(n))}
	}
	return []step.Step{
		{Kind: "shell", Text: "nvidia-smi --query-gpu=index,name,memory.free,memory.total --format=csv"},
		step.Environ(c, "CUDA_DEVICE_ORDER", "PCI_BUS_ID"),
		step.Environ(c, "CUDA_VISIBLE_DEVICES", fmt.Sprint(n)),
	}
}
