package science

import (
	"regexp"
	"strconv"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

var oneRank = cause.Cure{Fix: "lower_parallel", Title: "Run one MPI rank per GPU", Kind: "text", Text: "Start as many ranks as GPUs, plus one leader: `mpirun -n 3 ... --j 1` for two GPUs. If the head of the output says \"is split between\", several ranks share a GPU.", Cost: "Slower; the same result"}

var fastSurferCards = []cause.Card{{
	ID: "fastsurfer/card", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"FastSurferCNN/", "--viewagg_device cpu"},
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory in the segmentation",
	Means: "The network needs about 2 GB, and summing its three views on the GPU up to 6 GB more. It takes one slice at a time by default, so there is no batch to lower.",
	Not:   "`--batch`: it is 1 by default.",
	Cures: []cause.Cure{
		{Fix: "cpu_offload", If: func(c *ledger.Case) bool { return !c.Near("--viewagg_device cpu") }, Title: "Sum the views in RAM (--viewagg_device cpu)", Kind: "text", Text: "Add `--viewagg_device cpu` to the command.", Cost: "A few minutes; 8 to 16 GB of RAM"},
		look,
		{Fix: "cpu_offload", If: func(c *ledger.Case) bool { return c.Near("--viewagg_device cpu") }, Title: "Run it on the CPU (--device cpu)", Kind: "text", Text: "Use `--device cpu` instead.", Cost: "About an hour per image; RAM"},
	},
	Sources: []string{"FastSurfer/run_fastsurfer.sh", "FastSurfer/README.md"},
}}

