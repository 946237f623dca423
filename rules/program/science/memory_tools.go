package science

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
)

// refusals are the kinds in which a tool of the command line is refused RAM.
var refusals = []fact.Kind{fact.PlainHost, fact.PlainMemory, fact.PlainDevice, fact.NativeAlloc, fact.BadAlloc, fact.PythonMemory, fact.RustAlloc, fact.ShellKilled}

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

// Tools of genomes, chemistry and statistics that live in RAM.
var (
	SPAdes = tool("spades", "SPAdes", "data", []string{"too many k-mers to fit into available memory", "spades.py", "spades-core", "spades-hammer"}, cause.Card{
		Headline: "had not enough RAM for the k-mers of these reads",
		Means:    "SPAdes counts the k-mers of all reads in RAM, so distinct ones decide: errors, adapters, contamination and very high depth make most of them. `-m` (250 GB by default) is the limit at which SPAdes stops by itself.",
		Not:      "A higher `-m` than the machine has: then the kernel kills it.",
		Cures: []cause.Cure{
			do("stream_dataset", "Trim, normalise or subsample the reads", "rare species may go", "Trim adapters and bad ends (`fastp`), remove host reads, normalise to 100x (`bbnorm.sh target=100`), or take a part of the reads (`seqtk sample`)."),
			do("lower_num_workers", "Use fewer threads", "slower", "`-t 8`; `--only-assembler` if the reads were corrected before."),
			do("raise_memory_limit", "Use a machine with more RAM, or MEGAHIT", "money or a queue", "`-m` at its RAM in GB; MEGAHIT needs far less for metagenomes."),
		},
		Sources: []string{"spades/docs/running.md", "https://ablab.github.io/spades/running.html"},
	}, program.Sources{"spades/docs/running.md": "-m -t --only-assembler"})
	Kraken = tool("kraken2", "Kraken 2", "data", []string{"kraken2: ", "kraken2 --db"}, cause.Card{
		Headline: "could not hold its database in RAM",
		Means:    "The file hash.k2d is read into RAM as a whole: 8 or 16 GB for the capped databases, 60 to 100 for the standard one.",
		Not:      "Fewer reads or threads: the database keeps its size.",
		Cures: []cause.Cure{
			do("use_mmap", "Read the database from disk (`--memory-mapping`)", "slow unless the disk is fast", "With the database in /dev/shm several runs share it."),
			do("use_smaller_model", "Use a capped database", "fewer species found", "Standard-8 or Standard-16, or built with `--max-db-size 8000000000`."),
		},
		Sources: []string{"kraken2/docs/MANUAL.markdown"},
	}, program.Sources{"kraken2/docs/MANUAL.markdown": "--memory-mapping --max-db-size"})
	KrakenUniq = tool("krakenuniq", "KrakenUniq", "data", []string{"krakenuniq", "db_sort: ", "build_db.sh: line"}, cause.Card{
		Said:     []string{"db_sort: ", "Sorting k-mer set", "set_lcas"},
		Headline: "had not enough RAM to build its database",
		Means:    "The step that sorts the k-mers holds the whole database in RAM unless told otherwise: the number of keys times the sum of val_len and key_len, which its log shows (10 billion keys of 12 bytes are 112 GiB), and more while it sorts.",
		Cures: []cause.Cure{
			do("stream_dataset", "Build it with `--work-on-disk`", "much slower", "The option of `krakenuniq-build`, version 0.7.3 or later (broken before); finished steps are skipped."),
			do("raise_memory_limit", "Use a machine with that much RAM", "money, or a longer wait", "A larger node of the cluster, or more `--mem` for the job."),
			do("lower_batch_size", "Build from fewer genomes, or shrink it", "fewer species found", "Leave out groups that you do not look for, or give `--max-db-size` (GB); ready databases exist as well."),
		},
		Sources: []string{"krakenuniq/README.md", "krakenuniq/scripts/build_db.sh"},
	}, program.Sources{"krakenuniq/scripts/krakenuniq-build": "--work-on-disk --max-db-size"})
	Gaussian = tool("gaussian", "Gaussian", "science", []string{"galloc:  could not allocate memory", "Error termination via Lnk1e", "Out-of-memory error in routine"}, cause.Card{
		Headline: "had not enough memory for this step",
		Means:    "`%Mem` is what Gaussian may use. \"galloc: could not allocate memory\" means that the system refused that: `%Mem` exceeds what the job or machine has (Gaussian needs 1 to 2 GB beside it). \"Out-of-memory error in routine\" means that `%Mem` is too small for the method and basis; the line names the need in words of 8 bytes.",
		Not:      "More processors with the same `%Mem`: they share it.",
		Cures: []cause.Cure{
			do("raise_memory_limit", "Set `%Mem` to 80 % of what the job has", "free", "With 32 GB requested from the queue: `%Mem=25GB`. \"Out-of-memory error in routine\": raise both."),
			do("lower_num_workers", "Lower `%NProcShared`", "slower", "`%NProcShared=4`, or half of yours: post-HF methods need a part for each."),
			do("lower_batch_size", "Use a smaller basis, or `MaxDisk`", "accuracy", "`MaxDisk` lets integrals go to disk."),
		},
		Sources: []string{"https://gaussian.com/link0/", "https://gaussian.com/faq4/"},
	}, nil)
	ORCA = tool("orca", "ORCA", "science", []string{"orca_tools/", "ORCA finished by error termination", "Please increase MaxCore"}, cause.Card{
		Headline: "had not enough memory",
		Means:    "`%maxcore` is in MB for each process, so `nprocs` times it should stay at 75 % of what the machine or job has; ORCA exceeds it in places. \"Please increase MaxCore\" is the other case: the step needs more per process than it may use.",
		Not:      "More processes with the same `%maxcore`: the sum grows.",
		Cures: []cause.Cure{
			do("lower_num_workers", "Halve `nprocs`, double `%maxcore`", "slower", "`%pal nprocs 4 end` with `%maxcore 6000` instead of 8 with 3000: the same sum, more per process."),
			do("raise_memory_limit", "Request a third more than the sum", "a longer wait", "nprocs x maxcore x 1.33."),
			do("lower_batch_size", "Use a cheaper method or basis", "accuracy", "RI or DLPNO instead of canonical MP2 and CCSD(T), a smaller basis."),
		},
		Sources: []string{"https://orca-manual.mpi-muelheim.mpg.de/contents/essentialelements/parallel.html"},
	}, nil)
	LAMMPS = tool("lammps", "LAMMPS", "science", []string{"LAMMPS (", "(../memory.cpp:", "Last command: "}, cause.Card{
		Headline: "was refused[[ {asked} for]] an array",
		Means:    "Each rank holds its atoms, ghosts and neighbour lists. A request far too large for the system means that atoms were lost or flew together, or a cut-off that covers the box; otherwise there are too many atoms per rank, or for the card (`-sf gpu`, `-sf kk`).",
		Cures: []cause.Cure{
			do("fix_shape", "Check the last command and the number of atoms", "free", "The log names both. If atoms overlap: `minimize` first, `delete_atoms overlap`."),
			do("lower_batch_size", "Use shorter neighbour lists", "more rebuilding", "`neighbor 1.0 bin` instead of 2.0, or a shorter cut-off."),
			do("multi_gpu", "Use more ranks or nodes", "more machines", "The memory per rank falls with their number; on GPUs: several cards, one rank each."),
		},
		Sources: []string{"https://docs.lammps.org/Errors_messages.html", "lammps/src/memory.cpp"},
	}, nil)
	Solver = tool("solver", "The solver", "science", []string{"Gurobi Optimizer", "gurobipy", "CPLEX Error", "MUMPS", "LU factorization", "PARDISO"}, cause.Card{
		Headline: "ran out of RAM in a factorisation or tree",
		Means:    "A sparse matrix fills in when it is factorised: ten times its entries and more in 3D. A branch-and-bound tree grows as long as it runs, and each thread adds to it.",
		Not:      "Swap for a factorisation: it reads all of it in every step.",
		Cures: []cause.Cure{
			do("cpu_offload", "Let it write to disk", "slower", "Gurobi `NodefileStart=0.5` (GB), CPLEX `workmem` and `mip strategy file 3`; COMSOL: the direct solver's \"Out-of-core\"; MUMPS `ICNTL(22)=1`."),
			do("raise_memory_limit", "MUMPS, INFO(1) -8, -9 or -19: give it more room", "RAM", "Its own workspace was too small, not the machine: `ICNTL(14)=100` (percent above its estimate, 20 to 35 unless set) or a larger `ICNTL(23)`. -5, -7 and -13 mean that the system refused."),
			do("lower_num_workers", "Use fewer threads", "slower", "Gurobi `Threads=4`, CPLEX `threads 4`; `Method=1` (dual simplex) in place of concurrent or barrier."),
			do("lower_resolution", "Use an iterative solver or a coarser mesh", "accuracy or care", "GMRES or conjugate gradients with multigrid need a fraction; in 3D, half the elements in each direction is an eighth."),
		},
		Sources: []string{"https://docs.gurobi.com/projects/optimizer/en/current/reference/parameters.html", "https://mumps-solver.org/index.php?page=doc"},
	}, nil)
	AfterEffects = tool("adobe", "The program", "rendering", []string{"After Effects error", "Adobe Photoshop", "Adobe Premiere", "Could not complete your request because"}, cause.Card{
		Headline: "had not enough RAM for this image or frame",
		Means:    "A frame takes width x height x 4 channels x the bytes of its depth (4K in 32 bit: 126 MiB), once for each layer and effect that works on it, and several frames can be rendered at once.",
		Not:      "A larger disk cache.",
		Cures: []cause.Cure{
			do("close_other_apps", "Close other programs, purge the cache", "free", "After Effects: Edit, Purge, All Memory & Disk Cache; Preferences, Memory: lower \"RAM reserved for other applications\". Photoshop: Preferences, Performance: 80 %."),
			do("lower_resolution", "Use half resolution or 16 bit", "for drafts", "And smaller sources and precomps, none near 30,000 pixels."),
			do("lower_num_workers", "Render one frame at a time", "slower", "Preferences, Memory & Performance: Multi-Frame Rendering off."),
		},
		Sources: []string{"https://helpx.adobe.com/after-effects/using/memory-storage1.html"},
	}, nil)
	Stata = tool("stata", "Stata", "data", []string{"op. sys. refuses to provide memory", "r(909);", "r(3900);"}, cause.Card{
		Headline: "was refused memory by the system",
		Means:    "The whole data set is in RAM, observations x the bytes of a row; `reshape`, `merge` and `sort` can need it twice.",
		Not:      "`set matsize`: it is about matrices.",
		Cures: []cause.Cure{
			do("stream_dataset", "Load fewer columns, smaller types", "free", "`use id y x using data.dta`, then `compress`; `import delimited` with `colrange()`."),
			do("raise_memory_limit", "Check Stata's own limit", "free", "`query memory` shows it: `set max_memory .` removes it; `set segmentsize 64m` for large data."),
			do("close_other_apps", "Close other programs, or use a machine with more RAM", "money", ""),
		},
		Sources: []string{"https://www.stata.com/manuals/dmemory.pdf"},
	}, nil)
	BuildKit = tool("docker-build", "The build of the image", "build", []string{"failed to solve: process", "did not complete successfully: exit code: 137", "executor failed running", "failed to solve: ResourceExhausted", " ---> Running in "}, cause.Card{
		Headline: "was ended in a RUN step, most likely for lack of RAM",
		Means:    "The step ran in the builder, which has the memory of Docker's machine: on Docker Desktop half of the RAM or less, on a small server what is left. Steps and targets that build at the same time share it.",
		Not:      "`docker run --memory`: it does not apply to builds.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Give the build more memory", Ways: []cause.Way{
				{For: "A server", Text: "below 2 GB take the next size, or add swap; stop other services and containers while it builds"},
				{For: "Docker Desktop", Text: "Settings, Resources, Memory: twice what stands there; WSL: `memory=` in .wslconfig, then `wsl --shutdown`"},
			}, Told: "`docker info` prints what there is (Total Memory).", Cost: "Money, or RAM for other programs"},
			{Fix: "add_swap", Title: "On a Linux server: add swap, then build again", Kind: "shell", Text: "sudo fallocate -l 4G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile", Cost: "4 GB of disk, slow"},
			do("lower_build_jobs", "Lower the memory of the step", "a longer build", "npm, webpack: `ENV NODE_OPTIONS=--max-old-space-size=1024`, well below the RAM; pip: `--no-cache-dir`, wheels instead of sources; make and cargo: `-j2`."),
			do("upgrade_version", "Build on another machine", "a registry", "In CI or on your own machine, then push the image; or one stage at a time: `docker build --target STAGE`."),
		},
		Sources: []string{"https://docs.docker.com/build/", "https://docs.docker.com/desktop/settings-and-maintenance/settings/"},
	}, program.Sources{"docker/buildx/docs/reference/buildx_build.md": "--target", "https://nodejs.org/api/cli.html": "--max-old-space-size", "https://pip.pypa.io/en/stable/cli/pip_install/": "--no-cache-dir", "https://learn.microsoft.com/en-us/windows/wsl/basic-commands": "--shutdown", "docker/cli/command/container/opts.go": "--memory"})
)
