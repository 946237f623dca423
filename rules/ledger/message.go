package ledger

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
)

// SharedMemory: /dev/shm is full, which other programs and swap hardly bear on.
func SharedMemory(c *Case) bool { return c.Root(fact.SharedMemory, fact.NCCLShm, fact.SharedSegment) }

// TorchFigures reports a message of PyTorch's allocators that says how much
// was wanted, so that tips can be held against it, or a server's that wraps one.
func TorchFigures(c *Case) bool {
	return c.F().Requested != nil && (Allocator(c) || c.Root(fact.VLLMLoad, fact.VLLMWarmup, fact.TGIWarmup) && c.F().Allocated != nil)
}

// WorkFigures is torchFigures, or the same of another framework whose message
// says what there was.
func WorkFigures(c *Case) bool {
	return TorchFigures(c) || c.F().Requested != nil && OnCard(c) && c.Root(otherAllocators...)
}

// otherAllocators are those frameworks' refusals of a piece of work.
var otherAllocators = []fact.Kind{fact.TFAlloc, fact.CuPyAlloc, fact.DeviceAlloc, fact.ORTLimit, fact.MLXBuffer, fact.BufferLimit, fact.TPUReserve}

// RoomFor is what a request found: the free figure, else what a limit leaves.
// It says so in words, "" where the log does not tell.
func RoomFor(c *Case) (bytes int64, told string) {
	f := c.F()
	switch {
	case c.Free.Has():
		return c.Free.Bytes, c.Free.String() + " was free"
	case f.Limit != nil && c.Root(fact.MLXBuffer, fact.BufferLimit):
		return f.Limit.Bytes, f.Limit.String() + " is the most that one request may have"
	case f.Limit == nil || f.Allocated == nil:
		return 0, ""
	case c.Room.Bytes < 0 || f.Requested != nil && c.Room.Bytes > f.Requested.Bytes && !Allocator(c):
		return 0, "" // fragments, not the sum, were in the way
	}
	return c.Room.Bytes, fmt.Sprintf("%s of the limit of %s was left", c.Room, f.Limit)
}

// HostKinds are kinds that only system memory explains.
var HostKinds = []fact.Kind{
	fact.KernelKill, fact.OOMD, fact.ShellKilled, fact.BuildKilled, fact.SlurmKill, fact.ContainerKill, fact.Evicted,
	fact.YARNKill, fact.RayKilled, fact.CommitLimit, fact.SharedMemory, fact.SharedSegment, fact.WorkerKilled, fact.RankKilled, fact.NCCLShm, fact.WorkerBudget,
}

// GrowsList: Python's memory ran out where a list is made longer.
func GrowsList(c *Case) bool {
	return c.Root(fact.PythonMemory, fact.NumpyAlloc, fact.CPUAlloc) && FailedAt(c, "appends") != nil
}

// GGMLRefused reports a buffer that ggml was refused, with its stage.
func GGMLRefused(c *Case, stages ...string) bool {
	return c.Root(fact.GGMLAlloc, fact.GGMLLimit) && (len(stages) == 0 || slices.Contains(stages, c.Failure.Stage))
}

// InHost reports that what was refused is system memory, pinned or not.
func InHost(c *Case) bool { return fact.HostMemory(c.Failure.Memory) }

// Before2020: THC's messages and those of 1.0 to 1.3, when models were small
// beside their work and no format below 16 bit was to be had.
func Before2020(c *Case) bool {
	_, cached := c.Fact("torch_until")
	return cached && c.Root(fact.TorchAlloc) || c.Root(fact.CUDAError) && c.Contains("thc")
}

// Allocator reports a message of PyTorch's device allocators, whatever the era.
func Allocator(c *Case) bool { return c.Root(fact.TorchAlloc, fact.TorchAsync, fact.MPSAlloc) }

// CutShort: of the message's figures only the request is left.
func CutShort(c *Case) bool {
	f := c.F()
	return c.Root(fact.TorchAlloc) && f.Requested != nil && f.Total == nil && f.Allocated == nil && f.Free == nil && f.Limit == nil && !AbsurdSize(c)
}

