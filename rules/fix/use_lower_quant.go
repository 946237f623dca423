package fix

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/quote"
	"github.com/oomdoc/oomdoc/rules/step"
)

var useLowerQuant = Fix{
	ID:       "use_lower_quant",
	Title:    "Load a smaller quantisation of the same model",
	Tradeoff: "Some quality: hardly any down to Q5_K_M, little at Q4_K_M, visible at Q3 and Q2. Another download.",
	Cost:     moderate,
	Check:    checkLoaded,
	Next:     "A smaller model, or part of the layers in system memory.",
	Needs:    Needs{works: generated, branch: "A language model", told: "the same model at 4 or 8 bit."},
	Told:     "Load a smaller quantisation of the same model, 8 or 4 bit.",
	Steps:    stepsLowerQuant,
}

func stepsLowerQuant(c *ledger.Case) []step.Step {
	name := quote.Told(c.ModelName())
	if c.Model == nil {
		name = "the same model"
	}
	return []step.Step{{Kind: "text", Text: "Look for a 4-bit version of " + name + ": `Q4_K_M` (GGUF, for llama.cpp, Ollama, LM Studio), `AWQ` or `GPTQ` (for transformers and vLLM)."}}
}
