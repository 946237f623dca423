package science

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
)

var matlabCards = []cause.Card{
	{
		ID: "matlab/card", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Out of memory on device"},
		Cause: cause.BatchTooLarge, Weight: 0.6,
		Means: "The card was full in this call; the message has no figures. MATLAB computes in double, eight bytes a number, and gpuArrays stay on the card as long as a variable names them. Each worker of a parallel pool has a context of its own.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Look, then reset the card", Kind: "text", Text: "`gpuDevice` shows AvailableMemory; `reset(gpuDevice)` gives back what MATLAB holds. If it is still low, another program has it (`!nvidia-smi`).", Cost: "All gpuArrays are lost"},
			{Fix: "lower_batch_size", Title: "Smaller mini-batch", Kind: "text", Text: "`trainingOptions(\"adam\", \"MiniBatchSize\", 8)`, and the same argument of `predict`.", Cost: "Slower per epoch"},
			{Fix: "half_precision", Title: "single instead of double", Kind: "text", Text: "`gpuArray(single(x))`: half the memory, and faster on most cards.", Cost: "Seven digits"},
		},
		Sources: []string{"https://www.mathworks.com/help/parallel-computing/gpudevice.html"},
	},
	{
		ID: "matlab/array-size", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"exceeds maximum array size preference"},
		Cause: cause.OversizedAllocation, Weight: 0.85,
		Means: "MATLAB refused one array of {asked} before it tried, because it is larger than the limit in the preferences (the machine's RAM). The sizes are in the line; two equal large ones are all pairs, often by implicit expansion (`a - b'`).",
		Not:   "Raising the preference: the array would be larger than RAM and swap.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Look for the expansion", Kind: "text", Text: "Check `size` of both operands in that line; use `sparse`, `pdist2` with \"Smallest\", or a loop over blocks of rows.", Cost: "Some rewriting"},
			{Fix: "half_precision", Title: "If it is meant: a smaller type", Kind: "text", Text: "`zeros(n, m, \"single\")` needs half, `uint8` an eighth.", Cost: "Digits"},
		},
		Sources: []string{"https://www.mathworks.com/help/matlab/matlab_prog/resolving-out-of-memory-errors.html"},
	},
}

var juliaCards = []cause.Card{{
	ID: "cuda.jl/pool", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Effective GPU memory usage", "Out of GPU memory trying to allocate"},
	Cause: cause.BatchTooLarge, Weight: 0.58,
	Means: "{asked} did not fit. The first percentage is the whole card, all programs together; the pool line is this Julia session. If the pool is much smaller, something else holds the card. Julia frees arrays late: its collector counts RAM alone.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Move one batch at a time", Kind: "text", Text: "`for (x, y) in DataLoader(data; batchsize=16)` with `x = cu(x)` inside the loop.", Cost: "Slower per sample"},
		{Fix: "empty_cache", Title: "Free temporaries at once", Kind: "text", Text: "`CUDA.unsafe_free!(x)` in the loop, or now and then `GC.gc(); CUDA.reclaim()`; write in place (`y .= f.(x)`).", Cost: "A little time"},
		{Fix: "kill_stale_process", Title: "See what else is on the card", Kind: "text", Text: "`nvidia-smi`; a second Julia or notebook keeps its pool until it ends.", Cost: "Free"},
	},
	Sources: []string{"CUDA.jl/src/memory.jl", "https://cuda.juliagpu.org/stable/usage/memory/"},
}}

