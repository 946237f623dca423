package fit

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

// format is a way to store weights: a GGUF mixture, or a checkpoint whose
// linear layers have some bits a weight and whose rest has 16.
type format struct {
	name string
	gguf string // the mixture, empty for checkpoints
	// bits of a linear layer's weight, scales included.
	bits float64
	// headBits and embedBits, 16 if 0.
	headBits, embedBits float64
	// expertsOnly: attention and the rest stay 16 bit (gpt-oss).
	expertsOnly bool
	// nearly: files of that name differ from maker to maker.
	nearly bool
}

func (f format) basis() string {
	if f.nearly {
		return "estimate"
	}
	return "exact"
}

// checkpointFormats are the formats of Hugging Face checkpoints. Bits include
// scales: 4 + (16-bit scale + 4-bit zero)/128 for GPTQ and AWQ, 4 + 32/64 for
// bitsandbytes (block 64), 4 + 8/64 + 32/(64*256) with double quantisation,
// 4 + 8/32 for MXFP4, 4 + 8/16 for NVFP4, bits + 32/64 for MLX.
var checkpointFormats = []format{
	{name: "bf16", bits: 16}, {name: "fp16", bits: 16}, {name: "fp32", bits: 32, headBits: 32, embedBits: 32},
	{name: "gptq-int4", bits: 4.15625}, {name: "gptq-int4-g32", bits: 4.625},
	{name: "gptq-int8", bits: 8.1875}, {name: "gptq-int3", bits: 3.1484375},
	{name: "awq-int4", bits: 4.15625},
	{name: "fp8", bits: 8}, {name: "fp8-block", bits: 8.001953125},
	{name: "nf4", bits: 4.5}, {name: "fp4", bits: 4.5}, {name: "nf4-dq", bits: 4.126953125},
	{name: "int8", bits: 8},
	{name: "mxfp4", bits: 4.25, expertsOnly: true}, {name: "nvfp4", bits: 4.5, nearly: true},
	{name: "hqq-int4", bits: 4.5}, {name: "mlc-q4f16", bits: 4.5, headBits: 4.5, embedBits: 4.5},
	{name: "mlx-3bit", bits: 3.5, headBits: 3.5, embedBits: 3.5}, {name: "mlx-4bit", bits: 4.5, headBits: 4.5, embedBits: 4.5},
	{name: "mlx-5bit", bits: 5.5, headBits: 5.5, embedBits: 5.5}, {name: "mlx-6bit", bits: 6.5, headBits: 6.5, embedBits: 6.5},
	{name: "mlx-8bit", bits: 8.5, headBits: 8.5, embedBits: 8.5},
}

// formatAliases map what programs and people write.
var formatAliases = sync.OnceValue(func() map[string]string {
	return map[string]string{
		"bfloat16": "bf16", "float16": "fp16", "half": "fp16", "float32": "fp32", "float": "fp32",
		"gptq": "gptq-int4", "int4": "gptq-int4", "4bit": "gptq-int4", "w4a16": "gptq-int4", "gptq4bit": "gptq-int4",
		"gptq8bit": "gptq-int8", "gptq3bit": "gptq-int3", "awq": "awq-int4", "awq-marlin": "awq-int4", "gptq-marlin": "gptq-int4",
		"bnb4bit": "nf4", "bnb-4bit": "nf4", "bnb": "nf4", "bitsandbytes": "nf4", "load-in-4bit": "nf4", "bnb.nf4": "nf4", "bnb.nf4-dq": "nf4-dq",
		"8bit": "int8", "bnb-8bit": "int8", "load-in-8bit": "int8", "bnb.int8": "int8", "w8a8": "int8", "llm.int8": "int8",
		"fp8-dynamic": "fp8", "float8-e4m3fn": "fp8", "w8a8-fp8": "fp8", "fp8-e4m3": "fp8", "modelopt-fp4": "nvfp4",
		"hqq": "hqq-int4", "q4f16-1": "mlc-q4f16", "mlx": "mlx-4bit",
		"q4-k": "q4-k-m", "q5-k": "q5-k-m", "q3-k": "q3-k-m", "mxfp4-moe": "mxfp4-moe",
	}
})

