package fit

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// What llama.cpp prints for DeepSeek-V4-Flash (issues 25468 and 27680).
func TestCompressedCache(t *testing.T) {
	m := mustModel(t, "deepseek-v4-flash-284b")
	kv, err := m.KV(KVOptions{Context: 131072, TypeK: "f16", TypeV: "f16", FlashAttention: true})
	require.NoError(t, err)
	assert.Equal(t, int64(32.25*MiB), kv.Window)
	assert.Equal(t, int64((672+20+168)*MiB), kv.Full)
	kv, err = m.KV(KVOptions{Context: 64000, UBatch: 4096, TypeK: "bf16", TypeV: "bf16", FlashAttention: true})
	require.NoError(t, err)
	assert.Equal(t, int64(182.75*MiB), kv.Window)
	_, err = m.KV(KVOptions{Context: 64000, exactCells: true})
	assert.ErrorIs(t, err, ErrShape)
}
