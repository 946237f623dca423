package scripts

import (
	"path"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
	"github.com/oomdoc/oomdoc/rules/program/torch/pictures"
	"github.com/oomdoc/oomdoc/rules/program/webui"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// kohyaAdds is where options go: the reader's own command, or a line of them.
func kohyaAdds(changes ...step.Change) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		for _, script := range [...]string{"sdxl_train_network.py", "flux_train_network.py", "train_network.py", "sdxl_train.py", "flux_train.py", "fine_tune.py", "train_db.py"} {
			if own := ownOptions(step.Typed(c, script)); own != nil {
				return []step.Step{{Kind: "shell", Text: "accelerate launch " + script + " " + step.Edited(c, own, changes...)}}
			}
		}
		return []step.Step{{Kind: "text", Text: "Add to the end of the command (kohya_ss: Parameters, Advanced, Additional parameters):"}, {Kind: "config", Text: step.Edited(c, nil, changes...)}}
	}
}

// ownOptions are the script's, without accelerate's that stand before it.
func ownOptions(typed []fact.Setting) []fact.Setting {
	return slices.DeleteFunc(typed, func(s fact.Setting) bool {
		return s.Flag == "--num_cpu_threads_per_process" || s.Flag == "--num_processes" || strings.HasSuffix(s.Value, ".py")
	})
}

// kohyaSD1: the script is that of SD 1 and 2, which has no options for caching
// the outputs of text encoders.
func kohyaSD1(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool { return path.Base(x.File) == "train_network.py" }) &&
		!slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool {
			return strings.Contains(x.File, "sdxl_") || strings.Contains(x.File, "flux_") || strings.Contains(x.File, "sd3_")
		})
}

// kohyaEight loads the base at 8 bit. Only scripts that train a LoRA read
// --fp8_base; of those Anima's turns it off and HunyuanImage's has --fp8_scaled
// in its place (anima_train_network.py, hunyuan_image_train_network.py).
func kohyaEight(c *ledger.Case) []step.Change {
	switch {
	case c.Near("hunyuan_image_train_network"):
		return []step.Change{{Flag: "--fp8_scaled"}}
	case c.Near("train_network") && !c.Near("anima_train_network"):
		return []step.Change{{Flag: "--fp8_base"}}
	}
	return nil
}

// kohyaSwapped are the blocks to swap that the trainer's guide names by card.
func kohyaSwapped(c *ledger.Case) string {
	switch t := c.Total; {
	case !t.Has() || t.Bytes > 13*units.GiB:
		return "18"
	case t.Bytes > 11*units.GiB:
		return "16"
	case t.Bytes > 9*units.GiB:
		return "22"
	}
	return "28"
}

