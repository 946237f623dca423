package papers

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/apps/kit"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// RAFT is the optical flow of Teed and Deng, and what is made from it.
var RAFT = program.Program{
	Name: "raft", Shown: "RAFT", Work: "vision", Edits: "flags", Language: "python",
	Sources: program.Sources{"RAFT/demo.py": "--small --mixed_precision --alternate_corr", "RAFT/train.py": "--batch_size --image_size --mixed_precision"},
	Proofs:  []string{"RAFT/core/", "core/raft.py", "core/corr.py"},
	Steps: spelling{
		"lower_batch_size":    say("Halve `--batch_size`."),
		"lower_resolution":    kit.ByPhase(step.Step{Kind: "text", Text: "Use a smaller `--image_size` (height and width, multiples of 8). Half of both needs a sixteenth of the volume."}, step.Step{Kind: "text", Text: "Scale the frames down first: half the width and height needs a sixteenth of the volume."}),
		"efficient_attention": say("Add `--alternate_corr` (build its extension once, in alt_cuda_corr). It then stores no volume of all pairs. It does not work for training."),
		"mixed_precision":     say("Add `--mixed_precision`."),
	},
	Titles:   map[string]string{"efficient_attention": "Compute correlations on demand (--alternate_corr)", "lower_resolution": "Use smaller frames"},
	Costs:    map[string]string{"efficient_attention": "Slower.", "lower_resolution": "Less fine detail."},
	Remedies: ways("lower_resolution", "efficient_attention", "mixed_precision"), Like: []*program.Program{&parts.Vision},
	Cards: []cause.Card{
		paperPart("raft/all-pairs", []string{"CorrBlock(fmap1", "CorrBlock.corr("}, cause.OversizedAllocation, "ran out of GPU memory while comparing all pixels of two frames[[ ({asked} at once)]]",
			"RAFT compares every pixel of one frame with every pixel of the other, at an eighth of the size: (width x height / 64) squared numbers of 4 bytes. The volume exists twice for a moment, and a pyramid adds a third.",
			"", "RAFT/core/corr.py", append(own("lower_resolution"), inPlace, cause.Cure{Fix: "efficient_attention", If: when.Not((*ledger.Case).Training)}, cause.Cure{Fix: "mixed_precision", If: (*ledger.Case).Training})...),
	},
}

// RAFTStereo is the stereo network made from RAFT, and what is made from it.
var RAFTStereo = program.Program{
	Name: "raft-stereo", Rank: above, Shown: "RAFT-Stereo", Work: "vision", Edits: "flags", Language: "python",
	Sources: program.Sources{"RAFT-Stereo/demo.py": "--corr_implementation --mixed_precision --n_downsample --valid_iters", "RAFT-Stereo/train_stereo.py": "--batch_size --image_size --train_iters --n_downsample"},
	Proofs:  []string{"core/raft_stereo.py", "CorrBlock1D"},
	Carries: []string{"raft"},
	Steps: spelling{
		"lower_batch_size":    say("Halve `--batch_size` (default 6), or `--image_size` (default 320 720)."),
		"lower_resolution":    kit.ByPhase(step.Step{Kind: "text", Text: "Use `--image_size 256 512` (default 320 720)."}, step.Step{Kind: "text", Text: "Halve the width and height of both images: an eighth of the volume. Double the resulting disparity."}),
		"efficient_attention": say("Add `--corr_implementation alt`. It then stores no volume."),
		"mixed_precision":     say("Add `--mixed_precision`, with `--corr_implementation reg_cuda` (build its sampler once). The volume is then in 16 bit."),
	},
	Titles:   map[string]string{"efficient_attention": "Compute correlations on demand (--corr_implementation alt)", "lower_resolution": "Use smaller images", "mixed_precision": "Turn on mixed precision"},
	Costs:    map[string]string{"efficient_attention": "Slower.", "lower_resolution": "Less fine detail.", "mixed_precision": "Hardly any."},
	Remedies: ways("efficient_attention", "lower_resolution", "mixed_precision"), Like: []*program.Program{&parts.Vision},
	Cards: []cause.Card{
		paperPart("raft-stereo/rows", []string{"CorrBlock1D"}, cause.OversizedAllocation, "ran out of GPU memory while comparing the rows of two images[[ ({asked} at once)]]",
			"Each pixel is compared with its whole row in the other image, at a quarter of the size: height/4 x (width/4) squared numbers of 4 bytes, twice for a moment. So the width matters most.",
			"Fewer `--valid_iters`: the volume is made once, before them.", "RAFT-Stereo/core/corr.py",
			cause.Cure{Fix: "efficient_attention", If: when.Not((*ledger.Case).Training)},
			cause.Cure{Fix: "lower_batch_size", If: (*ledger.Case).Training},
			cause.Cure{Fix: "fix_shape", If: (*ledger.Case).Training, Title: "Or a coarser field (--n_downsample 3)", Kind: "text", Text: "Add `--n_downsample 3` (default 2): an eighth of the volume. Weights trained with 2 do not work with it.", Cost: "slightly less accurate"},
			cause.Cure{Fix: "lower_resolution"}, cause.Cure{Fix: "mixed_precision"}),
	},
}

// inPlace spares the copy that the division makes of the volume.
var inPlace = cause.Cure{
	Fix: "inference_mode", If: when.Not((*ledger.Case).Training), Title: "Or scale the volume in place, which saves a copy", Cost: "none",
	Told: "If you are not training, change the last line of `corr` in core/corr.py to `return corr.div_(dim ** 0.5)`.",
}
