package ram

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/torch/operation"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

const cpuAllocator = "pytorch/c10/core/impl/alloc_cpu.cpp"

// Cures of system memory.
var (
	pageFile = cause.Cure{
		Fix: "raise_pagefile", Title: "Enlarge the page file", Cost: "disk space and a restart", Kind: "ui",
		Text: "Press Windows+R and run `SystemPropertiesAdvanced`. Under Performance: Settings, Advanced, Virtual memory, Change. Choose an SSD with room, Custom size, initial 16384, maximum 65536 MB, Set. Restart.",
	}
	closeLargest = cause.Cure{
		Fix: "close_other_apps", Title: "Close the largest programs", Cost: "free",
		Told: "Task Manager, Details, column \"Commit size\" shows them. Look for browsers, games, another AI program, an old python.exe.",
	}
	lessInRAM = cause.Cure{
		Fix: "use_smaller_model", Title: "Load a smaller model, or lower the batch size", Cost: "speed, or quality",
		Told: "While a model loads: use a smaller file or 16 bit (`torch_dtype=torch.float16, low_cpu_mem_usage=True`). While it works: halve the batch size, the length or the image size, and set `num_workers=0`.",
	}
)

// nothingKept: neither growing lists nor a checkpoint copied by each process.
func nothingKept(c *ledger.Case) bool {
	return !cause.ClimbingHost(c) && !ledger.GrowsList(c) && ledger.FailedAt(c, "reading_checkpoint") == nil
}

// largeInRAM: a piece that is no last straw.
func largeInRAM(c *ledger.Case) bool { return c.Asked.Bytes >= 4*units.GiB }

// inProduct: a linear layer or a matrix product.
func inProduct(c *ledger.Case) bool { return operation.Is(operation.Projection)(c) }

// layers are the operations of a network's layers.
var layers = []operation.ID{operation.Convolution, operation.Upsampling, operation.Pointwise, operation.Recurrent, operation.Projection, operation.Attention}

// inLayer: a layer of a network runs on the processor.
func inLayer(c *ledger.Case) bool { return operation.Is(layers...)(c) }

// smallEnoughForSwap: a larger page file may carry one piece of that size.
func smallEnoughForSwap(c *ledger.Case) bool { return c.Asked.Bytes <= 24*units.GiB }

// layerFigures say what the failing line computes.
func layerFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"layer": "", "swap": "", "each": eachOf(c), "numbers": "", "text": "half the length takes a quarter of the attention scores.", "graph": "", "general": "", "reserved": ""}
	if n := squareSide(c); n > 0 {
		out["each"] = fmt.Sprintf("%s is exactly %s x %s x 4 bytes, so most likely a matrix of all pairs. Look for %s among your numbers of samples, points, nodes or pixels.", c.Asked, ledger.Thousands(n), ledger.Thousands(n), ledger.Thousands(n))
	}
	if n := ledger.Requested(c); n%1e6 == 0 && n/1e6 >= 4096 && n/1e6%125 != 0 { // not a square of round sides
		out["reserved"] = fmt.Sprintf("%s is exactly 1,000,000 x %s bytes. If that is a buffer's capacity, lower it, store images as `uint8`, and add single entries, not batches.", c.Asked, ledger.Thousands(n/1e6))
	}
	if operation.Is(operation.Creation, operation.Distances)(c) {
		out["text"], out["graph"] = "", "use a sparse matrix, which stores only the edges (`torch.sparse_coo_tensor(edge_index, weights, (n, n))`, `scipy.sparse`)."
	}
	switch ID := operation.ID(c.Operation); {
	case inProduct(c):
		out["layer"] = "The line is a matrix product: its result takes rows x outputs x 4 bytes."
	case slices.Contains([]operation.ID{operation.Convolution, operation.Upsampling, operation.Pointwise}, ID):
		out["layer"] = "The line is a layer of a network on the CPU. Its result takes batch x channels x height x width (or length) x 4 bytes: too many or too large samples at once."
	case operation.Is(operation.Concatenation)(c):
		out["layer"] = "The line joins tensors into a new one, so the parts and the result are in memory together."
	case inLayer(c):
		out["layer"] = "The line is a layer of a network on the CPU. Its result grows with batch and length, attention with the length squared."
	}
	if out["layer"] == "" && squareSide(c) == 0 {
		out["general"] = "One request of that size is usually a whole data set or video at once, all pairs of something, attention scores, or a wrong shape."
		if c.Asked.Bytes >= 4<<40 {
			out["general"] = "Hardly any machine has that much, so the size itself is probably wrong: an input that was not found or not read (an empty list of images, a damaged file), a count that was never set, or a wrong shape."
		}
	}
	if out["swaps"] = "swap"; !smallEnoughForSwap(c) {
		out["swaps"] = ""
		out["swap"] = "Swap or a page file: for " + c.Asked.String() + " in one piece they are far too slow."
	}
	if n := ledger.Requested(c); n >= units.GiB {
		out["numbers"] = fmt.Sprintf("%s is %.2f billion numbers of 4 bytes.", c.Asked, float64(n)/4e9)
	} else if n > 0 {
		out["numbers"] = fmt.Sprintf("%s is %.1f million numbers of 4 bytes, or half as many of 8 (`float64`, NumPy's default).", c.Asked, float64(n)/4e6)
	}
	return out
}

