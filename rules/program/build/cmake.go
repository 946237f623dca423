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
		Means: "The build was ended by signal 9 while it compiled, usually because too many compilers ran at once for the memory: about 1 GB each for heavy C++ templates. In a container or on a CI machine, its limit counts.",
		Cures: []cause.Cure{
			{Fix: "lower_build_jobs", Title: "Compile with fewer jobs", Told: "Finished files are kept:", Kind: "shell", Text: "make -j1   # ninja -j1, cmake --build . --parallel 1", Cost: "The build takes longer"},
			swap,
			{Fix: "raise_memory_limit", Title: "In a container or CI job: give it more", Told: "`docker run --memory`, Docker Desktop's Settings, Resources, or a larger runner.", Cost: "Less for others, or money"},
		},
		Sources: []string{"cmake/Source/cmcmd.cxx", "https://www.gnu.org/software/make/manual/make.html"},
	}},
	Sources: program.Sources{"cmake/Help/manual/cmake.1.rst": "--build --parallel", "https://www.gnu.org/software/make/manual/make.html": "-j1"},
}
