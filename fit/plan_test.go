package fit

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPlanLlama31OnRTX4060(t *testing.T) {
	p, err := NewPlan(Request{Model: "Llama-3.1-8B-Instruct", Card: "RTX 4060", Formats: []string{"Q4_K_M", "Q8_0"}, Contexts: []int{8192}, Setting: Setting{Version: "b9360"}})
	require.NoError(t, err)
	require.Len(t, p.Rows, 2)
	best := p.Rows[0]
	assert.Equal(t, int64(4617396224+256), best.WeightsBytes) // + rope_freqs
	assert.Equal(t, int64(295501824), best.CPUWeightsBytes)
	assert.Equal(t, int64(1073741824), best.KVBytes)
	assert.Equal(t, int64(271056896), best.ComputeBytes)
	assert.Equal(t, int64(314572800), best.OverheadBytes)
	assert.Equal(t, int64(118489088+700*MiB), best.ReserveBytes, "a consumer's card drives a screen")
	assert.Equal(t, int64(6276767744+256), best.NeedBytes)
	assert.Equal(t, int64(8185184256), *best.HaveBytes)
	assert.Equal(t, int64(1908416512-256), *best.SpareBytes)
	assert.Equal(t, "fits", best.Verdict)
	assert.Equal(t, 33, best.GPULayers)
	assert.Equal(t, 0, p.Recommended)
	assert.Equal(t, "llama-server -m … -ngl 99 -c 8192 -np 1 -fa on", p.Command)
	assert.Equal(t, "offload", p.Rows[1].Verdict)
	assert.Equal(t, "seen in logs of like cards", p.Card.Basis)

	b, err := json.Marshal(p)
	require.NoError(t, err)
	var back map[string]any
	require.NoError(t, json.Unmarshal(b, &back))
	assert.Equal(t, "oomdoc.fit.v1", back["schema"])
	assert.Contains(t, string(b), `"active_parameters":8030261248`)
}

func TestPlanOffload(t *testing.T) {
	// The older order of layers: 26 x 253.03 + 559 MiB; the newer one places
	// the output layer first.
	m := mustModel(t, "llama-3.1-8b")
	for _, last := range []bool{true, false} {
		n, err := m.Need("Q8_0", Setting{Context: 8192, OutputLast: last, NoFlashAttention: false}, 26)
		require.NoError(t, err)
		layer := 221.03
		want := 26 * layer
		if !last {
			want = 25*layer + 532.33
		}
		assert.InDelta(t, want, float64(n.Weights)/MiB, 1)
	}
}

func TestPlanErrors(t *testing.T) {
	_, err := NewPlan(Request{Model: "lama-3.1-8bb-zz"})
	assert.ErrorIs(t, err, ErrModel)
	assert.ErrorContains(t, err, "llama-3.1-8b")
	_, err = NewPlan(Request{Model: "llama-3.1-8b", Card: "RTX 9999"})
	assert.ErrorIs(t, err, ErrCard)
	_, err = NewPlan(Request{Model: "llama-3.1-8b", Card: "Apple M2"})
	assert.ErrorContains(t, err, "64GB")
	_, err = NewPlan(Request{Model: "llama-3.1-8b", Formats: []string{"Q9_Z"}})
	assert.ErrorIs(t, err, ErrFormat)
	_, err = NewPlan(Request{Model: "llama-3.1-8b", Setting: Setting{KVType: "q9"}})
	assert.ErrorIs(t, err, ErrFormat)
}

func TestPlanWithoutCard(t *testing.T) {
	p, err := NewPlan(Request{Model: "qwen3-8b"})
	require.NoError(t, err)
	assert.Nil(t, p.Card)
	assert.Equal(t, "unknown", p.Rows[0].Verdict)
	assert.Nil(t, p.Rows[0].HaveBytes)
	assert.Equal(t, -1, p.Recommended)
}

func TestPlanOfSizeOnly(t *testing.T) {
	p, err := NewPlan(Request{Model: "some-finetune-13B", VRAM: 12 * GiB})
	require.NoError(t, err)
	assert.Equal(t, "name", p.Model.Basis)
	assert.NotEmpty(t, p.Notes)
	assert.Equal(t, 0, p.Recommended)
}

func TestPlanEngines(t *testing.T) {
	for _, e := range []string{"llama.cpp", "ollama", "vllm", "transformers"} {
		p, err := NewPlan(Request{Model: "Qwen/Qwen2.5-7B-Instruct", Card: "RTX 4090", Setting: Setting{Engine: e}})
		require.NoError(t, err, e)
		assert.Equal(t, 0, p.Recommended, e)
		assert.Equal(t, "fits", p.Rows[0].Verdict, e)
		for _, r := range p.Rows {
			assert.Equal(t, r.NeedBytes, r.WeightsBytes+r.KVBytes+r.ComputeBytes+r.OverheadBytes)
			assert.Equal(t, *r.HaveBytes-r.NeedBytes, *r.SpareBytes)
		}
	}
}

