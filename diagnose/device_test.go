package diagnose_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
)

// A buffer is named after its backend and the device's number, or after the
// card, whose digits number nothing.
func TestDeviceOfABuffer(t *testing.T) {
	for buffer, device := range map[string]float64{
		"CUDA1":                          1,
		"ROCm0":                          0,
		"Vulkan2":                        2,
		"NVIDIA GeForce GT 1030":         -1,
		"NVIDIA GeForce RTX 3050 Laptop": -1,
		"Tesla P40":                      -1,
	} {
		t.Run(buffer, func(t *testing.T) {
			r := diagnose.Bytes([]byte("ggml_gallocr_reserve_n: failed to allocate " + buffer + " buffer of size 318767104\n" +
				"llama_new_context_with_model: failed to allocate compute buffers\n"))
			require.True(t, r.OOM)
			f := r.Incidents[0].Figures
			require.NotNil(t, f.Requested)
			assert.EqualValues(t, 318767104, f.Requested.Bytes)
			if device < 0 {
				assert.Nil(t, f.Device)
				return
			}
			require.NotNil(t, f.Device)
			assert.Equal(t, device, f.Device.Value)
		})
	}
}

// The summary of TensorFlow's allocator counts where the poster left out the
// chunks above it.
func TestSummaryWithoutItsDump(t *testing.T) {
	r := diagnose.Bytes([]byte("2022-03-01 10:11:12.131415: W tensorflow/core/common_runtime/bfc_allocator.cc:457] Allocator (GPU_0_bfc) ran out of memory trying to allocate 24.00MiB (rounded to 25165824)requested by op Mul\n" +
		"[...]\n" +
		"2022-03-01 10:11:12.161718: I tensorflow/core/common_runtime/bfc_allocator.cc:1058] Stats: \n" +
		"Limit:                      3221225472\nInUse:                      3208642560\nMaxInUse:                   3210739712\n"))
	require.True(t, r.OOM)
	f := r.Incidents[0].Figures
	require.NotNil(t, f.Limit)
	assert.EqualValues(t, 3221225472, f.Limit.Bytes)
	require.NotNil(t, f.Allocated)
	assert.EqualValues(t, 3208642560, f.Allocated.Bytes)
}
