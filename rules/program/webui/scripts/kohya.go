// Package scripts knows what makes or trains pictures from a script: kohya's
// sd-scripts, the scripts of Stable Diffusion's authors, MagicQuill.
package scripts

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/webui"
	"github.com/oomdoc/oomdoc/rules/step"
)

const kohyaCode = "https://github.com/kohya-ss/sd-scripts/blob/main/"

// Kohya is what is peculiar to kohya's sd-scripts.
var Kohya = program.Program{
	Name: "kohya", Shown: "Kohya's trainer",
	Work: "image-generation", Edits: "flags", Language: "python",
	Sources: program.Sources{
		"sd-scripts/library/train_util.py": "--blocks_to_swap --cache_latents --cache_latents_to_disk --fp8_base --full_fp16 --gradient_accumulation_steps" +
			" --gradient_checkpointing --max_bucket_reso --max_data_loader_n_workers --mixed_precision --optimizer_type --resolution" +
			" --train_batch_size --cache_text_encoder_outputs_to_disk --fused_backward_pass --full_bf16 --vae_batch_size --sdpa --lowram",
		"sd-scripts/train_network.py": "--network_train_unet_only",
	},
	Proofs: []string{
		"train_network.py", "sdxl_train.py", "sdxl_train_network.py", "flux_train", "create LoRA for U-Net:", "sd-scripts", "kohya_ss",
		"num train images * repeats", "avr_loss=",
	},
	Beside: map[string][]string{
		"flux_train": {".py"},
	},
	Clues: map[string][]cause.Clue{
		// accelerator.prepare puts model and optimizer on the card.
		cause.ModelTooLarge: {cause.Shown("preparing", cause.If(ledger.Allocator, cause.Strong, "It failed when the model was put on the card, before the first training step."))},
	},
	Remedies: map[string][]cause.Remedy{
		cause.ModelTooLarge: {
			{Fix: "mixed_precision", Fit: cause.Cures},
			{Fix: "optimizer_8bit", Fit: cause.Helps},
			{Fix: "bigger_gpu", Fit: cause.Helps, If: ledger.TinyCard},
			{Fix: "cpu_offload", Fit: cause.Helps},
			{Fix: "gradient_checkpointing", Fit: cause.Helps},
			{Fix: "lower_resolution", Fit: cause.LastResort},
		},
		cause.BatchTooLarge:         kohyaTraining,
		cause.TrainingStateTooLarge: kohyaTraining,
		cause.HostMemory:            webui.HostRemedies,
	},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"mixed_precision":        kohya("--mixed_precision fp16 --full_fp16"),
		"optimizer_8bit":         kohya("--optimizer_type AdamW8bit"),
		"gradient_checkpointing": kohya("--gradient_checkpointing"),
		"lower_batch_size":       kohya("--train_batch_size 1 --gradient_accumulation_steps 4"),
		"lower_resolution":       kohya("--resolution 512,512 --max_bucket_reso 768"),
		"cpu_offload":            kohya("--cache_latents --cache_latents_to_disk --network_train_unet_only  # Flux and SD3 also: --blocks_to_swap 18"),
		"use_lora":               step.Paste("text", "Train a LoRA (train_network.py, sdxl_train_network.py) instead of all weights (fine_tune.py, sdxl_train.py)."),
		"lower_num_workers":      kohya("--max_data_loader_n_workers 0"),
		"use_lower_quant":        kohya("--fp8_base"),
		"use_smaller_model":      step.Paste("text", "Train on a smaller base: SD 1.5 instead of SDXL, SDXL instead of FLUX."),
	},
	Cards: slices.Concat([]cause.Card{kohyaDDP, kohyaSaving}, kohyaCards),
}

var kohyaTraining = []cause.Remedy{
	{Fix: "lower_batch_size", Fit: cause.Foremost, If: kohyaBatch},
	{Fix: "use_lora", Fit: cause.Helps},
	{Fix: "optimizer_8bit", Fit: cause.Helps},
	{Fix: "gradient_checkpointing", Fit: cause.Helps},
	{Fix: "cpu_offload", Fit: cause.Helps},
	{Fix: "lower_resolution", Fit: cause.MayHelp},
	{Fix: "mixed_precision", Fit: cause.MayHelp},
}

// kohyaBatch: the log does not say that the batch is one already.
func kohyaBatch(c *ledger.Case) bool {
	s, ok := c.Setting("per_device_train_batch_size", "train_batch_size", fact.Option+"batch")
	return !ok || s.Value != "1"
}

func kohya(flags string) func(*ledger.Case) []step.Step {
	return func(*ledger.Case) []step.Step {
		return []step.Step{{Kind: "text", Text: "Add to the command (in the GUI: Additional parameters):"}, {Kind: "config", Text: flags}}
	}
}
