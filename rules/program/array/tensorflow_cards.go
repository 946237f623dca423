package array

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
	"github.com/oomdoc/oomdoc/rules/program/array/local"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

const (
	bfcAllocator = "tensorflow/core/common_runtime/bfc_allocator.cc"
	tfGuide      = "https://www.tensorflow.org/guide/gpu"
)

// grabFree: the pool was refused although that much was free.
func grabFree(c *ledger.Case) bool {
	f := c.F()
	return f.Free != nil && f.Requested != nil && f.Free.Bytes > f.Requested.Bytes
}

func offCPU(c *ledger.Case) bool { return !onCPU(c) }

// ordinary: the pool was full in a step, and the figures show nothing narrower.
func ordinary(c *ledger.Case) bool {
	return offCPU(c) && !poolInPieces(c) && !mostOfPool(c) && !calls.WholeDataset(c) && !weightGradient(c) && !optimizerNode(c) && !weightMade(c) && !pairs(c) && !hardlyAny(c)
}

// weightGradient: the tensor that was refused is the gradient of a matrix of
// weights. The second product of MatMul's gradient is that of the weights
// (tensorflow/python/ops/math_grad.py); AddN sums up one for each use of them.
func weightGradient(c *ledger.Case) bool {
	return offCPU(c) && len(calls.Sides(c)) == 2 && c.Near(weightProduct)
}

const weightProduct = "_grad/MatMul_1"

// beforeKeras2: the message is of TensorFlow 1, which knows no policy of Keras for
// 16 bit.
func beforeKeras2(c *ledger.Case) bool { return c.Near(sessionWords...) }

// sessionWords stand in tracebacks of a session, which TensorFlow 2 has no more.
var sessionWords = []string{"in _call_tf_sessionrun", "python/client/session.py", "tf.app.run(", "see above for traceback", "[[Node: ", "node gradients/", "tensorflow_backend.py", "estimator.train(", "Error recorded from ", "[T=DT_FLOAT", "[T=DT_HALF"} // ops were written out up to 1.12

// stepCard is about a tensor of a step that found the pool full.
func stepCard(id string, said, unsaid, sources []string, cures []cause.Cure) cause.Card {
	return cause.Card{
		ID: id, Kinds: []fact.Kind{fact.TFAlloc}, If: when.All(ordinary, when.Not(oneSample), when.Not(ofOptimizerLine), sizedAtLeast(1)), Said: said, Unsaid: unsaid,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: tensorFigures, Headline: "ran out of GPU memory in a step: a tensor of {asked} did not fit",
		Means: "[[{tiny} ]]The activations of a step usually fill {pool}, and they grow with the batch size.[[ The first number of the shape, {batch}, is usually the batch size: each sample costs {each} in this layer alone.]][[ {others}]]",
		Not:   "Memory growth, if nothing else is on the card: it changes when memory is taken, not how much.",
		Cures: slices.Concat([]cause.Cure{kernelsFirst}, cures), Sources: sources,
	}
}

