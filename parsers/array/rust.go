package array

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Rust reads candle and Burn.
var Rust = parser("rust", nil,
	text.On("DriverError(CUDA_ERROR_OUT_OF_MEMORY", readCudarc), text.On("CublasError(CUBLAS_STATUS_ALLOC_FAILED", readCudarc), text.On("No pool handles allocation of size", readBurnPool), text.On("No memory pool big enough to reserve", readBurnPool), text.On("bytes of device memory: can't allocate buffer", readBurnPool),
	// A validation error: "In Device::create_buffer: Not enough memory left."
	text.On("Not enough memory left", text.When(text.FailsAlone(fact.Failure{Kind: fact.WGPUBuffer, Framework: "other"}),
		text.Before("create_buffer", 200), text.Before("create_texture", 200), text.Beside("wgpu"))),
	text.On("CUDA Error 2, out of memory", readTinygrad), text.On("This model does not fit on the devices", text.FailsWith(fact.Failure{Kind: fact.RustDriver, Framework: "mistral.rs", Phase: "load", Stage: "plan"}, 0, 300, text.NewPattern(`totalcapacityby(?<plan_over_mb>INT)mb`))),
)

// readCudarc tells candle and what is built on it from burn (cubecl).
func readCudarc(m text.Message) int {
	x := fact.Failure{Kind: fact.RustDriver, Framework: "other", Backend: "cuda"}
	if m.Mentions("candle") {
		x.Framework = "candle"
	}
	switch {
	case m.Mentions("mmapedsafetensors", "varbuilder", "::load", "loading"):
		x.Phase = "load"
	case m.Mentions("::forward"):
		x.Phase = "inference"
	}
	if v := m.Around(cubeclPattern, 600, 40); v.Ok() {
		m.Say("cubecl_version", v.Text("version"))
		sayBurnLog(m)
	}
	return m.Fail(x, m.End)
}

// sayBurnLog notes the file that Burn's learner names before the panic: "you can
// check the experiment logs here => '/tmp/run/experiment.log'".
func sayBurnLog(m text.Message) {
	at := m.Log.LineIndex(m.At)
	for _, line := range m.Log.Lines[max(at-8, 0) : at+1] {
		_, rest, found := strings.Cut(line.Text, "experiment logs here => '")
		path, _, closed := strings.Cut(rest, "'")
		if found && closed && len(path) <= 120 && !strings.ContainsAny(path, "`*[]<>") {
			m.Say("burn_log", path)
		}
	}
}

// The panic names the source file in the crate: "cubecl-cuda-0.6.0/src/...".
var cubeclPattern = text.NewPattern(`cubecl-cuda-(?<version>\d{1,3}\.\d{1,3}\.\d{1,3})`)
var burnPattern = text.NewPattern(`(?:sizeof?|size|reserve)(?<requested_bytes>\d{1,20})`)

// readBurnPool reads the three wordings of cubecl-runtime, 0.4 to 2026.
var readBurnPool = text.FailsWith(fact.Failure{Kind: fact.BurnPool, Framework: "other"}, 28, 120, burnPattern)

var tinygradPattern = text.NewPattern(`loadedweightsin[\d.]{1,12}ms,(?<weights>[\d.]{1,9}gb)loaded`)

// readTinygrad also takes the size of the weights from its load line; GB there
// is 10^9.
func readTinygrad(m text.Message) int {
	x := fact.Failure{Kind: fact.TinygradAlloc, Framework: "other", Backend: "cuda"}
	if k := m.Around(tinygradPattern, 8000, 0); k.Ok() {
		x.Figures.Weights = m.Log.Decimal(k, "weights")
		x.Phase = "load"
	}
	return m.Fail(x, m.End)
}
