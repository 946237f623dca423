package fit

import "strings"

// mixture is the choice that llama-quantize makes for each tensor of a file,
// llama_tensor_get_type in src/llama-quant.cpp; the rule has been stable from
// early 2024 to 2026. Unsloth's UD files, bartowski's --tensor-type files and
// those of ik_llama.cpp follow rules of their own.
type mixture struct {
	name, base string
	matrix     bool // made with an importance matrix
	m          *Model
	gqa        int64
	experts    int64
	downs      int // ffn_down tensors seen, the rule counts them in dense models
	values     int // attn_v tensors seen
}

func newMixture(m *Model, name string, matrix bool) *mixture {
	x := &mixture{name: name, base: mixBase()[name], matrix: matrix || needsMatrix()[name], m: m, gqa: 1}
	if m.MoE != nil {
		x.experts = m.MoE.Experts
	}
	if m.KVHeads > 0 && m.KVRank == 0 {
		x.gqa = m.Heads / m.KVHeads
	}
	return x
}

// one reports whether the mixture is one of the names.
func (x *mixture) one(names ...string) bool {
	for _, n := range names {
		if x.name == n {
			return true
		}
	}
	return false
}

// low: the mixtures of one and two bits share a rule.
func (x *mixture) low() bool {
	return strings.HasPrefix(x.name, "IQ1_") || strings.HasPrefix(x.name, "IQ2_")
}

// moreBits picks the first and last eighth and every third layer between.
func moreBits(i, n int) bool {
	return i < n/8 || i >= 7*n/8 || (i-n/8)%3 == 2
}

// typeOf gives the block type of a tensor. Call it in the order of the file:
// the rule counts layers as it goes.
func (x *mixture) typeOf(t tensor) string {
	if t.plain() {
		return "F32"
	}
	if x.base == "F32" || x.base == "F16" || x.base == "BF16" {
		return x.base
	}
	return fallback(x.choose(t), t.cols)
}

func (x *mixture) choose(t tensor) string {
	switch {
	case t.role == roleOutput, t.role == roleEmbedding && x.m.Tied:
		return x.output(t)
	case x.name == "MXFP4_MOE":
		if t.count > 1 && t.role != roleLinear {
			return "MXFP4"
		}
		return "Q8_0"
	case t.role == roleEmbedding, t.role == roleTable:
		return x.embedding()
	case x.low():
		return x.lowBits(t)
	}
	switch t.role {
	case roleV:
		return x.value()
	case roleK:
		return x.key()
	case roleQ:
		return x.query()
	case roleDown:
		return x.down(t)
	case roleAttnOut:
		return x.attentionOutput()
	case roleQKV:
		return x.fused()
	case roleGate, roleUp:
		n := x.m.Layers
		if x.name == "IQ3_XS" && t.layer >= n/8 && t.layer < 7*n/8 {
			return "IQ3_XXS"
		}
	}
	return x.base
}

func (x *mixture) output(t tensor) string {
	switch {
	case x.name == "MXFP4_MOE", x.base == "Q8_0", x.m.Arch == "falcon", t.cols%ggmlTypes()[x.base].block != 0:
		return "Q8_0"
	case x.low(), x.name == "IQ3_XXS":
		return "Q5_K"
	}
	return "Q6_K"
}

func (x *mixture) embedding() string {
	switch {
	case x.one("IQ2_S", "IQ2_M", "IQ3_XXS"):
		return "IQ3_S"
	case x.low():
		return "Q2_K"
	case x.one("TQ1_0", "TQ2_0"):
		return "Q4_K"
	}
	return x.base
}

func (x *mixture) lowBits(t tensor) string {
	better := "Q2_K"
	if x.one("IQ2_S", "IQ2_M") {
		better = "IQ3_S"
	}
	switch t.role {
	case roleV:
		if x.gqa >= 4 || x.experts >= 4 {
			return "Q4_K"
		}
		return better
	case roleK:
		if x.experts == 8 {
			return "Q4_K"
		}
	case roleDown:
		x.downs++
		if x.downs <= x.m.Layers/8 {
			return better
		}
	case roleAttnOut:
		switch {
		case x.experts == 8:
			return "Q5_K"
		case x.one("IQ1_S", "IQ1_M"):
			return "IQ2_XXS"
		case x.one("IQ2_S", "IQ2_M"):
			return "IQ3_S"
		}
	}
	return x.base
}

func (x *mixture) value() string {
	i := x.values
	x.values++
	if x.experts == 8 {
		return "Q8_0" // costs 128 MB in Mixtral, says upstream
	}
	typ := x.valueType(i)
	if x.seventyB() && (typ == "Q3_K" || typ == "Q4_K") {
		return "Q5_K"
	}
	return typ
}

// seventyB is LLM_TYPE_70B: 80 layers of llama (not LLaMA 65B) or Qwen2.
func (x *mixture) seventyB() bool {
	m := x.m
	return m.Layers == 80 && m.Experts() == 0 && (m.Arch == "llama" && m.Heads != m.KVHeads || strings.HasPrefix(m.Arch, "qwen2"))
}

