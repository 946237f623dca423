package addon

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// launchers start web UIs for their readers; their folders are among the paths,
// and options go into their own pages.
var launchers = []struct{ folder, where string }{
	{"ComfyUI-Zluda/", "ComfyUI-ZLUDA: in `comfyui.bat` (or the copy of it that you start), at the end of the line COMMANDLINE_ARGS; one of the same name there is replaced."},
	{"StabilityMatrix/", "Stability Matrix: the gear beside Launch, Extra Launch Arguments."},
	{"Data/Packages/", "Stability Matrix: the gear beside Launch, Extra Launch Arguments."},
	{"/root/ComfyUI/", "After `main.py` in the command that starts it; in YanWenKun's image: in the container's variable `CLI_ARGS`."},
	{"pinokio/api/", "Pinokio: in the app's folder, at the end of the command in `start.js` (its tab Files)."},
}

// desktop names ComfyUI's options as the settings page of its own app does
// (ComfyUI_frontend, src/constants/serverConfig.ts); the others it does not have.
var desktop = map[string]string{
	"--reserve-vram": "Memory, Reserved VRAM (GB): ", "--lowvram": "Memory, VRAM management mode: lowvram", "--novram": "Memory, VRAM management mode: novram", "--disable-smart-memory": "Memory, Disable smart memory management: on",
	"--cpu-vae": "Inference, Run VAE on CPU: on", "--fp16-vae": "Inference, VAE precision: fp16", "--bf16-vae": "Inference, VAE precision: bf16", "--fp16-unet": "Inference, UNET precision: fp16",
	"--use-pytorch-cross-attention": "Attention, Cross attention method: pytorch", "--use-split-cross-attention": "Attention, Cross attention method: split", "--disable-cuda-malloc": "CUDA, Use CUDA malloc for memory allocation: disable",
	"--gpu-only": "Memory, VRAM management mode: auto", "--highvram": "Memory, VRAM management mode: auto",
}

// Desktop reports that ComfyUI runs in its own app, by the app's paths.
func Desktop(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool {
		return strings.Contains(x.File, "@comfyorgcomfyui-electron") || strings.Contains(x.File, "ComfyUI.app/")
	})
}

// InDesktop is where changes go in that app, and what it has no setting for.
func InDesktop(changes []step.Change) string {
	var names, none []string
	for _, ch := range changes {
		name, known := desktop[ch.Flag]
		switch {
		case ch.Drop && ch.Flag != "--gpu-only" && ch.Flag != "--highvram", ch.Drop && len(changes) > 2:
		case known:
			names = append(names, name+ch.Value)
		default:
			none = append(none, strings.TrimSpace(ch.Flag+" "+ch.Value))
		}
	}
	if len(names) == 0 {
		return "The desktop app's Settings have no entry for `" + strings.Join(none, " ") + "`; ComfyUI's portable or manual installation takes it."
	}
	slices.Sort(names)
	return "In the desktop app: Settings, Server-Config, " + strings.Join(slices.Compact(names), "; ") + ". Then restart it."
}

// Launcher says where its options go, "" where the log shows no launcher.
func Launcher(c *ledger.Case) string {
	for _, x := range c.Facts.Code {
		for _, l := range launchers {
			if strings.Contains(x.File, l.folder) {
				return l.where
			}
		}
	}
	return ""
}

// SaysDynamic is what ComfyUI of 2026 prints at its start with the new loader.
const SaysDynamic = "DynamicVRAM support detected"

// DynamicVRAM reports that loader.
func DynamicVRAM(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Words, func(w fact.Word) bool { return w.Text == SaysDynamic })
}

// Recursive reports a ComfyUI of before August 15th, 2024, when its nodes were run
// by another function (pull request 2666); --reserve-vram came four days later
// (commit 045377ea).
func Recursive(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool { return x.Function == "recursive_execute" })
}
