package webui

import (
	"path"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// kohyaAdds is where options go: the reader's own command, or a line of them.
func kohyaAdds(changes ...step.Change) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		for _, script := range [...]string{"sdxl_train_network.py", "flux_train_network.py", "train_network.py", "sdxl_train.py", "flux_train.py", "fine_tune.py", "train_db.py"} {
			if own := step.Typed(c, script); own != nil {
				return []step.Step{{Kind: "shell", Text: "accelerate launch " + script + " " + step.Edited(c, own, changes...)}}
			}
		}
		return []step.Step{{Kind: "text", Text: "At the end of the command (kohya_ss: Parameters, Advanced, Additional parameters):"}, {Kind: "config", Text: step.Edited(c, nil, changes...)}}
	}
}

// kohyaSD1: the script is that of SD 1 and 2, which has no options for caching
// the outputs of text encoders.
func kohyaSD1(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool { return path.Base(x.File) == "train_network.py" }) &&
		!slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool {
			return strings.Contains(x.File, "sdxl_") || strings.Contains(x.File, "flux_") || strings.Contains(x.File, "sd3_")
		})
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
		Fix: "lower_batch_size", Title: "Batch 1, gradient checkpointing, 8-bit Adam", Cost: "About a third slower.",
		Steps: kohyaAdds(step.Change{Flag: "--train_batch_size", Value: "1"}, step.Change{Flag: "--gradient_checkpointing"}, step.Change{Flag: "--optimizer_type", Value: "AdamW8bit"}, step.Change{Flag: "--sdpa"}),
	}
	kohyaCache = cause.Cure{
		Fix: "cpu_offload", Title: "Take VAE and text encoders off the card", Cost: "No caption shuffling, no text encoder training.",
		Steps: func(c *ledger.Case) []step.Step {
			changes := []step.Change{{Flag: "--cache_latents_to_disk"}, {Flag: "--network_train_unet_only"}}
			if !kohyaSD1(c) {
				changes = append(changes, step.Change{Flag: "--cache_text_encoder_outputs_to_disk"})
			}
			return kohyaAdds(changes...)(c)
		},
	}
	kohyaSwap = cause.Cure{
		Fix: "offload_optimizer", Title: "8-bit base, blocks swapped to RAM", Cost: "Slower; 32 GB of RAM or more.",
		Steps: func(c *ledger.Case) []step.Step {
			return kohyaAdds(step.Change{Flag: "--fp8_base"}, step.Change{Flag: "--blocks_to_swap", Value: kohyaSwapped(c)})(c)
		},
	}
	kohyaRes = cause.Cure{
		Fix: "lower_resolution", Title: "Smaller images", Told: "`--resolution 768,768 --max_bucket_reso 1024`, or 512: the work of a step falls with the pixels.", Cost: "Less detail learned.",
	}
)

