// Package array knows the other libraries that compute on arrays: JAX,
// TensorFlow, CuPy, ONNX Runtime, MLX, NumPy.
package array

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/limits"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Frameworks is what is peculiar to frameworks beside PyTorch, and to
// programs that have no name of their own in a report ("other").
var Frameworks = program.Program{
	Sources: program.Sources{"docker/cli/command/container/opts.go": "--memory --memory-swap"},
	Clues:   clues,
	Cards:   bareCards,
	Remedies: map[string][]cause.Remedy{
		cause.HostMemory: cause.HostRemedies,
		cause.BudgetMisconfigured: {
			{Fix: "limit_framework_preallocation", Fit: 0.9, If: ledger.Preallocates},
			{Fix: "lower_gpu_memory_utilization", Fit: 0.95, If: when.Root(fact.NCCLAlloc)},
			{Fix: "lower_batch_size", Fit: 0.6, If: when.Not(when.Root(fact.NCCLAlloc))},
			{Fix: "use_lower_quant", Fit: 0.6, If: when.Root(fact.NCCLAlloc)},
			{Fix: "raise_memory_limit", Fit: 0.7, If: hasLimit},
		},
		cause.OversizedAllocation: {
			{Fix: "lower_resolution", Fit: 1, If: imageLike},
			{Fix: "stream_dataset", Fit: 0.95, If: allTheData},
			{Fix: "fix_shape", Fit: 0.9},
			{Fix: "lower_batch_size", Fit: 0.8, If: when.Not(allTheData)},
			{Fix: "lower_context", Fit: 0.75, If: when.Root(fact.MLXBuffer, fact.XLAAlloc)},
			{Fix: "half_precision", Fit: 0.4, If: when.Not(when.Root(fact.NumpyAlloc))},
		},
		cause.SoftwareBug: {
			{Fix: "upgrade_version", Fit: 1},
			{Fix: "lower_batch_size", Fit: 0.6, If: when.Not(when.Root(fact.ORTAlloc))},
		},
		cause.ModelTooLarge: {
			{Fix: "multi_gpu", Fit: 1.2, If: onTPU},
			{Fix: "shard_training", Fit: 1, If: onTPU},
			{Fix: "lower_batch_size", Fit: 1, If: when.Root(fact.TRTEngine)}, // the profile that the engine is built for
			{Fix: "use_lower_quant", Fit: 0.97},
			{Fix: "use_smaller_model", Fit: 0.9},
			{Fix: "half_precision", Fit: 0.88},
			{Fix: "lower_context", Fit: 0.7},
			{Fix: "multi_gpu", Fit: 0.5},
		},
		cause.BatchTooLarge: {
			{Fix: "lower_resolution", Fit: 1.05, If: when.Root(fact.ORTAlloc)},
			{Fix: "lower_batch_size", Fit: 1},
			{Fix: "lower_resolution", Fit: 0.7, If: when.Not(onTPU)},
			{Fix: "gradient_checkpointing", Fit: 0.6, If: (*ledger.Case).Training},
			{Fix: "mixed_precision", Fit: 0.55, If: (*ledger.Case).Training},
			{Fix: "lower_context", Fit: 0.5, If: when.Not(when.Any((*ledger.Case).Training, when.Root(fact.CuPyAlloc, fact.NumbaAlloc, fact.RMMAlloc)))},
		},
		cause.TrainingStateTooLarge: {
			{Fix: "use_smaller_model", Fit: 1},
			{Fix: "kill_stale_process", Fit: 0.85},
			{Fix: "mixed_precision", Fit: 0.6},
		},
		cause.ContextTooLong: {
			{Fix: "lower_context", Fit: 1},
			{Fix: "efficient_attention", Fit: 0.9},
			{Fix: "lower_batch_size", Fit: 0.5},
		},
		cause.RetainedMemory: {
			{Fix: "restart_session", Fit: 1},
			{Fix: "empty_cache", Fit: 0.8},
			{Fix: "lower_batch_size", Fit: 0.5},
		},
		cause.Fragmentation: {{Fix: "tf_cuda_malloc_async", Fit: 1}, {Fix: "lower_batch_size", Fit: 0.7}, {Fix: "restart_session", Fit: 0.4}},
	},
	Steps:   map[string]func(*ledger.Case) []step.Step{"raise_memory_limit": limits.Steps},
	Effects: map[string]func(*ledger.Case) *effect.Effect{"raise_memory_limit": limits.Effect},
	Useless: map[string]func(*ledger.Case) string{"expandable_segments": notPyTorch},
}

func notPyTorch(c *ledger.Case) string {
	if c.In("pytorch") || !ledger.OnCard(c) {
		return ""
	}
	return "It is an option of PyTorch's allocator; this memory was asked for by another."
}

// Candle is candle.
var Candle = program.Program{
	Name: "candle", Shown: "Candle", Rank: 56,
	Work: "text-inference", Edits: "code", Language: "rust", Script: "candle",
	Like:  []*program.Program{&Frameworks},
	Cards: candleCards,
}

// imageLike: an array of pixels, or a network that as a rule gets one.
func imageLike(c *ledger.Case) bool {
	return c.Root(fact.ORTAlloc) && ledger.Requested(c) < cause.Unusual || c.Signal("pictures") != nil
}

// allTheData: what was too large is a whole data set.
func allTheData(c *ledger.Case) bool {
	return c.Root(fact.NumpyAlloc) && !imageLike(c) || c.Signal("eager_constant") != nil
}
