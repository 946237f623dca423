package fit

import (
	"errors"
	"fmt"
)

// ErrFormat is returned for a format that has no size of its own.
var ErrFormat = errors.New("no such format")

// ErrShape is returned for a model whose inside is not known.
var ErrShape = errors.New("shape not known")

// Weights is what the weights of a model take in one format.
type Weights struct {
	Format string
	// Total is the sum of all tensors of the language model: a GGUF file less
	// its 5 to 20 MiB of metadata, or a checkpoint less its towers.
	Total int64
	// GPU is what lies on the card with every layer offloaded, and CPU what
	// llama.cpp keeps in RAM even then: the token embeddings. When they are
	// tied to the head the card holds a second copy, so GPU+CPU exceeds Total.
	GPU, CPU int64
	// Layers are the repeating layers, first to last; Output the head, the
	// last norm and what else lies outside them on the card.
	Layers []int64
	Output int64
	// Experts is the part of each layer that --n-cpu-moe leaves in RAM.
	Experts []int64
	// largest is the largest tensor of each layer: what is computed on the card
	// with weights in RAM copies them there one by one.
	largest []int64
	// Vision is a tower, always 16 bit; in GGUF a separate mmproj file.
	Vision int64
	// Basis is "exact" where the rule reproduces real files to 0.3 %, else
	// "estimate".
	Basis string
}

// Weights returns the size in a format, as Find returns it: a GGUF mixture
// (Q4_K_M), "bf16", "awq-int4", "fp8", "nf4" and so on; see Formats. An empty
// format means that of the published checkpoint.
func (m *Model) Weights(format string) (Weights, error) {
	return m.weights(format, false)
}

func (m *Model) weights(format string, matrix bool) (Weights, error) {
	if m.file != nil && (format == "" || format == m.file.Format) {
		return *m.file, nil
	}
	f, ok := lookupFormat(format, m.Native)
	if !ok {
		return Weights{}, fmt.Errorf("%w: %q", ErrFormat, format)
	}
	tensors := m.tensors()
	switch {
	case tensors == nil:
		return m.flatWeights(f), nil
	case f.gguf != "":
		return m.ggufWeights(f, tensors, matrix), nil
	}
	return m.checkpointWeights(f, tensors), nil
}

// flatWeights sizes a model by its parameter counts alone. In a diffusion
// pipeline the format is the denoiser's; text encoders and VAE stay 16 bit.
func (m *Model) flatWeights(f format) Weights {
	total := f.size(m.Parameters)
	others := -m.Parameters
	for _, c := range m.Components {
		others += c.Parameters
	}
	w := Weights{Format: f.name, Total: total + 2*max(0, others), Basis: "estimate"}
	if f.name == "bf16" || f.name == "fp16" {
		w.Basis = "exact"
	}
	w.GPU, w.Output = w.Total, w.Total
	return w
}

func (m *Model) ggufWeights(f format, tensors []tensor, matrix bool) Weights {
	w := Weights{Format: f.name, Layers: make([]int64, m.Layers+m.DecoderLayers), Vision: 2 * m.VisionParameters, Basis: f.basis()}
	x := newMixture(m, f.gguf, matrix)
	for _, t := range tensors {
		n := bytesOf(t, x.typeOf(t))
		w.Total += n
		w.place(t, n, m.Tied)
	}
	if m.list == nil {
		w.Output += m.ropeFactors()
		w.Total += m.ropeFactors()
	}
	w.GPU = w.Output + sum(w.Layers)
	return w
}

// place puts a tensor where llama.cpp does.
func (w *Weights) place(t tensor, bytes int64, tied bool) {
	switch {
	case t.role == roleTable:
		w.CPU += bytes
	case t.role == roleEmbedding:
		w.CPU += bytes
		if tied {
			w.Output += bytes
		}
	case t.layer < 0:
		w.Output += bytes
	default:
		w.Layers[t.layer] += bytes
		if w.largest == nil {
			w.largest = make([]int64, len(w.Layers))
		}
		w.largest[t.layer] = max(w.largest[t.layer], bytes)
		if t.role == roleExpertBias || t.count > 1 && (t.role == roleGate || t.role == roleUp || t.role == roleDown) {
			w.addExperts(t.layer, bytes)
		}
	}
}

func (w *Weights) addExperts(layer int, bytes int64) {
	if w.Experts == nil {
		w.Experts = make([]int64, len(w.Layers))
	}
	w.Experts[layer] += bytes
}

// ropeFactors is rope_freqs.weight, which convert_hf_to_gguf.py adds for the
// stretched rotations of Llama 3.1 and later.
func (m *Model) ropeFactors() int64 {
	if m.Arch == "llama" && m.Vocab == 128256 && m.Context > 8192 {
		return m.HeadDim / 2 * 4
	}
	return 0
}

// Offload splits the weights for llama.cpp's -ngl n. Builds of 2026 place the
// output layer first and then the last n-1 layers; builds up to 2025 place the
// last n layers and the output only when n exceeds them all.
func (w Weights) Offload(n int, outputFirst bool) (gpu, cpu int64) {
	n = max(0, min(n, len(w.Layers)+1))
	layers, output := n, false
	if n == len(w.Layers)+1 || outputFirst && n > 0 {
		layers, output = n-1, true
	}
	gpu = sum(w.Layers[len(w.Layers)-layers:])
	if output {
		gpu += w.Output
	}
	return gpu, w.CPU + w.GPU - gpu - w.untiedTwice(output)
}

// offloadExperts is Offload with the experts of the first layers in RAM, and the
// largest tensor of those that the card computes with and does not hold.
func (w Weights) offloadExperts(n, experts int, outputFirst bool) (gpu, cpu, copied int64) {
	gpu, cpu = w.Offload(n, outputFirst)
	onCard, _ := offloaded(max(0, min(n, len(w.Layers)+1)), len(w.Layers)+1, outputFirst)
	for i := range w.Layers {
		held := i >= len(w.Layers)-onCard
		switch {
		case held && (i >= experts || w.Experts == nil || w.Experts[i] == 0):
			continue
		case held:
			gpu -= w.Experts[i]
			cpu += w.Experts[i]
		}
		if i < len(w.largest) {
			copied = max(copied, w.largest[i])
		}
	}
	return gpu, cpu, copied
}

// untiedTwice: a tied head that is not offloaded is no second copy.
func (w Weights) untiedTwice(output bool) int64 {
	if output {
		return 0
	}
	return w.GPU + w.CPU - w.Total
}

func sum(xs []int64) int64 {
	var n int64
	for _, x := range xs {
		n += x
	}
	return n
}

// Experts is the number of experts of a layer, 0 for a dense model.
func (m *Model) Experts() int64 {
	if m.MoE == nil {
		return 0
	}
	return m.MoE.Experts
}
