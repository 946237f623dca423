// Package books says what filled a card: by the message of PyTorch's allocator,
// and by what vLLM and SGLang, which run on it, count before they reserve their
// cache.
package books

import (
	"cmp"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Of returns the books of a case, nil where the log does not say enough.
func Of(c *ledger.Case) *ledger.Books {
	if c.F().Allocated != nil {
		return ofMessage(c)
	}
	return ofShare(c)
}

// ofMessage books what PyTorch's message says, and of its tensors what the
// log or the model's shape says of weights and cache.
func ofMessage(c *ledger.Case) *ledger.Books {
	f := c.F()
	total := f.Total
	if f.Limit != nil && (total == nil || f.Limit.Bytes < total.Bytes) {
		total = f.Limit
	}
	if total == nil || c.Root(fact.RayKilled) || total.Bytes < units.GiB/4 {
		return nil
	}
	l := ledger.OpenBooks(total.Bytes, ledger.OfCard)
	if total != f.Total {
		l.Of = ledger.OfLimit
	}
	tensors(c, l, f.Allocated.Bytes)
	if f.OtherAllocations != nil {
		l.Add(ledger.PartBuffers, f.OtherAllocations.Bytes, "log")
	}
	if c.Slack.Has() {
		l.Add(ledger.PartUnused, c.Slack.Bytes, "log")
	}
	if f.ProcessUsed != nil && f.ProcessUsed.Bytes > 0 {
		beside := f.ProcessUsed.Bytes - f.Allocated.Bytes - max(0, c.Slack.Bytes)
		if beside > mostOfDriver { // another library of the process: cuDNN, a second framework, graphs
			l.Add(ledger.PartLibraries, beside-ledger.DriverContext, "log")
			beside = ledger.DriverContext
		}
		l.Add(ledger.PartDriver, beside, "log")
	}
	if f.Free == nil || total != f.Total {
		l.Rest(ledger.PartUnknown)
		return l
	}
	strangers(c, l, l.Left()-f.Free.Bytes)
	l.Add(ledger.PartFree, f.Free.Bytes, "log")
	return l
}

// strangers books what is neither this program's nor free. It is other
// programs' where the log lists them, or says all that this one holds.
func strangers(c *ledger.Case, l *ledger.Books, bytes int64) {
	f := c.F()
	for _, p := range f.OtherProcesses {
		if !p.Own && p.Bytes <= bytes+ledger.Roundings {
			l.Add(ledger.PartOthers, p.Bytes, "log")
			bytes -= p.Bytes
		}
	}
	switch {
	case bytes >= 0 && bytes <= ledger.Roundings:
	case f.ProcessUsed != nil && f.ProcessUsed.Bytes > 0 || c.OurPID != 0: // a container's 0 bytes tell nothing
		l.Add(ledger.PartOthers, bytes, "log")
	default:
		l.Add(ledger.PartUnknown, bytes, "log")
	}
}

// tensors splits what PyTorch's tensors hold into weights, cache and the rest.
// While weights are loaded nothing is known of how many are there.
func tensors(c *ledger.Case, l *ledger.Books, allocated int64) {
	weights, basis := int64(0), "log"
	if loaded, ok := c.Fact("weights"); ok && loaded.Size != nil && loaded.Line <= c.Failure.Line {
		weights = loaded.Size.Bytes
	} else if c.Phase == "inference" || c.Phase == "training" {
		weights, basis = estimatedWeights(c), "estimate"
	}
	cache := reservedCache(c)
	if weights <= 0 || c.Phase == "load" || weights+cache > allocated {
		l.Add(ledger.PartTensors, allocated, "log")
		return
	}
	l.Add(ledger.PartWeights, weights, basis)
	l.Add(ledger.PartCache, cache, "log")
	l.Add(ledger.PartCompute, allocated-weights-cache, basis)
}

// reservedCache is the cache that a server had reserved before it failed.
func reservedCache(c *ledger.Case) int64 {
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
func estimatedWeights(c *ledger.Case) int64 {
	m := ledger.Named(c)
	format, stated := ledger.FormatOf(c, m.Format)
	if dtype, ok := c.Setting("torch_dtype", "dtype"); ok && !stated {
		format, stated = dtype.Value, true
	}
	if m.Model == nil || m.Model.Kind == "diffusion" || !stated || ledger.ManyCards(c) {
		return 0
	}
	n, _ := ledger.WeightsIn(c, format)
	return n
}

// ofShare books a server's own count before it reserves its cache: vLLM's
// profile, within the share of the card that it was given.
func ofShare(c *ledger.Case) *ledger.Books {
	f := c.F()
	if c.Root(fact.SGLangStatic) && f.Weights != nil && f.Free != nil && f.Requested == nil {
		l := ledger.OpenBooks(f.Weights.Bytes+f.Free.Bytes, ledger.OfFree) // free before loading: SGLang's own sum
		l.Add(ledger.PartWeights, f.Weights.Bytes, "log")
		l.Add(ledger.PartFree, f.Free.Bytes, "log")
		return l
	}
	total, share := ledger.SizeOf(f.Total), ledger.SizeOf(f.Desired)
	if f.Utilization != nil && f.Utilization.Value > 0 && f.Utilization.Value <= 1 {
		total = cmp.Or(total, int64(float64(share)/f.Utilization.Value))
		share = cmp.Or(share, int64(float64(total)*f.Utilization.Value))
	}
	if f.Weights == nil || f.KVAvailable == nil || total == 0 || f.Requested != nil {
		return nil
	}
	l := ledger.OpenBooks(total, ledger.OfCard)
	l.Add(ledger.PartWeights, f.Weights.Bytes, "log")
	l.Add(ledger.PartCache, max(0, f.KVAvailable.Bytes), "log")
	l.Add(ledger.PartCompute, ledger.SizeOf(f.ActivationPeak), "log")
	l.Add(ledger.PartDriver, ledger.SizeOf(f.NonTorch), "log")
	if share == 0 || share > total {
		l.Rest(ledger.PartUnknown)
		return l
	}
	if inside := l.Left() - (total - share); inside > 0 {
		l.Add(ledger.PartCompute, inside, "log") // graphs, and what the lines leave out
	}
	l.Rest(ledger.PartKept)
	return l
}

// mostOfDriver is more than contexts and kernels of one process come to.
const mostOfDriver = 5 * units.GiB / 2
