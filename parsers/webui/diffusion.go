package webui

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Diffusion reads diffusers and what is built on it: InvokeAI, kohya's
// trainers, FramePack and other demos.
var Diffusion = text.Parser{
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

func parseDiffusion(l *text.Log, hits []text.Hit, f *fact.Facts) {
	for _, h := range hits {
		switch h.Word {
		case 0:
			end := h.At + len(strings.ReplaceAll(diffusionWords[0], " ", ""))
			text.Fail(f, l, h.At, end, fact.Failure{Kind: fact.InvokeRefused, Framework: "invokeai", Backend: "cuda", Phase: "load", Stage: "weights"})
		case 1:
			f.Notices = append(f.Notices, fact.Notice{ID: "batch_reduced", Line: l.Line(h.At), Text: l.LineText(h.At), Title: "Training ran out of memory and went on with a smaller batch."})
		case 2, 3, 4:
			f.Signals = append(f.Signals, fact.Signal{ID: "no_fast_attention", Line: l.Line(h.At), Text: l.LineText(h.At)})
		case 5:
			f.Signals = append(f.Signals, fact.Signal{ID: "vram_planned", Line: l.Line(h.At), Text: l.LineText(h.At)})
		default:
			f.Signals = append(f.Signals, fact.Signal{ID: "vae", Line: l.Line(h.At), Text: l.LineText(h.At)})
		}
	}
}
