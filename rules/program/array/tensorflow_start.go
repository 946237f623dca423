package array

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// contextWords are TensorFlow's when the driver could not make it a context
// (common_runtime/gpu/gpu_device.cc, gpu_device_manager; compiler/xla/stream_executor).
var contextWords = []string{"CUDA runtime implicit initialization on GPU", "cudaGetDevice() failed. Status: out of memory", "cudaSetDevice() on GPU", "cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY", "cuInit: CUDA_ERROR_OUT_OF_MEMORY", "cuCtxCreate: CUDA_ERROR_OUT_OF_MEMORY"}

// ofTensorFlow: the program is TensorFlow's, not JAX, which has the same runtime.
func ofTensorFlow(c *ledger.Case) bool { return c.Framework != "jax" }

var growthHere = cause.Cure{Fix: "limit_framework_preallocation", Title: "Let TensorFlow grow instead of taking all at once", Cost: "a little fragmentation", Told: "Before it starts:", Steps: environ("TF_FORCE_GPU_ALLOW_GROWTH", "true")}

// startCards are about the start, before anything of the reader's runs.
var startCards = []cause.Card{
	{
		ID: "tensorflow/context", Said: contextWords, If: ofTensorFlow,
		Cause: cause.LeakedProcess, Weight: cause.Decisive,
		Headline: "could not even make a context on the card: it was full before",
		Means:    "This comes before any model or data: the driver had not the 300 to 600 MiB left that every process needs for its own bookkeeping. Something else holds the card: an earlier run, another notebook or user, several processes started at once. If it is the card that the desktop runs on, or several cards are there, TensorFlow tries each of them.",
		Not:      "A smaller batch or model, and memory growth in this process: nothing of it is there yet.",
		Cures: []cause.Cure{
			endHolder,
			{Fix: "restart_session", If: inNotebook, Title: "Shut down the other notebooks' kernels, then restart this one", Cost: "their variables are lost", Told: "Jupyter: the list of running kernels; Colab: Runtime, Manage sessions. A closed tab keeps its kernel."},
			otherCard,
			{Fix: "limit_framework_preallocation", Title: "It has to be shared: growth in the others", Cost: "a little fragmentation", Told: "TensorFlow takes nearly the whole card unless told otherwise; in each program that shares it, before it starts:", Steps: environ("TF_FORCE_GPU_ALLOW_GROWTH", "true")},
		},
		Sources: []string{gpuDevice, tfGuide},
	},
	{
		ID: "tensorflow/cudnn-version", Kinds: []fact.Kind{fact.TFHandle}, Said: []string{"possibly insufficient driver version"}, If: ofTensorFlow,
		Headline: "could not start cuDNN: the driver is too old for it, or no memory was left",
		Means:    "Nothing here says that memory ran out. cuDNN answered NOT_INITIALIZED, and TensorFlow prints the driver's version beside it, because an old one is the usual reason: CUDA 9.0 wants 384.81, 10.0 410.48, 10.1 418.39, 11 450.80. The other reason is a card that another process, or this one's own pool, has filled.",
		Not:      "A smaller batch or model: the library did not start.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Look at both in one place", Cost: "free", Kind: "shell", Text: "nvidia-smi", Told: "Its head names the driver, its list who holds the card: end an earlier python of yours."},
			{Fix: "upgrade_version", Title: "The driver is below what your CUDA wants: a newer one", Cost: "half an hour and a restart", Told: "Or a TensorFlow built for an older CUDA (1.4 and before: CUDA 8; 1.5 to 1.12: CUDA 9.0; 1.13 to 2.0: 10.0; 2.1 to 2.3: 10.1), with the cuDNN that its build names."},
			growthHere,
		},
		Sources: []string{"tensorflow/stream_executor/cuda/cuda_dnn.cc", "https://docs.nvidia.com/cuda/cuda-toolkit-release-notes/index.html", "https://www.tensorflow.org/install/source#gpu"},
	},
	{
		ID: "tensorflow/handle", Kinds: []fact.Kind{fact.TFHandle}, If: ofTensorFlow,
		Headline: "could not start cuDNN or cuBLAS: no room beside its pool, most likely",
		Means:    "These libraries take some hundred MB of their own when the first layer runs, outside TensorFlow's pool, and the pool takes nearly the whole card at the start. Another process on the card has the same effect. The other reason is a library that does not match: a cuDNN of another version, or a card newer than the CUDA it was built for (RTX 30 needs CUDA 11). If it runs after the first step, it was memory.",
		Not:      "A smaller batch: what was refused is the library's own memory.",
		Cures: []cause.Cure{
			growthHere,
			{Fix: "limit_framework_preallocation", If: beforeKeras2, Title: "Let TensorFlow grow instead of taking all at once", Cost: "a little fragmentation", Kind: "python", Text: "config = tf.ConfigProto()\nconfig.gpu_options.allow_growth = True\nsess = tf.Session(config=config)   # Keras: keras.backend.set_session(sess)"},
			runtimeFirst, endHolder,
			{Fix: "upgrade_version", Title: "The card is empty: match cuDNN and TensorFlow", Cost: "half an hour", Told: "tensorflow.org/install/source#gpu lists which CUDA and cuDNN each version was built for; a line \"Loaded runtime CuDNN library … but source was compiled with\" in the log says that they differ."},
		},
		Sources: []string{tfGuide, "tensorflow/stream_executor/cuda/cuda_dnn.cc", "https://www.tensorflow.org/install/source#gpu"},
	},
}
