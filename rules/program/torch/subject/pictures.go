package subject

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/cures"
	"github.com/oomdoc/oomdoc/rules/when"
)

// restored: a network works on a picture at its full size.
var restored = says("rrdb", "esrgan", "srgan", "srresnet", "edsr", "superres", "super_res", "super-res", "upscal", "restoration", "restore_image", "deblur", "dncnn", "ffdnet", "derain", "dehaz", "enhance", "image_x4", "self.fake_h", "self.var_l", "self.lq", "lr_img", "sr_model", "netg(lr", "matting", "img_lq")

// enlarged: it makes the picture larger.
var enlarged = says("rrdb", "esrgan", "srgan", "srresnet", "edsr", "superres", "super_res", "super-res", "upscal", "image_x4", "self.fake_h", "self.var_l", "lr_img", "sr_model")

// resampled: the operators of StyleGAN2 in PyTorch, which many repositories copy.
var resampled = says("op/upfirdn2d.py", "op/fused_act.py", "in upfirdn2d", "upfirdn2d(")

// detecting: what failed looks for something in the picture first.
var detecting = says("detect(", "detector(")

func validates(c *ledger.Case) bool {
	return restored(c) && used(c) && says("train.py", "\ntrain")(c)
}

// pictureCards are about networks that work on pictures at full size.
var pictureCards = []cause.Card{{
	ID: "pytorch/restored-validation", Kinds: cures.Refused, If: of(restored, validates), Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "ran out of memory on a validation image during training",
	Means:    "Training usually takes crops, but the validation takes whole images. Most such networks keep the full size in every layer (64 channels take 256 bytes per pixel[[; {times}]]). So one large image can need more than a batch of crops.",
	Not:      "A smaller training batch: the validation image stays as large.[[ {settings}.]]",
	Cures: []cause.Cure{
		{Fix: "lower_resolution", Title: "Validate on crops", Cost: "scores are not comparable with published ones", Told: "Crop the validation images to 256 or 512 pixels per side (the low-resolution ones) into a separate folder, and validate on that."},
		{Fix: "lower_batch_size", Title: "Or process them in tiles", Cost: "slower, seams without overlap", Told: "{tiles}", Kind: "python", Text: tiled},
		{Fix: "stream_dataset", Title: "Or skip validation, and test afterwards on the CPU", Cost: "no scores during training", Told: "BasicSR-like options files: set `val_freq` (often 5e3) above the number of iterations."},
		gradientsOpen,
	},
	Figures: tileFigures, Sources: []string{"SPSR/code/train.py", "SPSR/code/models/SPSR_model.py", "https://github.com/Maclory/SPSR/issues/13"},
}, {
	ID: "pytorch/restored", Kinds: []fact.Kind{fact.TorchAlloc}, If: of(restored, used, when.Not(when.Any(validates, detecting))), Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "ran out of memory on a whole image[[: {asked} at once]]",
	Means:    "Most such networks keep the full image size in every layer: 64 channels take 1 GiB for 2000 x 2000 pixels[[; {times}]]. They are usually trained on small crops and can work on tiles.",
	Not:      "[[{settings}.]]",
	Cures: []cause.Cure{
		cures.Only(when.Not(largePart), gradientsOpen), inputsOld,
		{Fix: "lower_batch_size", Title: "Process it in tiles", Cost: "hardly slower; overlap them if seams show", Told: "Many of these programs have an option for it (Real-ESRGAN: `--tile 256`). {tiles}", Kind: "python", Text: tiled},
		look, cures.Only(largePart, gradientsOpen),
		{Fix: "lower_resolution", Title: "Or scale the image down first", Cost: "detail", Told: "Half the width and height takes a quarter of the memory."},
		{Fix: "half_precision", If: when.Not(when.Any(ledger.Before2020, cures.NarrowAlready)), Title: "Compute it in 16 bit", Cost: "hardly any quality", Told: "`model.half()` and `x.half()` halve the memory."},
		{Fix: "cpu_offload", Title: "Or run it on the CPU", Cost: "minutes per image", Told: "Remove `.cuda()`, or use the script's device option. System RAM is usually larger."},
	},
	Figures: tileFigures, Sources: []string{cures.MemoryFAQ, "https://github.com/Maclory/SPSR/issues/3", "https://github.com/mantasu/face-crop-plus/issues/9"},
}, {
	ID: "pytorch/stylegan-operator", Kinds: cures.Refused, If: of(resampled), Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "ran out of memory in a StyleGAN2-like network[[: {asked} at once]]",
	Means:    "It failed in StyleGAN2's resampling code. Its tensors have batch x channels x height x width values, so the last blocks, at full image size, are the largest[[. {asked} fits {preview}]].",
	Not:      "[[{settings}.]]",
	Later:    cures.Kept,
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", If: when.Not(used), Title: "Lower the batch size and the number of preview images", Cost: "slower", Told: "rosinality's train.py and its copies: `--batch 2` (default 16 per GPU) and `--n_sample 4`. The default preview draws 64 images in one call, from step 0 on. `--path_batch_shrink 4` (default 2) helps too."},
		gradientsOpen,
		{Fix: "lower_batch_size", If: used, Title: "Process one image at a time", Cost: "slower", Told: "Use batch size 1, process several faces of a photo in turn, and move each result to RAM (`.cpu()`)."},
		look,
		{Fix: "lower_resolution", Title: "Or use a smaller generator", Cost: "resolution", Told: "`--size 256` (with weights of that size) takes a sixteenth of 1024. In training, `--channel_multiplier 1` (default 2) halves the last blocks."},
		sixteen,
	},
	Figures: func(c *ledger.Case) map[string]string {
		out := cures.Scene(c)
		out["preview"] = map[int64]string{
			2 * units.GiB: "64 images of 256 x 256 with 128 channels",
			4 * units.GiB: "64 images of 512 x 512 with 64 channels",
			8 * units.GiB: "64 images of 1024 x 1024 with 32 channels",
		}[c.Asked.Bytes]
		if out["preview"] != "" {
			out["preview"] += ": perhaps the preview of 64 (`n_sample`), not the batch"
		}
		return out
	},
	Sources: []string{"stylegan2-pytorch/train.py", "stylegan2-pytorch/op/upfirdn2d.py", "https://github.com/rosinality/stylegan2-pytorch/issues/202", "https://github.com/rosinality/stylegan2-pytorch/issues/10"},
}}

const tiled = "out = torch.empty(1, 3, x.size(2) * s, x.size(3) * s)   # in RAM; x: the image, s: the scale, 1 without upscaling\nfor i in range(0, x.size(2), 256):\n    for j in range(0, x.size(3), 256):\n        out[..., i * s:(i + 256) * s, j * s:(j + 256) * s] = net(x[..., i:i + 256, j:j + 256]).cpu()"

// tileFigures is scene with what enlarging adds.
func tileFigures(c *ledger.Case) map[string]string {
	out := cures.Scene(c)
	out["times"], out["tiles"] = "", "In code, in place of the network's call:"
	if enlarged(c) {
		out["times"] = "after 4x upscaling the last layers have 16 times the pixels"
	}
	return out
}