var kohyaCards = ofCard([]cause.Card{
	{
		ID: "kohya/caching", Kinds: onCard, Said: []string{"cache_batch_latents", "caching latents", "vae.encode("},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory before training, while it cached latents",
		Means:    "The VAE was encoding the training images. Here their size (`--resolution`, buckets) and `--vae_batch_size` count; the network that is trained is not at work yet.",
		Not:      "A smaller rank or another optimizer: training had not begun.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Encode one image at a time", Steps: kohyaAdds(step.Change{Flag: "--vae_batch_size", Value: "1"}, step.Change{Flag: "--cache_latents_to_disk"}), Cost: "Caching takes longer, once."},
			kohyaRes,
			{Fix: "close_other_apps", Title: "See what else is on the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free."},
		},
		Sources: []string{kohyaCode + "library/train_util.py"},
	},
	{
		ID: "kohya/samples", Kinds: onCard, Said: []string{"sample_images", "generating sample images"}, Unsaid: []string{"accelerator.backward", "optimizer.step"},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory while it made sample images",
		Means:    "Training itself ran. The sample images in between need a whole pipeline (VAE and text encoders too) beside all that training holds.",
		Not:      "A smaller training batch: the samples do not depend on it.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Smaller samples, or none", Told: "In the sample prompt file, behind each prompt: `--w 512 --h 512`. Without `--sample_prompts` none are made; saved LoRAs can be tried afterwards.", Cost: "Smaller previews."},
			kohyaLean,
			kohyaRes,
		},
		Sources: []string{kohyaCode + "library/train_util.py"},
	},
	{
		ID: "kohya/flux", Kinds: onCard, Said: []string{"flux_train", "flux_models.py", "sd3_train", "lumina_train", "anima_train", "hunyuan_image_train"},
		Cause: cause.TrainingStateTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory: the base model needs swapping on this card",
		Means:    "A model of this kind (FLUX: 12 billion parameters, 24 GB at 16 bit, 12 at 8) does not fit beside its gradients on usual cards[[; this one has {total}]]. sd-scripts has two savings for it: 8-bit base weights, and blocks that wait in RAM.",
		Not:      "A smaller rank: the LoRA is megabytes, the base model is what fills the card.",
		Cures:    []cause.Cure{kohyaSwap, kohyaCache, {Fix: "lower_resolution", Title: "Train at 512", Told: "`--resolution 512,512`", Cost: "Less detail learned."}},
		Sources:  []string{kohyaCode + "library/train_util.py", kohyaCode + "docs/flux_train_network.md"},
	},
	{
		ID: "kohya/full-tune", Kinds: onCard, Said: []string{"fine_tune.py", "sdxl_train.py", "train_db.py"},
		Cause: cause.TrainingStateTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory: it trains all weights, not a LoRA",
		Means:    "Gradients and two optimizer moments come on top of the weights: for SDXL about 40 GB with AdamW at 32 bit, for SD 1.5 about 14, before any image[[, on a card of {total}]]. If a LoRA was meant, the wrong script or tab was started.",
		Not:      "A smaller batch alone: it does not touch weights, gradients and moments.",
		Cures: []cause.Cure{
			{Fix: "optimizer_8bit", Title: "All weights, the leanest way: Adafactor with a fused backward pass", If: tunesSDXL, Told: "With `--train_batch_size 1 --cache_latents`, beside your own options:", Kind: "config", Text: "--optimizer_type Adafactor --optimizer_args scale_parameter=False relative_step=False warmup_init=False --fused_backward_pass --full_bf16 --mixed_precision bf16 --gradient_checkpointing", Cost: "SDXL needs 24 GB then; RTX 30 and later for bf16."},
			{Fix: "optimizer_8bit", Title: "All weights, the leanest way: 8-bit Adam, checkpointing", If: when.Not(tunesSDXL), Told: "Beside your own options:", Kind: "config", Text: "--optimizer_type AdamW8bit --gradient_checkpointing --mixed_precision fp16 --train_batch_size 1 --cache_latents", Cost: "A quarter slower; SD 1.5 then needs about 10 GB."},
			{Fix: "use_lora", Title: "Or train a LoRA", Told: "`train_network.py`, for SDXL `sdxl_train_network.py` (kohya_ss: tab LoRA, not Dreambooth): 8 to 12 GB are enough.", Cost: "Slightly less faithful."},
			kohyaRes,
		},
		Sources: []string{kohyaCode + "library/train_util.py", kohyaCode + "docs/sdxl_train_network.md", "https://github.com/bmaltais/kohya_ss/issues/623"}, Solved: 1,
	},
	{
		ID: "kohya/prepare", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"accelerator.prepare(", "in prepare_model", "unet.to(accelerator.device", "in _prepare_one"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory while it put the model on the card",
		Means:    "No step had run. Without `--full_fp16` (or `--fp8_base` for Flux and SD3) the base model and its text encoders go to the card at 32 bit: SD 1.5 about 4 GB, SDXL about 13[[; here {mine} of {total} were in use already]]. On 4 GB even SD 1.5 only fits at 16 bit without its text encoder.",
		Not:      "A smaller batch, resolution or bucket: no image was read yet.",
		Cures: []cause.Cure{
			{Fix: "mixed_precision", Title: "Weights at 16 bit", Steps: kohyaAdds(step.Change{Flag: "--mixed_precision", Value: "fp16"}, step.Change{Flag: "--full_fp16"}), Cost: "fp16 can diverge; bf16 from RTX 30 on."},
			kohyaCache,
			{Fix: "optimizer_8bit", Title: "8-bit Adam, checkpointing, an empty card", Told: "`--optimizer_type AdamW8bit --gradient_checkpointing` for the steps that follow; `nvidia-smi` shows what else is there.", Cost: "A third slower."},
		},
		Sources: []string{kohyaCode + "train_network.py", kohyaCode + "library/train_util.py"},
	},
	{
		ID: "kohya/loading", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Phases: []string{"load"}, Unsaid: []string{"accelerator.backward", "sample_images", "vae.encode("},
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory[[ ({total})]] while a model went to the card",
		Means:    "The frame is that of a module being moved, before any step. At 32 bit SDXL's UNet alone is about 10 GB, its text encoders 3, SD 1.5 4 in all; at 16 bit half of that[[; here {mine} of {total} were full already]]. Text encoders and VAE need not be there at all while the UNet is trained.",
		Not:      "A smaller batch or rank: no image was read, and a LoRA is megabytes.",
		Cures: []cause.Cure{
			{Fix: "mixed_precision", Title: "Weights at 16 bit", Steps: kohyaAdds(step.Change{Flag: "--mixed_precision", Value: "bf16"}, step.Change{Flag: "--full_bf16"}), Cost: "Before RTX 30 fp16 and --full_fp16, which can diverge."},
			kohyaCache,
			{Fix: "optimizer_8bit", Title: "8-bit Adam and checkpointing for the steps that follow", Told: "`--optimizer_type AdamW8bit --gradient_checkpointing`. If all weights are trained: a LoRA instead (`sdxl_train_network.py`).", Cost: "A third slower."},
		},
		Sources: []string{kohyaCode + "library/train_util.py", kohyaCode + "library/sdxl_train_util.py", "https://github.com/kohya-ss/sd-scripts/issues/725"},
	},
	{
		ID: "kohya/optimizer", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"optimizer.step", "optimizer_step", "exp_avg"},
		Cause: cause.TrainingStateTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory in the first step of the optimizer",
		Means:    "Forward and backward pass went through. The optimizer makes its moments in the first step, with AdamW twice the size of what is trained at 32 bit.",
		Not:      "A smaller resolution: the moments do not depend on it.",
		Cures: []cause.Cure{
			{Fix: "optimizer_8bit", Title: "An 8-bit optimizer", Steps: kohyaAdds(step.Change{Flag: "--optimizer_type", Value: "AdamW8bit"}), Cost: "None that can be seen."},
			{Fix: "use_lora", Title: "Train fewer weights", Told: "`--network_dim 16 --network_alpha 8 --network_train_unet_only`; a LoRA if all weights are trained now.", Cost: "Less capacity."},
			kohyaLean,
		},
		Sources: []string{kohyaCode + "library/train_util.py"},
	},
	{
		ID: "kohya/step", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Said: []string{"train_network.py", "accelerator.backward", "noise_pred = ", "call_unet"},
		Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Headline: "ran out of graphics memory[[ ({total})]] in a training step",
		Means:    "Activations grow with batch and resolution, and buckets give some batches larger images than `--resolution`, so it can fail long after the start. Checkpointing computes them again instead of keeping them: the largest single saving, if it is not on.",
		Not:      "A smaller rank alone: the LoRA is megabytes.",
		Cures:    []cause.Cure{kohyaLean, kohyaCache, kohyaRes},
		Sources:  []string{kohyaCode + "train_network.py", kohyaCode + "library/train_util.py"},
	},
	{
		ID: "kohya/ram", Kinds: append(append([]fact.Kind{fact.CommitLimit, fact.WorkerKilled, fact.SharedMemory}, inRAM...), killed...),
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of the computer's own memory, not the card's",
		Means:    "Models are read into RAM first, data loader workers are each a copy of the program, and latents cached without `to_disk` stay in RAM.",
		Not:      "A smaller batch: it is about the card.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "No workers, latents on disk", Steps: kohyaAdds(step.Change{Flag: "--max_data_loader_n_workers", Value: "0"}, step.Change{Flag: "--cache_latents_to_disk"}, step.Change{Flag: "--lowram"}), Cost: "Reading images takes longer."},
			{Fix: letWindowsPage.Fix, Title: letWindowsPage.Title, Told: letWindowsPage.Told, Cost: letWindowsPage.Cost, If: mostlyWindows},
			{Fix: moreSwap.Fix, Title: moreSwap.Title, Kind: moreSwap.Kind, Text: moreSwap.Text, Cost: moreSwap.Cost, If: when.Not((*ledger.Case).Windows)},
			closeForRAM,
		},
		Sources: []string{kohyaCode + "library/train_util.py"},
	},
})