var tensorFlowCards = []cause.Card{
	{
		ID: "tensorflow/cpu-batch", Kinds: []fact.Kind{fact.TFAlloc}, If: func(c *ledger.Case) bool {
			s := calls.Sides(c)
			return onCPU(c) && len(s) >= 3 && s[0] > 1 && s[0] <= 1024 && !calls.AtLeast(8*units.GiB)(c)
		}, Said: []string{"by allocator cpu", "by allocator mklcpu"}, Figures: tensorFigures,
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "ran out of RAM for one batch: {asked} was refused",
		Means: "The allocator in the message is the CPU's, so RAM ran out, not GPU memory.[[ The first number of the shape, {batch}, is usually the batch size: {each} per sample in this tensor.]] RAM also holds what the input pipeline keeps ready (shuffle, prefetch, parallel calls), and the whole step if no GPU is used.",
		Not:   "GPU settings such as memory growth: this tensor is in RAM.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch size[[: {halved}]]", Told: "Set it in `batch_size=` of `fit`, in `.batch(...)`, or with the script's own option.", Cost: "Slower"},
			{Fix: "lower_num_workers", Title: "Use smaller shuffle and prefetch buffers", Told: "tf.data: `prefetch(1)`, `num_parallel_calls=2`, a shuffle buffer of a few hundred samples, no `cache()`. TensorFlow 1 queues: a smaller `capacity` and `num_threads` in `tf.train.batch`.", Cost: "the GPU may wait"},
			{Fix: "lower_resolution", Title: "Use smaller samples, and uint8 as long as possible", Told: "Resize or crop before batching. Keep pixels as uint8 until the last step: a quarter of float32.", Cost: "Detail"},
			{Fix: "upgrade_version", Title: "If you have a GPU: check that TensorFlow uses it", Told: "`tf.config.list_physical_devices(\"GPU\")` (TensorFlow 1: `tf.test.is_gpu_available()`). An empty list means a build without CUDA or a driver that does not match.", Cost: "Free to look"},
			calls.LookCommitted, calls.LookRAM,
		},
		Sources: []string{bfcAllocator, "tensorflow/core/framework/cpu_allocator_impl.cc", "https://www.tensorflow.org/guide/data_performance"},
	},
	{
		ID: "tensorflow/cpu", Kinds: []fact.Kind{fact.TFAlloc}, If: onCPU, Said: []string{"by allocator cpu", "by allocator mklcpu"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "ran out of RAM[[: {asked} was refused]]",
		Means: "The allocator in the message is the CPU's, so this is RAM, not GPU memory. Such a tensor usually holds all the data, or a dense or one-hot form of something sparse. Look at its shape: is the first number your batch size or the count of all samples?",
		Not:   "GPU settings such as memory growth: this tensor is in RAM.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "If it is all samples: feed the data in batches", Told: "`read` is your own generator; it yields one sample at a time:", Kind: "python", Text: "spec = (tf.TensorSpec((224, 224, 3), tf.float32), tf.TensorSpec((), tf.int64))   # shapes of one sample and its label\nds = tf.data.Dataset.from_generator(read, output_signature=spec).batch(32).prefetch(2)", Cost: "Some rewriting"},
			{Fix: "lower_batch_size", Title: "If it is the batch: halve it", Told: "`batch_size=` in `fit` or `predict`, `.batch(...)` in tf.data. Make the shuffle buffer smaller too.", Cost: "Slower"},
			{Fix: "fix_shape", Title: "Keep labels and words as integers", Told: "Use `sparse_categorical_crossentropy` instead of one-hot labels, and an `Embedding` layer instead of dense bags of words.", Cost: "Free"},
		},
		Sources: []string{bfcAllocator, "tensorflow/core/framework/cpu_allocator_impl.cc"},
	},
	{
		ID: "tensorflow/pinned", Kinds: []fact.Kind{fact.TFAlloc}, If: onCPU, Said: []string{"_host_bfc)", "by allocator gpu_host_bfc", "by allocator cuda_host_bfc"}, Unsaid: []string{"could not allocate pinned host memory", "bytes on host: CUDA_ERROR"}, Figures: tensorFigures,
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "filled its pool of pinned system memory (RAM)",
		Means: "The allocator in the message (`host_bfc`) provides pinned RAM for copies to and from the GPU, not GPU memory. By default it takes at most 64 GiB.[[ Its limit here is {limit}.]] Inputs and results that stay in RAM, and swapped tensors, fill it.",
		Not:   "Memory growth, another GPU: the GPU is not what is full.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the limit, if the machine has more RAM", Told: "In MB, before the start (before TensorFlow 1.14: `TF_CUDA_HOST_MEM_LIMIT_IN_MB`):", Kind: "shell", Text: "free -g; export TF_GPU_HOST_MEM_LIMIT_IN_MB=100000", Cost: "less RAM for everything else"},
			{Fix: "lower_batch_size", Title: "Feed less at a time", Told: "Use a smaller batch, or feed the large array in slices. Fetch only results you need, and copy them out before the next step.", Cost: "slower"},
			{Fix: "stream_dataset", Title: "Keep the data out of the graph", Told: "Feed batches from a generator or `tf.data`, not one large constant or variable on the CPU.", Cost: "some rewriting"},
		},
		Sources: []string{"tensorflow/core/common_runtime/gpu/gpu_process_state.cc: TF_GPU_HOST_MEM_LIMIT_IN_MB TF_CUDA_HOST_MEM_LIMIT_IN_MB", bfcAllocator},
	},
	{
		ID: "tensorflow/predict", Kinds: []fact.Kind{fact.TFAlloc}, If: offCPU, Said: []string{"model.predict(", "in predict", "ConcatV2", "in evaluate"}, Unsaid: append([]string{"gradient_tape", "train_function", "Epoch 1/"}, madeWords...),
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory in prediction or evaluation[[: {asked} did not fit]]",
		Means: "The log points to prediction or evaluation. The number of samples computed at once decides the size of this tensor. Calling the model directly on an array, or joining all outputs on the card, takes the whole data set at once.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Predict in small batches", Told: "`model(x)` takes all of x at once. Use this instead:", Kind: "python", Text: "y = model.predict(x, batch_size=8)   # x: a NumPy array; a tf.data pipeline sets it by .batch(8)", Cost: "None for the result"},
			{Fix: "stream_dataset", Title: "Move outputs to RAM batch by batch", Told: "Instead of joining them on the card:", Kind: "python", Text: "y = np.concatenate([model(part, training=False).numpy() for part in dataset])   # dataset is batched", Cost: "None worth mentioning"},
			lookBeside,
		},
		Sources: []string{"keras/src/backend/tensorflow/trainer.py", bfcAllocator},
	},
	firstLayerCard, calls.ManyGraphs,
	stepCard("tensorflow/oom-session", sessionWords, nil, []string{bfcAllocator, tfGuide}, []cause.Cure{
		{Fix: "lower_batch_size", If: when.Not(oneInBatch), Title: "Halve the batch size[[: {halved}]]", Told: "Use the script's own option or config file, `batch_size=` in `fit`, or the number of samples you pass to `feed_dict` or the input function.", Cost: "More runs"},
		shorter,
		{Fix: "lower_resolution", If: when.Not(threeSides), Title: "Use a smaller input", Told: "Half the width and height is a quarter of the activations. For other data: half the points, neighbors or length, in the program's own setting.", Cost: "Detail"},
		{Fix: "gradient_accumulation", If: (*ledger.Case).Training, Title: "Accumulate gradients", Told: "Add up the gradients of several small batches (`compute_gradients`) in variables, and pass their mean to `apply_gradients`.", Cost: "Slower"},
		lookBeside,
	}),
	stepCard("tensorflow/oom-old", []string{"tensorflow_core/"}, sessionWords, []string{bfcAllocator, tfGuide}, []cause.Cure{
		{Fix: "lower_batch_size", If: when.Not(oneInBatch), Title: "Halve the batch size[[: {halved}]]", Told: "Set it in `batch_size=` of `fit` or `predict`, in `.batch(...)` of tf.data, or with the script's own option.", Cost: "Slower per sample"},
		{Fix: "gradient_checkpointing", If: (*ledger.Case).Training, Title: "Turn on gradient checkpointing", Told: "Wrap each large block in `tf.recompute_grad`. Keras layers inside it may fail in this TensorFlow version.", Cost: "About a third more time per step"},
		{Fix: "lower_resolution", Title: "Use smaller images, fewer channels or layers", Told: "Half the width and height is a quarter of the activations; half the channels of a layer is about half.", Cost: "Detail"},
	}),
	stepCard("tensorflow/oom-tensor", []string{"OOM when allocating tensor"}, nil, []string{bfcAllocator, tfGuide, "https://www.tensorflow.org/guide/mixed_precision"}, []cause.Cure{
		{Fix: "lower_batch_size", If: when.Not(oneInBatch), Title: "Halve the batch size[[: {halved}]]", Told: "Set it in `batch_size=` of `fit` or `predict`, in `.batch(...)` of tf.data, or in the config.", Cost: "Slower per sample"},
		{Fix: "mixed_precision", If: when.Not(beforeKeras2), Title: "Turn on mixed precision", Told: "Set it before the model is built; it nearly halves the activations. Keep the last layer in float32 (`dtype=\"float32\"`).", Kind: "python", Text: "tf.keras.mixed_precision.set_global_policy(\"mixed_float16\")   # TensorFlow 2.4 and later", Cost: "None as a rule on RTX and newer cards"},
		shorter,
		{Fix: "lower_resolution", If: when.Not(threeSides), Title: "Use smaller images or shorter sequences", Told: "Half the width and height is a quarter of the activations; a volume with half of each side is an eighth. Half the sequence length is a quarter of the attention matrices.", Cost: "Detail"},
	}),
	{
		ID: "tensorflow/one-sample", Kinds: []fact.Kind{fact.TFAlloc}, If: when.All(ordinary, oneSample), Figures: sampleFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory with a batch of 1: {rows} x {columns} at this layer",
		Means: "The tensor that no longer fitted, {asked}, is 1 x {third} x {rows} x {columns}. Its first side is usually the batch, so the image has to shrink.[[ Deep layers are often a sixteenth of the image: that would be about {height} x {width}.]][[ {used} of the {limit} that TensorFlow may use was taken.]]",
		Not:   "Memory growth: it changes when memory is taken, not how much.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Use smaller images or crops", Told: "Half the width and height is a quarter of the activations. Use the script's own scale, resize or crop option.", Cost: "Detail"},
			lookBeside,
			{Fix: "restart_session", Title: "In a notebook: restart the kernel before each run", Told: "An earlier model or a failed run keeps its memory until the process ends.", Cost: "What was computed"},
			{Fix: "mixed_precision", If: when.Not(beforeKeras2), Title: "Turn on mixed precision", Kind: "python", Text: "tf.keras.mixed_precision.set_global_policy(\"mixed_float16\")   # TensorFlow 2.4 and later, before the model is built", Cost: "None as a rule on RTX and newer cards"},
		},
		Sources: []string{bfcAllocator, tfGuide},
	},
	{
		ID: "tensorflow/weight-gradient", Kinds: []fact.Kind{fact.TFAlloc}, Said: []string{weightProduct}, If: weightGradient, Figures: gradientFigures,
		Cause: cause.TrainingStateTooLarge, Weight: cause.Strong, Headline: "ran out of memory for the gradient of a large weight matrix",
		Means: "The node is a gradient. Its shape, {shape}, is that of the weights[[: {asked}]], whatever the batch size.[[ The matrix is used in {uses} steps of a loop, and each step's gradient is kept until all are added up: {together}.]] The optimizer may keep one or two more of that size.[[ {wide} outputs are usually a vocabulary.]]",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", Title: "Use sampled softmax, or a smaller vocabulary", If: vocabulary, Told: "`tf.nn.sampled_softmax_loss` (weights as [outputs, width]) computes a few thousand outputs per step. Use the full softmax to evaluate. Or keep the 50,000 most common words and map the rest to one.", Cost: "Training is approximate"},
			{Fix: "fix_shape", Title: "Apply the matrix once, after the loop", If: manyUses, Told: "Collect the loop's outputs, join them with `tf.reshape(tf.concat(outputs, 0), [-1, width])`, and multiply once. That makes one gradient instead of {uses}.", Cost: "All results are there at once"},
			{Fix: "use_smaller_model", Title: "Make the layer narrower", If: when.Not(vocabulary), Told: "Pool, or put a small layer before it: the matrix size is the product of both sides.", Cost: "Perhaps accuracy"},
			{Fix: "gradient_accumulation", Title: "Use `EXPERIMENTAL_ACCUMULATE_N`", If: manyUses, Told: "`optimizer.minimize(loss, aggregation_method=tf.AggregationMethod.EXPERIMENTAL_ACCUMULATE_N)` does not hold all of them at once.", Cost: "Slightly slower"},
			{Fix: "cpu_offload", Title: "Put that layer on the CPU", Told: "`with tf.device(\"/cpu:0\"):` around it.", Cost: "Much slower"},
		},
		Sources: []string{"tensorflow/python/ops/math_grad.py", "tensorflow/python/ops/gradients_util.py", "https://www.tensorflow.org/api_docs/python/tf/nn/sampled_softmax_loss"},
	},
	{
		ID: "tensorflow/in-pieces", Kinds: []fact.Kind{fact.TFAlloc}, If: poolInPieces,
		Cause: cause.Fragmentation, Weight: cause.Strong, Figures: poolFigures, Headline: "still had {left} of its GPU memory, but {asked} was refused",
		Means: "What was left is more than the {asked} that was refused. {pieces}",
		Not:   "Memory growth: it can make fragmentation worse.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: littleLeft, Title: "Use a slightly smaller batch or image", Told: "Use the program's own option. Half the batch halves most tensors; half the width and height makes them a quarter.", Cost: "Slower, or detail"},
			{Fix: "tf_cuda_malloc_async", Title: "Use CUDA's allocator (`cuda_malloc_async`)", Told: "Needs TensorFlow 2.5 or later and CUDA 11.2 or later. Before the program starts:", Steps: environ("TF_GPU_ALLOCATOR", "cuda_malloc_async"), Cost: "None worth mentioning"},
			{Fix: "lower_batch_size", If: when.Not(littleLeft), Title: "Pad to one shape, and lower the batch size", Told: "Pad sequences and images to one size (`padded_batch`, `drop_remainder=True`), so that freed blocks fit again. Half the batch halves most tensors.", Cost: "Slower"},
			{Fix: "lower_resolution", If: func(c *ledger.Case) bool { return c.Signal("pool_taken") != nil }, Title: "Use smaller images or shorter sequences", Told: "Half the width and height is a quarter of each tensor.", Cost: "Detail"},
			lookBeside,
		},
		Sources: []string{bfcAllocator, "tensorflow/core/common_runtime/gpu/gpu_cudamallocasync_allocator.cc"},
	},
	{
		ID: "tensorflow/slot", Kinds: []fact.Kind{fact.TFAlloc}, If: func(c *ledger.Case) bool {
			return offCPU(c) && optimizerNode(c) && vocabulary(c) && slices.Max(calls.Sides(c)) >= 100_000 && calls.AtLeast(2*units.GiB)(c) && !poolInPieces(c)
		}, Figures: slotFigures,
		Cause: cause.TrainingStateTooLarge, Weight: cause.Decisive, Headline: "had no GPU memory for the optimizer state of one weight: {asked}",
		Means: "`{node}` holds the optimizer's values for one weight. Its shape, {shape}, is that of the weight; no batch size is in it. The side of {wide} counts characters, words, classes, users or items. With its gradient and Adam's two moments this weight takes {trained}.[[ {used} of the {limit} that TensorFlow may use was taken.]]",
		Not:   "A smaller batch or shorter samples: they do not change this shape.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Check whether {wide} is the number you mean", Told: "An alphabet has some dozens of characters, a vocabulary some ten thousand words. Check for words where characters belong (DeepSpeech's `alphabet.txt`: one per line), or the highest ID used as the count. Then make that file again.", Cost: "Train again"},
			{Fix: "use_smaller_model", Title: "If it is: make that side shorter", Told: "Keep the most common entries and map the rest to one, or use subwords. For an output layer, train with `tf.nn.sampled_softmax_loss`.", Cost: "Rare ones share an entry"},
			{Fix: "bigger_gpu", Title: "Or use a card that holds it", Told: "It needs {trained} for this weight alone, plus the rest of the model.", Cost: "Money"},
		},
		Sources: []string{bfcAllocator, "tensorflow/python/training/adam.py", "mozilla/DeepSpeech/data/alphabet.txt"},
	},
	{
		ID: "tensorflow/optimizer", Kinds: []fact.Kind{fact.TFAlloc}, If: func(c *ledger.Case) bool { return offCPU(c) && optimizerNode(c) && !poolInPieces(c) },
		Cause: cause.TrainingStateTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory in the optimizer",
		Means: "The operation that failed belongs to the optimizer. Adam keeps two 32-bit numbers for each weight. With weights and gradients that is four times the weights, whatever the batch size. {asked} is one part of it. The message does not say what else fills the card.",
		Cures: []cause.Cure{
			lookBeside,
			{Fix: "use_smaller_model", Title: "Freeze layers", Told: "Set `layer.trainable = False` for the lower layers before `compile`; frozen weights get no gradients or state. `model.summary()` shows where the weights are, often in one Dense or Embedding layer.", Cost: "Perhaps accuracy"},
			{Fix: "lower_batch_size", Title: "Use SGD, and a smaller batch", Told: "`tf.keras.optimizers.SGD(momentum=0.9)` keeps one number per weight, plain SGD none. Choose the learning rate again.", Cost: "Tuning"},
		},
		Sources: []string{bfcAllocator, "keras/src/optimizers/adam.py", "keras/src/optimizers/sgd.py"},
	},
	{
		ID: "tensorflow/pool-full", Kinds: []fact.Kind{fact.TFAlloc}, If: ordinary, Unsaid: []string{"OOM when allocating tensor"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory: {asked} more did not fit",
		Means: "The activations of a step usually fill the memory, and they grow with the batch size. {asked} is the request that no longer fitted. If batch size 1 fails too, the model with its optimizer is too large, or another process uses the card.",
		Not:   "Memory growth (`TF_FORCE_GPU_ALLOW_GROWTH`): it changes when memory is taken, not how much.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch size", Told: "Set it in `batch_size=` of `fit` or `predict`, in `.batch(...)` of tf.data, or in the program's config.", Cost: "Slower per sample"},
			{Fix: "mixed_precision", If: when.Not(beforeKeras2), Title: "Turn on mixed precision", Told: "Set it before the model is built; it nearly halves the activations. Keep the last layer in float32 (`dtype=\"float32\"`).", Kind: "python", Text: "tf.keras.mixed_precision.set_global_policy(\"mixed_float16\")   # TensorFlow 2.4 and later", Cost: "Fast on RTX and newer cards only"},
			{Fix: "lower_resolution", Title: "Use smaller images or shorter sequences", Told: "Half the width and height is a quarter of the activations.", Cost: "Detail"},
		},
		Sources: []string{bfcAllocator, tfGuide, "https://www.tensorflow.org/guide/mixed_precision"},
	},
	local.TensorFlowTPU,
	{
		ID: "tensorflow/whole-dataset", Kinds: []fact.Kind{fact.TFCopy, fact.TFAlloc}, If: calls.WholeArray,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "tried to copy a whole array to the card, and it did not fit",
		Means: "An array became a constant on the card (`_EagerConst`)[[: {asked} in one piece]]. Arrays given to `fit` go there whole, whatever the batch size; in your own loop it is the array you pass. If your array is small (`x_train.nbytes / 2**30` gives GiB), another process probably fills the card.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Keep the arrays in RAM, send batches", Told: "Wrap them in a tf.data pipeline on the CPU:", Kind: "python", Text: "with tf.device(\"/CPU:0\"):\n    ds = tf.data.Dataset.from_tensor_slices((x_train, y_train))\nmodel.fit(ds.shuffle(1000).batch(32).prefetch(2), epochs=10)", Cost: "None for the result"},
			{Fix: "fix_shape", Title: "Use a smaller type", Cost: "some lines", Told: "`uint8` or `float16` instead of 64 bit (`x.dtype` shows it). One-hot input: pass indices to an `Embedding` layer. One-hot labels: pass indices with `sparse_categorical_crossentropy`."},
			{Fix: "kill_stale_process", Title: "If the arrays are small: check what holds the card", Kind: "shell", Text: "nvidia-smi   # another notebook's kernel keeps the whole card", Cost: "A look is free"},
		},
		Sources: []string{"tensorflow/python/framework/constant_op.py", tfGuide},
	},
	{
		ID: "tensorflow/grab-refused", Kinds: []fact.Kind{fact.TFStart}, If: grabFree,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "could not reserve {asked} of GPU memory at its start, though {free} was free",
		Means: "TensorFlow takes nearly all free GPU memory at its start in one request. The driver and desktop need some of it, or another program took some in between. TensorFlow then retries with a tenth less each time, so it may have continued.",
		Not:   "A smaller batch or model: it does not change this request.",
		Cures: []cause.Cure{
			{Fix: "limit_framework_preallocation", Title: "Turn on memory growth", Told: "Before the program starts. In TensorFlow 1 also set `config.gpu_options.allow_growth = True` in its session.", Steps: environ("TF_FORCE_GPU_ALLOW_GROWTH", "true"), Cost: "A little fragmentation"},
			endHolder,
			{Fix: "close_other_apps", Title: "On a small card: close desktop programs", Told: "Browsers, video and a second screen use GPU memory too.", Cost: "Free"},
		},
		Sources: []string{tfGuide, "tensorflow/core/common_runtime/gpu/gpu_device.cc"},
	},
	{
		ID: "tensorflow/grab-at-start", Kinds: []fact.Kind{fact.TFStart},
		Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "could not reserve GPU memory at its start: something else probably uses the card",
		Means: "TensorFlow takes nearly all free GPU memory at its start, and retries with a tenth less each time. Falling sizes are that, not your model's need. Another process has probably taken memory: a notebook's kernel, an earlier run, several processes started at once, or the desktop. TensorFlow may have continued with less.",
		Not:   "A smaller batch or model: it does not change this request.",
		Cures: []cause.Cure{
			runtimeFirst, endHolder,
			{Fix: "limit_framework_preallocation", Title: "Turn on memory growth in every process", Told: "Do this if several processes or the desktop share the card. In TensorFlow 1 also set `config.gpu_options.allow_growth = True` in its session. Before each starts:", Steps: environ("TF_FORCE_GPU_ALLOW_GROWTH", "true"), Cost: "A little fragmentation"},
			otherCard,
		},
		Sources: []string{tfGuide, "tensorflow/core/common_runtime/gpu/gpu_device.cc"},
	},
}

