package trainer

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/step"
)

// byEngine tells a project by MMEngine from one before it.
func byEngine(before, since string) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		if cures.BeforeMMEngine(c) {
			return parts.Say(before)(c)
		}
		return parts.Say(since)(c)
	}
}

// mmSteps are those of every OpenMMLab project on MMEngine.
var mmSteps = parts.Spelling{
	"lower_batch_size":       byEngine("Add `--cfg-options data.samples_per_gpu=1` to your tools/train.py command; it is per GPU. Lower the learning rate by the same factor.", "Add `--cfg-options train_dataloader.batch_size=1` to your tools/train.py command; it is per GPU. Projects before MMEngine: `data.samples_per_gpu=1`. Lower the learning rate by the same factor."),
	"mixed_precision":        byEngine("Set `fp16 = dict(loss_scale=512.0)` in the config.", "Add `--amp` to your tools/train.py command. Projects before MMEngine: `fp16 = dict(loss_scale=512.0)` in the config."),
	"gradient_accumulation":  parts.Config("optim_wrapper = dict(type='OptimWrapper', optimizer=optimizer, accumulative_counts=4)"),
	"gradient_checkpointing": parts.Say("Add `--cfg-options model.backbone.with_cp=True` (ResNet, Swin and most other backbones have it)."),
	"lower_num_workers":      parts.Say("Add `--cfg-options train_dataloader.num_workers=2 train_dataloader.persistent_workers=False` to your command; before MMEngine: `data.workers_per_gpu=2`."),
	"use_smaller_model":      parts.Say("Use a config with a smaller backbone: ResNet-50 for ResNet-101, Swin-T for Swin-L, or the -s or -tiny variant of the same model."),
}

var mmSources = program.Sources{
	"mmdetection/tools/train.py":                       "--amp --auto-scale-lr --cfg-options",
	"mmsegmentation/tools/train.py":                    "--amp --cfg-options",
	"mmengine/docs/en/common_usage/save_gpu_memory.md": "accumulative_counts activation_checkpointing",
}

// mmEngine is what its projects share, those without a literal included.
var mmFamily = program.Program{Steps: mmSteps, Sources: mmSources}

// MMEngine is the engine below the projects of OpenMMLab.
var MMEngine = program.Program{
	Name: "mmengine", Shown: "MMEngine", Rank: 64,
	Work: "vision", Edits: "flags", Language: "python",
	Proofs: []string{"-packages/mmengine/", "mmengine/runner/", "mmcv/runner/epoch_based_runner", "mmcv/runner/iter_based_runner", "- mmengine - INFO"},
	Like:   []*program.Program{&mmFamily, &parts.DataAside, &parts.Vision},
}

// MMDetection and MMRotate find objects.
var (
	MMDetection = program.Program{
		Name: "mmdet", Shown: "MMDetection",
		Work: "vision", Edits: "flags", Language: "python",
		Proofs: []string{"mmdet/models/", "mmdet/apis/", "mmdet/core/", "mmdet/datasets/", "mmdet/structures/", "mmdet/utils/", "mmdetection/", "- mmdet - INFO", "mmdet/"},
		Steps: parts.Spelling{
			"lower_batch_size": byEngine("Add `--cfg-options data.samples_per_gpu=1` to your tools/train.py command; it is per GPU. Lower the learning rate by the same factor.", "Add `--cfg-options train_dataloader.batch_size=1 --auto-scale-lr` to your tools/train.py command. The batch size is per GPU, and the learning rate adapts. MMDetection 2.x: `data.samples_per_gpu=1`."),
			"lower_resolution": parts.Say("In the config's train_pipeline and test_pipeline set a smaller `scale` in `Resize`, such as (1000, 600) instead of (1333, 800). MMDetection 2.x calls it `img_scale`."),
		},
		Like:  []*program.Program{&mmFamily, &parts.DataAside, &parts.Vision},
		Cards: mmdetCards,
	}
	MMRotate = program.Program{
		Name: "mmrotate", Shown: "MMRotate",
		Work: "vision", Edits: "flags", Language: "python",
		Proofs: []string{"mmrotate/models/", "mmrotate/core/", "mmrotate/apis/", "mmrotate/structures/", "/mmrotate-", "/mmrotate/"},
		Steps: parts.Spelling{
			"lower_resolution": parts.Say("Cut the images into smaller tiles (tools/data/dota/split, 1024 to 512 pixels) and set the same scale in the pipeline."),
		},
		Like:  []*program.Program{&mmFamily, &parts.DataAside, &parts.Vision},
		Cards: mmrotateCards,
	}
)

// MMSegmentation marks pixels.
var MMSegmentation = program.Program{
	Name: "mmseg", Shown: "MMSegmentation",
	Work: "vision", Edits: "flags", Language: "python",
	Proofs: []string{"mmseg/models/", "mmseg/apis/", "mmseg/core/", "mmsegmentation/", "- mmseg - INFO"},
	Steps: parts.Spelling{
		"cpu_offload":      step.Paste("python", "model = init_model(config, checkpoint, device=\"cpu\")   # mmseg 0.x: init_segmentor"),
		"lower_resolution": parts.Say("Lower `crop_size` in the config, such as (512, 512), also in model.data_preprocessor; for testing large images `model.test_cfg=dict(mode='slide', crop_size=(512, 512), stride=(384, 384))`."),
	},
	Titles: map[string]string{"lower_resolution": "Train on smaller crops"},
	Like:   []*program.Program{&mmFamily, &parts.DataAside, &parts.Vision},
	Cards:  mmsegCards,
}
