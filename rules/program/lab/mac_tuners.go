package lab

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/trainer/parts"
)

// GemmaTuner trains Gemma on Macs. It sets PyTorch's limit before PyTorch is
// imported, and takes ratios between 0 and 1 only (gemma_tuner/core/bootstrap.py).
var GemmaTuner = program.Program{
	Name: "gemma-tuner", Shown: "The Gemma tuner", Work: "text-training", Edits: "flags", Language: "python", Systems: []string{"mac"},
	Proofs: []string{"gemma_tuner/", "gemma-tuner-multimodal", "gemma-macos-tuner", "output/wizard_"}, Beside: map[string][]string{"output/wizard_": {"run.log"}},
	Sources: program.Sources{
		"gemma-tuner-multimodal/config/config.ini.example":     "per_device_train_batch_size gradient_checkpointing max_seq_length",
		"gemma-tuner-multimodal/gemma_tuner/core/bootstrap.py": "PYTORCH_MPS_HIGH_WATERMARK_RATIO",
	},
	Like: []*program.Program{&parts.LanguageModels},
	Cards: []cause.Card{{
		ID: "gemma-tuner/limit", Kinds: []fact.Kind{fact.MPSAlloc}, Cause: cause.ModelTooLarge, Weight: cause.Strong, Figures: ratio,
		Headline: "reached its own memory limit on this Mac[[, {limit}]]",
		Means:    "The tuner lets PyTorch use 0.8 of the memory that macOS recommends for the GPU[[ ({whole} here)]]. Weights, activations and optimizer state must fit below that. The 0.0 that PyTorch's message suggests has no effect: the tuner replaces values outside 0 to 1 with 0.8.",
		Not:      "`PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.0`: the program replaces it.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Make each training step as small as possible", Told: "In your profile in `config/config.ini`:", Kind: "config", Text: "per_device_train_batch_size = 1\ngradient_accumulation_steps = 8\ngradient_checkpointing = true\nmax_seq_length = 512", Cost: "slower; long samples are cut"},
			{Fix: "use_smaller_model", Title: "Or tune the smaller Gemma", Told: "Use `gemma-3n-e2b-it` or `gemma-4-e2b-it` instead of the e4b model.", Cost: "some quality"},
			{Fix: "raise_watermark", Title: "If little is missing: raise the limit[[ to {most}]]", Told: "Close browsers and other large programs first.", Kind: "shell", Text: "export PYTORCH_MPS_HIGH_WATERMARK_RATIO=0.95", Cost: "the Mac may swap"},
		},
		Sources: []string{"gemma-tuner-multimodal/gemma_tuner/core/bootstrap.py", "gemma-tuner-multimodal/config/config.ini.example"},
	}},
}

// ratio is what macOS recommends, where the limit is the tuner's own share of it,
// and what 0.95 of that would be.
func ratio(c *ledger.Case) map[string]string {
	out := map[string]string{"limit": "", "whole": "", "most": ""}
	if !c.Limit.Has() {
		return out
	}
	whole := c.Limit.Bytes * 5 / 4
	out["limit"], out["whole"], out["most"] = c.Limit.String(), units.Amount(whole), units.Amount(whole/20*19)
	return out
}