// What is recommended passes the same arithmetic, and one step more does not.
func TestRecommendationsHold(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	models := Models()
	for range 300 {
		m := models[random.IntN(len(models))]
		if m.Layers == 0 {
			continue
		}
		have := int64(4+random.IntN(80)) * GiB
		s := Setting{Context: min(m.Context, 1024<<random.IntN(6)), KVType: []string{"f16", "q8_0"}[random.IntN(2)], OutputLast: random.IntN(2) == 0}
		checkLayers(t, m, s, have)
		checkContext(t, m, s, have)
		checkRecommend(t, m, s.Context, have)
	}
}

func checkLayers(t *testing.T, m *Model, s Setting, have int64) {
	layers, need, err := m.MostLayers("Q4_K_M", s, have)
	require.NoError(t, err)
	if layers < 0 {
		return
	}
	assert.LessOrEqual(t, need.Sum(), have, m.ID)
	if layers < need.Total {
		more, err := m.Need("Q4_K_M", s, layers+1)
		require.NoError(t, err)
		assert.LessOrEqual(t, need.Sum()+need.Reserve, have, m.ID)
		assert.Greater(t, more.Sum()+more.Reserve, have, "%s: %d layers of %d", m.ID, layers+1, need.Total)
	}
}

func checkContext(t *testing.T, m *Model, s Setting, have int64) {
	n := m.LongestContext("Q4_K_M", s, have)
	fits := func(context int) bool {
		s.Context = context
		need, err := m.Need("Q4_K_M", s, -1)
		require.NoError(t, err)
		return need.Sum() <= have
	}
	if n > 0 {
		assert.True(t, fits(n), m.ID)
	}
	if n+256 <= m.Context {
		assert.False(t, fits(n+256), "%s %d", m.ID, n)
	}
}

func checkRecommend(t *testing.T, m *Model, context int, have int64) {
	row, ok := m.Recommend(have, context)
	if !ok {
		_, need, err := m.MostLayers(ggufFormats(m)[0], Setting{Context: context}.defaults(), have)
		require.NoError(t, err)
		assert.True(t, need.Layers == 0 || need.Sum() > have, m.ID)
		return
	}
	assert.GreaterOrEqual(t, *row.SpareBytes, int64(0), m.ID)
	assert.LessOrEqual(t, row.NeedBytes, have, m.ID)
	for _, f := range ggufFormats(m) {
		if f == row.Format || row.Verdict == "tight" {
			break
		}
		need, err := m.Need(f, Setting{Context: context}, -1)
		require.NoError(t, err)
		assert.NotEqual(t, "fits", need.verdict(have), "%s: %s is larger than %s and fits", m.ID, f, row.Format)
	}
}

func TestVLLMPrescriptionsHold(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	models := Models()
	for range 300 {
		m := models[random.IntN(len(models))]
		if m.Kind != "llm" || m.Arch == "deepseek4" {
			continue
		}
		c := VLLMCache{TensorParallel: 1 + random.IntN(4), Type: []string{"auto", "fp8"}[random.IntN(2)]}
		v := VLLM{Total: int64(8+random.IntN(80)) * GiB, Utilization: 0.9, Weights: int64(random.IntN(40)) * GiB, NonTorch: VLLMNonTorch, Activation: VLLMActivation}
		cache := v.Cache()
		if n := c.LongestContext(m, cache); n > 0 {
			assert.LessOrEqual(t, c.Request(m, n), cache, m.ID)
			if n+16 <= m.Context {
				assert.Greater(t, c.Request(m, n+16), cache, m.ID)
			}
		}
		need := c.Request(m, min(m.Context, 4096))
		if u, ok := v.LowestUtilization(need); ok {
			w := v
			w.Utilization = u
			assert.GreaterOrEqual(t, w.Cache(), need)
			w.Utilization = u - 0.01
			assert.Less(t, w.Cache(), need)
		}
		if per := m.KVPerToken("auto"); per > 0 && m.Window == 0 && m.Linear == nil {
			tokens := c.Tokens(m, GiB)
			assert.LessOrEqual(t, c.Request(m, int(tokens)), int64(GiB), m.ID)
		}
	}
}

