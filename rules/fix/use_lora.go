package fix

import "github.com/oomdoc/oomdoc/rules/step"

var useLora = Fix{
	ID:    "use_lora",
	Title: "Train adapters (LoRA) instead of all weights",
	Doc: []string{
		"Full training with Adam takes 16 to 20 bytes for each parameter: 112 GB and more for 7 billion. LoRA freezes the model and trains small matrices beside it, usually under 1 % of the parameters: gradients and optimizer states nearly vanish. With the frozen model in 4 bit (QLoRA) 7 billion parameters train on 8 to 12 GB.",
		"Activations stay: combine it with a small batch and gradient checkpointing.",
	},
	Tradeoff: "Slightly less than full training for large changes of a model; for most purposes the same.",
	Cost:     0.35,
	Check:    "`model.print_trainable_parameters()` says about 1 %; a whole step runs through.",
	Next:     "Load the frozen model in 4 bit.",
	Steps: step.Paste("python", `from peft import LoraConfig, get_peft_model

model = get_peft_model(model, LoraConfig(r=16, lora_alpha=32, target_modules="all-linear", task_type="CAUSAL_LM"))
model.print_trainable_parameters()`),
}
