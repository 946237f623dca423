package fit

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
)

// config is what of config.json the shape needs. Families name the same thing
// differently; the alternatives stand side by side.
type config struct {
	ModelType     string   `json:"model_type"`
	Architectures []string `json:"architectures"`
	Text          *config  `json:"text_config"`

	Hidden     int64  `json:"hidden_size"`
	HiddenGPT  int64  `json:"n_embd"`
	HiddenT5   int64  `json:"d_model"`
	Layers     int    `json:"num_hidden_layers"`
	LayersGPT  int    `json:"n_layer"`
	Heads      int64  `json:"num_attention_heads"`
	HeadsGPT   int64  `json:"n_head"`
	KVHeads    int64  `json:"num_key_value_heads"`
	HeadDim    int64  `json:"head_dim"`
	FFN        int64  `json:"intermediate_size"`
	FFNDense   int64  `json:"intermediate_size_mlp"` // Llama 4
	FFNGPT     int64  `json:"n_inner"`
	Vocab      int64  `json:"vocab_size"`
	Context    int    `json:"max_position_embeddings"`
	ContextGPT int    `json:"n_positions"`
	Tied       *bool  `json:"tie_word_embeddings"`
	Activation string `json:"hidden_act"`
	DType      string `json:"torch_dtype"`
	DTypeNew   string `json:"dtype"`

	Window     *int     `json:"sliding_window"`
	UseWindow  *bool    `json:"use_sliding_window"`
	WindowStep int      `json:"sliding_window_pattern"`
	LayerTypes []string `json:"layer_types"`
	FullEvery  int      `json:"full_attention_interval"`

	KVRank   int64  `json:"kv_lora_rank"`
	QRank    *int64 `json:"q_lora_rank"`
	RopeDim  int64  `json:"qk_rope_head_dim"`
	NopeDim  int64  `json:"qk_nope_head_dim"`
	ValueDim int64  `json:"v_head_dim"`
	Indexer  int64  `json:"index_head_dim"`

	Experts       int64 `json:"num_experts"`
	ExpertsLocal  int64 `json:"num_local_experts"`
	ExpertsRouted int64 `json:"n_routed_experts"`
	Active        int64 `json:"num_experts_per_tok"`
	ExpertFFN     int64 `json:"moe_intermediate_size"`
	Shared        int64 `json:"n_shared_experts"`
	SharedFFN     int64 `json:"shared_expert_intermediate_size"`
	DenseFirst    int   `json:"first_k_dense_replace"`
	MoEStep       int   `json:"interleave_moe_layer_step"`

	ValueHeads  int64 `json:"linear_num_value_heads"`
	KeyHeads    int64 `json:"linear_num_key_heads"`
	LinearKey   int64 `json:"linear_key_head_dim"`
	LinearValue int64 `json:"linear_value_head_dim"`
	Conv        int64 `json:"linear_conv_kernel_dim"`

	Quantization *struct {
		Method    string `json:"quant_method"`
		Bits      int    `json:"bits"`
		GroupSize int    `json:"group_size"`
		FourBit   bool   `json:"load_in_4bit"`
		EightBit  bool   `json:"load_in_8bit"`
		Double    bool   `json:"bnb_4bit_use_double_quant"`
		Block     []int  `json:"weight_block_size"`
	} `json:"quantization_config"`
}

// configArch maps model_type to the architecture whose tensors it has. A type
// that is missing here is none that can be sized.
func configArch(modelType string) string {
	switch t := strings.TrimSuffix(modelType, "_text"); t {
	case "llama", "qwen2", "qwen3", "gemma", "gemma2", "gemma3", "phi3", "cohere2", "granite", "olmo2", "olmoe", "smollm3",
		"starcoder2", "nemotron", "seed_oss", "internlm2", "glm4", "stablelm", "opt", "gpt2", "bloom", "llama4":
		return t
	case "mistral", "mixtral":
		return "llama"
	case "qwen2_moe":
		return "qwen2moe"
	case "qwen3_moe":
		return "qwen3moe"
	case "qwen3_next":
		return "qwen3next"
	case "qwen3_5":
		return "qwen35"
	case "qwen3_5_moe":
		return "qwen35moe"
	case "qwen2_vl", "qwen2_5_vl":
		return "qwen2vl"
	case "qwen3_vl":
		return "qwen3vl"
	case "qwen3_vl_moe":
		return "qwen3vlmoe"
	case "ministral3":
		return "mistral3"
	case "gpt_oss":
		return "gpt-oss"
	case "gpt_neox":
		return "gptneox"
	case "cohere":
		return "command-r"
	case "deepseek_v2", "deepseek_v3", "kimi_k2":
		return "deepseek2"
	case "deepseek_v32":
		return "deepseek32"
	case "glm4_moe":
		return "glm4moe"
	case "minimax_m2":
		return "minimax-m2"
	}
	return ""
}

