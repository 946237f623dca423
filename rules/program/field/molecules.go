package field

import "github.com/oomdoc/oomdoc/rules/program"

// atomsMean is what potentials of graphs of atoms have in common.
const atomsMean = "Edges decide: atoms x neighbours within the cut-off, times channels and orders, for all structures of the batch together, and kept for the derivative that gives the forces. A cut-off twice as long has eight times the neighbours."

// fewerAtoms are the fixes that they share.
var (
	atomFixes = []string{"lower_batch_size", "kill_stale_process", "lower_resolution", "use_smaller_model"}
	atomTitle = map[string]string{"lower_batch_size": "Fewer structures at once", "lower_resolution": "Fewer atoms or neighbours", "use_smaller_model": "A smaller potential", "half_precision": "32 bit in place of 64"}
	atomCosts = map[string]string{"lower_batch_size": "Slower.", "lower_resolution": "Accuracy, with a shorter cut-off.", "use_smaller_model": "Some accuracy.", "half_precision": "Fine for dynamics; relaxations and phonons want 64."}
)

// Potentials learned from quantum chemistry, and what makes their data.
var (
	MACE = of(program.Program{
		Name: "mace", Shown: "MACE", Work: "science", Edits: "flags", Titles: atomTitle, Costs: atomCosts,
		Proofs:   []string{"mace/cli/", "mace/calculators/", "mace/modules/", "mace/tools/", "mace/data/", "mace_run_train", "MACECalculator"},
		Commands: []string{"mace_run_train", "mace_eval_configs"},
		Steps: steps{
			"lower_batch_size":  say("`--batch_size 2 --valid_batch_size 2` (10 unless set; `mace_eval_configs` 64)."),
			"lower_resolution":  say("Use: a smaller cell or supercell: one structure has to fit at once. Training: `--r_max 5.0`, and leave out the few largest structures."),
			"use_smaller_model": say("`--num_channels 64 --max_L 0` (the foundation models: \"small\" in place of \"medium\" or \"large\")."),
			"half_precision":    say("`--default_dtype float32` (64 bit unless set); a calculator: `MACECalculator(..., default_dtype=\"float32\")`."),
		},
		Sources: program.Sources{"mace/mace/tools/arg_parser.py": "--batch_size --valid_batch_size --r_max --num_channels --max_L --default_dtype", "mace/mace/cli/eval_configs.py": "--batch_size"},
	}, one(shortage{
		means:  atomsMean + " Validation has a batch of its own, and 64 bit, the default, takes twice the memory of 32.",
		not:    "Fewer epochs or structures in the file.",
		fixes:  []string{"lower_batch_size", "half_precision", "kill_stale_process", "lower_resolution", "use_smaller_model"},
		source: "mace/mace/tools/arg_parser.py",
	}), one(shortage{
		means:  "All structures of the XYZ file are read and turned into graphs in RAM, and each worker of the loader and each rank holds them again.",
		not:    "A smaller batch.",
		fixes:  []string{"stream_dataset", "raise_memory_limit", "add_swap"},
		source: "mace/mace/tools/arg_parser.py",
	}))

	NequIP = of(program.Program{
		Name: "nequip", Shown: "NequIP or Allegro", Work: "science", Edits: "flags", Titles: atomTitle, Costs: atomCosts,
		Proofs:   []string{"nequip/", "nequip-train", "allegro/nn/", "allegro/model/", "pair_nequip", "pair_allegro"},
		Commands: []string{"nequip-train", "nequip-evaluate"},
		Steps: steps{
			"lower_batch_size":  say("`data.train_dataloader.batch_size: 1` and `data.val_dataloader.batch_size: 1` in the YAML (before 0.7: `batch_size` and `validation_batch_size`); `data.stats_manager.dataloader_kwargs.batch_size` if it fails before the first step."),
			"lower_resolution":  say("LAMMPS: more ranks with a card each (Allegro divides the box, NequIP does not), or a smaller box. Training: a shorter `cutoff_radius` (`r_max`)."),
			"use_smaller_model": say("`l_max: 1`, `num_features: 32`, fewer layers."),
		},
		Sources: program.Sources{"nequip/configs/tutorial.yaml": "train_dataloader val_dataloader stats_manager l_max num_features cutoff_radius"},
	}, one(shortage{means: atomsMean, not: "Fewer epochs or frames.", fixes: atomFixes, source: "nequip/configs/tutorial.yaml"}), nil)

	CHGNet = of(program.Program{
		Name: "chgnet", Shown: "CHGNet", Work: "science", Edits: "code", Titles: atomTitle, Costs: atomCosts,
		Proofs: []string{"chgnet/model/", "chgnet/data/", "chgnet/trainer/", "chgnet/graph/"},
		Steps: steps{
			"lower_batch_size":  python("train_loader, val_loader, test_loader = get_train_val_test_loader(dataset, batch_size=4)   # predict_structure(..., batch_size=1)"),
			"lower_resolution":  say("A smaller supercell: one structure has to fit at once. `CHGNet.from_file(..., use_device=\"cpu\")` or `use_device=\"cpu\"` in `StructOptimizer` and `MolecularDynamics` for a large one."),
			"use_smaller_model": say("Without magnetic moments and stress where they are not needed (`task=\"ef\"`)."),
		},
		Sources: program.Sources{"chgnet/chgnet/data/dataset.py": "batch_size get_train_val_test_loader", "chgnet/chgnet/model/dynamics.py": "use_device"},
	}, one(shortage{means: atomsMean + " CHGNet has a second graph of angles, which grows with the square of the neighbours.", not: "Fewer epochs.", fixes: []string{"lower_batch_size", "lower_resolution", "kill_stale_process", "use_smaller_model"}, source: "chgnet/chgnet/data/dataset.py"}), nil)

	FairChem = of(program.Program{
		Name: "fairchem", Shown: "fairchem", Work: "science", Edits: "code", Titles: atomTitle, Costs: atomCosts,
		Proofs: []string{"fairchem/core/", "ocpmodels/", "ocp/main.py", "FAIRChemCalculator", "OCPCalculator"},
		Steps: steps{
			"lower_batch_size":       say("`optim.batch_size` and `optim.eval_batch_size` in the YAML, or `--optim.batch_size=2` behind the command (version 1, ocp); version 2: the dataloader's `batch_size`, or `max_atoms` of its sampler."),
			"lower_resolution":       say("Version 1: `model.max_neighbors=30`, a shorter `cutoff`. Use: a smaller slab or supercell; one structure has to fit at once."),
			"use_smaller_model":      say("uma-s in place of uma-m; eSCN, EquiformerV2 and GemNet in their small forms (`lmax_list: [4]`)."),
			"gradient_checkpointing": python("from fairchem.core.units.mlip_unit.api.inference import InferenceSettings\nsettings = InferenceSettings(activation_checkpointing=True)   # inference_settings=settings for the predict unit; \"turbo\" turns it off"),
		},
		Sources: program.Sources{"fairchem/src/fairchem/core/units/mlip_unit/api/inference.py": "activation_checkpointing", "fairchem/configs/uma": "max_atoms max_neighbors", "fairchem/configs/oc20": "--optim.batch_size --optim optim.eval_batch_size"},
	}, one(shortage{means: atomsMean, not: "Fewer epochs.", fixes: []string{"lower_batch_size", "gradient_checkpointing", "kill_stale_process", "lower_resolution"}, source: "fairchem/src/fairchem/core/units/mlip_unit/api/inference.py"}), nil)

	TorchMDNet = of(program.Program{
		Name: "torchmd-net", Shown: "TorchMD-NET", Work: "science", Edits: "flags", Titles: atomTitle, Costs: atomCosts,
		Proofs: []string{"torchmdnet/", "torchmd-net/", "torchmd-train"},
		Steps: steps{
			"lower_batch_size":  say("`--batch-size 8 --inference-batch-size 8` (32 unless set; the second counts in validation), or in the YAML."),
			"lower_resolution":  say("`--cutoff-upper 5.0`, and `--max-num-neighbors` no higher than atoms have within it."),
			"use_smaller_model": say("`--embedding-dimension 128`, fewer layers."),
		},
		Sources: program.Sources{"torchmd-net/torchmdnet/scripts/train.py": "--batch-size --inference-batch-size --cutoff-upper --max-num-neighbors --embedding-dimension"},
	}, one(shortage{means: atomsMean, not: "Fewer epochs.", fixes: atomFixes, source: "torchmd-net/torchmdnet/scripts/train.py"}), nil)

	SchNetPack = of(program.Program{
		Name: "schnetpack", Shown: "SchNetPack", Work: "science", Edits: "flags", Titles: atomTitle, Costs: atomCosts,
		Proofs:   []string{"schnetpack/", "spktrain", "spkpredict"},
		Commands: []string{"spktrain", "spkpredict"},
		Steps: steps{
			"lower_batch_size":  say("Behind the command: `data.batch_size=5` (10 to 100 by data set), `data.num_workers=2`; `spkpredict` takes `batch_size=1`."),
			"lower_resolution":  say("`globals.cutoff=5.`: neighbours grow with its third power."),
			"use_smaller_model": say("`model.representation.n_atom_basis=64`, fewer interactions."),
		},
		Sources: program.Sources{"schnetpack/src/schnetpack/configs/data/qm9.yaml": "data.batch_size", "schnetpack/src/schnetpack/configs/experiment/md17.yaml": "globals.cutoff"},
	}, one(shortage{means: atomsMean, not: "Fewer epochs.", fixes: atomFixes, source: "schnetpack/src/schnetpack/configs/data/qm9.yaml"}), nil)

	Chemprop = of(program.Program{
		Name: "chemprop", Shown: "Chemprop", Work: "science", Edits: "flags",
		Proofs:   []string{"chemprop/", "chemprop train", "chemprop_train"},
		Commands: []string{"chemprop"},
		Titles:   map[string]string{"lower_batch_size": "Smaller batches", "stream_dataset": "Do not keep the graphs", "lower_num_workers": "No workers", "use_smaller_model": "A smaller network"},
		Costs:    map[string]string{"lower_batch_size": "Slower.", "stream_dataset": "Slower.", "lower_num_workers": "Slower.", "use_smaller_model": "Some accuracy."},
		Steps: steps{
			"lower_batch_size":  say("`--batch-size 16` (64 unless set; 50 in version 1: `--batch_size`)."),
			"stream_dataset":    say("`--no-cache` (version 1: `--no_cache_mol`, `--cache_cutoff 0`): graphs are made again in each epoch."),
			"lower_num_workers": say("`--num-workers 0` (version 1: `--num_workers 0`, 8 unless set)."),
			"use_smaller_model": say("`--message-hidden-dim 300 --depth 3`."),
		},
		Sources: program.Sources{"chemprop/chemprop/cli/common.py": "--batch-size --num-workers", "chemprop/chemprop/cli/train.py": "--no-cache --message-hidden-dim --depth", "chemprop/chemprop/args.py (v1)": "--batch_size --no_cache_mol --cache_cutoff --num_workers"},
	}, one(shortage{
		means:  "Bonds decide: batch x bonds x hidden size, for each of `depth` steps; a few polymers or peptides in the file make a batch many times the usual.",
		not:    "Fewer epochs.",
		fixes:  []string{"lower_batch_size", "kill_stale_process", "use_smaller_model"},
		source: "chemprop/chemprop/cli/train.py",
	}), one(shortage{
		means:  "Graphs of all molecules are kept in RAM, and each worker of the loader has them again; a file of millions of molecules takes tens of GB.",
		not:    "A smaller batch.",
		fixes:  []string{"stream_dataset", "lower_num_workers", "add_swap"},
		source: "chemprop/chemprop/cli/train.py",
	}))

	GPUMD = of(program.Program{
		Name: "gpumd", Shown: "GPUMD or NEP", Work: "science", Edits: "flags", Language: "cpp",
		Proofs: []string{"src/main_gpumd/", "src/main_nep/", "GPUMD", "nep.in", "nep executable", "src/utilities/gpu_vector.cuh"},
		Titles: map[string]string{"lower_batch_size": "nep: fewer structures at once", "lower_resolution": "gpumd: fewer atoms, shorter lists"},
		Costs:  map[string]string{"lower_batch_size": "Noisier steps.", "lower_resolution": "Accuracy, with a shorter cut-off."},
		Steps: steps{
			"lower_batch_size": say("In nep.in `batch 500` (1000 unless set), a smaller `cutoff`, `n_max`, `basis_size` or `neuron`; without the few largest structures in train.xyz."),
			"lower_resolution": say("A smaller box; properties that keep correlations (`compute_hnema`, `compute_gkma`, `compute_shc`) need arrays of their own: fewer modes, groups or a shorter correlation."),
		},
		Sources: program.Sources{"GPUMD/doc/nep/input_parameters/batch.rst": "batch", "GPUMD/doc/gpumd/input_parameters/compute_hnema.rst": "compute_hnema"},
	}, one(shortage{
		means:  "Atoms x neighbours lie on the card: for nep those of all structures of a batch, for gpumd those of the whole box.",
		not:    "Fewer steps.",
		fixes:  []string{"lower_batch_size", "lower_resolution", "kill_stale_process"},
		source: "GPUMD/src/utilities/error.cuh",
	}), nil)

	PySCF = of(program.Program{
		Name: "pyscf", Shown: "PySCF", Work: "science", Edits: "code",
		Proofs: []string{"pyscf/", "gpu4pyscf/"},
		Titles: map[string]string{"lower_mem_fraction": "Tell it what it may take", "use_smaller_model": "Density fitting", "lower_resolution": "A smaller basis or frozen core", "lower_num_workers": "Fewer threads"},
		Costs:  map[string]string{"lower_mem_fraction": "Slower: more goes to disk.", "use_smaller_model": "A tiny, known error.", "lower_resolution": "Accuracy.", "lower_num_workers": "Slower."},
		Steps: steps{
			"lower_mem_fraction": python("mol.max_memory = 16000   # MB, before the calculation is made; 4000 unless set. It bounds most steps, not all"),
			"use_smaller_model":  python("mf = mf.density_fit()   # three-centre integrals in place of N^4; also mp.dfmp2, cc with mf.density_fit()"),
			"lower_resolution":   say("cc-pVDZ in place of cc-pVTZ (N^4: 2.2 times the functions are 23 times the integrals), `frozen=` for the core, fewer active orbitals in CASSCF."),
			"lower_num_workers":  say("`export OMP_NUM_THREADS=4` before Python: threads have buffers of their own."),
		},
		Sources: program.Sources{"pyscf/pyscf/gto/mole.py": "max_memory", "pyscf/pyscf/__config__.py": "PYSCF_MAX_MEMORY OMP_NUM_THREADS"},
	}, one(shortage{
		means:  "gpu4pyscf keeps matrices and integrals of the whole molecule on the card: functions squared, with density fitting times the auxiliary functions.",
		not:    "`mol.max_memory`: it is about RAM.",
		fixes:  []string{"kill_stale_process", "lower_resolution", "cpu_offload"},
		source: "pyscf/pyscf/gto/mole.py",
	}), one(shortage{
		means:  "Integrals over four functions grow with the fourth power of the basis: 200 functions are 12 GB in 64 bit without symmetry (1.5 with), 400 are 16 times that. Coupled cluster holds occupied squared x virtual squared several times. An array with four equal or paired sides in the message is one of these.",
		not:    "Raising `max_memory` above the machine's RAM.",
		fixes:  []string{"use_smaller_model", "lower_mem_fraction", "lower_resolution", "lower_num_workers"},
		source: "pyscf/pyscf/gto/mole.py",
	}))
)
