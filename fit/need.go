package fit

import (
	"cmp"
	"slices"
)

// Setting is how a model is to run.
type Setting struct {
	// Engine is one of Engines, llama.cpp for "".
	Engine string
	// Context is what all requests share in llama.cpp, and what each of them has
	// elsewhere.
	Context int
	// Prompt is how much of the context transformers reads in one piece; all of
	// it if 0.
	Prompt int
	// KVType is the type of keys and values, f16 if empty.
	KVType string
	// NoFlashAttention: flash attention is on by default since autumn 2025.
	NoFlashAttention bool
	// Parallel requests. llama.cpp shares the context among its slots, Ollama
	// multiplies it, vLLM and transformers hold that many caches.
	Parallel int
	// Split gives each slot of llama.cpp a cache of its own for its part of the
	// context (-np without -kvu).
	Split bool
	// FullWindow is llama.cpp's --swa-full.
	FullWindow bool
	// UBatch is llama.cpp's physical batch, 512 if 0; Batch its logical one,
	// 2048 if 0, which never is the smaller of the two.
	UBatch, Batch int
	// Projector counts the vision tower, which llama.cpp loads from an mmproj
	// file.
	Projector bool
	// Draft is a smaller model that proposes tokens, in a format of its own.
	Draft       *Model
	DraftFormat string
	// Server is llama-server: other programs around llama.cpp may reserve logits
	// for every token of a batch, as it did until June 2026.
	Server bool
	// Version of the engine, "b5400" for llama.cpp; the newest if empty. See
	// Changes for what it decides.
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
	// Reserve is what must stay free on each card, in bytes; 0: a margin for the
	// estimate, and more with a Display; negative: none.
	Reserve int64
	// Picture is what a diffusion model makes.
	Picture Picture
	// Display: the card drives a screen, or runs under Windows.
	Display bool
}

// Need is what a model takes on the card.
type Need struct {
	Weights, CPUWeights, KV, Compute, Overhead int64
	// CPUKV is the cache of layers that are not on the card.
	CPUKV int64
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
	if s.llama() && !s.has(changeOutputFirst) {
		s.OutputLast = true
	}
	// Between July and November 2025 slots could not share a cache; before, they
	// could do nothing else.
	s.Split = s.Parallel > 1 && s.server() && s.has(changeStreams) && (s.Split || !s.has(changeUnified))
	switch { // the physical batch is never the larger one
	case s.Batch > 0 && s.Batch < cmp.Or(s.UBatch, defaultUBatch):
		s.UBatch = s.Batch
	case s.Batch == 0:
		s.UBatch = min(s.UBatch, defaultBatch)
	}
	return s
}

// llama.cpp's -b, which bounds -ub.
const defaultBatch, defaultUBatch = 2048, 512

func (s Setting) engine() string { return cmp.Or(s.Engine, "llama.cpp") }

func llamaEngine(engine string) bool {
	return slices.Contains([]string{"", "llama.cpp", "ik_llama.cpp", "ollama"}, engine)
}

func (s Setting) llama() bool { return llamaEngine(s.Engine) }

// server: the command is llama-server's.
func (s Setting) server() bool { return s.llama() && s.Engine != "ollama" }

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
		return z.needPicture(s)
	case z.Kind == "speech":
		return z.needSpeech(s)
	case s.Engine == "vllm" || s.Engine == "sglang" || s.Engine == "lmdeploy":
		return z.needServer(s)
	case s.Engine == "exllama":
		return z.needExllama(s)
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
	if onCard < n.Total-1 {
		all, err := m.KV(s.cache(m, 0))
		if err != nil {
			return n, err
		}
		n.CPUKV = all.Total() - n.KV
	}
	c := s.compute()
	c.Partial, c.Copied = n.Layers < n.Total || n.CPUExperts > 0, copied
	if !output {
		c.OutputBytes = w.Output
	}
	cards := s.cards()
	if cards > 1 && n.Layers == n.Total {
		c.Copies = 4 // batches pass through the cards like a pipeline
	}
	n.Compute = cards * m.ComputeBuffer(c)
	n.Overhead *= cards
	if err := s.beside(m, &n); err != nil {
		return n, err
	}
	n.Reserve = s.reserve(roundMiB(n.Compute/20 + cards*100*MiB))
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
		Context: s.context(), TypeK: s.KVType, TypeV: s.KVType, Sequences: s.Parallel, Split: s.Split, UBatch: s.UBatch, FullWindow: s.fullWindow(),
		FlashAttention: !s.NoFlashAttention, EncoderTokens: int(m.EncoderPositions), fromLayer: from, Expanded: !s.has(changeLatent),
	}
}

func (s Setting) compute() ComputeOptions {
	c := ComputeOptions{
		Context: s.context(), UBatch: s.UBatch, FlashAttention: !s.NoFlashAttention, FullWindow: s.fullWindow(),
		Expanded: !s.has(changeLatent), Until2025: !s.has(changeGLU), WideMask: !s.has(changeSmallMask) && s.Vendor != "Apple", // Metal reads the first mask where it is
	}
	if s.Split {
		c.Streams = s.Parallel
	}
	if s.Server && s.has(changeOneOutput) {
		c.Outputs = s.Parallel
	}
	return c
}

// fullWindow: ik_llama.cpp never got caches of the window's size.
func (s Setting) fullWindow() bool {
	return s.FullWindow || s.Engine == "ik_llama.cpp" || s.llama() && !s.has(changeWindow)
}

// splitsExperts: Ollama has no setting for experts in RAM.
func (s Setting) splitsExperts() bool { return s.server() && s.has(changeExperts) }

func (z sized) needTransformers(s Setting) (Need, error) {
	prompt := s.Context
	if s.Prompt > 0 {
		prompt = min(s.Prompt, s.Context)
	}
	p, err := z.transformersPeak(z.w, prompt, s.Context-prompt)
	if err != nil {
		return Need{}, err
	}
	p, batch := p.Over(s.Cards), int64(s.Parallel)
	// What the prompt computes with is gone when the cache is longest.
	rows := max(0, batch*(p.CacheStart+p.Rows-p.CacheEnd))
	n := Need{Weights: p.Weights, KV: batch * p.CacheEnd, Compute: rows + p.Slack, Overhead: s.cards() * s.driver()}
	// A copy that is made while loading is gone before the cache comes.
	n.Compute += max(0, p.Loading-n.KV-n.Compute)
	n.Reserve = s.reserve(roundMiB(n.Sum() / 20))
	return n, nil
}

func roundMiB(n int64) int64 { return (n + MiB - 1) / MiB * MiB }
