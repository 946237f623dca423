// Package compilers tells builds whose compilers the kernel ended how to run fewer
// at once, by the tool that ran them.
package compilers

import (
	"regexp"
	"strconv"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// buildTool is what runs compilers side by side: what it prints, and how it is
// told to run fewer.
type buildTool struct {
	name   string
	said   []string
	fewer  string
	source string
}

// buildTools are known by their own lines, the outermost first: colcon runs
// CMake, which runs make.
var buildTools = []buildTool{
	{"colcon", []string{"colcon", "ament_cmake", "rosidl_", "catkin", "rmw_"}, "`MAKEFLAGS=-j2 colcon build --executor sequential`: one package at a time, two compilers in it; finished packages are kept. In ROS 1 `catkin_make -j2`.", "https://colcon.readthedocs.io/en/released/reference/executor-arguments.html"},
	{"bazel", []string{"bazel", "Bazel"}, "`--jobs=2 --local_ram_resources=HOST_RAM*.5` added to the command, or as `build ...` lines in `.bazelrc` (Bazel 8: `--local_resources=memory=HOST_RAM*.5`).", "https://bazel.build/reference/command-line-reference"},
	{"bitbake", []string{"bitbake", "BitBake", "do_compile"}, "In conf/local.conf `BB_NUMBER_THREADS = \"2\"` and `PARALLEL_MAKE = \"-j 2\"`: they multiply.", "https://docs.yoctoproject.org/ref-manual/variables.html"},
	{"buildroot", []string{"buildroot", "BR2_"}, "`make BR2_JLEVEL=2`.", "https://buildroot.org/downloads/manual/manual.html"},
	{"crosstool-ng", []string{"crosstool-NG", "ct-ng"}, "`ct-ng build.2`: the number after the dot is that of the jobs (in the .config `CT_PARALLEL_JOBS=2`). If another script or image calls it, change it there.", "https://crosstool-ng.github.io/docs/build/"},
	{"portage", []string{"emerge", "/var/tmp/portage/"}, "`MAKEOPTS=\"-j2\" emerge --jobs=1 PACKAGE` (what you build), or for good in /etc/portage/make.conf.", "https://wiki.gentoo.org/wiki/MAKEOPTS"},
	{"vcpkg", []string{"vcpkg"}, "`export VCPKG_MAX_CONCURRENCY=2` before the command.", "https://learn.microsoft.com/en-us/vcpkg/users/config-environment"},
	{"homebrew", []string{"Homebrew", "brew install"}, "`HOMEBREW_MAKE_JOBS=2 brew install PACKAGE` (what you build); better use a bottle, which needs no compiler.", "https://docs.brew.sh/Manpage"},
	{"cargo", []string{"cargo", "rustc", "could not compile"}, "`cargo build -j 2`, with the options you had. If one large crate alone is too much: `debug = 0` and `lto = false` in its profile in Cargo.toml.", "https://doc.rust-lang.org/cargo/reference/profiles.html"},
	{"cmake", []string{"Building CXX object", "Building C object", "CMakeFiles/"}, "`cmake --build . --parallel 2` in the build folder (`make -j2`, `ninja -j2` are the same); a script or package that calls it: `export CMAKE_BUILD_PARALLEL_LEVEL=2 MAKEFLAGS=-j2` before it.", "cmake/Help/manual/cmake.1.rst"},
	{"ninja", []string{"ninja: build stopped", "FAILED: "}, "`ninja -j2`; through CMake `cmake --build . --parallel 2`.", "ninja/doc/manual.asciidoc"},
	{"make", []string{"make[", "[Makefile:", ".o] Error"}, "`make -j2`; in a script that calls it, `export MAKEFLAGS=-j2` before it.", "https://www.gnu.org/software/make/manual/make.html"},
}

// OfLinux are cards for logs that show the kernel's victim, and no build.
func OfLinux() []cause.Card {
	return cards("linux", "killed a compiler: the build needed more RAM than it had", buildTools)
}

// OfBuild are cards for logs that prove a build, which make's own lines do not.
func OfBuild() []cause.Card {
	return cards("build", "was ended: its compilers needed more RAM than there was", buildTools[:len(buildTools)-1])
}

// OfCargo is the card for logs that show Cargo at work, whatever else.
func OfCargo() []cause.Card {
	for i, t := range buildTools {
		if t.name == "cargo" {
			return cards("cargo", "was ended: its crates needed more RAM than there was", buildTools[i:i+1])
		}
	}
	return nil
}

// compiler: what was killed is one; Cargo says that of rustc with its command.
func compiler(c *ledger.Case) bool {
	return c.Kind(fact.BuildKilled) || c.Contains("rustc --crate-name") || c.Contains(".rmeta")
}

// needs is what one compiler of the build takes.
func needs(c *ledger.Case) map[string]string {
	out := map[string]string{"need": "about 1 GB for heavy C++ templates or a large crate, several for generated code", "per": "2", "ended": "The kernel ended a compiler because RAM ran out.", "where": "", "jobs": "", "beside": "As many run side by side as the build was told or allows itself (`-j`, often one per core), and each takes what its file needs:"}
	switch n := jobs(c); {
	case n == 1:
		out["beside"] = "One ran at a time (no `-j`, or `-j1`), so a single file needed more than there was:"
	case n > 1:
		out["jobs"] = "It was told to run " + strconv.Itoa(n) + "."
	}
	if c.Near("cicc", "cudafe", ".cu.o", "Building CUDA object") || c.Contains("cicc") {
		out["need"], out["per"] = "2 to 6 GB for CUDA kernels", "6"
	}
	n := 0
	for _, x := range c.Facts.Failures {
		if x.Kind == fact.BuildKilled {
			n++
		}
	}
	if n > 1 {
		out["ended"] = "The kernel ended several compilers because RAM ran out: their sum did not fit."
	}
	for _, h := range hosts {
		if c.Says(h.program) {
			out["where"] = h.more
			break
		}
	}
	return out
}

// started is a build as somebody typed it.
var started = regexp.MustCompile(`(?:^|[$#%>] )(?:sudo |time )?(make|ninja|cmake --build \S+)\b([^|&;]{0,80})$`)
var jobOption = regexp.MustCompile(`(?:-j|--jobs=|--parallel) ?(\d{1,3})`)

// jobs is how many compilers the typed command allows, 0 where that does not show.
func jobs(c *ledger.Case) (n int) {
	for _, x := range c.Facts.Talk {
		m := started.FindStringSubmatch(x.Text)
		if m == nil || x.Line > c.Failure.Line {
			continue
		}
		if j := jobOption.FindStringSubmatch(m[2]); j != nil {
			n, _ = strconv.Atoi(j[1])
		} else if n = 0; m[1] == "make" && !parallel.MatchString(m[2]) && !c.Near("unfinished jobs") {
			n = 1
		}
	}
	return n
}

var parallel = regexp.MustCompile(`-j|--jobs`)

// alone: one compiler ran at a time.
func alone(c *ledger.Case) bool { return jobs(c) == 1 }

// hosts are those that bound the memory of a build, and how they give more.
var hosts = []struct{ program, more string }{
	{"wsl", "`memory=` under `[wsl2]` in %UserProfile%\\.wslconfig, then `wsl --shutdown`"},
	{"github-actions", "A larger runner (`runs-on:`), or a swap file in an earlier step"},
	{"docker", "`docker run --memory`, or Docker Desktop's settings (Resources)"},
	{"kubernetes", "`resources.limits.memory` of the pod that builds"},
}

// bounded: the log shows who bounds the memory of the build.
func bounded(c *ledger.Case) bool { return needs(c)["where"] != "" }

const swap = "sudo fallocate -l 8G /swapfile && sudo chmod 600 /swapfile\nsudo mkswap /swapfile && sudo swapon /swapfile"

func cards(program, headline string, tools []buildTool) []cause.Card {
	var out []cause.Card
	for _, t := range tools {
		out = append(out, cause.Card{
			ID: program + "/" + t.name, Kinds: []fact.Kind{fact.BuildKilled, fact.ShellKilled}, If: compiler, Said: t.said, Unsaid: []string{"Building wheel", "pip install", "setup.py"},
			Cause: cause.HostMemory, Weight: cause.Decisive,
			Headline: headline,
			Means:    "{ended} {beside} {need}. The sources are usually fine.",
			Figures:  needs,
			Not:      "Cleaning first: it only loses the files that are finished.",
			Cures: []cause.Cure{
				{Fix: "add_swap", If: alone, Title: "Add swap: one compiler alone needs too much", Kind: "shell", Text: swap, Cost: "8 GB of disk, slow"},
				{Fix: "lower_build_jobs", If: alone, Title: "Or compile that file with less optimisation", Told: "`-O1` instead of `-O2` or `-O3`, and no `-g`, take less memory: `make CXXFLAGS=-O1`, with CMake `cmake -DCMAKE_BUILD_TYPE=Release -DCMAKE_CXX_FLAGS_RELEASE=-O1 .` first.", Cost: "a slower program"},
				{Fix: "lower_build_jobs", If: when.Not(alone), Title: "Run fewer compile jobs", Told: "[[{jobs} ]]" + t.fewer + " One job for every {per} GB of RAM; if it is 2 already, 1.", Cost: "A longer build"},
				{Fix: "add_swap", If: when.Not(alone), Title: "Add swap, if a single file needs too much", Kind: "shell", Text: swap, Cost: "8 GB of disk, slow"},
				{Fix: "raise_memory_limit", If: bounded, Title: "Give the container or runner more memory", Told: "{where}. `sudo dmesg -T | grep -i 'killed process'` on the host shows whether a limit (\"Memory cgroup\") or the machine was full.", Cost: "Less for the rest"},
			},
			Sources: []string{"gcc/gcc.cc", t.source},
		})
	}
	return out
}
