package cause

import (
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

var fragmentation = Rule{
	ID:      Fragmentation,
	Title:   "Enough memory is reserved, but not in one block",
	Settles: "Print `torch.cuda.memory_summary()` before the failing step: `Non-releasable memory` is what fragmentation costs.",
	Remedies: []Remedy{
		{Fix: "expandable_segments", Fit: Cures, If: reader.HasExpandableSegments},
		{Fix: "max_split_size", Fit: Cures, If: when.Not(reader.HasExpandableSegments)},
		{Fix: "max_split_size", Fit: MayHelp, If: reader.HasExpandableSegments},
		{Fix: "lower_batch_size", Fit: MayHelp},
		{Fix: "gradient_checkpointing", Fit: LastResort, If: (*ledger.Case).Training},
		{Fix: "lower_resolution", Fit: LastResort, If: when.Not((*ledger.Case).Training)},
	},
}
