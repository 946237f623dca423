package fit

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
)

//go:embed data
var data embed.FS

// Units that programs print: powers of 1024, whatever they call them.
const (
	MiB = 1 << 20
	GiB = 1 << 30
)

// Model is the shape of a published model: all that its tensors and its cache
// depend on. Names of fields follow config.json where they can.
type Model struct {
	ID      string   `json:"id"`
	Aliases []string `json:"aliases,omitempty"`
	// Kind is llm, vlm, encoder-decoder, speech or diffusion.
	Kind string `json:"kind"`
	// Arch is the general.architecture of its GGUF files where it has any.
	Arch string `json:"arch"`

	// Parameters counts the language model, all experts included, or the
	// denoiser of a diffusion pipeline. Towers and the multi-token-prediction
	// block are separate, for most loaders skip one or the other.
	Parameters       int64 `json:"parameters"`
	ActiveParameters int64 `json:"active,omitempty"`
	VisionParameters int64 `json:"vision,omitempty"`
	MTPParameters    int64 `json:"mtp,omitempty"`

	Layers        int   `json:"layers,omitempty"`
	DecoderLayers int   `json:"decoder_layers,omitempty"`
	Hidden        int64 `json:"hidden,omitempty"`
	Heads         int64 `json:"heads,omitempty"`
	KVHeads       int64 `json:"kv_heads,omitempty"`
	HeadDim       int64 `json:"head_dim,omitempty"`
	ValueDim      int64 `json:"value_dim,omitempty"`
	FFN           int64 `json:"ffn,omitempty"`
	// FFNLayers gives the width layer by layer where it differs.
	FFNLayers []int64 `json:"ffn_layers,omitempty"`
	Gated     bool    `json:"gated,omitempty"`
	Vocab     int64   `json:"vocab,omitempty"`
	Context   int     `json:"context,omitempty"`
	Tied      bool    `json:"tied,omitempty"`

	// Pattern has one letter a layer: F full attention, S sliding window,
	// L gated delta net, M Mamba-2, and E or X for a block that is only an
	// expert or a dense MLP. Empty: full attention throughout.
	Pattern string `json:"pattern,omitempty"`
	Window  int    `json:"window,omitempty"`
	// SharedLayers at the end reuse the cache of an earlier layer.
	SharedLayers  int   `json:"shared_layers,omitempty"`
	GlobalHeadDim int64 `json:"global_head_dim,omitempty"`
	GlobalKVHeads int64 `json:"global_kv_heads,omitempty"`
	// CrossLayers attend to the image or the encoder and cache its length.
	CrossLayers int `json:"cross_layers,omitempty"`

	// Multi-head latent attention: one vector of KVRank+RopeDim a token.
	KVRank     int64 `json:"kv_rank,omitempty"`
	QRank      int64 `json:"q_rank,omitempty"`
	RopeDim    int64 `json:"rope_dim,omitempty"`
	NopeDim    int64 `json:"nope_dim,omitempty"`
	IndexerDim int64 `json:"indexer_dim,omitempty"`

	MoE    *MoE    `json:"moe,omitempty"`
	Linear *Linear `json:"linear,omitempty"`

	EncoderPositions int64 `json:"encoder_positions,omitempty"`
	MelBins          int64 `json:"mel_bins,omitempty"`

	Components []Component `json:"components,omitempty"`
	Denoiser   *Denoiser   `json:"denoiser,omitempty"`

	// Native is the format of the published checkpoint where it is not 16 bit.
	Native string `json:"native,omitempty"`
	// Unverified shapes are recalled, not read from a stored source.
	Unverified bool `json:"unverified,omitempty"`

	// list and file are the tensors and sizes of the file that the model was
	// read from.
	list []tensor
	file *Weights
	// checkpoint: file is that of the safetensors beside a config.json.
	checkpoint bool
	// newType is the model_type of a config.json that is not known here: the model
	// was sized by its fields.
	newType string
}

// MoE is a mixture of experts.
type MoE struct {
	Experts   int64 `json:"experts"`
	Active    int64 `json:"active"`
	FFN       int64 `json:"ffn"`
	SharedFFN int64 `json:"shared_ffn,omitempty"`
	// DenseLayers at the front have an ordinary MLP.
	DenseLayers int `json:"dense_layers,omitempty"`
	// Every n-th layer has experts; 0 and 1: every layer.
	Every int `json:"every,omitempty"`
}

