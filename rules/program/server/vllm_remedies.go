package server

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// vllmRemedies order cures by when it failed; the share of the card only ever
// moves in the direction that helps there.
var vllmRemedies = map[string][]cause.Remedy{
	cause.BudgetMisconfigured: {
		{Fix: "raise_gpu_memory_utilization", Fit: 1, If: ledger.ShareTooSmall},
		{Fix: "lower_max_batched_tokens", Fit: 0.72, If: when.Root(fact.VLLMNoCache)},
		{Fix: "lower_max_num_seqs", Fit: 0.7, If: when.Root(fact.VLLMNoCache)},
		{Fix: "lower_context", Fit: 0.95, If: when.Root(fact.VLLMTokens, fact.VLLMCacheTooSmall)},
		{Fix: "quantize_kv_cache", Fit: 0.85, If: when.Root(fact.VLLMTokens, fact.VLLMCacheTooSmall)},
		{Fix: "lower_max_num_seqs", Fit: 0.75, If: when.Root(fact.VLLMSwapFull, fact.VLLMMamba)},
		{Fix: "upgrade_version", Fit: 0.65, If: when.Root(fact.VLLMSwapFull)},
		{Fix: "lower_gpu_memory_utilization", Fit: 1, If: shareTooLarge},
		{Fix: "close_other_apps", Fit: 0.8, If: when.Root(fact.VLLMFreeTooLow)},
		{Fix: "kill_stale_process", Fit: 0.65, If: func(c *ledger.Case) bool { return c.Root(fact.VLLMFreeTooLow) && takenAtStart(c) > 3*units.GiB }},
		{Fix: "select_gpu", Fit: 0.4, If: when.Root(fact.VLLMFreeTooLow)},
		{Fix: "close_other_apps", Fit: 0.6, If: ledger.TakingCache},
		{Fix: "lower_context", Fit: 0.6, If: ledger.TakingCache},
		{Fix: "lower_max_num_seqs", Fit: 0.85, If: capturing},
		{Fix: "enforce_eager", Fit: 0.8, If: capturing},
		{Fix: "lower_max_num_seqs", Fit: 0.9, If: when.Root(fact.VLLMWarmup)},
		{Fix: "lower_max_batched_tokens", Fit: 0.85, If: serving},
		{Fix: "lower_max_num_seqs", Fit: 0.6, If: serving},
		{Fix: "lower_context", Fit: 0.55, If: serving},
		{Fix: "multi_gpu", Fit: 0.35, If: when.Root(fact.VLLMNoCache)},
		{Fix: "use_lower_quant", Fit: 0.35, If: when.Root(fact.VLLMNoCache)},
	},
	cause.ContextTooLong: {
		{Fix: "lower_context", Fit: 1},
		{Fix: "raise_gpu_memory_utilization", Fit: 0.85, If: ledger.ShareTooSmall},
		{Fix: "quantize_kv_cache", Fit: 0.95, If: halfCacheFits},
		{Fix: "quantize_kv_cache", Fit: 0.8, If: func(c *ledger.Case) bool { return ledger.ShareTooSmall(c) && !halfCacheFits(c) }},
		{Fix: "lower_max_batched_tokens", Fit: 0.85, If: when.Not(ledger.ShareTooSmall)},
		{Fix: "upgrade_version", Fit: 0.6, If: when.Not(ledger.ShareTooSmall)},
		{Fix: "lower_max_num_seqs", Fit: 0.55},
		{Fix: "multi_gpu", Fit: 0.6, If: ledger.ShareTooSmall},
	},
	cause.BatchTooLarge: {
		{Fix: "lower_max_num_seqs", Fit: 1, If: when.Not(ledger.Profiling)},
		{Fix: "lower_max_batched_tokens", Fit: 1, If: ledger.Profiling},
		{Fix: "lower_max_num_seqs", Fit: 0.8, If: func(c *ledger.Case) bool { return ledger.Profiling(c) && !sampling(c) }},
		{Fix: "lower_max_num_seqs", Fit: 1.1, If: func(c *ledger.Case) bool { return ledger.Profiling(c) && sampling(c) }},
		{Fix: "raise_gpu_memory_utilization", Fit: 0.85, If: when.Root(fact.VLLMMamba)},
		{Fix: "lower_context", Fit: 0.7, If: when.Root(fact.VLLMMamba)},
		{Fix: "lower_gpu_memory_utilization", Fit: 0.85, If: shareTooLarge},
		{Fix: "lower_max_batched_tokens", Fit: 0.7, If: func(c *ledger.Case) bool { return !ledger.Profiling(c) && !c.Root(fact.VLLMMamba, fact.VLLMWarmup) }},
		{Fix: "lower_resolution", Fit: 0.6, If: ledger.Profiling},
		{Fix: "multi_gpu", Fit: 0.45, If: when.Not(when.Root(fact.VLLMMamba))},
		{Fix: "use_lower_quant", Fit: 0.4, If: when.Not(when.Root(fact.VLLMMamba, fact.VLLMWarmup))},
	},
	cause.ModelTooLarge: {
		{Fix: "use_lower_quant", Fit: 1},
		{Fix: "multi_gpu", Fit: 0.95},
		{Fix: "use_smaller_model", Fit: 0.8},
		{Fix: "cpu_offload", Fit: 0.8},
		{Fix: "bigger_gpu", Fit: 0.5},
	},
	cause.LeakedProcess: {
		{Fix: "restart_session", Fit: 0.9, If: when.Root(fact.VLLMProfileMoved)},
		{Fix: "kill_stale_process", Fit: 1},
		{Fix: "lower_gpu_memory_utilization", Fit: 0.85, If: when.Root(fact.VLLMFreeTooLow)},
		{Fix: "select_gpu", Fit: 0.8},
		{Fix: "close_other_apps", Fit: 0.5},
	},
	cause.OversizedAllocation: {
		{Fix: "enable_flash_attention", Fit: 1},
		{Fix: "lower_resolution", Fit: 0.95},
		{Fix: "upgrade_version", Fit: 0.7},
		{Fix: "lower_max_batched_tokens", Fit: 0.5},
	},
	cause.SoftwareBug: {
		{Fix: "upgrade_version", Fit: 1},
		{Fix: "enforce_eager", Fit: 0.7, If: when.Root(fact.VLLMNoCache)},
		{Fix: "lower_max_num_seqs", Fit: 0.6, If: when.Root(fact.VLLMNoCache)},
		{Fix: "restart_session", Fit: 0.5, If: when.Root(fact.VLLMProfileMoved)},
	},
	cause.HostMemory: {
		{Fix: "lower_swap_space", Fit: 1.02, If: when.Root(fact.VLLMSwapTooLarge)},
		{Fix: "raise_memory_limit", Fit: 1},
		{Fix: "lower_swap_space", Fit: 0.9, If: when.Not(when.Root(fact.VLLMSwapTooLarge))},
		{Fix: "lower_num_workers", Fit: 0.6},
		{Fix: "add_swap", Fit: 0.5},
		{Fix: "bigger_gpu", Fit: 0.4},
	},
	cause.Fragmentation: {
		{Fix: "expandable_segments", Fit: 1},
		{Fix: "lower_gpu_memory_utilization", Fit: 0.95, If: shareTooLarge},
		{Fix: "lower_max_batched_tokens", Fit: 0.6},
	},
}
