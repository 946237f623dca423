package array

import (
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Where a JAX program failed, by its own line and the frames below it.
var (
	// stateWords make parameters and the optimizer's state, before any batch.
	stateWords = []string{"in init_train_state", "in create_train_state", "init_train_state(", "create_train_state(", "TrainState.create(", "tx.init(", "optimizer.init(", "opt.init(", "init_opt_state", "nn/initializers.py", "_src/nn/initializers.py"}
	// restoreWords read parameters from a file.
	restoreWords = []string{"orbax/checkpoint", "in load_checkpoint", "in restore_checkpoint", "in restore_params", "in load_params", "modeling_flax_utils.py"}
	putWords     = []string{"jax.device_put(", "jnp.array(", "jnp.asarray(", "jnp.load("}
	// scanWords run a whole training as one compiled program.
	scanWords = []string{"jax.vmap(make_train", "train_vjit", "jax.jit(jax.vmap(", "make_train(", "NUM_SEEDS"}
	handles   = []string{"Could not create cudnn handle", "DNN library initialization failed", "Failed to create cuBLAS handle", "gpusolverDnCreate(&handle) failed", "cusolverDnCreate(&handle) failed"}
)

func onGPU(c *ledger.Case) bool { return c.Backend != "tpu" && c.Backend != "cpu" }

// jaxPairs: the largest buffer has two equal long sides in front, each item beside
// each.
func jaxPairs(c *ledger.Case) bool {
	s := bufferSides(c)
	return len(s) >= 2 && s[0] == s[1] && s[0] >= 2048 || squareOf(c) > 0
}

// squareOf is the count of items where the bytes are a square of 32-bit numbers.
func squareOf(c *ledger.Case) int64 {
	if e := c.Explained; e != nil && len(e.Terms) == 3 && e.Terms[0].Name == "items" && e.Terms[1].Name == "items" {
		return e.Terms[0].Value
	}
	return 0
}

// bufferSides are those of the largest buffer that XLA lists.
func bufferSides(c *ledger.Case) []int64 {
	shape, _ := c.Fact("xla_shape")
	_, list, _ := strings.Cut(strings.TrimSuffix(shape.Text, "]"), "[")
	var out []int64
	for _, side := range strings.Split(list, ",") {
		n, ok := ledger.Whole(side)
		if !ok || n <= 0 {
			return nil
		}
		out = append(out, n)
	}
	return out
}

func jaxPairFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"shape": "", "n": "", "rows": ""}
	n := squareOf(c)
	if s := bufferSides(c); len(s) > 1 {
		shape, _ := c.Fact("xla_shape")
		out["shape"], n = shape.Text, s[0]
	}
	if n > 0 {
		out["n"] = calls.Grouped(n)
		if row := ledger.Requested(c) / n; row > 0 {
			out["rows"] = calls.Grouped(max(units.GiB/row, 1))
		}
	}
	return out
}

// share and runtime cures of JAX.
var (
	jaxNoPool = cause.Cure{Fix: "limit_framework_preallocation", Title: "Let JAX take only what it uses", Cost: "a little fragmentation", Told: "Before JAX is imported, in each process that shares the card:", Steps: environ("XLA_PYTHON_CLIENT_PREALLOCATE", "false")}
	jaxMore   = cause.Cure{Fix: "limit_framework_preallocation", Title: "Alone on the card: let JAX have 90 % of it", Cost: "less beside it", Told: "It takes 75 % by default; the name works in every version. Before JAX is imported:", Steps: environ("XLA_PYTHON_CLIENT_MEM_FRACTION", ".90")}
)

