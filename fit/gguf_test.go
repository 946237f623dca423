package fit

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// ggufHeader writes a header as convert_hf_to_gguf.py would.
type ggufHeader struct {
	kv, tensors bytes.Buffer
	nkv, nt     uint64
}

func (h *ggufHeader) put(b *bytes.Buffer, vs ...any) {
	for _, v := range vs {
		if s, ok := v.(string); ok {
			h.put(b, uint64(len(s)))
			b.WriteString(s)
			continue
		}
		_ = binary.Write(b, binary.LittleEndian, v)
	}
}

func (h *ggufHeader) set(key string, v any) {
	h.nkv++
	switch v := v.(type) {
	case string:
		h.put(&h.kv, key, uint32(8), v)
	case int:
		h.put(&h.kv, key, uint32(4), uint32(v))
	case int64:
		h.put(&h.kv, key, uint32(10), uint64(v))
	case []string:
		h.put(&h.kv, key, uint32(9), uint32(8), uint64(len(v)))
		for _, s := range v {
			h.put(&h.kv, s)
		}
	case []bool:
		h.put(&h.kv, key, uint32(9), uint32(7), uint64(len(v)), v)
	case []int32:
		h.put(&h.kv, key, uint32(9), uint32(5), uint64(len(v)), v)
	}
}

func (h *ggufHeader) tensor(name string, id uint32, shape ...int64) {
	h.nt++
	h.put(&h.tensors, name, uint32(len(shape)))
	for _, d := range shape {
		h.put(&h.tensors, uint64(d))
	}
	h.put(&h.tensors, id, uint64(0))
}

func (h *ggufHeader) bytes() []byte {
	var b bytes.Buffer
	b.WriteString("GGUF")
	h.put(&b, uint32(3), h.nt, h.nkv)
	b.Write(h.kv.Bytes())
	b.Write(h.tensors.Bytes())
	return b.Bytes()
}

var ggufRoleNames = map[role]string{
	roleEmbedding: "token_embd.weight", roleOutput: "output.weight", roleQ: "attn_q", roleK: "attn_k", roleV: "attn_v", roleAttnOut: "attn_output",
	roleQKV: "attn_qkv", roleGate: "ffn_gate", roleUp: "ffn_up", roleDown: "ffn_down", roleLinear: "other", rolePlain: "norm", roleTable: "per_layer_token_embd.weight",
}

// headerOf writes the header of a catalogue model in a mixture.
func headerOf(m *Model, format string) []byte {
	h := &ggufHeader{}
	set := func(key string, n int64) {
		if n > 0 {
			h.set(m.Arch+"."+key, n)
		}
	}
	h.set("general.architecture", m.Arch)
	h.set("general.name", m.ID)
	h.set("tokenizer.ggml.tokens", make([]string, 10))
	set("vocab_size", m.Vocab)
	set("block_count", int64(m.Layers))
	set("embedding_length", m.Hidden)
	set("attention.head_count", m.Heads)
	set("attention.head_count_kv", m.KVHeads)
	set("attention.key_length", m.HeadDim)
	set("attention.value_length", m.ValueDim)
	set("feed_forward_length", m.FFN)
	set("context_length", int64(m.Context))
	set("attention.sliding_window", int64(m.Window))
	set("attention.kv_lora_rank", m.KVRank)
	set("rope.dimension_count", m.RopeDim)
	if m.KVRank > 0 {
		set("attention.key_length_mla", m.HeadDim)
		set("attention.value_length_mla", m.ValueDim)
	}
	if e := m.MoE; e != nil {
		set("expert_count", e.Experts)
		set("expert_used_count", e.Active)
		set("expert_feed_forward_length", e.FFN)
	}
	if l := m.Linear; l != nil && l.ValueHeads > 0 {
		set("ssm.state_size", l.KeyDim)
		set("ssm.inner_size", l.ValueHeads*l.ValueDim)
		set("ssm.conv_kernel", l.Conv)
		set("ssm.group_count", l.KeyHeads)
		set("ssm.time_step_rank", l.ValueHeads)
		set("full_attention_interval", 4)
	}
	if m.Window > 0 {
		var windows []bool
		for i := range m.Layers {
			windows = append(windows, m.layer(i) == 'S')
		}
		h.set(m.Arch+".attention.sliding_window_pattern", windows)
	}
	x := newMixture(m, format, false)
	for _, t := range m.tensors() {
		h.add(t, x.typeOf(t))
	}
	return h.bytes()
}

