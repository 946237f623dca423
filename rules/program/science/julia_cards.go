package science

import "github.com/oomdoc/oomdoc/rules/cause"

// solverFrames are where OrdinaryDiffEq makes the matrices of implicit methods.
var solverFrames = []string{"build_J_W", "derivative_utils.jl", "build_jac_config", "calc_J"}

// juliaJacobian is a full Jacobian that a solver makes by itself.
var juliaJacobian = cause.Card{
	ID: "julia/jacobian", Kinds: ofRAM, Said: solverFrames, Unsaid: []string{"CUDA/src"},
	Cause: cause.OversizedAllocation, Weight: cause.Decisive,
	Headline: "ran out of RAM for a full Jacobian in its ODE solver",
	Means:    "The stack shows an implicit method (Rosenbrock such as `Rodas5`, BDF, or the automatic choice). It makes a dense matrix: length of the state squared, 8 bytes each (complex 16). A state of 10,000 numbers needs 0.75 GiB for it, one of 100,000 needs 75 GiB.",
	Not:      "A smaller time step: the matrix depends only on the length of the state.",
	Cures: []cause.Cure{
		{Fix: "fix_shape", Title: "If it is not stiff: name an explicit method", Told: "It makes no such matrix. A package that builds the problem for you may have an option for it (`alg=` or `algo=`).", Kind: "config", Text: "solve(prob, Vern8())   # or Tsit5(), DP8()", Cost: "none"},
		{Fix: "half_precision", Title: "If it is stiff: use a sparse Jacobian, or none", Told: "Pass `ODEFunction(f; jac_prototype=J)` with a sparse `J`. Or choose `linsolve=KrylovJL_GMRES()` in the method, without `concrete_jac`.", Cost: "some rewriting"},
		{Fix: "lower_batch_size", Title: "Make the state shorter", Told: "Use a coarser grid, fewer particles or fewer sites: half the state needs a quarter of the matrix.", Cost: "a smaller problem"},
	},
	Sources: []string{"OrdinaryDiffEq.jl/src/derivative_utils.jl", "https://docs.sciml.ai/DiffEqDocs/stable/tutorials/advanced_ode_example/", "https://github.com/SciML/DifferentialEquations.jl/issues/278"},
}

// juliaTable is a table that is copied while it is read.
var juliaTable = cause.Card{
	ID: "julia/table", Kinds: ofRAM, Said: []string{"CSV.File", "src/dataframe/dataframe.jl", "WeakRefStrings/", "src/other/tables.jl", "CSV.read("},
	Cause: cause.HostMemory, Weight: cause.Strong,
	Headline: "ran out of RAM while it read or copied a table",
	Means:    "`DataFrame(x)` copies all columns, so the file and the copy are in RAM together for a while. Text columns take several times their size in the file. If the file is far smaller than the free RAM, suspect the version of the package.",
	Cures: []cause.Cure{
		{Fix: "fix_shape", Title: "Read only what you need, without a second copy", Told: "Name your own columns. Add `pool=true` where few different texts repeat.", Kind: "config", Text: "df = CSV.read(\"data.csv\", DataFrame; select=[:id, :value])\ndf = DataFrame(CSV.File(\"data.csv\"), copycols=false)   # older releases", Cost: "none"},
		{Fix: "upgrade_version", Title: "Update CSV and DataFrames", Told: "Run `using Pkg; Pkg.update()`, then start a new session.", Cost: "a few minutes"},
		{Fix: "stream_dataset", Title: "Read the rows in parts", Told: "Loop with `for part in CSV.Chunks(\"data.csv\"; ntasks=16)` and reduce each part to what you keep. Or read row by row with `CSV.Rows`.", Cost: "some rewriting"},
	},
	Sources: []string{"CSV.jl/src/file.jl", "CSV.jl/src/chunks.jl", "DataFrames.jl/src/other/tables.jl"},
}
