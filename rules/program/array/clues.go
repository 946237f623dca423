package array

import (
	"math"
	"slices"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
	"github.com/oomdoc/oomdoc/rules/when"
)

var clues = map[string][]cause.Clue{
	cause.HostMemory: {
		sized(0, 1, cause.Strong, "The program was refused system memory (RAM). The message never says how much.", inRAM...),
		sized(1, cause.Large, cause.Decisive, "{requested} of system memory (RAM) was refused, beside what the program held already.", inRAM...),
		sized(cause.Large, math.MaxInt64, cause.Hint, "{requested} of system memory was refused.", inRAM...),
		cause.Where(onCPU, cause.Said(cause.Strong, ofRAM, fact.TFAlloc)),
		cause.Where(onCPU, sized(0, cause.Unusual, cause.Strong, ofRAM, fact.ORTAlloc)),
		cause.Where(noBackend, sized(1, cause.Crumb, cause.Fair, "Only {requested} was asked for: memory was nearly full before. Each session keeps an arena that does not shrink.", fact.ORTAlloc)),
		sized(1, cause.Unusual, cause.Hint, "The arena has the same name in RAM and on the card.", fact.ORTAlloc),
		cause.Said(cause.Strong, "System memory (RAM) was refused, not the card's.", fact.PlainHost),
		cause.Said(cause.Weak, "The message does not say which memory it was: it can be RAM.", fact.PlainMemory),
	},
	cause.OversizedAllocation: {
		sized(cause.Large, math.MaxInt64, cause.Strong, "One array of {requested}: a wrong shape, or all the data at once.", fact.NumpyAlloc, fact.RustAlloc),
		sized(cause.Unusual, cause.Absurd, cause.Decisive, "One buffer of {requested}: probably a wrong dimension of the input.", fact.ORTAlloc),
		sized(100*units.GiB, math.MaxInt64, cause.Weak, "{requested} at once is more than any card has.", fact.XLAAlloc),
		// OpenCL devices give a quarter of their memory, or 4 GiB, in one piece.
		sized(0, cause.Absurd, cause.Strong, aboveLargest, fact.BufferLimit),
		sized(1, cause.Absurd, cause.Good, aboveLargest, fact.MLXBuffer),
		cause.Where(mostOfPool, cause.Said(cause.Strong, "One tensor of {requested}, of {limit} that the pool has in all.", fact.TFAlloc)),
		cause.Shown("eager_constant", cause.If(calls.WholeDataset, cause.Strong, "{requested} was copied to the card as one constant: an array as a whole, not one batch.")),
		cause.Said(cause.Weak, "Thrust asked for one working buffer that the card does not have.", fact.RMMAlloc),
	},
	cause.BatchTooLarge: {
		poolFull,
		cause.Where(when.Not(loading), cause.Said(cause.Fair, "The card was full in the middle of a step.", fact.DeviceAlloc)),
		cause.Said(cause.Good, "CuPy could not get more memory on the card. 'total' in its message is its own pool, not the card.", fact.CuPyAlloc),
		cause.Said(cause.Weak, "A tensor could not be copied to the card: the card is full.", fact.TFCopy),
		cause.Where(when.Not(loading), sized(cause.Crumb, cause.Unusual, cause.Good, "The buffer of one node: batch and input size decide it.", arenas...)),
		sized(0, cause.Unusual, cause.Hint, "Batch and input size decide how much the arena holds.", arenas...),
		sized(cause.Crumb, math.MaxInt64, cause.Good, "XLA asks for all the scratch memory of a program at once: it grows with batch and length.", fact.XLAAlloc),
		cause.Where(when.Not(serving), cause.Said(cause.Good, unfit+" Activations of the batch are usually most of it.", fact.TPUCompile, fact.TPUReserve)),
		cause.Said(cause.Hint, "Batch size is part of what the compiled program needs.", fact.TPUCompile, fact.TPUReserve),
		cause.Where(when.In("inference"), cause.Said(cause.Good, "It failed while computing: weights and activations fill the card.", fact.RustDriver)),
		cause.Where(when.Not(loading), cause.Said(cause.Weak, "The activations of one step may fill the card.", fact.RustDriver, fact.BurnPool)),
		cause.Where(when.Not(loading), cause.Said(cause.Hint, "The program may compute too much at once.", plain...)),
		cause.Where(working, cause.Said(cause.Fair, "It failed while computing: the batch or input size decides how much that needs.", plain...)),
		cause.Said(cause.Weak, "A step of this process asked its pool for one more piece.", fact.NumbaAlloc, fact.WGPUBuffer),
	},
	cause.ContextTooLong: {
		cause.Said(cause.Strong, "The largest buffer is {xla_square}: an attention matrix, which grows with the square of the length.", fact.TPUCompile, fact.XLAAlloc),
		cause.Where(when.In("inference"), cause.Said(cause.Weak, "The length of the prompt is part of what the compiled program needs.", fact.TPUCompile)),
		cause.Said(cause.Weak, "The prompt decides how much is computed at once.", fact.MetalMemory, fact.MLXBuffer),
	},
	cause.ModelTooLarge: {
		cause.Where(serving, cause.Said(cause.Good, unfit, fact.TPUCompile)),
		cause.Said(cause.Hint, unfit, fact.TPUCompile),
		cause.Where(when.In("load"), cause.Said(cause.Strong, "It failed while weights were copied to the card.", fact.RustDriver)),
		cause.Where(when.In("unknown"), cause.Said(cause.Weak, "The weights may be too large for the card: candle loads 32 bit unless told otherwise.", fact.RustDriver)),
		cause.Where(loading, cause.Said(cause.Good, "It failed while the model was being loaded.", append(plain, fact.DeviceAlloc, fact.ORTAlloc)...)),
		cause.Where(when.In("unknown"), cause.Said(cause.Weak, "The model may be too large for what is free.", plain...)),
		cause.Said(cause.Hint, "The model may leave little room for its activations.", plain...),
		cause.Said(cause.Weak, "The model and its activations use up the Mac's memory.", fact.MetalMemory, fact.MLXAlloc),
		cause.Said(cause.Likely, "It failed right after the weights were loaded: they fill the card.", fact.TinygradAlloc),
	},
	cause.TrainingStateTooLarge: {
		cause.Where(when.All(inPool, optimizerNode), cause.Said(cause.Strong, "The op that failed is the optimizer's own: its slots are as large as the weights, whatever the batch.", fact.TFAlloc)),
	},
	cause.LeakedProcess: {
		cause.Said(cause.Strong, "Not even a CUDA context could be made: the card was full before.", fact.TFContext),
		cause.Said(cause.Good, "TensorFlow could not take its pool at the start: something else probably holds the card.", fact.TFStart),
		sized(1, cause.Crumb, cause.Fair, "Only {requested} was asked for: the card was full before, with another process or with this one's pool (JAX takes 75 % at its start).", fact.XLAAlloc),
		cause.Said(cause.Fair, "The driver refused RMM: the card was full, not necessarily with this library's pool.", fact.RMMAlloc),
		cause.Said(cause.Weak, "The card is full, often with another process or an earlier session.", fact.TFCopy, fact.TFHandle),
	},
	cause.RetainedMemory: {cause.Said(cause.Hint, "In a notebook, results of earlier cells stay on the card.", fact.RMMAlloc, fact.CuPyAlloc, fact.TFCopy)},
	cause.BudgetMisconfigured: {
		cause.Where(hasLimit, cause.Said(cause.Strong, limitReached, fact.CuPyAlloc)),
		cause.Said(cause.Strong, limitReached, fact.ORTLimit),
		cause.Said(cause.Hint, "The framework takes nearly the whole card at its start, more than is free.", fact.TFStart),
		cause.Where(ownPool, cause.Said(cause.Good, "NCCL needs 0.2 to 2 GB of its own beside the program's pool, and the card had less left.", fact.NCCLAlloc)),
	},
	cause.Fragmentation: {
		cause.Where(poolInPieces, cause.Said(cause.Strong, "{room} of the pool was not in use and {requested} was refused: free, but not in one piece.", fact.TFAlloc)),
	},
	cause.SoftwareBug: {
		sized(cause.Absurd, math.MaxInt64, cause.Strong, noSize, fact.ORTAlloc, fact.NativeAlloc, fact.DeviceAlloc, fact.BufferLimit),
		// MLX prints what was asked for, unless it is no size.
		sized(0, 1, cause.Strong, noSize, fact.MLXBuffer),
		cause.Said(cause.Good, "This is a limit of the library's own memory pools; the card may be free.", fact.BurnPool),
		cause.Said(cause.Hint, "Versions of this library leak.", fact.NumbaAlloc),
	},
	cause.Unknown: {
		cause.Where(when.In("unknown"), cause.Said(cause.Fair, bare, append(plain, fact.RustDriver)...)),
		cause.Where(nameless, cause.Said(cause.Fair, bare, fact.RMMAlloc)),
		cause.Said(cause.Weak, bare, plain...),
		cause.Said(cause.Hint, "The message has no figures.", fact.BadAlloc, fact.PythonMemory, fact.TFHandle, fact.RustDriver),
	},
}

