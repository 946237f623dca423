// Package stage tells how far vLLM had come when the card was full.
package stage

import (
	"slices"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// OnCard: the failure is an allocation on the card under vLLM.
func OnCard(c *ledger.Case) bool {
	return c.Framework == "vllm" && c.Root(fact.TorchAlloc, fact.TorchAsync, fact.CUDAError, fact.CUDAHandle, fact.NCCLAlloc, fact.NVMLAssert)
}

// TakingCache: the tensors of the cache, which vLLM had sized by its share.
func TakingCache(c *ledger.Case) bool { return OnCard(c) && c.Phase == "kv_cache" }

// Profiling: the dummy run before the cache is taken.
func Profiling(c *ledger.Case) bool { return OnCard(c) && c.Phase == "warmup" && !CacheTaken(c) }

// LoadingWeights: while weights are made or read.
func LoadingWeights(c *ledger.Case) bool {
	return c.Root(fact.VLLMLoad) || OnCard(c) && (c.Phase == "load" || c.Phase == "unknown" && LooksLikeLoad(c))
}

// AfterCache are frames and calls of what comes after the cache: kernels, graphs
// and sampler are tried by compile_or_warm_up_model (vllm/v1/worker/gpu_worker.py).
var (
	Kernels    = []string{"kernel_warmup(", "in kernel_warmup", "model_executor/warmup/", "deep_gemm_warmup", "flashinfer_autotune"}
	LastWarmup = []string{"in compile_or_warm_up_model", "method compile_or_warm_up_model", "method 'compile_or_warm_up_model", `collective_rpc("compile_or_warm_up_model`}
	AfterCache = slices.Concat(LastWarmup, Kernels)
)

// CacheTaken: CUDA graphs exist, its frames are in the traceback, or the cache's size
// was printed before.
func CacheTaken(c *ledger.Case) bool {
	return c.Contains("private pools") || c.Near(AfterCache...) || slices.ContainsFunc([]string{"kv_left", "cache_tokens", "kv_blocks"}, func(name string) bool {
		x, ok := c.Fact(name)
		return ok && x.Line < c.Failure.Line
	})
}

// LooksLikeLoad: this process fills the card and its allocator has next to
// nothing cached, as no step of work leaves it. Hardly a matrix of weights is as
// large as OnePiece, but what a trial run computes of images or logits often is.
func LooksLikeLoad(c *ledger.Case) bool {
	f := c.F()
	return f.Total != nil && f.Allocated != nil && c.Slack.Has() && c.Slack.Bytes < 64*units.MiB &&
		f.Allocated.Bytes*10 > f.Total.Bytes*8 && ledger.Requested(c) < OnePiece && !c.Contains("private pools")
}

// OnePiece is more than a matrix of weights takes, but for experts of the largest
// models.
const OnePiece = 4 * units.GiB
