package addon

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// encoders are text encoders as ComfyUI names them when it begins to load one.
var encoders = func() (out []string) {
	for _, name := range []string{"CosmosTE", "FluxClip", "HiDreamTE", "HunyuanVideoClip", "LuminaTE", "MochiTE", "Omnigen2TE", "PixArtTE", "QwenImageTE", "SD3Clip", "WanTE"} {
		out = append(out, "Requested to load "+name+"Model")
	}
	return out
}()

// Encoder is about a text encoder that was being loaded, where the log has no
// frames of it; unload empties the card before.
func Encoder(unload cause.Cure) cause.Card {
	return cause.Card{
		ID: "comfyui/encoder-load", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Said: encoders, Unsaid: append([]string{"loaded completely ", "loaded partially "}, Sampling...),
		If: func(c *ledger.Case) bool { return !ledger.Roomy(c) }, Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory[[ ({total})]] while it loaded the text encoder",
		Means:    "The last model that ComfyUI began to load is a text encoder (\"Requested to load\", with ClipModel or TEModel in the name). At fp16 T5-XXL takes 9.8 GB, UMT5-XXL (Wan) 11, the Llama of HunyuanVideo 15 and Qwen2.5-VL 7B 16; at fp8 half.",
		Not:      "A smaller image, VAE tiles: no step had begun.",
		Cures: []cause.Cure{
			{Fix: "use_lower_quant", Title: "Load an fp8 file of the text encoder", Told: "In the CLIP loader: `llava_llama3_fp8_scaled`, `t5xxl_fp8_e4m3fn_scaled`, `umt5_xxl_fp8_e4m3fn_scaled` or `qwen_2.5_vl_7b_fp8_scaled`; or a GGUF with CLIPLoader (GGUF).", Cost: "Hardly any loss of quality."},
			{Fix: "cpu_offload", Title: "Run the text encoder on the CPU", Told: "CLIP loader: `device` cpu (an advanced input in some versions). It runs once for each new prompt.", Cost: "Some seconds, and RAM."},
			unload,
		},
		Sources: []string{"https://github.com/Comfy-Org/ComfyUI/blob/master/comfy/model_management.py", "https://github.com/Comfy-Org/ComfyUI/blob/master/comfy/text_encoders/hunyuan_video.py", "https://github.com/Comfy-Org/ComfyUI/blob/master/nodes.py", comfyThread + "6176"},
	}
}
