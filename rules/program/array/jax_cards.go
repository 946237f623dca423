package array

import (
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
	"github.com/oomdoc/oomdoc/rules/program/array/local"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

const (
	jaxMemory = "https://docs.jax.dev/en/latest/gpu_memory_allocation.html"
	jaxClient = "jax/jaxlib/xla_client.py"
)

// preallocation spells the share that JAX takes: since jaxlib 0.4.32 (September
// 2024) under a new name. Newer ones read the old name as well, but refuse both
// at once.
func preallocation(c *ledger.Case) []step.Step {
	name := "XLA_CLIENT_MEM_FRACTION"
	if _, old := c.Setting("xla_python_client_mem_fraction"); old {
		name = "XLA_PYTHON_CLIENT_MEM_FRACTION"
	}
	return []step.Step{
		step.Environ(c, "XLA_PYTHON_CLIENT_PREALLOCATE", "false"), step.Environ(c, name, ".50"),
		{Kind: "text", Text: "Set one of the two before JAX starts. Without preallocation JAX takes what it needs; a share of .50 is half the card. jaxlib before 0.4.32 (September 2024) knows only XLA_PYTHON_CLIENT_MEM_FRACTION; newer ones read either name and refuse both at once."},
	}
}

// leastCard is the smallest card that could give what was asked for.
func leastCard(c *ledger.Case) map[string]string {
	return map[string]string{"least": strconv.FormatInt(ledger.CeilDiv(ledger.Requested(c)*20/19, units.GiB), 10)}
}

func square(c *ledger.Case) bool { _, ok := c.Fact("xla_square"); return ok }

var (
	lookAtCard = cause.Cure{Fix: "kill_stale_process", Title: "Check what else uses the card", Kind: "shell", Text: "nvidia-smi   # an old Python or another notebook: end it by its PID", Cost: "A look is free; what you end loses its state"}
	smallBatch = cause.Cure{Fix: "lower_batch_size", Title: "Halve the batch size or the length", Told: "Your own code: pass half the batch to the jitted function, and in training accumulate gradients over two calls. Another program: use its batch, chunk or length option. XLA compiles again for the new shape.", Cost: "Slower per sample"}
)

// sharedNoPool is for processes that share a card, as cells of one notebook do not.
var sharedNoPool = func() cause.Cure {
	cure := jaxNoPool
	cure.If = when.Not(inNotebook)
	return cure
}()

var jaxCards = []cause.Card{
	{
		ID: "jax/code", Kinds: []fact.Kind{fact.XLAAlloc}, Said: []string{"in-memory CUBIN: CUDA_ERROR_OUT_OF_MEMORY"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Headline: "had no GPU memory left for the compiled code",
		Means: "XLA compiled the function, but its code (the CUBIN, some MB) found no room on the card. Code lies outside JAX's memory pool, which takes 75 % of the card at first use. So the rest was full: another process, a second notebook, or PyTorch or TensorFlow in this one.",
		Cures: []cause.Cure{
			{Fix: "limit_framework_preallocation", Title: "Make JAX's pool smaller", Cost: "less for arrays", Told: "The default is 0.75 of the card. Before `import jax`:", Steps: environ("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.6")},
			lookAtCard,
			{Fix: "restart_session", If: inNotebook, Title: "Shut down other notebooks' kernels", Cost: "the session is lost", Told: "Each process that uses JAX takes its own pool, and a closed tab keeps its kernel. Then restart this kernel."},
		},
		Sources: []string{"https://docs.jax.dev/en/latest/gpu_memory_allocation.html"},
	},
	local.Unified,
	{
		ID: "jax/converting", Kinds: []fact.Kind{fact.XLAAlloc}, If: cures.Converting,
		Cause: cause.ModelTooLarge, Weight: cause.Decisive, Headline: "ran out of device memory in a script that converts weights",
		Means:   "Going by its name, the script turns weights into another form. That needs no accelerator, only RAM for the weights once or twice. Batch size and gradients play no part.",
		Cures:   []cause.Cure{{Fix: "cpu_offload", Title: "Run the conversion on the CPU", Cost: "slower, but it runs once", Told: "Use the script's own option if it has one (often `--cpu`; `--help` lists them). Otherwise, before you start it:", Kind: "env", Text: "export JAX_PLATFORMS=cpu"}, lookAtCard},
		Sources: []string{"https://docs.jax.dev/en/latest/config_options.html", "mesh-transformer-jax/to_hf_weights.py"},
	},
	{
		ID: "jax/preallocated", Kinds: []fact.Kind{fact.XLAAlloc}, If: calls.Crumb, Unsaid: []string{"bytes unified memory"},
		Cause: cause.LeakedProcess, Weight: cause.Likely, Headline: "found the card full: even {asked} was refused",
		Means: "{asked} is very little, so the card was nearly full before this request. On GPUs, JAX takes 75 % of the card at its first operation (90 % before August 2023). That leaves nothing for a second JAX process, another notebook, or PyTorch or TensorFlow. If nothing else is on the card, this program has filled its own share.",
		Cures: []cause.Cure{
			runtimeFirst, endHolder,
			calls.SmallerLoad, {Fix: "lower_batch_size", If: when.All(inNotebook, when.Not(calls.Loads)), Title: "If it fails again: use a smaller input", Told: "Halve the length or batch in the notebook's own fields, or choose a runtime with a larger GPU.", Cost: "Detail, or slower"},
			sharedNoPool,
			{Fix: "lower_batch_size", If: when.Not(when.Any(inNotebook, calls.Loads)), Title: "If it is alone on the card: lower the batch size", Told: "Halve the batch or length, and give JAX more of the card: `XLA_PYTHON_CLIENT_MEM_FRACTION=.95`.", Cost: "Slower"},
			otherCard,
		},
		Sources: []string{jaxMemory, jaxClient},
	},
	{
		ID: "jax/remat", Kinds: []fact.Kind{fact.XLAAlloc}, Said: []string{"by rematerialization; only reduced to", "Can't reduce memory use below"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "needs more memory than the device has, even after XLA's memory saving",
		Means: "XLA computed values twice to save memory (rematerialization), and the program still exceeds its limit. Activations kept for the backward pass, or parameters with their optimizer state, usually take most. The line states both sizes: if they are far apart, halving the batch may not be enough.",
		Cures: []cause.Cure{
			smallBatch,
			{Fix: "gradient_checkpointing", Title: "Turn on gradient checkpointing", Kind: "python", Text: "block = jax.checkpoint(block)   # with Flax: nn.remat(Block); its inner values are computed again in the backward pass", Cost: "About a quarter more time per step"},
			{Fix: "shard_training", Title: "Shard over more devices", Kind: "text", Text: "Put the batch and parameters on a mesh of devices with `jax.sharding.NamedSharding`. Each device then holds its part.", Cost: "More devices"},
		},
		Sources: []string{"xla/service/hlo_rematerialization.cc", jaxMemory},
	},
	{
		ID: "jax/step-beyond", Kinds: []fact.Kind{fact.XLAAlloc}, Said: []string{"train_step", "update_step", "(jvp(", "value_and_grad"}, If: calls.AtLeast(96 * units.GiB),
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: resultFigures, Headline: "asked for {asked} at once for a training step, more than most cards have",
		Means: "XLA asks for all temporary arrays of a compiled step in one request. In training most of them are activations, which grow with the batch per device and the image size or length.[[ {listed}]] A config written for many devices can put its whole batch on one.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the batch size per device", Told: "Set `batch_size` in the config, or the program's option, to an eighth as a test, then raise it. It is usually divided over the devices, so fewer devices need a smaller one. Accumulate gradients to keep the effective batch.", Cost: "Slower"},
			{Fix: "gradient_checkpointing", Title: "Turn on gradient checkpointing (`remat`)", Told: "Use the program's option, or in a Flax model:", Kind: "python", Text: "Block = nn.remat(Block)   # your own layer; plain functions: jax.checkpoint(f)", Cost: "About a quarter more time per step"},
			{Fix: "mixed_precision", Title: "Compute in bfloat16, on smaller inputs", Told: "bfloat16 halves float32 activations. Half the width and height, or half the length, leaves a quarter to a half.", Cost: "Detail"},
		},
		Sources: []string{jaxMemory, "xla/service/buffer_assignment.cc", "flax/linen/transforms.py"},
	},
	{
		ID: "jax/pairwise", Kinds: []fact.Kind{fact.XLAAlloc}, If: calls.AtLeast(96 * units.GiB),
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "asked for {asked} at once, more than most cards have",
		Means: "One compiled program asked for all of it. Usually a `vmap` or a broadcast computes every pair of rows at once, the input is very long, or one side of an array is far larger than meant.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Compute in pieces, or use a smaller input", Cost: "Slower", Ways: []cause.Way{
				{For: "A program you only run", Text: "a shorter or smaller input, or half of its batch, chunk or length option"},
				{For: "Your own code", Text: "`jax.lax.map(f, x, batch_size=256)` instead of `jax.vmap(f)(x)` (needs a recent JAX)"},
			}},
			{Fix: "fix_shape", Title: "Your own code: print the shapes", Told: "`f` and `x` are the function that failed and its input.", Kind: "python", Text: "print(jax.tree.map(jnp.shape, x), jax.eval_shape(f, x))   # computes and allocates nothing", Cost: "Free"},
			{Fix: "gradient_checkpointing", Title: "If it is a gradient: use `jax.checkpoint`", Kind: "python", Text: "f = jax.checkpoint(f)", Cost: "About a quarter more time"},
		},
		Sources: []string{"jax/_src/lax/control_flow/loops.py", jaxMemory},
	},
	{
		ID: "jax/results", Kinds: []fact.Kind{fact.XLAAlloc}, Said: []string{"maybe_live_out allocation"}, If: when.All(mostlyResults, when.Not(calls.EmbeddingTable)), Figures: resultFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "had no GPU memory for the results of one call: {out}",
		Means: "The table in the message shows that the results of the compiled function take {out}; computing them takes {scratch} more.[[ The largest result is {shape}; its first side, {first}, usually counts steps, draws or samples, {each} each.]]",
		Not:   "Checkpointing inside the function: the results keep their size.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Compute fewer samples or steps per call", Told: "A program you only run: fewer samples, steps or recycles, or a shorter input. Your own code: loop over parts and move each to RAM:", Kind: "python", Text: "parts = [np.asarray(f(x[i:i + 50])) for i in range(0, len(x), 50)]   # f, x: your function and its input; asarray copies to RAM\nout = np.concatenate(parts)", Cost: "Slower"},
			{Fix: "cpu_offload", Title: "Compute this call on the CPU", Told: "Wrap your call:", Kind: "python", Text: "with jax.default_device(jax.devices(\"cpu\")[0]):\n    out = f(x)   # your call; inputs that lie on the card: jax.device_get first", Cost: "Slower"},
			{Fix: "fix_shape", Title: "Return less", Told: "Return from a scan only what you use, such as a sum or the last value. Leave out diagnostics (a log-likelihood or an image per draw).", Cost: "None"},
			{Fix: "restart_session", Title: "In a notebook: free what earlier cells hold", Told: "`del` their arrays, or restart the kernel and load only what this call needs.", Cost: "What was computed"},
		},
		Sources: []string{jaxMemory, "xla/service/buffer_assignment.cc"},
	},
	{
		ID: "jax/one-program", Kinds: []fact.Kind{fact.XLAAlloc}, Said: []string{"preallocated temp allocation", "BufferAssignment OOM"}, Unsaid: []string{"preallocated temp allocation: 0B"}, If: calls.AtLeast(cause.Crumb),
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "had no memory for one compiled function: {asked}",
		Means: "XLA asks for all temporary arrays of a compiled function in one request: {asked} is usually their sum, not one array. It grows with batch and length. If a table follows the message, \"preallocated temp\" is this request and \"parameter\" is what you passed in.",
		Cures: []cause.Cure{
			smallBatch,
			{Fix: "gradient_checkpointing", Training: true, Title: "Turn on gradient checkpointing", Kind: "python", Text: "block = jax.checkpoint(block)   # with Flax: nn.remat(Block)", Cost: "About a quarter more time per step"},
			{Fix: "mixed_precision", Title: "Compute in bfloat16", Kind: "python", Text: "model = Model(dtype=jnp.bfloat16)   # parameters stay in 32 bit", Cost: "None as a rule on cards since Ampere"},
		},
		Sources: []string{jaxMemory, "xla/service/buffer_assignment.cc"},
	},
	{
		ID: "jax/large-request", Kinds: []fact.Kind{fact.XLAAlloc}, If: func(c *ledger.Case) bool {
			return c.Backend != "tpu" && calls.AtLeast(16*units.GiB)(c) && !calls.AtLeast(96*units.GiB)(c)
		}, Unsaid: []string{"by rematerialization; only reduced to", "Can't reduce memory use below"},
		Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Figures:  leastCard,
		Headline: "asked for {asked} in one piece",
		Means:    "{asked} is one array, or all temporary arrays of a compiled function. Typical reasons: a `vmap` over all particles, samples or pairs, a scan that keeps every step, or the values stored for a gradient. JAX takes 75 % of a card by default; on a card below {least} GiB no share is enough.",
		Not:      "A larger memory fraction on a card below {least} GiB.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the batch size, or compute in pieces", Told: "Use this instead of `jax.vmap(f)(x)` (needs a recent JAX). Without a vmap: half the batch, particles or length per call. Another program: its batch or length option, or a smaller input.", Kind: "python", Text: "out = jax.lax.map(f, x, batch_size=256)   # f, x: your function and its input; 256 rows at a time", Cost: "Slower than one large vmap"},
			{Fix: "fix_shape", Title: "Find the large part", Told: "Print the result shapes of the failing function and its memory needs. If `temp_size_in_bytes` is near {asked}, you found it:", Kind: "python", Text: "print(jax.eval_shape(f, x))   # allocates nothing\nprint(jax.jit(f).lower(x).compile().memory_analysis())", Cost: "Free"},
			{Fix: "gradient_checkpointing", Title: "If it is a gradient or a scan: use `jax.checkpoint`", Told: "Also return from a scan only what you use.", Kind: "python", Text: "f = jax.checkpoint(f)   # in a scan: of its body", Cost: "About a quarter more time"},
		},
		Sources: []string{"jax/_src/lax/control_flow/loops.py", jaxMemory},
	},
	{
		ID: "jax/request", Kinds: []fact.Kind{fact.XLAAlloc}, If: func(c *ledger.Case) bool { return c.Backend != "tpu" && calls.AtLeast(cause.Crumb)(c) }, Unsaid: []string{"by rematerialization; only reduced to", "Can't reduce memory use below"},
		Cause: cause.BatchTooLarge, Weight: cause.Good, Headline: "had no memory for {asked} on the device",
		Means: "XLA asks for an array, or for all temporary arrays of a compiled function, in one piece. The message shows neither the size of the card nor what else is on it. On GPUs, JAX takes 75 % of the card at its start, so a second process finds hardly anything.",
		Cures: []cause.Cure{
			runtimeFirst,
			onlyWhere(calls.AtLeast(2*units.GiB), smallBatch),
			{Fix: "kill_stale_process", If: when.Not(inNotebook), Title: "Check the card, and raise the memory fraction", Told: "End an old Python or notebook. If nothing else is on the card, give JAX more of it before `import jax`:", Kind: "shell", Text: "nvidia-smi\nexport XLA_PYTHON_CLIENT_MEM_FRACTION=.92", Cost: "Free"},
			onlyWhere(when.Not(calls.AtLeast(2*units.GiB)), smallBatch), calls.Spill,
			{Fix: "gradient_checkpointing", Training: true, Title: "Turn on gradient checkpointing", Kind: "python", Text: "block = jax.checkpoint(block)   # Flax: nn.remat(Block)", Cost: "About a quarter more time per step"},
		},
		Sources: []string{jaxMemory, jaxClient},
	},
	{
		ID: "jax/tpu-attention", Kinds: []fact.Kind{fact.TPUCompile}, If: square,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "does not fit the TPU: the largest buffer looks like an attention matrix",
		Means: "The compiler refused the program before it ran. The list in the message shows a buffer with two equal long sides, most likely an attention matrix (queries x keys). Twice the length makes it four times as large.",
		Not:   "Restarting: the compiler adds up sizes before anything runs.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Halve the sequence length", Told: "Set it in the config of the model or trainer. That buffer then becomes a quarter.", Cost: "Less context per sample"},
			{Fix: "efficient_attention", Title: "Use a fused attention", Kind: "text", Text: "Turn on the model's flash (splash) attention option. In your own code use `jax.experimental.pallas.ops.tpu.flash_attention`. It does not store that matrix.", Cost: "None for quality; usually faster"},
			{Fix: "gradient_checkpointing", If: (*ledger.Case).Training, Title: "Turn on gradient checkpointing", Told: "Use the trainer's option, or `block = jax.checkpoint(block)` (Flax: `nn.remat(Block)`). The layers then no longer keep such a matrix each.", Cost: "About a quarter more time per step"},
			{Fix: "lower_batch_size", Title: "Halve the batch per chip", Told: "Halve the global batch, or use twice the chips.", Cost: "Slower per sample"},
		},
		Sources: []string{"jax/experimental/pallas/ops/tpu/flash_attention.py", jaxMemory},
	},
	local.TPUBuffer,
	{
		ID: "jax/tpu-reserve", Kinds: []fact.Kind{fact.TPUReserve},
		Cause: cause.BatchTooLarge, Weight: cause.Good, Figures: local.Reserved, Headline: "could not load a program onto the TPU: {asked} in one piece was not free",
		Means: "A compiled program needs its temporary memory in one piece.[[ {held} of the chip's {all} was already taken.]] Weights, a KV cache sized to fill the chip (as in vLLM), arrays you keep, or another process take the rest.",
		Cures: []cause.Cure{
			{Fix: "lower_gpu_memory_utilization", If: servesTPU, Title: "Lower the server's share of the memory", Told: "vLLM: set `--gpu-memory-utilization` 0.1 lower (default 0.9). The KV cache shrinks by that.", Cost: "a smaller cache"},
			{Fix: "lower_batch_size", If: (*ledger.Case).Training, Title: "Halve the batch per chip", Told: "Or put `jax.checkpoint` around the blocks.", Cost: "slower steps"},
			{Fix: "lower_gpu_memory_utilization", If: when.Not(when.Any(servesTPU, (*ledger.Case).Training)), Title: "Lower the memory share, batch or cache", Ways: []cause.Way{
				{For: "vLLM on TPU", Text: "set `--gpu-memory-utilization` 0.1 lower (default 0.9); the KV cache shrinks by that"},
				{For: "Your own code", Text: "half the batch per chip; keep large arrays in NumPy and shard them from there: `jax.device_put(np.asarray(x), sharding)`"},
			}, Cost: "a smaller cache, or slower steps"},
			{Fix: "lower_batch_size", If: when.Not(servesTPU), Title: "Check what is on the chips", Told: "`sudo lsof /dev/accel* /dev/vfio/*` on the TPU machine lists other processes. In your program, before the failing step:", Kind: "python", Text: "for d in jax.local_devices(): print(d, d.memory_stats())", Cost: "free"},
			{Fix: "shard_training", Title: "Shard over more chips", Told: "vLLM: a larger `--tensor-parallel-size`. Your own model: shard the parameters over a mesh.", Cost: "more chips"},
		},
		Sources: []string{"https://github.com/AI-Hypercomputer/tpu-recipes/issues/151", jaxMemory},
	},
	{
		ID: "jax/tpu-arguments", Kinds: []fact.Kind{fact.TPUCompile}, If: mostlyArguments,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Figures: local.TPUFigures, Headline: "needs {asked} of the TPU's {total}, most of it parameters and state",
		Means: "The compiler adds up what the program needs on one chip and refuses before anything runs: {over} too much. {arguments} are arguments: parameters, optimizer state, KV cache and inputs. A smaller batch usually changes them little; shard them or make them smaller.[[ {copy}]]",
		Not:   "Restarting: the compiler adds up sizes before anything runs.",
		Cures: []cause.Cure{
			{Fix: "shard_training", Title: "Shard the parameters over the chips", Told: "Each chip then holds its part. MaxText and EasyDeL: a larger `fsdp` axis of the mesh. vLLM: `--tensor-parallel-size`. Your own code:", Kind: "python", Text: "mesh = jax.sharding.Mesh(np.array(jax.devices()), (\"fsdp\",))\nspec = jax.sharding.PartitionSpec(\"fsdp\")   # where the first side divides\nparams = jax.device_put(params, jax.sharding.NamedSharding(mesh, spec))", Cost: "More chips"},
			{Fix: "half_precision", Title: "Use bfloat16 parameters", If: when.Not((*ledger.Case).Training), Told: "They take half if they are float32 now. Load them in the type that the model computes in, which avoids a second copy.", Cost: "None as a rule"},
			{Fix: "half_precision", If: (*ledger.Case).Training, Title: "Use Adafactor and bfloat16 parameters", Told: "Adam's two moments take twice the parameters, Adafactor's state hardly anything. bfloat16 parameters take half of float32.", Cost: "Care with the optimizer"},
			{Fix: "use_smaller_model", Title: "Use a smaller model", Told: "Weights take 2 GB per billion parameters in 16 bit, 4 GB in 32 bit.", Cost: "Quality"},
		},
		Sources: []string{"jax/docs/gpu_memory_allocation.rst", "https://docs.jax.dev/en/latest/notebooks/Distributed_arrays_and_automatic_parallelization.html"},
	},
	{
		ID: "jax/tpu-serving", Kinds: []fact.Kind{fact.TPUCompile}, If: func(c *ledger.Case) bool { return c.F().Total != nil && serving(c) },
		Cause: cause.ModelTooLarge, Weight: cause.Good, Figures: local.TPUFigures, Headline: "does not fit the TPU: the program needs {asked} of {total}",
		Means: "The compiler adds up weights, cache and activations on one chip and refuses before anything runs. A usual reason: each chip holds all weights because they are not sharded.[[ {unknown}]]",
		Not:   "Restarting: the compiler adds up sizes before anything runs.",
		Cures: []cause.Cure{
			{Fix: "shard_training", Title: "Shard the weights over the chips", Told: "Use the program's option for tensor parallelism: `--tensor-parallel-size` in vLLM, elsewhere `mesh_dim` or the last numbers of a mesh above 1. Each chip then holds its part.", Cost: "More chips"},
			{Fix: "lower_context", Title: "Use a shorter context, fewer frames or prompts", Told: "Half the length halves the KV cache. Attention that is not fused drops to a quarter.", Cost: "Less context"},
			{Fix: "half_precision", Title: "Use bfloat16 weights", Told: "Half of float32, if they are that now: 2 GB per billion parameters.", Cost: "None as a rule"},
		},
		Sources: []string{jaxMemory, "https://docs.jax.dev/en/latest/notebooks/Distributed_arrays_and_automatic_parallelization.html"},
	},
	{
		ID: "jax/tpu-table", Kinds: []fact.Kind{fact.TPUCompile}, Said: []string{"HLO temp"}, If: func(c *ledger.Case) bool { return c.F().Total != nil },
		Cause: cause.BatchTooLarge, Weight: cause.Likely, Figures: local.TPUFigures, Headline: "does not fit the TPU: the program needs {asked} of {total}",
		Means: "The compiler adds up what the program needs on one chip and refuses before anything runs.[[ {program} are temporary arrays and activations, {arguments} are arguments (parameters, state, inputs).]] \"HLO temp\" means temporary arrays; the list of the largest allocations shows which layer makes them.[[ {largest}]]",
		Not:   "Restarting: the compiler adds up sizes before anything runs.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Shrink the first buffer of that list", Ways: []cause.Way{
				{For: "Its first side is the batch or a count", Text: "half the batch (particles, points) per chip, or twice the chips"},
				{For: "\"Extra memory due to padding\" is most of it", Text: "a TPU stores arrays in tiles (`T(8,128)`), so a last side of 4 takes the room of 128. Transpose the array before that operation so that a long side comes last"},
				{For: "A length or size", Text: "a shorter or smaller input; attention that is not fused grows with the square of the length"},
			}, Cost: "Slower, or some rewriting"},
			{Fix: "gradient_checkpointing", Training: true, Title: "Turn on gradient checkpointing", Kind: "python", Text: "block = jax.checkpoint(block)   # Flax: nn.remat(Block)", Cost: "About a quarter more time per step"},
			{Fix: "shard_training", Title: "Shard over more chips", Told: "Use the program's mesh option, or `jax.sharding.NamedSharding` in your own code. Each chip then holds its part.", Cost: "More chips"},
		},
		Sources: []string{"https://openxla.org/xla/tiled_layout", jaxMemory},
	},
	{
		ID: "jax/tpu-compile", Kinds: []fact.Kind{fact.TPUCompile}, If: func(c *ledger.Case) bool { return c.F().Total != nil },
		Cause: cause.BatchTooLarge, Weight: cause.Likely, Figures: local.TPUFigures, Headline: "does not fit the TPU: the program needs {asked} of {total}",
		Means: "The compiler adds up what the program needs on one chip and refuses before anything runs.[[ {program} are temporary arrays and activations, {arguments} are arguments (parameters, state, inputs).]][[ {unknown}]][[ {largest}]]",
		Not:   "Restarting: the compiler adds up sizes before anything runs.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the batch size per chip", Ways: []cause.Way{
				{For: "Training", Text: "half the global batch, or twice the chips; activations shrink with it"},
				{For: "Using a model", Text: "half the sequences at a time, or a shorter length; attention that is not fused grows with its square"},
			}, Cost: "Slower per sample"},
			{Fix: "gradient_checkpointing", Training: true, Title: "Turn on gradient checkpointing", Kind: "python", Text: "block = jax.checkpoint(block)   # Flax: nn.remat(Block)", Cost: "About a quarter more time per step"},
			{Fix: "shard_training", Title: "Shard over more chips", Told: "Shard parameters over a mesh with `jax.sharding.NamedSharding` (an `fsdp` or `tensor` axis; vLLM: `--tensor-parallel-size`). Compute in bfloat16.", Cost: "More chips"},
		},
		Sources: []string{"jax/docs/gpu_memory_allocation.rst", "https://docs.jax.dev/en/latest/notebooks/Distributed_arrays_and_automatic_parallelization.html"},
	},
}

