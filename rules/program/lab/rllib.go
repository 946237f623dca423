package lab

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// RLlib is Ray's reinforcement learning: the tasks are its own, so what bounds
// them is its configuration, not decorators.
var RLlib = program.Program{
	Name: "rllib", Shown: "RLlib", Edits: "code", Language: "python",
	Proofs:  []string{"ray/rllib/", "ray.rllib", "ray_PolicyEvaluator", "ray_RolloutWorker", "ray::RolloutWorker", "ray::MultiAgentEnvRunner", "ray::SingleAgentEnvRunner", "ray_ImpalaTrainer", "ray_PPOTrainer", "ray::ImpalaTrainer", "ray::PPOTrainer", "ray_APEX", "ray_DQN"},
	Sources: program.Sources{"ray/rllib/algorithms/algorithm_config.py": "minibatch_size sgd_minibatch_size num_gpus_per_env_runner num_env_runners num_envs_per_env_runner train_batch_size replay_buffer_config num_workers"},
	Steps: spelling{
		"lower_batch_size": step.Paste("python", "config.training(minibatch_size=64, train_batch_size=2000)   # half of yours; before Ray 2.38: sgd_minibatch_size"),
	},
	Cards: []cause.Card{
		trainOf("rllib", "The learner passes a minibatch of the collected steps through the network; images and recurrent networks need the most. Rollout workers that were given a share of a GPU (`num_gpus_per_env_runner`) keep a copy of the policy there too.", "Fewer rollouts per worker: they wait in RAM.", "ray/rllib/algorithms/algorithm_config.py", "lower_batch_size", "use_smaller_model"),
		{
			ID: "rllib/node", Kinds: []fact.Kind{fact.RayKilled},
			Cause: cause.HostMemory, Weight: cause.Decisive,
			Headline: "ran out of the machine's RAM with its workers",
			Means:    "This is system memory (RAM), not GPU memory. Each worker is a process with its own environments and a copy of the policy; the learner and a replay buffer come on top. If it fails soon after the start, there are probably too many workers. If it fails after hours, something grows.",
			Not:      "Decorators such as `@ray.remote(memory=...)`: RLlib creates these actors itself.",
			Cures: []cause.Cure{
				{Fix: "lower_num_workers", Title: "Use half as many workers", Cost: "fewer samples per second", Told: "Set `config.env_runners(num_env_runners=...)` (before Ray 2.10: `num_workers`). For large environments also `num_envs_per_env_runner=1` (before: `num_envs_per_worker`)."},
				{Fix: "raise_memory_limit", Title: "Limit the object store and the replay buffer", Cost: "spilling to disk", Told: "`ray.init(object_store_memory=2 * 10**9)` (bytes; the default is 30 % of the RAM). For DQN, SAC and APEX also lower `capacity` in `replay_buffer_config` (before: `buffer_size`). The buffer takes capacity x the size of an observation."},
				{Fix: "upgrade_version", Title: "If a worker keeps growing: find out why", Cost: "some time", Told: "Run the environment alone and watch `ps -o rss= -p PID`. If it grows, the leak is in the environment. If not, update Ray; until then restart from a checkpoint now and then."},
			},
			Sources: []string{"ray/rllib/algorithms/algorithm_config.py", "ray/python/ray/memory_monitor.py", "https://github.com/ray-project/ray/issues/4877"},
		},
		{
			ID: "rllib/store", Kinds: []fact.Kind{fact.RayStore},
			Cause: cause.HostMemory, Weight: cause.Decisive,
			Headline: "found Ray's object store full",
			Means:    "Workers pass samples and weights to the learner through the object store. It fills up if samples arrive faster than the learner takes them, if batches are large (images), or if your code keeps references to old objects.",
			Cures: []cause.Cure{
				{Fix: "lower_batch_size", Title: "Send smaller and fewer samples", Cost: "slower", Told: "Halve `rollout_fragment_length` and `train_batch_size`, and use fewer workers. Send images as uint8 and scale them in the model."},
				{Fix: "raise_memory_limit", Title: "Enlarge the store", Cost: "less RAM for the workers", Told: "`ray.init(object_store_memory=8 * 10**9)` (bytes). In Docker, set `--shm-size` above that."},
				{Fix: "stream_dataset", Title: "In your own callbacks: keep no references", Cost: "some rewriting", Told: "Call `ray.put` once before the loop, not in every call, and keep no list of references: an object stays as long as a reference to it."},
			},
			Sources: []string{"ray/rllib/algorithms/algorithm_config.py", "https://docs.ray.io/en/latest/ray-core/scheduling/memory-management.html"},
		},
	},
}
