// Package tensors says which tensor of PyTorch's the bytes are that it was
// refused: of a step, or of the weights.
package tensors

import (
	"fmt"
	"slices"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/explain"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Readings say what the bytes are that PyTorch was refused.
var Readings = []explain.Reading{step, tensor}

// stated is a count that the log prints, with the fix that lowers it.
type stated struct {
	name  string
	value int64
	line  int
	fix   string
}

// lengths are the numbers of tokens that a step may have had.
func lengths(q *explain.Question) []stated {
	out := settings(q, "lower_context", "max_seq_length", "max_seq_len", "max_length", "model_max_length", "cutoff_len", "seq_length", "seq_len", "sequence_len", "max_position_embeddings", "block_size")
	for i := range out {
		out[i].name = "tokens"
	}
	out = append(out, renamed(settings(q, "lower_max_batched_tokens", "max_num_batched_tokens"), "tokens")...)
	if n := q.C.F().MaxModelLen; n != nil && n.Value >= 2 {
		out = append(out, stated{"tokens", int64(n.Value), n.Line, "lower_context"})
	}
	return distinct(out)
}

// batches are the numbers of samples that a step may have had.
func batches(q *explain.Question) []stated {
	out := settings(q, "lower_batch_size", "per_device_train_batch_size", "per_device_eval_batch_size", "train_batch_size", "micro_batch_size", "batch_size")
	return append(distinct(renamed(out, "batch")), stated{"batch", 1, 0, ""})
}

// sequences are those that vLLM warms its sampler up with: as stated, else the
// defaults (get_batch_defaults, vllm/engine/arg_utils.py, 0.8.3 and later: 1024
// on cards of 70 GiB and more, 256 on others).
func sequences(q *explain.Question) []stated {
	out := settings(q, "lower_max_num_seqs", "max_num_seqs")
	if len(out) == 0 {
		out = []stated{{"sequences", 256, 0, "lower_max_num_seqs"}, {"sequences", 1024, 0, "lower_max_num_seqs"}}
	}
	return distinct(renamed(out, "sequences"))
}

func settings(q *explain.Question, fix string, names ...string) (out []stated) {
	for _, name := range names {
		s, ok := q.C.Setting(name)
		if n, whole := ledger.Whole(s.Value); ok && whole && n > 1 && n < 1<<24 {
			out = append(out, stated{name, n, s.Line, fix})
		}
	}
	return out
}

func renamed(list []stated, name string) []stated {
	for i := range list {
		list[i].name = name
	}
	return list
}

func distinct(list []stated) []stated {
	slices.SortStableFunc(list, func(a, b stated) int { return int(a.value - b.value) })
	return slices.CompactFunc(list, func(a, b stated) bool { return a.value == b.value })
}

// working: the phases in which activations are made.
func working(q *explain.Question) bool {
	return slices.Contains([]string{"inference", "training", "warmup", "graph_capture", "unknown"}, q.C.Phase)
}

// step reads what PyTorch makes in a step, of a model that the log names and
// counts that it states.
func step(q *explain.Question) *ledger.Explained {
	m := ledger.Named(q.C).Model
	if m == nil || m.Vocab == 0 || !torch(q) || !working(q) {
		return nil
	}
	s := &explain.Search{Question: q}
	if q.C.In("vllm") && q.C.Phase != "training" {
		sampler(s, m)
	}
	for _, n := range lengths(q) {
		for _, b := range batches(q) {
			logits32(s, m, b, n)
			attention(s, m, b, n)
		}
	}
	return s.Found()
}

func torch(q *explain.Question) bool {
	return q.C.Root(fact.TorchAlloc, fact.TorchAsync, fact.MPSAlloc, fact.CPUAlloc, fact.VLLMWarmup)
}

// sampler: the logits of all sequences in 32 bit, and their sort, which has a
// value of 4 and an index of 8 bytes for each (vllm/v1/sample/ops/topk_topp_sampler.py).
func sampler(s *explain.Search, m *fit.Model) {
	for _, n := range sequences(s.Question) {
		for what, bytes := range map[string]int64{"is the logits of the sampler in 32 bit": 4, "is the sampler's sorted copy of the logits": 12} {
			if x := s.Try(what, explain.Term("sequences", n.value), explain.Term("vocabulary", m.Vocab), explain.Term("bytes", bytes)); x != nil {
				follows(s, x, m, n, "batch_too_large")
			}
		}
	}
}

func follows(s *explain.Search, x *ledger.Explained, m *fit.Model, n stated, cause string) {
	x.Model, x.Cause = m.ID, cause
	x.Lower = &ledger.Lower{Name: n.name, To: s.RoomFor(x.Bytes, n.value, 1), Fix: n.fix}
	if n.line > 0 {
		x.Lines = append(x.Lines, n.line)
	}
}

// logits32 are the logits, in 16 bit as the head makes them and in 32 bit as a
// loss wants them.
func logits32(s *explain.Search, m *fit.Model, b, n stated) {
	for _, bytes := range [...]int64{2, 4} {
		terms := []ledger.Term{explain.Term("tokens", n.value), explain.Term("vocabulary", m.Vocab), explain.Term("bytes", bytes)}
		if b.value > 1 {
			terms = append([]ledger.Term{explain.Term("batch", b.value)}, terms...)
		}
		x := s.Try(fmt.Sprintf("is the logits of %s tokens in %d bit", ledger.Thousands(b.value*n.value), 8*bytes), terms...)
		if x == nil {
			continue
		}
		if b.value > 1 {
			follows(s, x, m, b, "batch_too_large")
			continue
		}
		follows(s, x, m, n, "context_too_long")
	}
}

// attention are the scores of a layer without an efficient kernel.
func attention(s *explain.Search, m *fit.Model, b, n stated) {
	for _, bytes := range [...]int64{2, 4} {
		terms := []ledger.Term{explain.Term("heads", m.Heads), explain.Term("tokens", n.value), explain.Term("tokens", n.value), explain.Term("bytes", bytes)}
		if b.value > 1 {
			terms = append([]ledger.Term{explain.Term("batch", b.value)}, terms...)
		}
		if x := s.Try(fmt.Sprintf("is the attention scores of one layer in %d bit, every token against every other", 8*bytes), terms...); x != nil {
			follows(s, x, m, n, "context_too_long")
			x.Lower.Fix, x.Lower.To = "efficient_attention", 0
		}
	}
}

// matrix is one tensor of a checkpoint.
type matrix struct {
	what       string
	rows, cols int64
	names      [2]string
}

// matrices of a model: those of a layer that are large, and the tables.
func matrices(m *fit.Model) []matrix {
	list := []matrix{
		{"the model's embedding or output matrix", m.Vocab, m.Hidden, [2]string{"vocabulary", "width"}},
		{"one weight matrix of the model (MLP)", m.Hidden, m.FFN, [2]string{"width", "MLP width"}},
	}
	if width := m.Heads * m.HeadDim; width > 0 {
		list = append(list, matrix{"one weight matrix of the model (attention)", m.Hidden, width, [2]string{"width", "heads' width"}})
	}
	return slices.DeleteFunc(list, func(x matrix) bool { return x.rows == 0 || x.cols == 0 })
}

// servers are the programs that load a checkpoint in 16 bit, gate and up of an
// MLP in one matrix and queries, keys and values in another (MergedColumnParallelLinear,
// QKVParallelLinear, vllm/model_executor/layers/linear.py), each card its share.
var servers = []string{"vllm", "sglang", "tgi", "lmdeploy", "tensorrt-llm"}

func served(s *explain.Search, m *fit.Model) {
	share := int64(max(1, ledger.IntSetting(s.C, "tensor_parallel_size", "tp_size", "tp")))
	list := matrices(m)
	if m.Gated && m.FFN > 0 {
		list = append(list, matrix{"the weights of one MLP (gate and up together)", m.Hidden, 2 * m.FFN, [2]string{"width", "2 x the MLP width"}})
	}
	if qkv := (m.Heads + 2*m.KVHeads) * m.HeadDim; qkv > 0 && m.KVRank == 0 {
		list = append(list, matrix{"the weights of one attention layer (queries, keys and values together)", m.Hidden, qkv, [2]string{"width", "heads' width"}})
	}
	for _, x := range list {
		if x.cols%share == 0 {
			x.cols /= share
			tryMatrix(s, m, x, 2)
		}
	}
}

// clipTexts are the text encoders of Stable Diffusion, which are no models of the
// catalogue: of 1 (openai/clip-vit-large-patch14, config.json: vocab_size 49408,
// hidden_size 768), of 2 (OpenCLIP ViT-H, 1024) and the second of XL (ViT-bigG, 1280).
var clipTexts = []matrix{
	{"the token embeddings of CLIP's text encoder", 49408, 768, [2]string{"vocabulary", "width"}},
	{"the token embeddings of OpenCLIP's text encoder", 49408, 1024, [2]string{"vocabulary", "width"}},
	{"the token embeddings of SDXL's second text encoder", 49408, 1280, [2]string{"vocabulary", "width"}},
}

// tensor reads weights in PyTorch: of the model that the log names, while it is
// loaded or, in system memory, where nothing shows what went on; of any model
// where the number is exact to the byte.
func tensor(q *explain.Question) *ledger.Explained {
	if !q.C.Root(fact.TorchAlloc, fact.TorchAsync, fact.CPUAlloc) || q.C.Phase != "load" && (q.C.Phase != "unknown" || q.OnCard()) {
		return nil
	}
	s := &explain.Search{Question: q}
	if m := ledger.Named(q.C).Model; m != nil {
		if q.C.In(servers...) {
			served(s, m)
		} else {
			whole(s, m)
		}
		x := s.Found()
		if x != nil && q.C.Phase == "load" && q.OnCard() {
			x.Cause = "model_too_large"
		}
		return x
	}
	if q.Within != 0 || !q.C.Root(fact.CPUAlloc) || q.C.Model != nil {
		return nil
	}
	for _, m := range fit.Models() {
		whole(s, m)
	}
	for _, x := range clipTexts {
		tryMatrix(s, nil, x, 2)
		tryMatrix(s, nil, x, 4)
	}
	return s.Found()
}

// whole tries the matrices of a checkpoint as they are. What is left whole of a
// quantised one is 16 bit.
func whole(s *explain.Search, m *fit.Model) {
	for _, x := range matrices(m) {
		tryMatrix(s, m, x, 2)
		if ledger.Quantised(s.C) == "" {
			tryMatrix(s, m, x, 4)
		}
	}
}

func tryMatrix(s *explain.Search, m *fit.Model, x matrix, bytes int64) {
	found := s.Try(fmt.Sprintf("is the size of %s in %d bit", x.what, 8*bytes), explain.Term(x.names[0], x.rows), explain.Term(x.names[1], x.cols), explain.Term("bytes", bytes))
	if found != nil && m != nil {
		found.Model = m.ID
	}
}
