// Package tensors says what the numbers of ggml's refused buffers are: which part
// of a model, of which factors.
package tensors

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/explain"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Readings say what the bytes are that ggml was refused.
var Readings = []explain.Reading{pool, cache, graph, weights}

// alignment is by how much ggml's buffers in system memory are longer than what
// is in them: TENSOR_ALIGNMENT (ggml_backend_cpu_buffer_type_alloc_buffer,
// ggml/src/ggml-backend.cpp).
const alignment = 32

// mostTokens is the longest context that a cache is taken for.
const mostTokens = 1 << 24

// cache reads llama.cpp's refusals of a KV cache: the log names the part, so
// that the model's shape gives the tokens or, where these are stated, the layers.
func cache(q *explain.Question) *ledger.Explained {
	if !ledger.GGMLRefused(q.C, "kv") {
		return nil
	}
	list, known := models(q)
	cells, line := context(q)
	if !known {
		return share(q, cells, line)
	}
	m := list[0]
	token := m.KVPerToken("f16")
	if s, ok := q.C.Setting("cache_type_k", "cache_type_v"); ok && s.Value != "f16" && s.Value != "bf16" || token == 0 {
		return nil
	}
	s := &explain.Search{Question: q, Named: true, Slack: alignment}
	layers := fullLayers(m, token)
	switch {
	case cells > 0:
		cells = pad(cells, 32)
		first := layers
		if divided(q) {
			first = 1
		}
		for n := first; n <= layers; n++ {
			cached(s, m, n, layers, cells, token)
		}
	case m.Window == 0 && q.Asked/token < mostTokens:
		// Without a stated context only a whole number of the 256 cells that the
		// cache is padded to is a context.
		if n := q.Asked / token / 256 * 256; n > 0 {
			cached(s, m, layers, layers, n, token)
		}
	}
	x := s.Found()
	if x != nil && line > 0 {
		x.Lines = append(x.Lines, line)
	}
	return x
}

// divided: a buffer may hold a part of the layers. Vulkan's are cut where the
// device gives no larger piece (ggml_backend_alloc_ctx_tensors_from_buft,
// ggml/src/ggml-alloc.c); else it takes a partial offload or several devices.
func divided(q *explain.Question) bool {
	f := q.C.F()
	if q.C.Backend == "vulkan" || len(q.C.Facts.Devices) > 1 {
		return true
	}
	return f.GPULayers != nil && f.TotalLayers != nil && f.GPULayers.Value < f.TotalLayers.Value
}

// share reads the part of a cache that lies on one device, of a model that the
// log does not describe: whole heads of 64 numbers and more for each token, keys
// and values in 16 bit.
func share(q *explain.Question, cells int64, line int) *ledger.Explained {
	const heads = 64 * 2 * 2
	if cells <= 0 {
		return nil
	}
	s := &explain.Search{Question: q, Named: true, Slack: alignment}
	token := (q.Asked + cells*heads/2) / (cells * heads) * heads
	// The candidates are all such widths, which one in cells x heads bytes has.
	if float64(s.Step())/float64(cells*heads) > explain.MostChance {
		return nil
	}
	x := s.Try(fmt.Sprintf("is the KV cache of %s tokens, or its part on this device", ledger.Thousands(cells)), explain.Term("tokens", cells), explain.Term("bytes", token))
	if x != nil {
		x.Cause, x.Lines = "context_too_long", []int{line}
		x.Lower = &ledger.Lower{Name: "tokens", To: q.RoomFor(x.Bytes, cells, 256), Fix: "lower_context"}
	}
	return x
}

// fullLayers are the layers that cache the whole context.
func fullLayers(m *fit.Model, token int64) int64 {
	width := m.KVHeads * (m.HeadDim + m.ValueDim) * 2
	if m.KVRank > 0 {
		width = (m.KVRank + m.RopeDim + m.IndexerDim) * 2
	}
	if m.GlobalHeadDim > 0 {
		width = m.GlobalKVHeads * m.GlobalHeadDim * 4
	}
	if width == 0 || token%width != 0 {
		return 0
	}
	return token / width
}

