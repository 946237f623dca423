package fit

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFormatSpellings(t *testing.T) {
	tests := []struct{ name, want string }{
		{"Q4_K_M", "Q4_K_M"}, {"q4_k_m", "Q4_K_M"}, {"Q4_K - Medium", "Q4_K_M"}, {"Q4_K", "Q4_K_M"},
		{"UD-Q4_K_XL", "UD-Q4_K_XL"}, {"Q6_K_L", "Q6_K_L"}, {"Q3_K_L", "Q3_K_L"},
		{"bfloat16", "bf16"}, {"torch.float16", "fp16"}, {"GPTQ-Int4", "gptq-int4"}, {"AWQ", "awq-int4"}, {"FP8", "fp8"},
		{"bnb-4bit", "nf4"}, {"nf4-dq", "nf4-dq"}, {"exl2-4.65", "exl2-4.65"}, {"MLX 4-bit", "mlx-4bit"}, {"", "bf16"},
	}
	for _, tt := range tests {
		f, ok := lookupFormat(tt.name, "")
		require.True(t, ok, tt.name)
		assert.Equal(t, tt.want, f.name, tt.name)
	}
	for _, name := range []string{"Q9_K", "gguf", "exl2", "exl2-99", "x", "K_M"} {
		_, ok := lookupFormat(name, "")
		assert.False(t, ok, name)
	}
	for _, name := range Formats() {
		f, ok := lookupFormat(name, "")
		require.True(t, ok, name)
		assert.Equal(t, name, f.name)
	}
}

// The ladder that Recommend climbs is one of quality. It falls in size too, but
// for small and tied models, whose rows and heads take larger types.
func TestLadderFalls(t *testing.T) {
	for _, m := range Models() {
		if m.Parameters < 7e9 || m.Tied || m.KVHeads == m.Heads || m.Hidden%256 != 0 || m.FFN%256 != 0 {
			continue
		}
		last := int64(1 << 62)
		for _, f := range ggufLadder {
			w, err := m.Weights(f)
			require.NoError(t, err)
			assert.LessOrEqual(t, w.Total, last, "%s %s", m.ID, f)
			last = w.Total
		}
	}
}

// A model of known size only is within 10 % for nine of ten of the catalogue.
func TestWeightBytes(t *testing.T) {
	good, all := 0, 0
	for _, m := range Models() {
		if m.Kind != "llm" || m.MoE != nil || m.Parameters < 3e9 {
			continue
		}
		for _, f := range []string{"Q8_0", "Q4_K_M", "awq-int4", "fp8"} {
			w, err := m.Weights(f)
			require.NoError(t, err)
			n, ok := WeightBytes(m.Parameters, f)
			require.True(t, ok)
			all++
			if r := float64(n) / float64(w.Total); r > 0.9 && r < 1.1 {
				good++
			}
		}
	}
	assert.Greater(t, float64(good)/float64(all), 0.9)
	_, ok := WeightBytes(7e9, "gguf")
	assert.False(t, ok)
	_, ok = WeightBytes(0, "bf16")
	assert.False(t, ok)
}

// The layers, the output and the embeddings add up to the file.
func TestOffloadAddsUp(t *testing.T) {
	for _, m := range Models() {
		if m.Layers == 0 {
			continue
		}
		w, err := m.Weights("Q4_K_M")
		require.NoError(t, err)
		last := int64(-1)
		for n := range len(w.Layers) + 2 {
			for _, first := range []bool{true, false} {
				gpu, cpu := w.Offload(n, first)
				twice := gpu + cpu - w.Total
				assert.True(t, twice == 0 || m.Tied, "%s at %d", m.ID, n)
				if first {
					assert.GreaterOrEqual(t, gpu, last)
					last = gpu
				}
			}
		}
		gpu, cpu := w.Offload(1000, true)
		assert.Equal(t, w.GPU, gpu)
		assert.Equal(t, w.CPU, cpu)
	}
}
