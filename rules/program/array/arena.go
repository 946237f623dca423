package array

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// hostArray: numpy was refused system memory.
func hostArray(c *ledger.Case) cause.Finding {
	req := c.F().Requested
	if !c.Root(fact.NumpyAlloc) || req == nil {
		if c.Root(fact.NumpyAlloc) {
			return cause.Seen(0.85, "numpy was refused system memory.", c.Failure.Line)
		}
		return cause.Nothing()
	}
	if req.Bytes >= cause.Large {
		return cause.Seen(0.22, fmt.Sprintf("%s of system memory was refused.", req.Text), c.Failure.Line)
	}
	return cause.Seen(0.9, fmt.Sprintf("numpy was refused %s of the computer's own memory; the smaller the request, the fuller it was before.", req.Text), c.Failure.Line)
}

func arrayTooLarge(c *ledger.Case) cause.Finding {
	req := c.F().Requested
	if !c.Root(fact.NumpyAlloc, fact.RustAlloc) || req == nil || req.Bytes < cause.Large {
		return cause.Nothing()
	}
	why := fmt.Sprintf("One array of %s.", req.Text)
	if s, ok := c.Fact("array_shape"); ok && s.Text != "" {
		why = fmt.Sprintf("One array of %s, of shape %s: a shape that grew wrong, or all the data at once.", req.Text, s.Text)
	}
	return cause.Seen(0.78, why, c.Failure.Line)
}

func hostAllocator(c *ledger.Case) cause.Finding {
	if !c.Root(fact.BadAlloc, fact.PythonMemory, fact.RustAlloc, fact.NativeAlloc) {
		return cause.Nothing()
	}
	if req := c.F().Requested; req != nil && req.Bytes >= cause.Large {
		return cause.Seen(0.2, fmt.Sprintf("%s of system memory was refused.", req.Text), c.Failure.Line)
	}
	if req := c.F().Requested; req != nil {
		return cause.Seen(0.88, fmt.Sprintf("%s of the computer's own memory was refused; that is the last piece asked for, not the whole need.", units.Format(req.Bytes)), c.Failure.Line)
	}
	return cause.Seen(0.83, "The program was refused the computer's own memory. The message never says how much; growing arrays double, so two thirds in use can be too much.", c.Failure.Line)
}

func arenaHost(c *ledger.Case) cause.Finding {
	req := c.F().Requested
	if !c.Root(fact.ORTAlloc) || req == nil || req.Bytes >= cause.Unusual {
		return cause.Nothing()
	}
	switch {
	case c.Backend == "cpu":
		return cause.Seen(0.75, fmt.Sprintf("ONNX Runtime runs on the processor here and was refused %s of the computer's memory.", req.Text), c.Failure.Line)
	case req.Bytes < cause.Crumb && c.Backend == "":
		return cause.Seen(0.5, fmt.Sprintf("Only %s was asked for: what is full was full before. Each session and each thread keeps an arena that never shrinks.", req.Text), c.Failure.Line)
	}
	return cause.Seen(0.2, "The arena has the same name in the computer's memory and on the card.", c.Failure.Line)
}

func arenaTooLarge(c *ledger.Case) cause.Finding {
	req := c.F().Requested
	if !c.Root(fact.ORTAlloc) || req == nil || req.Bytes < 8*units.GiB || req.Bytes >= cause.Absurd {
		return cause.Nothing()
	}
	if req.Bytes >= cause.Unusual {
		return cause.Seen(0.88, fmt.Sprintf("One buffer of %s: a dimension of the input is wrong.", units.Format(req.Bytes)), c.Failure.Line)
	}
	return cause.Seen(0.25, fmt.Sprintf("One buffer of %s.", units.Format(req.Bytes)), c.Failure.Line)
}

// mlxBufferTooLarge: MLX prints what was asked for, unless it is no size.
func mlxBufferTooLarge(c *ledger.Case) cause.Finding {
	if !c.Root(fact.MLXBuffer) || c.F().Requested == nil {
		return cause.Nothing()
	}
	return cause.Seen(0.6, "One Metal buffer above the largest that Metal gives; how much is free plays no part.", c.Failure.Line)
}

// bufferLimit: OpenCL devices give a quarter of their memory, or 4 GiB, in one
// piece.
func bufferLimit(c *ledger.Case) cause.Finding {
	if r := c.F().Requested; !c.Root(fact.BufferLimit) || r != nil && r.Bytes >= cause.Absurd {
		return cause.Nothing()
	}
	return cause.Seen(0.75, "One buffer above the largest that this device gives in one piece; how much is free plays no part.", c.Failure.Line)
}

func arenaAbsurd(c *ledger.Case) cause.Finding {
	if c.Root(fact.MLXBuffer) && c.F().Requested == nil {
		return cause.Seen(0.85, "The size that was asked for is next to 2 to the 64th bytes: a negative number that was read as a positive one.", c.Failure.Line)
	}
	if req := c.F().Requested; c.Root(fact.ORTAlloc, fact.NativeAlloc, fact.DeviceAlloc, fact.BufferLimit) && req != nil && req.Bytes >= cause.Absurd {
		return cause.Seen(0.85, fmt.Sprintf("%s bytes is no size at all: a number was read as a size that is none.", req.Text), c.Failure.Line)
	}
	return cause.Nothing()
}

func arenaBatch(c *ledger.Case) cause.Finding {
	req := c.F().Requested
	if !c.Root(fact.ORTAlloc, fact.ORTLimit, fact.ORTDevice) || req != nil && req.Bytes >= cause.Unusual {
		return cause.Nothing()
	}
	if c.Phase == "load" {
		return cause.Seen(0.15, "Batch and input size decide the rest of what the arena holds.", c.Failure.Line)
	}
	if req != nil && req.Bytes < cause.Crumb {
		return cause.Seen(0.3, "Batch and input size decide what the arena holds.", c.Failure.Line)
	}
	return cause.Seen(0.55, "The buffer of one node: batch and input size decide it.", c.Failure.Line)
}

func tensorInRAM(c *ledger.Case) cause.Finding {
	if !c.Root(fact.TFAlloc) || c.Backend != "cpu" {
		return cause.Nothing()
	}
	return cause.Seen(0.85, "The allocator named is the one of the computer's own memory.", c.Failure.Line)
}

func rustForward(c *ledger.Case) cause.Finding {
	switch {
	case c.Root(fact.BurnPool):
		return cause.Seen(0.35, "A smaller batch asks for smaller pieces.", c.Failure.Line)
	case c.Root(fact.RustDriver) && c.Phase != "load" && c.Phase != "inference":
		return cause.Seen(0.3, "The work of one step may be what filled the card; the line says neither when nor how much.", c.Failure.Line)
	case c.Root(fact.RustDriver) && c.Phase != "load":
		return cause.Seen(0.55, "It failed while computing: the card is full with weights and the work of a step.", c.Failure.Line)
	}
	return cause.Nothing()
}

// thrustAlone: one line, no figures, no program.
func thrustAlone(c *ledger.Case) cause.Finding {
	if !c.Root(fact.RMMAlloc) || c.Framework != "other" {
		return cause.Nothing()
	}
	return cause.Seen(0.5, "A CUDA library asked for a working buffer and did not get it; the line says neither how much nor what is held.", c.Failure.Line)
}

// imageLike: an array of pixels, or a network that as a rule gets one.
func imageLike(c *ledger.Case) bool {
	if c.Root(fact.ORTAlloc) {
		return true
	}
	return c.Signal("pictures") != nil
}
