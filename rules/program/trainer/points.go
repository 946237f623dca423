package trainer

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/program/trainer/baselines"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/when"
)

// SparseConv are the libraries of sparse convolution, and the networks for point
// clouds that are made of them.
var SparseConv = program.Program{
	Name: "sparse-conv", Shown: "The point cloud network",
	Work: "vision", Edits: "code", Language: "python",
	Proofs:  []string{"-packages/spconv/", "spconv/pytorch/", "spconv/src/spconv", "ops/spconv/", "MinkowskiEngine/", "MinkowskiEngineBackend", "torchsparse/", "softgroup/"},
	Sources: program.Sources{"OpenPCDet/tools/train.py": "--batch_size", "OpenPCDet/tools/cfgs/dataset_configs/kitti_dataset.yaml": "VOXEL_SIZE", "SoftGroup/configs/softgroup/softgroup_scannet.yaml": "max_npoint scale"},
	Steps: parts.Spelling{
		"lower_resolution": parts.Say("Raise the voxel size in your config by half, for example from 0.02 to 0.03 m (`voxel_size`, `VOXEL_SIZE`; SoftGroup and PointGroup: `scale: 33` instead of 50)."),
		"lower_batch_size": parts.Say("Try batch size 1 first, to see whether it runs at all (`batch_size`, `--batch_size` or `samples_per_gpu`)."),
	},
	Titles: map[string]string{"lower_resolution": "Use larger voxels"},
	Costs:  map[string]string{"lower_resolution": "Fine structure."},
	Like:   []*program.Program{&parts.DataAside, &parts.Vision},
	Cards:  sparseCards,
}

var sparseCards = []cause.Card{{
	ID: "sparse-conv/voxels", Said: []string{"-packages/spconv/", "spconv/", "MinkowskiEngine/", "torchsparse/", "softgroup/", "indice_conv", "SparseTensor"},
	If: func(c *ledger.Case) bool {
		return ledger.OnCard(c) && !ledger.Crowded(c) && !ledger.Roomy(c) && ledger.NeverFits(c) == ""
	},
	Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of memory in a sparse convolution", Figures: parts.Filled,
	Means: "Memory grows with the number of occupied voxels, so with the number of points: half the voxel size gives up to four times as many. One dense scene is enough, at any step. spconv 1.x adds a table of the whole grid, 2.7 GiB for 2800 x 3200 x 80 voxels.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Limit the points per scene, and use batch size 1", Kind: "text", Text: "Crop or sample to at most 150,000 points. SoftGroup: `max_npoint` (default 250000). MinkowskiEngine: crop before `sparse_quantize`. Print the number of points of each scene to find the densest.", Cost: "Less context; slower per sample."},
		{Fix: "lower_resolution"},
		{Fix: "half_precision", If: cures.Evaluating, Title: "Evaluate in 16 bit", Told: "spconv 2 and TorchSparse support it, MinkowskiEngine does not:", Kind: "python", Text: "with torch.no_grad(), torch.autocast(\"cuda\"):\n    pred = model(batch)   # your own call", Cost: "Hardly any accuracy."},
		{Fix: "mixed_precision", If: when.Not(cures.Evaluating), Title: "Turn on mixed precision (16 bit)", Told: "spconv 2 and TorchSparse support it, MinkowskiEngine does not:", Kind: "python", Text: "with torch.autocast(\"cuda\"):\n    loss = model(batch)   # your own call; with a GradScaler", Cost: "Usually faster."},
	},
	Sources: []string{"https://github.com/traveller59/second.pytorch/issues/82", "https://github.com/drprojects/superpoint_transformer/issues/144", "https://github.com/vLAR-group/GrowSP/issues/9", "https://github.com/tianweiy/CenterPoint/issues/2"}, Solved: 1,
}}

// StableBaselines is Stable-Baselines3.
var StableBaselines = program.Program{
	Name: "stable-baselines3", Shown: "Stable-Baselines3",
	Work: "science", Edits: "code", Language: "python",
	Proofs: []string{"stable_baselines3/", "stable_baselines3", "sb3_contrib/"},
	Steps: parts.Spelling{
		"lower_batch_size": parts.Say("PPO and A2C: halve `batch_size`, `n_steps` or the number of environments. DQN, SAC and TD3: halve `batch_size`; for system RAM lower `buffer_size`."),
	},
	Cards: baselines.Cards,
}
