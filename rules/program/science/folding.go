package science

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// shorter is what all programs that fold proteins have in common: memory grows
// with the square of the length and more.
var shorter = program.Program{
	Titles: map[string]string{"lower_context": "Fold a shorter construct", "bigger_gpu": "Use a GPU with more memory"},
	Costs:  map[string]string{"lower_context": "The parts left out, and contacts between the pieces.", "cpu_offload": "Slower once it spills into system memory.", "lower_batch_size": "More runs for as many samples."},
	Steps: steps{
		"lower_context": step.Paste("text", "Leave out disordered ends and tags, or fold single domains with some overlap. Chains of a complex count together: 70 % of the length needs half the memory or less."),
		"bigger_gpu":    step.Paste("text", "The same input runs unchanged on a GPU with 40 or 80 GB."),
	},
	Useless: map[string]func(*ledger.Case) string{"bigger_gpu": aboveCards, "kill_stale_process": aboveCards},
}

func aboveCards(c *ledger.Case) string {
	if beyond(c)["beyond"] != "" {
		return "This one request is more than nearly any GPU has."
	}
	return ""
}

var foldHost = cause.InOrder("raise_memory_limit", "lower_num_workers", "add_swap", "lower_context")

// AlphaFold is AlphaFold 2.
var AlphaFold = program.Program{
	Name: "alphafold", Shown: "AlphaFold", Work: "science", Edits: "flags", Language: "python", Like: []*program.Program{&shorter},
	Sources:  program.Sources{"alphafold/docker/run_docker.py": "TF_FORCE_UNIFIED_MEMORY XLA_PYTHON_CLIENT_MEM_FRACTION", "alphafold/run_alphafold.py": "--models_to_relax --db_preset"},
	Proofs:   []string{"alphafold/model/", "alphafold/relax/", "alphafold/data/pipeline", "alphafold/data/tools/", "alphafold.model.", "/afprofile/", "AFProfile", "run_AFP.py", "Running predict with shape(feat)"},
	Hints:    []string{"alphafold/run_alphafold.py"}, // the third has one of this name, too
	Titles:   map[string]string{"cpu_offload": "Let it spill into system memory", "lower_num_workers": "Search smaller databases"},
	Remedies: withLeak(cures(cause.InOrder("cpu_offload", "lower_context", "kill_stale_process", "bigger_gpu"), foldHost)),
	Steps: steps{
		"cpu_offload":       step.Paste("env", "export TF_FORCE_UNIFIED_MEMORY=1\nexport XLA_PYTHON_CLIENT_MEM_FRACTION=4.0   # four times the GPU, the rest in RAM"),
		"lower_num_workers": step.Paste("text", "Add `--db_preset=reduced_dbs`, and give the searches fewer CPUs; HHblits on BFD needs most RAM."),
	},
	Cards: alphafoldCards,
}

// AlphaFold3 is AlphaFold 3.
var AlphaFold3 = program.Program{
	Name: "alphafold3", Shown: "AlphaFold 3", Work: "science", Edits: "flags", Language: "python", Like: []*program.Program{&shorter},
	Sources:  program.Sources{"alphafold3/docs/performance.md": "XLA_CLIENT_MEM_FRACTION XLA_PYTHON_CLIENT_PREALLOCATE TF_FORCE_UNIFIED_MEMORY", "alphafold3/run_alphafold.py": "--num_diffusion_samples --buckets"},
	Proofs:   []string{"alphafold3/", "alphafold3.model", "alphafold3.data"},
	Titles:   map[string]string{"cpu_offload": "Let it spill into system memory", "lower_batch_size": "Fewer samples per seed"},
	Remedies: withLeak(cures(cause.InOrder("cpu_offload", "lower_context", "lower_batch_size", "bigger_gpu"), foldHost)),
	Steps: steps{
		"cpu_offload":      step.Paste("env", "export XLA_PYTHON_CLIENT_PREALLOCATE=false\nexport TF_FORCE_UNIFIED_MEMORY=true\nexport XLA_CLIENT_MEM_FRACTION=3.2   # in Docker: docker run -e, or ENV lines of the Dockerfile"),
		"lower_batch_size": step.Paste("text", "Add `--num_diffusion_samples=1` (5 by default), and run one more seed for each sample that you want."),
	},
	Cards: alphafold3Cards,
}

// ColabFold is ColabFold, in the notebook and as colabfold_batch.
var ColabFold = program.Program{
	Name: "colabfold", Shown: "ColabFold", Work: "science", Edits: "flags", Language: "python", Like: []*program.Program{&shorter},
	Sources:  program.Sources{"colabfold/batch.py": "--max-msa --max-seq --max-extra-seq --disable-unified-memory --num-models --num-recycle"},
	Proofs:   []string{"colabfold/", "colabfold_batch", "Not Enough GPU memory?", "colabfold.batch", "colabfold.", "cf_af.run_alphafold", "citations for tools or databases", "stop_at_score="},
	Titles:   map[string]string{"lower_batch_size": "Use fewer sequences of the MSA", "cpu_offload": "Keep unified memory on"},
	Costs:    map[string]string{"lower_batch_size": "Some accuracy for families with few relatives."},
	Remedies: withLeak(cures(cause.InOrder("lower_batch_size", "cpu_offload", "lower_context", "bigger_gpu"), foldHost)),
	Steps: steps{
		"lower_batch_size": step.Paste("text", "Add `--max-msa 128:256` (clusters:extra sequences); in the notebook the field max_msa."),
		"cpu_offload":      step.Paste("text", "Leave `--disable-unified-memory` out: without it ColabFold lets the GPU spill into system memory. It needs RAM for what spills, and Linux without WSL."),
	},
	Cards: colabfoldCards,
}

