package load

import (
	"cmp"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml/books"
	"github.com/oomdoc/oomdoc/rules/program/ggml/dialect"
)

// Count is a whole number that the load lines state, 0 where they do not or it
// is beyond what models have.
func Count(c *ledger.Case, name string, most float64) int64 {
	x, ok := c.Fact(name)
	if !ok || x.Count.Value < 1 || x.Count.Value > most {
		return 0
	}
	return int64(x.Count.Value)
}

// Bounds of what is believed of a model's shape.
const (
	MostTokens = 1 << 27
	mostBatch  = 1 << 16
	mostVocab  = 1 << 20
	mostWidth  = 1 << 17
	MostParts  = 1 << 10 // layers, heads, experts
	// widestCache is more than any model keeps of keys for a token and layer, but
	// for latent attention, whose printed width is not what is kept.
	widestCache = 16384
)

// ContextOf is the context that was asked for, 0 where the log does not say.
func ContextOf(c *ledger.Case) int64 {
	f := c.F()
	n := cmp.Or(f.Context, f.KVTokens)
	if n == nil && c.Failure.Stage != "weights" {
		return explained(c, "tokens")
	}
	if n == nil || n.Value < 0 || n.Value > MostTokens {
		return 0
	}
	return int64(n.Value)
}

// PromptTokens is how long the prompt was that was read last, 0 where no line
// says it.
func PromptTokens(c *ledger.Case) int64 {
	return cmp.Or(Count(c, "prompt_tokens", MostTokens), Count(c, "n_prompt_tokens", MostTokens), Count(c, "task.n_tokens", MostTokens))
}

// PerSlot: the only context that the log tells is that of one slot of a server,
// which may have several.
func PerSlot(c *ledger.Case) bool {
	return Count(c, "n_ctx_slot", MostTokens) > 0 && Count(c, "n_ctx", MostTokens) == 0
}

// PhysicalBatch is the -ub that held, 512 unless the log says otherwise.
func PhysicalBatch(c *ledger.Case) int64 {
	if n := ledger.IntSetting(c, "ubatch_size"); n > 0 && n <= mostBatch {
		return int64(n)
	}
	return cmp.Or(Count(c, "n_ubatch", mostBatch), 512)
}

// layersInAll is how many layers the model has, the output layer counted; 0 if
// the log does not say.
func layersInAll(c *ledger.Case) int64 {
	if f := c.F(); f.TotalLayers != nil {
		return int64(f.TotalLayers.Value)
	}
	if n := Count(c, "n_layer", MostParts); n > 0 {
		return n + 1
	}
	return 0
}

// OffloadedLayers is how many layers were meant for the card: what the log says
// was offloaded, else the flag, bounded by the number of layers there are. -1,
// 99, 999 and 9999 mean all, 0 here if their number is not known.
func OffloadedLayers(c *ledger.Case) int64 {
	f, total := c.F(), layersInAll(c)
	if f.GPULayers == nil {
		return layersExplained(c)
	}
	n := int64(f.GPULayers.Value)
	switch {
	case total > 0 && (n > total || n < 0):
		return total
	case n < 0, n > 200, total == 0 && n >= 99:
		return 0
	}
	return n
}

// layersExplained are the layers that the refused bytes are, 0 if that is not
// sure. Over several devices it is all layers: each has its part of them.
func layersExplained(c *ledger.Case) int64 {
	m := ledger.Named(c).Model
	switch x := c.Explained; {
	case x == nil || m == nil || x.Lower == nil || x.Lower.Name != "layers":
		return 0
	case len(x.Terms) == 0 || SeveralDevices(c):
		return int64(m.Layers) + 1
	default:
		return x.Terms[0].Value
	}
}

// explained is a factor of the bytes that were asked for, 0 if there is none.
func explained(c *ledger.Case, name string) int64 {
	if c.Explained == nil {
		return 0
	}
	terms := c.Explained.Terms
	for _, p := range c.Explained.Parts {
		terms = append(terms[:len(terms):len(terms)], p.Terms...)
	}
	for _, t := range terms {
		if t.Name == name {
			return t.Value
		}
	}
	return 0
}

