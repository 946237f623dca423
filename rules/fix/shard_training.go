package fix

import "github.com/oomdoc/oomdoc/rules/ledger"

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
}
