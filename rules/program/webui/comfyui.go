// Package webui knows programs with a page of their own: ComfyUI,
// AUTOMATIC1111 and Forge, kohya, diffusers, InvokeAI, FramePack.
package webui

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/torch/pictures"
	"github.com/oomdoc/oomdoc/rules/program/webui/addon"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// ComfyUI is what is peculiar to ComfyUI: it moves weights in and out by
// itself, so that what is short is mostly the work, or system memory.
var ComfyUI = program.Program{
	Name: "comfyui", Shown: "ComfyUI", Rank: 88,
	Units:   []string{"comfyui"},
	Carries: append([]string{"wan", "hunyuanvideo", "cogvideo", "omnigen", "a1111"}, pictures.Nested...), // in node packs, some with modules/processing.py
	Work:    "image-generation", Edits: "flags", Language: "python",
	Sources: program.Sources{"ComfyUI/comfy/cli_args.py": "--cpu-vae --fp16-unet --fp16-vae --lowvram --reserve-vram --use-pytorch-cross-attention --use-quad-cross-attention" +
		" --vram-headroom --disable-dynamic-vram --disable-pinned-memory --cache-none --bf16-vae --directml --disable-cuda-malloc --novram --gpu-only --highvram"},
	Proofs: []string{
		"got prompt", "[Prompt Server] web root", "!!! Exception during processing", "Prompt executed in", "Error occurred when executing", "Got an OOM, unloading all loaded models",
		"ComfyUI Error Report", "ComfyUI Version:", "Initializing block swap", "Block swap memory summary", "CheckpointLoaderSimple", "ComfyUI/execution.py", "ComfyUI/comfy/", "ComfyUI/nodes.py", "ComfyUI/main.py", "ComfyUI/custom_nodes/", "custom_nodes/ComfyUI", "ComfyUI/models/",
		"comfy/model_management.py", "comfy/ldm/", "comfy/ops.py", "loaded completely ", "prepared for dynamic VRAM loading", "Ran out of memory when regular VAE", "This error means you ran out of memory on your GPU",
	},
	Beside: map[string][]string{
		"Error occurred when executing": {":"},
		"loaded completely ":            {"true", "false"},
	},
	Clues: map[string][]cause.Clue{
		cause.BatchTooLarge: {
			cause.Said(cause.Likely, "The VAE handles all pixels or frames at once, and that did not fit in one piece.", fact.ComfyVAE),
			cause.Said(cause.Fair, "Attention did not fit beside the weights and is computed in slices.", fact.ComfySlices),
			// ComfyUI fits weights to the card before it samples, so a full card in a
			// sampler is full of work.
			cause.First(cause.If(when.All(comfyWork, sized), cause.Good, besideWeights), cause.If(comfyWork, cause.Weak, besideWeights)),
		},
		cause.ModelTooLarge: {
			cause.First(cause.If(when.All(carvedOut, imageProgram), cause.Strong, "The card has {total}: most likely the fixed part of an integrated GPU, too small for any image model.")),
			cause.First(cause.If(comfyRefused, cause.Hint, "The model may be too large for this card.")),
		},
		cause.RetainedMemory: {cause.Shown("comfy_leak", cause.If(ledger.Allocator, cause.Good, "ComfyUI itself warns that a model it dropped is still held."))},
		cause.HostMemory:     {cause.Said(cause.Strong, "ComfyUI could not get or pin system memory for the weights that it keeps outside the card.", fact.HostBuffer)},
		cause.Unknown:        {cause.Said(cause.Fair, "ComfyUI says that it ran out of memory, without figures.", fact.ComfyUnload, fact.ComfyTips)},
	},
	Remedies: imageRemedies,
	Steps: map[string]func(*ledger.Case) []step.Step{
		"lowvram_mode":        comfyLowvram,
		"vae_tiling":          step.Paste("ui", "Replace the node VAE Decode by VAE Decode (Tiled): tile_size 256 (older versions: 320); for a video VAE also temporal_size 16"),
		"lower_resolution":    step.Paste("text", "In the Empty Latent node: half the width and height (a quarter of the pixels), batch_size 1; video: fewer frames first. Upscale afterwards in tiles."),
		"lower_batch_size":    step.Paste("ui", "Empty Latent Image: batch_size 1"),
		"cpu_offload":         comfyStart("", step.Change{Flag: "--cpu-vae"}),
		"use_lower_quant":     step.Paste("ui", "Load Diffusion Model: weight_dtype fp8_e4m3fn; or a GGUF file (Q5_K_M, Q4_K_S) with the node Unet Loader (GGUF), and an fp8 text encoder"),
		"efficient_attention": comfyStart("", step.Change{Flag: "--use-pytorch-cross-attention"}, step.Change{Flag: "--use-split-cross-attention", Drop: true}, step.Change{Flag: "--use-quad-cross-attention", Drop: true}),
		"upgrade_version":     comfyUpdate,
		"half_precision":      comfyStart("", step.Change{Flag: "--fp16-unet"}, step.Change{Flag: "--fp16-vae"}),
		"restart_session":     step.Paste("ui", "Click Free model and node cache (beside Manager), or restart ComfyUI"),
		"bigger_gpu":          comfyBigger,
		"use_smaller_model":   smallerCheckpoint,
	},
	Titles:  map[string]string{"lowvram_mode": "Keep more VRAM free", "lower_resolution": "Lower the resolution, or fewer frames", "use_lower_quant": "Load an fp8 or GGUF file of the model", "upgrade_version": "Update ComfyUI"},
	Costs:   map[string]string{"lowvram_mode": "Slower: more weights stay in RAM.", "use_lower_quant": "Slight loss of quality."},
	Useless: imageUseless,
	Cards:   append(comfyCards, pictures.Slack("comfyui/slack", of("comfyui"))),
}