// freeOf is what the failing device had before loading: the log's own figure,
// else what the card's model has when nothing else is on it.
func (b *Budget) freeOf(c *ledger.Case) {
	f, name := c.F(), ""
	for _, d := range c.Facts.Devices {
		if d.Free != nil && MayFail(c, d) {
			b.Free = d.Free.Bytes
			return
		}
		if MayFail(c, d) {
			name = cmp.Or(d.Name, name)
		}
	}
	plan, planned := c.Fact("plan_available")
	card, known := fit.Card(name)
	switch {
	case planned && (f.Device == nil || f.Device.Value <= 0):
		b.Free = plan.Size.Bytes
	case f.Limit != nil && c.Backend == "metal":
		b.Free = f.Limit.Bytes
	case known && !books.SharesMemory(name):
		b.Free, b.Basis, b.Against = card.TotalBytes, "estimate", "Counted on a "+name+" with nothing else on it."
	}
}

// MayFail reports that a device is the one that failed, as far as its number
// tells.
func MayFail(c *ledger.Case, d fact.Device) bool {
	f := c.F()
	return f.Device == nil || f.Device.Value < 0 || d.Index < 0 || d.Index == int(f.Device.Value)
}

// Beyond is a cache that is more than its whole device has, which drivers that
// page let pass, what the device has, and a context whose cache takes half of it.
func Beyond(c *ledger.Case) (cache, has, context int64) {
	var b Budget
	b.freeOf(c)
	cache, has = ledger.SizeOf(deviceKV(c)), max(b.Free, c.Ceiling().Bytes)
	all := ContextOf(c)
	if has == 0 || cache <= has || c.Failure.Stage == "kv" || all <= 4096 || SeveralDevices(c) || ledger.InHost(c) {
		return 0, 0, 0
	}
	for context = all; context > 4096 && ledger.Proportion(cache, context, all) > has/2-ledger.SizeOf(c.F().Weights); {
		context /= 2
	}
	return cache, has, context / 256 * 256
}

// deviceKV is the KV buffer of the failing device; the figure may be the sum
// over all devices.
func deviceKV(c *ledger.Case) *fact.Size {
	for i, b := range slices.Backward(c.Facts.Buffers) {
		if b.Kind == "kv" && strings.EqualFold(b.Device, c.Failure.Memory) {
			return &c.Facts.Buffers[i].Size
		}
	}
	return c.F().KVBuffer
}

// outputMatrix is the size of the output layer, as the usual mixes have it: at
// 6.6 bits or the file's own where those are more. With all layers but that on
// the card it is copied there for every batch; builds of 2026 keep it there
// first. It is 0 where the load lines do not give it.
func outputMatrix(c *ledger.Case) int64 {
	bits := BitsPerWeight(c)
	if bits == 0 {
		return 0
	}
	return int64(float64(Count(c, "n_vocab", mostVocab)*Count(c, "n_embd", mostWidth)) * max(bits, 6.5625) / 8)
}

// BitsPerWeight of the present file, 0 if the log does not say.
func BitsPerWeight(c *ledger.Case) float64 {
	if x, ok := c.Fact("bits_per_weight"); ok && x.Count.Value > 0 {
		return min(x.Count.Value, 32)
	}
	if format := ledger.Named(c).Format; format != "" {
		if bytes, ok := fit.WeightBytes(1e9, format); ok {
			return min(float64(bytes)*8/1e9, 32)
		}
	}
	return 0
}

// leastBits is what Q2_K takes at the least.
const leastBits = 2.6

// CacheOfShape is the KV cache of so many layers; 0 where the load lines do not
// give it. Windows and layers without a cache make it smaller, so that this is
// a bound.
func CacheOfShape(c *ledger.Case, layers int64) int64 {
	k, v := Count(c, "n_embd_k_gqa", 2*widestCache), Count(c, "n_embd_v_gqa", 2*widestCache)
	if k == 0 || v == 0 || k+v > 2*widestCache {
		return 0
	}
	bytes := (k + v) * 2 * ContextOf(c) * min(layers, Count(c, "n_layer", MostParts))
	if dialect.QuantisedCache(c) {
		return ledger.Proportion(bytes, 17, 32)
	}
	return bytes
}

