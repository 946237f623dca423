package array

import (
	"math"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
	"github.com/oomdoc/oomdoc/rules/program/array/local"
	"github.com/oomdoc/oomdoc/rules/quote"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

func sizedAtLeast(bytes int64) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return ledger.Requested(c) >= bytes }
}

// noneKnown: no program is known by its lines, or none but the reader's own.
func noneKnown(c *ledger.Case) bool { return local.NoneKnown(c) }

// bareCards are refusals of the computer's memory that name no program.
var bareCards = []cause.Card{
	{
		ID: "other/bad-alloc", Kinds: []fact.Kind{fact.BadAlloc}, Unsaid: append([]string{"LightGBM", "lightgbm/basic.py"}, local.WasmWords...),
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was refused RAM (std::bad_alloc)",
		Means: "The system refused RAM (not graphics memory); the message has no size. If a tenth of the input fails as well, a size is computed wrongly (a damaged file, a wrong count) or a limit refused; if it runs, RAM is what was short.",
		Cures: []cause.Cure{
			calls.PageFile, calls.LookWhy,
			{Fix: "stream_dataset", Title: "Process less data at a time", Told: "A smaller input, a smaller batch, or fewer threads, which often have buffers of their own.", Cost: "Time"},
			calls.SwapBridge,
		},
		Sources: []string{"libstdc++-v3/libsupc++/bad_alloc.cc", "https://www.kernel.org/doc/html/latest/mm/overcommit-accounting.html"},
	},
	{
		ID: "other/gpuassert", Kinds: []fact.Kind{fact.PlainDevice, fact.CUDAError, fact.PlainMemory}, Said: []string{"GPUassert:"}, If: func(c *ledger.Case) bool { return noneKnown(c) && c.Free.Bytes >= units.GiB },
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of graphics memory in a step of its own",
		Means: "The program checks its calls to the driver (GPUassert) and prints the line of its source. By its own count {free} of {total} were free, so this step most likely needs more than that: joins, pairs and sorts can make results several times their input. Errors after it (\"invalid argument\", an access fault) are usually a result of it.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Process the data in parts", Told: "Run that step on a range of keys or rows at a time; drop duplicates and unneeded columns in each part; use 32-bit numbers where the values allow.", Cost: "Time"},
			{Fix: "fix_shape", Title: "Print the size before the allocation", Told: "Rows x columns x bytes of each, and twice that for a sort, compared with what is free.", Cost: "Free"},
			{Fix: "bigger_gpu", Title: "Use a smaller input or a larger card", Told: "A tenth of the input shows how the need grows.", Cost: "Money"},
		},
		Sources: []string{"https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html", "https://rocm.docs.amd.com/projects/HIP/en/latest/reference/hip_runtime_api/modules/memory_management.html"},
	},
	{
		ID: "other/memory", Kinds: []fact.Kind{fact.PlainMemory, fact.PlainHost}, Unsaid: []string{"loading model", "loadModel", "load_model"}, If: func(c *ledger.Case) bool { return noneKnown(c) && !ledger.RunsModels(c) && !local.Unsized(c) },
		Among:    []string{cause.Unknown, cause.HostMemory, cause.BatchTooLarge, cause.ModelTooLarge, cause.OversizedAllocation},
		Headline: "ran out of memory", Figures: plainFigures,
		Means: "[[{asked} was wanted and {have} was there: {lacks} too little. ]][[The limit is {bound}: one of its own or of its environment, so the machine may have more. ]][[{piece} ]]The log does not show what holds the memory. When it fails is a clue: at once with any input (a wrong size), only with large input (its size), or after a long time (something that grows).",
		Cures: append(proposed(), []cause.Cure{
			{Fix: "raise_memory_limit", If: bounded, Title: "Raise the limit that it names", Cost: "less for other programs", Told: "{bound} is a setting: the program's own option or configuration, a container's (`docker run --memory`; Kubernetes: `resources.limits.memory`), a batch job's (`--mem`) or the shell's (`ulimit -v`). Double it, but stay below what the machine has."},
			{Fix: "close_other_apps", If: fullBefore, Title: "See what uses RAM", Cost: "free", Ways: holders},
			{Fix: "raise_memory_limit", If: hugeAsk, Title: "Run it where that much RAM is free", Cost: "a longer wait, or money", Told: "It needs {asked} in one piece beside what it holds already: a larger node, or more memory for the job or container (`--mem`, `--memory`). Swap of that size works, slowly."},
			{Fix: "lower_batch_size", Title: "Try a tenth of the input", Cost: "a minute", Told: "If it runs, the input is too large: process it in parts. If it fails as well, a size is wrong: a damaged file, a wrong option, or a bug of the program to report."},
			{Fix: "lower_num_workers", If: when.Not(hugeAsk), Title: "Use fewer threads or processes", Cost: "slower", Told: "Many tools reserve buffers for each; the number is an option of the command, often all cores by default."},
			{Fix: "stream_dataset", Title: "If it fails only after a long time: find what grows", Cost: "some minutes", Told: "Your own code: print the length of each list, table or cache that outlives the loop. Another program: update it, and restart it now and then."},
			{Fix: "close_other_apps", If: when.Not(fullBefore), Title: "See what else uses RAM", Cost: "free", Ways: holders},
		}...),
		Sources: []string{"https://www.kernel.org/doc/html/latest/mm/overcommit-accounting.html"},
	},
	{
		ID: "other/model-hint", Kinds: []fact.Kind{fact.PlainMemory, fact.PlainDevice, fact.PlainHost}, If: func(c *ledger.Case) bool { return noneKnown(c) && ledger.RunsModels(c) && proposes(c) != "" },
		Among:    []string{cause.Unknown, cause.BatchTooLarge, cause.ContextTooLong, cause.BudgetMisconfigured, cause.ModelTooLarge},
		Headline: "ran out of memory, and says what to change",
		Means:    "[[{asked} was wanted and {have} was there: {lacks} too little. ]][[{piece} ]]Memory, or a pool of it that the program reserves at the start, had no room for what came next. Its own words name the setting that decides; the log does not show what else holds memory.",
		Figures:  plainFigures,
		Cures: append(proposed(), []cause.Cure{
			{Fix: "lower_context", Title: "Or make the inputs shorter, and fewer at a time", Cost: "longer texts are refused, more wait", Told: "Half the longest input and half the requests that run at once show whether it is their size."},
			{Fix: "use_lower_quant", Title: "Or load the model with fewer bits, or a smaller one", Cost: "some quality"},
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
		Means:    "The graphics driver refused memory[[: {asked}]]. Textures usually take most of it, then resolution, shadows and ray tracing. An integrated GPU has only the share of RAM that BIOS and system give it, and a laptop may run the program on that one. If it fails after hours of use, or since an update, a leak in the program or driver is likely.",
		Figures:  plainFigures,
		Cures: append(proposed(), []cause.Cure{
			{Fix: "lower_resolution", Title: "Lower the texture quality", Cost: "detail", Told: "Then resolution or render scale, shadows, anti-aliasing, ray tracing; no texture packs or mods. If it ends before the menu: delete the settings file in its folder under Documents or AppData, or use its safe mode."},
			{Fix: "close_other_apps", Title: "Close other programs that use the card", Cost: "free", Told: "Browsers, overlays, recorders, animated wallpapers, AI tools. Windows: Task Manager, Performance, GPU, \"Dedicated GPU memory\"."},
			{Fix: "upgrade_version", Title: "Use the dedicated GPU; update the driver", Cost: "free", Ways: []cause.Way{
				{For: "Laptop", Text: "Settings, System, Display, Graphics: the game, High performance."},
				{For: "Integrated GPU", Text: "BIOS: UMA frame buffer 2 to 4 GB; and a page file managed by Windows."},
				{For: "Since an update, or after hours", Text: "update driver and program, verify its files; otherwise restart now and then, and report this log."},
			}},
			{Fix: "restart_session", Title: "Restart the program", Cost: "free"},
		}...),
		Sources: []string{"https://registry.khronos.org/vulkan/specs/latest/man/html/vkAllocateMemory.html", "https://learn.microsoft.com/en-us/windows/win32/direct3ddxgi/dxgi-error"},
	},
	{
		ID: "other/simulation", Kinds: []fact.Kind{fact.PlainDevice, fact.CUDAError}, Said: mpiWords, If: noneKnown,
		Among:    []string{cause.Unknown, cause.BatchTooLarge, cause.ModelTooLarge, cause.OversizedAllocation, cause.LeakedProcess},
		Headline: "ran out of graphics memory in a parallel job",
		Means:    "Each rank puts its part of the grid on its card, beside a context of 300 to 600 MiB; several ranks on one card share its memory.[[ {one}]]",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Use a coarser grid, or more cards", Told: "Half the cells in each direction is an eighth in 3D. Many codes print the memory that each rank needs before they allocate; single precision, where the code supports it, is half.", Cost: "detail"},
			{Fix: "multi_gpu", If: when.Not(oneCard), Title: "Run one rank per card", Told: "`mpirun -n` with the number of cards; {look} shows whether several ranks sit on one.", Cost: "more cards"},
			{Fix: "kill_stale_process", If: when.Not(oneCard), Title: "See what else is on the card", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			{Fix: "cpu_offload", Title: "Run it on the CPU", Told: "Most such codes have a switch for it; RAM is larger, also over several nodes.", Cost: "slower"},
		},
		Sources: []string{"https://docs.nvidia.com/hpc-sdk/compilers/openacc-gs/index.html", "https://www.open-mpi.org/doc/current/man1/mpirun.1.php", "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html"},
		Figures: simulationFigures,
	},
	{
		ID: "other/tenstorrent", Kinds: []fact.Kind{fact.PlainDevice}, Said: []string{"DRAM buffer across", "L1 buffer across"},
		Headline: "ran out of memory on a Tenstorrent chip[[: a buffer of {asked} did not fit]]",
		Means:    "A buffer is spread over all memory banks of the chip, and each bank must have room for its part in one piece. If the message's \"free\" is more than a bank needs and its \"largest free block\" is less, the memory is in pieces; otherwise weights, KV cache and activations fill the bank.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Lower the context length and the batch", Told: "A model server: half of `--max-model-len` and `--max-num-seqs`. A script: a shorter input and batch 1; long prompts in chunks.", Cost: "shorter texts, fewer at a time"},
			{Fix: "use_lower_quant", Title: "Keep the weights in a smaller data type", Told: "`bfloat8_b` takes about half of `bfloat16`, `bfloat4_b` a quarter, where the model's code lets you choose.", Cost: "some quality"},
			{Fix: "multi_gpu", Title: "Use more chips, or a model made for this system", Told: "Split over a mesh each chip holds a part of weights and cache; the model's page lists the systems that it runs on.", Cost: "hardware"},
		},
		Sources: []string{"tt-metal/tt_metal/impl/allocator/bank_manager.cpp", "tt-metal/ttnn/cpp/ttnn-nanobind/bfloat_dtype_traits.hpp: bfloat8_b bfloat4_b"},
	},
	{
		ID: "other/device", Kinds: []fact.Kind{fact.PlainDevice}, Unsaid: append(local.OpenCLWords, mpiWords...), If: noneKnown,
		Among:    []string{cause.Unknown, cause.BatchTooLarge, cause.ModelTooLarge, cause.OversizedAllocation},
		Headline: "ran out of graphics memory",
		Means:    "[[{asked} was wanted and {have} was there: {lacks} too little. ]][[{piece} ]][[{own} ]][[{table}]][[{tell}]]",
		Figures:  deviceFigures,
		Cures: append(proposed(), []cause.Cure{
			{Fix: "kill_stale_process", If: fullBefore, Title: "See what else uses the card", Told: "{look}", Cost: "free"},
			{Fix: "lower_batch_size", If: ownCode, Title: "Do less at a time", Cost: "slower, or less detail", Told: "Try a tenth of the input; if it runs, work in blocks and free each before the next. If not, print the sizes that you allocate."},
			{Fix: "lower_batch_size", Title: "Do less at a time", Cost: "slower, or less detail", Told: "The program's own setting for work at a time (batch, tile or block size, samples, threads or jobs side by side) at half of its present value; where it has none, a lower resolution or a smaller input."},
			{Fix: "kill_stale_process", If: when.Not(oneCard), Title: "See what else uses the card", Told: "{look}", Cost: "free"},
			{Fix: "close_other_apps", If: oneCard, Title: "Close what else draws or computes on it", Told: "Desktop, browser, viewer: a few hundred MB to 2 GB.", Cost: "free"},
			{Fix: "bigger_gpu", Title: "If nothing else is on it: use a card with more memory", Told: "Where the work cannot be made smaller.", Cost: "money"},
		}...),
		Sources: []string{"https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html"},
	},
	{
		ID: "other/compiler", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"bytes after a total of"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "was refused RAM while it compiled",
		Means: "The compiler (GCC) was refused RAM. The total in the message is what this one compiler held; builds usually run several at once, so their sum counts. A container limit or a 32-bit compiler (2 to 4 GB) refuses early. Nothing is wrong with the source.",
		Not:   "Running it again with the same number of jobs.",
		Cures: []cause.Cure{
			{Fix: "lower_build_jobs", Title: "Compile with one job", Ways: []cause.Way{
				{For: "make, ninja", Text: "`make -j1`, `ninja -j1`; finished files are kept"},
				{For: "CMake", Text: "`cmake --build build --parallel 1`"},
				{For: "pip", Text: "`MAX_JOBS=1 pip install PACKAGE` (what you install)"},
			}, Cost: "A longer build"},
			calls.SwapBridge,
			{Fix: "raise_memory_limit", Title: "If one file alone is too large: `-O1`, no `-g`", Told: "They need less for that file; in a container or WSL raise its memory.", Cost: "A slower program"},
		},
		Sources: []string{"gcc/libiberty/xmalloc.c", "ninja/doc/manual.asciidoc"},
	},
	{
		ID: "other/git", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"Out of memory, malloc failed"},
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "was refused {asked} of RAM (git)",
		Means: "git reads large files whole into RAM, and several versions of them while it packs; {asked} is one such piece. Either a file in the history is about that large, or a small machine, a container or a 32-bit git (2 to 4 GB at most) has no room for packing with many threads.",
		Not:   "A larger `http.postBuffer`: it needs more RAM.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Limit git's packing memory", Told: "Where git ran out, on the server or here:", Kind: "shell", Text: "git config --global pack.threads 1\ngit config --global pack.windowMemory 256m\ngit config --global core.bigFileThreshold 50m", Cost: "Slower, a larger pack"},
			{Fix: "stream_dataset", Title: "Make a shallow or partial clone", Told: "`git clone --depth 1 URL`, or `--filter=blob:none`; keep large files in Git LFS.", Cost: "No history at hand"},
			calls.SwapBridge, calls.PageFile,
		},
		Sources: []string{"git/wrapper.c", "git/Documentation/config/pack.adoc", "git/Documentation/config/core.adoc"},
	},
	{
		ID: "other/rust-alloc", Kinds: []fact.Kind{fact.RustAlloc}, If: func(c *ledger.Case) bool { r := ledger.Requested(c); return r > 0 && r < cause.Large },
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was refused {asked} of RAM",
		Means: "Rust's allocator asked the system for {asked} of RAM and was refused. A vector that grows often doubles, so the old one may be there as well. What else the program holds is not in the line.",
		Cures: []cause.Cure{
			calls.PageFile, calls.LookWhy,
			{Fix: "stream_dataset", Title: "Use a smaller input or fewer threads", Told: "A smaller file or batch; `RAYON_NUM_THREADS=4` if it uses rayon (threads often hold buffers). In your own code: `Vec::with_capacity`, or chunks instead of one vector.", Cost: "Time"},
			calls.SwapBridge,
		},
		Sources: []string{"rust/library/alloc/src/alloc.rs", "https://docs.rs/rayon/latest/rayon/struct.ThreadPoolBuilder.html"},
	},
	{
		ID: "other/flipped-bits", Kinds: []fact.Kind{fact.RustAlloc, fact.NativeAlloc, fact.PlainHost}, If: flippedBits, Figures: flippedFigures,
		Cause: cause.SoftwareBug, Weight: cause.Strong, Headline: "asked for {asked}: a small size with high bits set",
		Means: "The size is {small} bytes plus {high}: {bits} set among zeros in its upper half. Overwritten memory gives such sizes, and so does unstable RAM or an unstable processor: then the same job fails elsewhere next time, often with another error.",
		Not:   "More RAM or swap: no machine has {asked}.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Run it twice more", Told: "If it fails at another place or with another error, test the machine: RAM overnight (MemTest86, Windows: `mdsched`), XMP, EXPO and overclocking off, a new BIOS (Intel's 13th and 14th generation: microcode 0x12B or later).", Cost: "Free"},
			{Fix: "upgrade_version", Title: "If it fails at the same place: update the program", Told: "Delete its caches and build folder, take its newest version, and report it with this number.", Cost: "Some minutes"},
		},
		Sources: []string{"https://doc.rust-lang.org/alloc/alloc/fn.handle_alloc_error.html", "https://www.memtest86.com/troubleshooting.htm"},
	},
	{
		ID: "other/rust-alloc-absurd", Kinds: []fact.Kind{fact.RustAlloc}, If: sizedAtLeast(cause.Large),
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "wanted {asked} of RAM in one piece",
		Means: "One request of {asked}: either a wrong length (a damaged or unexpected file, a count read from the wrong place, a subtraction below zero), or the whole input at once. The line does not say which; a small, known good input does.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Try a small input that is known to be good", Told: "If it runs, the first input is damaged, in another format, or too large: check its size and download it again. If it fails as well, it is a bug.", Cost: "A few minutes"},
			{Fix: "upgrade_version", Title: "If it is a bug: update, and get a backtrace", Kind: "env", Text: "export RUST_BACKTRACE=1", Told: "The backtrace names the function that asked; report it with the number.", Cost: "A few minutes"},
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
	out := map[string]string{"look": "`nvidia-smi`", "one": ""}
	if d := local.OnlyCard(c); d != nil {
		out["one"] = "The table shows one card with " + units.Amount(d.Total.Bytes) + ", so all ranks share it."
	}
	return out
}

