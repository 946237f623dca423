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
		Cause: cause.Unknown, Weight: cause.Strong, Headline: "or another library could not make its first pool of graphics memory (RMM)",
		Means: "\"Maximum pool size exceeded\" says less than it seems to: RMM prints it for every refusal of the driver, a first pool too. No data was on the card yet. So either the card has less free than the first pool wants, or the driver refuses this program for another reason, such as a build for another CUDA version or card.",
		Not:   "Less input: the pool is made before any.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "See what is free, and end what holds it", Cost: "free", Told: "The line of this card, against the size in your call (bytes; 1000000000 is 0.93 GiB):", Kind: "shell", Text: "nvidia-smi"},
			{Fix: "lower_mem_fraction", Title: "Make the pool smaller, or make none", Cost: "somewhat slower", Ways: []cause.Way{
				{For: "cupoch", Text: "take the line with `initialize_allocator(cph.PoolAllocation, ...)` out: the default asks the driver for each array"},
				{For: "RMM in Python", Text: "`rmm.reinitialize(pool_allocator=False)`; or `initial_pool_size=\"256MiB\"`: a pool grows by itself"},
				{For: "Dask-CUDA", Text: "`rmm_pool_size` at half of what is free, or left out"},
			}},
			{Fix: "upgrade_version", Title: "If it fails without a pool too: build it anew", Cost: "half an hour", Told: "With plenty free, check that anything runs there (`import cupy; cupy.zeros(9)`). Then install the build for your CUDA version, or build it with the RMM that it brings along."},
		},
		Sources: append([]string{"cupoch/src/cupoch/utility/device_vector.cu", "https://github.com/neka-nat/cupoch/issues/98"}, poolSources...),
	},
	{
		ID: "figures/pool-full", Kinds: []fact.Kind{fact.RMMAlloc}, Said: []string{"pool size exceeded"}, Unsaid: append([]string{"cudf/", "cudf.", "cuml", "ai.rapids", "xgboost/core.py"}, poolMade...),
		Cause: cause.BatchTooLarge, Weight: cause.Likely, Headline: "or another library could not enlarge its pool of graphics memory (RMM)",
		Means: "RMM prints \"Maximum pool size exceeded\" both where a maximum of its own is reached and where the driver refuses more. Without a maximum in your code or configuration the card is full: with this program's own arrays, or with another's.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "See which of them it is", Cost: "free", Told: "While it runs, and just before it fails. Much free: a maximum was set (`maximum_pool_size`), raise it. If the memory of this program climbs from frame to frame, it keeps results.", Kind: "shell", Text: "nvidia-smi -l 1"},
			{Fix: "detach_accumulated", Title: "If it climbs: release what is done", Cost: "none", Told: "`del` arrays and clouds of earlier rounds, keep results as NumPy, and hold no list of them."},
			{Fix: "lower_batch_size", Title: "If it is full at once: less at a time", Cost: "slower, or less detail", Told: "Blocks of the data; for point clouds and volumes a coarser voxel size first (`voxel_down_sample`)."},
		},
		Sources: poolSources,
	},
}
