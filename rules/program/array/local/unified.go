package local

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
)

// Unified is for XLA that may spill into RAM and was refused all the same.
var Unified = cause.Card{
	ID: "jax/unified", Kinds: []fact.Kind{fact.XLAAlloc}, Said: []string{"bytes unified memory"},
	Among:    []string{cause.LeakedProcess, cause.BatchTooLarge, cause.ContextTooLong, cause.OversizedAllocation, cause.ModelTooLarge, cause.Unknown},
	Headline: "could not get unified memory: GPU memory and RAM were not enough",
	Means:    "Unified memory spills from the GPU into RAM (`TF_FORCE_UNIFIED_MEMORY=1`, which ColabFold sets by itself). So RAM counts here: a batch job's or container's limit, or what is free on the machine. In WSL 2 and on Windows it cannot exceed the card's own memory.",
	Not:      "`XLA_PYTHON_CLIENT_PREALLOCATE=false`: how it is taken changes nothing here.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Give the run more RAM", Told: "Several times the GPU memory: `#SBATCH --mem=64G`, a container's `--memory`, or close what fills the machine (`free -h`). Instead of WSL, use native Linux.", Cost: "Slow where it spills"},
		{Fix: "lower_context", Title: "Make the input smaller", Told: "Structure prediction: a shorter sequence, or fewer alignment rows (ColabFold `--max-msa 128:256`). Your own code: half the batch or length.", Cost: "Depends on the work"},
		{Fix: "kill_stale_process", Title: "Check what else is on the card", Told: "A leftover run holds GPU memory and RAM.", Kind: "shell", Text: "nvidia-smi\nfree -h", Cost: "A look is free"},
	},
	Sources: []string{"tensorflow/stream_executor/cuda/cuda_driver.cc", "alphafold/docker/run_docker.py", "ColabFold/colabfold/batch.py", "https://docs.nvidia.com/cuda/wsl-user-guide/index.html", "https://github.com/YoshitakaMo/localcolabfold/issues/50"},
}
