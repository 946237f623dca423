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
		"lower_resolution": say("Raise the voxel size of your config by a half, such as 0.02 to 0.03 m (`voxel_size`, `VOXEL_SIZE`; SoftGroup and PointGroup: `scale: 50` is 0.02 m, 33 is 0.03)."),
		"lower_batch_size": say("Batch 1 first, to see that it runs at all (`batch_size`, `--batch_size`, `samples_per_gpu`)."),
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
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out in a sparse convolution", Figures: filled,
	Means: "Each OCCUPIED voxel has a value per channel, and each pair of neighbours an index. So the number of points and the voxel size decide: half the voxel size makes up to four times as many voxels on surfaces. The densest scene decides, at whatever step it comes. spconv 1.x adds a table of the whole grid, 2.7 GiB for 2800 x 3200 x 80 voxels.[[ {mine} of {full} is this program's own: closing others gains little.]]",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Limit the points of a scene", Kind: "text", Text: "Crop or sample at most 150,000 points (SoftGroup: `max_npoint`, 250000 by default; MinkowskiEngine: crop before `sparse_quantize`), and start with batch 1. Print the number of points of each scene to find the densest.", Cost: "Less context; slower per sample."},
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
		"lower_batch_size": say("PPO and A2C: halve `batch_size`, `n_steps` or the number of environments. DQN, SAC and TD3: halve `batch_size`; in system memory (RAM) `buffer_size` decides."),
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
	Fix: "lower_resolution", Title: "Shrink the observations", Kind: "text", Text: "Make images grey and smaller in the environment, such as 84 x 84 (`WarpFrame` in stable_baselines3.common.atari_wrappers): three colours need three times as much, half the width and height a quarter.", Cost: "Detail.",
}

var baselinesCards = []cause.Card{{
	ID: "stable-baselines3/buffer-made-anew", Kinds: ramGone, Said: []string{"rollout_buffer.reset()"}, Unsaid: []string{"on_policy_algorithm.py", "in _setup_model"}, Figures: replay,
	Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "could not make its rollout buffer: {asked} of system memory (RAM)",
	Means: "A script itself makes the rollout buffer anew (`rollout_buffer.reset()`), as long as its `buffer_size` is then: [[{rows} steps, {asked} in one array. ]]Such scripts take the length of an episode for it, which is huge where somebody only plays or watches.",
	Not:   "More RAM, a page file: the length is a setting.",
	Cures: []cause.Cure{
		{Fix: "fix_shape", Title: "To use a trained model: leave the buffer as it is", Told: "`model.predict` needs none. Remove the lines that set `model.n_steps` and `model.rollout_buffer` and call `reset()`, or make it small:", Kind: "python", Text: "model.n_steps = model.rollout_buffer.buffer_size = 128   # before model.rollout_buffer.reset()", Cost: "None: only training fills it."},
		{Fix: "lower_batch_size", Title: "To train on: a shorter rollout", Told: "Set both to a few thousand steps at most, and let episodes go over several rollouts. Half of the steps is half of the buffer.", Cost: "Noisier updates."},
		{Fix: "upgrade_version", Title: "If the script is not yours: take its newest version", Told: "`git pull` in its folder.", Cost: "Free."},
	},
	Sources: []string{"stable-baselines3/stable_baselines3/common/buffers.py", "https://github.com/PWhiddy/PokemonRedExperiments/issues/6"},
}, {
	ID: "stable-baselines3/rollout-buffer", Kinds: ramGone, Said: []string{"on_policy_algorithm.py", "rollout_buffer"},
	Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "could not make its rollout buffer in system memory (RAM)",
	Means: "PPO and A2C keep the observations of one rollout in RAM: n_steps x environments x the numbers of an observation x 4 bytes (from 2.7.1 on 1 byte for images). Each environment of a SubprocVecEnv is also a process with its own memory.",
	Not:   "PPO's or A2C's `buffer_size`: they take n_steps.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Lower n_steps or the number of environments", Told: "Half of either is half of the buffer; fewer environments also mean fewer processes. Where the model is made:", Kind: "python", Text: "model = PPO(\"CnnPolicy\", env, n_steps=256)   # half of yours (PPO's default: 2048), with your other arguments", Cost: "Noisier updates; fewer environments are slower."},
		smallObservations,
		{Fix: "close_other_apps", Title: "Close other programs, enlarge the page file or swap", Told: "A browser, a game, an old python process. On Windows: `SystemPropertiesAdvanced` (Windows+R), Performance, Settings, Advanced, Virtual memory.", Cost: "Free; slow while it is used."},
	},
	Sources: []string{"stable-baselines3/stable_baselines3/common/buffers.py", "stable-baselines3/stable_baselines3/ppo/ppo.py", "stable-baselines3/docs/misc/changelog.md"},
}, {
	ID: "stable-baselines3/replay-buffer", Kinds: ramGone, Said: []string{"stable_baselines3/common/buffers.py", "enough memory to store the complete replay buffer"}, Unsaid: []string{"on_policy_algorithm.py", "rollout_buffer"},
	Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "could not make its replay buffer in system memory (RAM)", Figures: replay,
	Means: "An off-policy algorithm (DQN, SAC, TD3) makes its whole replay buffer when it is created: buffer_size x the bytes of an observation, in RAM[[. {rows} steps, the size that you set or the default, need {asked}]]. There are two such arrays, for the observations and the next observations.",
	Not:   "A smaller batch_size or a larger graphics card: the buffer is in system memory (RAM).",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Lower buffer_size", Told: "[[100,000 steps need {smaller}, twice. ]]With your own algorithm and policy:", Kind: "python", Text: "model = DQN(\"CnnPolicy\", env, buffer_size=100_000)", Cost: "Older experience is forgotten sooner; for most tasks enough."},
		{Fix: "stream_dataset", Title: "Keep each frame once (optimize_memory_usage)", Told: "It halves the buffer. Add to the same call:", Kind: "python", Text: "model = DQN(\"CnnPolicy\", env, optimize_memory_usage=True,\n            replay_buffer_kwargs=dict(handle_timeout_termination=False))", Cost: "Episodes cut by a time limit count as ended."},
		smallObservations,
	},
	Sources: []string{"stable-baselines3/stable_baselines3/common/buffers.py", "stable-baselines3/stable_baselines3/common/off_policy_algorithm.py"},
}}
