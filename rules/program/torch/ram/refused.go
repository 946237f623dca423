package ram

import (
	"fmt"
	"math"
	"slices"

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
		Fix: "raise_pagefile", Title: "Let the page file grow", Cost: "disk space and a restart", Kind: "ui",
		Text: "Press Windows+R, run `SystemPropertiesAdvanced`; Performance, Settings, Advanced, Virtual memory, Change: custom size, initial 16384, maximum 65536 MB, on an SSD with room; restart.",
	}
	closeLargest = cause.Cure{
		Fix: "close_other_apps", Title: "Close what holds most", Cost: "free",
		Told: "Task Manager, Details, column \"Commit size\": browsers, games, a second AI program, an old python.exe.",
	}
	lessInRAM = cause.Cure{
		Fix: "use_smaller_model", Title: "Or need less", Cost: "speed, or quality",
		Ways: []cause.Way{
			{For: "While a model loads", Text: "a smaller file of it, or 16 bit (`torch_dtype=torch.float16`, `low_cpu_mem_usage=True`)."},
			{For: "While it computes on the processor", Text: "half the batch, length or image."},
			{For: "With loader workers", Text: "`num_workers=0`: each worker is a process of its own."},
		},
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
		out["each"] = fmt.Sprintf("%s is exactly %s x %s x 4 bytes: all of something against all of it.", c.Asked, ledger.Thousands(n), ledger.Thousands(n))
	}
	if operation.Is(operation.Creation, operation.Distances)(c) {
		out["text"], out["graph"] = "", "a sparse form, which keeps edges only (`torch.sparse_coo_tensor(edge_index, weights, (n, n))`, `scipy.sparse`): no matrix of all pairs."
	}
	switch ID := operation.ID(c.Operation); {
	case inProduct(c):
		out["layer"] = "The line is a matrix product: rows x outputs x 4 bytes, where the rows are all sizes of the input but the last, multiplied."
	case slices.Contains([]operation.ID{operation.Convolution, operation.Upsampling, operation.Pointwise}, ID):
		out["layer"] = "The line is a layer of a network that runs on the processor: its result is batch x channels x height x width (or length) x 4 bytes, so that too many or too large samples go in at once."
	case operation.Is(operation.Concatenation)(c):
		out["layer"] = "The line joins pieces, such as the results of all batches, into a new tensor beside them."
	case inLayer(c):
		out["layer"] = "The line is a layer of a network that runs on the processor: its result grows with the batch and the length, attention with the length squared."
	}
	if out["layer"] == "" && squareSide(c) == 0 {
		out["general"] = "A single piece of that size is the result of one operation over a whole input: all pairs of something, attention scores, a whole data set at once, a wrong shape. A checkpoint loads in smaller pieces."
	}
	if !smallEnoughForSwap(c) {
		out["swap"] = "Swap or a page file: " + c.Asked.String() + " in one piece is more than they can stand in for."
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
			return fmt.Sprintf("%s is exactly %s x %s: the %s that a loop above counts, all in one call.", c.Asked, ledger.Thousands(n), units.Amount(each), ledger.Thousands(n))
		}
	}
	return ""
}

// saysWindows: the wording of PyTorch's allocator there.
func saysWindows(c *ledger.Case) bool { return reader.OnWindows(c) || c.Contains("not enough memory") }

