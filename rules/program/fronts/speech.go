package fronts

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/ggml"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Speech is a program on ggml that turns speech into text and is none of those
// that are known by name: nothing of a language model's options is its own.
var Speech = program.Program{
	Name: "ggml-speech", Shown: "The speech program", Work: "audio", Edits: "flags", Language: "cpp", Like: []*program.Program{&ggml.LlamaCpp},
	Proofs: []string{"transcribe.exe", "DiarizeAndTranscribe"}, Cards: speechCards,
}

var speechCards = []cause.Card{{
	ID: "ggml-speech/unnamed", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(onGPU, above(1)),
	Headline: "was refused {asked} in one piece on the card",
	Means:    "A program on ggml that turns speech into text asked for {asked} and was refused. The log shows neither how large the card is nor what else is on it: a small card or a processor's own graphics, other programs, or a run of the same program before it that has not ended (tests that run at once) are all possible. `nvidia-smi` or the system's monitor tells.",
	Not:      "Shorter recordings, as a rule: such models read a recording in pieces, and a piece of {asked} follows the model.",
	Cures: []cause.Cure{
		does("close_other_apps", "See who is on the card, and run one at a time", "text", "`nvidia-smi` or the system's monitor while nothing runs, then during it. Tests that start the program: one after the other.", "free"),
		does("use_smaller_model", "A smaller or quantised speech model", "text", "Of Whisper, for example, `small` or `medium` instead of `large`, or a file with q5 or q8 in its name.", "slightly more errors"),
		does("cpu_offload", "Or the processor", "text", "With the program's own option for CPU or for another device (whisper.cpp: `--no-gpu`; Vulkan: `GGML_VK_VISIBLE_DEVICES=1` chooses the second card).", "slower"),
	},
	Sources: []string{"llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp", "whisper.cpp/examples/cli/cli.cpp"},
}}
