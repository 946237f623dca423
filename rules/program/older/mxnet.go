package older

import (
	"regexp"

	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// MXNet is MXNet.
var MXNet = program.Program{
	Name: "mxnet", Shown: "MXNet", Work: "vision", Edits: "code", Language: "python",
	Sources:  program.Sources{"mxnet/docs/static_site/src/pages/api/faq/env_var.md": "MXNET_GPU_MEM_POOL_TYPE MXNET_GPU_MEM_POOL_RESERVE"},
	Proofs:   []string{"pooled_storage_manager.h", "mxnet/", "MXNetError"},
	Titles:   map[string]string{"limit_framework_preallocation": "Round the pool's blocks"},
	Remedies: cures(cause.InOrder("lower_batch_size", "lower_resolution", "limit_framework_preallocation", "kill_stale_process"), cause.InOrder("lower_batch_size", "lower_num_workers")),
	Steps: steps{
		"lower_batch_size":              step.Paste("python", "loader = gluon.data.DataLoader(dataset, batch_size=8)   # and loss.asscalar() for what you sum up, not the array"),
		"limit_framework_preallocation": step.Paste("env", "export MXNET_GPU_MEM_POOL_TYPE=Round   # for inputs of many sizes: blocks are used again"),
	},
	Cards: mxnetCards,
}

// boundBatch is the batch of the data that a network was bound to: "data: (1, 3, 112, 112)".
var boundBatch = regexp.MustCompile(`data: \((\d{1,4}),|data_shapes=\[\('data', \((\d{1,4}),`)

// mxnetSingle: a network with one sample did not fit.
var mxnetSingle = cause.Card{
	ID: "mxnet/one-sample", Kinds: ofCard, Said: []string{"simple_bind error", "for_training=False", "in simple_bind"}, If: func(c *ledger.Case) bool { return said(c, boundBatch) == "1" },
	Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "ran out of GPU memory with a batch of 1: the GPU was probably full before",
	Means: "The network was being bound for one sample, which needs its weights and little more. So something else usually fills the GPU: a training or a notebook that still runs, or another network in this process.",
	Not:   "A smaller batch: it is 1.",
	Cures: []cause.Cure{
		look,
		{Fix: "select_gpu", Title: "Use another GPU, or the CPU", Told: "`ctx=mx.gpu(1)` where the module is made, or `mx.cpu()`.", Cost: "slow on the CPU"},
		{Fix: "lower_resolution", Title: "If the GPU is empty: use a smaller input", Told: "Lower the last two numbers in `data_shapes`. Half the width and height need a quarter.", Cost: "detail"},
	},
	Sources: []string{"mxnet/python/mxnet/module/executor_group.py", "mxnet/src/storage/pooled_storage_manager.h"},
}

// detecting: a network looks at one picture, and nothing shows a training.
func detecting(c *ledger.Case) bool { return !c.Training() }

// mxnetPicture: a detector takes a picture at its own size, so that decides.
var mxnetPicture = cause.Card{
	ID: "mxnet/picture", Kinds: ofCard, Said: []string{".detect(", "detect_face", "face_detection.py", "retinaface", "mtcnn_detector.py", "FaceAnalysis("}, If: detecting,
	Cause: cause.BatchTooLarge, Weight: cause.Likely, Headline: "ran out of GPU memory while it looked for objects in a picture",
	Means: "A detector computes on the whole picture, so memory grows with its width x height. The line that failed only waits for the result (`asnumpy`). Either the picture is too large for what is free, or something else uses the GPU. The message shows no size.",
	Not:   "A smaller batch: it is one picture.",
	Cures: []cause.Cure{
		{Fix: "lower_resolution", Title: "Shrink the picture first", Told: "The longer side at 640 to 1024 pixels is enough for most faces and objects. Boxes then have to be multiplied by `1 / scale`. Some detectors take a scale themselves (`scale=0.5`, `scales=[0.5]`, `det_size`).", Kind: "python", Text: "scale = min(1, 1024 / max(img.shape[:2]))\nimg = cv2.resize(img, None, fx=scale, fy=scale)", Cost: "very small objects are missed"},
		look,
		{Fix: "select_gpu", Title: "Or use another GPU, or the CPU", Told: "Where the detector is made: `ctx=mx.gpu(1)` or `mx.cpu()`; InsightFace: `ctx_id=1`, or `-1` for the CPU.", Cost: "slow on the CPU"},
	},
	Sources: []string{"mxnet/src/storage/pooled_storage_manager.h", "insightface/python-package/insightface/model_zoo/face_detection.py"},
}

var mxnetCards = []cause.Card{mxnetSingle, mxnetPicture, trainingCard("mxnet/card", "ran out of GPU memory",
	"Usually the activations of a batch fill the GPU, most of all in training. If the very first batch fails, something else may use the GPU. The message shows no size.",
	cause.Cure{Fix: "lower_batch_size", Title: "Halve the batch size per GPU", Told: "It is `batch_size` in the script, or an option (`--batch-size`; InsightFace `--per-batch-size`). If it is small already, use smaller images (`data_shape`, or a `Resize` in the transforms).", Cost: "slower; perhaps another learning rate"},
	cause.Cure{Fix: "detach_accumulated", Title: "If memory climbs: synchronise each step", Told: "MXNet runs ahead of Python. Use `loss.asscalar()`, or `mx.nd.waitall()` every few steps, instead of summing arrays. With inputs of many sizes set `MXNET_GPU_MEM_POOL_TYPE=Round` before the start.", Cost: "none"},
	"mxnet/src/storage/pooled_storage_manager.h", "mxnet/docs/static_site/src/pages/api/faq/env_var.md")}
