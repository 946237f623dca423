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
	"github.com/oomdoc/oomdoc/rules/when"
)

func sizedAtLeast(bytes int64) func(*ledger.Case) bool {
	return func(c *ledger.Case) bool { return ledger.Requested(c) >= bytes }
}

// noneKnown: no program is known by its lines, or none but the reader's own.
func noneKnown(c *ledger.Case) bool {
	return len(c.Stack) <= 1 && (c.Reader.Program == "" || c.Reader.Program == "own-script")
}

// bareCards are refusals of the computer's memory that name no program.
var bareCards = []cause.Card{
	{
		ID: "other/bad-alloc", Kinds: []fact.Kind{fact.BadAlloc}, Unsaid: append([]string{"LightGBM", "lightgbm/basic.py"}, local.WasmWords...),
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "was refused RAM (std::bad_alloc)",
		Means:    "C++'s way to say that the system refused memory: RAM, not the graphics card, and never with a size. Growing arrays double, and for a moment the old and the new one are there together, so two thirds in use can be too much. Otherwise a count is wrong: a damaged file, a negative number read as a huge one; then it fails at once, however much is free.",
		Not:      "A smaller batch on the card, or its allocator settings.",
		Cures: []cause.Cure{
			calls.PageFile, calls.LookWhy,
			{Fix: "stream_dataset", Title: "Give it less at a time", Told: "Add data in parts of a fixed size (an index: `add` in blocks of 100,000 vectors), tell containers their size beforehand (`reserve`), fewer threads: each has buffers of its own. With a tenth of the input it runs: it is the size; it fails as before: look for the wrong count or file.", Cost: "Time"},
			calls.SwapBridge,
		},
		Sources: []string{"libstdc++-v3/libsupc++/bad_alloc.cc", "https://www.kernel.org/doc/html/latest/mm/overcommit-accounting.html"},
	},
	{
		ID: "other/gpuassert", Kinds: []fact.Kind{fact.PlainDevice, fact.CUDAError, fact.PlainMemory}, Said: []string{"GPUassert:"}, If: func(c *ledger.Case) bool { return noneKnown(c) && c.Free.Bytes >= units.GiB },
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "was refused memory on the card in a step of its own",
		Means:    "A check after a call to the driver printed this (GPUassert), with the line of the source where it stands. {free} of the {total} were free by its own count before, so what it asked for is the matter. What the log names last before it is what grew: joins, pairs and expansions make results that outgrow their inputs, and sorting or removing doubles needs them twice. What follows (\"invalid argument\", an access fault, an abort) is the same failure: the program went on with a pointer that it did not get.",
		Not:      "Ending other programs, where that much was free; settings of PyTorch's allocator; looking into the faults that follow.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Work in parts", Told: "Split that step (a range of keys or rows at a time), remove doubles and columns that are not needed in each part before the next; 32-bit numbers where the values allow.", Cost: "Time"},
			{Fix: "fix_shape", Title: "Reckon its size beforehand", Told: "Rows x columns x bytes of each, and twice that for a sort: print it before the allocation, and let the check end the program there.", Cost: "Free"},
			{Fix: "bigger_gpu", Title: "A smaller input, several cards, or one with more memory", Told: "A tenth of the input shows how it grows.", Cost: "Money"},
		},
		Sources: []string{"https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html", "https://rocm.docs.amd.com/projects/HIP/en/latest/reference/hip_runtime_api/modules/memory_management.html"},
	},
	{
		ID: "other/memory", Kinds: []fact.Kind{fact.PlainMemory, fact.PlainHost}, Unsaid: []string{"loading model", "loadModel", "load_model"}, If: func(c *ledger.Case) bool { return noneKnown(c) && !ledger.RunsModels(c) },
		Among:    []string{cause.Unknown, cause.HostMemory, cause.BatchTooLarge, cause.ModelTooLarge, cause.OversizedAllocation},
		Headline: "ran out of memory",
		Means:    "[[{asked} was wanted and {have} was there: {lacks} too little. ]][[What it may use is bounded at {bound}: a limit of its own or of who runs it, so the machine may have more. ]][[{piece} ]]A program of its own said so; the log does not show what else was in memory. It helps to know when it fails: at once, whatever the input (a wrong size), with large input only (its size), or after a long time (something grows and is never emptied).",
		Not:      "A graphics card and its settings: nothing in the log is about one.",
		Figures:  plainFigures,
		Cures: append(proposed(), []cause.Cure{
			{Fix: "raise_memory_limit", If: bounded, Title: "Raise the limit that it names", Cost: "less for other programs", Told: "{bound} is a setting: an option or line in its configuration, a container's (`docker run --memory`, `resources.limits.memory`), a queue's (`--mem`) or the shell's (`ulimit -v`). Twice that, below what the machine has."},
			{Fix: "close_other_apps", If: fullBefore, Title: "See who holds the memory", Cost: "free", Ways: holders},
			{Fix: "lower_batch_size", Title: "Give it a tenth of the input", Cost: "a minute", Told: "Does it run then, work in parts: read, compute, write, let go. Does it fail alike, look for a size that is computed wrongly: the innermost line of your own in the trace names it."},
			{Fix: "lower_num_workers", Title: "It runs in many threads or processes: a quarter of them", Cost: "slower", Told: "Many tools reserve buffers for each (samtools sort: `-m` times `-@`); their number is an option of the command, often all cores unless set."},
			{Fix: "stream_dataset", Title: "It fails after a long time: find what grows", Cost: "some minutes", Told: "Print the length of each list, table or cache that lives through the loop; bound it, or write it out as it fills."},
			{Fix: "close_other_apps", If: when.Not(fullBefore), Title: "See what else holds memory", Cost: "free", Ways: holders},
		}...),
		Sources: []string{"https://www.kernel.org/doc/html/latest/mm/overcommit-accounting.html"},
	},
	{
		ID: "other/game", Kinds: []fact.Kind{fact.PlainDevice, fact.PlainMemory}, Said: drawing, If: func(c *ledger.Case) bool {
			return noneKnown(c) && !ledger.RunsModels(c) && c.Failure.Backend != "cuda" && c.Failure.Backend != "rocm"
		},
		Among:    []string{cause.Unknown, cause.BatchTooLarge, cause.ModelTooLarge, cause.OversizedAllocation, cause.HostMemory},
		Headline: "ran out of video memory while it drew",
		Means:    "A game or renderer asked the graphics driver for memory and was refused[[: {asked}]]. Textures fill most of it, then resolution, shadows and ray tracing. An integrated unit has only the share that BIOS and system leave it, and a laptop may run the game on that one. Comes it after hours of play or since an update, something is kept: that is the game's or driver's bug.",
		Not:      "More disk or a faster processor; settings of AI programs.",
		Figures:  plainFigures,
		Cures: append(proposed(), []cause.Cure{
			{Fix: "lower_resolution", Title: "Textures one or two steps lower", Cost: "detail", Told: "Then resolution or render scale, shadows, anti-aliasing, ray tracing; no texture packs or mods. It ends before the menu: the settings file in its folder under Documents or AppData, or its safe mode; then restart the game."},
			{Fix: "close_other_apps", Title: "Free the card before the start", Cost: "free", Told: "Browsers, overlays and recorders, animated wallpapers, AI tools. Windows: Task Manager, Performance, GPU, \"Dedicated GPU memory\"."},
			{Fix: "upgrade_version", Title: "The right unit, and room for the fallback", Cost: "free", Ways: []cause.Way{
				{For: "Laptop", Text: "Settings, System, Display, Graphics: the game, High performance."},
				{For: "Integrated unit", Text: "BIOS: UMA frame buffer 2 to 4 GB; two modules of RAM; a page file that may grow."},
				{For: "Since an update, or after hours", Text: "newer driver and game, verify its files; else restart now and then, and report this log."},
			}},
			{Fix: "restart_session", Title: "Restart the game", Cost: "free"},
		}...),
		Sources: []string{"https://registry.khronos.org/vulkan/specs/latest/man/html/vkAllocateMemory.html", "https://learn.microsoft.com/en-us/windows/win32/direct3ddxgi/dxgi-error"},
	},
	{
		ID: "other/simulation", Kinds: []fact.Kind{fact.PlainDevice, fact.CUDAError}, Said: mpiWords, If: noneKnown,
		Among:    []string{cause.Unknown, cause.BatchTooLarge, cause.ModelTooLarge, cause.OversizedAllocation, cause.LeakedProcess},
		Headline: "ran out of graphics memory in a parallel job",
		Means:    "The driver refused one rank of a job of several (MPI), or of a compiled program. Each rank puts its part of the grid on its card, beside a context of 300 to 600 MiB; several ranks on one card share that card, and more ranks there need more, not less. It fails at the start if the grid is too large for the cards, later if something grows (particles, refinement).",
		Not:      "More RAM in the machine: the arrays are to lie on the card.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "A coarser grid, or a smaller part of it for each card", Told: "Half the cells in each direction is an eighth in space. Many codes print what they need for each rank in their own log before they allocate; single precision, where the code can be built so, is half.", Cost: "detail"},
			{Fix: "multi_gpu", Title: "One rank for each card, and more cards", Told: "As many ranks as cards: `mpirun -n` the number of cards; {look} shows whether several ranks sit on one.", Cost: "more cards"},
			{Fix: "kill_stale_process", Title: "See what else is on the card", Cost: "free"},
			{Fix: "cpu_offload", Title: "Or run it on processors", Told: "Most such codes have a switch for it; RAM is larger, also over several nodes.", Cost: "slower"},
		},
		Sources: []string{"https://docs.nvidia.com/hpc-sdk/compilers/openacc-gs/index.html", "https://www.open-mpi.org/doc/current/man1/mpirun.1.php", "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html"},
		Figures: func(*ledger.Case) map[string]string { return map[string]string{"look": "`nvidia-smi`"} },
	},
	{
		ID: "other/device", Kinds: []fact.Kind{fact.PlainDevice}, Unsaid: append(openCLWords, mpiWords...), If: noneKnown,
		Among:    []string{cause.Unknown, cause.BatchTooLarge, cause.ModelTooLarge, cause.OversizedAllocation},
		Headline: "ran out of graphics memory",
		Means:    "A program of its own said so, in words or a code of the driver's.[[ {asked} was wanted and {have} was there: {lacks} too little.]][[ {piece}]] The log does not show who holds the card. Either what it computes at once is too large for the card, or something else is on it: one look while it is closed tells.",
		Not:      "Swap and more RAM, which the card does not use; settings of PyTorch's allocator, which other programs do not have.",
		Figures:  plainFigures,
		Cures: append(proposed(), []cause.Cure{
			{Fix: "kill_stale_process", If: fullBefore, Title: "See what is on the card", Cost: "free"},
			{Fix: "lower_batch_size", Title: "Give it less at a time", Cost: "slower, or less detail", Ways: []cause.Way{
				{For: "Your own code", Text: "a tenth of the input shows whether it is the size; then work in blocks, free what is not needed before the next one, and check the sizes that you allocate: results of joins and pairs outgrow their inputs."},
				{For: "Images, volumes, scenes", Text: "a lower resolution or a part at a time, fewer objects."},
				{For: "An AI program", Text: "a smaller or quantised model, a shorter context, smaller images."},
			}},
			{Fix: "kill_stale_process", If: when.Not(fullBefore), Title: "See what else is on the card", Cost: "free"},
			{Fix: "bigger_gpu", Title: "It is alone there and the input is as small as it can be: a card with more memory", Cost: "money"},
		}...),
		Sources: []string{"https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__MEMORY.html"},
	},
	{
		ID: "other/compiler", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"bytes after a total of"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "was refused RAM while it compiled",
		Means:    "The compiler (GCC's wording) was refused the computer's RAM. The small number is only the last piece, the total what this one compiler held. Several run at once as a rule, so the sum counts; a container's limit or a 32-bit compiler (2 to 4 GB) refuses early. Nothing is wrong with the source.",
		Not:      "A graphics card, or starting it again with the same number of jobs.",
		Cures: []cause.Cure{
			{Fix: "lower_build_jobs", Title: "One compiler at a time", Ways: []cause.Way{
				{For: "make, ninja", Text: "`make -j1`, `ninja -j1`; finished files are kept"},
				{For: "CMake", Text: "`cmake --build build --parallel 1`"},
				{For: "pip", Text: "`MAX_JOBS=1 pip install PACKAGE` (what you install)"},
			}, Cost: "A longer build"},
			calls.SwapBridge,
			{Fix: "raise_memory_limit", Title: "This one file alone is too large", Told: "`-O1` and no `-g` for it need much less; in a container or WSL raise its memory.", Cost: "A slower program"},
		},
		Sources: []string{"gcc/libiberty/xmalloc.c", "ninja/doc/manual.asciidoc"},
	},
	{
		ID: "other/git", Kinds: []fact.Kind{fact.NativeAlloc}, Said: []string{"Out of memory, malloc failed"},
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "was refused {asked} of RAM (git)",
		Means:    "git holds a large file whole in RAM, and several versions of it while it packs: {asked} is one such piece. Either a file in the history is about that large, or a small machine, container or 32-bit git (2 to 4 GB at most) has no room for packing with many threads.",
		Not:      "Cloning again as it is, or a larger http.postBuffer: that needs more RAM, not less.",
		Cures: []cause.Cure{
			{Fix: "lower_num_workers", Title: "Let git use less", Told: "Where git ran out, on the server or here:", Kind: "shell", Text: "git config --global pack.threads 1\ngit config --global pack.windowMemory 256m\ngit config --global core.bigFileThreshold 50m", Cost: "Slower, a larger pack"},
			{Fix: "stream_dataset", Title: "Fetch less", Told: "`git clone --depth 1 URL`, or `--filter=blob:none`; large files belong into Git LFS.", Cost: "No history at hand"},
			calls.SwapBridge, calls.PageFile,
		},
		Sources: []string{"git/wrapper.c", "git/Documentation/config/pack.txt", "git/Documentation/config/core.txt"},
	},
	{
		ID: "other/memory-while-reading", Kinds: []fact.Kind{fact.PythonMemory}, Unsaid: []string{"pandas/core"}, If: func(c *ledger.Case) bool { return readsWhole(c) != nil }, Figures: readsWhole,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of RAM while it read a file as a whole (MemoryError)",
		Means:    "The line reads a whole file: {grows} What was there before counts too. On Linux such a refusal, rather than a kill, speaks for a limit (`ulimit -v`, a job's) or a 32-bit Python; on Windows for RAM and page file together.",
		Not:      "Anything about the graphics card.",
		Cures: []cause.Cure{
			{Fix: "stream_dataset", Title: "Read it in parts, or mapped", Told: "{instead}", Cost: "Some rewriting"},
			calls.PageFile, calls.LookWhy, calls.SwapBridge,
		},
		Sources: []string{"https://docs.python.org/3/library/exceptions.html", "https://numpy.org/doc/stable/reference/generated/numpy.load.html", "https://docs.pytorch.org/docs/stable/generated/torch.load.html"},
	},
	{
		ID: "other/python-memory", Kinds: []fact.Kind{fact.PythonMemory}, Unsaid: []string{"pandas/core"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "was refused RAM (MemoryError)",
		Means:    "Python asked the system for RAM and was refused; the message has no size. A single array beyond what is free in RAM and swap is refused at once; many small ones would rather get the program killed on Linux, so that a refusal then speaks for a limit (`ulimit -v`, strict overcommit) or a 32-bit Python (2 to 4 GB at most). On Windows RAM and page file together are the bound. Python objects are large: a number in a list takes 36 bytes, a short string some 60. The last line of the traceback is what came next, not what filled it.",
		Not:      "Anything about the graphics card.",
		Cures: []cause.Cure{
			calls.PageFile, calls.LookWhy,
			{Fix: "stream_dataset", Title: "Hold less as Python objects", Told: "Numbers in NumPy arrays (4 or 8 bytes each), files line by line (`for line in f`), results written as they come. 32 bit: `python -c \"import struct; print(struct.calcsize('P') * 8)\"`, then install the 64-bit Python.", Cost: "Some rewriting"},
			calls.SwapBridge,
		},
		Sources: []string{"https://docs.python.org/3/library/exceptions.html", "https://www.kernel.org/doc/html/latest/mm/overcommit-accounting.html"},
	},
	{
		ID: "other/rust-alloc", Kinds: []fact.Kind{fact.RustAlloc}, If: func(c *ledger.Case) bool { r := ledger.Requested(c); return r > 0 && r < cause.Large },
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "was refused {asked} of RAM",
		Means:    "Rust's allocator asked the system for {asked} and was refused: RAM, not the graphics card. A vector that grows doubles, so the {asked} are as a rule the new copy, with half of it, the old one, still there. What else the program holds is not in the line.",
		Not:      "A build in release or debug: the amount is the same.",
		Cures: []cause.Cure{
			calls.PageFile, calls.LookWhy,
			{Fix: "stream_dataset", Title: "Give it less at a time", Told: "A smaller file, batch or thread count (`RAYON_NUM_THREADS=4`: each thread holds buffers); in your own code `Vec::with_capacity`, or chunks in place of one vector.", Cost: "Time"},
			calls.SwapBridge,
		},
		Sources: []string{"rust/library/alloc/src/alloc.rs", "https://docs.rs/rayon/latest/rayon/struct.ThreadPoolBuilder.html"},
	},
	{
		ID: "other/flipped-bits", Kinds: []fact.Kind{fact.RustAlloc, fact.NativeAlloc, fact.PlainHost}, If: flippedBits, Figures: flippedFigures,
		Cause: cause.SoftwareBug, Weight: cause.Strong,
		Headline: "asked for {asked}: a small size with high bits set",
		Means:    "As a number the size is {small} bytes and {high} more: {bits} among zeros, where a real size would have figures throughout. Memory that was overwritten looks like that, and so does RAM or a processor that is unstable: then the same job fails elsewhere the next time, often with another error.",
		Not:      "More RAM, swap or fewer jobs: no machine has {asked}.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Title: "Run it again, twice", Told: "Fails it at another place, or with another error, it is the machine: test the memory for a night (MemTest86, Windows: `mdsched`), take XMP, EXPO and overclocking off, and update the BIOS (Intel's 13th and 14th generation: microcode 0x12B or later).", Cost: "Free"},
			{Fix: "upgrade_version", Title: "Fails it at the same place: a bug of the program", Told: "Delete its caches and build folder, take its newest version, and report it with this number.", Cost: "Some minutes"},
		},
		Sources: []string{"https://doc.rust-lang.org/alloc/alloc/fn.handle_alloc_error.html", "https://www.memtest86.com/troubleshooting.htm"},
	},
	{
		ID: "other/rust-alloc-absurd", Kinds: []fact.Kind{fact.RustAlloc}, If: sizedAtLeast(cause.Large),
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "wanted {asked} of RAM in one piece",
		Means:    "One piece of {asked}: a length that is wrong (a damaged or unexpected file, a header read as a count, a subtraction below zero), or the whole input at once. The line does not say which; a small, known good input decides it.",
		Not:      "More RAM or swap, if the number is not the size of your data.",
		Cures: []cause.Cure{
			{Fix: "fix_shape", Title: "Try a small input that is known to be good", Told: "It runs: the first input is damaged, of another format, or too large; check its size and download it again. It fails as well: a bug.", Cost: "A few minutes"},
			{Fix: "upgrade_version", Title: "A bug: the newest version, with a backtrace", Kind: "env", Text: "export RUST_BACKTRACE=1", Told: "The backtrace names the function that asked; report it with the number.", Cost: "A few minutes"},
			{Fix: "stream_dataset", Title: "It is the size of your data: in parts", Told: "Split the input, or use the program's own option for streaming or chunks.", Cost: "Time"},
		},
		Sources: []string{"rust/library/alloc/src/alloc.rs", "https://doc.rust-lang.org/std/backtrace/index.html"},
	},
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
		told["piece"] = units.Amount(asked) + " in one piece is more than most machines can give: a size that is computed wrongly, a table of all pairs, or an input that has to go in parts."
	case fullBefore(c):
		told["piece"] = units.Amount(asked) + " is a small piece: memory was full before it, so who fills it counts, not this request."
	}
	if have > 0 && asked > have {
		told["have"], told["lacks"] = units.Amount(have), units.Amount(asked-have)
	}
	if limit := bytesOf(c.F().Limit); limit > 0 && told["have"] == "" {
		told["bound"] = units.Amount(limit)
	}
	if hint, ok := c.Fact(fact.OwnHint); ok {
		told["hint"] = quote.Told(strings.TrimSpace(hint.Text))
	}
	return told
}

