package papers

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/trainer"
)

// Programs on Caffe2, which has no line of PyTorch's to change.
var (
	// Detectron is Facebook's first, before Detectron2.
	Detectron = program.Program{
		Name: "detectron", Shown: "Detectron (Caffe2)", Work: "vision", Edits: "flags", Language: "python",
		Proofs:  []string{"detectron/utils/train.py", "detectron/core/", "detectron/modeling/", "detectron/roi_data/", "detectron/utils/net.py"},
		Sources: program.Sources{"Detectron/detectron/core/config.py": "TRAIN.IMS_PER_BATCH TRAIN.SCALES TRAIN.MAX_SIZE TRAIN.BATCH_SIZE_PER_IM NUM_GPUS TEST.SCALE TEST.MAX_SIZE IMS_PER_BATCH MAX_SIZE SOLVER.BASE_LR BASE_LR"},
		Steps: spelling{
			"lower_batch_size":  say("At the end of your command: `TRAIN.IMS_PER_BATCH 1` (2 a GPU by default), with half of `SOLVER.BASE_LR` and twice the steps."),
			"lower_resolution":  say("At the end of your command: `TRAIN.SCALES \"(600,)\" TRAIN.MAX_SIZE 1000` (800 and 1333 in most configs); testing: `TEST.SCALE 600 TEST.MAX_SIZE 1000`."),
			"use_smaller_model": say("Use the config of R-50 instead of R-101 or X-101."),
		},
		Titles:   map[string]string{"lower_batch_size": "Train one image a GPU (TRAIN.IMS_PER_BATCH 1)", "lower_resolution": "Lower the image size (TRAIN.SCALES)"},
		Remedies: withoutCheckpoints, Like: []*program.Program{&Caffe2},
		Cards: []cause.Card{caffe2Start("detectron/start"),
			paperStep("detectron/step", "Each GPU has `TRAIN.IMS_PER_BATCH` images (2 by default) at `TRAIN.SCALES`, with features, proposals and masks of each; the largest image decides.", "PyTorch's options: it runs on Caffe2.", "Detectron/detectron/core/config.py", own("lower_batch_size", "lower_resolution", "use_smaller_model")...)},
	}
	// Caffe2 is the framework, for any program.
	Caffe2 = program.Program{
		Name: "caffe2", Shown: "Caffe2", Rank: 64, Work: "vision", Edits: "code", Language: "python",
		Proofs: []string{"caffe2/python/workspace.py", "caffe2/core/event_gpu.cc", "caffe2/core/context_gpu.cu", "caffe2::"},
		Steps: spelling{
			"lower_batch_size":  say("Half of the batch that your input operator or feeding code makes; 1 shows whether it runs at all."),
			"lower_resolution":  say("Half the width and height of the images that are fed: a quarter of the activations."),
			"use_smaller_model": say("A backbone with fewer layers."),
		},
		Remedies: withoutCheckpoints,
		Cards:    []cause.Card{caffe2Start("caffe2/start")},
	}
)

// caffe2Start is about a net that only makes the parameters.
func caffe2Start(id string) cause.Card {
	return cause.Card{
		ID: id, Kinds: append([]fact.Kind{fact.CUDAError}, fromCard...), Said: []string{"param_init_net"},
		Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "ran out of GPU memory while making its parameters, before any image",
		Means: "`param_init_net` only makes the weights on the GPU, some hundred MB. If that finds no room, most likely something else holds the GPU, or a card of another number is meant than the one that is free. Caffe2 says no figures.",
		Not:   "A smaller batch or image: none was there yet.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "See how full each GPU is, and with what", Told: "End an earlier run of yours that still holds the GPU. It has to be empty before the start.", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			{Fix: "select_gpu", Title: "Use a card that is free", Told: "Caffe2 then counts from 0 what it sees; put in the number of the free card:", Kind: "env", Text: "export CUDA_VISIBLE_DEVICES=1", Cost: "needs a free card"},
			{Fix: "use_smaller_model", Own: true, Title: "If the GPU was empty: use a smaller backbone", Cost: "accuracy"},
		},
		Sources: []string{"caffe2/python/workspace.py", "Detectron/detectron/utils/train.py", "https://github.com/facebookresearch/Detectron/issues/560"},
	}
}

// MMDetection3D finds objects in point clouds.
var MMDetection3D = program.Program{
	Name: "mmdet3d", Shown: "MMDetection3D", Work: "vision", Edits: "flags", Language: "python",
	Proofs:  []string{"mmdet3d/", "mmdetection3d/"},
	Sources: program.Sources{"mmdetection3d/tools/train.py": "--cfg-options --auto-scale-lr --amp", "mmdetection3d/configs/_base_/models/second_hv_secfpn_kitti.py": "voxel_size max_voxels point_cloud_range", "mmdetection3d/configs/_base_/datasets/kitti-3d-3class.py": "samples_per_gpu train_dataloader.batch_size"},
	Steps: spelling{
		"lower_batch_size": say("Add to your command of tools/train.py: `--cfg-options train_dataloader.batch_size=1` (from 1.1), before that `--cfg-options data.samples_per_gpu=1`; it is the batch of one GPU."),
		"lower_resolution": say("In the config, a larger `voxel_size` (in the voxel layer and the model alike) or a smaller `point_cloud_range`; the grid's sides must stay multiples of the network's stride."),
		"mixed_precision":  say("Use `--amp` (from 1.1); sparse convolutions need spconv 2 for it."),
	},
	Titles: map[string]string{"lower_batch_size": "Lower the batch size", "lower_resolution": "Use larger voxels or a smaller range"},
	Costs:  map[string]string{"lower_resolution": "Fine structure, or what is far away."},
	Like:   []*program.Program{&trainer.SparseConv, &trainer.DataAside, &trainer.Vision},
}