// valueType: i counts attn_v tensors, but upstream's number of them includes
// fused ones, so hybrids compare the i-th of few with all layers.
func (x *mixture) valueType(i int) string {
	grouped := x.gqa >= 4
	switch {
	case x.name == "Q2_K" && !grouped:
		return "Q3_K"
	case x.one("Q2_K", "Q2_K_S", "IQ3_XXS", "IQ3_XS", "IQ3_S") && grouped, x.name == "IQ3_M":
		return "Q4_K"
	case x.name == "IQ3_XXS" && !x.matrix:
		return "IQ3_S"
	case x.name == "Q3_K_M" && i >= 2:
		return "Q4_K"
	case x.one("Q3_K_M", "Q3_K_L"), x.one("IQ4_NL", "IQ4_XS") && grouped, x.name == "Q4_K_S" && i < 4:
		return "Q5_K"
	case x.one("Q4_K_M", "Q5_K_M") && moreBits(i, x.m.Layers):
		return "Q6_K"
	}
	return x.base
}

func (x *mixture) key() string {
	if x.experts == 8 {
		return "Q8_0"
	}
	return x.query()
}

func (x *mixture) query() string {
	switch x.name {
	case "IQ3_XS":
		return "IQ3_XXS"
	case "IQ3_XXS":
		return "IQ2_S"
	}
	return x.base
}

func (x *mixture) down(t tensor) string {
	// In dense models the rule counts tensors, with experts it reads the
	// layer from the name: the same number either way.
	i, n := t.layer, x.m.Layers
	eighth := i < n/8
	falcon := x.m.Arch == "falcon"
	switch x.name {
	case "Q2_K":
		return "Q3_K"
	case "Q3_K_L":
		if falcon {
			return "Q4_K"
		}
		return "Q5_K"
	case "Q3_K_M":
		return downQ3KM(i, n, falcon)
	case "Q4_K_M":
		return downQ4KM(i, n, falcon)
	case "Q5_K_M":
		if moreBits(i, n) {
			return "Q6_K"
		}
	case "Q4_K_S":
		if eighth && !falcon {
			return "Q5_K"
		}
	case "Q2_K_S":
		if eighth {
			return "Q4_K"
		}
	case "IQ3_M":
		if eighth || x.experts == 8 && moreBits(i, n) {
			return "Q4_K"
		}
	}
	return x.downByMatrix(eighth)
}

func downQ3KM(i, n int, falcon bool) string {
	switch {
	case i < n/16:
		return "Q5_K"
	case falcon && !moreBits(i, n):
		return "Q3_K"
	}
	return "Q4_K"
}

func downQ4KM(i, n int, falcon bool) string {
	switch {
	case falcon && i < n/16:
		return "Q6_K"
	case !moreBits(i, n):
		return "Q4_K"
	case falcon:
		return "Q5_K"
	}
	return "Q6_K"
}

func (x *mixture) downByMatrix(eighth bool) string {
	switch {
	case x.name == "IQ3_XXS" && !x.matrix && eighth:
		return "Q4_K"
	case x.name == "IQ3_XXS" && !x.matrix:
		return "Q3_K"
	case x.one("IQ4_NL", "IQ4_XS") && !x.matrix && eighth:
		return "Q5_K"
	case x.name == "Q4_0" && x.matrix && eighth:
		return "Q4_1"
	case x.name == "Q5_0" && x.matrix && eighth:
		return "Q5_1"
	}
	return x.base
}

func (x *mixture) attentionOutput() string {
	if x.m.Arch == "falcon" {
		if x.name == "Q3_K_L" {
			return "Q4_K"
		}
		return x.base
	}
	if x.experts == 8 {
		if x.one("Q2_K", "IQ3_XS", "IQ3_XXS", "Q3_K_S", "Q3_K_M", "IQ4_NL", "Q4_K_S", "Q4_K_M", "IQ3_S", "IQ3_M", "IQ4_XS") {
			return "Q5_K"
		}
		return x.base
	}
	switch x.name {
	case "Q2_K":
		return "Q3_K"
	case "IQ3_XXS":
		return "IQ3_S"
	case "Q3_K_M", "IQ3_M":
		return "Q4_K"
	case "Q3_K_L":
		return "Q5_K"
	}
	return x.base
}

func (x *mixture) fused() string {
	switch x.name {
	case "Q3_K_M", "Q3_K_L", "IQ3_M":
		return "Q4_K"
	case "Q4_K_M":
		return "Q5_K"
	case "Q5_K_M":
		return "Q6_K"
	}
	return x.base
}

// fallback replaces a type whose blocks do not divide the row.
func fallback(typ string, cols int64) string {
	if cols%ggmlTypes()[typ].block == 0 {
		return typ
	}
	next := "F16"
	switch typ {
	case "TQ1_0", "TQ2_0":
		next = "Q4_0"
	case "Q4_K":
		next = "Q5_0"
	case "Q5_K":
		next = "Q5_1"
	case "Q6_K":
		next = "Q8_0"
	case "Q2_K", "Q3_K", "IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS", "IQ3_S", "IQ4_XS":
		next = "IQ4_NL"
	}
	if cols%ggmlTypes()[next].block != 0 {
		return "F16"
	}
	return next
}