// imageRemedies hold for all that make images.
var imageRemedies = map[string][]cause.Remedy{
	cause.BatchTooLarge: {
		{Fix: "half_precision", Fit: cause.Foremost, If: fullPrecision},
		{Fix: "vae_tiling", Fit: cause.Cures, If: inVAE},
		{Fix: "lower_resolution", Fit: cause.Cures},
		{Fix: "lowvram_mode", Fit: cause.Helps, If: notMac},
		{Fix: "efficient_attention", Fit: cause.MayHelp, If: when.Not(when.Any(inForge, addon.FastAlready))},
		{Fix: "lower_batch_size", Fit: cause.MayHelp},
		{Fix: "close_other_apps", Fit: cause.MayHelp},
		{Fix: "cpu_offload", Fit: cause.LastResort, If: func(c *ledger.Case) bool { return c.In("comfyui", "fooocus") }},
	},
	cause.ModelTooLarge: {
		{Fix: "bigger_gpu", Fit: cause.Foremost, If: carvedOut},
		{Fix: "half_precision", Fit: cause.Foremost, If: fullPrecision},
		{Fix: "lowvram_mode", Fit: cause.Cures, If: when.All(when.Not(carvedOut), notMac)},
		{Fix: "use_lower_quant", Fit: cause.Cures},
		{Fix: "lower_resolution", Fit: cause.MayHelp},
		{Fix: "close_other_apps", Fit: cause.MayHelp},
		{Fix: "use_smaller_model", Fit: cause.MayHelp},
	},
	cause.OversizedAllocation: {
		{Fix: "efficient_attention", Fit: cause.Cures, If: slowAttention},
		{Fix: "lower_resolution", Fit: cause.Cures},
		{Fix: "efficient_attention", Fit: cause.Cures, If: when.Not(inForge)},
		{Fix: "vae_tiling", Fit: cause.Helps},
		{Fix: "lowvram_mode", Fit: cause.LastResort},
	},
	cause.HostMemory: hostRemedies,
	cause.Unknown: {
		{Fix: "lowvram_mode", Fit: cause.Cures},
		{Fix: "lower_resolution", Fit: cause.Cures},
		{Fix: "vae_tiling", Fit: cause.Helps, If: inVAE},
		{Fix: "use_lower_quant", Fit: cause.Helps},
		{Fix: "upgrade_version", Fit: cause.MayHelp},
		{Fix: "restart_session", Fit: cause.MayHelp},
	},
}

