package array

import (
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
	"github.com/oomdoc/oomdoc/rules/program/array/local"
	"github.com/oomdoc/oomdoc/rules/program/host/activity"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

func sizedAtLeast(bytes int64) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return ledger.Requested(c) >= bytes }
}

// noneKnown: no program is known by its lines, or none but the reader's own.
func noneKnown(c *ledger.Case) bool { return local.NoneKnown(c) && c.F().KVNeeded == nil }

// bareCards are refusals of the computer's memory that name no program.
var bareCards = []cause.Card{
	{
		ID: "other/bad-alloc", Kinds: []fact.Kind{fact.BadAlloc}, Unsaid: append([]string{"LightGBM", "lightgbm/basic.py", "RMM_ERROR_OUT"}, local.WasmWords...),
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "could not get the RAM it asked for (std::bad_alloc)", Figures: activity.Figures,
		Means: activity.Held + activity.Stage + "The C++ code asked for system RAM, usually not GPU memory, and got none. The message does not say how much. Either RAM was full or limited, or the requested size was wrong (a damaged file, a bad count). Try a tenth of the input: if that fails too, suspect the size or a limit.",
		Cures: []cause.Cure{
			calls.PageFile, calls.LookWhy,
			{Fix: "stream_dataset", Title: "Process less data at a time", Told: "[[{option} ]]Use a smaller input, a smaller batch, or fewer threads or MPI ranks; each often has its own buffers.", Cost: "Time"},
			calls.SwapBridge,
		},
		Sources: []string{"libstdc++-v3/libsupc++/bad_alloc.cc", "https://www.kernel.org/doc/html/latest/mm/overcommit-accounting.html"},
	},
	{
		ID: "other/gpuassert", Kinds: []fact.Kind{fact.PlainDevice, fact.CUDAError, fact.PlainMemory}, Said: []string{"GPUassert:"}, If: func(c *ledger.Case) bool { return noneKnown(c) && c.Free.Bytes >= units.GiB },
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory at one CUDA call",
		Means: "GPUassert prints the source line of the CUDA call that failed. By the log's own count memory was free ({free}), so this step probably asks for more than that. Joins, pairs and sorts can produce results several times the size of their input. Errors after it (\"invalid argument\") usually follow from this one.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Process the data in parts", Told: "Run that step on one range of rows or keys at a time. Drop duplicates and unneeded columns in each part. Use 32-bit numbers where the values fit.", Cost: "Time"},
			{Fix: "fix_shape", Title: "Print the size before the allocation", Told: "Rows x columns x bytes per value, twice that for a sort. Compare it with the free memory (`cudaMemGetInfo`).", Cost: "Free"},
			{Fix: "bigger_gpu", Title: "Use a smaller input or a larger card", Told: "Try a tenth of the input to see how the need grows.", Cost: "Money"},
		},
		Sources: []string{"https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html", "https://rocm.docs.amd.com/projects/HIP/en/latest/reference/hip_runtime_api/modules/memory_management.html"},
	},
	{
		ID: "other/memory", Kinds: []fact.Kind{fact.PlainMemory, fact.PlainHost}, Unsaid: []string{"loading model", "loadModel", "load_model"}, If: func(c *ledger.Case) bool { return noneKnown(c) && !ledger.RunsModels(c) && !local.Unsized(c) },
		Among:    []string{cause.Unknown, cause.HostMemory, cause.BatchTooLarge, cause.ModelTooLarge, cause.OversizedAllocation},
		Headline: "ran out of memory", Figures: plainFigures,
		Means: "[[{asked} was wanted and {have} was there: {lacks} too little. ]][[The limit is {bound}. It may be the program's own or its environment's, so the machine may have more. ]][[{piece} ]]The log does not show what uses the memory. When it fails is a clue: at once with any input, a size is wrong; only with large input, the input is too large; after a long time, something grows.",
		Cures: append(proposed(), []cause.Cure{
			{Fix: "raise_memory_limit", If: bounded, Title: "Raise the limit that it names", Cost: "less for other programs", Told: "{bound} is a setting. Look in the program's options, the container (`docker run --memory`; Kubernetes: `resources.limits.memory`), the batch job (`--mem`) and the shell (`ulimit -v`). Double it, but stay below the RAM of the machine."},
			{Fix: "close_other_apps", If: fullBefore, Title: "See what uses RAM", Cost: "free", Ways: holders},
			{Fix: "raise_memory_limit", If: hugeAsk, Title: "Run it where that much RAM is free", Cost: "a longer wait, or money", Told: "It needs {asked} in one piece on top of what it holds. Use a larger node, or give the job or container more memory (`--mem`, `--memory`). Swap of that size works, slowly."},
			{Fix: "lower_batch_size", Title: "Try a tenth of the input", Cost: "a minute", Told: "If it runs, the input is too large: process it in parts. If it fails too, a size is wrong: a damaged file, a wrong option, or a bug to report."},
			{Fix: "lower_num_workers", If: when.Not(hugeAsk), Title: "Use fewer threads or processes", Cost: "slower", Told: "Many tools use all cores by default and reserve buffers for each. Look for an option such as `-t`, `--threads` or `-j`."},
			{Fix: "stream_dataset", Title: "If it fails only after a long time: find what grows", Cost: "some minutes", Told: "In your own code, print the length of each list or cache that outlives the loop. Otherwise update the program, and restart it now and then."},
			{Fix: "close_other_apps", If: when.Not(fullBefore), Title: "See what else uses RAM", Cost: "free", Ways: holders},
		}...),
		Sources: []string{"https://www.kernel.org/doc/html/latest/mm/overcommit-accounting.html"},
	},
	{
		ID: "other/model-hint", Kinds: []fact.Kind{fact.PlainMemory, fact.PlainDevice, fact.PlainHost}, If: func(c *ledger.Case) bool { return noneKnown(c) && ledger.RunsModels(c) && proposes(c) != "" },
		Among:    []string{cause.Unknown, cause.BatchTooLarge, cause.ContextTooLong, cause.BudgetMisconfigured, cause.ModelTooLarge},
		Headline: "ran out of memory; its message suggests a change",
		Means:    "[[{asked} was wanted and {have} was there: {lacks} too little. ]][[{piece} ]]There was no room for the next step, in memory or in a pool that the program reserves at the start. The log does not show what else uses memory.",
		Figures:  plainFigures,
		Cures: append(proposed(), []cause.Cure{
			{Fix: "lower_context", Title: "Or make the inputs shorter, and fewer at a time", Cost: "long inputs are refused, requests wait", Told: "Test with half the maximum input length and half the requests at once."},
			{Fix: "use_lower_quant", Title: "Or load a smaller or more quantized model", Cost: "some quality"},
			{Fix: "close_other_apps", Title: "See what else uses memory", Cost: "free", Ways: holders},
		}...),
		Sources: []string{"https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html"},
	},
	{
		ID: "other/game", Kinds: []fact.Kind{fact.PlainDevice, fact.PlainMemory}, Said: drawing, If: func(c *ledger.Case) bool {
			return noneKnown(c) && !ledger.RunsModels(c) && c.Failure.Backend != "cuda" && c.Failure.Backend != "rocm"
		},
		Among:    []string{cause.Unknown, cause.BatchTooLarge, cause.ModelTooLarge, cause.OversizedAllocation, cause.HostMemory},
		Headline: "ran out of video memory",
		Means:    "The graphics driver refused memory[[: {asked}]]. Textures usually take most of it, then resolution, shadows and ray tracing. An integrated GPU only has a share of RAM, and a laptop may be running the program on that one. If it fails after hours or since an update, a leak in the program or driver is likely.",
		Figures:  plainFigures,
		Cures: append(proposed(), []cause.Cure{
			{Fix: "lower_resolution", Title: "Lower the texture quality", Cost: "detail", Told: "Then lower resolution or render scale, shadows, anti-aliasing and ray tracing, and remove texture packs or mods. If it crashes before the menu, use safe mode or delete its settings file (under Documents or AppData)."},
			{Fix: "close_other_apps", Title: "Close other programs that use the card", Cost: "free", Told: "Browsers, overlays, recorders, animated wallpapers, AI tools. Windows: Task Manager, Performance, GPU shows \"Dedicated GPU memory\"."},
			{Fix: "upgrade_version", Title: "Use the dedicated GPU; update the driver", Cost: "free", Ways: []cause.Way{
				{For: "Laptop", Text: "Settings, System, Display, Graphics: add the program, Options, High performance."},
				{For: "Integrated GPU", Text: "set \"UMA frame buffer\" in the BIOS to 2 to 4 GB, and let Windows manage the page file."},
				{For: "Since an update, or after hours", Text: "update the driver and the program, verify its files; otherwise restart it now and then and report this log."},
			}},
			{Fix: "restart_session", Title: "Restart the program", Cost: "free"},
		}...),
		Sources: []string{"https://registry.khronos.org/vulkan/specs/latest/man/html/vkAllocateMemory.html", "https://learn.microsoft.com/en-us/windows/win32/direct3ddxgi/dxgi-error"},
	},
	{
		ID: "other/simulation", Kinds: []fact.Kind{fact.PlainDevice, fact.CUDAError}, Said: mpiWords, If: noneKnown,
		Among:    []string{cause.Unknown, cause.BatchTooLarge, cause.ModelTooLarge, cause.OversizedAllocation, cause.LeakedProcess},
		Headline: "ran out of GPU memory in a parallel job",
		Means:    "In most such codes, each MPI rank keeps its part of the grid on its GPU, plus 300 to 600 MiB for its CUDA context. Several ranks on one GPU share its memory.[[ {one}]]",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", If: when.Not(oneCard), Title: "See how many ranks share each card", Told: "If several of your ranks are on one card, start as many ranks as you have cards (`mpirun -n 1` for one). End other programs there. Look during the job:", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			{Fix: "lower_resolution", Title: "Use a coarser grid", Told: "Half the cells in each direction means an eighth of the memory in 3D. Single precision, if the code supports it, means half. Many codes print the memory per rank before they allocate.", Cost: "detail"},
			{Fix: "multi_gpu", If: when.Not(oneCard), Title: "Spread the job over more cards", Told: "One rank per card; each then holds a smaller part of the grid.", Cost: "more cards"},
			{Fix: "cpu_offload", Title: "Run it on the CPU", Told: "Most such codes have an option for it. System RAM is usually larger, and several nodes add up.", Cost: "slower"},
		},
		Sources: []string{"https://docs.nvidia.com/hpc-sdk/compilers/openacc-gs/index.html", "https://www.open-mpi.org/doc/current/man1/mpirun.1.php", "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html"},
		Figures: simulationFigures,
	},
	{
		ID: "other/device", Kinds: []fact.Kind{fact.PlainDevice}, Unsaid: append(local.OpenCLWords, mpiWords...), If: noneKnown,
		Among:    []string{cause.Unknown, cause.BatchTooLarge, cause.ModelTooLarge, cause.OversizedAllocation},
		Headline: "ran out of GPU memory",
		Means:    "[[{asked} was wanted and {have} was there: {lacks} too little. ]][[{piece} ]][[{own} ]][[{table}]][[{tell}]]",
		Figures:  deviceFigures,
		Cures: append(proposed(), []cause.Cure{
			{Fix: "kill_stale_process", If: fullBefore, Title: "See what else uses the card", Told: "{look}", Cost: "free"},
			{Fix: "lower_batch_size", If: ownCode, Title: "Do less at a time", Cost: "slower, or less detail", Told: "Try a tenth of the input. If it runs, work in blocks and free each block before the next. If not, print the sizes you allocate."},
			{Fix: "lower_batch_size", Title: "Do less at a time", Cost: "slower, or less detail", Told: "Look in the program's settings for batch size, tile or block size, samples, or parallel jobs, and halve it. If there is none, use a lower resolution or a smaller input."},
			{Fix: "kill_stale_process", If: when.Not(oneCard), Title: "See what else uses the card", Told: "{look}", Cost: "free"},
			{Fix: "close_other_apps", If: oneCard, Title: "Close what else draws or computes on it", Told: "Desktop, browser and viewers usually take a few hundred MB to 2 GB.", Cost: "free"},
			{Fix: "bigger_gpu", Title: "If nothing else is on it: use a card with more memory", Told: "Only if the job cannot be made smaller.", Cost: "money"},
		}...),
		Sources: []string{"https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html"},
	},
	{
		ID: "other/compiler", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"bytes after a total of"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "ran out of RAM while compiling",
		Means: "The compiler (GCC) could not get more RAM. The total in the message is what this one compiler process held; parallel builds run several at once. A container limit or a 32-bit compiler (2 to 4 GB) can be the reason too. Your source code is not wrong.",
		Not:   "Running it again with the same number of jobs.",
		Cures: []cause.Cure{
			{Fix: "lower_build_jobs", Title: "Compile with one job", Ways: []cause.Way{
				{For: "make, ninja", Text: "`make -j1` or `ninja -j1`; finished files are kept"},
				{For: "CMake", Text: "`cmake --build build --parallel 1`"},
				{For: "pip", Text: "`MAX_JOBS=1 pip install PACKAGE` (the package you install)"},
			}, Cost: "A longer build"},
			calls.SwapBridge,
			{Fix: "raise_memory_limit", Title: "If one file alone is too large: optimize less", Told: "Compile that file with `-O1` and without `-g`. In a container or WSL, raise its memory limit.", Cost: "A slower program"},
		},
		Sources: []string{"gcc/libiberty/xmalloc.c", "ninja/doc/manual.asciidoc"},
	},
	{
		ID: "other/git", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"Out of memory, malloc failed"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "ran out of RAM in git: {asked} was refused",
		Means: "git reads large files whole into RAM, and holds several versions of them while it packs. Either the repository contains files of about that size, or the machine, a container limit or a 32-bit git leaves too little. If the error line itself begins with `remote:`, the server ran out, not your computer.",
		Not:   "A larger `http.postBuffer`: it needs more RAM.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Limit git's packing memory", Told: "Run this on the machine where git ran out:", Kind: "shell", Text: "git config --global pack.threads 1\ngit config --global pack.windowMemory 256m\ngit config --global core.bigFileThreshold 50m", Cost: "Slower, a larger pack"},
			{Fix: "stream_dataset", Title: "Make a shallow or partial clone", Told: "`git clone --depth 1 URL`, or `git clone --filter=blob:none URL`. Keep large files in Git LFS.", Cost: "Without the full history"},
			calls.SwapBridge, calls.PageFile,
		},
		Sources: []string{"git/wrapper.c", "git/Documentation/config/pack.adoc", "git/Documentation/config/core.adoc"},
	},
	{
		ID: "other/rust-alloc", Kinds: []fact.Kind{fact.RustAlloc}, If: func(c *ledger.Case) bool { r := ledger.Requested(c); return r > 0 && r < cause.Large },
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "could not get {asked} of RAM",
		Means: "A Rust program asked the system for {asked} of RAM and was refused. A growing `Vec` usually doubles, and the old copy stays until the new one is filled. The line does not show how much the program holds already.",
		Cures: []cause.Cure{
			calls.PageFile, calls.LookWhy,
			{Fix: "stream_dataset", Title: "Use a smaller input or fewer threads", Told: "Use a smaller file or batch. Programs that use rayon: set `RAYON_NUM_THREADS=4`, as threads often hold buffers. In your own code, use `Vec::with_capacity` or process chunks.", Cost: "Time"},
			calls.SwapBridge,
		},
		Sources: []string{"rust/library/alloc/src/alloc.rs", "https://docs.rs/rayon/latest/rayon/struct.ThreadPoolBuilder.html"},
	},
	{
		ID: "other/flipped-bits", Kinds: []fact.Kind{fact.RustAlloc, fact.NativeAlloc, fact.PlainHost}, If: flippedBits, Figures: flippedFigures,
		Cause: cause.SoftwareBug, Weight: cause.Strong, Headline: "asked for {asked}, a size that looks corrupted",
		Means: "The size is {small} bytes plus {high}: a small number with {bits} wrongly set. Overwritten memory causes this, and so does unstable RAM or an unstable CPU. Unstable hardware fails at another place next time, often with another error.",
		Not:   "More RAM or swap: no machine has {asked}.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Run it twice more", Told: "If it fails elsewhere or with another error, test the hardware. Run MemTest86 overnight (Windows: `mdsched`), turn off XMP, EXPO and overclocking, and update the BIOS (Intel 13th and 14th generation: microcode 0x12B or later).", Cost: "Free"},
			{Fix: "upgrade_version", Title: "If it fails at the same place: update the program", Told: "Delete its caches and build folder, install the newest version, and report it with this number.", Cost: "Some minutes"},
		},
		Sources: []string{"https://doc.rust-lang.org/alloc/alloc/fn.handle_alloc_error.html", "https://www.memtest86.com/troubleshooting.htm"},
	},
	{
		ID: "other/rust-alloc-absurd", Kinds: []fact.Kind{fact.RustAlloc}, If: sizedAtLeast(cause.Large),
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "asked for {asked} of RAM in one piece",
		Means: "This is one request of {asked}. Either a length is wrong (a damaged file, an unexpected format, a subtraction below zero), or the whole input is loaded at once. A small input that is known to be good shows which.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Try a small input that is known to be good", Told: "If it runs, the first input is damaged, in another format, or too large. Check its size and download it again. If it fails too, it is a bug.", Cost: "A few minutes"},
			{Fix: "upgrade_version", Title: "If it is a bug: update, and get a backtrace", Told: "`gdb -ex run -ex bt --args PROGRAM` (your command with its arguments) shows which function asked; `RUST_BACKTRACE=1` does so only with the newest Rust. Report it with the number.", Cost: "A few minutes"},
			{Fix: "stream_dataset", Title: "If your data is that large: split the input", Told: "Or use the program's own option for streaming or chunks.", Cost: "Time"},
		},
		Sources: []string{"rust/library/alloc/src/alloc.rs", "https://doc.rust-lang.org/std/backtrace/index.html"},
	},
}

