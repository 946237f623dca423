package array

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"

	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/explain"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
	"github.com/oomdoc/oomdoc/rules/program/array/local"
	"github.com/oomdoc/oomdoc/rules/program/limits"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Fixes in the words of the frameworks beside PyTorch; what they have in common
// stands in frameworks.go.

// JAX is what is peculiar to JAX.
var JAX = program.Program{
	Name: "jax", Shown: "JAX", Rank: 56, Numbers: []explain.Reading{scratch},
	Edits: "code", Language: "python", Script: "jax-script",
	Sources: program.Sources{"jax/jaxlib/xla_client.py": "XLA_CLIENT_MEM_FRACTION XLA_PYTHON_CLIENT_MEM_FRACTION XLA_PYTHON_CLIENT_PREALLOCATE"},
	Like:    []*program.Program{&Frameworks},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"lower_batch_size":              step.Paste("python", "batch_size = 8   # of all devices together; try 1 first. XLA compiles again for every shape"),
		"gradient_checkpointing":        step.Paste("python", "block = jax.checkpoint(block)   # values inside are computed again in the backward pass; Flax: nn.remat(Block)"),
		"mixed_precision":               step.Paste("python", "model = Model(dtype=jnp.bfloat16)   # computes in 16 bit, keeps parameters in 32"),
		"shard_training":                step.Paste("python", "mesh = jax.sharding.Mesh(np.array(jax.devices()), (\"fsdp\",))\nstate = jax.device_put(state, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(\"fsdp\")))"),
		"efficient_attention":           stepsJAXAttention,
		"limit_framework_preallocation": preallocation,
	},
	Checks: frameworkChecks,
	Cards:  slices.Concat(jaxStateCards, calls.JAXFirst, local.Padded("jax"), jaxCards),
}

func stepsJAXAttention(c *ledger.Case) []step.Step {
	if onTPU(c) {
		return []step.Step{{Kind: "text", Text: "Use a fused attention for TPU (jax.experimental.pallas.ops.tpu.splash_attention or flash_attention), or the model's option for it: it does not store the matrix of queries by keys."}}
	}
	return []step.Step{{Kind: "python", Text: "out = jax.nn.dot_product_attention(q, k, v, implementation=\"cudnn\")   # 16-bit inputs; does not store the matrix of queries by keys"}}
}

// TensorFlow is what is peculiar to TensorFlow.
var TensorFlow = program.Program{
	Name: "tensorflow", Shown: "TensorFlow", Rank: 56, Numbers: []explain.Reading{shape, retriedPool},
	Effects: map[string]func(*ledger.Case) *effect.Effect{"tf_cuda_malloc_async": effectRemapped},
	Edits:   "code", Language: "python", Script: "tensorflow-script",
	Like: []*program.Program{&Frameworks},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"lower_batch_size":       halfBatch,
		"gradient_checkpointing": step.Paste("python", "block = tf.recompute_grad(block)   # around each large block"),
		"mixed_precision":        step.Paste("python", `tf.keras.mixed_precision.set_global_policy("mixed_float16")   # before the model is built; TPU: "mixed_bfloat16"`),
		"shard_training":         step.Paste("python", "with tf.distribute.MirroredStrategy().scope():   # splits the batch over the cards\n    model = build()"),
		"limit_framework_preallocation": func(c *ledger.Case) []step.Step {
			return []step.Step{
				step.Environ(c, "TF_FORCE_GPU_ALLOW_GROWTH", "true"),
				{Kind: "python", Text: "for gpu in tf.config.list_physical_devices(\"GPU\"):   # at the very start\n    tf.config.experimental.set_memory_growth(gpu, True)"},
			}
		},
	},
	Checks: frameworkChecks,
	Cards:  slices.Concat(calls.TensorFlowFirst, startCards, local.PoolCards, local.Padded("tensorflow"), beyondCards, crowdedCards, madeCards, denseCards, tensorFlowCards, tensorFlowRestCards),
}

// CuPy is what is peculiar to CuPy.
var CuPy = program.Program{
	Name: "cupy", Shown: "CuPy", Rank: 56, Proofs: []string{"cupy_backends.", "cupy/cuda/", "cupy.cuda."},
	Edits: "code", Language: "python", Script: "cupy-script",
	Sources: program.Sources{"cupy/cuda/memory.pyx": "CUPY_GPU_MEMORY_LIMIT"},
	Like:    []*program.Program{&Frameworks},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"lower_batch_size":   step.Paste("python", "out = []\nfor part in np.array_split(x, 8):   # on the card one part at a time\n    out.append(cp.asnumpy(f(cp.asarray(part))))"),
		"raise_memory_limit": step.Paste("python", "cupy.get_default_memory_pool().set_limit(size=0)   # no limit; CUPY_GPU_MEMORY_LIMIT sets it from outside"),
		"empty_cache":        step.Paste("python", "del x, y   # what is no longer needed\ncupy.get_default_memory_pool().free_all_blocks()"),
	},
	Checks: frameworkChecks,
	Cards:  cupyCards,
}

