// Package load reads the load lines of llama.cpp, and reckons what a device is
// to hold.
package load

import (
	"cmp"
	"fmt"
	"sort"
	"strings"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Budget is what one device is to hold with the settings of the log, in bytes: the
// arithmetic behind -ngl, -c and -ub. Weights and cache are linear in the
// layers on the device, the cache in the context, the graph in the physical
// batch.
type Budget struct {
	Free    int64 // before loading; 0 is unknown
	Weights int64
	KV      int64
	Graph   int64 // the compute buffer
	Scores  int64 // the part of it that flash attention never builds
	Output  int64 // the output matrix, which a part of the layers on the card adds to the graph
	Kept    int64 // for the driver's context and the run-time pool
	Layers  int64 // there, the output layer counted
	Context int64
	Batch   int64  // the physical batch, -ub
	Part    string // what was refused: weights, kv or compute; "" where only the sum is too much
	Refused int64  // of it, in one piece
	Basis   string // of Free: log or estimate
	Against string // a sentence about Free where it is not simply that
}

const (
	// What the driver's context and the run-time pool take beside the buffers:
	// 200 to 500 MiB for a CUDA process, measured. More is kept where weights
	// were refused, for there the rest is still to come.
	ContextReserve = 300 * units.MiB
	LoadReserve    = 500 * units.MiB
	// pieceLimit is what most Vulkan drivers give in one piece
	// (maxMemoryAllocationSize, maxBufferSize).
	PieceLimit = 4 * units.GiB
	// Less of either is not worth having.
	LeastContext = 512
	leastBatch   = 32
)

// Sum is all of it.
func (b Budget) Sum() int64 { return b.Weights + b.KV + b.Graph + b.Kept }

// BudgetOf collects it for a case. Free is unknown too where all of it would
// have found room: then the figure is of another moment, or of another card.
func BudgetOf(c *ledger.Case) Budget {
	f := c.F()
	b := Budget{
		Weights: ledger.SizeOf(f.Weights), KV: ledger.SizeOf(deviceKV(c)), Graph: ledger.SizeOf(f.ComputeBuffer), Kept: ContextReserve, Basis: "log",
		Layers: OffloadedLayers(c), Context: ContextOf(c), Batch: PhysicalBatch(c), Part: c.Failure.Stage, Refused: ledger.Requested(c),
	}
	b.freeOf(c)
	switch {
	case c.Root(fact.GGMLMetal) && f.Limit != nil:
		b.overLimit(c)
	case b.Refused == 0:
		b.Free = 0
	case c.Root(fact.GGMLLimit):
		b.Free, b.Weights, b.KV, b.Graph, b.Kept = PieceLimit, 0, 0, 0, 0
		b.Basis, b.Against = "log", "Held against the 4 GiB that most drivers give in one piece."
		b.place(c)
	case b.Part == "weights", b.Part == "" && b.Weights == 0:
		b.Part = "weights"
		b.weightsToCome(c)
	default:
		b.place(c)
	}
	another := b.Sum() <= b.Free || b.Basis == "estimate" && b.Sum()-b.Refused > b.Free
	if another || ledger.InHost(c) || SoftwareDevice(c) {
		b.Free = 0
	}
	return b
}

// place puts what was refused where it belongs. What it is beside must be
// known, unless one piece was too large however much is free. A Vulkan device
// takes the cache in pieces, keys and values of every layer there.
func (b *Budget) place(c *ledger.Case) {
	alone := c.Root(fact.GGMLLimit)
	switch {
	case b.Part == "kv" && alone:
		b.KV = b.Refused
	case b.Part == "kv":
		b.KV, b.Graph = b.Refused, cmp.Or(b.Graph, graphToCome(c))
		if OnVulkan(c) {
			b.KV = max(b.KV, CacheOfShape(c, b.Layers-1))
		}
		if b.Graph == 0 { // it is still to come
			b.Kept = LoadReserve
		}
	case b.Part == "compute" && !AbsurdGraph(c):
		b.Graph, b.Scores = b.Refused, min(Scores(c, b.Context), b.Refused)
	default:
		b.Free = 0
	}
	if b.Weights == 0 && !alone {
		b.Free = 0
	}
}

// weightsToCome books refused weights and what follows them: cache, graph and
// the output matrix. A Vulkan device takes weights in pieces of 1 GiB or what
// the driver allows (ggml-vulkan.cpp, suballocation_block_size); of several
// devices, each has its part of the cache, as of the weights.
func (b *Budget) weightsToCome(c *ledger.Case) {
	b.Weights, b.Kept = b.Refused, LoadReserve
	size, sized := c.Fact("model_size")
	if total := layersInAll(c); sized && OnVulkan(c) && total > 1 {
		if b.Layers == 0 {
			b.Layers, b.Basis, b.Against = total, "estimate", strings.TrimSpace(b.Against+" Counted with all layers meant for the card.")
		}
		b.Weights = max(b.Weights, ledger.Proportion(size.Size.Bytes, min(b.Layers, total), total))
		b.Refused = b.Weights
	}
	if m := ledger.Named(c); !sized && Pieced(c) && m.Parameters > 0 && m.Format != "" {
		if bytes, ok := fit.WeightBytes(m.Parameters, m.Format); ok && bytes > b.Refused {
			b.Weights, b.Refused, b.Basis, b.Against = bytes, bytes, "estimate", "Counted by the model's name."
		}
	}
	cache := CacheOfShape(c, b.Layers)
	if sized && SeveralDevices(c) && size.Size.Bytes > b.Refused {
		cache = ledger.Proportion(cache, b.Refused, size.Size.Bytes)
	}
	b.KV = cmp.Or(b.KV, cache)
	b.Graph = max(b.Graph, graphToCome(c), Scores(c, b.Context))
	b.Output = outputMatrix(c)
}

// overLimit books what Metal took beyond what it recommends at most. Nothing
// was refused there: a command buffer failed later.
func (b *Budget) overLimit(c *ledger.Case) {
	f := c.F()
	taken := max(ledger.SizeOf(f.Allocated), b.Weights+b.KV+b.Graph)
	b.Part, b.Free, b.Basis = "", f.Limit.Bytes, "log"
	if b.Weights = cmp.Or(weightsThere(c), max(taken-b.KV-b.Graph, 0)); b.Weights == 0 { // then it holds more than the log tells
		b.Free = 0
	}
	b.Kept = max(taken-b.Weights-b.KV-b.Graph, 0)
	taken = max(taken, b.Weights+b.KV+b.Graph)
	b.Against = fmt.Sprintf("%s were taken of the %s that Metal recommends at most.", units.Amount(taken), units.Amount(b.Free))
}

// WithLayers leaves n of the layers on the device, each with its part of the
// cache.
func (b Budget) WithLayers(n int64) Budget {
	b.Weights, b.KV = n*ledger.CeilDiv(b.Weights, b.Layers), n*ledger.CeilDiv(b.KV, b.Layers)
	b.Graph += b.Output
	b.Layers = n
	return b
}

// WithContext is the cache of another context. The graph shrinks with it too,
// so that this is a bound.
func (b Budget) WithContext(n int64) Budget {
	b.KV, b.Context = ledger.Proportion(b.KV, n, b.Context), n
	return b
}

func (b Budget) WithBatch(n int64) Budget {
	b.Graph, b.Batch = ledger.Proportion(b.Graph, n, b.Batch), n
	return b
}

// WithFlash takes off what flash attention does not build.
func (b Budget) WithFlash() Budget {
	b.Graph, b.Scores = b.Graph-b.Scores, 0
	return b
}

// In8Bit: q8_0 takes 17/32 of a cache of 16 bit.
func (b Budget) In8Bit() Budget {
	b.KV = ledger.Proportion(b.KV, 17, 32)
	return b
}

// most is the largest multiple of step up to a bound with which all finds room,
// 0 if none does.
func (b Budget) most(bound, step int64, with func(int64) Budget) int64 {
	return step * int64(sort.Search(int(bound/step), func(i int) bool { return with(int64(i+1)*step).Sum() > b.Free }))
}

// LayersThatFit is how many layers find room on the device, 0 if not even one
// does.
func (b Budget) LayersThatFit() (layers int64, ok bool) {
	if b.Free == 0 || b.Layers < 2 || b.Weights == 0 {
		return 0, false
	}
	return b.most(b.Layers-1, 1, b.WithLayers), true
}

// ContextThatFits is the largest context, in steps of 256, that finds room with
// flash attention, which the same step turns on; all of it where that alone
// makes the room.
func (b Budget) ContextThatFits() (context int64, ok bool) {
	if b.Free == 0 || b.Context < LeastContext || b.KV == 0 || b.Part == "weights" {
		return 0, false
	}
	spare := b
	spare.Free -= b.Free / 50 // what varies from start to start
	n := spare.most(b.Context, 256, spare.WithFlash().WithContext)
	if n > 8192 && n < b.Context/256*256 {
		n = n / 1024 * 1024
	}
	return n, true
}

// BatchThatFits is the largest power of two for -ub with which the graph finds
// room, the least one where none does.
func (b Budget) BatchThatFits() (batch int64, ok bool) {
	if b.Free == 0 || b.Part != "compute" || b.Batch <= leastBatch {
		return 0, false
	}
	batch = leastBatch
	for batch*2 < b.Batch && b.WithBatch(batch*2).Sum() <= b.Free {
		batch *= 2
	}
	return batch, true
}

// FileThatFits is how large a GGUF of the same model may be with all its layers
// on the card, beside what cache and graph take there; ok is false where no
// usual format of it is as small.
func (b Budget) FileThatFits(c *ledger.Case) (bytes int64, ok bool) {
	bytes = b.Weights - (b.Sum() - b.Free) - b.Free/50
	least := float64(b.Weights) * leastBits / cmp.Or(BitsPerWeight(c), 5)
	return bytes, b.WholeThere(c) && b.Free > 0 && float64(bytes) > least
}

// WholeThere: all layers of the model are meant for one card. Of a Mac's sum it
// is known only where the log tells what of it is no weights.
func (b Budget) WholeThere(c *ledger.Case) bool {
	return b.Part == "" && b.KV+b.Graph > 0 || b.Part == "weights" && b.Layers > 1 && b.Layers == layersInAll(c) && !SeveralDevices(c)
}

// LayersToKeep is the -ngl to paste: computed, else a few layers fewer, else a
// value to start from.
func LayersToKeep(c *ledger.Case) int64 {
	b := BudgetOf(c)
	if n, ok := b.LayersThatFit(); ok {
		return n
	}
	switch {
	case b.Layers > 4 && b.Part == "weights" && b.Refused > units.GiB && c.Near("Adreno"): // often 1 GiB in a piece
		return units.GiB / ledger.CeilDiv(b.Refused, b.Layers)
	case b.Layers > 4 && (c.Root(fact.GGMLRuntime) || b.Part == "kv" || b.Part == "compute"):
		return b.Layers - max(2, b.Layers/16)
	case b.Layers > 4:
		return b.Layers * 3 / 4
	}
	return 20
}

// LayersKnown: the log says how many layers are on the card, or there are.
func LayersKnown(c *ledger.Case) bool {
	b := BudgetOf(c)
	_, fit := b.LayersThatFit()
	return fit || b.Layers > 4
}

// unbounded: a cache or a graph was refused, and nothing says how much would be
// granted.
func (b Budget) unbounded(c *ledger.Case) bool {
	return b.Free == 0 && (b.Part == "kv" || b.Part == "compute") && !c.Root(fact.GGMLLimit)
}

// ContextToTry is the context to paste: computed, else a modest one where
// nothing says how much there is, else half, else 4096.
func ContextToTry(c *ledger.Case) int64 {
	b := BudgetOf(c)
	if _, _, n := Beyond(c); n > 0 {
		return n
	}
	n, ok := b.ContextThatFits()
	switch {
	case ok && n >= LeastContext && n < b.Context:
		return n
	case b.Context == 0:
		return 4096
	}
	n = b.Context / 2
	if b.Free == 0 && n > 32768 { // a length that was hardly chosen: half of it rarely fits
		n = 32768
	}
	if b.unbounded(c) && b.Part == "kv" { // half of what was refused may be as much too long
		n = min(max(n/2, 2048), 8192, n)
	}
	// A fifth to spare: part of a compute buffer does not depend on the context.
	for b.Free > 0 && n > 4096 && ledger.Proportion(b.Refused, n, b.Context)*5 > b.Free*4 {
		n /= 2
	}
	return max(n/256*256, LeastContext)
}

// BatchToTry is the physical batch to paste.
func BatchToTry(c *ledger.Case) int64 {
	b := BudgetOf(c)
	if n, ok := b.BatchThatFits(); ok && b.WithBatch(n).Sum() <= b.Free {
		return n
	}
	return max(min(b.Batch/4, 512), 64)
}
