package webui

import (
	"strings"

	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/internal/redact"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/torch/pictures"
	"github.com/oomdoc/oomdoc/rules/program/webui/addon"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// A1111 is what is peculiar to AUTOMATIC1111's web UI, its forks and
// Forge, where the old flags for little memory do nothing.
var A1111 = program.Program{
	Name: "a1111", Carries: pictures.Nested, Shown: "The Stable Diffusion web UI", Rank: 88,
	Units: []string{"stable-diffusion-webui", "automatic1111"},
	Work:  "image-generation", Edits: "flags", Language: "python",
	Sources: program.Sources{
		"stable-diffusion-webui/modules/cmd_args.py":                        "--lowvram --medvram --medvram-sdxl --no-half --no-half-vae --opt-sdp-attention --opt-sub-quad-attention --sub-quad-chunk-threshold --precision --xformers --use-cpu",
		"stable-diffusion-webui-reForge/ldm_patched/modules/args_parser.py": "--always-low-vram --always-no-vram",
		"stable-diffusion-webui/webui-user.bat":                             "COMMANDLINE_ARGS",
	},
	Proofs: []string{
		"stable-diffusion-webui", "modules/call_queue.py", "modules/processing.py", "modules/txt2img.py", "modules/img2img.py", "modules/sd_models.py", "modules/initialize.py", "first_time_calculation",
		"modules/sd_hijack", "extensions-builtin/Lora/", "Error completing request", "Launching Web UI with arguments:", "Torch active/reserved:", "webui.py --",
		"[Memory Management]", "[GPU Setting] You will use", "Moving model(s) has taken", "gradio: ",
	},
	Hints: []string{"cross attention optimization", "DiffusionWrapper has", "Not enough memory, use lower resolution (max approx."},
	Beside: map[string][]string{
		"stable-diffusion-webui": {"/modules/", "/webui.py", "/launch.py", "/models/", "/extensions", "-forge", "/venv/", "/repositories", "/backend/"},
		"gradio: ":               {"commit:", "checkpoint:"}, // the page's foot
		"webui.py --":            {"--medvram", "--lowvram", "--xformers", "--opt-", "--no-half", "--ckpt"},
	},
	Clues: map[string][]cause.Clue{
		cause.ModelTooLarge: {cause.Said(cause.Likely, "Forge was loading a model onto the card: the error follows its memory plan.", fact.ForgeLoad)},
		cause.HostMemory:    {cause.Said(cause.Hint, "Forge keeps what does not fit in pinned system memory, and that may be what was refused.", fact.ForgeLoad)},
		cause.BatchTooLarge: {cause.First(cause.If(imageWork, cause.Good, "It failed while an image was made, with the model on the card: activations grow with the pixels and the batch."))},
	},
	Remedies: imageRemedies,
	Steps: map[string]func(*ledger.Case) []step.Step{
		"lowvram_mode":        a1111Low,
		"efficient_attention": a1111Attention,
		"half_precision": a1111Flags("Remove `--no-half` and `--precision full`. If images turn black, use `--no-half-vae` alone.",
			step.Change{Flag: "--no-half", Drop: true}, step.Change{Flag: "--precision", Drop: true}),
		"vae_tiling":        step.Paste("ui", "Install the extension multidiffusion-upscaler-for-automatic1111 and turn Tiled VAE on"),
		"lower_resolution":  step.Paste("ui", "Lower width and height (SD 1.5 was made for 512x512, SDXL for 1024x1024), batch size 1, Hires. fix off; upscale afterwards with Extras or Ultimate SD Upscale"),
		"lower_batch_size":  step.Paste("ui", "Batch size 1; raise Batch count instead"),
		"use_smaller_model": smallerCheckpoint,
		"upgrade_version":   step.Paste("text", "In the web UI's folder: git pull; the package for Windows has update.bat, Stability Matrix and Pinokio a button."),
		"use_lower_quant":   step.Paste("ui", "Settings, Optimizations: FP8 weight: Enable (1.8 and later); or a pruned fp16 .safetensors of the model"),
	},
	Titles:  map[string]string{"lowvram_mode": "Start with `--medvram` or `--lowvram`", "efficient_attention": "Turn on a memory-efficient attention", "lower_resolution": "Lower the resolution", "vae_tiling": "Turn on Tiled VAE", "half_precision": "Remove `--no-half`"},
	Costs:   map[string]string{"lowvram_mode": "Some speed."},
	Useless: webuiUseless,
	Cards:   append(a1111Cards, pictures.Slack("a1111/slack", a1111Plain)),
}

var smallerCheckpoint = step.Paste("ui", "Choose a smaller checkpoint: SD 1.5 instead of SDXL, SDXL instead of Flux")

// hostRemedies: loading a checkpoint needs its size in RAM, twice for .ckpt.
var hostRemedies = []cause.Remedy{
	{Fix: "raise_pagefile", Fit: cause.Cures, If: mostlyWindows},
	{Fix: "add_swap", Fit: cause.Cures, If: when.Not(mostlyWindows)},
	{Fix: "raise_memory_limit", Fit: cause.Helps, If: when.Not(mostlyWindows)},
	{Fix: "close_other_apps", Fit: cause.Helps},
	{Fix: "use_lower_quant", Fit: cause.MayHelp},
	{Fix: "use_smaller_model", Fit: cause.MayHelp},
}

// mostlyWindows: most users of the one-click installer; its closing words come
// from a batch file.
func mostlyWindows(c *ledger.Case) bool { return reader.OnWindows(c) || c.Root(fact.SilentDeath) }

// mostlyWindowsPaths: not where the log shows another system.
func mostlyWindowsPaths(c *ledger.Case) bool { return c.Windows() || c.Reader.OS == "" }

// fullPrecision: weights are kept at 32 bit, which doubles them.
func fullPrecision(c *ledger.Case) bool { _, ok := c.Setting("no_half"); return ok }

func inForge(c *ledger.Case) bool { return c.In("forge") }

// imageWork: with the model loaded, what grows is the image.
var imageWork = when.All(work("a1111", "diffusers", "invokeai"), when.In("inference"))

// a1111Flags is the line of webui-user.bat, with the options that the log shows.
func a1111Flags(note string, changes ...step.Change) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		own := withYours(step.Typed(c, "Launching Web UI with arguments"))
		flags := step.EditedFor("sh", own, changes...) // launch.py splits them as a shell does, on Windows too
		if flags == "" {
			return []step.Step{{Kind: "text", Text: note}}
		}
		beside := " (keep what is already there)"
		if own != nil {
			beside = ""
		}
		if l := addon.Launcher(c); l != "" {
			return []step.Step{{Kind: "text", Text: l + " " + note}, {Kind: "config", Text: flags}}
		}
		if os := c.Reader.OS; os == "linux" || os == "mac" {
			return []step.Step{{Kind: "text", Text: "In `webui-user.sh`" + beside + ". " + note}, {Kind: "config", Target: "sh", Text: "export COMMANDLINE_ARGS=\"" + quote.Double(flags) + "\""}}
		}
		where := "In `webui-user.bat`" + beside
		if !c.Windows() {
			where += "; in `webui-user.sh` with `export` and quotes around it"
		}
		return []step.Step{{Kind: "text", Text: where + ". " + note}, {Kind: "config", Target: "cmd", Text: "set COMMANDLINE_ARGS=" + quote.Bat(flags)}}
	}
}

