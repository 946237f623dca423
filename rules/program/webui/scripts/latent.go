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
		Headline: "ran out of GPU memory[[ ({total})]]: it loads two models",
		Means:    "MagicQuill loads LLaVA, a language model that guesses the prompt (about 5 GB at 4 bit), and Stable Diffusion with BrushNets for the editing. Its authors count about 15 GB and recommend 24.",
		Not:      "`load_in_8bit_fp32_cpu_offload`: it leaves no GPU memory for the editing.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", Title: "Turn off prompt guessing (LLaVA)", Told: "In `gradio_run.py` replace `llavaModel = LLaVAModel()` with the line below. In the page turn the wand (DrawNGuess) off and type the prompt.", Kind: "python", Text: "llavaModel = None", Cost: "You write the prompts."},
			{Fix: "cpu_offload", Title: "On 4 to 8 GB: offload the editing model", Told: "In `MagicQuill/comfy/model_management.py`, in `cur_loaded_model = loaded_model.model_load(...)`, set the first argument to `64 * 1024 * 1024`. Nearly all weights then stay in RAM.", Cost: "Much slower."},
			{Fix: "bigger_gpu", Title: "Use its online demo, or a larger card", Told: "The demo is AI4Editing/MagicQuill on Hugging Face. Or rent a card with 16 to 24 GB.", Cost: "Money, or waiting in a queue."},
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
	Fix: "half_precision", Title: "Load the weights at 16 bit", Told: "In the script's `load_model_from_config`, before `model.cuda()`. Keep `--precision autocast` (the default).", Kind: "python", Text: "model = model.half()", Cost: "No visible difference; black images on GTX 16xx.",
}

