package fit

import (
	"cmp"
	"fmt"
	"strings"
)

// Model turns a header into a model whose weights are those of the file, to
// the byte, and which can be priced in other mixtures too.
func (g *GGUF) Model() (*Model, error) {
	arch, _ := g.Values["general.architecture"].(string)
	name, _ := g.Values["general.name"].(string)
	m := &Model{
		ID: cmp.Or(name, arch), Kind: "llm", Arch: arch,
		Layers: int(g.Number("block_count")), Hidden: g.Number("embedding_length"),
		Heads: g.Number("attention.head_count"), KVHeads: g.Number("attention.head_count_kv"),
		FFN: g.Number("feed_forward_length"), Context: int(g.Number("context_length")),
		Vocab: cmp.Or(g.Number("vocab_size"), int64(g.Lengths["tokenizer.ggml.tokens"])),
	}
	if m.Layers <= 0 || m.Layers > 4096 || m.Hidden <= 0 || m.Heads <= 0 || len(g.Tensors) == 0 {
		return nil, fmt.Errorf("%w: %q has no layers, width or heads", ErrShape, m.ID)
	}
	m.KVHeads = cmp.Or(m.KVHeads, m.Heads)
	m.HeadDim = cmp.Or(g.Number("attention.key_length"), m.Hidden/m.Heads)
	m.ValueDim = cmp.Or(g.Number("attention.value_length"), m.Hidden/m.Heads)
	g.latent(m)
	g.experts(m)
	g.recurrent(m)
	m.Pattern = g.pattern(m)
	g.windows(m)
	g.tensors(m)
	return m, nil
}

// latent: with MLA the file says what it caches, rank + rope width.
func (g *GGUF) latent(m *Model) {
	rank := g.Number("attention.kv_lora_rank")
	if rank == 0 {
		return
	}
	m.KVRank, m.QRank, m.RopeDim = rank, g.Number("attention.q_lora_rank"), g.Number("rope.dimension_count")
	m.HeadDim = cmp.Or(g.Number("attention.key_length_mla"), m.HeadDim)
	m.ValueDim = cmp.Or(g.Number("attention.value_length_mla"), m.ValueDim)
	m.NopeDim = m.HeadDim - m.RopeDim
}

func (g *GGUF) experts(m *Model) {
	n := g.Number("expert_count")
	if n == 0 {
		return
	}
	m.MoE = &MoE{
		Experts: n, Active: g.Number("expert_used_count"), FFN: cmp.Or(g.Number("expert_feed_forward_length"), m.FFN),
		SharedFFN: g.Number("expert_shared_feed_forward_length"), DenseLayers: int(g.Number("leading_dense_block_count")),
	}
}

// recurrent reads the state of Mamba and of the gated delta net, which GGUF
// describes in the words of Mamba.
func (g *GGUF) recurrent(m *Model) {
	state, inner := g.Number("ssm.state_size"), g.Number("ssm.inner_size")
	if state == 0 || inner == 0 {
		return
	}
	conv, groups, heads := g.Number("ssm.conv_kernel"), g.Number("ssm.group_count"), g.Number("ssm.time_step_rank")
	m.Linear = &Linear{Conv: conv, MambaInner: inner, MambaHeads: heads, State: state, Groups: groups}
	if strings.HasPrefix(m.Arch, "qwen3") && heads > 0 {
		m.Linear = &Linear{Conv: conv, ValueHeads: heads, KeyHeads: groups, KeyDim: state, ValueDim: inner / heads}
	}
}

// pattern marks window and recurrent layers.
func (g *GGUF) pattern(m *Model) string {
	p := []byte(strings.Repeat("F", m.Layers))
	recurrent := byte('M')
	if m.Linear != nil && m.Linear.ValueHeads > 0 {
		recurrent = 'L'
	}
	every := int(g.Number("full_attention_interval"))
	kv := g.array("attention.head_count_kv")
	windows := g.array("attention.sliding_window_pattern")
	usual := usualWindow(m.Arch)
	for i := range p {
		switch {
		case m.Linear != nil && every > 0 && (i+1)%every != 0, m.Linear != nil && i < len(kv) && kv[i] == int64(0):
			p[i] = recurrent
		case g.Number("attention.sliding_window") == 0:
		case i < len(windows) && windows[i] == true, len(windows) == 0 && usual > 1 && (i+1)%usual != 0:
			p[i] = 'S'
		}
	}
	if strings.Trim(string(p), "F") == "" {
		return ""
	}
	return string(p)
}