// RefusedCards are the CPU allocator's refusals.
var RefusedCards = []cause.Card{
	{
		ID: "pytorch/cpu-conversion", Kinds: []fact.Kind{fact.CPUAlloc}, If: when.All(when.Root(fact.CPUAlloc), operation.Is(operation.Conversion), func(c *ledger.Case) bool { return c.Asked.Bytes >= 256*units.MiB }),
		Headline: "asked for {asked} of system memory (RAM) to copy an array as a whole",
		Means:    "The line makes a copy of the array that goes in, on the processor, not on the card; the source stays beside it, and a change of type (`.float()` of NumPy's `float64`) makes one more. {numbers}[[ {each}]] It is the size of the data, not of a batch.",
		Not:      "A smaller batch in training: the copy is of everything, before the first. Anything about the graphics card.[[ {swap}]]", Figures: layerFigures,
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Share the array instead of copying it, convert a sample at a time", Cost: "a few lines", Told: "Where the array is made, `np.float32` (or `float16`) in place of `float64` halves all that follows.", Kind: "python", Text: "x = torch.from_numpy(array)    # the array's own memory; torch.tensor and FloatTensor copy\n# in the data set's __getitem__:  return x[i].float()"},
			{Fix: "lower_resolution", If: when.Not(smallEnoughForSwap), Title: "It does not fit RAM at all: take less of it, or keep it on the disk", Cost: "detail, or slower reading", Told: "Fewer samples, a lower resolution, a random part of the rows (neighbouring pixels repeat each other). On disk: `np.lib.format.open_memmap(path, mode=\"w+\", dtype=np.float16, shape=shape)` is filled in pieces and read with `np.load(path, mmap_mode=\"r\")`."},
			{Fix: "raise_pagefile", If: when.All(saysWindows, smallEnoughForSwap), Title: "Or a larger page file, for once", Cost: "slow while it is used; a restart", Told: "Windows promises RAM plus page file and no more: `SystemPropertiesAdvanced` (Windows+R), Performance, Settings, Advanced, Virtual memory."},
			{Fix: "raise_memory_limit", If: when.Not(saysWindows), Title: "See what else fills RAM, and whether a limit refused", Cost: "free", Told: "Much available: a limit (`ulimit -v`, strict overcommit, the container's or job's). Little: earlier copies, folds or runs are still held (`del`, a fresh process for each run), or it takes more RAM or swap.", Kind: "shell", Text: "free -h; ulimit -v; sysctl vm.overcommit_memory; ps aux --sort=-rss | head -5"},
			{Fix: "fix_shape", Title: "If the size surprises you: print the shape", Cost: "a minute", Kind: "python", Text: "print(array.shape, array.dtype, array.nbytes / 2**30, \"GiB\")   # array: what goes into that line"},
		},
		Sources: []string{cpuAllocator, "https://docs.pytorch.org/docs/stable/generated/torch.from_numpy.html", "https://docs.pytorch.org/docs/stable/generated/torch.tensor.html"},
	},
	{
		ID: "pytorch/cpu-large-piece", Kinds: []fact.Kind{fact.CPUAlloc}, If: when.All(when.Root(fact.CPUAlloc), largeInRAM),
		Headline: "asked for {asked} of system memory (RAM) in one piece",
		Means:    "One tensor of {asked} on the processor, not on the graphics card.[[ {each}]][[ {layer}]][[ {general}]]",
		Not:      "Anything about the graphics card.[[ {swap}]]", Figures: layerFigures,
		Cures: []cause.Cure{
			{Fix: "fix_shape", If: inProduct, Title: "Print the shapes: is the size meant?", Cost: "a minute", Told: "The result should take about {asked}. If it comes to far less, the kernel is at fault: 16 bit on the processor in an old PyTorch; compute that layer in float32, or update.", Kind: "python", Text: "print(x.shape, x.dtype, weight.shape)   # of that line\nprint(x.numel() // x.shape[-1] * weight.shape[0] * 4 / 2**30, \"GiB\")"},
			{Fix: "lower_batch_size", If: when.All(inLayer, when.Not(inProduct)), Title: "Fewer samples in one call", Cost: "slower, or some lines of code", Told: "Where a batch is taken, a smaller one; where a whole data set goes in (a step before training, an evaluation), slices of it, and only what is needed is kept. Half the width and height is a quarter.", Kind: "python", Text: "with torch.no_grad():          # keeps nothing for the backward pass\n    out = torch.cat([layer(part) for part in x.split(16)])   # layer, x: as in that line"},
			{Fix: "stream_dataset", If: operation.Is(operation.Concatenation), Title: "Fill one array in place of joining a list", Cost: "some lines of code", Told: "The pieces and their sum are in RAM together, twice the size. Made first and filled in place (on the disk where it is too large for RAM), only the result is there; `float16` is half of it.", Kind: "python", Text: "out = np.lib.format.open_memmap(\"out.npy\", mode=\"w+\", dtype=np.float32, shape=(rows, width))   # or torch.empty(rows, width)\nout[i:i + len(part)] = part   # in the loop, in place of a list's append"},
			{Fix: "lower_batch_size", If: when.Not(when.Any(when.All(inLayer, when.Not(inProduct)), operation.Is(operation.Concatenation))), Title: "Give it less at a time", Cost: "slower, or some lines of code", Ways: []cause.Way{
				{For: fix.Pictures, Text: "half the width and height or fewer frames, or tiles."},
				{For: "Rows of a table or a graph", Text: "loop over blocks, keep only what is needed of each."},
				{For: "Text", Text: "{text}"},
				{For: "A graph's nodes", Text: "{graph}"},
			}},
			{Fix: "upgrade_version", If: inProduct, Title: "Or another PyTorch", Cost: "some minutes", Told: "A newer release in a new environment, if the printed size is far below {asked}."},
			{Fix: "fix_shape", If: when.Not(inProduct), Title: "If the size surprises you: print the shapes", Cost: "some minutes", Told: "Their product times 4 bytes should come out near {asked}. A length or a count that surprises you is the mistake."},
			{Fix: "raise_pagefile", Title: "Windows, for once: a larger page file", If: when.All(saysWindows, smallEnoughForSwap), Cost: "slow while it is used; a restart", Told: "\"not enough memory\" is what PyTorch says on Windows, which promises RAM plus page file and no more. System properties, Advanced, Performance Settings, Advanced, Virtual memory: system managed, or twice the RAM, on an SSD. {asked} is one piece; others follow."},
			{Fix: "add_swap", Title: "For once: more virtual memory", If: when.All(when.Not(saysWindows), smallEnoughForSwap), Cost: "very slow while it is used", Told: "Swap (Linux) or a larger page file (Windows) of at least {asked}."},
		},
		Sources: []string{cpuAllocator},
	},
	{
		ID: "pytorch/cpu-windows-data", Kinds: []fact.Kind{fact.CPUAlloc}, Said: []string{"in __getitem__", "torchvision/transforms"}, If: when.All(when.Root(fact.CPUAlloc), func(c *ledger.Case) bool {
			return (reader.OnWindows(c) || c.Contains("not enough memory")) && c.Asked.Bytes > 0 && c.Asked.Bytes < 256*units.MiB
		}),
		Headline: "found RAM used up while it read one sample: even {asked} was refused",
		Means:    "It failed in the data set's own code, on the processor: {asked} is about one image or sample, so RAM was full before. What fills it there: loader workers, each a whole process with its own copy of the data set on Windows; samples that the data set or the loop keeps; images that are opened at full size; or other programs. Windows promises at most RAM plus page file.",
		Not:      "A smaller image than this one, `PYTORCH_CUDA_ALLOC_CONF`, or freeing the graphics card.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "No loader workers, to see what one process needs", Told: "If 0 runs, try 2. If 0 dies later as well, something grows:", Kind: "python", Text: "num_workers=0   # in your DataLoader; without persistent_workers and prefetch_factor", Cost: "Data may come slower"},
			{Fix: "detach_accumulated", Title: "It runs for a while first: find what is kept", Told: "`total += loss.item()` in place of `loss`; no list of images in the data set, only paths; `with Image.open(path) as image:` so that files are closed. Memory in Task Manager should stay level after the first epoch.", Cost: "Free"},
			{Fix: "raise_pagefile", Title: "At once: close the largest programs, let the page file grow", Told: "Task Manager, Details, \"Commit size\"; then `SystemPropertiesAdvanced` (Windows+R), Performance, Settings, Advanced, Virtual memory: maximum 65536 MB on an SSD, restart.", Cost: "Disk space and a restart"},
		},
		Sources: []string{cpuAllocator, "https://docs.pytorch.org/docs/stable/data.html"},
	},
	{
		ID: "pytorch/cpu-windows", Kinds: []fact.Kind{fact.CPUAlloc}, If: when.All(when.Root(fact.CPUAlloc), saysWindows),
		Headline: "ran out of system memory (RAM): Windows had nothing left to promise",
		Means:    "The computer's own memory was refused, not the graphics card's; \"not enough memory\" is what PyTorch says on Windows. Windows promises at most RAM plus page file, and counts what is reserved even if it is never used, so RAM may look free. {asked} was the last piece, not the whole need.",
		Not:      "A smaller batch on the card, `PYTORCH_CUDA_ALLOC_CONF`: they do not touch RAM.",
		Cures:    []cause.Cure{pageFile, closeLargest, lessInRAM},
		Sources:  []string{cpuAllocator, "https://learn.microsoft.com/en-us/windows/win32/memory/page-state"},
	},
	{
		ID: "pytorch/cpu-refused", Kinds: []fact.Kind{fact.CPUAlloc}, If: when.All(when.Root(fact.CPUAlloc), nothingKept), Figures: hostFigures,
		Headline: "was refused {asked} of system memory (RAM)",
		Means:    "Error 12 comes where RAM and swap are used up, or where a rule forbids more: `ulimit -v`, a strict overcommit, a job's limit on address space.[[ The {left} available in the table may be from after the end, when all had been given back.]] {asked} was the last piece, not the whole need, and it is not the graphics card's memory.",
		Not:      "A smaller batch on the card: it does not touch RAM, unless it computes on the processor.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "See which it is, and lift a rule", Cost: "a real shortage then ends in a kill", Told: "In the shell or job that starts the program; `ulimit -v` should say unlimited, overcommit_memory 0 or 1.", Kind: "shell", Text: "ulimit -v; sysctl vm.overcommit_memory; free -h\nulimit -v unlimited"},
			{Fix: "add_swap", Title: "If `free -h` shows it full while it runs: swap", Cost: "disk; slow while it is used", Kind: "shell", Text: "sudo fallocate -l 16G /swapfile && sudo chmod 600 /swapfile && sudo mkswap /swapfile && sudo swapon /swapfile"},
			lessInRAM,
		},
		Sources: []string{cpuAllocator, "https://www.kernel.org/doc/Documentation/vm/overcommit-accounting"},
	},
}

// hostFigures are what a table of the log shows of RAM.
func hostFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"left": ""}
	if x, ok := c.Fact("mem_available"); ok && x.Size != nil {
		out["left"] = units.Amount(x.Size.Bytes)
	}
	return out
}
