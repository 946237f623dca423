package science

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// DeePMD is DeePMD-kit, alone and inside LAMMPS.
var DeePMD = program.Program{
	Name: "deepmd", Shown: "DeePMD-kit", Work: "science", Edits: "flags", Language: "python",
	Commands: []string{"dp"},
	Proofs:   []string{"DEEPMD INFO", "-packages/deepmd/", "DeePMD-kit Error", "pair_deepmd", "ProdEnvMatA"},
	Titles:   map[string]string{"use_lower_quant": "Compress the model", "lower_parallel": "Fewer atoms per card", "lower_batch_size": "Smaller batches"},
	Costs:    map[string]string{"use_lower_quant": "A few minutes; forces stay the same to rounding.", "lower_parallel": "More cards.", "lower_batch_size": "Slower."},
	Remedies: cures(cause.InOrder("use_lower_quant", "lower_parallel", "lower_batch_size", "kill_stale_process"), cause.InOrder("lower_batch_size", "raise_memory_limit")),
	Steps: steps{
		"use_lower_quant":  step.Paste("shell", "dp compress -i graph.pb -o graph-compress.pb   # your frozen model; then name the new file in pair_style deepmd"),
		"lower_parallel":   step.Paste("text", "Start one MPI rank for each card, so that each holds a part of the atoms: `mpirun -np 4 lmp -in in.lammps` on four cards."),
		"lower_batch_size": step.Paste("text", "Training: `\"batch_size\": 1` under training_data of input.json. dp test and model-devi: `export DP_INFER_BATCH_SIZE=1024` (frames x atoms at a time)."),
	},
	Cards: deepmdCards,
}

var deepmdCards = []cause.Card{{
	ID: "deepmd/atoms", Kinds: []fact.Kind{fact.TFAlloc, fact.TorchAlloc, fact.CUDAError, fact.PlainDevice, fact.DeviceAlloc}, Said: []string{"DeePMD-kit Error", "pair_deepmd", "ProdEnvMatA", "DEEPMD INFO"},
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory: too many atoms or neighbours at once",
	Means: "The embedding is computed for every neighbour of every atom on the card at once: atoms x sel x the width of the layer x 8 bytes[[; {asked} is one such tensor]]. So the number of atoms per card and the cutoff decide: sel grows with the cube of rcut. An uncompressed model stores all of it, a compressed one does not.",
	Not:   "Fewer steps or a smaller time step: each step needs the same.",
	Cures: []cause.Cure{
		{Fix: "use_lower_quant", Title: "Simulating: compress the model", Told: "It takes a fraction of the memory and runs faster. Your own frozen model; then name the new file in `pair_style deepmd`.", Kind: "shell", Text: "dp compress -i graph.pb -o graph-compress.pb", Cost: "A few minutes; the same forces to rounding."},
		{Fix: "lower_parallel", Title: "Simulating: fewer atoms per card", Kind: "text", Text: "One MPI rank for each card, `mpirun -np 4 lmp -in in.lammps` on four; or a smaller cell.", Cost: "More cards."},
		{Fix: "lower_batch_size", Title: "Training or testing: smaller batches", Kind: "text", Text: "`\"batch_size\": 1` under training_data of input.json. dp test and model-devi: `export DP_INFER_BATCH_SIZE=1024` (frames x atoms at a time).", Cost: "Slower."},
	},
	Sources: []string{"https://github.com/deepmodeling/deepmd-kit/issues/4604", "https://github.com/deepmodeling/deepmd-kit/issues/4182", "deepmd-kit/doc/freeze/compress.md"},
}}
