package scripts

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/webui"
	"github.com/oomdoc/oomdoc/rules/when"
)

const magicQuill = "https://github.com/robbyant-research/MagicQuill/issues/"

// MagicQuill edits pictures: a language model that guesses prompts beside Stable
// Diffusion.
var MagicQuill = program.Program{
	Name: "magicquill", Shown: "MagicQuill", Work: "image-generation", Edits: "code", Language: "python",
	Proofs: []string{"MagicQuill/"},
	Cards: []cause.Card{{
		ID: "magicquill/guess", Kinds: []fact.Kind{fact.DispatchRefused, fact.TorchAlloc, fact.CUDAError}, If: func(c *ledger.Case) bool { return c.In("magicquill") }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory[[ ({total})]]: it loads two models",
		Means:    "It loads LLaVA, a language model that guesses the prompt (Draw and Guess, about 5 GB at 4 bit), and then Stable Diffusion with its BrushNets for the editing: about 15 GB by its authors' count, 24 recommended.",
		Not:      "`load_in_8bit_fp32_cpu_offload`: it leaves no VRAM for the editing.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", Title: "Turn off prompt guessing (LLaVA)", Told: "In `gradio_run.py`, in place of `llavaModel = LLaVAModel()`; in the page turn the wand (DrawNGuess) off and type the prompt.", Kind: "python", Text: "llavaModel = None", Cost: "You write the prompts."},
			{Fix: "cpu_offload", Title: "4 to 8 GB: offload the editing model", Told: "In `MagicQuill/comfy/model_management.py`, where `cur_loaded_model = loaded_model.model_load(...)` stands: `64 * 1024 * 1024` as the first argument keeps nearly all weights in RAM.", Cost: "Much slower."},
			{Fix: "bigger_gpu", Title: "Use its online demo, or a larger card", Told: "On Hugging Face: AI4Editing/MagicQuill; or a rented card of 16 to 24 GB.", Cost: "Money, or waiting in a queue."},
		},
		Sources: []string{magicQuill + "57", magicQuill + "5", magicQuill + "53", magicQuill + "87"}, Solved: 2,
	}},
}

// notOnUI: no program with a page of its own runs the code.
func notOnUI(c *ledger.Case) bool {
	return !c.In("comfyui", "a1111", "forge", "sdnext", "invokeai", "easy-diffusion", "fooocus", "deforum", "swarmui", "sd-dreambooth-extension", "kohya", "magicquill", "diffusers", "everydream", "onetrainer", "ai-toolkit")
}

func latentWork(c *ledger.Case) bool { return notOnUI(c) && !c.Training() && !ledger.Roomy(c) }

const (
	compVis    = "https://github.com/CompVis/stable-diffusion/blob/main/scripts/txt2img.py"
	controlNet = "https://github.com/lllyasviel/ControlNet/blob/main/docs/"
)

var latentHalf = cause.Cure{
	Fix: "half_precision", Title: "Load the weights at 16 bit", Told: "In `load_model_from_config` of the script, before `model.cuda()`; `--precision autocast` (the default) stays.", Kind: "python", Text: "model = model.half()", Cost: "No visible difference; black images on GTX 16xx.",
}

