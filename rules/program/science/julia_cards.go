package science

import "github.com/oomdoc/oomdoc/rules/cause"

// solverFrames are where OrdinaryDiffEq makes the matrices of implicit methods.
var solverFrames = []string{"build_J_W", "derivative_utils.jl", "build_jac_config", "calc_J"}

// juliaJacobian is a full Jacobian that a solver makes by itself.
var juliaJacobian = cause.Card{
	ID: "julia/jacobian", Kinds: ofRAM, Said: solverFrames, Unsaid: []string{"CUDA/src"},
	Cause: cause.OversizedAllocation, Weight: cause.Decisive,
	Headline: "was refused a full Jacobian by its ODE solver (OutOfMemoryError)",
	Means:    "The stack shows that an implicit method (Rosenbrock such as `Rodas5`, BDF, or the automatic choice) makes a dense matrix of the state's length squared: 8 bytes each, complex 16. A state of 65,536 complex numbers (16 qubits) is 1 MiB, its matrix 64 GiB, and there is more than one.",
	Not:      "Blocks or a smaller time step: the matrix depends on the length of the state alone.",
	Cures: []cause.Cure{
		{Fix: "fix_shape", Title: "Name an explicit method", Cost: "none, unless the problem is stiff", Told: "It makes no such matrix. In a package that builds the problem for you it is an option (Bloqade: `algo=`), or stands in `init`:", Kind: "config", Text: "solve(prob, Vern8())   # or Tsit5(), DP8()"},
		{Fix: "half_precision", Title: "If it is stiff: keep the matrix sparse, or make none", Cost: "some rewriting", Told: "`ODEFunction(f; jac_prototype=J)` with a sparse `J`; or `linsolve=KrylovJL_GMRES()` in the method (with `concrete_jac` unset)."},
		{Fix: "lower_batch_size", Title: "Make the state shorter", Cost: "a smaller problem", Told: "A coarser grid, fewer particles; for Rydberg atoms a blockade subspace, or one or two atoms less: each halves the state and quarters the matrix."},
	},
	Sources: []string{"OrdinaryDiffEq.jl/src/derivative_utils.jl", "https://docs.sciml.ai/DiffEqDocs/stable/tutorials/advanced_ode_example/", "https://github.com/SciML/DifferentialEquations.jl/issues/278"},
}

// juliaTable is a table that is copied while it is read.
var juliaTable = cause.Card{
	ID: "julia/table", Kinds: ofRAM, Said: []string{"CSV.File", "src/dataframe/dataframe.jl", "WeakRefStrings/", "src/other/tables.jl", "CSV.read("},
	Cause: cause.HostMemory, Weight: cause.Strong,
	Headline: "was refused an array while a table was read or copied (OutOfMemoryError)",
	Means:    "`DataFrame(x)` copies all columns of what it is given, so file and copy stand side by side for a while; text in columns takes several times its size in the file. The frames in DataFrames or CSV show it, a size does not stand there. If the file is far below the free RAM, suspect the version of the package.",
	Cures: []cause.Cure{
		{Fix: "fix_shape", Title: "Read it without the second copy, and only what you need", Cost: "none", Told: "`select` and `types` of your own columns; few different texts: `pool=true`.", Kind: "config", Text: "df = CSV.read(\"data.csv\", DataFrame; select=[:id, :value])\ndf = DataFrame(CSV.File(\"data.csv\"), copycols=false)   # older releases"},
		{Fix: "upgrade_version", Title: "Update CSV, DataFrames and what they use", Cost: "a few minutes", Told: "`using Pkg; Pkg.update()`, in a new session."},
		{Fix: "stream_dataset", Title: "Take the rows in pieces", Cost: "some rewriting", Told: "`for part in CSV.Chunks(\"data.csv\"; ntasks=16)`: reduce each to what is kept; or `CSV.Rows` row by row."},
	},
	Sources: []string{"CSV.jl/src/file.jl", "CSV.jl/src/chunks.jl", "DataFrames.jl/src/other/tables.jl"},
}
