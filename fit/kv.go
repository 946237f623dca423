package fit

import (
	"fmt"
	"strings"
	"sync"
)

// cacheUnits are sizes of an element of cache types in sixteenths of a byte,
// block scales included (q8_0: 34 bytes for 32).
var cacheUnits = sync.OnceValue(func() map[string]int64 {
	return map[string]int64{
		"f32": 64, "f16": 32, "bf16": 32, "fp16": 32, "auto": 32, "": 32, "float16": 32, "bfloat16": 32,
		"q8_0": 17, "q5_1": 12, "q5_0": 11, "q4_1": 10, "q4_0": 9, "iq4_nl": 9,
		"fp8": 16, "fp8_e4m3": 16, "fp8_e5m2": 16, "int8": 17, "int4": 9, "q6_0": 13, "q8_kv": 16,
	}
})

// KVTypes returns the cache types of llama.cpp by falling size.
func KVTypes() []string {
	return []string{"f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl"}
}

// KVOptions say how a cache is laid out. The zero value of a field is the
// usual: f16, one sequence, llama.cpp's ubatch of 512.
type KVOptions struct {
	// Context is n_ctx: all cells of all slots together.
	Context      int
	TypeK, TypeV string
	// Sequences are llama.cpp's slots (n_seq_max). They share the cells, but
	// window and recurrent layers need some for each.
	Sequences int
	// Split gives each sequence cells of its own: its part of the context.
	Split  bool
	UBatch int
	// FlashAttention pads the cells to 256 instead of 32.
	FlashAttention bool
	// FullWindow gives window layers the whole context, as llama.cpp did until
	// May 2025 and does with --swa-full.
	FullWindow bool
	// WindowCells overrides the cells of window layers. vLLM has
	// window-1+max_num_batched_tokens.
	WindowCells int
	// Expanded caches the full heads of an MLA model, as llama.cpp did until
	// April 2025: 71 times as much for DeepSeek-V3.
	Expanded bool
	// fromLayer leaves out the layers before it: a partial offload.
	fromLayer int
	// exactCells: no padding (vLLM has blocks of its own, transformers none).
	exactCells bool
	// EncoderTokens are cached by cross attention (Whisper: 1500).
	EncoderTokens int
}

// KV is the size of a cache by the kind of layer.
type KV struct {
	Full, Window, Recurrent, Cross int64
}

// Total is the sum of the parts.
func (kv KV) Total() int64 { return kv.Full + kv.Window + kv.Recurrent + kv.Cross }

// KV sizes the cache of a model. A token and layer takes
// KV heads x (key width + value width) elements; MLA takes one vector and no
// values. Every kind is exact to 0.01 % on measured caches. Compressed attention
// (DeepSeek-V4) is known of llama.cpp only, elsewhere it is an error.
func (m *Model) KV(o KVOptions) (KV, error) {
	k, v := cacheUnits()[strings.ToLower(o.TypeK)], cacheUnits()[strings.ToLower(o.TypeV)]
	switch {
	case k == 0 || v == 0:
		return KV{}, fmt.Errorf("%w: cache type %q, %q", ErrFormat, o.TypeK, o.TypeV)
	case m.Layers == 0 || m.compressed() && o.exactCells:
		return KV{}, fmt.Errorf("%w: %s", ErrShape, m.ID)
	}
	o = o.defaults()
	if m.compressed() {
		return m.compressedKV(o, k), nil
	}
	cells, streams := int64(o.cells()), int64(1)
	if o.Split && o.Sequences > 1 {
		streams = int64(o.Sequences)
		o.Context = (o.Context + o.Sequences - 1) / o.Sequences
		o.Sequences = 1
		cells = int64(o.cells())
	}
	kv := KV{
		Full:      streams * int64(m.countLayers('F', o.fromLayer)) * cells * m.cellBytes('F', k, v, o.Expanded),
		Window:    streams * int64(m.countLayers('S', o.fromLayer)) * min(cells, int64(o.windowCells(m))) * m.cellBytes('S', k, v, o.Expanded),
		Recurrent: int64(m.countLayers('L', o.fromLayer)+m.countLayers('M', o.fromLayer)) * m.stateBytes() * streams * int64(o.Sequences),
	}
	kv.Cross = int64(m.crossLayers()*o.EncoderTokens) * m.cellBytes('F', k, v, false)
	return kv, nil
}

// compressed: a window in every layer and, in most, one entry for several tokens
// of the whole context.
func (m *Model) compressed() bool { return m.Arch == "deepseek4" }

