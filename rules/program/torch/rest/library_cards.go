package rest

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/when"
)

// SimulatorBeside is for reinforcement learning whose environments are simulated
// and drawn on the same card.
var SimulatorBeside = cause.Card{
	ID: "pytorch/simulator-beside", Kinds: cures.Allocators, If: when.All(cures.OnOneCard, OtherLibrary, when.Not(ledger.Roomy)),
	Said:  []string{"SPS:", "global_step=", "episodic_return", "mani_skill", "sapien", "isaacgym", "isaaclab", "num_envs", "habitat_sim", "madrona", "genesis/engine", "rollout/ep_rew_mean", "ep_rew_mean"},
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: libraries,
	Headline: "ran out of memory: {library} of the process is outside PyTorch, most likely its simulator",
	Means:    "{library} of this process is not PyTorch's. In reinforcement learning it is usually the simulator and its renderer (PhysX, SAPIEN, Isaac, Habitat). It grows with the number of environments and cameras.[[ {grown}]]",
	Not:      "Closing other programs: this process holds the memory.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Lower the number of environments (num_envs)", Cost: "fewer samples per step, slower", Told: "Halve it, also for the evaluation environments; more steps per environment keep the rollout size. Rollout images as `uint8` and more minibatches shrink PyTorch's part."},
		{Fix: "lower_resolution", Title: "Use smaller or fewer cameras, and no video", Cost: "detail", Told: "Each environment has its own images and buffers; half the width and height takes a quarter."},
		{Fix: "restart_session", Title: "Check which part grows (PyTorch or the simulator)", Cost: "free", Told: "Print this every few updates and compare it with `nvidia-smi`. If only `nvidia-smi` rises, the simulator grows; if both rise, your code keeps tensors.", Kind: "python", Text: "print(torch.cuda.memory_allocated() // 2**20, \"MiB\")"},
	},
	Sources: []string{cures.AllocatorSource, "ManiSkill/examples/baselines/ppo/ppo_rgb.py", "IsaacLab/scripts/reinforcement_learning/rsl_rl/train.py"},
}

// OtherLibraryBeside is for a process in which another library holds much.
var OtherLibraryBeside = cause.Card{
	ID: "pytorch/other-library", Kinds: cures.Allocators, If: when.All(cures.OnOneCard, OtherLibrary, when.Not(ledger.Roomy)),
	Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Figures: libraries,
	Headline: "ran out of memory: {library} of the process is outside PyTorch's allocator",
	Means:    "Another library in this process most likely holds that {library}; the message does not name it. Usual ones are TensorFlow, JAX, ONNX Runtime, or a serving engine that takes its cache in advance (LMDeploy's TurboMind, TensorRT). CUDA itself and NCCL explain only 1 to 2 GiB.",
	Not:      "Closing other programs: this process holds the memory.",
	Cures: []cause.Cure{
		{Fix: "limit_framework_preallocation", Title: "Limit the other library's memory", Cost: "a smaller cache, or slower", Ways: []cause.Way{{For: "LMDeploy", Text: "`cache_max_entry_count=0.4` in `TurbomindEngineConfig` (server: `--cache-max-entry-count 0.4`; 0.8 is the default): a share of what is free."}, {For: "TensorFlow", Text: "`tf.config.experimental.set_memory_growth(gpu, True)` before anything else."}, {For: "JAX", Text: "`XLA_PYTHON_CLIENT_MEM_FRACTION=0.3` before the start (0.75 is the default)."}, {For: "ONNX Runtime", Text: "`gpu_mem_limit` among the CUDA provider's options."}}},
		{Fix: "select_gpu", Title: "Run PyTorch's part on another GPU", Cost: "needs one", Told: "Use `.to(\"cuda:1\")` for PyTorch's models, or another process with `CUDA_VISIBLE_DEVICES=1`."},
		cures.LessInput,
	},
	Sources: []string{cures.AllocatorSource, "lmdeploy/lmdeploy/messages.py", "https://docs.jax.dev/en/latest/gpu_memory_allocation.html"},
}

// OtherLibrary: a fifth of the card and more is this process's and not its
// allocator's.
func OtherLibrary(c *ledger.Case) bool {
	return libraryBytes(c)*5 > c.Total.Bytes && libraryBytes(c) > 2*units.GiB // more than a context with all its kernels
}

func libraryBytes(c *ledger.Case) int64 {
	f := c.F()
	if f.ProcessUsed == nil || f.Allocated == nil {
		return 0
	}
	return f.ProcessUsed.Bytes - f.Allocated.Bytes - c.Slack.Bytes
}

func libraries(c *ledger.Case) map[string]string {
	out := cures.Scene(c)
	out["library"], out["grown"] = units.AmountWithin(libraryBytes(c), units.MiB*10), ""
	if c.Signal("many_steps") != nil {
		out["grown"] = "It ran for many updates first, so the simulator or tensors may be growing."
	}
	return out
}
