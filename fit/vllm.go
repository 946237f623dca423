package fit

import "math"

// VLLM is the budget by which vLLM sizes its cache:
//
//	total x gpu_memory_utilization = weights + non-torch + activation peak + graphs + cache
//
// and it refuses to start when the cache is under one request of
// max_model_len. Take the figures from the log where it has them ("Model
// loading took", "the rest of the memory reserved for KV Cache").
type VLLM struct {
	Total       int64
	Utilization float64
	Weights     int64
	NonTorch    int64
	Activation  int64
	// Graphs count inside the budget since 2026 only.
	Graphs int64
}

// Guesses for what no model tells: measured 0.57 to 1.8 GiB for 0.5 to 8 B,
// 0.03 to 0.35 GiB on a card of its own, and 0.22 to 0.42 GiB.
const (
	VLLMActivation = 1434 * MiB // 1.4 GiB
	VLLMNonTorch   = 205 * MiB  // 0.2 GiB
	VLLMGraphs     = 307 * MiB  // 0.3 GiB
	vllmBlock      = 16
)

func (v VLLM) fixed() int64 { return v.Weights + v.NonTorch + v.Activation + v.Graphs }

// Cache is what is left for the KV cache; negative by what is missing.
func (v VLLM) Cache() int64 {
	return int64(math.Floor(float64(v.Total)*v.Utilization)) - v.fixed()
}

// LowestUtilization is the smallest --gpu-memory-utilization, in hundredths,
// that leaves cache bytes; false if even the whole card does not.
func (v VLLM) LowestUtilization(cache int64) (float64, bool) {
	for u := 1; u <= 100; u++ {
		w := v
		w.Utilization = float64(u) / 100
		if w.Cache() >= cache {
			return w.Utilization, true
		}
	}
	return 0, false
}

// VLLMCache describes a cache as vLLM lays it out.
type VLLMCache struct {
	// Type is --kv-cache-dtype: auto, fp8...
	Type string
	// TensorParallel splits the KV heads; below one head a card they are
	// replicated. The latent of MLA is never split.
	TensorParallel int
	// BatchedTokens is max_num_batched_tokens: window layers keep
	// window-1+BatchedTokens of a request. 2048 if 0.
	BatchedTokens int
	// fullWindow: layers with a window keep a request in full.
	fullWindow bool
}

func (c VLLMCache) share(m *Model) int64 {
	if m.KVRank > 0 || c.TensorParallel < 2 {
		return 1
	}
	return min(int64(c.TensorParallel), max(1, m.KVHeads))
}

// Request is the cache of one request of n tokens on one card, in whole blocks
// of 16 tokens.
func (c VLLMCache) Request(m *Model, n int) int64 {
	batched := c.BatchedTokens
	if batched == 0 {
		batched = 2048
	}
	kv, err := m.KV(KVOptions{
		Context: pad(n, vllmBlock), TypeK: c.Type, TypeV: c.Type, exactCells: true,
		WindowCells: m.Window - 1 + batched, FullWindow: c.fullWindow,
	})
	if err != nil {
		return 0
	}
	return kv.Total() / c.share(m)
}

// Tokens is how many tokens fit a cache, in whole blocks. Layers with a window
// count in full, as in vLLM up to 0.9; it is a lower bound since.
func (c VLLMCache) Tokens(m *Model, cache int64) int64 {
	unit := cacheUnits()[c.Type]
	per := int64(m.countLayers('F', 0)+m.countLayers('S', 0)) * m.cellBytes('F', unit, unit, false) / c.share(m)
	if per <= 0 || cache <= 0 {
		return 0
	}
	return cache / per / vllmBlock * vllmBlock
}

// LongestContext is the largest --max-model-len of which one request fits the
// cache, a multiple of 16, at most the model's own.
func (c VLLMCache) LongestContext(m *Model, cache int64) int {
	low, high := 0, m.Context/vllmBlock
	for low < high {
		mid := (low + high + 1) / 2
		if c.Request(m, mid*vllmBlock) <= cache {
			low = mid
		} else {
			high = mid - 1
		}
	}
	return low * vllmBlock
}

// VLLMWeights is "Model loading took": the weights and the cache of the
// rotations, max_position x rotary width x 2 bytes (32 MiB for Llama 3.1).
// Worst error -1.1 %, on a model of half a billion.
func (m *Model) VLLMWeights(format string) (int64, error) {
	w, err := m.Weights(format)
	if err != nil {
		return 0, err
	}
	return m.vllmWeights(w), nil
}

func (m *Model) vllmWeights(w Weights) int64 {
	rotary := m.HeadDim
	if m.KVRank > 0 {
		rotary = m.RopeDim
	}
	return w.Total + w.Vision + int64(m.Context)*rotary*2
}
