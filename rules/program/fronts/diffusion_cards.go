package fronts

import (
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml"
	"github.com/oomdoc/oomdoc/rules/when"
)

var (
	diffusionSources = []string{"stable-diffusion.cpp/docs/backend.md", "stable-diffusion.cpp/docs/performance.md", "stable-diffusion.cpp/examples/common/common.cpp"}
	drawing          = []fact.Kind{fact.GGMLAlloc, fact.GGMLLimit, fact.GGMLRuntime}
	// smallerPicture and offCard: the two things that always help.
	smallerPicture = does("lower_resolution", "A smaller image", "text", "Set `-W` and `-H` lower (512 x 512 for SD 1.5, 768 x 768 for SDXL, FLUX and others) and `-b 1`; for video fewer `--video-frames`.", "upscale afterwards")
	offCard        = does("cpu_offload", "Keep weights in system memory between steps", "text", "Add `--offload-to-cpu`; it moves each part to the card only while it works. 2026 versions also have `--max-vram` and `--auto-fit`.", "slower")
)

// vaeBuffer is the working memory of the VAE, where the last line on such a
// buffer is about it.
func vaeBuffer(c *ledger.Case) map[string]string {
	x, ok := c.Fact("diffusion_part")
	if !ok || x.Size == nil || !strings.Contains(strings.ToLower(x.Text), "vae") {
		return map[string]string{"vae": ""}
	}
	return map[string]string{"vae": units.Amount(x.Size.Bytes)}
}

// inKobold: the part of KoboldCpp that makes pictures has options of its own.
func inKobold(c *ledger.Case) bool { return c.Says("koboldcpp") }