// ReadConfig reads a config.json of Hugging Face transformers. The parameters
// are computed from the shape; towers of vision models are not counted.
func ReadConfig(r io.Reader) (*Model, error) {
	var c config
	if err := json.NewDecoder(io.LimitReader(r, 1<<22)).Decode(&c); err != nil {
		return nil, fmt.Errorf("%w: config.json: %w", ErrFile, err)
	}
	outer := c
	if c.Text != nil {
		c = *c.Text
		c.ModelType = cmp.Or(c.ModelType, outer.ModelType)
		if outer.Tied != nil && c.Tied == nil {
			c.Tied = outer.Tied
		}
	}
	m := &Model{ID: outer.ModelType, Kind: "llm", Arch: configArch(c.ModelType)}
	if outer.Text != nil {
		m.Kind = "vlm"
	}
	if m.Arch == "" {
		if !outer.generates() {
			return nil, fmt.Errorf("%w: model_type %q of %q is no model that writes text", ErrShape, c.ModelType, outer.Architectures)
		}
		m.Arch, m.newType = "llama", cmp.Or(c.ModelType, "none")
	}
	c.shape(m)
	if m.newType != "" {
		m.Gated = c.Activation == "" || strings.Contains(c.Activation, "silu") || strings.Contains(c.Activation, "swish") || strings.Contains(c.Activation, "tanh")
	}
	if m.Layers <= 0 || m.Layers > 4096 || m.Hidden <= 0 || m.Heads <= 0 || m.Vocab <= 0 || m.KVHeads <= 0 || tooLarge(m) {
		return nil, fmt.Errorf("%w: config.json lacks layers, widths or heads", ErrShape)
	}
	c.latent(m)
	c.experts(m)
	c.layers(m)
	m.Native = outer.format()
	for _, t := range m.tensors() {
		m.Parameters += t.elements()
	}
	m.ActiveParameters = m.active()
	return m, nil
}

// generates: a type that is not known is sized by its fields if it is said to
// write text, or nothing is said.
func (c config) generates() bool {
	return len(c.Architectures) == 0 || slices.ContainsFunc(c.Architectures, func(a string) bool {
		return strings.Contains(a, "CausalLM") || strings.Contains(a, "ConditionalGeneration") || strings.Contains(a, "LMHead")
	})
}

// SetCheckpoint takes the size of the files beside a config.json for that of the
// weights in the checkpoint's own format: towers and all that the shape does not
// tell included. It reports whether the two agree to a tenth.
func (m *Model) SetCheckpoint(bytes int64) bool {
	w, err := m.Weights("")
	if err != nil || bytes <= 0 || w.Total <= 0 {
		return false
	}
	ratio := float64(bytes) / float64(w.Total)
	if ratio < 0.5 || ratio > 2 {
		return false // files of something else
	}
	for i := range w.Layers {
		w.Layers[i] = int64(float64(w.Layers[i]) * ratio)
	}
	w.Output = bytes - sum(w.Layers)
	w.Total, w.GPU, w.Vision, w.Basis = bytes, bytes, 0, "exact"
	m.file, m.checkpoint = &w, true
	return ratio > 0.9 && ratio < 1.1
}

// tooLarge keeps products within an int64.
func tooLarge(m *Model) bool {
	return max(m.Hidden, m.Heads, m.KVHeads, m.HeadDim, m.FFN, m.Vocab) > 1<<24
}

