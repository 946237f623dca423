package rest

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// CuArrays is what CUDA.jl was before 2020, with CUDAdrv below it; it has its own
// CuArrays.reclaim and CuArrays.unsafe_free! (CuArrays.jl v2.2.2, src/memory.jl).
var CuArrays = program.Program{
	Name: "cuarrays", Shown: "CuArrays", Work: "science", Edits: "code", Language: "other",
	Proofs: []string{"/.julia/packages/CuArrays/", "/.julia/packages/CUDAdrv/", "/.julia/packages/CUDAnative/", "CuArrays.CuArray{"},
	Steps: map[string]func(*ledger.Case) []step.Step{
		"lower_batch_size": step.Paste("text", "In your own loop take a part of the columns at a time, and copy each result back with `Array(...)`. In a demo lower the number of vectors, states or samples."),
		"empty_cache":      step.Paste("text", "`CuArrays.unsafe_free!(x)` frees an array that you no longer need; so does `x = nothing; GC.gc()`. Julia's garbage collector does not know how full the GPU is."),
		"upgrade_version":  step.Paste("text", "Use CUDA.jl instead of CuArrays, CUDAdrv and CUDAnative, if your packages have a version for it. Its message says how much was wanted."),
	},
	Cards: []cause.Card{{
		ID: "cuarrays/refused", Kinds: []fact.Kind{fact.PlainDevice, fact.CUDAError, fact.DeviceAlloc, fact.PlainMemory}, If: func(c *ledger.Case) bool { return ledger.Requested(c) == 0 },
		Cause: cause.Unknown, Weight: cause.Strong, Headline: "ran out of GPU memory",
		Means: "The message does not say how much was wanted. CuArrays frees unused blocks before it gives up, so the GPU really was full: of this session's arrays, or of another program's. The frames below the message show which operation failed.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Check whether the GPU was free", Told: "If another Julia, notebook or Python holds it, end that, and try again in a new session.", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			{Fix: "lower_batch_size", Title: "Compute on fewer columns at once", Own: true, Cost: "slower"},
			{Fix: "empty_cache", Title: "Free arrays between the steps", Own: true, Cost: "a little time"},
			{Fix: "upgrade_version", Title: "Switch to CUDA.jl, its successor", Own: true, Cost: "some rewriting"},
		},
		Sources: []string{"CuArrays.jl/src/memory.jl", "CUDA.jl/docs/src/usage/memory.md"},
	}},
}
