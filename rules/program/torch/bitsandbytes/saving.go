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
	Headline: "ran out of GPU memory while saving a checkpoint of an 8-bit model",
	Means:    "Saving failed, not training. bitsandbytes 0.38 to 0.39.0 copies every 8-bit weight on the GPU to save it, and keeps the copies: in the end a second model, one byte per parameter.",
	Not:      "`max_split_size_mb`: the copies need real memory.",
	Cures: []cause.Cure{
		{Fix: "upgrade_version", Title: "Update bitsandbytes", Told: "0.39.1 is the first version without these copies. If it does not work with your CUDA, use 0.37.2, the last version before them.", Kind: "shell", Text: "pip install -U \"bitsandbytes>=0.39.1\"", Cost: "minutes"},
		{Fix: "load_in_4bit", Title: "Or load the model in 4 bit", Told: "4-bit layers are not affected: `load_in_4bit=True` in place of `load_in_8bit=True` (transformers 4.30 and later).", Cost: "slight loss of quality"},
		{Fix: "lower_batch_size", Title: "Or leave room for the copies", Told: "Use a smaller batch with more gradient accumulation, and call `torch.cuda.empty_cache()` before saving. As much as the 8-bit model takes must be free then.", Cost: "slower"},
	},
	Sources: []string{"bitsandbytes/bitsandbytes/nn/modules.py", "https://github.com/bitsandbytes-foundation/bitsandbytes/commit/f734076e", "https://github.com/bitsandbytes-foundation/bitsandbytes/issues/324"},
}

// savingLayout: the traceback goes through the layers of bitsandbytes that save.
func savingLayout(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool {
		return strings.Contains(x.Source, "undo_layout(") || x.Function == "_save_to_state_dict" && strings.Contains(x.File, "bitsandbytes")
	})
}
