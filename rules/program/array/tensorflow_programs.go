package array

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/when"
)

// stepOf is where a program of TensorFlow's filled the card with the work of a
// step: no weight was being made, and the card was not others'.
func stepOf(c *ledger.Case) bool {
	return offCPU(c) && !largeWeight(c) && !hardlyAny(c) && !heldByOthers(c) && !wholeDataset(c) && !optimizerNode(c)
}

// trainer is a program that trains with TensorFlow, with its own settings.
func trainer(name, shown, work string, proofs []string, means string, sources []string, cures ...cause.Cure) program.Program {
	return program.Program{
		Name: name, Shown: shown, Work: work, Edits: "flags", Language: "python", Proofs: proofs,
		Like: []*program.Program{&TensorFlow},
		Cards: []cause.Card{{
			ID: name + "/step", Kinds: []fact.Kind{fact.TFAlloc}, If: when.All(stepOf, when.Not(poolInPieces)), Figures: tensorFigures,
			Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out of graphics memory in a step[[: {asked} more did not fit]]",
			Means:   means + "[[ {used} of the {limit} that TensorFlow may take were in use.]]",
			Not:     "Memory growth: it changes when memory is taken, not how much.",
			Cures:   append(cures, runtimeFirst, endHolder),
			Sources: append(sources, bfcAllocator),
		}},
	}
}

