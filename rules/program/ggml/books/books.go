// Package books says what filled a card on which ggml ran: by the buffers that
// llama.cpp prints, else by what Ollama planned; and how several cards share the
// weights.
package books

import (
	"cmp"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Of books what a log of ggml says, nil where it says too little.
func Of(c *ledger.Case) *ledger.Books { return cmp.Or(buffers(c), planned(c)) }

// buffers books the buffers that llama.cpp prints against what its device
// had free before it began. Ollama's new engine prints the same of its own.
func buffers(c *ledger.Case) *ledger.Books {
	held, device := heldBefore(c)
	if !slices.ContainsFunc(held, func(b fact.Buffer) bool { return b.Kind == "weights" }) {
		return nil // without the largest part the others tell little
	}
	l := openCard(c, device, held[0].Size.Line)
	if l == nil {
		return nil
	}
	for _, b := range held {
		l.Add(partOfBuffer(b.Kind), b.Size.Bytes, "log")
	}
	l.Rest(leftFor(c, l.Left()))
	return l
}

func partOfBuffer(kind string) string {
	switch kind {
	case "weights":
		return ledger.PartWeights
	case "kv", "state":
		return ledger.PartCache
	}
	return ledger.PartCompute
}

// openCard opens the books of a device, by the lines up to the one before which
// it was empty. Where its size is not stated, the card's name tells it, and what
// was free before loading is all that counts where neither does.
func openCard(c *ledger.Case, device string, before int) *ledger.Books {
	if limit := c.F().Limit; limit != nil && c.Backend == "metal" {
		return ledger.OpenBooks(limit.Bytes, ledger.OfLimit)
	}
	var total, free int64
	name := ""
	index, _ := deviceIndex(device)
	for _, d := range c.Facts.Devices {
		if d.Line > before || d.Index >= 0 && d.Index != index {
			continue
		}
		if t := ledger.SizeOf(d.Total); t > 0 && total > 0 && !ledger.Near(t, total, units.GiB) {
			return nil // two cards, and which of them is not said
		}
		name = cmp.Or(d.Name, name)
		total = cmp.Or(ledger.SizeOf(d.Total), total)
		free = cmp.Or(ledger.SizeOf(d.Free), free)
	}
	if plan, ok := c.Fact("plan_available"); ok && free == 0 {
		free = plan.Size.Bytes
	}
	l := ledger.OpenBooks(cmp.Or(total, ledger.SizeOf(c.F().Total)), ledger.OfCard)
	if card, ok := fit.Card(name); ok && l.TotalBytes == 0 && !SharesMemory(name) {
		l.TotalBytes, l.Basis, l.Rests = card.TotalBytes, "estimate", "estimate"
	}
	switch {
	case l.TotalBytes == 0 && free == 0:
		return nil
	case free > l.TotalBytes || free > 0 && l.Basis == "estimate":
		return ledger.OpenBooks(free, ledger.OfFree) // what the log says is worth more than a name
	case free > 0:
		l.Add(ledger.PartOthers, l.TotalBytes-free, "log")
	}
	return l
}

// heldBefore are the buffers on the failing device before it failed, nil where
// the device is not known or two models were loaded on it.
func heldBefore(c *ledger.Case) (held []fact.Buffer, device string) {
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
		if b.Size.Line == c.Failure.Line && b.Size.Bytes == ledger.Requested(c) {
			continue // the one that was refused
		}
		held = append(held, b)
	}
	return held, device
}

// leftFor calls what is left free, unless it would have been enough: then it
// was not there.
func leftFor(c *ledger.Case, left int64) string {
	if r := ledger.Requested(c); r == 0 || left >= r {
		return ledger.PartUnknown
	}
	return ledger.PartFree
}

// planned books what Ollama planned for one card (0.1.32 to 0.12), where its
// runner did not come to say what it took. All of it is an estimate of Ollama's.
func planned(c *ledger.Case) *ledger.Books {
	f := c.F()
	if f.GPULayers == nil || f.TotalLayers == nil || f.GPULayers.Value < 1 || f.TotalLayers.Value < max(2, f.GPULayers.Value) {
		return nil
	}
	layers, repeating := int64(f.GPULayers.Value), int64(f.TotalLayers.Value)-1
	graph := "plan_graph_partial"
	if layers > repeating {
		graph = "plan_graph"
	}
	weights, cache, compute := plannedSize(c, "plan_partial"), plannedSize(c, "plan_kv"), plannedSize(c, graph)
	l := openCard(c, "", c.Failure.EndLine)
	if l == nil || weights == 0 || cache == 0 || compute == 0 {
		return nil
	}
	cache = ledger.Proportion(cache, min(layers, repeating), repeating)
	l.Rests = "estimate"
	l.Add(ledger.PartWeights, weights-cache-compute, l.Rests)
	l.Add(ledger.PartCache, cache, l.Rests)
	l.Add(ledger.PartCompute, compute, l.Rests)
	l.Rest(leftFor(c, l.Left()))
	return l
}

func plannedSize(c *ledger.Case, name string) int64 {
	x, ok := c.Fact(name)
	if !ok || x.Line > c.Failure.EndLine {
		return 0
	}
	return ledger.SizeOf(x.Size)
}

// deviceIndex is the number at the end of CUDA1.
func deviceIndex(device string) (index int, ok bool) {
	n, ok := ledger.Whole(device[len(strings.TrimRight(device, "0123456789")):])
	return int(n), ok
}

// integrated are names of graphics that share the system's memory.
var integrated = []string{"8060s", "8050s", "890m", "880m", "780m", "680m", "660m", "radeon(tm) graphics", "radeon graphics", "gfx1151", "gfx1150", "gfx1103", "orin", "xavier", "thor", "gb10", "iris", "uhd graphics", "arc(tm) graphics", "arc(tm) 140", "arc(tm) 130", "apple m"}

// SharesMemory reports a card that has the computer's memory for its own.
func SharesMemory(name string) bool {
	name = strings.ToLower(name)
	return slices.ContainsFunc(integrated, func(part string) bool { return strings.Contains(name, part) })
}
