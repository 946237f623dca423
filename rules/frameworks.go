package rules

import (
	"fmt"

	"github.com/oomdoc/oomdoc/parsers/fact"

	"github.com/oomdoc/oomdoc/internal/units"
)

// frameworksEngine is what is peculiar to frameworks beside PyTorch, and to
// programs that have no name of their own in a report ("other").
var frameworksEngine = Engine{
	Programs: []string{"jax", "tensorflow", "cupy", "onnxruntime", "mlx", "candle", "numpy", "triton-server", "other"},
	Clues: map[string][]Clue{
		HostMemory:          {hostArray, hostAllocator, arenaHost, tensorInRAM, plainHost},
		OversizedAllocation: {arrayTooLarge, arenaTooLarge, xlaTooLarge, mostOfPool, wholeDataset, mlxBufferTooLarge, bufferLimit, said(0.3, "Thrust asked for one working buffer that the card does not have.", fact.RMMAlloc)},
		BatchTooLarge: {
			poolFull, arenaBatch, xlaProgram, tpuTraining, rustForward, plainWork,
			said(0.42, "The pool of this process was asked for one more piece by a step's work.", fact.NumbaAlloc, fact.WGPUBuffer),
		},
		ContextTooLong: {tpuAttention, said(0.35, "The prompt decides how much is computed at once.", fact.MetalMemory, fact.MLXBuffer)},
		ModelTooLarge: {
			tpuInference,
			saidIn("load", 0.75, "It failed while weights were copied to the card.", fact.RustDriver),
			saidIn("unknown", 0.35, "The weights may be too large for the card: candle loads 32 bit unless told otherwise.", fact.RustDriver),
			saidIn("load", 0.6, "The card was full while the model was being loaded.", fact.DeviceAlloc, fact.ORTAlloc),
			plainLoad,
			said(0.4, "The Mac's memory is used up by the model and what it computes.", fact.MetalMemory, fact.MLXAlloc),
			said(0.65, "It died right after the weights were loaded: they fill the card.", fact.TinygradAlloc),
		},
		TrainingStateTooLarge: {optimizerSlots},
		LeakedProcess: {
			cardTakenAtStart, xlaTinyRequest,
			said(0.45, "RMM asks the driver directly: the card was full, and this library's pool need not be what fills it.", fact.RMMAlloc),
			said(0.4, "The copy to the card failed: it is full, often with another process or an earlier session.", fact.TFCopy),
			said(0.45, "Not even a handle could be made: the card is full, often with another process.", fact.TFHandle),
		},
		RetainedMemory: {said(0.28, "In notebooks earlier frames stay on the card.", fact.RMMAlloc, fact.CuPyAlloc, fact.TFCopy)},
		BudgetMisconfigured: {
			poolLimit,
			said(0.25, "The framework takes nearly the whole card at its start, more than is free.", fact.TFStart),
			ncclOutsidePool,
		},
		Fragmentation: {bfcFragmented},
		SoftwareBug: {
			arenaAbsurd,
			said(0.55, "This is a limit of the library's own memory pools; the card may be free.", fact.BurnPool),
			said(0.2, "Versions of this library leak.", fact.NumbaAlloc),
		},
		Unknown: {thrustAlone, plainUnknown,
			saidIn("unknown", 0.5, "This is the driver's bare answer: neither how much was wanted nor what holds the card.", fact.RustDriver),
			said(0.15, "The message has no figures.", fact.BadAlloc, fact.PythonMemory, fact.TFHandle, fact.RustDriver)},
	},
	Remedies: map[string][]Remedy{
		HostMemory: hostRemedies,
		LeakedProcess: {
			{Fix: "kill_stale_process", Fit: 1},
			{Fix: "select_gpu", Fit: 0.8},
			{Fix: "restart_session", Fit: 0.6},
			{Fix: "limit_framework_preallocation", Fit: 0.7, If: preallocates},
			{Fix: "close_other_apps", Fit: 0.5},
		},
		BudgetMisconfigured: {
			{Fix: "limit_framework_preallocation", Fit: 0.9, If: preallocates},
			{Fix: "lower_gpu_memory_utilization", Fit: 0.95, If: rootIs(fact.NCCLAlloc)},
			{Fix: "lower_batch_size", Fit: 0.6, If: not(rootIs(fact.NCCLAlloc))},
			{Fix: "use_lower_quant", Fit: 0.6, If: rootIs(fact.NCCLAlloc)},
			{Fix: "raise_memory_limit", Fit: 0.7, If: func(c *Case) bool { return c.F().Limit != nil }},
		},
		OversizedAllocation: {
			{Fix: "lower_resolution", Fit: 1, If: imageLike},
			{Fix: "stream_dataset", Fit: 0.95, If: func(c *Case) bool { return c.Root(fact.NumpyAlloc) && !imageLike(c) }},
			{Fix: "stream_dataset", Fit: 1.1, If: func(c *Case) bool { return c.Signal("eager_constant") != nil }},
			{Fix: "fix_shape", Fit: 1.1, If: func(c *Case) bool { return c.Root(fact.ORTAlloc) && requested(c) >= unusual }},
			{Fix: "fix_shape", Fit: 0.9, If: func(c *Case) bool { return !c.Root(fact.ORTAlloc) || requested(c) < unusual }},
			{Fix: "lower_batch_size", Fit: 0.8, If: func(c *Case) bool { return !c.Root(fact.NumpyAlloc) && c.Signal("eager_constant") == nil }},
			{Fix: "lower_context", Fit: 0.75, If: rootIs(fact.MLXBuffer, fact.XLAAlloc)},
			{Fix: "half_precision", Fit: 0.4, If: not(rootIs(fact.NumpyAlloc))},
		},
		SoftwareBug: {
			{Fix: "upgrade_version", Fit: 1},
			{Fix: "fix_shape", Fit: 0.7, If: rootIs(fact.ORTAlloc)},
			{Fix: "lower_batch_size", Fit: 0.6, If: not(rootIs(fact.ORTAlloc))},
		},
		ModelTooLarge: {
			{Fix: "multi_gpu", Fit: 1.2, If: onTPU},
			{Fix: "shard_training", Fit: 1, If: onTPU},
			{Fix: "lower_batch_size", Fit: 1, If: rootIs(fact.TRTEngine)}, // the profile that the engine is built for
			{Fix: "kill_stale_process", Fit: 0.95, If: rootIs(fact.TRTEngine)},
			{Fix: "use_lower_quant", Fit: 0.97, If: not(either(onTPU, rootIs(fact.TRTEngine)))},
			{Fix: "use_smaller_model", Fit: 0.9},
			{Fix: "half_precision", Fit: 0.88, If: not(onTPU)},
			{Fix: "lower_context", Fit: 0.7, If: not(rootIs(fact.TRTEngine))},
			{Fix: "multi_gpu", Fit: 0.5, If: not(onTPU)},
		},
		BatchTooLarge: {
			{Fix: "lower_resolution", Fit: 1.05, If: rootIs(fact.ORTAlloc)},
			{Fix: "lower_batch_size", Fit: 1},
			{Fix: "lower_resolution", Fit: 0.7, If: func(c *Case) bool { return !onTPU(c) && !c.Root(fact.ORTAlloc) }},
			{Fix: "gradient_checkpointing", Fit: 0.6, If: (*Case).Training},
			{Fix: "mixed_precision", Fit: 0.55, If: (*Case).Training},
			{Fix: "shard_training", Fit: 0.4, If: (*Case).Training},
			{Fix: "lower_context", Fit: 0.5, If: func(c *Case) bool {
				return !c.Training() && !c.Root(fact.CuPyAlloc, fact.NumbaAlloc, fact.RMMAlloc, fact.TRTEngine)
			}},
		},
		TrainingStateTooLarge: {
			{Fix: "use_smaller_model", Fit: 1},
			{Fix: "kill_stale_process", Fit: 0.85},
			{Fix: "restart_session", Fit: 0.8},
			{Fix: "mixed_precision", Fit: 0.6},
			{Fix: "multi_gpu", Fit: 0.5},
		},
		ContextTooLong: {
			{Fix: "lower_context", Fit: 1},
			{Fix: "efficient_attention", Fit: 0.9},
			{Fix: "gradient_checkpointing", Fit: 0.6, If: (*Case).Training},
			{Fix: "shard_training", Fit: 0.5, If: (*Case).Training},
			{Fix: "lower_batch_size", Fit: 0.5},
		},
		RetainedMemory: {
			{Fix: "restart_session", Fit: 1},
			{Fix: "empty_cache", Fit: 0.8},
			{Fix: "lower_batch_size", Fit: 0.5},
		},
		Fragmentation: {{Fix: "tf_cuda_malloc_async", Fit: 1}, {Fix: "lower_batch_size", Fit: 0.7}, {Fix: "restart_session", Fit: 0.4}},
	},
	Steps:   map[string]func(*Case) []Step{"lower_gpu_memory_utilization": stepsRoomForNCCL, "raise_memory_limit": stepsPoolLimit},
	Effects: map[string]func(*Case) *Effect{"raise_memory_limit": effectPoolLimit},
	Useless: map[string]func(*Case) string{"expandable_segments": notPyTorch},
}

