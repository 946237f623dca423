package build

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
)

var dmesg = cause.Cure{Fix: "close_other_apps", Title: "Check that it was memory", Kind: "shell", Text: "sudo dmesg -T | grep -iE 'killed process|oom-kill' | tail -4; free -h   # for a container: on its host", Told: "\"Memory cgroup\" is the limit of a container or job: raise that. \"Out of memory\" is the machine: close what is large.", Cost: "A look is free"}

// Builds and tests whose own process, no compiler of C, got signal 9.
var (
	GoBuild = program.Program{
		Name: "go-build", Shown: "The Go build", Edits: "flags", Language: "other", Commands: []string{"go"},
		Proofs: []string{"link: signal: killed", "compile: signal: killed", "6g: signal: killed", "go: error running link", "task=compile,pid=", "(compile) total-vm:", "(link) total-vm:"},
		Cards: []cause.Card{{
			ID: "go-build/compiler", Kinds: killed, Said: []string{"compile: signal: killed", "6g: signal: killed", "task=compile,pid=", "(compile) total-vm:"}, Unsaid: []string{"link: signal: killed"},
			Cause: cause.HostMemory, Weight: cause.Decisive,
			Headline: "was ended: RAM ran out while Go compiled a package[[, its compiler held {held}]]",
			Means:    "Signal 9, from the kernel as a rule. `go build` compiles one package per core at a time, and each of these compilers works on up to four functions at once. The package that is named is the one that was hit; generated code (bindings, codecs, assemblers, large tables) is what takes a GB or more by itself. A server of 512 MB to 2 GB without swap is too small for many programs.",
			Figures:  heldByCompiler,
			Not:      "`go clean -cache`: finished packages are kept there, so the next try has less to do.",
			Cures: []cause.Cure{
				{Fix: "lower_build_jobs", Title: "Compile one package at a time, on one core", Told: "`-p 1` alone lets that one compiler use all cores; `-c=1` bounds it too. With your own packages and options (in a script: `export GOFLAGS=-p=1`):", Kind: "shell", Text: "go build -p 1 -gcflags=all=-c=1 ./...   # tests: go test -p 1", Cost: "A longer build; all packages are compiled again once"},
				swap,
				{Fix: "upgrade_version", Title: "Or build it elsewhere and copy the binary", Told: "On your own computer: `GOOS=linux GOARCH=amd64 go build`. If one package fails on a machine with much RAM, take another release of Go (1.15.6 had such a fault) or of the package.", Cost: "A copy"},
				dmesg,
			},
			Sources: []string{"go/src/cmd/go/internal/work/gc.go", "go/src/cmd/go/internal/work/build.go", "https://github.com/golang/go/issues/43726", "https://github.com/beego/wetalk/issues/32"},
		}, {
			ID: "go-build/killed", Kinds: killed, Said: []string{"link: signal: killed", "go: error running link", "(link) total-vm:"},
			Cause: cause.HostMemory, Weight: cause.Decisive,
			Headline: "was ended by signal 9: most likely RAM ran out",
			Means:    "The kernel most likely ended Go's linker. It holds the whole program with its debug information: one to several GB for a large one, as much again for each test binary that is linked beside it.",
			Not:      "`go clean -cache`: it only makes the next build larger.",
			Cures: []cause.Cure{
				{Fix: "lower_build_jobs", Title: "Link one program at a time, without debug information", Told: "`go build -p 1 -ldflags=\"-s -w\" ./...`, tests `go test -p 1 ./...`; in a script or image `export GOFLAGS=-p=1` before it.", Cost: "A longer build; no debugger"},
				swap, dmesg,
			},
			Sources: []string{"go/src/cmd/go/internal/work/build.go", "go/src/cmd/link/doc.go"},
		}},
		Sources: program.Sources{"go/src/cmd/go/internal/work/build.go": "-p -ldflags -gcflags"},
	}
	Bundler = program.Program{
		Name: "node-build", Shown: "The JavaScript build", Edits: "flags", Language: "js",
		Proofs: []string{"node_modules/.bin/webpack", "Creating an optimized production build", "building for production...", "react-scripts build", "vue-cli-service build"},
		Cards: []cause.Card{{
			ID: "node-build/killed", Kinds: killed,
			Cause: cause.HostMemory, Weight: cause.Strong,
			Headline: "was ended by signal 9: most likely RAM ran out",
			Means:    "The kernel most likely ended it because the machine or its container was full. That is not Node's heap limit, which has a message of its own (\"JavaScript heap out of memory\"); a heap limit above the RAM makes a kill more likely. Bundlers and their minifiers start a worker per core.",
			Not:      "A larger `--max-old-space-size`: there is no RAM for it.",
			Cures: []cause.Cure{
				{Fix: "raise_memory_limit", Title: "Build where there is more RAM", Told: "4 GB or more: Docker Desktop Settings, Resources, Memory; a larger CI runner; or build on your own machine and copy the result to the small server.", Cost: "Money, or a step more"},
				swap,
				{Fix: "lower_num_workers", Title: "Make the build smaller", Told: "`NODE_OPTIONS=--max-old-space-size=1536` (MB, below the RAM), no source maps (Create React App: `GENERATE_SOURCEMAP=false`), minifier without `parallel`.", Cost: "A longer build"},
				dmesg,
			},
			Sources: []string{"https://nodejs.org/api/cli.html", "https://create-react-app.dev/docs/advanced-configuration/"},
		}},
		Sources: program.Sources{"https://nodejs.org/api/cli.html": "--max-old-space-size"},
	}
	Maven = program.Program{
		Name: "maven", Shown: "Maven", Edits: "flags", Language: "java",
		Proofs: []string{"The forked VM terminated without", "maven-surefire-plugin"},
		Cards: []cause.Card{{
			ID: "maven/fork-killed", Kinds: killed, Said: []string{"The forked VM terminated without"},
			Cause: cause.HostMemory, Weight: cause.Strong,
			Headline: "lost the Java process of its tests to signal 9: most likely RAM ran out",
			Means:    "Exit code 137 is signal 9, most likely from the kernel: the tests' Java beside Maven's own, and what else runs in the container, did not fit. Without `-Xmx` each takes up to a quarter of the RAM that it sees for its heap, and more beside it.",
			Not:      "A larger `-Xmx`: the machine has no more to give.",
			Cures: []cause.Cure{
				{Fix: "lower_mem_fraction", Title: "Bound the tests' heap, and run one fork", Told: "`mvn test -DargLine=-Xmx1g -DforkCount=1`. If the pom sets `argLine` itself, put it there. `MAVEN_OPTS=-Xmx512m` bounds Maven.", Cost: "Slower"},
				{Fix: "raise_memory_limit", Title: "Raise the memory of the container or runner", Told: "To the sum of both heaps and 1 GB.", Cost: "Money"},
				dmesg,
			},
			Sources: []string{"https://maven.apache.org/surefire/maven-surefire-plugin/test-mojo.html", "https://maven.apache.org/surefire/maven-surefire-plugin/faq.html"},
		}},
		Sources: program.Sources{"https://maven.apache.org/surefire/maven-surefire-plugin/test-mojo.html": "-DargLine -DforkCount"},
	}
	Ruby = program.Program{
		Name: "ruby", Shown: "Ruby", Edits: "code", Language: "other",
		Proofs: []string{"failed to allocate memory (NoMemoryError)", "NoMemoryError: failed to allocate memory"},
		Cards: []cause.Card{{
			ID: "ruby/no-memory", Kinds: []fact.Kind{fact.PlainHost, fact.PlainMemory, fact.NativeAlloc},
			Cause: cause.HostMemory, Weight: cause.Decisive,
			Headline: "was refused memory by the system (NoMemoryError)",
			Means:    "The system refused Ruby more: RAM and swap are full, or a limit (`ulimit -v`) was reached. The first line of the backtrace is what asked last; a whole file or answer that is read or parsed at once is usual there, else many objects that are kept.",
			Cures: []cause.Cure{
				{Fix: "stream_dataset", Title: "Read and write in pieces", Told: "`File.foreach`, `CSV.foreach`, ActiveRecord's `find_each` and `insert_all` in parts, in place of `File.read`, `.all` and one large JSON.", Cost: "Some rewriting"},
				swap,
				{Fix: "lower_num_workers", Title: "Run fewer processes", Told: "Puma's `workers`, Sidekiq's concurrency; `MALLOC_ARENA_MAX=2` or jemalloc keeps threads from spreading the heap.", Cost: "Less at a time"},
			},
			Sources: []string{"ruby/gc.c", "https://docs.ruby-lang.org/en/master/NoMemoryError.html"},
		}},
	}
	Rsync = program.Program{
		Name: "rsync", Shown: "rsync", Edits: "flags", Language: "other",
		Proofs: []string{"rsync error: error allocating core memory buffers", "rsync: out of memory in", "rsync: [sender] out of memory in", "rsync: [receiver] out of memory in"},
		Cards: []cause.Card{{
			ID: "rsync/list", Kinds: []fact.Kind{fact.PlainHost, fact.PlainMemory, fact.NativeAlloc},
			Cause: cause.HostMemory, Weight: cause.Decisive,
			Headline: "had no memory for its list of files",
			Means:    "rsync keeps a list of files in RAM on both sides, some hundred bytes each. Since 3.0 it works through directories as it goes, unless an option needs the whole list first (`--delete-before`, `--delete-after`, `--delay-updates`; `-H` keeps all hard links), or one side is older; a single directory of millions of files is one list as well.",
			Cures: []cause.Cure{
				{Fix: "lower_batch_size", Title: "Copy one part of the tree at a time", Told: "A run for each top directory, or `--files-from` with parts of the list; a directory of millions of files as a tar stream.", Cost: "More runs"},
				{Fix: "upgrade_version", Title: "Let it work directory by directory", Told: "3.0 or later on both sides; `--delete-during` in place of `--delete-before` and `--delete-after`; no `-H` if you can do without. If the message names `--max-alloc` (3.2.2 and later; 1 GB for one request): `--max-alloc=16g`.", Cost: "Free"},
				swap,
			},
			Sources: []string{"rsync/rsync.1.md", "rsync/NEWS.md"},
		}},
		Sources: program.Sources{"rsync/rsync.1.md": "--delete-before --delay-updates -H --files-from --delete-during --delete-after --max-alloc"},
	}
)

// heldByCompiler is what the kernel says that the compiler held; nothing where it
// was ended in the words of go.
func heldByCompiler(c *ledger.Case) map[string]string {
	if x := c.F().KilledRSS; x != nil {
		return map[string]string{"held": units.Amount(x.Bytes)}
	}
	return map[string]string{"held": ""}
}