// littleLeft: what was left of the share is a fifth of it at most, so that a
// smaller step cures as surely as another allocator.
func littleLeft(c *ledger.Case) bool {
	f := c.F()
	return f.Limit != nil && f.Allocated != nil && (f.Limit.Bytes-f.Allocated.Bytes)*5 <= f.Limit.Bytes
}

// lookBeside is lookAtCard where others may hold a part of the share.
var lookBeside = func() cause.Cure {
	cure := lookAtCard
	cure.If = func(c *ledger.Case) bool { return c.Signal("pool_taken") == nil }
	return cure
}()

// poolFigures are what the allocator's dump says of TensorFlow's share.
func poolFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"used": "", "left": "", "first": "the first is usually the batch", "pieces": "Either the rest is in small pieces (fragmentation), or another program holds it: `nvidia-smi` shows that."}
	if c.Signal("pool_taken") != nil {
		out["pieces"] = "TensorFlow had already taken its whole share from the driver (`available bytes: 0`). So the rest is in small pieces (fragmentation), not held by another program. A slightly smaller batch or image helps too."
	}
	if oneInBatch(c) {
		out["first"] = "the first, usually the batch, is 1 already"
	}
	if f := c.F(); f.Limit != nil && f.Allocated != nil && f.Limit.Bytes >= f.Allocated.Bytes {
		out["used"], out["left"] = f.Allocated.String(), units.Amount(f.Limit.Bytes-f.Allocated.Bytes)
	}
	return out
}

