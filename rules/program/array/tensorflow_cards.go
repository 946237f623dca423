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
	return offCPU(c) && !poolInPieces(c) && !mostOfPool(c) && !wholeDataset(c) && !weightGradient(c) && !optimizerNode(c) && !weightMade(c) && !pairs(c) && !hardlyAny(c)
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
var sessionWords = []string{"in _call_tf_sessionrun", "python/client/session.py", "tf.app.run(", "see above for traceback", "[[Node: ", "node gradients/", "tensorflow_backend.py", "estimator.train(", "[T=DT_FLOAT", "[T=DT_HALF"} // ops were written out up to 1.12

// stepCard is about a tensor of a step that found the pool full.
func stepCard(id string, said, unsaid, sources []string, cures []cause.Cure) cause.Card {
	return cause.Card{
		ID: id, Kinds: []fact.Kind{fact.TFAlloc}, If: when.All(ordinary, when.Not(oneSample), sizedAtLeast(1)), Said: said, Unsaid: unsaid,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: tensorFigures, Headline: "ran out of graphics memory in a step: a tensor of {asked} did not fit",
		Means: "[[{tiny} ]]The activations of the step fill {pool}, and they grow with the batch[[: the first number of the shape, {batch}, is usually the batch, so each sample costs {each} in this layer alone]].[[ {others}]]",
		Not:   "Memory growth in a process that has the card to itself: it changes when memory is taken, not how much.",
		Cures: slices.Concat([]cause.Cure{kernelsFirst}, cures), Sources: sources,
	}
}

