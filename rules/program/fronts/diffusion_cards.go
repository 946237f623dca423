package fronts

import (
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/apps/kit"
	"github.com/oomdoc/oomdoc/rules/program/ggml"
	"github.com/oomdoc/oomdoc/rules/when"
)

var (
	diffusionSources = []string{"stable-diffusion.cpp/docs/backend.md", "stable-diffusion.cpp/docs/performance.md", "stable-diffusion.cpp/examples/common/common.cpp"}
	drawing          = []fact.Kind{fact.GGMLAlloc, fact.GGMLLimit, fact.GGMLRuntime, fact.GGMLSYCL}
	// smallerPicture and offCard: the two things that always help.
	smallerPicture = does("lower_resolution", "Lower the resolution", "text", "Lower `-W` and `-H` (SD 1.5: 512 x 512; SDXL, FLUX and others: 768 x 768 or less) and set `-b 1`. For video, also lower `--video-frames`.", "a smaller image")
	offCard        = does("cpu_offload", "Offload weights to RAM: `--offload-to-cpu`", "text", "Add `--offload-to-cpu`: each model is then on the GPU only while it runs. Newer builds also have `--max-vram` (May 2026) and `--auto-fit` (July 2026).", "slower")
)

// vaeBuffer is the working memory of the VAE, where the last line on such a
// buffer is about it.
func vaeBuffer(c *ledger.Case) map[string]string {
	x, ok := c.Fact("diffusion_part")
	if !ok || x.Size == nil || x.Size.Bytes == ledger.Requested(c) || !strings.Contains(strings.ToLower(x.Text), "vae") {
		return map[string]string{"vae": ""}
	}
	return map[string]string{"vae": units.Amount(x.Size.Bytes)}
}

// pieceFigures say where the driver's limit of one buffer was met.
func pieceFigures(c *ledger.Case) map[string]string {
	if c.Root(fact.GGMLLimit) {
		return map[string]string{"piece": "This driver allows no single buffer that large, however much is free."}
	}
	return map[string]string{"piece": ""}
}

// flashOn: the command has flash attention.
func flashOn(c *ledger.Case) bool { return c.Near("--diffusion-fa") }

// inKobold: the part of KoboldCpp that makes pictures has options of its own.
func inKobold(c *ledger.Case) bool { return c.Says("koboldcpp") }