// tensorFigures take the batch from the shape of the tensor.
func tensorFigures(c *ledger.Case) map[string]string {
	out := poolFigures(c)
	out["batch"], out["each"], out["halved"], out["pool"], out["tiny"], out["others"] = "", "", "", "the GPU memory that TensorFlow took", "", "Another process on the card has the same effect; `nvidia-smi` shows it."
	if tinyPiece(c) {
		out["tiny"], out["others"] = "Such a small request is refused only when the card is already full. Either another process holds it (an earlier run, another notebook), or this program filled it, perhaps with models it built before.", ""
	}
	if x, ok := c.Fact("tf_share"); out["used"] != "" {
		out["pool"] = "the " + c.F().Limit.String() + " that TensorFlow may take (" + out["used"] + " in use)"
	} else if ok && x.Size != nil {
		out["pool"] = "the " + units.Amount(x.Size.Bytes) + " that TensorFlow got of the " + x.Text
	}
	s, asked := calls.Sides(c), ledger.Requested(c)
	if len(s) < 2 || s[0] < 2 || s[0] > 4096 || asked <= 0 || kernelShape(s) || len(s) == 2 && !ofOutputs.MatchString(nodeName(c)) {
		return out // of two sides the first is a batch or the inputs of a layer
	}
	out["batch"], out["each"] = strconv.FormatInt(s[0], 10), units.Amount(asked/s[0])
	out["halved"] = strconv.FormatInt(max(s[0]/2, 1), 10) + " if it is " + out["batch"] + " now"
	return out
}

