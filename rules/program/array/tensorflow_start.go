package array

import (
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
	"github.com/oomdoc/oomdoc/rules/when"
)

// contextWords are TensorFlow's when the driver could not make it a context
// (common_runtime/gpu/gpu_device.cc, gpu_device_manager; compiler/xla/stream_executor).
var contextWords = []string{"CUDA runtime implicit initialization on GPU", "cudaGetDevice() failed. Status: out of memory", "cudaSetDevice() on GPU", "cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY", "cuInit: CUDA_ERROR_OUT_OF_MEMORY", "cuCtxCreate: CUDA_ERROR_OUT_OF_MEMORY"}

// ofTensorFlow: the program is TensorFlow's, not JAX, which has the same runtime.
func ofTensorFlow(c *ledger.Case) bool { return c.Framework != "jax" }

var growthHere = cause.Cure{Fix: "limit_framework_preallocation", Title: "Turn on memory growth", Cost: "a little fragmentation", Told: "Before the program starts:", Steps: environ("TF_FORCE_GPU_ALLOW_GROWTH", "true")}

// startCards are about the start, before anything of the reader's runs.
var startCards = []cause.Card{
	{
		ID: "tensorflow/context", Said: contextWords, If: ofTensorFlow,
		Cause: cause.LeakedProcess, Weight: cause.Decisive, Headline: "could not start on the GPU: the card was full",
		Means: "Every process first needs a CUDA context of 300 to 600 MiB, and the driver had no room for it. Usually something else fills the card: an earlier run, another notebook or user, or several processes started at once. With several cards, TensorFlow tries each of them.",
		Not:   "A smaller batch or model: the failure comes before either.",
		Cures: []cause.Cure{
			endHolder,
			{Fix: "restart_session", If: inNotebook, Title: "Shut down other notebooks' kernels, then restart this one", Cost: "their variables are lost", Told: "Jupyter: the list of running kernels. Colab: Runtime, Manage sessions. A closed tab keeps its kernel."},
			otherCard,
			{Fix: "limit_framework_preallocation", Title: "If the card is shared: turn on memory growth", Cost: "a little fragmentation", Told: "By default TensorFlow takes nearly the whole card. In each program that shares it, before it starts:", Steps: environ("TF_FORCE_GPU_ALLOW_GROWTH", "true")},
		},
		Sources: []string{gpuDevice, tfGuide},
	},
	{
		ID: "tensorflow/cudnn-version", Kinds: []fact.Kind{fact.TFHandle}, Said: []string{"possibly insufficient driver version"}, If: ofTensorFlow,
		Headline: "could not start cuDNN: an old driver, or full GPU memory",
		Means:    "cuDNN answered NOT_INITIALIZED. An old driver is one usual reason, so TensorFlow prints its version: CUDA 9.0 needs 384.81, 10.0 410.48, 10.1 418.39, 11 450.80. The other is a full card: another process, or TensorFlow's own pool.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Check the driver version and the card", Cost: "free", Kind: "shell", Text: "nvidia-smi", Told: "The top line shows the driver version, the list below the processes. End leftover Python runs of yours."},
			{Fix: "upgrade_version", Title: "If the driver is too old: update it", Cost: "half an hour and a restart", Told: "Or install a TensorFlow built for an older CUDA (1.4 and before: CUDA 8; 1.5 to 1.12: 9.0; 1.13 to 2.0: 10.0; 2.1 to 2.3: 10.1), with the cuDNN it names."},
			growthHere,
		},
		Sources: []string{"tensorflow/stream_executor/cuda/cuda_dnn.cc", "https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/index.html", "https://www.tensorflow.org/install/source#gpu"},
	},
	{
		ID: "tensorflow/handle", Kinds: []fact.Kind{fact.TFHandle}, If: ofTensorFlow,
		Headline: "could not start cuDNN or cuBLAS, often because GPU memory is full",
		Means:    "These libraries need some hundred MB outside TensorFlow's pool when the first layer runs, and by default the pool takes nearly the whole card. Another process on the card has the same effect. The other reason is a mismatch: the wrong cuDNN version, or a card newer than the CUDA (RTX 30 needs CUDA 11).",
		Cures: []cause.Cure{
			growthHere,
			{Fix: "limit_framework_preallocation", If: beforeKeras2, Title: "Turn on memory growth (TensorFlow 1)", Cost: "a little fragmentation", Kind: "python", Text: "config = tf.ConfigProto()\nconfig.gpu_options.allow_growth = True\nsess = tf.Session(config=config)   # Keras: keras.backend.set_session(sess)"},
			runtimeFirst, endHolder,
			{Fix: "upgrade_version", Title: "If the card is empty: match cuDNN and TensorFlow", Cost: "half an hour", Told: "tensorflow.org/install/source#gpu lists the CUDA and cuDNN for each version. They differ if the log says \"Loaded runtime CuDNN library … but source was compiled with\"."},
		},
		Sources: []string{tfGuide, "tensorflow/stream_executor/cuda/cuda_dnn.cc", "https://www.tensorflow.org/install/source#gpu"},
	},
}

// firstLayer: the op is of the first convolution, and wants little.
func firstLayer(c *ledger.Case) bool {
	node, _ := c.Fact("tf_node")
	name := strings.ToLower(node.Text)
	return !strings.Contains(name, "gradients/") && (calls.FirstOfKeras.MatchString(name) || strings.Contains(name, "/conv1/") || strings.Contains(name, "conv2d_1/") || strings.HasPrefix(name, "conv1/")) && ledger.Requested(c) < 512*units.MiB && 4*elements(calls.Sides(c)) < 512*units.MiB
}

// firstLayerCard is about a step that had hardly begun.
var firstLayerCard = cause.Card{
	ID: "tensorflow/first-layer", Kinds: []fact.Kind{fact.TFAlloc}, If: when.All(ordinary, firstLayer), Said: []string{"OOM when allocating tensor"}, Unsaid: []string{"optimizer/", "/Adam/"},
	Among:    []string{cause.BatchTooLarge, cause.LeakedProcess, cause.Unknown},
	Headline: "had no GPU memory for {asked} in one of the first layers",
	Means:    "Few activations of this step exist so early, so the card was probably nearly full before it. Another notebook or process may hold it (TensorFlow takes nearly all of a card at its start), or earlier models of this one, or the weights. A very large batch can also be the reason.",
	Cures: []cause.Cure{
		runtimeFirst,
		{Fix: "kill_stale_process", Title: "Look at the card, and end what else holds it", Told: "Look for other notebooks' kernels and earlier runs; a closed tab keeps its kernel.", Kind: "shell", Text: "nvidia-smi   # then end yours by PID", Cost: "a look is free"},
		{Fix: "lower_batch_size", If: when.Not(oneInBatch), Title: "If the card was empty: use a quarter of the batch size", Told: "Set it in `batch_size=` of `fit`, in what you pass to `feed_dict`, or with the script's own option.", Cost: "more runs"},
	},
	Sources: []string{bfcAllocator, tfGuide},
}
