package fit

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Buffers of random models of many shapes, printed by llama.cpp of 2026
// (node-llama-cpp 3.22.1, Vulkan, all layers on the device, flash attention,
// ubatch 512): the formula is right to one row of the hidden width, which the
// allocator places where it finds room.
func TestComputeBufferOfSmallModels(t *testing.T) {
	tests := []struct {
		hidden, heads, kv, ffn, vocab int64
		context                       int
		mib                           float64
	}{
		{1024, 16, 4, 4096, 512, 8192, 36.01}, {1024, 16, 4, 8192, 512, 8192, 60.01}, {2048, 16, 4, 4096, 512, 8192, 40.01},
		{1024, 16, 16, 4096, 512, 8192, 36.01}, {1024, 16, 4, 4096, 512, 16384, 44.01}, {4096, 32, 8, 4096, 512, 8192, 40.01},
		{1024, 16, 4, 4096, 32000, 8192, 64.50}, {1024, 16, 4, 4096, 32000, 9000, 66.50}, {1024, 16, 4, 4096, 32000, 65536, 92.01},
		{2048, 16, 4, 8192, 32000, 8192, 70.50}, {2048, 16, 4, 8192, 32000, 65536, 120.01},
	}
	for _, tt := range tests {
		dim := tt.hidden / tt.heads
		m := &Model{Arch: "llama", Layers: 2, Hidden: tt.hidden, Heads: tt.heads, KVHeads: tt.kv, HeadDim: dim, ValueDim: dim, FFN: tt.ffn, Gated: true, Vocab: tt.vocab}
		n := m.ComputeBuffer(ComputeOptions{Context: tt.context, FlashAttention: true})
		row := float64(tt.hidden*512*4) / MiB
		assert.InDelta(t, tt.mib, float64(n)/MiB, row+0.02, fmt.Sprint(tt))
	}
}

// Halving the ubatch halves all of it; a longer context, no flash attention or
// leaving layers out never makes it smaller.
func TestComputeBufferIsMonotone(t *testing.T) {
	for _, m := range Models() {
		if m.Layers == 0 || m.Arch == "deepseek4" {
			continue
		}
		for _, flash := range []bool{true, false} {
			o := ComputeOptions{Context: 8192, FlashAttention: flash, FullWindow: true}
			n := m.ComputeBuffer(o)
			half := o
			half.UBatch = 256
			assert.Equal(t, n, 2*m.ComputeBuffer(half), m.ID)
			longer, partial, plain := o, o, o
			longer.Context, partial.Partial, plain.FlashAttention = 16384, true, false
			for _, p := range []ComputeOptions{longer, partial, plain} {
				assert.GreaterOrEqual(t, m.ComputeBuffer(p), n, m.ID)
			}
		}
	}
}
