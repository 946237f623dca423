package fit

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// ErrVersion is returned for a version of an engine that is none, or that
// changes nothing here.
var ErrVersion = errors.New("no such version")

// A Change is what one version of an engine did to the memory it takes, or to
// the way it is told.
type Change struct {
	Engine string
	// Name of the change, as Setting asks for it.
	Name string
	// Since is the first version with it: "b6325" or "0.21.0". Numbers of
	// llama.cpp's builds are those of the days of the merge, give or take fifty.
	Since string
	// Date of the merge, year and month.
	Date string
	// Source is the upstream pull request or, where there is none, the issue or
	// the release that tells.
	Source string
	Told   string
}

// Names of changes.
const (
	changeLatent      = "latent cache"
	changeWindow      = "window cache"
	changeGLU         = "gated MLP in one"
	changeStreams     = "a cache for each slot"
	changeExperts     = "--n-cpu-moe"
	changeFlashValue  = "-fa takes a value"
	changeUnified     = "4 slots, -kvu"
	changeOutputFirst = "output layer first"
	changeSmallMask   = "16-bit mask"
	changeOneOutput   = "outputs by slot"
	changeGraphs      = "graphs in the budget"
	changeHybrid      = "window blocks"
	changeDType       = "dtype"
	changeCacheType   = "OLLAMA_KV_CACHE_TYPE"
	changeParallel    = "OLLAMA_NUM_PARALLEL"
)

// changes lists what changed when, the oldest first. Nothing else here knows a
// number of a build.
var changes = []Change{
	{"llama.cpp", changeLatent, "b5130", "2025-04", "https://github.com/ggml-org/llama.cpp/pull/12801", "MLA caches its latent, not the full heads"},
	{"llama.cpp", changeWindow, "b5430", "2025-05", "https://github.com/ggml-org/llama.cpp/pull/13194", "layers with a window cache the window only; --swa-full caches all"},
	{"llama.cpp", changeGLU, "b5800", "2025-06", "https://github.com/ggml-org/llama.cpp/pull/14158", "the gated MLP is one operation that holds gate, up and product"},
	{"llama.cpp", changeStreams, "b5910", "2025-07", "https://github.com/ggml-org/llama.cpp/pull/14363", "with -np N each slot has a cache of its own for its part of -c"},
	{"llama.cpp", changeExperts, "b6089", "2025-08", "https://github.com/ggml-org/llama.cpp/pull/15077", "--n-cpu-moe N leaves the experts of N layers in RAM"},
	{"llama.cpp", changeFlashValue, "b6325", "2025-08", "https://github.com/ggml-org/llama.cpp/pull/15434", "-fa takes on, off or auto; before, it was a switch"},
	{"llama.cpp", changeUnified, "b6915", "2025-11", "https://github.com/ggml-org/llama.cpp/pull/16736", "llama-server takes 4 slots with one cache unless -np is given; -kvu asks for one cache"},
	{"llama.cpp", changeOutputFirst, "b7600", "2026-01", "https://github.com/ggml-org/llama.cpp/pull/18148", "-ngl N places the output layer first, then the last N-1 layers"},
	{"llama.cpp", changeSmallMask, "b9350", "2026-05", "https://github.com/ggml-org/llama.cpp/pull/23764", "the mask of flash attention has 2 bytes a cell; before, 4 and a copy of 2"},
	{"llama.cpp", changeOneOutput, "b9395", "2026-06", "https://github.com/ggml-org/llama.cpp/pull/23861", "llama-server reserves one row of logits for a slot, not one for each token of a batch"},
	{"ollama", changeParallel, "0.1.33", "2024-05", "https://github.com/ollama/ollama/issues/358", "OLLAMA_NUM_PARALLEL sets how many requests share the server"},
	{"ollama", changeCacheType, "0.5.0", "2024-12", "https://github.com/ollama/ollama/pull/6279", "OLLAMA_KV_CACHE_TYPE quantises the cache"},
	{"vllm", changeHybrid, "0.9.1", "2025-06", "https://github.com/vllm-project/vllm/pull/17996", "layers with a window keep the window of a request only"},
	{"vllm", changeGraphs, "0.21.0", "2026-05", "https://github.com/vllm-project/vllm/pull/30515", "CUDA graphs count inside --gpu-memory-utilization"},
	{"transformers", changeDType, "4.56.0", "2025-08", "https://github.com/huggingface/transformers/pull/39782", "from_pretrained takes dtype; before, torch_dtype"},
}

