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
	Headline: "ran out of memory in a multi-view stereo network[[: {asked} in one piece]]",
	Means:    "Such a network warps the features of every view to every depth: channels x depths x height x width, several times over, and convolves that in 3D. So the size of the images and the number of depths and views decide, not the weights.",
	Not:      "[[{settings}.]]",
	Later:    cures.Kept,
	Cures: []cause.Cure{
		{Fix: "lower_context", If: stacked, Title: "Pass fewer views in one call", Cost: "none, if they are processed in turn", Told: "The line joins the features of all views that came in. One reference image with 2 to 4 neighbours is what such networks were trained on: loop over the reference images, and take each depth map off the card (`.cpu()`)."},
		{Fix: "lower_resolution", Title: "Use smaller images", Cost: "fine detail", Told: "Half the width and height is a quarter; intrinsics must be scaled with them. Many of these scripts have `--max_h` and `--max_w` for it (CasMVSNet's test.py: 864 and 1152)."},
		look,
		{Fix: "lower_batch_size", If: when.Not(used), Title: "If you train: batch size 1, and smaller images", Cost: "slower", Told: "`--batch_size 1`; in training every view's warped volume is kept for the backward pass, so 2 source views take less than 4."},
		{Fix: "lower_max_batched_tokens", Title: "Or fewer depths", Cost: "coarser depth", Told: "MVSNet's scripts: `--numdepth 96` (192) with twice the `--interval_scale` covers the same range in half the memory; cascades: `--ndepths 32,16,8` (48,32,8)."},
		gradientsOpen, inputsOld, sixteen,
	},
	Figures: cures.Scene, Sources: []string{"MVSNet_pytorch/models/mvsnet.py", "MVSNet_pytorch/eval.py", "cascade-stereo/CasMVSNet/test.py", "https://github.com/xy-guo/MVSNet_pytorch/issues/3"},
}, {
	ID: "pytorch/stereo", Kinds: cures.Refused, If: of(stereo), Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "ran out of memory in a stereo network[[: {asked} in one piece]]",
	Means:    "Such a network compares the two images at every disparity: a volume of channels x disparities x height x width (most keep a quarter of each), which goes through 3D convolutions. So the image size and the largest disparity decide.[[ {crops}]]",
	Not:      "[[{settings}.]]",
	Later:    cures.Kept,
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", If: when.Not(used), Title: "{If}lower the batch size, or the crop", Cost: "slower", Told: "Half the batch size[[ ({batch})]]; crops of 256 x 512 are usual. In PSMNet's scripts both are numbers in the code (`batch_size= 12` in main.py, `th, tw = 256, 512` in dataloader/)."},
		{Fix: "lower_resolution", If: when.Not(training), Title: "Use smaller images, and multiply the disparity back", Cost: "fine detail", Told: "Half the width and height with half of the largest disparity is an eighth; then the disparity times 2. Or horizontal strips that overlap: matches lie in the same row."},
		{Fix: "lower_max_batched_tokens", Title: "Or a smaller largest disparity", Cost: "nothing nearer than that can be measured", Told: "`--maxdisp 96` (`--max_disp`; mostly 192 now) halves the volume. It must stay above the largest disparity in the images, and a multiple of 16; weights that were trained with 192 mostly load."},
		look, gradientsOpen, inputsOld, sixteen,
	},
	Figures: func(c *ledger.Case) map[string]string {
		out := cures.Scene(c)
		out["crops"], out["If"] = "", "If you train: "
		if used(c) {
			out["crops"] = "Tests take whole images where training took crops."
		}
		if training(c) {
			out["If"] = "First, "
		}
		return out
	},
	Sources: []string{"PSMNet/models/stackhourglass.py", "PSMNet/main.py", "PSMNet/dataloader/SecenFlowLoader.py", "PSMNet/Test_img.py"},
}}