// ownCode: the reader writes what failed.
func ownCode(c *ledger.Case) bool { return c.Reader.Edits == "code" }

// oneCard: a pasted table shows the only card, and what is on it.
func oneCard(c *ledger.Case) bool { return local.OnlyCard(c) != nil }

func simulationFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"one": ""}
	if d := local.OnlyCard(c); d != nil {
		out["one"] = "The table shows one card with " + units.Amount(d.Total.Bytes) + ", so all ranks share it."
	}
	return out
}

// deviceFigures are those of a message, of what the program freed, and of a table.
func deviceFigures(c *ledger.Case) map[string]string {
	out := plainFigures(c)
	out["own"], out["table"], out["tell"], out["look"] = "", "", "", "Check before the program starts. Windows: Task Manager, Performance, GPU. Linux: `nvidia-smi` (NVIDIA), `rocm-smi --showpids` (AMD) or `intel_gpu_top` (Intel)."
	if slices.Contains([]string{"cuda", "rocm", "npu", "xpu", "tpu"}, c.Backend) {
		out["look"] = "Check before the program starts: `" + reader.Monitor(c) + "`."
	}
	if own := bytesOf(c.F().ProcessUsed); own > 0 {
		out["own"] = "The program itself held " + units.Amount(own) + "."
	}
	if d := local.OnlyCard(c); d != nil {
		out["table"] = "The table shows " + units.Amount(d.Used.Bytes) + " of " + units.Amount(d.Total.Bytes) + " in use."
	}
	if out["own"]+out["table"]+out["piece"] == "" {
		out["tell"] = "If the card is nearly full before the program starts, something else is using it. If not, this job is too large for the card."
	}
	return out
}