// Fooocus is what is peculiar to Fooocus, whose flags are its own.
var Fooocus = program.Program{
	Name: "fooocus", Shown: "Fooocus", Carries: pictures.Nested,
	Work: "image-generation", Edits: "flags", Language: "python",
	Sources: program.Sources{"ldm_patched/modules/args_parser.py": "--always-low-vram --attention-pytorch --always-offload-from-vram" +
		" --vae-in-fp16 --unet-in-fp16 --vae-in-cpu --unet-in-fp8-e4m3fn --clip-in-fp8-e4m3fn"},
	Proofs:   []string{"[Fooocus", "backend/headless/fcbh/", "Fooocus/modules/", "Fooocus/ldm_patched/", "Request to load LoRAs [["},
	Hints:    []string{"ldm_patched", "Fooocus/models/", "Total time:"},
	Beside:   map[string][]string{"Total time:": {"seconds"}},
	Remedies: imageRemedies,
	Steps: map[string]func(*ledger.Case) []step.Step{
		"lowvram_mode":        step.Paste("shell", "python entry_with_update.py --always-low-vram"),
		"efficient_attention": step.Paste("shell", "python entry_with_update.py --attention-pytorch"),
		"lower_resolution":    step.Paste("ui", "Advanced: Aspect Ratios: 704x1344 or smaller, Image Number: 1, Performance: Speed; no upscale"),
		"lower_batch_size":    step.Paste("ui", "Advanced: Image Number: 1"),
		"vae_tiling":          step.Paste("shell", "python entry_with_update.py --vae-in-fp16"),
		"half_precision":      step.Paste("shell", "python entry_with_update.py --unet-in-fp16 --vae-in-fp16"),
		"cpu_offload":         step.Paste("shell", "python entry_with_update.py --vae-in-cpu"),
		"use_smaller_model":   step.Paste("text", "Fooocus runs SDXL only; SD 1.5 needs another program."),
		"upgrade_version":     step.Paste("text", "It updates itself when started with run.bat or entry_with_update.py."),
		"use_lower_quant":     step.Paste("shell", "python entry_with_update.py --unet-in-fp8-e4m3fn --clip-in-fp8-e4m3fn"),
	},
	Titles:  map[string]string{"lowvram_mode": "Start with `--always-low-vram`", "vae_tiling": "Run the VAE at 16 bit", "use_lower_quant": "Load the weights in 8 bit"},
	Useless: addon.FooocusUseless(imageUseless),
	Cards:   append(fooocusCards, pictures.Slack("fooocus/slack", of("fooocus"))),
}

var imageUseless = map[string]func(*ledger.Case) string{
	"efficient_attention": func(c *ledger.Case) string {
		if s, ok := c.Setting("xformers", "opt_sdp_attention", "opt_sub_quad_attention"); ok {
			return "It is on already (" + step.SafeFlag(s.Flag) + ")."
		}
		return ""
	},
}

// webuiUseless are those of AUTOMATIC1111's web UI.
var webuiUseless = map[string]func(*ledger.Case) string{
	"efficient_attention": imageUseless["efficient_attention"],
	"lowvram_mode": func(c *ledger.Case) string {
		if _, on := c.Setting("lowvram"); on && !inForge(c) {
			return "It is on already (--lowvram)."
		}
		return ""
	},
}

// notMac: there is a memory of the card's own to move things out of.
func notMac(c *ledger.Case) bool { return !c.Kind(fact.MPSAlloc, fact.MPSBuffer) }

// carvedOut: an integrated AMD card with its 512 MiB of fixed memory.
func carvedOut(c *ledger.Case) bool { t := c.F().Total; return t != nil && t.Bytes < 3*units.GiB/2 }

// work: an allocation in the middle of the work of one of these programs.
func work(programs ...string) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool {
		return c.In(programs...) && ledger.Allocator(c) && !ledger.Roomy(c) && c.Phase != "load"
	}
}

var comfyWork = when.All(work("comfyui"), when.Not(carvedOut))

// sized: it is known what was wanted, or where in the work.
func sized(c *ledger.Case) bool {
	return c.F().Requested != nil || c.Phase == "inference" && c.Signal("vae", "attention") != nil
}

func comfyRefused(c *ledger.Case) bool {
	return c.In("comfyui") && ledger.Allocator(c) && !ledger.Roomy(c)
}

func imageProgram(c *ledger.Case) bool { return c.In("comfyui", "a1111", "diffusers") }

const besideWeights = "ComfyUI fits the weights to the card by itself; the activations come on top."

// inVAE: the failure is in decoding or encoding.
func inVAE(c *ledger.Case) bool { return c.Kind(fact.ComfyVAE) || c.Signal("vae") != nil }