// LatentDiffusion is the code of Stable Diffusion's authors (ldm, sgm, cldm) and
// what was built on it. Programs with a page contain it too.
var LatentDiffusion = program.Program{
	Name: "latent-diffusion", Shown: "Stable Diffusion", Work: "image-generation", Edits: "code", Language: "python", Script: "latent-diffusion-script", TakenFor: []string{"a1111"},
	Proofs: []string{"ldm/models/diffusion/", "ldm/modules/diffusionmodules/", "ldm/modules/attention.py", "sgm/modules/", "cldm/cldm.py", "scripts/txt2img.py", "scripts/img2img.py", "Loading model from models/ldm/"},
	Cards: webui.OfCard([]cause.Card{
		{
			ID: "latent-diffusion/training", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, If: func(c *ledger.Case) bool { return notOnUI(c) && c.Training() && !ledger.Roomy(c) }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]] in a training step",
			Means:    "This code trains at 32 bit by default, with plain attention, and keeps the whole model, VAE and text encoder on the card. Activations grow with batch size and resolution. Gradients and optimizer state come on top.",
			Not:      "Fewer steps: every step needs the same memory.",
			Cures: []cause.Cure{
				{Fix: "lower_batch_size", Title: "Lower the batch size, accumulate gradients", Told: "In the script or its config (ControlNet's `tutorial_train.py` uses 4):", Kind: "python", Text: "batch_size = 1\ntrainer = pl.Trainer(gpus=1, precision=16, accumulate_grad_batches=4)", Cost: "Slower; 16 bit can diverge."},
				{Fix: "efficient_attention", Title: "Turn on sliced attention or xformers", Told: "ControlNet: set `save_memory = True` in `config.py`. Others: install xformers; versions since 2023 use it if it is there.", Cost: "Some speed."},
				{Fix: "use_lora", Title: "Train with diffusers or kohya_ss instead", Told: "There a LoRA of SD 1.5 takes 6 to 8 GB, a ControlNet about 12 with 8-bit Adam and gradient checkpointing.", Cost: "Another program to set up."},
			},
			Sources: []string{controlNet + "train.md", controlNet + "low_vram.md"},
		},
		{
			ID: "latent-diffusion/load", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"load_model_from_config", "model.cuda()", "model.to(device)", "instantiate_from_config("}, Unsaid: []string{"p_sample", "decode_first_stage", "get_learned_conditioning"}, If: latentWork, Cause: cause.ModelTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]] while it loaded the checkpoint",
			Means:    "It failed while the weights went to the card. The original scripts keep them at 32 bit: about 4.3 GB for SD 1.x with VAE and text encoder, 13 for SDXL. 16 bit halves that.",
			Not:      "Smaller images, fewer samples: loading the weights failed.",
			Cures:    []cause.Cure{latentHalf, {Fix: "close_other_apps", Title: "See what else is on the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free."}, {Fix: "upgrade_version", Title: "Use the checkpoint in ComfyUI, Forge or diffusers", Told: "They can move parts of the model to RAM (diffusers: `enable_model_cpu_offload()`). SDXL then runs on 6 to 8 GB.", Cost: "Another program."}},
			Sources:  []string{compVis},
		},
		{
			ID: "latent-diffusion/from-picture", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"scripts/img2img.py", `scripts\img2img.py`}, If: latentWork, Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]]: img2img.py keeps the size of your image",
			Means:    "The script works at the size of `--init-img`. It was made for 512x512, and a photo has many times the pixels. Memory for its plain attention grows with the square of the pixels.",
			Not:      "`--H` and `--W`: the original script does not have them. Fewer steps: every step needs the same memory.",
			Cures: []cause.Cure{
				{Fix: "fix_shape", Title: "Scale the input image down", Told: "Make a small copy and pass it as `--init-img`, with `--n_samples 1`.", Kind: "python", Text: "from PIL import Image\n\npicture = Image.open(\"INPUT.jpg\").convert(\"RGB\")\npicture.thumbnail((512, 512))\npicture.save(\"small.png\")", Cost: "A smaller result; upscale it afterwards."},
				latentHalf,
				{Fix: "efficient_attention", Title: "Use a memory-efficient attention", Told: "Use the checkpoint in ComfyUI, Forge or diffusers, which have it built in. Or install xformers, if this code uses it (2023 and later).", Cost: "None; faster."},
			},
			Sources: []string{"https://github.com/CompVis/stable-diffusion/blob/main/scripts/img2img.py"},
		},
		{
			ID: "latent-diffusion/sample", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Unsaid: []string{"scripts/img2img.py", `scripts\img2img.py`}, If: latentWork, Cause: cause.BatchTooLarge, Weight: cause.Strong,
			Headline: "ran out of GPU memory[[ ({total})]] while it made an image",
			Means:    "This original code keeps the weights at 32 bit, and its plain attention grows with the square of the pixels. `txt2img.py` makes 3 images at once by default.",
			Not:      "Fewer steps (`--ddim_steps`): every step needs the same memory.",
			Cures: []cause.Cure{
				{Fix: "lower_batch_size", Title: "Make one image at a time, at a lower resolution", Told: "Add these to your command (sizes in multiples of 64):", Kind: "shell", Text: "python scripts/txt2img.py --n_samples 1 --n_iter 1 --H 448 --W 448", Cost: "A smaller image."},
				latentHalf,
				{Fix: "efficient_attention", Title: "Use a memory-efficient attention", Told: "Use the checkpoint in ComfyUI, Forge or diffusers, which have it built in. Or install xformers, if this code uses it (2023 and later).", Cost: "None; faster."},
			},
			Sources: []string{compVis},
		},
		{
			ID: "latent-diffusion/ram", Kinds: slices.Concat(webui.InRAM, webui.Killed), Said: []string{"Loading model from ", "load_model_from_config"}, If: func(c *ledger.Case) bool { return notOnUI(c) && !c.Training() }, Cause: cause.HostMemory, Weight: cause.Strong,
			Headline: "ran out of system memory (RAM) while it loaded the checkpoint",
			Means:    "The script reads the whole checkpoint into RAM and builds the model there at 32 bit. For a moment both are in RAM: about twice the size of the file (4 GB for SD 1.4).",
			Not:      "A smaller image, fewer samples: it failed before the first image.",
			Cures: []cause.Cure{
				{Fix: webui.MoreSwap.Fix, Title: webui.MoreSwap.Title, Kind: webui.MoreSwap.Kind, Text: webui.MoreSwap.Text, Cost: webui.MoreSwap.Cost, If: when.Not((*ledger.Case).Windows)},
				{Fix: webui.LetWindowsPage.Fix, Title: webui.LetWindowsPage.Title, Told: webui.LetWindowsPage.Told, Cost: webui.LetWindowsPage.Cost, If: (*ledger.Case).Windows},
				webui.CloseForRAM,
				{Fix: "use_mmap", Title: "Read the checkpoint from disk as it is needed", Told: "In the script's `load_model_from_config`, with PyTorch 2.1 or later:", Kind: "python", Text: "pl_sd = torch.load(ckpt, map_location=\"cpu\", mmap=True)", Cost: "None; only files written by PyTorch 1.6 or later."},
			},
			Sources: []string{compVis},
		},
	}),
}