// drawing are words of programs that draw.
var drawing = []string{
	"RenderSystem", "vmaAllocateMemory", "vmaCreateImage", "vmaCreateBuffer", "video memory", "VIDEO MEMORY", "vkQueuePresent", "swapchain", "Swapchain", "D3D11", "d3d11", "D3D12", "d3d12", "DXGI", "ID3D", "Direct3D", "DirectX",
	"OpenGL", "GL_OUT_OF_MEMORY", "glTexImage", "GL error", "RADV", "radv", "texture pool", "Texture streaming", "LoadTexture", "render target", "Shipping.exe", "GameThread", "RenderThread",
}

// holders are ways to see who holds the computer's memory.
var holders = []cause.Way{
	{For: "Linux", Text: "`free -h; ps -eo pid,rss,args --sort=-rss | head`; a limit: `ulimit -v`, and in a container `cat /sys/fs/cgroup/memory.max`."},
	{For: "Windows", Text: "Task Manager, Details, column \"Commit size\"; \"Committed\" at its end (Performance, Memory): a page file that may grow."},
}

// bounded: the message names a limit that is the matter.
func bounded(c *ledger.Case) bool { return c.F().Limit != nil && c.Free.Bytes == 0 }

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
		cures[i] = cause.Cure{Fix: p.fix, Title: "Do what it proposes itself", Cost: "some minutes",
			Told: "Its own words: \"{hint}\". Nobody knows its settings better; then look whether the figure in its message moved.",
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

// readsWhole says what a line that reads a file at once takes, and what to write
// instead; nil for another line.
func readsWhole(c *ledger.Case) map[string]string {
	frames := ledger.Trace(c)
	for _, f := range frames[max(0, len(frames)-3):] {
		for _, way := range [...]struct{ call, grows, instead string }{
			{"pickle.load", "a pickle's objects take several times its size on the disk, and both are there for a moment.", "Written again in pieces: numbers as `.npy` (`np.load(path, mmap_mode=\"r\")` reads what is used), tables as Parquet, samples as one file each. Once, on a machine with more RAM, or where it is made."},
			{"joblib.load", "arrays and objects of it all come into RAM.", "`joblib.load(path, mmap_mode=\"r\")`, if it was written without compression."},
			{"json.load", "the text, and its objects, which take five to ten times as much.", "JSON lines, one object at a time (`for line in f: json.loads(line)`), or the package ijson for one large array."},
			{"torch.load(", "the tensors, onto the device that they were saved from.", "`torch.load(path, map_location=\"cpu\", mmap=True)` (PyTorch 2.1 and later) reads what is used; without the optimizer, if only the model is wanted."},
			{"np.load(", "the array in one piece.", "`np.load(path, mmap_mode=\"r\")` reads what is used (`.npy`; an `.npz` cannot be mapped)."},
			{".read()", "its text, and whatever is made of it beside that.", "Line by line (`for line in f`), or `f.read(1 << 20)` in a loop."},
			{".readlines()", "a string for each line, with some 50 bytes beside its text.", "Line by line: `for line in f`."},
			{"loadmat(", "all variables, in 64 bit as a rule.", "`variable_names=[\"x\"]` reads only those; files of version 7.3 are HDF5: `h5py.File(path)[\"x\"][0:1000]`."},
		} {
			if strings.Contains(f.Source, way.call) {
				return map[string]string{"grows": way.grows, "instead": way.instead}
			}
		}
	}
	return nil
}
