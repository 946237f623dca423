package fit

import "sync"

// role says what a tensor does; llama-quantize chooses its type by it.
type role uint8

const (
	roleEmbedding role = iota
	roleOutput
	roleQ
	roleK
	roleV
	roleAttnOut
	roleQKV
	roleGate
	roleUp
	roleDown
	// roleLinear is any other matrix that is quantised to the base type.
	roleLinear
	// rolePlain stays 32 bit in a GGUF file and 16 bit elsewhere: norms,
	// biases, routers, convolutions.
	rolePlain
	// roleTable is an embedding that stays with the CPU in llama.cpp, such as
	// the per-layer embeddings of Gemma 3n.
	roleTable
	// roleExpertBias is plain, and goes where its experts go.
	roleExpertBias
)

// tensor is one matrix: count stacked pieces of rows x cols. A GGUF row is cols
// long, the input width. layer is -1 outside the repeating layers.
type tensor struct {
	role       role
	layer      int
	rows, cols int64
	count      int64
}

// plain tensors are not quantised.
func (t tensor) plain() bool { return t.role == rolePlain || t.role == roleExpertBias }

func (t tensor) elements() int64 { return t.rows * t.cols * t.count }

// traits tell how an architecture departs from llama: no biases, two RMS norms
// a layer, a gated MLP, one head.
type traits struct {
	qkvBias, outBias, ffnBias, headBias bool
	// norms counts per-layer norms of the hidden width, llama's 2 if 0.
	norms int
	// normBias: layer norms with a bias, so twice the elements.
	normBias bool
	// qkNorm: 1 = one norm per head width, 2 = over the whole projection.
	qkNorm int
	// fusedQKV and fusedMLP are single tensors in GGUF files.
	fusedQKV, fusedMLP bool
	// positions are learned: their number, or -1 for the context.
	positions int64
	// extraNorms outside the layers, beside the last one.
	extraNorms int
}

var archTraits = sync.OnceValue(func() map[string]traits {
	return map[string]traits{
		"qwen":       {qkvBias: true, fusedQKV: true},
		"qwen2":      {qkvBias: true},
		"qwen2vl":    {qkvBias: true},
		"qwen2moe":   {qkvBias: true},
		"qwen3":      {qkNorm: 1},
		"qwen3vl":    {qkNorm: 1},
		"qwen3moe":   {qkNorm: 1},
		"qwen3vlmoe": {qkNorm: 1},
		"qwen3next":  {qkNorm: 1},
		"qwen35":     {qkNorm: 1},
		"qwen35moe":  {qkNorm: 1},
		"gemma2":     {norms: 4},
		"gemma3":     {norms: 4, qkNorm: 1},
		"gemma3n":    {norms: 4, qkNorm: 1},
		"gemma4":     {norms: 4, qkNorm: 1},
		"phi2":       {qkvBias: true, outBias: true, ffnBias: true, headBias: true, norms: 1, normBias: true},
		"phi3":       {fusedQKV: true, fusedMLP: true},
		"phimoe":     {qkvBias: true, outBias: true, headBias: true, normBias: true},
		"starcoder":  {qkvBias: true, outBias: true, ffnBias: true, normBias: true, positions: -1, fusedQKV: true},
		"starcoder2": {qkvBias: true, outBias: true, ffnBias: true, normBias: true},
		"command-r":  {norms: 1},
		"cohere2":    {norms: 1},
		"gpt-oss":    {qkvBias: true, outBias: true},
		"chatglm":    {qkvBias: true, fusedQKV: true, fusedMLP: true},
		"glm4":       {norms: 4, fusedMLP: true},
		"glm4moe":    {qkvBias: true},
		"gptj":       {ffnBias: true, headBias: true, norms: 1, normBias: true},
		"gptneo":     {outBias: true, ffnBias: true, normBias: true, positions: -1},
		"gptneox":    {qkvBias: true, outBias: true, ffnBias: true, normBias: true, fusedQKV: true},
		"gpt2":       {qkvBias: true, outBias: true, ffnBias: true, normBias: true, positions: -1, fusedQKV: true},
		"opt":        {qkvBias: true, outBias: true, ffnBias: true, normBias: true, positions: 2050},
		"bloom":      {qkvBias: true, outBias: true, ffnBias: true, normBias: true, extraNorms: 1, fusedQKV: true},
		"mpt":        {fusedQKV: true},
		"stablelm":   {normBias: true},
		"olmo2":      {qkNorm: 2},
		"olmoe":      {qkNorm: 2},
		"minimax-m2": {qkNorm: 2},
		"nemotron":   {normBias: true},
		"nemotron_h": {norms: 1},
		"seed_oss":   {qkvBias: true},
		"baichuan":   {fusedQKV: false},
		"falcon":     {norms: 1, normBias: true, fusedQKV: true},
		"dbrx":       {fusedQKV: true},
		"granitemoe": {},
	}
})

