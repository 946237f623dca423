package ggml

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
)

// Figures are the figures that a log's load lines state around a failure:
// the buffers of the failing device, the context, the layers. A failure's own
// lines rarely have them.
func Figures(f *fact.Facts, x fact.Failure) fact.Figures {
	g := fact.Figures{
		KVBuffer:      cmp.Or(factOf(f, x, "kv_total").Size, bufferFor(f, x, "kv")),
		ComputeBuffer: bufferFor(f, x, "compute"),
		Context: cmp.Or(factOf(f, x, "n_ctx").Count, factOf(f, x, "n_ctx_per_seq").Count, factOf(f, x, "n_ctx_slot").Count,
			settingCount(f, x, "ctx_size")),
		GPULayers: cmp.Or(factOf(f, x, "gpu_layers").Count, settingCount(f, x, "n_gpu_layers")),
		Limit:     cmp.Or(factOf(f, x, "metal_limit").Size, factOf(f, x, "metal_recommended").Size),
	}
	if g.Free = factOf(f, x, "rpc_free").Size; g.Free != nil {
		g.Total = factOf(f, x, "rpc_total").Size
	}
	if x.Stage != "weights" { // what an earlier device took is not this one's
		g.Weights = bufferFor(f, x, "weights")
	}
	if x.Backend == "metal" {
		g.Allocated = factOf(f, x, "metal_allocated").Size
	}
	return g
}

// held picks the last of several values stated before a failure, else the
// first after it in the same start. is tells the line of a value that is wanted.
func held[T any](f *fact.Facts, list []T, x fact.Failure, is func(T) (line int, wanted bool)) (found T, ok bool) {
	end := nextStart(f, x)
	for _, v := range list {
		if line, wanted := is(v); wanted && line < end && (!ok || line <= x.EndLine) {
			found, ok = v, true
		}
	}
	return found, ok
}

// nextStart is the line of the command that was typed next after that of a
// failure: what stands below is of another start. The only command of a paste
// may stand below its failure.
func nextStart(f *fact.Facts, x fact.Failure) int {
	typed := false
	for _, s := range f.Signals {
		switch {
		case s.ID != "llama_command":
		case s.Line <= x.EndLine:
			typed = true
		case typed:
			return s.Line
		}
	}
	return math.MaxInt
}

func factOf(f *fact.Facts, x fact.Failure, name string) fact.Fact {
	v, _ := held(f, f.Facts, x, func(v fact.Fact) (int, bool) { return v.Line, v.Name == name })
	return v
}

func settingCount(f *fact.Facts, x fact.Failure, name string) *fact.Count {
	s, ok := held(f, f.Settings, x, func(s fact.Setting) (int, bool) { return s.Line, s.Name == name && integer(s.Value) })
	value, err := strconv.ParseFloat(s.Value, 64)
	if !ok || err != nil {
		return nil
	}
	return &fact.Count{Value: value, Text: s.Value, Line: s.Line}
}

// bufferFor returns the buffer of a kind on the failing device; where the log
// does not say which failed, the largest in device memory, else in RAM.
func bufferFor(f *fact.Facts, x fact.Failure, kind string) *fact.Size {
	b, ok := held(f, f.Buffers, x, func(b fact.Buffer) (int, bool) {
		return b.Size.Line, b.Kind == kind && onDevice(b.Device, x)
	})
	if ok {
		return &b.Size
	}
	if slices.ContainsFunc(f.Buffers, func(b fact.Buffer) bool { return b.Kind == kind && onDevice(b.Device, x) }) {
		return nil // another start's
	}
	var best *fact.Buffer
	for i := range f.Buffers {
		b := &f.Buffers[i]
		if b.Kind == kind && (best == nil || fact.HostMemory(best.Device) && !fact.HostMemory(b.Device) || fact.HostMemory(best.Device) == fact.HostMemory(b.Device) && b.Size.Bytes > best.Size.Bytes) {
			best = b
		}
	}
	if best == nil || x.Memory != "" && fact.HostMemory(best.Device) != fact.HostMemory(x.Memory) && !strings.HasSuffix(x.Memory, "_Host") {
		return nil
	}
	return &best.Size
}

// onDevice reports that a buffer lies where the failure struck.
func onDevice(name string, x fact.Failure) bool {
	if fact.HostMemory(x.Memory) && !strings.HasSuffix(strings.ToLower(x.Memory), "_host") {
		return strings.HasPrefix(strings.ToLower(name), "cpu")
	}
	if fact.HostMemory(name) {
		return false
	}
	if x.Figures.Device != nil && indexOf(name) >= 0 {
		return float64(indexOf(name)) == x.Figures.Device.Value
	}
	return x.Memory != "" && strings.EqualFold(name, x.Memory)
}