// deviceFigures are those of a message, of what the program freed, and of a table.
func deviceFigures(c *ledger.Case) map[string]string {
	out := plainFigures(c)
	out["own"], out["table"], out["tell"], out["look"] = "", "", "", "Before the program starts: Task Manager, GPU (Windows), or `nvidia-smi`, `rocm-smi --showpids`, `intel_gpu_top`, by the card's maker."
	if slices.Contains([]string{"cuda", "rocm", "npu", "xpu", "tpu"}, c.Backend) {
		out["look"] = "Before the program starts: `" + reader.Monitor(c) + "`."
	}
	if own := bytesOf(c.F().ProcessUsed); own > 0 {
		out["own"] = "The program itself held " + units.Amount(own) + "."
	}
	if d := local.OnlyCard(c); d != nil {
		out["table"] = "The table shows " + units.Amount(d.Used.Bytes) + " of " + units.Amount(d.Total.Bytes) + " in use."
	}
	if out["own"]+out["table"]+out["piece"] == "" {
		out["tell"] = "If the card is nearly full before the program starts, something else holds it; if not, the work at a time is too much for it."
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
var drawing = []string{
	"RenderSystem", "vmaAllocateMemory", "vmaCreateImage", "vmaCreateBuffer", "video memory", "VIDEO MEMORY", "vkQueuePresent", "swapchain", "Swapchain", "D3D11", "d3d11", "D3D12", "d3d12", "DXGI", "ID3D", "Direct3D", "DirectX",
	"OpenGL", "GL_OUT_OF_MEMORY", "glTexImage", "GL error", "RADV", "radv", "texture pool", "Texture streaming", "LoadTexture", "render target", "Shipping.exe", "GameThread", "RenderThread",
}

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
