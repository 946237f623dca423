package fit

import (
	"cmp"
	"slices"
	"sort"
	"strconv"
	"strings"
)

// Setting is how a model is to run.
type Setting struct {
	// Engine is llama.cpp (also for ""), ollama, vllm or transformers.
	Engine  string
	Context int
	// KVType is the type of keys and values, f16 if empty.
	KVType string
	// NoFlashAttention: flash attention is on by default since autumn 2025.
	NoFlashAttention bool
	// Parallel requests. llama.cpp shares the context among its slots, Ollama
	// multiplies it, vLLM and transformers hold that many caches.
	Parallel int
	UBatch   int
	// Version of the engine, "b5400" for llama.cpp; the newest if empty. It
	// decides the order of offloading and the rows of an MLP.
	Version string
	// OutputLast: llama.cpp up to 2025 offloads the output layer last.
	OutputLast bool
	// CPUExperts is llama.cpp's --n-cpu-moe: the experts of so many layers at
	// the front stay in RAM.
	CPUExperts int
	// Cards of one kind that share the model, 0 and 1: a single one.
	Cards int
	// Vendor of the card decides what its driver takes: NVIDIA if empty.
	Vendor string
}

// Need is what a model takes on the card.
type Need struct {
	Weights, CPUWeights, KV, Compute, Overhead int64
	// Reserve is what should stay free, for the estimate and its variation.
	Reserve int64
	// Layers on the card of Total, the output layer counted as one.
	Layers, Total int
	// CPUExperts is how many of those layers leave their experts in RAM.
	CPUExperts int
}

// Sum is what must be free; the reserve is on top.
func (n Need) Sum() int64 { return n.Weights + n.KV + n.Compute + n.Overhead }

// Verdict of a need against a card.
func (n Need) verdict(have int64) string {
	spare := have - n.Sum()
	switch {
	case spare < 0:
		return "no"
	case n.Layers < n.Total, n.CPUExperts > 0:
		return "offload"
	case spare < n.Reserve:
		return "tight"
	}
	return "fits"
}

func (s Setting) defaults() Setting {
	if s.Context == 0 {
		s.Context = 8192
	}
	if s.Parallel == 0 {
		s.Parallel = 1
	}
	if s.KVType == "" {
		s.KVType = "f16"
	}
	if n := s.build(); n > 0 && n < 7600 { // about January 2026
		s.OutputLast = true
	}
	return s
}

// build is the number of a llama.cpp build, 0 if the version is none.
func (s Setting) build() int {
	digits, ok := strings.CutPrefix(s.Version, "b")
	n, err := strconv.Atoi(digits)
	if !ok || err != nil || s.Engine == "vllm" || s.Engine == "transformers" {
		return 0
	}
	return n
}

func (s Setting) llama() bool {
	return s.Engine == "" || s.Engine == "llama.cpp" || s.Engine == "ollama"
}

// driver is the context of a process on the card: 274 MiB with PyTorch, 73 to
// 325 with llama.cpp's CUDA, 318 with ROCm, none on Metal.
func (s Setting) driver() int64 {
	switch s.Vendor {
	case "Apple":
		return 0
	case "AMD":
		return 320 * MiB
	}
	return 300 * MiB
}

// Need sizes a model in a format with so many layers on the card; a negative
// number means all. Only llama.cpp and Ollama can leave layers out.
func (m *Model) Need(format string, s Setting, layers int) (Need, error) {
	z, err := m.sized(format)
	if err != nil {
		return Need{}, err
	}
	return z.need(s.defaults(), layers)
}

// sized is a model in a format. Counting the weights is what takes time, so
// that searches do it once.
type sized struct {
	*Model
	w Weights
}

func (m *Model) sized(format string) (sized, error) {
	w, err := m.Weights(format)
	return sized{m, w}, err
}