func (h *ggufHeader) add(t tensor, typ string) {
	id := uint32(1 << 30)
	for i := range uint32(64) {
		if ggmlTypeName(i) == typ {
			id = i
			break
		}
	}
	name := ggufRoleNames[t.role]
	if t.layer >= 0 {
		name = fmt.Sprintf("blk.%d.%s.weight", t.layer, name)
	}
	shape := []int64{t.cols}
	if t.role == roleExpertBias {
		name = fmt.Sprintf("blk.%d.ffn_down_exps.bias", t.layer)
	} else if t.rows > 1 || t.role != rolePlain {
		shape = append(shape, t.rows)
	}
	if t.count > 1 {
		shape = append(shape, t.count)
	}
	h.tensor(name, id, shape...)
}

// A header written from the catalogue reads back as the same model: parameters,
// weights, cache, in its own mixture and in others.
func TestGGUFRoundTrip(t *testing.T) {
	for _, id := range []string{
		"llama-3-8b", "qwen3-4b", "gemma-3-27b", "gpt-oss-20b", "deepseek-v2-lite", "qwen3-30b-a3b", "qwen3.5-9b", "phi-4", "mixtral-8x7b", "command-r7b",
	} {
		want := mustModel(t, id)
		g, err := ReadGGUF(bytes.NewReader(headerOf(want, "Q4_K_M")))
		require.NoError(t, err, id)
		m, err := g.Model()
		require.NoError(t, err, id)
		assert.Equal(t, want.Parameters, m.Parameters, id)
		for _, f := range []string{"Q4_K_M", "Q8_0", "Q2_K"} {
			a, err := want.Weights(f)
			require.NoError(t, err)
			b, err := m.Weights(f)
			require.NoError(t, err)
			assert.Equal(t, a.Total-want.ropeFactors(), b.Total, "%s %s", id, f)
			assert.Equal(t, a.CPU, b.CPU, "%s %s", id, f)
			assert.Equal(t, a.Layers, b.Layers, "%s %s", id, f)
		}
		file, err := m.Weights("")
		require.NoError(t, err)
		mix, _ := m.Weights("Q4_K_M")
		assert.Equal(t, mix.Total, file.Total)
		o := KVOptions{Context: 16384, TypeK: "q8_0", TypeV: "q8_0", Sequences: 2}
		a, _ := want.KV(o)
		b, err := m.KV(o)
		require.NoError(t, err)
		assert.Equal(t, a, b, id)
		assert.InEpsilon(t, max(1, want.ActiveParameters), max(1, m.ActiveParameters), 0.001, id)

		p, err := NewPlan(Request{Known: m, Basis: "gguf", VRAM: 24 * GiB, Contexts: []int{4096}, Formats: []string{""}})
		require.NoError(t, err)
		assert.Equal(t, "gguf", p.Model.Basis)
	}
}

// Broken headers are errors: never a panic, never much memory.
func TestGGUFBroken(t *testing.T) {
	whole := headerOf(mustModel(t, "qwen2.5-0.5b"), "Q4_K_M")
	random := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		_, err := ReadGGUF(bytes.NewReader(whole[:random.IntN(len(whole)-1)]))
		assert.ErrorIs(t, err, ErrFile)
	}
	for range 2000 {
		b := slices.Clone(whole)
		for range 1 + random.IntN(8) {
			b[random.IntN(min(len(b), 2000))] = byte(random.IntN(256))
		}
		if g, err := ReadGGUF(bytes.NewReader(b)); err == nil {
			if m, err := g.Model(); err == nil {
				_, _ = m.Need("Q4_K_M", Setting{Context: 4096}, -1)
			}
		}
	}
	_, err := ReadGGUF(bytes.NewReader([]byte("GGML")))
	assert.ErrorIs(t, err, ErrFile)
}

func FuzzReadGGUF(f *testing.F) {
	h := &ggufHeader{}
	h.set("general.architecture", "llama")
	h.set("llama.block_count", 1)
	h.set("llama.embedding_length", 64)
	h.set("llama.attention.head_count", 4)
	h.set("llama.attention.head_count_kv", []int32{2})
	h.tensor("token_embd.weight", 1, 64, 10)
	h.tensor("blk.0.ffn_down.weight", 12, 256, 64)
	f.Add(h.bytes())
	f.Fuzz(func(t *testing.T, b []byte) {
		g, err := ReadGGUF(bytes.NewReader(b))
		if err != nil {
			return
		}
		if m, err := g.Model(); err == nil {
			_, _ = m.Need("", Setting{Context: 4096}, -1)
			_, _ = m.Need("Q4_K_M", Setting{Context: 4096}, 1)
		}
	})
}
