package older

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Caffe is Caffe.
var Caffe = program.Program{
	Name: "caffe", Shown: "Caffe", Work: "vision", Edits: "flags", Language: "cpp",
	Proofs:   []string{"syncedmem.cpp", "caffe::", "caffe/src", "caffe.cpp", "build/tools/caffe", "error == cudaSuccess (2 vs. 0)"},
	Titles:   map[string]string{"lower_batch_size": "Lower batch_size in the prototxt", "gradient_accumulation": "Accumulate with iter_size"},
	Costs:    map[string]string{"gradient_accumulation": "Time; the result is the same."},
	Remedies: cures(cause.InOrder("lower_batch_size", "lower_resolution", "kill_stale_process", "gradient_accumulation"), cause.InOrder("lower_batch_size", "raise_memory_limit")),
	Steps: steps{
		"lower_batch_size":      step.Paste("text", "In train_val.prototxt lower `batch_size` in both data layers: the one with `phase: TEST` is allocated beside the training one."),
		"gradient_accumulation": step.Paste("text", "In solver.prototxt: `iter_size: 4` with a quarter of the batch size gives the same gradient."),
		"lower_resolution":      step.Paste("text", "Lower `crop_size` or the input's `dim`, or `scales` and `max_size` of Faster R-CNN's configuration."),
	},
	Cards: caffeCards,
}

// caffeTest is about the test net that a solver has beside the training one.
var caffeTest = cause.Card{
	ID: "caffe/test-net", Kinds: ofCard, Said: []string{"caffe::Solver<>::Test", "Testing net"}, Unsaid: []string{"Iteration 0, loss", "caffe::Solver<>::Step", "Backward_gpu"},
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory in the test net",
	Means: "The log shows the solver's test, not a training step. The test net is a second net on the GPU with a `batch_size` of its own. By default it runs before the first iteration as well. \"2 vs. 0\" means out of memory; the message shows no size.",
	Not:   "A smaller training batch alone: the test net keeps its size.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Lower `batch_size` in the layer with `phase: TEST`", Told: "It stands in train_val.prototxt. Raise `test_iter` in solver.prototxt by the same factor, so that all test data is still used.", Cost: "a slower test"},
		{Fix: "stream_dataset", Title: "Skip the first test, to see whether training fits", Told: "`test_initialization: false` in solver.prototxt. If training then fails, lower its `batch_size` too and set `iter_size`.", Cost: "no accuracy before the first iteration"},
		look,
	},
	Sources: []string{"caffe/src/caffe/solver.cpp", "caffe/src/caffe/proto/caffe.proto"},
}

var caffeCards = []cause.Card{caffeApplied, caffeTest, trainingCard("caffe/card", "ran out of GPU memory",
	"Caffe keeps the data of the whole net on the GPU. In training that is the training net and the test net, each with its own batch size. \"2 vs. 0\" means out of memory; the message shows no size.",
	cause.Cure{Fix: "lower_batch_size", Title: "Lower `batch_size` in both data layers", Told: "Change it in train_val.prototxt, also in the layer with `phase: TEST`. A quarter of the batch with `iter_size: 4` in solver.prototxt gives the same gradient. If you only use a net: lower the first `dim` of the input in deploy.prototxt.", Cost: "none with iter_size"},
	cause.Cure{Fix: "lower_resolution", Title: "Use smaller inputs", Told: "Lower `crop_size`, or the last two `dim` of the input. Faster R-CNN: `scales` and `max_size` in its configuration. OpenPose: `--net_resolution 320x176`.", Cost: "less detail"},
	"caffe/src/caffe/syncedmem.cpp", "caffe/src/caffe/proto/caffe.proto")}

// caffeApplied is about a net that is used on a picture.
var caffeApplied = cause.Card{
	ID: "caffe/applied", Kinds: ofCard, Said: []string{"demo.py", "estimate_pose", "classify.py", "net.forward(", "deploy.prototxt"}, Unsaid: []string{"solver.cpp", "solver.prototxt", "caffe train", "train_net.py", "train_val.prototxt", "net.blobs['data'].reshape("},
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory for this net and picture",
	Means: "Most of the memory goes to the layers, and in a fully convolutional net they grow with the picture: twice the width and height need four times the memory. \"2 vs. 0\" means out of memory; the message shows no size.",
	Not:   "Settings of the training (`batch_size` in train_val.prototxt, `iter_size`): nothing is trained here.",
	Cures: []cause.Cure{
		{Fix: "lower_resolution", Title: "Scale the picture down first", Told: "With your own file name. Or use the script's option for scale or size, and one scale at a time.", Kind: "shell", Text: "python -c \"from PIL import Image; im = Image.open('image.png'); im.resize((im.width // 2, im.height // 2)).save('small.png')\"", Cost: "less detail"},
		look,
		{Fix: "cpu_offload", Title: "Run it on the CPU", Told: "Use `caffe.set_mode_cpu()` instead of `caffe.set_mode_gpu()`, or the script's own option for that.", Cost: "far slower"},
	},
	Sources: []string{"caffe/src/caffe/syncedmem.cpp", "caffe/python/caffe/_caffe.cpp", "https://github.com/eldar/deepcut-cnn/issues/19"},
}
