package build

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
)

var dmesg = cause.Cure{Fix: "close_other_apps", Title: "Check that it was memory", Kind: "shell", Text: "sudo dmesg -T | grep -iE 'killed process|oom-kill' | tail -4; free -h   # for a container: on its host", Told: "\"Memory cgroup\": the limit of a container or job was reached, so raise it. \"Out of memory\": the whole machine was full, so close what is large.", Cost: "free"}

// Builds and tests whose own process, no compiler of C, got signal 9.
var (
	GoBuild = program.Program{
		Name: "go-build", Shown: "The Go build", Edits: "flags", Language: "other", Commands: []string{"go"},
		Proofs: []string{"link: signal: killed", "compile: signal: killed", "6g: signal: killed", "go: error running link", "task=compile,pid=", "(compile) total-vm:", "(link) total-vm:"},
		Cards: []cause.Card{{
			ID: "go-build/compiler", Kinds: killed, Said: []string{"compile: signal: killed", "6g: signal: killed", "task=compile,pid=", "(compile) total-vm:"}, Unsaid: []string{"link: signal: killed"},
			Cause: cause.HostMemory, Weight: cause.Decisive,
			Headline: "was killed: RAM ran out while Go compiled a package[[ (its compiler held {held})]]",
			Means:    "`go build` compiles one package per CPU core at a time, and each compiler works on several functions at once. Generated code (bindings, codecs, large tables) can take a GB or more by itself. A server with 512 MB to 2 GB and no swap is too small for many programs.",
			Figures:  heldByCompiler,
			Not:      "`go clean -cache`: finished packages are kept there, so the next try has less to do.",
			Cures: []cause.Cure{
				{Fix: "lower_build_jobs", Title: "Compile one package at a time, on one core", Told: "With `-p 1` alone that one compiler still uses all cores; `-c=1` limits that too. Use your own packages and options:", Kind: "shell", Text: "go build -p 1 -gcflags=all=-c=1 ./...   # tests: go test -p 1", Cost: "a longer build; all packages are compiled again once"},
				swap,
				{Fix: "upgrade_version", Title: "Or build it on another computer, and copy the binary", Told: "`GOOS=linux GOARCH=amd64 go build`. If one package fails even with much RAM, take another release of Go or of the package.", Cost: "a copy"},
				dmesg,
			},
			Sources: []string{"go/src/cmd/go/internal/work/gc.go", "go/src/cmd/go/internal/work/build.go", "https://github.com/golang/go/issues/43726", "https://github.com/beego/wetalk/issues/32"},
		}, {
			ID: "go-build/killed", Kinds: killed, Said: []string{"link: signal: killed", "go: error running link", "(link) total-vm:"},
			Cause: cause.HostMemory, Weight: cause.Decisive,
			Headline: "was killed, most likely because RAM ran out while Go linked the program",
			Means:    "Go's linker holds the whole program with its debug information: one to several GB for a large one. Each test binary that is linked at the same time takes as much again.",
			Not:      "`go clean -cache`: it only makes the next build larger.",
			Cures: []cause.Cure{
				{Fix: "lower_build_jobs", Title: "Link one program at a time, without debug information", Told: "Build with `go build -p 1 -ldflags=\"-s -w\" ./...`, test with `go test -p 1 ./...`. In a script or image put `export GOFLAGS=-p=1` before it.", Cost: "a longer build; no debugger"},
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
			Headline: "was killed, most likely because RAM ran out",
			Means:    "\"Killed\" or exit code 137 means signal 9: most likely the machine or its container was full. Node's own heap limit would say \"JavaScript heap out of memory\". Bundlers and minifiers start one worker per CPU core.",
			Not:      "A larger `--max-old-space-size`: there is no RAM for it.",
			Cures: []cause.Cure{
				{Fix: "raise_memory_limit", Title: "Build where there is more RAM", Told: "Use 4 GB or more. Docker Desktop: Settings, Resources, Memory. CI: a larger runner. Or build on your own computer, and copy the result to the small server.", Cost: "money, or one more step"},
				swap,
				{Fix: "lower_num_workers", Title: "Make the build smaller", Told: "Set `NODE_OPTIONS=--max-old-space-size=1536` (in MB, below the RAM), and turn off source maps and parallel minifying. Create React App: `GENERATE_SOURCEMAP=false`. Next.js 15: `experimental.webpackMemoryOptimizations` in next.config.js.", Cost: "a longer build"},
				dmesg,
			},
			Sources: []string{"https://nodejs.org/api/cli.html", "https://create-react-app.dev/docs/advanced-configuration/", "https://nextjs.org/docs/app/guides/memory-usage"},
		}},
		Sources: program.Sources{"https://nodejs.org/api/cli.html": "--max-old-space-size"},
	}
	Maven = program.Program{
		Name: "maven", Shown: "Maven", Edits: "flags", Language: "java",
		Proofs: []string{"The forked VM terminated without", "maven-surefire-plugin"},
		Cards: []cause.Card{{
			ID: "maven/fork-killed", Kinds: killed, Said: []string{"The forked VM terminated without"},
			Cause: cause.HostMemory, Weight: cause.Strong,
			Headline: "lost the Java process of its tests, most likely because RAM ran out",
			Means:    "Exit code 137 means signal 9 (killed). Most likely Maven, the tests' Java and everything else in the container did not fit together. Without `-Xmx` each Java uses up to a quarter of the RAM for its heap, and more beside it.",
			Not:      "A larger `-Xmx`: the machine has no more to give.",
			Cures: []cause.Cure{
				{Fix: "lower_mem_fraction", Title: "Limit the tests' heap, and run one fork", Told: "`mvn test -DargLine=-Xmx1g -DforkCount=1`. If the pom sets `argLine` itself, change it there. `MAVEN_OPTS=-Xmx512m` limits Maven.", Cost: "slower"},
				{Fix: "raise_memory_limit", Title: "Give the container or runner more memory", Told: "It needs the sum of both heaps plus 1 GB.", Cost: "money"},
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
			Headline: "could not get more memory from the system (NoMemoryError)",
			Means:    "RAM and swap are full, or a limit (`ulimit -v`) was reached. The first line of the backtrace asked last. Usually a whole file or answer is read or parsed at once there, or many objects are kept.",
			Cures: []cause.Cure{
				{Fix: "stream_dataset", Title: "Read and write in parts", Told: "Use `File.foreach`, `CSV.foreach`, or ActiveRecord's `find_each` and `insert_all` in batches. Avoid `File.read`, `.all` and one large JSON.", Cost: "some rewriting"},
				swap,
				{Fix: "lower_num_workers", Title: "Run fewer processes", Told: "Lower Puma's `workers` and Sidekiq's concurrency. `MALLOC_ARENA_MAX=2` or jemalloc keeps threads from fragmenting the heap.", Cost: "less at a time"},
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
			Headline: "ran out of memory for its list of files",
			Means:    "rsync keeps a list of files in RAM on both sides, about a hundred bytes per file. Version 3 lists one directory after another, unless an option needs the whole list first (`--delete-before`, `--delete-after`, `--delay-updates`). `-H`, an older rsync on one side or one directory with millions of files needs more.",
			Cures: []cause.Cure{
				{Fix: "lower_batch_size", Title: "Copy one part of the tree at a time", Told: "Start one run per top directory, or use `--files-from` with parts of the list. Copy a directory of millions of files as a tar stream.", Cost: "more runs"},
				{Fix: "upgrade_version", Title: "Let it work directory by directory", Told: "Use 3.0 or later on both sides, `--delete-during` instead of `--delete-before` or `--delete-after`, and no `-H` if you do not need it. If the message names `--max-alloc` (3.2.2 and later): `--max-alloc=16g`.", Cost: "free"},
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