// ofOutputs are ops whose result has a row for each sample.
var ofOutputs = regexp.MustCompile(`(?i)relu|softmax|sigmoid|tanh|biasadd|logits|xw_plus_b`)

// oneSample: a tensor of four sides, the first of them 1, of a picture.
func oneSample(c *ledger.Case) bool {
	s := calls.Sides(c)
	return len(s) == 4 && s[0] == 1 && min(s[2], s[3]) >= 16
}

func sampleFigures(c *ledger.Case) map[string]string {
	out, s := poolFigures(c), calls.Sides(c)
	out["third"], out["rows"], out["columns"], out["height"], out["width"] = strconv.FormatInt(s[1], 10), strconv.FormatInt(s[2], 10), strconv.FormatInt(s[3], 10), "", ""
	if s[1] >= 512 && max(s[2], s[3]) <= 256 { // channels first, deep in the network
		out["height"], out["width"] = strconv.FormatInt(16*s[2], 10), strconv.FormatInt(16*s[3], 10)
	}
	return out
}

// wideOutput is how many outputs are more likely words than classes.
const wideOutput = 20_000

func vocabulary(c *ledger.Case) bool {
	s := calls.Sides(c)
	return len(s) == 2 && max(s[0], s[1]) >= wideOutput
}

// uses counts how often the matrix is used: once for each gradient that is named
// in the sum.
func uses(c *ledger.Case) int64 {
	if f, ok := c.Fact("gradients_added"); ok && f.Count != nil {
		return int64(f.Count.Value)
	}
	return 0
}

