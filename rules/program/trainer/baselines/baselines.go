// Package baselines knows the buffers of Stable-Baselines3.
package baselines

import (
	"regexp"
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

var ramGone = []fact.Kind{fact.KernelKill, fact.ShellKilled, fact.RankKilled, fact.SlurmKill, fact.ContainerKill, fact.WorkerKilled, fact.NumpyAlloc, fact.PythonMemory, fact.CPUAlloc}

var shapeRows = regexp.MustCompile(`shape \((\d{1,12}),`)

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

// rollout says how many steps a rollout has, and half of them.
func rollout(c *ledger.Case) map[string]string {
	m := append(shapeRows.FindStringSubmatch(c.Failure.Message), "", "")
	if n, _ := strconv.ParseInt(m[1], 10, 64); n > 1 {
		return map[string]string{"half": strconv.FormatInt(n/2, 10), "steps": "yours (" + strconv.FormatInt(n, 10) + ")"}
	}
	return map[string]string{"half": "1024", "steps": "PPO's default; A2C's is 5"}
}

// grayAlready: the array refused is of frames of 84 x 84, stacked in one channel
// each.
func grayAlready(c *ledger.Case) bool {
	return c.Contains(", 4, 84, 84)") || c.Contains(", 84, 84, 4)")
}

// smallObservations is the cure of every buffer.
var smallObservations = cause.Cure{
	Fix: "lower_resolution", Title: "Shrink the observations", Kind: "text", Text: "Make images gray and smaller in the environment, for example 84 x 84 (`WarpFrame` in stable_baselines3.common.atari_wrappers). Gray takes a third of colour, half the width and height a quarter.", Cost: "Detail.",
}

// Cards are those of Stable-Baselines3.
var Cards = []cause.Card{{
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
	Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "could not allocate its rollout buffer in system memory (RAM)", Figures: rollout,
	Means: "PPO and A2C keep one rollout in RAM: `n_steps` x environments x observation size x 4 bytes (since 2.7.1 1 byte for images). Each environment of a SubprocVecEnv is also a process with its own memory.",
	Not:   "`buffer_size`: PPO and A2C use `n_steps` instead.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Lower n_steps or the number of environments", Told: "Half of either halves the buffer. Where you create the model:", Kind: "python", Text: "model = PPO(\"CnnPolicy\", env, n_steps={half})   # half of {steps}, with your other arguments", Cost: "Noisier updates; fewer environments are slower."},
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
		{Fix: smallObservations.Fix, If: when.Not(grayAlready), Title: smallObservations.Title, Kind: smallObservations.Kind, Text: smallObservations.Text, Cost: smallObservations.Cost},
		{Fix: "lower_context", If: grayAlready, Title: "Stack fewer frames", Kind: "text", Text: "`n_stack=2` instead of 4 in VecFrameStack halves the buffer.", Cost: "Some information."},
	},
	Sources: []string{"stable-baselines3/stable_baselines3/common/buffers.py", "stable-baselines3/stable_baselines3/common/off_policy_algorithm.py"},
}}
