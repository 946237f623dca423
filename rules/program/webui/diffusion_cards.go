package webui

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

const (
	diffusersDocs = "https://huggingface.co/docs/diffusers/optimization/memory"
	diffusersCode = "https://github.com/huggingface/diffusers/blob/main/src/diffusers/"
	kohyaCode     = "https://github.com/kohya-ss/sd-scripts/blob/main/"
	framepack     = "https://github.com/lllyasviel/FramePack/"
	fooocusThread = "https://github.com/lllyasviel/Fooocus/issues/"
)

// plainDiffusers is a script of the reader's own, no program built on diffusers.
func plainDiffusers(c *ledger.Case) bool {
	return !c.In("invokeai", "framepack", "sdnext", "fooocus", "diffusers-train", "ai-toolkit", "onetrainer", "kohya")
}

var (
	offloadModel = cause.Cure{
		Fix: "cpu_offload", Title: "Move one component at a time", Kind: "python",
		Text: "pipe.enable_model_cpu_offload()   # instead of pipe.to(\"cuda\"), not after it", Cost: "A few seconds an image; RAM for the whole model.",
	}
	offloadLayers = cause.Cure{
		Fix: "lowvram_mode", Title: "Move layer by layer", Kind: "python",
		Text: "pipe.enable_sequential_cpu_offload()   # instead of any other .to() or offload call", Cost: "Many times slower; the least memory.",
	}
	quantTransformer = cause.Cure{
		Fix: "use_lower_quant", Title: "The transformer in 4 bit", Kind: "python",
		Text: "import torch\nfrom diffusers import AutoModel, BitsAndBytesConfig, DiffusionPipeline\n\nrepo = \"black-forest-labs/FLUX.1-dev\"   # yours\nquant = BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_quant_type=\"nf4\", bnb_4bit_compute_dtype=torch.bfloat16)\ntransformer = AutoModel.from_pretrained(repo, subfolder=\"transformer\", quantization_config=quant, torch_dtype=torch.bfloat16)\npipe = DiffusionPipeline.from_pretrained(repo, transformer=transformer, torch_dtype=torch.bfloat16)",
		Cost: "Little quality; diffusers 0.33, bitsandbytes.",
	}
	tiledVAE = cause.Cure{
		Fix: "vae_tiling", Title: "Decode in tiles", Kind: "python",
		Text: "pipe.vae.enable_tiling()\npipe.vae.enable_slicing()   # for more than one image at a time", Cost: "Some seconds.",
	}
	smallerCall = cause.Cure{
		Fix: "lower_resolution", Title: "Less in one call", Kind: "python",
		Text: "pipe(prompt, height=768, width=768, num_images_per_prompt=1)   # video: num_frames first", Cost: "Detail; 768 is 0.56 of the pixels of 1024.",
	}
)