func onTPU(c *Case) bool { return c.Backend == "tpu" }

func preallocates(c *Case) bool { return c.In("jax", "tensorflow") && !onTPU(c) }

func notPyTorch(c *Case) string {
	if c.In("pytorch") || !onCard(c) {
		return ""
	}
	return "It is an option of PyTorch's allocator; this memory was asked for by another."
}

// large is where one array stops being work and becomes a wrong shape or too
// much at once.
const large = 24 * units.GiB

// hostArray: numpy was refused system memory.
func hostArray(c *Case) Finding {
	req := c.F().Requested
	if !c.Root(fact.NumpyAlloc) || req == nil {
		if c.Root(fact.NumpyAlloc) {
			return seen(0.85, "numpy was refused system memory.", c.Failure.Line)
		}
		return nothing()
	}
	if req.Bytes >= large {
		return seen(0.22, fmt.Sprintf("%s of system memory was refused.", req.Text), c.Failure.Line)
	}
	return seen(0.9, fmt.Sprintf("numpy was refused %s of the computer's own memory; the smaller the request, the fuller it was before.", req.Text), c.Failure.Line)
}

func arrayTooLarge(c *Case) Finding {
	req := c.F().Requested
	if !c.Root(fact.NumpyAlloc, fact.RustAlloc) || req == nil || req.Bytes < large {
		return nothing()
	}
	why := fmt.Sprintf("One array of %s.", req.Text)
	if s, ok := c.Fact("array_shape"); ok && s.Text != "" {
		why = fmt.Sprintf("One array of %s, of shape %s: a shape that grew wrong, or all the data at once.", req.Text, s.Text)
	}
	return seen(0.78, why, c.Failure.Line)
}

