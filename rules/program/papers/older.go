package papers

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
)

// Repositories whose options bear other names than in their successors, or than
// in those that they are made of.
var (
	// MMEditing restores pictures and films; MMagic since 1.0.
	MMEditing = program.Program{
		Name: "mmediting", Shown: "MMEditing", Work: "vision", Edits: "flags", Language: "python",
		Proofs:  []string{"mmedit/models/", "mmedit/apis/", "mmedit/core/", "mmediting/", "mmagic/models/", "mmagic/engine/"},
		Sources: program.Sources{"mmediting/configs/restorers/basicvsr/basicvsr_reds4.py": "samples_per_gpu num_input_frames gt_patch_size data.train_dataloader.samples_per_gpu train_dataloader.batch_size", "mmediting/tools/train.py": "--cfg-options"},
		Steps: spelling{
			"lower_batch_size": say("Add to your command of tools/train.py: `--cfg-options data.train_dataloader.samples_per_gpu=1` (MMagic: `train_dataloader.batch_size=1`). It is the batch size per GPU."),
			"lower_context":    say("For a video network (such as BasicVSR), halve `num_input_frames` in the config, for the data set and the test settings."),
			"lower_resolution": say("Lower `gt_patch_size` in the train_pipeline: half of it needs a quarter of the memory."),
		},
		Titles:   map[string]string{"lower_batch_size": "Lower samples_per_gpu", "lower_context": "Train on fewer frames (num_input_frames)", "lower_resolution": "Train on smaller patches (gt_patch_size)"},
		Costs:    map[string]string{"lower_context": "It sees fewer frames at once.", "lower_resolution": "Less context."},
		Remedies: ways("lower_batch_size", "lower_context", "lower_resolution"), Like: []*program.Program{&parts.DataAside, &parts.Vision},
		Cards: []cause.Card{paperStep("mmediting/step", "Each GPU processes `samples_per_gpu` samples. For a video network each sample has `num_input_frames` frames, whose features stay until the backward pass. BasicVSR also trains its flow network after the first iterations and then needs more.",
			"", "mmediting/configs/restorers/basicvsr/basicvsr_reds4.py", own("lower_batch_size", "lower_context", "lower_resolution")...)},
	}
	// FastReID tells people apart.
	FastReID = program.Program{
		Name: "fast-reid", Shown: "FastReID", Work: "vision", Edits: "flags", Language: "python",
		Proofs:  []string{"fastreid/engine/", "fastreid/modeling/", "fastreid/layers/", "fastreid/data/", "fast-reid/", "fast-reid-master/"},
		Sources: program.Sources{"fast-reid/fastreid/config/defaults.py": "DATALOADER.NUM_INSTANCE NUM_INSTANCE SOLVER.IMS_PER_BATCH IMS_PER_BATCH TEST.IMS_PER_BATCH INPUT.SIZE_TRAIN SIZE_TRAIN INPUT.SIZE_TEST SIZE_TEST"},
		Steps: spelling{
			"lower_batch_size": say("At the end of your command: `SOLVER.IMS_PER_BATCH 32` (default 64 over all GPUs; a multiple of `DATALOADER.NUM_INSTANCE`). For testing: `TEST.IMS_PER_BATCH 32`."),
			"lower_resolution": say("At the end of your command: `INPUT.SIZE_TRAIN \"[256, 128]\" INPUT.SIZE_TEST \"[256, 128]\"` (sbs configs use 384 x 128)."),
		},
		Titles:   map[string]string{"lower_batch_size": "Lower SOLVER.IMS_PER_BATCH", "lower_resolution": "Use smaller images (INPUT.SIZE_TRAIN)"},
		Remedies: withoutCheckpoints, Like: []*program.Program{&parts.DataAside, &parts.Vision},
	}
)
