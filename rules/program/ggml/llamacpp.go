// Package ggml knows llama.cpp and what is built on ggml: KoboldCpp, LM Studio,
// whisper.cpp, stable-diffusion.cpp.
package ggml

import (
	"slices"

	"github.com/oomdoc/oomdoc/rules/program"
)

// LlamaCpp judges llama.cpp's and ggml's messages, for the front ends too.
var LlamaCpp = program.Program{
	Name: "llama.cpp", Rank: 58,
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

// KoboldCpp is what is peculiar to KoboldCpp.
var KoboldCpp = program.Program{Name: "koboldcpp", Work: "text-inference", Edits: "flags", Language: "cpp", Shown: "KoboldCpp", Rank: 86, Like: []*program.Program{&LlamaCpp}, Cards: koboldCards}

// LMStudio is what is peculiar to LM Studio: its log's tags and its program folder. Models
// under .lmstudio prove nothing, llama.cpp loads them too.
var LMStudio = program.Program{
	Name: "lm-studio", Shown: "LM Studio", Rank: 86,
	Work: "text-inference", Edits: "flags", Language: "js",
	Proofs: []string{"[LMSInternal]", "[LM STUDIO SERVER]", `LM Studio\resources`, "LM Studio.app/Contents", "🥲 Failed to load"},
	Like:   []*program.Program{&LlamaCpp},
	Cards:  lmStudioCards,
}

// StableDiffusionCpp is stable-diffusion.cpp.
var StableDiffusionCpp = program.Program{Name: "stable-diffusion.cpp", Work: "image-generation", Edits: "flags", Language: "cpp", Like: []*program.Program{&LlamaCpp}, Cards: diffusionCards}

// WhisperCpp is whisper.cpp.
var WhisperCpp = program.Program{Name: "whisper.cpp", Work: "audio", Edits: "flags", Language: "cpp", Like: []*program.Program{&LlamaCpp}, Cards: whisperCards}

// LlamaCppPython is the Python binding, in which settings are arguments of a function.
var LlamaCppPython = program.Program{
	Name: "llama-cpp-python",
	Work: "text-inference", Edits: "code", Language: "python",
	Cards:  slices.Concat(pythonOwn, pythonCards),
	Proofs: pythonProofs,
	Hints:  []string{"Failed to create llama_context"},
}

// NodeLlamaCpp is the JavaScript binding.
var NodeLlamaCpp = program.Program{
	Name: "node-llama-cpp", Work: "text-inference", Edits: "code", Language: "js",
	Proofs: []string{"node-llama-cpp/"},
}
