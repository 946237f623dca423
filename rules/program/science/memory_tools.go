package science

import (
	"regexp"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
)

// refusals are the kinds in which a tool of the command line is refused RAM.
var refusals = []fact.Kind{fact.PlainHost, fact.PlainMemory, fact.NativeAlloc, fact.BadAlloc, fact.PythonMemory, fact.RustAlloc, fact.ShellKilled}

// tool is a program whose one card answers whatever it was refused.
func tool(name, shown, work string, proofs []string, k cause.Card, sources program.Sources) program.Program {
	k.ID, k.Cause, k.Weight = name+"/memory", cause.HostMemory, cause.Strong
	if k.Kinds == nil {
		k.Kinds = refusals
	}
	return program.Program{Name: name, Shown: shown, Work: work, Edits: "flags", Language: "other", Proofs: proofs, Cards: []cause.Card{k}, Sources: sources}
}

func do(fix, title, cost, told string) cause.Cure {
	return cause.Cure{Fix: fix, Title: title, Cost: cost, Told: told}
}

// mvsImages is what OpenMVS prints of its scene: "464 images (464 calibrated) with a
// total of 8833.22 MPixels (19.04 MPixels/image)".
var mvsImages = regexp.MustCompile(`(\d{1,6}) images .{0,60}?\(([\d.]{1,7}) MPixels/image\)`)

// openMVSCard is about the step that estimates depth maps on a GPU.
var openMVSCard = cause.Card{
	ID: "openmvs/card", Kinds: []fact.Kind{fact.PlainDevice, fact.DeviceAlloc, fact.CUDAError}, Said: []string{"DensifyPointCloud", "UtilCUDA", "RefineMesh"},
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory[[ with images of {pixels} megapixels]]",
	Means: "DensifyPointCloud estimates depth maps on the GPU: a view, its neighbour views and their maps are there at once, so pixels x views decide. Another program on the GPU has the same effect.",
	Figures: func(c *ledger.Case) map[string]string {
		out := map[string]string{"pixels": ""}
		for _, word := range c.Facts.Talk {
			if m := mvsImages.FindStringSubmatch(word.Text); m != nil {
				out["pixels"] = m[2]
			}
		}
		return out
	},
	Cures: []cause.Cure{
		{Fix: "lower_resolution", Title: "Use smaller images for the depth maps", Told: "`DensifyPointCloud --resolution-level 2 --max-resolution 1600` (1 and 2560 by default).", Cost: "less detail"},
		{Fix: "lower_batch_size", Title: "Use fewer neighbour views", Told: "`--number-views 4`.", Cost: "noisier depth maps"},
		{Fix: "cpu_offload", Title: "Or estimate them on the CPU", Told: "`--cuda-device -2`: it then needs RAM instead.", Cost: "much slower"},
		look,
	},
	Sources: []string{"openMVS/apps/DensifyPointCloud/DensifyPointCloud.cpp", "https://github.com/cdcseacave/openMVS/issues/1176"},
}

// alsoOnCard gives a tool a card about a graphics card, before its own.
func alsoOnCard(p program.Program, k cause.Card) program.Program {
	p.Cards = append([]cause.Card{k}, p.Cards...)
	return p
}

