package field

import "github.com/oomdoc/oomdoc/rules/program"

// Codes that compute matter on many ranks, and tools of pictures and volumes.
var (
	VASP = of(program.Program{
		Name: "vasp", Shown: "VASP", Work: "science", Edits: "flags", Language: "other",
		Proofs: []string{"vasp_std", "vasp_gam", "vasp_ncl", "vasp.5.", "vasp.6.", "WAVECAR not read"},
		Titles: map[string]string{"shard_training": "Use more nodes, or fewer ranks per node", "lower_parallel": "Set KPAR = 1 and raise NCORE", "lower_resolution": "Lower k-points, bands or output", "raise_memory_limit": "Request all memory of the nodes, and lift the stack limit"},
		Costs:  map[string]string{"shard_training": "More core hours.", "lower_parallel": "Slower with many k-points.", "lower_resolution": "Accuracy, with care.", "raise_memory_limit": "A longer wait."},
		Steps: steps{
			"shard_training":     say("Use twice the nodes with half the ranks on each (`#SBATCH --ntasks-per-node=16` instead of 32). Each rank then has twice the memory."),
			"lower_parallel":     say("In INCAR set `KPAR = 1` (each k-point group keeps its own orbitals), `NCORE` to 4, 8 or the cores of a socket (or `NPAR`, not both), and `LREAL = Auto` for more than 20 atoms."),
			"lower_resolution":   say("Use a coarser k-point grid, `ISYM = 2`, `LWAVE = .FALSE.`, `LCHARG = .FALSE.`; with only the Gamma point use vasp_gam (half the memory). For hybrid functionals, GW and BSE lower `NBANDS` or `NOMEGA`."),
			"raise_memory_limit": say("Use `#SBATCH --mem=0` and `#SBATCH --exclusive`. Also put `ulimit -s unlimited` before mpirun: a small stack causes a segmentation fault that looks similar."),
		},
		Sources: program.Sources{"https://vasp.at/wiki/Not_enough_memory": "KPAR NCORE LREAL ISYM", "slurm/doc/man/man1/sbatch.1": "--ntasks-per-node --mem --exclusive"},
	}, nil, one(shortage{
		means:  "The ranks of one k-point group share the orbitals, so memory per rank falls with more ranks in a group, and rises with KPAR. Some arrays (tables, the charge density) exist in every rank.",
		not:    "More ranks on the same nodes.",
		fixes:  []string{"shard_training", "lower_parallel", "raise_memory_limit", "lower_resolution"},
		source: "https://vasp.at/wiki/Not_enough_memory",
	}))

	QuantumESPRESSO = of(program.Program{
		Name: "quantum-espresso", Shown: "Quantum ESPRESSO", Work: "science", Edits: "flags", Language: "other",
		Proofs:   []string{"Program PWSCF", "Program PHONON", "pw.x", "ph.x <", "Estimated max dynamical RAM per process"},
		Commands: []string{"pw.x", "ph.x", "cp.x"},
		Titles:   map[string]string{"lower_parallel": "Use one k-point pool (-nk 1)", "shard_training": "Use more nodes", "lower_resolution": "Lower cut-off, bands or vacuum", "raise_memory_limit": "Request more than its estimate"},
		Costs:    map[string]string{"lower_parallel": "Slower with many k-points.", "shard_training": "More core hours.", "lower_resolution": "Accuracy, with care.", "raise_memory_limit": "A longer wait."},
		Steps: steps{
			"lower_parallel":     say("Use `pw.x -nk 1` (each pool has its own copy) and `-nd 4` or more for the diagonalisation. In ELECTRONS set `diago_david_ndim = 2`, `mixing_ndim = 4`, or `diagonalization = 'cg'`, which needs the least."),
			"shard_training":     say("The ranks of a pool share the plane waves: twice the ranks on twice the nodes halve what each one holds."),
			"lower_resolution":   say("Use a lower `ecutrho` (4 x ecutwfc for norm-conserving potentials, 8 for ultrasoft), fewer `nbnd`, and less vacuum."),
			"raise_memory_limit": say("The output says at the start \"Estimated total dynamical RAM\", which is a lower bound. Request a third more (`#SBATCH --mem=0 --exclusive`: all of a node)."),
		},
		Sources: program.Sources{"q-e/Doc/user_guide.tex": "-nk -nd", "q-e/PW/Doc/INPUT_PW.def": "diago_david_ndim mixing_ndim diagonalization ecutrho nbnd", "slurm/doc/man/man1/sbatch.1": "--mem --exclusive"},
	}, nil, one(shortage{
		means:  "Memory grows with plane waves x bands x k-points. Pools (`-nk`) multiply it; the ranks of one pool divide it. Real use is above the estimate that pw.x prints at the start.",
		not:    "More pools, or more ranks on the same node.",
		fixes:  []string{"lower_parallel", "shard_training", "raise_memory_limit", "lower_resolution"},
		source: "q-e/PW/Doc/user_guide.tex",
	}))

	CP2K = of(program.Program{
		Name: "cp2k", Shown: "CP2K", Work: "science", Edits: "flags", Language: "other",
		Proofs: []string{"CP2K|", "CP2K| version string", "CUDA RT1 Error", "cp2k.psmp", "cp2k.popt", "cp2k/src/", "1 CP2K"},
		Titles: map[string]string{"shard_training": "Run fewer ranks per node, with threads", "lower_mem_fraction": "For hybrid functionals, set MAX_MEMORY", "lower_resolution": "Use a coarser grid or a smaller basis", "raise_memory_limit": "Request all memory of the nodes"},
		Costs:  map[string]string{"shard_training": "More core hours.", "lower_mem_fraction": "Slower: integrals are computed again.", "lower_resolution": "Accuracy, with care.", "raise_memory_limit": "A longer wait."},
		Steps: steps{
			"shard_training":     say("Run cp2k.psmp with `OMP_NUM_THREADS=4` and a quarter of the ranks on each node. Then use more nodes."),
			"lower_mem_fraction": say("`MAX_MEMORY` in the section HF/MEMORY is in MB per rank. Set it to (memory of the node - 2 GB x ranks) / ranks, or less."),
			"lower_resolution":   say("Lower `CUTOFF` and `REL_CUTOFF` in MGRID as far as your convergence test allows. Use an SR basis set, OT instead of diagonalisation, and less vacuum in the cell."),
			"raise_memory_limit": say("Use `#SBATCH --mem=0 --exclusive`."),
		},
		Sources: program.Sources{"cp2k/src/input_cp2k_hfx.F": "MAX_MEMORY", "cp2k/src/input_cp2k_mgrid.F": "CUTOFF REL_CUTOFF", "https://manual.cp2k.org/": "OMP_NUM_THREADS", "slurm/doc/man/man1/sbatch.1": "--mem --exclusive"},
	}, nil, one(shortage{
		means:  "The ranks share grids and matrices, and each rank also has its own buffers. With hybrid functionals the stored integrals (`MAX_MEMORY` per rank, default 512 MB) usually need the most.",
		not:    "More ranks on the same node.",
		fixes:  []string{"shard_training", "lower_mem_fraction", "raise_memory_limit", "lower_resolution"},
		source: "cp2k/src/input_cp2k_hfx.F",
	}))

	OpenFOAM = of(program.Program{
		Name: "openfoam", Shown: "OpenFOAM", Work: "science", Edits: "flags", Language: "other",
		Proofs: []string{"FOAM FATAL ERROR", "--> FOAM ", "snappyHexMesh", "OpenFOAM", "Foam::error::", "Foam::UPstream", "libOpenFOAM.so"},
		Titles: map[string]string{"lower_resolution": "Use fewer cells", "shard_training": "Decompose over more nodes", "lower_num_workers": "Avoid the steps that run in one process"},
		Costs:  map[string]string{"lower_resolution": "Less detail.", "shard_training": "Needs more machines.", "lower_num_workers": "Slower."},
		Steps: steps{
			"lower_resolution":  say("snappyHexMesh: lower `maxGlobalCells` and `maxLocalCells`, and use one refinement level less (each is up to eight times the cells). blockMesh: use fewer cells per direction. Check that the geometry is in metres."),
			"shard_training":    say("Raise `numberOfSubdomains` in decomposeParDict, with twice the ranks on twice the nodes. Mesh in parallel from the start (`mpirun -n 64 snappyHexMesh -parallel -overwrite`)."),
			"lower_num_workers": say("`reconstructPar`, `decomposePar` and `mergeMeshes` keep the whole mesh in one process. Use `reconstructPar -latestTime`, or open the decomposed case in ParaView."),
		},
		Sources: program.Sources{"OpenFOAM-dev/etc/caseDicts/annotated/snappyHexMeshDict": "maxLocalCells maxGlobalCells -parallel -overwrite -latestTime", "OpenFOAM-dev/src/OpenFOAM/global/new.C": "new"},
	}, nil, []shortage{{
		id: "serial", said: []string{"reconstructPar", "decomposePar", "mergeMeshes"}, source: "OpenFOAM-dev/src/OpenFOAM/global/new.C",
		means: "This tool keeps the whole mesh with its fields in one process, so more ranks do not help. The solver's part on each rank was far smaller.",
		not:   "More ranks or nodes.",
		fixes: []string{"lower_num_workers", "lower_resolution", "add_swap"},
		done:  []string{"shard_training"},
	}, {
		means:  "Memory grows with the number of cells: roughly 1 GB per million while solving, and two to four while snappyHexMesh refines. A refinement region that is too large, or a geometry in millimetres read as metres, creates far too many cells.",
		fixes:  []string{"lower_resolution", "shard_training", "lower_num_workers", "add_swap"},
		source: "OpenFOAM-dev/src/OpenFOAM/global/new.C",
	}})

	ITK = of(program.Program{
		Name: "ants", Shown: "ANTs or ITK", Work: "vision", Edits: "flags", Language: "other",
		Proofs:   []string{"itk::MemoryAllocationError", "itkImportImageContainer.hxx", "Failed to allocate memory for image", "antsRegistration", "antsBrainExtraction", "antsApplyTransforms", "antsCorticalThickness", "ants/registration"},
		Commands: []string{"antsRegistration"},
		Titles:   map[string]string{"half_precision": "Compute in 32 bit (--float 1)", "lower_resolution": "Use fewer voxels", "lower_num_workers": "Run one subject at a time, with fewer threads"},
		Costs:    map[string]string{"half_precision": "Usually no loss.", "lower_resolution": "Less detail.", "lower_num_workers": "Slower."},
		Steps: steps{
			"half_precision":    say("`antsRegistration --float 1`, `antsApplyTransforms --float 1` or `antsRegistrationSyN.sh -p f` takes half the memory."),
			"lower_resolution":  say("Crop the image, or first run `ResampleImage 3 in.nii.gz out.nii.gz 1x1x1 0`. The last level at full size needs the most: `--shrink-factors 8x4x2` ends at half."),
			"lower_num_workers": say("Set `ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS=4`: some metrics keep buffers per thread."),
		},
		Sources: program.Sources{"ANTs/Examples/antsRegistration.cxx": "--float --shrink-factors", "ANTs/Scripts/antsRegistrationSyN.sh": "-p ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS"},
	}, nil, []shortage{{
		id: "float", said: []string{"--float 1", "antsRegistrationSyN.sh -p f"}, done: []string{"half_precision"},
	}, {
		means:  "An image takes voxels x bytes of its type (8 for a double), a displacement field three times that. SyN keeps 10 to 15 times the fixed image. A header with a wrong size or spacing makes the output grid far too large.",
		fixes:  []string{"half_precision", "lower_resolution", "lower_num_workers", "add_swap"},
		source: "ANTs/Examples/antsRegistration.cxx",
	}})

	PCL = of(program.Program{
		Name: "pcl", Shown: "Point Cloud Library", Work: "vision", Edits: "code", Language: "cpp",
		Proofs: []string{"[pcl::VoxelGrid", "[pcl::ApproximateVoxelGrid", "[pcl::octree", "libpcl_", "pcl/filters", "pcl_viewer"}, // its readers' and writers' lines stand in logs of any robot
		Titles: map[string]string{"fix_shape": "Look for stray points, and check the unit", "lower_resolution": "Use a larger leaf size, or filter in blocks", "lower_batch_size": "Use fewer points"},
		Costs:  map[string]string{"fix_shape": "Free.", "lower_resolution": "Less detail.", "lower_batch_size": "Less detail."},
		Steps: steps{
			"fix_shape":        say("After `pcl::removeNaNFromPointCloud` call `pcl::getMinMax3D(cloud, lo, hi)` and print both. Millimetres read as metres, or one stray point, can make the grid a thousand times as long."),
			"lower_resolution": say("Twice the `setLeafSize` leaves an eighth of the cells. Or divide the cloud (`pcl::PassThrough`, `pcl::CropBox`), and filter it part by part."),
			"lower_batch_size": say("Run `pcl::VoxelGrid` before normals, features and meshing. Use `reserve` for clouds that grow, and PointXYZ (16 bytes) instead of PointXYZRGBNormal (48)."),
		},
		Sources: program.Sources{"pcl/filters/include/pcl/filters/impl/voxel_grid.hpp": "setLeafSize"},
	}, nil, one(shortage{
		means:  "Grids and octrees grow with the third power of the cloud's extent / leaf size. \"Leaf size is too small for the input dataset\" means too many cells. Otherwise it is points x bytes of their type, twice if the cloud is copied by value.",
		fixes:  []string{"fix_shape", "lower_resolution", "lower_batch_size", "add_swap"},
		source: "pcl/filters/include/pcl/filters/impl/voxel_grid.hpp",
	}))

	CellRanger = of(program.Program{
		Name: "cellranger", Shown: "Cell Ranger", Work: "data", Edits: "flags", Language: "other",
		Proofs:   []string{"cellranger", "SC_RNA_COUNTER_CS", "[runtime] (failed)", "Pipestance failed", "spaceranger", "Martian Runtime"},
		Commands: []string{"cellranger", "spaceranger"},
		Titles:   map[string]string{"lower_mem_fraction": "Set its memory limit (--localmem)", "lower_num_workers": "Use fewer cores (--localcores)", "raise_memory_limit": "Request 64 GB from the queue"},
		Costs:    map[string]string{"lower_mem_fraction": "Slower.", "lower_num_workers": "Slower.", "raise_memory_limit": "A longer wait."},
		Steps: steps{
			"lower_mem_fraction": say("Add `--localmem=57` (in GB, a tenth below what the job has), and run the same command again: it continues after the finished stages."),
			"lower_num_workers":  say("Add `--localcores=8`: stages are started by cores, and each needs its own memory."),
			"raise_memory_limit": say("Use `#SBATCH --mem=64G` (the official minimum; `aggr` and `reanalyze` of many samples need 128), with `--localmem=57 --localcores=8` to match."),
		},
		Sources: program.Sources{"cellranger/bin/tenkit/_mkfastq": "--localmem --localcores --mempercore", "slurm/doc/man/man1/sbatch.1": "--mem"},
	}, nil, one(shortage{
		means:  "Cell Ranger plans with 90 % of the memory that it sees: on a cluster the node's, not the job's. Alignment keeps STAR's index in RAM (about 30 GB for human). A stage that is killed with signal 9 usually exceeded the job's limit or the RAM.",
		not:    "Deleting the output folder: finished stages are kept in it.",
		fixes:  []string{"lower_mem_fraction", "raise_memory_limit", "lower_num_workers"},
		source: "cellranger/bin/tenkit/_mkfastq",
	}))

	DeepVariant = of(program.Program{
		Name: "deepvariant", Shown: "DeepVariant", Work: "data", Edits: "flags",
		Proofs: []string{"deepvariant/bin/", "run_deepvariant", "deepvariant/make_examples", "google/deepvariant", "com_google_deepvariant"},
		Titles: map[string]string{"lower_num_workers": "Lower --num_shards", "stream_dataset": "Call one region at a time (--regions)", "raise_memory_limit": "Give Docker or the job more memory"},
		Costs:  map[string]string{"lower_num_workers": "Slower.", "stream_dataset": "More runs.", "raise_memory_limit": "Needs more RAM."},
		Steps: steps{
			"lower_num_workers":  say("Use `--num_shards=8` or fewer: each shard of make_examples is a process of 1 to 2 GB, more at very deep coverage."),
			"stream_dataset":     say("Use `--regions chr20`, one chromosome at a time: postprocess_variants keeps all calls of one run at once. With `--intermediate_results_dir` finished steps are kept."),
			"raise_memory_limit": say("Raise Docker's limit, for example to `docker run --memory=64g`. Docker Desktop: Settings, Resources."),
		},
		Sources: program.Sources{"deepvariant/scripts/run_deepvariant.py": "--num_shards --regions --intermediate_results_dir", "docker/cli/command/container/opts.go": "--memory"},
	}, nil, one(shortage{
		means:  "make_examples runs as many processes as `--num_shards`. postprocess_variants keeps all calls (many GB for the gVCF of a whole genome). Only call_variants uses a GPU.",
		fixes:  []string{"lower_num_workers", "stream_dataset", "raise_memory_limit"},
		source: "deepvariant/docs/deepvariant-details.md",
	}))
)
