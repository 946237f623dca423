package rules

import "github.com/oomdoc/oomdoc/parsers"

// Steps in the words of the frameworks beside PyTorch.

func python(text string) []Step { return []Step{{Kind: "python", Text: text}} }

// generally is the step of the fix itself.
func generally(c *Case, id string) []Step { return Fixes()[id].Steps(c) }

func stepsFrameworkBatch(c *Case) []Step {
	switch {
	case c.In("tensorflow"):
		return python("model.fit(dataset, batch_size=8)   # or dataset.batch(8); with tf.data the batch is set there")
	case c.In("jax"):
		return python("batch_size = 8   # of all devices together; try 1 first. XLA compiles anew for every shape")
	case c.In("cupy"):
		return python("for part in np.array_split(x, 8):   # on the card one part at a time\n    y = f(cp.asarray(part))\n    out.append(cp.asnumpy(y))")
	case c.In("onnxruntime"):
		return python("for i in range(len(x)):   # one sample at a time\n    out.append(session.run(None, {name: x[i:i + 1]})[0])")
	}
	return generally(c, "lower_batch_size")
}

func stepsRemat(c *Case) []Step {
	switch {
	case c.In("jax"):
		return python("block = jax.checkpoint(block)   # values inside are computed again in the backward pass; Flax: nn.remat(Block)")
	case c.In("tensorflow"):
		return python("block = tf.recompute_grad(block)   # around each large block")
	}
	return generally(c, "gradient_checkpointing")
}

func stepsFrameworkHalf(c *Case) []Step {
	switch {
	case c.In("jax"):
		return python("model = Model(dtype=jnp.bfloat16)   # computes in 16 bit, keeps parameters in 32")
	case c.In("tensorflow"):
		return python(`tf.keras.mixed_precision.set_global_policy("mixed_float16")   # before the model is built; TPU: "mixed_bfloat16"`)
	}
	return generally(c, "mixed_precision")
}

func stepsFrameworkShard(c *Case) []Step {
	switch {
	case c.In("jax"):
		return python("mesh = jax.make_mesh((jax.device_count(),), (\"fsdp\",))\nstate = jax.device_put(state, jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(\"fsdp\")))")
	case c.In("tensorflow"):
		return python("with tf.distribute.MirroredStrategy().scope():   # splits the batch over the cards\n    model = build()")
	}
	return generally(c, "shard_training")
}

func stepsPreallocation(c *Case) []Step {
	switch {
	case c.In("jax"):
		return []Step{environ(c, "XLA_PYTHON_CLIENT_PREALLOCATE", "false"), environ(c, "XLA_PYTHON_CLIENT_MEM_FRACTION", ".50")}
	case c.In("tensorflow"):
		return append([]Step{environ(c, "TF_FORCE_GPU_ALLOW_GROWTH", "true")}, python("for gpu in tf.config.list_physical_devices(\"GPU\"):   # at the very start\n    tf.config.experimental.set_memory_growth(gpu, True)")...)
	}
	return generally(c, "limit_framework_preallocation")
}

func stepsFrameworkAttention(c *Case) []Step {
	switch {
	case onTPU(c):
		return []Step{{Kind: "text", Text: "Use a fused attention for TPU (jax.experimental.pallas.ops.tpu.splash_attention or flash_attention), or the model's option for it: it never writes the matrix of queries by keys."}}
	case c.In("jax"):
		return python("out = jax.nn.dot_product_attention(q, k, v, implementation=\"cudnn\")   # 16-bit inputs; never writes the matrix of queries by keys")
	}
	return generally(c, "efficient_attention")
}

// stepsPoolLimit lifts the limit of a pool where that is what was reached.
func stepsPoolLimit(c *Case) []Step {
	switch {
	case c.Root(parsers.CuPyAlloc):
		return python("cupy.get_default_memory_pool().set_limit(size=0)   # no limit; CUPY_GPU_MEMORY_LIMIT sets it from outside")
	case c.Root(parsers.ORTLimit):
		return python("providers = [(\"CUDAExecutionProvider\", {\"gpu_mem_limit\": 8 * 1024**3, \"arena_extend_strategy\": \"kSameAsRequested\"})]")
	}
	return stepsHostLimit(c)
}

// stepsFewerThreads: every session and thread has an arena that never shrinks.
func stepsFewerThreads(c *Case) []Step {
	if c.In("onnxruntime") {
		return python("options = onnxruntime.SessionOptions()\noptions.intra_op_num_threads = 2\noptions.enable_cpu_mem_arena = False\nsession = onnxruntime.InferenceSession(path, options)   # one session, shared by all threads")
	}
	return generally(c, "lower_num_workers")
}

func stepsMapArrays(c *Case) []Step {
	if c.In("numpy") {
		return python("data = np.load(\"data.npy\", mmap_mode=\"r\")   # read from disk as it is used\nfor part in np.array_split(data, 64):\n    work(part.astype(np.float32))")
	}
	return generally(c, "stream_dataset")
}

func stepsFrameworkQuant(c *Case) []Step {
	if c.In("mlx") {
		return []Step{{Kind: "shell", Text: "mlx_lm.convert --hf-path " + shellQuote(c.ModelName()) + " -q --q-bits 4"}}
	}
	return generally(c, "use_lower_quant")
}

func stepsRoomForNCCL(c *Case) []Step {
	if !c.Root(parsers.NCCLAlloc) {
		return generally(c, "lower_gpu_memory_utilization")
	}
	return append(generally(c, "lower_gpu_memory_utilization"), environ(c, "NCCL_BUFFSIZE", "1048576"))
}
