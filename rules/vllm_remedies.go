package rules

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
)

// vllmRemedies order cures by when it failed; the share of the card only ever
// moves in the direction that helps there.
var vllmRemedies = map[string][]Remedy{
	BudgetMisconfigured: {
		{Fix: "raise_gpu_memory_utilization", Fit: 1, If: shareTooSmall},
		{Fix: "lower_max_batched_tokens", Fit: 0.72, If: rootIs(fact.VLLMNoCache)},
		{Fix: "lower_max_num_seqs", Fit: 0.7, If: rootIs(fact.VLLMNoCache)},
		{Fix: "lower_context", Fit: 0.95, If: rootIs(fact.VLLMTokens, fact.VLLMCacheTooSmall)},
		{Fix: "quantize_kv_cache", Fit: 0.85, If: rootIs(fact.VLLMTokens, fact.VLLMCacheTooSmall)},
		{Fix: "lower_max_num_seqs", Fit: 0.75, If: rootIs(fact.VLLMSwapFull, fact.VLLMMamba)},
		{Fix: "upgrade_version", Fit: 0.65, If: rootIs(fact.VLLMSwapFull)},
		{Fix: "lower_gpu_memory_utilization", Fit: 1, If: shareTooLarge},
		{Fix: "close_other_apps", Fit: 0.8, If: rootIs(fact.VLLMFreeTooLow)},
		{Fix: "kill_stale_process", Fit: 0.65, If: func(c *Case) bool { return c.Root(fact.VLLMFreeTooLow) && takenAtStart(c) > 3*units.GiB }},
		{Fix: "select_gpu", Fit: 0.4, If: rootIs(fact.VLLMFreeTooLow)},
		{Fix: "close_other_apps", Fit: 0.6, If: takingCache},
		{Fix: "lower_context", Fit: 0.6, If: takingCache},
		{Fix: "lower_max_num_seqs", Fit: 0.85, If: capturing},
		{Fix: "enforce_eager", Fit: 0.8, If: capturing},
		{Fix: "lower_max_num_seqs", Fit: 0.9, If: rootIs(fact.VLLMWarmup)},
		{Fix: "lower_max_batched_tokens", Fit: 0.85, If: serving},
		{Fix: "lower_max_num_seqs", Fit: 0.6, If: serving},
		{Fix: "lower_context", Fit: 0.55, If: serving},
		{Fix: "multi_gpu", Fit: 0.35, If: rootIs(fact.VLLMNoCache)},
		{Fix: "use_lower_quant", Fit: 0.35, If: rootIs(fact.VLLMNoCache)},
	},
	ContextTooLong: {
		{Fix: "lower_context", Fit: 1},
		{Fix: "raise_gpu_memory_utilization", Fit: 0.85, If: shareTooSmall},
		{Fix: "quantize_kv_cache", Fit: 0.95, If: halfCacheFits},
		{Fix: "quantize_kv_cache", Fit: 0.8, If: func(c *Case) bool { return shareTooSmall(c) && !halfCacheFits(c) }},
		{Fix: "lower_max_batched_tokens", Fit: 0.85, If: not(shareTooSmall)},
		{Fix: "upgrade_version", Fit: 0.6, If: not(shareTooSmall)},
		{Fix: "lower_max_num_seqs", Fit: 0.55},
		{Fix: "multi_gpu", Fit: 0.6, If: shareTooSmall},
	},
	BatchTooLarge: {
		{Fix: "lower_max_num_seqs", Fit: 1, If: not(profiling)},
		{Fix: "lower_max_batched_tokens", Fit: 1, If: profiling},
		{Fix: "lower_max_num_seqs", Fit: 0.8, If: func(c *Case) bool { return profiling(c) && !sampling(c) }},
		{Fix: "lower_max_num_seqs", Fit: 1.1, If: func(c *Case) bool { return profiling(c) && sampling(c) }},
		{Fix: "raise_gpu_memory_utilization", Fit: 0.85, If: rootIs(fact.VLLMMamba)},
		{Fix: "lower_context", Fit: 0.7, If: rootIs(fact.VLLMMamba)},
		{Fix: "lower_gpu_memory_utilization", Fit: 0.85, If: shareTooLarge},
		{Fix: "lower_max_batched_tokens", Fit: 0.7, If: func(c *Case) bool { return !profiling(c) && !c.Root(fact.VLLMMamba, fact.VLLMWarmup) }},
		{Fix: "lower_resolution", Fit: 0.6, If: profiling},
		{Fix: "multi_gpu", Fit: 0.45, If: not(rootIs(fact.VLLMMamba))},
		{Fix: "use_lower_quant", Fit: 0.4, If: not(rootIs(fact.VLLMMamba, fact.VLLMWarmup))},
	},
	ModelTooLarge: {
		{Fix: "use_lower_quant", Fit: 1},
		{Fix: "multi_gpu", Fit: 0.95},
		{Fix: "use_smaller_model", Fit: 0.8},
		{Fix: "cpu_offload", Fit: 0.8},
		{Fix: "bigger_gpu", Fit: 0.5},
	},
	LeakedProcess: {
		{Fix: "restart_session", Fit: 0.9, If: rootIs(fact.VLLMProfileMoved)},
		{Fix: "kill_stale_process", Fit: 1},
		{Fix: "lower_gpu_memory_utilization", Fit: 0.85, If: rootIs(fact.VLLMFreeTooLow)},
		{Fix: "select_gpu", Fit: 0.8},
		{Fix: "close_other_apps", Fit: 0.5},
	},
	OversizedAllocation: {
		{Fix: "enable_flash_attention", Fit: 1},
		{Fix: "lower_resolution", Fit: 0.95},
		{Fix: "upgrade_version", Fit: 0.7},
		{Fix: "lower_max_batched_tokens", Fit: 0.5},
	},
	SoftwareBug: {
		{Fix: "upgrade_version", Fit: 1},
		{Fix: "enforce_eager", Fit: 0.7, If: rootIs(fact.VLLMNoCache)},
		{Fix: "lower_max_num_seqs", Fit: 0.6, If: rootIs(fact.VLLMNoCache)},
		{Fix: "restart_session", Fit: 0.5, If: rootIs(fact.VLLMProfileMoved)},
	},
	HostMemory: {
		{Fix: "lower_swap_space", Fit: 1.02, If: rootIs(fact.VLLMSwapTooLarge)},
		{Fix: "raise_memory_limit", Fit: 1},
		{Fix: "lower_swap_space", Fit: 0.9, If: not(rootIs(fact.VLLMSwapTooLarge))},
		{Fix: "lower_num_workers", Fit: 0.6},
		{Fix: "add_swap", Fit: 0.5},
		{Fix: "bigger_gpu", Fit: 0.4},
	},
	Fragmentation: {
		{Fix: "expandable_segments", Fit: 1},
		{Fix: "lower_gpu_memory_utilization", Fit: 0.95, If: shareTooLarge},
		{Fix: "lower_max_batched_tokens", Fit: 0.6},
	},
}