var diffusersCards = ofCard([]cause.Card{
	conv3dRegression("diffusers/conv3d", when.All(of("diffusers"), plainDiffusers), tiledVAE),
	{
		ID: "diffusers/to-cuda", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"pipe.to(", "pipeline.to(", ".to(\"cuda\")", ".to('cuda')"}, Unsaid: []string{"accelerator.backward", "in __call__"},
		If: plainDiffusers, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory while the whole pipeline was moved to the card",
		Means:    "`.to(\"cuda\")` puts everything there at once: text encoders, transformer and VAE. [[{mine} of {total} were full when it stopped. ]]No step needs more than one of them, so moving each when it runs is enough for most cards.",
		Not:      "A smaller image: nothing was computed yet. Offloading after `.to(\"cuda\")`: everything is on the card by then.",
		Cures:    []cause.Cure{offloadModel, quantTransformer, offloadLayers},
		Sources:  []string{diffusersDocs, diffusersCode + "pipelines/pipeline_utils.py"},
	},
	{
		ID: "diffusers/component-too-large", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"module.to(self.execution_device)", "in pre_forward"},
		If: plainDiffusers, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory: one component alone is too large for the card",
		Means:    "Model offload is at work already: it failed moving a single component to the card. A FLUX transformer alone is 24 GB at 16 bit, T5-XXL 9.8[[; the card has {total}]].",
		Not:      "`enable_model_cpu_offload()` once more, or a smaller image.",
		Cures:    []cause.Cure{quantTransformer, offloadLayers, {Fix: "cpu_offload", Title: "Offload in groups of layers", Kind: "python", Text: "import torch\n\npipe.transformer.enable_group_offload(onload_device=torch.device(\"cuda\"), offload_device=torch.device(\"cpu\"), offload_type=\"leaf_level\", use_stream=True)", Cost: "Faster than sequential; diffusers 0.33."}},
		Sources:  []string{diffusersDocs, "https://github.com/huggingface/accelerate/blob/main/src/accelerate/hooks.py"},
	},
	{
		ID: "diffusers/video-decode", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError, fact.MPSAlloc}, Said: []string{"temporal_decoder", "autoencoder_kl_cogvideox", "autoencoder_kl_hunyuan_video", "autoencoder_kl_wan", "autoencoder_kl_ltx", "autoencoder_kl_mochi", "decode_chunk_size"},
		If: plainDiffusers, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "could not turn the sampled clip into frames",
		Means:    "All steps were done; the video VAE failed. It decodes many frames at once, and without tiling this needs more than the transformer did[[; {asked} more was refused]].",
		Not:      "Quantising the transformer, fewer steps: it had finished.",
		Cures:    []cause.Cure{tiledVAE, {Fix: "lower_resolution", Title: "Decode or make fewer frames", Kind: "python", Text: "pipe(prompt, num_frames=49)\n# Stable Video Diffusion: pipe(image, decode_chunk_size=2)", Cost: "A shorter clip; with SVD a little flicker."}, offloadModel},
		Sources:  []string{diffusersDocs, "https://github.com/jeanne-wang/svd_keyframe_interpolation/issues/4"}, Solved: 1,
	},
	{
		ID: "diffusers/decode", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"self.vae.decode(", "vae.decode(", "autoencoder_kl.py"}, Unsaid: []string{"vae.encode("},
		If: func(c *ledger.Case) bool { return plainDiffusers(c) && !c.Training() }, Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "could not decode the finished image",
		Means:    "All steps were done; the VAE failed turning the latent into pixels[[: {asked} more was refused]]. It grows with the pixels and with the number of images, and the models before it are still on the card.",
		Not:      "Fewer steps or attention slicing: the steps were over.",
		Cures:    []cause.Cure{tiledVAE, offloadModel, {Fix: "lower_batch_size", Title: "One image at a time", Kind: "python", Text: "pipe(prompt, num_images_per_prompt=1)", Cost: "Several calls."}},
		Sources:  []string{diffusersDocs, diffusersCode + "models/autoencoders/autoencoder_kl.py"},
	},
	{
		ID: "diffusers/prompt", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"_get_t5_prompt_embeds", "encode_prompt(", "in encode_prompt"}, Unsaid: []string{"module.to(self.execution_device)"},
		If: plainDiffusers, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory while it encoded the prompt",
		Means:    "No step had begun; everything else lies on the card beside the text encoder. T5-XXL alone is 9.8 GB at 16 bit, and the size of the image does not matter here.",
		Not:      "A smaller image or VAE tiling: neither has begun.",
		Cures:    []cause.Cure{offloadModel, {Fix: "use_lower_quant", Title: "The text encoder in 8 bit", Kind: "python", Text: "from transformers import BitsAndBytesConfig, T5EncoderModel\n\nrepo = \"black-forest-labs/FLUX.1-dev\"   # yours\nencoder = T5EncoderModel.from_pretrained(repo, subfolder=\"text_encoder_2\", quantization_config=BitsAndBytesConfig(load_in_8bit=True))\n# then: from_pretrained(repo, text_encoder_2=encoder, ...); SD3: text_encoder_3", Cost: "Hardly any quality."}, offloadLayers},
		Sources:  []string{diffusersDocs, diffusersCode + "pipelines/flux/pipeline_flux.py"},
	},
	{
		ID: "diffusers/scores", Kinds: []fact.Kind{fact.TorchAlloc, fact.MPSAlloc, fact.MPSBuffer}, Said: []string{"get_attention_scores", "torch.baddbmm("},
		If: plainDiffusers, Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "ran out of graphics memory in attention that writes out its scores",
		Means:    "`get_attention_scores` builds the whole score matrix[[, {asked} of it here]]; it grows with the square of the pixels. PyTorch 2's attention needs none, so this runs with PyTorch 1, or with a processor that was set by hand (attention slicing and some adapters do that).",
		Not:      "16 bit alone: it halves what a smaller matrix would cut to a fraction.",
		Cures:    []cause.Cure{{Fix: "efficient_attention", Title: "PyTorch 2's attention", Kind: "python", Text: "from diffusers.models.attention_processor import AttnProcessor2_0\n\npipe.unet.set_attn_processor(AttnProcessor2_0())   # PyTorch 2; with 1.x: pipe.enable_xformers_memory_efficient_attention()", Cost: "None; faster."}, smallerCall, {Fix: "lower_batch_size", Title: "Or slice it", Kind: "python", Text: "pipe.enable_attention_slicing()", Cost: "Slower; only where PyTorch 2's attention cannot be used."}},
		Sources:  []string{diffusersCode + "models/attention_processor.py"},
	},
	{
		ID: "diffusers/overfull", Kinds: []fact.Kind{fact.TorchAlloc}, If: func(c *ledger.Case) bool { return plainDiffusers(c) && !c.Training() && ledger.Overfull(c) },
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "holds more than the card has: Windows moved the rest to RAM, and that is full too",
		Means:    "More is allocated than the {total} of the card, so the driver had begun to use system memory (slow), until that gave out as well. Mostly all components lie on the card at once: `.to(\"cuda\")`, or an offload call after it, which comes too late.",
		Not:      "Allocator settings, a smaller image: the weights alone are past the card.",
		Cures:    []cause.Cure{offloadModel, quantTransformer, offloadLayers},
		Sources:  []string{diffusersDocs, "https://github.com/zai-org/CogView4/issues/16"},
	},
	{
		ID: "diffusers/training", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"diffusers/models/", "accelerate/commands/launch.py"}, If: func(c *ledger.Case) bool {
			return plainDiffusers(c) && c.Training() && !ledger.Roomy(c) && !ledger.Crowded(c)
		},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory[[ ({total})]] in a training step",
		Means:    "A step of training did not fit[[: {mine} of {total} is its own]]. diffusers' scripts keep every layer's results in 32 bit unless told otherwise, SDXL at 1024 pixels; with checkpointing, 16 bit and 8-bit Adam together that falls to a fraction.",
		Not:      "Allocator settings[[: {slack} to gain]]. CPU offload: that is for making images.",
		Cures: []cause.Cure{
			{Fix: "gradient_checkpointing", Title: "All savings of the script at once", Told: "Added to your `accelerate launch` command; `--help` lists what your script has:", Kind: "config", Text: "--gradient_checkpointing --mixed_precision fp16 --use_8bit_adam --train_batch_size 1 --gradient_accumulation_steps 4", Cost: "Slower steps; needs bitsandbytes."},
			{Fix: "lower_resolution", Title: "Smaller images", Kind: "config", Text: "--resolution 512", Cost: "Less detail learned."},
			{Fix: "use_smaller_model", Title: "Keep the text encoders out of it", Told: "Without `--train_text_encoder`, and with latents and text embeddings computed before (`--cache_latents`, where the script has it). A LoRA script in place of one that trains the whole network, if it is one.", Cost: "Words are learned less well."},
		},
		Sources: []string{"diffusers/examples/dreambooth/train_dreambooth_lora_sdxl.py", "diffusers/examples/dreambooth/train_dreambooth_lora_flux.py"},
	},
	{
		ID: "diffusers/steps", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"noise_pred = ", "in __call__", "transformer_flux.py", "unet_2d_condition.py", "models/transformers/"}, Unsaid: []string{"accelerator.backward", "loss.backward("},
		If: func(c *ledger.Case) bool {
			return plainDiffusers(c) && !c.Training() && !c.In("omnigen", "cogvideo", "wan2gp", "hunyuanvideo") && !ledger.Roomy(c)
		},
		Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Headline: "ran out of graphics memory[[ ({total})]] in a denoising step",
		Means:    "The model ran; the work of a step did not fit[[: {asked} more, with {mine} of {total} held already]]. It grows with pixels, images at a time and, for video, frames. Text encoders and VAE lie idle on the card meanwhile if the pipeline was moved there as a whole, so taking them off may be all that is needed.",
		Not:      "Fewer steps: each needs the same memory.",
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
			return map[string]string{"second": "The card refused as well, with " + units.Amount(f.Free.Bytes) + " free: Windows books card memory against the same."}
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