// squareSide is the side of a square matrix of 4 bytes that is exactly what was
// asked for, 0 if there is none.
func squareSide(c *ledger.Case) int64 {
	numbers := ledger.Requested(c) / 4
	side := int64(math.Sqrt(float64(numbers)) + 0.5)
	if side < 10_000 || side*side != numbers || ledger.Requested(c)%4 != 0 || side&(side-1) == 0 {
		return 0
	}
	return side
}

// eachOf says what a loop that the log shows finished has to do with the bytes:
// all of its samples go into one tensor.
func eachOf(c *ledger.Case) string {
	asked := ledger.Requested(c)
	for _, x := range c.Facts.Facts {
		if x.Name != "counted" || x.Line > c.Failure.Line {
			continue
		}
		n := int64(x.Count.Value)
		if each := asked / n; asked%n == 0 && each%4 == 0 && each >= 64*1024 {
			return fmt.Sprintf("%s is exactly %s x %s, so probably all %s items that the log counts, in one call.", c.Asked, ledger.Thousands(n), units.Amount(each), ledger.Thousands(n))
		}
	}
	return ""
}

// saysWindows: the wording of PyTorch's allocator there. THGeneral.c, until 1.1,
// says the same on Linux.
func saysWindows(c *ledger.Case) bool {
	return reader.OnWindows(c) || c.Contains("not enough memory") && c.Reader.OS != "linux" && !c.Contains("buy new ram")
}

