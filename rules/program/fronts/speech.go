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
	Headline: "could not get {asked} of GPU memory",
	Means:    "The log shows neither how much memory the GPU has nor what else uses it. It may be a small or integrated GPU, other programs, or another run of the same program (tests that run in parallel, for example).",
	Cures: []cause.Cure{
		does("close_other_apps", "See what is on the GPU, run one process at a time", "text", "Watch Task Manager or `nvidia-smi` before and during a run. Run tests that start the program one after the other.", "free"),
		does("use_smaller_model", "Use a smaller or quantised speech model", "text", "With Whisper: `small` or `medium` instead of `large`, or a file with q5 or q8 in its name.", "slightly more errors"),
		does("cpu_offload", "Run it on the CPU or another GPU", "text", "Use the program's option for the CPU or another device (whisper.cpp: `--no-gpu`). With Vulkan, `GGML_VK_VISIBLE_DEVICES=1` selects the second GPU.", "slower"),
	},
	Sources: []string{"llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp", "whisper.cpp/examples/cli/cli.cpp"},
}}
