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
		Means:    "The GPU was full before all weights were on it. The Transformers loader uses 16 bit by default, 2 GB for each billion parameters[[: {full} for {name}, about {quarter} at 4 bit]].",
		Not:      "A shorter context or prompt: no prompt was read yet.",
		Cures: []cause.Cure{
			textgenGGUF,
			inTab("load_in_4bit", "Load it in 4 bit: `load-in-4bit`", "In the Model tab, with the Transformers loader, tick `load-in-4bit`, then Load. It does not work for GPTQ, AWQ or EXL2 files.", "slight loss of quality", flag("--load-in-4bit", fixed(""))),
			{Fix: "use_smaller_model", Title: "Use a smaller model", Told: "At 4 bit a 7B model takes about 4.5 GB, 13B 8, 30B 18, 70B 40, plus 1 to 2 GB for the conversation."},
		},
		Sources: []string{textgenCode + "transformers_loader.py", textgenIssues + "3278"},
	}
}
