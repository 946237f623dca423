package rest

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// juliaCards are about the driver's code where CUDA.jl asked for nothing.
var juliaCards = []cause.Card{
	{
		ID: "figures/julia-call", Kinds: []fact.Kind{fact.PlainDevice, fact.CUDAError, fact.DeviceAlloc, fact.PlainMemory}, Said: []string{"throw_api_error"}, If: func(c *ledger.Case) bool { return c.In("cuda.jl") && ledger.Requested(c) == 0 }, Figures: juliaFigures,
		Cause: cause.Unknown, Weight: cause.Strong, Headline: "ran out of GPU memory in a driver call",
		Means: "When CUDA.jl fails to allocate an array, it says how much it wanted. This error came from another call to the driver, so the GPU was already full, or an earlier failure of this session still has effect. In that case `GC.gc()` and `CUDA.reclaim()` fail too.[[ {wide}]]",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Start a new Julia session, and run only this step", Cost: "its variables are lost", Told: "If it works now, arrays of earlier steps had filled the card. `CUDA.pool_status()` shows what the session holds."},
			{Fix: "half_precision", If: widened, Title: "Keep the numbers small in the broadcast", Cost: "none", Told: "Write `Int32(1)`, `UInt8(1)` or `1f0` instead of `1`, and store into an array of that type."},
			{Fix: "lower_batch_size", Title: "Compute on blocks of columns", Cost: "some rewriting", Told: "Loop with `for j in Iterators.partition(axes(x, 2), 1024)`. Copy each result back with `Array(...)`, then free it with `CUDA.unsafe_free!`."},
		},
		Sources: []string{"CUDA.jl/CUDACore/lib/cudadrv/libcuda.jl", "CUDA.jl/CUDACore/src/memory.jl"},
	},
}

// widened: a broadcast makes 64-bit numbers of truth values.
func widened(c *ledger.Case) bool {
	return c.Near("CuArray{Bool") && c.Near("CuArray{Int64")
}

func juliaFigures(c *ledger.Case) map[string]string {
	if widened(c) {
		return map[string]string{"wide": "The trace shows a broadcast from `Bool` to `Int64`: 8 bytes in place of 1 for each."}
	}
	return map[string]string{"wide": ""}
}
