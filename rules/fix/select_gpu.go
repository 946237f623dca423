package fix

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// effectOwnCards: the other ranks load onto cards of their own.
func effectOwnCards(c *ledger.Case) *effect.Effect {
	f := c.F()
	if !cause.RanksOnOneCard(c) && cause.BareContexts(c).Weight == 0 || !ledger.TorchFigures(c) || f.Free == nil {
		return effectFreerCard(c)
	}
	given := int64(0)
	for _, p := range f.OtherProcesses {
		if p.PID != c.OurPID {
			given += p.Bytes
		}
	}
	have := f.Free.Bytes + given
	return &effect.Effect{NeedBytes: f.Requested.Bytes, HaveBytes: have, Fits: have >= f.Requested.Bytes, Basis: "log", Certainty: effect.Bound,
		Note: fmt.Sprintf("%s free + %s that the other ranks hold on this card. Exact for this request; what comes after it needs room too.", f.Free, units.Amount(given))}
}

// effectFreerCard: another card of the log's table, against what this process
// holds and wanted.
func effectFreerCard(c *ledger.Case) *effect.Effect {
	index, free, ok := ledger.FreestCard(c)
	f := c.F()
	if !ok || !ledger.TorchFigures(c) || !c.Mine.Has() || ledger.Roomy(c) {
		return nil
	}
	need := c.Mine.Bytes + f.Requested.Bytes
	return &effect.Effect{NeedBytes: need, HaveBytes: free, Fits: need <= free, Basis: "log", Certainty: effect.Bound,
		Note: fmt.Sprintf("%s held + %s wanted, against what the table shows free on GPU %d. A lower bound: what comes after this request needs room too.", c.Mine, f.Requested, index)}
}

var selectGpu = Fix{
	ID:       "select_gpu",
	Title:    "Use another card",
	Tradeoff: "Free, if there is another card; it may be the slower one.",
	Cost:     0.05,
	Check:    "`nvidia-smi` while it runs: the memory grows on the card you chose.",
	Next:     "If the other card is as full, find out who holds it.",
	Told:     "Choose another card in your program's settings, or by CUDA_VISIBLE_DEVICES before the start.",
	Steps:    stepsSelectGPU,
	Effect:   effectOwnCards,
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
