// Package ggml knows llama.cpp and ggml below it, for all programs that are
// built on them.
package ggml

import "github.com/oomdoc/oomdoc/rules/program"

// LlamaCpp judges llama.cpp's and ggml's messages, for the front ends too.
var LlamaCpp = program.Program{
	Name: "llama.cpp", Commands: []string{"llama-server", "llama-cli", "llama-bench", "llama-quantize", "sd-cli"}, Rank: 58,
	Work: "text-inference", Edits: "flags", Language: "cpp",
	Sources: program.Sources{
		"llama.cpp/common/arg.cpp":                        "--device --list-devices --load-mode --n-cpu-moe --no-mmap --parallel",
		"stable-diffusion.cpp/examples/common/common.hpp": "--diffusion-fa --vae-tiling",
	},
	Proofs: []string{
		"llama_model_loader:", "load_tensors:", "node-llama-cpp", "srv    load_model", "prompt_save:", "updating prompt cache",
	},
	Clues:    llamaClues,
	Remedies: llamaRemedies,
	Steps:    llamaSteps,
	Effects:  llamaEffects,
	Checks:   llamaChecks,
	Useless:  llamaUseless,
	Whys:     llamaWhys,
	Cards:    llamaCards,
}
