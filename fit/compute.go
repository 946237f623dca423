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
	// Partial offload keeps the mask on the card, and so do hybrid models.
	Partial bool
	// QuantizedCache is dequantised piece by piece.
	QuantizedCache bool
	// Copies is llama.cpp's n_copies: 4 with pipeline parallelism over several
	// cards, else 1.
	Copies int
	// OneOutput: builds from about the middle of 2026 reserve one row of
	// logits instead of the ubatch's. Fitted to a single measurement.
	OneOutput bool
}

// quantizedCacheBuffer is fitted: 67 MiB more were seen with q8_0.
const quantizedCacheBuffer = 67 * MiB

// ComputeBuffer sizes llama.cpp's compute buffer on one device: the larger of
// the logits of a batch and the attention matrix without flash attention, and
// what has to lie beside them. Exact on dense models up to mid-2026; Metal
// takes about 5 % more, MLA and hybrid graphs are estimates.
//
// All rows are 32 bit: ubatch x width x 4.
func (m *Model) ComputeBuffer(o ComputeOptions) int64 {
	if o.UBatch == 0 {
		o.UBatch = 512
	}
	ub := int64(o.UBatch)
	cells := int64(KVOptions{Context: o.Context, FlashAttention: o.FlashAttention}.cells())
	if o.OneOutput {
		return cells*ub*2 + (3*m.ffnWidth()+4*m.Hidden)*ub*4
	}
	size := (m.Vocab+m.Hidden)*ub*4 + o.OutputBytes
	if !o.FlashAttention {
		size = max(size, m.attentionBuffer(o, cells))
	} else {
		if o.Partial || m.Linear != nil {
			size += cells * ub * 2
		}
		if o.QuantizedCache {
			size += quantizedCacheBuffer
		}
	}
	if e := m.MoE; e != nil {
		size = max(size, 2*e.Active*e.FFN*ub*4)
	}
	if o.Copies > 1 {
		size += int64(o.Copies-1)*cells*ub*4 + int64(o.Copies)*m.Hidden*ub*4
	}
	return size
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
	return (m.Heads*cells + masks + m.attentionRows()) * ub * 4
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

// AttentionMatrix is the matrix of scores of n tokens without flash or
// memory-efficient attention; for an image n is (side/8)^2, so it grows with
// the fourth power of the side.
func AttentionMatrix(batch, heads, n, bytes int64) int64 { return batch * heads * n * n * bytes }
