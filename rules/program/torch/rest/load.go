package rest

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/when"
)

// LoadCard is about ranks of LLaMA-Factory that fill their cards while the model
// is loaded.
var LoadCard = cause.Card{
	ID: "llama-factory/ranks-load", Kinds: []fact.Kind{fact.TorchAlloc}, Figures: cures.Scene,
	If: when.All(cures.OwnCard, cures.CutInLoading), Cause: cause.ModelTooLarge, Weight: cause.Decisive,
	Headline: "ran out of memory on several cards, most likely while loading the model",
	Means:    "Another rank's traceback ends in `load_model`, so most likely the weights do not fit. Each rank loads all of them unless ZeRO-3 or FSDP is on. Trained weights are usually cast to 32 bit: 4 bytes per parameter.",
	Not:      "`per_device_train_batch_size`, `cutoff_len`, gradient checkpointing, more cards under DDP: no batch was computed.",
	Cures: []cause.Cure{
		{Fix: "shard_training", Title: "Shard the weights over the cards (ZeRO-3)", Told: "Put this into your YAML and start with `FORCE_TORCHRUN=1 llamafactory-cli train`. If it is on already: `ds_z3_offload_config.json`, which needs RAM for the whole model.", Kind: "config", Text: "deepspeed: examples/deepspeed/ds_z3_config.json\nbf16: true", Cost: "Communication between the cards."},
		{Fix: "load_in_4bit", If: cures.OfCUDA, Title: "Or train a LoRA on a 4-bit model", Told: "Before LLaMA-Factory 0.8.3, do not combine it with ZeRO-3.", Kind: "config", Text: "finetuning_type: lora\nquantization_bit: 4   # pip install bitsandbytes", Cost: "Little quality."},
		{Fix: "half_precision", If: when.Not(cures.OfCUDA), Title: "Or keep the trained weights in 16 bit (pure_bf16)", Kind: "config", Text: "pure_bf16: true", Cost: "A less exact optimizer."},
		{Fix: "use_smaller_model", Title: "Or a smaller model", Told: "All GPUs together must hold 2 GB per billion parameters in 16 bit, and 16 GB if all are trained.", Cost: "Quality."},
	},
	Sources: []string{"LLaMA-Factory/src/llamafactory/model/adapter.py", "LLaMA-Factory/src/llamafactory/model/model_utils/quantization.py"},
}