// RefusedCards are the CPU allocator's refusals.
var RefusedCards = []cause.Card{
	{
		ID: "pytorch/cpu-conversion", Kinds: []fact.Kind{fact.CPUAlloc}, If: when.All(when.Root(fact.CPUAlloc), operation.Is(operation.Conversion), func(c *ledger.Case) bool { return c.Asked.Bytes >= 256*units.MiB }),
		Headline: "ran out of system memory (RAM) while converting or copying an array of {asked}",
		Means:    "The line creates a new tensor from an array in RAM. The original stays beside it, and a change of type makes another copy. {numbers}[[ {each}]]",
		Not:      "[[{swap}]]", Figures: layerFigures,
		Cures: []cause.Cure{
			{Fix: "lower_resolution", If: wholeVideo, Title: "Take a shorter piece of the video, or use smaller frames", Cost: "you have to join the parts; or detail", Told: "Half the length takes half the memory, half the width and height a quarter. This cuts a video into parts of about 20 seconds:", Kind: "shell", Text: "ffmpeg -i VIDEO -c copy -f segment -segment_time 20 -reset_timestamps 1 part%02d.mp4"},
			{Fix: "stream_dataset", If: when.Not(wholeVideo), Title: "Convert one sample at a time instead of the whole array", Cost: "a few lines", Told: "`torch.from_numpy` shares the array instead of copying it. Create arrays as float32, not float64.", Kind: "python", Text: "x = torch.from_numpy(array)    # the array's own memory; torch.tensor and FloatTensor copy\n# in the data set's __getitem__:  return x[i].float()"},
			{Fix: "lower_resolution", If: when.Not(smallEnoughForSwap), Title: "Use less of the data, or keep it on disk", Cost: "detail, or slower reading", Told: "Use fewer samples or frames, or a lower resolution. On disk: fill `np.lib.format.open_memmap(path, mode=\"w+\", dtype=np.float16, shape=shape)` in parts, and read it with `np.load(path, mmap_mode=\"r\")`."},
			{Fix: "raise_pagefile", If: when.All(saysWindows, smallEnoughForSwap), Title: "Enlarge the page file", Cost: "slow while in use; a restart", Told: "Windows+R, `SystemPropertiesAdvanced`, Performance: Settings, Advanced, Virtual memory, Change. Windows hands out at most RAM plus page file."},
			{Fix: "raise_memory_limit", If: when.Not(saysWindows), Title: "Check RAM and limits (free -h, ulimit -v)", Cost: "free", Told: "If little RAM is available, delete earlier copies (`del`), close the largest programs, or add RAM[[ or {swaps}]]. If much is available, a limit was reached: `ulimit -v`, strict overcommit, or a container's.", Kind: "shell", Text: "free -h; ulimit -v; sysctl vm.overcommit_memory; ps aux --sort=-rss | head -5"},
			{Fix: "fix_shape", Title: "Print the shape, if you expect a smaller array", Cost: "a minute", Kind: "python", Text: "print(array.shape, array.dtype, array.nbytes / 2**30, \"GiB\")   # array: what goes into that line"},
		},
		Sources: []string{cpuAllocator, "https://docs.pytorch.org/docs/stable/generated/torch.from_numpy.html", "https://docs.pytorch.org/docs/stable/generated/torch.tensor.html"},
	},
	{
		ID: "pytorch/cpu-large-piece", Kinds: []fact.Kind{fact.CPUAlloc}, If: when.All(when.Root(fact.CPUAlloc), largeInRAM),
		Headline: "ran out of system memory (RAM): one tensor needs {asked}",
		Means:    "The program asked for {asked} at once, in system RAM, not on the GPU.[[ {each}]][[ {layer}]][[ {general}]]",
		Not:      "Freeing GPU memory: system RAM is what ran out.[[ {swap}]]", Figures: layerFigures,
		Cures: []cause.Cure{
			{Fix: "stream_dataset", If: func(c *ledger.Case) bool { return c.Asked.Bytes >= 4<<40 && !inLayer(c) }, Title: "Check that the input was found and read", Cost: "a minute", Told: "Check the paths in the config, and how many files were read and their sizes; lines before the failure often count them. Paths made on another computer are a usual reason."},
			{Fix: "fix_shape", If: inProduct, Title: "Print the shapes", Cost: "a minute", Told: "If the printed size is about {asked}, lower the batch size or the length. If it is far smaller, the CPU kernel is at fault (old PyTorch releases with 16 bit): compute that layer in float32, or update.", Kind: "python", Text: "print(x.shape, x.dtype, weight.shape)   # of that line\nprint(x.numel() // x.shape[-1] * weight.shape[0] * 4 / 2**30, \"GiB\")"},
			{Fix: "lower_batch_size", If: when.All(inLayer, when.Not(inProduct)), Title: "Pass fewer or smaller samples in one call", Cost: "slower, or some lines of code", Told: "Lower the batch size; half the width and height takes a quarter. If a whole data set goes in, pass slices through the whole network and keep only the small results:", Kind: "python", Text: "with torch.no_grad():          # keeps nothing for the backward pass\n    results = [net(part).argmax(1) for part in x.split(16)]   # net: the whole network; x: what goes into it; argmax: or what you need of it"},
			{Fix: "stream_dataset", If: operation.Is(operation.Concatenation), Title: "Fill one array instead of joining a list", Cost: "some lines of code", Told: "Then only the result is in memory, not the parts as well; on disk it needs hardly any RAM. `float16` halves it.", Kind: "python", Text: "out = np.lib.format.open_memmap(\"out.npy\", mode=\"w+\", dtype=np.float32, shape=(rows, width))   # or torch.empty(rows, width)\nout[i:i + len(part)] = part   # in the loop, instead of a list's append"},
			{Fix: "lower_batch_size", If: when.Not(when.Any(when.All(inLayer, when.Not(inProduct)), operation.Is(operation.Concatenation), func(c *ledger.Case) bool { return c.Asked.Bytes >= 1<<40 })), Title: "Process the input in smaller parts", Cost: "slower, or some lines of code", Ways: []cause.Way{{For: fix.Pictures, Text: "half the width and height, fewer frames, or tiles."}, {For: "Rows of a table or a graph", Text: "loop over blocks and keep only what you need of each."}, {For: "A replay memory or cache", Text: "{reserved}"}, {For: "Text", Text: "{text}"}, {For: "A graph's nodes", Text: "{graph}"}}},
			{Fix: "raise_pagefile", Title: "Enlarge the page file", If: when.All(saysWindows, smallEnoughForSwap), Cost: "slow while in use; a restart", Told: "Windows+R, `SystemPropertiesAdvanced`, Performance: Settings, Advanced, Virtual memory, Change: twice the RAM, on an SSD. Windows hands out at most RAM plus page file."},
			{Fix: "half_precision", If: when.All(when.Not(inLayer), when.Not(operation.Is(operation.Concatenation)), func(c *ledger.Case) bool { return c.Asked.Bytes < 1<<40 }), Title: "Use a smaller number type", Cost: "rounding", Told: "`float32` takes half of `float64`, `bfloat16` a quarter. Keep masks as `bool`, and images as `uint8` until you compute a batch."},
			{Fix: "upgrade_version", If: inProduct, Title: "Update PyTorch", Cost: "some minutes", Told: "If the printed size is far below {asked}, install a newer release in a new environment."},
			{Fix: "fix_shape", If: when.Not(inProduct), Title: "Print the shapes, if you expect a smaller tensor", Cost: "some minutes", Told: "The product of a shape times 4 bytes should be about {asked}. If a length or count is larger than you expect, correct that."},
			{Fix: "add_swap", Title: "Add swap", If: when.All(when.Not(saysWindows), smallEnoughForSwap), Cost: "very slow while in use", Told: "Add at least {asked}."},
		},
		Sources: []string{cpuAllocator},
	},
	{
		ID: "pytorch/cpu-windows-data", Kinds: []fact.Kind{fact.CPUAlloc}, Said: []string{"in __getitem__", "torchvision/transforms"}, If: when.All(when.Root(fact.CPUAlloc), func(c *ledger.Case) bool {
			return (reader.OnWindows(c) || c.Contains("not enough memory")) && c.Asked.Bytes > 0 && c.Asked.Bytes < 256*units.MiB
		}),
		Headline: "ran out of system memory (RAM) while reading a sample: even {asked} was not available",
		Means:    "It failed in the data set's code, on the CPU. {asked} is small, so RAM and page file were nearly full already. Usual reasons: DataLoader workers (on Windows each has its own copy of the data set), samples or losses that pile up, very large images, or other programs.",
		Not:      "`PYTORCH_CUDA_ALLOC_CONF`, or freeing GPU memory: system RAM is what ran out.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Use no DataLoader workers (num_workers=0)", Told: "If that runs, try 2. If it still fails later, something piles up.", Kind: "python", Text: "num_workers=0   # in your DataLoader; without persistent_workers and prefetch_factor", Cost: "Data may come slower"},
			{Fix: "detach_accumulated", Title: "If memory keeps growing: keep no tensors and images", Told: "Use `total += loss.item()` instead of `loss`. Keep paths instead of images in the data set, and open files with `with Image.open(path) as image:`.", Cost: "Free"},
			{Fix: "raise_pagefile", Title: "Close the largest programs, enlarge the page file", Told: "Page file: Windows+R, `SystemPropertiesAdvanced`, Performance: Settings, Advanced, Virtual memory, Change: maximum 65536 MB on an SSD; restart. Task Manager, Details, \"Commit size\" shows the largest programs.", Cost: "Disk space and a restart"},
		},
		Sources: []string{cpuAllocator, "https://docs.pytorch.org/docs/stable/data.html"},
	},
	{
		ID: "pytorch/cpu-windows", Kinds: []fact.Kind{fact.CPUAlloc}, If: when.All(when.Root(fact.CPUAlloc), saysWindows),
		Headline: "ran out of system memory (RAM and page file)",
		Means:    "System memory ran out, not GPU memory. Windows hands out at most RAM plus page file, and also counts memory that is reserved but unused, so RAM may look free. {asked} is only the last request.",
		Not:      "`PYTORCH_CUDA_ALLOC_CONF`: it only affects GPU memory.",
		Cures:    []cause.Cure{pageFile, closeLargest, lessInRAM},
		Sources:  []string{cpuAllocator, "https://learn.microsoft.com/en-us/windows/win32/memory/page-state"},
	},
	{
		ID: "pytorch/cpu-ranks", Kinds: []fact.Kind{fact.CPUAlloc}, Said: []string{"closing signal SIGTERM", "torch.distributed.elastic", "Setting ds_accelerator", "deepspeed.launcher.launch"}, Unsaid: []string{"in __getitem__"}, If: when.All(when.Root(fact.CPUAlloc), nothingKept, when.Not(largeInRAM), when.Not(saysWindows)), Figures: hostFigures,
		Headline: "ran out of system memory (RAM) in a job with several processes",
		Means:    "System RAM ran out or a limit was reached, not GPU memory; {asked} is only the last request. If every process (rank) first loads the whole model, the machine needs the weights times the number of ranks. 70 billion parameters in 16 bit take 130 GiB each.",
		Not:      "A smaller batch: it saves GPU memory. DeepSpeed's CPU offload: it takes more RAM.",
		Cures: []cause.Cure{
			{Fix: "shard_training", Title: "Split the weights while they load", Cost: "none", Told: "DeepSpeed ZeRO-3 with transformers: create `TrainingArguments` before `from_pretrained`, and pass no `device_map` or `low_cpu_mem_usage`. FSDP: `fsdp_cpu_ram_efficient_loading: true` in accelerate's config. Load in 16 bit, not 32."},
			{Fix: "lower_num_workers", Title: "Test with fewer processes on this machine", Cost: "slower", Told: "If half as many run (`torchrun --nproc_per_node 4` or `deepspeed --num_gpus 4` instead of 8), RAM is too small. `watch free -h` shows it fill up. `num_workers=0` in the DataLoaders saves some too."},
			{Fix: "raise_memory_limit", Title: "Check RAM and limits, and raise what is too low", Cost: "free", Told: "`ulimit -v` should print unlimited. In a container, `/sys/fs/cgroup/memory.max` shows its limit.", Kind: "shell", Text: "free -h; ulimit -v; sysctl vm.overcommit_memory"},
		},
		Sources: []string{cpuAllocator, "https://huggingface.co/docs/transformers/deepspeed", "https://huggingface.co/docs/accelerate/usage_guides/fsdp", "https://github.com/QwenLM/Qwen/issues/852"},
	},
	{
		ID: "pytorch/cpu-refused", Kinds: []fact.Kind{fact.CPUAlloc}, If: when.All(when.Root(fact.CPUAlloc), nothingKept), Figures: hostFigures,
		Headline: "ran out of system memory (RAM): {asked} more was not available",
		Means:    "This is system RAM, not GPU memory. RAM and swap are full, or a limit was reached: `ulimit -v`, strict overcommit, a job's limit. {asked} is only the last request.[[ The table shows {left} available, but it may be from after the crash.]]",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Check RAM and limits, and raise what is too low", Cost: "with too little RAM the kernel then kills the program", Told: "Run this in the shell or job that starts the program. `ulimit -v` should print unlimited, overcommit_memory 0 or 1.", Kind: "shell", Text: "ulimit -v; sysctl vm.overcommit_memory; free -h\nulimit -v unlimited"},
			{Fix: "add_swap", Title: "Add swap, if `free -h` shows full RAM while it runs", Cost: "16 GB of disk; slow while in use", Kind: "shell", Text: "sudo fallocate -l 16G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile"},
			lessInRAM,
		},
		Sources: []string{cpuAllocator, "https://www.kernel.org/doc/Documentation/vm/overcommit-accounting"},
	},
}

// wholeVideo: the failing lines are about the frames of a video.
func wholeVideo(c *ledger.Case) bool {
	return slices.ContainsFunc(ledger.Trace(c), func(f fact.Code) bool {
		return f.Own && (strings.Contains(f.Source, "frames") || strings.Contains(f.Source, "video"))
	})
}

// hostFigures are what a table of the log shows of RAM.
func hostFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"left": ""}
	if x, ok := c.Fact("mem_available"); ok && x.Size != nil {
		out["left"] = units.Amount(x.Size.Bytes)
	}
	return out
}