// ONNXRuntime is what is peculiar to ONNX Runtime.
var ONNXRuntime = program.Program{
	Name: "onnxruntime", Shown: "ONNX Runtime", Rank: 56,
	Edits: "code", Script: "onnxruntime-script",
	Titles:  map[string]string{"lower_num_workers": "Use fewer sessions and threads"},
	Costs:   map[string]string{"lower_num_workers": "Less in parallel."},
	Sources: program.Sources{"cli/command/container/opts.go": "--memory --memory-swap"},
	Like:    []*program.Program{&Frameworks},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"lower_batch_size": step.Paste("python", "out = []\nfor i in range(len(x)):   # one sample at a time\n    out.append(session.run(None, {name: x[i:i + 1]})[0])"),
		"lower_num_workers": func(c *ledger.Case) []step.Step {
			if served(c) {
				return []step.Step{{Kind: "config", Text: "instance_group [ { count: 1 kind: KIND_GPU } ]   # config.pbtxt; every instance has weights and an arena of its own"}}
			}
			return []step.Step{{Kind: "python", Text: "options = onnxruntime.SessionOptions()\noptions.intra_op_num_threads = 2\noptions.enable_cpu_mem_arena = False\nsession = onnxruntime.InferenceSession(path, options)   # one session, shared by all threads"}}
		},
		"raise_memory_limit": func(c *ledger.Case) []step.Step {
			if c.Backend == "cuda" {
				return []step.Step{{Kind: "python", Text: "providers = [(\"CUDAExecutionProvider\", {\"gpu_mem_limit\": 8 * 1024**3, \"arena_extend_strategy\": \"kSameAsRequested\"})]"}}
			}
			return limits.Steps(c)
		},
	},
	Checks: frameworkChecks,
	Cards:  slices.Concat(ocrCards, onnxCards, onnxRestCards),
}

// MLX is what is peculiar to MLX.
var MLX = program.Program{
	Name: "mlx", Shown: "MLX", Rank: 56,
	Commands: []string{"mlx_lm.convert", "mlx_lm.generate"},
	Edits:    "code", Language: "python", Systems: []string{"mac"}, Script: "mlx",
	Sources: program.Sources{
		"mlx-lm/mlx_lm/convert.py":  "--hf-path --q-bits",
		"mlx-lm/mlx_lm/generate.py": "--max-kv-size --prompt",
	},
	Like: []*program.Program{&Frameworks},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"use_lower_quant": func(c *ledger.Case) []step.Step {
			return []step.Step{{Kind: "shell", Text: "mlx_lm.convert --hf-path " + quote.Shell(c.ModelName()) + " -q --q-bits 4"}}
		},
		"lower_context": step.Paste("shell", "mlx_lm.generate --max-kv-size 4096 --prompt - < prompt.txt   # and a shorter prompt"),
	},
	Cards: local.MLXCards,
}

// NumPy is what is peculiar to NumPy.
var NumPy = program.Program{
	Name: "numpy", Shown: "NumPy", Rank: 54, Numbers: []explain.Reading{shape},
	Work: "data", Edits: "code", Language: "python", Script: "numpy-script",
	Like: []*program.Program{&Frameworks},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"stream_dataset": stepsNumpyStream,
	},
	Cards: slices.Concat(calls.NumPyShapeCards, calls.CallCards, calls.NumPyCards),
}

func stepsNumpyStream(c *ledger.Case) []step.Step {
	if ledger.GrowsList(c) {
		return step.Stream(c)
	}
	steps := []step.Step{{Kind: "python", Text: fmt.Sprintf("data = np.load(\"data.npy\", mmap_mode=\"r\")   # read from disk as it is used\nfor part in np.array_split(data, %d):\n    work(part.astype(np.float32))   # what made the large array, for a part of the rows", partsOf(ledger.Requested(c)))}}
	if r := c.F().Requested; r != nil && c.Contains("data type float64") {
		steps = append(steps, step.Step{Kind: "python", Text: fmt.Sprintf("x = x.astype(np.float32, copy=False)   # in place of float64: %s instead of %s, and no copy where it is float32 already", units.Amount(r.Bytes/2), units.Amount(r.Bytes))})
	}
	return steps
}

// partsOf is in how many parts to work so that each takes 256 MiB at most.
func partsOf(bytes int64) int64 {
	n := int64(64)
	for n < 1<<20 && bytes/n > 256*units.MiB {
		n *= 2
	}
	return n
}

var frameworkChecks = map[string]string{
	"lower_batch_size":       "The same step runs through, and `nvidia-smi` shows some room while it does.",
	"gradient_checkpointing": "The same step runs through at the old batch size, about a quarter slower.",
	"mixed_precision":        "The same step runs through, and the loss stays a number.",
}

// batchInShape is the batch size where the shape that was asked for shows it.
var batchInShape = regexp.MustCompile(`(\d{1,6}) \(batch\)`)

// halfBatch is half the batch size that the shape shows, else a small one.
func halfBatch(c *ledger.Case) []step.Step {
	if c.Explained != nil {
		if m := batchInShape.FindStringSubmatch(c.Explained.Sentence); m != nil {
			n, _ := strconv.Atoi(m[1])
			if n == 1 {
				return []step.Step{{Kind: "text", Text: "The shape shows that it is 1 already: use smaller samples."}}
			}
			return []step.Step{{Kind: "text", Text: fmt.Sprintf("The first number of the shape is usually the batch, %d now: use %d (`model.fit(..., batch_size=%[2]d)`, `.batch(%[2]d)`, or the number of samples that is fed to the session at once).", n, n/2)}}
		}
	}
	return []step.Step{{Kind: "python", Text: "model.fit(x, y, batch_size=8)   # half of yours; a tf.data pipeline sets it by .batch(8)"}}
}
