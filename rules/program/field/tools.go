package field

import "github.com/oomdoc/oomdoc/rules/program"

// Codes that compute matter on many ranks, and tools of pictures and volumes.
var (
	VASP = of(program.Program{
		Name: "vasp", Shown: "VASP", Work: "science", Edits: "flags", Language: "other",
		Proofs: []string{"vasp_std", "vasp_gam", "vasp_ncl", "vasp.5.", "vasp.6.", "WAVECAR not read"},
		Titles: map[string]string{"shard_training": "More nodes, or fewer ranks on each", "lower_parallel": "Distribute more: NCORE up, KPAR 1", "lower_resolution": "Less to compute", "raise_memory_limit": "Ask for all of the nodes' memory, and lift the stack's limit"},
		Costs:  map[string]string{"shard_training": "Core hours.", "lower_parallel": "Slower with many k-points.", "lower_resolution": "Accuracy, with care.", "raise_memory_limit": "A longer wait."},
		Steps: steps{
			"shard_training":     say("Twice the nodes with half of the ranks on each (`#SBATCH --ntasks-per-node=16` in place of 32): what is distributed halves for each rank, and each has twice the memory."),
			"lower_parallel":     say("In INCAR `KPAR = 1` (each group of k-points holds its own orbitals), `NCORE` 4, 8 or the cores of a socket (`NPAR` its counterpart, not both), `LREAL = Auto` for more than 20 atoms."),
			"lower_resolution":   say("A k-point grid that is less dense, `ISYM = 2`, `LWAVE = .FALSE.`, `LCHARG = .FALSE.`; vasp_gam where Gamma is the only point: half. Hybrid functionals, GW and BSE: fewer `NBANDS`, `NOMEGA`."),
			"raise_memory_limit": say("`#SBATCH --mem=0` and `#SBATCH --exclusive`; `ulimit -s unlimited` in the job script before mpirun: a small stack ends in a segmentation fault that looks alike."),
		},
		Sources: program.Sources{"https://vasp.at/wiki/Not_enough_memory": "KPAR NCORE LREAL ISYM", "slurm/doc/man/man1/sbatch.1": "--ntasks-per-node --mem --exclusive"},
	}, nil, one(shortage{
		means:  "Orbitals are distributed over the ranks of one k-point group, so memory falls with ranks x nodes and rises with KPAR; some arrays (tables, the charge for its symmetry) are there in every rank whatever their number. More ranks on the same node do not help, more nodes do.",
		not:    "More ranks on the same nodes.",
		fixes:  []string{"shard_training", "lower_parallel", "raise_memory_limit", "lower_resolution"},
		source: "https://vasp.at/wiki/Not_enough_memory",
	}))

	QuantumESPRESSO = of(program.Program{
		Name: "quantum-espresso", Shown: "Quantum ESPRESSO", Work: "science", Edits: "flags", Language: "other",
		Proofs:   []string{"Program PWSCF", "Program PHONON", "pw.x", "ph.x <", "Estimated max dynamical RAM per process"},
		Commands: []string{"pw.x", "ph.x", "cp.x"},
		Titles:   map[string]string{"lower_parallel": "One pool of k-points", "shard_training": "More nodes", "lower_resolution": "A smaller problem", "raise_memory_limit": "Ask for what its estimate says"},
		Costs:    map[string]string{"lower_parallel": "Slower with many k-points.", "shard_training": "Core hours.", "lower_resolution": "Accuracy, with care.", "raise_memory_limit": "A longer wait."},
		Steps: steps{
			"lower_parallel":     say("`pw.x -nk 1` (pools do not distribute memory: each has its own copy), `-nd 4` or more for the diagonalisation; in the namelist ELECTRONS `diago_david_ndim = 2`, `mixing_ndim = 4`, or `diagonalization = 'cg'`, which needs least."),
			"shard_training":     say("Plane waves are distributed among the ranks of a pool: twice the ranks on twice the nodes halve what each holds."),
			"lower_resolution":   say("A lower `ecutrho` (4 x ecutwfc for norm-conserving potentials, 8 for ultrasoft), fewer `nbnd`, less vacuum."),
			"raise_memory_limit": say("The output names it at the start: \"Estimated total dynamical RAM\" is a lower bound; ask for a third more (`#SBATCH --mem=0 --exclusive`: all of a node)."),
		},
		Sources: program.Sources{"q-e/Doc/user_guide.tex": "-nk -nd", "q-e/PW/Doc/INPUT_PW.def": "diago_david_ndim mixing_ndim diagonalization ecutrho nbnd", "slurm/doc/man/man1/sbatch.1": "--mem --exclusive"},
	}, nil, one(shortage{
		means:  "Plane waves x bands x k-points decide; pools (`-nk`) multiply what is held, ranks of one pool divide it. pw.x prints its estimate at the start (\"Estimated max dynamical RAM per process\"), and real use is above it.",
		not:    "More pools, or more ranks on the same node.",
		fixes:  []string{"lower_parallel", "shard_training", "raise_memory_limit", "lower_resolution"},
		source: "q-e/PW/Doc/user_guide.tex",
	}))

	CP2K = of(program.Program{
		Name: "cp2k", Shown: "CP2K", Work: "science", Edits: "flags", Language: "other",
		Proofs: []string{"CP2K|", "CP2K| version string", "cp2k.psmp", "cp2k.popt", "cp2k/src/", "1 CP2K"},
		Titles: map[string]string{"shard_training": "Fewer ranks on a node, with threads", "lower_mem_fraction": "Bound the exact exchange", "lower_resolution": "A coarser grid or smaller basis", "raise_memory_limit": "Ask for all of the nodes' memory"},
		Costs:  map[string]string{"shard_training": "Core hours.", "lower_mem_fraction": "Slower: integrals are made again.", "lower_resolution": "Accuracy, with care.", "raise_memory_limit": "A longer wait."},
		Steps: steps{
			"shard_training":     say("cp2k.psmp with `OMP_NUM_THREADS=4` and a quarter of the ranks on each node; more nodes."),
			"lower_mem_fraction": say("Hybrid functionals: `MAX_MEMORY` in the section HF/MEMORY is MB for each rank: (memory of the node - 2 GB x ranks) / ranks."),
			"lower_resolution":   say("`CUTOFF` and `REL_CUTOFF` in MGRID lower, where the test of convergence allows; a SR basis set; OT in place of diagonalisation; a smaller cell of vacuum."),
			"raise_memory_limit": say("`#SBATCH --mem=0 --exclusive`."),
		},
		Sources: program.Sources{"cp2k/src/input_cp2k_hfx.F": "MAX_MEMORY", "cp2k/src/input_cp2k_mgrid.F": "CUTOFF REL_CUTOFF", "https://manual.cp2k.org/": "OMP_NUM_THREADS", "slurm/doc/man/man1/sbatch.1": "--mem --exclusive"},
	}, nil, one(shortage{
		means:  "Grids (volume x CUTOFF to 1.5) and matrices (basis functions squared) are distributed among the ranks, and each rank has buffers of its own besides; with hybrid functionals the integrals that are kept (MAX_MEMORY for each rank, 512 MB unless set) usually decide.",
		not:    "More ranks on the same node.",
		fixes:  []string{"shard_training", "lower_mem_fraction", "raise_memory_limit", "lower_resolution"},
		source: "cp2k/src/input_cp2k_hfx.F",
	}))

	OpenFOAM = of(program.Program{
		Name: "openfoam", Shown: "OpenFOAM", Work: "science", Edits: "flags", Language: "other",
		Proofs: []string{"FOAM FATAL ERROR", "--> FOAM ", "snappyHexMesh", "OpenFOAM", "Foam::error::", "Foam::UPstream", "libOpenFOAM.so"},
		Titles: map[string]string{"lower_resolution": "Fewer cells", "shard_training": "More nodes, divided once", "lower_num_workers": "Steps that are not parallel"},
		Costs:  map[string]string{"lower_resolution": "Detail.", "shard_training": "Machines.", "lower_num_workers": "Time."},
		Steps: steps{
			"lower_resolution":  say("snappyHexMesh: `maxGlobalCells` (a bound that is checked while it refines) and `maxLocalCells` lower, a refinement level less (each is up to eight times the cells); blockMesh: fewer cells in each direction."),
			"shard_training":    say("`numberOfSubdomains` in decomposeParDict with twice the ranks on twice the nodes; mesh in parallel (`mpirun -n 64 snappyHexMesh -parallel -overwrite`) from the start."),
			"lower_num_workers": say("`reconstructPar`, `decomposePar` and `mergeMeshes` hold the whole mesh in one process: `reconstructPar -latestTime`, or read the decomposed case in ParaView."),
		},
		Sources: program.Sources{"OpenFOAM-dev/etc/caseDicts/annotated/snappyHexMeshDict": "maxLocalCells maxGlobalCells -parallel -overwrite -latestTime", "OpenFOAM-dev/src/OpenFOAM/global/new.C": "new"},
	}, nil, one(shortage{
		means:  "Cells decide: about 1 GB for each million while solving, and two to four while snappyHexMesh refines. \"new cannot satisfy memory request\" is the system's refusal; a far too small refinement region, or a geometry in millimetres that was read as metres, asks for cells without end.",
		not:    "A smaller time step.",
		fixes:  []string{"lower_resolution", "shard_training", "lower_num_workers", "add_swap"},
		source: "OpenFOAM-dev/src/OpenFOAM/global/new.C",
	}))

	ITK = of(program.Program{
		Name: "ants", Shown: "ANTs or ITK", Work: "vision", Edits: "flags", Language: "other",
		Proofs:   []string{"itk::MemoryAllocationError", "itkImportImageContainer.hxx", "Failed to allocate memory for image", "antsRegistration", "antsBrainExtraction", "antsApplyTransforms", "antsCorticalThickness", "ants/registration"},
		Commands: []string{"antsRegistration"},
		Titles:   map[string]string{"half_precision": "32 bit in place of 64", "lower_resolution": "Fewer voxels", "lower_num_workers": "Fewer at once"},
		Costs:    map[string]string{"half_precision": "None that shows.", "lower_resolution": "Detail.", "lower_num_workers": "Slower."},
		Steps: steps{
			"half_precision":    say("`antsRegistration --float 1`, `antsApplyTransforms --float 1`, `antsRegistrationSyN.sh -p f`: half of the memory."),
			"lower_resolution":  say("`ResampleImage 3 in.nii.gz out.nii.gz 1x1x1 0` before, or crop; the last level alone at full size is what takes most: `--shrink-factors 8x4x2` ends at half."),
			"lower_num_workers": say("One subject at a time, and `ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS=4`: some metrics keep buffers for each thread."),
		},
		Sources: program.Sources{"ANTs/Examples/antsRegistration.cxx": "--float --shrink-factors", "ANTs/Scripts/antsRegistrationSyN.sh": "-p ITK_GLOBAL_DEFAULT_NUMBER_OF_THREADS"},
	}, nil, one(shortage{
		means:  "One image was refused: voxels x bytes of its type, 8 for a double, and three times that for a displacement field. SyN holds both images, two fields with their inverses and gradients: 10 to 15 times the fixed image. A header with a wrong size or spacing makes an output grid that is far too large.",
		not:    "A graphics card.",
		fixes:  []string{"half_precision", "lower_resolution", "lower_num_workers", "add_swap"},
		source: "ANTs/Examples/antsRegistration.cxx",
	}))

	PCL = of(program.Program{
		Name: "pcl", Shown: "Point Cloud Library", Work: "vision", Edits: "code", Language: "cpp",
		Proofs: []string{"[pcl::", "pcl::PointCloud", "libpcl_", "pcl/filters", "pcl_viewer"},
		Titles: map[string]string{"fix_shape": "Look for one far point, and the unit", "lower_resolution": "A larger leaf, in blocks", "lower_batch_size": "Fewer points"},
		Costs:  map[string]string{"fix_shape": "Free.", "lower_resolution": "Detail.", "lower_batch_size": "Detail."},
		Steps: steps{
			"fix_shape":        say("`pcl::getMinMax3D(cloud, lo, hi)` and print both; `pcl::removeNaNFromPointCloud` first. Millimetres read as metres, or one stray point, make the grid a thousand times as long."),
			"lower_resolution": say("`setLeafSize` twice as large is an eighth of the cells; else divide the cloud (`pcl::PassThrough`, `pcl::CropBox`) and filter part by part."),
			"lower_batch_size": say("`pcl::VoxelGrid` before normals, features and meshing; `reserve` for clouds that grow; PointXYZ (16 bytes) in place of PointXYZRGBNormal (48)."),
		},
		Sources: program.Sources{"pcl/filters/include/pcl/filters/impl/voxel_grid.hpp": "setLeafSize"},
	}, nil, one(shortage{
		means:  "Grids and octrees grow with the extent of the cloud / leaf size, to the third power: not with the points alone. \"Leaf size is too small for the input dataset\" says that: too many cells for an index. Otherwise points x bytes of their type, twice while a cloud is copied by value.",
		not:    "A graphics card.",
		fixes:  []string{"fix_shape", "lower_resolution", "lower_batch_size", "add_swap"},
		source: "pcl/filters/include/pcl/filters/impl/voxel_grid.hpp",
	}))

	CellRanger = of(program.Program{
		Name: "cellranger", Shown: "Cell Ranger", Work: "data", Edits: "flags", Language: "other",
		Proofs:   []string{"cellranger", "SC_RNA_COUNTER_CS", "[runtime] (failed)", "Pipestance failed", "spaceranger", "Martian Runtime"},
		Commands: []string{"cellranger", "spaceranger"},
		Titles:   map[string]string{"lower_mem_fraction": "Tell it what it may take", "lower_num_workers": "Fewer cores", "raise_memory_limit": "Ask the queue for 64 GB"},
		Costs:    map[string]string{"lower_mem_fraction": "Slower.", "lower_num_workers": "Slower.", "raise_memory_limit": "A longer wait."},
		Steps: steps{
			"lower_mem_fraction": say("`--localmem=57` (GB: a tenth below what the job has), and the same command again: it goes on where it stopped."),
			"lower_num_workers":  say("`--localcores=8`: stages are started by cores, and each needs its own memory."),
			"raise_memory_limit": say("`#SBATCH --mem=64G` (upstream's least; `aggr` and `reanalyze` of many samples need 128), with `--localmem=57 --localcores=8` to match."),
		},
		Sources: program.Sources{"cellranger/bin/tenkit/_mkfastq": "--localmem --localcores --mempercore", "slurm/doc/man/man1/sbatch.1": "--mem"},
	}, nil, one(shortage{
		means:  "A stage was ended by signal 9: alignment holds STAR's index (30 GB for human), and Cell Ranger plans with 90 % of the memory that it sees, on a cluster the node's and not the job's.",
		not:    "Deleting the output folder: finished stages are kept in it.",
		fixes:  []string{"lower_mem_fraction", "raise_memory_limit", "lower_num_workers"},
		source: "cellranger/bin/tenkit/_mkfastq",
	}))

	DeepVariant = of(program.Program{
		Name: "deepvariant", Shown: "DeepVariant", Work: "data", Edits: "flags",
		Proofs: []string{"deepvariant/bin/", "run_deepvariant", "deepvariant/make_examples", "google/deepvariant", "com_google_deepvariant"},
		Titles: map[string]string{"lower_num_workers": "Fewer shards", "stream_dataset": "Region by region", "raise_memory_limit": "Give Docker or the job more"},
		Costs:  map[string]string{"lower_num_workers": "Slower.", "stream_dataset": "More runs.", "raise_memory_limit": "RAM."},
		Steps: steps{
			"lower_num_workers":  say("`--num_shards=8`: each shard of make_examples is a process of 1 to 2 GB, more where coverage is very deep."),
			"stream_dataset":     say("`--regions chr20`, a chromosome at a time; with `--intermediate_results_dir` the steps that are done need not be made again. postprocess_variants holds all calls of one run at once."),
			"raise_memory_limit": say("`docker run --memory=64g`; Docker Desktop: Settings, Resources."),
		},
		Sources: program.Sources{"deepvariant/scripts/run_deepvariant.py": "--num_shards --regions --intermediate_results_dir", "docker/cli/command/container/opts.go": "--memory"},
	}, nil, one(shortage{
		means:  "One of its three steps was ended for RAM: make_examples runs as many processes as `--num_shards`, postprocess_variants holds all calls (gVCF: many GB for a whole genome). On a card only call_variants works.",
		not:    "A graphics card.",
		fixes:  []string{"lower_num_workers", "stream_dataset", "raise_memory_limit"},
		source: "deepvariant/docs/deepvariant-details.md",
	}))
)
