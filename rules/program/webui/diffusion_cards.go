package webui

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

const (
	diffusersDocs = "https://huggingface.co/docs/diffusers/optimization/memory"
	diffusersCode = "https://github.com/huggingface/diffusers/blob/main/src/diffusers/"
	kohyaCode     = "https://github.com/kohya-ss/sd-scripts/blob/main/"
	framepack     = "https://github.com/lllyasviel/FramePack/"
	fooocusThread = "https://github.com/lllyasviel/Fooocus/issues/"
)

// plainDiffusers is a script of the reader's own, no program built on diffusers.
func plainDiffusers(c *ledger.Case) bool { return !c.In("invokeai", "framepack", "sdnext", "fooocus") }

var (
	offloadModel = cause.Cure{
		Fix: "cpu_offload", Title: "Let diffusers move one component at a time", Kind: "python",
		Text: "pipe.enable_model_cpu_offload()   # instead of pipe.to(\"cuda\"), not after it", Cost: "A few seconds an image.",
	}
	offloadLayers = cause.Cure{
		Fix: "lowvram_mode", Title: "Move layer by layer", Kind: "python",
		Text: "pipe.enable_sequential_cpu_offload()   # instead of any other .to() or offload call", Cost: "Many times slower; the least memory.",
	}
	quantTransformer = cause.Cure{
		Fix: "use_lower_quant", Title: "Load the transformer in 4 bit", Kind: "python",
		Text: "import torch\nfrom diffusers import AutoModel, BitsAndBytesConfig, DiffusionPipeline\n\nrepo = \"black-forest-labs/FLUX.1-dev\"   # yours\nquant = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type=\"nf4\", bnb_4bit_compute_dtype=torch.bfloat16)\ntransformer = AutoModel.from_pretrained(repo, subfolder=\"transformer\", quantization_config=quant, torch_dtype=torch.bfloat16)\npipe = DiffusionPipeline.from_pretrained(repo, transformer=transformer, torch_dtype=torch.bfloat16)",
		Cost: "Little quality; diffusers 0.33, bitsandbytes.",
	}
	tiledVAE = cause.Cure{
		Fix: "vae_tiling", Title: "Decode in tiles", Kind: "python",
		Text: "pipe.vae.enable_tiling()\npipe.vae.enable_slicing()   # for more than one image at a time", Cost: "Some seconds.",
	}
)

