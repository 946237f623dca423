// Package ggml knows llama.cpp and ggml below it, for all programs that are
// built on them.
package ggml

import (
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/ggml/books"
	"github.com/oomdoc/oomdoc/rules/program/ggml/tensors"
)

// LlamaCpp judges llama.cpp's and ggml's messages, for the front ends too.
var LlamaCpp = program.Program{
	Name: "llama.cpp", Rank: 58,
	Commands: []string{"llama-server", "llama-cli", "llama-bench", "llama-quantize"},
	Units:    []string{"llama-server", "llama-cpp", "llamacpp", "llama-cpp-server"},
	Work:     "text-inference", Edits: "flags", Language: "cpp",
	Sources: program.Sources{
		"llama.cpp/tools/quantize/quantize.cpp":           "--leave-output-tensor",
		"llama.cpp/common/arg.cpp":                        "--device --list-devices --load-mode --n-cpu-moe --no-mmap --parallel",
		"stable-diffusion.cpp/examples/common/common.cpp": "--diffusion-fa --vae-tiling",
	},
	Proofs: []string{
		"llama_model_loader:", "llama_init_from_file: kv self size", "load_tensors:", "node-llama-cpp", "srv    load_model", "prompt_save:", "updating prompt cache",
		"main: quantizing '", "(llama-server)", "task=llama-server,", "(llama-cli)", "task=llama-cli,",
	},
	Books:    books.Of,
	Numbers:  tensors.Readings,
	Clues:    llamaClues,
	Remedies: llamaRemedies,
	Steps:    llamaSteps,
	Effects:  llamaEffects,
	Checks:   llamaChecks,
	Useless:  llamaUseless,
	Whys:     llamaWhys,
	Cards:    llamaCards,
}
