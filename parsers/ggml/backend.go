package ggml

import (
	"cmp"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
)

// bufferBackends tell the backend from the name of a buffer: CUDA0, ROCm1,
// MTL0. Longer names first.
var bufferBackends = []struct{ prefix, backend string }{
	{"cuda", "cuda"}, {"rocm", "rocm"}, {"hip", "rocm"}, {"vulkan", "vulkan"}, {"kompute", "vulkan"},
	{"sycl", "sycl"}, {"metal", "metal"}, {"mtl", "metal"}, {"cann", "npu"}, {"cpu", "cpu"}, {"amx", "cpu"}, {"hbm", "cpu"},
}

// BackendOfBuffer is the backend that a buffer of this name belongs to.
func BackendOfBuffer(name string) string {
	name = strings.ToLower(name)
	for _, b := range bufferBackends {
		if strings.HasPrefix(name, b.prefix) {
			return b.backend
		}
	}
	return ""
}

// backendOf corrects what the words say: HIP and MUSA builds print CUDA's.
func (g *ggmlReader) backendOf(r *refusal) string {
	switch {
	case r.Backend == "cuda" && g.backend == "rocm" && !strings.HasPrefix(strings.ToLower(r.Memory), "cuda"):
		return "rocm"
	case r.Backend != "":
		return r.Backend
	case r.Kind == fact.GGMLPool || r.Kind == fact.LlamaGuard:
		return "" // an arena of the program, an estimate
	}
	return cmp.Or(g.backend, g.hinted)
}
