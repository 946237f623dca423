package array

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
	"github.com/oomdoc/oomdoc/rules/when"
)

// stepOf is where a program of TensorFlow's filled the card with the work of a
// step: no weight was being made, and the card was not others'.
func stepOf(c *ledger.Case) bool {
	return offCPU(c) && !largeWeight(c) && !hardlyAny(c) && !heldByOthers(c) && !calls.WholeDataset(c) && !optimizerNode(c)
}

// trainer is a program that trains with TensorFlow, with its own settings.
func trainer(name, shown, work string, proofs []string, means string, sources []string, cures ...cause.Cure) program.Program {
	return program.Program{
		Name: name, Shown: shown, Work: work, Edits: "flags", Language: "python", Proofs: proofs,
		Like: []*program.Program{&TensorFlow},
		Cards: []cause.Card{{
			ID: name + "/step", Kinds: []fact.Kind{fact.TFAlloc}, If: when.All(stepOf, when.Not(poolInPieces)), Figures: tensorFigures,
			Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out of GPU memory in a step[[: {asked} more did not fit]]",
			Means:   means + "[[ {used} of the {limit} that TensorFlow may use was taken.]]",
			Not:     "Memory growth: it changes when memory is taken, not how much.",
			Cures:   append(cures, runtimeFirst, endHolder),
			Sources: append(sources, bfcAllocator),
		}},
	}
}

