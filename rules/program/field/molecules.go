package field

import "github.com/oomdoc/oomdoc/rules/program"

// atomsMean is what potentials of graphs of atoms have in common.
const atomsMean = "Memory grows with atoms x neighbours within the cut-off, for all structures in the batch, times channels and orders. All of that is kept to compute the forces. Twice the cut-off means eight times the neighbours."

// oneStructure is what decides where there is no batch.
const oneStructure = "memory grows with its atoms x the neighbours within the cut-off, times channels and orders, all kept to compute the forces. Twice the box side means eight times the atoms."

// fewerAtoms are the fixes that they share.
var (
	atomFixes = []string{"lower_batch_size", "kill_stale_process", "lower_resolution", "use_smaller_model"}
	atomTitle = map[string]string{"stream_dataset": "Preprocess the data to HDF5 (mace_prepare_data)", "lower_batch_size": "Lower the batch size", "lower_resolution": "Use fewer atoms or a shorter cut-off", "use_smaller_model": "Use a smaller potential", "half_precision": "Compute in 32 bit instead of 64"}
	atomCosts = map[string]string{"stream_dataset": "One more step, and disk space.", "lower_batch_size": "Slower.", "lower_resolution": "Less accuracy.", "use_smaller_model": "Some accuracy.", "half_precision": "Fine for dynamics; relaxations and phonons need 64 bit."}
)

