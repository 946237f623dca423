package ledger

import (
	"cmp"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
)

// torchBooks books what PyTorch's message says, and of its tensors what the
// log or the model's shape says of weights and cache.
func torchBooks(c *Case) *Books {
	f := c.F()
	total := f.Total
	if f.Limit != nil && (total == nil || f.Limit.Bytes < total.Bytes) {
		total = f.Limit
	}
	if total == nil || c.Root(fact.RayKilled) || total.Bytes < units.GiB/4 {
		return nil
	}
	l := OpenBooks(total.Bytes, OfCard)
	if total != f.Total {
		l.Of = OfLimit
	}
	l.tensors(c, f.Allocated.Bytes)
	if f.OtherAllocations != nil {
		l.Add(PartBuffers, f.OtherAllocations.Bytes, "log")
	}
	if c.Slack.Has() {
		l.Add(PartUnused, c.Slack.Bytes, "log")
	}
	if f.ProcessUsed != nil && f.ProcessUsed.Bytes > 0 {
		beside := f.ProcessUsed.Bytes - f.Allocated.Bytes - max(0, c.Slack.Bytes)
		if beside > mostOfDriver { // another library of the process: cuDNN, a second framework, graphs
			l.Add(PartLibraries, beside-DriverContext, "log")
			beside = DriverContext
		}
		l.Add(PartDriver, beside, "log")
	}
	if f.Free == nil || total != f.Total {
		l.Rest(PartUnknown)
		return l
	}
	l.strangers(c, l.Left()-f.Free.Bytes)
	l.Add(PartFree, f.Free.Bytes, "log")
	return l
}

// strangers books what is neither this program's nor free. It is other
// programs' where the log lists them, or says all that this one holds.
func (l *Books) strangers(c *Case, bytes int64) {
	f := c.F()
	for _, p := range f.OtherProcesses {
		if !p.Own && p.Bytes <= bytes+roundings {
			l.Add(PartOthers, p.Bytes, "log")
			bytes -= p.Bytes
		}
	}
	switch {
	case bytes >= 0 && bytes <= roundings:
	case f.ProcessUsed != nil || c.OurPID != 0:
		l.Add(PartOthers, bytes, "log")
	default:
		l.Add(PartUnknown, bytes, "log")
	}
}

// tensors splits what PyTorch's tensors hold into weights, cache and the rest.
// While weights are loaded nothing is known of how many are there.
func (l *Books) tensors(c *Case, allocated int64) {
	weights, basis := int64(0), "log"
	if loaded, ok := c.Fact("weights"); ok && loaded.Size != nil && loaded.Line <= c.Failure.Line {
		weights = loaded.Size.Bytes
	} else if c.Phase == "inference" || c.Phase == "training" {
		weights, basis = estimatedWeights(c), "estimate"
	}
	cache := reservedCache(c)
	if weights <= 0 || c.Phase == "load" || weights+cache > allocated {
		l.Add(PartTensors, allocated, "log")
		return
	}
	l.Add(PartWeights, weights, basis)
	l.Add(PartCache, cache, "log")
	l.Add(PartCompute, allocated-weights-cache, basis)
}

// reservedCache is the cache that a server had reserved before it failed.
func reservedCache(c *Case) int64 {
	if pool, ok := c.Fact("kv_pool"); ok && pool.Line <= c.Failure.Line { // SGLang
		return pool.Size.Bytes
	}
	if kv := c.F().KVAvailable; kv != nil && kv.Line <= c.Failure.Line && (c.Phase == "inference" || c.Phase == "graph_capture") {
		return max(0, kv.Bytes)
	}
	return 0
}

// estimatedWeights is the size of a model of the catalogue in the format that
// the log states, 0 where either is not known.
func estimatedWeights(c *Case) int64 {
	m := Named(c)
	format, stated := formatOf(c, m.Format)
	if dtype, ok := c.Setting("torch_dtype", "dtype"); ok && !stated {
		format, stated = dtype.Value, true
	}
	if m.Model == nil || m.Model.Kind == "diffusion" || !stated || manyCards(c) {
		return 0
	}
	n, _ := WeightsIn(c, format)
	return n
}

// shareBooks books a server's own count before it reserves its cache: vLLM's
// profile, within the share of the card that it was given.
func shareBooks(c *Case) *Books {
	f := c.F()
	if c.Root(fact.SGLangStatic) && f.Weights != nil && f.Free != nil && f.Requested == nil {
		l := OpenBooks(f.Weights.Bytes+f.Free.Bytes, OfFree) // free before loading: SGLang's own sum
		l.Add(PartWeights, f.Weights.Bytes, "log")
		l.Add(PartFree, f.Free.Bytes, "log")
		return l
	}
	total, share := SizeOf(f.Total), SizeOf(f.Desired)
	if f.Utilization != nil && f.Utilization.Value > 0 && f.Utilization.Value <= 1 {
		total = cmp.Or(total, int64(float64(share)/f.Utilization.Value))
		share = cmp.Or(share, int64(float64(total)*f.Utilization.Value))
	}
	if f.Weights == nil || f.KVAvailable == nil || total == 0 || f.Requested != nil {
		return nil
	}
	l := OpenBooks(total, OfCard)
	l.Add(PartWeights, f.Weights.Bytes, "log")
	l.Add(PartCache, max(0, f.KVAvailable.Bytes), "log")
	l.Add(PartCompute, SizeOf(f.ActivationPeak), "log")
	l.Add(PartDriver, SizeOf(f.NonTorch), "log")
	if share == 0 || share > total {
		l.Rest(PartUnknown)
		return l
	}
	if inside := l.Left() - (total - share); inside > 0 {
		l.Add(PartCompute, inside, "log") // graphs, and what the lines leave out
	}
	l.Rest(PartKept)
	return l
}

// mostOfDriver is more than contexts and kernels of one process come to.
const mostOfDriver = 5 * units.GiB / 2
