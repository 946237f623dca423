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
				Headline: "did not start: the system refused to reserve its heap",
				Means:    "At the start .NET reserves address space (256 GB since version 7), not memory. A limit on address space (`ulimit -v`, a sandbox of the phone or host) or a very small container refuses that, even if RAM is free.",
				Cures: []cause.Cure{
					{Fix: "raise_memory_limit", Title: "Remove the limit on address space", Kind: "shell", Text: "ulimit -v unlimited", Told: "In the shell or service that starts it (systemd: `LimitAS=infinity`).", Cost: "None"},
					{Fix: "lower_mem_fraction", Title: "Reserve a smaller heap", Kind: "shell", Text: "export DOTNET_GCHeapHardLimit=0x40000000   # 1 GiB, hexadecimal", Cost: "The heap ends there"},
					{Fix: "close_other_apps", Title: "Check which limit applies", Kind: "shell", Text: "ulimit -v; cat /sys/fs/cgroup/memory.max", Cost: "A look is free"},
				},
				Sources: []string{"https://github.com/dotnet/runtime/issues/85556", "https://learn.microsoft.com/en-us/dotnet/core/runtime-config/garbage-collector"},
			},
			{
				ID: "dotnet/whole-file", Kinds: []fact.Kind{fact.PlainHost, fact.PlainMemory, fact.PlainDevice}, Said: []string{"IO.MemoryStream.", "LargeMemoryStream.", "StreamReader.ReadToEnd", "File.ReadAllBytes", "File.ReadAllText", "StringBuilder.ToString", "Convert.ToBase64String"},
				Cause: cause.OversizedAllocation, Weight: cause.Strong,
				Headline: "was refused memory for a whole file in one array or string",
				Means:    "The innermost frames put all of a file or document into one array or string. A MemoryStream or StringBuilder doubles what it has when it is full, so old and new are needed at once, and one array or string ends at 2 GB in any process. In a process of 32 bit there is 2 GB for everything, seldom 500 MB in one piece, however much RAM is free.",
				Not:      "`GC.Collect()`: the runtime collects before it gives up.",
				Cures: []cause.Cure{
					{Fix: "stream_dataset", Title: "Use a file or line by line in place of memory", Told: "A stream, in your own code: `new FileStream(Path.GetTempFileName(), FileMode.Create, FileAccess.ReadWrite, FileShare.None, 81920, FileOptions.DeleteOnClose)`, or hand the target stream on (`CopyToAsync`); text: `File.ReadLines`. Where a library wants a stream, it takes this one as well.", Cost: "Some rewriting"},
					{Fix: "upgrade_version", Title: "Run it as a 64-bit process", Told: "Somebody else's program: its x64 version. Your own: x64, or AnyCPU without \"Prefer 32-bit\"; IIS: \"Enable 32-Bit Applications\" off. `Environment.Is64BitProcess` tells.", Cost: "None"},
					{Fix: "lower_batch_size", Title: "Make the file smaller", Told: "Fewer or smaller pictures in a document, a part of the data at a time.", Cost: "More files"},
				},
				Sources: []string{"https://learn.microsoft.com/en-us/dotnet/api/system.io.memorystream.capacity", "https://learn.microsoft.com/en-us/dotnet/framework/configure-apps/file-schema/runtime/gcallowverylargeobjects-element", "https://github.com/xceedsoftware/DocX/issues/455", "https://github.com/ClearCanvas/ClearCanvas/issues/114"}, Solved: 1,
			},
			{
				ID: "dotnet/out-of-memory", Kinds: []fact.Kind{fact.PlainHost, fact.PlainMemory, fact.PlainDevice}, Said: []string{"System.OutOfMemoryException"},
				Among:    []string{cause.HostMemory, cause.Unknown, cause.OversizedAllocation, cause.BatchTooLarge},
				Headline: "was refused memory (OutOfMemoryException)",
				Means:    "There are four usual reasons: the process is 32 bit and cannot use more than 2 GB (\"Prefer 32-bit\", x86); one array or string is too large; a container's limit, of which the heap takes 75 %; or the machine is full. The innermost frame shows what was allocated: a growing list or StringBuilder doubles, so it needs the old and the new copy.",
				Not:      "`GC.Collect()`: the runtime collects before it gives up.",
				Cures: []cause.Cure{
					{Fix: "upgrade_version", Title: "Run it as a 64-bit process", Told: "Build for x64 (or AnyCPU without \"Prefer 32-bit\"); IIS: \"Enable 32-Bit Applications\" off. `Environment.Is64BitProcess` tells.", Cost: "None"},
					{Fix: "stream_dataset", Title: "Use streams instead of whole files", Told: "Read and write streams instead of whole files and strings (`File.ReadLines`, `IAsyncEnumerable`), give lists a capacity, page through queries with `AsNoTracking()`.", Cost: "Some rewriting"},
					{Fix: "empty_cache", Title: "If it grows over hours, find what is kept", Told: "`dotnet-counters monitor`, then `dotnet-gcdump collect`: events that are never unsubscribed, static caches, undisposed contexts.", Cost: "Some minutes"},
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
				Means:    "ENOMEM from spawn means that the system refused, not the heap's limit. To start a program most versions of Node fork, and the kernel must be able to promise a copy of the process; a small server without swap refuses that even with some memory free.",
				Not:      "`--max-old-space-size`: a larger heap leaves less for the child.",
				Cures:    []cause.Cure{swap, {Fix: "lower_num_workers", Title: "Run fewer processes", Told: "Test and build tools: `jest --maxWorkers=2`, `pm2 scale APP 1` (APP: its name), one build at a time.", Cost: "Time"}, look},
				Sources:  []string{"libuv/src/unix/process.c", "https://man7.org/linux/man-pages/man2/fork.2.html"},
			},
			{
				ID: "node/buffer", Kinds: nil, Said: []string{"Array buffer allocation failed", "ERR_WORKER_OUT_OF_MEMORY"}, Unsaid: []string{"loadModel", "loading model", "(in promise)"},
				Cause: cause.HostMemory, Weight: cause.Strong,
				Headline: "was refused one buffer, or a worker's heap was full",
				Means:    "An ArrayBuffer is outside the heap: either one is larger than V8 allows (4 GiB in Node 14 to 18, without practical bound from 22 on), or the system refused it, or many wait for the garbage collector. A worker thread has its own heap limit (`resourceLimits`).",
				Not:      "`--max-old-space-size` for buffers: they are not in that heap.",
				Cures: []cause.Cure{
					{Fix: "stream_dataset", Title: "Use streams instead of whole files", Told: "`fs.createReadStream` and pipes, `Buffer.allocUnsafe` of one size that is used again; parts of a file with `Blob.slice` in a browser.", Cost: "Some rewriting"},
					{Fix: "raise_memory_limit", Title: "Raise the worker's own heap limit", Told: "In your own code pass `resourceLimits` with `maxOldGenerationSizeMb: 4096` to `new Worker()`; tools that start workers take `NODE_OPTIONS=--max-old-space-size=4096`.", Cost: "RAM"},
					{Fix: "lower_num_workers", Title: "Handle fewer files or buffers at once", Told: "Limit how many promises or workers run side by side, and drop references to buffers that are done.", Cost: "Time"},
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
			Headline: "did not start: the system refused the heap that -Xmx asks for[[: {asked}]]",
			Means:    "Java reserves the whole heap in one piece at the start. It is a 64-bit Java: one of 32 bit says of such a size that it \"exceeds the maximum representable size\". So -Xmx is above what is left: on Windows of RAM and page file together (the commit limit), elsewhere of a container's limit, `ulimit -v` or the machine.",
			Not:      "Another Java, or closing programs alone where -Xmx is above the RAM.",
			Cures: []cause.Cure{
				{Fix: "lower_mem_fraction", Title: "Lower `-Xmx` to what the machine has", Told: "Half of the RAM, `-Xmx4g` on 8 GB. It may be set where you do not look: a build script or Gradle task (`jvmArgs`, `org.gradle.jvmargs`), `_JAVA_OPTIONS`, `JAVA_TOOL_OPTIONS`, an .ini or .vmoptions file, the launcher.", Cost: "Less room"},
				page, look,
			},
			Sources: []string{"openjdk/src/hotspot/share/memory/universe.cpp", "openjdk/src/hotspot/share/runtime/arguments.cpp"},
		}, {
			ID: "jvm/reserve", Kinds: refused, Said: []string{"Could not reserve enough space for"},
			Cause: cause.BudgetMisconfigured, Weight: cause.Decisive,
			Headline: "did not start: the heap that -Xmx asks for cannot be reserved[[: {asked}]]",
			Means:    "Java reserves the whole heap in one piece at the start. A 32-bit Java gets 1.2 to 1.6 GB in one piece at most, however much RAM there is (`java -version` says 64-Bit or not). A 64-bit one is refused if the page file, the container or `ulimit -v` is too small.",
			Not:      "A larger -Xmx: that is what was refused.",
			Cures: []cause.Cure{
				{Fix: "upgrade_version", Title: "Install a 64-bit Java", Told: "Install the x64 build and see that `java -version` and JAVA_HOME find it first; launchers and IDEs have a setting of their own.", Cost: "Free"},
				{Fix: "lower_mem_fraction", Title: "Lower `-Xmx`", Told: "`-Xmx1024m`, or half of today's value, where it is set: the command, `_JAVA_OPTIONS`, gradle.properties (`org.gradle.jvmargs`), studio.vmoptions, the launcher.", Cost: "Less room"},
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
			Headline: "was refused memory by the system[[: {asked}]]",
			Means:    "{who}[[ It wanted {object} in one piece: a large input or answer, or a slice that doubles.]][[ {spread}]]",
			Cures: []cause.Cure{
				page, bsdLimit, goRefused,
				{Fix: "lower_batch_size", Title: "Use a smaller input or fewer workers", Told: "Part of the input or of the answer, fewer workers or queries at once, smaller caches. If it grows with any input, update the program, or report the whole trace.", Cost: "Time"},
				{Fix: "lower_mem_fraction", Title: "Let Go collect garbage earlier", Told: "`GOGC=50`, and if it was built with Go 1.19 or later `GOMEMLIMIT` at four fifths of what it may have (`GOMEMLIMIT=3GiB`).", Cost: "Processor time"},
				{Fix: swap.Fix, If: when.Not(when.Any(reader.OnWindows, onBSD)), Title: swap.Title, Kind: swap.Kind, Text: swap.Text, Cost: swap.Cost},
			},
			Sources: []string{"go/src/runtime/mem_windows.go", "go/src/runtime/mem_linux.go", "go/src/runtime/mem_bsd.go", "go/src/runtime/malloc.go", "linux/mm/mmap.c", "https://go.dev/doc/gc-guide"},
		}},
	}
)

