package webui

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// A1111 reads AUTOMATIC1111 and Forge.
var A1111 = text.NewParser("a1111", map[fact.Kind]int{fact.ForgeLoad: 4},
	[]text.Wording{
		text.On("[Memory Management] Target:", readForgePlan), text.On("Not enough memory, use lower resolution", text.FailsIf(refusedSlices, 0, 160, splitAttention)),
		text.On("Creating model from config:", text.FailsIf(endedOnColab, 0, 300, colabEnd)), text.On("got prompt", text.FailsIf(endedOnColab, 0, 600, colabEnd)), text.On("UNet ADM Dimension", text.FailsIf(endedOnColab, 0, 600, colabEnd)),
	},
	[]text.Wording{
		text.On("[Memory Management] Required Model Memory:", forgeWeights), text.On("[Memory Management] Model Memory (MB) =", forgeWeights),
		// How large the network is: "DiffusionWrapper has 859.52 M params.".
		text.On("DiffusionWrapper has", text.States(0, 60, text.NewPattern(`diffusionwrapperhas(?<network_mparams>\d{1,6}(?:\.\d{1,3})?)mparams`))),
	},
)

var (
	forgePlan    = text.NewPattern(`\[memorymanagement\]target:[a-z0-9_]{1,60},freegpu:(?<free>NUMmb),modelrequire:(?<weights>NUMmb),(?:previouslyloaded:NUMmb,)?inferencerequire:(?<work>NUMmb),remaining:NUMmb,(?<error>cudaerror:outofmemory|hiperror:outofmemory|[a-z.]{0,30}outofmemory)?`)
	forgeWeights = text.States(0, 80, text.NewPattern(`requiredmodelmemory:(?<weights>NUMmb)|modelmemory\(mb\)=(?<weights_mib>NUM)`))
)

// Doggettx's split attention, which many image programs have, refuses beforehand
// where 64 slices are too few. Colab prints ^C when it ends a program for its RAM.
var (
	splitAttention = text.NewPattern(`notenoughmemory,uselowerresolution\(maxapprox\.INTxINT\)\.need:(?<requested>NUMgb)free,have:(?<free>NUMgb)free(?:,a:(?<allocated>NUMgb),r:(?<reserved>NUMgb),sys:NUM/(?<total>NUMgb))?`)
	colabEnd       = text.NewPattern(`(?:creatingmodelfromconfig:/content/[a-z0-9_./-]{1,200}|(?:gotprompt|unetadmdimension)[^|%]{0,500})\^c$`)
	refusedSlices  = fact.Failure{Kind: fact.DeviceAlloc, Backend: "cuda", Stage: "compute"}
	endedOnColab   = fact.Failure{Kind: fact.ShellKilled, Phase: "load"}
)

// readForgePlan reads what Forge is about to load. "Remaining" below zero is
// normal, part of the model goes to swap; an error glued on is not.
func readForgePlan(m text.Message) int {
	k := m.Find(forgePlan, 400)
	m.Fact("weights", k.Size("weights"))
	m.Fact("forge_work", k.Size("work"))
	if k.Lower("error") != "" {
		from, to := k.Span()
		x := fact.Failure{Kind: fact.ForgeLoad, Framework: "a1111", Backend: "cuda", Phase: "load", Stage: "weights"}
		x.Figures.Free = k.Size("free")
		text.Fail(m.Facts, m.Log, from, to, x)
	}
	return m.End
}
