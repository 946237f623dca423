package papers

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/trainer"
	"github.com/oomdoc/oomdoc/rules/when"
)

// RAFT is the optical flow of Teed and Deng, and what is made from it.
var RAFT = program.Program{
	Name: "raft", Shown: "RAFT", Work: "vision", Edits: "flags", Language: "python",
	Sources: program.Sources{"RAFT/demo.py": "--small --mixed_precision --alternate_corr", "RAFT/train.py": "--batch_size --image_size --mixed_precision"},
	Proofs:  []string{"RAFT/core/", "core/raft.py", "core/corr.py"},
	Steps: spelling{
		"lower_batch_size":    say("Halve `--batch_size`."),
		"lower_resolution":    say("Training: `--image_size`, such as 288 384. Otherwise scale the frames down before they are passed: half the width and height is a sixteenth."),
		"efficient_attention": say("Add `--alternate_corr` (its extension is built once in alt_cuda_corr): no volume of all pairs is kept. It is not for training."),
		"mixed_precision":     say("Add `--mixed_precision`."),
	},
	Titles:   map[string]string{"efficient_attention": "Compute correlations on demand (--alternate_corr)", "lower_resolution": "Use smaller frames"},
	Costs:    map[string]string{"efficient_attention": "Slower.", "lower_resolution": "Less fine detail."},
	Remedies: ways("lower_resolution", "efficient_attention", "mixed_precision"), Like: []*program.Program{&trainer.Vision},
	Cards: []cause.Card{
		paperPart("raft/all-pairs", []string{"CorrBlock(fmap1", "CorrBlock.corr("}, cause.OversizedAllocation, "ran out while correlating all pixels of two frames[[ ({asked} in one piece)]]",
			"The volume of all pairs has (width x height / 64) squared numbers of 4 bytes for each pair of frames; it exists twice while it is scaled, and a pyramid adds a third.",
			"", "RAFT/core/corr.py", append(own("lower_resolution"), inPlace, cause.Cure{Fix: "efficient_attention"})...),
	},
}

// inPlace spares the copy that the division makes of the volume.
var inPlace = cause.Cure{
	Fix: "inference_mode", If: when.Not((*ledger.Case).Training), Title: "Or scale the volume in place: one copy less", Cost: "none",
	Told: "In core/corr.py, the last line of `corr`, where nothing is trained: `return corr.div_(dim ** 0.5)`.",
}
