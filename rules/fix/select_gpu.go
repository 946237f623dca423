package fix

import (
	"strconv"

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
	other := strconv.Itoa(ledger.OtherGPU(c))
	if variable := visible[c.Backend]; variable != "" {
		return []step.Step{step.Environ(c, variable, other)}
	}
	return []step.Step{
		{Kind: "shell", Text: "nvidia-smi --query-gpu=index,name,memory.free,memory.total --format=csv"},
		step.Environ(c, "CUDA_DEVICE_ORDER", "PCI_BUS_ID"),
		step.Environ(c, "CUDA_VISIBLE_DEVICES", other),
	}
}

// visible are the variables that choose a card, by backend.
var visible = map[string]string{"rocm": "HIP_VISIBLE_DEVICES", "xpu": "ZE_AFFINITY_MASK", "npu": "ASCEND_RT_VISIBLE_DEVICES", "vulkan": "GGML_VK_VISIBLE_DEVICES"}