func manyUses(c *ledger.Case) bool { return uses(c) > 1 }

// gradientFigures are what one gradient of a matrix and all of them take.
func gradientFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"shape": "", "uses": "", "together": "", "wide": ""}
	s := calls.Sides(c)
	out["shape"] = fmt.Sprintf("%d x %d", s[0], s[1])
	if n := uses(c); n > 1 {
		out["uses"], out["together"] = strconv.FormatInt(n, 10), units.Amount(n*ledger.Requested(c))
	}
	if vocabulary(c) {
		out["wide"] = strconv.FormatInt(max(s[0], s[1]), 10)
	}
	return out
}

// slotFigures are a weight of which the optimizer keeps numbers.
func slotFigures(c *ledger.Case) map[string]string {
	out, s := poolFigures(c), calls.Sides(c)
	maps.Copy(out, madeFigures(c))
	out["wide"] = calls.Grouped(max(s[0], s[1]))
	return out
}

// Keras is Keras, on any of its backends.
var Keras = program.Program{
	Name: "keras", Shown: "Keras", Work: "vision", Edits: "code", Language: "python",
	Proofs: []string{"keras/src/", "keras/engine/", "keras/backend/", "keras/trainers/"},
	Titles: map[string]string{"lower_batch_size": "Lower batch_size in fit or predict", "lower_resolution": "Use smaller inputs"},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"lower_batch_size": calls.KerasBatch,
		"mixed_precision":  step.Paste("python", "keras.mixed_precision.set_global_policy(\"mixed_float16\")   # before the model is built; on the JAX backend \"mixed_bfloat16\""),
		"lower_resolution": step.Paste("text", "Halve width and height where the images are read or resized. That is a quarter of the activations, and of the weights of a Dense layer after `Flatten`."),
	},
}