// LatentDiffusion is the code of Stable Diffusion's authors (ldm, sgm, cldm) and
// what was built on it. Programs with a page contain it too.
var LatentDiffusion = program.Program{
	Name: "latent-diffusion", Shown: "Stable Diffusion", Work: "image-generation", Edits: "code", Language: "python", Script: "latent-diffusion-script", TakenFor: []string{"a1111"},
	Proofs: []string{"ldm/models/diffusion/", "ldm/modules/diffusionmodules/", "ldm/modules/attention.py", "sgm/modules/", "cldm/cldm.py", "scripts/txt2img.py", "scripts/img2img.py", "Loading model from models/ldm/"},
	Cards: webui.OfCard([]cause.Card{
		{
			ID: "latent-diffusion/training", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, If: func(c *ledger.Case) bool { return notOnUI(c) && c.Training() && !ledger.Roomy(c) }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of graphics memory[[ ({total})]] in a training step",
			Means:    "This code trains at 32 bit unless told otherwise, and its plain attention writes out a score matrix[[; {mine} of {total} is this process's]]. Model, VAE and text encoder are on the card as a whole; activations grow with batch and resolution, and gradients and optimizer state come on top.",
			Not:      "Fewer steps: each needs the same.",
			Cures: []cause.Cure{
				{Fix: "lower_batch_size", Title: "Lower the batch size, accumulate gradients", Told: "In the script or its config (ControlNet's `tutorial_train.py` has 4):", Kind: "python", Text: "batch_size = 1\ntrainer = pl.Trainer(gpus=1, precision=16, accumulate_grad_batches=4)", Cost: "Slower; 16 bit can diverge."},
				{Fix: "efficient_attention", Title: "Turn on sliced attention or xformers", Told: "ControlNet: `save_memory = True` in `config.py`. Others: install xformers, which this code uses where it finds it (versions of 2023 on).", Cost: "Some speed."},
				{Fix: "use_lora", Title: "Train with diffusers or kohya instead", Told: "A LoRA of SD 1.5 takes 6 to 8 GB there, a ControlNet 12 with 8-bit Adam and checkpointing.", Cost: "Another program to set up."},
			},
			Sources: []string{controlNet + "train.md", controlNet + "low_vram.md"},
		},
		{
			ID: "latent-diffusion/load", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"load_model_from_config", "model.cuda()", "model.to(device)", "instantiate_from_config("}, Unsaid: []string{"p_sample", "decode_first_stage", "get_learned_conditioning"}, If: latentWork, Cause: cause.ModelTooLarge, Weight: cause.Strong,
			Headline: "ran out of graphics memory[[ ({total})]] while its checkpoint went to the card",
			Means:    "It failed while the weights went to the card. The script keeps them at 32 bit: SD 1.x about 4.3 GB with VAE and text encoder, SDXL about 13. At 16 bit it is half of that.",
			Not:      "Smaller images, fewer samples: it failed on the weights.",
			Cures:    []cause.Cure{latentHalf, {Fix: "close_other_apps", Title: "See what else is on the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free."}, {Fix: "upgrade_version", Title: "Use the checkpoint in ComfyUI, Forge or diffusers", Told: "They move parts of the model to RAM (diffusers: `enable_model_cpu_offload()`); SDXL runs on 6 GB there.", Cost: "Another program."}},
			Sources:  []string{compVis},
		},
		{
			ID: "latent-diffusion/from-picture", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"scripts/img2img.py", `scripts\img2img.py`}, If: latentWork, Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of graphics memory[[ ({total})]]: img2img.py keeps the size of your image",
			Means:    "The script works at the size of `--init-img`; it was made for 512x512, and a photo has many times that. Weights stay at 32 bit, and plain attention grows with the square of the pixels[[: {asked} more was refused with {mine} of {total} held]].",
			Not:      "`--H` and `--W`: this script does not have them. Fewer steps: each needs the same.",
			Cures: []cause.Cure{
				{Fix: "lower_resolution", Title: "Scale the input image down", Told: "Then pass the small file as `--init-img`, with `--n_samples 1`.", Kind: "python", Text: "from PIL import Image\n\npicture = Image.open(\"INPUT.jpg\").convert(\"RGB\")\npicture.thumbnail((512, 512))\npicture.save(\"small.png\")", Cost: "A smaller result; upscale it afterwards."},
				latentHalf,
				{Fix: "efficient_attention", Title: "Use a memory-efficient attention", Told: "Install xformers, where the code uses it (2023 and later); or use the checkpoint in ComfyUI, Forge or diffusers, which have it built in.", Cost: "None; faster."},
			},
			Sources: []string{"https://github.com/CompVis/stable-diffusion/blob/main/scripts/img2img.py"},
		},
		{
			ID: "latent-diffusion/sample", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Unsaid: []string{"scripts/img2img.py", `scripts\img2img.py`}, If: latentWork, Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of graphics memory[[ ({total})]] while it made an image",
			Means:    "In this code weights stay at 32 bit and plain attention grows with the square of the pixels[[: {asked} more was refused with {mine} of {total} held]]. `txt2img.py` makes 3 images at once by default.",
			Not:      "Fewer steps (`--ddim_steps`): each needs the same memory.",
			Cures: []cause.Cure{
				{Fix: "lower_batch_size", Title: "One image at a time, at a lower resolution", Told: "Add these to your command (multiples of 64; 448 has 0.77 of the pixels of 512):", Kind: "shell", Text: "python scripts/txt2img.py --n_samples 1 --n_iter 1 --H 448 --W 448", Cost: "A smaller image."},
				latentHalf,
				{Fix: "efficient_attention", Title: "Use a memory-efficient attention", Told: "Install xformers, where the code uses it (2023 and later); or use the checkpoint in ComfyUI, Forge or diffusers, which have it built in.", Cost: "None; faster."},
			},
			Sources: []string{compVis},
		},
		{
			ID: "latent-diffusion/ram", Kinds: slices.Concat(webui.InRAM, webui.Killed), Said: []string{"Loading model from ", "load_model_from_config"}, If: func(c *ledger.Case) bool { return notOnUI(c) && !c.Training() }, Cause: cause.HostMemory, Weight: cause.Strong,
			Headline: "ran out of system memory (RAM) while it loaded its checkpoint",
			Means:    "The script reads the whole checkpoint into RAM and builds the model there at 32 bit before it goes to the card. For a moment both are in RAM: twice the file (4 GB for SD 1.4, 5.7 for text2img-large).",
			Not:      "A smaller image, fewer samples: nothing was sampled yet.",
			Cures: []cause.Cure{
				{Fix: webui.MoreSwap.Fix, Title: webui.MoreSwap.Title, Kind: webui.MoreSwap.Kind, Text: webui.MoreSwap.Text, Cost: webui.MoreSwap.Cost, If: when.Not((*ledger.Case).Windows)},
				{Fix: webui.LetWindowsPage.Fix, Title: webui.LetWindowsPage.Title, Told: webui.LetWindowsPage.Told, Cost: webui.LetWindowsPage.Cost, If: (*ledger.Case).Windows},
				webui.CloseForRAM,
				{Fix: "use_mmap", Title: "Read the checkpoint from disk as it is needed", Told: "In `load_model_from_config` of the script, with PyTorch 2.1 or later:", Kind: "python", Text: "pl_sd = torch.load(ckpt, map_location=\"cpu\", mmap=True)", Cost: "None; only files written by PyTorch 1.6 or later."},
			},
			Sources: []string{compVis},
		},
	}),
}
