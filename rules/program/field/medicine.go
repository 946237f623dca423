package field

import "github.com/oomdoc/oomdoc/rules/program"

// Programs for pictures of patients.
var (
	// TotalSegmentator runs nnU-Net on whole scans.
	TotalSegmentator = of(program.Program{
		Name: "totalsegmentator", Shown: "TotalSegmentator", Rank: 93, Work: "vision", Edits: "flags", Carries: []string{"nnunetv2", "nnunet"},
		Proofs:   []string{"totalsegmentator/", "TotalSegmentator -i", "TotalSegmentator/", "totalsegmentator."},
		Commands: []string{"TotalSegmentator"},
		Titles:   map[string]string{"lower_resolution": "The model of 3 mm", "lower_batch_size": "The scan in three parts", "use_smaller_model": "Only the organs that you need", "lower_num_workers": "One thread to save, one to resample", "stream_dataset": "Crop to the body first"},
		Costs:    map[string]string{"lower_resolution": "Small structures.", "lower_batch_size": "Not for small scans.", "use_smaller_model": "None for those organs.", "lower_num_workers": "Slower.", "stream_dataset": "None."},
		Steps: steps{
			"lower_resolution":  say("Add `--fast` (`--fastest`: 6 mm); in Python `totalsegmentator(input, output, fast=True)`."),
			"lower_batch_size":  say("Add `--force_split` (Python: `force_split=True`)."),
			"use_smaller_model": say("`--roi_subset liver spleen` (your own list): only the models that know them are run."),
			"lower_num_workers": say("Add `--nr_thr_saving 1 --nr_thr_resamp 1`, and `--ml` to write one file in place of a hundred."),
			"stream_dataset":    say("Add `--body_seg`, or crop the air and the table away yourself."),
		},
		Sources: program.Sources{"TotalSegmentator/totalsegmentator/bin/TotalSegmentator.py": "--fast --fastest --force_split --roi_subset --nr_thr_saving --nr_thr_resamp --ml --body_seg"},
	}, one(shortage{
		means:  "The network's patches are small; the scan resampled to 1.5 mm, and the scores of every class for all of it, are what is large. A whole body takes ten times what a thorax does.",
		not:    "A batch size: there is none.",
		fixes:  []string{"lower_resolution", "lower_batch_size", "use_smaller_model", "kill_stale_process"},
		source: "TotalSegmentator/README.md",
	}), one(shortage{
		means:  "The scan resampled to 1.5 mm and the scores of every class for each of its voxels lie in RAM, and again in each process that saves or resamples. \"Background workers died\" is the same: the system ended one.",
		not:    "Anything about the graphics card: it was RAM.",
		fixes:  []string{"lower_num_workers", "lower_batch_size", "lower_resolution", "stream_dataset"},
		source: "TotalSegmentator/README.md",
	}))

	// SynthSeg segments brains, on its own or as mri_synthseg of FreeSurfer.
	SynthSeg = of(program.Program{
		Name: "synthseg", Shown: "SynthSeg", Work: "vision", Edits: "flags",
		Proofs:   []string{"SynthSeg/", "mri_synthseg", "SynthSeg_predict.py", "SynthSeg-robust"},
		Commands: []string{"mri_synthseg"},
		Titles:   map[string]string{"cpu_offload": "Run it on the CPU", "lower_resolution": "Smaller patches", "use_smaller_model": "Without robust and parcellation"},
		Costs:    map[string]string{"cpu_offload": "A minute or two a scan.", "lower_resolution": "Brains must fit: 160 at least.", "use_smaller_model": "Less on poor scans; no cortical parcels."},
		Steps: steps{
			"cpu_offload":       say("Add `--cpu --threads 4`: then it needs RAM and no card."),
			"lower_resolution":  say("Add `--crop 160` (192 unless set; a multiple of 32)."),
			"use_smaller_model": say("Leave out `--robust` and `--parc`, add `--fast`."),
		},
		Sources: program.Sources{"SynthSeg/scripts/commands/SynthSeg_predict.py": "--cpu --threads --crop --robust --parc --fast"},
	}, one(shortage{
		means:  "The scan is resampled to 1 mm, and a 3D U-Net in 32 bit sees a patch of 192 voxels a side at once, with all of its features in the layers at full size.",
		not:    "A smaller input file: it is resampled to 1 mm anyway.",
		fixes:  []string{"cpu_offload", "lower_resolution", "kill_stale_process", "use_smaller_model"},
		source: "SynthSeg/scripts/commands/SynthSeg_predict.py",
	}), one(shortage{
		means:  "On the CPU the whole patch and its features lie in RAM; each thread has buffers of its own.",
		not:    "A graphics card's settings.",
		fixes:  []string{"lower_resolution", "use_smaller_model", "add_swap"},
		source: "SynthSeg/scripts/commands/SynthSeg_predict.py",
	}))

	// FMRIPrep is a workflow of many programs, run by nipype.
	FMRIPrep = of(program.Program{
		Name: "fmriprep", Shown: "fMRIPrep", Work: "science", Edits: "flags",
		Proofs:   []string{"fmriprep/cli/", "fmriprep/workflows/", "fmriprep_", "fMRIPrep", "nipype.workflow", "nipype/pipeline/"},
		Commands: []string{"fmriprep"},
		Titles:   map[string]string{"lower_num_workers": "Fewer steps at once", "lower_mem_fraction": "Tell it what there is, and save memory", "stream_dataset": "Fewer spaces, one subject at a time", "raise_memory_limit": "Give container and job 16 to 32 GB for a subject"},
		Costs:    map[string]string{"lower_num_workers": "Slower.", "lower_mem_fraction": "Disk space in the work folder.", "stream_dataset": "Outputs left out.", "raise_memory_limit": "RAM."},
		Steps: steps{
			"lower_num_workers":  say("`--nprocs 4 --omp-nthreads 2`: all cores unless set, and each step at once needs its own memory."),
			"lower_mem_fraction": say("`--mem_mb 14000` (what it may plan with: a tenth below the limit of job or container) and `--low-mem`."),
			"stream_dataset":     say("`--output-spaces MNI152NLin2009cAsym:res-2` in place of res-1 or native; `--participant-label` one at a time, with its own work folder (`-w`), which a new start goes on from."),
			"raise_memory_limit": say("Docker Desktop: Settings, Resources, Memory 16 GB (2 to 8 unless set); Slurm: `#SBATCH --mem=32G`."),
		},
		Sources: program.Sources{"fmriprep/fmriprep/cli/parser.py": "--nprocs --omp-nthreads --mem_mb --low-mem --output-spaces --participant-label -w", "fmriprep/docs/faq.rst": "--low-mem", "slurm/doc/man/man1/sbatch.1": "--mem"},
	}, nil, one(shortage{
		means:  "One of its steps was ended by the system for RAM; nipype only sees a process that is gone (BrokenProcessPool, \"Killed\", exit code 137). It starts as many steps as there are cores, and plans with the memory that it sees, in a container or job often the whole machine's.",
		not:    "Starting again without a change; a graphics card.",
		fixes:  []string{"lower_mem_fraction", "lower_num_workers", "raise_memory_limit", "stream_dataset"},
		source: "fmriprep/docs/faq.rst",
	}))
)
