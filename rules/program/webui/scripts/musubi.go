package scripts

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/torch/ram"
	"github.com/oomdoc/oomdoc/rules/program/webui"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

const musubiCode = "https://github.com/kohya-ss/musubi-tuner/blob/main/"

// Musubi is kohya's trainer for video models and newer picture models. It shows
// the progress of sd-scripts; size and batch stand in a file of its own.
var Musubi = program.Program{
	Name: "musubi-tuner", Shown: "Musubi Tuner", Carries: []string{"kohya", "wan", "hunyuanvideo", "framepack"},
	Work: "video-generation", Edits: "flags", Language: "python",
	Proofs: []string{"musubi_tuner/", "musubi-tuner/", "hv_train_network.py", "wan_train_network.py", "qwen_image_train", "fpack_train_network.py", "flux_kontext_train_network.py", "zimage_train"},
	Sources: program.Sources{
		"musubi-tuner/src/musubi_tuner/training/parser_common.py":                "--blocks_to_swap --fp8_base --gradient_checkpointing --optimizer_type",
		"musubi-tuner/docs/block_swap.md":                                        "--use_pinned_memory_for_block_swap",
		"musubi-tuner/src/musubi_tuner/qwen_image_train_network.py":              "--fp8_scaled",
		"musubi-tuner/src/musubi_tuner/cache_latents.py":                         "--batch_size",
		"musubi-tuner/src/musubi_tuner/cache_text_encoder_outputs.py":            "--fp8_llm",
		"musubi-tuner/src/musubi_tuner/wan_cache_text_encoder_outputs.py":        "--fp8_t5",
		"musubi-tuner/src/musubi_tuner/qwen_image_cache_text_encoder_outputs.py": "--fp8_vl",
		"musubi-tuner/docs/dataset_config.md":                                    "batch_size resolution target_frames",
	},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"cpu_offload":            kohya("--blocks_to_swap 16"),
		"gradient_checkpointing": kohya("--gradient_checkpointing"),
		"optimizer_8bit":         kohya("--optimizer_type adamw8bit"),
		"lower_batch_size":       step.Paste("config", "# the dataset's .toml\nbatch_size = 1"),
		"lower_resolution":       step.Paste("config", "# the dataset's .toml; then cache the latents again\nresolution = [640, 384]"),
	},
	Remedies: map[string][]cause.Remedy{
		cause.BatchTooLarge:         cause.InOrder("cpu_offload", "lower_resolution", "lower_batch_size", "gradient_checkpointing", "optimizer_8bit"),
		cause.ModelTooLarge:         cause.InOrder("cpu_offload", "close_other_apps", "lower_resolution"),
		cause.TrainingStateTooLarge: cause.InOrder("cpu_offload", "optimizer_8bit", "gradient_checkpointing", "lower_resolution"),
		cause.HostMemory:            webui.HostRemedies,
	},
	Titles: map[string]string{"cpu_offload": "Swap blocks to RAM: `--blocks_to_swap`"},
	Costs:  map[string]string{"cpu_offload": "Slower; 64 GB of RAM are recommended."},
	Cards:  musubiCards,
}

// musubiEight loads the base at 8 bit: scripts that train a LoRA can, and all of
// these but HunyuanVideo's scale it.
func musubiEight(c *ledger.Case) []step.Change {
	switch {
	case !c.Near("train_network"):
		return nil
	case c.Near("hv_train_network"):
		return []step.Change{{Flag: "--fp8_base"}}
	}
	return []step.Change{{Flag: "--fp8_base"}, {Flag: "--fp8_scaled"}}
}

// musubiAdds is a line of options for the end of the reader's command.
func musubiAdds(c *ledger.Case, changes ...step.Change) []step.Step {
	return []step.Step{{Kind: "text", Text: "Add to the end of the command:"}, {Kind: "config", Text: step.Edited(c, nil, changes...)}}
}

var musubiSmaller = cause.Cure{
	Fix: "lower_resolution", If: when.Not(musubiStills), Title: "Train at a lower resolution, on fewer frames", Told: "In the dataset's .toml set `batch_size = 1`, a smaller `resolution` (for example `[640, 384]`) and smaller `target_frames`. Then cache the latents again.", Cost: "Less detail learned.",
}

// musubiStill is the same for models of images.
var musubiStill = cause.Cure{
	Fix: "lower_resolution", If: musubiStills, Title: "Train at a lower resolution", Told: "In the dataset's .toml set `batch_size = 1` and a smaller `resolution` (for example `[768, 768]`). Then cache the latents again.", Cost: "Less detail learned.",
}

