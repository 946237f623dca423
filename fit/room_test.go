package fit

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestUnequalCards(t *testing.T) {
	both := mustPlan(t, Request{Model: "llama-3.3-70b", Card: "3090+3060", Formats: []string{"Q4_K_M"}, Contexts: []int{4096}})
	a, _ := Card("3090")
	b, _ := Card("3060")
	assert.Equal(t, a.TotalBytes+b.TotalBytes, both.Card.TotalBytes)
	assert.Equal(t, 2, both.Card.Count)
	assert.Equal(t, "GeForce RTX 3090 + GeForce RTX 3060", both.Card.Name)
	even := mustPlan(t, Request{Model: "llama-3.1-8b", Card: "3090+3060", Setting: Setting{Engine: "vllm"}})
	assert.Equal(t, 2*b.TotalBytes, even.Card.TotalBytes, "tensor parallelism takes as much of each")
	assert.Contains(t, even.Command, "--tensor-parallel-size 2")
	three := mustPlan(t, Request{Model: "llama-3.1-8b", Card: "2x3090, 3060 12GB"})
	assert.Equal(t, 3, three.Card.Count)
	_, err := NewPlan(Request{Model: "llama-3.1-8b", Card: "3090+banana"})
	assert.ErrorIs(t, err, ErrCard)
}

func TestOwnDevices(t *testing.T) {
	devices := []Device{{Name: "NVIDIA GeForce RTX 3090", Total: 24 * GiB, Free: 20 * GiB, Display: true}, {Name: "Quadro P1000", Total: 4 * GiB, Free: 4 * GiB}}
	p := mustPlan(t, Request{Model: "qwen3-8b", Devices: devices})
	assert.Equal(t, int64(20*GiB), p.Card.TotalBytes)
	assert.Equal(t, int64(4*GiB), p.Card.OthersBytes)
	assert.Contains(t, p.Notes, "Quadro P1000 is left out: it has less than a third of the largest card.")
	given := mustPlan(t, Request{Model: "qwen3-8b", Devices: devices, VRAM: 8 * GiB})
	assert.Equal(t, int64(8*GiB), given.Card.TotalBytes)
}

func TestReserve(t *testing.T) {
	reserve := func(card string, s Setting) int64 {
		return mustPlan(t, Request{Model: "qwen3-4b", Card: card, Contexts: []int{8192}, Formats: []string{"Q4_K_M"}, Setting: s}).Rows[0].ReserveBytes
	}
	assert.Greater(t, reserve("RTX 3060", Setting{}), reserve("A10", Setting{})+500*MiB, "a consumer's card drives a screen")
	assert.Equal(t, int64(2*GiB), reserve("RTX 3060", Setting{Reserve: 2 * GiB}))
	assert.Zero(t, reserve("RTX 3060", Setting{Reserve: -1}))
}

// What does not lie on the card must fit the RAM.
func TestRAM(t *testing.T) {
	r := Request{Model: "deepseek-v3", VRAM: 24 * GiB, Contexts: []int{4096}, Formats: []string{"Q4_K_M"}}
	unknown := mustPlan(t, r)
	assert.Equal(t, "offload", unknown.Rows[0].Verdict)
	assert.Greater(t, unknown.Rows[0].RAMBytes, int64(300*GiB))
	r.RAM = 64 * GiB
	small := mustPlan(t, r)
	assert.Equal(t, "no", small.Rows[0].Verdict)
	assert.Equal(t, -1, small.Recommended)
	assert.Empty(t, small.Command)
	r.RAM = 512 * GiB
	assert.Equal(t, "offload", mustPlan(t, r).Rows[0].Verdict)
	// The caches of layers in RAM lie there too.
	m := mustModel(t, "llama-3.1-8b")
	n, err := m.Need("Q4_K_M", Setting{Context: 8192}, 17)
	require.NoError(t, err)
	assert.Equal(t, int64(GiB), n.KV+n.CPUKV)
}

func TestCapability(t *testing.T) {
	tests := []struct{ card, engine, format, err string }{
		{"T4", "vllm", "fp8", "needs compute capability 8.0"}, {"T4", "vllm", "awq-int4", ""}, {"RTX 3090", "vllm", "fp8", ""},
		{"P40", "vllm", "fp16", "needs compute capability 7.0"}, {"P40", "llama.cpp", "Q4_K_M", ""}, {"T4", "sglang", "nvfp4", "8.0"},
		{"V100 32GB", "exllama", "exl3-4", "7.5"}, {"M2 Max 64GB", "vllm", "bf16", "needs a card of NVIDIA or AMD"},
	}
	for _, tt := range tests {
		_, err := NewPlan(Request{Model: "qwen3-4b", Card: tt.card, Formats: []string{tt.format}, Setting: Setting{Engine: tt.engine}})
		if tt.err == "" {
			assert.NoError(t, err, "%v", tt)
			continue
		}
		assert.ErrorIs(t, err, ErrCapability, "%v", tt)
		assert.ErrorContains(t, err, tt.err)
	}
	for _, r := range mustPlan(t, Request{Model: "qwen3-4b", Card: "T4", Setting: Setting{Engine: "vllm"}}).Rows {
		assert.NotContains(t, []string{"fp8", "bf16"}, r.Format)
	}
	_, err := NewPlan(Request{Model: "qwen3-4b", Card: "T4", Setting: Setting{Engine: "vllm", KVType: "fp8"}})
	assert.ErrorIs(t, err, ErrCapability)
}

// A token reads the weights that it meets: a mixture is as fast as what is
// active of it, and no bound is given where the bandwidth is not known.
func TestTokensPerSecond(t *testing.T) {
	speed := func(model, card string) float64 {
		return mustPlan(t, Request{Model: model, Card: card, Formats: []string{"Q4_K_M"}, Contexts: []int{4096}}).Rows[0].TokensPerSecond
	}
	assert.InDelta(t, 200, speed("llama-3.1-8b", "RTX 4090"), 30)
	assert.Greater(t, speed("qwen3-30b-a3b", "RTX 4090"), 2*speed("qwen3-32b", "RTX 4090"))
	assert.Less(t, speed("llama-3.3-70b", "RTX 4090"), 5.0, "half of it in RAM")
	assert.Zero(t, speed("llama-3.1-8b", "GTX 970"))
	for _, name := range []string{"RTX 4090", "A100 80GB", "H100", "T4", "RX 7900 XTX", "M2 Max 64GB", "RTX 3060"} {
		c, ok := Card(name)
		require.True(t, ok, name)
		assert.NotZero(t, c.Bandwidth(), name)
	}
}

func TestSteps(t *testing.T) {
	p := mustPlan(t, Request{Model: "llama-3.1-8b", Card: "RTX 4060", Formats: []string{"Q4_K_M"}, Contexts: []int{8192}})
	byName := map[string]Step{}
	for _, s := range p.Steps {
		byName[s.What] = s
	}
	assert.InDelta(t, 1.01*GiB, float64(byName["a context of 16384"].Bytes), 0.02*GiB)
	assert.Negative(t, byName["IQ4_XS instead of Q4_K_M"].Bytes)
	assert.Positive(t, byName["Q5_K_M instead of Q4_K_M"].Bytes)
	assert.InDelta(t, -0.47*GiB, float64(byName["a cache in q8_0"].Bytes), 0.01*GiB)
	assert.Empty(t, mustPlan(t, Request{Model: "llama-3.1-8b"}).Steps)
}
