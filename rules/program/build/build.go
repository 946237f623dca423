// Package build knows compilers, linkers and the runtimes of languages whose
// memory the system refused.
package build

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/reader"
	"github.com/oomdoc/oomdoc/rules/when"
)

var (
	refused = []fact.Kind{fact.PlainHost, fact.PlainMemory, fact.NativeAlloc, fact.BadAlloc}
	killed  = []fact.Kind{fact.BuildKilled, fact.ShellKilled}
)

var (
	swap = cause.Cure{If: when.Not(reader.OnWindows), Fix: "add_swap", Title: "Add swap", Kind: "shell", Text: "sudo fallocate -l 8G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile", Cost: "8 GB of disk, and slow when used"}
	page = cause.Cure{Fix: "raise_pagefile", If: reader.OnWindows, Title: "Enlarge the page file", Told: "Press Win+R, run `SystemPropertiesAdvanced`; Performance: Settings, Advanced, Virtual memory: Change. Untick \"Automatically manage\", choose an SSD with room, Custom size: initial 32768, maximum 65536 MB. Set, OK, restart.", Cost: "disk space and a restart"}
	look = cause.Cure{If: when.Not(reader.OnWindows), Fix: "raise_memory_limit", Title: "Check whether it was a limit or the whole machine", Kind: "shell", Text: "free -h; ulimit -v; sysctl vm.overcommit_memory; cat /sys/fs/cgroup/memory.max", Told: "If much is free, and `ulimit -v` or the last file shows a number, raise that limit. If they show `unlimited` and `max`, the machine was full.", Cost: "free"}
)

// Linker is the linker of a build on Unix, whatever is built, and GCC.
var Linker = program.Program{
	Name: "linker", Shown: "Linux", Edits: "flags", Language: "other",
	Proofs: []string{"ld terminated with signal 9", "final link failed: Memory exhausted", "final link failed: memory exhausted", "/usr/bin/ld: out of memory", "virtual memory exhausted: Cannot allocate memory"},
	Sources: program.Sources{
		"llvm/docs/CMake.rst": "-DLLVM_PARALLEL_LINK_JOBS -DLLVM_USE_LINKER -DLLVM_USE_SPLIT_DWARF -DCMAKE_BUILD_TYPE -G", "https://www.gnu.org/software/make/manual/make.html": "-j1", "binutils/ld/ld.texi": "--no-keep-memory --reduce-memory-overheads",
	},
	Cards: []cause.Card{
		{
			ID: "linker/killed", Kinds: killed, Said: []string{"ld terminated with signal 9"},
			Cause: cause.HostMemory, Weight: cause.Decisive,
			Headline: "killed the linker, most likely because {links} did not fit into RAM",
			Means:    "`ld` was killed by signal 9, usually because RAM ran out.{many} A linker holds all object files of a library at once, with their debug information. That takes several GB for projects as large as LLVM or Chromium. The source code is usually fine.",
			Not:      "Cleaning first: it only loses the files that are finished.",
			Cures: []cause.Cure{
				{Fix: "lower_build_jobs", Title: "Continue with one job at a time", Told: "Run it in the same folder; finished files are kept:", Kind: "shell", Text: "make -j1   # ninja -j1, cargo build -j 1, cmake --build . --parallel 1", Cost: "time"},
				swap,
				{Fix: "upgrade_version", Title: "Use a linker and build options that need less memory", Ways: []cause.Way{
					{For: "LLVM", Text: "`-DCMAKE_BUILD_TYPE=Release -DLLVM_USE_LINKER=lld`, and with `-G Ninja` also `-DLLVM_PARALLEL_LINK_JOBS=1`. For debugging `-DLLVM_USE_SPLIT_DWARF=ON`"},
					{For: "Rust from source", Text: "in config.toml set `[llvm] optimize = true`, `link-shared = false`, `[rust] debuginfo-level = 0`"},
					{For: "Others", Text: "`-fuse-ld=lld` or `-fuse-ld=mold`, without `-g`. GNU ld: `-Wl,--no-keep-memory`"},
				}, Cost: "a new configuration compiles everything again"},
			},
			Figures: links,
			Sources: []string{"llvm/docs/GettingStarted.rst", "gcc/gcc/collect2.cc", "rust/config.example.toml"},
		},
		{
			ID: "linker/exhausted", Kinds: refused, Said: []string{"final link failed", "/usr/bin/ld: out of memory"},
			Cause: cause.HostMemory, Weight: cause.Decisive,
			Headline: "had no memory left for the linker",
			Means:    "GNU ld could not get more memory. It holds all object files at once, which takes several GB with debug information. A 32-bit toolchain can use only 2 to 4 GB, and a container only its limit, however much RAM there is.",
			Cures: []cause.Cure{
				{Fix: "upgrade_version", Title: "Use a linker that needs less memory", Told: "Link with `-fuse-ld=lld` (or gold, mold) and without `-g`. With GNU ld: `-Wl,--no-keep-memory -Wl,--reduce-memory-overheads`.", Cost: "None"},
				swap, look,
			},
			Sources: []string{"binutils/ld/ld.texi"},
		},
		{
			ID: "linker/gcc-exhausted", Said: []string{"virtual memory exhausted: Cannot allocate memory"}, If: func(c *ledger.Case) bool {
				return c.Near("make[", "[Makefile:", ".o] Error", "CMakeFiles/", "ninja: build stopped")
			},
			Cause: cause.HostMemory, Weight: cause.Decisive,
			Headline: "had no memory left for the compiler",
			Means:    "GCC could not get more memory. As many compilers run at once as `-j` says, and each needs about 1 GB for heavy C++ templates. A container's limit, `ulimit -v` or a 32-bit compiler (2 to 4 GB) can stop it even if RAM is free. The source code is usually fine.",
			Cures: []cause.Cure{
				{Fix: "lower_build_jobs", Title: "Compile one file at a time (-j1)", Told: "Run it in the same folder; finished files are kept:", Kind: "shell", Text: "make -j1   # ninja -j1, cmake --build . --parallel 1", Cost: "a longer build"},
				swap, look,
			},
			Sources: []string{"gcc/gcc/ggc-page.c"},
		},
	},
}

