package trainer

import (
	"regexp"
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
)

// SparseConv are the libraries of sparse convolution, and the networks for point
// clouds that are made of them.
var SparseConv = program.Program{
	Name: "sparse-conv", Shown: "The point cloud network",
	Work: "vision", Edits: "code", Language: "python",
	Proofs:  []string{"-packages/spconv/", "spconv/pytorch/", "spconv/src/spconv", "ops/spconv/", "MinkowskiEngine/", "MinkowskiEngineBackend", "torchsparse/", "softgroup/"},
	Sources: program.Sources{"OpenPCDet/tools/train.py": "--batch_size", "OpenPCDet/tools/cfgs/dataset_configs/kitti_dataset.yaml": "VOXEL_SIZE", "SoftGroup/configs/softgroup/softgroup_scannet.yaml": "max_npoint scale"},
	Steps: spelling{
		"lower_resolution": say("Raise the voxel size in your config by half, for example from 0.02 to 0.03 m (`voxel_size`, `VOXEL_SIZE`; SoftGroup and PointGroup: `scale: 33` instead of 50)."),
		"lower_batch_size": say("Try batch size 1 first, to see whether it runs at all (`batch_size`, `--batch_size` or `samples_per_gpu`)."),
	},
	Titles: map[string]string{"lower_resolution": "Use larger voxels"},
	Costs:  map[string]string{"lower_resolution": "Fine structure."},
	Like:   []*program.Program{&DataAside, &Vision},
	Cards:  sparseCards,
}

var sparseCards = []cause.Card{{
	ID: "sparse-conv/voxels", Said: []string{"-packages/spconv/", "spconv/", "MinkowskiEngine/", "torchsparse/", "softgroup/", "indice_conv", "SparseTensor"},
	If: func(c *ledger.Case) bool {
		return ledger.OnCard(c) && !ledger.Crowded(c) && !ledger.Roomy(c) && ledger.NeverFits(c) == ""
	},
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of memory in a sparse convolution", Figures: filled,
	Means: "Memory grows with the number of occupied voxels, so with the number of points: half the voxel size gives up to four times as many. One dense scene is enough, at any step. spconv 1.x adds a table of the whole grid, 2.7 GiB for 2800 x 3200 x 80 voxels.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Limit the points per scene, and use batch size 1", Kind: "text", Text: "Crop or sample to at most 150,000 points. SoftGroup: `max_npoint` (default 250000). MinkowskiEngine: crop before `sparse_quantize`. Print the number of points of each scene to find the densest.", Cost: "Less context; slower per sample."},
		{Fix: "lower_resolution"},
		{Fix: "mixed_precision", Title: "Turn on mixed precision (16 bit)", Told: "spconv 2 and TorchSparse support it, MinkowskiEngine does not:", Kind: "python", Text: "with torch.autocast(\"cuda\"):\n    loss = model(batch)   # your own call; with a GradScaler", Cost: "Usually faster."},
	},
	Sources: []string{"https://github.com/traveller59/second.pytorch/issues/82", "https://github.com/drprojects/superpoint_transformer/issues/144", "https://github.com/vLAR-group/GrowSP/issues/9", "https://github.com/tianweiy/CenterPoint/issues/2"}, Solved: 1,
}}

// StableBaselines is Stable-Baselines3.
var StableBaselines = program.Program{
	Name: "stable-baselines3", Shown: "Stable-Baselines3",
	Work: "science", Edits: "code", Language: "python",
	Proofs: []string{"stable_baselines3/", "stable_baselines3", "sb3_contrib/"},
	Steps: spelling{
		"lower_batch_size": say("PPO and A2C: halve `batch_size`, `n_steps` or the number of environments. DQN, SAC and TD3: halve `batch_size`; for system RAM lower `buffer_size`."),
	},
	Cards: baselinesCards,
}

var shapeRows = regexp.MustCompile(`shape \((\d{4,12}),`)

// replay says how many steps a replay buffer was to hold, and what a smaller one
// takes.
func replay(c *ledger.Case) map[string]string {
	out := map[string]string{"rows": "", "smaller": ""}
	m := append(shapeRows.FindStringSubmatch(c.Failure.Message), "", "") // of no shape: no rows
	rows, _ := strconv.ParseInt(m[1], 10, 64)
	if asked := ledger.Requested(c); rows > 100_000 && asked > 0 {
		out["rows"] = ledger.Thousands(rows)
		out["smaller"] = units.Amount(ledger.Proportion(asked, 100_000, rows))
	}
	return out
}

