package fix

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/step"
)

var useLora = Fix{
	ID:       "use_lora",
	Title:    "Train adapters (LoRA) instead of all weights",
	Tradeoff: "Slightly less than full training for large changes of a model; for most purposes the same.",
	Cost:     costly,
	Check:    "`model.print_trainable_parameters()` says about 1 %; a whole step runs through.",
	Next:     "Load the frozen model in 4 bit.",
	Needs:    Needs{works: []string{"text-training"}, training: true, branch: "Training a language model", told: "adapters (LoRA) instead of all weights.", without: fact.Adapters},
	Told:     "Train a LoRA adapter instead of all weights.",
	Steps: step.Paste("python", `from peft import LoraConfig, get_peft_model

model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"))
model.print_trainable_parameters()`),
}
