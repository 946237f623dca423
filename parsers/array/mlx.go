package array

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// MLX reads MLX and Metal.
var MLX = parser("mlx", nil,
	text.On("Command buffer execution failed:", readCommandBuffer), text.On("[malloc_or_wait] Unable to allocate", text.FailsWith(mlxFailure, 0, 100, mlxAllocPattern)), text.On("[metal::malloc] Unable to allocate", text.FailsWith(mlxFailure, 0, 100, mlxAllocPattern)), text.On("[metal::malloc] Attempting to allocate", text.FailsIf(mlxBuffer, 0, 220, mlxBufferPattern)),
	text.On("[malloc] Attempting to allocate", text.FailsIf(mlxBuffer, 0, 220, mlxBufferPattern)), text.On("[malloc] Unable to allocate", text.FailsWith(mlxFailure, 0, 100, mlxAllocPattern)),
	text.On("(00000008:kIOGPUCommandBufferCallbackErrorOutOfMemory", text.When(text.Fails(fact.Failure{Kind: fact.MetalMemory, Framework: "mlx", Backend: "metal"}), mlxAlone)),
	text.On("[metal::malloc] Resource limit", text.Fails(mlxFailure)), text.On("[malloc] Resource limit", text.Fails(mlxFailure)),
	text.On("would require ~", readPrefill), text.On("projected memory ", text.FailsIf(mlxLoad, 0, 160, mlxProjected)), text.On("does not fit under the memory ceiling", text.FailsIf(mlxLoad, 40, 100, mlxCeiling)),
)

var (
	mlxLoad, mlxFailure = fact.Failure{Kind: fact.MetalMemory, Framework: "mlx", Backend: "metal", Phase: "load"}, fact.Failure{Kind: fact.MLXAlloc, Framework: "mlx", Backend: "metal"}
	mlxBuffer           = fact.Failure{Kind: fact.MLXBuffer, Framework: "mlx", Backend: "metal"} // of one buffer: how much is free plays no part

	mlxPrefillPattern = text.NewPattern(`wouldrequire~?(?<peak>SIZE)(?:peak)?\(current(?<used>SIZE)\+kv[^()]{0,80}\)but[a-z_]{0,40}(?:ceiling|limit|cap)is(?<limit>SIZE)`)
	// oMLX's engine_pool.py before it loads a model: "projected memory 774.68GB would exceed the memory ceiling 506.00GB (current: 378.17GB, model: 396.52GB)", "Model 'X' (19.95GB) does not fit under the memory ceiling (17.78GB)".
	mlxProjected, mlxCeiling = text.NewPattern(`projectedmemorySIZEwouldexceedthememoryceiling(?<limit>SIZE)\(current:(?<process_used>SIZE),model:(?<system_required>SIZE)\)`), text.NewPattern(`\((?<system_required>SIZE)\)doesnotfitunderthememoryceiling\((?<system_available>SIZE)\)`)
	mlxAllocPattern          = text.NewPattern(`unabletoallocate(?<requested_bytes>\d{1,20})bytes`)
	mlxBufferPattern         = text.NewPattern(`attemptingtoallocate(?<requested_bytes>\d{1,20})byteswhichisgreaterthanthemaximumallowedbuffersizeof(?<limit_bytes>\d{1,20})bytes`)
)

// mlxAlone: the log shows MLX, and a Metal command of which it printed no words.
func mlxAlone(m text.Message) bool {
	return m.Mentions("mlx", "[dtype-trace]") && !m.Mentions("ggml", "llama_", "gguf") && !m.Precedes("commandbufferexecutionfailed", 160)
}

// readCommandBuffer reads Metal's code 8, which is memory; the others are in
// lookalike/troubles.txt.
func readCommandBuffer(m text.Message) int {
	if m.Follows("insufficientmemory", 60) || m.Follows("(00000008:", 90) {
		return m.Fail(fact.Failure{Kind: fact.MetalMemory, Framework: "mlx", Backend: "metal"}, m.End)
	}
	return m.End
}

// readPrefill reads the guard of oMLX's scheduler.py; a prompt adds the peak less what is in use.
func readPrefill(m text.Message) int {
	k := m.Find(mlxPrefillPattern, 240)
	peak, used := k.Size("peak"), k.Size("used")
	if peak == nil || used == nil { // no match, or more than can be counted
		return m.End
	}
	x := fact.Failure{Kind: fact.MetalMemory, Framework: "mlx", Backend: "metal", Phase: "inference", Figures: fact.Figures{ProcessUsed: used, Limit: k.Size("limit")}}
	x.Figures.Requested = &fact.Size{Bytes: max(peak.Bytes-used.Bytes, 0), Text: peak.Text + " - " + used.Text, Line: peak.Line}
	return m.Fail(x, m.Took(k))
}
