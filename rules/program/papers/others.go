package papers

import "github.com/oomdoc/oomdoc/rules/program"

// Trainers of which only who reads is known.
var (
	MMF = program.Program{
		Name: "mmf", Shown: "MMF", Work: "vision", Edits: "flags", Language: "python",
		Proofs: []string{"mmf/trainers/", "mmf_cli/"},
	}
	Kraken = program.Program{
		Name: "kraken", Work: "vision", Edits: "flags", Language: "python",
		Proofs: []string{"KETOS training", "kraken/lib/", "kraken/ketos"},
	}
)