// builder collects the tensors of a model in the order of a GGUF file.
type builder struct {
	m   *Model
	t   traits
	out []tensor
}

// tensors lists every tensor of the language model. It is what Parameters is
// recomputed from and what a GGUF mixture is applied to. It is nil for diffusion
// pipelines, whose inside is not known here.
func (m *Model) tensors() []tensor {
	if m.list != nil || m.Layers == 0 {
		return m.list
	}
	b := &builder{m: m, t: archTraits()[m.Arch], out: make([]tensor, 0, 16*(m.Layers+m.DecoderLayers)+8)}
	switch m.Arch {
	case "t5":
		return b.t5()
	case "whisper":
		return b.whisper()
	case "deepseek4":
		return b.compressed()
	}
	b.quirks()
	b.add(roleEmbedding, -1, m.Vocab, m.Hidden, 1)
	if p := b.t.positions; p != 0 {
		if p < 0 {
			p = int64(m.Context)
		}
		b.add(rolePlain, -1, p, m.Hidden, 1)
	}
	b.norm(-1, m.Hidden, 1+b.t.extraNorms)
	if !m.Tied {
		b.add(roleOutput, -1, m.Vocab, m.Hidden, 1)
	}
	if b.t.headBias {
		b.vector(-1, m.Vocab)
	}
	for i := range m.Layers {
		b.block(i)
	}
	b.outside()
	return b.out
}

// compressed lists DeepSeek-V4. Its experts, 97 % of it, are known one by one;
// attention with its compressors and indexers is what the total leaves, the same
// in every layer.
func (b *builder) compressed() []tensor {
	m := b.m
	b.add(roleEmbedding, -1, m.Vocab, m.Hidden, 1)
	b.add(roleOutput, -1, m.Vocab, m.Hidden, 1)
	for i := range m.Layers {
		b.experts(i, m.MoE)
	}
	rest := m.Parameters
	for _, t := range b.out {
		rest -= t.elements()
	}
	rows := rest / int64(m.Layers) / m.Hidden
	for i := range m.Layers {
		b.add(roleLinear, i, rows, m.Hidden, 1)
	}
	b.vector(-1, rest-rows*int64(m.Layers)*m.Hidden)
	return b.out
}

// quirks are traits that differ between models of one architecture.
func (b *builder) quirks() {
	switch m := b.m; {
	case m.Arch == "glm4moe" && m.Hidden > 4096:
		b.t.qkNorm = 1 // GLM-4.5 normalises q and k, Air does not
	case m.Arch == "stablelm" && m.Vocab == 100352:
		b.t.qkvBias = true // StableLM 2
	case m.Arch == "falcon" && m.KVHeads > 1:
		b.t.norms = 2 // 40B and 180B norm attention and MLP apart
	case m.Arch == "command-r" && m.Hidden == 12288:
		b.t.qkNorm = 3 // Command R+: a norm of its own for each head
	}
}

func (b *builder) add(r role, layer int, rows, cols, count int64) {
	if rows > 0 && cols > 0 && count > 0 {
		b.out = append(b.out, tensor{r, layer, rows, cols, count})
	}
}

func (b *builder) vector(layer int, n int64) { b.add(rolePlain, layer, 1, n, 1) }

// norm adds n norms of the given width.
func (b *builder) norm(layer int, width int64, n int) {
	if b.t.normBias {
		n *= 2
	}
	for range n {
		b.vector(layer, width)
	}
}

func (b *builder) block(i int) {
	n := b.t.norms
	if n == 0 {
		n = 2
	}
	b.norm(i, b.m.Hidden, n)
	switch b.m.layer(i) {
	case 'L':
		b.deltaNet(i)
	case 'M':
		b.mamba(i)
	case 'E', 'X':
	default:
		b.attention(i)
	}
	if b.hasMLP(i) {
		b.mlp(i)
	}
	b.perLayerExtras(i)
}

// hasMLP: in Nemotron-H a block is either attention, Mamba or MLP.
func (b *builder) hasMLP(i int) bool {
	if b.m.Arch != "nemotron_h" {
		return true
	}
	k := b.m.layer(i)
	return k == 'E' || k == 'X'
}

