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
		Headline: "could not map one more shared tensor: a limit on mappings, or shared memory",
		Means:    "The file is one of PyTorch's own in shared memory (/dev/shm), made for a tensor that several processes use (`share_memory_()`, a queue, a DataLoader worker). {asked} is too little to fill RAM. Each such tensor is a mapping of its own, and Linux gives a process 65,530 (`vm.max_map_count`); the last number of the file's name counts them. With few of them, /dev/shm or RAM is full.",
		Not:      "A smaller model, 16 bit: the number of shared tensors counts, not their size.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the limit on mappings", Cost: "free", Told: "On the host, also for a container; the same line in /etc/sysctl.d/99-map.conf keeps it. `df -h /dev/shm` shows whether that is full instead.", Kind: "shell", Text: "sysctl vm.max_map_count; df -h /dev/shm\nsudo sysctl -w vm.max_map_count=1048576"},
			{Fix: "lower_num_workers", Title: "Or share fewer and larger tensors", Cost: "some lines of code", Told: "One tensor with a row for each buffer in place of a tensor for each; fewer buffers, actors or workers."},
		},
		Sources: []string{"pytorch/aten/src/ATen/MapAllocator.cpp", "https://www.kernel.org/doc/html/latest/admin-guide/sysctl/vm.html"},
	},
	{
		ID: "pytorch/checkpoint-in-ram", Kinds: []fact.Kind{fact.CPUAlloc, fact.MmapFailed}, If: when.Any(readsCheckpoint, when.Root(fact.MmapFailed)), Figures: lastFigures,
		Headline: "ran out of system memory (RAM) while it read a checkpoint",
		Means:    "A checkpoint goes through RAM before it reaches a card, often as a whole and beside a model of the same size that was made before it. Each process of a launch has its own copy.[[ {asked} is only the piece that was refused.]]",
		Not:      "A smaller batch: the checkpoint stays as large.",
		Cures: []cause.Cure{
			{Fix: "use_mmap", If: readsCheckpoint, Title: "Map the file instead of copying it", Cost: "none", Told: "PyTorch 2.1 and later; the file saved by 1.6 or later. `assign=True` keeps the mapped values.", Kind: "python", Text: "state = torch.load(path, map_location=\"cpu\", mmap=True)\nmodel.load_state_dict(state, assign=True)"},
			{Fix: "half_precision", Title: "Load it in 16 bit, from safetensors", Cost: "Hardly any quality.", Told: "transformers: `low_cpu_mem_usage=True, torch_dtype=torch.float16`. Safetensors in shards need one shard at a time; `.bin` and `.pth` files are read whole."},
			{Fix: "raise_memory_limit", If: when.Not(saysWindows), Title: "Check RAM and limits", Cost: "free", Told: "In the shell or job that starts it; a container's limit counts as well.", Kind: "shell", Text: "free -h; ulimit -v; sysctl vm.overcommit_memory"},
			{Fix: "raise_pagefile", If: saysWindows, Title: pageFile.Title, Cost: pageFile.Cost, Kind: "ui", Text: pageFile.Text},
			{Fix: "close_other_apps", Title: "Close other programs, or add swap while it loads", Cost: "free; swap is slow while it is used"},
		},
		Sources: []string{"pytorch/torch/serialization.py", "https://docs.pytorch.org/tutorials/recipes/recipes/module_load_state_dict_tips.html"},
	},
	{
		ID: "pytorch/set-in-ram", Kinds: []fact.Kind{fact.CPUAlloc}, If: fillsSet, Figures: lastFigures,
		Headline: "ran out of system memory (RAM) while the data set was read into it",
		Means:    "The line keeps every sample, decoded, before training begins: an image as 32-bit numbers takes width x height x 12 bytes, many times its file.[[ {asked} is one of them, or a part.]]",
		Not:      "A smaller batch, the graphics card's settings: the set is read before, into RAM.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Keep paths, and read a sample when it is asked for", Cost: "reads again each epoch; `num_workers=4` hides most of it", Kind: "python", Text: "self.paths.append(p)                       # in place of that line\n\ndef __getitem__(self, i):\n    return self.transform(Image.open(self.paths[i]).convert(\"RGB\")), self.labels[i]"},
			{Fix: "half_precision", Title: "If all must be in RAM: keep bytes, at the size that is used", Cost: "none", Told: "`np.asarray(image.resize((224, 224)))` is uint8: a quarter of 32 bit; to tensor and normalised in `__getitem__`."},
			{Fix: "use_mmap", Title: "Or put it into one file on disk", Cost: "disk space", Told: "`np.lib.format.open_memmap(\"set.npy\", mode=\"w+\", dtype=np.uint8, shape=shape)`, filled once; then `np.load(\"set.npy\", mmap_mode=\"r\")`."},
		},
		Sources: []string{cpuAllocator, "https://docs.pytorch.org/tutorials/beginner/data_loading_tutorial.html"},
	},
	{
		ID: "pytorch/cpu-climbs", Kinds: []fact.Kind{fact.CPUAlloc}, If: climbs, Figures: lastFigures,
		Headline: "ran out of system memory (RAM), most likely because tensors are kept from step to step",
		Means:    "Most likely something of every step is kept in system memory: losses with their graphs, outputs in a list, a cache of samples.[[ The piece that was refused is only {asked}.]]",
		Cures: []cause.Cure{
			{Fix: "detach_accumulated", Title: "Keep numbers instead of tensors (loss.item())", Cost: "none", Kind: "python", Text: "total += loss.item()                        # not: total += loss\nresults.append(output.detach().numpy())     # not: results.append(output); or write them to disk"},
			{Fix: "stream_dataset", Title: "Keep paths instead of samples in the data set", Cost: "reads again each epoch", Told: "Use no cache of decoded samples (`cache`, `in_memory`), and NumPy arrays instead of lists of Python objects: loader workers slowly copy those."},
			{Fix: "lower_num_workers", Title: "See which process grows", Cost: "free", Told: "If the main process grows, look at the loop; if the workers grow, at the data set, and use fewer workers.", Kind: "shell", Text: "watch -n 10 'ps aux --sort=-rss | head -5'"},
			{Fix: "restart_session", Title: "Continue from the last checkpoint", Cost: "the steps since then", Told: "Until the cause is found, restart it every few epochs."},
		},
		Sources: []string{cpuAllocator, "https://pytorch.org/docs/stable/notes/faq.html", "https://github.com/pytorch/pytorch/issues/13246"},
	},
	{
		ID: "pytorch/ram", Kinds: []fact.Kind{fact.CPUAlloc, fact.MmapFailed}, Figures: lastFigures,
		Means: "System memory (RAM) was refused, not the graphics card's.[[ {asked} is only the piece that was refused.]][[ {unsized}]] Either RAM was full, by this program or others, or a limit refused: `ulimit -v`, strict overcommit, a container's or a job's.",
		Not:   "PYTORCH_CUDA_ALLOC_CONF: it is about the graphics card.",
		Cures: []cause.Cure{
			{Fix: lowerOnCPU.Fix, If: hugePiece, Title: lowerOnCPU.Title, Cost: lowerOnCPU.Cost, Ways: lowerOnCPU.Ways},
			{Fix: "raise_pagefile", If: saysWindows, Title: pageFile.Title, Cost: pageFile.Cost, Kind: "ui", Text: pageFile.Text},
			{Fix: "close_other_apps", If: saysWindows, Title: closeLargest.Title, Cost: closeLargest.Cost, Told: closeLargest.Told},
			{Fix: "raise_memory_limit", If: when.Not(saysWindows), Title: "Check RAM and limits (free -h, ulimit -v)", Cost: "free", Told: "If much is available, a limit refused: raise it in the shell or job that starts the program. If little is, the last lines list the largest processes: end what you do not need.", Kind: "shell", Text: "free -h; ulimit -v; sysctl vm.overcommit_memory; ps aux --sort=-rss | head -5"},
			lowerOnCPU,
			{Fix: "add_swap", If: when.Not(saysWindows), Title: "Add swap", Cost: "very slow while it is used"},
		},
		Sources: []string{cpuAllocator, "https://www.kernel.org/doc/Documentation/vm/overcommit-accounting"},
	},
}

