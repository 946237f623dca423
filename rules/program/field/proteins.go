package field

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Programs for proteins.
var (
	// ESM is the language model for proteins, its scripts and ESM-IF.
	ESM = of(program.Program{
		Name: "esm", Shown: "ESM", Work: "science", Edits: "code",
		Proofs: []string{"esm/model/esm1.py", "esm/model/esm2.py", "esm/modules.py", "esm/multihead_attention.py", "esm/axial_attention.py", "esm/pretrained.py", "esm/inverse_folding/", "esm-extract", "modeling_esm.py", "esm/data.py"},
		Titles: map[string]string{"lower_batch_size": "Lower the residues per batch (--toks_per_batch)", "lower_context": "Cut long proteins", "use_smaller_model": "Use a smaller ESM-2", "half_precision": "Compute in 16 bit", "efficient_attention": "If you need only embeddings, request no contacts"},
		Costs:  map[string]string{"efficient_attention": "None.", "lower_batch_size": "Slower; the same result.", "lower_context": "No context beyond the cut.", "use_smaller_model": "Some accuracy.", "half_precision": "Hardly any loss."},
		Steps: steps{
			"efficient_attention": python("with torch.no_grad():\n    results = model(batch_tokens, repr_layers=[33])   # without return_contacts=True"),
			"lower_batch_size":    say("For `extract.py` (esm-extract) halve `--toks_per_batch` (default 4096; 1024 and less work, too). In your own loop process one sequence at a time under `torch.no_grad()`, and move results to the CPU (`.cpu()`) at once."),
			"lower_context":       say("Use windows of 1022 residues with some overlap, or `--truncation_seq_length 1022` (the default of esm-extract)."),
			"use_smaller_model":   say("Use `esm2_t33_650M_UR50D` (2.6 GB in 32 bit) instead of `t36_3B` (11 GB) or `t48_15B` (60 GB). For trials use t30_150M or t12_35M."),
			"half_precision":      python("model = model.half().cuda()   # inference only; halves weights and activations"),
		},
		Sources: program.Sources{"esm/scripts/extract.py": "--toks_per_batch --truncation_seq_length", "esm/README.md": "esm2_t33_650M_UR50D"},
	}, []shortage{{
		id: "contacts", said: []string{"predict_contacts", "return_contacts=True", "contact_head", "apc(", "MSATransformer", "esm/axial_attention.py"}, source: "esm/esm/modules.py",
		means: "Contacts need the attention maps of all layers and heads at once: layers x heads x length x length x 4 bytes. For the 650M model (33 x 20) that is 2.5 GiB at 1000 residues, and four times that at 2000. The MSA Transformer needs even more.",
		fixes: []string{"efficient_attention", "lower_batch_size", "lower_context", "use_smaller_model"},
	}, {
		means:  "Memory grows with the batch and the square of the sequence length; all sequences of a batch are padded to the longest. The weights take 2.6 GB (650M) or 11 GB (3B) in 32 bit. Without `torch.no_grad()` your own loop keeps every layer's results, too.",
		fixes:  []string{"lower_batch_size", "lower_context", "half_precision", "use_smaller_model"},
		source: "esm/scripts/extract.py",
	}}, one(shortage{
		means:  "While it loads, the 3B model takes 11 GB of RAM and the 15B model 60 GB, before it goes to the GPU. Embeddings per residue that a loop collects (1280 or 2560 x 4 bytes x length) add up as well.",
		fixes:  []string{"use_smaller_model", "add_swap", "raise_memory_limit"},
		source: "esm/README.md",
	}))

	// ProteinMPNN designs sequences; LigandMPNN is its successor.
	ProteinMPNN = of(program.Program{
		Name: "proteinmpnn", Shown: "ProteinMPNN", Work: "science", Edits: "flags",
		Proofs: []string{"protein_mpnn_run.py", "protein_mpnn_utils.py", "ProteinMPNN/", "LigandMPNN/", "colabdesign/mpnn/"},
		Titles: map[string]string{"lower_batch_size": "Lower the batch size to 1", "lower_context": "Leave out residues far from the design", "cpu_offload": "Run it on the CPU"},
		Costs:  map[string]string{"lower_batch_size": "Slower; as many sequences.", "lower_context": "What is left out is not seen.", "cpu_offload": "Slower."},
		Steps: steps{
			"lower_batch_size": say("ProteinMPNN: `--batch_size 1`, with the same `--num_seq_per_target`. LigandMPNN: `--batch_size 1` and a larger `--number_of_batches` give as many sequences."),
			"lower_context":    say("Remove chains and domains far from the design from the PDB file. All residues in it are encoded, fixed ones too."),
			"cpu_offload":      say("Start it with `CUDA_VISIBLE_DEVICES=` (empty) in front."),
		},
		Sources: program.Sources{"ProteinMPNN/protein_mpnn_run.py": "--batch_size --num_seq_per_target --max_length", "LigandMPNN/run.py": "--batch_size --number_of_batches", "https://docs.nvidia.com/cuda/cuda-c-programming-guide/": "CUDA_VISIBLE_DEVICES"},
	}, one(shortage{
		means:  "The network is small, so a usual protein needs well under 2 GB. Memory grows with batch size x residues. A full GPU usually means a large batch, a complex of thousands of residues, or another program.",
		not:    "Fewer sequences (`--num_seq_per_target`) at the same batch size.",
		fixes:  []string{"lower_batch_size", "kill_stale_process", "lower_context", "cpu_offload"},
		source: "ProteinMPNN/protein_mpnn_run.py",
	}), nil)

	// RFdiffusion makes backbones.
	RFdiffusion = of(program.Program{
		Name: "rfdiffusion", Shown: "RFdiffusion", Work: "science", Edits: "flags",
		Proofs: []string{"rfdiffusion/", "RFdiffusion/", "contigmap.contigs", "diffuser.T"},
		Titles: map[string]string{"lower_context": "Lower the number of residues (contigmap.contigs)", "use_smaller_model": "Crop the target around its hotspots"},
		Costs:  map[string]string{"lower_context": "What is left out is not seen.", "use_smaller_model": "What is cut off is not seen."},
		Steps: steps{
			"lower_context":     say("Target and design count together. Name only the residues that you need: `'contigmap.contigs=[A1-120/0 70-70]'` takes 120 of chain A and designs 70. Less than about 400 in all usually fits into 8 to 12 GB."),
			"use_smaller_model": say("Cut the target's PDB to the domain around `ppi.hotspot_res`, with about 10 angstroms around it."),
		},
		Sources: program.Sources{"RFdiffusion/config/inference/base.yaml": "contigmap.contigs ppi.hotspot_res inference.num_designs diffuser.T"},
	}, one(shortage{
		means:  "Memory grows with at least the square of the length: target and designed residues count together. Designs and steps run one after another in the same memory.",
		not:    "Fewer designs (`inference.num_designs`) or steps (`diffuser.T`).",
		fixes:  []string{"lower_context", "use_smaller_model", "kill_stale_process", "bigger_gpu"},
		source: "RFdiffusion/README.md",
	}), nil)

	// OmegaFold folds without an alignment.
	OmegaFold = of(program.Program{
		Name: "omegafold", Shown: "OmegaFold", Work: "science", Edits: "flags",
		Proofs:   []string{"omegafold/", "omegafold INPUT", "INFO:root:Failed to generate"},
		Commands: []string{"omegafold"},
		Titles:   map[string]string{"lower_ubatch": "Compute in smaller pieces (--subbatch_size)", "lower_context": "Fold a shorter construct", "lower_batch_size": "Use fewer pseudo sequences (--num_pseudo_msa)"},
		Costs:    map[string]string{"lower_ubatch": "Slower; the same result.", "lower_context": "No contacts to what is left out.", "lower_batch_size": "Some accuracy."},
		Steps: steps{
			"lower_ubatch":     say("Add `--subbatch_size 256`, or halve the one that you use: 128, 64 and so on. The developers used 448 for 4096 residues on 80 GB."),
			"lower_context":    say("Fold the domains one by one, without tails: memory grows with at least the square of the length."),
			"lower_batch_size": say("Add `--num_pseudo_msa 7` (default 15)."),
		},
		Sources: program.Sources{"OmegaFold/omegafold/pipeline.py": "--subbatch_size --num_pseudo_msa --num_cycle"},
	}, one(shortage{
		means:  "Pairs of residues grow with the square of the length, and attention over them with its cube unless `--subbatch_size` splits it. Without that option a sequence is computed as a whole.",
		not:    "Fewer cycles (`--num_cycle`): they run one after another.",
		fixes:  []string{"lower_ubatch", "lower_context", "kill_stale_process", "bigger_gpu"},
		source: "OmegaFold/README.md",
	}), nil)

	// Protenix is an open reproduction of AlphaFold 3.
	Protenix = of(program.Program{
		Name: "protenix", Shown: "Protenix", Work: "science", Edits: "flags",
		Proofs:   []string{"protenix/", "Protenix/runner/", "protenix pred", "protenix.model"},
		Commands: []string{"protenix"},
		Titles:   map[string]string{"lower_context": "Use fewer tokens", "lower_parallel": "Predict one sample at a time (--sample 1)", "half_precision": "Compute in bf16 (--dtype bf16)", "stream_dataset": "Use shallower MSAs"},
		Costs:    map[string]string{"lower_context": "No contacts to what is left out.", "lower_parallel": "More runs.", "half_precision": "Hardly any loss."},
		Steps: steps{
			"lower_context":  say("Leave out tails, and chains that do not touch. All residues, bases and ligand atoms are tokens, and their pairs grow with the square of the number."),
			"lower_parallel": say("Use `protenix pred --sample 1` with more `--seeds` instead of 5 samples (runner/inference.py: `--sample_diffusion.N_sample 1`)."),
			"half_precision": say("Use `--dtype bf16` (the default) instead of fp32."),
			"stream_dataset": say("Fold one entry of the JSON per run, and cut very deep MSAs to a few thousand sequences."),
		},
		Sources: program.Sources{"Protenix/runner/batch_inference.py": "--sample --seeds --dtype --cycle", "Protenix/docs/training_inference_instructions.md": "--sample_diffusion.N_sample --sample_diffusion"},
	}, []shortage{{
		id: "fp32", said: []string{"--dtype fp32", "dtype=fp32"}, source: "Protenix/runner/batch_inference.py",
		means: "It computes in fp32, which needs twice as much as bf16, the default. The rest grows with the square of the tokens: residues, bases and ligand atoms.",
		fixes: []string{"half_precision", "lower_context", "lower_parallel"},
	}, {
		id: "sample", said: []string{"--sample 1 -", "N_sample 1 -", "N_sample=1 -"}, done: []string{"lower_parallel"},
	}, {
		means:  "Residues, bases and ligand atoms are tokens. Their pairs grow with the square of the number of tokens, and attention over them with its cube unless it is split, which Protenix does for long inputs.",
		not:    "Fewer cycles or steps: they run one after another in the same memory.",
		fixes:  []string{"lower_context", "lower_parallel", "bigger_gpu"},
		source: "Protenix/docs/training_inference_instructions.md",
	}}, nil)

	// DiffDock docks ligands; it begins with ESM.
	DiffDock = of(program.Program{
		Name: "diffdock", Shown: "DiffDock", Work: "science", Edits: "flags",
		Proofs: []string{"DiffDock/", "diffdock/", "models/score_model.py", "models/cg_model.py", "models/aa_model.py", "Generating ESM language model embeddings"},
		Titles: map[string]string{"lower_batch_size": "Lower the batch size (--batch_size)", "lower_context": "Crop the protein around the pocket", "stream_dataset": "Create the ESM embeddings in advance"},
		Costs:  map[string]string{"lower_batch_size": "Slower; as many poses.", "lower_context": "Pockets that are cut off are not seen.", "stream_dataset": "One more step."},
		Steps: steps{
			"lower_batch_size": func(c *ledger.Case) []step.Step {
				if c.Training() {
					return say("Halve `--batch_size` of train.py. It skips a batch that did not fit (\"ran out of memory, skipping batch\"): a few are harmless.")(c)
				}
				return say("Lower `--batch_size` to 2 or 1 (default 10), with the same `--samples_per_complex`: the poses of one complex are computed together.")(c)
			},
			"lower_context":  say("Cut the PDB to the chains and domains around the pocket. Proteins above 1000 residues need far more memory."),
			"stream_dataset": say("Create them with esm's scripts/extract.py (`--truncation_seq_length 1022`, or on the CPU with `--nogpu`). Pass the folder as `--esm_embeddings_path`."),
		},
		Sources: program.Sources{"DiffDock/inference.py": "--batch_size --samples_per_complex", "DiffDock/README.md": "--truncation_seq_length --esm_embeddings_path", "esm/scripts/extract.py": "--nogpu"},
	}, []shortage{{
		id: "embeddings", said: []string{"compute_ESM_embeddings"}, source: "DiffDock/utils/inference_utils.py",
		means: "No pose was computed yet: ESM-2 (650 million weights, 2.6 GB) was reading the whole sequence of a protein, which grows with its length.",
		not:   "A smaller `--batch_size` or `--samples_per_complex`: docking had not begun.",
		fixes: []string{"stream_dataset", "lower_context", "kill_stale_process"},
		done:  []string{"lower_batch_size"},
	}, {
		means:  "Memory grows with the poses computed together (`--batch_size`): each has its own graph of ligand atoms and nearby residues. Before that, ESM-2 (2.6 GB) runs on the whole sequence.",
		not:    "Fewer steps (`--inference_steps`): they run one after another.",
		fixes:  []string{"lower_batch_size", "lower_context", "kill_stale_process", "stream_dataset"},
		source: "DiffDock/inference.py",
	}}, nil)

	// ModelAngelo builds atoms into maps.
	ModelAngelo = of(program.Program{
		Name: "model-angelo", Shown: "ModelAngelo", Work: "science", Edits: "flags",
		Proofs:   []string{"model_angelo/", "model_angelo build", "ModelAngelo"},
		Commands: []string{"model_angelo"},
		Titles:   map[string]string{"select_gpu": "Use another card (--device)", "lower_resolution": "Crop the map to the molecule", "cpu_offload": "Run it on the CPU"},
		Costs:    map[string]string{"select_gpu": "None.", "lower_resolution": "No loss if it cuts empty space.", "cpu_offload": "Much slower."},
		Steps: steps{
			"select_gpu":       say("Use `--device 1`: the number of a GPU with more free memory (two GPUs: `--device 0,1`)."),
			"lower_resolution": say("Crop the map to the molecule (RELION: `relion_image_handler --new_box`; ChimeraX: `volume resample` on a cropped box), and pass a mask (`--mask-path`)."),
			"cpu_offload":      say("`--device cpu`."),
		},
		Sources: program.Sources{"model-angelo/model_angelo/apps/build.py": "--device --mask-path", "relion/src/apps/image_handler.cpp": "--new_box"},
	}, one(shortage{
		means:  "It needs 8 GB or more of free GPU memory. ESM (650M, 2.6 GB) reads the sequences, then residues of the map are computed in parts. Long sequences and many residues need more. RELION or cryoSPARC jobs often use the same GPU.",
		fixes:  []string{"select_gpu", "kill_stale_process", "lower_resolution", "cpu_offload"},
		source: "model-angelo/README.md",
	}), one(shortage{
		means:  "The whole map is in RAM as floating point numbers, several times while it is resampled: a box of 800 takes 2 GB in 32 bit and 4 in 64. Empty space around the molecule counts as well.",
		not:    "A larger GPU: the map is prepared in RAM.",
		fixes:  []string{"lower_resolution", "add_swap", "raise_memory_limit"},
		source: "model-angelo/README.md",
	}))

	// CryoDRGN learns the variety of particles.
	CryoDRGN = of(program.Program{
		Name: "cryodrgn", Shown: "cryoDRGN", Work: "science", Edits: "flags",
		Proofs:   []string{"cryodrgn/", "cryodrgn train_vae", "(INFO) (dataset.py)", "(INFO) (train_vae.py)", "cryodrgn."},
		Commands: []string{"cryodrgn"},
		Titles:   map[string]string{"lower_batch_size": "Halve the batch size (-b)", "lower_resolution": "Downsample the particles", "stream_dataset": "Read particles when needed (--lazy)", "lower_num_workers": "Use fewer threads"},
		Costs:    map[string]string{"lower_batch_size": "Slower.", "lower_resolution": "Lower resolution; upstream uses 128 for a first run.", "stream_dataset": "Slower, much more so on a slow disk."},
		Steps: steps{
			"lower_batch_size":  say("Lower `-b` (`--batch-size`, default 16; 8 before 3.5.2) to 4 or less."),
			"lower_resolution":  say("Run `cryodrgn downsample particles.mrcs -D 128 -o particles.128.mrcs --chunk 10000`, then train on that file. Half the box side takes a quarter of the memory."),
			"stream_dataset":    say("Add `--lazy` and fewer `--max-threads`, with the stacks on an SSD."),
			"lower_num_workers": say("Use `--max-threads 4`, and no loader workers."),
		},
		Sources: program.Sources{"cryodrgn/cryodrgn/commands/train_vae.py": "--batch-size --lazy --max-threads --multigpu --no-amp", "cryodrgn/cryodrgn/commands/downsample.py": "-D --chunk"},
	}, one(shortage{
		means:  "Memory grows with the batch size and the pixels of a particle: a box of 256 takes four times as much as one of 128. Wide networks (`--enc-dim` and `--dec-dim` 1024, the default) take several times as much as 256.",
		not:    "Fewer particles: they are processed in batches.",
		fixes:  []string{"lower_batch_size", "lower_resolution", "kill_stale_process"},
		source: "cryodrgn/cryodrgn/commands/train_vae.py",
	}), []shortage{{
		id: "lazy", said: []string{"--lazy", "lazy=True"}, source: "cryodrgn/cryodrgn/commands/train_vae.py",
		means: "`--lazy` is on, so the particles stay on disk. What is left are the buffers of the reading threads (`--max-threads`) and loader workers, each with its own copy of the tables, and what else runs on the machine.",
		fixes: []string{"lower_num_workers", "lower_resolution", "raise_memory_limit"},
		done:  []string{"stream_dataset"},
	}, {
		means:  "Without `--lazy` all particles are read into RAM and transformed there: number x box x box x 4 bytes, twice during the transform. 100,000 particles of 256 take 24 GiB, and so do 400,000 of 128.",
		fixes:  []string{"stream_dataset", "lower_resolution", "raise_memory_limit"},
		source: "cryodrgn/README.md",
	}})

	// Topaz picks particles and denoises.
	Topaz = of(program.Program{
		Name: "topaz", Shown: "Topaz", Work: "science", Edits: "flags",
		Proofs:   []string{"topaz/commands/", "topaz/model/", "topaz/denoising/", "topaz/denoise.py", "topaz/extract.py", "topaz train ", "topaz extract ", "topaz denoise "},
		Commands: []string{"topaz"},
		Titles:   map[string]string{"lower_resolution": "Downsample, and use smaller patches", "lower_batch_size": "Lower the minibatch and the workers", "cpu_offload": "Run it on the CPU (-d -1)"},
		Costs:    map[string]string{"lower_resolution": "Slower; edges need padding.", "lower_batch_size": "Slower.", "cpu_offload": "Slower."},
		Steps: steps{
			"lower_resolution": func(c *ledger.Case) []step.Step {
				if c.Training() || c.Near("topaz train ", "topaz/commands/train") {
					return say("Run `topaz downsample -s 8` on the micrographs, and scale the coordinates with them: the networks expect particles of about 20 pixels.")(c)
				}
				return say("Picking: run `topaz downsample -s 8` first, and use `topaz extract -p 1024`. Denoising: smaller patches, `topaz denoise -s 512 -p 128`, `topaz denoise3d -s 64 -p 32` (default 96 and 48), then half of that.")(c)
			},
			"lower_batch_size": say("Use `topaz train --minibatch-size 64 --num-workers 4` (default 256)."),
			"cpu_offload":      say("Add `-d -1`."),
		},
		Sources: program.Sources{"topaz/topaz/commands/denoise.py": "-s -p -d", "topaz/topaz/commands/denoise3d.py": "-s -p", "topaz/topaz/commands/extract.py": "-p --patch-size", "topaz/topaz/commands/train.py": "--minibatch-size --num-workers", "topaz/topaz/commands/downsample.py": "-s"},
	}, []shortage{{
		id: "training", said: []string{"topaz/commands/train", "topaz train "}, source: "topaz/topaz/commands/train.py",
		means: "A minibatch is crops around particles (`--minibatch-size`, default 256). Micrographs that were not downsampled need larger crops and networks.",
		not:   "Fewer micrographs: they are in RAM.",
		fixes: []string{"lower_batch_size", "lower_resolution", "kill_stale_process"},
	}, {
		means:  "`extract` and `segment` score a whole micrograph at once. The denoisers use patches of 1024 with 500 of padding per side, so 2024 x 2024. The usual cause is micrographs that were not downsampled.",
		not:    "Fewer micrographs: they are processed one after another.",
		fixes:  []string{"lower_resolution", "kill_stale_process", "cpu_offload"},
		source: "topaz/topaz/commands/denoise.py",
	}}, one(shortage{
		means:  "`topaz train` loads all training micrographs into RAM at their full size; downsampled by 8 they take a 64th. Each loader worker adds to that.",
		fixes:  []string{"lower_resolution", "lower_batch_size", "raise_memory_limit"},
		source: "topaz/topaz/commands/train.py",
	}))
)
