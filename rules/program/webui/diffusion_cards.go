package webui

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/webui/pipelines"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

const (
	diffusersDocs = "https://huggingface.co/docs/diffusers/optimization/memory"
	diffusersCode = "https://github.com/huggingface/diffusers/blob/main/src/diffusers/"
	framepack     = "https://github.com/lllyasviel/FramePack/"
	fooocusThread = "https://github.com/lllyasviel/Fooocus/issues/"
)

// plainDiffusers is a script of the reader's own, no program built on diffusers.
func plainDiffusers(c *ledger.Case) bool {
	return !c.In("invokeai", "framepack", "sdnext", "fooocus", "diffusers-train", "ai-toolkit", "onetrainer", "kohya")
}

// hasUNet: the log names a Stable Diffusion of a kind that has no transformer.
func hasUNet(c *ledger.Case) bool {
	name := strings.ToLower(c.ModelName())
	return strings.Contains(name, "stable-diffusion") && !strings.Contains(name, "stable-diffusion-3") || strings.Contains(name, "sdxl")
}

// oldAttention: diffusers before 0.15, whose attention is in cross_attention.py.
func oldAttention(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool { return strings.HasSuffix(x.File, "diffusers/models/cross_attention.py") })
}

var (
	offloadModel = cause.Cure{
		If: when.Not(pipelines.Offloads), Fix: "cpu_offload", Title: "Offload idle components: `enable_model_cpu_offload`", Kind: "python",
		Text: "pipe.enable_model_cpu_offload()   # instead of pipe.to(\"cuda\"), not after it", Cost: "Some seconds for each image; RAM for the whole model.",
	}
	offloadLayers = cause.Cure{
		Fix: "lowvram_mode", Title: "Offload layer by layer: `enable_sequential_cpu_offload`", Kind: "python",
		Text: "pipe.enable_sequential_cpu_offload()   # instead of any other .to() or offload call", Cost: "Many times slower.",
	}
	offloadGroups    = cause.Cure{Fix: "cpu_offload", Title: "Offload in groups of layers", Kind: "python", Text: "import torch\n\npipe.transformer.enable_group_offload(onload_device=torch.device(\"cuda\"), offload_device=torch.device(\"cpu\"), offload_type=\"leaf_level\", use_stream=True)", Cost: "Faster than sequential; diffusers 0.33."}
	quantTransformer = cause.Cure{
		Fix: "use_lower_quant", Title: "Load the transformer in 4 bit", Kind: "python", If: when.Not(hasUNet),
		Text: "import torch\nfrom diffusers import AutoModel, BitsAndBytesConfig, DiffusionPipeline\n\nrepo = \"black-forest-labs/FLUX.1-dev\"   # yours\nquant = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type=\"nf4\", bnb_4bit_compute_dtype=torch.bfloat16)\ntransformer = AutoModel.from_pretrained(repo, subfolder=\"transformer\", quantization_config=quant, torch_dtype=torch.bfloat16)\npipe = DiffusionPipeline.from_pretrained(repo, transformer=transformer, torch_dtype=torch.bfloat16)",
		Cost: "Slight loss of quality; diffusers 0.33 or later, bitsandbytes.",
	}
	halfUNet = cause.Cure{
		Fix: "half_precision", Title: "Load it at 16 bit, and share parts between pipelines", Kind: "python", If: hasUNet,
		Told: "A second pipeline (a refiner, img2img) can share the VAE and text encoder of the first:", Text: "pipe2 = DiffusionPipeline.from_pipe(pipe)   # the same weights; a refiner: from_pretrained(..., vae=pipe.vae, text_encoder_2=pipe.text_encoder_2, torch_dtype=torch.float16)", Cost: "No visible difference.",
	}
	tiledVAE = cause.Cure{
		Fix: "vae_tiling", Title: "Turn on VAE tiling", Kind: "python",
		Text: "pipe.vae.enable_tiling()\npipe.vae.enable_slicing()   # for more than one image at a time", Cost: "Some seconds.",
	}
	oneImage = cause.Cure{
		Fix: "lower_batch_size", Title: "Make one image at a time", If: func(c *ledger.Case) bool { return ledger.NeverFits(c) == "" && !c.Training() },
		Told: "Pass one prompt per call and ask for one image (set the script's batch size or number of images to 1):", Kind: "python", Text: "pipe(prompt, num_images_per_prompt=1)", Cost: "Several calls.",
	}
	smallerOnly = cause.Cure{
		Fix: "lower_resolution", Title: "Lower the resolution", Told: "In the pipeline call lower `height` and `width`, for example from 1024 to 768 (a third of the score matrix). Video: fewer `num_frames` first.", Cost: "Less detail.",
	}
	smallerCall = cause.Cure{
		Fix: "lower_resolution", Title: "Lower the resolution, one image at a time", Told: "In the pipeline call set `num_images_per_prompt=1` and lower `height` and `width`, for example from 1024 to 768 (multiples of 64). Video: fewer `num_frames` first.", Cost: "Less detail.",
	}
)