// Programs of their own on TensorFlow.
var (
	MaskRCNN = trainer("mask-rcnn", "Mask R-CNN (matterport)", "vision", []string{"Mask_RCNN/", "mrcnn/model.py", "mrcnn/config.py", "mrcnn.model"},
		"Images are padded to IMAGE_MAX_DIM x IMAGE_MAX_DIM (1024), and every level of the feature pyramid keeps its activations for each image. Its config says that 12 GB can handle 2 images of 1024.",
		[]string{"matterport/Mask_RCNN/mrcnn/config.py"},
		cause.Cure{Fix: "lower_batch_size", Title: "Lower `IMAGES_PER_GPU` to 1", Told: "In your subclass of `Config` (2 by default); for detection also in the inference config.", Cost: "Slower"},
		cause.Cure{Fix: "lower_resolution", Title: "Lower `IMAGE_MAX_DIM`", Told: "`IMAGE_MIN_DIM = 512`, `IMAGE_MAX_DIM = 512` (800 and 1024 by default; multiples of 64): a quarter of the pixels.", Cost: "Small objects"},
		cause.Cure{Fix: "use_smaller_model", Title: "Use a smaller backbone, fewer regions, heads only", Told: "`BACKBONE = \"resnet50\"`, `TRAIN_ROIS_PER_IMAGE = 100`, and `layers=\"heads\"` in `train(...)`: frozen layers need no gradients.", Cost: "Perhaps accuracy"})
	GPT2 = trainer("gpt-2-tensorflow", "GPT-2 (TensorFlow)", "text-training", []string{"gpt_2_simple/", "gpt-2-simple", "gpt2.finetune(", "gpt-2/src/", "gpt-2/train.py", "{{node model/h"},
		"Fine-tuning holds weights, gradients, Adam's two moments (16 bytes a parameter: 124M 2 GB, 355M 5.7 GB, 774M 12.4 GB, 1558M 25 GB) and the activations of 1024 tokens.",
		[]string{"minimaxir/gpt-2-simple/gpt_2_simple/gpt_2.py", "nshepperd/gpt-2/train.py"},
		cause.Cure{Fix: "gradient_checkpointing", Title: "Turn on gradient checkpointing, batch 1", Told: "gpt-2-simple: `finetune(..., batch_size=1, use_memory_saving_gradients=True, only_train_transformer_layers=True, accumulate_gradients=1)` (the first needs TensorFlow 1); nshepperd's train.py: `--batch_size 1 --memory_saving_gradients --only_train_transformer_layers`.", Cost: "Slower"},
		cause.Cure{Fix: "use_smaller_model", Title: "Use a smaller model", Told: "`model_name=\"124M\"` or `\"355M\"`: 12 to 16 GB can train 355M, not 774M.", Cost: "Quality"},
		cause.Cure{Fix: "lower_batch_size", Title: "Use SGD; generate fewer samples at once", Told: "`--optimizer sgd` (nshepperd's train.py) keeps no moments. Generating: `nsamples` and `batch_size` of `generate` at 1.", Cost: "Tuning"})
	DeepLabCut = trainer("deeplabcut", "DeepLabCut", "vision", []string{"deeplabcut/", "pose_estimation_tensorflow", "deeplabcut.train_network"},
		"Every image goes through the network at its own size times `global_scale`, so large frames can fill the card even with a batch of 1.",
		[]string{"DeepLabCut/deeplabcut/pose_cfg.yaml"},
		cause.Cure{Fix: "lower_resolution", Title: "Use smaller frames", Told: "`global_scale: 0.5` in pose_cfg.yaml of the training folder (0.8 by default): memory falls with its square. Videos: crop or downsample them before analysis.", Cost: "Detail"},
		cause.Cure{Fix: "lower_batch_size", Title: "Lower the batch size to 1", Told: "`batch_size: 1` in pose_cfg.yaml for training, `batchsize=1` (`batch_size` in config.yaml) for `analyze_videos`.", Cost: "Slower"},
		cause.Cure{Fix: "use_smaller_model", Title: "Use a smaller network", Told: "resnet_50 or mobilenet when the training set is created (`net_type`).", Cost: "Perhaps accuracy"})
	DeepSpeech = trainer("deepspeech", "DeepSpeech", "audio", []string{"DeepSpeech.py", "mozilla_voice_stt", "deepspeech_training/", "coqui_stt_training/"},
		"A batch is padded to its longest recording, so one long clip decides. Training sorts by length, so it may fail late in an epoch.",
		[]string{"mozilla/DeepSpeech/training/deepspeech_training/util/flags.py"},
		cause.Cure{Fix: "lower_batch_size", Title: "Lower the batch sizes", Told: "`--train_batch_size`, `--dev_batch_size`, `--test_batch_size` (1 by default): half of their present values.", Cost: "Slower"},
		cause.Cure{Fix: "lower_context", Title: "Drop the longest clips", Told: "Drop rows of the CSV whose `wav_filesize` is large (10 s are 320 kB at 16 kHz); the first epoch with `--reverse_train` shows at once whether the longest fit.", Cost: "A few samples"},
		cause.Cure{Fix: "mixed_precision", Title: "Turn on mixed precision, or a narrower network", Told: "`--automatic_mixed_precision` (0.6.1 and later), `--n_hidden 1024` (2048 by default; a new model).", Cost: "Needs an RTX card to be fast"})
	OpenNMT = trainer("opennmt-tf", "OpenNMT-tf", "text-training", []string{"opennmt/models/", "onmt-main", "opennmt/runner.py", "opennmt/utils/"},
		"A batch is counted in tokens and padded to its longest sentence; the logits (batch x length x vocabulary) are usually the largest tensor.",
		[]string{"OpenNMT/OpenNMT-tf/docs/configuration.md"},
		cause.Cure{Fix: "lower_batch_size", Title: "Lower the tokens per batch", Told: "In the YAML under `train`: half of the present `batch_size`, with `batch_type: tokens`; `effective_batch_size: 25000` accumulates gradients to that size. `batch_size: 0` finds the largest that fits.", Cost: "Slower"},
		cause.Cure{Fix: "lower_context", Title: "Drop long sentences", Told: "`train: maximum_features_length: 100, maximum_labels_length: 100`.", Cost: "A few samples"},
		cause.Cure{Fix: "mixed_precision", Title: "Turn on mixed precision", Told: "`onmt-main --mixed_precision ... train`; a smaller vocabulary shrinks the logits.", Cost: "Needs an RTX card to be fast"})
)