var (
	kohyaLean = cause.Cure{
		Fix: "lower_batch_size", Title: "Use batch size 1, gradient checkpointing, 8-bit Adam", Cost: "About a third slower.", If: kohyaBatch,
		Steps: kohyaAdds(step.Change{Flag: "--train_batch_size", Value: "1"}, step.Change{Flag: "--gradient_checkpointing"}, step.Change{Flag: "--optimizer_type", Value: "AdamW8bit"}, step.Change{Flag: "--sdpa"}),
	}
	// kohyaAdam is for a log that shows a batch of one already.
	kohyaAdam = cause.Cure{
		Fix: "gradient_checkpointing", Title: "Use gradient checkpointing, 8-bit Adam and sdpa", Cost: "Slower steps; hardly any loss of quality.", If: when.Not(kohyaBatch),
		Told: "Turn on what is not on yet, and set `--network_dim` to 32 or less:", Steps: kohyaAdds(step.Change{Flag: "--optimizer_type", Value: "AdamW8bit"}, step.Change{Flag: "--gradient_checkpointing"}, step.Change{Flag: "--sdpa"}),
	}
	kohyaCache = cause.Cure{
		Fix: "cpu_offload", Title: "Cache latents, train the UNet only", Cost: "No text encoder training; with cached text encoder outputs no caption shuffling.",
		Steps: func(c *ledger.Case) []step.Step {
			changes := []step.Change{{Flag: "--cache_latents_to_disk"}, {Flag: "--network_train_unet_only"}}
			if len(c.Facts.Code) > 0 && !kohyaSD1(c) { // without a traceback the script is not known
				changes = append(changes, step.Change{Flag: "--cache_text_encoder_outputs_to_disk"})
			}
			return kohyaAdds(changes...)(c)
		},
	}
	kohyaSwap = cause.Cure{
		Fix: "offload_optimizer", Title: "Swap blocks to RAM: `--blocks_to_swap`", Cost: "Slower; needs 32 GB of RAM or more; not with `--cpu_offload_checkpointing`.",
		Steps: func(c *ledger.Case) []step.Step {
			return kohyaAdds(append(kohyaEight(c), step.Change{Flag: "--blocks_to_swap", Value: kohyaSwapped(c)}, step.Change{Flag: "--cpu_offload_checkpointing", Drop: true})...)(c)
		},
	}
	kohyaRes = cause.Cure{
		Fix: "lower_resolution", Title: "Lower the resolution", Told: "Lower `--resolution` and `--max_bucket_reso`, for example from 1024 to 768, or from 768 to 512: about half of the pixels.", Cost: "Less detail learned.",
	}
)