var rCards = []cause.Card{{
	ID: "r/vector", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"cannot allocate vector of size"},
	Cause: cause.HostMemory, Weight: 0.72,
	Means: "R asked for one vector of {asked} and was refused: the last piece, beside all that the session holds. R copies when it modifies, so operations need two or three times their data. Very large ones are a dense matrix of all pairs (`dist`, `as.matrix`).",
	Cures: []cause.Cure{
		{Fix: "fix_shape", Title: "Avoid the dense matrix", Kind: "text", Text: "Keep `Matrix` sparse objects sparse, take nearest neighbours in place of `dist`, and work on blocks of rows.", Cost: "Some rewriting"},
		{Fix: "empty_cache", Title: "Remove what is not needed", Kind: "text", Text: "`sort(sapply(ls(), function(n) object.size(get(n))))`, then `rm(x); gc()`. Start with a fresh session, without .RData.", Cost: "None"},
		{Fix: "raise_memory_limit", Title: "Containers and jobs: raise the limit", Kind: "text", Text: "If R runs in a container or a batch job, its limit counts, not the machine's RAM: `ulimit -v` and the job's own memory line.", Cost: "Waiting time"},
	},
	Sources: []string{"R/src/main/memory.c"},
}}

var hashcatCards = []cause.Card{{
	ID: "hashcat/list", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Not enough allocatable device memory"},
	Cause: cause.BatchTooLarge, Weight: 0.72,
	Means: "Before it starts hashcat adds up what hashes, rules and word buffers need on this device, and it was more than is free. Hashes and rules are copied whole. On a weak integrated card it is the device's small share of memory.",
	Not:   "A smaller word list: it is read in pieces anyway.",
	Cures: []cause.Cure{
		{Fix: "close_other_apps", Title: "Free the card", Kind: "text", Text: "Close browsers and games, or run it without a desktop; `hashcat -I` shows the memory of each device.", Cost: "Free"},
		{Fix: "lower_batch_size", Title: "Split hashes or rules", Kind: "text", Text: "Two hash files one after another, a shorter `-r` file.", Cost: "More runs"},
		{Fix: "select_gpu", Title: "Leave that device out", Kind: "text", Text: "Add `-d` with the numbers of the devices to use, for instance `-d 1`.", Cost: "That device's speed"},
	},
	Sources: []string{"hashcat/src/backend.c"},
}}

var paddleCards = []cause.Card{{
	ID: "paddle/card", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Out of memory error on GPU"},
	Cause: cause.BatchTooLarge, Weight: 0.66,
	Means: "{asked} was wanted and {free} was free. \"Has been allocated\" counts this process. If that is far below the card's size, another process holds the rest. PaddleOCR sends large scans to the network whole unless their side is bounded.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Smaller batch", Kind: "text", Text: "Training: `batch_size_per_card` or `batch_size` in the YAML. PaddleOCR in use: `rec_batch_num=1` (`text_recognition_batch_size=1` since 3.0).", Cost: "Slower per sample"},
		look,
		{Fix: "lower_resolution", Title: "Bound the picture's side", Kind: "text", Text: "PaddleOCR: `det_limit_side_len=960, det_limit_type=\"max\"` (3.0: `text_det_limit_side_len`, `text_det_limit_type`).", Cost: "Small print may be missed"},
	},
	Sources: []string{"Paddle/paddle/fluid/memory/allocation/cuda_allocator.cc", "PaddleOCR/paddleocr.py"},
}}

var darknetCards = []cause.Card{{
	ID: "darknet/subdivisions", Kinds: []fact.Kind{fact.CUDAError, fact.PlainDevice}, Said: []string{"darknet:", "darknet detector"},
	Cause: cause.BatchTooLarge, Weight: 0.85,
	Means: "The images on the card at once are batch divided by subdivisions, and their activations did not fit. With `random=1` the network is enlarged now and then, so a training that ran for a while can still fail.",
	Not:   "Lowering batch below 64 alone: it harms training; subdivisions does not.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Double subdivisions", Kind: "config", Text: "[net]\nbatch=64\nsubdivisions=64   # 32 if it was 16", Cost: "Slower; the same result"},
		{Fix: "lower_resolution", Title: "A smaller network", Kind: "config", Text: "[net]\nwidth=416\nheight=416   # multiples of 32, and random=0 in each [yolo] section", Cost: "Small objects"},
		look,
	},
	Sources: []string{"darknet/README.md", "darknet/src/detector.c"},
}}