// a1111Low is the next of the web UI's two modes for little memory, in one line
// with an attention that needs no score matrix: of two lines that set
// COMMANDLINE_ARGS the second would replace the first.
func a1111Low(c *ledger.Case) []step.Step {
	note, changes := "For SDXL only: `--medvram-sdxl` instead of `--medvram` (1.6 and later).", []step.Change{{Flag: "--medvram"}, {Flag: "--no-half", Drop: true}, {Flag: "--precision", Drop: true}}
	if t := c.F().Total; t != nil && t.Bytes < 9*units.GiB/2 {
		note = "If `--medvram` is enough, it is faster."
		if a1111Moving(c) {
			note = "`--medvram` seems to be on already; `--lowvram` needs less."
		}
		changes = append([]step.Change{{Flag: "--lowvram"}, {Flag: "--medvram-sdxl", Drop: true}, {Flag: "--medvram", Drop: true}}, changes[1:]...)
	} else if a1111Moving(c) {
		note = "`--medvram` seems to be on already. `--lowvram` needs least: it keeps only a small part of the model on the card at a time."
		changes = append([]step.Change{{Flag: "--medvram", Drop: true}, {Flag: "--medvram-sdxl", Drop: true}, {Flag: "--lowvram"}}, changes[1:]...)
	} else if t == nil {
		note = "With 4 GB or less: `--lowvram`. " + note
	}
	if leanAttention(c) == "" && notMac(c) {
		changes = append(changes, sdpOnly...)
	}
	return a1111Flags(note, changes...)(c)
}

// sdpOnly turns PyTorch's attention on, and off what the web UI would take before
// it (modules/sd_hijack_optimizations.py: Doggettx has the higher priority).
var sdpOnly = []step.Change{
	{Flag: "--opt-sdp-attention"}, {Flag: "--opt-split-attention", Drop: true}, {Flag: "--opt-split-attention-v1", Drop: true}, {Flag: "--opt-split-attention-invokeai", Drop: true},
}

// a1111Attention names the option alone: the line that sets it may stand beside
// another fix.
func a1111Attention(c *ledger.Case) []step.Step {
	if !notMac(c) { // sub_quad_attention takes one matrix on a Mac unless the threshold is 0
		return []step.Step{{Kind: "text", Text: "Add `--opt-sub-quad-attention --sub-quad-chunk-threshold 0` to COMMANDLINE_ARGS in webui-user.sh. Attention is then always computed in small chunks. xformers does not exist for Macs."}}
	}
	return []step.Step{{Kind: "text", Text: "Add `--opt-sdp-attention` to the line `COMMANDLINE_ARGS` too (PyTorch 1: `--xformers`)."}}
}