// comfyStart starts ComfyUI with options added: the log's own command, the line
// of the portable build, or a plain one with where else they go.
func comfyStart(note string, changes ...step.Change) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		own, flags, bat := step.Typed(c, "main.py"), step.Edited(c, nil, changes...), "run_nvidia_gpu.bat"
		if c.Backend == "rocm" {
			bat = "run_amd_gpu.bat"
		}
		started := "`" + bat + "`"
		if c.Backend == "xpu" || slices.ContainsFunc(changes, func(x step.Change) bool { return x.Flag == "--directml" }) {
			started = "the .bat file that starts it"
		}
		switch {
		case addon.Desktop(c):
			return append(words(note), step.Step{Kind: "ui", Text: addon.InDesktop(changes)})
		case portableBuild(c):
			if own != nil { // the reader's own options stay
				flags = step.Edited(c, own, append([]step.Change{{Flag: "-s", Drop: true}, {Flag: "--windows-standalone-build", Drop: true}}, changes...)...)
			}
			return []step.Step{
				{Kind: "text", Text: strings.TrimSpace(note + " In " + started + ", the line becomes:")},
				{Kind: "config", Text: `.\python_embeded\python.exe -s ComfyUI\main.py --windows-standalone-build ` + flags},
			}
		case own != nil:
			return append(words(note), step.Step{Kind: "shell", Text: "python main.py " + step.Edited(c, own, changes...)})
		case c.Reader.OS == "linux" && addon.Launcher(c) == "" || addon.OwnPython(c): // neither the portable build nor the desktop app
			return append(words(note), step.Step{Kind: "shell", Text: "python main.py " + flags})
		}
		where := "Portable build: add the flag at the end of the line in " + started + "; desktop app: Settings, Server-Config."
		if l := addon.Launcher(c); l != "" {
			return append(words(strings.TrimSpace(note+" "+l)), step.Step{Kind: "config", Text: flags})
		}
		if c.Reader.OS == "linux" || c.Reader.OS == "mac" {
			where = ""
		}
		return append(words(strings.TrimSpace(note+" "+where)), step.Step{Kind: "shell", Text: "python main.py " + flags})
	}
}

// comfyUpdate: the app and launchers bring their own way.
func comfyUpdate(c *ledger.Case) []step.Step {
	switch {
	case addon.Desktop(c):
		return []step.Step{{Kind: "ui", Text: "The desktop app updates itself: restart it and accept the update"}}
	case portableBuild(c):
		return []step.Step{{Kind: "text", Text: "Start `update\\update_comfyui.bat` in the folder of the portable build."}}
	case addon.Launcher(c) != "":
		return []step.Step{{Kind: "ui", Text: "Use the launcher's Update button, or Manager: Update ComfyUI"}}
	}
	return []step.Step{{Kind: "shell", Text: "git pull && pip install -r requirements.txt  # in the folder ComfyUI"}}
}

func words(text string) []step.Step {
	if text == "" {
		return nil
	}
	return []step.Step{{Kind: "text", Text: text}}
}

// portableBuild: the paths are those of the package for Windows.
func portableBuild(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool {
		return strings.Contains(x.File, "ComfyUI_windows_portable") || strings.Contains(x.File, "python_embeded")
	})
}

// comfyLowvram: since 2024-08 weights are moved in parts without a flag, and
// keeping more of the card free is what helps; before, --lowvram. With dynamic
// VRAM (2026) --lowvram does nothing and --vram-headroom keeps room.
func comfyLowvram(c *ledger.Case) []step.Step {
	note, keep := "This keeps 2 GB free beside the weights; 4 if that is not enough.", step.Change{Flag: "--reserve-vram", Value: "2"}
	switch {
	case addon.Recursive(c):
		note, keep = "More weights then stay in RAM. This ComfyUI is older than August 2024; a newer one does this by itself, so update it.", step.Change{Flag: "--lowvram"}
	case addon.DynamicVRAM(c):
		note = "With dynamic VRAM, --lowvram does nothing. If this is not enough: --disable-dynamic-vram."
		keep = step.Change{Flag: "--vram-headroom", Value: "1.5"}
	case c.Kind(fact.TorchAsync) && c.F().Requested != nil:
		note = "This keeps 2 GB free beside the weights. A ComfyUI from before August 2024 has `--lowvram` instead."
	}
	return comfyStart(note, keep, step.Change{Flag: "--highvram", Drop: true}, step.Change{Flag: "--gpu-only", Drop: true}, step.Change{Flag: "--normalvram", Drop: true})(c)
}

func comfyBigger(c *ledger.Case) []step.Step {
	if carvedOut(c) {
		return []step.Step{{Kind: "text", Text: "Raise the integrated GPU's memory in the BIOS setup (UMA Frame Buffer Size: 4 GB or more), or use a card with 8 GB or more. Until then: `python main.py --cpu`"}}
	}
	return []step.Step{{Kind: "text", Text: "Use or rent a card with more VRAM (12 GB for SDXL, 24 GB for Flux and video)."}}
}