// graphToCome is the compute buffer that follows the KV cache, with flash
// attention on; 0 where the load lines do not give it.
func graphToCome(c *ledger.Case) int64 {
	m := fit.Model{Gated: true, Vocab: Count(c, "n_vocab", mostVocab), Hidden: Count(c, "n_embd", mostWidth), FFN: Count(c, "n_ff", mostWidth)}
	context := ContextOf(c)
	if m.Vocab == 0 || m.Hidden == 0 || m.FFN == 0 || context == 0 {
		return 0
	}
	return m.ComputeBuffer(fit.ComputeOptions{Context: int(context), UBatch: int(PhysicalBatch(c)), FlashAttention: true})
}

// Scores is the part of the compute buffer that holds the matrix of attention:
// heads x context x physical batch at 32 bit, and its mask. It is 0 where the
// log does not say that flash attention is off.
func Scores(c *ledger.Case, context int64) int64 {
	heads := cmp.Or(Count(c, "n_head", MostParts), explained(c, "heads"))
	if x := c.Explained; x != nil && len(x.Parts) == 3 && explained(c, "heads") > 0 && context > 0 { // rules/explain: scores, mask, activations
		return ledger.Proportion(x.Parts[0].Bytes+x.Parts[1].Bytes, context, explained(c, "tokens"))
	}
	if s, ok := c.Setting("flash_attn"); !ok || s.Value != "off" || heads == 0 {
		return 0
	}
	return (heads + 1) * context * PhysicalBatch(c) * 4
}

// ScoresFill reports a compute buffer that is mostly the matrix of attention.
func ScoresFill(c *ledger.Case) bool {
	n, refused := Scores(c, ContextOf(c)), ledger.Requested(c)
	return c.Failure.Stage == "compute" && n*2 > refused && n <= refused
}

// ExpertLayers returns how many layers' experts to keep in system memory so
// that refused weights fit, and what those of a layer take: three matrices of
// n_embd x n_ff_exp for every expert.
func (b Budget) ExpertLayers(c *ledger.Case) (layers, expert int64, ok bool) {
	size := 3 * Count(c, "n_embd", mostWidth) * Count(c, "n_ff_exp", mostWidth) * Count(c, "n_expert", MostParts)
	if size == 0 || b.Free == 0 || b.Part != "weights" {
		return 0, 0, false
	}
	expert = max(int64(float64(size)*BitsPerWeight(c)/8), 1)
	layers = ledger.CeilDiv(b.Sum()-b.Free, expert)
	return layers, expert, expert > 1 && layers+ExpertsMoved(c) <= Count(c, "n_layer", MostParts)
}

// ExpertsMoved is of how many layers the command keeps the experts in system
// memory already; what was refused is without them.
func ExpertsMoved(c *ledger.Case) int64 { return int64(ledger.IntSetting(c, "n_cpu_moe")) }

// MixtureOfExperts reports a model whose weights are mostly experts.
func MixtureOfExperts(c *ledger.Case) bool {
	name := strings.ToLower(c.ModelName())
	named := slices.ContainsFunc([]string{"-a3b", "moe", "mixtral", "gpt-oss"}, func(part string) bool { return strings.Contains(name, part) })
	return named || Count(c, "n_expert", MostParts) > 1 || Count(c, "n_ff_exp", mostWidth) > 0
}

// SeveralDevices reports that more than one card takes part.
func SeveralDevices(c *ledger.Case) bool { return len(books.Cards(c)) > 1 }

// Slots is by how many requests the context is divided or multiplied: Ollama's
// --ctx-size is num_ctx times that, the context of node-llama-cpp that of one
// sequence. It is 1 for programs that state all of it.
func Slots(c *ledger.Case) int64 {
	n := int64(0)
	switch {
	case ByOllama(c):
		n = cmp.Or(int64(ledger.IntSetting(c, "parallel")), Count(c, "n_seq_max", 256))
	case c.Says("node-llama-cpp"):
		n = Count(c, "n_seq_max", 256)
	}
	return max(n, 1)
}

// ExpertsAsked: the command keeps all experts in RAM, or those of more layers than
// models have.
func ExpertsAsked(c *ledger.Case) bool {
	_, all := c.Setting("cpu_moe")
	return all || ledger.IntSetting(c, "n_cpu_moe") >= 99
}
