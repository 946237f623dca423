package fix

import "github.com/oomdoc/oomdoc/parsers/fact"

var useLora = Fix{
	ID:       "use_lora",
	Title:    "Train adapters (LoRA) instead of all weights",
	Tradeoff: "Slightly less than full training for large changes of a model; for most purposes the same.",
	Cost:     costly,
	Check:    "`model.print_trainable_parameters()` says about 1 %; a whole step runs through.",
	Next:     "Load the frozen model in 4 bit.",
	Needs:    Needs{works: []string{"text-training"}, training: true, branch: "Training a language model", told: "adapters (LoRA) instead of all weights.", without: fact.Adapters},
	Told:     "Train a LoRA adapter instead of all weights.",
}