// plainFigures are what a message in plain words states.
func plainFigures(c *ledger.Case) map[string]string {
	asked, have := ledger.Requested(c), c.Free.Bytes
	if have == 0 {
		have = bytesOf(c.F().SystemAvailable)
	}
	told := map[string]string{"have": "", "lacks": "", "bound": "", "hint": "", "piece": ""}
	switch {
	case asked >= 16*units.GiB && have == 0:
		told["piece"] = "One request of " + units.Amount(asked) + ": the input or an index of it is very large, or the size is computed wrongly."
	case fullBefore(c):
		told["piece"] = units.Amount(asked) + " is little: memory was nearly full before."
	}
	if have > 0 && asked > have {
		told["have"], told["lacks"] = units.Amount(have), units.Amount(asked-have)
	}
	if limit := bytesOf(c.F().Limit); limit > 0 && told["have"] == "" {
		told["bound"] = units.Amount(limit)
	}
	if hint, ok := c.Fact(fact.OwnHint); ok {
		told["hint"] = quote.Told(strings.TrimRight(strings.TrimSpace(hint.Text), "."))
	}
	return told
}

// drawing are words of programs that draw.
var drawing = []string{"RenderSystem", "vmaAllocateMemory", "vmaCreateImage", "vmaCreateBuffer", "video memory", "VIDEO MEMORY", "vkQueuePresent", "swapchain", "Swapchain", "D3D11", "d3d11", "D3D12", "d3d12", "DXGI", "ID3D", "Direct3D", "DirectX", "OpenGL", "GL_OUT_OF_MEMORY", "glTexImage", "GL error", "RADV", "radv", "texture pool", "Texture streaming", "LoadTexture", "render target", "Shipping.exe", "GameThread", "RenderThread"}