func hostAllocator(c *Case) Finding {
	if !c.Root(fact.BadAlloc, fact.PythonMemory, fact.RustAlloc, fact.NativeAlloc) {
		return nothing()
	}
	if req := c.F().Requested; req != nil && req.Bytes >= large {
		return seen(0.2, fmt.Sprintf("%s of system memory was refused.", req.Text), c.Failure.Line)
	}
	if req := c.F().Requested; req != nil {
		return seen(0.88, fmt.Sprintf("%s of the computer's own memory was refused; that is the last piece asked for, not the whole need.", units.Format(req.Bytes)), c.Failure.Line)
	}
	return seen(0.83, "The program was refused the computer's own memory. The message never says how much; growing arrays double, so two thirds in use can be too much.", c.Failure.Line)
}

// Bounds of what ONNX Runtime's request can mean.
const (
	absurd  = int64(1) << 50
	unusual = 64 * units.GiB
	crumb   = 64 * units.MiB
)

func arenaHost(c *Case) Finding {
	req := c.F().Requested
	if !c.Root(fact.ORTAlloc) || req == nil || req.Bytes >= unusual {
		return nothing()
	}
	switch {
	case c.Backend == "cpu":
		return seen(0.75, fmt.Sprintf("ONNX Runtime runs on the processor here and was refused %s of the computer's memory.", req.Text), c.Failure.Line)
	case req.Bytes < crumb && c.Backend == "":
		return seen(0.5, fmt.Sprintf("Only %s was asked for: what is full was full before. Each session and each thread keeps an arena that never shrinks.", req.Text), c.Failure.Line)
	}
	return seen(0.2, "The arena has the same name in the computer's memory and on the card.", c.Failure.Line)
}

