package webui

import (
	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/torch/pictures"
	"github.com/oomdoc/oomdoc/rules/program/webui/addon"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Diffusers is what is peculiar to diffusers and what is built on it.
var Diffusers = program.Program{
	Name: "diffusers", Shown: "Diffusers", Rank: 70,
	Work: "image-generation", Edits: "code", Language: "python", Script: "diffusers-script",
	Proofs: []string{"-packages/diffusers/", "src/diffusers/", "Loading pipeline components", "from diffusers import "},
	Hints:  []string{"num_inference_steps=", "enable_model_cpu_offload"},
	Clues: map[string][]cause.Clue{
		cause.ModelTooLarge:       {cause.Said(cause.Strong, "InvokeAI's model cache could not fit the model on the card.", fact.InvokeRefused)},
		cause.OversizedAllocation: {cause.Shown("no_fast_attention", cause.If(halfCard, cause.Decisive, "One request of {requested}, and no memory-efficient attention is installed: plain attention builds the whole score matrix at once."))},
	},
	Remedies: map[string][]cause.Remedy{
		cause.ModelTooLarge: {
			{Fix: "cpu_offload", Fit: cause.Cures},
			{Fix: "half_precision", Fit: cause.Helps},
			{Fix: "use_lower_quant", Fit: cause.Helps},
			{Fix: "lowvram_mode", Fit: cause.Helps},
			{Fix: "lower_resolution", Fit: cause.MayHelp},
		},
		cause.BatchTooLarge: {
			{Fix: "vae_tiling", Fit: cause.Cures, If: inVAE},
			{Fix: "lower_resolution", Fit: cause.Cures},
			{Fix: "cpu_offload", Fit: cause.Helps},
			{Fix: "efficient_attention", Fit: cause.MayHelp},
			{Fix: "lower_batch_size", Fit: cause.MayHelp},
		},
		cause.OversizedAllocation: imageRemedies[cause.OversizedAllocation],
		cause.HostMemory:          hostRemedies,
	},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"cpu_offload": func(*ledger.Case) []step.Step {
			return []step.Step{
				{Kind: "python", Text: "pipe.enable_model_cpu_offload()  # and no pipe.to(\"cuda\")"},
				{Kind: "text", Text: "If one component alone is too large: pipe.enable_sequential_cpu_offload() (slow), or enable_group_offload() from diffusers 0.33 on."},
			}
		},
		"lowvram_mode":        step.Paste("python", "pipe.enable_sequential_cpu_offload()"),
		"vae_tiling":          step.Paste("python", "pipe.vae.enable_tiling()\npipe.vae.enable_slicing()"),
		"efficient_attention": step.Paste("python", "pipe.enable_xformers_memory_efficient_attention()  # PyTorch 2 has sdpa by itself"),
		"half_precision": func(c *ledger.Case) []step.Step {
			return []step.Step{{Kind: "python", Text: "pipe = DiffusionPipeline.from_pretrained(" + quote.Python(c.ModelName()) + ", torch_dtype=torch.bfloat16)  # float16 on cards before RTX 30; variant=\"fp16\" alone only picks files"}}
		},
		"use_lower_quant": func(c *ledger.Case) []step.Step {
			return []step.Step{{Kind: "python", Text: "from diffusers import BitsAndBytesConfig, AutoModel\n\ntransformer = AutoModel.from_pretrained(" + quote.Python(c.ModelName()) + ", subfolder=\"transformer\", quantization_config=BitsAndBytesConfig(load_in_4bit=True, bnb_4bit_compute_dtype=torch.bfloat16), torch_dtype=torch.bfloat16)  # diffusers 0.33 and later; before: FluxTransformer2DModel and the like"}}
		},
		"lower_resolution":  step.Paste("python", "pipe(prompt, height=512, width=512, num_images_per_prompt=1)  # smaller than now; video: fewer num_frames"),
		"lower_batch_size":  step.Paste("python", "pipe(prompt, num_images_per_prompt=1)"),
		"use_smaller_model": step.Paste("text", "Load a smaller model: SD 1.5 or SDXL instead of FLUX, the 2B or 1.3B model of a video family."),
	},
	Useless: imageUseless,
	Cards:   diffusersCards,
}

// slowAttention: no fast one is installed, or it is a flag as in A1111.
func slowAttention(c *ledger.Case) bool {
	return c.Signal("no_fast_attention") != nil || c.In("a1111") && !inForge(c)
}

// halfCard: one request is as large as a whole matrix of attention.
func halfCard(c *ledger.Case) bool {
	f := c.F()
	return f.Requested != nil && f.Total != nil && f.Requested.Bytes*2 >= f.Total.Bytes
}