// links says how many links were ended and what that tells.
func links(c *ledger.Case) map[string]string {
	n := 0
	for _, x := range c.Facts.Failures {
		if x.Kind == fact.BuildKilled {
			n++
		}
	}
	if n > 1 {
		return map[string]string{"links": "several links at once", "many": " Several linkers were killed: together they did not fit."}
	}
	return map[string]string{"links": "one link", "many": " The log shows one; fewer jobs help if others ran at the same time."}
}

// MSVC is Microsoft's compiler and linker.
var MSVC = program.Program{
	Name: "msvc", Shown: "Visual C++", Edits: "flags", Language: "cpp", Systems: []string{"windows"},
	Proofs: []string{"fatal error C1060", "fatal error C1076", "fatal error LNK1102", "fatal error C1002", "fatal error C3859"},
	Cards: []cause.Card{{
		ID: "msvc/heap", Kinds: refused,
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "ran out of memory during the build",
		Means:    "Either the tools are 32-bit (the path says HostX86), which can use only 2 to 4 GB. Or RAM and page file together are used up, usually by many compilers at once. The source code is usually fine, unless one generated file is huge.",
		Not:      "Repairing Visual Studio.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Use the 64-bit tools", Told: "CMake: configure with `-A x64 -T host=x64`. MSBuild: `/p:PreferredToolArchitecture=x64`. Command line: open the \"x64 Native Tools Command Prompt\".", Cost: "None"},
			{Fix: "lower_build_jobs", Title: "Run fewer compile jobs at once", Told: "`msbuild /m:1 /p:CL_MPCount=1`, or `cmake --build . --parallel 2`. Each compiler needs about 1 GB, several for heavy templates.", Cost: "time"},
			page,
			{Fix: "fix_shape", Title: "For C1076 or C3859, split the source file", Told: "Remove `/Zm`, and split the generated file or the precompiled header. For large links use `/Zc:inline` and no `/GL`.", Cost: "some work"},
		},
		Sources: []string{"https://learn.microsoft.com/en-us/cpp/error-messages/compiler-errors-1/fatal-error-c1060", "https://learn.microsoft.com/en-us/cpp/error-messages/tool-errors/linker-tools-error-lnk1102"},
	}},
	Sources: program.Sources{"cmake/Help/manual/cmake.1.rst": "-G -A -T --build --parallel"},
}
