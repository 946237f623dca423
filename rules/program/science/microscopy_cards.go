package science

import (
	"math"
	"strconv"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var oneRank = cause.Cure{Fix: "lower_parallel", Title: "Run one MPI rank per card", Kind: "text", Text: "Start as many ranks as cards, plus one leader (two cards: `mpirun -n 3 ... --j 1`; fewer threads take less of the pool at once). \"is split between\" at the head of the output names a card that serves several ranks.", Cost: "Slower; the same result"}

var relionCards = []cause.Card{
	{
		ID: "relion/no-size", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"CustomAllocator out of memory"}, If: noSize,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "asked for an impossible size: {count} bytes",
		Means: "{count} bytes, about 2 to the power of {power}, are more than any computer has: a number that overflowed, or NaN made into a size.[[ {left} of its pool was free.]] So the card is not full, although RELION prints its usual advice about ranks and box sizes.",
		Not:   "Fewer ranks on a card, a smaller box, more memory: no card has room for that number.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Try another build or version", Told: "Run the same job without `--gpu`; if that runs, the GPU port (HIP, SYCL most of all) is at fault, and its makers need this log.", Cost: "Slower, or an installation"},
			{Fix: "fix_shape", Title: "Check the input for NaN", Told: "An empty mask, a pixel size of 0 or a reference of another box size make such numbers. `relion_image_handler --i REFERENCE.mrc --stats` prints them (your own file).", Cost: "Some minutes"},
			{Fix: "cpu_offload", Title: "Run this step without the card", Kind: "ui", Text: "Compute, Use GPU acceleration: No", Cost: "Hours; needs RAM per rank"},
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
		ID: "relion/pool", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"CustomAllocator out of memory"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of its own pool on the card[[: {asked} more for a few particles]]",
		Means: "At the start of each iteration RELION takes what is free on the card as a pool and hands it out per particle. That pool ran out[[: one request of {asked} was refused]]. Usually some particles have very many possible poses (noise, ice, a poor or too sharp reference), so it fails at varying particles. Several ranks on one card make each pool smaller.",
		Not:   "A larger queue memory (`--mem`): that is RAM.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Limit the poses (`--maxsig`)", Kind: "text", Text: "Add `--maxsig 2000` (2D classes: `--maxsig 50`) to Additional arguments, and continue from the last _optimiser.star.", Cost: "Hardly any quality"},
			oneRank,
			look,
			{Fix: "lower_resolution", Title: "Remove bad particles, or use a smaller box", Kind: "text", Text: "Large values of `_rlnNrOfSignificantSamples` in the last _data.star mark them; remove them, for example by 2D classification. Particles rescaled to half the box need an eighth.", Cost: "Some particles, or resolution above the new Nyquist limit."},
		},
		Sources: []string{"relion/src/error.h", "relion/src/acc/cuda/custom_allocator.cuh", "https://github.com/3dem/relion/issues/1075", "https://github.com/3dem/relion/issues/120"}, Solved: 1,
	},
	{
		ID: "relion/volumes", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"acc_projector_impl.h", "acc_backprojector_impl.h", "cuda_mem_utils.h", "cuda_settings.h"}, Unsaid: []string{"CustomAllocator out of memory"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory for the reference volumes",
		Means: "The references did not fit on the card together. RELION's own estimate for the LAST iteration, at full resolution, is 1.1e-8 x (2N)^3 GB per rank for a box of N pixels: 300 pixels 2.4, 450 pixels 8, 600 pixels 19 GB; every class or body adds one. So it can fail after many good iterations, and two ranks on a card need twice as much.",
		Not:   "`--maxsig`: it limits poses, not volumes.",
		Cures: []cause.Cure{
			oneRank,
			{Fix: "cpu_offload", Title: "Finish the last iteration on the CPU", Kind: "ui", Text: "Continue from the last _optimiser.star with Compute, Use GPU acceleration: No", Cost: "Hours; needs RAM per rank"},
			{Fix: "lower_resolution", Title: "Use a smaller box", Kind: "text", Text: "Re-extract with a smaller box or rescaled particles: half the box needs an eighth.", Cost: "Resolution above the new Nyquist limit"},
		},
		Sources: []string{"relion/src/error.h", "relion/src/acc/acc_projector_impl.h", "https://github.com/3dem/relion/issues/447", "https://github.com/3dem/relion/issues/715"}, Solved: 1,
	},
	{
		ID: "relion/ram", Kinds: []fact.Kind{fact.ShellKilled, fact.KernelKill, fact.SlurmKill}, Said: []string{"relion_refine", "preread_images"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "lost a rank: system memory (RAM) ran out",
		Means: "A rank was killed for lack of system memory, not graphics memory. Each rank keeps its references in RAM, and pre-reading particles adds the whole data set once more.",
		Not:   "`--free_gpu_memory`: it is about the card.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Turn off pre-reading of particles", Kind: "ui", Text: "Compute: Pre-read all particles into RAM? No; Copy particles to scratch directory: a local disk", Cost: "More reading"},
			{Fix: "lower_parallel", Title: "Use fewer MPI ranks, more threads", Kind: "text", Text: "Lower Number of MPI procs and raise Number of threads: threads share the references, ranks do not.", Cost: "Some speed"},
			{Fix: "raise_memory_limit", Title: "In a batch job: request more memory", Kind: "text", Text: "In Slurm `#SBATCH --mem=128G`, or your queue's own line; `dmesg` or `sacct` tells whether a limit was reached.", Cost: "Waiting time in the queue"},
		},
		Sources: []string{"relion/src/pipeline_jobs.cpp", "relion/src/ml_optimiser.cpp"},
	},
}