// Tokens to an entry: layers 'C' keep one for 4 tokens, with a key of the indexer
// that picks among them, layers 'H' one for 128.
const sparseRatio, heavyRatio = 4, 128

// compressedKV is llama.cpp's cache of DeepSeek-V4 (llama-kv-cache-dsv4.cpp):
// keys only, a cache of its own for each sequence, and the states of the
// compressors, which hold what has not made a whole entry yet: two rows of 32 bit
// for a token, twice as many and as wide where entries overlap.
func (m *Model) compressedKV(o KVOptions, k int64) KV {
	n := int64(o.Sequences)
	context := (o.cells() + o.Sequences - 1) / o.Sequences
	entries := func(ratio int) int64 { return int64(pad((context+ratio-1)/ratio, 256)) }
	own := m.Pattern[min(o.fromLayer, len(m.Pattern)):]
	sparse, heavy := int64(strings.Count(own, "C")), int64(strings.Count(own, "H"))
	window := min(int64(context), int64(pad(m.Window+o.UBatch, 256)))
	width := m.HeadDim + m.IndexerDim
	return KV{
		Window:    n * int64(len(own)) * window * m.HeadDim * k / 16,
		Full:      n * (sparse*entries(sparseRatio)*width + heavy*entries(heavyRatio)*m.HeadDim) * k / 16,
		Recurrent: n * 2 * 4 * (sparse*2*sparseRatio*2*width + heavy*heavyRatio*m.HeadDim),
	}
}

func (o KVOptions) defaults() KVOptions {
	if o.Sequences == 0 {
		o.Sequences = 1
	}
	if o.UBatch == 0 {
		o.UBatch = 512
	}
	return o
}

// cells pads the context as llama_context does: 32, or 256 for the kernels of
// flash attention.
func (o KVOptions) cells() int {
	if o.exactCells {
		return o.Context
	}
	if o.FlashAttention {
		return pad(o.Context, 256)
	}
	return pad(o.Context, 32)
}

func pad(n, to int) int { return (n + to - 1) / to * to }

func (o KVOptions) windowCells(m *Model) int {
	switch {
	case o.FullWindow:
		return o.cells()
	case o.WindowCells > 0:
		return o.WindowCells
	}
	return pad(m.Window*o.Sequences+o.UBatch, 256)
}

// cellBytes is one token in one layer. k and v are in units of cacheUnits.
func (m *Model) cellBytes(kind byte, k, v int64, expanded bool) int64 {
	kw, vw := m.KVHeads*m.HeadDim, m.KVHeads*m.ValueDim
	switch {
	case m.KVRank > 0 && !expanded:
		kw, vw = m.KVRank+m.RopeDim+m.IndexerDim, 0
	case m.KVRank > 0:
		kw, vw = m.Heads*(m.NopeDim+m.RopeDim), m.Heads*m.ValueDim
	case kind == 'F' && m.GlobalHeadDim > 0:
		kw = m.GlobalKVHeads * m.GlobalHeadDim
		vw = kw
	}
	return (kw*k + vw*v) / 16
}

// crossLayers cache the encoder's side once a request.
func (m *Model) crossLayers() int {
	if m.DecoderLayers > 0 {
		return m.DecoderLayers
	}
	return m.CrossLayers
}

// stateBytes is the recurrent state of one layer and sequence, 32 bit:
// the state proper and conv-1 inputs of the convolution.
func (m *Model) stateBytes() int64 {
	l := m.Linear
	switch {
	case l == nil:
		return 0
	case l.ValueHeads > 0:
		return 4 * (l.ValueHeads*l.KeyDim*l.ValueDim + (l.Conv-1)*(2*l.KeyHeads*l.KeyDim+l.ValueHeads*l.ValueDim))
	}
	return 4 * (l.MambaInner*l.State + (l.Conv-1)*(l.MambaInner+2*l.Groups*l.State))
}

// KVPerToken is what one more token of context costs: the layers of full
// attention. Window and recurrent layers do not grow with the context. It is 0
// for a type or a model that is not known.
func (m *Model) KVPerToken(typeName string) int64 {
	unit := cacheUnits()[strings.ToLower(typeName)]
	if unit == 0 || m.Layers == 0 {
		return 0
	}
	if m.compressed() {
		return (int64(strings.Count(m.Pattern, "C"))*(m.HeadDim+m.IndexerDim)/sparseRatio + int64(strings.Count(m.Pattern, "H"))*m.HeadDim/heavyRatio) * unit / 16
	}
	return int64(m.countLayers('F', 0)) * m.cellBytes('F', unit, unit, false)
}
