package fix

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

var shardTraining = Fix{
	ID:       "shard_training",
	Title:    "Shard model and optimizer over the cards",
	Tradeoff: "Communication between the cards; a configuration to learn.",
	Cost:     costly,
	Check:    "`nvidia-smi` after the first step: every card holds its share only.",
	Next:     "Gradient checkpointing, then offload to system memory.",
	Needs:    Needs{works: []string{"text-training", "vision"}, training: true},
	Told:     "Shard model and optimizer over the cards (ZeRO or FSDP), if your program supports it.",
	Useless: func(c *ledger.Case) string {
		if c.Near("deepspeed/runtime/zero") {
			return "The traceback runs through ZeRO: it is sharded already."
		}
		return ""
	},
	Steps: func(*ledger.Case) []step.Step {
		return []step.Step{
			{Kind: "config", Text: "# accelerate config file\ndistributed_type: FSDP\nmixed_precision: bf16\nfsdp_config:\n  fsdp_sharding_strategy: FULL_SHARD\n  fsdp_auto_wrap_policy: TRANSFORMER_BASED_WRAP\n  fsdp_cpu_ram_efficient_loading: true"},
			{Kind: "shell", Text: "accelerate launch --config_file fsdp.yaml train.py"},
		}
	},
}
