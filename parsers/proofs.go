package parsers

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/array"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/ggml"
	"github.com/oomdoc/oomdoc/parsers/text"
	"github.com/oomdoc/oomdoc/parsers/torch"
	"github.com/oomdoc/oomdoc/parsers/webui"
)

var proofs = text.Parser{
	Name:    "proofs",
	Context: proofWords(),
	Parse: func(l *text.Log, hits []text.Hit, f *fact.Facts) {
		best := map[string]int{}
		for _, h := range hits {
			p := allProofs[h.Word]
			if best[p.Program] >= p.Weight || !p.Holds(l.Squeezed()[h.At:]) {
				continue
			}
			best[p.Program] = p.Weight
			f.Programs = append(f.Programs, fact.Program{Name: p.Program, Line: l.Line(h.At), Weight: p.Weight})
		}
	},
}

var allProofs = slices.Concat(
	webui.TextgenProofs, webui.ExllamaProofs, torch.TransformersProofs, webui.ComfyProofs, webui.A1111Proofs, webui.DiffusersProofs,
	ggml.OllamaProofs, ggml.LlamaProofs, ggml.LmStudioProofs, ggml.BindingProofs, array.ONNXRuntimeProofs,
)

func proofWords() []string {
	var out []string
	for _, p := range allProofs {
		out = append(out, p.Word)
	}
	return out
}