// Boltz is Boltz-1 and 2.
var Boltz = program.Program{
	Name: "boltz", Shown: "Boltz", Work: "science", Edits: "flags", Language: "python", Like: []*program.Program{&shorter},
	Sources:  program.Sources{"boltz/src/boltz/main.py": "--max_parallel_samples --diffusion_samples --max_msa_seqs --subsample_msa --num_subsampled_msa"},
	Proofs:   []string{"boltz/main.py", "boltz/model/", "boltz/data/", "boltz predict", "Number of failed examples:"},
	Titles:   map[string]string{"lower_parallel": "One diffusion sample at a time", "lower_batch_size": "Use fewer sequences of the MSA"},
	Costs:    map[string]string{"lower_parallel": "Time; the same result.", "lower_batch_size": "Some accuracy."},
	Remedies: cures(cause.InOrder("lower_context", "lower_batch_size", "lower_parallel", "bigger_gpu"), foldHost),
	Steps: steps{
		"lower_parallel":   step.Paste("text", "If you ask for several samples: `--max_parallel_samples 1` (5 by default), or `--diffusion_samples 1`."),
		"lower_batch_size": step.Paste("text", "Add `--max_msa_seqs 1024` (8192 by default), or `--subsample_msa --num_subsampled_msa 512`."),
	},
	Cards: boltzCards,
}

// Chai is Chai-1.
var Chai = program.Program{
	Name: "chai", Shown: "Chai-1", Work: "science", Edits: "flags", Language: "python", Like: []*program.Program{&shorter},
	Proofs:   []string{"chai_lab/", "chai-lab fold", "chai_lab."},
	Titles:   map[string]string{"lower_batch_size": "Fewer samples at a time", "lowvram_mode": "Keep low_memory on"},
	Costs:    map[string]string{"lowvram_mode": "A little time."},
	Remedies: cures(cause.InOrder("lower_batch_size", "lowvram_mode", "lower_context", "bigger_gpu"), foldHost),
	Steps: steps{
		"lower_batch_size": step.Paste("text", "Set `num_diffn_samples=1` in `run_inference` (5 by default) and `num_trunk_samples=1`."),
		"lowvram_mode":     step.Paste("text", "Leave `low_memory=True` as it is (the default of `run_inference`): parts wait in RAM."),
		"lower_context":    step.Paste("text", "The input is padded to the next model size (256, 384, 512, 768, 1024, 1536 or 2048 tokens): getting below one of these helps, a few residues less do not."),
	},
	Cards: chaiCards,
}

// OpenFold is OpenFold and ESMFold, which has its trunk.
var OpenFold = program.Program{
	Name: "openfold", Shown: "OpenFold", Work: "science", Edits: "flags", Language: "python", Like: []*program.Program{&shorter},
	Sources:  program.Sources{"openfold/run_pretrained_openfold.py": "--long_sequence_inference"},
	Proofs:   []string{"openfold/", "esm/esmfold/", "modeling_esmfold.py", "esmfold", "esm-fold", "Failed (CUDA out of memory) on sequence"},
	Titles:   map[string]string{"lower_ubatch": "Compute attention in chunks"},
	Costs:    map[string]string{"lower_ubatch": "Slower; the same result."},
	Remedies: cures(cause.InOrder("lower_ubatch", "lower_context", "half_precision", "bigger_gpu"), foldHost),
	Steps: steps{
		"lower_ubatch":   step.Paste("text", "OpenFold: add `--long_sequence_inference`. ESMFold: `model.set_chunk_size(64)`, in transformers `model.trunk.set_chunk_size(64)`; 32 needs less still."),
		"half_precision": step.Paste("python", "model.esm = model.esm.half()   # ESMFold: the language model in 16 bit, the folding trunk stays in 32"),
	},
	Cards: openfoldCards,
}

// RoseTTAFold is RoseTTAFold and its descendants.
var RoseTTAFold = program.Program{
	Name: "rosettafold", Shown: "RoseTTAFold", Work: "science", Edits: "flags", Language: "python", Like: []*program.Program{&shorter},
	Proofs:   []string{"RoseTTAFold", "rf2aa"},
	Titles:   map[string]string{"lower_batch_size": "Use a shallower MSA"},
	Costs:    map[string]string{"lower_batch_size": "Some accuracy."},
	Remedies: cures(cause.InOrder("lower_context", "lower_batch_size", "kill_stale_process", "bigger_gpu"), foldHost),
	Steps: steps{
		"lower_batch_size": step.Paste("text", "Filter the alignment to a few hundred sequences before you run (`hhfilter -id 90 -cov 75 -diff 500`)."),
	},
	Cards: rosettaCards,
}

// withLeak puts a look at the card first where it was full before the start.
func withLeak(m map[string][]cause.Remedy) map[string][]cause.Remedy {
	m[cause.LeakedProcess] = cause.InOrder("kill_stale_process", "select_gpu", "cpu_offload")
	return m
}

// PLMFit is known by its files alone.
var PLMFit = program.Program{Name: "plmfit", Work: "science", Edits: "code", Language: "python", Proofs: []string{"plmfit/"}}
