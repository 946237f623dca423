package webui

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Diffusion reads diffusers and what is built on it: InvokeAI, kohya's
// trainers, FramePack and other demos.
var Diffusion = text.NewParser("diffusion", nil, []text.Wording{
	text.On("Insufficient GPU memory to load model", text.Quotes(fact.Failure{Kind: fact.InvokeRefused, Framework: "invokeai", Backend: "cuda", Phase: "load", Stage: "weights"})),
	// WanGP's own words in place of CUDA's, by the text of the exception (wgp.py).
	text.On("you have unsufficient VRAM", text.Quotes(fact.Failure{Kind: fact.DeviceAlloc, Backend: "cuda", Wrapper: true})), text.On("you have unsufficient RAM", text.Quotes(fact.Failure{Kind: fact.CUDAError, Backend: "cuda", Wrapper: true})),
	text.On("OOM Detected, reducing batch/grad size", text.Notices("batch_reduced", "Training ran out of memory and went on with a smaller batch.")),
}, append(append(text.OnAny(text.Signals("no_fast_attention"), "Xformers is not installed!", "Flash Attn is not installed!", "Sage Attn is not installed!"),
	text.OnAny(text.Signals("vae"), "vae.decode(", "vae/decode", "autoencoder_kl.py", "autoencoder.py", "VAEDecode", "decode_first_stage")...),
	text.On("steps:", sdScripts), text.On("=segment start, ", text.States(0, 40, text.NewPattern(`segmentstart,(?<segment_seconds>NUM)s`))))) // a stretch of sound between two pauses in so-vits-svc

// kohyaBar is the progress of sd-scripts: the loss and nothing else. Those of
// diffusers begin with a capital and have a learning rate beside it.
var kohyaBar = text.NewPattern(`steps:\d{1,3}%\|[^|]{0,60}\|\d{1,7}/\d{1,7}\[[^\]=]{5,60},(?:avr_)?loss=[\da-z.+-]{1,12}\]`)

func sdScripts(m text.Message) int {
	if strings.Contains(m.Log.LineText(m.At), "steps:") && m.Find(kohyaBar, 200).Ok() {
		m.Facts.Programs = append(m.Facts.Programs, fact.Program{Name: "kohya", Line: m.Log.Line(m.At), Weight: 2})
	}
	return m.End
}
