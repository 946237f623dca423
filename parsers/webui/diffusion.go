package webui

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Diffusion reads diffusers and what is built on it: InvokeAI, kohya's
// trainers, FramePack and other demos.
var Diffusion = text.NewParser("diffusion", nil, []text.Wording{
	text.On("Insufficient GPU memory to load model",
		text.Quotes(fact.Failure{Kind: fact.InvokeRefused, Framework: "invokeai", Backend: "cuda", Phase: "load", Stage: "weights"})),
	text.On("OOM Detected, reducing batch/grad size", text.Notices("batch_reduced", "Training ran out of memory and went on with a smaller batch.")),
}, []text.Wording{
	text.On("Xformers is not installed!", text.Signals("no_fast_attention")), text.On("Flash Attn is not installed!", text.Signals("no_fast_attention")),
	text.On("Sage Attn is not installed!", text.Signals("no_fast_attention")),
	text.On("vae.decode(", text.Signals("vae")), text.On("vae/decode", text.Signals("vae")), text.On("autoencoder_kl.py", text.Signals("vae")),
	text.On("=segment start, ", text.States(0, 40, text.NewPattern(`segmentstart,(?<segment_seconds>NUM)s`))), // a stretch of sound between two pauses in so-vits-svc
	text.On("autoencoder.py", text.Signals("vae")), text.On("VAEDecode", text.Signals("vae")), text.On("decode_first_stage", text.Signals("vae")),
})