// Changes returns the table of what changed when.
func Changes() []Change { return slices.Clone(changes) }

// since is the first version with a change, "" for none.
func since(change string) string {
	for _, c := range changes {
		if c.Name == change {
			return c.Since
		}
	}
	return ""
}

// newest is behind every version of the table.
const newest = math.MaxInt

// versionNumber makes versions of an engine comparable. llama.cpp counts builds
// (b5400) until its releases have names (v0.5.0, September 2026), which are all
// newer.
func versionNumber(engine, version string) (int, bool) {
	v := strings.TrimPrefix(strings.ToLower(strings.TrimSpace(version)), "v")
	if llamaEngine(engine) && engine != "ollama" {
		n, err := strconv.Atoi(strings.TrimPrefix(v, "b"))
		switch {
		case err == nil && n > 0 && n < 1e6:
			return n, true
		case strings.Contains(v, "."):
			_, ok := dotted(v)
			return newest, ok
		}
		return 0, false
	}
	return dotted(v)
}

// dotted reads "0.8.5.post1" as 0, 8, 5.
func dotted(v string) (int, bool) {
	parts := strings.Split(v, ".")
	n := 0
	for i := range 3 {
		n *= 10000
		if i >= len(parts) {
			continue
		}
		digits := parts[i]
		if cut := strings.IndexFunc(digits, func(r rune) bool { return r < '0' || r > '9' }); cut >= 0 {
			digits = digits[:cut]
		}
		x, err := strconv.Atoi(digits)
		if err != nil && i < 2 || x >= 10000 {
			return 0, false
		}
		n += x
	}
	return n, len(parts) > 1
}

// checkVersion refuses a version that cannot be read, and one of an engine of
// which no version changes anything here: silence would pass for an answer.
func (s Setting) checkVersion() error {
	engine := s.engine()
	if s.Version == "" {
		return nil
	}
	if !slices.ContainsFunc(changes, func(c Change) bool { return c.Engine == engine }) {
		return fmt.Errorf("%w: of %s no version is known to change these figures; leave it out", ErrVersion, engine)
	}
	if _, ok := versionNumber(engine, s.Version); !ok {
		example := map[string]string{"llama.cpp": "b5400 or v0.5.0"}[engine]
		if example == "" {
			example = "0.9.2"
		}
		return fmt.Errorf("%w: %q of %s; write it as %s", ErrVersion, s.Version, engine, example)
	}
	return nil
}

// has reports that the version of the setting's engine has a change. The newest
// version has them all. ik_llama.cpp left llama.cpp in 2024 and has those of its
// own only.
func (s Setting) has(change string) bool {
	engine := s.engine()
	if engine == "ik_llama.cpp" {
		return slices.Contains([]string{changeLatent, changeGLU, changeExperts, changeFlashValue, changeSmallMask}, change)
	}
	if engine == "ollama" && s.Version != "" && change != changeParallel && change != changeCacheType {
		return true // which build of llama.cpp it holds is not known here
	}
	for _, c := range changes {
		if c.Name != change {
			continue
		}
		if s.Version == "" || c.Engine != engine {
			return true
		}
		since, _ := versionNumber(engine, c.Since)
		n, ok := versionNumber(engine, s.Version)
		return !ok || n >= since
	}
	return true
}