// jaxStateCards say where a JAX program was when the card was full.
var jaxStateCards = []cause.Card{
	{
		ID: "jax/handle", Kinds: []fact.Kind{fact.TFHandle, fact.XLAAlloc}, Said: handles, If: func(c *ledger.Case) bool { return c.Framework == "jax" || c.Says("jax") },
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "could not start a CUDA library: no room beside its pool, most likely",
		Means:    "cuDNN, cuBLAS and cuSOLVER take some hundred MB outside JAX's pool, when the first operation needs them. The pool takes 75 % of the card at the start, so what is beside it was full: another process, TensorFlow or PyTorch in this one, or a share above .90. The same words come from a library that does not match jaxlib; if it runs after the first line, it was memory.",
		Not:      "A smaller batch: the pool was not what ran out.",
		Cures: []cause.Cure{
			runtimeFirst, jaxNoPool, endHolder,
			{Fix: "upgrade_version", Title: "The card is empty: match the libraries", Cost: "half an hour", Told: "`pip install -U \"jax[cuda12]\"` brings its own CUDA and cuDNN; an `LD_LIBRARY_PATH` to other ones overrides them."},
		},
		Sources: []string{jaxMemory, "https://docs.jax.dev/en/latest/installation.html"},
	},
	{
		ID: "jax/state", Kinds: []fact.Kind{fact.XLAAlloc, fact.TFAlloc}, Said: stateWords, If: onGPU, Unsaid: []string{"openpi/"},
		Cause: cause.TrainingStateTooLarge, Weight: cause.Strong,
		Headline: "ran out while parameters and optimizer state were made, before any batch",
		Means:    "The traceback stands where the training state is made: no data was read, so the batch plays no part.[[ {asked} is one piece of it.]] In 32 bit with Adam a parameter takes 4 bytes, its two moments 8, its gradient 4 and a running average (EMA) 4 more: 16 to 20 GB for each billion. If that fits the card, something else holds it.",
		Not:      "A smaller batch, checkpoints of blocks: nothing is computed yet.",
		Cures: []cause.Cure{
			{Fix: "use_lora", Title: "Train less of it", Cost: "perhaps quality", Told: "LoRA or frozen parts, where the program has them (`optax.masked` leaves frozen ones without moments); no EMA. Adafactor (`optax.adafactor`) keeps hardly any state."},
			{Fix: "shard_training", Title: "Spread the state over several cards", Cost: "more cards", Told: "An `fsdp` axis of the mesh, or the program's option for it; initialise with `jax.jit(init, out_shardings=...)`, so that it is never whole on one."},
			{Fix: "half_precision", Title: "Parameters in bfloat16", Cost: "care with the optimizer", Told: "`param_dtype=jnp.bfloat16` in Flax; `mu_dtype=jnp.bfloat16` in `optax.adam` for the first moment."},
			runtimeFirst, endHolder, jaxMore,
		},
		Sources: []string{"optax/_src/transform.py", "flax/linen/module.py", jaxMemory},
	},
	{
		ID: "jax/restore", Kinds: []fact.Kind{fact.XLAAlloc, fact.TFAlloc}, Said: restoreWords, Unsaid: stateWords, If: onGPU,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out while parameters were being loaded",
		Means:    "The traceback stands where a checkpoint is read: no input was computed yet.[[ {asked} is one piece of it.]] For a moment two copies can be there: the initialised parameters and those from the file, or 32 and 16 bit.",
		Not:      "A smaller batch: none is there yet.",
		Cures: []cause.Cure{
			{Fix: "half_precision", Title: "One copy, in 16 bit", Cost: "hardly any loss", Told: "Cast to bfloat16 on the CPU while loading (`with jax.default_device(jax.devices(\"cpu\")[0]):` around it), then `jax.device_put` once; transformers: `from_pretrained(..., _do_init=False)`. Do not initialise on the card what is then overwritten: `jax.eval_shape` gives the shapes."},
			{Fix: "shard_training", Title: "Several cards: restore it spread", Cost: "more cards", Told: "Orbax reads each part where its sharding says; a mesh with one device puts all on one."},
			runtimeFirst, endHolder, jaxMore,
		},
		Sources: []string{"https://orbax.readthedocs.io/en/latest/", jaxMemory},
	},
	{
		ID: "jax/copied", Kinds: []fact.Kind{fact.XLAAlloc, fact.TFAlloc}, Said: putWords, If: func(c *ledger.Case) bool {
			return onGPU(c) && calls.AtLeast(units.GiB/2)(c) && calls.OwnLineHas(c, putWords...)
		},
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "had no room on the card for one array of {asked}",
		Means:    "The line that failed makes an array on the card from data in RAM: {asked} in one piece. JAX may take 75 % of a card, and what is on it already counts.",
		Not:      "Checkpoints or a smaller batch: this is the data as a whole.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Keep it in NumPy, send a part at a time", Cost: "copies", Kind: "python", Text: "x = np.load(\"x.npy\", mmap_mode=\"r\")   # your own file; stays on disk or in RAM\nfor i in range(0, len(x), 4096):\n    out.append(np.asarray(f(jnp.asarray(x[i:i + 4096]))))   # f: your jitted function"},
			{Fix: "half_precision", Title: "A smaller type", Cost: "digits", Told: "`x.astype(np.float16)`, or uint8 for pixels, before it goes to the card; float64 is halved to 32 bit on the way unless x64 is on."},
			{Fix: "cpu_offload", Title: "Or stay on the CPU for this step", Cost: "slower", Kind: "python", Text: "with jax.default_device(jax.devices(\"cpu\")[0]):\n    x = jnp.asarray(data)"},
			jaxMore, runtimeFirst, endHolder,
		},
		Sources: []string{jaxMemory, "jax/_src/numpy/array_constructors.py"},
	},
	{
		ID: "jax/pairs", Kinds: []fact.Kind{fact.XLAAlloc}, If: func(c *ledger.Case) bool { return jaxPairs(c) && calls.AtLeast(units.GiB)(c) }, Figures: jaxPairFigures,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "wanted every pair of {n} items at once: {asked}",
		Means:    "[[The largest buffer in XLA's list is {shape}: ]]{asked} is each of {n} items beside each. A matrix product with its own transpose, a broadcast such as `x[:, None] - x[None, :]`, a kernel or distance matrix, or two nested `vmap` make that; twice the items need four times as much.",
		Not:      "Preallocation settings, a larger share of the card, `jax.clear_caches()`.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "A block of rows at a time", Cost: "slower", Told: "[[{rows} rows are about 1 GiB. ]]Reduce each block (sum, nearest) before the next; an old JAX has no `batch_size` there:", Kind: "python", Text: "out = jax.lax.map(lambda a: f(a, x), x, batch_size=256)   # f: one row against all"},
			{Fix: "fix_shape", Title: "Distances: never build the differences", Cost: "some digits", Kind: "python", Text: "d2 = (x**2).sum(-1)[:, None] + (x**2).sum(-1) - 2 * x @ x.T   # n x n, without the side for coordinates"},
			{Fix: "half_precision", Title: "Or only what is near", Cost: "approximate", Told: "k nearest neighbours or a cell list in place of all pairs; float32 in place of 64 bit halves it only."},
		},
		Sources: []string{"jax/_src/lax/control_flow/loops.py", "xla/service/buffer_assignment.cc"},
	},
	{
		ID: "jax/numpyro", Kinds: []fact.Kind{fact.XLAAlloc, fact.TFAlloc}, Said: []string{"numpyro/infer/"}, If: onGPU,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "had no room for[[ {asked} of]] a NumPyro run",
		Means:    "NumPyro compiles the whole run, and keeps on the card what it collects: samples x chains x the sizes of all sites, deterministic ones too; `Predictive` makes every draw of every site at once where `parallel=True`. The gradient keeps the model's inner values for each chain.",
		Not:      "`jax.clear_caches()`, and ending other programs if this is alone on the card.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Fewer draws at a time", Cost: "slower", Told: "`MCMC(..., num_samples=200, thinning=2, chain_method=\"sequential\")`; more by further runs from `mcmc.post_warmup_state = mcmc.last_state`, each copied to RAM first (`jax.device_get(mcmc.get_samples())`). Prediction: over parts of the samples."},
			{Fix: "fix_shape", Title: "Collect less", Cost: "none", Told: "Leave out `numpyro.deterministic` of large arrays, and sites of the size of the data; compute them afterwards for a few draws."},
			{Fix: "cpu_offload", Title: "Or on the CPU", Cost: "slower", Told: "`numpyro.set_platform(\"cpu\")` at the very start: RAM holds more; for SVI also a subsample of the data (`plate(..., subsample_size=)`)."},
			jaxMore,
		},
		Sources: []string{"numpyro/infer/mcmc.py", "numpyro/infer/util.py", jaxMemory},
	},
	{
		ID: "jax/whole-training", Kinds: []fact.Kind{fact.XLAAlloc}, Said: scanWords, If: when.All(onGPU, calls.AtLeast(units.GiB)), Figures: resultFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "had no room for a whole training in one compiled call",
		Means:    "The call runs the training as one program, often of several seeds side by side (`vmap`).[[ XLA's table: what it returns takes {out}, computing it {scratch} more.]] Seeds, environments and the replay buffer multiply both, and a scan keeps what it returns of every step.",
		Not:      "Ending other programs, if the sum above is more than the card; `jax.clear_caches()`.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "One seed first, then fewer of the rest", Cost: "more runs", Told: "By the config's own names: the number of seeds at 1 (JaxMARL, PureJaxRL: `NUM_SEEDS`), then half of `NUM_ENVS`, `NUM_STEPS` and of the buffer (`BUFFER_SIZE`), then the hidden size. Runs one after another give the same result."},
			{Fix: "fix_shape", Title: "Return less", Cost: "none", Told: "Out of the scan only the metrics that you plot, averaged; not observations, states or a buffer. `jax.debug.callback` hands them to the host as they come."},
			{Fix: "gradient_checkpointing", Title: "The scratch is the larger part: compute values twice", Cost: "about a quarter more time", Told: "`jax.checkpoint` around the recurrent step or the loss; bfloat16 in the network."},
			runtimeFirst,
		},
		Sources: []string{"https://github.com/FLAIROx/JaxMARL", jaxMemory, "xla/service/buffer_assignment.cc"},
	},
}