func (c config) shape(m *Model) {
	m.Hidden = cmp.Or(c.Hidden, c.HiddenGPT, c.HiddenT5)
	m.Layers, m.Heads = cmp.Or(c.Layers, c.LayersGPT), cmp.Or(c.Heads, c.HeadsGPT)
	m.KVHeads = cmp.Or(c.KVHeads, m.Heads)
	m.HeadDim = c.HeadDim
	if m.HeadDim == 0 && m.Heads > 0 {
		m.HeadDim = m.Hidden / m.Heads
	}
	m.ValueDim = m.HeadDim
	m.FFN, m.Gated = cmp.Or(c.FFN, c.FFNGPT), gated(m.Arch)
	if m.FFN == 0 && !m.Gated {
		m.FFN = 4 * m.Hidden
	}
	m.Vocab, m.Context = c.Vocab, cmp.Or(c.Context, c.ContextGPT)
	m.Tied = tiedByDefault(m.Arch)
	if c.Tied != nil {
		m.Tied = *c.Tied
	}
}

func gated(arch string) bool {
	switch arch {
	case "starcoder2", "gptneox", "gpt2", "opt", "bloom", "nemotron":
		return false
	}
	return true
}

// tiedByDefault: families whose config.json leaves the key out when tied.
func tiedByDefault(arch string) bool {
	switch arch {
	case "gemma", "gemma2", "gemma3", "command-r", "cohere2", "gpt2", "opt", "bloom", "starcoder2":
		return true
	}
	return false
}

func (c config) latent(m *Model) {
	if c.KVRank == 0 {
		return
	}
	m.KVRank, m.RopeDim, m.NopeDim, m.ValueDim, m.IndexerDim = c.KVRank, c.RopeDim, c.NopeDim, c.ValueDim, c.Indexer
	if c.QRank != nil {
		m.QRank = *c.QRank
	}
	m.HeadDim = m.NopeDim + m.RopeDim
}

func (c config) experts(m *Model) {
	n := cmp.Or(c.Experts, c.ExpertsLocal, c.ExpertsRouted)
	if n == 0 {
		return
	}
	e := &MoE{Experts: n, Active: cmp.Or(c.Active, 1), FFN: cmp.Or(c.ExpertFFN, c.FFN), DenseLayers: c.DenseFirst, Every: c.MoEStep}
	e.SharedFFN = cmp.Or(c.SharedFFN, c.Shared*e.FFN)
	if m.Arch == "llama4" {
		e.SharedFFN = c.FFN
	}
	m.MoE = e
}

// layers reads which layers see a window or are recurrent.
func (c config) layers(m *Model) {
	if c.ValueHeads > 0 {
		m.Linear = &Linear{ValueHeads: c.ValueHeads, KeyHeads: c.KeyHeads, KeyDim: c.LinearKey, ValueDim: c.LinearValue, Conv: c.Conv}
	}
	if c.Window != nil && (c.UseWindow == nil || *c.UseWindow) {
		m.Window = *c.Window
	}
	p := make([]byte, m.Layers)
	for i := range p {
		p[i] = c.layer(m, i)
	}
	if strings.Trim(string(p), "F") != "" {
		m.Pattern = string(p)
	} else {
		m.Window = 0
	}
}

func (c config) layer(m *Model, i int) byte {
	step := cmp.Or(c.WindowStep, usualWindow(m.Arch))
	switch {
	case i < len(c.LayerTypes):
		switch c.LayerTypes[i] {
		case "sliding_attention", "chunked_attention":
			if m.Window > 0 {
				return 'S'
			}
		case "linear_attention":
			if m.Linear != nil {
				return 'L'
			}
		}
	case m.Linear != nil && c.FullEvery > 0 && (i+1)%c.FullEvery != 0:
		return 'L'
	case m.Window > 0 && step > 1 && (i+1)%step != 0:
		return 'S'
	}
	return 'F'
}

// format names the checkpoint's.
func (c config) format() string {
	q := c.Quantization
	switch {
	case q == nil:
		if f, ok := lookupFormat(cmp.Or(c.DType, c.DTypeNew), ""); ok {
			return f.name
		}
		return ""
	case q.Method == "gptq" && q.Bits == 8:
		return "gptq-int8"
	case q.Method == "gptq" && q.Bits == 3:
		return "gptq-int3"
	case q.Method == "gptq" && q.GroupSize == 32:
		return "gptq-int4-g32"
	case q.Method == "bitsandbytes" && q.EightBit:
		return "int8"
	case q.Method == "bitsandbytes" && q.Double:
		return "nf4-dq"
	case q.Method == "fp8" && len(q.Block) > 0:
		return "fp8-block"
	}
	if f, ok := lookupFormat(q.Method, ""); ok {
		return f.name
	}
	return ""
}
