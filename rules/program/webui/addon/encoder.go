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
		Headline: "ran out of GPU memory[[ ({total})]] while it loaded the text encoder",
		Means:    "The last model that ComfyUI started to load is a text encoder (see the line \"Requested to load\"). At fp16 T5-XXL (Flux, SD 3.5) takes 9.8 GB, UMT5-XXL (Wan) 11, HunyuanVideo's Llama 15, Qwen2.5-VL 7B 16. At fp8 each takes half.",
		Not:      "A smaller image, VAE tiles: most likely no step had started.",
		Cures: []cause.Cure{
			{Fix: "use_lower_quant", Title: "Load an fp8 file of the text encoder", Told: "In the CLIP loader choose `t5xxl_fp8_e4m3fn_scaled`, `umt5_xxl_fp8_e4m3fn_scaled`, `llava_llama3_fp8_scaled` or `qwen_2.5_vl_7b_fp8_scaled`. Or load a GGUF with CLIPLoader (GGUF).", Cost: "Hardly any loss of quality."},
			{Fix: "cpu_offload", Title: "Run the text encoder on the CPU", Told: "In the CLIP loader set `device` to cpu (an advanced input in some versions). It runs once for each new prompt.", Cost: "Some seconds, and RAM."},
			unload,
		},
		Sources: []string{"https://github.com/Comfy-Org/ComfyUI/blob/master/comfy/model_management.py", "https://github.com/Comfy-Org/ComfyUI/blob/master/comfy/text_encoders/hunyuan_video.py", "https://github.com/Comfy-Org/ComfyUI/blob/master/nodes.py", comfyThread + "6176"},
	}
}