var invokePartialCure = cause.Cure{Fix: "cpu_offload", Title: "Turn partial loading on", Told: "In `invokeai.yaml` (5.6 and later), then restart:", Kind: "config", Text: "enable_partial_loading: true", Cost: "Some speed."}

// invokeOthers has a way to need less in the last step, where it needs most.
func invokeOthers() cause.Card {
	k := othersHold("invokeai/others-hold", "InvokeAI", inInvoke, invokeLowVRAM)
	tiles := cause.Cure{Fix: "vae_tiling", Title: "Meanwhile: decode in tiles", Told: "`force_tiled_decode: true` in `invokeai.yaml`, then restart; it helps where the steps were done and the image failed. Or half the width and height.", Cost: "Some seconds."}
	k.Cures = slices.Insert(k.Cures, len(k.Cures)-1, tiles)
	return k
}

var invokeCards = slices.Concat([]cause.Card{
	roomLeft("invokeai/room-left", inInvoke, invokePartialCure, invokeLowVRAM),
	invokeOthers(),
}, ofCard([]cause.Card{
	{
		ID: "invokeai/refused-whole", Kinds: []fact.Kind{fact.InvokeRefused}, If: oldInvoke, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "could not move a model to the card",
		Means:    "The frames are those of InvokeAI 4.0 or 4.1, which move each model to the card as a whole, beside what their VRAM cache keeps; 4.0.0 failed so for SDXL on cards of 12 GB. Loading a model in part came with 5.6.",
		Not:      "A smaller image: it failed on the weights, before any step. Allocator settings.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Update InvokeAI, load models in part", Told: "5.6 or later by the launcher; then in `invokeai.yaml`, and a restart:", Kind: "config", Text: "enable_partial_loading: true", Cost: "Some speed."},
			{Fix: "restart_session", Title: "Until then: nothing kept on the card", Told: "In `invokeai.yaml`, then restart and load this one model first:", Kind: "config", Text: "vram: 0\nprecision: float16", Cost: "Models move at every change."},
			{Fix: "close_other_apps", Title: "See what else is on the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free."},
		},
		Sources: []string{"https://github.com/invoke-ai/InvokeAI/issues/6106", "https://github.com/invoke-ai/InvokeAI/blob/v4.0.0/invokeai/backend/model_manager/load/model_cache/model_locker.py", invokeLowVRAM},
	},
	{
		ID: "invokeai/refused", Kinds: []fact.Kind{fact.InvokeRefused}, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "could not make room for a model on the card",
		Means:    "InvokeAI's model cache gave up: the model does not fit as a whole beside the working memory that it keeps free. Loading it in part is a setting since 5.6, and on by default in newer releases.",
		Not:      "`ram` and `vram` in invokeai.yaml: since 5.6 they do nothing. A smaller image: it failed on the weights.",
		Cures: []cause.Cure{
			invokePartialCure,
			{Fix: "use_lower_quant", Title: "The quantised variant", Told: "Model Manager, Starter Models: the Quantized FLUX and the Quantized T5 encoder, or a GGUF.", Cost: "Little quality; a download."},
			{Fix: "close_other_apps", Title: "See what else is on the card", Kind: "shell", Text: "nvidia-smi", Cost: "Free."},
		},
		Sources: []string{"https://github.com/invoke-ai/InvokeAI/blob/main/invokeai/backend/model_manager/load/model_cache/model_cache.py", invokeLowVRAM},
	},
	{
		ID: "invokeai/decode", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError, fact.MPSAlloc}, Said: []string{"latents_to_image", "flux_vae_decode", "vae.decode(", "(l2i)"}, If: inInvoke,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "could not decode the finished image",
		Means:    "Denoising was done; the VAE failed[[: {asked} more was refused]]. It grows with the pixels, and InvokeAI plans 3 GB of working memory unless told otherwise.",
		Not:      "Fewer steps or a smaller model: both are over by then.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Decode in tiles", Told: "In `invokeai.yaml`, then restart:", Kind: "config", Text: "force_tiled_decode: true", Cost: "Some seconds."},
			{Fix: "lowvram_mode", Title: "More working memory", Told: "In `invokeai.yaml` (5.6 and later):", Kind: "config", Text: "device_working_mem_gb: 4", Cost: "Some speed: fewer weights stay on the card."},
			{Fix: "lower_resolution", Title: "Smaller, then the Upscaling tab", Told: "1024 x 1024 or less.", Cost: "One step more."},
		},
		Sources: []string{"https://github.com/invoke-ai/InvokeAI/blob/main/invokeai/app/services/config/config_default.py", invokeLowVRAM},
	},
	{
		ID: "invokeai/text-encoder", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"text_encoder.py", "invocations/compel.py", `invocations\compel.py`, "text_encoder):", "(compel)", "compel_prompt"}, If: when.All(inInvoke, when.Not(ofInvoke2)),
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory[[ ({total})]] in the text encoder",
		Means:    "It failed on the prompt, before any step. T5-XXL of Flux and SD 3 has 9.8 GB at 16 bit, and models of the run before may still lie on the card beside it.[[ {mine%} of the card was InvokeAI's own.]]",
		Not:      "A smaller image, tiles: no work on it had begun.",
		Cures: []cause.Cure{
			{Fix: "use_lower_quant", Title: "The quantised T5 encoder", Told: "Model Manager, Starter Models: t5_bnb_int8_quantized_encoder (half as large), chosen in the Advanced settings of the model.", Cost: "Hardly any quality.", If: notSDXL},
			invokePartialCure,
			{Fix: "restart_session", Title: "Empty its cache first", Told: "Model Manager: Clear Model Cache, or restart InvokeAI; in 4.0 to 5.5 `lazy_offload: false` in `invokeai.yaml` does it after every model.", Cost: "Models load again."},
		},
		Sources: []string{"https://github.com/invoke-ai/InvokeAI/blob/main/invokeai/app/invocations/flux_text_encoder.py", "https://github.com/invoke-ai/InvokeAI/blob/main/invokeai/backend/model_manager/starter_models.py", "https://github.com/invoke-ai/InvokeAI/blob/v5.0.0/invokeai/app/services/config/config_default.py", invokeLowVRAM},
	},
	{
		ID: "invokeai/upscale", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"spandrel_image_to_image", "invocations/upscale.py", `invocations\upscale.py`, "(esrgan)"}, If: inInvoke,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory[[ ({total})]] in the upscale model",
		Means:    "Not denoising failed but the model that enlarges the image. It works in tiles, and the image and its result lie in RAM; so the tile did not fit beside the models that were still on the card.",
		Not:      "Fewer steps, another main model: neither takes part.",
		Cures: []cause.Cure{
			{Fix: "vae_tiling", Title: "Smaller tiles", Told: "Upscaling tab, Advanced: Tile Size 512; in a workflow: tile_size 256 in the upscale node (0 is no tiles at all).", Cost: "Slower."},
			{Fix: "restart_session", Title: "Empty the card first", Told: "Model Manager: Clear Model Cache.", Cost: "Models load again."},
			{Fix: "use_smaller_model", Title: "A 2x upscale model", Told: "In place of a 4x one.", Cost: "A smaller result."},
		},
		Sources: []string{"https://github.com/invoke-ai/InvokeAI/blob/v6.0.0/invokeai/app/invocations/spandrel_image_to_image.py"},
	},
	{
		ID: "invokeai/v3", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, If: ofInvoke3,
		Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Headline: "ran out of graphics memory[[ ({total})]]",
		Means:    "The frames are those of InvokeAI 3. It keeps finished models on the card up to its VRAM cache (2.75 GB in 3.0, 0.25 later), moves others in as a whole, and needs the rest for the image[[; {mine} of {total} was its own]].",
		Not:      "`enable_partial_loading`, `device_working_mem_gb`: they came with 5.6. Fewer steps: each needs the same.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "A smaller image", Told: "512 x 512 for SD 1.5, 1024 x 1024 for SDXL, high resolution optimisation and ControlNets off; enlarge afterwards.", Cost: "One step more."},
			{Fix: "lowvram_mode", Title: "Keep nothing on the card that is not in use", Told: "In `invokeai.yaml`, section Memory/Performance (Model Cache and Generation from 3.2 on), then restart; 3.2 and later `vram: 0` in place of max_vram_cache_size:", Kind: "config", Text: "max_vram_cache_size: 0\nsequential_guidance: true\nprecision: float16", Cost: "Slower."},
			{Fix: "upgrade_version", Title: "InvokeAI 5.6 or later", Told: "It loads a model in part where the card is too small.", Cost: "A new installation."},
		},
		Sources: []string{"https://github.com/invoke-ai/InvokeAI/blob/v3.0.0/invokeai/app/services/config.py", "https://github.com/invoke-ai/InvokeAI/blob/v3.4.0/invokeai/app/services/config/config_default.py", invokeLowVRAM},
	},
	{
		ID: "invokeai/denoise", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"denoise_latents", "flux_denoise", "sd3_denoise", "cogview4_denoise"}, If: inInvoke,
		Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Headline: "ran out of graphics memory[[ ({total})]] in a denoising step",
		Means:    "InvokeAI fills the card with weights except for its working memory (3 GB by default); large images, control layers and LoRAs need more than that.",
		Not:      "`ram` and `vram` in invokeai.yaml: since 5.6 they do nothing.",
		Cures: []cause.Cure{
			{Fix: "lowvram_mode", Title: "More working memory", Told: "In `invokeai.yaml`, then restart (5.6 and later):", Kind: "config", Text: "enable_partial_loading: true\ndevice_working_mem_gb: 5", Cost: "Some speed."},
			{Fix: "lower_resolution", Title: "Smaller, fewer control layers", Told: "1024 x 1024 or less; disable control layers and reference images one by one; enlarge in the Upscaling tab.", Cost: "One step more."},
			{Fix: "use_lower_quant", Title: "The quantised variant of the model", Told: "Model Manager, Starter Models.", Cost: "Little quality."},
		},
		Sources: []string{invokeLowVRAM},
	},
	{
		ID: "invokeai/whole-precision", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError}, Said: []string{"Using more accurate float32 precision"}, If: inInvoke,
		Cause: cause.ModelTooLarge, Weight: cause.Decisive,
		Headline: "loads the model at 32 bit, and the card is too small for that",
		Means:    "\"Using more accurate float32 precision\": every number takes 4 bytes instead of 2.[[ The network that makes the image, {network} million numbers, is {whole} so and {half} at 16 bit;]][[ text encoder and VAE come to it, on a card of {total}.]] InvokeAI 2 chooses this by itself on a GTX 1650 or 1660, which make black images at 16 bit, and on cards without CUDA.",
		Not:      "The lines after it (\"restoring None\", \"not a known model name\", models.yaml): they only follow. A smaller image: nothing was computed yet.",
		Figures:  networkSize,
		Cures: []cause.Cure{
			{Fix: "half_precision", Title: "Load it at 16 bit", Told: "Added to how you start it; if images turn black on a GTX 16xx, the next.", Kind: "config", Text: "--precision=float16", Cost: "Black images on GTX 16xx."},
			{Fix: "lowvram_mode", Title: "Keep less on the card", Told: "Added in the same place. Also close what uses the card (`nvidia-smi`): here every 100 MB count.", Kind: "config", Text: "--free_gpu_mem --max_loaded_models 1", Cost: "Some seconds an image."},
			{Fix: "cpu_offload", Title: "Or compute on the processor", Kind: "config", Text: "--always_use_cpu", Cost: "Minutes an image."},
		},
		Sources: []string{"https://github.com/invoke-ai/InvokeAI/blob/v2.2.5/ldm/invoke/args.py", "https://github.com/invoke-ai/InvokeAI/blob/v2.2.5/ldm/invoke/model_cache.py", "https://github.com/invoke-ai/InvokeAI/blob/v2.2.5/ldm/invoke/devices.py"},
	},
	{
		ID: "invokeai/v2", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError, fact.MPSAlloc}, Said: invoke2Words, If: inInvoke,
		Cause: cause.BatchTooLarge, Weight: cause.Likely,
		Headline: "ran out of graphics memory[[ ({total})]] while it made an image",
		Means:    "This is InvokeAI 2, which prints its VRAM statistics after each image: the model was loaded, the work on the image did not fit beside it[[ ({mine} of {total} are its own)]]. A model of Stable Diffusion 1.5 is 2 GB at 16 bit and 4 at 32; the rest grows with width times height.",
		Not:      "`invokeai.yaml`, partial loading, tiles: they came with 3 and later. Fewer steps: each needs the same.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "A smaller image", Told: "At its prompt: `-W384 -H512` (multiples of 64) instead of 512 x 512; enlarge afterwards with `-U 2`.", Cost: "One step more."},
			{Fix: "half_precision", Title: "16 bit, and nothing idle on the card", Told: "Start it with `--precision=float16 --free_gpu_mem --max_loaded_models 1`, or put these in the file `invokeai.init`. On a GTX 16xx 16 bit may make black images.", Cost: "Some seconds an image."},
			{Fix: "upgrade_version", Title: "A newer InvokeAI", Told: "From 5.6 on it loads a model in part where the card is too small.", Cost: "A new installation."},
		},
		Sources: []string{"https://github.com/invoke-ai/InvokeAI/blob/v2.3.5/ldm/generate.py", "https://github.com/invoke-ai/InvokeAI/blob/v2.3.5/ldm/invoke/args.py", invokeLowVRAM},
	},
	{
		ID: "invokeai/ram-v2", Kinds: append([]fact.Kind{fact.CommitLimit}, inRAM...), Said: []string{"ldm/invoke/", `ldm\invoke\`}, If: inInvoke,
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of the computer's own memory while it loaded a model",
		Means:    "System memory refused[[ {asked}]], the last piece of many: RAM (on Windows RAM plus page file) is used up.[[ {second}]] InvokeAI 2 reads a .ckpt into RAM as a whole, builds a second copy of the model, and keeps the model before it there too: 16 GB are short for that.",
		Figures:  refusedWithRoom,
		Not:      "A smaller image, half precision on the card, `max_split_size_mb`: the card was not full.",
		Cures: []cause.Cure{
			letWindowsPage,
			{Fix: "restart_session", Title: "Keep one model at a time", Told: "A line in `invokeai.init`, then restart: `--max_loaded_models 1`. Start with the model you need.", Cost: "Models load again at every change."},
			closeForRAM,
		},
		Later:   "Newer InvokeAI reads .safetensors with far less RAM.",
		Sources: []string{"https://github.com/invoke-ai/InvokeAI/blob/v2.2.5/ldm/invoke/args.py", "https://github.com/invoke-ai/InvokeAI/issues/2182", "https://github.com/invoke-ai/InvokeAI/issues/2308"},
	},
	{
		ID: "invokeai/ram", Kinds: append(append([]fact.Kind{fact.CommitLimit}, inRAM...), killed...), If: inInvoke,
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of the computer's own memory, not the card's",
		Means:    "InvokeAI keeps models in a RAM cache, and a RAM copy of what is on the card; on Windows it reserves much more page file than it uses.",
		Not:      "`device_working_mem_gb`: it is about the card.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "A smaller RAM cache", Told: "In `invokeai.yaml`, then restart:", Kind: "config", Text: "max_cache_ram_gb: 8\nkeep_ram_copy_of_weights: false", Cost: "Slower switching of models.", If: func(c *ledger.Case) bool { return !mostlyWindows(c) }},
			letWindowsPage,
			{Fix: "raise_memory_limit", Title: "A smaller RAM cache", Told: "In `invokeai.yaml`, then restart:", Kind: "config", Text: "max_cache_ram_gb: 8\nkeep_ram_copy_of_weights: false", Cost: "Slower switching of models.", If: mostlyWindows},
			closeForRAM,
		},
		Sources: []string{invokeLowVRAM, "https://github.com/invoke-ai/InvokeAI/issues/7563"}, Solved: 1,
	},
}))
