package array

import (
	"fmt"
	"regexp"
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
var sessionWords = []string{"in _call_tf_sessionrun", "python/client/session.py", "tf.app.run(", "see above for traceback", "[[Node: ", "node gradients/", "tensorflow_backend.py", "estimator.train("}

var tensorFlowCards = []cause.Card{
	{
		ID: "tensorflow/cpu-batch", Kinds: []fact.Kind{fact.TFAlloc}, If: func(c *ledger.Case) bool {
			s := calls.Sides(c)
			return onCPU(c) && len(s) >= 3 && s[0] > 1 && s[0] <= 1024 && !calls.AtLeast(8*units.GiB)(c)
		}, Said: []string{"by allocator cpu", "by allocator mklcpu"}, Figures: tensorFigures,
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "was refused {asked} of the computer's RAM for one batch",
		Means:    "The allocator in the message is the CPU's, so it is RAM that ran out, not the card's memory.[[ The first side of the shape, {batch}, is the batch as a rule: {each} for each sample in this one tensor.]] Beside it RAM holds what the input pipeline keeps ready (shuffle, prefetch, queues, parallel calls), and the whole step, if no card is used at all.",
		Not:      "GPU settings such as memory growth: this tensor is not on a card.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch[[: {halved}]]", Told: "By the script's own option, `batch_size=` in `fit`, or `.batch(...)`.", Cost: "Slower"},
			{Fix: "lower_num_workers", Title: "Keep fewer batches ready", Told: "tf.data: `prefetch(1)`, `num_parallel_calls=2`, a shuffle buffer of some hundred samples (it holds them whole), no `cache()`; queues of TensorFlow 1: a smaller `capacity` and `num_threads` in `tf.train.batch`.", Cost: "The card may wait"},
			{Fix: "lower_resolution", Title: "Smaller samples, and bytes as long as possible", Told: "Resize or crop before batching; uint8 until the last step is a quarter of float32.", Cost: "Detail"},
			{Fix: "upgrade_version", Title: "It should have run on the card: see that TensorFlow finds it", Told: "`tf.config.list_physical_devices(\"GPU\")` (TensorFlow 1: `tf.test.is_gpu_available()`); an empty list means a build without CUDA, or a driver that does not match.", Cost: "Free to look"},
			calls.LookCommitted, calls.LookRAM,
		},
		Sources: []string{bfcAllocator, "tensorflow/core/framework/cpu_allocator_impl.cc", "https://www.tensorflow.org/guide/data_performance"},
	},
	{
		ID: "tensorflow/cpu", Kinds: []fact.Kind{fact.TFAlloc}, If: onCPU, Said: []string{"by allocator cpu", "by allocator mklcpu"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "was refused {asked} of the computer's RAM, not of the card's memory",
		Means:    "The allocator in the message is the CPU's, so {asked} of RAM was refused for one tensor. That is as a rule all the data in one tensor, or a dense or one-hot form of something sparse. The shape tells: is its first number your batch, or the count of all samples?",
		Not:      "GPU settings such as memory growth: no card is involved.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "First number = all samples: send the data in batches", Told: "`read` is a generator of yours that yields one sample at a time:", Kind: "python", Text: "spec = (tf.TensorSpec((224, 224, 3), tf.float32), tf.TensorSpec((), tf.int64))   # shapes of one sample and its label\nds = tf.data.Dataset.from_generator(read, output_signature=spec).batch(32).prefetch(2)", Cost: "Some rewriting"},
			{Fix: "lower_batch_size", Title: "First number = your batch: halve it", Told: "`batch_size=` in `fit` or `predict`, `.batch(...)` in a tf.data pipeline; a smaller shuffle buffer as well, it holds whole samples.", Cost: "Slower"},
			{Fix: "fix_shape", Title: "Keep classes and words as numbers", Told: "`sparse_categorical_crossentropy` takes integers in place of one-hot rows, an `Embedding` layer in place of dense bags of words.", Cost: "Free"},
		},
		Sources: []string{bfcAllocator, "tensorflow/core/framework/cpu_allocator_impl.cc"},
	},
	{
		ID: "tensorflow/predict", Kinds: []fact.Kind{fact.TFAlloc}, If: offCPU, Said: []string{"model.predict(", "in predict", "ConcatV2", "in evaluate"}, Unsaid: append([]string{"gradient_tape", "train_function", "Epoch 1/"}, madeWords...),
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "filled the card while predicting: a tensor of {asked} did not fit",
		Means:    "It failed in inference, where no gradients are kept, so {asked} for one tensor is much. Its first number is how many samples were handled at once. Calling the model directly on an array, or joining all outputs on the card, makes that the whole data set.",
		Not:      "Mixed precision or checkpointing in training: nothing is being trained here.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Predict in small batches", Told: "In place of `model(x)`, which takes all of x at once:", Kind: "python", Text: "y = model.predict(x, batch_size=8)   # x: a NumPy array; a tf.data pipeline sets it by .batch(8)", Cost: "None for the result"},
			{Fix: "stream_dataset", Title: "Take outputs off the card as they come", Kind: "python", Text: "y = np.concatenate([model(part, training=False).numpy() for part in dataset])   # dataset is batched", Cost: "None worth mentioning"},
			lookBeside,
		},
		Sources: []string{"keras/src/backend/tensorflow/trainer.py", bfcAllocator},
	},
	{
		ID: "tensorflow/oom-session", Kinds: []fact.Kind{fact.TFAlloc}, If: when.All(ordinary, when.Not(oneSample)), Said: sessionWords, Unsaid: []string{"optimizer/", "/Adam/"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: tensorFigures,
		Headline: "filled the card in a step: a tensor of {asked} did not fit",
		Means:    "{asked} is only the last straw: the activations of the whole step filled {pool}, and they grow with the batch[[: the first number of the shape, {batch}, is that as a rule, so each sample costs {each} in this layer alone]]. If that is not your batch, it is the other sides, image size or length, that count. Another process on the card would make it fail as well: `nvidia-smi` shows one.",
		Not:      "Memory growth: it changes when memory is taken, not how much a run needs.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve what one run gets[[: {halved}]]", Told: "`batch_size=` in `fit`; in other scripts what goes into `feed_dict` or the input function, by an option of the script's own. 1 first shows whether it runs at all.", Cost: "More runs"},
			{Fix: "lower_resolution", Title: "Smaller input", Told: "Half the width and height (a quarter), or half the points, neighbours or length, by the program's own config.", Cost: "Detail"},
			{Fix: "gradient_accumulation", If: (*ledger.Case).Training, Title: "Keep the effect of the batch", Told: "Add up the gradients of several small runs in variables, and give their mean to `apply_gradients` (`compute_gradients` returns them); batch normalisation still sees the small ones.", Cost: "Slower"},
			lookBeside,
		},
		Sources: []string{bfcAllocator, tfGuide},
	},
	{
		ID: "tensorflow/oom-old", Kinds: []fact.Kind{fact.TFAlloc}, If: when.All(ordinary, when.Not(oneSample)), Said: []string{"tensorflow_core/"}, Unsaid: append([]string{"optimizer/", "/Adam/"}, sessionWords...),
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: tensorFigures,
		Headline: "filled the card in a step: a tensor of {asked} did not fit",
		Means:    "{asked} is only the last straw: the activations of the whole step filled {pool}, and they grow with the batch[[: the first number of the shape, {batch}, is that as a rule, so each sample costs {each} in this layer alone]]. If that is not your batch, it is the other sides, image size or length, that count. Another process on the card would make it fail as well: `nvidia-smi` shows one.",
		Not:      "Memory growth, and `cuda_malloc_async`: growth changes only when memory is taken, and the other a TensorFlow of this age lacks.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch[[: {halved}]]", Told: "`batch_size=` in `fit` or `predict`, `.batch(...)` with tf.data. To train as before, add up the gradients of two halves and give their mean to `apply_gradients`.", Cost: "Slower per sample"},
			{Fix: "gradient_checkpointing", If: (*ledger.Case).Training, Title: "Compute activations twice in place of keeping them", Told: "Wrap each large block; this release's documentation has `tf.recompute_grad`, where keras layers in it can refuse. A network that can be inverted can compute them from its output.", Cost: "About a third more time per step"},
			{Fix: "lower_resolution", Title: "Fewer channels or layers, smaller images", Told: "Half the width and height is a quarter of the activations, half the channels of a layer about half.", Cost: "Detail"},
		},
		Sources: []string{bfcAllocator, tfGuide},
	},
	{
		ID: "tensorflow/oom-tensor", Kinds: []fact.Kind{fact.TFAlloc}, If: when.All(ordinary, when.Not(oneSample)), Said: []string{"OOM when allocating tensor"}, Unsaid: []string{"optimizer/", "/Adam/"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Figures: tensorFigures,
		Headline: "filled the card in a step: a tensor of {asked} did not fit",
		Means:    "{asked} is only the last straw: the activations of the whole step filled {pool}, and they grow with the batch[[: the first number of the shape, {batch}, is that as a rule, so each sample costs {each} in this layer alone]]. If that is not your batch, it is the other sides, image size or length, that count. Another process on the card would make it fail as well: `nvidia-smi` shows one.",
		Not:      "Memory growth: it changes when memory is taken, not how much a step needs. `cuda_malloc_async` helps against pieces only.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch[[: {halved}]]", Told: "`batch_size=` in `fit` or `predict`, `.batch(...)` with tf.data, `batch_size` in a config; again if need be.", Cost: "Slower per sample"},
			{Fix: "mixed_precision", If: when.Not(beforeKeras2), Title: "Compute in 16 bit", Told: "Before the model is built: nearly half of the activations. The last layer should stay float32 (`dtype=\"float32\"`).", Kind: "python", Text: "tf.keras.mixed_precision.set_global_policy(\"mixed_float16\")   # TensorFlow 2.4 and later", Cost: "None as a rule on RTX and newer cards"},
			{Fix: "lower_resolution", Title: "Smaller images or shorter sequences", Told: "Half the width and height is a quarter of the activations; half the length of an attention a quarter of its matrices.", Cost: "Detail"},
		},
		Sources: []string{bfcAllocator, tfGuide, "https://www.tensorflow.org/guide/mixed_precision"},
	},
	{
		ID: "tensorflow/one-sample", Kinds: []fact.Kind{fact.TFAlloc}, If: when.All(ordinary, oneSample), Figures: sampleFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "filled the card with a single sample: {rows} x {columns} at this layer",
		Means:    "The tensor that no longer fitted is 1 x {third} x {rows} x {columns}: its first side is the batch as a rule, so that is 1 already, and what is left to shrink is the image.[[ At a sixteenth of the size, as deep layers have it, that would be an image of about {height} x {width}.]] {asked} is the last straw; all layers before it keep theirs in training.[[ {used} of the {limit} that TensorFlow may take were in use.]]",
		Not:      "A smaller batch: it is 1. Memory growth: it changes when memory is taken, not how much.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Smaller images", Told: "Half the width and height is a quarter of the activations; crop, or scale down before training (a script's own scale or crop size).", Cost: "Detail"},
			lookBeside,
			{Fix: "restart_session", Title: "A notebook: restart its kernel before each training", Told: "An earlier model, or a training that failed, keeps its share until the process ends.", Cost: "What was computed"},
			{Fix: "mixed_precision", If: when.Not(beforeKeras2), Title: "Compute in 16 bit", Kind: "python", Text: "tf.keras.mixed_precision.set_global_policy(\"mixed_float16\")   # TensorFlow 2.4 and later, before the model is built", Cost: "None as a rule on RTX and newer cards"},
		},
		Sources: []string{bfcAllocator, tfGuide},
	},
	{
		ID: "tensorflow/weight-gradient", Kinds: []fact.Kind{fact.TFAlloc}, Said: []string{weightProduct}, If: weightGradient, Figures: gradientFigures,
		Cause: cause.TrainingStateTooLarge, Weight: cause.Strong,
		Headline: "ran out on the gradients of one large matrix of weights",
		Means:    "The node is a gradient, and its shape, {shape}, is that of the weights themselves: {asked}, whatever the batch.[[ The matrix is used in {uses} steps of a loop, and each makes a gradient of its own that is kept until all are added up: {uses} x {asked} is {together}.]] The optimizer keeps one or two more of that size.[[ {wide} outputs are a vocabulary, as a rule: that number decides.]]",
		Not:      "A smaller batch, and memory growth: weights and their gradients keep their size.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", Title: "Do not compute all outputs in training", If: vocabulary, Told: "`tf.nn.sampled_softmax_loss` (weights as [outputs, width]) takes a few thousand of them a step, and its gradients are sparse; use the full softmax to evaluate. Or fewer outputs: the commonest 50,000 words, the rest as one.", Cost: "Training is approximate"},
			{Fix: "fix_shape", Title: "Use the matrix once, not in each step of the loop", If: manyUses, Told: "Collect the outputs of the loop, `tf.reshape(tf.concat(outputs, 0), [-1, width])`, and multiply them together: one gradient in place of {uses}.", Cost: "All results of the product are there at once"},
			{Fix: "use_smaller_model", Title: "A narrower layer", If: when.Not(vocabulary), Told: "Pool, or put a small layer before it: the matrix is as large as the product of both sides.", Cost: "Perhaps accuracy"},
			{Fix: "gradient_accumulation", Title: "Add gradients up as they come", If: manyUses, Told: "`optimizer.minimize(loss, aggregation_method=tf.AggregationMethod.EXPERIMENTAL_ACCUMULATE_N)` needs not hold all of them at once.", Cost: "Slightly slower"},
			{Fix: "cpu_offload", Title: "That layer on the processor", Told: "`with tf.device(\"/cpu:0\"):` around it: RAM is mostly larger.", Cost: "Much slower"},
		},
		Sources: []string{"tensorflow/python/ops/math_grad.py", "tensorflow/python/ops/gradients_util.py", "https://www.tensorflow.org/api_docs/python/tf/nn/sampled_softmax_loss"},
	},
	{
		ID: "tensorflow/in-pieces", Kinds: []fact.Kind{fact.TFAlloc}, If: poolInPieces,
		Cause: cause.Fragmentation, Weight: cause.Strong, Figures: poolFigures,
		Headline: "had {left} of its share left, but not {asked} in one piece",
		Means:    "TensorFlow may take {limit} here and {used} was in use, so {left} was left, more than the {asked} that were refused. {pieces}",
		Not:      "Memory growth: it makes pieces more likely, not less.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", If: littleLeft, Title: "A somewhat smaller batch or image", Told: "By the program's own option: half the batch halves each tensor of a step, half the width and height (an input scale) makes it a quarter.", Cost: "Slower, or detail"},
			{Fix: "tf_cuda_malloc_async", Title: "CUDA's own allocator, which joins pieces", Told: "TensorFlow 2.5 and later with CUDA 11.2, Linux and Windows; set it before the program starts:", Steps: environ("TF_GPU_ALLOCATOR", "cuda_malloc_async"), Cost: "None worth mentioning"},
			{Fix: "lower_batch_size", If: when.Not(littleLeft), Title: "One shape, and a smaller batch", Told: "Pad sequences and images to one size (`padded_batch`, `drop_remainder=True`), so that the same pieces fit again; half the batch halves each.", Cost: "Slower"},
			{Fix: "lower_resolution", If: func(c *ledger.Case) bool { return c.Signal("pool_taken") != nil }, Title: "Smaller images, or shorter sequences", Told: "Half the width and height is a quarter of each tensor.", Cost: "Detail"},
			lookBeside,
		},
		Sources: []string{bfcAllocator, "tensorflow/core/common_runtime/gpu/gpu_cudamallocasync_allocator.cc"},
	},
	{
		ID: "tensorflow/optimizer", Kinds: []fact.Kind{fact.TFAlloc}, If: func(c *ledger.Case) bool { return offCPU(c) && optimizerNode(c) && !poolInPieces(c) },
		Cause: cause.TrainingStateTooLarge, Weight: cause.Strong,
		Headline: "ran out while the optimizer made its own state",
		Means:    "The operation that failed belongs to the optimizer. Adam keeps two numbers for each weight, in 32 bit, made at the first step; with weights and gradients that is four times the weights, whatever the batch. {asked} is one piece of it. What else fills the card is not in the message.",
		Not:      "A smaller batch alone: this state has the same size at batch 1.",
		Cures: []cause.Cure{
			lookBeside,
			{Fix: "use_smaller_model", Title: "Train fewer weights", Told: "`layer.trainable = False` for the lower layers before `compile`: frozen weights get neither gradients nor state. A huge Dense or Embedding layer is most of it as a rule; `model.summary()` shows it.", Cost: "Perhaps accuracy"},
			{Fix: "lower_batch_size", Title: "An optimizer with less state, and a smaller batch", Told: "`tf.keras.optimizers.SGD(momentum=0.9)` keeps one number for each weight, plain SGD none; the learning rate has to be chosen again.", Cost: "Tuning"},
		},
		Sources: []string{bfcAllocator, "keras/src/optimizers/adam.py", "keras/src/optimizers/sgd.py"},
	},
	{
		ID: "tensorflow/pool-full", Kinds: []fact.Kind{fact.TFAlloc}, If: ordinary, Unsaid: []string{"OOM when allocating tensor"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "filled its share of the card: {asked} more did not fit",
		Means:    "{asked} is the piece that no longer fitted, not the whole need. The activations of a step fill the pool up to there, and they grow with the batch. If batch 1 fails as well, it is the model with its optimizer, or another process on the card.",
		Not:      "Memory growth (`TF_FORCE_GPU_ALLOW_GROWTH`): it changes when memory is taken, not how much.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch, again if need be", Told: "`batch_size=` in `fit` or `predict`, `.batch(...)` in a tf.data pipeline, or `batch_size` in the program's config.", Cost: "Slower per sample"},
			{Fix: "mixed_precision", If: when.Not(beforeKeras2), Title: "In training: compute in 16 bit", Told: "Before the model is built; nearly half of the activations. The last layer stays float32 (`dtype=\"float32\"`).", Kind: "python", Text: "tf.keras.mixed_precision.set_global_policy(\"mixed_float16\")   # TensorFlow 2.4 and later", Cost: "Fast on RTX and newer cards only"},
			{Fix: "lower_resolution", Title: "Smaller images or shorter sequences", Told: "Half the width and height is a quarter of the activations.", Cost: "Detail"},
		},
		Sources: []string{bfcAllocator, tfGuide, "https://www.tensorflow.org/guide/mixed_precision"},
	},
	{
		ID: "tensorflow/tpu", Kinds: []fact.Kind{fact.TPUCompile},
		Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Headline: "was refused by the TPU compiler: {asked} planned, {total} on a core",
		Means:    "The compiler adds up what the program needs on one core and refuses before anything runs. Activations are most of it as a rule, and they grow with the batch of each core, which is the global batch divided by the cores. If little is missing, one step down is enough. Parameters and optimizer state count as well.",
		Not:      "Restarting, or settings for GPUs such as memory growth.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "A smaller batch for each core", Told: "Halve the global batch (`train_batch_size`, `--batch_size`, whatever the script calls it), or keep it and use twice the cores; multiples of 8 a core fit the TPU best.", Cost: "Slower per sample"},
			{Fix: "mixed_precision", Title: "bfloat16 activations", Told: "`tf.keras.mixed_precision.set_global_policy(\"mixed_bfloat16\")`, or the script's `use_bfloat16`: half of them, if they are float32 now.", Cost: "None as a rule"},
			{Fix: "lower_resolution", Title: "Smaller images or shorter sequences", Told: "Half the width and height is a quarter of the activations.", Cost: "Detail"},
		},
		Sources: []string{"https://www.tensorflow.org/guide/mixed_precision", "https://cloud.google.com/tpu/docs/performance-guide"},
	},
	{
		ID: "tensorflow/whole-dataset", Kinds: []fact.Kind{fact.TFCopy, fact.TFAlloc}, Said: []string{"_EagerConst", "convert_to_eager_tensor"}, If: offCPU,
		Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "had no room on the card for an array that was copied there whole",
		Means:    "An array was made a constant on the card (`_EagerConst`)[[: {asked} in one piece]]. Arrays handed to `fit` go there whole, so the batch size plays no part; \"Dst tensor is not initialized\" is the same in other words. If your array is small (`x_train.nbytes / 2**30` in GiB), another process holds the card.",
		Not:      "A smaller batch size: it is the whole array that is copied.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Keep the arrays in RAM, send batches", Kind: "python", Text: "with tf.device(\"/CPU:0\"):\n    ds = tf.data.Dataset.from_tensor_slices((x_train, y_train))\nmodel.fit(ds.shuffle(1000).batch(32).prefetch(2), epochs=10)", Cost: "None for the result"},
			{Fix: "fix_shape", Title: "A smaller array", Cost: "some lines", Told: "`uint8` or `float16` in place of 64 bit (`x.dtype` tells). One-hot input: hand over the indices and begin with an `Embedding` layer; one-hot labels: indices with `sparse_categorical_crossentropy`."},
			{Fix: "kill_stale_process", Title: "If the arrays are small: see who holds the card", Kind: "shell", Text: "nvidia-smi   # another notebook's kernel keeps the whole card", Cost: "A look is free"},
		},
		Sources: []string{"tensorflow/python/framework/constant_op.py", tfGuide},
	},
	{
		ID: "tensorflow/grab-refused", Kinds: []fact.Kind{fact.TFStart}, If: grabFree,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "was refused its pool of {asked}, though {free} was free",
		Means:    "When it starts, TensorFlow takes nearly all that is free in one piece. {free} was free a moment before and {asked} was still refused: the driver and the desktop need room beside it, most of all on a small card, or another program took some in between. TensorFlow then tries with a tenth less each time, so it may well have gone on.",
		Not:      "A smaller batch or model: it failed before there was either.",
		Cures: []cause.Cure{
			{Fix: "limit_framework_preallocation", Title: "Let it take only what it uses", Told: "Before the program starts; TensorFlow 1 takes `config.gpu_options.allow_growth = True` in its session as well.", Steps: environ("TF_FORCE_GPU_ALLOW_GROWTH", "true"), Cost: "A little fragmentation"},
			endHolder,
			{Fix: "close_other_apps", Title: "A small card: free what the desktop takes", Told: "Browser, video and a second screen use the card, too; or log in without a desktop for the run.", Cost: "Free"},
		},
		Sources: []string{tfGuide, "tensorflow/core/common_runtime/gpu/gpu_device.cc"},
	},
	{
		ID: "tensorflow/grab-at-start", Kinds: []fact.Kind{fact.TFStart},
		Cause: cause.LeakedProcess, Weight: cause.Strong,
		Headline: "could not take its pool at the start: something else holds the card",
		Means:    "When it starts, TensorFlow takes nearly all that is free in one piece, and retries with a tenth less each time: the falling sizes are that, not your model's need. The driver refused, so another process has taken memory since, or holds most of it: a notebook's kernel, an earlier run that did not end, several processes started at once (each takes all), the desktop on a small card.",
		Not:      "A smaller batch or model: it failed before there was either.",
		Cures: []cause.Cure{
			runtimeFirst, endHolder,
			{Fix: "limit_framework_preallocation", Title: "Let every process take only what it uses", Told: "For several processes on one card, or the desktop beside it; set before each starts:", Steps: environ("TF_FORCE_GPU_ALLOW_GROWTH", "true"), Cost: "A little fragmentation"},
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
	out := map[string]string{"used": "", "left": "", "pieces": "Either that is in pieces, as happens when tensors of changing sizes come and go, or it was never taken because another program holds it: `nvidia-smi` shows the second."}
	if c.Signal("pool_taken") != nil {
		out["pieces"] = "The whole share had been taken from the driver (`available bytes: 0`), so that no other program holds it: it lies in pieces, as happens when tensors of changing sizes come and go. With so little left, a somewhat smaller batch or image helps as surely."
	}
	if f := c.F(); f.Limit != nil && f.Allocated != nil && f.Limit.Bytes >= f.Allocated.Bytes {
		out["used"], out["left"] = f.Allocated.String(), units.Amount(f.Limit.Bytes-f.Allocated.Bytes)
	}
	return out
}

// tensorFigures take the batch from the shape of the tensor.
func tensorFigures(c *ledger.Case) map[string]string {
	out := poolFigures(c)
	out["batch"], out["each"], out["halved"], out["pool"] = "", "", "", "TensorFlow's share of the card"
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

// Keras is Keras, on any of its backends.
var Keras = program.Program{
	Name: "keras", Shown: "Keras", Work: "vision", Edits: "code", Language: "python",
	Proofs: []string{"keras/src/", "keras/engine/", "keras/backend/", "keras/trainers/"},
	Titles: map[string]string{"lower_batch_size": "Lower batch_size in fit or predict", "lower_resolution": "Smaller inputs"},
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