func (z sized) need(s Setting, layers int) (Need, error) {
	switch {
	case z.Kind == "diffusion":
		// Activations follow the picture, not the model: 2 GiB are kept free.
		return Need{Weights: z.w.Total, Overhead: s.driver(), Reserve: 2 * GiB, Layers: 1, Total: 1}, nil
	case s.Engine == "vllm":
		return z.needVLLM(s)
	case s.Engine == "transformers":
		return z.needTransformers(s)
	}
	return z.needLlama(z.w, s, layers)
}

func (m *Model) needLlama(w Weights, s Setting, layers int) (Need, error) {
	n := Need{Total: len(w.Layers) + 1, Overhead: s.driver()}
	n.Layers = n.Total
	if layers >= 0 {
		n.Layers = min(layers, n.Total)
	}
	if w.Experts != nil {
		n.CPUExperts = min(s.CPUExperts, len(w.Layers))
	}
	var copied int64
	n.Weights, n.CPUWeights, copied = w.offloadExperts(n.Layers, n.CPUExperts, !s.OutputLast)
	if s.Vendor == "Apple" {
		copied = 0 // card and RAM are the same memory
	}
	onCard, output := offloaded(n.Layers, n.Total, !s.OutputLast)
	kv, err := m.KV(s.cache(m, n.Total-1-onCard))
	if err != nil || n.Layers == 0 {
		n.Overhead = 0
		return n, err
	}
	n.KV = kv.Total()
	c := ComputeOptions{
		Context: s.context(), UBatch: s.UBatch, FlashAttention: !s.NoFlashAttention,
		Partial: n.Layers < n.Total || n.CPUExperts > 0, Copied: copied, Expanded: s.expanded(), Until2025: s.build() > 0 && s.build() < 5800,
	}
	if !output {
		c.OutputBytes = w.Output
	}
	cards := s.cards()
	if cards > 1 && n.Layers == n.Total {
		c.Copies = 4 // batches pass through the cards like a pipeline
	}
	n.Compute = cards * m.ComputeBuffer(c)
	n.Overhead *= cards
	n.Reserve = roundMiB(n.Compute/20 + cards*100*MiB)
	if cards > 1 { // each card holds whole layers
		n.Reserve += (cards - 1) * slices.Max(append(w.Layers, 0))
	}
	return n, nil
}

func (s Setting) cards() int64 { return int64(max(1, s.Cards)) }

// offloaded splits -ngl n into repeating layers and the output layer.
func offloaded(n, total int, outputFirst bool) (layers int, output bool) {
	if n == total || outputFirst && n > 0 {
		return n - 1, true
	}
	return n, false
}

func (s Setting) context() int {
	if s.Engine == "ollama" {
		return s.Context * s.Parallel // num_ctx x OLLAMA_NUM_PARALLEL
	}
	return s.Context
}

func (s Setting) cache(m *Model, from int) KVOptions {
	return KVOptions{
		Context: s.context(), TypeK: s.KVType, TypeV: s.KVType, Sequences: s.Parallel, UBatch: s.UBatch,
		FlashAttention: !s.NoFlashAttention, EncoderTokens: int(m.EncoderPositions), fromLayer: from, Expanded: s.expanded(),
	}
}

// expanded: llama.cpp cached the full heads of MLA until April 2025.
func (s Setting) expanded() bool { return s.build() > 0 && s.build() < 5130 }

// splitsExperts: --n-cpu-moe came in August 2025. Ollama has no setting for it.
func (s Setting) splitsExperts() bool {
	return s.llama() && s.Engine != "ollama" && (s.build() == 0 || s.build() > 6100)
}

func (z sized) needVLLM(s Setting) (Need, error) {
	// Sums over the cards: what is not split is on each.
	cards := s.cards()
	c := VLLMCache{Type: s.KVType, TensorParallel: int(cards)}
	n := Need{
		Weights: z.vllmWeights(z.w), KV: cards * int64(s.Parallel) * c.Request(z.Model, s.Context),
		Compute: cards * (VLLMActivation + VLLMGraphs), Overhead: cards * VLLMNonTorch,
	}
	n.Reserve = roundMiB(n.Sum() / 20)
	if n.KV == 0 {
		return n, ErrShape
	}
	return n, nil
}

