package science

import (
	"math"
	"strconv"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var oneRank = cause.Cure{Fix: "lower_parallel", Title: "One MPI rank per card", Kind: "text", Text: "Start as many ranks as cards, plus one leader (two cards: `mpirun -n 3 ... --j 1`: fewer threads take less of the pool at once), and look for \"is split between\" at the head of the output: a card that it names serves several ranks.", Cost: "Slower; the same result"}

// freePieces is what the pool has free in all, where that is less than what was
// asked for.
func freePieces(c *ledger.Case) map[string]string {
	out := map[string]string{"pieces": ""}
	if f := c.F(); f.Free != nil && f.Requested != nil && f.Free.Bytes < f.Requested.Bytes {
		out["pieces"] = "all " + f.Free.String()
	}
	return out
}

var relionCards = []cause.Card{
	{
		ID: "relion/no-size", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"CustomAllocator out of memory"}, If: noSize,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "asked for a size that is none: {count} bytes",
		Means: "{count} bytes, about 2 to the power of {power}, are more than any computer has: a number that overflowed, or NaN made into a size.[[ {left} of its pool was free.]] So it is not a full card, although RELION prints its usual advice about ranks and box sizes below.",
		Not:   "Fewer ranks on a card, a smaller box, more memory: no card has room for that number.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Another build or version", Told: "A port (HIP, SYCL) most of all: run the same job with the processor's code (without `--gpu`); if that runs, the port is at fault, and its makers want this log.", Cost: "Slower, or an installation"},
			{Fix: "fix_shape", Title: "Look for NaN in what goes in", Told: "Reference, mask, pixel size and optics groups: a mask that is empty, a pixel size of 0, a reference of another box size make such numbers. `relion_image_handler --i REFERENCE.mrc --stats` prints them (your own file).", Cost: "Some minutes"},
			{Fix: "cpu_offload", Title: "Until then: this step without the card", Kind: "ui", Text: "Compute, Use GPU acceleration: No", Cost: "Hours; needs RAM per rank"},
		},
		Sources: []string{"relion/src/acc/cuda/custom_allocator.cuh"}, Figures: func(c *ledger.Case) map[string]string {
			out := map[string]string{"count": c.Signal("no_size").Text, "left": "", "power": ""}
			if n, err := strconv.ParseFloat(out["count"], 64); err == nil {
				out["power"] = strconv.Itoa(int(math.Log2(n) + 0.5))
			}
			if free := c.F().Free; free != nil {
				out["left"] = free.String()
			}
			return out
		},
	},
	{
		ID: "relion/pool", Kinds: []fact.Kind{fact.DeviceAlloc}, Figures: freePieces, Said: []string{"CustomAllocator out of memory"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of its own pool on the card[[: {asked} more for a few particles]]",
		Means: "At the start of each iteration RELION takes what is free on the card as a pool, and hands it out per particle. That pool ran out[[: one piece of {asked} was refused]]. Usually some particles have very many possible poses (noise, ice, a poor or too sharp reference), so that it dies at a random particle, and not in the first iterations. Several ranks on one card make each pool smaller.",
		Not:   "A larger queue memory (`--mem`): that is RAM.[[ Joining the free pieces: {pieces} of them are less than {asked}.]]",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Limit the poses: --maxsig", Kind: "text", Text: "Add `--maxsig 2000` (2D classes: `--maxsig 50`) to Additional arguments, and continue from the last _optimiser.star.", Cost: "Hardly any quality"},
			oneRank,
			look,
			{Fix: "lower_resolution", Title: "See which particles it is, or take a smaller box", Kind: "text", Text: "Large values of `_rlnNrOfSignificantSamples` in the last _data.star mark them: 2D classification without them often ends it. Particles rescaled to half the box need an eighth.", Cost: "Some particles, or resolution above the new Nyquist limit."},
		},
		Sources: []string{"relion/src/error.h", "relion/src/acc/cuda/custom_allocator.cuh", "https://github.com/3dem/relion/issues/1075", "https://github.com/3dem/relion/issues/120"}, Solved: 1,
	},
	{
		ID: "relion/volumes", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"acc_projector_impl.h", "acc_backprojector_impl.h", "cuda_mem_utils.h", "cuda_settings.h"}, Unsaid: []string{"CustomAllocator out of memory"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out on the reference volumes",
		Means: "The references did not fit on the card beside each other. RELION's own estimate for the LAST iteration, at full resolution, is 1.1e-8 x (2N)^3 GB per rank for a box of N pixels: 300 pixels 2.4, 450 pixels 8, 600 pixels 19 GB; every class or body adds one. So it often dies after many good iterations, and two ranks on a card need twice as much.",
		Not:   "`--maxsig`: it bounds poses, the volumes stay.",
		Cures: []cause.Cure{
			oneRank,
			{Fix: "cpu_offload", Title: "Finish the last iteration on the CPU", Kind: "ui", Text: "Continue from the last _optimiser.star with Compute, Use GPU acceleration: No", Cost: "Hours; needs RAM per rank"},
			{Fix: "lower_resolution", Title: "A smaller box", Kind: "text", Text: "Re-extract with a smaller box or rescaled particles: half the box needs an eighth.", Cost: "Resolution above the new Nyquist limit"},
		},
		Sources: []string{"relion/src/error.h", "relion/src/acc/acc_projector_impl.h", "https://github.com/3dem/relion/issues/447", "https://github.com/3dem/relion/issues/715"}, Solved: 1,
	},
	{
		ID: "relion/ram", Kinds: []fact.Kind{fact.ShellKilled, fact.KernelKill, fact.SlurmKill}, Said: []string{"relion_refine", "preread_images"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "lost a rank: the computer's memory (RAM) ran out",
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
		ID: "cryosparc/card", Kinds: []fact.Kind{fact.PlainDevice, fact.NumbaAlloc, fact.DeviceAlloc}, Said: []string{"cryosparc_", "cryosparc-compute/", "cryosparc/"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory in this job",
		Means: "PyCUDA asked the card for an array and was refused (a MemoryError of Python's, but not RAM). In refinements the need grows with the CUBE of the box: 1.26 times the box is twice the memory, and boxes of 800 pixels and more need the largest cards. The log shows neither the card's size nor what else is on it; cryoSPARC's scheduler does not see programs that it did not start.",
		Not:   "More RAM or swap: it is the card's memory.",
		Cures: []cause.Cure{
			look,
			{Fix: "lower_resolution", Title: "Downsample the particles", Kind: "ui", Text: "Build Downsample Particles on the inputs: Fourier crop to half the box, and run this job on its output", Cost: "Resolution above the new Nyquist limit"},
			{Fix: "select_gpu", Title: "Queue it on the largest free GPU", Kind: "ui", Text: "Clear the job, Queue, Run on specific GPU", Cost: "Free"},
		},
		Sources: []string{"https://guide.cryosparc.com/setup-configuration-and-management/hardware-and-system-requirements"},
	},
}

var colmapCards = []cause.Card{{
	ID: "colmap/refused", Kinds: []fact.Kind{fact.BadAlloc}, Said: []string{"exe/colmap", "colmap::", "colmap stereo_fusion", "colmap mapper", "colmap feature_", "colmap patch_match"},
	Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was refused RAM (std::bad_alloc)",
	Means: "The computer's memory, not the card's; the trace does not name the step. Fusion of the dense model reads all images with their depth and normal maps at once unless it is told to use a cache; features and matching need a part for each thread; the mesher grows with its depth. In the GUI the step is the one whose window was open.",
	Not:   "A larger graphics card; messages of Qt above it are harmless.",
	Cures: []cause.Cure{
		{Fix: "lower_resolution", Title: "Smaller images and a cache for this step", Ways: []cause.Way{
			{For: "Fusion", Text: "`--StereoFusion.use_cache 1 --StereoFusion.cache_size 4 --StereoFusion.max_image_size 1600` (GUI: Dense, Options; older releases have fewer of them)"},
			{For: "Features", Text: "`--SiftExtraction.max_image_size 1600`, 2 to 4 threads"},
			{For: "Matching on the CPU", Text: "`--SiftMatching.max_num_matches 8192`, 2 threads"},
			{For: "Mesher", Text: "`--PoissonMeshing.depth 11`"},
		}, Cost: "Detail"},
		{Fix: "add_swap", Title: "Swap, for a peak", Kind: "shell", Text: "sudo fallocate -l 32G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile", Cost: "32 GB of disk, slow"},
		{Fix: "upgrade_version", Title: "A current COLMAP, from the command line", Told: "Finished steps stay in the database, and one is repeated alone; see RAM with `free -h` and `ulimit -v` (a number refuses early).", Cost: "Free"},
	},
	Sources: []string{"colmap/src/colmap/controllers/option_manager.cc", "https://colmap.github.io/faq.html"},
}, {
	ID: "colmap/ram", Kinds: []fact.Kind{fact.KernelKill, fact.ShellKilled}, Said: []string{"(colmap)", "task=colmap,", "colmap stereo_fusion", "colmap patch_match", "colmap mapper"},
	Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "filled the machine's RAM and was killed[[: it held {killed_rss}]]",
	Means: "COLMAP was ended by the kernel for the computer's own memory, not the card's. The kill does not name the step. stereo_fusion reads all images with their depth and normal maps at once unless it is told to use a cache; the cache of patch_match_stereo may grow to 32 GB by default, whatever the machine has; in the sparse steps it is matches and threads.",
	Not:   "A larger graphics card: nothing of its memory was asked for.",
	Cures: []cause.Cure{
		{Fix: "lower_num_workers", Title: "stereo_fusion: read through a small cache, and smaller images", Told: "Add to your own command; cache_size is GB of RAM and counts only with use_cache:", Kind: "text", Text: "`--StereoFusion.use_cache 1 --StereoFusion.cache_size 4 --StereoFusion.max_image_size 1600`", Cost: "Slower; less detail"},
		{Fix: "lower_resolution", Title: "Another step: smaller images and fewer threads", Ways: []cause.Way{
			{For: "patch_match_stereo", Text: "`--PatchMatchStereo.cache_size 4 --PatchMatchStereo.max_image_size 1600`"},
			{For: "Features or matching", Text: "fewer threads, and smaller images"},
			{For: "poisson_mesher", Text: "`--PoissonMeshing.depth 11` (13 by default)"},
		}, Cost: "Detail"},
		{Fix: "add_swap", Title: "Swap, for a peak that is only a little too high", Kind: "shell", Text: "sudo fallocate -l 32G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile", Cost: "32 GB of disk, slow"},
	},
	Sources: []string{"colmap/src/colmap/mvs/fusion.h", "colmap/src/colmap/mvs/patch_match_options.h", "colmap/src/colmap/controllers/option_manager.cc"},
}}

// noSize: what was asked for is no number of bytes.
func noSize(c *ledger.Case) bool { return c.Signal("no_size") != nil }
