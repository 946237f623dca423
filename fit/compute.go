package fit

// ComputeOptions say what llama.cpp reserves its graph for.
type ComputeOptions struct {
	// Context is n_ctx, padded as the cache is.
	Context int
	// UBatch is the physical batch, 512 if 0; the buffer grows with it.
	UBatch int
	// FlashAttention needs no matrix of heads x context.
	FlashAttention bool
	// FullWindow as in KVOptions.
	FullWindow bool
	// OutputBytes is the output matrix if a partial offload left it in RAM: it
	// is copied to the card for every batch.
	OutputBytes int64
	// Copied is the largest tensor of weights in RAM that the card computes
	// with: a batch of 32 tokens and more takes it there.
	Copied int64
	// Expanded as in KVOptions: keys and values of an MLA model in full.
	Expanded bool
	// Partial offload copies the mask and the input to the card, and hybrid
	// models keep the mask there.
	Partial bool
	// Until2025: builds up to about mid-2025, before the gated MLP was one
	// operation, held fewer rows of it.
	Until2025 bool
	// Copies is llama.cpp's n_copies: 4 with pipeline parallelism over several
	// cards, else 1.
	Copies int
	// Outputs is how many rows of logits are reserved; 0: one for each token of
	// the ubatch. llama-server reserves one for a slot since June 2026.
	Outputs int
	// Streams are slots with a cache of their own: each sees its part of the
	// context. 0 and 1: one cache for all.
	Streams int
	// WideMask: until May 2026 flash attention's mask was made in 32 bit and
	// copied to 16.
	WideMask bool
}

// ComputeBuffer sizes llama.cpp's compute buffer on one device: the largest of
// the logits of a batch, the mask with the rows of an MLP, and the attention
// matrix without flash attention. Exact on dense models; Metal takes about 5 %
// more, and MLA, hybrid graphs and partial offloads are estimates.
//
// All rows are 32 bit, ubatch x width x 4; the mask of flash attention 16 bit.
func (m *Model) ComputeBuffer(o ComputeOptions) int64 {
	if o.UBatch == 0 {
		o.UBatch = 512
	}
	ub := int64(o.UBatch)
	cells := int64(KVOptions{Context: o.Context / max(1, o.Streams), FlashAttention: o.FlashAttention}.cells())
	mask := m.masks(o, cells) * ub
	outputs := ub
	if o.Outputs > 0 {
		outputs = min(ub, int64(o.Outputs))
	}
	size := m.Vocab*outputs*4 + m.Hidden*ub*4 + o.OutputBytes
	mlp := m.mlpRows(o) * ub * 4
	rows := mask + mlp + o.Copied
	switch {
	case m.Linear != nil && o.Partial: // the mask lives on beside the logits
		size += mask + m.Hidden*ub*4
		rows += mask
	case m.Linear != nil:
		rows = max(rows, mask+m.deltaRows()*ub*4)
		if mask > mlp && mask < m.Vocab*outputs*4 {
			size += mlp // the place that the mask leaves is too small for the logits
		}
		size += m.Hidden * ub * 4
	case o.Partial:
		size += m.Hidden * ub * 4
		if m.MoE != nil {
			rows += mask
		}
	}
	latent := m.KVRank > 0 && !o.Expanded
	if latent {
		rows = max(rows, mask+m.latentRows()*ub*4)
	}
	size = max(size, rows)
	if !o.FlashAttention {
		size = max(size, m.attentionBuffer(o, cells))
	}
	if o.Copies > 1 {
		size += int64(o.Copies-1)*cells*ub*4 + int64(o.Copies)*m.Hidden*ub*4
	}
	return size
}

// masks is the width of the masks of flash attention in bytes: one over the
// cells of the context, a second over those of a window.
func (m *Model) masks(o ComputeOptions, cells int64) int64 {
	width := int64(2)
	if o.WideMask {
		width = 6
	}
	switch {
	case m.Window == 0 || o.Outputs == 0: // logits by the token hide it
	case o.FullWindow:
		cells *= 2
	default:
		k := KVOptions{Context: o.Context, UBatch: o.UBatch}.defaults()
		if o.Streams < 2 {
			k.Sequences = o.Outputs
		}
		cells += min(cells, int64(k.windowCells(m)))
	}
	return cells * width
}

// mlpRows is the width of the rows alive in an MLP: gate, up and their product,
// the layer's input and its norm, and what the allocator cannot reuse of the
// attention before it. Found with llama.cpp's own arithmetic (--fit) on the
// shapes of fourteen models, build of September 2026; see docs/fit.md.
func (m *Model) mlpRows(o ComputeOptions) int64 {
	if o.Until2025 || !m.Gated {
		return 2 * m.ffnWidth()
	}
	rows := int64(0)
	if m.FFN > 0 && (m.MoE == nil || m.MoE.DenseLayers > 0) {
		rows = 3*m.FFN + 2*m.Hidden + m.attentionHole()
	}
	if e := m.MoE; e != nil {
		rows = max(rows, m.expertRows(e))
	}
	return rows
}

