package rest

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
)

// poolMade are calls that make a pool of RMM's; the message is the same as later.
var poolMade = []string{"initialize_allocator", "rmm.reinitialize", "rmm_pool_size", "initial_pool_size", "PoolMemoryResource(", "pool_allocator=True"}

var poolSources = []string{"rmm/cpp/src/mr/detail/pool_memory_resource_impl.cpp", "rmm/docs/user_guide/guide.md"}

// poolCards are about RMM's pool under any program, where no RAPIDS library is
// named: cupoch, CuPy's and PyTorch's allocators of RMM's.
var poolCards = []cause.Card{
	{
		ID: "figures/pool-start", Kinds: []fact.Kind{fact.RMMAlloc}, Said: poolMade, Unsaid: []string{"cudf/io", "read_parquet", "read_csv"},
		Cause: cause.Unknown, Weight: cause.Strong, Headline: "or another library could not create its memory pool on the GPU (RMM)",
		Means: "RMM, the allocator below, prints \"Maximum pool size exceeded\" for every refusal of the driver, even for its first pool. No data was on the GPU yet. Either the card has less free than the pool wants, or the driver refuses this program for another reason, such as a build for another CUDA version.",
		Not:   "Less input: the pool is created before any.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Check what is free, and end what holds it", Cost: "free", Told: "Compare your card's line with the pool size in your call (in bytes; 1000000000 is 0.93 GiB):", Kind: "shell", Text: "nvidia-smi"},
			{Fix: "lower_mem_fraction", Title: "Make the pool smaller, or use none", Cost: "somewhat slower", Ways: []cause.Way{
				{For: "cupoch", Text: "remove the line `initialize_allocator(cph.PoolAllocation, ...)`: without it each array comes from the driver"},
				{For: "RMM in Python", Text: "`rmm.reinitialize(pool_allocator=False)`; or start small with `initial_pool_size=\"256MiB\"`: a pool grows by itself"},
				{For: "Dask-CUDA", Text: "set `rmm_pool_size` to half of what is free, or leave it out"},
			}},
			{Fix: "upgrade_version", Title: "If it fails without a pool too, check the build", Cost: "half an hour", Told: "With plenty free, the build does not fit the driver then: install the one for your CUDA version, or rebuild with the RMM that it brings along."},
		},
		Sources: append([]string{"cupoch/src/cupoch/utility/device_vector.cu", "https://github.com/neka-nat/cupoch/issues/98"}, poolSources...),
	},
	{
		ID: "figures/pool-full", Kinds: []fact.Kind{fact.RMMAlloc}, Said: []string{"pool size exceeded"}, Unsaid: append([]string{"cudf/", "cudf.", "cuml", "ai.rapids", "xgboost/core.py"}, poolMade...),
		Among: own, Headline: "or another library could not enlarge its memory pool on the GPU (RMM)",
		Means: "RMM, the allocator below, prints \"Maximum pool size exceeded\" in two cases: a maximum was set and reached, or the GPU itself is full. If your code sets no maximum, the GPU is full: of this program's own arrays, or of another program's.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Find out which of them it is", Cost: "free", Told: "Watch it while the program runs. Much free: raise `maximum_pool_size`. If this program's memory climbs from step to step, it keeps results.", Kind: "shell", Text: "nvidia-smi -l 1"},
			{Fix: "detach_accumulated", Title: "If it climbs, release what is done", Cost: "none", Told: "`del` the arrays and clouds of earlier rounds, keep results as NumPy arrays, and hold no list of GPU objects."},
			{Fix: "lower_batch_size", Title: "If it is full at once, process less at a time", Cost: "slower, or less detail", Told: "Work on blocks of the data. For point clouds and volumes, use a coarser voxel size first (`voxel_down_sample`)."},
		},
		Sources: poolSources,
	},
}