// Tools of genomes, chemistry and statistics that live in RAM.
var (
	SPAdes = tool("spades", "SPAdes", "data", []string{"too many k-mers to fit into available memory", "spades.py", "spades-core", "spades-hammer"}, cause.Card{
		Headline: "does not have enough RAM for these reads",
		Means:    "SPAdes counts the distinct k-mers of all reads in RAM. Sequencing errors, adapters, contamination and very high depth make most of them. `-m` (250 GB by default) is the limit at which SPAdes stops by itself.",
		Not:      "A higher `-m` than the machine has: then the kernel kills it.",
		Cures: []cause.Cure{
			do("stream_dataset", "Trim, normalise or subsample the reads", "rare species may be lost", "Trim adapters and bad ends with `fastp`, and remove host reads. Normalise to 100x (`bbnorm.sh target=100`), or take some of the reads (`seqtk sample`)."),
			do("raise_memory_limit", "Use a machine with more RAM, or MEGAHIT", "money or a queue", "Set `-m` to its RAM in GB. For metagenomes MEGAHIT needs far less."),
			do("lower_num_workers", "Use fewer threads", "slower", "Add `-t 8`, and `--only-assembler` if the reads are corrected already."),
		},
		Sources: []string{"spades/docs/running.md", "https://ablab.github.io/spades/running.html"},
	}, program.Sources{"spades/docs/running.md": "-m -t --only-assembler"})
	Kraken = tool("kraken2", "Kraken 2", "data", []string{"kraken2: ", "kraken2 --db"}, cause.Card{
		Headline: "could not load its database into RAM",
		Means:    "Kraken 2 reads the whole file hash.k2d into RAM: 8 or 16 GB for the capped databases, 60 to 100 GB for the standard one.",
		Not:      "Fewer reads or threads: the database keeps its size.",
		Cures: []cause.Cure{
			do("use_mmap", "Read the database from disk (`--memory-mapping`)", "slow unless the disk is fast", "Add `--memory-mapping` to your command. If the database lies in /dev/shm (RAM), several runs can share it."),
			do("use_smaller_model", "Use a capped database", "fewer species found", "Download Standard-8 or Standard-16, or build one with `--max-db-size 8000000000`."),
		},
		Sources: []string{"kraken2/docs/MANUAL.markdown"},
	}, program.Sources{"kraken2/docs/MANUAL.markdown": "--memory-mapping --max-db-size"})
	KrakenUniq = tool("krakenuniq", "KrakenUniq", "data", []string{"krakenuniq", "db_sort: ", "build_db.sh: line"}, cause.Card{
		Said:     []string{"db_sort: ", "Sorting k-mer set", "set_lcas"},
		Headline: "ran out of system memory (RAM) while it built its database",
		Means:    "The step that sorts the k-mers holds the whole database in RAM by default: keys x (val_len + key_len). The log shows these numbers; 10 billion keys of 12 bytes take 112 GiB, and more while it sorts.",
		Cures: []cause.Cure{
			do("stream_dataset", "Build it with `--work-on-disk`", "much slower", "Add it to `krakenuniq-build` (0.7.3 or later; it was broken before). Finished steps are skipped."),
			do("raise_memory_limit", "Use a machine with that much RAM", "money, or a longer wait", "Take a larger node, or request more `--mem` for the job."),
			do("lower_batch_size", "Build from fewer genomes, or shrink it", "fewer species found", "Leave out groups that you do not look for, or add `--max-db-size` (GB). There are ready-made databases as well."),
		},
		Sources: []string{"krakenuniq/README.md", "krakenuniq/scripts/build_db.sh"},
	}, program.Sources{"krakenuniq/scripts/krakenuniq-build": "--work-on-disk --max-db-size"})
	Gaussian = tool("gaussian", "Gaussian", "science", []string{"galloc:  could not allocate memory", "Error termination via Lnk1e", "Out-of-memory error in routine"}, cause.Card{
		Headline: "ran out of memory in this step",
		Means:    "\"galloc: could not allocate memory\" means that `%Mem` is more than the job or machine has; Gaussian needs 1 to 2 GB beside it. \"Out-of-memory error in routine\" means that `%Mem` is too small for the method and basis.",
		Not:      "More processors with the same `%Mem`: they share it.",
		Cures: []cause.Cure{
			do("raise_memory_limit", "Set `%Mem` to 80 % of what the job has", "free", "With 32 GB requested from the queue: `%Mem=25GB`. For \"Out-of-memory error in routine\" raise both."),
			do("lower_num_workers", "Lower `%NProcShared`", "slower", "Try `%NProcShared=4`, or half of yours: in post-HF methods each process needs its own part."),
			do("lower_batch_size", "Use a smaller basis, or `MaxDisk`", "accuracy", "`MaxDisk` lets integrals go to disk."),
		},
		Sources: []string{"https://gaussian.com/link0/", "https://gaussian.com/faq4/"},
	}, nil)
	ORCA = tool("orca", "ORCA", "science", []string{"orca_tools/", "ORCA finished by error termination", "Please increase MaxCore"}, cause.Card{
		Headline: "ran out of memory",
		Means:    "`%maxcore` counts in MB per process. `nprocs` x `%maxcore` should stay at 75 % of what the machine or job has, because ORCA sometimes uses more. \"Please increase MaxCore\" is the other case: one process needs more than it may use.",
		Not:      "More processes with the same `%maxcore`: the sum grows.",
		Cures: []cause.Cure{
			do("lower_num_workers", "Halve `nprocs`, double `%maxcore`", "slower", "For example `%pal nprocs 4 end` with `%maxcore 6000`, instead of 8 with 3000. The sum stays the same."),
			do("raise_memory_limit", "Request a third more than the sum", "a longer wait", "Ask the queue for nprocs x maxcore x 1.33."),
			do("lower_batch_size", "Use a cheaper method or basis", "accuracy", "RI or DLPNO instead of canonical MP2 and CCSD(T), or a smaller basis."),
		},
		Sources: []string{"https://orca-manual.mpi-muelheim.mpg.de/contents/essentialelements/parallel.html"},
	}, nil)
	LAMMPS = alsoOnCard(tool("lammps", "LAMMPS", "science", []string{"LAMMPS (", "(../memory.cpp:", "Last command: ", "lib/kokkos/core/src"}, cause.Card{
		Headline: "could not get memory for an array",
		Means:    "Each rank holds its atoms, ghosts and neighbour lists. If the request is far too large for your system, atoms were lost or flew together, or the cut-off covers the box. Otherwise there are too many atoms per rank or GPU.",
		Cures: []cause.Cure{
			do("fix_shape", "Check the last command and the number of atoms", "free", "The log names both. If atoms overlap, run `minimize` first, or `delete_atoms overlap`."),
			do("lower_batch_size", "Use shorter neighbour lists", "rebuilt more often", "Use `neighbor 1.0 bin` instead of 2.0, or a shorter cut-off."),
			do("multi_gpu", "Use more ranks or nodes", "more machines", "More ranks need less memory each. On GPUs (`-sf gpu`, `-sf kk`) use several, with one rank each."),
		},
		Sources: []string{"https://docs.lammps.org/Errors_messages.html", "lammps/src/memory.cpp"},
	}, nil), lammpsCard)
	Solver = tool("solver", "The solver", "science", []string{"Gurobi Optimizer", "gurobipy", "CPLEX Error", "MUMPS", "LU factorization", "PARDISO"}, cause.Card{
		Headline: "ran out of system memory (RAM)",
		Means:    "A direct solver fills in a sparse matrix: often ten times its entries and more in 3D. A branch-and-bound tree grows as long as it runs. Each thread adds to it.",
		Not:      "Swap for a factorisation: it reads all of it in every step.",
		Cures: []cause.Cure{
			do("cpu_offload", "Let it write to disk", "slower", "Gurobi: `NodefileStart=0.5` (GB). CPLEX: `workmem` and `mip strategy file 3`. COMSOL: \"Out-of-core\" of the direct solver. MUMPS: `ICNTL(22)=1`."),
			do("raise_memory_limit", "MUMPS, INFO(1) -8, -9 or -19: give it more room", "RAM", "Then its own workspace is too small, not the machine. Set `ICNTL(14)=100` (percent above its estimate), or a larger `ICNTL(23)`. With -5, -7 or -13 the system refused."),
			do("lower_num_workers", "Use fewer threads", "slower", "Gurobi: `Threads=4`, and `Method=1` (dual simplex). CPLEX: `threads 4`."),
			do("lower_resolution", "Use an iterative solver or a coarser mesh", "accuracy or care", "GMRES or conjugate gradients with multigrid need a fraction. In 3D elements twice as large need an eighth."),
		},
		Sources: []string{"https://docs.gurobi.com/projects/optimizer/en/current/reference/parameters.html", "https://mumps-solver.org/index.php?page=doc"},
	}, nil)
	AfterEffects = tool("adobe", "The program", "rendering", []string{"After Effects error", "Adobe Photoshop", "Adobe Premiere", "Could not complete your request because"}, cause.Card{
		Headline: "ran out of system memory (RAM) for this image or frame",
		Means:    "A frame takes width x height x 4 channels x its bit depth: 4K in 32 bit is 126 MiB. Each layer and effect needs it once, and several frames can render at once.",
		Not:      "A larger disk cache: it is not RAM.",
		Cures: []cause.Cure{
			do("close_other_apps", "Close other programs, purge the cache", "free", "After Effects: Edit, Purge, All Memory & Disk Cache; Preferences, Memory: lower \"RAM reserved for other applications\". Photoshop: Preferences, Performance: 80 %."),
			do("lower_resolution", "Use half resolution or 16 bit", "lower quality", "Use smaller sources and precomps as well, none near 30,000 pixels."),
			do("lower_num_workers", "Render one frame at a time", "slower", "After Effects: Preferences, Memory & Performance: Multi-Frame Rendering off."),
		},
		Sources: []string{"https://helpx.adobe.com/after-effects/using/memory-storage1.html"},
	}, nil)
	Stata = tool("stata", "Stata", "data", []string{"op. sys. refuses to provide memory", "r(909);", "r(3900);"}, cause.Card{
		Headline: "could not get memory from the system",
		Means:    "The whole data set is in RAM: observations x the bytes of a row. `reshape`, `merge` and `sort` can need it twice.",
		Not:      "`set matsize`: it concerns matrices.",
		Cures: []cause.Cure{
			do("stream_dataset", "Load fewer columns, smaller types", "free", "`use id y x using data.dta`, then `compress`. For text files: `import delimited` with `colrange()`."),
			do("raise_memory_limit", "Check Stata's own limit", "free", "`query memory` shows it, and `set max_memory .` removes it. For large data: `set segmentsize 64m`."),
			do("close_other_apps", "Close other programs, or use a machine with more RAM", "money", ""),
		},
		Sources: []string{"https://www.stata.com/manuals/dmemory.pdf"},
	}, nil)
	BuildKit = tool("docker-build", "The build of the image", "build", []string{"failed to solve: process", "did not complete successfully: exit code: 137", "executor failed running", "failed to solve: ResourceExhausted", " ---> Running in "}, cause.Card{
		Headline: "was stopped in a RUN step, probably because RAM ran out",
		Means:    "The step runs in the builder, which has the memory of Docker's machine: on Docker Desktop only a part of the RAM, on a small server what is left. Steps that build at the same time share it.",
		Not:      "`docker run --memory`: it does not apply to builds.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Give the build more memory", Ways: []cause.Way{
				{For: "A server", Text: "below 2 GB of RAM add swap or rent more; stop other services and containers while it builds"},
				{For: "Docker Desktop", Text: "Settings, Resources, Memory: double it. With WSL set `memory=` in .wslconfig, then run `wsl --shutdown`"},
			}, Told: "`docker info` shows what it has now (Total Memory).", Cost: "Money, or RAM for other programs"},
			{Fix: "add_swap", Title: "On a Linux server: add swap, then build again", Kind: "shell", Text: "sudo fallocate -l 4G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile", Cost: "4 GB of disk, slow"},
			do("lower_build_jobs", "Lower the memory of the step", "a longer build", "npm, webpack: `ENV NODE_OPTIONS=--max-old-space-size=1024`, well below the RAM. pip: `--no-cache-dir`, and wheels instead of sources. make and cargo: `-j2`."),
			do("upgrade_version", "Build on another machine", "a registry", "Build in CI or on your own machine, and push the image. Or build one stage at a time: `docker build --target STAGE`."),
		},
		Sources: []string{"https://docs.docker.com/build/", "https://docs.docker.com/desktop/settings-and-maintenance/settings/"},
	}, program.Sources{"docker/buildx/docs/reference/buildx_build.md": "--target", "https://nodejs.org/api/cli.html": "--max-old-space-size", "https://pip.pypa.io/en/stable/cli/pip_install/": "--no-cache-dir", "https://learn.microsoft.com/en-us/windows/wsl/basic-commands": "--shutdown", "docker/cli/command/container/opts.go": "--memory"})
)