var diffusersCards = ofCard([]cause.Card{
	conv3dRegression("diffusers/conv3d", when.All(of("diffusers"), plainDiffusers), tiledVAE),
	pipelines.Whole(plainDiffusers, offloadLayers),
	pipelines.Loading(plainDiffusers, offloadLayers),
	pipelines.Offloaded(plainDiffusers, quantTransformer, offloadGroups, offloadLayers), pipelines.Sequential(plainDiffusers, smallerCall, quantTransformer),
	{
		ID: "diffusers/to-cuda", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"pipe.to(", "pipeline.to(", ".to(\"cuda\")", ".to('cuda')"}, Unsaid: []string{"accelerator.backward", "in __call__"}, If: plainDiffusers, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory while it moved the whole pipeline to the card",
		Means:    "`.to(\"cuda\")` puts all parts on the card at once: text encoders, transformer or UNet, VAE. They run one after another, so each can be moved when its turn comes, if the largest fits (FLUX.1: transformer 24 GB at 16 bit, T5 9.5; FLUX.2: 64 and 48).",
		Not:      "A smaller image: loading the weights failed. Offloading after `.to(\"cuda\")`: everything is on the card by then.",
		Cures:    []cause.Cure{offloadModel, quantTransformer, halfUNet, offloadLayers},
		Sources:  []string{diffusersDocs, diffusersCode + "pipelines/pipeline_utils.py"},
	},
	{
		ID: "diffusers/component-too-large", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"module.to(self.execution_device)", "in pre_forward"}, If: plainDiffusers, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory while it moved one component to the card",
		Means:    "Model offload is on already, but a single part does not fit on the card. FLUX.1's transformer alone has 24 GB at 16 bit, T5-XXL 9.5 GB.",
		Not:      "A smaller image: loading the weights failed.",
		Cures:    []cause.Cure{quantTransformer, offloadLayers, offloadGroups},
		Sources:  []string{diffusersDocs, "https://github.com/huggingface/accelerate/blob/main/src/accelerate/hooks.py"},
	},
	{
		ID: "diffusers/ram", Kinds: slices.Concat([]fact.Kind{fact.CommitLimit}, inRAM, killed), Said: []string{"Loading pipeline components", "pipelines/pipeline_utils.py", "pipelines/pipeline_loading_utils.py"}, If: plainDiffusers, Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of system memory (RAM) while it loaded the pipeline",
		Means:    "All parts of the pipeline are read into RAM first, at 32 bit if you give no `torch_dtype`. FLUX.1 has 34 GB at 16 bit, SDXL 7; 32 bit doubles that. Colab's free runtime has 12.7 GB of RAM.",
		Not:      "`enable_model_cpu_offload()`: it keeps the model in RAM.",
		Cures: []cause.Cure{
			{Fix: "half_precision", Title: "Load it at 16 bit: `torch_dtype`", Kind: "python", Text: "pipe = DiffusionPipeline.from_pretrained(repo, torch_dtype=torch.bfloat16)   # repo: as in your call; before RTX 30: torch.float16", Cost: "No visible difference."},
			{Fix: "use_lower_quant", Title: "Load files that are already quantised", Told: "For FLUX.1 load the transformer from a GGUF file (diffusers 0.32 or later, `pip install gguf`):", Kind: "python", Text: "transformer = FluxTransformer2DModel.from_single_file(\"https://huggingface.co/city96/FLUX.1-dev-gguf/blob/main/flux1-dev-Q4_K_S.gguf\", quantization_config=GGUFQuantizationConfig(compute_dtype=torch.bfloat16), torch_dtype=torch.bfloat16)\npipe = DiffusionPipeline.from_pretrained(repo, transformer=transformer, torch_dtype=torch.bfloat16)", Cost: "Slight loss of quality.", If: when.Not(hasUNet)},
			letWindowsPage, moreSwapIf,
			{Fix: "raise_memory_limit", Title: "Use a machine or runtime with more RAM", Told: "Colab: Runtime, Change runtime type, High-RAM. Docker and WSL: raise their memory limit. Or use a smaller model (SDXL instead of FLUX).", Cost: "Money."},
		},
		Sources: []string{diffusersDocs, diffusersCode + "pipelines/pipeline_utils.py", "https://huggingface.co/docs/diffusers/quantization/gguf"},
	},
	{
		ID: "diffusers/video-decode", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError, fact.MPSAlloc}, Said: []string{"temporal_decoder", "autoencoder_kl_cogvideox", "autoencoder_kl_hunyuan_video", "autoencoder_kl_wan", "autoencoder_kl_ltx", "autoencoder_kl_mochi", "decode_chunk_size"}, If: plainDiffusers, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in the video VAE",
		Means:    "The video VAE failed. It handles many frames at once, each at full size. Without tiling this can need more memory than the denoising steps did.",
		Not:      "Fewer steps: it failed in the VAE.",
		Cures:    []cause.Cure{tiledVAE, {Fix: "lower_resolution", Title: "Use fewer frames", Told: "In the pipeline call set `num_frames` to about half. Stable Video Diffusion: instead `decode_chunk_size=2`, then 1.", Cost: "A shorter clip; with SVD slight flicker."}, offloadModel},
		Sources:  []string{diffusersDocs, "https://github.com/jeanne-wang/svd_keyframe_interpolation/issues/4"}, Solved: 1,
	},
	{
		ID: "diffusers/decode", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"self.vae.decode(", "vae.decode(", "autoencoder_kl.py"}, Unsaid: []string{"vae.encode("}, If: func(c *ledger.Case) bool { return plainDiffusers(c) && !c.Training() }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in the VAE",
		Means:    "The VAE failed, which turns the latent into the image. Its memory grows with the resolution and the number of images. Without offloading, all other parts of the pipeline are still on the card.",
		Not:      "Fewer steps: it failed in the VAE.",
		Cures:    []cause.Cure{tiledVAE, offloadModel, {Fix: "lower_batch_size", Title: "Make one image at a time", Kind: "python", Text: "pipe(prompt, num_images_per_prompt=1)", Cost: "Several calls."}},
		Sources:  []string{diffusersDocs, diffusersCode + "models/autoencoders/autoencoder_kl.py"},
	},
	{
		ID: "diffusers/prompt", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"_get_t5_prompt_embeds", "encode_prompt(", "in encode_prompt"}, Unsaid: []string{"module.to(self.execution_device)"}, If: plainDiffusers, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory while it encoded the prompt",
		Means:    "The text encoder failed, before the denoising steps. Without offloading, all other parts of the pipeline are on the card too. T5-XXL (FLUX, SD 3) alone has 9.5 GB at 16 bit.",
		Not:      "A smaller image, VAE tiling: it failed in the text encoder.",
		Cures:    []cause.Cure{offloadModel, {Fix: "use_lower_quant", Title: "Load T5 in 8 bit", Kind: "python", Text: "from transformers import BitsAndBytesConfig, T5EncoderModel\n\nrepo = \"black-forest-labs/FLUX.1-dev\"   # yours\nencoder = T5EncoderModel.from_pretrained(repo, subfolder=\"text_encoder_2\", quantization_config=BitsAndBytesConfig(load_in_8bit=True))\n# then: from_pretrained(repo, text_encoder_2=encoder, ...); SD3: text_encoder_3", Cost: "Hardly any loss of quality."}, offloadLayers},
		Sources:  []string{diffusersDocs, diffusersCode + "pipelines/flux/pipeline_flux.py"},
	},
	{
		ID: "diffusers/scores", Kinds: []fact.Kind{fact.TorchAlloc, fact.MPSAlloc, fact.MPSBuffer}, Said: []string{"get_attention_scores", "torch.baddbmm("}, If: plainDiffusers, Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "ran out of GPU memory for the score matrix of attention",
		Means:    "Plain attention builds a score matrix that grows with the square of the pixels. PyTorch 2's attention does not need it. So this is PyTorch 1, or something set another attention processor (attention slicing and some adapters do).",
		Not:      "Fewer steps: every step needs the same memory.",
		Cures:    []cause.Cure{{Fix: "efficient_attention", Title: "Use memory-efficient attention", If: oldAttention, Told: "Run `pip install xformers` (the build for your PyTorch version). Then, after the pipeline is created:", Kind: "python", Text: "pipe.enable_xformers_memory_efficient_attention()", Cost: "None; faster."}, {Fix: "efficient_attention", Title: "Use PyTorch 2's attention", If: when.Not(oldAttention), Kind: "python", Text: "from diffusers.models.attention_processor import AttnProcessor2_0\n\npipe.unet.set_attn_processor(AttnProcessor2_0())   # PyTorch 2; with 1.x: pipe.enable_xformers_memory_efficient_attention()", Cost: "None; faster."}, oneImage, smallerOnly, {Fix: "lower_batch_size", Title: "Turn on attention slicing", Kind: "python", Text: "pipe.enable_attention_slicing()", Cost: "Slower; only where PyTorch 2's attention cannot be used."}},
		Sources:  []string{diffusersCode + "models/attention_processor.py"},
	},
	{
		ID: "diffusers/overfull", Kinds: []fact.Kind{fact.TorchAlloc}, If: func(c *ledger.Case) bool { return plainDiffusers(c) && !c.Training() && ledger.Overfull(c) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory, with more allocated than the card has",
		Means:    "More is allocated than the {total} of the card; the rest went to RAM, which is slow. Usually all parts of the pipeline are on the card at once: because of `.to(\"cuda\")`, or because the offload call comes after it.",
		Not:      "Fewer steps: every step needs the same memory.",
		Cures:    []cause.Cure{quantTransformer, offloadModel, offloadLayers},
		Sources:  []string{diffusersDocs, "https://github.com/zai-org/CogView4/issues/16"},
	},
	{
		ID: "diffusers/training", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"diffusers/models/", "accelerate/commands/launch.py"}, If: func(c *ledger.Case) bool {
			return plainDiffusers(c) && c.Training() && !ledger.Roomy(c) && !ledger.Crowded(c)
		},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] in a training step",
		Means:    "Weights, gradients, optimizer state and activations are on the card together. Gradient checkpointing, 16 bit and 8-bit Adam save most, if they are not on yet.",
		Not:      "`enable_model_cpu_offload()`: it is for making images, not for training.",
		Cures: []cause.Cure{
			{Fix: "gradient_checkpointing", Title: "Turn on gradient checkpointing, 16 bit and 8-bit Adam", Told: "Add what is not on yet to the end of your `accelerate launch` command (`--help` lists what your script has):", Kind: "config", Text: "--gradient_checkpointing --mixed_precision fp16 --use_8bit_adam --train_batch_size 1 --gradient_accumulation_steps 4", Cost: "Slower steps; needs bitsandbytes."},
			{Fix: "lower_resolution", Title: "Lower the resolution", Told: "For example:", Kind: "config", Text: "--resolution 512", Cost: "Less detail learned."},
			{Fix: "use_smaller_model", Title: "Do not train the text encoder", Told: "Remove `--train_text_encoder`, and add `--cache_latents` if the script has it. If the script trains all weights, use its LoRA variant.", Cost: "Words are learned less well."},
		},
		Sources: []string{"diffusers/examples/dreambooth/train_dreambooth_lora_sdxl.py", "diffusers/examples/dreambooth/train_dreambooth_lora_flux.py"},
	},
	{
		ID: "diffusers/steps", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"noise_pred = ", "in __call__", "transformer_flux.py", "unet_2d_condition.py", "models/transformers/"}, Unsaid: []string{"accelerator.backward", "loss.backward("},
		If: func(c *ledger.Case) bool {
			return plainDiffusers(c) && !c.Training() && !c.In("omnigen", "cogvideo", "wan2gp", "hunyuanvideo") && !ledger.Roomy(c)
		},
		Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Headline: "ran out of GPU memory[[ ({total})]] in a denoising step",
		Means:    "A denoising step did not fit beside the weights. Its memory grows with resolution, number of images and, for video, frames. If the whole pipeline is on the card, text encoders and VAE sit there idle; offloading them may be enough.",
		Not:      "Fewer steps: every step needs the same memory.",
		Cures:    []cause.Cure{offloadModel, smallerCall, quantTransformer},
		Sources:  []string{diffusersDocs},
	},
})

