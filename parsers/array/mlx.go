package array

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// MLX reads MLX and Metal.
var MLX = text.Parser{
	Name: "mlx", Keywords: text.Literals(mlxWordings),
	Parse: func(l *text.Log, hits []text.Hit, f *fact.Facts) { text.ParseWordings(mlxWordings, l, hits, f) },
}

var mlxWordings = []text.Wording{
	text.On("Command buffer execution failed:", readCommandBuffer),
	text.On("[malloc_or_wait] Unable to allocate", readMLXAlloc), text.On("[metal::malloc] Unable to allocate", readMLXAlloc),
	text.On("[metal::malloc] Attempting to allocate", readMLXBuffer), text.On("[malloc] Attempting to allocate", readMLXBuffer),
	text.On("[metal::malloc] Resource limit", text.Fails(fact.Failure{Kind: fact.MLXAlloc, Framework: "mlx", Backend: "metal"})),
	text.On("[malloc] Resource limit", text.Fails(fact.Failure{Kind: fact.MLXAlloc, Framework: "mlx", Backend: "metal"})),
}

// readCommandBuffer reads Metal's codes: 8 is memory, 1 a time-out, 2 a hang,
// 6 a process in the background, 9 an invalid resource.
func readCommandBuffer(m text.Message) int {
	if m.Follows("insufficientmemory", 60) || m.Follows("(00000008:", 90) {
		return m.Fail(fact.Failure{Kind: fact.MetalMemory, Framework: "mlx", Backend: "metal"}, m.End)
	}
	m.Lookalike(fact.Lookalike{
		ID: "metal_command_buffer", Title: "A Metal command buffer failed for another reason than memory (only error 8 is memory).",
		Advice: "Read the reason in the message: 'Insufficient Permission' is a program in the background, 'Timeout' and 'Hang' a kernel that runs too long, 'Invalid Resource' a bug. Bring the program to the front or update it.",
	})
	return m.End
}

var (
	mlxAllocPattern  = text.NewPattern(`unabletoallocate(?<want>\d{1,20})bytes`)
	mlxBufferPattern = text.NewPattern(`attemptingtoallocate(?<want>\d{1,20})byteswhichisgreaterthanthemaximumallowedbuffersizeof(?<limit>\d{1,20})bytes`)
)

func readMLXAlloc(m text.Message) int {
	k := m.Find(mlxAllocPattern, 100)
	x := fact.Failure{Kind: fact.MLXAlloc, Framework: "mlx", Backend: "metal"}
	x.Figures.Requested = k.Size("want")
	return m.Fail(x, m.Took(k))
}

// readMLXBuffer reads the limit of one buffer: how much is free plays no part.
func readMLXBuffer(m text.Message) int {
	k := m.Find(mlxBufferPattern, 220)
	if !k.Ok() {
		return m.End
	}
	x := fact.Failure{Kind: fact.MLXBuffer, Framework: "mlx", Backend: "metal"}
	x.Figures.Requested, x.Figures.Limit = k.Size("want"), k.Size("limit")
	return m.Fail(x, m.Took(k))
}