var kohyaCards = webui.OfCard([]cause.Card{
	{
		ID: "kohya/caching", Kinds: webui.OnCard, Said: []string{"cache_batch_latents", "caching latents", "vae.encode("}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory while it cached latents",
		Means:    "Before training, the VAE encodes your images. Its memory grows with their size (`--resolution`, buckets) and with `--vae_batch_size`.",
		Not:      "A smaller rank, another optimizer: it failed in the VAE.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Encode one image at a time", Steps: kohyaAdds(step.Change{Flag: "--vae_batch_size", Value: "1"}, step.Change{Flag: "--cache_latents_to_disk"}), Cost: "Caching takes longer, once."},
			kohyaRes,
			{Fix: "close_other_apps", Title: "See what else is on the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free."},
		},
		Sources: []string{kohyaCode + "library/train_util.py"},
	},
	{
		ID: "kohya/samples", Kinds: webui.OnCard, Said: []string{"sample_images", "generating sample images"}, Unsaid: []string{"accelerator.backward", "optimizer.step"}, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory while it made sample images",
		Means:    "Sample images need the VAE and the text encoders on the card too, beside everything that training keeps there.",
		Not:      "A smaller training batch: making samples does not use it.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Make smaller sample images, or none", Told: "In the sample prompt file add `--w 512 --h 512` after each prompt. Without `--sample_prompts` no samples are made.", Cost: "Smaller previews."},
			{Fix: "cpu_offload", Title: "Free memory for them: cache latents, train the UNet only", Steps: func(c *ledger.Case) []step.Step {
				return kohyaAdds(append(kohyaEight(c), step.Change{Flag: "--cache_latents_to_disk"}, step.Change{Flag: "--network_train_unet_only"})...)(c)
			}, Cost: "No text encoder training; slightly less exact."},
			{Fix: "restart_session", Title: "Make the samples afterwards, in a UI", Told: "Train without `--sample_prompts` and with `--save_every_n_epochs 1`. Then try the saved LoRAs in ComfyUI or Forge.", Cost: "No previews while it trains."},
		},
		Sources: []string{kohyaCode + "library/train_util.py"},
	},
	{
		ID: "kohya/flux", Kinds: webui.OnCard, Said: []string{"flux_train", "flux_models.py", "sd3_train", "lumina_train", "anima_train", "hunyuan_image_train"}, Figures: pictures.Weighs, Cause: cause.TrainingStateTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory while training a large base model",
		Means:    "The base model fills much of the card.[[ {base}]] Activations, gradients and optimizer state come on top.[[ {beside}]] sd-scripts can keep part of the model in RAM (block swap) and, for a LoRA of FLUX, SD 3 or Lumina, load it at 8 bit.",
		Not:      "A smaller rank alone: the base model is many times larger.",
		Cures:    []cause.Cure{kohyaSwap, kohyaCache, {Fix: "lower_resolution", Title: "Lower the resolution", Told: "For example `--resolution 512,512` instead of 1024.", Cost: "Less detail learned."}},
		Sources:  []string{kohyaCode + "library/train_util.py", kohyaCode + "docs/flux_train_network.md", kohyaCode + "hunyuan_image_train_network.py", kohyaCode + "anima_train_network.py"},
	},
	{
		ID: "kohya/full-tune", Kinds: webui.OnCard, Said: []string{"fine_tune.py", "sdxl_train.py", "train_db.py"}, Cause: cause.TrainingStateTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory: this script trains the whole model, not a LoRA",
		Means:    "Training all weights also needs gradients and optimizer state for all of them. With AdamW at 32 bit that is about 40 GB for SDXL and 14 for SD 1.5, before any activations.",
		Not:      "Fewer steps: every step needs the same memory.",
		Cures: []cause.Cure{
			{Fix: "optimizer_8bit", Title: "Use Adafactor with a fused backward pass", If: tunesSDXL, Told: "Add these and `--train_batch_size 1 --cache_latents` to your own options:", Kind: "config", Text: "--optimizer_type Adafactor --optimizer_args scale_parameter=False relative_step=False warmup_init=False --fused_backward_pass --full_bf16 --mixed_precision bf16 --gradient_checkpointing", Cost: "SDXL then needs 24 GB; bf16 needs RTX 30 or newer."},
			{Fix: "optimizer_8bit", Title: "Use 8-bit Adam and gradient checkpointing", If: when.Not(tunesSDXL), Told: "Add to your own options:", Kind: "config", Text: "--optimizer_type AdamW8bit --gradient_checkpointing --mixed_precision fp16 --train_batch_size 1 --cache_latents", Cost: "A quarter slower; SD 1.5 then needs about 10 GB."},
			{Fix: "use_lora", Title: "Train a LoRA instead", Told: "Use `train_network.py`, for SDXL `sdxl_train_network.py` (in kohya_ss the tab LoRA instead of Dreambooth). 8 to 12 GB are usually enough.", Cost: "Slightly less faithful."},
			kohyaRes,
		},
		Sources: []string{kohyaCode + "library/train_util.py", kohyaCode + "docs/sdxl_train_network.md", "https://github.com/bmaltais/kohya_ss/issues/623"}, Solved: 1,
	},
	{
		ID: "kohya/prepare", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"accelerator.prepare(", "in prepare_model", "unet.to(accelerator.device", "in _prepare_one"}, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory while it loaded the model, before the first step",
		Means:    "It failed while the model went to the card. At 32 bit SD 1.5 takes about 4 GB with its text encoder, SDXL about 13; at 16 bit half of that.",
		Not:      "A smaller batch or resolution: loading the weights failed.",
		Cures: []cause.Cure{
			{Fix: "mixed_precision", Title: "Load the weights at 16 bit", Steps: kohyaAdds(step.Change{Flag: "--mixed_precision", Value: "fp16"}, step.Change{Flag: "--full_fp16"}), Cost: "fp16 can diverge; on RTX 30 and newer use bf16."},
			kohyaCache,
			{Fix: "optimizer_8bit", Title: "Use 8-bit Adam and gradient checkpointing", Told: "Add `--optimizer_type AdamW8bit --gradient_checkpointing`, which the training steps will need. `nvidia-smi` shows what else is on the card.", Cost: "A third slower."},
		},
		Sources: []string{kohyaCode + "train_network.py", kohyaCode + "library/train_util.py"},
	},
	{
		ID: "kohya/loading", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Phases: []string{"load"}, Unsaid: []string{"accelerator.backward", "sample_images", "vae.encode("}, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] while it loaded a model",
		Means:    "It failed while weights went to the card. At 32 bit SDXL's UNet alone has about 10 GB, its text encoders 3, SD 1.5 about 4 in all; at 16 bit half of that. If you train only the UNet, text encoders and VAE can stay off the card.",
		Not:      "A smaller batch: loading the weights failed.",
		Cures: []cause.Cure{
			{Fix: "mixed_precision", Title: "Load the weights at 16 bit", Steps: kohyaAdds(step.Change{Flag: "--mixed_precision", Value: "bf16"}, step.Change{Flag: "--full_bf16"}), Cost: "Needs RTX 30 or newer; older: `--mixed_precision fp16 --full_fp16`, which can diverge."},
			kohyaCache,
			{Fix: "optimizer_8bit", Title: "Use 8-bit Adam and gradient checkpointing", Told: "Add `--optimizer_type AdamW8bit --gradient_checkpointing`, which the training steps will need. If you train all weights: train a LoRA instead (`sdxl_train_network.py`).", Cost: "A third slower."},
		},
		Sources: []string{kohyaCode + "library/train_util.py", kohyaCode + "library/sdxl_train_util.py", "https://github.com/kohya-ss/sd-scripts/issues/725"},
	},
	{
		ID: "kohya/optimizer", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"optimizer.step", "optimizer_step", "exp_avg"}, Cause: cause.TrainingStateTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in the optimizer step",
		Means:    "Forward and backward pass worked. The optimizer creates its state in the first step: with AdamW that is twice the size of the trained weights, at 32 bit.",
		Not:      "Fewer steps: every step needs the same memory.",
		Cures: []cause.Cure{
			{Fix: "optimizer_8bit", Title: "Use 8-bit Adam", Steps: kohyaAdds(step.Change{Flag: "--optimizer_type", Value: "AdamW8bit"}), Cost: "Hardly any loss of quality."},
			{Fix: "use_lora", Title: "Train fewer weights", Told: "Set a lower `--network_dim` and `--network_train_unet_only`. If you train all weights now, train a LoRA instead.", Cost: "Less capacity."},
			{Fix: "lower_batch_size", Title: "Use batch size 1 and gradient checkpointing", Steps: kohyaAdds(step.Change{Flag: "--train_batch_size", Value: "1"}, step.Change{Flag: "--gradient_checkpointing"}, step.Change{Flag: "--sdpa"}), Cost: "About a third slower."},
		},
		Sources: []string{kohyaCode + "library/train_util.py"},
	},
	{
		ID: "kohya/step", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Said: []string{"train_network.py", "accelerator.backward", "noise_pred = ", "call_unet", "avr_loss="}, Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Headline: "ran out of GPU memory[[ ({total})]] in a training step",
		Means:    "A training step did not fit. Its memory grows with batch size and resolution. Buckets make some batches larger, so it can fail long after the start. Gradient checkpointing usually saves most, if it is off now.",
		Not:      "Fewer steps: every step needs the same memory.",
		Cures:    []cause.Cure{kohyaAdam, kohyaLean, kohyaCache, kohyaRes},
		Sources:  []string{kohyaCode + "train_network.py", kohyaCode + "library/train_util.py"},
	},
	{
		ID: "kohya/ram", Kinds: append(append([]fact.Kind{fact.CommitLimit, fact.WorkerKilled, fact.SharedMemory}, webui.InRAM...), webui.Killed...), Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of system memory (RAM), not VRAM",
		Means:    "Models are read into RAM first. Each data loader worker is a separate process that needs RAM too. Latents cached without `--cache_latents_to_disk` stay in RAM.",
		Not:      "`--gradient_checkpointing`: it saves GPU memory, not RAM.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Turn off loader workers, cache latents on disk", Steps: kohyaAdds(step.Change{Flag: "--max_data_loader_n_workers", Value: "0"}, step.Change{Flag: "--cache_latents_to_disk"}, step.Change{Flag: "--lowram"}), Cost: "Reading images takes longer."},
			{Fix: webui.LetWindowsPage.Fix, Title: webui.LetWindowsPage.Title, Told: webui.LetWindowsPage.Told, Cost: webui.LetWindowsPage.Cost, If: webui.MostlyWindows},
			{Fix: webui.MoreSwap.Fix, Title: webui.MoreSwap.Title, Kind: webui.MoreSwap.Kind, Text: webui.MoreSwap.Text, Cost: webui.MoreSwap.Cost, If: when.Not((*ledger.Case).Windows)},
			webui.CloseForRAM,
		},
		Sources: []string{kohyaCode + "library/train_util.py"},
	},
})

