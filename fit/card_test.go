package fit

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestCard(t *testing.T) {
	tests := []struct {
		name, want string
		mib        int64
	}{
		{"NVIDIA GeForce RTX 4060", "NVIDIA GeForce RTX 4060", 7806},
		{"rtx 4060", "NVIDIA GeForce RTX 4060", 7806},
		{"4060", "NVIDIA GeForce RTX 4060", 7806},
		{"RTX4060Ti 16GB", "NVIDIA GeForce RTX 4060 Ti 16GB", 16196},
		{"GeForce RTX 3090", "NVIDIA GeForce RTX 3090", 24117},
		{"RTX 3090 24GB", "NVIDIA GeForce RTX 3090", 24117},
		{"NVIDIA GeForce RTX 4090 Laptop GPU", "NVIDIA GeForce RTX 4090 Laptop GPU", 15934},
		{"A100", "NVIDIA A100-SXM4-40GB", 40438}, {"A100 80GB", "NVIDIA A100-SXM4-80GB", 81038},
		{"H100", "NVIDIA H100 80GB HBM3", 81053}, {"Tesla T4", "Tesla T4", 14912}, {"t4", "Tesla T4", 14912},
		{"7900 XTX", "AMD Radeon RX 7900 XTX", 24560}, {"L40S", "NVIDIA L40S", 45467},
		{"Apple M2 Max 64GB", "Apple M2 Max", 49152}, {"Apple M1 16GB", "Apple M1", 10922},
	}
	for _, tt := range tests {
		c, ok := Card(tt.name)
		require.True(t, ok, tt.name)
		assert.Equal(t, tt.want, c.Name, tt.name)
		assert.Equal(t, tt.mib, c.TotalBytes/MiB, tt.name)
	}
	for _, name := range []string{"", "GPU", "RTX", "RTX 9999", "NVIDIA", "CUDA0"} {
		_, ok := Card(name)
		assert.False(t, ok, name)
	}
}

func TestCardsAreSound(t *testing.T) {
	require.Len(t, Cards(), 235)
	for _, c := range Cards() {
		got, ok := Card(c.Name)
		require.True(t, ok, c.Name)
		assert.Equal(t, c.Name, got.Name)
		if c.NominalBytes > 0 {
			assert.InDelta(t, 1, float64(c.TotalBytes)/float64(c.NominalBytes), 0.51, c.Name) // half: a die of two
			assert.NotEmpty(t, c.Basis)
		}
	}
}