var diffusersCards = ofCard([]cause.Card{
	{
		ID: "diffusers/to-cuda", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"pipe.to(", "pipeline.to(", ".to(\"cuda\")", ".to('cuda')"}, Unsaid: []string{"accelerator.backward", "in __call__"},
		If: plainDiffusers, Cause: cause.ModelTooLarge, Weight: 0.85,
		Means:   "The whole pipeline was being moved to the card: text encoders, transformer and VAE at once. No step needs more than one of them, so moving each when it runs is enough for most cards.",
		Not:     "A smaller image: nothing was computed yet. Offloading after `.to(\"cuda\")`: everything is on the card by then.",
		Cures:   []cause.Cure{offloadModel, quantTransformer, offloadLayers},
		Sources: []string{diffusersDocs, diffusersCode + "pipelines/pipeline_utils.py"},
	},
	{
		ID: "diffusers/component-too-large", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"module.to(self.execution_device)", "in pre_forward"},
		If: plainDiffusers, Cause: cause.ModelTooLarge, Weight: 0.75,
		Means:   "Model offload is at work already: it failed moving one component to the card. So a single component is too large for it: a FLUX transformer alone is 24 GB at 16 bit, T5-XXL 9.8 GB.",
		Not:     "`enable_model_cpu_offload()` once more, or a smaller image.",
		Cures:   []cause.Cure{quantTransformer, offloadLayers, {Fix: "cpu_offload", Title: "Offload in groups of layers", Kind: "python", Text: "import torch\n\npipe.transformer.enable_group_offload(onload_device=torch.device(\"cuda\"), offload_device=torch.device(\"cpu\"), offload_type=\"leaf_level\", use_stream=True)", Cost: "Faster than sequential; diffusers 0.33."}},
		Sources: []string{diffusersDocs, "https://github.com/huggingface/accelerate/blob/main/src/accelerate/hooks.py"},
	},
	{
		ID: "diffusers/video-decode", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError, fact.MPSAlloc}, Said: []string{"temporal_decoder", "autoencoder_kl_cogvideox", "autoencoder_kl_hunyuan_video", "autoencoder_kl_wan", "autoencoder_kl_ltx", "autoencoder_kl_mochi", "decode_chunk_size"},
		If: plainDiffusers, Cause: cause.BatchTooLarge, Weight: 0.85,
		Means:   "All steps were done; the video VAE failed. It decodes many frames at once, and without tiling this needs more than the transformer did.",
		Not:     "Quantising the transformer: it had finished.",
		Cures:   []cause.Cure{tiledVAE, {Fix: "lower_resolution", Title: "Decode or make fewer frames", Kind: "python", Text: "pipe(prompt, num_frames=49)\n# Stable Video Diffusion: pipe(image, decode_chunk_size=2)", Cost: "A shorter clip; with SVD a little flicker."}, offloadModel},
		Sources: []string{diffusersDocs, "https://github.com/jeanne-wang/svd_keyframe_interpolation/issues/4"}, Solved: 1,
	},
	{
		ID: "diffusers/decode", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"self.vae.decode(", "vae.decode(", "autoencoder_kl.py"}, Unsaid: []string{"vae.encode("},
		If: func(c *ledger.Case) bool { return plainDiffusers(c) && !c.Training() }, Cause: cause.BatchTooLarge, Weight: 0.85,
		Means:   "All steps were done; the VAE failed turning the latent into pixels. It grows with the pixels and with the number of images, and the models before it are still on the card.",
		Not:     "Fewer steps or attention slicing: the steps were over.",
		Cures:   []cause.Cure{tiledVAE, offloadModel, {Fix: "lower_batch_size", Title: "One image at a time", Kind: "python", Text: "pipe(prompt, num_images_per_prompt=1)", Cost: "Several calls."}},
		Sources: []string{diffusersDocs, diffusersCode + "models/autoencoders/autoencoder_kl.py"},
	},
	{
		ID: "diffusers/prompt", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"_get_t5_prompt_embeds", "encode_prompt(", "in encode_prompt"}, Unsaid: []string{"module.to(self.execution_device)"},
		If: plainDiffusers, Cause: cause.ModelTooLarge, Weight: 0.75,
		Means:   "It failed while the prompt was encoded, before the first step, with everything else on the card as well. T5-XXL alone is 9.8 GB at 16 bit; the image size does not matter here.",
		Not:     "A smaller image or VAE tiling: neither has begun.",
		Cures:   []cause.Cure{offloadModel, {Fix: "use_lower_quant", Title: "Load the text encoder in 8 bit", Kind: "python", Text: "from transformers import BitsAndBytesConfig, T5EncoderModel\n\nrepo = \"black-forest-labs/FLUX.1-dev\"   # yours\nencoder = T5EncoderModel.from_pretrained(repo, subfolder=\"text_encoder_2\", quantization_config=BitsAndBytesConfig(load_in_8bit=True))\n# then: from_pretrained(repo, text_encoder_2=encoder, ...); SD3: text_encoder_3", Cost: "Hardly any quality."}},
		Sources: []string{diffusersDocs, diffusersCode + "pipelines/flux/pipeline_flux.py"},
	},
	{
		ID: "diffusers/scores", Kinds: []fact.Kind{fact.TorchAlloc, fact.MPSAlloc, fact.MPSBuffer}, Said: []string{"get_attention_scores", "torch.baddbmm("},
		If: plainDiffusers, Cause: cause.OversizedAllocation, Weight: 0.85,
		Means:   "Attention builds its whole score matrix here (get_attention_scores), which grows with the square of the pixels. PyTorch 2's attention needs none; this runs with PyTorch 1, or a processor that was set by hand.",
		Not:     "16 bit alone: it halves what a smaller matrix would cut to a fraction.",
		Cures:   []cause.Cure{{Fix: "efficient_attention", Title: "Use PyTorch 2's attention", Kind: "python", Text: "from diffusers.models.attention_processor import AttnProcessor2_0\n\npipe.unet.set_attn_processor(AttnProcessor2_0())   # PyTorch 2; with 1.x: pipe.enable_xformers_memory_efficient_attention()", Cost: "None; faster."}, {Fix: "lower_resolution", Title: "Slice attention, or make it smaller", Kind: "python", Text: "pipe.enable_attention_slicing()", Cost: "Slower."}},
		Sources: []string{diffusersCode + "models/attention_processor.py"},
	},
})

