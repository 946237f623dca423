package fit

import (
	"cmp"
	"fmt"
	"strings"
)

// Picture is what a diffusion model is to make, and how a program runs it.
type Picture struct {
	// Width, Height in pixels and Frames of a video; the model's usual if 0.
	Width, Height, Frames int
	// TextEncoder: "" takes its turn and leaves the card before the denoiser
	// comes, as ComfyUI and diffusers' enable_model_cpu_offload do; "8bit" the same
	// in 8 bit; "cpu" never comes there; "gpu" stays there, and all other parts.
	TextEncoder string
	// Tiled decodes the picture in pieces of 512 x 512.
	Tiled bool
}

// Denoiser is the part of a diffusion model that works step by step.
type Denoiser struct {
	// Hidden is the width of its tokens, Side the pixels of a token's side, Step
	// the frames to a token (0 for pictures). A UNet has Side 8.
	Hidden int64 `json:"hidden"`
	Side   int   `json:"side"`
	Step   int   `json:"step,omitempty"`
	UNet   bool  `json:"unet,omitempty"`
	// Width, Height and Frames that it was made for.
	Width  int `json:"width"`
	Height int `json:"height"`
	Frames int `json:"frames,omitempty"`
}

// Rows of a token's width that live at once in a transformer, and planes of the
// first layer in a UNet, in 16 bit: from peaks that people report for FLUX.1,
// SDXL and Wan 2.1; good to a third.
const (
	tokenRows    = 28
	unetPlanes   = 160
	decodePlanes = 10 // of 128 channels a pixel, in the VAE
	tile         = 512
)

func (p Picture) usual(d Denoiser) Picture {
	p.Width, p.Height, p.Frames = cmp.Or(p.Width, d.Width), cmp.Or(p.Height, d.Height), max(1, cmp.Or(p.Frames, d.Frames))
	if d.Step == 0 {
		p.Frames = 1
	}
	return p
}

// phases of a picture, which need not be on the card together.
type phase struct {
	name             string
	weights, compute int64
}

// phases sizes the parts: texts are read, the denoiser works, the VAE decodes.
func (m *Model) phases(f format, p Picture) []phase {
	d := m.denoiser()
	p = p.usual(d)
	texts := int64(0)
	vae := int64(0)
	denoisers := int64(0)
	for _, c := range m.Components {
		switch name := strings.ToLower(c.Name); {
		case strings.Contains(name, "vae"):
			vae += 2 * c.Parameters
		case strings.Contains(name, "text"), strings.Contains(name, "encoder"):
			texts += 2 * c.Parameters
		default:
			denoisers++
		}
	}
	if p.TextEncoder == "8bit" {
		texts /= 2
	}
	// Wan 2.2 has two denoisers, one for the first steps and one for the others.
	return []phase{
		{"text encoders", texts, 256 * MiB},
		{"denoiser", f.size(m.Parameters / max(1, denoisers)), d.compute(p)},
		{"VAE", vae, decode(p)},
	}
}

// compute is what the denoiser's activations take.
func (d Denoiser) compute(p Picture) int64 {
	tokens := int64((p.Width+d.Side-1)/d.Side) * int64((p.Height+d.Side-1)/d.Side)
	if d.UNet {
		return tokens * d.Hidden * 2 * unetPlanes
	}
	if d.Step > 0 {
		tokens *= int64((p.Frames-1)/d.Step + 1)
	}
	return (tokens + 512) * d.Hidden * 2 * tokenRows
}

// decode is what the VAE holds: of a video a few frames at a time.
func decode(p Picture) int64 {
	pixels := int64(p.Width) * int64(p.Height)
	if p.Tiled {
		pixels = min(pixels, tile*tile)
	}
	return pixels * int64(min(p.Frames, 4)) * 128 * 2 * decodePlanes
}

// denoiser falls back on what a model of its size usually is.
func (m *Model) denoiser() Denoiser {
	if m.Denoiser != nil {
		return *m.Denoiser
	}
	return Denoiser{Hidden: 3072, Side: 16, Width: 1024, Height: 1024}
}

// needPicture is the largest phase with the parts taking turns, or all of them.
func (z sized) needPicture(s Setting) (Need, error) {
	f, ok := lookupFormat(z.w.Format, "")
	if !ok {
		return Need{}, fmt.Errorf("%w: %q", ErrFormat, z.w.Format)
	}
	n := Need{Overhead: s.driver(), Layers: 1, Total: 1}
	var all, peak int64
	for _, part := range z.phases(f, s.Picture) {
		all += part.weights
		switch {
		case part.name == "text encoders" && s.Picture.TextEncoder == "cpu":
		case s.Picture.TextEncoder == "gpu":
			n.Weights += part.weights
			n.Compute = max(n.Compute, part.compute)
		case part.weights+part.compute > peak:
			peak = part.weights + part.compute
			n.Weights, n.Compute = part.weights, part.compute
		}
	}
	n.CPUWeights = all - n.Weights
	n.Reserve = s.reserve(roundMiB(n.Compute/4 + 256*MiB))
	return n, nil
}

// pictureCall makes a picture in Python; a GGUF file of the denoiser is what
// ComfyUI-GGUF and stable-diffusion.cpp load, and has no call here.
func pictureCall(s Setting, row Row) string {
	quantize := ""
	switch row.Format {
	case "bf16", "fp16":
	case "nf4":
		quantize = `, quantization_config=PipelineQuantizationConfig(quant_backend="bitsandbytes_4bit", quant_kwargs={"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}, components_to_quantize=["transformer"])`
	default:
		return ""
	}
	c := `pipe = DiffusionPipeline.from_pretrained("…", torch_dtype=torch.bfloat16` + quantize + ")\n"
	if s.Picture.TextEncoder == "gpu" {
		c += `pipe.to("cuda")`
	} else {
		c += "pipe.enable_model_cpu_offload()"
	}
	if s.Picture.Tiled {
		c += "\npipe.vae.enable_tiling()"
	}
	return c
}

// pictureNotes say what takes turns, and what a picture of that size takes.
func (m *Model) pictureNotes(s Setting, best Row) []string {
	p := s.Picture.usual(m.denoiser())
	what := fmt.Sprintf("%d x %d pixels", p.Width, p.Height)
	if p.Frames > 1 {
		what += fmt.Sprintf(" and %d frames", p.Frames)
	}
	notes := []string{fmt.Sprintf("For %s (--size, --frames); what a picture takes beside the weights is an estimate, good to a third.", what)}
	switch s.Picture.TextEncoder {
	case "gpu":
		notes = append(notes, "All parts stay on the card.")
	case "cpu":
		notes = append(notes, "The text encoders stay in RAM; the other parts take turns on the card.")
	default:
		notes = append(notes, fmt.Sprintf("Text encoders, denoiser and VAE take turns on the card, as in ComfyUI and with enable_model_cpu_offload: the largest counts, the others wait in %.1f GiB of RAM. --text-encoder gpu keeps all there.", float64(best.CPUWeightsBytes)/GiB))
	}
	if f, ok := lookupFormat(best.Format, ""); ok {
		parts := m.phases(f, s.Picture)
		if parts[0].weights+parts[0].compute > parts[1].weights+parts[1].compute && s.Picture.TextEncoder == "" {
			notes = append(notes, "The text encoders are the largest: --text-encoder 8bit halves them, cpu keeps them off the card.")
		}
		if last := parts[2]; last.weights+last.compute > parts[1].weights+parts[1].compute && !s.Picture.Tiled {
			notes = append(notes, "Decoding is the largest: --vae-tiling does it in pieces.")
		}
	}
	return notes
}
