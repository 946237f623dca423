package papers

import (
	"math"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
)

// GPNN makes images from the patches of one, which it finds by comparing all with
// all.
var GPNN = program.Program{
	Name: "gpnn", Shown: "GPNN", Work: "image-generation", Edits: "flags", Language: "python",
	Proofs:  []string{"GPNN/model/gpnn.py", "model/gpnn.py", "GPNN/random_sample.py"},
	Sources: program.Sources{"GPNN/model/parser.py": "--out_size --faiss --no_cuda --stride", "GPNN/README.md": "faiss-gpu"},
	Steps: spelling{
		"lower_resolution":    say("Add `--out_size 256` (the result's height in pixels; by default the input's)."),
		"efficient_attention": say("Run `python -m pip install faiss-gpu`, then add `--faiss`. It finds the nearest patches without the table."),
	},
	Titles:   map[string]string{"lower_resolution": "Make a smaller image (--out_size)", "efficient_attention": "Search with FAISS (--faiss)"},
	Costs:    map[string]string{"lower_resolution": "a smaller image", "efficient_attention": "slightly other matches"},
	Remedies: ways("lower_resolution", "efficient_attention"), Like: []*program.Program{&parts.DataAside},
	Cards: []cause.Card{{
		ID: "gpnn/distances", Kinds: fromCard, Said: []string{"compute_distances", "torch.cdist(queries", "in PNN"}, If: ledger.OnCard, Cause: cause.OversizedAllocation, Weight: cause.Decisive, Figures: patches,
		Headline: "ran out of GPU memory comparing all patches with all patches[[: {asked}]]",
		Means:    "GPNN compares each patch of the result with each patch of the input, in one table.[[ {asked} is about {side} patches squared{bits}.]] There is a patch at nearly every pixel, so memory grows with the fourth power of the height.",
		Not:      "Emptying the cache or restarting: the table stays as large.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Told: "Half the height needs a sixteenth of the memory[[ ({half}); 0.7 of it needs a quarter ({quarter})]].", Own: true},
			{Fix: "efficient_attention", Own: true},
			{Fix: "cpu_offload", Title: "Or compute it in RAM (--no_cuda)", Told: "The table then takes as much RAM, often more than free notebooks have.", Cost: "far slower"},
		},
		Sources: []string{"GPNN/model/gpnn.py", "GPNN/README.md"},
	}},
}

// patches say how many rows and columns the table has: compute_distances keeps 16
// bit, torch.cdist 32.
func patches(c *ledger.Case) map[string]string {
	out := map[string]string{"side": "", "bits": "", "half": "", "quarter": "", "asked": ""}
	if !c.Asked.Has() {
		return out
	}
	bytes, told := 4.0, ""
	if f := ledger.OwnFrame(c); f != nil && f.Function == "compute_distances" {
		bytes, told = 2, " in 16 bit"
	}
	n := int64(math.Sqrt(float64(c.Asked.Bytes)/bytes)/1000 + 0.5)
	out["asked"], out["side"], out["bits"] = c.Asked.String(), ledger.Thousands(n*1000), told
	out["half"], out["quarter"] = units.Amount(c.Asked.Bytes/16), units.Amount(c.Asked.Bytes/4)
	return out
}
