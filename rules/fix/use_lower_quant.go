package fix

import (
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/quote"
	"github.com/oomdoc/oomdoc/rules/step"
)

var useLowerQuant = Fix{
	ID:    "use_lower_quant",
	Title: "Load a smaller quantisation of the same model",
	Doc: []string{
		"Quantisation stores each weight in fewer bits. It is the durable cure nine times in ten when the weights do not fit. A model of 7 billion parameters takes about 28 GB at 32 bit, 14 at 16 bit, 7 at Q8_0, 4.5 at Q4_K_M and 2.7 at Q2_K; 13 to 14 billion at Q4 about 9 to 10, 70 billion at Q4 40 and more. Context and overhead come on top.",
		"Q4_K_M and Q5_K_M (GGUF), AWQ and GPTQ at 4 bit (servers) are the sweet spot: hard to tell from the original in conversation. Q3 and Q2 are visibly worse; a smaller model at Q4 is often better than a larger one at Q2. Where errors are costly (medicine, law, code) do not go below Q8_0 untested.",
		"It does not help when the weights are not what fills the card: in training, with a long context, or with large images. `oomdoc fit` computes which quantisations of a model fit a card.",
	},
	Tradeoff: "Some quality: hardly any down to Q5_K_M, little at Q4_K_M, visible at Q3 and Q2. Another download.",
	Cost:     0.25,
	Check:    checkLoaded,
	Next:     "A smaller model, or part of the layers in system memory.",
	Steps:    stepsLowerQuant,
	Effect:   effect.Narrowed("use_lower_quant", effect.InFourBit),
	Why:      whyWeights,
}

func stepsLowerQuant(c *ledger.Case) []step.Step {
	name := quote.Printable(c.ModelName())
	if c.Model == nil {
		name = "the same model"
	}
	return []step.Step{{Kind: "text", Text: "Look for a 4-bit version of " + name + ": `Q4_K_M` (GGUF, for llama.cpp, Ollama, LM Studio), `AWQ` or `GPTQ` (for transformers and vLLM)."}}
}
