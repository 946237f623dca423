package fit

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// GGUF files of denoisers as their publisher lists them, in GB; the rule counts
// the base type only.
func TestDenoiserFiles(t *testing.T) {
	tests := []struct {
		model, format string
		gb            float64
	}{
		{"flux.1", "Q8_0", 12.7}, {"flux.1", "Q6_K", 9.86}, {"flux.1", "Q5_K_S", 8.29}, {"flux.1", "Q4_K_S", 6.81}, {"flux.1", "Q3_K_S", 5.23}, {"flux.1", "Q2_K", 4.03},
		{"flux.1", "bf16", 23.8}, {"flux.1", "fp8", 11.9}, {"sd3.5-large", "Q8_0", 8.78}, {"sd3.5-large", "Q4_0", 4.77},
	}
	for _, tt := range tests {
		f, ok := lookupFormat(tt.format, "")
		require.True(t, ok)
		assert.InEpsilon(t, tt.gb, float64(mustModel(t, tt.model).phases(f, Picture{})[1].weights)/1e9, 0.06, "%s %s", tt.model, tt.format)
	}
}

// Text encoders and denoiser take turns: FLUX.1 runs on 12 GB.
func TestPictures(t *testing.T) {
	need := func(model, format string, p Picture) Need {
		n, err := mustModel(t, model).Need(format, Setting{Picture: p}, -1)
		require.NoError(t, err, model)
		return n
	}
	turns, all := need("flux.1", "Q4_K_S", Picture{}), need("flux.1", "Q4_K_S", Picture{TextEncoder: "gpu"})
	assert.Less(t, turns.Sum(), int64(11*GiB))
	assert.Greater(t, all.Sum(), int64(14*GiB))
	assert.Equal(t, turns.Weights+turns.CPUWeights, all.Weights+all.CPUWeights)
	assert.Less(t, need("flux.1", "Q4_K_S", Picture{TextEncoder: "8bit"}).Sum(), turns.Sum())
	// Wan 2.2 has one of its two denoisers there.
	assert.Less(t, need("wan2.2-a14b", "fp8", Picture{}).Weights, int64(14*GiB))
	small, large := need("wan2.2-a14b", "fp8", Picture{Width: 832, Height: 480, Frames: 41}), need("wan2.2-a14b", "fp8", Picture{Width: 1280, Height: 720, Frames: 81})
	assert.Greater(t, large.Compute, 4*small.Compute)
	assert.Less(t, need("sdxl-1.0", "bf16", Picture{Width: 4096, Height: 4096, Tiled: true}).Sum(), need("sdxl-1.0", "bf16", Picture{Width: 4096, Height: 4096}).Sum())
	for _, m := range Models() {
		if m.Kind == "diffusion" {
			assert.NotNil(t, m.Denoiser, m.ID)
			p := mustPlan(t, Request{Model: m.ID, VRAM: 96 * GiB})
			assert.NotContains(t, p.Command, "llama-server", m.ID)
			assert.Equal(t, "diffusers", p.Engine)
		}
	}
}

// faster-whisper publishes 4525 MB for large-v2 in fp16 and 2926 in int8.
func TestSpeech(t *testing.T) {
	for format, mb := range map[string]float64{"fp16": 4525, "int8": 2926} {
		p := mustPlan(t, Request{Model: "whisper-large-v2", VRAM: 8 * GiB, Formats: []string{format}})
		assert.InEpsilon(t, mb*1e6, float64(p.Rows[0].NeedBytes), 0.25, format)
		assert.Contains(t, p.Command, `WhisperModel("large-v2"`)
	}
}
