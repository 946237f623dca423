package papers

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
)

// TabNet is pytorch-tabnet, a network for tables with the calls of scikit-learn:
// what it may take is set where the model is made and in fit.
var TabNet = program.Program{
	Name: "tabnet", Shown: "TabNet", Work: "data", Edits: "code", Language: "python",
	Proofs: []string{"pytorch_tabnet/"},
	Sources: program.Sources{
		"tabnet/README.md":                     "batch_size virtual_batch_size eval_set n_d n_a n_steps n_shared n_independent",
		"tabnet/pytorch_tabnet/pretraining.py": "batch_size virtual_batch_size eval_set",
	},
	Steps: spelling{
		"lower_batch_size":  say("In `fit`: half of your `batch_size` (default 1024); `virtual_batch_size` (default 128) should divide it."),
		"use_smaller_model": say("Where the model is made: `n_d=8, n_a=8, n_steps=3` (the defaults; usual are up to 64 and 10). Or pass fewer columns."),
		"upgrade_version":   say("`pip install -U pytorch-tabnet`. Older releases of `TabNetPretrainer` keep what they compute for all of the `eval_set` on the GPU, which grows with its rows: pass a few thousand rows there, or none."),
	},
	Titles: map[string]string{"lower_batch_size": "Lower `batch_size`", "use_smaller_model": "Use a narrower network, or fewer columns", "upgrade_version": "In pretraining: update, and pass a smaller eval_set"},
	Costs:  map[string]string{"lower_batch_size": "slower", "use_smaller_model": "perhaps some accuracy", "upgrade_version": "none"},
	Cards: []cause.Card{{
		ID: "tabnet/fit", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, If: func(c *ledger.Case) bool { return !ledger.Crowded(c) },
		Cause: cause.BatchTooLarge, Weight: cause.Likely, Headline: "ran out of GPU memory[[: this program alone fills the {total} GPU]]",
		Means:   "A batch takes `batch_size` x columns x `n_steps`. If it fails at once, that is too much. If epochs or many batches went well, something grows: in pretraining usually the outputs for the `eval_set`, which older releases collect on the GPU.",
		Not:     "The number of training rows: `fit` moves one batch at a time.",
		Cures:   own("upgrade_version", "lower_batch_size", "use_smaller_model"),
		Sources: []string{"tabnet/pytorch_tabnet/pretraining.py", "https://github.com/dreamquark-ai/tabnet/issues/341"},
	}},
}
