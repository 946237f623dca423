package webui

import "github.com/oomdoc/oomdoc/rules/program"

// MagicQuill edits pictures; only who reads is known of it.
var MagicQuill = program.Program{
	Name: "magicquill", Shown: "MagicQuill", Work: "image-generation", Edits: "code", Language: "python",
	Proofs: []string{"MagicQuill/"},
}
