package papers

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/trainer"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
)

// Programs on Caffe2, which has no line of PyTorch's to change.
var (
	// Detectron is Facebook's first, before Detectron2.
	Detectron = program.Program{
		Name: "detectron", Shown: "Detectron (Caffe2)", Work: "vision", Edits: "flags", Language: "python",
		Proofs:  []string{"detectron/utils/train.py", "detectron/core/", "detectron/modeling/", "detectron/roi_data/", "detectron/utils/net.py"},
		Sources: program.Sources{"Detectron/detectron/core/config.py": "TRAIN.IMS_PER_BATCH TRAIN.SCALES TRAIN.MAX_SIZE TRAIN.BATCH_SIZE_PER_IM NUM_GPUS TEST.SCALE TEST.MAX_SIZE IMS_PER_BATCH MAX_SIZE SOLVER.BASE_LR BASE_LR"},
		Steps: spelling{
			"lower_batch_size":  say("At the end of your command: `TRAIN.IMS_PER_BATCH 1` (default 2 per GPU). Also halve `SOLVER.BASE_LR` and double the steps."),
			"lower_resolution":  say("At the end of your command: `TRAIN.SCALES \"(600,)\" TRAIN.MAX_SIZE 1000` (800 and 1333 in most configs). For testing: `TEST.SCALE 600 TEST.MAX_SIZE 1000`."),
			"use_smaller_model": say("Use the config of R-50 instead of R-101 or X-101."),
		},
		Titles:   map[string]string{"lower_batch_size": "Train one image per GPU (TRAIN.IMS_PER_BATCH 1)", "lower_resolution": "Lower the image size (TRAIN.SCALES)"},
		Remedies: withoutCheckpoints, Like: []*program.Program{&Caffe2},
		Cards: []cause.Card{caffe2Start("detectron/start"),
			paperStep("detectron/step", "Each GPU gets `TRAIN.IMS_PER_BATCH` images (default 2) at `TRAIN.SCALES`, with features, proposals and masks for each. The largest images need the most.", "PyTorch's memory settings: Detectron runs on Caffe2.", "Detectron/detectron/core/config.py", own("lower_batch_size", "lower_resolution", "use_smaller_model")...)},
	}
	// Caffe2 is the framework, for any program.
	Caffe2 = program.Program{
		Name: "caffe2", Shown: "Caffe2", Rank: 64, Work: "vision", Edits: "code", Language: "python",
		Proofs: []string{"caffe2/python/workspace.py", "caffe2/core/event_gpu.cc", "caffe2/core/context_gpu.cu", "caffe2::"},
		Steps: spelling{
			"lower_batch_size":  say("Halve the batch that your input code makes. A batch of 1 shows whether it runs at all."),
			"lower_resolution":  say("Halve the width and height of the input images: that needs a quarter of the activations."),
			"use_smaller_model": say("Use a backbone with fewer layers."),
		},
		Remedies: withoutCheckpoints,
		Cards:    []cause.Card{caffe2Start("caffe2/start")},
	}
)

// caffe2Start is about a net that only makes the parameters.
func caffe2Start(id string) cause.Card {
	return cause.Card{
		ID: id, Kinds: append([]fact.Kind{fact.CUDAError}, fromCard...), Said: []string{"param_init_net"},
		Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "ran out of GPU memory while creating its weights, before any image",
		Means: "`param_init_net` only creates the weights, usually some hundred MB. If there is no room for that, most likely something else uses the GPU, or the program runs on another GPU than the free one.",
		Not:   "A smaller batch or image: none was loaded yet.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "See how full each GPU is, and who uses it", Told: "End an earlier run of yours that still holds the GPU.", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			{Fix: "select_gpu", Title: "Use a free GPU", Told: "Put in the number of the free GPU. Caffe2 then sees it as GPU 0:", Kind: "env", Text: "export CUDA_VISIBLE_DEVICES=1", Cost: "needs a free GPU"},
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
		"lower_batch_size": say("Add to your command of tools/train.py: `--cfg-options train_dataloader.batch_size=1` (before 1.1: `--cfg-options data.samples_per_gpu=1`). It is the batch size per GPU."),
		"lower_resolution": say("In the config, raise `voxel_size` (in both the voxel layer and the model) or lower `point_cloud_range`. The grid's sides must stay multiples of the network's stride."),
		"mixed_precision":  say("Use `--amp` (from 1.1). Sparse convolutions need spconv 2 for it."),
	},
	Titles: map[string]string{"lower_batch_size": "Lower the batch size", "lower_resolution": "Use larger voxels or a smaller range"},
	Costs:  map[string]string{"lower_resolution": "Small or distant objects may be missed."},
	Like:   []*program.Program{&trainer.SparseConv, &parts.DataAside, &parts.Vision},
}