// Programs of their own on TensorFlow.
var (
	MaskRCNN = trainer("mask-rcnn", "Mask R-CNN (matterport)", "vision", []string{"Mask_RCNN/", "mrcnn/model.py", "mrcnn/config.py", "mrcnn.model"},
		"Images are padded to IMAGE_MAX_DIM x IMAGE_MAX_DIM (1024 by default), and every level of the feature pyramid keeps activations for each image. The config says that 12 GB can handle 2 images of 1024.",
		[]string{"matterport/Mask_RCNN/mrcnn/config.py"},
		cause.Cure{Fix: "lower_batch_size", Title: "Lower `IMAGES_PER_GPU` to 1", Told: "Set it in your subclass of `Config` (2 by default), and for detection in the inference config.", Cost: "Slower"},
		cause.Cure{Fix: "lower_resolution", Title: "Lower `IMAGE_MAX_DIM`", Told: "Set `IMAGE_MIN_DIM = 512` and `IMAGE_MAX_DIM = 512` (800 and 1024 by default; multiples of 64). That is a quarter of the pixels.", Cost: "Small objects"},
		cause.Cure{Fix: "use_smaller_model", Title: "Use a smaller backbone, fewer regions, heads only", Told: "Set `BACKBONE = \"resnet50\"` and `TRAIN_ROIS_PER_IMAGE = 100`, and pass `layers=\"heads\"` to `train(...)`: frozen layers need no gradients.", Cost: "Perhaps accuracy"})
	GPT2 = trainer("gpt-2-tensorflow", "GPT-2 (TensorFlow)", "text-training", []string{"gpt_2_simple/", "gpt-2-simple", "gpt2.finetune(", "gpt-2/src/", "gpt-2/train.py", "{{node model/h"},
		"Fine-tuning with Adam takes 16 bytes per parameter (124M: 2 GB, 355M: 5.7 GB, 774M: 12.4 GB, 1558M: 25 GB), plus the activations of 1024 tokens.",
		[]string{"minimaxir/gpt-2-simple/gpt_2_simple/gpt_2.py", "nshepperd/gpt-2/train.py"},
		calls.SmallestGPT2, cause.Cure{Fix: "gradient_checkpointing", Title: "Turn on gradient checkpointing, batch 1", Told: "gpt-2-simple: `finetune(..., batch_size=1, use_memory_saving_gradients=True, only_train_transformer_layers=True, accumulate_gradients=1)` (checkpointing needs TensorFlow 1). nshepperd's train.py: `--batch_size 1 --memory_saving_gradients --only_train_transformer_layers`.", Cost: "Slower"},
		calls.SmallerGPT2,
		cause.Cure{Fix: "lower_batch_size", Title: "Use SGD; generate fewer samples at once", Told: "`--optimizer sgd` (nshepperd's train.py) keeps no moments. To generate, set `nsamples` and `batch_size` of `generate` to 1.", Cost: "Tuning"})
	DeepLabCut = trainer("deeplabcut", "DeepLabCut", "vision", []string{"deeplabcut/", "pose_estimation_tensorflow", "deeplabcut.train_network"},
		"Images go through the network at their own size times `global_scale`, so large frames can fill the card even with a batch of 1.",
		[]string{"DeepLabCut/deeplabcut/pose_cfg.yaml"},
		cause.Cure{Fix: "lower_resolution", Title: "Use smaller frames", Told: "Set `global_scale: 0.5` in pose_cfg.yaml of the training folder (0.8 by default); memory falls with its square. Crop or downsample videos before analysis.", Cost: "Detail"},
		cause.Cure{Fix: "lower_batch_size", Title: "Lower the batch size to 1", Told: "Training: `batch_size: 1` in pose_cfg.yaml. `analyze_videos`: `batchsize=1`, or `batch_size` in config.yaml.", Cost: "Slower"},
		cause.Cure{Fix: "use_smaller_model", Title: "Use a smaller network", Told: "Choose resnet_50 or mobilenet (`net_type`) when you create the training set.", Cost: "Perhaps accuracy"})
	DeepSpeech = trainer("deepspeech", "DeepSpeech", "audio", []string{"DeepSpeech.py", "mozilla_voice_stt", "deepspeech_training/", "coqui_stt_training/"},
		"Each batch is padded to its longest recording, so one long clip can be enough. Training sorts by length, so it may fail late in an epoch.",
		[]string{"mozilla/DeepSpeech/training/deepspeech_training/util/flags.py"},
		cause.Cure{Fix: "lower_batch_size", Title: "Lower the batch sizes", Told: "Halve `--train_batch_size`, `--dev_batch_size` and `--test_batch_size` (1 by default).", Cost: "Slower"},
		cause.Cure{Fix: "lower_context", Title: "Drop the longest clips", Told: "Drop CSV rows with a large `wav_filesize` (10 s are 320 kB at 16 kHz). `--reverse_train` starts with the longest, so it shows at once whether they fit.", Cost: "A few samples"},
		cause.Cure{Fix: "mixed_precision", Title: "Turn on mixed precision, or a narrower network", Told: "`--automatic_mixed_precision` (0.6.1 and later). Or `--n_hidden 1024` (2048 by default), which makes a new model.", Cost: "Needs an RTX card to be fast"})
	OpenNMT = trainer("opennmt-tf", "OpenNMT-tf", "text-training", []string{"opennmt/models/", "onmt-main", "opennmt/runner.py", "opennmt/utils/"},
		"A batch is counted in tokens and padded to its longest sentence; the logits (batch x length x vocabulary) are usually the largest tensor.",
		[]string{"OpenNMT/OpenNMT-tf/docs/configuration.md"},
		cause.Cure{Fix: "lower_batch_size", Title: "Lower the tokens per batch", Told: "In the YAML under `train`, halve `batch_size` and keep `batch_type: tokens`. `batch_size: 0` finds the largest that fits. `effective_batch_size: 25000` accumulates gradients to that size.", Cost: "Slower"},
		cause.Cure{Fix: "lower_context", Title: "Drop long sentences", Told: "In the YAML under `train`: `maximum_features_length: 100` and `maximum_labels_length: 100`.", Cost: "A few samples"},
		cause.Cure{Fix: "mixed_precision", Title: "Turn on mixed precision", Told: "`onmt-main --mixed_precision ... train`. A smaller vocabulary also shrinks the logits.", Cost: "Needs an RTX card to be fast"})
)