func arenaTooLarge(c *Case) Finding {
	req := c.F().Requested
	if !c.Root(fact.ORTAlloc) || req == nil || req.Bytes < 8*units.GiB || req.Bytes >= absurd {
		return nothing()
	}
	if req.Bytes >= unusual {
		return seen(0.88, fmt.Sprintf("One buffer of %s: a dimension of the input is wrong.", units.Format(req.Bytes)), c.Failure.Line)
	}
	return seen(0.25, fmt.Sprintf("One buffer of %s.", units.Format(req.Bytes)), c.Failure.Line)
}

// mlxBufferTooLarge: MLX prints what was asked for, unless it is no size.
func mlxBufferTooLarge(c *Case) Finding {
	if !c.Root(fact.MLXBuffer) || c.F().Requested == nil {
		return nothing()
	}
	return seen(0.6, "One Metal buffer above the largest that Metal gives; how much is free plays no part.", c.Failure.Line)
}

// bufferLimit: OpenCL devices give a quarter of their memory, or 4 GiB, in one
// piece.
func bufferLimit(c *Case) Finding {
	if r := c.F().Requested; !c.Root(fact.BufferLimit) || r != nil && r.Bytes >= absurd {
		return nothing()
	}
	return seen(0.75, "One buffer above the largest that this device gives in one piece; how much is free plays no part.", c.Failure.Line)
}

func arenaAbsurd(c *Case) Finding {
	if c.Root(fact.MLXBuffer) && c.F().Requested == nil {
		return seen(0.85, "The size that was asked for is next to 2 to the 64th bytes: a negative number that was read as a positive one.", c.Failure.Line)
	}
	if req := c.F().Requested; c.Root(fact.ORTAlloc, fact.NativeAlloc, fact.DeviceAlloc, fact.BufferLimit) && req != nil && req.Bytes >= absurd {
		return seen(0.85, fmt.Sprintf("%s bytes is no size at all: a number was read as a size that is none.", req.Text), c.Failure.Line)
	}
	return nothing()
}

func arenaBatch(c *Case) Finding {
	req := c.F().Requested
	if !c.Root(fact.ORTAlloc, fact.ORTLimit, fact.ORTDevice) || req != nil && req.Bytes >= unusual {
		return nothing()
	}
	if c.Phase == "load" {
		return seen(0.15, "Batch and input size decide the rest of what the arena holds.", c.Failure.Line)
	}
	if req != nil && req.Bytes < crumb {
		return seen(0.3, "Batch and input size decide what the arena holds.", c.Failure.Line)
	}
	return seen(0.55, "The buffer of one node: batch and input size decide it.", c.Failure.Line)
}

// poolLimit: a limit of the pool was set and reached.
func poolLimit(c *Case) Finding {
	if !c.Root(fact.CuPyAlloc, fact.ORTLimit) || c.Root(fact.CuPyAlloc) && c.F().Limit == nil {
		return nothing()
	}
	return seen(0.75, "The pool has a limit of its own, and that is what was reached.", c.Failure.Line)
}

