package field

import "github.com/oomdoc/oomdoc/rules/program"

// Programs for proteins.
var (
	// ESM is the language model for proteins, its scripts and ESM-IF.
	ESM = of(program.Program{
		Name: "esm", Shown: "ESM", Work: "science", Edits: "code",
		Proofs: []string{"esm/model/esm1.py", "esm/model/esm2.py", "esm/modules.py", "esm/multihead_attention.py", "esm/axial_attention.py", "esm/pretrained.py", "esm/inverse_folding/", "esm-extract", "modeling_esm.py", "esm/data.py"},
		Titles: map[string]string{"lower_batch_size": "Fewer residues at once", "lower_context": "Cut long proteins", "use_smaller_model": "A smaller ESM-2", "half_precision": "16 bit"},
		Costs:  map[string]string{"lower_batch_size": "Slower; the same result.", "lower_context": "What is cut off.", "use_smaller_model": "A little accuracy.", "half_precision": "Hardly any."},
		Steps: steps{
			"lower_batch_size":  say("`extract.py` (esm-extract): `--toks_per_batch 1024` (4096 unless set). Your own loop: one sequence at a time under `torch.no_grad()`, results to the CPU (`.cpu()`) at once."),
			"lower_context":     say("`--truncation_seq_length 1022` (its default), or windows of 1022 residues with some overlap: attention grows with the square of the length."),
			"use_smaller_model": say("`esm2_t33_650M_UR50D` (2.6 GB in 32 bit) in place of `t36_3B` (11 GB) or `t48_15B` (60 GB); t30_150M and t12_35M for trials."),
			"half_precision":    python("model = model.half().cuda()   # use only; half of the weights and activations"),
		},
		Sources: program.Sources{"esm/scripts/extract.py": "--toks_per_batch --truncation_seq_length", "esm/README.md": "esm2_t33_650M_UR50D"},
	}, []shortage{{
		id: "contacts", said: []string{"predict_contacts", "return_contacts", "contact_head", "apc(", "MSATransformer", "esm/axial_attention.py"}, source: "esm/esm/modules.py",
		means: "Contacts take the attention maps of all layers and heads at once: layers x heads x length x length, 33 x 20 x L x L x 4 bytes in the 650M model, 2.5 GiB for 1000 residues and four times that for 2000. The MSA Transformer keeps rows x length on top.",
		not:   "A smaller `repr_layers`: the maps are what is large.",
		fixes: []string{"lower_context", "lower_batch_size", "use_smaller_model"},
	}, {
		means:  "Batch x length decide, attention by the square of the length; sequences of a batch are padded to the longest. Weights take 4 bytes a parameter: 2.6 GB for 650M, 11 GB for 3B. In a loop of your own without `torch.no_grad()` every layer is kept for a backward pass.",
		not:    "Fewer sequences in the FASTA file: they run in batches.",
		fixes:  []string{"lower_batch_size", "lower_context", "half_precision", "use_smaller_model"},
		source: "esm/scripts/extract.py",
	}}, one(shortage{
		means:  "A model of 3B takes 11 GB of RAM while it is loaded, 15B 60 GB, before it goes to the card; embeddings of each residue that a loop collects (1280 or 2560 x 4 bytes x length) add up.",
		not:    "A smaller batch.",
		fixes:  []string{"use_smaller_model", "add_swap", "raise_memory_limit"},
		source: "esm/README.md",
	}))

	// ProteinMPNN designs sequences; LigandMPNN is its successor.
	ProteinMPNN = of(program.Program{
		Name: "proteinmpnn", Shown: "ProteinMPNN", Work: "science", Edits: "flags",
		Proofs: []string{"protein_mpnn_run.py", "protein_mpnn_utils.py", "ProteinMPNN/", "LigandMPNN/", "colabdesign/mpnn/"},
		Titles: map[string]string{"lower_batch_size": "One sequence at a time", "lower_context": "Fewer residues", "cpu_offload": "On the CPU"},
		Costs:  map[string]string{"lower_batch_size": "Slower; as many sequences.", "lower_context": "What is left out is not seen.", "cpu_offload": "Slower, seldom by much."},
		Steps: steps{
			"lower_batch_size": say("ProteinMPNN: `--batch_size 1` with `--num_seq_per_target` as before. LigandMPNN: `--batch_size 1 --number_of_batches 8`."),
			"lower_context":    say("Leave out chains and domains far from what is designed: all residues of the file are encoded, also fixed ones."),
			"cpu_offload":      say("Start it with `CUDA_VISIBLE_DEVICES=` (empty) in front."),
		},
		Sources: program.Sources{"ProteinMPNN/protein_mpnn_run.py": "--batch_size --num_seq_per_target --max_length", "LigandMPNN/run.py": "--batch_size --number_of_batches", "https://docs.nvidia.com/cuda/cuda-c-programming-guide/": "CUDA_VISIBLE_DEVICES"},
	}, one(shortage{
		means:  "Batch x residues x 48 neighbours decide; the network has under two million weights, so a usual protein needs well under 2 GB. A full card means a large batch, a complex of thousands of residues, or another program.",
		not:    "Fewer sequences to design (`--num_seq_per_target`) at the same batch.",
		fixes:  []string{"lower_batch_size", "kill_stale_process", "lower_context", "cpu_offload"},
		source: "ProteinMPNN/protein_mpnn_run.py",
	}), nil)

	// RFdiffusion makes backbones.
	RFdiffusion = of(program.Program{
		Name: "rfdiffusion", Shown: "RFdiffusion", Work: "science", Edits: "flags",
		Proofs: []string{"rfdiffusion/", "RFdiffusion/", "contigmap.contigs", "diffuser.T"},
		Titles: map[string]string{"lower_context": "Fewer residues in all", "use_smaller_model": "Crop the target around its hotspots"},
		Costs:  map[string]string{"lower_context": "What is left out is not seen.", "use_smaller_model": "As above."},
		Steps: steps{
			"lower_context":     say("Target and new chain count together: a smaller design (`'contigmap.contigs=[A1-120/0 70-70]'`: only the residues named of chain A). Under about 400 in all suits 8 to 12 GB."),
			"use_smaller_model": say("Cut the target's PDB to the domain around `ppi.hotspot_res`, with some 10 A of its surroundings, before you start."),
		},
		Sources: program.Sources{"RFdiffusion/config/inference/base.yaml": "contigmap.contigs ppi.hotspot_res inference.num_designs diffuser.T"},
	}, one(shortage{
		means:  "The length decides: target and designed residues together, as pairs, so memory grows with the square of their number and more. Designs and steps run one after another in the same memory.",
		not:    "Fewer designs (`inference.num_designs`) or steps (`diffuser.T`).",
		fixes:  []string{"lower_context", "use_smaller_model", "kill_stale_process", "bigger_gpu"},
		source: "RFdiffusion/README.md",
	}), nil)

	// OmegaFold folds without an alignment.
	OmegaFold = of(program.Program{
		Name: "omegafold", Shown: "OmegaFold", Work: "science", Edits: "flags",
		Proofs:   []string{"omegafold/", "omegafold INPUT", "INFO:root:Failed to generate"},
		Commands: []string{"omegafold"},
		Titles:   map[string]string{"lower_ubatch": "Compute in smaller pieces", "lower_context": "A shorter construct", "lower_batch_size": "Fewer pseudo sequences"},
		Costs:    map[string]string{"lower_ubatch": "Slower; the same result.", "lower_context": "Contacts to what is left out.", "lower_batch_size": "Some accuracy."},
		Steps: steps{
			"lower_ubatch":     say("Add `--subbatch_size 256`, then 128, 64 ... : the smaller the less memory (448 was upstream's for 4096 residues on 80 GB)."),
			"lower_context":    say("Domains one by one, without tails: memory grows with the square of the length and more."),
			"lower_batch_size": say("Add `--num_pseudo_msa 7` (15 unless set)."),
		},
		Sources: program.Sources{"OmegaFold/omegafold/pipeline.py": "--subbatch_size --num_pseudo_msa --num_cycle"},
	}, one(shortage{
		means:  "The length decides: pairs of residues grow with its square, and attention over them with its cube unless it is cut into pieces, which `--subbatch_size` does. Without the option a sequence is computed whole.",
		not:    "Fewer cycles (`--num_cycle`): they run one after another.",
		fixes:  []string{"lower_ubatch", "lower_context", "kill_stale_process", "bigger_gpu"},
		source: "OmegaFold/README.md",
	}), nil)

	// Protenix is an open reproduction of AlphaFold 3.
	Protenix = of(program.Program{
		Name: "protenix", Shown: "Protenix", Work: "science", Edits: "flags",
		Proofs:   []string{"protenix/", "Protenix/runner/", "protenix pred", "protenix.model"},
		Commands: []string{"protenix"},
		Titles:   map[string]string{"lower_context": "Fewer tokens", "lower_parallel": "One sample at a time", "half_precision": "bf16 throughout", "lower_batch_size": "Fewer sequences of the MSA"},
		Costs:    map[string]string{"lower_context": "Contacts to what is left out.", "lower_parallel": "More runs.", "half_precision": "Hardly any."},
		Steps: steps{
			"lower_context":  say("Leave out tails and chains that do not touch: all residues, bases and ligand atoms are tokens, and pairs of them grow with the square."),
			"lower_parallel": say("`protenix pred --sample 1` with more `--seeds` in place of 5 samples (runner/inference.py: `--sample_diffusion.N_sample 1`)."),
			"half_precision": say("`--dtype bf16`, its default; not `fp32`."),
		},
		Sources: program.Sources{"Protenix/runner/batch_inference.py": "--sample --seeds --dtype --cycle", "Protenix/docs/training_inference_instructions.md": "--sample_diffusion.N_sample --sample_diffusion"},
	}, one(shortage{
		means:  "Tokens decide: residues, bases and atoms of ligands together. Their pairs grow with the square, triangle attention with the cube unless it is cut into chunks, which Protenix does by itself for long inputs.",
		not:    "Fewer cycles or steps: they run one after another in the same memory.",
		fixes:  []string{"lower_context", "lower_parallel", "half_precision", "bigger_gpu"},
		source: "Protenix/docs/training_inference_instructions.md",
	}), nil)

	// DiffDock docks ligands; it begins with ESM.
	DiffDock = of(program.Program{
		Name: "diffdock", Shown: "DiffDock", Work: "science", Edits: "flags",
		Proofs: []string{"DiffDock/", "diffdock/", "models/score_model.py", "models/cg_model.py", "models/aa_model.py", "Generating ESM language model embeddings"},
		Titles: map[string]string{"lower_batch_size": "Fewer poses at once", "lower_context": "A smaller protein", "stream_dataset": "Embeddings in advance"},
		Costs:  map[string]string{"lower_batch_size": "Slower; as many poses.", "lower_context": "Pockets that are cut off.", "stream_dataset": "A step of its own."},
		Steps: steps{
			"lower_batch_size": say("`--batch_size 2` (10 unless set, in default_inference_args.yaml too) with `--samples_per_complex` as before: poses of one complex are made together."),
			"lower_context":    say("Cut the PDB to the chains and domains around the pocket; a protein above 1000 residues needs far more."),
			"stream_dataset":   say("It fails at \"Generating ESM language model embeddings\": make them once with esm's scripts/extract.py (`--truncation_seq_length 1022`, or on the CPU with `--nogpu`) and give their folder (`--esm_embeddings_path`)."),
		},
		Sources: program.Sources{"DiffDock/inference.py": "--batch_size --samples_per_complex", "DiffDock/README.md": "--truncation_seq_length --esm_embeddings_path", "esm/scripts/extract.py": "--nogpu"},
	}, one(shortage{
		means:  "Poses x (atoms x residues within the cut-off) decide: `batch_size` poses of one complex are moved together, each with its own graph to the protein. Before that ESM-2 (2.6 GB) runs on the whole sequence.",
		not:    "Fewer steps (`--inference_steps`): they run one after another.",
		fixes:  []string{"lower_batch_size", "lower_context", "kill_stale_process", "stream_dataset"},
		source: "DiffDock/inference.py",
	}), nil)

	// ModelAngelo builds atoms into maps.
	ModelAngelo = of(program.Program{
		Name: "model-angelo", Shown: "ModelAngelo", Work: "science", Edits: "flags",
		Proofs:   []string{"model_angelo/", "model_angelo build", "ModelAngelo"},
		Commands: []string{"model_angelo"},
		Titles:   map[string]string{"select_gpu": "A card that is empty", "lower_resolution": "A smaller box", "cpu_offload": "On the CPU"},
		Costs:    map[string]string{"select_gpu": "None.", "lower_resolution": "None if it is empty space.", "cpu_offload": "Much slower."},
		Steps: steps{
			"select_gpu":       say("`--device 1` (the number of the card; `--device 0,1` for two)."),
			"lower_resolution": say("Crop the map to the molecule (RELION: `relion_image_handler --new_box`, ChimeraX: `volume resample` on a cropped box) and use a mask (`--mask-path`)."),
			"cpu_offload":      say("`--device cpu`."),
		},
		Sources: program.Sources{"model-angelo/model_angelo/apps/build.py": "--device --mask-path", "relion/src/apps/image_handler.cpp": "--new_box"},
	}, one(shortage{
		means:  "It needs 8 GB or more free: ESM (the 650M language model, 2.6 GB) reads the sequences, then residues of the map are worked on in pieces of a fixed size. What grows is the sequence length and the number of residues; other jobs (RELION, cryoSPARC) on the card are the usual matter.",
		not:    "A smaller FASTA file alone.",
		fixes:  []string{"select_gpu", "kill_stale_process", "lower_resolution", "cpu_offload"},
		source: "model-angelo/README.md",
	}), nil)

	// CryoDRGN learns the variety of particles.
	CryoDRGN = of(program.Program{
		Name: "cryodrgn", Shown: "cryoDRGN", Work: "science", Edits: "flags",
		Proofs:   []string{"cryodrgn/", "cryodrgn train_vae", "(INFO) (dataset.py)", "(INFO) (train_vae.py)", "cryodrgn."},
		Commands: []string{"cryodrgn"},
		Titles:   map[string]string{"lower_batch_size": "Smaller batches", "lower_resolution": "Downsample the particles", "stream_dataset": "Read the particles as they are needed"},
		Costs:    map[string]string{"lower_batch_size": "Slower.", "lower_resolution": "Resolution; 128 is upstream's for a first run.", "stream_dataset": "Slower, much so on a slow disk."},
		Steps: steps{
			"lower_batch_size": say("`-b 4` (`--batch-size`, 8 unless set)."),
			"lower_resolution": say("`cryodrgn downsample particles.mrcs -D 128 -o particles.128.mrcs --chunk 10000`, then train on those: half of the box is a quarter of the memory."),
			"stream_dataset":   say("Add `--lazy`, and fewer `--max-threads`; with stacks on an SSD."),
		},
		Sources: program.Sources{"cryodrgn/cryodrgn/commands/train_vae.py": "--batch-size --lazy --max-threads --multigpu --no-amp", "cryodrgn/cryodrgn/commands/downsample.py": "-D --chunk"},
	}, one(shortage{
		means:  "Batch x pixels of a particle decide: each pixel is one evaluation of the decoder, so a box of 256 takes four times one of 128, and wider networks (`--enc-dim 1024 --dec-dim 1024`) four times those of 256.",
		not:    "Fewer particles: they go through in batches.",
		fixes:  []string{"lower_batch_size", "lower_resolution", "kill_stale_process", "multi_gpu"},
		source: "cryodrgn/cryodrgn/commands/train_vae.py",
	}), one(shortage{
		means:  "All particles are read into RAM and transformed there, unless `--lazy` is given: number x box x box x 4 bytes, twice while they are transformed. 100,000 of 256 are 24 GiB, and so are 400,000 of 128.",
		not:    "A smaller batch: it is about the card.",
		fixes:  []string{"stream_dataset", "lower_resolution", "raise_memory_limit"},
		source: "cryodrgn/README.md",
	}))

	// Topaz picks particles and denoises.
	Topaz = of(program.Program{
		Name: "topaz", Shown: "Topaz", Work: "science", Edits: "flags",
		Proofs:   []string{"topaz/commands/", "topaz/model/", "topaz/denoising/", "topaz/denoise.py", "topaz/extract.py", "topaz train ", "topaz extract ", "topaz denoise "},
		Commands: []string{"topaz"},
		Titles:   map[string]string{"lower_resolution": "Smaller patches", "lower_batch_size": "A smaller minibatch, fewer workers", "cpu_offload": "On the CPU"},
		Costs:    map[string]string{"lower_resolution": "Slower; edges need padding.", "lower_batch_size": "Slower.", "cpu_offload": "Slower."},
		Steps: steps{
			"lower_resolution": say("`topaz denoise -s 512 -p 128`, `topaz denoise3d -s 64 -p 32` (96 and 48 unless set), `topaz extract -p 1024`; and downsample first (`topaz downsample -s 8`: particles of about 20 pixels are what the networks expect)."),
			"lower_batch_size": say("`topaz train --minibatch-size 64` (256 unless set) `--num-workers 4`."),
			"cpu_offload":      say("`-d -1`."),
		},
		Sources: program.Sources{"topaz/topaz/commands/denoise.py": "-s -p -d", "topaz/topaz/commands/denoise3d.py": "-s -p", "topaz/topaz/commands/extract.py": "-p --patch-size", "topaz/topaz/commands/train.py": "--minibatch-size --num-workers", "topaz/topaz/commands/downsample.py": "-s"},
	}, one(shortage{
		means:  "Pixels decide: `extract` and `segment` score a whole micrograph at once, and the denoisers patches of 1024 with 500 of padding on each side, so 2024 x 2024 in truth. Micrographs that were not downsampled are the usual matter.",
		not:    "Fewer micrographs: they go one after another.",
		fixes:  []string{"lower_resolution", "lower_batch_size", "kill_stale_process", "cpu_offload"},
		source: "topaz/topaz/commands/denoise.py",
	}), one(shortage{
		means:  "`topaz train` loads all training micrographs into RAM, as they are: downsampled by 8 they take a 64th. Each worker of the loader has more.",
		not:    "A smaller minibatch.",
		fixes:  []string{"lower_resolution", "lower_batch_size", "raise_memory_limit"},
		source: "topaz/topaz/commands/train.py",
	}))
)
