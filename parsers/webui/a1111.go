package webui

import (
	"cmp"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// A1111 reads AUTOMATIC1111 and Forge.
var A1111 = text.NewParser("a1111", map[fact.Kind]int{fact.ForgeLoad: 4},
	[]text.Wording{text.On("[Memory Management] Target:", readForgePlan)},
	[]text.Wording{
		text.On("[Memory Management] Required Model Memory:", readForgeWeights), text.On("[Memory Management] Model Memory (MB) =", readForgeWeights),
		text.On("DiffusionWrapper has", readWrapper),
	},
)

var (
	forgePlan      = text.NewPattern(`\[memorymanagement\]target:[a-z0-9_]{1,60},freegpu:(?<free>NUMmb),modelrequire:(?<weights>NUMmb),(?:previouslyloaded:NUMmb,)?inferencerequire:(?<work>NUMmb),remaining:NUMmb,(?<error>cudaerror:outofmemory|hiperror:outofmemory|[a-z.]{0,30}outofmemory)?`)
	wrapperPattern = text.NewPattern(`diffusionwrapperhas(?<mparams>\d{1,6}(?:\.\d{1,3})?)mparams`)
	forgeWeights   = text.NewPattern(`requiredmodelmemory:(?<weights>NUMmb)|modelmemory\(mb\)=(?<mb>NUM)`)
)

// readWrapper reads how large the network is that makes the picture, as the
// code of Stable Diffusion's authors prints it: "DiffusionWrapper has 859.52 M
// params.".
func readWrapper(m text.Message) int {
	k := m.Find(wrapperPattern, 60)
	m.Count("network_mparams", k.Count("mparams"))
	return m.End
}

func readForgeWeights(m text.Message) int {
	k := m.Find(forgeWeights, 80)
	m.Fact("weights", cmp.Or(k.Size("weights"), k.SizeIn("mb", "mb")))
	return m.End
}

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
