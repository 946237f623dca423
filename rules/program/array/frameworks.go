// Package array knows the other libraries that compute on arrays: JAX,
// TensorFlow, CuPy, ONNX Runtime, MLX, NumPy.
package array

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/explain"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
	"github.com/oomdoc/oomdoc/rules/program/array/local"
	"github.com/oomdoc/oomdoc/rules/program/limits"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Frameworks is what is peculiar to frameworks beside PyTorch, and to
// programs that have no name of their own in a report ("other").
var Frameworks = program.Program{
	Sources: program.Sources{"docker/cli/command/container/opts.go": "--memory --memory-swap"},
	Numbers: []explain.Reading{calls.ReadsSquare},
	Clues:   clues,
	Cards:   slices.Concat(calls.BareCalls(), local.LibraryCards, local.DriverCards, local.RuntimeCards, local.OpenCLCards, local.ForkCards, local.NamedCards, local.HostCards, calls.ShapeCards, bareCards, calls.MemoryErrorCards),
	Remedies: map[string][]cause.Remedy{
		cause.HostMemory: cause.HostRemedies,
		cause.BudgetMisconfigured: {
			{Fix: "lower_gpu_memory_utilization", Fit: cause.Cures, If: when.Root(fact.NCCLAlloc)},
			{Fix: "limit_framework_preallocation", Fit: cause.Helps, If: ledger.Preallocates},
			{Fix: "raise_memory_limit", Fit: cause.MayHelp, If: hasLimit},
			{Fix: "lower_batch_size", Fit: cause.MayHelp, If: when.Not(when.Root(fact.NCCLAlloc, fact.PlainHost, fact.PlainMemory, fact.NativeAlloc))},
			{Fix: "use_lower_quant", Fit: cause.MayHelp, If: when.Root(fact.NCCLAlloc)},
		},
		cause.OversizedAllocation: {
			{Fix: "lower_resolution", Fit: cause.Cures, If: imageLike},
			{Fix: "stream_dataset", Fit: cause.Cures, If: allTheData},
			{Fix: "fix_shape", Fit: cause.Helps},
			{Fix: "lower_batch_size", Fit: cause.Helps, If: when.Not(when.Any(allTheData, oneInBatch))},
			{Fix: "lower_context", Fit: cause.MayHelp, If: when.Root(fact.MLXBuffer, fact.XLAAlloc)},
			{Fix: "half_precision", Fit: cause.LastResort, If: when.Not(when.Root(fact.NumpyAlloc, fact.TFAlloc))},
		},
		cause.SoftwareBug: {
			{Fix: "upgrade_version", Fit: cause.Cures},
			{Fix: "lower_batch_size", Fit: cause.MayHelp, If: when.Not(when.Root(fact.ORTAlloc, fact.NativeAlloc, fact.RustAlloc, fact.PlainHost))},
		},
		cause.ModelTooLarge: {
			{Fix: "multi_gpu", Fit: cause.Foremost, If: onTPU},
			{Fix: "shard_training", Fit: cause.Cures, If: onTPU},
			{Fix: "lower_batch_size", Fit: cause.Cures, If: when.Root(fact.TRTEngine)}, // the profile that the engine is built for
			{Fix: "use_lower_quant", Fit: cause.Cures},
			{Fix: "use_smaller_model", Fit: cause.Helps},
			{Fix: "half_precision", Fit: cause.Helps},
			{Fix: "lower_context", Fit: cause.MayHelp},
			{Fix: "multi_gpu", Fit: cause.LastResort},
		},
		cause.BatchTooLarge: {
			{Fix: "lower_resolution", Fit: cause.Foremost, If: when.Root(fact.ORTAlloc)},
			{Fix: "lower_batch_size", Fit: cause.Cures, If: when.Not(oneInBatch)},
			{Fix: "lower_resolution", Fit: cause.MayHelp, If: when.Not(onTPU)},
			{Fix: "gradient_checkpointing", Fit: cause.MayHelp, If: (*ledger.Case).Training},
			{Fix: "mixed_precision", Fit: cause.LastResort, If: (*ledger.Case).Training},
			{Fix: "lower_context", Fit: cause.LastResort, If: when.Not(when.Any((*ledger.Case).Training, when.Root(fact.CuPyAlloc, fact.NumbaAlloc, fact.RMMAlloc)))},
		},
		cause.TrainingStateTooLarge: {
			{Fix: "use_smaller_model", Fit: cause.Cures},
			{Fix: "kill_stale_process", Fit: cause.Helps},
			{Fix: "mixed_precision", Fit: cause.MayHelp},
		},
		cause.ContextTooLong: {
			{Fix: "lower_context", Fit: cause.Cures},
			{Fix: "efficient_attention", Fit: cause.Helps},
			{Fix: "lower_batch_size", Fit: cause.LastResort},
		},
		cause.RetainedMemory: {
			{Fix: "restart_session", Fit: cause.Cures},
			{Fix: "empty_cache", Fit: cause.Helps},
			{Fix: "lower_batch_size", Fit: cause.LastResort},
		},
		cause.Fragmentation: {{Fix: "tf_cuda_malloc_async", Fit: cause.Cures}, {Fix: "lower_batch_size", Fit: cause.MayHelp}, {Fix: "restart_session", Fit: cause.LastResort}},
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

// TorchXLA is PyTorch on TPUs.
var TorchXLA = local.TorchXLA

// Candle is candle.
var Candle = program.Program{
	Name: "candle", Shown: "Candle", Rank: 56,
	Work: "text-inference", Edits: "code", Language: "rust", Script: "candle",
	Like:  []*program.Program{&Frameworks},
	Cards: local.CandleCards,
}

// imageLike: an array of pixels, or a network that as a rule gets one.
func imageLike(c *ledger.Case) bool {
	return c.Root(fact.ORTAlloc) && ledger.Requested(c) < cause.Unusual || c.Signal("pictures") != nil
}

// allTheData: what was too large is a whole data set.
func allTheData(c *ledger.Case) bool {
	return c.Root(fact.NumpyAlloc) && !imageLike(c) || c.Signal("eager_constant") != nil
}
