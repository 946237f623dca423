package lab

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
)

// RLlib is Ray's reinforcement learning: the tasks are its own, so what bounds
// them is its configuration, not decorators.
var RLlib = program.Program{
	Name: "rllib", Shown: "RLlib", Edits: "code", Language: "python",
	Proofs:  []string{"ray/rllib/", "ray.rllib", "ray_PolicyEvaluator", "ray_RolloutWorker", "ray::RolloutWorker", "ray::MultiAgentEnvRunner", "ray::SingleAgentEnvRunner", "ray_ImpalaTrainer", "ray_PPOTrainer", "ray::ImpalaTrainer", "ray::PPOTrainer", "ray_APEX", "ray_DQN"},
	Sources: program.Sources{"ray/rllib/algorithms/algorithm_config.py": "num_env_runners num_envs_per_env_runner train_batch_size replay_buffer_config num_workers"},
	Cards: []cause.Card{
		{
			ID: "rllib/node", Kinds: []fact.Kind{fact.RayKilled},
			Cause: cause.HostMemory, Weight: cause.Decisive,
			Headline: "ran out of the node's RAM with its workers",
			Means:    "This is system memory (RAM), not GPU memory. Each worker is a process with its environments and a copy of the policy; the learner and a replay buffer come on top. Where Ray lists them with their shared memory, the object store counts in each. If it fails soon after the start, there are too many workers; if after hours, something grows.",
			Not:      "Decorators such as `@ray.remote(memory=...)`: RLlib makes these actors itself.",
			Cures: []cause.Cure{
				{Fix: "lower_num_workers", Title: "Half as many workers", Cost: "fewer samples a second", Told: "`num_workers` in the config, since Ray 2.10 `config.env_runners(num_env_runners=...)`; and `num_envs_per_worker` (now `num_envs_per_env_runner`) at 1 where the environment is large."},
				{Fix: "raise_memory_limit", Title: "Bound the object store, and the replay buffer", Cost: "disk speed", Told: "`ray.init(object_store_memory=2 * 10**9)` (bytes; it may take 30 % of the RAM otherwise). DQN, SAC, APEX: a smaller buffer (`buffer_size`, now `replay_buffer_config` with `capacity`): capacity x the size of an observation is what it takes."},
				{Fix: "upgrade_version", Title: "If a worker grows step by step: find what", Cost: "some time", Told: "Run the environment alone for as many steps and watch `ps -o rss= -p PID`. If it grows, it is the environment; if not, update Ray, and until then stop and restore from a checkpoint now and then."},
			},
			Sources: []string{"ray/rllib/algorithms/algorithm_config.py", "ray/python/ray/memory_monitor.py", "https://github.com/ray-project/ray/issues/4877"},
		},
		{
			ID: "rllib/store", Kinds: []fact.Kind{fact.RayStore},
			Cause: cause.HostMemory, Weight: cause.Decisive,
			Headline: "found Ray's object store full",
			Means:    "Workers hand samples and weights to the learner through the object store. It fills where samples come faster than the learner takes them, where one batch of observations (images) is large, or where weights are put anew at every call and their refs are kept.",
			Cures: []cause.Cure{
				{Fix: "lower_batch_size", Title: "Smaller and fewer samples under way", Cost: "slower", Told: "`rollout_fragment_length` and `train_batch_size` at half, and fewer workers; images as uint8, scaled in the model."},
				{Fix: "raise_memory_limit", Title: "Enlarge the store", Cost: "less RAM for the workers", Told: "`ray.init(object_store_memory=8 * 10**9)` (bytes); in Docker `--shm-size` above that."},
				{Fix: "stream_dataset", Title: "In callbacks of your own: keep no refs", Cost: "some rewriting", Told: "One `ray.put` before the loop instead of one at every call, and no list of its refs: an object stays as long as a ref to it."},
			},
			Sources: []string{"ray/rllib/algorithms/algorithm_config.py", "https://docs.ray.io/en/latest/ray-core/scheduling/memory-management.html"},
		},
	},
}
