package parsers

const (
	// XLAAlloc is XLA's allocator at run time: the request is often the whole
	// scratch arena of a program, not one tensor.
	XLAAlloc Kind = "xla_alloc"
	// TPUCompile is XLA's compiler: a program that can't fit the chip's HBM.
	TPUCompile Kind = "tpu_compile"
	// TPUReserve is the TPU runtime, with what is free.
	TPUReserve Kind = "tpu_reserve"
)

var jax = Parser{
	Name: "jax", Keywords: literals(jaxWordings),
	Explains: map[Kind]int{TPUCompile: 4, XLAAlloc: 3},
	Parse:    func(l *Log, hits []Hit, f *Facts) { parseWordings(jaxWordings, l, hits, f) },
}

var jaxWordings = []wording{
	{"Out of memory while trying to allocate", readXLA},
	{"RESOURCE_EXHAUSTED: Out of memory allocating", readXLA},
	{"RESOURCE_EXHAUSTED: Failed to allocate request for", readXLA},
	{"RESOURCE_EXHAUSTED: CUDA_ERROR_OUT_OF_MEMORY", readXLA},
	{"Ran out of memory in memory space", readTPUCompile},
	{"Attempting to reserve", readTPUReserve}, {"Attempting to allocate", readTPUReserve},
}

var (
	xlaPattern = pattern(`(?:allocating|toallocate|requestfor)(?<human>SIZE)(?:\((?<exact>\d{1,20})b(?:ytes)?\))?`)
	// The figures of XLA's buffer assignment, printed under the message.
	xlaParameters = pattern(`parameterallocation:(?<size>SIZE|\d+b)`)
	xlaTemp       = pattern(`preallocatedtempallocation:(?<size>SIZE)`)
	xlaTotal      = pattern(`totalallocation:(?<size>SIZE)`)
	xlaLost       = pattern(`totalfragmentation:(?<size>SIZE)`)
)

// readXLA reads jaxlib's RESOURCE_EXHAUSTED, "allocate 4770354232 bytes." or,
// since 2025, "allocate 18.36GiB."
func readXLA(m message) int {
	x := Failure{Kind: XLAAlloc, Framework: xlaUser(m), Backend: xlaBackend(m)}
	k := m.find(xlaPattern, 120)
	if x.Figures.Requested = first(k.Size("exact"), k.Size("human")); x.Figures.Requested == nil && !m.precedes("error:", 40) && !m.follows("cuda_error", 40) {
		return m.end
	}
	// The dump of the buffers may be ten thousand characters long; its stats
	// come first.
	x.Figures.Weights = m.find(xlaParameters, 900).Size("size")
	x.Figures.ComputeBuffer = m.find(xlaTemp, 900).Size("size")
	x.Figures.Desired = m.find(xlaTotal, 900).Size("size")
	m.square()
	m.fact("xla_fragmentation", m.find(xlaLost, 900).Size("size"))
	return m.fail(x, m.took(k))
}

// xlaUser is TensorFlow only where nothing speaks for JAX.
func xlaUser(m message) string {
	if !m.mentions("jax") && m.mentions("tensorflow", "statuscode:resourceexhausted") {
		return "tensorflow"
	}
	return "jax"
}

func xlaBackend(m message) string {
	switch {
	case m.mentions("hbm", "tpu_", "tpu:"):
		return "tpu"
	case m.mentions("rocm", "hip_"):
		return "rocm"
	case m.mentions("cuda", "gpu_0_bfc", "nvidia"):
		return "cuda"
	}
	return ""
}

// A buffer whose last two sides are equal and long is queries by keys.
var xlaSquare = pattern(`shape:(?<shape>(?:f|bf|s|u|pred)\d{0,2}\[(?:\d{1,6},){0,4}(?<side>\d{4,6}),\k<side>\])`)

func (m message) square() {
	if k := m.find(xlaSquare, 4000); k.Ok() {
		m.f.Facts = append(m.f.Facts, Fact{Name: "xla_square", Text: k.Text("shape"), Line: k.Line()})
	}
}

// "G" and "M" there are powers of 1024.
var tpuPattern = pattern(`memoryspace(?<space>[a-z]{3,6})\.used(?<used>NUM)(?<usedunit>[kmgt])of(?<limit>NUM)(?<limitunit>[kmgt])`)

// What of the total is the program's own, which the batch decides; arguments
// are weights and inputs.
var tpuProgram = pattern(`totalhbmusage>=.{0,60}?program(?<program>NUM)(?<unit>[kmgt])`)

// readTPUCompile reads "Ran out of memory in memory space hbm. Used 63.80G of
// 30.75G hbm." Other spaces (vmem, smem, sflag) are memory on the chip.
func readTPUCompile(m message) int {
	k := m.find(tpuPattern, 140)
	if space := k.Lower("space"); space != "" && space != "hbm" {
		m.lookalike(tpuOnChip)
		return m.took(k)
	}
	x := Failure{Kind: TPUCompile, Framework: xlaUser(m), Backend: "tpu"}
	x.Figures.Desired = k.SizeIn("used", k.Lower("usedunit"))
	x.Figures.Total = k.SizeIn("limit", k.Lower("limitunit"))
	x.Figures.Limit = x.Figures.Total
	if x.Framework == "tensorflow" {
		x.Phase = "training" // its TPU jobs are
	}
	m.square()
	if p := m.find(tpuProgram, 600); p.Ok() {
		m.fact("tpu_program", p.SizeIn("program", p.Lower("unit")))
	}
	return m.fail(x, m.took(k))
}

var tpuOnChip = Lookalike{
	ID: "tpu_on_chip_memory", Title: "A TPU kernel wants too much on-chip memory (vmem or smem), not HBM.",
	Advice: "Lower the block sizes of that kernel, or switch the custom kernel off; the chip's HBM is not involved.",
}

var tpuReservePattern = pattern(`attemptingto(?:reserve|allocate)(?<want>NUM)(?<wantunit>[kmgt])(?:at|\.|,)(?:.{0,120}?thereare(?<free>NUM)(?<freeunit>[kmgt])free)?`)

// readTPUReserve reads "Attempting to reserve 3.95G at the bottom of memory.
// That was not possible. There are 1.92G free, ...".
func readTPUReserve(m message) int {
	k := m.find(tpuReservePattern, 320)
	if !k.Ok() || k.Lower("free") == "" && !m.follows("thatwasnotpossible", 80) {
		return m.end
	}
	x := Failure{Kind: TPUReserve, Framework: xlaUser(m), Backend: "tpu"}
	x.Figures.Requested = k.SizeIn("want", k.Lower("wantunit"))
	x.Figures.Free = k.SizeIn("free", k.Lower("freeunit"))
	return m.fail(x, m.took(k))
}
