package rules

import (
	"sync"

	"github.com/oomdoc/oomdoc/parsers/fact"
)

// Judge says what the causes of a case are, the likeliest first.
func Judge(c *Case) []Cause {
	derive(c)
	return weigh(c, clues())
}

// Advise says what to do about the causes of a case, the best first, and which
// of the usual tips cannot help.
func Advise(c *Case, causes []Cause) ([]Advice, []Useless) {
	return advise(c, causes, enginesOf(c, engines()))
}

// engines returns every engine. One whose program stands earlier in a case's
// stack goes first.
func engines() []*Engine {
	return []*Engine{
		&vllmEngine, &sglangEngine, &tgiEngine, &tensorrtllmEngine, &lmdeployEngine, &mlcEngine, &rayEngine,
		&llamacppEngine, &ollamaEngine, &textgenEngine, &exllamaEngine, &unslothEngine, &llamaFactoryEngine, &axolotlEngine, &transformersEngine,
		&comfyEngine, &fooocusEngine, &a1111Engine, &kohyaEngine, &diffusionEngine,
		&jaxEngine, &tensorflowEngine, &cupyEngine, &onnxruntimeEngine, &mlxEngine, &numpyEngine, &frameworksEngine,
		&hostEngine, &pytorchEngine,
	}
}

// clues returns the clues for every cause, the general ones last.
var clues = sync.OnceValue(func() map[string][]Clue {
	out := map[string][]Clue{}
	for _, r := range All() {
		for _, e := range engines() {
			out[r.ID] = append(out[r.ID], e.Clues[r.ID]...)
		}
		out[r.ID] = append(out[r.ID], r.Clues...)
	}
	return out
})

// Spelling is how programs spell a fix, as far as it is the same for every
// case.
type Spelling struct {
	Programs []string
	Steps    []Step
}

// Spellings returns how each program spells a fix.
func Spellings(id string) []Spelling {
	var out []Spelling
	for _, e := range engines() {
		if steps := e.Steps[id]; steps != nil {
			c := &Case{Facts: &fact.Facts{}, Framework: e.Programs[0], Stack: e.Programs[:1], Phase: "unknown"}
			out = append(out, Spelling{Programs: e.Programs, Steps: steps(c)})
		}
	}
	return out
}
