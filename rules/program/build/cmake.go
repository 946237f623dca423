package build

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/program"
)

// CMake is a build of C and C++ by CMake's makefiles, which has no wheels.
var CMake = program.Program{
	Name: "cmake", Shown: "The build", Work: "build", Edits: "flags", Language: "cpp",
	Proofs: []string{"Building CXX object"},
	Cards: []cause.Card{{
		ID: "cmake/killed", Kinds: []fact.Kind{fact.ShellKilled}, Said: []string{"Building CXX object"}, Unsaid: []string{"Building CUDA object", "Building wheel"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "was killed while it compiled, most likely because RAM ran out",
		Means:    "Usually too many compilers ran at once for the memory: each needs about 1 GB for heavy C++ templates. In a container or on a CI machine its own limit counts.",
		Cures: []cause.Cure{
			{Fix: "lower_build_jobs", Title: "Compile with fewer jobs at once", Told: "Finished files are kept:", Kind: "shell", Text: "make -j1   # ninja -j1, cmake --build . --parallel 1", Cost: "a longer build"},
			swap,
			{Fix: "raise_memory_limit", Title: "In a container or CI job, give it more memory", Told: "`docker run --memory`, Docker Desktop: Settings, Resources, Memory; CI: a larger runner.", Cost: "less for others, or money"},
		},
		Sources: []string{"cmake/Source/cmcmd.cxx", "https://www.gnu.org/software/make/manual/make.html"},
	}},
	Sources: program.Sources{"cmake/Help/manual/cmake.1.rst": "--build --parallel", "https://www.gnu.org/software/make/manual/make.html": "-j1"},
}