const invokeLowVRAM = "https://invoke-ai.github.io/InvokeAI/features/low-vram/"

func inInvoke(c *ledger.Case) bool { return c.In("invokeai") }

// invoke2Words are printed by InvokeAI 2 alone: its statistics (ldm/generate.py,
// 2.0 to 2.3.5) and its package.
var invoke2Words = []string{"Max VRAM used for this generation", "Could not generate image", "ldm/invoke/", `ldm\invoke\`, "ldm/generate.py", `ldm\generate.py`}

// invokeStep is a setting of invokeai.yaml, which InvokeAI 2 does not have.
func invokeStep(text, before string) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		if c.Near(invoke2Words...) {
			return []step.Step{{Kind: "text", Text: before}}
		}
		return []step.Step{{Kind: "config", Text: "# invokeai.yaml, then restart\n" + text}}
	}
}

// oldInvoke: the session processor of InvokeAI 4.0 and 4.1 calls invocations
// from _process itself.
func oldInvoke(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool {
		return strings.HasSuffix(x.File, "session_processor_default.py") && x.Function == "_process" && strings.Contains(x.Source, "invoke_internal")
	})
}

func ofInvoke2(c *ledger.Case) bool { return c.Near(invoke2Words...) }

// ofInvoke3: what ran invocations was processor.py up to 3.3 and
// invocation_processor_default.py up to 3.7.
func ofInvoke3(c *ledger.Case) bool {
	return inInvoke(c) && slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool {
		return strings.HasSuffix(x.File, "app/services/processor.py") || strings.HasSuffix(x.File, "invocation_processor_default.py")
	})
}

// notSDXL: its text encoders are CLIP, of which there is no quantised file.
func notSDXL(c *ledger.Case) bool {
	return !c.Near("compel_prompt", "(compel)", "invocations/compel.py")
}

// refusedWithRoom says of a second failure that the card had room.
func refusedWithRoom(c *ledger.Case) map[string]string {
	for _, x := range c.Facts.Failures {
		f := x.Figures
		if x.Kind == fact.TorchAlloc && f.Free != nil && f.Requested != nil && f.Free.Bytes > f.Requested.Bytes+units.GiB {
			return map[string]string{"second": "The card failed too, with " + units.Amount(f.Free.Bytes) + " free: Windows counts GPU memory against RAM plus page file."}
		}
	}
	return map[string]string{"second": ""}
}

// networkSize is what the network that makes the picture takes, as the log
// counts it.
func networkSize(c *ledger.Case) map[string]string {
	out := map[string]string{"network": "", "whole": "", "half": ""}
	if n, ok := c.Fact("network_mparams"); ok && n.Count != nil {
		out["network"], out["whole"], out["half"] = n.Count.Text, units.Amount(int64(n.Count.Value*4e6)), units.Amount(int64(n.Count.Value*2e6))
	}
	return out
}

var invokePartialCure = cause.Cure{Fix: "cpu_offload", Title: "Turn on partial loading", Told: "In `invokeai.yaml` (5.6 and later; on by default since 6.13), then restart:", Kind: "config", Text: "enable_partial_loading: true", Cost: "Some speed."}

// invokeOthers has a way to need less in the last step, where it needs most.
func invokeOthers() cause.Card {
	k := othersHold("invokeai/others-hold", "InvokeAI", inInvoke, invokeLowVRAM)
	tiles := cause.Cure{Fix: "vae_tiling", Title: "If it failed after the last step: turn on tiled decoding", Told: "`force_tiled_decode: true` in `invokeai.yaml`, then restart.", Cost: "Some seconds."}
	k.Cures = slices.Insert(k.Cures, len(k.Cures)-1, tiles)
	return k
}

var invokeCards = slices.Concat([]cause.Card{
	roomLeft("invokeai/room-left", inInvoke, invokePartialCure, invokeLowVRAM),
	invokeOthers(),
}, ofCard([]cause.Card{
	{
		ID: "invokeai/refused-whole", Kinds: []fact.Kind{fact.InvokeRefused}, If: oldInvoke, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "could not fit a model on the card",
		Means:    "This is InvokeAI 4.0 or 4.1. They move each model to the card whole, beside what their VRAM cache keeps. Version 4.0.0 failed like this with SDXL on 12 GB cards. Version 5.6 and later can load a model in part.",
		Not:      "A smaller image: loading the weights failed.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Update to 5.6 or later, turn on partial loading", Told: "Update with the launcher. Then put this into `invokeai.yaml` and restart:", Kind: "config", Text: "enable_partial_loading: true", Cost: "Some speed."},
			{Fix: "restart_session", Title: "Until then set `vram: 0`", Told: "In `invokeai.yaml`, then restart and load this model first:", Kind: "config", Text: "vram: 0\nprecision: float16", Cost: "Models move at every change."},
			{Fix: "close_other_apps", Title: "See what else is on the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free."},
		},
		Sources: []string{"https://github.com/invoke-ai/InvokeAI/issues/6106", "https://github.com/invoke-ai/InvokeAI/blob/v4.0.0/invokeai/backend/model_manager/load/model_cache/model_locker.py", invokeLowVRAM},
	},
	{
		ID: "invokeai/refused", Kinds: []fact.Kind{fact.InvokeRefused}, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "could not make room for a model on the card",
		Means:    "The model does not fit on the card beside the working memory that InvokeAI keeps free. With partial loading, the part that does not fit stays in RAM.",
		Not:      "`ram` and `vram` in invokeai.yaml: since 5.6 they do nothing. A smaller image: loading the weights failed.",
		Cures: []cause.Cure{
			invokePartialCure,
			{Fix: "use_lower_quant", Title: "Use the quantised variant of the model", Told: "Model Manager, Starter Models: for FLUX take the Quantized model and the Quantized T5 encoder. Or a GGUF file.", Cost: "Slight loss of quality; a download."},
			{Fix: "close_other_apps", Title: "See what else is on the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free."},
		},
		Sources: []string{"https://github.com/invoke-ai/InvokeAI/blob/main/invokeai/backend/model_manager/load/model_cache/model_cache.py", invokeLowVRAM},
	},
	{
		ID: "invokeai/decode", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError, fact.MPSAlloc}, Said: []string{"latents_to_image", "flux_vae_decode", "vae.decode(", "(l2i)"}, If: inInvoke, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in the VAE, after denoising",
		Means:    "Denoising was done; the VAE, which turns the latent into the image, failed. Its memory grows with the resolution. Since 5.6 InvokeAI keeps 3 GB of working memory free by default, which can be too little.",
		Not:      "Fewer steps: it failed in the VAE.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Turn on tiled decoding: `force_tiled_decode`", Told: "In `invokeai.yaml`, then restart:", Kind: "config", Text: "force_tiled_decode: true", Cost: "Some seconds."},
			{Fix: "lowvram_mode", Title: "Raise `device_working_mem_gb`", Told: "In `invokeai.yaml` (5.6 and later; 3 by default; if yours is higher, 2 more than now), then restart:", Kind: "config", Text: "device_working_mem_gb: 5", Cost: "Some speed: fewer weights stay on the card."},
			{Fix: "lower_resolution", Title: "Lower the resolution, then use the Upscaling tab", Told: "Half the width and height needs about a quarter of the memory here.", Cost: "One more step."},
		},
		Sources: []string{"https://github.com/invoke-ai/InvokeAI/blob/main/invokeai/app/services/config/config_default.py", invokeLowVRAM},
	},
	{
		ID: "invokeai/mac", Kinds: []fact.Kind{fact.MPSAlloc, fact.MPSBuffer}, Unsaid: []string{"latents_to_image", "flux_vae_decode", "vae.decode(", "(l2i)", "ldm/invoke/"}, If: inInvoke, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory on this Mac[[ (limit {limit})]]",
		Means:    "On a Mac the models, the image being made and all other programs share one memory. Models of an earlier image may still be in it.",
		Not:      "`enable_partial_loading`: RAM and GPU memory are the same here.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Make a smaller image", Told: "512 x 512 for SD 1.5, 1024 x 1024 or less for SDXL, with fewer control layers and reference images. Then use the Upscaling tab.", Cost: "One more step."},
			{Fix: "restart_session", Title: "Clear the model cache, close other programs", Told: "Tab Queue: Clear Model Cache (newer versions), or restart InvokeAI. Quit large programs (see Activity Monitor, Memory).", Cost: "Models load again."},
			{Fix: "use_smaller_model", Title: "Use a smaller model", Told: "SD 1.5 has 2 GB of weights, SDXL 7, FLUX 24 (a GGUF of it about 7).", Cost: "Lower quality."},
		},
		Sources: []string{invokeLowVRAM},
	},
	{
		ID: "invokeai/text-encoder", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"text_encoder.py", "invocations/compel.py", `invocations\compel.py`, "text_encoder):", "(compel)", "compel_prompt"}, If: when.All(inInvoke, when.Not(ofInvoke2)), Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] in the text encoder",
		Means:    "The text encoder, which reads the prompt, failed. T5-XXL (FLUX, SD 3) has 9.5 GB at 16 bit. Models of the last run may still be on the card too.",
		Not:      "A smaller image, tiled decoding: it failed in the text encoder.",
		Cures: []cause.Cure{
			{Fix: "use_lower_quant", Title: "Use the quantised T5 encoder", Told: "Model Manager, Starter Models: install t5_bnb_int8_quantized_encoder (half the size). Choose it in the model's Advanced settings.", Cost: "Hardly any loss of quality.", If: notSDXL},
			invokePartialCure,
			{Fix: "restart_session", Title: "Clear the model cache first", Told: "Tab Queue: Clear Model Cache (newer versions), or restart InvokeAI. In 4.0 to 5.5 `lazy_offload: false` in `invokeai.yaml` unloads each model after use.", Cost: "Models load again."},
		},
		Sources: []string{"https://github.com/invoke-ai/InvokeAI/blob/main/invokeai/app/invocations/flux_text_encoder.py", "https://github.com/invoke-ai/InvokeAI/blob/main/invokeai/backend/model_manager/starter_models.py", "https://github.com/invoke-ai/InvokeAI/blob/v5.0.0/invokeai/app/services/config/config_default.py", invokeLowVRAM},
	},
	{
		ID: "invokeai/upscale", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"spandrel_image_to_image", "invocations/upscale.py", `invocations\upscale.py`, "(esrgan)"}, If: inInvoke, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory[[ ({total})]] in the upscale model",
		Means:    "The upscale model failed, not denoising. It usually works in tiles: one tile did not fit beside what is already on the card.",
		Not:      "Fewer steps: it failed in the upscale model.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Lower the tile size", Told: "Upscaling tab, Advanced: Tile Size 512. In a workflow: tile_size 256 in the upscale node (0 means no tiles).", Cost: "Slower."},
			{Fix: "restart_session", Title: "Clear the model cache first", Told: "Tab Queue: Clear Model Cache (newer versions).", Cost: "Models load again."},
			{Fix: "use_smaller_model", Title: "Use a 2x upscale model", Told: "Choose it instead of a 4x one.", Cost: "A smaller result."},
		},
		Sources: []string{"https://github.com/invoke-ai/InvokeAI/blob/v6.0.0/invokeai/app/invocations/spandrel_image_to_image.py"},
	},
	{
		ID: "invokeai/v3", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, If: ofInvoke3, Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Headline: "ran out of GPU memory[[ ({total})]]",
		Means:    "This is InvokeAI 3. It moves each model to the card whole and keeps some there (VRAM cache: 2.75 GB in 3.0, 0.25 GB later). The image itself must fit into the rest.",
		Not:      "`enable_partial_loading`, `device_working_mem_gb`: they came with 5.6. Fewer steps: every step needs the same memory.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Lower the resolution", Told: "At most 512 x 512 for SD 1.5, 1024 x 1024 for SDXL. Turn high resolution optimisation and ControlNets off. Upscale afterwards.", Cost: "One more step."},
			{Fix: "lowvram_mode", Title: "Set the VRAM cache to 0", Told: "In `invokeai.yaml`, section Memory/Performance, then restart. From 3.1 on: sections Model Cache and Generation, and `vram: 0` instead of max_vram_cache_size.", Kind: "config", Text: "max_vram_cache_size: 0\nsequential_guidance: true\nprecision: float16", Cost: "Slower."},
			{Fix: "upgrade_version", Title: "Update to InvokeAI 5.6 or later", Told: "It can load a model in part where the card is too small.", Cost: "A new installation."},
		},
		Sources: []string{"https://github.com/invoke-ai/InvokeAI/blob/v3.0.0/invokeai/app/services/config.py", "https://github.com/invoke-ai/InvokeAI/blob/v3.4.0/invokeai/app/services/config/config_default.py", invokeLowVRAM},
	},
	{
		ID: "invokeai/denoise", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"denoise_latents", "flux_denoise", "sd3_denoise", "cogview4_denoise"}, If: inInvoke, Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Headline: "ran out of GPU memory[[ ({total})]] in a denoising step",
		Means:    "A denoising step did not fit beside the weights. Large images, control layers and reference images need more memory. Since 5.6 InvokeAI keeps 3 GB free for this by default, which can be too little.",
		Not:      "`ram` and `vram` in invokeai.yaml: since 5.6 they do nothing.",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "Raise `device_working_mem_gb`", Told: "In `invokeai.yaml` (5.6 and later), then restart:", Kind: "config", Text: "enable_partial_loading: true\ndevice_working_mem_gb: 5", Cost: "Some speed."},
			{Fix: "lower_resolution", Title: "Lower the resolution, fewer control layers", Told: "Disable control layers and reference images one by one. Upscale afterwards in the Upscaling tab.", Cost: "One more step."},
			{Fix: "use_lower_quant", Title: "Use the quantised variant of the model", Told: "You find it in the Model Manager, Starter Models.", Cost: "Slight loss of quality."},
		},
		Sources: []string{invokeLowVRAM},
	},
	{
		ID: "invokeai/whole-precision", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"Using more accurate float32 precision"}, If: inInvoke, Cause: cause.ModelTooLarge, Weight: cause.Decisive,
		Headline: "ran out of GPU memory and loads the model at 32 bit",
		Means:    "\"Using more accurate float32 precision\" means that every weight takes 4 bytes instead of 2.[[ The UNet takes {whole} and would take {half} at 16 bit.]] InvokeAI 2 chooses this itself on GTX 1650 and 1660, which make black images at 16 bit, and without CUDA.",
		Not:      "Editing models.yaml: \"restoring None\" and \"not a known model name\" only follow from this failure.",
		Figures:  networkSize,
		Cures: []cause.Cure{
			{Fix: "half_precision", Title: "Load it at 16 bit", Told: "Add this to your start command. If images turn black on a GTX 16xx, use the next fix.", Kind: "config", Text: "--precision=float16", Cost: "Black images on GTX 16xx."},
			{Fix: "lowvram_mode", Title: "Keep fewer models on the card: `--free_gpu_mem`", Told: "Add this to your start command. Also close other programs on the card (`nvidia-smi`).", Kind: "config", Text: "--free_gpu_mem --max_loaded_models 1", Cost: "Some seconds for each image."},
			{Fix: "cpu_offload", Title: "Run on the CPU", Kind: "config", Text: "--always_use_cpu", Cost: "Minutes for each image."},
		},
		Sources: []string{"https://github.com/invoke-ai/InvokeAI/blob/v2.2.5/ldm/invoke/args.py", "https://github.com/invoke-ai/InvokeAI/blob/v2.2.5/ldm/invoke/model_cache.py", "https://github.com/invoke-ai/InvokeAI/blob/v2.2.5/ldm/invoke/devices.py"},
	},
	{
		ID: "invokeai/v2", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError, fact.MPSAlloc}, Said: invoke2Words, If: inInvoke, Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Headline: "ran out of GPU memory[[ ({total})]] while it made an image",
		Means:    "This is InvokeAI 2. Stable Diffusion 1.5 has 2 GB of weights at 16 bit and 4 GB at 32. The rest of the memory is for the image and grows with width x height.",
		Cures: []cause.Cure{
			{Fix: "half_precision", Title: "Start at 16 bit with `--free_gpu_mem`", Told: "Start it with `--precision=float16 --free_gpu_mem --max_loaded_models 1`, or put these into the file `invokeai.init`.", Cost: "Some seconds for each image; black ones on GTX 16xx."},
			{Fix: "lower_resolution", Title: "Lower the resolution", Told: "At its prompt add `-W384 -H512` (multiples of 64) instead of 512 x 512. Upscale afterwards with `-U 2`.", Cost: "One more step."},
			{Fix: "upgrade_version", Title: "Update to InvokeAI 5.6 or later", Told: "It can load a model in part where the card is too small.", Cost: "A new installation."},
		},
		Sources: []string{"https://github.com/invoke-ai/InvokeAI/blob/v2.3.5/ldm/generate.py", "https://github.com/invoke-ai/InvokeAI/blob/v2.3.5/ldm/invoke/args.py", invokeLowVRAM},
	},
	{
		ID: "invokeai/ram-v2", Kinds: append([]fact.Kind{fact.CommitLimit}, inRAM...), Said: []string{"ldm/invoke/", `ldm\invoke\`}, If: inInvoke, Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of system memory (RAM), not VRAM",
		Means:    "RAM (on Windows RAM plus page file) is full.[[ {second}]] InvokeAI 2 reads a .ckpt into RAM whole, builds a second copy of it, and keeps the previous model there too. 16 GB can be too little.",
		Figures:  refusedWithRoom,
		Not:      "`max_split_size_mb`: it is for the card.",
		Cures: []cause.Cure{
			letWindowsPage,
			{Fix: "restart_session", Title: "Keep one model loaded: `--max_loaded_models 1`", Told: "Add it as a line to `invokeai.init`, then restart with the model you need.", Cost: "Models load again at every change."},
			closeForRAM,
		},
		Later:   "Newer InvokeAI reads .safetensors with far less RAM.",
		Sources: []string{"https://github.com/invoke-ai/InvokeAI/blob/v2.2.5/ldm/invoke/args.py", "https://github.com/invoke-ai/InvokeAI/issues/2182", "https://github.com/invoke-ai/InvokeAI/issues/2308"},
	},
	{
		ID: "invokeai/ram", Kinds: append(append([]fact.Kind{fact.CommitLimit}, inRAM...), killed...), If: inInvoke, Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of system memory (RAM), not VRAM",
		Means:    "InvokeAI keeps models in a RAM cache, and a RAM copy of the models on the card. On Windows RAM and page file count together.",
		Not:      "`device_working_mem_gb`: it is for the card.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Lower the RAM cache: `max_cache_ram_gb`", Told: "In `invokeai.yaml`, then restart:", Kind: "config", Text: "max_cache_ram_gb: 8\nkeep_ram_copy_of_weights: false", Cost: "Slower switching of models.", If: func(c *ledger.Case) bool { return !mostlyWindows(c) }},
			letWindowsPage,
			{Fix: "raise_memory_limit", Title: "Lower the RAM cache: `max_cache_ram_gb`", Told: "In `invokeai.yaml`, then restart:", Kind: "config", Text: "max_cache_ram_gb: 8\nkeep_ram_copy_of_weights: false", Cost: "Slower switching of models.", If: mostlyWindows},
			closeForRAM,
		},
		Sources: []string{invokeLowVRAM, "https://github.com/invoke-ai/InvokeAI/issues/7563"}, Solved: 1,
	},
}))
