package array

import "github.com/oomdoc/oomdoc/rules/program"

// Libraries of which only who reads is known yet.
var (
	Numba = program.Program{
		Name: "numba", Shown: "Numba", Edits: "code", Language: "python", Script: "numba-script",
		Proofs: []string{"numba/cuda/", "numba.cuda."},
	}
	RAPIDS = program.Program{
		Name: "rapids", Shown: "RAPIDS", Work: "data", Edits: "code", Language: "python", Script: "rapids-script",
		Proofs: []string{"rmm/mr/", "-packages/cudf/", "dask_cuda", "-packages/rmm/", "-packages/dask_cudf/"},
	}
	Paddle = program.Program{
		Name: "paddle", Shown: "PaddlePaddle", Edits: "code", Language: "python", Script: "paddle-script",
		Proofs: []string{"paddle/fluid/", "paddle/phi/", "start PaddlePaddle on another GPU"},
	}
	Faiss = program.Program{
		Name: "faiss", Shown: "Faiss", Work: "embedding", Edits: "code", Language: "python", Script: "faiss",
		Proofs: []string{"faiss/gpu/", "-packages/faiss/", "faiss::gpu::"},
	}
	Burn = program.Program{
		Name: "burn", Shown: "Burn", Edits: "code", Language: "rust", Script: "burn",
		Proofs: []string{"cubecl-", "cubecl_", "burn-core-", "burn_core", "burn_fusion"},
	}
)
