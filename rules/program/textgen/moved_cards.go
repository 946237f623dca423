package textgen

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// moves are the words of [torch.nn.Module]'s own lambdas: its cuda, half, float
// and the like hand one to _apply, which moves or converts all weights; where a
// module computes, its frames are _call_impl instead.
var moves = []string{"in <lambda>", "torch/nn/modules/module.py", `torch\nn\modules\module.py`}

func movesModule(c *ledger.Case) bool {
	return c.Near("in <lambda>") && c.Near("torch/nn/modules/module.py")
}

// tooLarge is about weights that the Transformers loader moves to the GPU.
func tooLarge(id string, phases, said []string, holds func(*ledger.Case) bool) cause.Card {
	return cause.Card{
		ID: id, Kinds: torchFull, Phases: phases, Said: said, If: holds, Unsaid: []string{"_call_impl", "ExLlama_loader", "ExLlamav2_loader", "ExLlamav2_HF_loader", "ExLlamav3_loader", "ExLlamav3_HF_loader", "exllama.py", "exllamav2.py", "exllamav2_hf.py", "ExLlamaCache"}, Figures: textgenSizes,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "did not load: the weights do not fit on the GPU",
		Means:    "The loader was moving the weights to the GPU[[, and {mine} of {total} was its own when {asked} more was refused]].[[ {name} takes {full} at 16 bit, the Transformers loader's default, and about {quarter} at 4.]] Nothing was generated yet.",
		Not:      "A shorter context or prompt: no prompt was read yet.",
		Cures: []cause.Cure{
			textgenGGUF,
			inTab("load_in_4bit", "Load it in 4 bit: `load-in-4bit`", "Model tab, Transformers loader, tick `load-in-4bit`, then Load (not for GPTQ, AWQ or EXL2 files).", "slight loss of quality", flag("--load-in-4bit", fixed(""))),
			{Fix: "use_smaller_model", Title: "Use a smaller model", Told: "At 4 bit: 7B about 4.5 GB, 13B 8, 30B 18, 70B 40, and 1 to 2 GB for the conversation."},
		},
		Sources: []string{textgenCode + "transformers_loader.py", textgenIssues + "3278"},
	}
}
