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

// Graphs of other kinds on the same build: mixtures of experts, latent
// attention, and what the card does for layers in RAM. Copied is the largest of
// their tensors. The allocator's gaps are not modelled: within are MiB.
func TestComputeBufferOfGraphs(t *testing.T) {
	moe := func(hidden, ffn, active, vocab int64) *Model {
		return &Model{
			Arch: "qwen3moe", Layers: 6, Hidden: hidden, Heads: 16, KVHeads: 4, HeadDim: 128, ValueDim: 128, Gated: true, Vocab: vocab,
			MoE: &MoE{Experts: 32, Active: active, FFN: ffn},
		}
	}
	mla := &Model{
		Arch: "deepseek2", Layers: 5, Hidden: 1024, Heads: 16, KVHeads: 16, HeadDim: 192, ValueDim: 128, FFN: 4096, Gated: true, Vocab: 8000,
		KVRank: 512, QRank: 768, RopeDim: 64, NopeDim: 128, MoE: &MoE{Experts: 16, Active: 4, FFN: 512, SharedFFN: 512, DenseLayers: 1},
	}
	dense := &Model{Arch: "llama", Layers: 6, Hidden: 2048, Heads: 32, KVHeads: 8, HeadDim: 64, ValueDim: 64, FFN: 5632, Gated: true, Vocab: 32000}
	hybrid := func(hidden, ffn, heads, vocab int64) *Model {
		return &Model{
			Arch: "qwen35", Layers: 8, Pattern: "LLLFLLLF", Hidden: hidden, Heads: 8, KVHeads: 2, HeadDim: 256, ValueDim: 256, FFN: ffn, Gated: true, Vocab: vocab,
			Linear: &Linear{ValueHeads: heads, KeyHeads: heads / 2, KeyDim: 128, ValueDim: 128, Conv: 4},
		}
	}
	normed := &Model{Arch: "qwen3", Layers: 4, Hidden: 1024, Heads: 16, KVHeads: 8, HeadDim: 128, ValueDim: 128, FFN: 3072, Gated: true, Vocab: 2000}
	flash := func(context int) ComputeOptions { return ComputeOptions{Context: context, FlashAttention: true} }
	partial := func(context int, copied int64) ComputeOptions {
		return ComputeOptions{Context: context, FlashAttention: true, Partial: true, Copied: copied * MiB}
	}
	tests := []struct {
		m           *Model
		o           ComputeOptions
		mib, within float64
	}{
		{normed, flash(2048), 28.01, 0.02}, {normed, flash(8192), 34.01, 0.02},
		{moe(1024, 1024, 8, 8000), flash(2048), 58.01, 0.02}, {moe(1024, 1024, 8, 8000), flash(8192), 64.01, 0.02},
		{moe(2048, 256, 8, 2000), flash(2048), 42.11, 0.2}, {moe(2048, 256, 8, 2000), flash(8192), 48.11, 0.2},
		{moe(1024, 768, 4, 32000), flash(8192), 64.50, 0.02},
		{moe(1024, 768, 4, 32000), partial(2048, 48), 74.00, 4.1}, {moe(1024, 768, 4, 32000), partial(8192, 48), 86.00, 4.1},
		{moe(1024, 1024, 8, 8000), partial(2048, 128), 172.00, 16.1}, {moe(1024, 1024, 8, 8000), partial(8192, 128), 176.00, 24.1},
		{mla, flash(2048), 49.51, 0.02}, {mla, flash(8192), 55.51, 0.02}, {mla, ComputeOptions{Context: 2048}, 115.51, 0.02},
		{hybrid(1024, 3584, 16, 2000), flash(2048), 30.11, 1.1}, {hybrid(1024, 3584, 16, 2000), flash(32768), 60.11, 1.1},
		{hybrid(2048, 6144, 32, 2000), flash(2048), 58.21, 0.1}, {hybrid(2048, 6144, 32, 2000), flash(32768), 88.21, 0.1},
		{hybrid(1024, 3584, 16, 64000), flash(8192), 129.00, 0.02}, {hybrid(1024, 3584, 16, 64000), flash(32768), 152.00, 6.1},
		{hybrid(1024, 3584, 16, 64000), flash(131072), 156.11, 1.1},
		{dense, partial(2048, 22), 68.00, 4.1}, {dense, partial(8192, 22), 73.00, 4.1},
	}
	for _, tt := range tests {
		assert.InDelta(t, tt.mib, float64(tt.m.ComputeBuffer(tt.o))/MiB, tt.within, "%s %+v", tt.m.Arch, tt.o)
	}
}

// Halving the ubatch halves all of it; a longer context, no flash attention or
// leaving layers out never makes it smaller.
func TestComputeBufferIsMonotone(t *testing.T) {
	for _, m := range Models() {
		if m.Layers == 0 {
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