// tpuProgramAt is what XLA's compiler would count on a TPU with 1/by of the
// batch, nil if that is not enough or it does not say what of the total is the
// program's own.
func tpuProgramAt(c *Case, by int) *Effect {
	f := c.F()
	program, ok := c.Fact("tpu_program")
	if !ok || program.Size == nil || !c.Root(fact.TPUCompile) || f.Desired == nil || f.Limit == nil || program.Size.Bytes > f.Desired.Bytes {
		return nil
	}
	need := f.Desired.Bytes - program.Size.Bytes + ceilDiv(program.Size.Bytes, int64(by))
	if need > f.Limit.Bytes {
		return nil
	}
	return &Effect{NeedBytes: need, HaveBytes: f.Limit.Bytes, Fits: true, Basis: "log", Certainty: condition,
		Note: fmt.Sprintf("The program takes %s of the %s, weights and inputs the rest; with 1/%d of the batch, if the program shrinks with it, %s.", units.Format(program.Size.Bytes), units.Format(f.Desired.Bytes), by, units.Format(need))}
}

// poolNeed is what a pool with a limit of its own would have to hold for the
// request that it refused, and that in GiB with a tenth to spare.
func poolNeed(c *Case) (need, gib int64, ok bool) {
	f := c.F()
	if !c.Root(fact.CuPyAlloc) || f.Limit == nil || f.Allocated == nil || f.Requested == nil {
		return 0, 0, false
	}
	need = f.Allocated.Bytes + f.Requested.Bytes
	return need, ceilDiv(need+need/10, units.GiB), true
}

func stepsPoolLimit(c *Case) []Step {
	if _, gib, ok := poolNeed(c); ok {
		return []Step{{Kind: "python", Text: fmt.Sprintf("cupy.get_default_memory_pool().set_limit(size=%d * 2**30)   # or the variable CUPY_GPU_MEMORY_LIMIT, in bytes", gib)}}
	}
	if c.Root(fact.ORTLimit) {
		return []Step{{Kind: "python", Text: `providers = [("CUDAExecutionProvider", {"gpu_mem_limit": 6 * 2**30})]   # raise or leave out; then InferenceSession(path, providers=providers)`}}
	}
	return stepsHostLimit(c)
}

func effectPoolLimit(c *Case) *Effect {
	need, gib, ok := poolNeed(c)
	if !ok {
		return effectHostLimit(c)
	}
	return &Effect{NeedBytes: need, HaveBytes: gib * units.GiB, Fits: true, Basis: "log", Certainty: bound,
		Note: fmt.Sprintf("%s in the pool + %s wanted, against a limit of %s now; %d GiB leaves a tenth. If the card has that much.", units.Format(c.F().Allocated.Bytes), units.Format(c.F().Requested.Bytes), units.Format(c.F().Limit.Bytes), gib)}
}

// ncclOutsidePool: NCCL's buffers are not part of the framework's pool.
func ncclOutsidePool(c *Case) Finding {
	if !c.Root(fact.NCCLAlloc) || c.In("pytorch") {
		return nothing()
	}
	if c.Signal("nccl_setup") != nil { // the run only begins
		return seen(0.3, "NCCL needs 0.2 to 2 GB of its own, and the card had less left.", c.Failure.Line)
	}
	return seen(0.7, "NCCL needs 0.2 to 2 GB of its own beside the program's pool, and the pool left less.", c.Failure.Line)
}

// poolFull: this process's pool is full with a step's work.
func poolFull(c *Case) Finding {
	switch {
	case c.Root(fact.TFAlloc) && bfcFragmented(c).Weight > 0:
		return seen(0.25, "A smaller batch also needs smaller pieces.", c.Failure.Line)
	case c.Root(fact.TFAlloc) && mostOfPool(c).Weight > 0:
		return seen(0.3, "A smaller batch makes this tensor smaller, too.", c.Failure.Line)
	case c.Root(fact.TFAlloc) && wholeDataset(c).Weight > 0:
		return nothing() // it is all of the data, whatever the batch
	case c.Root(fact.TFAlloc) && c.Backend != "cpu":
		return seen(0.72, "TensorFlow's pool was full in the middle of a step: what one batch needs does not fit.", c.Failure.Line)
	case c.Root(fact.DeviceAlloc) && c.Phase != "load":
		return seen(0.5, "The card was full in the middle of a step.", c.Failure.Line)
	case c.Root(fact.CuPyAlloc):
		return seen(0.62, "CuPy's pool was full in the middle of a step. 'total' in its message is its own pool, not the card.", c.Failure.Line)
	case c.Root(fact.TFCopy):
		return seen(0.38, "A tensor could not be copied to the card because it is full.", c.Failure.Line)
	}
	return nothing()
}