var relionCards = []cause.Card{
	{
		ID: "relion/no-size", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"CustomAllocator out of memory"}, If: noSize,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "asked the GPU for an impossible amount of memory",
		Means: "No computer has the amount in requestedSpace: a number overflowed, or NaN became a size.[[ {left} of its pool was free.]] So the GPU is not full, although RELION prints its usual advice about ranks and box sizes.",
		Not:   "Fewer ranks, a smaller box or more memory: the number itself is wrong.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Run it without the GPU, then try another version", Told: "Run the same job without `--gpu`. If that works, the GPU code is at fault (HIP and SYCL most often): try another version, and report this log.", Cost: "Slower, or an installation"},
			{Fix: "fix_shape", Title: "Check the input for NaN", Told: "An empty mask, a pixel size of 0 or a reference with another box size can cause it. `relion_image_handler --i REFERENCE.mrc --stats` prints the numbers of your own file.", Cost: "Some minutes"},
			{Fix: "cpu_offload", Title: "Run this step on the CPU", Kind: "ui", Text: "Compute, Use GPU acceleration: No", Cost: "Hours; needs RAM per rank"},
		},
		Sources: []string{"relion/src/acc/cuda/custom_allocator.cuh"}, Figures: func(c *ledger.Case) map[string]string {
			out := map[string]string{"left": ""}
			if free := c.F().Free; free != nil {
				out["left"] = free.String()
			}
			return out
		},
	},
	{
		ID: "relion/pool", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"CustomAllocator out of memory"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of its GPU memory pool[[: it could not get {asked} more]]",
		Means: "RELION takes the free GPU memory as a pool and hands it out per particle. Usually some particles have very many possible poses (noise, ice, a poor or too sharp reference), so it fails at varying particles. Several ranks on one GPU make each pool smaller.",
		Not:   "A larger queue memory (`--mem`): that is RAM.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: func(c *ledger.Case) bool { return !c.Near("--maxsig ") }, Title: "Limit the poses (`--maxsig`)", Kind: "text", Text: "Put `--maxsig 2000` (2D classes: `--maxsig 50`) into Additional arguments, and continue from the last _optimiser.star.", Cost: "Almost the same quality"},
			oneRank,
			look,
			{Fix: "lower_resolution", Title: "Remove bad particles, or use a smaller box", Kind: "text", Text: "Bad particles have large `_rlnNrOfSignificantSamples` in the last _data.star: remove them, for example by 2D classification. Half the box needs an eighth of the memory.", Cost: "Some particles, or resolution above the new Nyquist limit."},
		},
		Sources: []string{"relion/src/error.h", "relion/src/acc/cuda/custom_allocator.cuh", "https://github.com/3dem/relion/issues/1075", "https://github.com/3dem/relion/issues/120"}, Solved: 1,
	},
	{
		ID: "relion/volumes", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"acc_projector_impl.h", "acc_backprojector_impl.h", "cuda_mem_utils.h", "cuda_settings.h", "gpu_utils/cuda_projector.cu", "gpu_utils/cuda_backprojector.cu"}, Unsaid: []string{"CustomAllocator out of memory"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory for the reference volumes",
		Means: "RELION's own estimate for the last iteration, per rank and class: 300 pixels of box need 2.4 GB, 450 pixels 8 GB, 600 pixels 19 GB. The last iteration runs at full resolution, so it can fail after many good ones. Two ranks on a GPU need twice as much.[[ The box here, {box} pixels, needs {need} by that.]]", Figures: boxFigures,
		Not: "`--maxsig`: it limits poses, not volumes.",
		Cures: []cause.Cure{
			oneRank,
			{Fix: "cpu_offload", Title: "If the last iteration fails: run it on the CPU", Kind: "ui", Text: "Continue from the last _optimiser.star with Compute, Use GPU acceleration: No", Cost: "Hours; needs RAM per rank"},
			{Fix: "lower_resolution", Title: "Use a smaller box", Kind: "text", Text: "Re-extract with a smaller box, or rescale the particles. Half the box needs an eighth of the memory.", Cost: "Resolution above the new Nyquist limit"},
		},
		Sources: []string{"relion/src/error.h", "relion/src/acc/acc_projector_impl.h", "https://github.com/3dem/relion/issues/447", "https://github.com/3dem/relion/issues/715"}, Solved: 1,
	},
	{
		ID: "relion/ram", Kinds: []fact.Kind{fact.ShellKilled, fact.KernelKill, fact.SlurmKill}, Said: []string{"relion_refine", "preread_images", "--maxsig "},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "lost a rank: system memory (RAM) probably ran out",
		Means: "The system killed a rank, usually for lack of RAM, not GPU memory. Each rank keeps its references in RAM. Pre-reading adds all the particles.",
		Not:   "`--free_gpu_memory`: it concerns GPU memory.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Turn off pre-reading of particles", Kind: "ui", Text: "Compute: Pre-read all particles into RAM? No; Copy particles to scratch directory: a local disk", Cost: "Slower reading"},
			{Fix: "lower_parallel", Title: "Use fewer MPI ranks, more threads", Kind: "text", Text: "Lower Number of MPI procs and raise Number of threads. Threads share the references, ranks do not.", Cost: "Some speed"},
			{Fix: "raise_memory_limit", Title: "In a batch job: request more memory", Kind: "text", Text: "Slurm: `#SBATCH --mem=128G`. `sacct` or `dmesg` shows whether a limit was reached.", Cost: "Waiting time in the queue"},
		},
		Sources: []string{"relion/src/pipeline_jobs.cpp", "relion/src/ml_optimiser.cpp"},
	},
}

