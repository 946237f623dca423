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
		"lower_batch_size": step.Paste("text", "In your own loop a part of the columns at a time, each result copied back with `Array(...)`; in a demo its number of vectors, states or samples."),
		"empty_cache":      step.Paste("text", "`CuArrays.unsafe_free!(x)` once an array is done with, or `x = nothing; GC.gc()`: Julia's collector does not know how full the card is."),
		"upgrade_version":  step.Paste("text", "CUDA.jl in place of CuArrays, CUDAdrv and CUDAnative, where the package has a version for it (or CuArrays 1.5 and later): the message then says how much was wanted."),
	},
	Cards: []cause.Card{{
		ID: "cuarrays/refused", Kinds: []fact.Kind{fact.PlainDevice, fact.CUDAError, fact.DeviceAlloc, fact.PlainMemory}, If: func(c *ledger.Case) bool { return ledger.Requested(c) == 0 },
		Cause: cause.Unknown, Weight: cause.Strong, Headline: "was refused an array on the card",
		Means: "CUDAdrv passes on the driver's answer without a size. Unused blocks of its pool are freed before, so what is left is in use: by this session (the frames below the message show which operation made the array), or by another process.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "See whether the card was free", Told: "Another Julia, notebook or Python that holds it: end it, then try again in a new session.", Kind: "shell", Text: "nvidia-smi", Cost: "A look is free"},
			{Fix: "lower_batch_size", Title: "Compute on fewer columns at once", Own: true, Cost: "Slower"},
			{Fix: "empty_cache", Title: "Collect between the steps", Own: true, Cost: "A little time"},
			{Fix: "upgrade_version", Title: "Take CUDA.jl, its successor", Own: true, Cost: "Some rewriting"},
		},
		Sources: []string{"CuArrays.jl/src/memory.jl", "CUDA.jl/docs/src/usage/memory.md"},
	}},
}
