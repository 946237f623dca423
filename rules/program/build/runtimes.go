package build

import (
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

// Runtimes of languages that the system refused memory.
var (
	DotNet = program.Program{
		Name: "dotnet", Shown: ".NET", Edits: "code", Language: "csharp",
		Proofs: []string{"System.OutOfMemoryException", "Failed to create CoreCLR", "GC heap initialization failed"},
		Cards: []cause.Card{
			{
				ID: "dotnet/start", Kinds: nil, Said: []string{"GC heap initialization failed", "Failed to create CoreCLR"},
				Cause: cause.HostMemory, Weight: cause.Decisive,
				Headline: "did not start: it could not reserve its heap",
				Means:    "At the start .NET reserves address space, by default 256 GB since version 7; that is not yet memory. A limit on address space (`ulimit -v`, a sandbox) or a very small container forbids that, even if RAM is free.",
				Cures: []cause.Cure{
					{Fix: "raise_memory_limit", Title: "Remove the limit on address space", Kind: "shell", Text: "ulimit -v unlimited", Told: "Run this in the shell or service that starts it (systemd: `LimitAS=infinity`).", Cost: "None"},
					{Fix: "lower_mem_fraction", Title: "Reserve a smaller heap", Kind: "shell", Text: "export DOTNET_GCHeapHardLimit=0x40000000   # 1 GiB, hexadecimal", Cost: "the heap cannot grow beyond that"},
					{Fix: "close_other_apps", Title: "Check which limit applies", Kind: "shell", Text: "ulimit -v; cat /sys/fs/cgroup/memory.max", Cost: "free"},
				},
				Sources: []string{"https://github.com/dotnet/runtime/issues/85556", "https://learn.microsoft.com/en-us/dotnet/core/runtime-config/garbage-collector"},
			},
			{
				ID: "dotnet/whole-file", Kinds: []fact.Kind{fact.PlainHost, fact.PlainMemory, fact.PlainDevice}, Said: []string{"IO.MemoryStream.", "LargeMemoryStream.", "StreamReader.ReadToEnd", "File.ReadAllBytes", "File.ReadAllText", "StringBuilder.ToString", "Convert.ToBase64String"},
				Cause: cause.OversizedAllocation, Weight: cause.Strong,
				Headline: "ran out of memory for a whole file in one array or string",
				Means:    "The code puts a whole file or document into one array or string. A MemoryStream doubles its size when it is full, and `ToString` of a StringBuilder copies it whole, so two copies have to fit at once. An array or string ends at 2 GB. A 32-bit process has 2 GB for everything, and rarely 500 MB in one block.",
				Not:      "`GC.Collect()`: the runtime collects before it gives up.",
				Cures: []cause.Cure{
					{Fix: "stream_dataset", Title: "Write to a file, or work line by line", Told: "As a stream use `new FileStream(Path.GetTempFileName(), FileMode.Create, FileAccess.ReadWrite, FileShare.None, 81920, FileOptions.DeleteOnClose)`, or write straight to the target (`CopyToAsync`). For text use `File.ReadLines`.", Cost: "some rewriting"},
					{Fix: "upgrade_version", Title: "Run it as a 64-bit process", Told: "Somebody else's program: use its x64 version. Your own: build for x64, or AnyCPU without \"Prefer 32-bit\". IIS: turn off \"Enable 32-Bit Applications\". `Environment.Is64BitProcess` shows which it is.", Cost: "None"},
					{Fix: "lower_batch_size", Title: "Make the file smaller", Told: "Use fewer or smaller pictures in a document, or a part of the data at a time.", Cost: "more files"},
				},
				Sources: []string{"https://learn.microsoft.com/en-us/dotnet/api/system.io.memorystream.capacity", "https://learn.microsoft.com/en-us/dotnet/framework/configure-apps/file-schema/runtime/gcallowverylargeobjects-element", "https://github.com/xceedsoftware/DocX/issues/455", "https://github.com/ClearCanvas/ClearCanvas/issues/114"}, Solved: 1,
			},
			{
				ID: "dotnet/out-of-memory", Kinds: []fact.Kind{fact.PlainHost, fact.PlainMemory, fact.PlainDevice}, Said: []string{"System.OutOfMemoryException"},
				Among:    []string{cause.HostMemory, cause.Unknown, cause.OversizedAllocation, cause.BatchTooLarge},
				Headline: "ran out of memory (OutOfMemoryException)",
				Means:    "There are four usual reasons. The process is 32-bit and can use only 2 GB. One array or string is too large. A container's limit was reached (the heap may use 75 % of it). Or the machine is full. The innermost frame shows what was allocated; growing lists need old and new copy at once, and so does `ToString` of a StringBuilder.",
				Not:      "`GC.Collect()`: the runtime collects before it gives up.",
				Cures: []cause.Cure{
					{Fix: "upgrade_version", Title: "Run it as a 64-bit process", Told: "Build for x64, or AnyCPU without \"Prefer 32-bit\". IIS: turn off \"Enable 32-Bit Applications\". `Environment.Is64BitProcess` shows which it is.", Cost: "None"},
					{Fix: "stream_dataset", Title: "Process data as a stream", Told: "Read with `File.ReadLines` or `IAsyncEnumerable` instead of whole files and strings, and page through queries with `AsNoTracking()`. Give lists their capacity at the start.", Cost: "some rewriting"},
					{Fix: "empty_cache", Title: "If it grows over hours, find what is kept", Told: "Run `dotnet-counters monitor`, then `dotnet-gcdump collect`. Usual finds: events that are never unsubscribed, static caches, undisposed contexts.", Cost: "some minutes"},
					page,
				},
				Sources: []string{"https://learn.microsoft.com/en-us/dotnet/api/system.outofmemoryexception", "https://learn.microsoft.com/en-us/dotnet/core/runtime-config/garbage-collector"},
			},
		},
	}
	Node = program.Program{
		Name: "node", Shown: "Node.js", Edits: "code", Language: "js",
		Proofs: []string{"spawn ENOMEM", "ERR_WORKER_OUT_OF_MEMORY", "node:internal/fs", "node:internal/buffer", "node:internal/worker"},
		Cards: []cause.Card{
			{
				ID: "node/spawn", Kinds: refused, Said: []string{"spawn ENOMEM"},
				Cause: cause.HostMemory, Weight: cause.Decisive,
				Headline: "could not start a child process: the system is out of memory",
				Means:    "ENOMEM from spawn means that the system had no memory, not Node's heap. To start a program most versions of Node fork, and the kernel must be able to promise a copy of the whole process. A small server without swap refuses that even if some memory is free.",
				Not:      "`--max-old-space-size`: a larger heap leaves less for the child.",
				Cures:    []cause.Cure{swap, {Fix: "lower_num_workers", Title: "Run fewer processes", Told: "Test and build tools: `jest --maxWorkers=2`, `pm2 scale APP 1` (APP: its name), one build at a time.", Cost: "time"}, look},
				Sources:  []string{"libuv/src/unix/process.c", "https://man7.org/linux/man-pages/man2/fork.2.html"},
			},
			{
				ID: "node/buffer", Kinds: nil, Said: []string{"Array buffer allocation failed", "ERR_WORKER_OUT_OF_MEMORY"}, Unsaid: []string{"loadModel", "loading model", "(in promise)"},
				Cause: cause.HostMemory, Weight: cause.Strong, Figures: bufferOrWorker,
				Headline: "{headline}",
				Means:    "{means}",
				Not:      "{not}",
				Cures: []cause.Cure{
					{Fix: "raise_memory_limit", If: ofWorker, Title: "Raise the worker's own heap limit", Told: "Pass `resourceLimits` with `maxOldGenerationSizeMb: 4096` to `new Worker()`. For tools that start workers: `NODE_OPTIONS=--max-old-space-size=4096`.", Cost: "RAM"},
					{Fix: "stream_dataset", Title: "Use streams instead of whole files", Told: "Use `fs.createReadStream` and pipes, or one buffer that you use again. In a browser read parts of a file with `Blob.slice`.", Cost: "some rewriting"},
					{Fix: "lower_num_workers", Title: "Handle fewer files or buffers at once", Told: "Limit how many promises or workers run at once, and drop references to buffers that are done.", Cost: "time"},
				},
				Sources: []string{"https://nodejs.org/api/worker_threads.html", "https://nodejs.org/api/buffer.html"},
			},
		},
		Sources: program.Sources{"https://nodejs.org/api/cli.html": "--max-old-space-size", "https://jestjs.io/docs/cli": "--maxWorkers"},
	}
	JVMStart = program.Program{
		Name: "jvm", Shown: "Java", Edits: "flags", Language: "java",
		Proofs: []string{"Could not reserve enough space for", "Error occurred during initialization of VM"},
		Cards: []cause.Card{{
			ID: "jvm/commit", Kinds: refused, Said: []string{"Could not reserve enough space for"}, If: beyond32,
			Cause: cause.BudgetMisconfigured, Weight: cause.Decisive,
			Headline: "did not start: it could not reserve the heap that -Xmx requests[[ ({asked})]]",
			Means:    "Java reserves the whole heap at the start. So -Xmx is above what is left: on Windows of RAM and page file together, elsewhere of a container's limit, `ulimit -v` or the machine. It is a 64-bit Java; a 32-bit one would reject that size in other words.",
			Not:      "Another Java. Closing programs alone, if -Xmx is above the RAM.",
			Cures: []cause.Cure{
				{Fix: "lower_mem_fraction", Title: "Lower `-Xmx` to what the machine has", Told: "Use half of the RAM: `-Xmx4g` on 8 GB. It may be set in a build script (`org.gradle.jvmargs`, `jvmArgs`), `_JAVA_OPTIONS`, `JAVA_TOOL_OPTIONS`, an .ini or .vmoptions file, or the launcher.", Cost: "a smaller heap"},
				page, look,
			},
			Sources: []string{"openjdk/src/hotspot/share/memory/universe.cpp", "openjdk/src/hotspot/share/runtime/arguments.cpp"},
		}, {
			ID: "jvm/reserve", Kinds: refused, Said: []string{"Could not reserve enough space for"},
			Cause: cause.BudgetMisconfigured, Weight: cause.Decisive,
			Headline: "did not start: it could not reserve the heap that -Xmx requests[[ ({asked})]]",
			Means:    "Java reserves the whole heap at the start, in one block. A 32-bit Java gets at most 1.2 to 1.6 GB, however much RAM there is (`java -version` says whether it is 64-Bit). A 64-bit one fails if the page file, the container's limit or `ulimit -v` is too small.",
			Not:      "A larger -Xmx: that is what failed.",
			Cures: []cause.Cure{
				{Fix: "upgrade_version", Title: "Install a 64-bit Java", Told: "Install the x64 build, and make sure that `java -version` and JAVA_HOME use it. Launchers and IDEs have their own setting for it.", Cost: "free"},
				{Fix: "lower_mem_fraction", Title: "Lower `-Xmx`", Told: "Use `-Xmx1024m`, or half of today's value, where it is set: in the command, `_JAVA_OPTIONS`, gradle.properties (`org.gradle.jvmargs`), studio.vmoptions or the launcher.", Cost: "a smaller heap"},
				page, look,
			},
			Sources: []string{"openjdk/src/hotspot/share/memory/universe.cpp"},
		}},
	}
	Go = program.Program{
		Name: "go", Shown: "The Go program", Edits: "flags", Language: "other",
		Proofs:   []string{"runtime.sysUsedOS", "runtime: VirtualAlloc of", "runtime: cannot allocate", "runtime.(*mheap)", "runtime.mallocgc(", "fatal error: runtime: ", "runtime.(*mcache)", "runtime: out of memory: cannot allocate", "fatal error: out of memory"},
		Beside:   map[string][]string{"fatal error: out of memory": {"runtime stack:", "runtime.throw("}},
		Remedies: map[string][]cause.Remedy{cause.HostMemory: {{Fix: "raise_memory_limit", Fit: cause.Cures}, {Fix: "add_swap", Fit: cause.MayHelp}}},
		Useless:  map[string]func(*ledger.Case) string{"add_swap": ofLinux("add_swap"), "close_other_apps": ofLinux("close_other_apps")},
		Cards: []cause.Card{goNarrow, goCompiler, {
			ID: "go/refused", Kinds: []fact.Kind{fact.PlainHost, fact.PlainMemory, fact.NativeAlloc, fact.CommitLimit},
			Cause: cause.HostMemory, Weight: cause.Decisive, Figures: goHeap,
			Headline: "ran out of memory[[ ({asked} was refused)]]",
			Means:    "{who}[[ It wanted {object} in one block: a large input or answer, or a slice that doubles.]][[ {spread}]]",
			Cures: []cause.Cure{
				page, bsdLimit, goRefused,
				{Fix: "lower_batch_size", Title: "Use a smaller input or fewer workers", Told: "Process a part of the input at a time, use fewer workers or queries at once, and smaller caches. If it grows with any input, update the program, or report the whole trace.", Cost: "time"},
				{Fix: "lower_mem_fraction", Title: "Let Go collect garbage earlier", Told: "Set `GOGC=50`. If it was built with Go 1.19 or later, also set `GOMEMLIMIT` to four fifths of what it may use (`GOMEMLIMIT=3GiB`).", Cost: "processor time"},
				{Fix: swap.Fix, If: when.Not(when.Any(reader.OnWindows, onBSD)), Title: swap.Title, Kind: swap.Kind, Text: swap.Text, Cost: swap.Cost},
			},
			Sources: []string{"go/src/runtime/mem_windows.go", "go/src/runtime/mem_linux.go", "go/src/runtime/mem_bsd.go", "go/src/runtime/malloc.go", "linux/mm/mmap.c", "https://go.dev/doc/gc-guide"},
		}},
	}
)

// ofWorker: the heap of a worker thread was full.
func ofWorker(c *ledger.Case) bool {
	return c.Contains("err_worker_out_of_memory") || c.Contains("reaching memory limit")
}

// bufferOrWorker tells a buffer from the heap of a worker.
func bufferOrWorker(c *ledger.Case) map[string]string {
	if ofWorker(c) {
		return map[string]string{"headline": "stopped a worker thread: its heap was full", "not": "", "means": "A worker thread has its own heap limit (`resourceLimits`). It was reached, while the machine may have had memory left. The worker keeps or builds too much at once for it."}
	}
	return map[string]string{"headline": "could not allocate a buffer", "not": "`--max-old-space-size`: buffers are not in that heap.", "means": "An ArrayBuffer is not part of the JavaScript heap. Either it is larger than V8 allows (4 GiB in Node 14 to 18), the system has no memory left, or too many old buffers wait for the garbage collector."}
}

// beyond32: more was asked for than a process of 32 bit can address.
func beyond32(c *ledger.Case) bool { return ledger.Requested(c) > 4*units.GiB }

// goRefused: Linux kills at the limit of a cgroup, it does not refuse there.
var goRefused = cause.Cure{
	If: when.Not(when.Any(reader.OnWindows, onBSD)), Fix: "raise_memory_limit", Title: "Find what refused it, and lift that", Kind: "shell", Text: "free -h; ulimit -v; sysctl vm.overcommit_memory vm.max_map_count",
	Told: "Run this as the user who starts the program. If `ulimit -v` shows a number, raise it (a service: `LimitAS=infinity`). If `overcommit_memory` is 2: `sudo sysctl vm.overcommit_memory=0`, or add swap. Otherwise the machine is full.", Cost: "free",
}

// onBSD: the runtime's file for the BSDs stands in the trace.
func onBSD(c *ledger.Case) bool { return c.Near("mem_bsd.go") }

// ofLinux says why a fix whose commands are those of Linux does not help a case.
func ofLinux(id string) func(*ledger.Case) string {
	return func(c *ledger.Case) string {
		if onBSD(c) {
			return "The commands are those of Linux."
		}
		usual := fix.FixesByID()[id]
		return usual.Refuted(c)
	}
}

// bsdLimit: on the BSDs a user's limit on data counts what Go maps.
var bsdLimit = cause.Cure{
	If: onBSD, Fix: "raise_memory_limit", Title: "Raise the limit on data", Kind: "shell", Text: "ulimit -d; ulimit -d unlimited",
	Told: "The first command prints today's limit in KiB, the second raises it up to the hard limit of the login class (`datasize` in /etc/login.conf; then log in again). If it is unlimited, RAM and swap were full: look at `top`.", Cost: "None",
}

// goNarrow is a program of 32 bit: its frames are in the runtime's own assembly.
var goNarrow = cause.Card{
	ID: "go/32-bit", Kinds: []fact.Kind{fact.PlainHost, fact.PlainMemory, fact.NativeAlloc}, Said: []string{"asm_386.s", "asm_arm.s", "asm_mipsx.s"}, Unsaid: []string{"errno=1455"},
	Cause: cause.HostMemory, Weight: cause.Strong,
	Headline: "ran out of memory: it is a 32-bit build, which can use only 2 to 4 GB",
	Means:    "The trace names Go's 32-bit assembly. Such a program can use 2 GB on Windows and about 3 GB on Linux, however much RAM there is.[[ It held {held} by its own count.]] If it needed less than that, the machine or container was full.",
	Not:      "More RAM, swap or page file, if it reached that size: one 32-bit process cannot use them.",
	Cures: []cause.Cure{
		{Fix: "upgrade_version", Title: "Use the 64-bit build", Told: "`go version -m PROGRAM` shows GOARCH. A 32-bit system or Raspberry Pi OS needs a 64-bit system first. In CI use a 64-bit Go: with `GOARCH=386` it builds 32-bit programs too.", Cost: "a new download"},
		{Fix: "lower_build_jobs", Title: "For a build or tests, do one package at a time", Told: "`go build -p 1` or `go test -p 1`, with your own arguments.", Cost: "a longer build"},
		{Fix: "lower_mem_fraction", Title: "If it has to be 32-bit, collect garbage earlier", Told: "Set `GOGC=50`, and use smaller caches and fewer workers.", Cost: "processor time"},
	},
	Figures: func(c *ledger.Case) map[string]string {
		held := ""
		if n := ledger.SizeOf(c.F().ProcessUsed); n > 0 {
			held = units.Amount(n)
		}
		return map[string]string{"held": held}
	},
	Sources: []string{"go/src/runtime/asm_386.s", "go/src/runtime/malloc.go", "https://learn.microsoft.com/en-us/windows/win32/memory/memory-limits-for-windows-releases", "https://github.com/ethereum/go-ethereum/issues/15162"},
}

// goCompiler is the compiler of Go, which is a Go program itself.
var goCompiler = cause.Card{
	ID: "go/compiler", Kinds: []fact.Kind{fact.PlainHost, fact.PlainMemory, fact.NativeAlloc, fact.CommitLimit}, Said: []string{"cmd/compile/internal", "cmd/link/internal", "go build", "go install ", "mem_bsd.go"}, If: compiles,
	Cause: cause.HostMemory, Weight: cause.Decisive, Figures: goHeap,
	Headline: "ran out of memory: it was Go's own compiler[[ ({asked} was refused)]]",
	Means:    "{who} `go build` runs one compiler per CPU core, and one large package (above all generated code) can take several GB by itself.",
	Not:      "`go clean -cache`: it only makes the next build larger.",
	Cures: []cause.Cure{
		{Fix: "lower_build_jobs", Title: "Build one package at a time", Told: "`GOGC=50 go build -p 1`, with your own arguments. `GOGC=50` makes the compiler collect garbage earlier.", Cost: "a longer build"},
		page, bsdLimit, goRefused,
		{Fix: swap.Fix, If: when.Not(when.Any(reader.OnWindows, onBSD)), Title: swap.Title, Kind: swap.Kind, Text: swap.Text, Cost: swap.Cost},
	},
	Sources: []string{"go/src/cmd/go/internal/work/build.go", "go/src/runtime/mem_bsd.go", "https://go.dev/doc/gc-guide"},
}

// compiles: frames of the compiler or linker, or the command that runs them.
func compiles(c *ledger.Case) bool {
	return c.Near("cmd/compile/internal", "cmd/link/internal", "go build", "go install ")
}

// Where the heap of a Go program of 64 bit begins, and in steps of what, where
// that is taken (malloc.go).
const goArena, goHint = 0xc000000000, 1 << 40

// goHeap: the address that the system was asked for tells how far the heap had
// spread.
func goHeap(c *ledger.Case) map[string]string {
	told := map[string]string{"spread": "", "object": "", "who": "RAM and swap were full, or a limit was reached: `ulimit -v`, strict overcommit (`vm.overcommit_memory=2`), or the number of mappings."}
	switch {
	case reader.OnWindows(c):
		told["who"] = "Windows promises all programs together at most RAM plus page file (\"Committed\" in Task Manager), and that was used up."
	case onBSD(c):
		told["who"] = "RAM and swap were full, or the user's limit on data was reached (`ulimit -d`; on the BSDs it counts what Go maps)."
	case c.Says("docker", "kubernetes"):
		told["who"] += " A container's memory limit is not the reason: at that the kernel kills."
	}
	if object := goHex(c, "go_object"); object >= 64<<20 && object < 1<<42 {
		told["object"] = units.Amount(object)
	}
	if reserved := goHex(c, "go_heap")%goHint - goArena; reserved >= 32<<30 {
		told["spread"] = "By its address the heap had grown to about " + units.Amount(reserved) + ", far more than most machines have: a huge input, or something that grows without end."
	}
	return told
}

// goHex is the first argument of a frame; one with a question mark behind it may
// be stale (traceback.go).
func goHex(c *ledger.Case, name string) int64 {
	x, _ := c.Fact(name)
	_, hex, _ := strings.Cut(x.Text, "(0x")
	hex, _, _ = strings.Cut(hex, ",")
	n, _ := strconv.ParseInt(hex, 16, 64)
	return n
}