func cached(s *explain.Search, m *fit.Model, n, of, cells, token int64) {
	if of == 0 {
		return
	}
	what := fmt.Sprintf("is the KV cache of %s tokens", ledger.Thousands(cells))
	if n < of {
		what = fmt.Sprintf("is the KV cache of %s tokens for %d of %d layers", ledger.Thousands(cells), n, of)
	}
	x := s.Try(what, explain.Term("tokens", cells), explain.Term("layers", n), explain.Term("bytes", token/of))
	if x != nil {
		x.Model = m.ID
		x.Cause = "context_too_long"
		x.Lower = &ledger.Lower{Name: "tokens", Fix: "lower_context"}
		if n == of {
			x.Lower.To = s.RoomFor(x.Bytes, cells, 256)
		}
	}
}

// graph reads llama.cpp's compute buffers, as fit.ComputeBuffer sizes them.
func graph(q *explain.Question) *ledger.Explained {
	if !ledger.GGMLRefused(q.C, "compute", "graph") {
		return nil
	}
	list, known := models(q)
	cells, line := context(q)
	kv := q.C.F().KVBuffer
	if !known && (kv == nil || cells > 0) {
		return nil // any context with any shape
	}
	s := &explain.Search{Question: q, Named: known || kv != nil}
	for _, m := range list {
		if m.Vocab == 0 || m.Heads == 0 {
			continue
		}
		n := cells
		if token := m.KVPerToken("f16"); n == 0 && kv != nil && token > 0 && kv.Bytes%token == 0 && m.Window == 0 && kv.Line <= q.C.Failure.Line {
			n, line = kv.Bytes/token, kv.Line // the cache that was taken before
		}
		scores(s, m, n)
		if known {
			logits(s, m)
		}
	}
	x := s.Found()
	if x == nil && known && cells > 0 {
		x = mostlyScores(q, list[0], cells)
	}
	if x != nil && line > 0 {
		x.Lines = append(x.Lines, line)
	}
	return x
}

// scores are the products of queries and keys, which flash attention does not
// hold. Some graphs hold them twice, before and after the softmax; the tokens
// and their positions take one or two rows of 4 bytes.
func scores(s *explain.Search, m *fit.Model, cells int64) {
	if cells <= 0 || flashes(s.C) {
		return
	}
	cells = pad(cells, 32)
	ub := ubatch(s.Question)
	masks := int64(m.ComputeBuffer(fit.ComputeOptions{Context: int(cells), UBatch: int(ub)}))/(4*ub) - m.Heads*cells - m.ScoreRows()
	if masks != cells {
		return // a window of its own, or something else is larger
	}
	for ids := range int64(3) {
		scored(s, m, cells, ub, 1, m.ScoreRows()+ids)
		scored(s, m, cells, ub, 2, m.Hidden+ids)
	}
}

func scored(s *explain.Search, m *fit.Model, cells, ub, copies, rows int64) {
	terms := []ledger.Term{explain.Term("heads", m.Heads), explain.Term("tokens", cells), explain.Term("batch", ub), explain.Term("bytes", 4)}
	what, bytes := "the scores", m.Heads*cells*ub*4
	if copies == 2 {
		terms, what, bytes = append([]ledger.Term{explain.Term("", 2)}, terms...), "the scores before and after the softmax", 2*bytes
	}
	x := s.Sum("is working memory of attention without flash attention",
		ledger.Piece{What: what, Terms: terms, Bytes: bytes},
		ledger.Piece{What: "their mask", Terms: []ledger.Term{explain.Term("tokens", cells), explain.Term("batch", ub), explain.Term("bytes", 4)}, Bytes: cells * ub * 4},
		ledger.Piece{What: "activations", Bytes: rows * ub * 4})
	if x != nil {
		x.Model, x.Cause, x.Lower = m.ID, "context_too_long", &ledger.Lower{Name: "scores", Fix: "enable_flash_attention"}
	}
}