var tensorFlowCards = []cause.Card{
	{
		ID: "tensorflow/cpu-batch", Kinds: []fact.Kind{fact.TFAlloc}, If: func(c *ledger.Case) bool {
			s := calls.Sides(c)
			return onCPU(c) && len(s) >= 3 && s[0] > 1 && s[0] <= 1024 && !calls.AtLeast(8*units.GiB)(c)
		}, Said: []string{"by allocator cpu", "by allocator mklcpu"}, Figures: tensorFigures,
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "was refused {asked} of RAM for one batch",
		Means: "The allocator in the message is the CPU's, so RAM ran out, not graphics memory.[[ The first side of the shape, {batch}, is usually the batch: {each} per sample in this tensor.]] RAM also holds what the input pipeline keeps ready (shuffle, prefetch, parallel calls), and the whole step if no card is used.",
		Not:   "GPU settings such as memory growth: this tensor is in RAM.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch size[[: {halved}]]", Told: "`batch_size=` in `fit`, `.batch(...)`, or the script's own option.", Cost: "Slower"},
			{Fix: "lower_num_workers", Title: "Use smaller shuffle and prefetch buffers", Told: "tf.data: `prefetch(1)`, `num_parallel_calls=2`, a shuffle buffer of some hundred samples, no `cache()`; queues of TensorFlow 1: a smaller `capacity` and `num_threads` in `tf.train.batch`.", Cost: "The card may wait"},
			{Fix: "lower_resolution", Title: "Use smaller samples, and uint8 as long as possible", Told: "Resize or crop before batching; uint8 until the last step is a quarter of float32.", Cost: "Detail"},
			{Fix: "upgrade_version", Title: "If you have a GPU: check that TensorFlow uses it", Told: "`tf.config.list_physical_devices(\"GPU\")` (TensorFlow 1: `tf.test.is_gpu_available()`); an empty list means a build without CUDA, or a driver that does not match.", Cost: "Free to look"},
			calls.LookCommitted, calls.LookRAM,
		},
		Sources: []string{bfcAllocator, "tensorflow/core/framework/cpu_allocator_impl.cc", "https://www.tensorflow.org/guide/data_performance"},
	},
	{
		ID: "tensorflow/cpu", Kinds: []fact.Kind{fact.TFAlloc}, If: onCPU, Said: []string{"by allocator cpu", "by allocator mklcpu"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "was refused {asked} of RAM",
		Means: "The allocator in the message is the CPU's, so {asked} of RAM was refused for one tensor. Usually it holds all the data, or a dense or one-hot form of something sparse. Check its shape: is the first number your batch, or the count of all samples?",
		Not:   "GPU settings such as memory growth: this tensor is in RAM.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "If it is all samples: feed the data in batches", Told: "`read` is your generator of one sample at a time:", Kind: "python", Text: "spec = (tf.TensorSpec((224, 224, 3), tf.float32), tf.TensorSpec((), tf.int64))   # shapes of one sample and its label\nds = tf.data.Dataset.from_generator(read, output_signature=spec).batch(32).prefetch(2)", Cost: "Some rewriting"},
			{Fix: "lower_batch_size", Title: "If it is the batch: halve it", Told: "`batch_size=` in `fit` or `predict`, `.batch(...)` with tf.data; a smaller shuffle buffer too.", Cost: "Slower"},
			{Fix: "fix_shape", Title: "Keep labels and words as integers", Told: "`sparse_categorical_crossentropy` takes integers instead of one-hot rows, an `Embedding` layer instead of dense bags of words.", Cost: "Free"},
		},
		Sources: []string{bfcAllocator, "tensorflow/core/framework/cpu_allocator_impl.cc"},
	},
	{
		ID: "tensorflow/pinned", Kinds: []fact.Kind{fact.TFAlloc}, If: onCPU, Said: []string{"_host_bfc)", "by allocator gpu_host_bfc", "by allocator cuda_host_bfc"}, Unsaid: []string{"could not allocate pinned host memory", "bytes on host: CUDA_ERROR"}, Figures: tensorFigures,
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "filled its pool of pinned system memory (RAM)",
		Means: "The allocator in the message (`host_bfc`) hands out RAM that is pinned for copies to and from the GPU, not graphics memory. By default it may take 64 GiB, or less where the machine has less.[[ Its limit here is {limit}.]] Inputs and results that stay in RAM, and swapped tensors, fill it.",
		Not:   "Memory growth, another GPU: the GPU is not what is full.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the limit, if the machine has more RAM", Told: "In MB, before the start; before TensorFlow 1.14 it is called `TF_CUDA_HOST_MEM_LIMIT_IN_MB`:", Kind: "shell", Text: "free -g; export TF_GPU_HOST_MEM_LIMIT_IN_MB=100000", Cost: "less RAM for everything else"},
			{Fix: "lower_batch_size", Title: "Feed less at a time", Told: "A smaller batch, or the large array in slices; fetch only results that you need, and copy them out before the next step.", Cost: "slower"},
			{Fix: "stream_dataset", Title: "Keep the data out of the graph", Told: "Feed batches from a generator or `tf.data` instead of one large constant or variable on the CPU.", Cost: "some rewriting"},
		},
		Sources: []string{"tensorflow/core/common_runtime/gpu/gpu_process_state.cc: TF_GPU_HOST_MEM_LIMIT_IN_MB TF_CUDA_HOST_MEM_LIMIT_IN_MB", bfcAllocator},
	},
	{
		ID: "tensorflow/predict", Kinds: []fact.Kind{fact.TFAlloc}, If: offCPU, Said: []string{"model.predict(", "in predict", "ConcatV2", "in evaluate"}, Unsaid: append([]string{"gradient_tape", "train_function", "Epoch 1/"}, madeWords...),
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory in prediction or evaluation: {asked} did not fit",
		Means: "The log points to prediction or evaluation, where no gradients are kept. A tensor of {asked} did not fit; how many samples go through at once decides its size. Calling the model directly on an array, or joining all outputs on the card, takes the whole data set at once.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Predict in small batches", Told: "`model(x)` takes all of x at once; use instead:", Kind: "python", Text: "y = model.predict(x, batch_size=8)   # x: a NumPy array; a tf.data pipeline sets it by .batch(8)", Cost: "None for the result"},
			{Fix: "stream_dataset", Title: "Move outputs to RAM batch by batch", Kind: "python", Text: "y = np.concatenate([model(part, training=False).numpy() for part in dataset])   # dataset is batched", Cost: "None worth mentioning"},
			lookBeside,
		},
		Sources: []string{"keras/src/backend/tensorflow/trainer.py", bfcAllocator},
	},
	firstLayerCard, calls.ManyGraphs,
	stepCard("tensorflow/oom-session", sessionWords, []string{"optimizer/", "/Adam/"}, []string{bfcAllocator, tfGuide}, []cause.Cure{
		{Fix: "lower_batch_size", If: when.Not(oneInBatch), Title: "Halve the batch size[[: {halved}]]", Told: "The script's own option, `batch_size=` in `fit`, or what goes into `feed_dict` or the input function.", Cost: "More runs"},
		shorter,
		{Fix: "lower_resolution", If: when.Not(threeSides), Title: "Use a smaller input", Told: "Half the width and height is a quarter of the activations; or half the points, neighbours or length, by the program's own setting.", Cost: "Detail"},
		{Fix: "gradient_accumulation", If: (*ledger.Case).Training, Title: "Accumulate gradients", Told: "Add up the gradients of several small runs in variables, and give their mean to `apply_gradients` (`compute_gradients` returns them).", Cost: "Slower"},
		lookBeside,
	}),
	stepCard("tensorflow/oom-old", []string{"tensorflow_core/"}, append([]string{"optimizer/", "/Adam/"}, sessionWords...), []string{bfcAllocator, tfGuide}, []cause.Cure{
		{Fix: "lower_batch_size", If: when.Not(oneInBatch), Title: "Halve the batch size[[: {halved}]]", Told: "`batch_size=` in `fit` or `predict`, `.batch(...)` with tf.data, or the script's own option.", Cost: "Slower per sample"},
		{Fix: "gradient_checkpointing", If: (*ledger.Case).Training, Title: "Turn on gradient checkpointing", Told: "Wrap each large block in `tf.recompute_grad`; Keras layers inside it can fail in this release.", Cost: "About a third more time per step"},
		{Fix: "lower_resolution", Title: "Use smaller images, fewer channels or layers", Told: "Half the width and height is a quarter of the activations, half the channels of a layer about half.", Cost: "Detail"},
	}),
	stepCard("tensorflow/oom-tensor", []string{"OOM when allocating tensor"}, []string{"optimizer/", "/Adam/"}, []string{bfcAllocator, tfGuide, "https://www.tensorflow.org/guide/mixed_precision"}, []cause.Cure{
		{Fix: "lower_batch_size", If: when.Not(oneInBatch), Title: "Halve the batch size[[: {halved}]]", Told: "`batch_size=` in `fit` or `predict`, `.batch(...)` with tf.data, or `batch_size` in a config.", Cost: "Slower per sample"},
		{Fix: "mixed_precision", If: when.Not(beforeKeras2), Title: "Turn on mixed precision", Told: "Before the model is built: nearly half of the activations. The last layer should stay float32 (`dtype=\"float32\"`).", Kind: "python", Text: "tf.keras.mixed_precision.set_global_policy(\"mixed_float16\")   # TensorFlow 2.4 and later", Cost: "None as a rule on RTX and newer cards"},
		shorter,
		{Fix: "lower_resolution", If: when.Not(threeSides), Title: "Use smaller images or shorter sequences", Told: "Half the width and height, or smaller patches of a volume, is a quarter or less of the activations; half the length of an attention is a quarter of its matrices.", Cost: "Detail"},
	}),
	{
		ID: "tensorflow/one-sample", Kinds: []fact.Kind{fact.TFAlloc}, If: when.All(ordinary, oneSample), Figures: sampleFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory with a batch of 1: {rows} x {columns} at this layer",
		Means: "The tensor that no longer fitted, {asked}, is 1 x {third} x {rows} x {columns}. Its first side is usually the batch, so that is 1 already and the image has to shrink.[[ At a sixteenth of the size, as deep layers have it, that would be an image of about {height} x {width}.]][[ {used} of the {limit} that TensorFlow may take were in use.]]",
		Not:   "Memory growth: it changes when memory is taken, not how much.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Use smaller images or crops", Told: "Half the width and height is a quarter of the activations; the script's own scale or crop size sets it.", Cost: "Detail"},
			lookBeside,
			{Fix: "restart_session", Title: "In a notebook: restart the kernel before each run", Told: "An earlier model or a failed run keeps its memory until the process ends.", Cost: "What was computed"},
			{Fix: "mixed_precision", If: when.Not(beforeKeras2), Title: "Turn on mixed precision", Kind: "python", Text: "tf.keras.mixed_precision.set_global_policy(\"mixed_float16\")   # TensorFlow 2.4 and later, before the model is built", Cost: "None as a rule on RTX and newer cards"},
		},
		Sources: []string{bfcAllocator, tfGuide},
	},
	{
		ID: "tensorflow/weight-gradient", Kinds: []fact.Kind{fact.TFAlloc}, Said: []string{weightProduct}, If: weightGradient, Figures: gradientFigures,
		Cause: cause.TrainingStateTooLarge, Weight: cause.Strong, Headline: "ran out of memory on the gradient of a large weight matrix",
		Means: "The node is a gradient, and its shape, {shape}, is that of the weights[[: {asked}]], whatever the batch.[[ The matrix is used in {uses} steps of a loop, and each makes a gradient that is kept until all are added up: {uses} x {asked} is {together}.]] The optimizer may keep one or two more of that size.[[ {wide} outputs are usually a vocabulary: its size decides.]]",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", Title: "Use sampled softmax, or a smaller vocabulary", If: vocabulary, Told: "`tf.nn.sampled_softmax_loss` (weights as [outputs, width]) takes a few thousand outputs a step, and its gradients are sparse; use the full softmax to evaluate. Or keep the 50,000 most common words, the rest as one.", Cost: "Training is approximate"},
			{Fix: "fix_shape", Title: "Apply the matrix once, after the loop", If: manyUses, Told: "Collect the outputs of the loop, `tf.reshape(tf.concat(outputs, 0), [-1, width])`, and multiply them together: one gradient instead of {uses}.", Cost: "All results are there at once"},
			{Fix: "use_smaller_model", Title: "Make the layer narrower", If: when.Not(vocabulary), Told: "Pool, or put a small layer before it: the matrix is as large as the product of both sides.", Cost: "Perhaps accuracy"},
			{Fix: "gradient_accumulation", Title: "Use `EXPERIMENTAL_ACCUMULATE_N`", If: manyUses, Told: "`optimizer.minimize(loss, aggregation_method=tf.AggregationMethod.EXPERIMENTAL_ACCUMULATE_N)` does not hold all of them at once.", Cost: "Slightly slower"},
			{Fix: "cpu_offload", Title: "Put that layer on the CPU", Told: "`with tf.device(\"/cpu:0\"):` around it.", Cost: "Much slower"},
		},
		Sources: []string{"tensorflow/python/ops/math_grad.py", "tensorflow/python/ops/gradients_util.py", "https://www.tensorflow.org/api_docs/python/tf/nn/sampled_softmax_loss"},
	},
	{
		ID: "tensorflow/in-pieces", Kinds: []fact.Kind{fact.TFAlloc}, If: poolInPieces,
		Cause: cause.Fragmentation, Weight: cause.Strong, Figures: poolFigures, Headline: "had {left} of its share left, but {asked} was refused",
		Means: "TensorFlow may take {limit} here and {used} was in use, so {left} was left, more than the {asked} that was refused. {pieces}",
		Not:   "Memory growth: it can make fragmentation worse.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: littleLeft, Title: "Use a slightly smaller batch or image", Told: "By the program's own option: half the batch halves most tensors of a step, half the width and height makes them a quarter.", Cost: "Slower, or detail"},
			{Fix: "tf_cuda_malloc_async", Title: "Use CUDA's allocator (`cuda_malloc_async`)", Told: "TensorFlow 2.5 and later with CUDA 11.2, Linux and Windows; before the program starts:", Steps: environ("TF_GPU_ALLOCATOR", "cuda_malloc_async"), Cost: "None worth mentioning"},
			{Fix: "lower_batch_size", If: when.Not(littleLeft), Title: "Pad to one shape, and lower the batch size", Told: "Pad sequences and images to one size (`padded_batch`, `drop_remainder=True`), so that freed blocks fit again; half the batch halves most tensors.", Cost: "Slower"},
			{Fix: "lower_resolution", If: func(c *ledger.Case) bool { return c.Signal("pool_taken") != nil }, Title: "Use smaller images or shorter sequences", Told: "Half the width and height is a quarter of each tensor.", Cost: "Detail"},
			lookBeside,
		},
		Sources: []string{bfcAllocator, "tensorflow/core/common_runtime/gpu/gpu_cudamallocasync_allocator.cc"},
	},
	{
		ID: "tensorflow/slot", Kinds: []fact.Kind{fact.TFAlloc}, If: func(c *ledger.Case) bool {
			return offCPU(c) && optimizerNode(c) && vocabulary(c) && slices.Max(calls.Sides(c)) >= 100_000 && calls.AtLeast(2*units.GiB)(c) && !poolInPieces(c)
		}, Figures: slotFigures,
		Cause: cause.TrainingStateTooLarge, Weight: cause.Decisive, Headline: "had no room for the optimizer's numbers of one weight: {asked}",
		Means: "`{node}` holds what the optimizer keeps for each weight. Its shape, {shape}, is that of the weight, with no batch in it. The side of {wide} counts something: characters, words, classes, users or items. With the weight, its gradient and Adam's two numbers this one takes {trained}.[[ {used} of the {limit} that TensorFlow may take were in use.]]",
		Not:   "A smaller batch or shorter samples: they do not change this shape.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Check whether {wide} is the number that you mean", Told: "An alphabet has some dozens of characters, a vocabulary some ten thousand words. Whole words where single characters belong (DeepSpeech's alphabet.txt: one a line), or the highest ID instead of how many there are, give such a side: make that file again.", Cost: "Train again"},
			{Fix: "use_smaller_model", Title: "If it is: make that side shorter", Told: "Keep the most common and let the rest share one number, or work with parts of words. An output layer: `tf.nn.sampled_softmax_loss` in training.", Cost: "Rare ones share a number"},
			{Fix: "bigger_gpu", Title: "Or use a card that holds it", Told: "{trained} for this weight alone, and the rest of the model.", Cost: "Money"},
		},
		Sources: []string{bfcAllocator, "tensorflow/python/training/adam.py", "mozilla/DeepSpeech/data/alphabet.txt"},
	},
	{
		ID: "tensorflow/optimizer", Kinds: []fact.Kind{fact.TFAlloc}, If: func(c *ledger.Case) bool { return offCPU(c) && optimizerNode(c) && !poolInPieces(c) },
		Cause: cause.TrainingStateTooLarge, Weight: cause.Strong, Headline: "ran out of memory while creating optimizer state",
		Means: "The operation that failed belongs to the optimizer. Adam keeps two 32-bit numbers for each weight; with weights and gradients that is four times the weights, whatever the batch. {asked} is one part of it. The message does not say what else fills the card.",
		Cures: []cause.Cure{
			lookBeside,
			{Fix: "use_smaller_model", Title: "Freeze layers", Told: "`layer.trainable = False` for the lower layers before `compile`: frozen weights get neither gradients nor state. `model.summary()` shows where the weights are, often one Dense or Embedding layer.", Cost: "Perhaps accuracy"},
			{Fix: "lower_batch_size", Title: "Use SGD, and a smaller batch", Told: "`tf.keras.optimizers.SGD(momentum=0.9)` keeps one number for each weight, plain SGD none; choose the learning rate again.", Cost: "Tuning"},
		},
		Sources: []string{bfcAllocator, "keras/src/optimizers/adam.py", "keras/src/optimizers/sgd.py"},
	},
	{
		ID: "tensorflow/pool-full", Kinds: []fact.Kind{fact.TFAlloc}, If: ordinary, Unsaid: []string{"OOM when allocating tensor"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory: {asked} more did not fit",
		Means: "The activations of a step fill TensorFlow's share of the card and grow with the batch; {asked} is the request that no longer fitted. If batch 1 fails as well, it is the model with its optimizer, or another process on the card.",
		Not:   "Memory growth (`TF_FORCE_GPU_ALLOW_GROWTH`): it changes when memory is taken, not how much.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch size", Told: "`batch_size=` in `fit` or `predict`, `.batch(...)` in a tf.data pipeline, or `batch_size` in the program's config.", Cost: "Slower per sample"},
			{Fix: "mixed_precision", If: when.Not(beforeKeras2), Title: "Turn on mixed precision", Told: "Before the model is built; nearly half of the activations. The last layer stays float32 (`dtype=\"float32\"`).", Kind: "python", Text: "tf.keras.mixed_precision.set_global_policy(\"mixed_float16\")   # TensorFlow 2.4 and later", Cost: "Fast on RTX and newer cards only"},
			{Fix: "lower_resolution", Title: "Use smaller images or shorter sequences", Told: "Half the width and height is a quarter of the activations.", Cost: "Detail"},
		},
		Sources: []string{bfcAllocator, tfGuide, "https://www.tensorflow.org/guide/mixed_precision"},
	},
	{
		ID: "tensorflow/tpu", Kinds: []fact.Kind{fact.TPUCompile},
		Cause: cause.BatchTooLarge, Weight: cause.Likely, Headline: "was refused by the TPU compiler: {asked} planned, {total} on a core",
		Means: "The compiler adds up what the program needs on one core and refuses before anything runs. Activations are usually most of it, and they grow with the batch per core (the global batch divided by the cores). Parameters and optimizer state count as well.",
		Not:   "Restarting, or GPU settings such as memory growth.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the batch size per core", Told: "Halve the global batch (`train_batch_size`, `--batch_size`, whatever the script calls it), or keep it and use twice the cores; multiples of 8 per core fit the TPU best.", Cost: "Slower per sample"},
			{Fix: "mixed_precision", Title: "Use bfloat16", Told: "`tf.keras.mixed_precision.set_global_policy(\"mixed_bfloat16\")`, or the script's `use_bfloat16`: half of them, if they are float32 now.", Cost: "None as a rule"},
			{Fix: "lower_resolution", Title: "Use smaller images or shorter sequences", Told: "Half the width and height is a quarter of the activations.", Cost: "Detail"},
		},
		Sources: []string{"https://www.tensorflow.org/guide/mixed_precision", "https://cloud.google.com/tpu/docs/performance-guide"},
	},
	{
		ID: "tensorflow/whole-dataset", Kinds: []fact.Kind{fact.TFCopy, fact.TFAlloc}, Said: []string{"_EagerConst", "convert_to_eager_tensor"}, If: offCPU,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "had no room on the card for an array that was copied there as a whole",
		Means: "An array was made a constant on the card (`_EagerConst`)[[: {asked} in one piece]]. Arrays given to `fit` go there whole, whatever the batch size; in your own loop it is the array that you pass. If your array is small (`x_train.nbytes / 2**30` in GiB), another process probably holds the card.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Keep the arrays in RAM, send batches", Kind: "python", Text: "with tf.device(\"/CPU:0\"):\n    ds = tf.data.Dataset.from_tensor_slices((x_train, y_train))\nmodel.fit(ds.shuffle(1000).batch(32).prefetch(2), epochs=10)", Cost: "None for the result"},
			{Fix: "fix_shape", Title: "Use a smaller type", Cost: "some lines", Told: "`uint8` or `float16` instead of 64 bit (`x.dtype` shows it). One-hot input: pass the indices and begin with an `Embedding` layer; one-hot labels: indices with `sparse_categorical_crossentropy`."},
			{Fix: "kill_stale_process", Title: "If the arrays are small: check what holds the card", Kind: "shell", Text: "nvidia-smi   # another notebook's kernel keeps the whole card", Cost: "A look is free"},
		},
		Sources: []string{"tensorflow/python/framework/constant_op.py", tfGuide},
	},
	{
		ID: "tensorflow/grab-refused", Kinds: []fact.Kind{fact.TFStart}, If: grabFree,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "was refused its pool of {asked}, though {free} was free",
		Means: "At its start TensorFlow takes nearly all that is free in one request. {free} was free a moment before and {asked} was still refused: driver and desktop need room beside it, or another program took some in between. TensorFlow then tries with a tenth less each time, so it may well have continued.",
		Not:   "A smaller batch or model: it does not change this request.",
		Cures: []cause.Cure{
			{Fix: "limit_framework_preallocation", Title: "Turn on memory growth", Told: "Before the program starts; in TensorFlow 1 also `config.gpu_options.allow_growth = True` in its session.", Steps: environ("TF_FORCE_GPU_ALLOW_GROWTH", "true"), Cost: "A little fragmentation"},
			endHolder,
			{Fix: "close_other_apps", Title: "On a small card: close desktop programs", Told: "Browser, video and a second screen use the card, too.", Cost: "Free"},
		},
		Sources: []string{tfGuide, "tensorflow/core/common_runtime/gpu/gpu_device.cc"},
	},
	{
		ID: "tensorflow/grab-at-start", Kinds: []fact.Kind{fact.TFStart},
		Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "could not take its pool at the start: something else probably holds the card",
		Means: "At its start TensorFlow takes nearly all that is free in one request, and retries with a tenth less each time: falling sizes are that, not your model's need. The driver refused, so another process has probably taken memory: a notebook's kernel, an earlier run, several processes started at once, or the desktop on a small card. TensorFlow may have continued with a smaller pool.",
		Not:   "A smaller batch or model: it does not change this request.",
		Cures: []cause.Cure{
			runtimeFirst, endHolder,
			{Fix: "limit_framework_preallocation", Title: "Turn on memory growth in every process", Told: "For several processes on one card, or the desktop beside it; in TensorFlow 1 also `config.gpu_options.allow_growth = True` in its session. Before each starts:", Steps: environ("TF_FORCE_GPU_ALLOW_GROWTH", "true"), Cost: "A little fragmentation"},
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
	out := map[string]string{"used": "", "left": "", "first": "the first is usually the batch", "pieces": "Either it is in pieces (fragmentation), or it could not be taken because another program holds it: `nvidia-smi` shows that."}
	if c.Signal("pool_taken") != nil {
		out["pieces"] = "TensorFlow had taken its whole share from the driver (`available bytes: 0`), so what is left is in pieces (fragmentation), not held by another program. A slightly smaller batch or image helps too."
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
	out["batch"], out["each"], out["halved"], out["pool"], out["tiny"], out["others"] = "", "", "", "TensorFlow's share of the card", "", "Another process on the card can have the same effect: `nvidia-smi` shows it."
	if tinyPiece(c) {
		out["tiny"], out["others"] = "So small a piece is refused only where everything is full already. Either another process holds the card (an earlier run, another notebook), or this program has filled it, perhaps with models that it built before.", ""
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
		"lower_batch_size": kerasBatch,
		"mixed_precision":  step.Paste("python", "keras.mixed_precision.set_global_policy(\"mixed_float16\")   # before the model is built; on the JAX backend \"mixed_bfloat16\""),
		"lower_resolution": step.Paste("text", "Half the width and height where the images are made or read (`image_size=` of `image_dataset_from_directory`, else `tf.image.resize`): a quarter of the activations."),
	},
}

// kerasBatch halves the batch that the refused tensor shows.
func kerasBatch(c *ledger.Case) []step.Step {
	size, now := "8", "32 by default"
	if s := calls.Sides(c); c.Kind(fact.TFAlloc) && len(s) > 1 && s[0] > 1 && s[0] <= 4096 {
		size, now = strconv.FormatInt(s[0]/2, 10), "if it is "+strconv.FormatInt(s[0], 10)+" now"
	}
	return []step.Step{{Kind: "python", Text: "model.fit(x, y, batch_size=" + size + ")   # " + now + "; a Dataset or DataLoader sets its own; predict takes batch_size as well"}}
}