func (z sized) needTransformers(s Setting) (Need, error) {
	p, err := z.transformersPeak(z.w, s.Context, 0)
	if err != nil {
		return Need{}, err
	}
	p, batch := p.Over(s.Cards), int64(s.Parallel)
	n := Need{Weights: p.Weights, KV: batch * p.CacheEnd, Compute: batch*p.Rows + p.Slack, Overhead: s.cards() * s.driver()}
	n.Reserve = roundMiB(n.Sum() / 20)
	return n, nil
}

func roundMiB(n int64) int64 { return (n + MiB - 1) / MiB * MiB }

// MostLayers is the largest number of layers that fits have bytes, -1 if even
// none does, and what they need. Of a mixture of experts llama.cpp gets all of
// them, with the experts of as few as possible in RAM. All of them need only fit; if some stay behind
// anyway, the reserve stays free too.
func (m *Model) MostLayers(format string, s Setting, have int64) (int, Need, error) {
	z, err := m.sized(format)
	if err != nil {
		return 0, Need{}, err
	}
	return z.mostLayers(s.defaults(), have)
}

func (z sized) mostLayers(s Setting, have int64) (int, Need, error) {
	all, err := z.need(s, -1)
	if err != nil || all.Sum() <= have {
		return all.Layers, all, err
	}
	if !s.llama() || z.Layers == 0 {
		return -1, all, nil
	}
	if n, ok := z.fewestCPUExperts(s, have); ok {
		return n.Layers, n, nil
	}
	// Not even that is enough: the layers take what their experts do not.
	if z.w.Experts != nil && s.splitsExperts() {
		s.CPUExperts = len(z.w.Experts)
	}
	// More layers never need less, so that the first number which is too many
	// can be searched by halves.
	n := sort.Search(all.Total, func(n int) bool {
		need, e := z.needLlama(z.w, s, n)
		err = cmp.Or(err, e)
		return e != nil || need.Sum()+need.Reserve > have
	}) - 1
	if n < 0 || err != nil {
		return -1, all, err
	}
	need, err := z.needLlama(z.w, s, n)
	return n, need, err
}

// fewestCPUExperts keeps as many experts on the card as fit it with the reserve,
// and everything else. For a mixture this is faster than whole layers in RAM:
// attention stays on the card, and of the experts a token meets few.
func (z sized) fewestCPUExperts(s Setting, have int64) (Need, bool) {
	if z.w.Experts == nil || !s.splitsExperts() {
		return Need{}, false
	}
	for n := range len(z.w.Experts) + 1 {
		s.CPUExperts = n
		need, err := z.need(s, -1)
		if err != nil {
			return Need{}, false
		}
		if need.Sum()+need.Reserve <= have {
			return need, true
		}
	}
	return Need{}, false
}

// LongestContext is the longest context, a multiple of 256, that fits have
// bytes with everything on the card; at most the model's own, 0 if none does.
func (m *Model) LongestContext(format string, s Setting, have int64) int {
	z, err := m.sized(format)
	if err != nil {
		return 0
	}
	return z.longestContext(s.defaults(), have)
}

func (z sized) longestContext(s Setting, have int64) int {
	const step = 256
	return step * (sort.Search(z.Context/step, func(i int) bool {
		s.Context = (i + 1) * step
		n, err := z.need(s, -1)
		return err != nil || n.Sum() > have
	}))
}

// FewestCPUExperts is the smallest N for llama.cpp's --n-cpu-moe N, the experts
// of the first N layers in RAM and all else on the card, that fits have bytes
// with the reserve; false for dense models and if even all experts in RAM do
// not make it fit. For a mixture this is faster than whole layers in RAM.
func (m *Model) FewestCPUExperts(format string, s Setting, have int64) (int, bool) {
	z, err := m.sized(format)
	if err != nil {
		return 0, false
	}
	need, ok := z.fewestCPUExperts(s.defaults(), have)
	return need.CPUExperts, ok
}
