package fit

// latentAttention is DeepSeek's MLA: keys and values come from one vector of
// KVRank, plus RopeDim shared by all heads.
func (b *builder) latentAttention(i int) {
	m := b.m
	qdim := m.NopeDim + m.RopeDim
	if m.QRank > 0 {
		b.add(roleLinear, i, m.QRank, m.Hidden, 1)
		b.vector(i, m.QRank)
		b.add(roleLinear, i, m.Heads*qdim, m.QRank, 1)
	} else {
		b.add(roleQ, i, m.Heads*qdim, m.Hidden, 1)
	}
	b.add(roleLinear, i, m.KVRank+m.RopeDim, m.Hidden, 1)
	b.vector(i, m.KVRank)
	b.add(roleLinear, i, m.Heads*(m.NopeDim+m.ValueDim), m.KVRank, 1)
	b.add(roleAttnOut, i, m.Hidden, m.Heads*m.ValueDim, 1)
}

// deltaNet is the gated delta net of Qwen3-Next and Qwen3.5.
func (b *builder) deltaNet(i int) {
	l, h := b.m.Linear, b.m.Hidden
	key, value := l.KeyHeads*l.KeyDim, l.ValueHeads*l.ValueDim
	b.add(roleQKV, i, 2*key+value, h, 1)
	b.add(roleLinear, i, value, h, 1)                   // gate z
	b.add(roleLinear, i, l.ValueHeads, h, 2)            // beta and alpha
	b.add(rolePlain, i, 2*key+value, l.Conv, 1)         // convolution
	b.vector(i, l.ValueHeads)                           // A
	b.vector(i, l.ValueHeads)                           // dt bias
	b.vector(i, l.ValueDim)                             // norm
	b.add(roleLinear, i, h, l.ValueHeads*l.ValueDim, 1) // out
}

// mamba is Mamba-2, or Mamba-1 where there are no groups (Jamba).
func (b *builder) mamba(i int) {
	l, h := b.m.Linear, b.m.Hidden
	if l.Groups == 0 {
		b.mamba1(i)
		return
	}
	conv := l.MambaInner + 2*l.Groups*l.State
	b.add(roleLinear, i, l.MambaInner+conv+l.MambaHeads, h, 1)
	b.add(rolePlain, i, conv, l.Conv, 1)
	b.vector(i, conv)
	for range 3 { // A, D, dt bias
		b.vector(i, l.MambaHeads)
	}
	b.vector(i, l.MambaInner)
	b.add(roleLinear, i, h, l.MambaInner, 1)
}

func (b *builder) mamba1(i int) {
	l, h := b.m.Linear, b.m.Hidden
	rank := h / 16
	b.add(roleLinear, i, 2*l.MambaInner, h, 1)
	b.add(rolePlain, i, l.MambaInner, l.Conv+1, 1)
	b.add(roleLinear, i, rank+2*l.State, l.MambaInner, 1)
	b.add(roleLinear, i, l.MambaInner, rank, 1)
	b.vector(i, l.MambaInner)
	b.add(rolePlain, i, l.MambaInner, l.State+1, 1)
	b.vector(i, rank+2*l.State)
	b.add(roleLinear, i, h, l.MambaInner, 1)
}

// t5 has no biases; the position table of 32 buckets exists once a side.
func (b *builder) t5() []tensor {
	m := b.m
	b.add(roleEmbedding, -1, m.Vocab, m.Hidden, 1)
	if !m.Tied {
		b.add(roleOutput, -1, m.Vocab, m.Hidden, 1)
	}
	b.norm(-1, m.Hidden, 2)
	b.add(rolePlain, -1, 32, m.Heads, 2)
	for i := range m.Layers {
		b.fullAttention(i)
		b.norm(i, m.Hidden, 2)
		b.feedForward(i, m.FFN, false)
	}
	for i := range m.DecoderLayers {
		b.fullAttention(m.Layers + i)
		b.fullAttention(m.Layers + i)
		b.norm(m.Layers+i, m.Hidden, 3)
		b.feedForward(m.Layers+i, m.FFN, false)
	}
	return b.out
}

func (b *builder) fullAttention(i int) {
	m := b.m
	width := m.Heads * m.HeadDim
	b.add(roleQ, i, width, m.Hidden, 1)
	b.add(roleK, i, width, m.Hidden, 1)
	b.add(roleV, i, width, m.Hidden, 1)
	b.add(roleAttnOut, i, m.Hidden, width, 1)
}

// whisper: the keys have no bias; the sines of the encoder are not counted.
func (b *builder) whisper() []tensor {
	m := b.m
	b.t = traits{normBias: true}
	b.add(rolePlain, -1, m.Hidden, 3*m.MelBins+1, 1)
	b.add(rolePlain, -1, m.Hidden, 3*m.Hidden+1, 1)
	b.add(roleEmbedding, -1, m.Vocab, m.Hidden, 1)
	b.add(rolePlain, -1, int64(m.Context), m.Hidden, 1)
	b.norm(-1, m.Hidden, 2)
	for i := range m.Layers + m.DecoderLayers {
		n := 1
		if i >= m.Layers {
			n = 2 // self and cross attention
		}
		for range n {
			b.fullAttention(i)
			b.vector(i, 3*m.Hidden)
		}
		b.norm(i, m.Hidden, 1+n)
		b.feedForward(i, m.FFN, false)
		b.vector(i, m.FFN+m.Hidden)
	}
	return b.out
}

// outside adds what the models with embeddings for every layer have beside them.
func (b *builder) outside() {
	m := b.m
	if !m.perLayerEmbeddings() {
		return
	}
	layers := int64(m.Layers)
	// 262144 rows: Gemma 3n has 256 more in the main embedding only.
	b.add(roleTable, -1, 262144, perLayerWidth*layers, 1)
	b.add(rolePlain, -1, perLayerWidth*layers, m.Hidden, 1)
	b.vector(-1, perLayerWidth)
	if m.Arch == "gemma3n" {
		b.add(rolePlain, -1, m.Hidden, m.Hidden, 6) // AltUp projections
	}
}
