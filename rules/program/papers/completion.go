package papers

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/when"
)

// PoinTr completes point clouds; Point-BERT has the same scripts.
var PoinTr = program.Program{
	Name: "pointr", Shown: "PoinTr", Work: "vision", Edits: "code", Language: "python",
	Proofs:  []string{"PoinTr - INFO", "PoinTr/", "PoinTr.yaml"},
	Sources: program.Sources{"PoinTr/scripts/test.sh": "CUDA_VISIBLE_DEVICES", "PoinTr/cfgs/PCN_models/PoinTr.yaml": "total_bs num_query"},
	Steps: spelling{
		"lower_batch_size": say("Use half of the present `total_bs` in the model's YAML under `cfgs` (it counts all GPUs together)."),
		"select_gpu":       say("Pass the GPU as the first argument: for GPU 1 `bash ./scripts/train.sh 1` (or test.sh), then the rest as before. `scripts/train.sh` and `scripts/test.sh` overwrite your own `CUDA_VISIBLE_DEVICES` with it."),
	},
	Titles:   map[string]string{"lower_batch_size": "Lower the batch size (total_bs)", "select_gpu": "Or use another GPU: the first argument of the script"},
	Remedies: ways("lower_batch_size"), Like: []*program.Program{&parts.DataAside},
	Cards: []cause.Card{{
		ID: "pointr/gpu-argument", Kinds: []fact.Kind{fact.TorchAlloc}, If: when.All(ledger.Crowded, when.Not(ledger.Roomy)), Cause: cause.LeakedProcess, Weight: cause.Strong,
		Headline: "ran out of GPU memory: others use {others} of the {card} GPU",
		Means:    "This process uses only {mine}. The rest is another job or user, another container, or an earlier run that never ended.[[ {small}]]",
		Not:      "{total_bs}Allocator settings: they affect only this process.",
		Figures: func(c *ledger.Case) map[string]string {
			out := map[string]string{"small": "", "total_bs": ""}
			if c.Mine.Bytes*20 < c.Total.Bytes {
				out["small"] = "So neither the model nor the batch is the cause. Once the GPU is free, the same command should get much further."
				out["total_bs"] = "A smaller `total_bs`: no batch was on the GPU. "
			}
			return out
		},
		Cures: []cause.Cure{
			cures.EndListed, cures.LookFirst, {Fix: "select_gpu", Cost: "free", Own: true},
			{Fix: "restart_session", Title: "If no process is listed: look on the host", Told: "A container does not list processes of other containers. Run `sudo fuser -v /dev/nvidia*` on the host.", Cost: "free"},
		},
		Sources: []string{"PoinTr/scripts/test.sh", "PoinTr/scripts/train.sh"},
	}},
}
