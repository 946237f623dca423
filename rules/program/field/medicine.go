package field

import "github.com/oomdoc/oomdoc/rules/program"

// Programs for pictures of patients.
var (
	// TotalSegmentator runs nnU-Net on whole scans.
	TotalSegmentator = of(program.Program{
		Name: "totalsegmentator", Shown: "TotalSegmentator", Rank: 93, Work: "vision", Edits: "flags", Carries: []string{"nnunetv2", "nnunet"},
		Proofs:   []string{"totalsegmentator/", "TotalSegmentator -i", "TotalSegmentator/", "totalsegmentator."},
		Commands: []string{"TotalSegmentator"},
		Titles:   map[string]string{"lower_resolution": "Use the 3 mm model (--fast)", "lower_batch_size": "Split the scan into three parts (--force_split)", "use_smaller_model": "Segment only the organs you need (--roi_subset)", "lower_num_workers": "Save and resample with one thread", "stream_dataset": "Crop to the body first (--body_seg)"},
		Costs:    map[string]string{"lower_resolution": "Small structures may be missed.", "lower_batch_size": "Not suited to small scans.", "use_smaller_model": "No loss for those organs.", "lower_num_workers": "Slower.", "stream_dataset": "None."},
		Steps: steps{
			"lower_resolution":  say("Add `--fast` (3 mm; `--fastest` is 6 mm). In Python: `totalsegmentator(input, output, fast=True)`."),
			"lower_batch_size":  say("Add `--force_split` (Python: `force_split=True`)."),
			"use_smaller_model": say("Add `--roi_subset liver spleen` (your own list): only the models for these run."),
			"lower_num_workers": say("Add `--nr_thr_saving 1 --nr_thr_resamp 1`. `--ml` writes one file instead of a hundred."),
			"stream_dataset":    say("Add `--body_seg`, or crop air and table away yourself."),
		},
		Sources: program.Sources{"TotalSegmentator/totalsegmentator/bin/TotalSegmentator.py": "--fast --fastest --force_split --roi_subset --nr_thr_saving --nr_thr_resamp --ml --body_seg"},
	}, []shortage{{
		id: "fast", said: []string{"Using 'fast' option", "Using 'fastest' option"}, done: []string{"lower_resolution"},
	}, {
		id: "split", said: []string{"Splitting into subparts"}, done: []string{"lower_batch_size"},
	}, {
		means:  "The network works on small patches. What is large is the scan resampled to 1.5 mm, with a score of every class for each voxel. A whole body takes many times as much as a chest.",
		fixes:  []string{"lower_resolution", "lower_batch_size", "use_smaller_model", "kill_stale_process"},
		source: "TotalSegmentator/README.md",
	}}, []shortage{{
		id: "threads", said: []string{"--nr_thr_saving 1 -", "--nr_thr_resamp 1 -"}, done: []string{"lower_num_workers"},
	}, {
		id: "ram-fast", said: []string{"Using 'fast' option", "Using 'fastest' option"}, done: []string{"lower_resolution"},
	}, {
		id: "ram-split", said: []string{"Splitting into subparts"}, done: []string{"lower_batch_size"},
	}, {
		means:  "The scan resampled to 1.5 mm, with a score of every class for each voxel, is in RAM, and again in each process that saves or resamples. \"Background workers died\" usually means that one of them was killed because RAM ran out.",
		fixes:  []string{"lower_num_workers", "lower_batch_size", "lower_resolution", "stream_dataset"},
		source: "TotalSegmentator/README.md",
	}})

	// SynthSeg segments brains, on its own or as mri_synthseg of FreeSurfer.
	SynthSeg = of(program.Program{
		Name: "synthseg", Shown: "SynthSeg", Work: "vision", Edits: "flags",
		Proofs:   []string{"SynthSeg/", "mri_synthseg", "SynthSeg_predict.py", "SynthSeg-robust"},
		Commands: []string{"mri_synthseg"},
		Titles:   map[string]string{"cpu_offload": "Run it on the CPU (--cpu)", "lower_resolution": "Use a smaller patch (--crop 160)", "use_smaller_model": "Leave out --robust and --parc"},
		Costs:    map[string]string{"cpu_offload": "A minute or two per scan.", "lower_resolution": "The brain must fit: 160 at least.", "use_smaller_model": "Worse on poor scans; no cortical parcels."},
		Steps: steps{
			"cpu_offload":       say("Add `--cpu --threads 4`. It then needs RAM instead of a GPU."),
			"lower_resolution":  say("Add `--crop 160` (default 192; a multiple of 32)."),
			"use_smaller_model": say("Leave out both options, and add `--fast`."),
		},
		Sources: program.Sources{"SynthSeg/scripts/commands/SynthSeg_predict.py": "--cpu --threads --crop --robust --parc --fast"},
	}, one(shortage{
		means:  "The scan is resampled to 1 mm, and a 3D U-Net in 32 bit processes a block of 192 voxels per side at once.",
		not:    "An input file of lower resolution: it is resampled to 1 mm anyway.",
		fixes:  []string{"cpu_offload", "lower_resolution", "kill_stale_process", "use_smaller_model"},
		source: "SynthSeg/scripts/commands/SynthSeg_predict.py",
	}), one(shortage{
		means:  "On the CPU the whole block and its features are in RAM, and each thread has its own buffers.",
		fixes:  []string{"lower_resolution", "use_smaller_model", "add_swap"},
		source: "SynthSeg/scripts/commands/SynthSeg_predict.py",
	}))

	// FMRIPrep is a workflow of many programs, run by nipype.
	FMRIPrep = of(program.Program{
		Name: "fmriprep", Shown: "fMRIPrep", Work: "science", Edits: "flags",
		Proofs:   []string{"fmriprep/cli/", "fmriprep/workflows/", "fmriprep_", "fMRIPrep", "nipype.workflow", "nipype/pipeline/"},
		Commands: []string{"fmriprep"},
		Titles:   map[string]string{"lower_num_workers": "Run fewer steps at once (--nprocs)", "lower_mem_fraction": "Set its memory limit (--mem_mb, --low-mem)", "stream_dataset": "Use fewer output spaces, one subject at a time", "raise_memory_limit": "Give container or job 16 to 32 GB per subject"},
		Costs:    map[string]string{"lower_num_workers": "Slower.", "lower_mem_fraction": "Disk space in the work folder.", "stream_dataset": "Fewer outputs.", "raise_memory_limit": "Needs more RAM."},
		Steps: steps{
			"lower_num_workers":  say("Add `--nprocs 4 --omp-nthreads 2`. By default it uses all cores, and each parallel step needs its own memory."),
			"lower_mem_fraction": say("Add `--mem_mb 14000 --low-mem`, with `--mem_mb` a tenth below the limit of the job or container."),
			"stream_dataset":     say("Use `--output-spaces MNI152NLin2009cAsym:res-2` instead of res-1 or native, and one `--participant-label` per run. With the same work folder (`-w`) a restart continues."),
			"raise_memory_limit": say("Docker Desktop: Settings, Resources, Memory: 16 GB (the default is often 2 to 8). Slurm: `#SBATCH --mem=32G`."),
		},
		Sources: program.Sources{"fmriprep/fmriprep/cli/parser.py": "--nprocs --omp-nthreads --mem_mb --low-mem --output-spaces --participant-label -w", "fmriprep/docs/faq.rst": "--low-mem", "slurm/doc/man/man1/sbatch.1": "--mem"},
	}, nil, one(shortage{
		means:  "If a step is killed because RAM ran out, nipype only sees that its process is gone (BrokenProcessPool, \"Killed\", exit code 137). fMRIPrep starts as many steps as there are cores. It plans with the memory that it sees, often the whole machine's instead of the container's.",
		fixes:  []string{"lower_mem_fraction", "lower_num_workers", "raise_memory_limit", "stream_dataset"},
		source: "fmriprep/docs/faq.rst",
	}))
)
