package science

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// RELION refines cryo-EM maps. It takes what is free of each card at the start
// of an iteration and hands it out itself.
var RELION = program.Program{
	Name: "relion", Shown: "RELION", Work: "science", Edits: "flags", Language: "cpp",
	Sources: program.Sources{"relion/src/ml_optimiser.cpp": "--maxsig --free_gpu_memory --preread_images --scratch_dir --pool"},
	Proofs:  []string{"relion_refine", "relion_run_", "CudaCustomAllocator", "HipCustomAllocator", "gpu_utils/cuda_", "Each MPI-rank running on a GPU increases the use of GPU-memory", "/relion/src/", "relion_autopick", "relion_", "RELION version", "/relion/"},
	Titles: map[string]string{
		"lower_parallel": "Run one MPI rank per GPU", "lower_resolution": "Use a smaller box", "lower_batch_size": "Limit the poses per particle (--maxsig)",
		"raise_memory_limit": "Ask for more memory for the job", "lower_num_workers": "Keep particles out of RAM",
	},
	Costs: map[string]string{
		"lower_parallel": "Slower; the result is the same.", "lower_resolution": "Resolution above the new Nyquist limit.", "lower_batch_size": "Almost the same quality with 2000 in 3D.",
		"lower_num_workers": "More reading; fast from a local scratch disk.", "cpu_offload": "Many times slower.",
	},
	Remedies: cures(cause.InOrder("lower_parallel", "lower_batch_size", "lower_resolution", "kill_stale_process", "cpu_offload", "bigger_gpu"), cause.InOrder("lower_num_workers", "lower_parallel", "raise_memory_limit", "lower_resolution")),
	Steps: steps{
		"lower_parallel":    step.Paste("text", "Start as many MPI ranks as GPUs, plus one for the leader: two GPUs are `mpirun -n 3`. In the GUI: Running, Number of MPI procs; Compute, Which GPUs to use `0:1` (a colon parts ranks)."),
		"lower_batch_size":  step.Paste("text", "Add `--maxsig 2000` (3D; 2D classes: `--maxsig 50`) under Running, Additional arguments. Large values of `_rlnNrOfSignificantSamples` in the _data.star file show that it is needed."),
		"lower_resolution":  step.Paste("text", "Extract again with Rescale particles, or a smaller box: half the box needs an eighth. RELION's own estimate for N pixels is 1.1e-8 x (2N)^3 GB per rank in the last iteration."),
		"lower_num_workers": step.Paste("ui", "Compute: Pre-read all particles into RAM? No; Copy particles to scratch directory: a local disk (--scratch_dir). Fewer MPI procs."),
		"cpu_offload":       step.Paste("ui", "Compute: Use GPU acceleration? No, and continue from the last _optimiser.star: only the last iteration needs that much."),
	},
	Cards: relionCards,
}

// CryoSPARC is cryoSPARC.
var CryoSPARC = program.Program{
	Name: "cryosparc", Shown: "cryoSPARC", Work: "science", Edits: "flags", Language: "python",
	Proofs:   []string{"cryosparc_compute", "cryosparc_master/", "cryosparc_worker", "cryosparc_tools", "cryosparc_", "cryosparc-compute/"},
	Titles:   map[string]string{"lower_parallel": "One movie at a time", "lower_resolution": "Downsample the particles", "lower_batch_size": "Fewer classes or a smaller batch", "select_gpu": "Run the job on a free GPU"},
	Costs:    map[string]string{"lower_resolution": "Resolution above the new Nyquist limit.", "lower_batch_size": "More runs."},
	Remedies: cures(cause.InOrder("select_gpu", "lower_resolution", "lower_batch_size", "bigger_gpu"), cause.InOrder("lower_parallel", "raise_memory_limit", "lower_resolution")),
	Steps: steps{
		"lower_resolution": step.Paste("ui", "Build a Downsample Particles job on the inputs: Fourier crop to half the box size, then run this job on its output. Half the box needs about an eighth."),
		"lower_batch_size": step.Paste("ui", "In the job's parameters: fewer classes, or a smaller batch size where the job has one; then clear and run it again."),
		"select_gpu":       step.Paste("text", "`nvidia-smi` on the worker first: cryoSPARC's scheduler does not see programs that it did not start. Then queue the job with Run on specific GPU."),
		"lower_parallel":   step.Paste("ui", "Job parameters: Number of GPUs or parallel threads to 1. Each holds movies of its own in RAM."),
	},
	Cards: cryosparcCards,
}

// MotionCor is MotionCor2 and 3.
var MotionCor = program.Program{
	Name: "motioncor", Shown: "MotionCor", Work: "science", Edits: "flags", Language: "cpp",
	Proofs:   []string{"MotionCor2", "MotionCor3", "motioncor2_", "MotionCor"},
	Titles:   map[string]string{"lower_resolution": "Bin the movies (-FtBin 2)", "limit_framework_preallocation": "Buffer fewer frames on the GPU (-GpuMemUsage)"},
	Costs:    map[string]string{"lower_resolution": "Half the sampling; super-resolution movies lose nothing real.", "limit_framework_preallocation": "Slower: frames wait in RAM."},
	Remedies: cures(cause.InOrder("limit_framework_preallocation", "lower_parallel", "lower_resolution", "kill_stale_process"), cause.InOrder("lower_parallel", "raise_memory_limit", "lower_resolution")),
	Steps: steps{
		"limit_framework_preallocation": step.Paste("text", "Add `-GpuMemUsage 0.5` (the share of the GPU that buffers frames; `0` buffers none) to the command."),
		"lower_resolution":              step.Paste("text", "Add `-FtBin 2` for super-resolution movies, and for EER group more frames into a fraction."),
		"lower_parallel":                step.Paste("text", "One process per GPU: `-Gpu 0` for the first, `-Gpu 1` for the second, and no others on it. In RELION's GUI that is the number of MPI procs."),
	},
}

