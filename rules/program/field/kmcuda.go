package field

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
)

// KMCUDA is kmcuda, k-means on CUDA.
var KMCUDA = program.Program{
	Name: "kmcuda", Shown: "kmcuda", Work: "data", Edits: "code", Language: "python",
	Proofs:  []string{"kmcuda.cc", "libKMCUDA", "yinyang groups:", "bytes for device_bounds_yy"},
	Sources: program.Sources{"kmcuda/README.md": "yinyang_t"},
	Cards: []cause.Card{{
		ID: "kmcuda/bounds", Kinds: []fact.Kind{fact.DeviceAlloc, fact.PlainDevice, fact.PlainMemory, fact.CUDAError}, Said: []string{"device_bounds_yy"},
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "had no GPU memory for the table of its Yinyang method",
		Means: "`device_bounds_yy` is a table that the Yinyang method uses to save time: samples x groups. The log shows its size (\"failed to allocate ... bytes\"). There are `yinyang_t` x clusters groups (0.1 by default). The samples themselves may be much smaller.",
		Not:   "Ending other programs, unless `nvidia-smi` shows a large one: the table alone can take gigabytes.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Turn the Yinyang method off: `yinyang_t=0`", Told: "The table is then not created (Lloyd's method). A smaller `yinyang_t` shrinks it in proportion.", Kind: "python", Text: "centroids, assignments = libKMCUDA.kmeans_cuda(samples, clusters, yinyang_t=0)   # your own numbers", Cost: "more time per iteration"},
			{Fix: "half_precision", Title: "Use fewer clusters, or float16 samples", Told: "Half the clusters means half the groups. `samples.astype(np.float16)` halves samples and centroids.", Cost: "coarser clusters"},
			{Fix: "multi_gpu", Title: "Spread the samples over several GPUs", Told: "`device=0` uses all GPUs, any other number is a bit mask (3: the first two). Each one then holds a part of the samples and of the table.", Cost: "more GPUs"},
		},
		Sources: []string{"kmcuda/src/kmcuda.cc", "kmcuda/src/private.h", "kmcuda/README.md"},
	}},
}
