package parsers

import "github.com/oomdoc/oomdoc/internal/units"

const (
	// RustDriver is cudarc under candle, mistral.rs and burn: never figures.
	RustDriver Kind = "rust_driver"
	// BurnPool is a limit of burn's memory pools; the card may be free.
	BurnPool Kind = "burn_pool"
	// WGPUBuffer is wgpu's create_buffer.
	WGPUBuffer Kind = "wgpu_buffer"
	// TinygradAlloc is tinygrad's CUDA runtime.
	TinygradAlloc Kind = "tinygrad_alloc"
)

var rust = Parser{
	Name: "rust", Keywords: literals(rustWordings),
	Parse: func(l *Log, hits []Hit, f *Facts) { parseWordings(rustWordings, l, hits, f) },
}

var rustWordings = []wording{
	{"DriverError(CUDA_ERROR_OUT_OF_MEMORY", readCudarc},
	{"CublasError(CUBLAS_STATUS_ALLOC_FAILED", readCudarc},
	{"No pool handles allocation of size", readBurnPool}, {"No memory pool big enough to reserve", readBurnPool}, {"bytes of device memory: can't allocate buffer", readBurnPool},
	{"Not enough memory left", readWGPU},
	{"CUDA Error 2, out of memory", readTinygrad},
}

// readCudarc tells candle and what is built on it from burn (cubecl).
func readCudarc(m message) int {
	x := Failure{Kind: RustDriver, Framework: "other", Backend: "cuda"}
	if m.mentions("candle") {
		x.Framework = "candle"
	}
	switch {
	case m.mentions("mmapedsafetensors", "varbuilder", "::load", "loading"):
		x.Phase = "load"
	case m.mentions("::forward"):
		x.Phase = "inference"
	}
	return m.fail(x, m.end)
}

var burnPattern = pattern(`(?:sizeof?|size|reserve)(?<bytes>\d{1,20})`)

// readBurnPool reads the three wordings of cubecl-runtime, 0.4 to 2026.
func readBurnPool(m message) int {
	k := m.find(burnPattern, 120)
	if !k.Ok() {
		k = m.around(burnPattern, 60, 60)
	}
	x := Failure{Kind: BurnPool, Framework: "other"}
	x.Figures.Requested = k.Size("bytes")
	return m.fail(x, m.took(k))
}

// readWGPU reads wgpu's validation error "In Device::create_buffer: Not enough
// memory left."
func readWGPU(m message) int {
	if !m.precedes("create_buffer", 200) && !m.precedes("create_texture", 200) && !m.mentions("wgpu") {
		return m.end
	}
	return m.fail(Failure{Kind: WGPUBuffer, Framework: "other"}, m.end)
}

var tinygradPattern = pattern(`loadedweightsin[\d.]{1,12}ms,(?<weights>[\d.]{1,9})gbloaded`)

// readTinygrad also takes the size of the weights from its load line; GB there
// is 10^9.
func readTinygrad(m message) int {
	x := Failure{Kind: TinygradAlloc, Framework: "other", Backend: "cuda"}
	if k := m.around(tinygradPattern, 8000, 0); k.Ok() {
		x.Figures.Weights = decimalGB(k, "weights")
		x.Phase = "load"
	}
	return m.fail(x, m.end)
}

func decimalGB(k Match, group string) *Size {
	bytes, ok := units.ParseDecimal(k.Lower(group) + "gb")
	if !ok {
		return nil
	}
	return &Size{Bytes: bytes, Text: k.Text(group) + " GB", Line: k.Line()}
}
