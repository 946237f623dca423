package ram

import (
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

func readsCheckpoint(c *ledger.Case) bool { return ledger.FailedAt(c, "reading_checkpoint") != nil }

// climbs: steps had gone well, and something of each was kept.
func climbs(c *ledger.Case) bool { return cause.ClimbingHost(c) || ledger.GrowsList(c) }

// fillsSet: a data set of the reader's own reads all its samples when it is made.
func fillsSet(c *ledger.Case) bool {
	f := ledger.OwnFrame(c)
	if f == nil || !c.Root(fact.CPUAlloc) {
		return false
	}
	made := f.Function == "__init__" || strings.HasPrefix(strings.TrimPrefix(f.Function, "_"), "load") || strings.Contains(f.Function, "preload") || strings.Contains(f.Function, "cache") || strings.Contains(f.Function, "read_")
	held := strings.Contains(f.Source, ".append(") || strings.Contains(f.Source, "stack(") || strings.Contains(f.Source, "] = ")
	return made && held && (strings.Contains(strings.ToLower(f.File), "data") || strings.Contains(f.Source, "images") || strings.Contains(f.Source, "samples"))
}

// LastCards are for what of the computer's memory no narrower card is about.
var LastCards = []cause.Card{
	{
		ID: "pytorch/shared-mappings", Kinds: []fact.Kind{fact.MmapFailed}, Said: []string{"</torch_"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "could not share one more tensor between processes: a Linux limit or a full /dev/shm",
		Means:    "PyTorch puts each tensor shared between processes (`share_memory_()`, queues, DataLoader workers) into a file in /dev/shm. {asked} is too little to fill RAM. Linux allows a process 65,530 such mappings by default (`vm.max_map_count`); the last number in the file name counts them. If that number is low, /dev/shm or RAM is full instead.",
		Not:      "A smaller model or 16 bit, if the limit is reached: it counts tensors, not bytes.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise vm.max_map_count", Cost: "free", Told: "Run it on the host, also for a container. `df -h /dev/shm` shows whether that is full instead. To keep the setting after a restart, put `vm.max_map_count=1048576` into /etc/sysctl.d/99-map.conf.", Kind: "shell", Text: "sysctl vm.max_map_count; df -h /dev/shm\nsudo sysctl -w vm.max_map_count=1048576"},
			{Fix: "lower_num_workers", Title: "Or share fewer and larger tensors", Cost: "some lines of code", Told: "Use one tensor with a row per buffer instead of many small ones, or fewer actors or workers."},
		},
		Sources: []string{"pytorch/aten/src/ATen/MapAllocator.cpp", "https://www.kernel.org/doc/html/latest/admin-guide/sysctl/vm.html"},
	},
	{
		ID: "pytorch/checkpoint-in-ram", Kinds: []fact.Kind{fact.CPUAlloc, fact.MmapFailed}, If: when.Any(readsCheckpoint, when.Root(fact.MmapFailed)), Figures: lastFigures,
		Headline: "ran out of system memory (RAM) while loading a checkpoint",
		Means:    "A checkpoint usually passes through RAM before it reaches the GPU, often beside an already built model of the same size. Each process of a multi-GPU launch loads its own copy.[[ {asked} is only the last request.]]",
		Not:      "A smaller batch: the checkpoint stays as large.",
		Cures: []cause.Cure{
			{Fix: "use_mmap", If: readsCheckpoint, Title: "Map the file instead of copying it", Cost: "none", Told: "Needs PyTorch 2.1 or later, and a file saved by 1.6 or later:", Kind: "python", Text: "state = torch.load(path, map_location=\"cpu\", mmap=True)\nmodel.load_state_dict(state, assign=True)"},
			{Fix: "half_precision", Title: "Load it in 16 bit, from safetensors", Cost: "Hardly any quality.", Told: "transformers: `from_pretrained(..., low_cpu_mem_usage=True, torch_dtype=torch.float16)`. Safetensors shards load one at a time; `.bin` and `.pth` files are usually read whole."},
			{Fix: "raise_memory_limit", If: when.Not(saysWindows), Title: "Check RAM and limits", Cost: "free", Told: "Run this in the shell or job that starts the program. A container's limit counts too.", Kind: "shell", Text: "free -h; ulimit -v; sysctl vm.overcommit_memory"},
			{Fix: "raise_pagefile", If: saysWindows, Title: pageFile.Title, Cost: pageFile.Cost, Kind: "ui", Text: pageFile.Text},
			{Fix: "close_other_apps", Title: "Close other programs, or add swap while it loads", Cost: "free; swap is slow while in use"},
		},
		Sources: []string{"pytorch/torch/serialization.py", "https://docs.pytorch.org/tutorials/recipes/recipes/module_load_state_dict_tips.html"},
	},
	{
		ID: "pytorch/set-in-ram", Kinds: []fact.Kind{fact.CPUAlloc}, If: fillsSet, Figures: lastFigures,
		Headline: "ran out of system memory (RAM) while reading the data set",
		Means:    "The line seems to keep every sample in RAM. A decoded image in 32 bit takes width x height x 12 bytes, many times the size of its file.[[ {asked} is only the last request.]]",
		Not:      "A smaller batch or GPU settings: the data set is read into RAM beforehand.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Store file paths, and read each sample in `__getitem__`", Cost: "files are read again each epoch; `num_workers=4` hides most of it", Kind: "python", Text: "self.paths.append(p)                       # in place of that line\n\ndef __getitem__(self, i):\n    return self.transform(Image.open(self.paths[i]).convert(\"RGB\")), self.labels[i]"},
			{Fix: "half_precision", Title: "If everything must be in RAM: store uint8 at the final size", Cost: "none", Told: "`np.asarray(image.resize((224, 224)))` takes a quarter of 32 bit. Convert and normalise in `__getitem__`."},
			{Fix: "use_mmap", Title: "Or put it into one file on disk", Cost: "disk space", Told: "Fill `np.lib.format.open_memmap(\"set.npy\", mode=\"w+\", dtype=np.uint8, shape=shape)` once, then read it with `np.load(\"set.npy\", mmap_mode=\"r\")`."},
		},
		Sources: []string{cpuAllocator, "https://docs.pytorch.org/tutorials/beginner/data_loading_tutorial.html"},
	},
	{
		ID: "pytorch/cpu-climbs", Kinds: []fact.Kind{fact.CPUAlloc}, If: climbs, Figures: lastFigures,
		Headline: "ran out of system memory (RAM), most likely because tensors pile up from step to step",
		Means:    "Most likely every step leaves something in RAM: losses with their graphs, outputs in a list, cached samples.[[ The last request was only {asked}.]]",
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", Title: "Keep numbers instead of tensors (loss.item())", Cost: "none", Kind: "python", Text: "total += loss.item()                        # not: total += loss\nresults.append(output.detach().numpy())     # not: results.append(output); or write them to disk"},
			{Fix: "stream_dataset", Title: "Keep file paths instead of samples in the data set", Cost: "files are read again each epoch", Told: "Turn off caches of decoded samples (`cache`, `in_memory`). Use NumPy arrays instead of lists of Python objects, which DataLoader workers slowly copy."},
			{Fix: "lower_num_workers", Title: "See which process grows", Cost: "free", Told: "If the main process grows, check the loop. If the workers grow, check the data set and use fewer workers.", Kind: "shell", Text: "watch -n 10 'ps aux --sort=-rss | head -5'"},
			{Fix: "restart_session", Title: "Continue from the last checkpoint", Cost: "the steps since then", Told: "Until you find the cause, restart it every few epochs."},
		},
		Sources: []string{cpuAllocator, "https://pytorch.org/docs/stable/notes/faq.html", "https://github.com/pytorch/pytorch/issues/13246"},
	},
	{
		ID: "pytorch/ram", Kinds: []fact.Kind{fact.CPUAlloc, fact.MmapFailed}, Figures: lastFigures,
		Means: "System memory (RAM) ran out, not GPU memory.[[ {asked} is only the last request.]][[ {unsized}]] Either RAM was full, or a limit was reached: `ulimit -v`, strict overcommit, or the limit of a container or job.",
		Not:   "`PYTORCH_CUDA_ALLOC_CONF`: it only affects GPU memory.",
		Cures: []cause.Cure{
			{Fix: lowerOnCPU.Fix, If: hugePiece, Title: lowerOnCPU.Title, Cost: lowerOnCPU.Cost, Ways: lowerOnCPU.Ways},
			{Fix: "raise_pagefile", If: saysWindows, Title: pageFile.Title, Cost: pageFile.Cost, Kind: "ui", Text: pageFile.Text},
			{Fix: "close_other_apps", If: saysWindows, Title: closeLargest.Title, Cost: closeLargest.Cost, Told: closeLargest.Told},
			{Fix: "raise_memory_limit", If: when.Not(saysWindows), Title: "Check RAM and limits (free -h, ulimit -v)", Cost: "free", Told: "If much RAM is available, a limit was reached: raise it in the shell or job that starts the program. If little is available, close the largest processes, which the last lines list.", Kind: "shell", Text: "free -h; ulimit -v; sysctl vm.overcommit_memory; ps aux --sort=-rss | head -5"},
			lowerOnCPU,
			{Fix: "add_swap", If: when.Not(saysWindows), Title: "Add swap", Cost: "very slow while in use"},
		},
		Sources: []string{cpuAllocator, "https://www.kernel.org/doc/Documentation/vm/overcommit-accounting"},
	},
}

