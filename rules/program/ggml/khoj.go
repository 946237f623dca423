package ggml

import "github.com/oomdoc/oomdoc/rules/program"

// Khoj runs GGUF files by llama-cpp-python; only who reads is known of it.
var Khoj = program.Program{
	Name: "khoj", Shown: "Khoj", Work: "text-inference", Edits: "flags", Language: "python",
	Proofs: []string{"khoj.routers", "khoj.utils", "khoj.main"},
}
