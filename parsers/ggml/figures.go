package ggml

import (
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Figures are the figures that a log's load lines state around a failure:
// the buffers of the failing device, the context, the layers. A failure's own
// lines rarely have them.
func Figures(f *fact.Facts, x fact.Failure) fact.Figures {
	var g fact.Figures
	g.Weights = bufferFor(f, x, "weights")
	g.KVBuffer = factSize(f, x, "kv_total")
	if g.KVBuffer == nil {
		g.KVBuffer = bufferFor(f, x, "kv")
	}
	g.ComputeBuffer = bufferFor(f, x, "compute")
	g.KVTokens = factCount(f, x, "kv_tokens")
	g.Context = contextOf(f, x)
	g.GPULayers = firstCount(factCount(f, x, "gpu_layers"), settingCount(f, x, "n_gpu_layers"))
	g.TotalLayers = factCount(f, x, "total_layers")
	g.Allocated = factSize(f, x, "metal_allocated")
	g.Limit = text.First(factSize(f, x, "metal_limit"), factSize(f, x, "metal_recommended"))
	if g.Free = factSize(f, x, "rpc_free"); g.Free != nil {
		g.Total = factSize(f, x, "rpc_total")
	}
	if x.Stage == "weights" {
		g.Weights = nil // what an earlier device took is not this one's
	}
	if x.Backend != "metal" {
		g.Allocated = nil
	}
	return g
}

func contextOf(f *fact.Facts, x fact.Failure) *fact.Count {
	for _, name := range [...]string{"n_ctx", "n_ctx_per_seq", "n_ctx_slot"} {
		if c := factCount(f, x, name); c != nil {
			return c
		}
	}
	return settingCount(f, x, "ctx_size")
}

// held picks the last of several values stated before a failure, else the
// first after it.
func held[T any](list []T, x fact.Failure, line func(T) int, want func(T) bool) (found T, ok bool) {
	for _, v := range list {
		if want(v) && (!ok || line(v) <= x.EndLine) {
			found, ok = v, true
		}
	}
	return found, ok
}

func factSize(f *fact.Facts, x fact.Failure, name string) *fact.Size {
	v, _ := held(f.Facts, x, func(v fact.Fact) int { return v.Line }, func(v fact.Fact) bool { return v.Name == name && v.Size != nil })
	return v.Size
}

func factCount(f *fact.Facts, x fact.Failure, name string) *fact.Count {
	v, _ := held(f.Facts, x, func(v fact.Fact) int { return v.Line }, func(v fact.Fact) bool { return v.Name == name && v.Count != nil })
	return v.Count
}

func settingCount(f *fact.Facts, x fact.Failure, name string) *fact.Count {
	s, ok := held(f.Settings, x, func(s fact.Setting) int { return s.Line }, func(s fact.Setting) bool { return s.Name == name && integer(s.Value) })
	if !ok {
		return nil
	}
	value, err := strconv.ParseFloat(s.Value, 64)
	if err != nil {
		return nil
	}
	return &fact.Count{Value: value, Text: s.Value, Line: s.Line}
}

// bufferFor returns the buffer of a kind on the failing device; where the log
// does not say which failed, the largest in device memory, else in RAM.
func bufferFor(f *fact.Facts, x fact.Failure, kind string) *fact.Size {
	b, ok := held(f.Buffers, x, func(b fact.Buffer) int { return b.Size.Line }, func(b fact.Buffer) bool {
		return b.Kind == kind && onDevice(b.Device, x)
	})
	if ok {
		return &b.Size
	}
	var best *fact.Buffer
	for i := range f.Buffers {
		b := &f.Buffers[i]
		if b.Kind == kind && (best == nil || HostMemory(best.Device) && !HostMemory(b.Device) || HostMemory(best.Device) == HostMemory(b.Device) && b.Size.Bytes > best.Size.Bytes) {
			best = b
		}
	}
	if best == nil || x.Memory != "" && HostMemory(best.Device) != HostMemory(x.Memory) && !strings.HasSuffix(x.Memory, "_Host") {
		return nil
	}
	return &best.Size
}

// onDevice reports that a buffer lies where the failure struck.
func onDevice(name string, x fact.Failure) bool {
	if HostMemory(x.Memory) && !strings.HasSuffix(strings.ToLower(x.Memory), "_host") {
		return strings.HasPrefix(strings.ToLower(name), "cpu")
	}
	if HostMemory(name) {
		return false
	}
	if x.Figures.Device != nil && indexOf(name) >= 0 {
		return float64(indexOf(name)) == x.Figures.Device.Value
	}
	return x.Memory != "" && strings.EqualFold(name, x.Memory)
}

func firstCount(list ...*fact.Count) *fact.Count {
	for _, c := range list {
		if c != nil {
			return c
		}
	}
	return nil
}
