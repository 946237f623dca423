package rest

import (
	"strconv"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// workspaceCards are about FlashInfer's buffer where no server shows.
var workspaceCards = []cause.Card{{
	ID: "rest/flashinfer-workspace", Kinds: []fact.Kind{fact.FlashInferWorkspace}, If: func(c *ledger.Case) bool { return !c.In("vllm", "sglang") }, Figures: workspace,
	Cause: cause.SoftwareBug, Weight: cause.Strong, Headline: "needed more than FlashInfer's workspace buffer holds",
	Means: "FlashInfer works in a buffer of fixed size, usually about 400 MiB, and this batch needed more than what was left of it. The GPU need not be full. The server that uses FlashInfer sets the size; these lines do not name it.",
	Not:   "Smaller weights, a smaller KV cache, `gpu_memory_utilization`, allocator settings: the buffer keeps its size.",
	Cures: []cause.Cure{
		{Fix: "upgrade_version", Title: "Enlarge the workspace (in bytes)", Cost: "that much GPU memory", Ways: []cause.Way{
			{For: "vLLM", Text: "`export VLLM_FLASHINFER_WORKSPACE_BUFFER_SIZE={twice}` before the start (read by versions from late 2025 on)"},
			{For: "SGLang", Text: "`export SGLANG_FLASHINFER_WORKSPACE_SIZE={twice}` before the start"},
		}},
		{Fix: "lower_max_num_seqs", Title: "Or compute fewer requests and tokens at once", Cost: "others wait", Ways: []cause.Way{
			{For: "vLLM", Text: "lower `--max-num-seqs`, then `--max-num-batched-tokens`"},
			{For: "SGLang", Text: "lower `--chunked-prefill-size`, then `--max-running-requests`"},
		}},
	},
	Sources: []string{"flashinfer/include/flashinfer/allocator.h", "vllm/envs.py", "sglang/python/sglang/srt/environ.py", "https://github.com/vllm-project/vllm/issues/40023"},
}}

// workspace is a size with a quarter to spare, as a power of two.
func workspace(c *ledger.Case) map[string]string {
	n := int64(512 * units.MiB)
	for n < ledger.Requested(c)*5/4 {
		n *= 2
	}
	return map[string]string{"twice": strconv.FormatInt(n, 10)}
}
