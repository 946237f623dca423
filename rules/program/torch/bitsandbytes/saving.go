package bitsandbytes

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Saving is about a checkpoint of a model whose weights are at 8 bit.
var Saving = cause.Card{
	ID: "pytorch/bitsandbytes-saving", Kinds: []fact.Kind{fact.TorchAlloc}, If: savingLayout,
	Cause: cause.ModelTooLarge, Weight: cause.Decisive,
	Headline: "ran out of graphics memory while a checkpoint of the 8-bit model was saved",
	Means:    "Training went through; saving failed. For a checkpoint bitsandbytes (0.38 to 0.39.0) puts each 8-bit weight back into its usual order, in a copy on the card that stays: in the end a second model at 8 bit, a byte for each parameter.[[ {mine} was in use when it failed.]]",
	Not:      "max_split_size_mb: the copies need room, not another order.",
	Cures: []cause.Cure{
		{Fix: "upgrade_version", Title: "Use bitsandbytes without that copy", Told: "0.39.1 is the first without it. Where that does not suit the CUDA that you have: 0.37.2, the last before it.", Kind: "shell", Text: "pip install -U \"bitsandbytes>=0.39.1\"", Cost: "minutes"},
		{Fix: "load_in_4bit", Title: "Or load the model in 4 bit", Told: "Its layers are saved as they are: `load_in_4bit=True` in place of `load_in_8bit=True` (QLoRA; Transformers 4.30 and later).", Cost: "slight loss of quality"},
		{Fix: "lower_batch_size", Title: "Or leave room for the copy", Told: "A smaller batch with more accumulation, and `torch.cuda.empty_cache()` before the save; as much as the model takes at 8 bit must be free then.", Cost: "slower"},
	},
	Sources: []string{"bitsandbytes/bitsandbytes/nn/modules.py", "https://github.com/bitsandbytes-foundation/bitsandbytes/commit/f734076e", "https://github.com/bitsandbytes-foundation/bitsandbytes/issues/324"},
}

// savingLayout: the traceback goes through the layers of bitsandbytes that save.
func savingLayout(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool {
		return strings.Contains(x.Source, "undo_layout(") || x.Function == "_save_to_state_dict" && strings.Contains(x.File, "bitsandbytes")
	})
}