// logits of a whole batch, which builds up to about the middle of 2026 reserve,
// with the output matrix where a partial offload copies it to the card.
func logits(s *explain.Search, m *fit.Model) {
	ub := ubatch(s.Question)
	for rows := range int64(2) {
		for _, typ := range []string{"", "F16", "Q8_0", "Q6_K", "Q5_K", "Q4_K", "Q4_0"} {
			parts := []ledger.Piece{
				{What: "the logits in 32 bit", Terms: []ledger.Term{explain.Term("batch", ub), explain.Term("vocabulary", m.Vocab), explain.Term("bytes", 4)}, Bytes: ub * m.Vocab * 4},
				{What: "activations", Bytes: (1 + rows) * ub * m.Hidden * 4},
			}
			if typ != "" {
				n, ok := fit.GGUFBytes(typ, m.Vocab, m.Hidden)
				if !ok || rows == 0 {
					continue // the copy comes with a partial offload, and so does the second row
				}
				parts = append([]ledger.Piece{{What: "the output matrix in " + typ, Bytes: n}}, parts...)
			}
			what := "is the working memory of a batch"
			if x := s.Sum(what, parts...); x != nil {
				x.Model, x.Lower = m.ID, &ledger.Lower{Name: "batch", Fix: "lower_ubatch"}
			}
		}
	}
}

// mostlyScores reads a graph of which the scores are all but a fiftieth, where
// the log states shape and context: what lies beside them differs from build to
// build.
func mostlyScores(q *explain.Question, m *fit.Model, cells int64) *ledger.Explained {
	ub := ubatch(q)
	scores, mask := m.Heads*cells*ub*4, cells*ub*4
	rest := q.Asked - scores - mask
	if flashes(q.C) || rest < m.Hidden*ub*4 || rest > 24*m.Hidden*ub*4 || float64(rest) > explain.MostChance/2*float64(q.Asked) {
		return nil
	}
	return &ledger.Explained{
		What: "is working memory of attention without flash attention", Model: m.ID, Bytes: q.Asked, Cause: "context_too_long",
		Parts: []ledger.Piece{
			{What: "the scores", Terms: []ledger.Term{explain.Term("heads", m.Heads), explain.Term("tokens", cells), explain.Term("batch", ub), explain.Term("bytes", 4)}, Bytes: scores},
			{What: "their mask", Terms: []ledger.Term{explain.Term("tokens", cells), explain.Term("batch", ub), explain.Term("bytes", 4)}, Bytes: mask},
			{What: "activations", Bytes: rest},
		},
		Lower: &ledger.Lower{Name: "scores", Fix: "enable_flash_attention"},
	}
}

// flashes: flash attention is on, as the log says.
func flashes(c *ledger.Case) bool {
	s, ok := c.Setting("flash_attn", "flash_attention")
	return ok && (s.Value == "1" || s.Value == "true" || s.Value == "on" || s.Value == "enabled")
}

// usualFormats are those in which GGUF files are published.
var usualFormats = [...]string{"Q4_K_M", "Q8_0", "Q4_0", "Q5_K_M", "Q6_K", "Q4_K_S", "Q3_K_M", "Q5_K_S", "Q2_K", "IQ4_XS", "F16", "MXFP4_MOE"}

// mostHinted is how many models may agree with what the log prints for their
// layers to be counted.
const mostHinted = 16

// weights reads llama.cpp's buffers of weights.
func weights(q *explain.Question) *ledger.Explained {
	if !ledger.GGMLRefused(q.C, "weights") && !(ledger.GGMLRefused(q.C, "") && q.C.Phase == "load") {
		return nil
	}
	list, known := models(q)
	s := &explain.Search{Question: q, Named: true, Slack: alignment}
	if known || hinted(q) && len(list) <= mostHinted {
		for _, m := range list {
			layers(s, m)
		}
	}
	if !known {
		for _, m := range list {
			embeddings(s, m)
		}
	}
	x := s.Found()
	if x != nil && x.Lower != nil && !ledger.InHost(q.C) {
		x.Cause = "model_too_large"
	}
	return x
}

