package tensors

import (
	"slices"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/rules/explain"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// models are the shapes in question: that of the model that the log names, that
// which it prints, or those of the catalogue that agree with what it prints.
func models(q *explain.Question) (list []*fit.Model, named bool) {
	if m := ledger.Named(q.C).Model; m != nil {
		return []*fit.Model{m}, true
	}
	if m := printedShape(q); m != nil {
		return []*fit.Model{m}, true
	}
	for _, m := range fit.Models() {
		if m.Layers > 0 && m.Hidden > 0 && agrees(q, m) {
			list = append(list, m)
		}
	}
	return list, false
}

// count is a hyper-parameter that llama.cpp printed, 0 if it did not.
func count(q *explain.Question, name string) int64 {
	f, ok := q.C.Fact(name)
	if !ok || f.Count == nil || f.Count.Value < 0 || f.Count.Value > 1<<40 {
		return 0
	}
	return int64(f.Count.Value)
}

// printedShape is the plain transformer that llama.cpp's load lines describe.
// Experts, windows and recurrent layers are left to the catalogue.
func printedShape(q *explain.Question) *fit.Model {
	m := &fit.Model{
		Layers: int(count(q, "n_layer")), Hidden: count(q, "n_embd"), Heads: count(q, "n_head"), Vocab: count(q, "n_vocab"), FFN: count(q, "n_ff"),
	}
	k, v := count(q, "n_embd_k_gqa"), count(q, "n_embd_v_gqa")
	if m.Layers == 0 || m.Layers > 1000 || m.Hidden == 0 || m.Heads == 0 || m.Hidden%m.Heads != 0 || k == 0 || k != v || count(q, "n_expert") > 0 {
		return nil
	}
	m.HeadDim = m.Hidden / m.Heads
	if k%m.HeadDim != 0 {
		return nil
	}
	m.ValueDim, m.KVHeads = m.HeadDim, k/m.HeadDim
	return m
}

// agrees: nothing that the log prints speaks against the model.
func agrees(q *explain.Question, m *fit.Model) bool {
	want := map[string]int64{
		"n_layer": int64(m.Layers), "n_embd": m.Hidden, "n_head": m.Heads, "n_vocab": m.Vocab, "n_ff": m.FFN,
		"n_expert": m.Experts(), "n_ff_exp": 0,
	}
	if m.MoE != nil {
		want["n_ff_exp"] = m.MoE.FFN
	}
	for name, n := range want {
		if have := count(q, name); have > 0 && have != n && (name != "n_ff" || m.MoE == nil) {
			return false
		}
	}
	return true
}

// hinted: the log prints something of the shape, so that few models agree.
func hinted(q *explain.Question) bool {
	return slices.ContainsFunc([]string{"n_layer", "n_embd", "n_head", "n_ff", "n_expert", "n_ff_exp"}, func(name string) bool { return count(q, name) > 0 })
}

// context is the number of cells of the cache, as the log states it.
func context(q *explain.Question) (cells int64, line int) {
	if f, ok := q.C.Fact("kv_tokens"); ok && f.Count != nil && f.Line <= q.C.Failure.Line {
		return int64(f.Count.Value), f.Line
	}
	if n := q.C.F().Context; n != nil && n.Value > 0 && n.Value < 1<<32 {
		return int64(n.Value), n.Line
	}
	return 0, 0
}

// ubatch is the physical batch, llama.cpp's 512 where the log does not say.
func ubatch(q *explain.Question) int64 {
	if n := count(q, "n_ubatch"); n > 0 && n <= 1<<20 {
		return n
	}
	if n := ledger.IntSetting(q.C, "ubatch_size"); n > 0 {
		return int64(n)
	}
	return 512
}

func pad(n, to int64) int64 { return (n + to - 1) / to * to }