// The smallest number of layers whose experts stay in RAM: one less does not
// fit, whatever the mixture, the format and the card.
func TestFewestCPUExperts(t *testing.T) {
	random := rand.New(rand.NewPCG(5, 6))
	found := 0
	for _, m := range Models() {
		if m.MoE == nil || m.Kind == "diffusion" {
			continue
		}
		for range 4 {
			format := ggufLadder[random.IntN(len(ggufLadder))]
			s := Setting{Context: min(m.Context, 2048<<random.IntN(6)), Server: true}
			have := int64(6+random.IntN(90)) * GiB
			n, ok := m.FewestCPUExperts(format, s, have)
			if !ok || n == 0 {
				continue
			}
			found++
			fits := func(experts int) bool {
				s.CPUExperts = experts
				need, err := m.Need(format, s, -1)
				require.NoError(t, err)
				w, err := m.Weights(format)
				require.NoError(t, err)
				assert.Equal(t, w.GPU-sum(w.Experts[:experts]), need.Weights, m.ID)
				return need.Sum()+need.Reserve <= have
			}
			assert.True(t, fits(n), "%s %s %d", m.ID, format, n)
			assert.False(t, fits(n-1), "%s %s %d", m.ID, format, n-1)
			p, err := NewPlan(Request{Model: m.ID, VRAM: have, Formats: []string{format}, Contexts: []int{s.Context}})
			require.NoError(t, err)
			if p.Rows[0].Verdict == "tight" {
				continue // all of it fits, without the reserve
			}
			assert.Equal(t, n, p.Rows[0].CPUExpertLayers, m.ID)
			assert.Equal(t, "offload", p.Rows[0].Verdict, m.ID)
			assert.Contains(t, p.Command, fmt.Sprintf(" -ngl %d --n-cpu-moe %d ", max(99, p.Rows[0].TotalLayers), n))
		}
	}
	assert.Greater(t, found, 30)
	_, ok := mustModel(t, "llama-3.1-8b").FewestCPUExperts("Q4_K_M", Setting{Context: 8192}, 2*GiB)
	assert.False(t, ok)
	p, err := NewPlan(Request{Model: "qwen3-30b-a3b", VRAM: 12 * GiB, Formats: []string{"Q4_K_M"}, Contexts: []int{8192}, Setting: Setting{Engine: "ollama"}})
	require.NoError(t, err)
	assert.NotContains(t, p.Command, "cpu-moe")
	assert.Contains(t, p.Notes[0], "--n-cpu-moe")
}

func TestPlanVersions(t *testing.T) {
	for version, want := range map[string]string{
		"":      "llama-server -m … -ngl 99 -c 8192 -np 1 -fa on",
		"b8000": "llama-server -m … -ngl 99 -c 8192 -np 1 -fa on",
		"b4000": "llama-server -m … -ngl 99 -c 8192 -np 1 -fa",
	} {
		p, err := NewPlan(Request{Model: "llama-3.1-8b", VRAM: 12 * GiB, Formats: []string{"Q4_K_M"}, Setting: Setting{Version: version}})
		require.NoError(t, err)
		assert.Equal(t, want, p.Command, version)
	}
	m := mustModel(t, "llama-3.1-8b")
	older, err := m.Need("Q8_0", Setting{Version: "b4000"}, 26)
	require.NoError(t, err)
	newer, err := m.Need("Q8_0", Setting{Version: "b8000"}, 26)
	require.NoError(t, err)
	assert.Greater(t, newer.Weights, older.Weights)
}

// On a Mac layers in RAM take from the same memory: what the GPU and the rest
// need together must fit all of it.
func TestPlanOnAMac(t *testing.T) {
	for _, model := range []string{"llama-3.3-70b", "qwen3-30b-a3b", "gemma-3-27b"} {
		for _, gb := range []int64{8, 16, 24, 36, 64} {
			p, err := NewPlan(Request{Model: model, Card: fmt.Sprintf("M2 Max %dGB", gb)})
			require.NoError(t, err)
			for _, r := range p.Rows {
				switch r.Verdict {
				case "offload":
					assert.LessOrEqual(t, r.NeedBytes+r.CPUWeightsBytes, (gb-2)*GiB, "%s %d %s", model, gb, r.Format)
				case "no":
					assert.Negative(t, *r.SpareBytes, "%s %d %s", model, gb, r.Format)
				}
			}
		}
	}
}

// Several cards are a sum, and each has what is not split.
func TestPlanOnSeveralCards(t *testing.T) {
	for name, want := range map[string]int{"2x3090": 2, "4 x RTX 3090": 4, "RTX 3090 x3": 3, "3090, 3090": 2, "dual RTX 3090": 2, "3090+3090+3090": 3, "RTX 3090": 1} {
		n, card := CountedCards(name)
		assert.Equal(t, want, n, name)
		_, ok := Card(card)
		assert.True(t, ok, name)
	}
	for _, engine := range []string{"llama.cpp", "vllm", "transformers"} {
		one, err := NewPlan(Request{Model: "qwen3-14b", Card: "3090", Contexts: []int{8192}, Setting: Setting{Engine: engine}})
		require.NoError(t, err)
		two, err := NewPlan(Request{Model: "qwen3-14b", Card: "2x3090", Contexts: []int{8192}, Setting: Setting{Engine: engine}})
		require.NoError(t, err)
		assert.Equal(t, 2*one.Card.TotalBytes, two.Card.TotalBytes)
		assert.Equal(t, 2, two.Card.Count)
		a, b := one.best(), two.best()
		assert.Greater(t, b.OverheadBytes, a.OverheadBytes, engine)
	}
	_, err := NewPlan(Request{Model: "qwen3-14b", Card: "2x9999"})
	assert.ErrorIs(t, err, ErrCard)
}
