package science

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
)

var oneRank = cause.Cure{Fix: "lower_parallel", Title: "One MPI rank per card", Kind: "text", Text: "Start as many ranks as cards, plus one leader (two cards: `mpirun -n 3`), and look for \"is split between\" at the head of the output: a card that it names serves several ranks.", Cost: "Slower; the same result"}

var relionCards = []cause.Card{
	{
		ID: "relion/pool", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"CustomAllocator out of memory"},
		Cause: cause.BatchTooLarge, Weight: 0.7,
		Means: "RELION's own pool on the card ran out, the part that varies from particle to particle. The usual reason is particles with very many possible poses (noise, a poor reference). Sharing a card between ranks makes each pool smaller.",
		Not:   "A smaller box alone: large volumes live outside this pool.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Bound the poses: --maxsig", Kind: "text", Text: "Add `--maxsig 2000` (2D classes: `--maxsig 50`) to Additional arguments, and continue from the last _optimiser.star.", Cost: "Hardly any quality"},
			oneRank,
		},
		Sources: []string{"relion/src/error.h", "relion/src/acc/cuda/custom_allocator.cuh", "https://github.com/3dem/relion/issues/1075", "https://github.com/3dem/relion/issues/120"}, Solved: 1,
	},
	{
		ID: "relion/volumes", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"acc_projector_impl.h", "acc_backprojector_impl.h", "cuda_mem_utils.h", "cuda_settings.h"}, Unsaid: []string{"CustomAllocator out of memory"},
		Cause: cause.ModelTooLarge, Weight: 0.68,
		Means: "The reference volumes did not fit beside each other. RELION estimates 1.1e-8 x (2N)^3 GB for N pixels, per rank, in the last iteration: 450 pixels fill 8 GB. It often dies there after many good iterations.",
		Cures: []cause.Cure{
			oneRank,
			{Fix: "cpu_offload", Title: "Finish the last iteration on the CPU", Kind: "ui", Text: "Continue from the last _optimiser.star with Compute, Use GPU acceleration: No", Cost: "Hours; needs RAM per rank"},
			{Fix: "lower_resolution", Title: "A smaller box", Kind: "text", Text: "Re-extract with a smaller box or rescaled particles: half the box needs an eighth.", Cost: "Resolution above the new Nyquist limit"},
		},
		Sources: []string{"relion/src/error.h", "relion/src/acc/acc_projector_impl.h", "https://github.com/3dem/relion/issues/447", "https://github.com/3dem/relion/issues/715"}, Solved: 1,
	},
	{
		ID: "relion/ram", Kinds: []fact.Kind{fact.ShellKilled, fact.KernelKill, fact.SlurmKill}, Said: []string{"relion_refine", "preread_images"},
		Cause: cause.HostMemory, Weight: 0.86,
		Means: "A rank was killed for the computer's own memory, not the card's. Each rank keeps its references in RAM, and pre-reading particles adds the whole data set once more.",
		Not:   "--free_gpu_memory: it is about the card.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Do not pre-read the particles", Kind: "ui", Text: "Compute: Pre-read all particles into RAM? No; Copy particles to scratch directory: a local disk", Cost: "More reading"},
			{Fix: "lower_parallel", Title: "Fewer MPI ranks, more threads", Kind: "text", Text: "Lower Number of MPI procs and raise Number of threads: threads share the references, ranks do not.", Cost: "Some speed"},
			{Fix: "raise_memory_limit", Title: "In a batch job: ask for more", Kind: "text", Text: "In Slurm `#SBATCH --mem=128G`, or your queue's own line; `dmesg` or `sacct` tells whether a limit was reached.", Cost: "Waiting time in the queue"},
		},
		Sources: []string{"relion/src/pipeline_jobs.cpp", "relion/src/ml_optimiser.cpp"},
	},
}

var cryosparcCards = []cause.Card{
	{
		ID: "cryosparc/card", Kinds: []fact.Kind{fact.PlainDevice, fact.NumbaAlloc, fact.DeviceAlloc}, Said: []string{"cryosparc_"},
		Cause: cause.BatchTooLarge, Weight: 0.55,
		Means: "The card refused memory in this job; the log shows neither its size nor what else is on it. Need grows with the cube of the box in refinements. cryoSPARC's scheduler does not see programs that it did not start.",
		Cures: []cause.Cure{
			look,
			{Fix: "lower_resolution", Title: "Downsample the particles", Kind: "ui", Text: "Build Downsample Particles on the inputs: Fourier crop to half the box, and run this job on its output", Cost: "Resolution above the new Nyquist limit"},
			{Fix: "select_gpu", Title: "Queue it on the largest free GPU", Kind: "ui", Text: "Clear the job, Queue, Run on specific GPU", Cost: "Free"},
		},
		Sources: []string{"https://guide.cryosparc.com/setup-configuration-and-management/hardware-and-system-requirements"},
	},
}