// layers tries the whole model on the card and the last so many layers of it.
func layers(s *explain.Search, m *fit.Model) {
	formats := usualFormats[:]
	if f := ledger.Named(s.C).Format; f != "" && f != "gguf" {
		formats = []string{f}
	}
	for _, f := range formats {
		w, err := m.Weights(f)
		if err != nil || len(w.Layers) == 0 {
			continue
		}
		of := len(w.Layers)
		bytes := int64(0)
		for n := 1; n <= of; n++ {
			bytes += w.Layers[of-n]
			held(s, m, w, n, bytes, false)
			held(s, m, w, n, bytes+w.Output, true)
		}
	}
}

func held(s *explain.Search, m *fit.Model, w fit.Weights, n int, bytes int64, output bool) {
	of := len(w.Layers)
	what := fmt.Sprintf("is the weights of %d of %d layers", n, of)
	switch {
	case output && n == of:
		what = "is the weights of the model, all on the GPU"
	case output:
		what += " and of the output layer"
	}
	if !s.Size(bytes) {
		return
	}
	x := &ledger.Explained{What: what, Bytes: bytes, Model: m.ID, Lower: &ledger.Lower{Name: "layers", To: s.RoomFor(bytes, int64(n), 1), Fix: "fewer_gpu_layers"}}
	x.Terms = []ledger.Term{explain.Term("layers", int64(n)), explain.Term("bytes", bytes/int64(n))}
	if output || bytes%int64(n) != 0 {
		x.Terms = nil
		x.Parts = []ledger.Piece{{What: fmt.Sprintf("%d layers", n), Bytes: bytes}}
		if output {
			x.Parts = []ledger.Piece{{What: fmt.Sprintf("%d layers", n), Bytes: bytes - w.Output}, {What: "output layer", Bytes: w.Output}}
		}
	}
	s.Add(x)
}

// embeddings are what llama.cpp keeps in system memory, of a model that the log
// does not name: one matrix of the catalogue's, or several of that shape.
func embeddings(s *explain.Search, m *fit.Model) {
	for _, typ := range [...]string{"F16", "Q8_0", "Q6_K", "Q5_K", "Q4_K", "Q3_K", "Q2_K"} {
		bits := map[string]float64{"F16": 16, "Q8_0": 8.5, "Q6_K": 6.5625, "Q5_K": 5.5, "Q4_K": 4.5, "Q3_K": 3.4375, "Q2_K": 2.625}[typ]
		shapes := [][2]int64{}
		if fact.HostMemory(s.C.Failure.Memory) || strings.EqualFold(s.C.Backend, "cpu") {
			shapes = append(shapes, [2]int64{m.Vocab, m.Hidden})
		}
		if m.Arch == "gemma3n" || m.Arch == "gemma4" {
			rows, cols := m.PerLayerTable()
			shapes = append(shapes, [2]int64{rows, cols})
		}
		for _, shape := range shapes {
			bytes, ok := fit.GGUFBytes(typ, shape[0], shape[1])
			if !ok || !s.Size(bytes) {
				continue
			}
			x := &ledger.Explained{
				What: fmt.Sprintf("is a table of token embeddings %s wide, with %g bits per number", ledger.Thousands(shape[1]), bits), Bytes: bytes, Model: m.ID,
				Terms: []ledger.Term{explain.Term("tokens", shape[0]), explain.Term("bytes", bytes/shape[0])},
			}
			s.Add(x)
		}
	}
}

// pool reads ggml's arenas: "needed" is what would be in the pool, all tensors
// so far and the new one, not what was asked for (ggml_new_tensor_impl,
// ggml_new_object, ggml.c, 2023 to 2024).
func pool(q *explain.Question) *ledger.Explained {
	limit := q.C.F().Limit
	if !q.C.Root(fact.GGMLPool) || limit == nil || !q.C.Contains("context's memory pool") || q.Asked <= limit.Bytes {
		return nil
	}
	return &ledger.Explained{
		What: "is what a pool of fixed size inside the program would have to hold, not a request to the machine", Bytes: q.Asked, Lines: []int{limit.Line},
		Parts: []ledger.Piece{{What: "the pool", Bytes: limit.Bytes}, {What: "what is missing", Bytes: q.Asked - limit.Bytes}},
	}
}