// lowerOnCPU makes what is computed or loaded in system memory smaller.
var lowerOnCPU = cause.Cure{
	Fix: "lower_batch_size", Title: "Lower the batch or input size, or load a smaller model", Cost: "slower, or quality", Ways: []cause.Way{{For: "While a model loads", Text: "16 bit (transformers: `torch_dtype=torch.float16, low_cpu_mem_usage=True`), or a smaller or quantised file."}, {For: "A network on the CPU", Text: "half the batch, the length or the width and height; `with torch.no_grad():` where nothing is trained."}, {For: "A whole data set in one array", Text: "in blocks, in 16 bit, or on disk (`np.lib.format.open_memmap`)."}},
}

// hugePiece: the garbled message ends in a number of GiB that is no last straw.
func hugePiece(c *ledger.Case) bool { return withoutSize(c) && brokenSize(c.Failure.Message) >= 4 }

// withoutSize: the allocator's message does not say what was asked for.
func withoutSize(c *ledger.Case) bool { return c.Root(fact.CPUAlloc) && !c.Asked.Has() }

// lastFigures say what the oldest wordings leave out.
func lastFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"unsized": ""}
	if withoutSize(c) {
		out["unsized"] = "Its message does not say how much was asked for."
		if n := brokenSize(c.Failure.Message); n > 0 {
			out["unsized"] = "The message is garbled: " + strconv.FormatInt(n, 10) + " GiB, the number at its end, was asked for in one piece."
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
