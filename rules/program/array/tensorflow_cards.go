package array

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

const (
	bfcAllocator = "tensorflow/core/common_runtime/bfc_allocator.cc"
	tfGuide      = "https://www.tensorflow.org/guide/gpu"
)

func offCPU(c *ledger.Case) bool { return !onCPU(c) }

// ordinary: the pool was full in a step, and the figures show nothing narrower.
func ordinary(c *ledger.Case) bool {
	return offCPU(c) && !poolInPieces(c) && !mostOfPool(c) && !wholeDataset(c) && c.Signal("optimizer_node") == nil
}

var growth = cause.Cure{Fix: "limit_framework_preallocation", Title: "Let TensorFlow grow instead", Kind: "env", Text: "export TF_FORCE_GPU_ALLOW_GROWTH=true", Cost: "A little fragmentation"}

var tensorFlowCards = []cause.Card{
	{
		ID: "tensorflow/cpu", Kinds: []fact.Kind{fact.TFAlloc}, If: onCPU, Said: []string{"by allocator cpu", "by allocator mklcpu"},
		Cause: cause.HostMemory, Weight: 0.88,
		Means: "The allocator is named `cpu`: {asked} of the computer's own memory (RAM) was refused, not of the card. One tensor of that size is usually the data as a whole, or a one-hot or dense form of something sparse.",
		Not:   "GPU settings such as memory growth: no card is involved.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Read the data in batches", Kind: "python", Text: "ds = tf.data.Dataset.from_generator(read, output_signature=spec).batch(32).prefetch(2)   # read yields one sample at a time", Cost: "Some rewriting"},
			{Fix: "lower_batch_size", Title: "Lower the batch size", Kind: "text", Text: "If the first number of the shape is the batch, halve it; if it is the number of all samples, the data are one tensor: batch them.", Cost: "None for the result of predict; slower"},
		},
		Sources: []string{bfcAllocator, "tensorflow/core/framework/cpu_allocator_impl.cc"},
	},
	{
		ID: "tensorflow/predict", Kinds: []fact.Kind{fact.TFAlloc}, If: offCPU, Said: []string{"model.predict(", "in predict", "ConcatV2", "in evaluate"}, Unsaid: []string{"gradient_tape", "train_function", "Epoch 1/"},
		Cause: cause.BatchTooLarge, Weight: 0.75,
		Means: "It failed in inference. {asked} is one tensor of the shape shown; its first number is how many samples are handled at once. Calling the model directly on all data, or concatenating all outputs, makes that number the whole data set.",
		Not:   "Mixed precision or checkpointing in training: nothing is being trained here.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Predict in small batches", Kind: "python", Text: "y = model.predict(x, batch_size=8)   # in place of model(x), which takes all of x at once", Cost: "None for the result"},
			{Fix: "stream_dataset", Title: "Take outputs off the card as you go", Kind: "python", Text: "y = np.concatenate([model(part, training=False).numpy() for part in dataset])   # dataset is batched", Cost: "None worth mentioning"},
		},
		Sources: []string{"keras/src/backend/tensorflow/trainer.py", bfcAllocator},
	},
	{
		ID: "tensorflow/oom-tensor", Kinds: []fact.Kind{fact.TFAlloc}, If: ordinary, Said: []string{"OOM when allocating tensor"}, Unsaid: []string{"optimizer", "/Adam/"},
		Cause: cause.BatchTooLarge, Weight: 0.76,
		Means: "The shape in the message is the tensor that no longer fitted ({asked}); its first number is the batch as a rule. It is the last straw, not the whole need: all activations of the step together filled the pool.",
		Not:   "Memory growth: it changes when memory is taken, not how much the step needs.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch, twice if need be", Kind: "text", Text: "Lower `batch_size` in `model.fit`; with tf.data in `dataset.batch(...)`. If the first number of the shape is not your batch, it is the other sides (image size, length) that count.", Cost: "Slower per sample"},
			{Fix: "mixed_precision", Title: "Train in mixed precision", Kind: "python", Text: "tf.keras.mixed_precision.set_global_policy(\"mixed_float16\")   # before the model is built", Cost: "None as a rule on RTX cards"},
			{Fix: "lower_resolution", Title: "Smaller images or shorter sequences", Kind: "text", Text: "Half the width and height need a quarter of the activations; half the length of an attention a quarter as well.", Cost: "Detail"},
		},
		Sources: []string{bfcAllocator, tfGuide},
	},
	{
		ID: "tensorflow/whole-dataset", Kinds: []fact.Kind{fact.TFCopy}, Said: []string{"_EagerConst", "convert_to_eager_tensor"},
		Cause: cause.OversizedAllocation, Weight: 0.7,
		Means: "\"Dst tensor is not initialized\" is a full card in disguise: a NumPy array was copied to it whole, as one constant. Arrays handed to `fit` go there entirely, so the batch size plays no part.",
		Not:   "A smaller batch size: it is the whole array that is copied.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Keep the arrays in RAM, send batches", Kind: "python", Text: "with tf.device(\"/CPU:0\"):\n    ds = tf.data.Dataset.from_tensor_slices((x_train, y_train))\nmodel.fit(ds.shuffle(1000).batch(32).prefetch(2), epochs=10)", Cost: "None for the result"},
			{Fix: "kill_stale_process", Title: "If the arrays are small: see who holds the card", Kind: "shell", Text: "nvidia-smi   # another notebook's kernel keeps the whole card", Cost: "A look is free"},
		},
		Sources: []string{"tensorflow/python/framework/constant_op.py", tfGuide},
	},
	{
		ID: "tensorflow/grab-at-start", Kinds: []fact.Kind{fact.TFStart, fact.TFContext},
		Cause: cause.LeakedProcess, Weight: 0.8,
		Means:   "TensorFlow takes nearly the whole card when it starts, and the driver refused. So something else holds a large part already: often a notebook kernel or an earlier run of TensorFlow, which keeps its card until it ends.",
		Not:     "A smaller batch or model: it failed before there was either.",
		Cures:   []cause.Cure{lookAtCard, growth, {Fix: "select_gpu", Title: "Use another card", Kind: "env", Text: "export CUDA_VISIBLE_DEVICES=1", Cost: "Needs a free card"}},
		Sources: []string{tfGuide, "tensorflow/core/common_runtime/gpu/gpu_device.cc"},
	},
	{
		ID: "tensorflow/cudnn-handle", Kinds: []fact.Kind{fact.TFHandle}, Said: []string{"CUDNN_STATUS_ALLOC_FAILED", "CUBLAS_STATUS_ALLOC_FAILED", "Failed to get convolution algorithm", "no algorithm worked"},
		Cause: cause.BudgetMisconfigured, Weight: 0.55,
		Means: "cuDNN or cuBLAS could not get memory of its own, outside TensorFlow's pool. Likely TensorFlow has taken the whole card at its start, or another process holds it. The same words also come from mismatched cuDNN versions; the log does not tell which.",
		Cures: []cause.Cure{
			growth, lookAtCard,
			{Fix: "upgrade_version", Title: "If the card is empty: match cuDNN and TensorFlow", Kind: "shell", Text: "python -c \"import tensorflow as tf; print(tf.sysconfig.get_build_info())\"   # the cuDNN that it was built for", Cost: "Half an hour"},
		},
		Sources: []string{tfGuide},
	},
}

// Keras is Keras, on any of its backends.
var Keras = program.Program{
	Name: "keras", Shown: "Keras", Work: "vision", Edits: "code", Language: "python",
	Proofs: []string{"keras/src/", "keras/engine/", "keras/backend/", "keras/trainers/"},
	Titles: map[string]string{"lower_batch_size": "Lower batch_size in fit or predict", "lower_resolution": "Smaller inputs"},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"lower_batch_size": step.Paste("python", "model.fit(x, y, batch_size=8)   # 32 by default; a Dataset or DataLoader sets its own; predict takes batch_size as well"),
		"mixed_precision":  step.Paste("python", "keras.mixed_precision.set_global_policy(\"mixed_float16\")   # before the model is built; on the JAX backend \"mixed_bfloat16\""),
		"lower_resolution": step.Paste("python", "ds = keras.utils.image_dataset_from_directory(path, image_size=(224, 224), batch_size=8)"),
	},
}