// tunesSDXL: sdxl_train.py, which alone of these has a fused backward pass.
func tunesSDXL(c *ledger.Case) bool { return c.Near("sdxl_train.py") }

var framepackCards = ofCard([]cause.Card{
	conv3dRegression("framepack/conv3d", of("framepack"),
		cause.Cure{Fix: "close_other_apps", Title: "Meanwhile: free the card", Told: "FramePack keeps 8 GB free for this step; `preserved_memory_gb=8` behind the sampling in demo_gradio.py (the offload before `vae_decode`) may go up to 20.", Cost: "Some seconds a section."}),
	{
		ID: "framepack/whole-attention", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, If: func(c *ledger.Case) bool { return ledger.NeverFits(c) != "" },
		Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "asked for {asked} in one piece: attention written out in full, on a card of {total}",
		Means:    "The scores between all parts of the clip were to be written down at once[[.{kernels}]]. That happens on cards without a fused kernel for bf16 (GTX 10, RTX 20, T4, P40): PyTorch's own kernels want RTX 30 or later there, as FramePack does[[.{spilled}]]. On an RTX 30 or later it means that PyTorch is not the build FramePack came with.",
		Figures: func(c *ledger.Case) map[string]string {
			out := map[string]string{"kernels": "", "spilled": ""}
			if c.Signal("no_fast_attention") != nil {
				out["kernels"] = " Its start lines say that neither xformers, flash-attn nor sage is installed, which leaves PyTorch's own attention"
			}
			if ledger.Overfull(c) {
				out["spilled"] = " More is allocated than the card has: Windows had moved the surplus to RAM"
			}
			return out
		},
		Not: "The slider GPU Inference Preserved Memory, a shorter clip, a page file: no setting makes such a piece fit.",
		Cures: []cause.Cure{
			{Fix: "efficient_attention", Title: "RTX 20: SageAttention 1", Told: "With FramePack's own Python (one-click package: `system\\python\\python.exe -m pip` in place of `pip`); it needs Triton (Windows: `triton-windows`).", Kind: "shell", Text: "pip install sageattention==1.0.6", Cost: "None; reported to work by some."},
			{Fix: "upgrade_version", Title: "Or a fork for these cards, at float16 or float32", Told: "FramePack-for-RTX20XX; or in demo_gradio.py `torch.float32` for each `torch.bfloat16` of the transformer: fused kernels exist for that.", Cost: "Twice the RAM at float32, slower."},
			{Fix: "bigger_gpu", Title: "An RTX 30 or later", Told: "FramePack names RTX 30, 40 and 50 as its requirement; 6 GB are enough there.", Cost: "Money."},
		},
		Sources: []string{framepack + "issues/233", framepack + "issues/341", framepack + "issues/419", framepack + "issues/330", "https://github.com/git-ai-code/FramePack-eichi/issues/7", framepack + "blob/main/README.md"}, Solved: 1,
	},
	{
		ID: "framepack/room-left", Kinds: []fact.Kind{fact.TorchAlloc}, If: ledger.Roomy,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "was refused {asked} although {free} of the card was free",
		Means:    "The card was not full. Windows counts card memory against RAM plus page file as well, and most likely those ran out: FramePack holds a model of 13 billion parameters, a Llama text encoder and three more in RAM, about 60 GB at the peak.",
		Not:      "The slider for preserved memory: the card was not full.",
		Cures: []cause.Cure{
			letWindowsPage,
			{Fix: "close_other_apps", Title: "Free system memory", Told: "Close browsers and games. With 32 GB of RAM have at least 40 GB of page file (Linux: swap).", Cost: "Free."},
			{Fix: "restart_session", Title: "Restart the computer, start FramePack alone", Told: "Watch \"Committed\" in Task Manager, Performance, Memory while it loads.", Cost: "Free."},
		},
		Sources: []string{framepack + "issues/132", framepack + "issues/233"}, Solved: 1,
	},
	{
		ID: "framepack/vae", Kinds: onCard, Said: []string{"vae_decode(", "in vae_decode", "vae_decode_fake"},
		Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Headline: "could not decode a section that it had sampled",
		Means:    "The VAE works in tiles and slices already, with 8 GB kept free for it where the card has them: the slider does not act on this step. So something else holds too much of the card, or parts of an earlier failure are still there.",
		Not:      "The slider for preserved memory: it holds for sampling.",
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "Free the card", Told: "`nvidia-smi` shows what else is there; on 6 to 8 GB let the browser draw without the card (hardware acceleration off).", Cost: "Free."},
			{Fix: "restart_session", Title: "Start FramePack again", Told: "Close its window and start it again: after a failure parts of the models stay on the card.", Cost: "Some minutes of loading."},
		},
		Sources: []string{framepack + "blob/main/demo_gradio.py", framepack + "issues/263", framepack + "issues/770"},
	},
	{
		ID: "framepack/ram", Kinds: append(append([]fact.Kind{fact.CommitLimit}, inRAM...), killed...),
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of the computer's own memory, not the card's",
		Means:    "FramePack holds a model of 13 billion parameters, a Llama text encoder and three more in RAM: about 60 GB at the peak, for which RAM and page file count together.",
		Not:      "The slider for preserved memory: it moves more into RAM.",
		Cures:    []cause.Cure{letWindowsPage, closeForRAM, notOn("windows", cause.Cure{Fix: moreSwap.Fix, Title: "On Linux: add swap", Kind: moreSwap.Kind, Text: moreSwap.Text, Cost: moreSwap.Cost})},
		Sources:  []string{framepack + "issues/74", framepack + "issues/233"}, Solved: 1,
	},
	{
		ID: "framepack/sampling", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"sample_hunyuan", "with preserved memory", "move_model_to_device_with_memory_preservation", "hunyuan_video_packed"},
		Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Headline: "ran out of graphics memory while sampling",
		Means:    "FramePack moves as much of the model to the card as leaves the preserved memory free; the work of a step needs more than that. The length of the video does not matter: each section needs the same.",
		Not:      "A shorter video or fewer steps.",
		Cures:    []cause.Cure{{Fix: "lowvram_mode", Title: "Preserve more memory", Told: "In the page: GPU Inference Preserved Memory (GB) from 6 to 8, then 10.", Cost: "Slower."}, {Fix: "efficient_attention", Title: "Sage attention or xformers", Told: "Into FramePack's own Python; at its start it prints which are installed.", Cost: "None; TeaCache is separate."}, {Fix: "close_other_apps", Title: "Free the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free."}},
		Sources:  []string{framepack + "blob/main/demo_gradio.py", framepack + "blob/main/diffusers_helper/memory.py"},
	},
})
