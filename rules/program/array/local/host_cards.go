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
		ID: "other/pinned-by-driver", Kinds: []fact.Kind{fact.TFAlloc, fact.PlainHost}, Said: PinnedWords, If: func(c *ledger.Case) bool { return c.Backend == "cpu" },
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "could not get pinned system memory (RAM) from the driver",
		Means: "\"On host\" and \"pinned host memory\" mean RAM, although the message names CUDA: the driver could not lock RAM for copies to the card. Either RAM was full, or a limit was reached: the container's, WSL's, or that on locked memory.",
		Not:   "A higher `TF_GPU_HOST_MEM_LIMIT_IN_MB`: the driver refused, not that limit.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "See which limit it was, and raise it", Kind: "shell", Text: "free -h; ulimit -l; cat /sys/fs/cgroup/memory.max 2>/dev/null   # where the program runs; max: no limit", Ways: []cause.Way{
				{For: "WSL", Text: "raise `memory=` in .wslconfig in your Windows user folder, then `wsl --shutdown`"},
				{For: "Docker", Text: "a larger `--memory`, and `--ulimit memlock=-1`"},
			}, Cost: "A look is free"},
			{Fix: "limit_framework_preallocation", Title: "If unified memory is on, let it take less", Told: "With `TF_FORCE_UNIFIED_MEMORY=1`, arrays spill into RAM, up to `XLA_PYTHON_CLIENT_MEM_FRACTION` times the card. Halve that value, or use a smaller input.", Cost: "Less room for large inputs"},
			{Fix: "close_other_apps", Title: "End programs that fill the RAM", Kind: "shell", Text: "ps -eo pid,rss,args --sort=-rss | head", Told: "Look first for earlier runs of the same program.", Cost: "What you end loses its state"},
		},
		Sources: []string{"tensorflow/stream_executor/cuda/cuda_driver.cc", "tensorflow/core/common_runtime/device/device_host_allocator.h", "xla/pjrt/gpu/gpu_helpers.cc"},
	},
	{
		ID: "other/map-segment", Kinds: []fact.Kind{fact.PlainHost, fact.PlainMemory}, Said: []string{"failed to map segment from shared object", "cannot map zero-fill pages"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "could not load a library: the system refused address space",
		Means: "The system refused to map a library, before your program ran. CUDA's libraries need gigabytes of address space, not of RAM. So nearly always a limit is set: `ulimit -v` on a login node, a job's `vmem`, or a small hosting plan or container.",
		Not:   "A smaller model or batch: nothing was loaded yet.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the limit on address space", Kind: "shell", Text: "ulimit -v; ulimit -v unlimited", Told: "If the first command prints a number, that is the limit in KiB; the second lifts it. On a login node, start a job with more memory instead (`--mem`, `vmem`).", Cost: "Free"},
			{Fix: "upgrade_version", Title: "Without a GPU: install the CPU build", Told: "`pip install torch --index-url https://download.pytorch.org/whl/cpu` has no CUDA libraries.", Cost: "no GPU"},
			{Fix: "close_other_apps", Title: "If no limit is set, free RAM", Kind: "shell", Text: "free -h; ps -eo pid,rss,args --sort=-rss | head", Cost: "Free"},
		},
		Sources: []string{"glibc/elf/dl-load.c", "glibc/elf/dl-map-segments.h"},
	},
	{
		ID: "other/onednn", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"could not create a memory object", "could not create a primitive"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "could not get RAM in oneDNN, Intel's library for networks on the CPU",
		Means: "oneDNN keeps a layer's inputs, weights and results in RAM, and could not create one of them. The message has no size. Nearly always RAM is short; rarely this version cannot handle the shape.",
		Not:   "Freeing the graphics card: this layer ran on the CPU.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Halve the batch, the image or the length", Told: "A layer's memory grows with them. If one sample fails while much RAM is free, the shape or the version is the reason.", Cost: "Time, or detail"},
			{Fix: "close_other_apps", Title: "Look at RAM while it runs", Told: "Task Manager or `free -h`. If it climbs from call to call, results or several models are kept: free them, or restart now and then.", Cost: "Free"},
			{Fix: "upgrade_version", Title: "Compute without oneDNN", Told: "TensorFlow: set `TF_ENABLE_ONEDNN_OPTS=0` before the start. PyTorch: `torch.backends.mkldnn.enabled = False`.", Cost: "Slower"},
		},
		Sources: []string{"oneDNN/include/oneapi/dnnl/dnnl.hpp", "oneDNN/include/oneapi/dnnl/dnnl_common_types.h", "tensorflow/core/util/util.cc", "pytorch/torch/backends/mkldnn/__init__.py"},
	},
	{
		ID: "other/pinned", Kinds: []fact.Kind{fact.PlainHost, fact.PlainMemory, fact.PlainDevice}, Said: pinnedCalls, Unsaid: PinnedWords,
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "could not get pinned system memory (RAM)[[: {asked}]]",
		Means: "The failing call asks for pinned memory: RAM that cannot be swapped out, for fast copies to the GPU. The error sounds like a full card, but this is RAM. Either RAM was short, or pinned memory is limited: by a container, by WSL and Windows (about half of the RAM), or by `ulimit -l`.",
		Not:   "Freeing the card, or a card with more memory.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Turn pinned memory off, or take less of it", Told: "Look for the program's option (pinned memory, host cache, CPU offload, `pin_memory=False`). In your own code, use ordinary memory (`malloc`, `np.empty`) or reuse one small pinned buffer.", Cost: "Slower copies"},
			{Fix: "close_other_apps", Title: "Check free RAM and the limits", Kind: "shell", Text: "free -h; ulimit -l   # swap does not count for pinned memory", Told: "Offloaded weights or caches must fit into what is available.", Cost: "Free to look"},
			{Fix: "raise_memory_limit", Title: "Raise the limit", Told: "Docker: `--ulimit memlock=-1` and a larger `--memory`. WSL: raise `memory=` in .wslconfig, then `wsl --shutdown`.", Cost: "Less for the rest of the machine"},
		},
		Sources: []string{"https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html", "https://docs.nvidia.com/cuda/wsl-user-guide/index.html"},
	},
}