// lowerOnCPU makes what is computed or loaded in system memory smaller.
var lowerOnCPU = cause.Cure{
	Fix: "lower_batch_size", Title: "Lower the batch or input size, or load a smaller model", Cost: "slower, or quality", Ways: []cause.Way{{For: "While a model loads", Text: "load it in 16 bit (transformers: `torch_dtype=torch.float16, low_cpu_mem_usage=True`), or use a smaller or quantised file."}, {For: "A network on the CPU", Text: "halve the batch, the length, or the width and height; use `with torch.no_grad():` if you do not train."}, {For: "A whole data set in one array", Text: "process it in blocks, in 16 bit, or from disk (`np.lib.format.open_memmap`)."}},
}

// hugePiece: the garbled message ends in a number of GiB that is no last straw.
func hugePiece(c *ledger.Case) bool { return withoutSize(c) && brokenSize(c.Failure.Message) >= 4 }

// withoutSize: the allocator's message does not say what was asked for.
func withoutSize(c *ledger.Case) bool { return c.Root(fact.CPUAlloc) && !c.Asked.Has() }

// lastFigures say what the oldest wordings leave out.
func lastFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"unsized": ""}
	if withoutSize(c) {
		out["unsized"] = "The message does not say how much was requested."
		if n := brokenSize(c.Failure.Message); n > 0 {
			out["unsized"] = "The message is garbled: " + strconv.FormatInt(n, 10) + " GiB, the number at its end, was asked for at once."
		}
	}
	return out
}

// brokenSize is the number of GiB that PyTorch 1.0 to 1.2 put behind its sentence
// on Windows, where its format has a hole, 0 for none.
func brokenSize(message string) int64 {
	_, after, found := strings.Cut(message, "%dGB. Buy new RAM!")
	if !found {
		return 0
	}
	n := strings.IndexFunc(after+".", func(r rune) bool { return r < '0' || r > '9' })
	size, _ := strconv.ParseInt(after[:n], 10, 32)
	return size
}