var cryosparcCards = []cause.Card{
	{
		ID: "cryosparc/card", Kinds: []fact.Kind{fact.PlainDevice, fact.NumbaAlloc, fact.DeviceAlloc}, Said: []string{"cryosparc_", "cryosparc-compute/", "cryosparc/"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory in this job",
		Means: "The job asked the card for an array and was refused (a Python MemoryError, but not RAM). In refinements the need grows with the CUBE of the box: 1.26 times the box is twice the memory, and boxes of 800 pixels and more need the largest cards. The log shows neither the size of the card nor what else is on it; the scheduler of cryoSPARC does not see programs that it did not start.",
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
	Means: "This is system memory (RAM); the trace does not name the step. Fusion reads all images with their depth and normal maps at once unless it uses a cache; features and matching need memory for each thread; the mesher grows with its depth. In the GUI the step is the one whose window was open.",
	Cures: []cause.Cure{
		{Fix: "lower_resolution", Title: "Use smaller images and a cache for this step", Ways: []cause.Way{
			{For: "Fusion", Text: "`--StereoFusion.use_cache 1 --StereoFusion.cache_size 4 --StereoFusion.max_image_size 1600` (GUI: Dense, Options; older releases have fewer of them)"},
			{For: "Features", Text: "`--SiftExtraction.max_image_size 1600`, 2 to 4 threads"},
			{For: "Matching on the CPU", Text: "`--SiftMatching.max_num_matches 8192`, 2 threads"},
			{For: "Mesher", Text: "`--PoissonMeshing.depth 11`"},
		}, Cost: "Less detail"},
		{Fix: "add_swap", Title: "Add 32 GB of swap", Kind: "shell", Text: "sudo fallocate -l 32G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile", Cost: "32 GB of disk, slow"},
		{Fix: "upgrade_version", Title: "Update COLMAP, repeat only the failed step", Told: "Finished steps stay in the database. Check RAM with `free -h` and `ulimit -v` (a number is a limit).", Cost: "Free"},
	},
	Sources: []string{"colmap/src/colmap/controllers/option_manager.cc", "https://colmap.github.io/faq.html"},
}, {
	ID: "colmap/ram", Kinds: []fact.Kind{fact.KernelKill, fact.ShellKilled}, Said: []string{"(colmap)", "task=colmap,", "colmap stereo_fusion", "colmap patch_match", "colmap mapper"},
	Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "filled the machine's RAM and was killed[[: it held {killed_rss}]]",
	Means: "The kernel killed COLMAP for lack of system memory (RAM). The message does not name the step. stereo_fusion reads all images with their depth and normal maps at once unless it uses a cache; the cache of patch_match_stereo may grow to 32 GB by default; in the sparse steps matches and threads decide.",
	Cures: []cause.Cure{
		{Fix: "lower_num_workers", Title: "stereo_fusion: use a cache and smaller images", Told: "Add to your own command; cache_size is GB of RAM and counts only with use_cache:", Kind: "text", Text: "`--StereoFusion.use_cache 1 --StereoFusion.cache_size 4 --StereoFusion.max_image_size 1600`", Cost: "Slower; less detail"},
		{Fix: "lower_resolution", Title: "Other steps: smaller images, fewer threads", Ways: []cause.Way{
			{For: "patch_match_stereo", Text: "`--PatchMatchStereo.cache_size 4 --PatchMatchStereo.max_image_size 1600`"},
			{For: "Features or matching", Text: "fewer threads, and smaller images"},
			{For: "poisson_mesher", Text: "`--PoissonMeshing.depth 11` (13 by default)"},
		}, Cost: "Less detail"},
		{Fix: "add_swap", Title: "Add 32 GB of swap", Kind: "shell", Text: "sudo fallocate -l 32G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile", Cost: "32 GB of disk, slow"},
	},
	Sources: []string{"colmap/src/colmap/mvs/fusion.h", "colmap/src/colmap/mvs/patch_match_options.h", "colmap/src/colmap/controllers/option_manager.cc"},
}}

// noSize: what was asked for is no number of bytes.
func noSize(c *ledger.Case) bool { return c.Signal("no_size") != nil }