// holders are ways to see who holds the system memory.
var holders = []cause.Way{
	{For: "Linux", Text: "`free -h; ps -eo pid,rss,args --sort=-rss | head`; a limit: `ulimit -v`, and in a container `cat /sys/fs/cgroup/memory.max`."},
	{For: "Windows", Text: "Task Manager, Details, column \"Commit size\". If \"Committed\" is at its limit (Performance, Memory), enlarge the page file."},
}

// bounded: the message names a limit that is the matter.
func bounded(c *ledger.Case) bool { return c.F().Limit != nil && c.Free.Bytes == 0 }
func hugeAsk(c *ledger.Case) bool { a := ledger.Requested(c); return a >= 16<<30 && a < 4<<40 }

// fullBefore: what was refused is too small to be the matter.
func fullBefore(c *ledger.Case) bool {
	asked := ledger.Requested(c)
	return asked > 0 && asked < 64<<20
}

func bytesOf(s *fact.Size) int64 {
	if s == nil {
		return 0
	}
	return s.Bytes
}

// proposals are the fixes that a program's own proposal may mean, by its words:
// one of each list must be among them.
var proposals = []struct {
	fix         string
	does, about []string
}{
	{"close_other_apps", []string{"clos", "quit", "exit", "stop"}, []string{"application", "program", "process", "tab", "app"}},
	{"lower_num_workers", []string{"reduc", "lower", "fewer", "less", "decreas"}, []string{"thread", "worker", "process", "job", "core", "parallel", "concurren"}},
	{"use_smaller_model", []string{"smaller", "quant", "tiny", "lighter"}, []string{"model"}},
	{"lower_resolution", []string{"reduc", "lower", "smaller", "decreas"}, []string{"resolution", "image", "texture", "tile", "dimension", "quality"}},
	{"stream_dataset", []string{"chunk", "stream", "block", "split", "parts"}, []string{""}},
	{"add_swap", []string{"swap", "paging", "page file", "pagefile"}, []string{""}},
	{"upgrade_version", []string{"updat", "upgrad"}, []string{""}},
	{"raise_memory_limit", []string{"increas", "rais", "larger", "more", "bigger", "tweak", "adjust", "higher"}, []string{"memory", "heap", "limit", "ram", "size", "mb", "budget"}},
	{"lower_batch_size", []string{"reduc", "lower", "smaller", "decreas", "fewer", "less"}, []string{""}},
}