// servesTPU: a server of language models, which sizes its cache by its own share.
func servesTPU(c *ledger.Case) bool { return c.Says("vllm") }

func mostlyArguments(c *ledger.Case) bool {
	program, ok := c.Fact("tpu_program")
	arguments, ok2 := c.Fact("tpu_arguments")
	return ok && ok2 && program.Size != nil && arguments.Size != nil && arguments.Size.Bytes > program.Size.Bytes
}

// mostlyResults: what the function returns is nearly all that was asked for.
func mostlyResults(c *ledger.Case) bool {
	out := ledger.Sized(c, "xla_out")
	return out > 0 && out*10 >= ledger.Requested(c)*9 && out >= units.GiB/2
}

// resultFigures are what a function returns, of the table that XLA prints.
func resultFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"out": units.Amount(ledger.Sized(c, "xla_out")), "scratch": "", "shape": "", "first": "", "each": "", "listed": ""}
	if out["scratch"] = "hardly anything"; c.F().ComputeBuffer != nil {
		out["scratch"] = c.F().ComputeBuffer.String()
	}
	shape, _ := c.Fact("xla_shape")
	if out["shape"] = shape.Text; shape.Text != "" {
		out["listed"] = "One buffer in its list is " + shape.Text + "."
	}
	if at, ok := c.Fact("xla_source_line"); ok && at.Count != nil {
		out["shape"] += " (line " + at.Count.Text + " of its source)"
	}
	_, sizes, _ := strings.Cut(strings.TrimSuffix(shape.Text, "]"), "[")
	first, others, _ := strings.Cut(sizes, ",")
	if n, ok := ledger.Whole(first); ok && n > 1 && others != "" {
		out["first"], out["each"] = first, units.Amount(ledger.Sized(c, "xla_out")/n)
	}
	return out
}

// onlyWhere is a cure with a condition more.
func onlyWhere(holds func(*ledger.Case) bool, cure cause.Cure) cause.Cure {
	cure.If = when.All(holds, cure.If)
	return cure
}
