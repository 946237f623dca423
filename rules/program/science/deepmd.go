package science

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// DeePMD is DeePMD-kit, alone and inside LAMMPS.
var DeePMD = program.Program{
	Name: "deepmd", Shown: "DeePMD-kit", Work: "science", Edits: "flags", Language: "python",
	Commands: []string{"dp"},
	Proofs:   []string{"DEEPMD INFO", "-packages/deepmd/", "DeePMD-kit Error", "pair_deepmd", "ProdEnvMatA"},
	Titles:   map[string]string{"use_lower_quant": "Compress the model", "lower_parallel": "Fewer atoms per GPU", "lower_batch_size": "Smaller batches"},
	Costs:    map[string]string{"use_lower_quant": "A few minutes; forces stay the same to rounding.", "lower_parallel": "More GPUs.", "lower_batch_size": "Slower."},
	Remedies: cures(cause.InOrder("use_lower_quant", "lower_parallel", "lower_batch_size", "kill_stale_process"), cause.InOrder("lower_batch_size", "raise_memory_limit")),
	Steps: steps{
		"use_lower_quant":  step.Paste("shell", "dp compress -i graph.pb -o graph-compress.pb   # your frozen model; then name the new file in pair_style deepmd"),
		"lower_parallel":   step.Paste("text", "Start one MPI rank for each GPU, so that each holds a part of the atoms: `mpirun -np 4 lmp -in in.lammps` on four GPUs."),
		"lower_batch_size": step.Paste("text", "Training: `\"batch_size\": 1` under training_data of input.json. dp test and model-devi: `export DP_INFER_BATCH_SIZE=1024` (frames x atoms at a time)."),
	},
	Cards: deepmdCards,
}

var deepmdCards = []cause.Card{{
	ID: "deepmd/atoms", Kinds: []fact.Kind{fact.TFAlloc, fact.TorchAlloc, fact.CUDAError, fact.PlainDevice, fact.DeviceAlloc}, Said: []string{"DeePMD-kit Error", "pair_deepmd", "ProdEnvMatA", "DEEPMD INFO", "output of dp test", "dp test -", "dp model-devi", "dp train "},
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory: too many atoms or neighbours at once",
	Means: "DeePMD computes an embedding for every neighbour of every atom on the GPU at once. So the need grows with atoms x `sel`, and `sel` grows with the cube of the cutoff `rcut`. An uncompressed model stores all of it, a compressed one does not.",
	Not:   "Fewer steps or a smaller time step: each step needs the same memory.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", If: func(c *ledger.Case) bool { return c.Near("output of dp test", "dp test -", "dp model-devi") }, Title: "Evaluate fewer atoms at a time", Told: "It counts frames x atoms; halve it until it runs:", Kind: "shell", Text: "export DP_INFER_BATCH_SIZE=1024", Cost: "Slower; same result."},
		{Fix: "use_lower_quant", Title: "Simulating: compress the model", Told: "It needs a fraction of the memory and runs faster. Use your own frozen model, then name the new file in `pair_style deepmd`.", Kind: "shell", Text: "dp compress -i graph.pb -o graph-compress.pb", Cost: "A few minutes; the same forces to rounding."},
		{Fix: "lower_parallel", Title: "Simulating: fewer atoms per GPU", Kind: "text", Text: "Start one MPI rank per GPU: `mpirun -np 4 lmp -in in.lammps` on four GPUs. Or use a smaller cell.", Cost: "Needs more GPUs."},
		{Fix: "lower_batch_size", Title: "Training or testing: a smaller batch", Kind: "text", Text: "Set `\"batch_size\": 1` under training_data in input.json. For `dp test` and `dp model-devi`: `export DP_INFER_BATCH_SIZE=1024` (frames x atoms at a time).", Cost: "Slower."},
	},
	Sources: []string{"https://github.com/deepmodeling/deepmd-kit/issues/4604", "https://github.com/deepmodeling/deepmd-kit/issues/4182", "deepmd-kit/doc/freeze/compress.md"},
}}