// proposed are the cures that repeat what the program itself proposes.
func proposed() []cause.Cure {
	cures := make([]cause.Cure, len(proposals))
	for i, p := range proposals {
		cures[i] = cause.Cure{Fix: p.fix, Title: "Do what the program suggests", Cost: "some minutes",
			Told: "It says: \"{hint}\".",
			If:   func(c *ledger.Case) bool { return proposes(c) == p.fix }}
	}
	return cures
}

// proposes is the fix that the program's own words mean, "" if none.
func proposes(c *ledger.Case) string {
	hint, _ := c.Fact(fact.OwnHint)
	words := strings.ToLower(hint.Text)
	among := func(list []string) bool {
		return slices.ContainsFunc(list, func(w string) bool { return strings.Contains(words, w) })
	}
	for _, p := range proposals {
		if words != "" && among(p.does) && among(p.about) {
			return p.fix
		}
	}
	return ""
}

// mpiWords stand in logs of simulations that run in ranks, and of compiled
// directives.
var mpiWords = []string{"MPI_Abort", "mpirun detected", "mpiexec", "MPI_ABORT was invoked", "mpirun noticed", "Accelerator Fatal Error", "prterun"}

// flippedBits: a size that no program means, of which the lower half is small
// and the upper half has a few bits.
func flippedBits(c *ledger.Case) bool {
	n := ledger.Requested(c)
	return n >= units.TiB && n&math.MaxUint32 < units.MiB && bits.OnesCount64(uint64(n)>>32) <= 3 && n&math.MaxUint32 != 0
}

func flippedFigures(c *ledger.Case) map[string]string {
	n := ledger.Requested(c)
	high, count := n&^math.MaxUint32, bits.OnesCount64(uint64(n)>>32)
	told := "one bit"
	if count > 1 {
		told = strconv.Itoa(count) + " bits"
	}
	return map[string]string{"small": strconv.FormatInt(n&math.MaxUint32, 10), "high": units.Amount(high), "bits": told}
}