// leanAttention is the option that the log shows for an attention without a
// score matrix.
func leanAttention(c *ledger.Case) string {
	s, _ := c.Setting("xformers", "opt_sdp_attention", "opt_sdp_no_mem_attention", "opt_sub_quad_attention")
	return s.Flag
}

// withYours writes YOURS for keys and passwords: the line goes into a file, in
// which they stand already.
func withYours(settings []fact.Setting) []fact.Setting {
	for i := range settings {
		if strings.HasPrefix(settings[i].Value, redact.Variable) {
			settings[i].Value = "YOURS"
		}
	}
	return settings
}

// Forge is the fork that keeps its own plan of the card.
var Forge = program.Program{
	Name: "forge", Shown: "Forge", Carries: pictures.Nested,
	Work: "image-generation", Edits: "flags", Language: "python",
	Cards:  forgeCards,
	Proofs: []string{"stable-diffusion-webui-forge", "stable-diffusion-webui-reForge", "modules_forge/", "[Memory Management]", "[GPU Setting] You will use", "Moving model(s) has taken", "[Unload] Trying to free", "Loading Model: {'checkpoint_info'"},
	Hints:  []string{"Begin to load"},
	Like:   []*program.Program{&A1111},
	Titles: map[string]string{"lowvram_mode": "Lower GPU Weights (MB)", "vae_tiling": "Turn on Never OOM for the VAE (always tiled)", "use_lower_quant": "Load an NF4 or GGUF file of the model"},
	// Forge ignores --medvram and --lowvram; its slider does it.
	Steps: map[string]func(*ledger.Case) []step.Step{
		"lowvram_mode":    step.Paste("ui", "At the top of the page: lower GPU Weights (MB) until 2 to 3 GB of the card stay free. Swap Location: CPU, Swap Method: Queue"),
		"vae_tiling":      step.Paste("ui", "Never OOM Integrated: Enabled for VAE (always tiled)"),
		"use_lower_quant": step.Paste("ui", "Use a GGUF or NF4 build of the model (flux1-dev-Q4_K_S.gguf, flux1-dev-bnb-nf4-v2), and Diffusion in Low Bits: Automatic"),
	},
}

// SDNext is the fork by vladmandic. It has hardly a flag of the web UI's left:
// what saves memory is set in its page.
var SDNext = program.Program{
	Name: "sdnext", Shown: "SD.Next", Carries: pictures.Nested, Work: "image-generation", Edits: "flags", Language: "python",
	Sources: program.Sources{"automatic/modules/cmd_args.py": "--lowvram --medvram"},
	Proofs:  []string{"vladmandic/automatic", "modules/sd_offload.py", "modules/processing_vae.py", "modules/processing_diffusers.py", "Starting SD.Next", "sdnext/venv/", "sdnext/modules/", "Processing: step=", "Device: device="},
	Hints:   []string{"oom:"},
	Beside: map[string][]string{
		"oom:":              {"}"},
		"Processing: step=": {" args="},
		"Device: device=":   {" n=", "n=1", "arch=", "hip=", "ipex="},
	},
	Remedies: imageRemedies,
	Steps: map[string]func(*ledger.Case) []step.Step{
		"lowvram_mode": func(*ledger.Case) []step.Step {
			return []step.Step{
				{Kind: "ui", Text: "Settings, Model Offloading (before August 2025 Models & Loading): Model offload mode balanced, Offload GPU high watermark 0.5; sequential is slower and needs least"},
				{Kind: "text", Text: "Or at the start: webui.bat --medvram (Linux: ./webui.sh --medvram), on 4 GB --lowvram."},
			}
		},
		"efficient_attention": step.Paste("ui", "Settings, Compute Settings: Attention method Scaled-Dot-Product; SDP kernels (older: options) Flash and Memory"),
		"vae_tiling":          step.Paste("ui", "Settings, Variational Auto Encoder: VAE tiling, VAE slicing"),
		"half_precision":      step.Paste("ui", "Settings, Compute Settings: Device precision type Auto; Force full precision off"),
		"use_lower_quant":     step.Paste("ui", "Settings, Model Quantization (before August 2025 Quantization Settings): tick Model and TE for SDNQ; reload the model"),
		"lower_resolution":    step.Paste("ui", "Lower width and height, batch size 1, no refine or hires pass; upscale afterwards in Process"),
		"lower_batch_size":    step.Paste("ui", "Batch size 1; raise Batch count instead"),
		"use_smaller_model":   smallerCheckpoint,
		"upgrade_version":     step.Paste("text", "Start it once with --upgrade."),
	},
	Useless: imageUseless,
	Cards:   append(sdnextCards, pictures.Slack("sdnext/slack", of("sdnext"))),
}