var javaCards = []cause.Card{{
	ID: "java/native", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"insufficient memory for the Java Runtime Environment"},
	Cause: cause.HostMemory, Weight: 0.85,
	Means: "This is not Java's heap being full: the system refused memory to the Java machine itself. On Windows RAM and page file together are promised away; in a container its limit is reached. A larger -Xmx makes it worse.",
	Not:   "Raising -Xmx: that is the heap, and the system has none to give.",
	Cures: []cause.Cure{
		{Fix: "lower_mem_fraction", Title: "Give Java less", Kind: "text", Text: "Lower `-Xmx` to at most half of the RAM, or of the container's limit; a game: -Xmx4G in the launcher's JVM arguments.", Cost: "A smaller heap"},
		{Fix: "raise_pagefile", Title: "On Windows: let the page file grow", Kind: "ui", Text: "Windows: Advanced system settings, Performance, Advanced, Virtual memory: automatically manage; restart", Cost: "Disk space"},
		{Fix: "close_other_apps", Title: "See what else holds memory", Kind: "text", Text: "Windows: Task Manager, Performance, Memory, \"Committed\" against its limit. Linux: `free -h`, and `ulimit -v` for a limit of the shell.", Cost: "Free"},
	},
	Sources: []string{"jdk/src/hotspot/share/utilities/vmError.cpp", "jdk/src/hotspot/os/windows/os_windows.cpp"},
}}

var buildCards = []cause.Card{
	{
		ID: "build/compilers", Kinds: []fact.Kind{fact.BuildKilled},
		Cause: cause.HostMemory, Weight: 0.92,
		Means: "A compiler was killed for the computer's own memory: one runs for every processor core, and CUDA or template-heavy files need 2 to 8 GB each. The card plays no part, and the code is not at fault.",
		Not:   "Another CUDA version or reinstalling the compiler: the kernel ended it.",
		Cures: []cause.Cure{
			{Fix: "lower_build_jobs", Title: "Compile with fewer jobs", Kind: "shell", Text: "MAX_JOBS=2 NVCC_THREADS=1 pip install flash-attn --no-build-isolation   # your own package; else make -j2, ninja -j2", Cost: "The build takes longer"},
			{Fix: "upgrade_version", Title: "Take a finished wheel", Kind: "text", Text: "Many projects publish wheels for each Python, PyTorch and CUDA version on their releases page; `pip install` the address of one.", Cost: "None"},
			{Fix: "add_swap", Title: "Add swap for the build", Kind: "shell", Text: "sudo fallocate -l 16G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile", Cost: "16 GB of disk; slow"},
		},
		Sources: []string{"flash-attention/setup.py", "flash-attention/README.md"},
	},
	{
		ID: "build/killed", Kinds: []fact.Kind{fact.ShellKilled}, Said: []string{"still running", "Building CUDA object", "Building CXX object", "ninja: build stopped"},
		Cause: cause.HostMemory, Weight: 0.84,
		Means: "The build was ended by signal 9 while it compiled: too many compilers at once for the memory, as a rule. Each needs 2 to 8 GB with CUDA code. In a container or on a CI machine the limit is theirs, not the host's.",
		Cures: []cause.Cure{
			{Fix: "lower_build_jobs", Title: "Compile with fewer jobs", Kind: "shell", Text: "MAX_JOBS=1 CMAKE_BUILD_PARALLEL_LEVEL=1 pip install flash-attn --no-build-isolation   # your own package", Cost: "The build takes longer"},
			{Fix: "upgrade_version", Title: "Take a finished wheel", Kind: "text", Text: "Look for a wheel for your Python, PyTorch and CUDA versions on the project's releases page.", Cost: "None"},
		},
		Sources: []string{"flash-attention/setup.py", "cmake/Source/cmcmd.cxx"},
	},
}
