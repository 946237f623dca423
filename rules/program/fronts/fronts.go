// Package fronts knows what is built on llama.cpp and ggml: KoboldCpp, LM Studio,
// bindings, apps, whisper.cpp, stable-diffusion.cpp.
package fronts

import (
	"slices"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/ggml"
	"github.com/oomdoc/oomdoc/rules/when"
)

// KoboldCpp is what is peculiar to KoboldCpp.
var KoboldCpp = program.Program{Name: "koboldcpp", Work: "text-inference", Edits: "flags", Language: "cpp", Shown: "KoboldCpp", Rank: 86, Units: []string{"koboldcpp"}, Proofs: []string{"Check your context buffer sizes!", "Loading TTS.CPP Model Arch:", "TTS Memory Requested:", "kokoro_ipa.embd", "kobold_bin/", "Welcome to KoboldCpp"}, Like: []*program.Program{&ggml.LlamaCpp}, Cards: koboldCards}

// LMStudio is what is peculiar to LM Studio: its log's tags and its program folder. Models
// under .lmstudio prove nothing, llama.cpp loads them too.
var LMStudio = program.Program{
	Name: "lm-studio", Shown: "LM Studio", Rank: 86,
	Work: "text-inference", Edits: "flags", Language: "js",
	Proofs: []string{"[LMSInternal]", "[LM STUDIO SERVER]", `LM Studio\resources`, "LM Studio.app/Contents", "🥲 Failed to load", "lmstudio-llama-cpp", "[ModelLoadingProvider]", "Endpoint=loadModel", "-packages/mlx_engine/", ".lmstudio/extensions/backends/"},
	Like:   []*program.Program{&ggml.LlamaCpp},
	Cards:  slices.Concat(studioMLXCards, lmStudioCards, []cause.Card{studioUnnamed}),
}

// StableDiffusionCpp is stable-diffusion.cpp.
var StableDiffusionCpp = program.Program{Name: "stable-diffusion.cpp", Commands: []string{"sd-cli"}, Proofs: []string{"decode_first_stage failed", "vae: failed to allocate the compute buffer"}, Work: "image-generation", Edits: "flags", Language: "cpp", Like: []*program.Program{&ggml.LlamaCpp}, Cards: diffusionCards}

// WhisperCpp is whisper.cpp.
var WhisperCpp = program.Program{Name: "whisper.cpp", Work: "audio", Edits: "flags", Language: "cpp", Like: []*program.Program{&ggml.LlamaCpp}, Cards: whisperCards}

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
	Proofs: []string{"node-llama-cpp/", "InsufficientMemoryError: A context size of"},
}

var onGPU = when.Not(ledger.InHost)

func onVulkan(c *ledger.Case) bool { return c.Backend == "vulkan" }
func bare(c *ledger.Case) bool     { return c.Failure.Stage == "" }
func diffuses(c *ledger.Case) bool { return c.Says("stable-diffusion.cpp") }

func above(bytes int64) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return ledger.Requested(c) >= bytes }
}

// as is a cure as the program spells it, with the value computed.
func as(fix, title, cost string) cause.Cure { return cause.Cure{Fix: fix, Title: title, Cost: cost} }

// does is a cure with a step of its own.
func does(fix, title, kind, text, cost string) cause.Cure {
	return cause.Cure{Fix: fix, Title: title, Kind: kind, Text: text, Cost: cost}
}

// told is a fix as llama.cpp spells it, after words with its figures.
func told(fix, title, told, cost string) cause.Cure {
	return cause.Cure{Fix: fix, Title: title, Told: told, Steps: ggml.LlamaCpp.Steps[fix], Cost: cost}
}

// either is a cure where a condition holds.
func either(holds func(*ledger.Case) bool, cure cause.Cure) cause.Cure {
	cure.If = holds
	return cure
}
