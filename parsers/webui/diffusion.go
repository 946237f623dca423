package webui

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Diffusion reads diffusers and what is built on it: InvokeAI, kohya's
// trainers, FramePack and other demos.
var Diffusion = parser("diffusion", nil, []text.Wording{
	text.On("Insufficient GPU memory to load model",
		says(fact.Failure{Kind: fact.InvokeRefused, Framework: "invokeai", Backend: "cuda", Phase: "load", Stage: "weights"})),
	text.On("OOM Detected, reducing batch/grad size", readSmallerBatch),
}, []text.Wording{
	text.On("Xformers is not installed!", signals("no_fast_attention")), text.On("Flash Attn is not installed!", signals("no_fast_attention")),
	text.On("Sage Attn is not installed!", signals("no_fast_attention")),
	text.On("vae.decode(", signals("vae")), text.On("vae/decode", signals("vae")), text.On("autoencoder_kl.py", signals("vae")),
	text.On("autoencoder.py", signals("vae")), text.On("VAEDecode", signals("vae")), text.On("decode_first_stage", signals("vae")),
})

// DiffusersProofs prove diffusers and the programs on it.
var DiffusersProofs = slices.Concat(
	anySlash(text.ProofsOf("diffusers", "-packages/diffusers/", "src/diffusers/")), text.ProofsOf("diffusers", "Loading pipeline components"),
	anySlash(text.ProofsOf("invokeai", "invokeai/backend", "invokeai/app")), text.ProofsOf("invokeai", "[InvokeAI]::"),
	text.ProofsOf("kohya", "train_network.py", "sdxl_train.py", "sdxl_train_network.py", "sd-scripts", "kohya_ss",
		"create LoRA for U-Net:", "num train images * repeats"),
	text.ProofsOf("framepack", "High-VRAM Mode:"),
	[]text.Proof{{Word: "flux_train", Program: "kohya", Weight: 2, Beside: []string{".py"}}, {Word: "FramePack", Program: "framepack", Weight: 1}},
)

func readSmallerBatch(m text.Message) int {
	m.Notice(fact.Notice{ID: "batch_reduced", Title: "Training ran out of memory and went on with a smaller batch."})
	return m.End
}