// musubiStills: the script is one of a model that makes images.
func musubiStills(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool {
		return slices.ContainsFunc([]string{"qwen_image", "zimage", "flux_kontext", "flux_2"}, func(name string) bool { return strings.Contains(x.File, name) })
	})
}

var musubiCards = webui.OfCard([]cause.Card{
	{
		ID: "musubi-tuner/caching", Kinds: webui.OnCard, Said: []string{"cache_latents.py", "cache_text_encoder_outputs.py", "encode_and_save_batch"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] while it cached the dataset",
		Means:    "Before training, a VAE encodes your images and clips, and a text encoder their captions. Long or large clips need most.",
		Not:      "`--blocks_to_swap`: the caching scripts do not load the model that it is for.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Cache one item at a time", Told: "Add to the end of the caching command:", Kind: "config", Text: "--batch_size 1", Cost: "Slower, once."},
			{Fix: "load_in_8bit", Title: "If the text encoder failed: load it at 8 bit", Told: "Add `--fp8_llm` for HunyuanVideo and FramePack, `--fp8_t5` for Wan, `--fp8_vl` for Qwen-Image.", Cost: "Hardly any loss of quality."},
			musubiSmaller, musubiStill,
		},
		Sources: []string{musubiCode + "src/musubi_tuner/cache_latents.py", musubiCode + "docs/dataset_config.md", musubiCode + "docs/wan.md", musubiCode + "docs/qwen_image.md"},
	},
	ram.Unloading("musubi-tuner/unloading",
		cause.Cure{Fix: "upgrade_version", Title: "Update Musubi Tuner", Told: "Since 23 September 2025 block swap uses no pinned RAM unless you pass `--use_pinned_memory_for_block_swap`.", Kind: "shell", Text: "git pull && pip install -e .", Cost: "Some minutes."},
		cause.Cure{Fix: "cpu_offload", Title: "Swap fewer blocks, at 8 bit", Told: "Lower `--blocks_to_swap` as far as the card allows. `--fp8_base` (with `--fp8_scaled` if your script has it) halves each block.", Cost: "More VRAM."},
	),
	{
		ID: "musubi-tuner/step", Kinds: webui.OnCard, Said: []string{"train_network", "qwen_image_train", "zimage_train", "hv_train", "musubi_tuner/training", "accelerator.backward"}, If: func(c *ledger.Case) bool { return !ledger.Roomy(c) && !ledger.Crowded(c) }, Cause: cause.TrainingStateTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] in training",
		Means:    "The base model fills most of a card, and activations come on top. Musubi's guide says for a LoRA of Qwen-Image: 42 GB, or 30 with the base at 8 bit, 24 with 16 blocks swapped to RAM, 12 with 45.",
		Not:      "A smaller rank alone: the base model is many times larger.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Swap more blocks to RAM: `--blocks_to_swap`", Steps: func(c *ledger.Case) []step.Step {
				return musubiAdds(c, append(musubiEight(c), step.Change{Flag: "--blocks_to_swap", Value: "16"})...)
			}, Cost: "Slower; 64 GB of RAM are recommended; the highest number differs by model."},
			musubiSmaller, musubiStill,
			{Fix: "optimizer_8bit", Title: "Turn on gradient checkpointing and 8-bit Adam", Told: "Add what is not on yet:", Kind: "config", Text: "--gradient_checkpointing --optimizer_type adamw8bit", Cost: "Slower; hardly any loss of quality."},
		},
		Sources: []string{musubiCode + "docs/qwen_image.md", musubiCode + "src/musubi_tuner/training/parser_common.py"},
	},
	{
		ID: "musubi-tuner/ram", Kinds: append(webui.InRAM[:len(webui.InRAM):len(webui.InRAM)], webui.Killed...), Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of system memory (RAM), not VRAM",
		Means:    "Models go through RAM when they load, and swapped blocks stay there. Musubi's guide recommends 64 GB of RAM; 32 GB plus swap can be enough.",
		Not:      "More blocks to swap: that needs more RAM.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Swap fewer blocks", Told: "Lower `--blocks_to_swap` as far as the card allows. The base at 8 bit (`--fp8_base`) halves each block.", Cost: "More VRAM."},
			webui.LetWindowsPage, webui.MoreSwap, webui.CloseForRAM,
		},
		Sources: []string{musubiCode + "README.md", musubiCode + "docs/qwen_image.md"},
	},
})
