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
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Headline: "had no room for the table of bounds of its Yinyang method",
		Means: "`device_bounds_yy` is a table of samples times groups of clusters, which the Yinyang method keeps to save distances; the log gives its size (\"failed to allocate ... bytes\") and the number of groups. The groups are `yinyang_t` (0.1 unless set) times the clusters. The samples themselves may be much smaller.",
		Not:   "Another process, unless `nvidia-smi` shows one: the table alone can be gigabytes.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Switch the Yinyang method off: `yinyang_t=0`", Told: "Then the table is not made (Lloyd's method); or a smaller share of groups, which shrinks it in proportion.", Kind: "python", Text: "centroids, assignments = libKMCUDA.kmeans_cuda(samples, clusters, yinyang_t=0)   # your own numbers", Cost: "More time per iteration"},
			{Fix: "half_precision", Title: "Use fewer clusters, or float16 samples", Told: "Half the clusters is half the groups; `samples.astype(np.float16)` halves the samples and centroids.", Cost: "Coarser clusters"},
			{Fix: "multi_gpu", Title: "Spread the samples over the cards", Told: "`device=0` means all cards, otherwise a bit for each (3: the first two); each then holds a part of the samples and of the table.", Cost: "More cards"},
		},
		Sources: []string{"kmcuda/src/kmcuda.cc", "kmcuda/src/private.h", "kmcuda/README.md"},
	}},
}
