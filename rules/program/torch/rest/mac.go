package rest

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

func tinyMacLimit(c *ledger.Case) bool {
	limit := c.F().Limit
	return limit != nil && limit.Bytes < 9*units.GiB/2
}

// SmallMac is about a limit that no Mac has by itself.
var SmallMac = cause.Card{
	ID: "pytorch/mps-small-limit", Kinds: []fact.Kind{fact.MPSAlloc}, If: tinyMacLimit,
	Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
	Headline: "reached an unusually low limit on the Mac's GPU memory: {limit}",
	Means:    "`max allowed` is PyTorch's own limit, by default about 9 GiB on a Mac with 8 GB. Usually `PYTORCH_MPS_HIGH_WATERMARK_RATIO` is set too low, or the program calls `torch.mps.set_per_process_memory_fraction`. Otherwise it is an Intel Mac with a small GPU, or a virtual machine.",
	Not:      "Closing other programs: the limit counts only what this program holds.",
	Cures: []cause.Cure{
		{Fix: "raise_watermark", Title: "Find what sets the limit, and remove it", Told: "Run this, then start the program again. The last line prints what Metal recommends, in GiB:", Kind: "shell", Text: "echo $PYTORCH_MPS_HIGH_WATERMARK_RATIO; unset PYTORCH_MPS_HIGH_WATERMARK_RATIO\ngrep -rnE 'WATERMARK_RATIO|set_per_process_memory_fraction' --include=*.py .\npython -c \"import torch; print(torch.mps.recommended_max_memory() / 2**30)\"", Cost: "Free."},
		{Fix: "lower_batch_size", Title: "If the limit must stay: lower the batch size", Told: "For embeddings: `model.encode(texts, batch_size=4)`. Also use 16 bit (`model.half()`) and `torch.mps.empty_cache()` between calls.", Cost: "Slower."},
		{Fix: "cpu_offload", Title: "If the GPU is really this small: use the CPU", Told: "Pass `device=\"cpu\"` where the program takes a device.", Cost: "Slower."},
	},
	Sources: []string{"pytorch/aten/src/ATen/mps/MPSAllocator.mm", "https://docs.pytorch.org/docs/stable/mps_environment_variables.html", "https://github.com/buildingjoshbetter/TrueMemory/issues/459"},
}