// diffusionCards are stable-diffusion.cpp's.
var diffusionCards = []cause.Card{
	{
		ID: "stable-diffusion.cpp/kobold-load", Kinds: drawing, Said: []string{"params buffer", "Loading Image Model", "KCPP SD Failed to create context"}, If: when.All(onGPU, inKobold, when.Not(ggml.Samples)), Unsaid: []string{"compute buffer"},
		Cause: cause.ModelTooLarge, Weight: cause.Decisive, Headline: "could not load the image model: {asked} did not fit on the GPU",
		Means: "KoboldCpp's image generator (stable-diffusion.cpp) loads the image model onto the GPU, next to the text model if there is one. Together they need more than is free.",
		Not:   "A smaller image: it failed on the weights.",
		Cures: []cause.Cure{
			does("use_lower_quant", "Use a quantised image model", "text", "Turn on Compress Weights in the tab Image Gen (`--sdquant`), which quantises a safetensors file while it loads. Or download a Q4_K or Q4_0 GGUF of the model.", "slight loss of quality"),
			does("fewer_gpu_layers", "Lower GPU Layers of the text model", "text", "Lower `--gpulayers`, or start without the text model.", "slower text"),
			does("use_smaller_model", "Use a smaller image model", "text", "SDXL or SD 1.5 instead of Flux.", "lower quality"),
		},
		Sources: []string{"koboldcpp.py", koboldWiki},
	},
	{
		ID: "stable-diffusion.cpp/kobold", Kinds: drawing, If: when.All(onGPU, inKobold),
		Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out of GPU memory while making an image",
		Means: "KoboldCpp's image generator (stable-diffusion.cpp) ran out of GPU memory. The working memory of the steps and of the final decoding grows with the number of pixels.",
		Not:   "Fewer steps: each step needs the same memory.",
		Cures: []cause.Cure{
			does("lower_resolution", "Lower the resolution", "text", "Ask for a smaller image, such as 512 x 512. `--sdclamped 512` sets that as the limit for everyone.", "less detail"),
			does("vae_tiling", "Decode with TAESD", "text", "Tick TAE SD in the tab Image Gen (`--sdvaeauto`): decoding then takes very little.", "some detail"),
			does("use_lower_quant", "Use a quantised image model", "text", "Compress Weights in the tab Image Gen (`--sdquant`), or a Q4 GGUF.", "slight loss of quality"),
		},
		Sources: []string{"koboldcpp.py", koboldWiki},
	},
	{
		ID: "stable-diffusion.cpp/lora", Kinds: drawing, Said: []string{"lora: failed", "lora alloc", "attempting to apply", "loading LoRA from"}, If: when.All(onGPU, when.Not(ggml.Samples)),
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "ran out of GPU memory while merging a LoRA into the weights",
		Means:    "The LoRA was being merged into the model's weights, and the buffer for that was refused[[: {asked} at once]]. Its size depends on the model and the LoRA, not on the image. Vulkan drivers often allow only 2 or 4 GiB in a single buffer.",
		Not:      "`--vae-tiling` or a smaller image: it failed on the weights.",
		Cures: []cause.Cure{
			does("upgrade_version", "Update stable-diffusion.cpp", "text", "Builds since 30 November 2025 need less memory for the merge on Vulkan. Then also try `--lora-apply-mode at_runtime`, which does not merge at all.", "a download; somewhat slower steps"),
			does("cpu_offload", "Start without `--offload-to-cpu`", "text", "If you set it: versions of 2025 then asked for all weights in one buffer. The model must fit on the GPU without it.", "more GPU memory"),
			does("use_lower_quant", "Use a smaller file of the model, or one with the LoRA merged", "text", "A Q4_0 or Q8_0 GGUF of the model, or a checkpoint that already contains the LoRA.", "some quality, or a download"),
		},
		Sources: append([]string{"stable-diffusion.cpp/docs/lora.md"}, diffusionSources...),
	},
	{
		ID: "stable-diffusion.cpp/vae", Kinds: drawing, Said: []string{"vae: failed", "vae alloc", "vae compute buffer", "decoding 1 latents", "first_stage_model", "decode_first_stage", "wan_vae", "vae_encode"}, If: onGPU,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in the VAE (image decoding)",
		Means:    "The VAE turns the finished latent into pixels, or an input image into a latent.[[ Its working memory here is {vae}; {asked} was refused.]] It grows with width times height, not with the size of the model.",
		Figures:  vaeBuffer,
		Not:      "Fewer steps: the VAE needs the same memory.",
		Cures: []cause.Cure{
			does("vae_tiling", "Turn on VAE tiling: `--vae-tiling`", "text", "Add `--vae-tiling` to your command. Or use `--taesd` with its small decoder file: very little memory, but less detail.", "faint seams at most"),
			does("cpu_offload", "Offload weights to RAM, or run the VAE on the CPU", "text", "`--offload-to-cpu` keeps the weights of other models off the GPU while the VAE runs; `--backend vae=cpu` (builds before mid-May 2026: `--vae-on-cpu`) takes about a minute per image.", "slower"),
			smallerPicture,
			does("close_other_apps", "See what else is on the GPU", "text", "Look at `nvidia-smi` or Task Manager: a model server such as Ollama may use part of it.", "free"),
		},
		Sources: diffusionSources,
	},
	{
		ID: "stable-diffusion.cpp/condition", Kinds: drawing, Said: []string{"get_learned_condition failed", "qwen3: failed to allocate", "qwen2vl: failed to allocate", "qwen2.5vl: failed to allocate", "mistral: failed to allocate", "gemma2_2b: failed to allocate"}, If: onGPU,
		Cause: cause.ModelTooLarge, Weight: cause.Decisive,
		Headline: "ran out of GPU memory in the text encoder[[: {asked} of working memory]]",
		Means:    "It failed before the first step, in the text encoder, which reads the prompt. In newer image models that is a language model or T5 of several GB.[[ {piece}]]",
		Figures:  pieceFigures,
		Not:      "A smaller image, `--diffusion-fa` or `--vae-tiling`: they do not change the text encoder.",
		Cures: []cause.Cure{
			does("cpu_offload", "Run the text encoder on the CPU", "text", "Add `--backend te=cpu` (builds before mid-May 2026: `--clip-on-cpu`).", "some seconds per prompt"),
			does("use_lower_quant", "Use a quantised text encoder", "text", "Download a GGUF of it (Q4_K or Q8_0) and pass it with `--t5xxl` or `--llm`.", "hardly any loss"),
			does("upgrade_version", "Update stable-diffusion.cpp", "text", "The newest release from github.com/leejet/stable-diffusion.cpp/releases.", "a download"),
		},
		Sources: diffusionSources,
	},
	{
		ID: "stable-diffusion.cpp/step-piece", Kinds: []fact.Kind{fact.GGMLLimit}, If: when.All(onGPU, when.Not(inKobold), when.Any(ggml.Samples, ggml.Device("compute"))), Unsaid: []string{"vae: failed", "vae compute buffer", "decoding 1 latents", "wan_vae", "lora: failed"},
		Cause: cause.BatchTooLarge, Weight: cause.Decisive,
		Headline: "asked for one buffer of {asked}: more than this Vulkan driver allows",
		Means:    "Free memory is not the problem. This driver allows no single buffer above its own limit (often 4 GiB, sometimes 2), and a sampling step needs one of {asked}. It grows with pixels and frames; without flash attention, with their square.",
		Not:      "`--offload-to-cpu` or smaller weights: that buffer stays as large.",
		Cures: []cause.Cure{
			does("enable_flash_attention", "Turn on flash attention: `--diffusion-fa`", "text", "Add `--diffusion-fa` to your command.", "free on most GPUs"),
			smallerPicture,
			does("upgrade_version", "Update the driver, or use the GPU's own backend", "text", "Try a CUDA, HIP or SYCL build of stable-diffusion.cpp, which has no such Vulkan limit. Newer drivers and Vulkan builds may allow larger buffers.", "a download"),
		},
		Sources: append([]string{"llama.cpp/ggml/src/ggml-vulkan/ggml-vulkan.cpp"}, diffusionSources...),
	},
	{
		ID: "stable-diffusion.cpp/text-encoder", Kinds: drawing, Said: []string{"t5: failed", "t5 alloc", "clip: failed", "clip alloc", "t5xxl alloc", "llm: failed"}, If: when.All(onGPU, when.Not(ggml.Samples)),
		Cause: cause.ModelTooLarge, Weight: cause.Decisive,
		Headline: "ran out of GPU memory in the text encoder",
		Means:    "The text encoder did not fit. In newer image models it is T5 or a language model of several GB, needed only once per prompt.",
		Not:      "A smaller image: the text encoder does not change with it.",
		Cures: []cause.Cure{
			does("cpu_offload", "Run the text encoder on the CPU", "text", "Add `--backend te=cpu` (builds before mid-May 2026: `--clip-on-cpu`).", "some seconds per prompt"),
			does("use_lower_quant", "Use a quantised text encoder", "text", "Download a GGUF of it (Q4_K or Q8_0) and pass it with `--t5xxl` or `--llm`.", "hardly any loss"),
		},
		Sources: diffusionSources,
	},
	{
		ID: "stable-diffusion.cpp/step-lean", Kinds: drawing, Said: []string{"--diffusion-fa", "--offload-to-cpu", "--max-vram"}, Unsaid: []string{"vae: failed", "vae compute buffer", "decoding 1 latents", "t5: failed", "llm: failed", "clip: failed"}, If: when.All(onGPU, flashOn, when.Not(inKobold), when.Any(ggml.Samples, ggml.Device("compute"))),
		Cause: cause.BatchTooLarge, Weight: cause.Decisive,
		Headline: "ran out of GPU memory in a sampling step[[: {asked} of working memory]]",
		Means:    "Flash attention is on already, so the working memory of a step grows with the pixels (and frames), no longer with their square. Weights that stay on the GPU take the rest.",
		Not:      "Fewer steps, `--vae-tiling`: the VAE comes later.",
		Cures: []cause.Cure{
			smallerPicture,
			kit.Only(func(c *ledger.Case) bool { return !c.Near("--offload-to-cpu") }, offCard),
			kit.Only(func(c *ledger.Case) bool { return c.Near("--offload-to-cpu") && !c.Near("--max-vram") }, does("lowvram_mode", "Keep only a part of the weights on the GPU: `--max-vram`", "text", "Newer builds (May 2026) have `--max-vram`: weights beyond that stay in RAM also while the model runs.", "slower")),
			does("use_lower_quant", "Use a smaller quantisation of the model", "text", "Q4_K or Q3_K instead of Q8_0: weights then leave more room for the step.", "some quality"),
		},
		Sources: diffusionSources,
	},
	{
		ID: "stable-diffusion.cpp/step", Kinds: drawing, If: when.All(ggml.Samples, onGPU),
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in a sampling step",
		Means:    "The weights fit; the working memory (compute buffer) of a step did not. It grows with pixels and frames; without flash attention, with their square.",
		Cures: []cause.Cure{
			does("enable_flash_attention", "Turn on flash attention: `--diffusion-fa`", "text", "Add `--diffusion-fa` to your command.", "free on most GPUs"),
			smallerPicture,
			offCard,
		},
		Sources: diffusionSources,
	},
	{
		ID: "stable-diffusion.cpp/step-named", Kinds: drawing, Said: []string{"diffusion model compute failed", "unet: failed to allocate the compute", "flux: failed to allocate the compute", "mmdit: failed to allocate the compute", "wan: failed to allocate the compute", "qwen_image: failed to allocate the compute", "z_image: failed to allocate the compute", "wan compute buffer size", "flux compute buffer size", "unet compute buffer size", "qwen_image compute buffer size", "z_image compute buffer size"}, If: when.All(onGPU, when.Not(inKobold)),
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in a sampling step[[: {asked} of working memory]]",
		Means:    "The weights fit; the working memory of one step of the diffusion model did not. It grows with pixels and frames; without flash attention, with their square.",
		Not:      "Fewer steps, `--vae-tiling`: the VAE comes later.",
		Cures: []cause.Cure{
			does("enable_flash_attention", "Turn on flash attention: `--diffusion-fa`", "text", "Add `--diffusion-fa` to your command.", "free on most GPUs"),
			smallerPicture,
			offCard,
		},
		Sources: append([]string{"stable-diffusion.cpp/src/core/ggml_extend.hpp"}, diffusionSources...),
	},
	{
		ID: "stable-diffusion.cpp/weights", Kinds: drawing, Said: []string{"params backend buffer", "params buffer failed", "loading model tensors", "load tensors from"}, If: when.All(onGPU, when.Not(ggml.Samples)),
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "could not load the model: {asked} of weights did not fit on the GPU",
		Means:    "By default the diffusion model, text encoder and VAE are all loaded onto the GPU. One of these parts, {asked}, did not fit.",
		Not:      "`--vae-tiling` or a smaller image: it failed on the weights.",
		Cures: []cause.Cure{
			offCard,
			does("use_lower_quant", "Use quantised weights", "text", "Download a Q8_0 or Q4_K GGUF of the model. Or add `--type q8_0`, which converts the file while it loads.", "slight loss of quality"),
			does("fewer_gpu_layers", "Run the text encoder on the CPU", "text", "Add `--backend te=cpu` (builds before mid-May 2026: `--clip-on-cpu`).", "some seconds per prompt"),
		},
		Sources: diffusionSources,
	},
	{
		ID: "stable-diffusion.cpp/host", Kinds: ggml.RefusedKinds, If: ledger.InHost,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of system memory (RAM)[[: {asked} was refused]]",
		Means:    "RAM was short, not GPU memory. RAM holds the weights that are kept off the GPU, and a file that is converted while it loads needs extra RAM for a moment.",
		Cures: []cause.Cure{
			as("close_other_apps", "Close other programs that use RAM", "free"),
			as("use_mmap", "Map the file instead of copying it (mmap)", "free"),
			does("use_lower_quant", "Use a quantised file", "text", "Use a GGUF of the model instead of `--type` on a 16-bit file. Or convert it once, with `sd-cli -M convert`.", "another download"),
		},
		Sources: []string{"stable-diffusion.cpp/src/model_loader.cpp"},
	},
}