var invokeCards = ofCard([]cause.Card{
	{
		ID: "invokeai/refused", Kinds: []fact.Kind{fact.InvokeRefused}, Cause: cause.ModelTooLarge, Weight: 0.8,
		Means:   "InvokeAI's model cache gave up: the model does not fit on the card as a whole beside the working memory that it keeps free. Loading it in part is a setting since 5.6, and on by default since 2026.",
		Not:     "`ram` and `vram` in invokeai.yaml: since 5.6 they do nothing.",
		Cures:   []cause.Cure{{Fix: "cpu_offload", Title: "Turn partial loading on", Kind: "config", Text: "# invokeai.yaml, then restart\nenable_partial_loading: true", Cost: "Some speed."}, {Fix: "use_lower_quant", Title: "Install the quantised variant", Kind: "ui", Text: "Model Manager, Starter Models: the Quantized variant of FLUX and of the T5 encoder", Cost: "Little quality."}},
		Sources: []string{"https://github.com/invoke-ai/InvokeAI/blob/main/invokeai/backend/model_manager/load/model_cache/model_cache.py", invokeLowVRAM},
	},
	{
		ID: "invokeai/decode", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError, fact.MPSAlloc}, Said: []string{"latents_to_image", "flux_vae_decode", "vae.decode(", "(l2i)"}, If: inInvoke,
		Cause: cause.BatchTooLarge, Weight: 0.85,
		Means:   "Denoising was done; decoding the latent failed. It grows with the pixels, and InvokeAI plans 3 GB of working memory unless told otherwise.",
		Cures:   []cause.Cure{{Fix: "vae_tiling", Title: "Decode in tiles", Kind: "config", Text: "# invokeai.yaml, then restart\nforce_tiled_decode: true", Cost: "Some seconds."}, {Fix: "lowvram_mode", Title: "Keep more working memory", Kind: "config", Text: "# invokeai.yaml, then restart (5.6 and later)\ndevice_working_mem_gb: 4", Cost: "Some speed: fewer weights stay on the card."}},
		Sources: []string{"https://github.com/invoke-ai/InvokeAI/blob/main/invokeai/app/services/config/config_default.py", invokeLowVRAM},
	},
	{
		ID: "invokeai/denoise", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"denoise_latents", "flux_denoise", "sd3_denoise", "cogview4_denoise"}, If: inInvoke,
		Cause: cause.BatchTooLarge, Weight: 0.7,
		Means:   "It failed in a denoising step. InvokeAI fills the card with weights except for its working memory (3 GB by default); large images, control layers and LoRAs need more than that.",
		Not:     "`ram` and `vram` in invokeai.yaml: since 5.6 they do nothing.",
		Cures:   []cause.Cure{{Fix: "lowvram_mode", Title: "Keep more working memory", Kind: "config", Text: "# invokeai.yaml, then restart (5.6 and later)\nenable_partial_loading: true\ndevice_working_mem_gb: 5", Cost: "Some speed."}, {Fix: "lower_resolution", Title: "Make it smaller, fewer control layers", Kind: "ui", Text: "1024x1024 or less; disable control layers and reference images one by one; enlarge in the Upscaling tab", Cost: "One step more."}},
		Sources: []string{invokeLowVRAM},
	},
	{
		ID: "invokeai/ram", Kinds: append(append([]fact.Kind{fact.CommitLimit}, inRAM...), killed...), If: inInvoke,
		Cause: cause.HostMemory, Weight: 0.88,
		Means:   "System memory ran out, not the card's. InvokeAI keeps models in a RAM cache, and a RAM copy of what is on the card; on Windows it reserves much more page file than it uses.",
		Not:     "`device_working_mem_gb`: it is about the card.",
		Cures:   []cause.Cure{letWindowsPage, {Fix: "raise_memory_limit", Title: "Make the RAM cache smaller", Kind: "config", Text: "# invokeai.yaml, then restart\nmax_cache_ram_gb: 8\nkeep_ram_copy_of_weights: false", Cost: "Slower switching of models."}, moreSwap},
		Sources: []string{invokeLowVRAM, "https://github.com/invoke-ai/InvokeAI/issues/7563"}, Solved: 1,
	},
})