// InvokeAI is what is peculiar to InvokeAI.
var InvokeAI = program.Program{
	Name: "invokeai", Carries: pictures.Nested, Shown: "InvokeAI",
	Units: []string{"invokeai"},
	Work:  "image-generation", Edits: "flags", Language: "python",
	Proofs: []string{"[InvokeAI]::", "/InvokeAI/", "InvokeAI, version ", "invokeai.init found", "Max VRAM used for this generation", "invokeai/backend", "invokeai/app", "ldm/invoke/", "[ModelManagerService]::", "Using more accurate float32 precision", "Using faster float16 precision", "** restoring None", "invokeai-venv", "scripts/invoke.py", "(invokeai)", "Out of Memory Error OutOfMemoryError: CUDA"},
	Like:   []*program.Program{&Diffusers},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"cpu_offload": invokePartial, "lowvram_mode": invokePartial,
		"vae_tiling":          invokeStep("force_tiled_decode: true", "Start it with `--free_gpu_mem`: the model leaves the card before the image is decoded."),
		"efficient_attention": invokeStep("attention_type: torch-sdp", "Install xformers; InvokeAI 2.3 uses it by itself (`--xformers`)."),
		"half_precision":      invokeStep("precision: auto", "Start it with `--precision=float16`, or put that into the file `invokeai.init`."),
		"use_lower_quant":     step.Paste("ui", "Model Manager, Starter Models: the Quantized variant of the model and of its T5 encoder; or a GGUF"),
		"lower_resolution":    step.Paste("ui", "Lower width and height, fewer control layers and reference images; upscale in the Upscaling tab"),
		"lower_batch_size":    step.Paste("ui", "Iterations make one image after another already; make the image smaller instead"),
		"restart_session":     step.Paste("ui", "Tab Queue: Clear Model Cache (newer versions); or restart InvokeAI"),
	},
	Cards:   append(append(invokeCards, addon.InvokeFull), pictures.Slack("invokeai/slack", of("invokeai"))),
	Sources: program.Sources{"InvokeAI/ldm/invoke/args.py": "--max_loaded_models --precision --free_gpu_mem --always_use_cpu --xformers"},
}

var invokePartial = step.Paste("config", "# invokeai.yaml (5.6 and later)\nenable_partial_loading: true\ndevice_working_mem_gb: 4")

// FramePack is what is peculiar to FramePack.
var FramePack = program.Program{
	Name: "framepack", Shown: "FramePack",
	Work: "video-generation", Edits: "flags", Language: "python",
	Proofs: []string{"High-VRAM Mode:", "HunyuanVideoTransformer3DModelPacked"},
	Hints:  []string{"FramePack"},
	Like:   []*program.Program{&Diffusers},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"lowvram_mode":        step.Paste("ui", "GPU Inference Preserved Memory (GB): raise it by 2"),
		"efficient_attention": step.Paste("shell", "pip install sageattention  # or: pip install xformers"),
		"cpu_offload":         step.Paste("ui", "GPU Inference Preserved Memory (GB): raise it by 2"),
		"vae_tiling":          step.Paste("text", "It decodes in tiles and slices already where the card has less than 60 GB free."),
		"lower_resolution":    step.Paste("text", "FramePack has one size (about 640x640) and no setting for it; a shorter video needs no less memory."),
		"use_lower_quant":     step.Paste("text", "FramePack has no option for it; forks such as FramePack-Studio and ComfyUI's FramePackWrapper load fp8."),
		"half_precision":      step.Paste("text", "It loads at 16 bit already."),
		"lower_batch_size":    step.Paste("text", "It makes one video at a time already."),
		"use_smaller_model":   step.Paste("text", "FramePack has one model, of 13 billion parameters; for less memory another program with a 1.3B video model."),
		"upgrade_version":     step.Paste("text", "One-click package: update.bat; otherwise git pull in FramePack's folder."),
	},
	Remedies: map[string][]cause.Remedy{
		cause.BatchTooLarge:       {{Fix: "lowvram_mode", Fit: cause.Cures, If: when.Not(inVAE)}, {Fix: "efficient_attention", Fit: cause.Helps, If: when.Not(inVAE)}, {Fix: "close_other_apps", Fit: cause.MayHelp}, {Fix: "restart_session", Fit: cause.MayHelp}},
		cause.ModelTooLarge:       {{Fix: "lowvram_mode", Fit: cause.Cures}, {Fix: "close_other_apps", Fit: cause.Helps}, {Fix: "bigger_gpu", Fit: cause.LastResort}},
		cause.OversizedAllocation: {{Fix: "efficient_attention", Fit: cause.Cures, If: when.Not(addon.Torch29)}, {Fix: "upgrade_version", Fit: cause.Helps}, {Fix: "bigger_gpu", Fit: cause.Helps}},
	},
	Titles: map[string]string{"lowvram_mode": "Raise GPU Inference Preserved Memory", "use_smaller_model": "Use another program, with a smaller video model"},
	Cards:  framepackCards,
}