// usualWindow is the period of global layers of architectures whose files do
// not say, llama-model.cpp's set_swa_pattern. Phi-3 prints a window and does
// not use it.
func usualWindow(arch string) int {
	switch arch {
	case "gemma2", "gpt-oss":
		return 2
	case "gemma3":
		return 6
	case "gemma3n":
		return 5
	case "cohere2", "llama4":
		return 4
	}
	return 0
}

func (g *GGUF) windows(m *Model) {
	if !strings.Contains(m.Pattern, "S") {
		return
	}
	m.Window = int(g.Number("attention.sliding_window"))
	m.SharedLayers = min(int(g.Number("attention.shared_kv_layers")), m.Layers)
	if n := g.Number("attention.key_length_swa"); n > 0 { // Gemma 4: the plain length is the global layers'
		m.GlobalHeadDim, m.GlobalKVHeads = m.HeadDim, m.KVHeads
		m.HeadDim, m.ValueDim = n, cmp.Or(g.Number("attention.value_length_swa"), n)
		for i, v := range g.array("attention.head_count_kv") {
			if n, ok := v.(int64); ok && m.layer(i) == 'F' {
				m.GlobalKVHeads = n
			} else if ok {
				m.KVHeads = n
			}
		}
	}
}

// tensors takes the list of the file in place of one derived from the shape,
// and its sizes.
func (g *GGUF) tensors(m *Model) {
	w := Weights{Format: cmp.Or(g.Format(), "gguf"), Layers: make([]int64, m.Layers), Basis: "exact"}
	m.Tied = true
	for _, t := range g.Tensors {
		if t.Name == "output.weight" {
			m.Tied = false
		}
	}
	for _, t := range g.Tensors {
		x := t.tensor(m)
		// A gate of its own, or one tensor with gate and up.
		m.Gated = m.Gated || x.role == roleGate || x.role == roleUp && x.rows == 2*m.FFN
		m.list = append(m.list, x)
		m.Parameters += x.elements()
		w.Total += t.Bytes
		w.place(x, t.Bytes, m.Tied)
	}
	w.GPU = w.Output + sum(w.Layers)
	m.Native, m.file = w.Format, &w
	m.ActiveParameters = m.active()
}

// tensor finds the role by the name, gguf-py/gguf/constants.py.
func (t GGUFTensor) tensor(m *Model) tensor {
	x := tensor{role: rolePlain, layer: layerOf(t.Name, "blk."), rows: 1, cols: 1, count: 1}
	for i, d := range t.Shape {
		switch i {
		case 0:
			x.cols = d
		case 1:
			x.rows = d
		default:
			x.count *= d
		}
	}
	if x.layer >= m.Layers {
		x.layer = m.Layers - 1
	}
	if len(t.Shape) > 1 {
		x.role = ggufRole(t.Name)
	}
	return x
}

func ggufRole(name string) role {
	name = strings.TrimSuffix(name, ".weight")
	if strings.HasPrefix(name, "blk.") {
		_, name, _ = strings.Cut(name[len("blk."):], ".")
	}
	if strings.HasSuffix(name, "_exps.bias") {
		return roleExpertBias
	}
	name = strings.TrimSuffix(strings.TrimSuffix(name, "_exps"), "_shexp")
	switch name {
	case "token_embd":
		return roleEmbedding
	case "output":
		return roleOutput
	case "per_layer_token_embd":
		return roleTable
	case "attn_q":
		return roleQ
	case "attn_k":
		return roleK
	case "attn_v":
		return roleV
	case "attn_output":
		return roleAttnOut
	case "attn_qkv":
		return roleQKV
	case "ffn_gate":
		return roleGate
	case "ffn_up":
		return roleUp
	case "ffn_down":
		return roleDown
	case "ffn_gate_inp", "ssm_conv1d", "position_embd", "token_types":
		return rolePlain
	}
	if strings.Contains(name, "norm") || strings.Contains(name, "altup") || strings.Contains(name, "laurel") {
		return rolePlain
	}
	return roleLinear
}

// active counts the parameters that one token meets.
func (m *Model) active() int64 {
	if m.MoE == nil {
		return 0
	}
	var n int64
	for _, t := range m.tensors() {
		if t.count == m.MoE.Experts && t.role != roleExpertBias {
			n += t.elements() / t.count * m.MoE.Active
		} else {
			n += t.elements()
		}
	}
	return n
}