// lastFrames is how many lines above a message its innermost frames stand: a
// frame has up to three, twice as many where a blank line follows each.
const lastFrames = 14

// FailedAt returns the evidence of an activity in the innermost frames of the
// traceback that ends in the failure, nil if it is not there.
func FailedAt(c *Case, id string) *fact.Signal {
	line := traced(c)
	for i := range c.Facts.Signals {
		if s := &c.Facts.Signals[i]; s.ID == id && s.Line <= line && line-s.Line <= lastFrames {
			return s
		}
	}
	return nil
}

// traced is the line of the message that a traceback leads to: the failure's
// own, or that of its repeat where a program wrote the message down first.
func traced(c *Case) int {
	if c.trace != nil {
		return c.traced
	}
	c.traced, c.trace = c.Failure.Line, framesUpTo(c, c.Failure.Line, deepFrames)
	for _, x := range c.Chain {
		if len(c.trace) == 0 && x.Kind == c.Failure.Kind && x.Line > c.Failure.Line {
			c.traced, c.trace = x.Line, framesUpTo(c, x.Line, deepFrames)
		}
	}
	if end := c.Failure.EndLine; len(c.trace) == 0 && len(framesUpTo(c, end+3, 2)) > 0 { // Streamlit shows the message first
		c.traced, c.trace = end+deepFrames, framesUpTo(c, end+deepFrames, deepFrames-1)
		if c.trace[len(c.trace)-1].Function == "<module>" { // VS Code the innermost frame, too
			slices.Reverse(c.trace)
		}
	}
	return c.traced
}

// OwnFrame is the innermost frame of the traceback that ends in the failure and
// lies in code of the reader's own, nil where the log shows none.
func OwnFrame(c *Case) *fact.Code {
	frames := Trace(c)
	for i := range slices.Backward(frames) {
		if frames[i].Own {
			return &frames[i]
		}
	}
	return nil
}

// Trace are the frames of the traceback that ends in the failure, the innermost
// last; none where the log shows none.
func Trace(c *Case) []fact.Code {
	traced(c)
	return slices.Clip(c.trace)
}

func framesUpTo(c *Case, line, lines int) []fact.Code {
	frames := make([]fact.Code, 0, len(c.Facts.Code))
	for _, x := range c.Facts.Code {
		if x.Function != "" && x.Line <= line && line-x.Line <= lines {
			frames = append(frames, x)
		}
	}
	return frames
}

// Has reports that the log shows a measure that was taken already, such as
// [fact.Checkpoints]: before the failure, or in what a launcher says of the run
// that ended.
func Has(c *Case, measure string) bool {
	line := traced(c)
	return slices.ContainsFunc(c.Facts.Signals, func(s fact.Signal) bool {
		return s.ID == measure && (s.Line <= line || strings.Contains(s.Text, "exit") && strings.Contains(s.Text, "code"))
	})
}

// deepFrames is how many lines from a message the innermost own frame may stand.
const deepFrames = 60

// WritesScores: the failing line computes the scores of attention.
func WritesScores(c *Case) bool {
	return FailedAt(c, "scores") != nil && c.Operation != "distances" || ReturnsWeights(c)
}

// ReturnsWeights: nn.MultiheadAttention was at the matrix that it returns by default.
func ReturnsWeights(c *Case) bool { return FailedAt(c, "mha_weights") != nil }

// Preallocates: a framework that takes most of the card at its start.
func Preallocates(c *Case) bool { return c.In("jax", "tensorflow") && c.Backend != "tpu" }

// ShareTooSmall: the cache inside the share came out too small. Raise it.
func ShareTooSmall(c *Case) bool {
	return c.Root(fact.VLLMNoCache, fact.VLLMTokens, fact.VLLMCacheTooSmall, fact.VLLMMamba, fact.VLLMSwapFull)
}
