// Package array knows the other libraries that compute on arrays: JAX,
// TensorFlow, CuPy, ONNX Runtime, MLX, NumPy.
package array

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Frameworks is what is peculiar to frameworks beside PyTorch, and to
// programs that have no name of their own in a report ("other").
var Frameworks = program.Program{
	Clues: map[string][]cause.Clue{
		cause.HostMemory:          {hostArray, hostAllocator, arenaHost, tensorInRAM, plainHost},
		cause.OversizedAllocation: {arrayTooLarge, arenaTooLarge, xlaTooLarge, mostOfPool, wholeDataset, mlxBufferTooLarge, bufferLimit, cause.Said(0.3, "Thrust asked for one working buffer that the card does not have.", fact.RMMAlloc)},
		cause.BatchTooLarge: {
			poolFull, arenaBatch, xlaProgram, tpuTraining, rustForward, plainWork,
			cause.Said(0.42, "The pool of this process was asked for one more piece by a step's work.", fact.NumbaAlloc, fact.WGPUBuffer),
		},
		cause.ContextTooLong: {tpuAttention, cause.Said(0.35, "The prompt decides how much is computed at once.", fact.MetalMemory, fact.MLXBuffer)},
		cause.ModelTooLarge: {
			tpuInference,
			cause.SaidIn("load", 0.75, "It failed while weights were copied to the card.", fact.RustDriver),
			cause.SaidIn("unknown", 0.35, "The weights may be too large for the card: candle loads 32 bit unless told otherwise.", fact.RustDriver),
			cause.SaidIn("load", 0.6, "The card was full while the model was being loaded.", fact.DeviceAlloc, fact.ORTAlloc),
			plainLoad,
			cause.Said(0.4, "The Mac's memory is used up by the model and what it computes.", fact.MetalMemory, fact.MLXAlloc),
			cause.Said(0.65, "It died right after the weights were loaded: they fill the card.", fact.TinygradAlloc),
		},
		cause.TrainingStateTooLarge: {optimizerSlots},
		cause.LeakedProcess: {
			cardTakenAtStart, xlaTinyRequest,
			cause.Said(0.45, "RMM asks the driver directly: the card was full, and this library's pool need not be what fills it.", fact.RMMAlloc),
			cause.Said(0.4, "The copy to the card failed: it is full, often with another process or an earlier session.", fact.TFCopy),
			cause.Said(0.45, "Not even a handle could be made: the card is full, often with another process.", fact.TFHandle),
		},
		cause.RetainedMemory: {cause.Said(0.28, "In notebooks earlier frames stay on the card.", fact.RMMAlloc, fact.CuPyAlloc, fact.TFCopy)},
		cause.BudgetMisconfigured: {
			poolLimit,
			cause.Said(0.25, "The framework takes nearly the whole card at its start, more than is free.", fact.TFStart),
			ncclOutsidePool,
		},
		cause.Fragmentation: {bfcFragmented},
		cause.SoftwareBug: {
			arenaAbsurd,
			cause.Said(0.55, "This is a limit of the library's own memory pools; the card may be free.", fact.BurnPool),
			cause.Said(0.2, "Versions of this library leak.", fact.NumbaAlloc),
		},
		cause.Unknown: {thrustAlone, plainUnknown,
			cause.SaidIn("unknown", 0.5, "This is the driver's bare answer: neither how much was wanted nor what holds the card.", fact.RustDriver),
			cause.Said(0.15, "The message has no figures.", fact.BadAlloc, fact.PythonMemory, fact.TFHandle, fact.RustDriver)},
	},
	Remedies: map[string][]cause.Remedy{
		cause.HostMemory: cause.HostRemedies,
		cause.LeakedProcess: {
			{Fix: "kill_stale_process", Fit: 1},
			{Fix: "select_gpu", Fit: 0.8},
			{Fix: "restart_session", Fit: 0.6},
			{Fix: "limit_framework_preallocation", Fit: 0.7, If: preallocates},
			{Fix: "close_other_apps", Fit: 0.5},
		},
		cause.BudgetMisconfigured: {
			{Fix: "limit_framework_preallocation", Fit: 0.9, If: preallocates},
			{Fix: "lower_gpu_memory_utilization", Fit: 0.95, If: when.Root(fact.NCCLAlloc)},
			{Fix: "lower_batch_size", Fit: 0.6, If: when.Not(when.Root(fact.NCCLAlloc))},
			{Fix: "use_lower_quant", Fit: 0.6, If: when.Root(fact.NCCLAlloc)},
			{Fix: "raise_memory_limit", Fit: 0.7, If: func(c *ledger.Case) bool { return c.F().Limit != nil }},
		},
		cause.OversizedAllocation: {
			{Fix: "lower_resolution", Fit: 1, If: imageLike},
			{Fix: "stream_dataset", Fit: 0.95, If: func(c *ledger.Case) bool { return c.Root(fact.NumpyAlloc) && !imageLike(c) }},
			{Fix: "stream_dataset", Fit: 1.1, If: func(c *ledger.Case) bool { return c.Signal("eager_constant") != nil }},
			{Fix: "fix_shape", Fit: 1.1, If: func(c *ledger.Case) bool { return c.Root(fact.ORTAlloc) && ledger.Requested(c) >= cause.Unusual }},
			{Fix: "fix_shape", Fit: 0.9, If: func(c *ledger.Case) bool { return !c.Root(fact.ORTAlloc) || ledger.Requested(c) < cause.Unusual }},
			{Fix: "lower_batch_size", Fit: 0.8, If: func(c *ledger.Case) bool { return !c.Root(fact.NumpyAlloc) && c.Signal("eager_constant") == nil }},
			{Fix: "lower_context", Fit: 0.75, If: when.Root(fact.MLXBuffer, fact.XLAAlloc)},
			{Fix: "half_precision", Fit: 0.4, If: when.Not(when.Root(fact.NumpyAlloc))},
		},
		cause.SoftwareBug: {
			{Fix: "upgrade_version", Fit: 1},
			{Fix: "fix_shape", Fit: 0.7, If: when.Root(fact.ORTAlloc)},
			{Fix: "lower_batch_size", Fit: 0.6, If: when.Not(when.Root(fact.ORTAlloc))},
		},
		cause.ModelTooLarge: {
			{Fix: "multi_gpu", Fit: 1.2, If: onTPU},
			{Fix: "shard_training", Fit: 1, If: onTPU},
			{Fix: "lower_batch_size", Fit: 1, If: when.Root(fact.TRTEngine)}, // the profile that the engine is built for
			{Fix: "kill_stale_process", Fit: 0.95, If: when.Root(fact.TRTEngine)},
			{Fix: "use_lower_quant", Fit: 0.97, If: when.Not(when.Any(onTPU, when.Root(fact.TRTEngine)))},
			{Fix: "use_smaller_model", Fit: 0.9},
			{Fix: "half_precision", Fit: 0.88, If: when.Not(onTPU)},
			{Fix: "lower_context", Fit: 0.7, If: when.Not(when.Root(fact.TRTEngine))},
			{Fix: "multi_gpu", Fit: 0.5, If: when.Not(onTPU)},
		},
		cause.BatchTooLarge: {
			{Fix: "lower_resolution", Fit: 1.05, If: when.Root(fact.ORTAlloc)},
			{Fix: "lower_batch_size", Fit: 1},
			{Fix: "lower_resolution", Fit: 0.7, If: func(c *ledger.Case) bool { return !onTPU(c) && !c.Root(fact.ORTAlloc) }},
			{Fix: "gradient_checkpointing", Fit: 0.6, If: (*ledger.Case).Training},
			{Fix: "mixed_precision", Fit: 0.55, If: (*ledger.Case).Training},
			{Fix: "shard_training", Fit: 0.4, If: (*ledger.Case).Training},
			{Fix: "lower_context", Fit: 0.5, If: func(c *ledger.Case) bool {
				return !c.Training() && !c.Root(fact.CuPyAlloc, fact.NumbaAlloc, fact.RMMAlloc, fact.TRTEngine)
			}},
		},
		cause.TrainingStateTooLarge: {
			{Fix: "use_smaller_model", Fit: 1},
			{Fix: "kill_stale_process", Fit: 0.85},
			{Fix: "restart_session", Fit: 0.8},
			{Fix: "mixed_precision", Fit: 0.6},
			{Fix: "multi_gpu", Fit: 0.5},
		},
		cause.ContextTooLong: {
			{Fix: "lower_context", Fit: 1},
			{Fix: "efficient_attention", Fit: 0.9},
			{Fix: "gradient_checkpointing", Fit: 0.6, If: (*ledger.Case).Training},
			{Fix: "shard_training", Fit: 0.5, If: (*ledger.Case).Training},
			{Fix: "lower_batch_size", Fit: 0.5},
		},
		cause.RetainedMemory: {
			{Fix: "restart_session", Fit: 1},
			{Fix: "empty_cache", Fit: 0.8},
			{Fix: "lower_batch_size", Fit: 0.5},
		},
		cause.Fragmentation: {{Fix: "tf_cuda_malloc_async", Fit: 1}, {Fix: "lower_batch_size", Fit: 0.7}, {Fix: "restart_session", Fit: 0.4}},
	},
	Steps:   map[string]func(*ledger.Case) []step.Step{"lower_gpu_memory_utilization": stepsRoomForNCCL, "raise_memory_limit": stepsPoolLimit},
	Effects: map[string]func(*ledger.Case) *effect.Effect{"raise_memory_limit": effectPoolLimit},
	Useless: map[string]func(*ledger.Case) string{"expandable_segments": notPyTorch},
}

func preallocates(c *ledger.Case) bool { return c.In("jax", "tensorflow") && !onTPU(c) }

func notPyTorch(c *ledger.Case) string {
	if c.In("pytorch") || !ledger.OnCard(c) {
		return ""
	}
	return "It is an option of PyTorch's allocator; this memory was asked for by another."
}

// Candle is candle.
var Candle = program.Program{
	Name: "candle", Shown: "Candle", Rank: 56,
	Like: []*program.Program{&Frameworks},
}
