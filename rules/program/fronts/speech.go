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
	Means:    "A speech program on ggml asked the card for {asked} and was refused. The log shows neither the card's size nor what else is on it: a small card or an integrated GPU, other programs, or another run of the same program (tests that run in parallel) are all possible.",
	Cures: []cause.Cure{
		does("close_other_apps", "See what is on the card, run one process at a time", "text", "`nvidia-smi` or the task manager, before and during a run. Tests that start the program: one after the other.", "free"),
		does("use_smaller_model", "Use a smaller or quantised speech model", "text", "Whisper, for example: `small` or `medium` instead of `large`, or a file with q5 or q8 in its name.", "slightly more errors"),
		does("cpu_offload", "Run it on the CPU or another card", "text", "With the program's own option for CPU or for another device (whisper.cpp: `--no-gpu`; Vulkan: `GGML_VK_VISIBLE_DEVICES=1` chooses the second card).", "slower"),
	},
	Sources: []string{"llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp", "whisper.cpp/examples/cli/cli.cpp"},
}}
