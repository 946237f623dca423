package papers

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/trainer"
	"github.com/oomdoc/oomdoc/rules/when"
)

// PoinTr completes point clouds; Point-BERT has the same scripts.
var PoinTr = program.Program{
	Name: "pointr", Shown: "PoinTr", Work: "vision", Edits: "code", Language: "python",
	Proofs:  []string{"PoinTr - INFO", "PoinTr/", "PoinTr.yaml"},
	Sources: program.Sources{"PoinTr/scripts/test.sh": "CUDA_VISIBLE_DEVICES", "PoinTr/cfgs/PCN_models/PoinTr.yaml": "total_bs num_query"},
	Steps: spelling{
		"lower_batch_size": say("Use `total_bs` in the model's YAML under `cfgs` (of all cards together): half of it."),
		"select_gpu":       say("The first argument of `scripts/train.sh` and `scripts/test.sh` is the GPU: they set `CUDA_VISIBLE_DEVICES` from it, over your own. `bash ./scripts/test.sh 1` and the rest as you typed it."),
	},
	Titles:   map[string]string{"lower_batch_size": "Lower the batch size (total_bs)", "select_gpu": "Or use another GPU: the first argument of the script"},
	Remedies: ways("lower_batch_size"), Like: []*program.Program{&trainer.DataAside},
	Cards: []cause.Card{{
		ID: "pointr/gpu-argument", Kinds: []fact.Kind{fact.TorchAlloc}, If: when.All(ledger.Crowded, when.Not(ledger.Roomy)), Cause: cause.LeakedProcess, Weight: cause.Strong,
		Headline: "ran out of memory: {others} of its {card} card is held outside it",
		Means:    "This process holds {mine}; the rest is another job or user, another container, or an earlier run that never ended.[[ {small}]]",
		Not:      "{total_bs}Allocator settings: they reach only this process.",
		Figures: func(c *ledger.Case) map[string]string {
			out := map[string]string{"small": "", "total_bs": ""}
			if c.Mine.Bytes*20 < c.Total.Bytes {
				out["small"] = "So neither the model nor the batch is the reason; once the GPU is free, the same command should get far beyond this."
				out["total_bs"] = "A smaller `total_bs`: no batch was on the GPU. "
			}
			return out
		},
		Cures: []cause.Cure{
			cures.EndListed, cures.LookFirst, {Fix: "select_gpu", Cost: "free", Own: true},
			{Fix: "restart_session", Title: "If no process is listed: look on the host", Told: "A process of another container or user, or one that crashed, is not listed in a container: `sudo fuser -v /dev/nvidia*`.", Cost: "free"},
		},
		Sources: []string{"PoinTr/scripts/test.sh", "PoinTr/scripts/train.sh"},
	}},
}