// smallObservations is the cure of every buffer.
var smallObservations = cause.Cure{
	Fix: "lower_resolution", Title: "Shrink the observations", Kind: "text", Text: "Make images gray and smaller in the environment, for example 84 x 84 (`WarpFrame` in stable_baselines3.common.atari_wrappers). Gray takes a third of colour, half the width and height a quarter.", Cost: "Detail.",
}

var baselinesCards = []cause.Card{{
	ID: "stable-baselines3/buffer-made-anew", Kinds: ramGone, Said: []string{"rollout_buffer.reset()"}, Unsaid: []string{"on_policy_algorithm.py", "in _setup_model"}, Figures: replay,
	Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "could not allocate its rollout buffer: {asked} of system memory (RAM)",
	Means: "The script recreates the rollout buffer itself (`rollout_buffer.reset()`)[[, with {rows} steps in one array]]. Such scripts often use the episode length for it, which is huge if you only play or watch.",
	Not:   "More RAM, a page file: the buffer's length is just a setting.",
	Cures: []cause.Cure{
		{Fix: "fix_shape", Title: "If you only run a trained model: do not touch the buffer", Told: "`model.predict` needs none. Remove the lines that set `model.n_steps` and `model.rollout_buffer` and call `reset()`, or make it small:", Kind: "python", Text: "model.n_steps = model.rollout_buffer.buffer_size = 128   # before model.rollout_buffer.reset()", Cost: "None: only training fills it."},
		{Fix: "lower_batch_size", Title: "If you train: use a shorter rollout", Told: "Set both to a few thousand steps at most. An episode may span several rollouts.", Cost: "Noisier updates."},
		{Fix: "upgrade_version", Title: "If the script is not yours: update it", Told: "Run `git pull` in its folder.", Cost: "Free."},
	},
	Sources: []string{"stable-baselines3/stable_baselines3/common/buffers.py", "https://github.com/PWhiddy/PokemonRedExperiments/issues/6"},
}, {
	ID: "stable-baselines3/rollout-buffer", Kinds: ramGone, Said: []string{"on_policy_algorithm.py", "rollout_buffer"},
	Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "could not allocate its rollout buffer in system memory (RAM)",
	Means: "PPO and A2C keep one rollout in RAM: `n_steps` x environments x observation size x 4 bytes (since 2.7.1 1 byte for images). Each environment of a SubprocVecEnv is also a process with its own memory.",
	Not:   "`buffer_size`: PPO and A2C use `n_steps` instead.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Lower n_steps or the number of environments", Told: "Half of either halves the buffer. Where you create the model:", Kind: "python", Text: "model = PPO(\"CnnPolicy\", env, n_steps=256)   # half of yours (PPO's default: 2048), with your other arguments", Cost: "Noisier updates; fewer environments are slower."},
		smallObservations,
		{Fix: "close_other_apps", Title: "Close other programs, enlarge the page file or swap", Told: "Close browser, games and old python processes. Windows page file: Windows+R, `SystemPropertiesAdvanced`, Performance: Settings, Advanced, Virtual memory, Change.", Cost: "Free; slow while in use."},
	},
	Sources: []string{"stable-baselines3/stable_baselines3/common/buffers.py", "stable-baselines3/stable_baselines3/ppo/ppo.py", "stable-baselines3/docs/misc/changelog.md"},
}, {
	ID: "stable-baselines3/replay-buffer", Kinds: ramGone, Said: []string{"stable_baselines3/common/buffers.py", "enough memory to store the complete replay buffer"}, Unsaid: []string{"on_policy_algorithm.py", "rollout_buffer"},
	Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "could not allocate its replay buffer in system memory (RAM)", Figures: replay,
	Means: "DQN, SAC and TD3 allocate the whole replay buffer at the start: `buffer_size` x the bytes of an observation, in RAM[[. {rows} steps need {asked}]]. By default there are two such arrays, for observations and next observations.",
	Not:   "A smaller `batch_size` or a larger GPU: the buffer is in system RAM.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Lower buffer_size", Told: "[[100,000 steps need twice {smaller}. ]]With your own algorithm and policy:", Kind: "python", Text: "model = DQN(\"CnnPolicy\", env, buffer_size=100_000)", Cost: "Older experience is forgotten sooner."},
		{Fix: "stream_dataset", Title: "Store each observation once (optimize_memory_usage)", Told: "It halves the buffer. Add to the same call:", Kind: "python", Text: "model = DQN(\"CnnPolicy\", env, optimize_memory_usage=True,\n            replay_buffer_kwargs=dict(handle_timeout_termination=False))", Cost: "Episodes cut off by a time limit count as finished."},
		smallObservations,
	},
	Sources: []string{"stable-baselines3/stable_baselines3/common/buffers.py", "stable-baselines3/stable_baselines3/common/off_policy_algorithm.py"},
}}