const invokeLowVRAM = "https://invoke-ai.github.io/InvokeAI/features/low-vram/"

func inInvoke(c *ledger.Case) bool { return c.In("invokeai") }

var fooocusCards = ofCard([]cause.Card{
	{
		ID: "fooocus/swap", Kinds: append(append([]fact.Kind{fact.CommitLimit, fact.SilentDeath}, inRAM...), killed...),
		Cause: cause.HostMemory, Weight: 0.93,
		Means:   "System memory ran out, not the card's. Fooocus keeps SDXL, its refiner and a prompt model in RAM; its own guide asks for 40 GB of swap for nearly every crash like this.",
		Not:     "`--always-low-vram`: it is about the card and needs still more RAM.",
		Cures:   []cause.Cure{{Fix: "raise_pagefile", Title: "Give the page file room", Kind: "ui", Text: "Virtual memory: System managed size, with 40 GB free on the drive of Fooocus and on C:; restart the computer (Linux: 40 GB of swap)", Cost: "Disk space; an SSD, or it crawls."}, {Fix: "close_other_apps", Title: "Use no refiner, close browsers", Kind: "ui", Text: "Advanced, Model: Refiner None", Cost: "Slightly less detail."}},
		Sources: []string{"https://github.com/lllyasviel/Fooocus/blob/main/troubleshoot.md", fooocusThread + "177", fooocusThread + "196", fooocusThread + "237", fooocusThread + "3522"}, Solved: 4,
	},
	{
		ID: "fooocus/upscale", Kinds: onCard, Said: []string{"perform_upscale", "Upscaling image", "in apply_upscale", "upscaler.py"},
		Cause: cause.BatchTooLarge, Weight: 0.75,
		Means:   "It failed in Upscale or Variation: there the input's size counts, and 2x of a large picture is several times what SDXL was made for.",
		Cures:   []cause.Cure{{Fix: "lower_resolution", Title: "Use the fast upscale, or a smaller input", Kind: "ui", Text: "Input Image, Upscale or Variation: Upscale (Fast 2x), which only enlarges; or scale the picture to about 1000 pixels first", Cost: "Fast 2x adds no detail."}, {Fix: "lowvram_mode", Title: "Offload everything that is not in use", Kind: "shell", Text: "python entry_with_update.py --always-offload-from-vram --vae-in-fp16", Cost: "Some speed."}},
		Sources: []string{"https://github.com/lllyasviel/Fooocus/blob/main/ldm_patched/modules/args_parser.py"},
	},
	{
		ID: "fooocus/card", Kinds: onCard, If: func(c *ledger.Case) bool { return c.In("fooocus") && ledger.OnCard(c) },
		Cause: cause.BatchTooLarge, Weight: 0.5,
		Means:   "Fooocus manages the card by itself and is made to run SDXL in 4 GB. A failure on 6 GB or more mostly means that another program, or a second Fooocus, holds part of the card.",
		Not:     "Flags of other web UIs (`--lowvram`, `--medvram`): Fooocus has its own names.",
		Cures:   []cause.Cure{{Fix: "close_other_apps", Title: "See what else is on the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free."}, {Fix: "lowvram_mode", Title: "Force its low-memory mode", Kind: "shell", Text: "python entry_with_update.py --always-low-vram", Cost: "Slower."}, {Fix: "lower_resolution", Title: "Make it smaller, one at a time", Kind: "ui", Text: "Advanced: Aspect Ratios 704x1344 or smaller, Image Number 1, no ControlNet or Inpaint", Cost: "A smaller picture."}},
		Sources: []string{"https://github.com/lllyasviel/Fooocus/blob/main/troubleshoot.md"},
	},
})
