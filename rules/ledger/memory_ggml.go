package ledger

import (
	"cmp"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
)

// ggmlBooks books the buffers that llama.cpp prints against what its device
// had free before it began. Ollama's new engine prints the same of its own.
func ggmlBooks(c *Case) *books {
	held, device := ggmlBuffers(c)
	if !slices.ContainsFunc(held, func(b fact.Buffer) bool { return b.Kind == "weights" }) {
		return nil // without the largest part the others tell little
	}
	l := ggmlCard(c, device, held[0].Size.Line)
	if l == nil {
		return nil
	}
	for _, b := range held {
		l.add(partOfBuffer(b.Kind), b.Size.Bytes, "log")
	}
	l.rest(leftFor(c, l.left()))
	return l
}

func partOfBuffer(kind string) string {
	switch kind {
	case "weights":
		return PartWeights
	case "kv", "state":
		return PartCache
	}
	return PartCompute
}

// ggmlCard opens the books of a device, by the lines up to the one before which it was
// empty. Where its size is not
// stated, the card's name tells it, and what was free before loading is all that
// counts where neither does.
func ggmlCard(c *Case, device string, before int) *books {
	if limit := c.F().Limit; limit != nil && c.Backend == "metal" {
		return openBooks(limit.Bytes, OfLimit)
	}
	var total, free int64
	name := ""
	index, _ := DeviceIndex(device)
	for _, d := range c.Facts.Devices {
		if d.Line > before || d.Index >= 0 && d.Index != index {
			continue
		}
		if t := SizeOf(d.Total); t > 0 && total > 0 && !Near(t, total, units.GiB) {
			return nil // two cards, and which of them is not said
		}
		name = cmp.Or(d.Name, name)
		total = cmp.Or(SizeOf(d.Total), total)
		free = cmp.Or(SizeOf(d.Free), free)
	}
	if plan, ok := c.Fact("plan_available"); ok && free == 0 {
		free = plan.Size.Bytes
	}
	l := openBooks(cmp.Or(total, SizeOf(c.F().Total)), OfCard)
	if card, ok := fit.Card(name); ok && l.TotalBytes == 0 && !SharesMemory(name) {
		l.TotalBytes, l.Basis, l.rests = card.TotalBytes, "estimate", "estimate"
	}
	switch {
	case l.TotalBytes == 0 && free == 0:
		return nil
	case free > l.TotalBytes || free > 0 && l.Basis == "estimate":
		return openBooks(free, OfFree) // what the log says is worth more than a name
	case free > 0:
		l.add(PartOthers, l.TotalBytes-free, "log")
	}
	return l
}

// DeviceIndex is the number at the end of CUDA1.
func DeviceIndex(device string) (index int, ok bool) {
	n, ok := Whole(device[len(strings.TrimRight(device, "0123456789")):])
	return int(n), ok
}

// ggmlBuffers are the buffers on the failing device before it failed, nil where
// the device is not known or two models were loaded on it.
func ggmlBuffers(c *Case) (held []fact.Buffer, device string) {
	device = c.Failure.Memory
	cached := false
	for _, b := range c.Facts.Buffers {
		switch {
		case b.Size.Line > c.Failure.EndLine || b.Device == "" || fact.HostMemory(b.Device) || b.Kind == "output":
			continue
		case device == "":
			device = b.Device
		case !strings.EqualFold(device, b.Device) && c.Failure.Memory == "":
			return nil, "" // two cards, and the message does not say which
		}
		if !strings.EqualFold(device, b.Device) {
			continue
		}
		if b.Kind == "weights" && cached {
			return nil, "" // another load: whether the first is still there is not known
		}
		cached = cached || b.Kind == "kv" || b.Kind == "compute"
		if b.Size.Line == c.Failure.Line && b.Size.Bytes == Requested(c) {
			continue // the one that was refused
		}
		held = append(held, b)
	}
	return held, device
}

// leftFor calls what is left free, unless it would have been enough: then it
// was not there.
func leftFor(c *Case, left int64) string {
	if r := Requested(c); r == 0 || left >= r {
		return PartUnknown
	}
	return PartFree
}

// planBooks books what Ollama planned for one card (0.1.32 to 0.12), where its
// runner did not come to say what it took. All of it is an estimate of Ollama's.
func planBooks(c *Case) *books {
	f := c.F()
	if f.GPULayers == nil || f.TotalLayers == nil || f.GPULayers.Value < 1 || f.TotalLayers.Value < max(2, f.GPULayers.Value) {
		return nil
	}
	layers, repeating := int64(f.GPULayers.Value), int64(f.TotalLayers.Value)-1
	graph := "plan_graph_partial"
	if layers > repeating {
		graph = "plan_graph"
	}
	planned, cache, compute := plannedSize(c, "plan_partial"), plannedSize(c, "plan_kv"), plannedSize(c, graph)
	l := ggmlCard(c, "", c.Failure.EndLine)
	if l == nil || planned == 0 || cache == 0 || compute == 0 {
		return nil
	}
	cache = Proportion(cache, min(layers, repeating), repeating)
	l.rests = "estimate"
	l.add(PartWeights, planned-cache-compute, l.rests)
	l.add(PartCache, cache, l.rests)
	l.add(PartCompute, compute, l.rests)
	l.rest(leftFor(c, l.left()))
	return l
}

func plannedSize(c *Case, name string) int64 {
	x, ok := c.Fact(name)
	if !ok || x.Line > c.Failure.EndLine {
		return 0
	}
	return SizeOf(x.Size)
}
