package field

import "github.com/oomdoc/oomdoc/rules/program"

// replay is what agents that learn from memory have in common.
const replay = "The replay buffer usually takes most: steps kept x bytes of an observation, twice that if the next observation is kept as well. A million frames of 84 x 84 x 4 take 26.3 GiB, or 52.6 with the next ones. It is reserved at the start and filled step by step, so it can fail at the start or hours later."

// bufferTitle and bufferCosts word its fixes.
var (
	bufferTitle = map[string]string{"lower_batch_size": "Lower the size of the replay buffer", "half_precision": "Keep frames as bytes, and each once", "lower_num_workers": "Run fewer environments", "lower_resolution": "Use smaller observations", "cpu_offload": "Keep the replay buffer in RAM"}
	bufferCosts = map[string]string{"lower_batch_size": "Learns from fewer old steps.", "half_precision": "None.", "lower_num_workers": "Slower.", "lower_resolution": "Less detail.", "cpu_offload": "A copy for each batch."}
)

// Trainers of agents.
var (
	CleanRL = of(program.Program{
		Name: "cleanrl", Shown: "CleanRL", Work: "data", Edits: "flags", Titles: bufferTitle, Costs: bufferCosts,
		Proofs: []string{"cleanrl/", "cleanrl_utils/", "dqn_atari.py", "sac_continuous_action.py", "ppo_atari_envpool.py", "c51_atari.py", "sac_atari.py", "rainbow_atari.py", "ppg_procgen.py"},
		Steps: steps{
			"lower_batch_size":  say("Add `--buffer-size 200000` to your command (default a million for Atari): four frames of 84 x 84 take about 28 KB per step, so 5.3 GiB (10.5 where the next ones are kept too)."),
			"half_precision":    say("Set `optimize_memory_usage=True, handle_timeout_termination=False` in the call of `ReplayBuffer`, as dqn_atari.py and c51_atari.py do: the next observations are not kept twice."),
			"lower_num_workers": say("PPO: lower `--num-envs` or `--num-steps` (steps of all environments are on the card until the update), and raise `--num-minibatches`."),
			"lower_resolution":  say("Frames of 84 x 84, grey, as bytes (uint8), scaled in the network."),
		},
		Sources: program.Sources{"cleanrl/cleanrl/dqn_atari.py": "--buffer-size optimize_memory_usage", "cleanrl/cleanrl/ppo_atari.py": "--num-envs --num-steps --num-minibatches"},
	}, one(shortage{
		means:  "The networks are small. PPO keeps num_envs x num_steps observations on the card and learns from one of `--num-minibatches` parts at a time.",
		fixes:  []string{"kill_stale_process", "lower_num_workers", "lower_resolution"},
		source: "cleanrl/cleanrl/ppo_atari.py",
	}), []shortage{
		{id: "frames", said: []string{"dqn_atari.py", "c51_atari.py"}, means: "The replay buffer usually takes most: a million frames of 84 x 84 x 4 bytes are 26.3 GiB. Since February 2022 these scripts keep each observation once (`optimize_memory_usage=True`).", fixes: []string{"lower_batch_size", "raise_pagefile", "add_swap", "close_other_apps"}, source: "cleanrl/cleanrl/dqn_atari.py"},
		{means: replay, fixes: []string{"lower_batch_size", "half_precision", "add_swap"}, source: "cleanrl/cleanrl/dqn_atari.py"},
	})

	Tianshou = of(program.Program{
		Name: "tianshou", Shown: "Tianshou", Work: "data", Edits: "code", Titles: bufferTitle, Costs: bufferCosts,
		Proofs: []string{"tianshou/"},
		Steps: steps{
			"lower_batch_size":  python("buffer = VectorReplayBuffer(100_000, buffer_num=len(train_envs), ignore_obs_next=True,\n                            save_only_last_obs=True, stack_num=4)   # each frame once instead of four times, and no next ones"),
			"half_precision":    say("Use environments that return bytes (uint8), scaled in the network, and `save_only_last_obs=True` for stacked frames."),
			"lower_num_workers": say("Lower `training_num` and `test_num` (each SubprocVectorEnv is a process with the program in it), or use `DummyVectorEnv`."),
			"lower_resolution":  say("Frames of 84 x 84, grey."),
		},
		Sources: program.Sources{"tianshou/tianshou/data/buffer/buffer_base.py": "ignore_obs_next save_only_last_obs stack_num"},
	}, one(shortage{
		means:  "The batch goes to the card at once. On-policy agents compute values of everything collected in one go (`step_per_collect` x environments), in parts of `max_batchsize`.",
		not:    "A smaller replay buffer: it is in RAM.",
		fixes:  []string{"kill_stale_process", "lower_num_workers", "lower_resolution"},
		source: "tianshou/tianshou/data/buffer/buffer_base.py",
	}), one(shortage{means: replay, fixes: []string{"lower_batch_size", "half_precision", "lower_num_workers", "lower_resolution"}, source: "tianshou/tianshou/data/buffer/buffer_base.py"}))

	Dreamer = of(program.Program{
		Name: "dreamerv3", Shown: "DreamerV3", Work: "data", Edits: "flags",
		Titles: map[string]string{"lower_batch_size": "Lower the size of the replay buffer (--replay.size)", "use_smaller_model": "Use a smaller model (size12m)", "lower_context": "Use smaller and shorter batches", "limit_framework_preallocation": "Turn off JAX's preallocation", "lower_num_workers": "Run fewer environments"},
		Costs:  map[string]string{"lower_batch_size": "Learns from fewer old steps.", "use_smaller_model": "Learns more slowly in hard tasks.", "lower_context": "Noisier steps.", "limit_framework_preallocation": "A little speed.", "lower_num_workers": "Slower."},
		Proofs: []string{"dreamerv3/", "dreamerv3.main", "embodied/"},
		Steps: steps{
			"lower_batch_size":              say("`--replay.size 1e6` (default 5e6)."),
			"limit_framework_preallocation": say("`--jax.prealloc False` if several runs share a card: JAX takes 75 % of it otherwise."),
			"use_smaller_model":             say("`--configs defaults size12m` (with your own task's name): 12 million weights instead of 200."),
			"lower_context":                 say("`--batch_size 8 --batch_length 32` (default 16 and 64)."),
			"lower_num_workers":             say("`--run.envs 4`: each is a process."),
		},
		Sources: program.Sources{"dreamerv3/dreamerv3/configs.yaml": "--replay.size --replay --jax.prealloc --jax --configs --batch_size --batch_length --run.envs --run"},
	}, one(shortage{
		means:  "Memory grows with batch_size x batch_length x the size of the model, in one compiled step. Newer versions default to the 200M model, made for cards of 16 GB and more.",
		not:    "A smaller replay buffer: it is in RAM.",
		fixes:  []string{"use_smaller_model", "lower_context", "limit_framework_preallocation", "kill_stale_process"},
		source: "dreamerv3/dreamerv3/configs.yaml",
	}), one(shortage{means: "The replay buffer usually takes most: up to `replay.size` steps (default 5 million) x an observation. Frames of 64 x 64 x 3 are 12 KB, so 57 GiB when it is full, beside the processes of the environments. It grows for hours.", fixes: []string{"lower_batch_size", "lower_num_workers", "add_swap"}, source: "dreamerv3/dreamerv3/configs.yaml"}))

	MuZero = of(program.Program{
		Name: "muzero-general", Shown: "MuZero General", Work: "data", Edits: "code", Titles: bufferTitle, Costs: bufferCosts,
		Proofs: []string{"muzero-general/", "self_play.py", "muzero.py"},
		Steps: steps{
			"lower_batch_size":  say("`self.replay_buffer_size = 500` in games/*.py: it counts whole games (atari.py: a million)."),
			"lower_num_workers": say("In games/*.py: `self.num_workers = 1` (atari.py: 350; each is a process with its own network), and `self.selfplay_on_gpu = False`."),
			"lower_resolution":  say("In games/*.py: `self.batch_size = 64`, `self.stacked_observations = 4` (atari.py: 32), a smaller `observation_shape`, fewer `channels` and `blocks`."),
		},
		Sources: program.Sources{"muzero-general/games/atari.py": "replay_buffer_size num_workers selfplay_on_gpu stacked_observations batch_size"},
	}, one(shortage{
		means:  "The trainer's memory grows with batch x stacked observations x unroll steps. Each self-play worker on the card has its own network and a CUDA context of 300 to 500 MiB.",
		not:    "A smaller replay buffer: it is in RAM.",
		fixes:  []string{"lower_num_workers", "lower_resolution", "kill_stale_process"},
		source: "muzero-general/games/atari.py",
	}), one(shortage{means: "Each worker is a Ray process with Python, PyTorch and a network (0.5 to 1 GB), and the replay buffer keeps `replay_buffer_size` whole games with all observations. The settings of atari.py are the paper's, for a data centre.", fixes: []string{"lower_num_workers", "lower_batch_size", "lower_resolution"}, source: "muzero-general/games/atari.py"}))

	LeggedGym = of(program.Program{
		Name: "legged-gym", Shown: "legged_gym", Work: "science", Edits: "flags",
		Proofs: []string{"legged_gym/", "rsl_rl/", "unitree_rl_gym/", "humanoid-gym/"},
		Titles: map[string]string{"lower_batch_size": "Lower the number of environments (--num_envs)", "lower_context": "Use shorter rollouts and more mini-batches", "lower_resolution": "Use a smaller terrain, and no camera", "restart_session": "Close the viewer and other simulations"},
		Costs:  map[string]string{"lower_batch_size": "Slower learning.", "lower_context": "Noisier steps.", "lower_resolution": "Less variety.", "restart_session": "None."},
		Steps: steps{
			"lower_batch_size": say("`--num_envs 1024` (default 4096) and `--headless`; halve it again if needed."),
			"lower_context":    say("In the config: `num_steps_per_env = 16` (default 24), `num_mini_batches = 8` (default 4). The update works on num_envs x steps / mini-batches at once."),
			"lower_resolution": say("In the config: `terrain.mesh_type = 'plane'`, or fewer `num_rows` and `num_cols`. Without measured heights the observation is a fifth."),
			"restart_session":  say("`nvidia-smi` shows runs that did not end: a simulation keeps its buffers until its process is gone."),
		},
		Sources: program.Sources{"legged_gym/legged_gym/utils/helpers.py": "--num_envs --headless", "legged_gym/legged_gym/envs/base/legged_robot_config.py": "num_steps_per_env num_mini_batches mesh_type num_rows num_cols"},
	}, one(shortage{
		means:  "Physics, contacts and terrain of all environments are on the card beside PyTorch (PhysX's buffers do not show in PyTorch's figures), plus num_envs x num_steps_per_env observations.",
		fixes:  []string{"lower_batch_size", "kill_stale_process", "lower_context", "lower_resolution"},
		source: "legged_gym/legged_gym/envs/base/legged_robot_config.py",
	}), nil)

	RLGames = of(program.Program{
		Name: "rl_games", Shown: "rl_games", Work: "science", Edits: "flags",
		Proofs: []string{"rl_games/"},
		Titles: map[string]string{"lower_batch_size": "Lower the number of environments (num_envs)", "lower_context": "Use smaller minibatches or a shorter horizon"},
		Costs:  map[string]string{"lower_batch_size": "Slower learning.", "lower_context": "Noisier steps."},
		Steps: steps{
			"lower_batch_size": say("IsaacGymEnvs: `num_envs=1024` at the end of the command. Isaac Lab: `--num_envs 1024 --headless`. Elsewhere: a smaller `num_actors` in the YAML."),
			"lower_context":    say("A smaller `train.params.config.minibatch_size`, such as 4096 (it must divide num_actors x horizon_length), and a shorter `horizon_length`."),
		},
		Sources: program.Sources{"rl_games/README.md": "minibatch_size horizon_length num_actors", "IsaacLab/scripts/reinforcement_learning/rl_games/train.py": "--num_envs --headless"},
	}, one(shortage{
		means:  "num_actors x horizon_length observations are on the card, beside the simulation of all environments, and the update works on `minibatch_size` of them. Images as observations multiply all of it.",
		fixes:  []string{"lower_batch_size", "lower_context", "kill_stale_process"},
		source: "rl_games/README.md",
	}), nil)

	ScVI = of(program.Program{
		Name: "scvi-tools", Work: "science", Edits: "code",
		Proofs: []string{"scvi/model/", "scvi/module/", "scvi/train/", "scvi/dataloaders/", "scvi/external/", "scvi/data/"},
		Titles: map[string]string{"lower_batch_size": "Lower the batch size", "use_smaller_model": "Use fewer genes (highly variable ones)", "fix_shape": "Ask for fewer genes and one sample", "half_precision": "Keep the counts sparse"},
		Costs:  map[string]string{"lower_batch_size": "Slower.", "use_smaller_model": "Genes that hardly vary are left out.", "fix_shape": "Only those genes.", "half_precision": "None."},
		Steps: steps{
			"lower_batch_size":  python("model.train(batch_size=64)   # default 128; also get_latent_representation(batch_size=...) and the like"),
			"use_smaller_model": python("sc.pp.highly_variable_genes(adata, n_top_genes=3000, flavor=\"seurat_v3\", layer=\"counts\", subset=True)   # before setup_anndata"),
			"fix_shape":         python("expr = model.get_normalized_expression(gene_list=genes, n_samples=1, return_numpy=True)   # genes: your own list; cells in parts by indices="),
			"half_precision":    python("adata.layers[\"counts\"] = scipy.sparse.csr_matrix(adata.layers[\"counts\"], dtype=\"float32\")"),
		},
		Sources: program.Sources{"scvi-tools/src/scvi/model/base/_rnamixin.py": "batch_size gene_list n_samples return_numpy", "scvi-tools/src/scvi/_settings.py": "batch_size"},
	}, one(shortage{
		means:  "Memory grows with batch x genes (for peaks: regions), in the first and last layer. 128 cells x 20,000 genes is small, so another program on the card, 100,000s of peaks or a large `n_samples` are the usual cause.",
		not:    "Fewer cells: they go through in batches.",
		fixes:  []string{"lower_batch_size", "kill_stale_process", "use_smaller_model"},
		source: "scvi-tools/src/scvi/_settings.py",
	}), one(shortage{
		means:  "Normalised expression, imputation and differential tests make cells x genes as dense numbers, times `n_samples`: 100,000 x 20,000 x 4 bytes are 7.45 GiB, and the returned frame is a copy. The counts are small while they stay sparse.",
		fixes:  []string{"fix_shape", "use_smaller_model", "half_precision", "add_swap"},
		source: "scvi-tools/src/scvi/model/base/_rnamixin.py",
	}))

	ScGPT = of(program.Program{
		Name: "scgpt", Shown: "scGPT", Work: "science", Edits: "code",
		Proofs: []string{"scgpt/", "scGPT/"},
		Titles: map[string]string{"lower_batch_size": "Lower the batch size", "lower_context": "Use fewer genes per cell (max_length)", "efficient_attention": "Use fused attention (flash-attn)"},
		Costs:  map[string]string{"lower_batch_size": "Slower.", "lower_context": "Weakly expressed genes are left out.", "efficient_attention": "flash-attn below 2 must be built."},
		Steps: steps{
			"lower_batch_size":    python("scg.tasks.embed_data(adata, model_dir, batch_size=16)   # default 64; in the examples: config.batch_size"),
			"lower_context":       say("`max_length=600` (default 1200), or 1200 highly variable genes instead of 3000: each gene is a token, and attention grows with their square."),
			"efficient_attention": say("`use_fast_transformer=True` with flash-attn 1.0.x installed; without it each layer holds the full score matrix."),
		},
		Sources: program.Sources{"scGPT/scgpt/tasks/cell_emb.py": "batch_size max_length use_fast_transformer"},
	}, one(shortage{
		means:  "Each gene is a token: memory grows with cells of a batch x genes squared x heads x layers, unless attention is fused. 64 cells of 3000 genes need several times what 1200 genes need.",
		not:    "Fewer cells: they go through in batches.",
		fixes:  []string{"lower_batch_size", "lower_context", "efficient_attention", "kill_stale_process"},
		source: "scGPT/scgpt/tasks/cell_emb.py",
	}), nil)

	Basecaller = of(program.Program{
		Name: "basecaller", Shown: "The basecaller", Work: "science", Edits: "flags",
		Proofs:   []string{"bonito/", "medaka/", "dorado basecaller", "dorado duplex", "dorado/", "[dorado]", "guppy_basecaller", "medaka_consensus", "DoradoBasecaller"},
		Commands: []string{"dorado", "bonito", "medaka", "medaka_consensus", "guppy_basecaller"},
		Titles:   map[string]string{"lower_batch_size": "Lower the batch size", "use_smaller_model": "Use a faster model (hac, fast)", "cpu_offload": "Run it on the CPU"},
		Costs:    map[string]string{"lower_batch_size": "Slower; the same calls.", "use_smaller_model": "Less accuracy.", "cpu_offload": "Much slower."},
		Steps: steps{
			"lower_batch_size":  say("`dorado basecaller --batchsize 64` (`-b`; automatic by default), less for duplex and `--modified-bases`. `bonito basecaller --batchsize 64`; `bonito train --batch 16 --grad-accum-split 4`. `medaka_consensus -b 50` (default 100). Guppy: `--gpu_runners_per_device 2 --chunks_per_runner 128`."),
			"use_smaller_model": say("`hac` or `fast` instead of `sup`, the most accurate model, which takes several times the memory."),
			"cpu_offload":       say("medaka: put `CUDA_VISIBLE_DEVICES=` in front. dorado: `-x cpu`, with fast models only."),
		},
		Sources: program.Sources{"dorado/dorado/cli/cli_lib/basecaller.cpp": "--batchsize -b -x --modified-bases", "bonito/bonito/cli/basecaller.py": "--batchsize", "bonito/bonito/cli/train.py": "--batch --grad-accum-split", "medaka/scripts/medaka_consensus": "-b CUDA_VISIBLE_DEVICES", "https://community.nanoporetech.com/docs/prepare/library_prep_protocols/Guppy-protocol": "--gpu_runners_per_device --chunks_per_runner"},
	}, one(shortage{
		means:  "Memory grows with the batch of signal chunks and the model (fast, hac, sup in rising order). Dorado measures what is free when it starts, so a program that takes memory later (MinKNOW, a second caller, the desktop) makes it fail in the middle.",
		not:    "Fewer reads: they go through in batches.",
		fixes:  []string{"lower_batch_size", "kill_stale_process", "use_smaller_model", "cpu_offload"},
		source: "bonito/bonito/cli/basecaller.py",
	}), one(shortage{
		means:  "Reads wait in RAM between disk, card and writer. Alignment also holds its index (`--reference`: 12 GB and more for human), and duplex the pairs of reads.",
		fixes:  []string{"lower_batch_size", "raise_memory_limit", "add_swap"},
		source: "dorado/dorado/cli/cli_lib/basecaller.cpp",
	}))
)