var cryosparcCards = []cause.Card{
	{
		ID: "cryosparc/card", Kinds: []fact.Kind{fact.PlainDevice, fact.NumbaAlloc, fact.DeviceAlloc}, Said: []string{"cryosparc_", "cryosparc-compute/", "cryosparc/"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory in this job",
		Means: "This is GPU memory, even where Python says MemoryError. In refinements the need grows with the cube of the box: 1.26 times the box needs twice the memory. Another program may also hold the GPU: cryoSPARC's scheduler does not see what it did not start.",
		Not:   "More RAM or swap: the GPU does not use them.",
		Cures: []cause.Cure{
			look,
			{Fix: "lower_resolution", Title: "Downsample the particles", Kind: "ui", Text: "Build a Downsample Particles job: Fourier crop to half the box. Run this job on its output", Cost: "Resolution above the new Nyquist limit"},
			{Fix: "select_gpu", Title: "Queue it on the largest free GPU", Kind: "ui", Text: "Clear the job, Queue, Run on specific GPU", Cost: "Free"},
		},
		Sources: []string{"https://guide.cryosparc.com/setup-configuration-and-management/hardware-and-system-requirements"},
	},
}

// boxSize is in the warning that RELION prints at its start.
var boxSize = regexp.MustCompile(`\(image_size\) is however (\d{2,4})`)

// boxFigures are RELION's estimate for the box: 1.1e-8 x (2N)^3 GB.
func boxFigures(c *ledger.Case) map[string]string {
	for _, word := range c.Facts.Talk {
		if m := boxSize.FindStringSubmatch(word.Text); m != nil {
			n, _ := strconv.ParseFloat(m[1], 64)
			return map[string]string{"box": m[1], "need": strconv.FormatFloat(1.1e-8*8*n*n*n, 'f', 1, 64) + " GB"}
		}
	}
	return map[string]string{"box": "", "need": ""}
}

// stereoOption is how the reader's release spells the option.
func stereoOption(c *ledger.Case) map[string]string {
	return map[string]string{"option": map[bool]string{true: "--DenseStereo", false: "--PatchMatchStereo"}[c.Near("DenseStereo.")] + ".max_image_size", "whole": map[bool]string{true: "`max_image_size: -1` in the log means images at full size."}[c.Near("max_image_size: -1")]}
}

// denseOption is the same of a command line, where 0 and -1 are full size.
func denseOption(c *ledger.Case) map[string]string {
	out := stereoOption(c)
	if c.Near("DenseMapperOptions.") {
		out["option"] = "--DenseMapperOptions.max_image_size"
	}
	if s, ok := c.Setting("max_image_size", "DenseMapperOptions.max_image_size", "PatchMatchStereo.max_image_size"); ok && (s.Value == "0" || s.Value == "-1") {
		out["whole"] = "`max_image_size` in your command means pictures at full size."
	}
	return out
}

var colmapCards = []cause.Card{{
	ID: "colmap/dense", Kinds: anyCard, Said: []string{"PatchMatch::Run", "PatchMatchOptions", "patch_match.cc", "mvs/gpu_mat.h", "DenseStereo.", "max_image_size: -1"}, Figures: stereoOption,
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory in dense stereo",
	Means: "For each view its image, its source images and their maps are on the GPU, so pixels x source images decide.[[ {whole}]] `geom_consistency` needs more.",
	Not:   "`cache_size`: it is RAM.",
	Cures: []cause.Cure{
		{Fix: "lower_resolution", Title: "Limit the image size of this step", Told: "`{option} 2000`; if that fails too, 1600 or 1200 (GUI: Dense, Options).", Cost: "detail in the dense model"},
		{Fix: "lower_batch_size", Title: "Use fewer source images per view", Told: "In the workspace's `stereo/patch-match.cfg` write `__auto__, 10` in place of `__auto__, 20` or 30.", Cost: "a little completeness"},
		look,
	},
	Sources: []string{"https://colmap.github.io/faq.html", "colmap/src/colmap/mvs/patch_match_options.h"},
}, {
	ID: "colmap/dense-refused", Kinds: []fact.Kind{fact.BadAlloc, fact.KernelKill, fact.ShellKilled}, Said: []string{"exe/dense_mapper", "exe/dense_stereo", "DenseMapperOptions.", "DenseStereo.", "--PatchMatchStereo.", "colmap patch_match"}, Figures: denseOption,
	Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of system memory (RAM) in dense stereo",
	Means: "It reads the pictures into RAM, with their depth and normal maps if `geom_consistency` is on.[[ {whole}]] Pixels x pictures decide. Old releases hold all of them at once; later ones keep a cache of limited size.",
	Not:   "A larger GPU: this is RAM.",
	Cures: []cause.Cure{
		{Fix: "lower_resolution", Title: "Limit the image size of this step", Told: "`{option} 2000`; if that fails too, 1600 or 1200.", Cost: "detail in the dense model"},
		{Fix: "upgrade_version", Title: "Use a newer COLMAP with a small cache", Kind: "text", Text: "`colmap patch_match_stereo` has `--PatchMatchStereo.cache_size 8` (GB of RAM; 32 by default). Earlier steps need not be repeated.", Cost: "an installation"},
		{Fix: "add_swap", Title: "Or add 32 GB of swap", Kind: "shell", Text: "sudo fallocate -l 32G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile", Cost: "32 GB of disk, slow"},
	},
	Sources: []string{"colmap/src/colmap/mvs/patch_match_options.h", "https://colmap.github.io/faq.html", "https://github.com/colmap/colmap/issues/107"},
}, {
	ID: "colmap/refused", Kinds: []fact.Kind{fact.BadAlloc}, Said: []string{"exe/colmap", "colmap::", "colmap stereo_fusion", "colmap mapper", "colmap feature_", "colmap patch_match"},
	Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of system memory (RAM)",
	Means: "std::bad_alloc means RAM, not GPU memory. Fusion loads all images with their depth and normal maps unless it uses a cache. Features and matching need memory for every thread.",
	Cures: []cause.Cure{
		{Fix: "lower_resolution", Title: "Use smaller images and a cache for the step that failed", Ways: []cause.Way{{For: "Fusion", Text: "`--StereoFusion.use_cache 1 --StereoFusion.cache_size 4 --StereoFusion.max_image_size 1600` (GUI: Dense, Options)"}, {For: "Features", Text: "`--SiftExtraction.max_image_size 1600 --SiftExtraction.num_threads 2`; newer releases: `--FeatureExtraction.` instead"}, {For: "Matching on the CPU", Text: "`--SiftMatching.max_num_matches 8192 --SiftMatching.num_threads 2`; newer releases: `--FeatureMatching.`"}, {For: "Mesher", Text: "`--PoissonMeshing.depth 11`"}}, Cost: "Less detail"},
		{Fix: "add_swap", Title: "Add 32 GB of swap", Kind: "shell", Text: "sudo fallocate -l 32G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile", Cost: "32 GB of disk, slow"},
		{Fix: "upgrade_version", Title: "Repeat only the failed step", Told: "Finished steps stay in the database. `free -h` shows the free RAM, and `ulimit -v` a limit of the shell (a number is a limit). An update of COLMAP can help too.", Cost: "Free"},
	},
	Sources: []string{"colmap/src/colmap/controllers/option_manager.cc", "https://colmap.github.io/faq.html"},
}, {
	ID: "colmap/ram", Kinds: []fact.Kind{fact.KernelKill, fact.ShellKilled}, Said: []string{"(colmap)", "task=colmap,", "colmap stereo_fusion", "colmap patch_match", "colmap mapper"},
	Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "filled the machine's RAM and was killed[[: it held {killed_rss}]]",
	Means: "Linux killed COLMAP for lack of system memory (RAM), not GPU memory. stereo_fusion loads all images with their depth and normal maps unless it uses a cache. The cache of patch_match_stereo may grow to 32 GB by default.",
	Cures: []cause.Cure{
		{Fix: "lower_num_workers", Title: "stereo_fusion: use a cache and smaller images", Told: "Add these to your command. cache_size is in GB of RAM, and counts only with use_cache:", Kind: "text", Text: "`--StereoFusion.use_cache 1 --StereoFusion.cache_size 4 --StereoFusion.max_image_size 1600`", Cost: "Slower; less detail"},
		{Fix: "lower_resolution", Title: "Other steps: smaller images, fewer threads", Ways: []cause.Way{{For: "patch_match_stereo", Text: "`--PatchMatchStereo.cache_size 4 --PatchMatchStereo.max_image_size 1600`"}, {For: "Features", Text: "`--SiftExtraction.max_image_size 1600 --SiftExtraction.num_threads 2`; newer releases: `--FeatureExtraction.` instead"}, {For: "poisson_mesher", Text: "`--PoissonMeshing.depth 11` (13 by default)"}}, Cost: "Less detail"},
		{Fix: "add_swap", Title: "Add 32 GB of swap", Kind: "shell", Text: "sudo fallocate -l 32G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile", Cost: "32 GB of disk, slow"},
	},
	Sources: []string{"colmap/src/colmap/mvs/fusion.h", "colmap/src/colmap/mvs/patch_match_options.h", "colmap/src/colmap/controllers/option_manager.cc"},
}}

// noSize: what was asked for is no number of bytes.
func noSize(c *ledger.Case) bool { return c.Signal("no_size") != nil }
