package array

import "github.com/oomdoc/oomdoc/rules/program"

// Burn is a library of which only who reads is known yet.
var Burn = program.Program{
	Name: "burn", Shown: "Burn", Edits: "code", Language: "rust", Script: "burn",
	Proofs: []string{"cubecl-", "cubecl_", "burn-core-", "burn_core", "burn_fusion"},
}