// expertRows are those of a mixture: gate, up and product of every expert that a
// token meets, and their outputs, which find room in the place of gate and up
// only if that is large enough.
func (m *Model) expertRows(e *MoE) int64 {
	inner, outer := e.Active*e.FFN, e.Active*m.Hidden
	if inner <= m.Hidden {
		return outer + 2*m.Hidden
	}
	rows := 3*inner + 2*m.Hidden
	if 2*inner < outer {
		rows += outer
	}
	if e.SharedFFN > 0 || m.Linear != nil {
		return max(rows, 2*outer+inner)
	}
	return rows + m.attentionHole()
}

// attentionHole is what the queries leave that the rows of the MLP cannot use:
// a place of another width than the model's.
func (m *Model) attentionHole() int64 {
	q := m.Heads * max(m.HeadDim, m.GlobalHeadDim)
	switch {
	case m.KVRank > 0 || m.Linear != nil:
		return m.Hidden
	case q > m.Hidden:
		return q
	case q < m.Hidden && m.KVHeads > 0:
		return 2 * q
	}
	return 0
}

// deltaRows is the width of the rows alive in a gated delta net: the inputs of
// the convolution, with those of before, and its outputs, the gate, two numbers
// for a head.
func (m *Model) deltaRows() int64 {
	l := m.Linear
	values := l.ValueHeads * l.ValueDim
	return 3*(2*l.KeyHeads*l.KeyDim+values) + values + 2*l.ValueHeads
}

// latentRows is the width of the rows alive when the queries of MLA meet the
// latent: the input and its norm, the compressed query, the queries and their
// rotated part, what the latent makes of them, and both in one. Found with a
// small model on a build of 2026, equal to the byte at two contexts.
func (m *Model) latentRows() int64 {
	q := m.NopeDim + m.RopeDim + m.RopeDim + m.KVRank + m.KVRank + m.RopeDim
	return 2*m.Hidden + m.QRank + m.Heads*q
}

// attentionBuffer is the matrix of scores, the masks, and the rows alive
// around it.
func (m *Model) attentionBuffer(o ComputeOptions, cells int64) int64 {
	ub := int64(o.UBatch)
	masks := cells
	if m.Window > 0 {
		window := KVOptions{Context: o.Context, UBatch: o.UBatch, FullWindow: o.FullWindow}.defaults().windowCells(m)
		masks += min(cells, int64(window))
	}
	rows := m.attentionRows()
	if o.Outputs > 0 {
		rows = 2*m.Hidden + 2*m.KVHeads*m.HeadDim
	}
	if m.KVRank > 0 && !o.Expanded {
		rows = m.latentRows()
	}
	return (m.Heads*cells + masks + rows) * ub * 4
}

// attentionRows is the width of the rows alive beside the scores, found from
// buffers equal to the byte: 4 x hidden in llama, more where the heads are
// wider than the model (Qwen3) or q, k and v are one tensor (Phi-3, GPT-NeoX).
func (m *Model) attentionRows() int64 {
	q := m.Heads * m.HeadDim
	if archTraits()[m.Arch].fusedQKV {
		return 3*m.Hidden + q + m.KVHeads*(m.HeadDim+m.ValueDim)
	}
	return max(2*m.Hidden+2*q, 3*m.Hidden+q)
}

// ffnWidth is the width of the MLP that one token passes.
func (m *Model) ffnWidth() int64 {
	if m.MoE == nil || m.FFN > 0 && m.MoE.DenseLayers > 0 {
		return m.FFN
	}
	return m.MoE.Active*m.MoE.FFN + m.MoE.SharedFFN
}

// Logits is the size of the logits of some tokens: 4 bytes an element where a
// loss, logits.float() or a sampler upcasts, 2 otherwise. Two or three copies
// live at once.
func (m *Model) Logits(tokens int, bytes int64) int64 {
	return int64(tokens) * m.Vocab * bytes
}

// SamplerSort is vLLM's sort of the logits at start: a value of 4 and an index
// of 8 bytes for each.
func (m *Model) SamplerSort(sequences int) int64 { return m.Logits(sequences, 12) }

// ScoreRows is the width of the rows that a llama.cpp graph without flash
// attention holds beside the scores and their mask.
func (m *Model) ScoreRows() int64 { return m.attentionRows() }

// PerLayerTable are the rows and columns of the embedding that Gemma 3n and the
// small Gemma 4 have for every layer, 0 where a model has none.
func (m *Model) PerLayerTable() (rows, cols int64) {
	for _, t := range m.tensors() {
		if t.role == roleTable {
			return t.rows, t.cols
		}
	}
	return 0, 0
}