// beyond32: more was asked for than a process of 32 bit can address.
func beyond32(c *ledger.Case) bool { return ledger.Requested(c) > 4*units.GiB }

// goRefused: Linux kills at the limit of a cgroup, it does not refuse there.
var goRefused = cause.Cure{
	If: when.Not(when.Any(reader.OnWindows, onBSD)), Fix: "raise_memory_limit", Title: "Check what refused it, and lift that", Kind: "shell", Text: "free -h; ulimit -v; sysctl vm.overcommit_memory vm.max_map_count",
	Told: "As the user who starts it. `ulimit -v` shows a number: raise it (a service: `LimitAS=infinity`). `overcommit_memory` is 2: `sudo sysctl vm.overcommit_memory=0`, or add swap. Neither, and little is available: the machine is full.", Cost: "A look is free",
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
	Told: "In the shell that starts it; the first prints today's limit in KiB. It goes up to the hard limit of the login class: `datasize` in /etc/login.conf (then log in again). If it is unlimited, RAM and swap were full: `top`.", Cost: "None",
}

// goNarrow is a program of 32 bit: its frames are in the runtime's own assembly.
var goNarrow = cause.Card{
	ID: "go/32-bit", Kinds: []fact.Kind{fact.PlainHost, fact.PlainMemory, fact.NativeAlloc}, Said: []string{"asm_386.s", "asm_arm.s", "asm_mipsx.s"}, Unsaid: []string{"errno=1455"},
	Cause: cause.HostMemory, Weight: cause.Strong,
	Headline: "was refused memory: it is a 32-bit build, which ends at 2 to 4 GB",
	Means:    "The trace names Go's assembly for 32 bit, and such a program can address 2 GB on Windows and about 3 on Linux, however much RAM there is.[[ It held {held} by its own count.]] What needs less may still be refused on a small machine or in a container.",
	Not:      "More RAM, swap or page file: one process cannot use them.",
	Cures: []cause.Cure{
		{Fix: "upgrade_version", Title: "Use the 64-bit build", Told: "`go version -m PROGRAM` shows GOARCH; a 32-bit system or Raspberry Pi OS needs a 64-bit system first. In a CI build: a 64-bit Go makes 32-bit programs too, with `GOARCH=386`.", Cost: "a new download"},
		{Fix: "lower_build_jobs", Title: "A build or tests: one package at a time", Told: "`go build -p 1` and `go test -p 1`, with your own arguments.", Cost: "a longer build"},
		{Fix: "lower_mem_fraction", Title: "If it has to be 32 bit: collect garbage earlier", Told: "`GOGC=50`, smaller caches (the program's own option), fewer workers.", Cost: "processor time"},
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
	Headline: "was refused memory by the system: it was Go's own compiler[[, {asked} more]]",
	Means:    "{who} `go build` runs a compiler for each core, and one large package (generated code above all) can take several GB by itself.",
	Not:      "`go clean -cache`: it only makes the next build larger.",
	Cures: []cause.Cure{
		{Fix: "lower_build_jobs", Title: "Build one package at a time", Told: "`GOGC=50 go build -p 1`, with the arguments that you had; `GOGC=50` lets the compiler collect garbage earlier.", Cost: "A longer build"},
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
	told := map[string]string{"spread": "", "object": "", "who": "RAM and swap were full, or a limit was reached: `ulimit -v`, `vm.overcommit_memory=2`, the number of mappings."}
	switch {
	case reader.OnWindows(c):
		told["who"] = "Windows promises at most RAM plus page file (\"Committed\" in Task Manager), and that was used up."
	case onBSD(c):
		told["who"] = "RAM and swap were full, or a limit of the user was reached: on the BSDs `ulimit -d` counts what Go maps."
	case c.Says("docker", "kubernetes"):
		told["who"] += " The memory limit of a container is not it: there the kernel kills."
	}
	if object := goHex(c, "go_object"); object >= 64<<20 && object < 1<<42 {
		told["object"] = units.Amount(object)
	}
	if reserved := goHex(c, "go_heap")%goHint - goArena; reserved >= 32<<30 {
		told["spread"] = "By its address the heap had spread over " + units.Amount(reserved) + ", far more than most machines have: a huge input, or something that grows without end."
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