// Potentials learned from quantum chemistry, and what makes their data.
var (
	MACE = of(program.Program{
		Name: "mace", Shown: "MACE", Work: "science", Edits: "flags", Titles: atomTitle, Costs: atomCosts,
		Proofs:   []string{"mace/cli/", "mace/calculators/", "mace/modules/", "mace/tools/", "mace/data/", "mace_run_train", "MACECalculator"},
		Commands: []string{"mace_run_train", "mace_eval_configs"},
		Steps: steps{
			"stream_dataset":    say("Run `mace_prepare_data` once. It writes the graphs to HDF5 files, and `mace_run_train` reads them as it needs them."),
			"lower_batch_size":  say("For training and evaluation lower `--batch_size` and `--valid_batch_size` (default 10; `mace_eval_configs` 64)."),
			"lower_resolution":  say("Use a smaller cell or supercell: one structure has to fit at once. For training leave out the few largest structures, then use `--r_max 5.0`."),
			"use_smaller_model": say("Training: `--num_channels 64 --max_L 0`. Foundation models: \"small\" instead of \"medium\" or \"large\"."),
			"half_precision":    say("Use `--default_dtype float32` (default float64), or in a calculator `MACECalculator(..., default_dtype=\"float32\")`."),
		},
		Sources: program.Sources{"mace/mace/tools/arg_parser.py": "--batch_size --valid_batch_size --r_max --num_channels --max_L --default_dtype", "mace/mace/cli/eval_configs.py": "--batch_size"},
	}, []shortage{{
		id: "calculator", said: []string{"mace/calculators/", "mace_mp(", "MACECalculator("}, source: "mace/mace/calculators/mace.py",
		means: "A calculator has one structure on the GPU at a time: " + oneStructure,
		not:   "A batch size: a calculator has none.",
		fixes: []string{"half_precision", "lower_resolution", "use_smaller_model", "kill_stale_process"},
		done:  []string{"lower_batch_size"},
	}, {
		id: "single", said: []string{"default_dtype float32", "default_dtype=float32", "default_dtype='float32'", "default_dtype=\"float32\"", "default_dtype: float32"}, done: []string{"half_precision"},
		means: atomsMean + " It computes in 32 bit already.", fixes: []string{"lower_batch_size", "lower_resolution", "use_smaller_model", "kill_stale_process"}, source: "mace/mace/tools/arg_parser.py",
	}, {
		means:  atomsMean + " 64 bit, the default, takes twice as much as 32 bit.",
		fixes:  []string{"lower_batch_size", "half_precision", "kill_stale_process", "lower_resolution", "use_smaller_model"},
		source: "mace/mace/tools/arg_parser.py",
	}}, one(shortage{
		means:  "All structures of the XYZ file are read and turned into graphs in RAM. Each loader worker and each rank has its own copy.",
		fixes:  []string{"stream_dataset", "raise_memory_limit", "add_swap"},
		source: "mace/mace/tools/arg_parser.py",
	}))

	NequIP = of(program.Program{
		Name: "nequip", Shown: "NequIP or Allegro", Work: "science", Edits: "flags", Titles: atomTitle, Costs: atomCosts,
		Proofs:   []string{"nequip/", "nequip-train", "allegro/nn/", "allegro/model/", "pair_nequip", "pair_allegro"},
		Commands: []string{"nequip-train", "nequip-evaluate"},
		Steps: steps{
			"lower_batch_size":  say("In the YAML set `data.train_dataloader.batch_size: 1` and `data.val_dataloader.batch_size: 1` (before 0.7: `batch_size`, `validation_batch_size`). If it fails before the first step, also lower `data.stats_manager.dataloader_kwargs.batch_size`."),
			"lower_resolution":  say("LAMMPS: use a smaller box, or more ranks with a GPU each (Allegro divides the box, NequIP does not). Training: use a shorter `cutoff_radius` (`r_max`)."),
			"use_smaller_model": say("In the YAML set `l_max: 1`, `num_features: 32`, and fewer layers."),
		},
		Sources: program.Sources{"nequip/configs/tutorial.yaml": "train_dataloader val_dataloader stats_manager l_max num_features cutoff_radius"},
	}, one(shortage{means: atomsMean, fixes: atomFixes, source: "nequip/configs/tutorial.yaml"}), one(shortage{
		means:  "Before it trains, all structures of the data set are turned into graphs of neighbours and kept in RAM: atoms x neighbours within the cut-off, for each of them.",
		not:    "A smaller batch: the whole data set is prepared first.",
		fixes:  []string{"lower_resolution", "add_swap", "raise_memory_limit"},
		source: "nequip/configs/tutorial.yaml",
	}))

	CHGNet = of(program.Program{
		Name: "chgnet", Shown: "CHGNet", Work: "science", Edits: "code", Titles: atomTitle, Costs: atomCosts,
		Proofs: []string{"chgnet/model/", "chgnet/data/", "chgnet/trainer/", "chgnet/graph/"},
		Steps: steps{
			"lower_batch_size":  half("train_loader, val_loader, test_loader = get_train_val_test_loader(dataset, batch_size={n})   # less than now", 4, "batch_size"),
			"lower_resolution":  say("Use a smaller supercell: one structure has to fit at once. Run a large one on the CPU: `use_device=\"cpu\"` in `StructOptimizer`, `MolecularDynamics` or `CHGNet.from_file`."),
			"use_smaller_model": say("Leave out stress and magnetic moments if you do not need them (`task=\"ef\"`)."),
		},
		Sources: program.Sources{"chgnet/chgnet/data/dataset.py": "batch_size get_train_val_test_loader", "chgnet/chgnet/model/dynamics.py": "use_device"},
	}, []shortage{{
		id: "structure", said: []string{"chgnet/model/dynamics.py", "predict_structure("}, source: "chgnet/chgnet/model/dynamics.py",
		means: "Here one structure is on the GPU at a time: " + oneStructure + " CHGNet also has a graph of angles, which grows with the square of the neighbours.",
		fixes: []string{"lower_resolution", "kill_stale_process", "use_smaller_model"},
		done:  []string{"lower_batch_size"},
	}, {means: atomsMean + " CHGNet also has a graph of angles, which grows with the square of the neighbours.", fixes: []string{"lower_batch_size", "lower_resolution", "kill_stale_process", "use_smaller_model"}, source: "chgnet/chgnet/data/dataset.py"}}, one(shortage{
		means:  "All structures and their graphs (`StructureData`) are in RAM, and each loader worker has its own copy. On the CPU one large supercell is, too: its graph of angles grows with the square of the neighbours.",
		fixes:  []string{"lower_resolution", "lower_batch_size", "add_swap"},
		source: "chgnet/chgnet/data/dataset.py",
	}))

	FairChem = of(program.Program{
		Name: "fairchem", Shown: "fairchem", Work: "science", Edits: "code", Titles: atomTitle, Costs: atomCosts,
		Proofs: []string{"fairchem/core/", "ocpmodels/", "ocp/main.py", "FAIRChemCalculator", "OCPCalculator"},
		Steps: steps{
			"lower_batch_size":       say("Version 1 (ocp): lower `optim.batch_size` and `optim.eval_batch_size` in the YAML, or add `--optim.batch_size=2` to the command. Version 2: lower the dataloader's `batch_size`, or `max_atoms` of its sampler."),
			"lower_resolution":       say("For a calculator use a smaller slab or supercell: one structure has to fit at once. In version 1 also `model.max_neighbors=30` and a shorter `cutoff`."),
			"use_smaller_model":      say("Use uma-s instead of uma-m, and the small forms of eSCN, EquiformerV2 and GemNet (`lmax_list: [4]`)."),
			"gradient_checkpointing": python("# version 2, calculator or predict unit\nfrom fairchem.core.units.mlip_unit.api.inference import InferenceSettings\nsettings = InferenceSettings(activation_checkpointing=True)   # pass it as inference_settings=settings; \"turbo\" turns it off"),
		},
		Sources: program.Sources{"fairchem/src/fairchem/core/units/mlip_unit/api/inference.py": "activation_checkpointing", "fairchem/configs/uma": "max_atoms max_neighbors", "fairchem/configs/oc20 (v1)": "--optim.batch_size --optim optim.eval_batch_size"},
	}, []shortage{{
		id: "ocp", said: []string{"ocpmodels/", "fairchem/core/trainers/", "fairchem/core/_cli.py"}, source: "fairchem/configs/oc20 (v1)", done: []string{"gradient_checkpointing"},
		means: atomsMean, fixes: []string{"lower_batch_size", "lower_resolution", "use_smaller_model", "kill_stale_process"},
	}, {means: atomsMean, fixes: []string{"lower_batch_size", "gradient_checkpointing", "kill_stale_process", "lower_resolution"}, source: "fairchem/src/fairchem/core/units/mlip_unit/api/inference.py"}}, nil)

	TorchMDNet = of(program.Program{
		Name: "torchmd-net", Shown: "TorchMD-NET", Work: "science", Edits: "flags", Titles: atomTitle, Costs: atomCosts,
		Proofs: []string{"torchmdnet/", "torchmd-net/", "torchmd-train"},
		Steps: steps{
			"lower_batch_size":  say("Lower `--batch-size` (default 32) and `--inference-batch-size` (validation), or both in the YAML."),
			"lower_resolution":  say("Use `--cutoff-upper 5.0`, and `--max-num-neighbors` no higher than an atom has within it."),
			"use_smaller_model": say("Use `--embedding-dimension 128` and fewer layers."),
		},
		Sources: program.Sources{"torchmd-net/torchmdnet/scripts/train.py": "--batch-size --inference-batch-size --cutoff-upper --max-num-neighbors --embedding-dimension"},
	}, one(shortage{means: atomsMean, fixes: atomFixes, source: "torchmd-net/torchmdnet/scripts/train.py"}), nil)

	SchNetPack = of(program.Program{
		Name: "schnetpack", Shown: "SchNetPack", Work: "science", Edits: "flags", Titles: atomTitle, Costs: atomCosts,
		Proofs:   []string{"schnetpack/", "spktrain", "spkpredict"},
		Commands: []string{"spktrain", "spkpredict"},
		Steps: steps{
			"lower_batch_size":  say("Add a smaller `data.batch_size=` to the command (10 to 100 by data set). For `spkpredict`: `batch_size=1`."),
			"lower_resolution":  say("Add `globals.cutoff=5.`: the number of neighbours grows with its third power."),
			"use_smaller_model": say("Use `model.representation.n_atom_basis=64`, and fewer interactions."),
		},
		Sources: program.Sources{"schnetpack/src/schnetpack/configs/data/qm9.yaml": "data.batch_size", "schnetpack/src/schnetpack/configs/experiment/md17.yaml": "globals.cutoff"},
	}, one(shortage{means: atomsMean, fixes: atomFixes, source: "schnetpack/src/schnetpack/configs/data/qm9.yaml"}), nil)

	Chemprop = of(program.Program{
		Name: "chemprop", Shown: "Chemprop", Work: "science", Edits: "flags",
		Proofs:   []string{"chemprop/", "chemprop train", "chemprop_train"},
		Commands: []string{"chemprop"},
		Titles:   map[string]string{"lower_batch_size": "Lower the batch size", "stream_dataset": "Do not keep the graphs in RAM", "lower_num_workers": "Use no loader workers", "use_smaller_model": "Use a smaller network"},
		Costs:    map[string]string{"lower_batch_size": "Slower.", "stream_dataset": "Slower.", "lower_num_workers": "Slower.", "use_smaller_model": "Some accuracy."},
		Steps: steps{
			"lower_batch_size":  say("Use `--batch-size 16` (default 64; version 1: `--batch_size`, default 50), then less."),
			"stream_dataset":    say("Add `--no-cache` (version 1: `--no_cache_mol --cache_cutoff 0`). The graphs are then created again in each epoch."),
			"lower_num_workers": say("Use `--num-workers 0` (version 1: `--num_workers 0`, default 8)."),
			"use_smaller_model": say("Lower `--message-hidden-dim` (default 300) and `--depth` (default 3)."),
		},
		Sources: program.Sources{"chemprop/chemprop/cli/common.py": "--batch-size --num-workers", "chemprop/chemprop/cli/train.py": "--no-cache --message-hidden-dim --depth", "chemprop/chemprop/args.py (v1)": "--batch_size --no_cache_mol --cache_cutoff --num_workers"},
	}, one(shortage{
		means:  "Memory grows with batch size x bonds x hidden size, for each of `depth` steps. A few polymers or peptides in the file make a batch many times its usual size.",
		fixes:  []string{"lower_batch_size", "kill_stale_process", "use_smaller_model"},
		source: "chemprop/chemprop/cli/train.py",
	}), one(shortage{
		means:  "The graphs of all molecules are kept in RAM, and each loader worker has its own copy. Millions of molecules take tens of GB.",
		fixes:  []string{"stream_dataset", "lower_num_workers", "add_swap"},
		source: "chemprop/chemprop/cli/train.py",
	}))

	GPUMD = of(program.Program{
		Name: "gpumd", Shown: "GPUMD or NEP", Work: "science", Edits: "flags", Language: "cpp",
		Proofs: []string{"src/main_gpumd/", "src/main_nep/", "GPUMD", "nep.in", "nep executable", "src/utilities/gpu_vector.cuh"},
		Titles: map[string]string{"lower_batch_size": "For nep, lower the batch", "lower_resolution": "For gpumd, use fewer atoms or fewer correlations"},
		Costs:  map[string]string{"lower_batch_size": "Noisier steps.", "lower_resolution": "A smaller system, or fewer results."},
		Steps: steps{
			"lower_batch_size": say("In nep.in halve `batch` (default 1000), then use a smaller `cutoff`, `n_max`, `basis_size` or `neuron`. Leave the few largest structures out of train.xyz."),
			"lower_resolution": say("Use a smaller box. `compute_hnema`, `compute_gkma` and `compute_shc` need large arrays: use fewer modes or groups, or a shorter correlation."),
		},
		Sources: program.Sources{"GPUMD/doc/nep/input_parameters/batch.rst": "batch", "GPUMD/doc/gpumd/input_parameters/compute_hnema.rst": "compute_hnema"},
	}, []shortage{{
		id: "nep", said: []string{"nep.in", "Started running NEP", "src/main_nep/"}, also: plainMemory, source: "GPUMD/doc/nep/input_parameters/batch.rst",
		means: "nep has all atoms of the structures of one batch on the GPU, with their neighbours and descriptors. The largest structures of train.xyz decide.",
		not:   "A smaller population or fewer generations: they need time.",
		fixes: []string{"lower_batch_size", "kill_stale_process"},
		done:  []string{"lower_resolution"},
	}, {
		id: "gpumd", said: []string{"run.in", "Started running GPUMD", "src/main_gpumd/"}, also: plainMemory, source: "GPUMD/src/utilities/error.cuh",
		means: "gpumd has all atoms of the box with their neighbours on the GPU, and the arrays of each `compute_` line of run.in.",
		fixes: []string{"lower_resolution", "kill_stale_process"},
		done:  []string{"lower_batch_size"},
	}, {
		means:  "All atoms with their neighbours are on the GPU: for nep those of all structures in a batch, for gpumd those of the whole box.",
		fixes:  []string{"lower_batch_size", "lower_resolution", "kill_stale_process"},
		source: "GPUMD/src/utilities/error.cuh",
	}}, nil)

	PySCF = of(program.Program{
		Name: "pyscf", Shown: "PySCF", Work: "science", Edits: "code",
		Proofs: []string{"pyscf/", "gpu4pyscf/"},
		Titles: map[string]string{"lower_mem_fraction": "Set its memory limit (mol.max_memory)", "use_smaller_model": "Use density fitting", "lower_resolution": "Use a smaller basis or a frozen core", "lower_num_workers": "Use fewer threads", "cpu_offload": "Run it on the CPU with PySCF"},
		Costs:  map[string]string{"lower_mem_fraction": "Slower: more goes to disk.", "use_smaller_model": "A very small error.", "lower_resolution": "Less accuracy.", "lower_num_workers": "Slower.", "cpu_offload": "Much slower; needs RAM."},
		Steps: steps{
			"cpu_offload":        say("Import `pyscf` instead of `gpu4pyscf`, and leave out `.to_gpu()`."),
			"lower_mem_fraction": python("mol.max_memory = 16000   # MB (default 4000), below the machine's RAM, set before the calculation. It bounds most steps, not all"),
			"use_smaller_model":  python("mf = mf.density_fit()   # three-centre integrals instead of N^4; MP2: mp.dfmp2; coupled cluster: cc on this mf"),
			"lower_resolution":   say("Use cc-pVDZ instead of cc-pVTZ (integrals grow as N^4: 2.2 times the functions take 23 times as much), `frozen=` for the core, and fewer active orbitals in CASSCF."),
			"lower_num_workers":  say("`export OMP_NUM_THREADS=4` before Python starts: each thread has its own buffers."),
		},
		Sources: program.Sources{"pyscf/pyscf/gto/mole.py": "max_memory", "pyscf/pyscf/__config__.py": "PYSCF_MAX_MEMORY OMP_NUM_THREADS"},
	}, one(shortage{
		means:  "gpu4pyscf keeps matrices and integrals of the whole molecule on the GPU. They grow with the square of the basis functions, and with density fitting also with the auxiliary functions.",
		not:    "`mol.max_memory`: it limits RAM, not GPU memory.",
		fixes:  []string{"kill_stale_process", "use_smaller_model", "lower_resolution", "cpu_offload"},
		source: "pyscf/pyscf/gto/mole.py",
	}), []shortage{{
		id: "integrals", said: []string{"pyscf/cc/", "pyscf/ao2mo/", "pyscf/mcscf/", "pyscf/mp/"}, source: "pyscf/pyscf/gto/mole.py", whole: true,
		means: "Integrals over four orbitals grow with the fourth power of their number: coupled cluster keeps virtual^4 and occupied^2 x virtual^2 numbers of 8 bytes, several times. Twice the basis takes 16 times as much.",
		not:   "Raising `max_memory` above the machine's RAM.",
		fixes: []string{"use_smaller_model", "lower_resolution", "lower_mem_fraction"},
	}, {
		means:  "Integrals over four functions grow with the fourth power of the basis: 200 functions take 12 GB in 64 bit without symmetry (1.5 GB with), and 400 take 16 times that. Coupled cluster keeps occupied squared x virtual squared numbers several times.",
		not:    "Raising `max_memory` above the machine's RAM.",
		fixes:  []string{"use_smaller_model", "lower_mem_fraction", "lower_resolution", "lower_num_workers"},
		source: "pyscf/pyscf/gto/mole.py",
	}})
)
