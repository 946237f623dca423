package subject

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Names that code for depth from several views shares.
var (
	views  = says("proj_matri", "depth_values", "homo_warp", "mvsnet", "ref_depth_bins", "mvs_estimator", "mvsformer", "depth_hypo", "depth_interval", "cost_regularization", "volume_variance", "\nsave_depth", "\nsave_scene_depth")
	stereo = says("maxdisp", "max_disp)", "max_disp,", "max_disp/", "max_disp //", "args.max_disp", "disparityregression", "disparity_regression", "imgl, imgr", "imgl,imgr", "left_img", "leftimg", "imgleft", "gwc_volume", "stereo_net", "stereonet", "psmnet", "core/raft_stereo.py", "igev")
)

// stacked: the line joins the features of all views at once.
var stacked = says("torch.stack(feat", "torch.cat(feat", "stack(features")

// depthCards are about volumes of depths or disparities over a picture.
var depthCards = []cause.Card{{
	ID: "pytorch/multi-view", Kinds: cures.Refused, If: of(views), Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "ran out of memory in a multi-view stereo network[[: {asked} at once]]",
	Means:    "Such a network usually warps the features of every view to every depth (channels x depths x height x width) and runs 3D convolutions over the result. So memory grows with the image size and the number of depths and views.",
	Not:      "[[{settings}.]]",
	Later:    cures.Kept,
	Cures: []cause.Cure{
		{Fix: "lower_context", If: stacked, Title: "Pass fewer views per call", Cost: "none, if you process them in turn", Told: "Loop over the reference images with 2 to 4 neighbours each, and move each depth map to the CPU (`.cpu()`). That line joins the features of all views passed in."},
		{Fix: "lower_resolution", Title: "Use smaller images", Cost: "fine detail", Told: "Half the width and height takes a quarter of the memory. CasMVSNet's test.py: `--max_h` and `--max_w` (default 864 and 1152). If you resize yourself, scale the camera intrinsics too."},
		look,
		{Fix: "lower_batch_size", If: when.Not(used), Title: "If you train: batch size 1, and smaller images", Cost: "slower", Told: "`--batch_size 1`. Fewer source views (2 instead of 4) help too, as training keeps the warped volume of each."},
		{Fix: "lower_max_batched_tokens", Title: "Or fewer depths", Cost: "coarser depth", Told: "MVSNet: `--numdepth 96` (default 192) with twice the `--interval_scale` covers the same range in half the memory. CasMVSNet: `--ndepths 32,16,8` (default 48,32,8)."},
		gradientsOpen, inputsOld, sixteen,
	},
	Figures: cures.Scene, Sources: []string{"MVSNet_pytorch/models/mvsnet.py", "MVSNet_pytorch/eval.py", "cascade-stereo/CasMVSNet/test.py", "https://github.com/xy-guo/MVSNet_pytorch/issues/3"},
}, {
	ID: "pytorch/stereo", Kinds: cures.Refused, If: of(stereo), Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "ran out of memory in a stereo matching network[[: {asked} at once]]",
	Means:    "Such a network usually compares the two images at every disparity. So memory grows with the image size and the largest disparity (`maxdisp`).[[ {crops}]]",
	Not:      "[[{settings}.]]",
	Later:    cures.Kept,
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", If: when.Not(used), Title: "{If}lower the batch size or the crop size", Cost: "slower", Told: "Halve the batch size[[ ({batch})]]; crops of 256 x 512 are common. PSMNet has both in the code: `batch_size= 12` in main.py, `th, tw = 256, 512` in dataloader/."},
		{Fix: "lower_resolution", If: when.Not(training), Title: "Use smaller images, then scale the disparity back", Cost: "fine detail", Told: "Half the width, height and `maxdisp` take an eighth of the volume; multiply the resulting disparity by 2. Or process overlapping horizontal strips, as matches lie in the same row."},
		{Fix: "lower_max_batched_tokens", Title: "Or lower the maximum disparity", Cost: "very near objects are not measured", Told: "`--maxdisp 96` or `--max_disp 96` (often 192 by default) halves the volume, in networks that have the option. It must stay above the largest disparity in your images."},
		look, gradientsOpen, inputsOld, sixteen,
	},
	Figures: func(c *ledger.Case) map[string]string {
		out := cures.Scene(c)
		out["crops"], out["If"] = "", "If you train: "
		if used(c) {
			out["crops"] = "Tests usually take whole images, training only crops."
		}
		if training(c) {
			out["If"] = "First, "
		}
		return out
	},
	Sources: []string{"PSMNet/models/stackhourglass.py", "PSMNet/main.py", "PSMNet/dataloader/SecenFlowLoader.py", "PSMNet/Test_img.py"},
}}