func tensorInRAM(c *Case) Finding {
	if !c.Root(fact.TFAlloc) || c.Backend != "cpu" {
		return nothing()
	}
	return seen(0.85, "The allocator named is the one of the computer's own memory.", c.Failure.Line)
}

// bfcFragmented: the dump shows more free than was asked for.
func bfcFragmented(c *Case) Finding {
	f := c.F()
	if !c.Root(fact.TFAlloc) || f.Limit == nil || f.Allocated == nil || f.Requested == nil {
		return nothing()
	}
	if free := f.Limit.Bytes - f.Allocated.Bytes; free > f.Requested.Bytes {
		return seen(0.8, fmt.Sprintf("%s of the pool was not in use and %s was refused: free, but not in one piece.", units.Format(free), f.Requested.Text), c.Failure.Line)
	}
	return nothing()
}

// mostOfPool: one tensor as large as half of all that TensorFlow may take.
func mostOfPool(c *Case) Finding {
	f := c.F()
	if !c.Root(fact.TFAlloc) || f.Requested == nil || f.Limit == nil || f.Requested.Bytes*2 < f.Limit.Bytes {
		return nothing()
	}
	return seen(0.78, fmt.Sprintf("One tensor of %s, of %s that the pool has in all.", units.Format(f.Requested.Bytes), units.Format(f.Limit.Bytes)), c.Failure.Line)
}

// wholeDataset: arrays that are handed to fit become one constant on the card.
func wholeDataset(c *Case) Finding {
	s := c.Signal("eager_constant")
	f := c.F()
	if s == nil || f.Requested == nil || f.Requested.Bytes < units.GiB {
		return nothing()
	}
	return seen(0.78, fmt.Sprintf("%s was copied to the card as one constant: all the data, not one batch.", units.Format(f.Requested.Bytes)), s.Line, c.Failure.Line)
}

// optimizerSlots: the op that failed is the optimizer's own.
func optimizerSlots(c *Case) Finding {
	s := c.Signal("optimizer_node")
	if s == nil || !c.Root(fact.TFAlloc) {
		return nothing()
	}
	return seen(0.78, "The op that failed is the optimizer's own: its slots are as large as the weights, whatever the batch.", s.Line, c.Failure.Line)
}

// cardTakenAtStart: the framework could not take its pool, or not even make a
// context, before any work.
func cardTakenAtStart(c *Case) Finding {
	switch {
	case c.Root(fact.TFContext):
		return seen(0.8, "Not even a context could be made: the card was full before this program began.", c.Failure.Line)
	case c.Root(fact.TFStart):
		return seen(0.6, "TensorFlow could not take its pool at the start: something else holds the card.", c.Failure.Line)
	}
	return nothing()
}

func xlaTinyRequest(c *Case) Finding {
	req := c.F().Requested
	if !c.Root(fact.XLAAlloc) || req == nil || req.Bytes >= crumb {
		return nothing()
	}
	return seen(0.5, fmt.Sprintf("Only %s was asked for: the card was full before, with another process or with this one's pool (JAX takes 75 %% at its start).", req.Text), c.Failure.Line)
}

