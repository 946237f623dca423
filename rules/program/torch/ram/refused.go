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
		Text: "Press Windows+R, run `SystemPropertiesAdvanced`; Performance, Settings, Advanced, Virtual memory, Change: custom size, initial 16384, maximum 65536 MB, on an SSD with room; restart.",
	}
	closeLargest = cause.Cure{
		Fix: "close_other_apps", Title: "Close the largest programs", Cost: "free",
		Told: "Task Manager, Details, column \"Commit size\" shows them: browsers, games, a second AI program, an old python.exe.",
	}
	lessInRAM = cause.Cure{
		Fix: "use_smaller_model", Title: "Load a smaller model, or lower the batch size", Cost: "speed, or quality",
		Told: "Half the batch, the length or the image (half the width and height is a quarter), on fewer loader workers (`num_workers=0`). A model that is being loaded: a smaller file of it, or 16 bit (`torch_dtype=torch.float16`, `low_cpu_mem_usage=True`).",
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
	out := map[string]string{"layer": "", "swap": "", "each": eachOf(c), "numbers": "", "text": "half the length: attention scores fall to a quarter.", "graph": "", "general": ""}
	if n := squareSide(c); n > 0 {
		out["each"] = fmt.Sprintf("%s is exactly %s x %s x 4 bytes: most likely a matrix of all pairs. Look for %s among your numbers of samples, points, nodes or pixels.", c.Asked, ledger.Thousands(n), ledger.Thousands(n), ledger.Thousands(n))
	}
	if operation.Is(operation.Creation, operation.Distances)(c) {
		out["text"], out["graph"] = "", "use a sparse matrix, which stores edges only (`torch.sparse_coo_tensor(edge_index, weights, (n, n))`, `scipy.sparse`)."
	}
	switch ID := operation.ID(c.Operation); {
	case inProduct(c):
		out["layer"] = "The line is a matrix product: rows x outputs x 4 bytes. The rows are the product of all sizes of the input but the last."
	case slices.Contains([]operation.ID{operation.Convolution, operation.Upsampling, operation.Pointwise}, ID):
		out["layer"] = "The line is a layer of a network on the CPU. Its result is batch x channels x height x width (or length) x 4 bytes: too many or too large samples go in at once."
	case operation.Is(operation.Concatenation)(c):
		out["layer"] = "The line joins pieces, such as the results of all batches, into a new tensor; pieces and result are in memory together."
	case inLayer(c):
		out["layer"] = "The line is a layer of a network on the CPU. Its result grows with the batch and the length, attention with the length squared."
	}
	if out["layer"] == "" && squareSide(c) == 0 {
		out["general"] = "A single piece of that size is usually the result of one operation over a whole input: all pairs of something, attention scores, a whole data set or video at once, or a wrong shape."
	}
	if !smallEnoughForSwap(c) {
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
			return fmt.Sprintf("%s is exactly %s x %s: the %s items that a loop above counts, all in one call.", c.Asked, ledger.Thousands(n), units.Amount(each), ledger.Thousands(n))
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
		Headline: "asked for {asked} of system memory (RAM) to convert or copy an array",
		Means:    "The line makes a new tensor from an array in system memory. The source stays beside it, and a change of type makes one more copy. {numbers}[[ {each}]]",
		Not:      "[[{swap}]]", Figures: layerFigures,
		Cures: []cause.Cure{
			{Fix: "lower_resolution", If: wholeVideo, Title: "Take a shorter piece of the video, or smaller frames", Cost: "the pieces have to be joined; or detail", Told: "All frames go into one tensor: half the length takes half of it, half the width and height a quarter, before what comes next needs its own. This cuts a video into pieces of about 20 seconds; an option of the program's for the size of frames does the other.", Kind: "shell", Text: "ffmpeg -i VIDEO -c copy -f segment -segment_time 20 -reset_timestamps 1 part%02d.mp4"},
			{Fix: "stream_dataset", If: when.Not(wholeVideo), Title: "Convert one sample at a time instead of the whole array", Cost: "a few lines", Told: "`torch.from_numpy` shares the array instead of copying it. If the array is float64, make it as float32.", Kind: "python", Text: "x = torch.from_numpy(array)    # the array's own memory; torch.tensor and FloatTensor copy\n# in the data set's __getitem__:  return x[i].float()"},
			{Fix: "lower_resolution", If: when.Not(smallEnoughForSwap), Title: "Use less of the data, or keep it on disk", Cost: "detail, or slower reading", Told: "Use fewer samples or frames, a lower resolution, or a part of the rows. On disk: fill `np.lib.format.open_memmap(path, mode=\"w+\", dtype=np.float16, shape=shape)` in pieces and read it with `np.load(path, mmap_mode=\"r\")`."},
			{Fix: "raise_pagefile", If: when.All(saysWindows, smallEnoughForSwap), Title: "Enlarge the page file", Cost: "slow while it is used; a restart", Told: "Windows gives out at most RAM plus page file: `SystemPropertiesAdvanced` (Windows+R), Performance, Settings, Advanced, Virtual memory."},
			{Fix: "raise_memory_limit", If: when.Not(saysWindows), Title: "Check RAM and limits (free -h, ulimit -v)", Cost: "free", Told: "If much is available, a limit refused: `ulimit -v`, strict overcommit, the container's or job's. If little is, release earlier copies (`del`), close the largest programs, or add RAM or swap.", Kind: "shell", Text: "free -h; ulimit -v; sysctl vm.overcommit_memory; ps aux --sort=-rss | head -5"},
			{Fix: "fix_shape", Title: "Print the shape, if you expect a smaller array", Cost: "a minute", Kind: "python", Text: "print(array.shape, array.dtype, array.nbytes / 2**30, \"GiB\")   # array: what goes into that line"},
		},
		Sources: []string{cpuAllocator, "https://docs.pytorch.org/docs/stable/generated/torch.from_numpy.html", "https://docs.pytorch.org/docs/stable/generated/torch.tensor.html"},
	},
	{
		ID: "pytorch/cpu-large-piece", Kinds: []fact.Kind{fact.CPUAlloc}, If: when.All(when.Root(fact.CPUAlloc), largeInRAM),
		Headline: "asked for {asked} of system memory (RAM) in one piece",
		Means:    "It wanted one tensor of {asked} in system memory, not on the graphics card.[[ {each}]][[ {layer}]][[ {general}]]",
		Not:      "Freeing the graphics card: system memory was refused.[[ {swap}]]", Figures: layerFigures,
		Cures: []cause.Cure{
			{Fix: "fix_shape", If: inProduct, Title: "Print the shapes", Cost: "a minute", Told: "The result should take about {asked}. If it needs far less, the CPU kernel is at fault, which old PyTorch releases have for 16 bit: compute that layer in float32, or update. Otherwise lower the batch size or the length.", Kind: "python", Text: "print(x.shape, x.dtype, weight.shape)   # of that line\nprint(x.numel() // x.shape[-1] * weight.shape[0] * 4 / 2**30, \"GiB\")"},
			{Fix: "lower_batch_size", If: when.All(inLayer, when.Not(inProduct)), Title: "Pass fewer or smaller samples in one call", Cost: "slower, or some lines of code", Told: "Lower the batch size; half the width and height needs a quarter. Where a whole data set goes in, take slices of it through ALL layers, and keep only the small result of each; all parts of this one layer together would be {asked} again:", Kind: "python", Text: "with torch.no_grad():          # keeps nothing for the backward pass\n    results = [net(part).argmax(1) for part in x.split(16)]   # net: the whole network; x: what goes into it; argmax: or what you need of it"},
			{Fix: "stream_dataset", If: operation.Is(operation.Concatenation), Title: "Fill one array instead of joining a list", Cost: "some lines of code", Told: "Then only the result is in memory, not the pieces too; on disk it needs hardly any. `float16` halves it.", Kind: "python", Text: "out = np.lib.format.open_memmap(\"out.npy\", mode=\"w+\", dtype=np.float32, shape=(rows, width))   # or torch.empty(rows, width)\nout[i:i + len(part)] = part   # in the loop, instead of a list's append"},
			{Fix: "lower_batch_size", If: when.Not(when.Any(when.All(inLayer, when.Not(inProduct)), operation.Is(operation.Concatenation), func(c *ledger.Case) bool { return c.Asked.Bytes >= 1<<40 })), Title: "Process the input in smaller parts", Cost: "slower, or some lines of code", Ways: []cause.Way{{For: fix.Pictures, Text: "half the width and height, fewer frames, or tiles."}, {For: "Rows of a table or a graph", Text: "loop over blocks, keep only what is needed of each."}, {For: "Text", Text: "{text}"}, {For: "A graph's nodes", Text: "{graph}"}}},
			{Fix: "raise_pagefile", Title: "Enlarge the page file", If: when.All(saysWindows, smallEnoughForSwap), Cost: "slow while it is used; a restart", Told: "Windows gives out at most RAM plus page file. `SystemPropertiesAdvanced` (Windows+R), Performance, Settings, Advanced, Virtual memory: system managed, or twice the RAM, on an SSD."},
			{Fix: "half_precision", If: when.All(when.Not(inLayer), when.Not(operation.Is(operation.Concatenation))), Title: "Use a smaller number type", Cost: "rounding", Told: "`float32` instead of `float64` is half, `bfloat16` a quarter; masks as `bool`, images as `uint8` until a batch is computed."},
			{Fix: "upgrade_version", If: inProduct, Title: "Update PyTorch", Cost: "some minutes", Told: "If the printed size is far below {asked}: a newer release in a new environment."},
			{Fix: "fix_shape", If: when.Not(inProduct), Title: "Print the shapes, if you expect a smaller tensor", Cost: "some minutes", Told: "Their product times 4 bytes should be about {asked}. If a length or count is larger than you expect, correct that."},
			{Fix: "add_swap", Title: "Add swap", If: when.All(when.Not(saysWindows), smallEnoughForSwap), Cost: "very slow while it is used", Told: "Add at least {asked}."},
		},
		Sources: []string{cpuAllocator},
	},
	{
		ID: "pytorch/cpu-windows-data", Kinds: []fact.Kind{fact.CPUAlloc}, Said: []string{"in __getitem__", "torchvision/transforms"}, If: when.All(when.Root(fact.CPUAlloc), func(c *ledger.Case) bool {
			return (reader.OnWindows(c) || c.Contains("not enough memory")) && c.Asked.Bytes > 0 && c.Asked.Bytes < 256*units.MiB
		}),
		Headline: "ran out of system memory (RAM) while it read a sample: even {asked} was refused",
		Means:    "It failed in the data set's code, on the CPU. {asked} is small, so RAM and page file were nearly full before. Usual reasons: loader workers, each a whole process with its own copy of the data set on Windows; samples that the data set or the loop keeps; images that are opened at full size; other programs.",
		Not:      "`PYTORCH_CUDA_ALLOC_CONF`, or freeing the graphics card: system memory was refused.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Use no loader workers (num_workers=0)", Told: "If that runs, try 2. If it fails later too, memory grows.", Kind: "python", Text: "num_workers=0   # in your DataLoader; without persistent_workers and prefetch_factor", Cost: "Data may come slower"},
			{Fix: "detach_accumulated", Title: "Keep no tensors and images, if memory grows", Told: "Use `total += loss.item()` instead of `loss`, keep paths instead of images in the data set, and open files by `with Image.open(path) as image:`. In Task Manager memory should stay level after the first epoch.", Cost: "Free"},
			{Fix: "raise_pagefile", Title: "Close the largest programs, enlarge the page file", Told: "Task Manager, Details, \"Commit size\"; then `SystemPropertiesAdvanced` (Windows+R), Performance, Settings, Advanced, Virtual memory: maximum 65536 MB on an SSD, restart.", Cost: "Disk space and a restart"},
		},
		Sources: []string{cpuAllocator, "https://docs.pytorch.org/docs/stable/data.html"},
	},
	{
		ID: "pytorch/cpu-windows", Kinds: []fact.Kind{fact.CPUAlloc}, If: when.All(when.Root(fact.CPUAlloc), saysWindows),
		Headline: "ran out of system memory (RAM and page file)",
		Means:    "System memory was refused, not the graphics card's. Windows gives out at most RAM plus page file, and counts what is reserved even if it is never used, so RAM may look free. {asked} is only the piece that was refused.",
		Not:      "`PYTORCH_CUDA_ALLOC_CONF`: it is about the graphics card.",
		Cures:    []cause.Cure{pageFile, closeLargest, lessInRAM},
		Sources:  []string{cpuAllocator, "https://learn.microsoft.com/en-us/windows/win32/memory/page-state"},
	},
	{
		ID: "pytorch/cpu-ranks", Kinds: []fact.Kind{fact.CPUAlloc}, Said: []string{"closing signal SIGTERM", "torch.distributed.elastic", "Setting ds_accelerator"}, Unsaid: []string{"in __getitem__"}, If: when.All(when.Root(fact.CPUAlloc), nothingKept, when.Not(largeInRAM), when.Not(saysWindows)), Figures: hostFigures,
		Headline: "was refused {asked} of system memory (RAM) in a job of several ranks",
		Means:    "RAM and swap are used up, or a limit forbids more; {asked} is only the piece that was refused. Each rank is a process with its own RAM: where every one of them loads the whole model before it is split or moved to its card, the machine needs the weights times the ranks (70 billion parameters: 130 GiB each in 16 bit). It is not the graphics cards' memory.",
		Not:      "A smaller batch, DeepSpeed's offload to the CPU: the one is on the cards, the other takes more RAM.",
		Cures: []cause.Cure{
			{Fix: "shard_training", Title: "Let the weights be split while they load", Cost: "none", Told: "DeepSpeed ZeRO-3 with transformers does, if the `TrainingArguments` (or `HfDeepSpeedConfig`) exist before `from_pretrained` and no `device_map` or `low_cpu_mem_usage` is given; FSDP: `cpu_ram_efficient_loading: true` in accelerate's config. Load in 16 bit, not 32."},
			{Fix: "lower_num_workers", Title: "Start fewer ranks on this machine, to be sure", Cost: "slower", Told: "If half of them run (`torchrun --nproc_per_node 4`), RAM is what is short; `watch free -h` while it loads shows it fill up. `num_workers=0` of the data loaders leaves some more."},
			{Fix: "raise_memory_limit", Title: "Check RAM and limits, and raise what is short", Cost: "free", Told: "`ulimit -v` should print unlimited, in a container `/sys/fs/cgroup/memory.max` the machine's RAM.", Kind: "shell", Text: "free -h; ulimit -v; sysctl vm.overcommit_memory"},
		},
		Sources: []string{cpuAllocator, "https://huggingface.co/docs/transformers/deepspeed", "https://huggingface.co/docs/accelerate/usage_guides/fsdp", "https://github.com/QwenLM/Qwen/issues/852"},
	},
	{
		ID: "pytorch/cpu-refused", Kinds: []fact.Kind{fact.CPUAlloc}, If: when.All(when.Root(fact.CPUAlloc), nothingKept), Figures: hostFigures,
		Headline: "was refused {asked} of system memory (RAM)",
		Means:    "RAM and swap are used up, or a limit forbids more: `ulimit -v`, strict overcommit, a job's limit on address space.[[ The {left} available in the table may be from after the end, when memory had been returned.]] {asked} is only the piece that was refused. It is system memory, not the graphics card's.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Check RAM and limits, and raise what is short", Cost: "a real shortage then ends in a kill", Told: "In the shell or job that starts the program: `ulimit -v` should print unlimited, overcommit_memory 0 or 1.", Kind: "shell", Text: "ulimit -v; sysctl vm.overcommit_memory; free -h\nulimit -v unlimited"},
			{Fix: "add_swap", Title: "Add swap, if `free -h` shows full RAM while it runs", Cost: "disk; slow while it is used", Kind: "shell", Text: "sudo fallocate -l 16G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile"},
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
