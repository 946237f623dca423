package parts

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// PrefillGraphs is about the graphs that SGLang has captured for prompts as well
// since 2026: for dozens of token counts, up to the size of a chunk.
var PrefillGraphs = cause.Card{
	ID: "sglang/prefill-graphs", Kinds: []fact.Kind{fact.TorchAlloc, fact.CUDAError, fact.CUDAHandle}, Said: []string{"prefill CUDA graph begin"}, Phases: []string{"graph_capture"},
	If:    func(c *ledger.Case) bool { return c.In("sglang") },
	Cause: cause.BudgetMisconfigured, Weight: cause.Decisive,
	Headline: "did not start: CUDA graphs for prompts did not fit in GPU memory",
	Means:    "Weights and KV cache took their share of the GPU. SGLang then captures dozens of graphs for reading prompts, up to `--chunked-prefill-size` tokens, and these did not fit in the rest.",
	Not:      "A higher `--mem-fraction-static` leaves less for them. A lower `--cuda-graph-max-bs` affects only other graphs.",
	Cures: []cause.Cure{
		{Fix: "enforce_eager", Title: "Turn off the CUDA graphs for prompts", Told: "Add this to the command that starts it. The graphs for generating stay.", Kind: "config", Text: "--disable-prefill-cuda-graph", Cost: "hardly slower"},
		{Fix: "lower_mem_fraction", Title: "Or lower `--mem-fraction-static`", Cost: "a smaller KV cache"},
		{Fix: "lower_max_batched_tokens", Title: "Or lower `--chunked-prefill-size`", Cost: "slower long prompts"},
	},
	Sources: []string{"https://docs.sglang.io/docs/advanced_features/piecewise_cuda_graph", "https://huggingface.co/EschaLabs/escha-runtime-qwen3dense/discussions/4"}, Solved: 1,
}