// xlaProgram: the request is the scratch arena of a whole program.
func xlaProgram(c *Case) Finding {
	f := c.F()
	if !c.Root(fact.XLAAlloc) || f.Requested != nil && f.Requested.Bytes < crumb {
		return nothing()
	}
	if f.Desired != nil && f.Weights != nil {
		return seen(0.62, fmt.Sprintf("The program needs %s in all, of which %s are its inputs and weights: the rest grows with batch and length.", f.Desired.Text, f.Weights.Text), c.Failure.Line)
	}
	return seen(0.6, "XLA asks for all the scratch memory of a program at once: it grows with batch and length.", c.Failure.Line)
}

func xlaTooLarge(c *Case) Finding {
	req := c.F().Requested
	if !c.Root(fact.XLAAlloc) || req == nil || req.Bytes < 100*units.GiB {
		return nothing()
	}
	return seen(0.4, fmt.Sprintf("%s at once is more than any card has.", units.Format(req.Bytes)), c.Failure.Line)
}

func tpuTraining(c *Case) Finding {
	if !c.Root(fact.TPUCompile, fact.TPUReserve) {
		return nothing()
	}
	if c.Phase == "inference" || c.Phase == "load" {
		return seen(0.2, "Batch size is part of what the compiled program needs.", c.Failure.Line)
	}
	return seen(0.55, tpuNeeds(c)+" Activations of the batch are most of it as a rule.", c.Failure.Line)
}

func tpuInference(c *Case) Finding {
	if !c.Root(fact.TPUCompile) {
		return nothing()
	}
	if c.Phase == "inference" || c.Phase == "load" {
		return seen(0.55, tpuNeeds(c), c.Failure.Line)
	}
	return seen(0.2, tpuNeeds(c), c.Failure.Line)
}

// tpuAttention: the largest buffer has two equal long sides, queries by keys.
func tpuAttention(c *Case) Finding {
	if !c.Root(fact.TPUCompile, fact.XLAAlloc) {
		return nothing()
	}
	if s, ok := c.Fact("xla_square"); ok {
		return seen(0.75, fmt.Sprintf("The largest buffer is %s: an attention matrix, which grows with the square of the length.", s.Text), s.Line, c.Failure.Line)
	}
	if c.Root(fact.TPUCompile) && c.Phase == "inference" {
		return seen(0.3, "The length of the prompt is part of what the compiled program needs.", c.Failure.Line)
	}
	return nothing()
}

func tpuNeeds(c *Case) string {
	f := c.F()
	if f.Desired == nil || f.Total == nil {
		return "The compiled program does not fit the chip."
	}
	return fmt.Sprintf("The compiled program needs %s and the chip has %s.", units.Format(f.Desired.Bytes), units.Format(f.Total.Bytes))
}

func rustForward(c *Case) Finding {
	switch {
	case c.Root(fact.BurnPool):
		return seen(0.35, "A smaller batch asks for smaller pieces.", c.Failure.Line)
	case c.Root(fact.RustDriver) && c.Phase != "load" && c.Phase != "inference":
		return seen(0.3, "The work of one step may be what filled the card; the line says neither when nor how much.", c.Failure.Line)
	case c.Root(fact.RustDriver) && c.Phase != "load":
		return seen(0.55, "It failed while computing: the card is full with weights and the work of a step.", c.Failure.Line)
	}
	return nothing()
}

// thrustAlone: one line, no figures, no program.
func thrustAlone(c *Case) Finding {
	if !c.Root(fact.RMMAlloc) || c.Framework != "other" {
		return nothing()
	}
	return seen(0.5, "A CUDA library asked for a working buffer and did not get it; the line says neither how much nor what is held.", c.Failure.Line)
}

// imageLike: an array of pixels, or a network that as a rule gets one.
func imageLike(c *Case) bool {
	if c.Root(fact.ORTAlloc) {
		return true
	}
	return c.Signal("pictures") != nil
}

// stepsRoomForNCCL also makes NCCL's own buffers smaller.
func stepsRoomForNCCL(c *Case) []Step {
	return append(fixesByID()["lower_gpu_memory_utilization"].Steps(c), environ(c, "NCCL_BUFFSIZE", "1048576"))
}