// Linear is the shape of recurrent layers: a gated delta net (ValueHeads set)
// or Mamba-2 (MambaInner set).
type Linear struct {
	ValueHeads int64 `json:"value_heads,omitempty"`
	KeyHeads   int64 `json:"key_heads,omitempty"`
	KeyDim     int64 `json:"key_dim,omitempty"`
	ValueDim   int64 `json:"value_dim,omitempty"`
	MambaInner int64 `json:"mamba_inner,omitempty"`
	MambaHeads int64 `json:"mamba_heads,omitempty"`
	State      int64 `json:"state,omitempty"`
	Groups     int64 `json:"groups,omitempty"`
	Conv       int64 `json:"conv"`
}

// Component is a part of a diffusion pipeline: denoiser, text encoders, VAE.
type Component struct {
	Name       string `json:"name"`
	Parameters int64  `json:"parameters"`
}

// catalogue holds what is known of models.
type catalogue struct {
	entries []*entry
	byID    map[string]*entry
}

// entry is a model of the catalogue. It is decoded when it is asked for: a log
// names one of two hundred.
type entry struct {
	ID      string   `json:"id"`
	Aliases []string `json:"aliases"`
	// Base is the id of a model with the same shape; what the line says is
	// another: its context, mostly.
	Base string `json:"base"`
	// Words of a name that tell it from its base.
	Words    []string `json:"words"`
	base     *entry
	variants []*entry
	line     []byte
	once     sync.Once
	whole    *Model
}

func (e *entry) model() *Model {
	e.once.Do(func() {
		e.whole = new(Model)
		if e.base != nil {
			parse(e.base.line, e.whole)
			e.whole.Aliases = nil
		}
		parse(e.line, e.whole)
	})
	return e.whole
}

// variant is the model that a name means which has found e: one of the same shape
// if all of its words stand there.
func (e *entry) variant(words []string) *Model {
	for _, v := range e.variants {
		if !slices.ContainsFunc(v.Words, func(w string) bool { return !slices.Contains(words, w) }) {
			return v.model()
		}
	}
	return e.model()
}

// loadCatalogue reads the names of all models: each is a line of its own.
var loadCatalogue = sync.OnceValue(func() *catalogue {
	b, err := data.ReadFile("data/models.json")
	if err != nil {
		panic("fit: " + err.Error()) // it is embedded, so a test sees it first
	}
	c := &catalogue{byID: map[string]*entry{}}
	for line := range bytes.Lines(b) {
		if line[0] != '{' {
			continue // the brackets of the list
		}
		line = bytes.TrimRight(line, ",\n")
		e := &entry{line: line}
		parse(line, e)
		c.add(e)
	}
	return c
})

// add files an entry; a base stands before what rests on it.
func (c *catalogue) add(e *entry) {
	if e.base = c.byID[e.Base]; e.base != nil {
		e.base.variants = append(e.base.variants, e)
	}
	c.entries, c.byID[e.ID] = append(c.entries, e), e
}

// parse decodes a line of the catalogue.
func parse(line []byte, x any) {
	if err := json.Unmarshal(line, x); err != nil {
		panic(fmt.Sprintf("fit: %v in %s", err, line))
	}
}

// Models returns the catalogue. The models are shared: do not change them.
func Models() []*Model {
	entries := loadCatalogue().entries
	out := make([]*Model, len(entries))
	for i, e := range entries {
		out[i] = e.model()
	}
	return out
}

// ModelByID returns the model with that exact id of the catalogue.
func ModelByID(id string) (*Model, bool) {
	e, ok := loadCatalogue().byID[id]
	if !ok {
		return nil, false
	}
	return e.model(), true
}

// layer returns the letter of layer i: how it attends.
func (m *Model) layer(i int) byte {
	if i < len(m.Pattern) {
		return m.Pattern[i]
	}
	return 'F'
}

// countLayers counts the layers of one kind, from the given one on, that own a
// cache or a state.
func (m *Model) countLayers(kind byte, from int) int {
	if m.Pattern != "" {
		end := len(m.Pattern) - m.SharedLayers
		return strings.Count(m.Pattern[min(from, end):end], string(kind))
	}
	if kind != 'F' {
		return 0
	}
	return max(0, m.attentionLayers()-from)
}

// attentionLayers is the number of layers with self attention over the text
// when there is no pattern. Encoder-decoders cache in the decoder.
func (m *Model) attentionLayers() int {
	if m.DecoderLayers > 0 {
		return m.DecoderLayers
	}
	return m.Layers - m.CrossLayers
}
