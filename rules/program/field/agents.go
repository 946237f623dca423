package field

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// replay is what agents that learn from memory have in common.
const replay = "The replay buffer usually takes the most: steps x bytes per observation, twice that if the next observation is kept as well. A million frames of 84 x 84 x 4 bytes take 26.3 GiB, or 52.6 with the next ones. It fills step by step, so it can fail at the start or hours later."

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
			"lower_batch_size":  say("Lower `--buffer-size` (the Atari default is a million). One step of four 84 x 84 frames takes about 28 KB: 200,000 steps are 5.3 GiB, or 10.5 if the next frames are kept too."),
			"half_precision":    say("Set `optimize_memory_usage=True, handle_timeout_termination=False` where `ReplayBuffer` is created, as dqn_atari.py and c51_atari.py do. Each frame is then kept once."),
			"lower_num_workers": say("For PPO lower `--num-envs` or `--num-steps`, and raise `--num-minibatches`: all steps of all environments stay on the GPU until the update."),
			"lower_resolution":  say("Use grey 84 x 84 frames as bytes (uint8), and scale them in the network."),
		},
		Sources: program.Sources{"cleanrl/cleanrl/dqn_atari.py": "--buffer-size optimize_memory_usage", "cleanrl/cleanrl/ppo_atari.py": "--num-envs --num-steps --num-minibatches"},
	}, one(shortage{
		means:  "The networks are small. PPO keeps the observations of num_envs x num_steps on the GPU, and learns from one of `--num-minibatches` parts at a time.",
		fixes:  []string{"kill_stale_process", "lower_num_workers", "lower_resolution"},
		source: "cleanrl/cleanrl/ppo_atari.py",
	}), []shortage{
		{id: "frames", said: []string{"dqn_atari.py", "c51_atari.py"}, means: "The replay buffer usually takes the most: a million frames of 84 x 84 x 4 bytes are 26.3 GiB. Since February 2022 these scripts keep each frame once (`optimize_memory_usage=True`).", fixes: []string{"lower_batch_size", "raise_pagefile", "add_swap", "close_other_apps"}, source: "cleanrl/cleanrl/dqn_atari.py"},
		{means: replay, fixes: []string{"lower_batch_size", "half_precision", "add_swap"}, source: "cleanrl/cleanrl/dqn_atari.py"},
	})

	Tianshou = of(program.Program{
		Name: "tianshou", Shown: "Tianshou", Work: "data", Edits: "code", Titles: bufferTitle, Costs: bufferCosts,
		Proofs: []string{"tianshou/"},
		Steps: steps{
			"lower_batch_size":  python("buffer = VectorReplayBuffer(100_000, buffer_num=len(train_envs), ignore_obs_next=True,\n                            save_only_last_obs=True, stack_num=4)   # each frame once instead of four times, and no next ones"),
			"half_precision":    say("Use environments that return bytes (uint8), scale them in the network, and set `save_only_last_obs=True` for stacked frames."),
			"lower_num_workers": say("Lower `training_num` and `test_num` (each SubprocVectorEnv is a separate process), or use `DummyVectorEnv`."),
			"lower_resolution":  say("Use grey 84 x 84 frames."),
		},
		Sources: program.Sources{"tianshou/tianshou/data/buffer/buffer_base.py": "ignore_obs_next save_only_last_obs stack_num"},
	}, one(shortage{
		means:  "The whole batch goes to the GPU at once. On-policy agents compute values of everything collected at once (`step_per_collect`), in parts of `max_batchsize`.",
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
			"limit_framework_preallocation": say("Add `--jax.prealloc False` if several runs share a GPU: otherwise JAX takes 75 % of it."),
			"use_smaller_model":             say("Add `--configs defaults size12m` (plus your own task's name): 12 million weights instead of 200 million."),
			"lower_context":                 say("`--batch_size 8 --batch_length 32` (default 16 and 64)."),
			"lower_num_workers":             say("Add `--run.envs 4`: each environment is a process."),
		},
		Sources: program.Sources{"dreamerv3/dreamerv3/configs.yaml": "--replay.size --replay --jax.prealloc --jax --configs --batch_size --batch_length --run.envs --run"},
	}, []shortage{{
		id: "small", said: []string{"size12m", "size1m"}, done: []string{"use_smaller_model"}, source: "dreamerv3/dreamerv3/configs.yaml",
		means: "The model is a small one already. What is left grows with batch_size x batch_length and the size of the images; other runs on the GPU, of which JAX takes 75 %, come on top.",
		not:   "A smaller replay buffer: it is in RAM.",
		fixes: []string{"lower_context", "limit_framework_preallocation", "kill_stale_process"},
	}, {
		means:  "Memory grows with batch_size x batch_length x model size. Newer versions use the 200M model by default, which needs a GPU with 16 GB or more.",
		not:    "A smaller replay buffer: it is in RAM.",
		fixes:  []string{"use_smaller_model", "lower_context", "limit_framework_preallocation", "kill_stale_process"},
		source: "dreamerv3/dreamerv3/configs.yaml",
	}}, one(shortage{means: "The replay buffer usually takes the most: up to `replay.size` steps (default 5 million). With frames of 64 x 64 x 3 (12 KB) that is 57 GiB when it is full, after hours. The environments' processes come on top.", fixes: []string{"lower_batch_size", "lower_num_workers", "add_swap"}, source: "dreamerv3/dreamerv3/configs.yaml"}))

	MuZero = of(program.Program{
		Name: "muzero-general", Shown: "MuZero General", Work: "data", Edits: "code", Titles: bufferTitle, Costs: bufferCosts,
		Proofs: []string{"muzero-general/", "self_play.py", "muzero.py"},
		Steps: steps{
			"lower_batch_size":  say("Set `self.replay_buffer_size = 500` in `games/*.py`. It counts whole games (atari.py: a million)."),
			"lower_num_workers": say("In `games/*.py` set `self.num_workers = 1` (atari.py: 350; each is a process with its own network) and `self.selfplay_on_gpu = False`."),
			"lower_resolution":  say("In `games/*.py` set `self.batch_size = 64`, `self.stacked_observations = 4` (atari.py: 32), a smaller `observation_shape`, and fewer `channels` and `blocks`."),
		},
		Sources: program.Sources{"muzero-general/games/atari.py": "replay_buffer_size num_workers selfplay_on_gpu stacked_observations batch_size"},
	}, one(shortage{
		means:  "The trainer's memory grows with batch x stacked observations x unroll steps. Each self-play worker on the GPU adds its own network and a CUDA context of 300 to 500 MiB.",
		not:    "A smaller replay buffer: it is in RAM.",
		fixes:  []string{"lower_num_workers", "lower_resolution", "kill_stale_process"},
		source: "muzero-general/games/atari.py",
	}), one(shortage{means: "Each worker is a process with Python, PyTorch and a network (0.5 to 1 GB), and the replay buffer keeps `replay_buffer_size` whole games. The settings in atari.py are those of the paper, for a data centre.", fixes: []string{"lower_num_workers", "lower_batch_size", "lower_resolution"}, source: "muzero-general/games/atari.py"}))

	LeggedGym = of(program.Program{
		Name: "legged-gym", Shown: "legged_gym", Work: "science", Edits: "flags",
		Proofs: []string{"legged_gym/", "rsl_rl/", "unitree_rl_gym/", "humanoid-gym/"},
		Titles: map[string]string{"lower_batch_size": "Lower the number of environments (--num_envs)", "lower_context": "Use shorter rollouts and more mini-batches", "lower_resolution": "Use a smaller terrain, and no camera", "restart_session": "Close the viewer and other simulations"},
		Costs:  map[string]string{"lower_batch_size": "Slower learning.", "lower_context": "Noisier steps.", "lower_resolution": "Less variety.", "restart_session": "None."},
		Steps: steps{
			"lower_batch_size": say("Add `--num_envs 1024` (default 4096) and `--headless`. Halve it again if needed."),
			"lower_context":    say("In the config set `num_steps_per_env = 16` (default 24) and `num_mini_batches = 8` (default 4). The update works on num_envs x steps / mini-batches at once."),
			"lower_resolution": say("In the config set `terrain.mesh_type = 'plane'`, or lower `num_rows` and `num_cols`. Without measured heights the observation shrinks to a fifth."),
			"restart_session":  say("Look for runs that did not end in `nvidia-smi`: a simulation keeps its memory until its process is gone."),
		},
		Sources: program.Sources{"legged_gym/legged_gym/utils/helpers.py": "--num_envs --headless", "legged_gym/legged_gym/envs/base/legged_robot_config.py": "num_steps_per_env num_mini_batches mesh_type num_rows num_cols"},
	}, []shortage{{
		id: "simulation", outside: true, source: "legged_gym/legged_gym/envs/base/legged_robot_config.py",
		means: "Most of what is in use outside PyTorch is usually the simulation of the same process: PhysX keeps bodies, contacts and terrain of all environments there. If `nvidia-smi` lists another process, that one counts first.",
		fixes: []string{"lower_batch_size", "kill_stale_process", "lower_resolution"},
	}, {
		means:  "Physics, contacts and terrain of all environments are on the GPU, beside PyTorch, plus num_envs x num_steps_per_env observations. PhysX's buffers do not appear in PyTorch's figures.",
		fixes:  []string{"lower_batch_size", "kill_stale_process", "lower_context", "lower_resolution"},
		source: "legged_gym/legged_gym/envs/base/legged_robot_config.py",
	}}, nil)

	RLGames = of(program.Program{
		Name: "rl_games", Shown: "rl_games", Work: "science", Edits: "flags",
		Proofs: []string{"rl_games/"},
		Titles: map[string]string{"lower_batch_size": "Lower the number of environments (num_envs)", "lower_context": "Use smaller minibatches or a shorter horizon"},
		Costs:  map[string]string{"lower_batch_size": "Slower learning.", "lower_context": "Noisier steps."},
		Steps: steps{
			"lower_batch_size": say("IsaacGymEnvs: add `num_envs=1024` to the command. Isaac Lab: `--num_envs 1024 --headless`. Elsewhere lower `num_actors` in the YAML."),
			"lower_context":    say("Lower `train.params.config.minibatch_size`, for example to 4096 (it must divide num_actors x horizon_length), and use a shorter `horizon_length`."),
		},
		Sources: program.Sources{"rl_games/README.md": "minibatch_size horizon_length num_actors", "IsaacLab/scripts/reinforcement_learning/rl_games/train.py": "--num_envs --headless"},
	}, []shortage{{
		id: "simulation", outside: true, source: "rl_games/README.md",
		means: "Most of what is in use outside PyTorch is usually the simulation of the same process: PhysX keeps bodies, contacts and cameras of all environments there. If `nvidia-smi` lists another process, that one counts first.",
		fixes: []string{"lower_batch_size", "kill_stale_process", "lower_context"},
	}, {
		means:  "num_actors x horizon_length observations are on the GPU, beside the simulation of all environments. The update works on `minibatch_size` of them. Images as observations multiply all of that.",
		fixes:  []string{"lower_batch_size", "lower_context", "kill_stale_process"},
		source: "rl_games/README.md",
	}}, nil)

	ScVI = of(program.Program{
		Name: "scvi-tools", Work: "science", Edits: "code",
		Proofs: []string{"scvi/model/", "scvi/module/", "scvi/train/", "scvi/dataloaders/", "scvi/external/", "scvi/data/"},
		Titles: map[string]string{"lower_batch_size": "Lower the batch size", "use_smaller_model": "Use fewer genes (highly variable ones)", "fix_shape": "Request fewer genes and one sample", "half_precision": "Keep the counts sparse"},
		Costs:  map[string]string{"lower_batch_size": "Slower.", "use_smaller_model": "Genes that hardly vary are left out.", "fix_shape": "Only those genes.", "half_precision": "None."},
		Steps: steps{
			"lower_batch_size":  half("model.train(batch_size={n})   # default 128; also get_latent_representation(batch_size=...) and the like", 64, "batch_size"),
			"use_smaller_model": python("sc.pp.highly_variable_genes(adata, n_top_genes=3000, flavor=\"seurat_v3\", layer=\"counts\", subset=True)   # before setup_anndata"),
			"fix_shape":         python("expr = model.get_normalized_expression(gene_list=genes, n_samples=1, return_numpy=True)   # genes: your own list; cells in parts by indices="),
			"half_precision":    python("adata.layers[\"counts\"] = scipy.sparse.csr_matrix(adata.layers[\"counts\"], dtype=\"float32\")"),
		},
		Sources: program.Sources{"scvi-tools/src/scvi/model/base/_rnamixin.py": "batch_size gene_list n_samples return_numpy", "scvi-tools/src/scvi/_settings.py": "batch_size"},
	}, one(shortage{
		means:  "Memory grows with batch size x genes (or peaks). 128 cells x 20,000 genes is small, so the usual cause is another program on the GPU, 100,000s of peaks, or a large `n_samples`.",
		not:    "Fewer cells: they are processed in batches.",
		fixes:  []string{"lower_batch_size", "kill_stale_process", "use_smaller_model"},
		source: "scvi-tools/src/scvi/_settings.py",
	}), []shortage{{
		id: "expression", said: []string{"in get_normalized_expression", "in posterior_predictive_sample", "in differential_expression"}, source: "scvi-tools/src/scvi/model/base/_rnamixin.py", whole: true,
		means: "This call makes a dense table of cells x genes, times `n_samples`: 100,000 x 20,000 x 4 bytes are 7.45 GiB, and storing it in `adata` is a copy. Ask for the genes that you need, for some of the cells at a time.",
		not:   "A smaller `batch_size`: the result stays as large.",
		fixes: []string{"fix_shape", "use_smaller_model", "add_swap"},
		done:  []string{"lower_batch_size", "kill_stale_process"},
	}, {
		means:  "Normalised expression, imputation and differential tests create a dense table of cells x genes, times `n_samples`: 100,000 x 20,000 x 4 bytes are 7.45 GiB, and the result is a copy. Sparse counts are small by comparison.",
		fixes:  []string{"fix_shape", "use_smaller_model", "half_precision", "add_swap"},
		source: "scvi-tools/src/scvi/model/base/_rnamixin.py",
	}})

	ScGPT = of(program.Program{
		Name: "scgpt", Shown: "scGPT", Work: "science", Edits: "code",
		Proofs: []string{"scgpt/", "scGPT/"},
		Titles: map[string]string{"lower_batch_size": "Lower the batch size", "lower_context": "Use fewer genes per cell (max_length)", "efficient_attention": "Use fused attention (flash-attn)"},
		Costs:  map[string]string{"lower_batch_size": "Slower.", "lower_context": "Weakly expressed genes are left out.", "efficient_attention": "flash-attn below 2 must be built."},
		Steps: steps{
			"lower_batch_size":    half("scg.tasks.embed_data(adata, model_dir, batch_size={n})   # default 64; in the examples: config.batch_size", 16, "batch_size"),
			"lower_context":       say("Use `max_length=600` (default 1200), or 1200 highly variable genes instead of 3000. Each gene is a token, and attention grows with the square of their number."),
			"efficient_attention": say("Set `use_fast_transformer=True` with flash-attn 1.0.x installed. Without it each layer keeps the full score matrix."),
		},
		Sources: program.Sources{"scGPT/scgpt/tasks/cell_emb.py": "batch_size max_length use_fast_transformer"},
	}, one(shortage{
		means:  "Each gene is a token. Memory grows with the cells in a batch x genes squared x heads x layers, unless attention is fused. 64 cells of 3000 genes need several times as much as with 1200 genes.",
		not:    "Fewer cells: they are processed in batches.",
		fixes:  []string{"lower_batch_size", "lower_context", "efficient_attention", "kill_stale_process"},
		source: "scGPT/scgpt/tasks/cell_emb.py",
	}), nil)

	Basecaller = of(program.Program{
		Name: "basecaller", Shown: "The basecaller", Work: "science", Edits: "flags",
		Proofs:   []string{"bonito/", "medaka/", "dorado basecaller", "Creating basecall pipeline", "Starting Stereo Duplex pipeline", "Starting Basespace Duplex pipeline", "No duplex pairs file provided", "> Simplex reads basecalled", "Calculating optimized batch size for GPU", "dorado duplex", "dorado aligner", "dorado/", "[dorado]", "guppy_basecaller", "medaka_consensus", "DoradoBasecaller"},
		Commands: []string{"dorado", "bonito", "medaka", "medaka_consensus", "guppy_basecaller"},
		Titles:   map[string]string{"lower_batch_size": "Lower the batch size", "use_smaller_model": "Use a faster model (hac, fast)", "cpu_offload": "Run it on the CPU"},
		Costs:    map[string]string{"lower_batch_size": "Slower; the same calls.", "use_smaller_model": "Less accuracy.", "cpu_offload": "Much slower."},
		Steps: steps{
			"lower_batch_size":  basecallBatch,
			"upgrade_version":   say("Take the newest Dorado: later releases choose the batch in another way. They are at https://github.com/nanoporetech/dorado/releases"),
			"use_smaller_model": say("Use `hac` or `fast` instead of `sup`, which takes several times the memory."),
			"cpu_offload":       say("medaka: put `CUDA_VISIBLE_DEVICES=` in front of the command. dorado: `-x cpu`, only with the fast models."),
		},
		Sources: program.Sources{"dorado/dorado/cli/cli_lib/basecaller.cpp": "--batchsize -b -x --modified-bases", "bonito/bonito/cli/basecaller.py": "--batchsize", "bonito/bonito/cli/train.py": "--batch --grad-accum-split", "medaka/scripts/medaka_consensus": "-b CUDA_VISIBLE_DEVICES", "https://community.nanoporetech.com/docs/prepare/library_prep_protocols/Guppy-protocol": "--gpu_runners_per_device --chunks_per_runner"},
	}, []shortage{{
		id: "consensus", said: []string{"medaka_consensus", "medaka consensus", "medaka inference", "medaka/"}, source: "medaka/scripts/medaka_consensus",
		means: "medaka runs its network on `-b` pieces of the draft at once (default 100). A basecaller on the same GPU is the other usual reason.",
		not:   "Fewer reads or threads (`-t`): the pieces stay as large.",
		fixes: []string{"lower_batch_size", "kill_stale_process", "cpu_offload"},
		done:  []string{"use_smaller_model"},
	}, {
		id: "dorado", said: doradoWords, source: "dorado/dorado/cli/cli_lib/basecaller.cpp",
		means: "Dorado measures the free memory when it starts and picks the batch by it, unless `--batchsize` says otherwise. A program that takes GPU memory later (MinKNOW, a second basecaller, the desktop) makes it fail in the middle. sup needs several times as much as fast; duplex runs a second model beside it.",
		not:   "Fewer reads: they are processed in batches.",
		fixes: []string{"lower_batch_size", "use_smaller_model", "upgrade_version", "kill_stale_process"},
	}, {
		means:  "Memory grows with the batch size and the model (fast, hac and sup, in rising order). Dorado measures the free memory when it starts. So a program that takes GPU memory later (MinKNOW, a second basecaller, the desktop) makes it fail in the middle.",
		not:    "Fewer reads: they are processed in batches.",
		fixes:  []string{"lower_batch_size", "kill_stale_process", "use_smaller_model", "cpu_offload"},
		source: "bonito/bonito/cli/basecaller.py",
	}}, []shortage{{
		id: "index", said: []string{"dorado aligner", "loading index", "--reference "}, source: "dorado/dorado/cli/cli_lib/basecaller.cpp",
		means: "Alignment keeps the index of the reference in RAM: 12 GB and more for human. A full GPU raises an error instead.",
		not:   "A smaller `--batchsize`: it saves GPU memory.",
		fixes: []string{"raise_memory_limit", "add_swap", "close_other_apps"},
		done:  []string{"lower_batch_size"},
	}, {
		means:  "Reads wait in RAM between disk, GPU and output. Alignment also keeps its index there (`--reference`: 12 GB and more for human), and duplex the pairs of reads.",
		fixes:  []string{"lower_batch_size", "raise_memory_limit", "add_swap"},
		source: "dorado/dorado/cli/cli_lib/basecaller.cpp",
	}})
)

// doradoWords are its command and what its own pipelines print.
var doradoWords = []string{"dorado basecaller", "dorado duplex", "Creating basecall pipeline", "Starting Stereo Duplex pipeline", "Starting Basespace Duplex pipeline", "No duplex pairs file provided", "> Simplex reads basecalled", "Calculating optimized batch size for GPU"}

// basecallBatch is the batch of the program that the log shows.
func basecallBatch(c *ledger.Case) []step.Step {
	switch {
	case c.Near("medaka_consensus", "medaka consensus", "medaka inference", "medaka/"):
		return say("`medaka_consensus -b 50` (default 100), then 20.")(c)
	case c.Near(doradoWords...):
		return say("`--batchsize 64` (`-b`; automatic by default), less for duplex and `--modified-bases`.")(c)
	}
	return say("dorado: `--batchsize 64` (`-b`; automatic by default), less for duplex and `--modified-bases`. bonito: `--batchsize 64`, or `bonito train --batch 16 --grad-accum-split 4`. Guppy: `--gpu_runners_per_device 2 --chunks_per_runner 128`.")(c)
}