func (b *builder) attention(i int) {
	m := b.m
	if m.KVRank > 0 {
		b.latentAttention(i)
		return
	}
	dim, vdim, kv := m.HeadDim, m.ValueDim, m.KVHeads
	global := m.GlobalHeadDim > 0 && m.layer(i) == 'F'
	if global {
		dim, vdim, kv = m.GlobalHeadDim, m.GlobalHeadDim, m.GlobalKVHeads
	}
	q, k, v := m.Heads*dim, kv*dim, kv*vdim
	if global && m.Arch == "gemma4" && m.SharedLayers == 0 {
		v = 0 // the large Gemma 4 use the keys as values in global layers
	}
	b.projections(i, q, k, v)
	b.add(roleAttnOut, i, m.Hidden, m.Heads*vdim, 1)
	if b.t.outBias {
		b.vector(i, m.Hidden)
	}
	b.qkNorm(i, q, k, dim)
	if m.Arch == "gpt-oss" {
		b.vector(i, m.Heads) // attention sinks
	}
}

func (b *builder) projections(i int, q, k, v int64) {
	m := b.m
	if b.t.fusedQKV {
		b.add(roleQKV, i, q+k+v, m.Hidden, 1)
	} else {
		qrows := q
		if m.Linear != nil && m.Linear.ValueHeads > 0 {
			qrows *= 2 // Qwen3-Next and 3.5 gate the attention output
		}
		b.add(roleQ, i, qrows, m.Hidden, 1)
		b.add(roleK, i, k, m.Hidden, 1)
		b.add(roleV, i, v, m.Hidden, 1)
	}
	if b.t.qkvBias {
		b.vector(i, q+k+v)
	}
}

func (b *builder) qkNorm(i int, q, k, dim int64) {
	switch b.t.qkNorm {
	case 1:
		b.vector(i, dim)
		if k > 0 {
			b.vector(i, dim)
		}
	case 2, 3:
		b.vector(i, q)
		b.vector(i, k)
	}
}

// mlp adds the feed-forward part of layer i: dense, experts, or both.
func (b *builder) mlp(i int) {
	m := b.m
	if e := m.MoE; e != nil && m.hasExperts(i) {
		b.experts(i, e)
		if m.Arch != "gemma4" {
			return // Gemma 4 has a dense MLP beside its experts
		}
	}
	width := m.FFN
	if len(m.FFNLayers) > 0 {
		width = m.FFNLayers[i]
	}
	if m.MoE != nil && m.Arch == "llama4" {
		width = 2 * m.FFN // intermediate_size_mlp
	}
	b.feedForward(i, width, b.t.fusedMLP)
	if b.t.ffnBias {
		b.vector(i, width)
		b.vector(i, m.Hidden)
	}
}

func (m *Model) hasExperts(i int) bool {
	e := m.MoE
	if i < e.DenseLayers {
		return false
	}
	return e.Every < 2 || i%e.Every == e.Every-1
}

func (b *builder) feedForward(i int, width int64, fused bool) {
	h := b.m.Hidden
	if fused {
		b.add(roleUp, i, 2*width, h, 1)
	} else {
		if b.m.Gated {
			b.add(roleGate, i, width, h, 1)
		}
		b.add(roleUp, i, width, h, 1)
	}
	b.add(roleDown, i, h, width, 1)
}

func (b *builder) experts(i int, e *MoE) {
	h := b.m.Hidden
	b.add(rolePlain, i, e.Experts, h, 1) // router
	if b.m.Gated {
		b.add(roleGate, i, e.FFN, h, e.Experts)
	}
	b.add(roleUp, i, e.FFN, h, e.Experts)
	b.add(roleDown, i, h, e.FFN, e.Experts)
	if e.SharedFFN > 0 {
		b.feedForward(i, e.SharedFFN, false)
	}
	switch b.m.Arch {
	case "qwen2moe", "qwen3next", "qwen35moe":
		b.vector(i, h) // gate of the shared expert
	case "gpt-oss":
		b.vector(i, e.Experts) // of the router
		b.add(roleExpertBias, i, 1, 2*e.FFN+h, e.Experts)
	case "deepseek2", "deepseek32", "glm4moe", "glm-dsa", "minimax-m2", "nemotron_h":
		if b.m.Vocab != 102400 { // DeepSeek-V2 has no correction of the router's scores
			b.vector(i, e.Experts)
		}
	}
}

// perLayerExtras: the small models of Gemma 3n and 4 feed each layer from an
// embedding of its own, 256 wide.
func (b *builder) perLayerExtras(i int) {
	m := b.m
	if m.Arch == "gemma4" && m.MoE != nil {
		b.norm(i, m.Hidden, 3)
		b.vector(i, m.MoE.Experts)
	}
	if !m.perLayerEmbeddings() {
		return
	}
	b.add(roleLinear, i, perLayerWidth, m.Hidden, 1)
	b.add(roleLinear, i, m.Hidden, perLayerWidth, 1)
	b.vector(i, m.Hidden)
	if m.Arch == "gemma3n" {
		b.add(rolePlain, i, 64, m.Hidden, 2) // LAuReL
	}
}

const perLayerWidth = 256

func (m *Model) perLayerEmbeddings() bool { return m.SharedLayers > 0 }