// Formats returns the names that Weights knows, GGUF mixtures by falling size
// of Llama 3.1 8B, then the checkpoint formats. EXL2 and EXL3 take any number
// of bits: "exl2-4.65".
func Formats() []string {
	names := slices.Clone(ggufOrder)
	for _, f := range checkpointFormats {
		names = append(names, f.name)
	}
	return names
}

// ggufOrder lists the mixtures from the largest to the smallest.
var ggufOrder = []string{
	"F32", "F16", "Q8_0", "Q6_K", "Q5_K_M", "Q5_1", "Q5_K_S", "Q5_0", "Q4_1", "Q4_K_M", "IQ4_NL", "Q4_K_S", "Q4_0", "IQ4_XS",
	"Q3_K_L", "Q3_K_M", "IQ3_M", "IQ3_S", "Q3_K_S", "IQ3_XS", "IQ3_XXS", "Q2_K", "Q2_K_S", "IQ2_M", "IQ2_S", "IQ2_XS", "IQ2_XXS",
	"TQ2_0", "IQ1_M", "IQ1_S", "TQ1_0",
}

// lookupFormat resolves any spelling. An empty name means the native format.
func lookupFormat(name, native string) (format, bool) {
	if name == "" {
		name = native
	}
	if name == "" {
		name = "bf16"
	}
	key := formatKey(name)
	if a, ok := formatAliases()[key]; ok {
		key = a
	}
	for _, f := range checkpointFormats {
		if f.name == key {
			return f, true
		}
	}
	if f, ok := exlFormat(key); ok {
		return f, true
	}
	return mixtureFormat(key)
}

// formatKey lowers a name and makes one separator of all. llama.cpp prints
// "Q4_K - Medium" where files say Q4_K_M.
func formatKey(name string) string {
	s := strings.ToLower(strings.TrimSpace(name))
	s = strings.TrimPrefix(s, "torch.")
	for _, w := range [...][2]string{{" - small", "-s"}, {" - medium", "-m"}, {" - large", "-l"}, {"_", "-"}, {" ", "-"}, {"-bit", "bit"}} {
		s = strings.ReplaceAll(s, w[0], w[1])
	}
	return s
}

// exlFormat reads "exl2-4.65" and "exl3-3bpw": bits of the linears; the head
// has 6 by default and the embeddings stay 16.
func exlFormat(key string) (format, bool) {
	for _, p := range []string{"exl2-", "exl3-"} {
		if rest, ok := strings.CutPrefix(key, p); ok {
			bits, err := strconv.ParseFloat(strings.TrimSuffix(rest, "bpw"), 64)
			if err != nil || bits < 1 || bits > 9 {
				return format{}, false
			}
			return format{name: key, bits: bits, headBits: 6, nearly: true}, true
		}
	}
	return format{}, false
}

// mixtureFormat reads the name of a GGUF mixture. Files with UD- in front, or
// _L and _XL behind, have tensors of their maker's choice: an estimate.
func mixtureFormat(key string) (format, bool) {
	key = strings.TrimPrefix(key, "gguf-")
	base, nearly := strings.CutPrefix(key, "ud-")
	name := strings.ToUpper(strings.ReplaceAll(base, "-", "_"))
	for _, s := range []string{"_XL", "_L"} {
		if cut, ok := strings.CutSuffix(name, s); ok && mixBase()[name] == "" {
			name, nearly = cut, true
		}
	}
	if a, ok := map[string]string{"Q4_K": "Q4_K_M", "Q5_K": "Q5_K_M", "Q3_K": "Q3_K_M", "Q8_K": "Q8_0"}[name]; ok {
		name = a
	}
	if mixBase()[name] == "" {
		return format{}, false
	}
	if nearly {
		file := strings.ToUpper(strings.ReplaceAll(key, "-", "_"))
		return format{name: strings.Replace(file, "UD_", "UD-", 1), gguf: name, nearly: true}, true
	}
	return format{name: name, gguf: name}, true
}

