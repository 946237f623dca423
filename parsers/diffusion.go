package parsers

import "strings"

// InvokeRefused is InvokeAI's model cache giving up before it asks for memory
// (invokeai/backend/model_manager/load/model_cache).
const InvokeRefused Kind = "invoke_refused"

// diffusion reads diffusers and what is built on it: InvokeAI, kohya's
// trainers, FramePack and other demos.
var diffusion = Parser{
	Name:     "diffusion",
	Keywords: diffusionWords,
	Context:  diffusionContext,
	Parse:    parseDiffusion,
}

var diffusionWords = []string{"Insufficient GPU memory to load model", "OOM Detected, reducing batch/grad size"}

var diffusionContext = []string{
	"Xformers is not installed!", "Flash Attn is not installed!", "Sage Attn is not installed!",
	"Free VRAM ", "vae.decode(", "vae/decode", "autoencoder_kl.py", "autoencoder.py", "VAEDecode", "decode_first_stage",
}

var diffusersProofs = []proof{
	{word: "-packages/diffusers/", program: "diffusers", weight: 2}, {word: `-packages\diffusers\`, program: "diffusers", weight: 2},
	{word: "src/diffusers/", program: "diffusers", weight: 2}, {word: `src\diffusers\`, program: "diffusers", weight: 2},
	{word: "Loading pipeline components", program: "diffusers", weight: 2},
	{word: "[InvokeAI]::", program: "invokeai", weight: 2}, {word: "invokeai/backend", program: "invokeai", weight: 2}, {word: `invokeai\backend`, program: "invokeai", weight: 2}, {word: "invokeai/app", program: "invokeai", weight: 2}, {word: `invokeai\app`, program: "invokeai", weight: 2},
	{word: "train_network.py", program: "kohya", weight: 2}, {word: "sdxl_train.py", program: "kohya", weight: 2}, {word: "sdxl_train_network.py", program: "kohya", weight: 2}, {word: "flux_train", program: "kohya", weight: 2, beside: []string{".py"}},
	{word: "create LoRA for U-Net:", program: "kohya", weight: 2}, {word: "sd-scripts", program: "kohya", weight: 2}, {word: "kohya_ss", program: "kohya", weight: 2}, {word: "num train images * repeats", program: "kohya", weight: 2},
	{word: "High-VRAM Mode:", program: "framepack", weight: 2}, {word: "FramePack", program: "framepack", weight: 1},
}

func parseDiffusion(l *Log, hits []Hit, f *Facts) {
	for _, h := range hits {
		switch h.Word {
		case 0:
			end := h.At + len(strings.ReplaceAll(diffusionWords[0], " ", ""))
			f.fail(l, h.At, end, Failure{Kind: InvokeRefused, Framework: "invokeai", Backend: "cuda", Phase: "load", Stage: "weights"})
		case 1:
			f.Notices = append(f.Notices, Notice{ID: "batch_reduced", Line: l.Line(h.At), Text: l.LineText(h.At), Title: "Training ran out of memory and went on with a smaller batch."})
		case 2, 3, 4:
			f.Signals = append(f.Signals, Signal{ID: "no_fast_attention", Line: l.Line(h.At), Text: l.LineText(h.At)})
		case 5:
			f.Signals = append(f.Signals, Signal{ID: "vram_planned", Line: l.Line(h.At), Text: l.LineText(h.At)})
		default:
			f.Signals = append(f.Signals, Signal{ID: "vae", Line: l.Line(h.At), Text: l.LineText(h.At)})
		}
	}
}
