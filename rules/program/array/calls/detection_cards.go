package calls

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// DetectionCards are about TensorFlow's Object Detection API.
var DetectionCards = []cause.Card{{
	ID: "tf-object-detection/one-image", Kinds: []fact.Kind{fact.TFAlloc}, Said: []string{"FirstStageFeatureExtractor/"}, Unsaid: []string{"by allocator cpu", "by allocator mklcpu"}, If: func(c *ledger.Case) bool { s := Sides(c); return len(s) == 4 && s[0] == 1 },
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory with a batch of one image",
	Means: "`batch_size` is probably 1 already: the first side of the tensor is 1. So one image, at the size that image_resizer makes, fills the GPU. The second stage comes on top: it works on 64 to 300 proposals at once.",
	Not:   "`batch_size`, and memory growth: it changes when memory is taken, not how much.",
	Cures: []cause.Cure{smallerImages, lighterNetwork, besideIt}, Sources: detectionSources,
}, {
	ID: "tf-object-detection/two", Kinds: []fact.Kind{fact.TFAlloc}, Said: []string{"model_main_tf2", "model_lib_v2"}, Unsaid: []string{"by allocator cpu", "by allocator mklcpu"},
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory in a step",
	Means: "The batch in pipeline.config, at the size that image_resizer makes, does not fit.[[ The tensor that was refused has {batch} images x {boxes} boxes: {batch} is the batch per GPU.]] If batch size 1 fails too, choose a smaller model.",
	Not:   "Memory growth: it changes when memory is taken, not how much.", Figures: anchorFigures,
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", If: func(c *ledger.Case) bool { s := Sides(c); return len(s) == 0 || s[0] > 1 }, Title: "Lower `batch_size` in pipeline.config", Told: "Halve `batch_size` in `train_config`, down to 1 per GPU, and the learning rate with it.", Cost: "slower"},
		{Fix: "use_smaller_model", Title: "Start from a model for smaller images", Told: "TF2 zoo: SSD MobileNet V2 320x320, or EfficientDet D0 (512 x 512). Set `fine_tune_checkpoint` to its files, and copy your paths and `num_classes` into its pipeline.config.", Cost: "may miss small objects"},
		besideIt, smallerImages,
	},
	Sources: append([]string{"models/research/object_detection/g3doc/tf2_detection_zoo.md"}, detectionSources...),
}, {
	ID: "tf-object-detection/step", Kinds: []fact.Kind{fact.TFAlloc}, Unsaid: []string{"by allocator cpu", "by allocator mklcpu"},
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory in a step",
	Means: "The batch in pipeline.config, at the size that image_resizer makes, does not fit. Faster and Mask R-CNN pad each batch to its largest image, and work on 64 to 300 proposals per image at once. Evaluation in the same process takes more.",
	Not:   "Memory growth: it changes when memory is taken, not how much.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Lower `batch_size` in pipeline.config", Told: "Halve `batch_size` in `train_config`, down to 1.", Cost: "slower; a lower learning rate"},
		smallerImages, lighterNetwork, besideIt,
	},
	Sources: detectionSources,
}}

// anchorFigures: each image of a batch has a row of thousands of boxes.
func anchorFigures(c *ledger.Case) map[string]string {
	if s := Sides(c); len(s) == 3 && s[0] > 1 && s[1] > 1000 && s[2] <= 4 {
		return map[string]string{"batch": Grouped(s[0]), "boxes": Grouped(s[1])}
	}
	return map[string]string{"batch": "", "boxes": ""}
}

var (
	detectionSources = []string{"models/research/object_detection/protos/pipeline.proto", "models/research/object_detection/protos/image_resizer.proto", "models/research/object_detection/protos/faster_rcnn.proto"}
	smallerImages    = cause.Cure{Fix: "lower_resolution", Title: "Lower the image_resizer size", Cost: "may miss small objects", Kind: "config", Text: "image_resizer {\n  keep_aspect_ratio_resizer { min_dimension: 400 max_dimension: 700 }   # two thirds of 600 and 1024; SSD: fixed_shape_resizer { height: 300 width: 300 }\n}"}
	lighterNetwork   = cause.Cure{Fix: "use_smaller_model", Title: "Use a lighter network, fewer proposals", Told: "Take MobileNet, Inception v2 or ResNet-50 instead of NASNet, Inception ResNet or ResNet-101. In `faster_rcnn` set `first_stage_max_proposals: 100` and `second_stage_batch_size: 32`.", Cost: "maybe less accuracy"}
	besideIt         = cause.Cure{Fix: "kill_stale_process", Title: "Check what else uses the GPU", Told: "If an evaluation runs beside the training, start it with `CUDA_VISIBLE_DEVICES=-1`, so that it stays on the CPU. `nvidia-smi` shows other programs.", Cost: "a look is free"}
)
