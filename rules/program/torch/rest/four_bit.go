package rest

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
)

// inFourBit: a card fills up with weights that bitsandbytes makes 4 bit while they
// are loaded.
func inFourBit(c *ledger.Case) bool {
	return cures.OwnCard(c) && ledger.SetQuantised(c, "load_in_4bit") != ""
}

// fourBitFigures are where the log shows it, what the model then takes, and what
// ranks make of it.
func fourBitFigures(c *ledger.Case) map[string]string {
	set, _ := c.Setting("load_in_4bit")
	out := map[string]string{"set": fmt.Sprintf("line %d", set.Line), "w4": "", "ranks": ""}
	if n := ledger.Named(c).Parameters; n > 0 {
		out["w4"] = units.Amount(n * 6 / 10)
	}
	if cures.Ranked(c) {
		out["ranks"] = "Each process of the launch loads the whole model onto its GPU, so more GPUs alone change nothing."
	}
	return out
}

// fourBit is a card about such a load.
func fourBit(id string, list ...cause.Cure) cause.Card {
	return cause.Card{
		ID: id, Kinds: []fact.Kind{fact.TorchAlloc}, Phases: []string{"load"}, If: inFourBit, Figures: fourBitFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Decisive, Headline: "ran out of memory while loading the model: it does not fit even at 4 bit",
		Means:   "4 bit is already on ({set}), and {mine} of {total} was in use before all weights were loaded.[[ {ranks}]] At 4 bit a billion parameters takes about 0.6 GB[[: {w4} for this model]].",
		Not:     "A smaller batch, shorter samples, another `bnb_4bit` setting: the weights alone do not fit.",
		Cures:   append(list, cause.Cure{Fix: "use_smaller_model", Title: "Use a smaller model", Cost: "quality"}, cause.Cure{Fix: "bigger_gpu", Title: "Use a larger card", Cost: "money"}),
		Sources: []string{"transformers/src/transformers/quantizers/quantizer_bnb_4bit.py", "peft/docs/source/accelerate/fsdp.md", "LLaMA-Factory/src/llamafactory/model/model_utils/quantization.py", "https://github.com/huggingface/accelerate/issues/2079"},
	}
}

var (
	// LoadFourBit is for scripts.
	LoadFourBit = fourBit("transformers/load-4bit",
		cause.Cure{Fix: "shard_training", Title: "Training on several cards: shard the 4-bit weights (FSDP)", Cost: "slower steps", Told: "Use no `device_map`, set `bnb_4bit_quant_storage=torch.bfloat16` in the BitsAndBytesConfig (bitsandbytes 0.43.3, peft 0.14 or later), and in accelerate's config file:", Kind: "config",
			Text: "fsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_cpu_ram_efficient_loading: true\n  fsdp_use_orig_params: false\n  fsdp_offload_params: true"},
		cause.Cure{Fix: "multi_gpu", Title: "Or spread it over several cards in one process", Cost: "the cards take turns", Told: "Pass `device_map=\"auto\"` and start with plain `python`, not torchrun, accelerate or deepspeed."})
	// LoadFourBitYAML is for LLaMA-Factory, which allows ZeRO-3 beside 4 bit since
	// June 2024 (0.8.3).
	LoadFourBitYAML = fourBit("llama-factory/load-4bit",
		cause.Cure{Fix: "shard_training", Title: "Shard the 4-bit weights over the cards (ZeRO-3)", Cost: "communication between the cards", Told: "Add this to `quantization_bit: 4` (0.8.3 and later, bitsandbytes 0.43), and start with `FORCE_TORCHRUN=1 llamafactory-cli train`. With FSDP, see examples/extras/fsdp_qlora.", Kind: "config", Text: "deepspeed: examples/deepspeed/ds_z3_config.json"})
)
