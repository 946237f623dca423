package parsers

const (
	// MetalMemory is a Metal command buffer that failed with error 8.
	MetalMemory Kind = "metal_memory"
	// MLXBuffer is MLX refusing one buffer above Metal's maximum.
	MLXBuffer Kind = "mlx_buffer"
	// MLXAlloc is MLX's allocator refused by the system.
	MLXAlloc Kind = "mlx_alloc"
)

var mlx = Parser{
	Name: "mlx", Keywords: literals(mlxWordings),
	Parse: func(l *Log, hits []Hit, f *Facts) { parseWordings(mlxWordings, l, hits, f) },
}

var mlxWordings = []wording{
	{"Command buffer execution failed:", readCommandBuffer},
	{"[malloc_or_wait] Unable to allocate", readMLXAlloc}, {"[metal::malloc] Unable to allocate", readMLXAlloc},
	{"[metal::malloc] Attempting to allocate", readMLXBuffer}, {"[malloc] Attempting to allocate", readMLXBuffer},
	{"[metal::malloc] Resource limit", fails(Failure{Kind: MLXAlloc, Framework: "mlx", Backend: "metal"})},
	{"[malloc] Resource limit", fails(Failure{Kind: MLXAlloc, Framework: "mlx", Backend: "metal"})},
}

// readCommandBuffer reads Metal's codes: 8 is memory, 1 a time-out, 2 a hang,
// 6 a process in the background, 9 an invalid resource.
func readCommandBuffer(m message) int {
	if m.follows("insufficientmemory", 60) || m.follows("(00000008:", 90) {
		return m.fail(Failure{Kind: MetalMemory, Framework: "mlx", Backend: "metal"}, m.end)
	}
	m.lookalike(Lookalike{
		ID: "metal_command_buffer", Title: "A Metal command buffer failed for another reason than memory (only error 8 is memory).",
		Advice: "Read the reason in the message: 'Insufficient Permission' is a program in the background, 'Timeout' and 'Hang' a kernel that runs too long, 'Invalid Resource' a bug. Bring the program to the front or update it.",
	})
	return m.end
}

var (
	mlxAllocPattern  = pattern(`unabletoallocate(?<want>\d{1,20})bytes`)
	mlxBufferPattern = pattern(`attemptingtoallocate(?<want>\d{1,20})byteswhichisgreaterthanthemaximumallowedbuffersizeof(?<limit>\d{1,20})bytes`)
)

func readMLXAlloc(m message) int {
	k := m.find(mlxAllocPattern, 100)
	x := Failure{Kind: MLXAlloc, Framework: "mlx", Backend: "metal"}
	x.Figures.Requested = k.Size("want")
	return m.fail(x, m.took(k))
}

// readMLXBuffer reads the limit of one buffer: how much is free plays no part.
func readMLXBuffer(m message) int {
	k := m.find(mlxBufferPattern, 220)
	if !k.Ok() {
		return m.end
	}
	x := Failure{Kind: MLXBuffer, Framework: "mlx", Backend: "metal"}
	x.Figures.Requested, x.Figures.Limit = k.Size("want"), k.Size("limit")
	return m.fail(x, m.took(k))
}