// Kinds of which the same can be said.
var (
	inRAM  = []fact.Kind{fact.NumpyAlloc, fact.BadAlloc, fact.PythonMemory, fact.RustAlloc, fact.NativeAlloc}
	arenas = []fact.Kind{fact.ORTAlloc, fact.ORTLimit, fact.ORTDevice}
	plain  = []fact.Kind{fact.PlainDevice, fact.PlainMemory}
)

const (
	unfit        = "The compiled program does not fit the chip."
	aboveLargest = "One buffer above the largest that this device gives in one piece; how much is free plays no part."
	ofRAM        = "The allocator in the message is that of system memory (RAM)."
	noSize       = "The requested size is impossible: a garbage value, or a negative number read as a positive one."
	limitReached = "The pool reached a limit of its own."
	bare         = "The message says neither how much was wanted nor what holds the memory."
)

// sized is a clue for requests of at least so many bytes and less than so many;
// one of which the log does not say the size counts as 0.
func sized(least, below int64, weight cause.Level, why string, kinds ...fact.Kind) cause.Clue {
	within := func(c *ledger.Case) bool { return ledger.Requested(c) >= least && ledger.Requested(c) < below }
	return cause.Where(within, cause.Said(weight, why, kinds...))
}

func onTPU(c *ledger.Case) bool     { return c.Backend == "tpu" }
func onCPU(c *ledger.Case) bool     { return c.Backend == "cpu" }
func nameless(c *ledger.Case) bool  { return c.Framework == "other" }
func noBackend(c *ledger.Case) bool { return c.Backend == "" }
func ownPool(c *ledger.Case) bool   { return c.Signal("nccl_setup") == nil && !c.In("pytorch") }
func hasLimit(c *ledger.Case) bool  { return c.F().Limit != nil }
func loading(c *ledger.Case) bool   { return slices.Contains([]string{"load", "startup_check"}, c.Phase) }
func working(c *ledger.Case) bool   { return !loading(c) && c.Phase != "unknown" }
func serving(c *ledger.Case) bool   { return c.Phase == "load" || c.Phase == "inference" }

// poolFull: TensorFlow's pool is full, and not with something that a batch has
// no part in.
var poolFull = cause.Where(func(c *ledger.Case) bool { return inPool(c) && !onCPU(c) && !calls.WholeDataset(c) && !weightMade(c) }, cause.First(
	cause.If(when.Any(poolInPieces, mostOfPool), cause.Hint, "A smaller batch makes this tensor smaller, too."),
	cause.If(nil, cause.Likely, "TensorFlow's pool was full: what one batch needs does not fit."),
)).Of(fact.TFAlloc)

var inPool = when.Root(fact.TFAlloc)

// poolInPieces: the dump shows more free than was asked for.
func poolInPieces(c *ledger.Case) bool {
	f := c.F()
	return inPool(c) && f.Limit != nil && f.Allocated != nil && f.Requested != nil && f.Limit.Bytes-f.Allocated.Bytes > f.Requested.Bytes
}

// mostOfPool: one tensor as large as half of all that TensorFlow may take.
func mostOfPool(c *ledger.Case) bool {
	f := c.F()
	return inPool(c) && f.Requested != nil && f.Limit != nil && f.Requested.Bytes*2 >= f.Limit.Bytes
}
