package ggml

import (
	"strings"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// ggmlBudget is what a log says of one device's memory, in bytes; 0 is
// unknown. It is the arithmetic behind -ngl, -c and -ub.
type ggmlBudget struct {
	Free    int64 // before loading
	Weights int64 // the model buffer that was allocated there
	KV      int64
	Compute int64
	Refused int64
	Layers  int64 // layers there, the output layer counted
	Context int64
	Batch   int64 // the physical batch, -ub
	Output  int64 // the output matrix, which a part of the layers on the card adds to its compute buffer
	// Assumed says what of it the log does not state.
	Assumed string
}

// What the driver's context and the run-time pool take beside the buffers: 200
// to 500 MiB for a CUDA process, measured.
const (
	contextReserve = 300 * units.MiB
	loadReserve    = 500 * units.MiB
)

// budget collects it for a case.
func budget(c *ledger.Case) ggmlBudget {
	f := c.F()
	b := ggmlBudget{Refused: ledger.Requested(c), Weights: ledger.SizeOf(f.Weights), KV: ledger.SizeOf(deviceKV(c)), Batch: physicalBatch(c)}
	if f.ComputeBuffer != nil && c.Failure.Stage != "compute" {
		b.Compute = f.ComputeBuffer.Bytes
	}
	switch {
	case f.Context != nil:
		b.Context = int64(f.Context.Value)
	case f.KVTokens != nil:
		b.Context = int64(f.KVTokens.Value)
	}
	b.Layers = offloadedLayers(c)
	if plan, ok := c.Fact("plan_repeating"); ok && b.Weights == 0 && c.Failure.Stage != "weights" && f.TotalLayers != nil && f.TotalLayers.Value > 1 {
		b.Weights = plan.Size.Bytes / int64(f.TotalLayers.Value-1) * b.Layers // Ollama's own estimate of a layer
	}
	b.Free, b.Assumed = freeOfDevice(c)
	if b.Assumed != "" && b.Weights+b.KV+b.Compute > b.Free {
		b.Free, b.Assumed = 0, "" // it holds more already: another card of that name
	}
	b.wholeWeights(c)
	b.wholeCache(c)
	if c.Failure.Stage == "weights" && b.KV == 0 {
		b.KV = cacheToCome(c, b)
	}
	if (c.Failure.Stage == "kv" || c.Failure.Stage == "weights") && b.Compute == 0 {
		b.Compute = graphToCome(c, b.Context)
	}
	if c.Failure.Stage == "weights" {
		b.Output = outputMatrix(c)
		b.Compute = max(b.Compute, scores(c, b.Context))
	}
	return b
}

// outputMatrix is the size of the output layer, as the usual mixes have it: at
// 6.6 bits or the file's own where those are more. With all layers but that on
// the card it is copied there for every batch; builds of 2026 keep it there
// first. It is 0 where the load lines do not give it.
func outputMatrix(c *ledger.Case) int64 {
	vocab, known := c.Fact("n_vocab")
	width, ok := c.Fact("n_embd")
	bits, told := c.Fact("bits_per_weight")
	if !known || !ok || !told || vocab.Count.Value < 1 || vocab.Count.Value > 1<<20 || width.Count.Value < 1 || width.Count.Value > 1<<17 {
		return 0
	}
	return int64(vocab.Count.Value * width.Count.Value * min(max(bits.Count.Value, 6.5625), 32) / 8)
}

// cacheToCome is the KV cache that follows refused weights, for the layers that
// were meant for the device; 0 where the load lines do not give it. Windows and
// layers without a cache make it smaller, so that this is a bound.
func cacheToCome(c *ledger.Case, b ggmlBudget) int64 {
	k, knownK := c.Fact("n_embd_k_gqa")
	v, knownV := c.Fact("n_embd_v_gqa")
	layers, known := c.Fact("n_layer")
	if !knownK || !knownV || !known || ledger.InHost(c) || b.Context <= 0 || b.Context > 1<<27 {
		return 0
	}
	width := k.Count.Value + v.Count.Value
	if width <= 0 || width > 2*widestCache || layers.Count.Value < 1 {
		return 0
	}
	bytes := int64(width) * 2 * b.Context * min(b.Layers, int64(layers.Count.Value))
	if quantisedCache(c) {
		bytes = ledger.Proportion(bytes, 17, 32)
	}
	if size, ok := c.Fact("model_size"); ok && severalDevices(c) && size.Size.Bytes > b.Refused {
		return ledger.Proportion(bytes, b.Refused, size.Size.Bytes) // the device's part, as of the weights
	}
	return bytes
}

// widestCache is more than any model keeps of keys for a token and layer, but
// for latent attention, whose printed width is not what is kept.
const widestCache = 16384

// wholeWeights puts the weights meant for a Vulkan device in the place of the
// one buffer of them that was refused: it takes them in pieces of 1 GiB or what
// the driver allows (ggml-vulkan.cpp, suballocation_block_size).
func (b *ggmlBudget) wholeWeights(c *ledger.Case) {
	size, sized := c.Fact("model_size")
	layers, ok := c.Fact("n_layer")
	if !sized || !ok || layers.Count.Value < 1 || c.Failure.Stage != "weights" || c.Backend != "vulkan" || ledger.InHost(c) {
		return
	}
	total := int64(layers.Count.Value) + 1
	if b.Layers == 0 {
		b.Layers = total
		if b.Assumed == "" {
			b.Assumed = "all layers meant for the card"
		}
	}
	b.Refused = max(b.Refused, ledger.Proportion(size.Size.Bytes, min(b.Layers, total), total))
}

// wholeCache does the same for a cache that a Vulkan device takes in pieces:
// keys and values of every layer there.
func (b *ggmlBudget) wholeCache(c *ledger.Case) {
	k, knownK := c.Fact("n_embd_k_gqa")
	v, knownV := c.Fact("n_embd_v_gqa")
	if c.Failure.Stage != "kv" || c.Backend != "vulkan" || ledger.InHost(c) || !knownK || !knownV || quantisedCache(c) || b.Layers < 2 || b.Context > 1<<27 {
		return
	}
	b.Refused = max(b.Refused, int64(k.Count.Value+v.Count.Value)*2*b.Context*(b.Layers-1))
}

// graphToCome is the compute buffer that follows the KV cache, with flash
// attention on; 0 where the load lines do not give it.
func graphToCome(c *ledger.Case, context int64) int64 {
	m := fit.Model{Gated: true}
	for name, to := range map[string]*int64{"n_vocab": &m.Vocab, "n_embd": &m.Hidden, "n_ff": &m.FFN} {
		x, ok := c.Fact(name)
		if !ok || x.Count.Value < 1 || x.Count.Value > 1<<24 {
			return 0
		}
		*to = int64(x.Count.Value)
	}
	if context <= 0 || context > 1<<27 {
		return 0
	}
	return m.ComputeBuffer(fit.ComputeOptions{Context: int(context), UBatch: int(min(physicalBatch(c), 1<<16)), FlashAttention: true})
}

// deviceKV is the KV buffer of the failing device; the figure may be the sum
// over all devices.
func deviceKV(c *ledger.Case) *fact.Size {
	if c.Failure.Stage == "kv" {
		return nil
	}
	for i := len(c.Facts.Buffers) - 1; i >= 0; i-- {
		b := &c.Facts.Buffers[i]
		if b.Kind == "kv" && strings.EqualFold(b.Device, c.Failure.Memory) {
			return &b.Size
		}
	}
	return c.F().KVBuffer
}

// offloadedLayers is how many layers were meant for the card: what the log says
// was offloaded, else the flag, bounded by the number of layers there are.
func offloadedLayers(c *ledger.Case) int64 {
	f := c.F()
	n := int64(0)
	if f.GPULayers != nil {
		n = int64(f.GPULayers.Value)
	}
	total := int64(0)
	if f.TotalLayers != nil {
		total = int64(f.TotalLayers.Value)
	} else if x, ok := c.Fact("n_layer"); ok {
		total = int64(x.Count.Value) + 1
	}
	switch {
	case total > 0 && (n > total || n < 0):
		return total
	case n < 0 || n > 200: // -1, 99, 999, 9999: "all", of an unknown number
		return 0
	case total == 0 && n >= 99:
		return 0
	}
	return n
}

// freeOfDevice is what the failing device had before loading: the log's own
// figure, else what the card's model has when nothing else is on it.
func freeOfDevice(c *ledger.Case) (bytes int64, assumed string) {
	if softwareDevice(c) {
		return 0, "" // its figure is no limit
	}
	index := -1
	if f := c.F(); f.Device != nil {
		index = int(f.Device.Value)
	}
	name := ""
	for _, d := range c.Facts.Devices {
		if index >= 0 && d.Index >= 0 && d.Index != index {
			continue
		}
		if d.Free != nil {
			return d.Free.Bytes, ""
		}
		if d.Name != "" {
			name = d.Name
		}
	}
	if plan, ok := c.Fact("plan_available"); ok && index <= 0 {
		return plan.Size.Bytes, ""
	}
	if f := c.F(); f.Limit != nil && c.Backend == "metal" {
		return f.Limit.Bytes, ""
	}
	if card, ok := fit.Card(name); ok && !ledger.SharesMemory(name) {
		return card.TotalBytes, "a " + name + " with nothing else on it"
	}
	return 0, ""
}

// room is what is left for the refused buffer.
func (b ggmlBudget) room() int64 {
	if b.Free == 0 {
		return 0
	}
	return b.Free - b.Weights - b.KV - b.Compute - contextReserve
}

// keep returns how many layers fit when the weights of b.Layers were refused:
// every one needs an even share of them.
func (b ggmlBudget) keep() (layers, need int64, ok bool) {
	if b.Free == 0 || b.Layers < 2 || b.Refused == 0 {
		return 0, 0, false
	}
	fixed := b.Compute + b.Output + loadReserve
	layers = (b.Free - fixed) / b.perLayer()
	if layers < 1 || layers >= b.Layers {
		return 0, 0, false
	}
	return layers, layers*b.perLayer() + fixed, true
}

// perLayer is the share of one layer of the refused weights, rounded up, with
// its part of a KV cache if that is known.
func (b ggmlBudget) perLayer() int64 { return ledger.CeilDiv(b.Refused+b.KV, b.Layers) }

// drop returns how many layers to take off the card so that a KV cache or
// compute buffer finds room there: each frees its weights and its cache.
func (b ggmlBudget) drop(cache bool) (layers, need int64, ok bool) {
	if b.Free == 0 || b.Layers < 2 || b.Weights == 0 || b.Refused == 0 || b.room() >= b.Refused {
		return 0, 0, false
	}
	each := b.Weights / b.Layers
	if cache {
		each += b.Refused / b.Layers
	} else {
		each += b.KV / b.Layers
	}
	layers = ledger.CeilDiv(b.Refused-b.room(), max(each, 1))
	if layers >= b.Layers {
		return 0, 0, false
	}
	return layers, b.Free - b.room() + b.Refused - layers*each, true
}

// contextThatFits returns the largest context, in steps of 256, whose cache
// finds room: a cache is linear in it.
func (b ggmlBudget) contextThatFits() (context, need int64, ok bool) {
	if b.Context == 0 || b.Refused == 0 || b.room() <= 0 || b.room() >= b.Refused {
		return 0, 0, false
	}
	context = int64(float64(b.Context) * float64(b.room()) / float64(b.Refused))
	context -= context % 256
	if context < 512 {
		return 0, 0, false
	}
	return context, ledger.Proportion(b.Refused, context, b.Context), true
}

// batchThatFits returns the largest power of two for -ub whose compute buffer
// stays below a limit: all of it is linear in the physical batch.
func (b ggmlBudget) batchThatFits(limit int64) (batch, need int64, ok bool) {
	if b.Refused == 0 || limit <= 0 || b.Batch == 0 || limit >= b.Refused {
		return 0, 0, false
	}
	batch = 1
	for batch*2 < b.Batch {
		batch *= 2
	}
	for ; batch >= 32; batch /= 2 {
		if need := ledger.Proportion(b.Refused, batch, b.Batch); need <= limit {
			return batch, need, true
		}
	}
	return 0, 0, false
}

// expertLayers returns how many layers' experts to keep in system memory so
// that refused weights fit: an expert layer is three matrices of n_embd x
// n_ff_exp for every expert.
func expertLayers(c *ledger.Case) (layers, expert int64, ok bool) {
	b := budget(c)
	size := int64(1)
	for _, name := range [...]string{"n_embd", "n_ff_exp", "n_expert"} {
		x, found := c.Fact(name)
		if !found || x.Count.Value < 1 {
			return 0, 0, false
		}
		size *= int64(x.Count.Value)
	}
	bits, found := c.Fact("bits_per_weight")
	if !found || b.Free == 0 || b.Refused == 0 || c.Failure.Stage != "weights" {
		return 0, 0, false
	}
	expert = int64(3 * float64(size) * bits.Count.Value / 8)
	layers = ledger.CeilDiv(b.Refused-(b.Free-loadReserve-b.KV-b.Compute), max(expert, 1))
	if x, ok := c.Fact("n_layer"); layers < 1 || ok && layers > int64(x.Count.Value) {
		return 0, 0, false
	}
	return layers, expert, true
}

// mixtureOfExperts reports a model whose weights are mostly experts.
func mixtureOfExperts(c *ledger.Case) bool {
	if x, ok := c.Fact("n_expert"); ok {
		return x.Count.Value > 1
	}
	if _, ok := c.Fact("n_ff_exp"); ok {
		return true
	}
	return c.Model != nil && (strings.Contains(strings.ToLower(c.Model.Name), "-a3b") || strings.Contains(strings.ToLower(c.Model.Name), "moe") ||
		strings.Contains(strings.ToLower(c.Model.Name), "mixtral") || strings.Contains(strings.ToLower(c.Model.Name), "gpt-oss"))
}

// scores is the part of the compute buffer that holds the matrix of attention:
// heads x context x physical batch at 32 bit, and its mask. It is 0 where the
// log does not say that flash attention is off.
func scores(c *ledger.Case, context int64) int64 {
	s, ok := c.Setting("flash_attn")
	heads, known := c.Fact("n_head")
	if !ok || s.Value != "off" || !known || heads.Count.Value < 1 || heads.Count.Value > 1024 || context <= 0 || context > 1<<27 {
		return 0
	}
	return (int64(heads.Count.Value) + 1) * context * physicalBatch(c) * 4
}

// scoresFill reports a compute buffer that is mostly the matrix of attention.
func scoresFill(c *ledger.Case) bool {
	b := budget(c)
	n := scores(c, b.Context)
	return c.Failure.Stage == "compute" && n*2 > b.Refused && n <= b.Refused
}