// size of a number of parameters whose place is not known.
func (f format) size(parameters int64) int64 {
	bits := f.bits
	if f.gguf != "" {
		g := ggmlTypes()[mixBase()[f.gguf]]
		bits = 8 * float64(g.bytes) / float64(g.block)
	}
	return int64(float64(parameters) * bits / 8)
}

// checkpointWeights sizes a Hugging Face checkpoint as it loads: linears at
// the format's bits, embeddings, head, norms, routers and towers at 16.
func (m *Model) checkpointWeights(f format, tensors []tensor) Weights {
	w := Weights{Format: f.name, Layers: make([]int64, m.Layers+m.DecoderLayers), Vision: 2 * m.VisionParameters, Basis: f.basis()}
	sums := make([]float64, len(w.Layers)+1) // the last one: outside the layers
	for _, t := range tensors {
		i := t.layer
		if i < 0 {
			i = len(w.Layers)
		}
		sums[i] += float64(t.elements()) * f.bitsOf(t) / 8
	}
	for i := range w.Layers {
		w.Layers[i] = int64(sums[i])
	}
	w.Output = int64(sums[len(w.Layers)]) + f.untiedHead(m)
	w.Total = w.Output + sum(w.Layers)
	w.GPU = w.Total
	return w
}

// untiedHead: FP8 checkpoints of Qwen3 keep a head of their own in memory
// although the model is tied (12 published peaks: -6 to -20 % without it).
func (f format) untiedHead(m *Model) int64 {
	if m.Tied && strings.HasPrefix(f.name, "fp8") && strings.HasPrefix(m.Arch, "qwen3") {
		return 2 * m.Vocab * m.Hidden
	}
	return 0
}

func (f format) bitsOf(t tensor) float64 {
	switch t.role {
	case rolePlain, roleExpertBias:
		return max(f.bits, 16)
	case roleEmbedding, roleTable:
		return orSixteen(f.embedBits)
	case roleOutput:
		return orSixteen(f.headBits)
	}
	if f.expertsOnly && t.count == 1 {
		return 16
	}
	return f.bits
}

func orSixteen(bits float64) float64 {
	if bits == 0 {
		return 16
	}
	return bits
}

// WeightBytes sizes an unknown model of known size: the median of bits a
// weight over the catalogue's language models of like size. On the catalogue
// itself that is within 10 % for nine of ten models over 3 B; small models
// differ with their vocabularies.
func WeightBytes(parameters int64, formatName string) (int64, bool) {
	f, ok := lookupFormat(formatName, "")
	if !ok || parameters <= 0 {
		return 0, false
	}
	if f.bits == 16 || f.bits == 32 {
		return f.size(parameters), true
	}
	return int64(float64(parameters) * typicalBits(parameters, f) / 8), true
}

// typicalBits is the median over the nearest dense models of the catalogue.
func typicalBits(parameters int64, f format) float64 {
	var near []*Model
	for _, m := range Models() {
		if m.Kind == "llm" && m.MoE == nil && m.Layers > 0 {
			near = append(near, m)
		}
	}
	distance := func(m *Model) float64 {
		r := float64(m.Parameters) / float64(parameters)
		return max(r, 1/r)
	}
	slices.SortStableFunc(near, func(a, b *Model) int {
		switch da, db := distance(a), distance(b); {
		case da < db:
			return -1
		case da > db:
			return 1
		}
		return 0
	})
	var bits []float64
	for _, m := range near[:min(9, len(near))] {
		if w, err := m.Weights(f.name); err == nil {
			bits = append(bits, 8*float64(w.Total)/float64(m.Parameters))
		}
	}
	slices.Sort(bits)
	return bits[len(bits)/2]
}