// diffusionCards are stable-diffusion.cpp's.
var diffusionCards = []cause.Card{
	{
		ID: "stable-diffusion.cpp/kobold-load", Kinds: drawing, Said: []string{"params buffer", "Loading Image Model", "KCPP SD Failed to create context"}, If: when.All(onGPU, inKobold, when.Not(ggml.Samples)), Unsaid: []string{"compute buffer"},
		Cause: cause.ModelTooLarge, Weight: cause.Decisive, Headline: "did not load the image model: {asked} did not fit on the card",
		Means: "It is KoboldCpp's part for images (stable-diffusion.cpp) that failed. It loads that model whole onto the card, beside the text model if there is one: no layers of it can be left in RAM.",
		Not:   "A smaller image: nothing was computed yet.",
		Cures: []cause.Cure{
			does("use_lower_quant", "A quantised image model", "text", "A Q4_K or Q4_0 GGUF of it; or tick Compress Weights in the tab Image Gen (`--sdquant`), which makes it of a safetensors while it loads.", "slight loss of quality"),
			does("fewer_gpu_layers", "Room beside the text model", "text", "Fewer GPU Layers (`--gpulayers`) of the text model, or start once without it.", "slower text"),
			does("use_smaller_model", "A smaller image model", "text", "SDXL or SD 1.5 in place of Flux.", "quality"),
		},
		Sources: []string{"koboldcpp.py", koboldWiki},
	},
	{
		ID: "stable-diffusion.cpp/kobold", Kinds: drawing, If: when.All(onGPU, inKobold),
		Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out of memory while it made an image",
		Means: "It is KoboldCpp's part for images (stable-diffusion.cpp) that failed, at work: that grows with the image's pixels, in the steps and once more when it is decoded.",
		Not:   "Fewer steps: each needs the same.",
		Cures: []cause.Cure{
			does("lower_resolution", "Smaller images", "text", "512 x 512 in the interface that asks for them; `--sdclamped 512` refuses larger ones for all.", "detail"),
			does("vae_tiling", "A small decoder", "text", "Tick Use TAE SD in the tab Image Gen (`--sdvaeauto`): next to no memory for decoding.", "some detail"),
			does("use_lower_quant", "A quantised image model", "text", "Compress Weights in the tab Image Gen (`--sdquant`), or a Q4 GGUF.", "slight loss of quality"),
		},
		Sources: []string{"koboldcpp.py", koboldWiki},
	},
	{
		ID: "stable-diffusion.cpp/lora", Kinds: drawing, Said: []string{"lora: failed", "lora alloc", "attempting to apply", "loading LoRA from"}, If: when.All(onGPU, when.Not(ggml.Samples)),
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "ran out of memory merging a LoRA into the weights",
		Means:    "No image was begun: the LoRA was being written into the model's weights, and the buffer for that was refused[[: {asked} in one piece]]. It follows the size of the model and of the LoRA, not the image; with `--offload-to-cpu` versions of 2025 wanted all of the weights in that one buffer. Vulkan drivers give no more than 4 GiB, some 2, in one piece, however much is free.",
		Not:      "`--vae-tiling`, a smaller image, fewer steps: nothing was computed yet.",
		Cures: []cause.Cure{
			does("upgrade_version", "Update stable-diffusion.cpp", "text", "Builds since 30 November 2025 merge better on Vulkan, and those since 13 November can leave the weights as they are and apply the LoRA while they compute: `--lora-apply-mode at_runtime`.", "a download; somewhat slower steps"),
			does("cpu_offload", "Until then: start without `--offload-to-cpu`", "text", "If you set it, take it out: the model has to fit on the card then. `--clip-on-cpu` and `--vae-on-cpu` (2026: `--backend te=cpu,vae=cpu`) may stay.", "room on the card"),
			does("use_lower_quant", "Or a smaller file of the model, or the LoRA merged before", "text", "A Q4_0 or Q8_0 GGUF of the model; or a checkpoint that has the LoRA in it already.", "some quality, or a download"),
		},
		Sources: append([]string{"stable-diffusion.cpp/docs/lora.md"}, diffusionSources...),
	},
	{
		ID: "stable-diffusion.cpp/vae", Kinds: drawing, Said: []string{"vae: failed", "vae alloc", "vae compute buffer", "decoding 1 latents", "first_stage_model", "decode_first_stage", "wan_vae", "vae_encode"}, If: onGPU,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "computed the image, then ran out of memory decoding it",
		Means:    "The image was computed; what failed is the VAE, which turns it into pixels all at once.[[ Here its working memory is {vae}, and the {asked} that was refused came on top.]] It grows with width times height, not with the model.",
		Figures:  vaeBuffer,
		Not:      "A smaller quantisation of the model by itself: the VAE's working memory stays as it is, it only finds more room.",
		Cures: []cause.Cure{
			does("vae_tiling", "Decode the image in tiles", "text", "Add `--vae-tiling` to your command; it cuts that memory to a part. Or `--taesd` with its small decoder file: next to no memory, less detail.", "faint seams at most"),
			does("cpu_offload", "Or leave the VAE more of the card", "text", "`--offload-to-cpu` takes the model's weights off it once the image is computed; `--backend vae=cpu` (versions before 2026: `--vae-on-cpu`) runs the VAE on the processor, a minute per image.", "slower"),
			smallerPicture,
			does("close_other_apps", "See who else is on the card", "text", "`nvidia-smi`, or the system's monitor: another model server holds its share all the time (Ollama: `ollama stop NAME`).", "free"),
		},
		Sources: diffusionSources,
	},
	{
		ID: "stable-diffusion.cpp/text-encoder", Kinds: drawing, Said: []string{"t5: failed", "t5 alloc", "clip: failed", "clip alloc", "t5xxl alloc", "conditioner", "llm: failed"}, If: when.All(onGPU, when.Not(ggml.Samples)),
		Cause: cause.ModelTooLarge, Weight: cause.Likely,
		Headline: "ran out of memory on the text encoder",
		Means:    "The text encoder did not fit. T5 or the language model of newer image models is several GB by itself, and it is needed only once, before the image.",
		Not:      "A smaller image: the text encoder does not see it.",
		Cures: []cause.Cure{
			does("cpu_offload", "Run the text encoder on the processor", "text", "Add `--backend te=cpu` (versions before 2026: `--clip-on-cpu`).", "some seconds per prompt"),
			does("use_lower_quant", "Or a quantised text encoder", "text", "Take a GGUF of it (Q4_K or Q8_0) for `--t5xxl` or `--llm`.", "hardly any loss"),
		},
		Sources: diffusionSources,
	},
	{
		ID: "stable-diffusion.cpp/step", Kinds: drawing, If: when.All(ggml.Samples, onGPU),
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of memory in a sampling step",
		Means:    "The weights are in place; the working memory of one step did not fit. It grows with the image's pixels, with frames, and without flash attention with the square of them.",
		Cures: []cause.Cure{
			does("enable_flash_attention", "Turn flash attention on", "text", "Add `--diffusion-fa` to your command.", "free on most cards"),
			smallerPicture,
			offCard,
		},
		Sources: diffusionSources,
	},
	{
		ID: "stable-diffusion.cpp/weights", Kinds: drawing, Said: []string{"params backend buffer", "params buffer failed", "loading model tensors", "load tensors from"}, If: when.All(onGPU, when.Not(ggml.Samples)),
		Cause: cause.ModelTooLarge, Weight: cause.Likely,
		Headline: "did not load: {asked} of weights did not fit on the card",
		Means:    "The weights did not fit on the card: {asked} was refused before any image was begun. Diffusion model, text encoder and VAE are all loaded to it unless told otherwise.",
		Not:      "`--vae-tiling` or a smaller image: nothing was computed yet.",
		Cures: []cause.Cure{
			offCard,
			does("use_lower_quant", "Or quantise the weights", "text", "Take a GGUF file (Q8_0, Q4_K) of the model, or let it be converted while it loads: `--type q8_0`.", "slight loss of quality"),
			does("fewer_gpu_layers", "Or keep the text encoder off the card", "text", "Add `--backend te=cpu` (versions before 2026: `--clip-on-cpu`).", "some seconds per prompt"),
		},
		Sources: diffusionSources,
	},
	{
		ID: "stable-diffusion.cpp/host", Kinds: ggml.RefusedKinds, If: ledger.InHost,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "was refused[[ {asked} of]] system memory",
		Means:    "System memory was refused[[, {asked}]], not the card's: weights that are kept off the card, or a file that is converted while it loads, which holds it twice for a moment.",
		Cures: []cause.Cure{
			as("close_other_apps", "Close what uses RAM", "free"),
			as("use_mmap", "Let the file be mapped in place of copied", "free"),
			does("use_lower_quant", "Use a file that is quantised already", "text", "Take a GGUF of the model instead of `--type` on a 16-bit file; or convert once: `sd-cli -M convert`.", "another download"),
		},
		Sources: []string{"stable-diffusion.cpp/src/model_loader.cpp"},
	},
}