// besideDDP says what others hold of the card.
func besideDDP(c *ledger.Case) map[string]string {
	if !ledger.Crowded(c) {
		return map[string]string{"elsewhere": ""}
	}
	return map[string]string{"elsewhere": c.Others.String() + " of this card is used by others: another run, or ranks that took the wrong card."}
}

// kohyaDDP speaks on cards that others use as well.
var kohyaDDP = cause.Card{
	ID: "kohya/ddp", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"in _ddp_init_helper", "dist.Reducer("}, Cause: cause.TrainingStateTooLarge, Weight: cause.Decisive,
	Headline: "ran out of GPU memory while it set up training on several cards",
	Means:    "Multi-GPU training (DDP) puts the whole model on every card and reserves space for all gradients before the first step. For SD 1.5's whole UNet that is 3.2 GiB at 32 bit, for SDXL's 9.6. AdamW adds twice as much in the first step.[[ {elsewhere}]]",
	Figures:  besideDDP,
	Not:      "A smaller batch or resolution: no step has run yet. More cards: each holds the whole model.",
	Cures: []cause.Cure{
		{Fix: "use_lora", Title: "Train a LoRA", Told: "Use `train_network.py`, for SDXL `sdxl_train_network.py` (in kohya_ss the tab LoRA instead of Dreambooth or Finetuning). Its gradients take only 10 to 200 MB.", Cost: "Slightly less faithful."},
		{Fix: "mixed_precision", Title: "Keep weights and gradients at 16 bit", Steps: kohyaAdds(step.Change{Flag: "--mixed_precision", Value: "bf16"}, step.Change{Flag: "--full_bf16"}), Cost: "Needs RTX 30 or newer; older: `--mixed_precision fp16 --full_fp16`, which can diverge."},
		{Fix: "kill_stale_process", Title: "Check that each process has its own card", Told: "Run `nvidia-smi` while it starts: there should be one process per card, and none of an earlier run. `accelerate launch` sets the number of cards with `--num_processes`, and which ones with `--gpu_ids`.", Cost: "Free."},
	},
	Sources: []string{"pytorch/torch/nn/parallel/distributed.py", kohyaCode + "library/train_util.py"},
}

// tunesSDXL: sdxl_train.py, which alone of these has a fused backward pass.
func tunesSDXL(c *ledger.Case) bool { return c.Near("sdxl_train.py") }

// kohyaSaving writes what was trained (library/train_util.py, --save_precision;
// flux_train.py, --mem_eff_save).
var kohyaSaving = calls.Saving("kohya", cause.Cure{
	Fix: "half_precision", Title: "Save it in 16 bit", Steps: kohyaAdds(step.Change{Flag: "--save_precision", Value: "fp16"}), Cost: "None for making pictures.",
	Told: "This needs half of what 32 bit takes. `flux_train.py` also has `--mem_eff_save`, which saves without an extra copy.",
})
