package local

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// pinnedCalls ask drivers for memory of the computer: CUDA's, HIP's, and XLA's words.
var pinnedCalls = []string{"cudaHostAlloc", "cudaMallocHost", "cudaHostRegister", "cuMemHostAlloc", "cuMemAllocHost", "cuMemHostRegister", "hipHostMalloc", "hipHostRegister", "pinned host memory", "bytes on host:"}

// HostCards are refusals of the computer's memory in words that many programs share.
// PinnedWords are the driver's own refusal to pin RAM (cuda_driver.cc,
// device_host_allocator.h, cuda_executor.cc).
var PinnedWords = []string{"bytes on host: CUDA_ERROR", "bytes on host: out of memory", "could not allocate pinned host memory", "failed to allocate host memory of size"}

var HostCards = []cause.Card{
	{
		ID: "other/pinned-by-driver", Kinds: []fact.Kind{fact.TFAlloc}, Said: PinnedWords, If: func(c *ledger.Case) bool { return c.Backend == "cpu" },
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was refused pinned system memory (RAM) by the driver",
		Means: "\"On host\" and \"pinned host memory\" are the driver's words: it could not fix a part of the RAM for copies to the card, although the message calls it out of memory of CUDA. Either RAM was full, or a limit on it was reached: of the container, of WSL, or of locked memory.",
		Not:   "A higher `TF_GPU_HOST_MEM_LIMIT_IN_MB`: the driver refused, not that limit.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "See which limit it was, and raise it", Kind: "shell", Text: "free -h; ulimit -l; cat /sys/fs/cgroup/memory.max 2>/dev/null   # where the program runs; max: no limit", Ways: []cause.Way{
				{For: "WSL", Text: "`memory=` in %UserProfile%\\.wslconfig, then `wsl --shutdown`"},
				{For: "Docker", Text: "a larger `--memory`, and `--ulimit memlock=-1`"},
			}, Cost: "A look is free"},
			{Fix: "limit_framework_preallocation", Title: "If unified memory is on, let it take less", Told: "With `TF_FORCE_UNIFIED_MEMORY=1` arrays spill into RAM, up to `XLA_PYTHON_CLIENT_MEM_FRACTION` times the card: half of today's value. Less input at a time does the same.", Cost: "Less room for large inputs"},
			{Fix: "close_other_apps", Title: "End what holds the RAM", Kind: "shell", Text: "ps -eo pid,rss,args --sort=-rss | head", Told: "Above all earlier runs of the same program.", Cost: "What you end loses its state"},
		},
		Sources: []string{"tensorflow/stream_executor/cuda/cuda_driver.cc", "tensorflow/core/common_runtime/device/device_host_allocator.h", "xla/pjrt/gpu/gpu_helpers.cc"},
	},
	{
		ID: "other/map-segment", Kinds: []fact.Kind{fact.PlainHost, fact.PlainMemory}, Said: []string{"failed to map segment from shared object", "cannot map zero-fill pages"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "could not load a library: the system refused it address space",
		Means: "The loader maps a library before anything runs, and was refused. CUDA's libraries need gigabytes of address space, not of RAM, so nearly always a limit on it is set: `ulimit -v` on a login node, a job's `vmem`, a small hosting plan or container.",
		Not:   "A smaller model or batch: nothing was loaded yet.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the limit on address space", Kind: "shell", Text: "ulimit -v; ulimit -v unlimited", Told: "A number in the first line is the limit, in KiB. On a login node start a job instead, with more memory (`--mem`, `vmem`).", Cost: "Free"},
			{Fix: "upgrade_version", Title: "Without a card: install the CPU build", Told: "`pip install torch --index-url https://download.pytorch.org/whl/cpu` has no CUDA libraries.", Cost: "No card"},
			{Fix: "close_other_apps", Title: "If no limit is set, free RAM", Kind: "shell", Text: "free -h; ps -eo pid,rss,args --sort=-rss | head", Cost: "Free"},
		},
		Sources: []string{"glibc/elf/dl-load.c", "glibc/elf/dl-map-segments.h"},
	},
	{
		ID: "other/onednn", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"could not create a memory object", "could not create a primitive"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was refused RAM in oneDNN, Intel's library for networks on the CPU",
		Means: "oneDNN makes buffers for the inputs, weights and results of a layer in system memory (RAM), and here it could not make one. The message has no size and, outside of TensorFlow, no reason: nearly always RAM is short, seldom it is a shape that this version cannot handle.",
		Not:   "Freeing the graphics card: this layer ran on the CPU.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch, the image or the length", Told: "Results of a layer grow with it. If one sample alone fails while much RAM is free, it is the shape or the version.", Cost: "Time, or detail"},
			{Fix: "close_other_apps", Title: "Look at RAM while it runs", Told: "Task Manager or `free -h`. If it climbs from call to call, results or several models are kept: free them, or restart after a number of calls.", Cost: "Free"},
			{Fix: "upgrade_version", Title: "Compute without oneDNN", Told: "TensorFlow: `TF_ENABLE_ONEDNN_OPTS=0` in the environment before it is imported; PyTorch: `torch.backends.mkldnn.enabled = False`.", Cost: "Slower"},
		},
		Sources: []string{"oneDNN/include/oneapi/dnnl/dnnl.hpp", "oneDNN/include/oneapi/dnnl/dnnl_common_types.h", "tensorflow/core/util/util.cc", "pytorch/torch/backends/mkldnn/__init__.py"},
	},
	{
		ID: "other/pinned", Kinds: []fact.Kind{fact.PlainHost, fact.PlainMemory, fact.PlainDevice}, Said: pinnedCalls,
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "was refused pinned system memory, not the card's[[: {asked}]]",
		Means: "The call that failed asks the driver for pinned memory: RAM that is kept from being swapped out, for fast copies to the card. The driver answers with the card's words, but the card is not full. Either RAM was short, or pinned memory is limited: by a container, by WSL and Windows (about half of the RAM), by `ulimit -l`.",
		Not:   "Freeing the card, or a card with more memory.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Turn pinned memory off, or take less of it", Told: "The program's option for it (pinned, host pool, host cache, offload to CPU; `pin_memory=False`). In your own code use ordinary memory (`malloc`, `np.empty`), or one small pinned buffer that is used again.", Cost: "Slower copies"},
			{Fix: "close_other_apps", Title: "Check free RAM and the limits", Kind: "shell", Text: "free -h; ulimit -l   # swap does not count for pinned memory", Told: "Offloaded weights or caches have to fit into what is available.", Cost: "Free to look"},
			{Fix: "raise_memory_limit", Title: "Raise the limit", Told: "Docker: `--ulimit memlock=-1`, and a `--memory` that holds it; WSL: `memory=` in .wslconfig, then `wsl --shutdown`.", Cost: "Less for the rest of the machine"},
		},
		Sources: []string{"https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html", "https://docs.nvidia.com/cuda/wsl-user-guide/index.html"},
	},
}