// OpenPI is openpi, which trains robot policies in JAX.
var OpenPI = program.Program{
	Name: "openpi", Shown: "openpi", Work: "vision", Edits: "flags", Language: "python",
	Proofs: []string{"openpi/scripts/", "openpi/training/", "openpi/models/", "openpi/policies/"},
	Like:   []*program.Program{&JAX},
	Cards: []cause.Card{
		{
			ID: "openpi/state", Kinds: []fact.Kind{fact.XLAAlloc, fact.TFAlloc}, Said: []string{"in init_train_state", "init_train_state("},
			Cause: cause.TrainingStateTooLarge, Weight: cause.Decisive,
			Headline: "ran out while weights and optimizer state were made, before any batch",
			Means:    "It failed in `init_train_state`: no image was read yet.[[ {asked} is one piece of the state.]] Weights, Adam's moments and the running average (EMA) are made there; its README wants more than 70 GB for full fine-tuning, 22.5 GB with LoRA. Does your card have that: is it empty?",
			Not:      "A smaller `--batch-size`: nothing is computed yet.",
			Cures: []cause.Cure{
				{Fix: "use_lora", Title: "A LoRA config", Cost: "perhaps quality", Told: "One of `src/openpi/training/config.py` with `low_mem_finetune` in its name (such as `pi0_libero_low_mem_finetune`), or the same in your own: `paligemma_variant=\"gemma_2b_lora\"`, `action_expert_variant=\"gemma_300m_lora\"`, the `freeze_filter` of those, `ema_decay=None`."},
				{Fix: "shard_training", Title: "Several cards: spread it", Cost: "more cards", Told: "`fsdp_devices` in the config, `--fsdp-devices 2` on the command line: each card holds its part."},
				{Fix: "limit_framework_preallocation", Title: "Let JAX have 90 % of the card", Cost: "none, alone on it", Told: "75 % by default; its README starts the training so:", Kind: "env", Text: "export XLA_PYTHON_CLIENT_MEM_FRACTION=0.9"},
				endHolder,
			},
			Sources: []string{"openpi/README.md", "openpi/src/openpi/training/config.py", "openpi/scripts/train.py"},
		},
		{
			ID: "openpi/step", Kinds: []fact.Kind{fact.XLAAlloc, fact.TFAlloc}, Unsaid: []string{"in init_train_state", "init_train_state("}, If: calls.AtLeast(cause.Crumb),
			Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "had no room for a step[[: {asked}]]",
			Means:    "Its README wants more than 70 GB for full fine-tuning, 22.5 GB with LoRA and 8 GB for inference, and JAX takes 75 % of the card unless told otherwise.",
			Not:      "Ending other programs, if your card is below those figures.",
			Cures: []cause.Cure{
				{Fix: "lower_batch_size", Title: "A smaller batch", Cost: "slower per sample", Told: "`--batch-size 8` (32 by default), or `batch_size` in the config; it is divided over the cards."},
				{Fix: "limit_framework_preallocation", Title: "Let JAX have 90 % of the card", Cost: "none, alone on it", Kind: "env", Text: "export XLA_PYTHON_CLIENT_MEM_FRACTION=0.9"},
				{Fix: "use_lora", Title: "A LoRA config, or spread it", Cost: "perhaps quality", Told: "A config with `low_mem_finetune` in its name (`src/openpi/training/config.py`), or `--fsdp-devices 2` on several cards."},
			},
			Sources: []string{"openpi/README.md", "openpi/src/openpi/training/config.py"},
		},
	},
}
