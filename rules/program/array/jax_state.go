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
	jaxNoPool = cause.Cure{Fix: "limit_framework_preallocation", Title: "Turn off preallocation", Cost: "a little fragmentation", Told: "In each process that shares the card, before `import jax`:", Steps: environ("XLA_PYTHON_CLIENT_PREALLOCATE", "false")}
	jaxMore   = cause.Cure{Fix: "limit_framework_preallocation", Title: "If alone on the card: give JAX 90 %", Cost: "less for other programs", Told: "The default is 75 %, and most versions never take more. Before `import jax`:", Steps: environ("XLA_PYTHON_CLIENT_MEM_FRACTION", ".90")}
)

// jaxStateCards say where a JAX program was when the card was full.
var jaxStateCards = []cause.Card{
	{
		ID: "jax/pool-refused", Kinds: []fact.Kind{fact.TFStart}, If: func(c *ledger.Case) bool { return c.Framework == "jax" },
		Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "could not reserve GPU memory at its start[[: {asked} was refused]]",
		Means: "JAX reserves 75 % of a GPU at its first operation (90 % before August 2023)[[: {asked} is that, not what your model needs]]. The driver refused, so something else probably uses the card: another JAX process, a notebook's kernel, or TensorFlow or PyTorch in this program. A cuDNN or cuSOLVER error after it follows from this.",
		Not:   "A smaller batch or model: it does not change this request.",
		Cures: []cause.Cure{
			runtimeFirst, endHolder, jaxNoPool,
			{Fix: "lower_mem_fraction", Title: "Or take a smaller share", Told: "Set it below what `nvidia-smi` shows as free, before `import jax`:", Steps: environ("XLA_PYTHON_CLIENT_MEM_FRACTION", ".50"), Cost: "Less for JAX"},
		},
		Sources: []string{jaxMemory, jaxClient},
	},
	{
		ID: "jax/handle", Kinds: []fact.Kind{fact.TFHandle, fact.XLAAlloc}, Said: handles, If: func(c *ledger.Case) bool { return !c.Kind(fact.TFStart) && (c.Framework == "jax" || c.Says("jax")) },
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "could not start a CUDA library, probably because GPU memory was full",
		Means: "cuDNN, cuBLAS and cuSOLVER need some hundred MB outside JAX's pool. JAX takes 75 % of the card at its start, so the rest was probably full: another process, TensorFlow or PyTorch in this one, or a share above .90. A CUDA library that does not match jaxlib gives the same message.",
		Cures: []cause.Cure{
			runtimeFirst, jaxNoPool, endHolder,
			{Fix: "upgrade_version", Title: "If the card is empty: match the libraries", Cost: "half an hour", Told: "`pip install -U \"jax[cuda12]\"` installs its own CUDA and cuDNN. Unset `LD_LIBRARY_PATH`, as other copies there override them."},
		},
		Sources: []string{jaxMemory, "https://docs.jax.dev/en/latest/installation.html"},
	},
	{
		ID: "jax/state", Kinds: []fact.Kind{fact.XLAAlloc, fact.TFAlloc}, Said: stateWords, If: onGPU, Unsaid: []string{"openpi/"},
		Cause: cause.TrainingStateTooLarge, Weight: cause.Strong, Headline: "ran out of memory while creating parameters or optimizer state",
		Means: "The traceback is in the code that creates parameters or optimizer state.[[ {asked} is one request of many.]] In 32 bit with Adam, a billion parameters take 16 GB (weights 4, moments 8, gradients 4), plus 4 for an EMA copy. If that fits your card, something else uses part of it.",
		Cures: []cause.Cure{
			{Fix: "use_lora", Title: "Use LoRA, frozen layers or Adafactor", Cost: "perhaps quality", Told: "Turn on LoRA or freeze layers where the program offers it, and turn off EMA. `optax.adafactor` keeps hardly any state. `optax.masked` leaves frozen parameters without moments."},
			{Fix: "shard_training", Title: "Shard the state over several cards", Cost: "more cards", Told: "Use the program's option or an `fsdp` axis of the mesh. Initialize with `jax.jit(init, out_shardings=...)`, so that one card never holds it all."},
			{Fix: "half_precision", Title: "Use bfloat16 parameters", Cost: "care with the optimizer", Told: "Flax: `param_dtype=jnp.bfloat16`. For Adam's first moment: `optax.adam(..., mu_dtype=jnp.bfloat16)`."},
			runtimeFirst, endHolder, jaxMore,
		},
		Sources: []string{"optax/_src/transform.py", "flax/linen/module.py", jaxMemory},
	},
	{
		ID: "jax/mesh-transformer", Kinds: []fact.Kind{fact.XLAAlloc}, Said: []string{"self.init_xmap(", "in init_xmap"}, If: onGPU,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "had no GPU memory for the weights that mesh-transformer-jax creates", Not: "A shorter text or smaller batch: no text had been read.",
		Means:   "It failed while the weights were created, before a checkpoint was read.[[ {asked} is only the request that no longer fitted.]] The GPT-J-6B example was tested on a 40 GB A100, with a peak of about 30 GB while loading. JAX takes 75 % of a card by default.",
		Cures:   []cause.Cure{{Fix: "half_precision", Title: "Run GPT-J in Transformers, in 16 bit", Told: "The weights then need 12 GB, so a 16 GB card works: `GPTJForCausalLM.from_pretrained(\"EleutherAI/gpt-j-6B\", revision=\"float16\", torch_dtype=torch.float16)`.", Cost: "PyTorch instead of JAX"}, jaxMore, {Fix: "multi_gpu", Title: "Split it over two cards or more", Told: "Set `cores_per_replica` in the example's `params`, with a mesh of that many devices.", Cost: "More cards"}, endHolder},
		Sources: []string{"mesh-transformer-jax/resharding_example.py", "transformers/docs/source/en/model_doc/gptj.md", jaxMemory},
	},
	{
		ID: "jax/restore", Kinds: []fact.Kind{fact.XLAAlloc, fact.TFAlloc}, Said: restoreWords, Unsaid: stateWords, If: onGPU,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of memory while loading parameters",
		Means: "The traceback is in the code that reads a checkpoint.[[ {asked} is one request of many.]] Two copies may exist for a moment: the initialized parameters and those from the file, or 32 bit and 16 bit.",
		Cures: []cause.Cure{
			{Fix: "half_precision", Title: "Load one copy, in 16 bit", Cost: "hardly any loss", Told: "Load inside `with jax.default_device(jax.devices(\"cpu\")[0]):`, cast to bfloat16, then `jax.device_put` once. Flax models of transformers: `from_pretrained(..., _do_init=False)`. `jax.eval_shape` gives shapes without initializing on the card."},
			{Fix: "shard_training", Title: "Restore it sharded over several cards", Cost: "more cards", Told: "Orbax reads each part to where its sharding says. A mesh with one device puts everything on one card."},
			runtimeFirst, endHolder, jaxMore,
		},
		Sources: []string{"https://orbax.readthedocs.io/en/latest/", jaxMemory},
	},
	{
		ID: "jax/copied", Kinds: []fact.Kind{fact.XLAAlloc, fact.TFAlloc}, Said: putWords, If: func(c *ledger.Case) bool {
			return onGPU(c) && calls.AtLeast(units.GiB/2)(c) && calls.OwnLineHas(c, putWords...)
		},
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "had no GPU memory for one array of {asked}",
		Means: "The failing line copies data from RAM to the card in one piece. JAX takes 75 % of a card by default, and arrays already on it count.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Keep it in NumPy, send parts to the card", Cost: "Copies", Kind: "python", Text: "x = np.load(\"x.npy\", mmap_mode=\"r\")   # your own file; stays on disk or in RAM\nout = []\nfor i in range(0, len(x), 4096):\n    out.append(np.asarray(f(jnp.asarray(x[i:i + 4096]))))   # f: your jitted function"},
			{Fix: "half_precision", Title: "Use a smaller type", Cost: "digits", Told: "Convert before the copy: `x.astype(np.float16)`, or uint8 for pixels. JAX makes float64 32 bit unless x64 is on."},
			{Fix: "cpu_offload", Title: "Stay on the CPU for this step", Cost: "slower", Kind: "python", Text: "with jax.default_device(jax.devices(\"cpu\")[0]):\n    x = jnp.asarray(data)"},
			jaxMore, runtimeFirst, endHolder,
		},
		Sources: []string{jaxMemory, "jax/_src/numpy/array_constructors.py"},
	},
	{
		ID: "jax/pairs", Kinds: []fact.Kind{fact.XLAAlloc}, If: func(c *ledger.Case) bool { return jaxPairs(c) && calls.AtLeast(units.GiB)(c) }, Figures: jaxPairFigures,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "tried to compute every pair of {n} items at once: {asked}",
		Means: "[[The largest buffer in XLA's list is {shape}. ]]{asked} holds one value or more for each pair of {n} items. A distance or kernel matrix, a broadcast such as `x[:, None] - x[None, :]`, `x @ x.T`, or two nested `vmap` make that. Twice the items need four times as much.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Compute a block of rows at a time", Cost: "slower", Told: "[[{rows} rows are about 1 GiB. ]]Reduce each block (sum, nearest) before the next. `batch_size` needs a recent JAX:", Kind: "python", Text: "out = jax.lax.map(lambda a: f(a, x), x, batch_size=256)   # f: one row against all"},
			{Fix: "fix_shape", Title: "Distances: avoid the array of differences", Told: "This needs n x n values, without the coordinates:", Cost: "some digits", Kind: "python", Text: "d2 = (x**2).sum(-1)[:, None] + (x**2).sum(-1) - 2 * x @ x.T"},
			{Fix: "half_precision", Title: "Use only near neighbors", Cost: "approximate", Told: "Use k nearest neighbors or a cell list instead of all pairs."},
		},
		Sources: []string{"jax/_src/lax/control_flow/loops.py", "xla/service/buffer_assignment.cc"},
	},
	{
		ID: "jax/numpyro", Kinds: []fact.Kind{fact.XLAAlloc, fact.TFAlloc}, Said: []string{"numpyro/infer/"}, If: onGPU,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "had no memory for[[ {asked} of]] a NumPyro run",
		Means: "NumPyro compiles the whole run and keeps everything it collects on the card: samples x chains x the size of each site, deterministic ones too. `Predictive` with `parallel=True` computes all draws at once. Gradients store the model's values for each chain.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Draw fewer samples at a time", Cost: "slower", Told: "`MCMC(..., num_samples=200, thinning=2, chain_method=\"sequential\")`. Copy the result to RAM (`jax.device_get(mcmc.get_samples())`), set `mcmc.post_warmup_state = mcmc.last_state`, and run again. Predict over parts of the samples."},
			{Fix: "fix_shape", Title: "Collect fewer sites", Cost: "none", Told: "Leave out `numpyro.deterministic` for large arrays and sites as large as the data. Compute them afterwards for a few draws."},
			{Fix: "cpu_offload", Title: "Run it on the CPU", Cost: "slower", Told: "Call `numpyro.set_platform(\"cpu\")` at the very start. For SVI, also subsample the data: `plate(..., subsample_size=)`."},
			jaxMore,
		},
		Sources: []string{"numpyro/infer/mcmc.py", "numpyro/infer/util.py", jaxMemory},
	},
	{
		ID: "jax/whole-training", Kinds: []fact.Kind{fact.XLAAlloc}, Said: scanWords, If: when.All(onGPU, calls.AtLeast(units.GiB)), Figures: resultFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "had no memory for a training run compiled as one call",
		Means: "The call runs the whole training as one program, often several seeds side by side (`vmap`).[[ By XLA's table, its results take {out}, and computing them {scratch} more.]] Seeds, environments and the replay buffer multiply the need, and a scan keeps what it returns for every step.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the number of seeds and environments", Cost: "more runs", Told: "In the config: one seed (`NUM_SEEDS` in JaxMARL and PureJaxRL), then half of `NUM_ENVS`, `NUM_STEPS` and `BUFFER_SIZE`. Run seeds one after another."},
			{Fix: "fix_shape", Title: "Return less from the scan", Cost: "none", Told: "Return only averaged metrics that you plot, not observations, states or a buffer. `jax.debug.callback` sends values to the host as they come."},
			{Fix: "gradient_checkpointing", Title: "If temporaries are larger: use `jax.checkpoint`", Cost: "about a quarter more time", Told: "Put it around the recurrent step or the loss, and compute the network in bfloat16."},
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
			Cause: cause.TrainingStateTooLarge, Weight: cause.Decisive, Headline: "ran out of GPU memory while creating weights and optimizer state",
			Means: "It failed in `init_train_state`, which creates weights, Adam's moments and the EMA copy.[[ {asked} is one request of many.]] The README asks for more than 70 GB of GPU memory for full fine-tuning and 22.5 GB with LoRA, on an empty card.",
			Not:   "A smaller `--batch-size`: weights and optimizer state do not depend on it.",
			Cures: []cause.Cure{
				{Fix: "use_lora", Title: "Use a LoRA config", Cost: "perhaps quality", Told: "Train with a config that has `low_mem_finetune` in its name, such as `pi0_libero_low_mem_finetune`. In your own config: `paligemma_variant=\"gemma_2b_lora\"`, `action_expert_variant=\"gemma_300m_lora\"`, the `freeze_filter` from there, `ema_decay=None`."},
				{Fix: "shard_training", Title: "Shard over several cards (`--fsdp-devices`)", Cost: "more cards", Told: "`--fsdp-devices 2` on the command line, or `fsdp_devices` in the config. Each card then holds its part."},
				{Fix: "limit_framework_preallocation", Title: "Give JAX 90 % of the card", Cost: "none, alone on it", Told: "The default is 75 %. The README starts training with:", Kind: "env", Text: "export XLA_PYTHON_CLIENT_MEM_FRACTION=0.9"},
				endHolder,
			},
			Sources: []string{"openpi/README.md", "openpi/src/openpi/training/config.py", "openpi/scripts/train.py"},
		},
		{
			ID: "openpi/step", Kinds: []fact.Kind{fact.XLAAlloc, fact.TFAlloc}, Unsaid: []string{"in init_train_state", "init_train_state("}, If: calls.AtLeast(cause.Crumb),
			Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory in a step[[: {asked}]]",
			Means: "The README asks for more than 70 GB of GPU memory for full fine-tuning, 22.5 GB with LoRA and 8 GB for inference. JAX takes 75 % of the card by default.",
			Cures: []cause.Cure{
				{Fix: "lower_batch_size", Title: "Lower the batch size", Cost: "slower per sample", Told: "Halve `--batch-size` (32 by default), or `batch_size` in the config. It is divided over the cards."},
				{Fix: "limit_framework_preallocation", Title: "Give JAX 90 % of the card", Told: "Before the start:", Cost: "none, alone on it", Kind: "env", Text: "export XLA_PYTHON_CLIENT_MEM_FRACTION=0.9"},
				{Fix: "use_lora", Title: "Use a LoRA config, or shard it", Cost: "perhaps quality", Told: "Use a config with `low_mem_finetune` in its name (`src/openpi/training/config.py`), or `--fsdp-devices 2` on several cards."},
			},
			Sources: []string{"openpi/README.md", "openpi/src/openpi/training/config.py"},
		},
	},
}
