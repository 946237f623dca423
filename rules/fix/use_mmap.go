package fix

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var useMmap = Fix{
	ID:       "use_mmap",
	Title:    "Let the file be mapped instead of copied",
	Tradeoff: "None as a rule; a first answer can be slower from a slow disk.",
	Cost:     free,
	Check:    CheckRAM,
	Next:     "If it is mapped and still too much, use a smaller file.",
	Told:     "Let the model's file be mapped instead of copied.",
	Steps:    stepsMmap,
}

func stepsMmap(c *ledger.Case) []step.Step {
	if c.Signal("reading_checkpoint") != nil {
		return []step.Step{{Kind: "python", Text: "state = torch.load(path, map_location=\"cpu\", mmap=True)   # PyTorch 2.1; the file must have been saved by 1.6 or later\nmodel.load_state_dict(state, assign=True)   # keeps the mapped weights instead of copying them; build the model under torch.device(\"meta\")"}}
	}
	return []step.Step{{Kind: "text", Text: "Remove `--no-mmap` and `--mlock` from the command (llama.cpp), or take the `.safetensors` file instead of `.bin`, `.ckpt` or `.pt`."}}
}