// FastSurfer is FastSurfer and FreeSurfer.
var FastSurfer = program.Program{
	Name: "fastsurfer", Shown: "FastSurfer", Like: nil, Work: "vision", Edits: "flags", Language: "python",
	Sources:  program.Sources{"FastSurfer/run_fastsurfer.sh": "--viewagg_device --batch --device --threads --parallel"},
	Proofs:   []string{"FastSurferCNN/", "run_fastsurfer.sh", "FastSurferVINN", "fastsurfer"},
	Titles:   map[string]string{"cpu_offload": "Aggregate the views on the CPU", "lower_batch_size": "Batch 1"},
	Costs:    map[string]string{"cpu_offload": "A few minutes; 8 to 16 GB of RAM.", "lower_batch_size": "A little time."},
	Remedies: cures(cause.InOrder("cpu_offload", "kill_stale_process"), cause.InOrder("lower_parallel", "raise_memory_limit", "add_swap")),
	Cards:    fastSurferCards,
	Steps: steps{
		"cpu_offload":      step.Paste("text", "Add `--viewagg_device cpu` to the command: the network stays on the GPU, the summing of its three views, which takes most memory, goes to RAM. If that is not enough: `--device cpu`."),
		"lower_batch_size": step.Paste("text", "Add `--batch 1` to the command (it is the default; larger values need more)."),
		"lower_parallel":   step.Paste("text", "Leave `--parallel` out: both hemispheres at once need twice the RAM; and `--threads 2`."),
	},
}

// COLMAP reconstructs from photographs.
var COLMAP = program.Program{
	Name: "colmap", Shown: "COLMAP", Work: "vision", Edits: "flags", Language: "cpp",
	Sources:  program.Sources{"colmap/src/colmap/controllers/option_manager.cc": "--FeatureExtraction --FeatureMatching --SiftMatching --PatchMatchStereo --StereoFusion --SiftExtraction"},
	Proofs:   []string{"task=colmap,", "exe/colmap", "exe/dense_mapper", "exe/dense_stereo", "exe/dense_fuser", "--workspace_format COLMAP", "DenseMapperOptions.", "--PatchMatchStereo.", "--StereoFusion.", "colmap::", "colmap/src/", "colmap patch_match", "Not enough GPU memory to match", "colmap feature_", "colmap mapper", "colmap stereo_fusion", "(colmap)", "SiftGPU"},
	Titles:   map[string]string{"lower_resolution": "Smaller images for this step", "lower_batch_size": "Fewer features or matches", "lower_num_workers": "Fewer threads, a smaller cache"},
	Costs:    map[string]string{"lower_resolution": "Detail in the dense model.", "lower_batch_size": "Fewer matches in richly textured images.", "lower_num_workers": "Time."},
	Remedies: cures(cause.InOrder("lower_resolution", "lower_batch_size", "kill_stale_process", "cpu_offload"), cause.InOrder("lower_num_workers", "lower_resolution", "add_swap", "raise_memory_limit")),
	Steps: steps{
		"lower_resolution":  step.Paste("text", "Dense steps: `--PatchMatchStereo.max_image_size 1600`. Features: `--FeatureExtraction.max_image_size 2000` (older releases: `--SiftExtraction.max_image_size`)."),
		"lower_batch_size":  step.Paste("text", "Matching: `--FeatureMatching.max_num_matches 16384`, halved until it runs (older releases: `--SiftMatching.max_num_matches`). Extraction: `--SiftExtraction.max_num_features 4096`."),
		"lower_num_workers": step.Paste("text", "`--PatchMatchStereo.cache_size 8` and `--StereoFusion.cache_size 8` (GB of RAM), and `--FeatureExtraction.num_threads 4`."),
		"cpu_offload":       step.Paste("text", "Features and matching also run without the GPU: `--FeatureExtraction.use_gpu 0`, `--FeatureMatching.use_gpu 0` (slower). Dense stereo needs it."),
	},
	Cards: colmapCards,
}

// Metashape is Agisoft Metashape.
var Metashape = program.Program{
	Name: "metashape", Shown: "Metashape", Work: "vision", Edits: "flags", Language: "cpp",
	Proofs:   []string{"Metashape", "agisoft", "PhotoScan"},
	Titles:   map[string]string{"lower_resolution": "Lower the quality of the step", "lower_batch_size": "Split the chunk"},
	Costs:    map[string]string{"lower_resolution": "Detail: each level halves the side.", "lower_batch_size": "Merging afterwards."},
	Remedies: cures(cause.InOrder("lower_resolution", "lower_batch_size", "close_other_apps", "cpu_offload"), cause.InOrder("lower_resolution", "lower_batch_size", "add_swap")),
	Steps: steps{
		"lower_resolution": step.Paste("ui", "Build Depth Maps or Build Model: Quality one level lower (High to Medium): a quarter of the memory"),
		"lower_batch_size": step.Paste("ui", "Split the project: duplicate the chunk with smaller regions, process each, then Workflow, Merge Chunks"),
		"cpu_offload":      step.Paste("ui", "Tools, Preferences, GPU: untick the GPU with the least memory"),
	},
}
