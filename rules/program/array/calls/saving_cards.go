package calls

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
)

// Saving is about a model that is written with safetensors, for a program and
// how it is told to write 16 bit. Up to 0.7.0 `_tobytes` copies each tensor into
// RAM, and all copies are there before the first is written; `_flatten_as_ptr`
// of 0.8.0 hands over addresses (bindings/python/py_src/safetensors/torch.py,
// safetensors PR 679).
func Saving(program string, sixteenBit cause.Cure) cause.Card {
	if sixteenBit.Fix == "" {
		sixteenBit = cause.Cure{Fix: "half_precision", Title: "Save it in 16 bit", Told: "`{k: v.half() for k, v in state.items()}` halves 32 bit. Or use the program's option for the saved type.", Cost: "none for use; a run that continues from it loses some precision"}
	}
	return cause.Card{
		ID: program + "/saving", Kinds: []fact.Kind{fact.PythonMemory, fact.NumpyAlloc, fact.CPUAlloc, fact.CommitLimit}, Said: []string{"save_file(", "serialize_file(", "in _tobytes"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of system memory (RAM) while saving the model",
		Means:    "The work up to here went well. Up to version 0.7, safetensors copies every tensor into RAM before it writes the file. So saving needs the size of the file in RAM, on top of the model. RAM plus page file or swap was too small for that.",
		Not:      "A smaller batch, gradient checkpointing, fewer loader workers: none of them makes the file smaller.",
		Cures: []cause.Cure{
			PageFile,
			SwapBridge,
			sixteenBit,
			{Fix: "close_other_apps", Title: "Close other programs while it saves", Told: "Or install a newer safetensors (`pip install -U safetensors`; 0.8 writes without the copy), if the program allows it.", Cost: "free"},
		},
		Sources: []string{"safetensors/bindings/python/py_src/safetensors/torch.py", "https://github.com/huggingface/safetensors/pull/679"},
	}
}
