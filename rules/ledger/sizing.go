package ledger

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/quote"
	"github.com/oomdoc/oomdoc/internal/units"
)

// Sizing computes with the model's name where the log's own figures do not
// reach: what the model takes in another format, of another size, on another
// card. What it says is an estimate, never put in the place of an engine's
// arithmetic on the log.
type Sizing struct {
	Case    *Case
	Name    string
	Match   fit.Match
	Have    int64 // what the card offers this program
	Format  string
	Setting fit.Setting
	server  bool // vLLM and the like: checkpoints, no GGUF
	known   bool // the format is stated, not only usual
}

// SizingOf is false where the model or the card is not known, and in training,
// where weights are the smaller part.
func SizingOf(c *Case) (Sizing, bool) {
	z := Sizing{Case: c, Match: Named(c)}
	have, ok := cardBytes(c)
	if !ok || z.Match.Parameters < smallestSized || c.Training() || !OnCard(c) {
		return z, false
	}
	if ManyCards(c) || c.In("diffusers", "comfyui", "a1111", "exllama", "mlx", "jax", "tensorflow") {
		return z, false // a part of it, one of several models, or formats of their own
	}
	if m := z.Match.Model; m != nil && (m.Kind == "diffusion" || m.Kind == "speech") {
		return z, false // pictures and sound decide, not the weights
	}
	z.Name, z.Have = quote.Told(c.Model.Name), have
	z.Setting = fit.Setting{Engine: engineOf(c), Context: contextOf(c, z.Match.Model), KVType: "f16"}
	z.server = z.Setting.Engine == "vllm"
	z.Format, z.known = FormatOf(c, z.Match.Format)
	if z.Format == "" && (z.Setting.Engine == "llama.cpp" || z.Setting.Engine == "ollama") {
		z.Format = "Q4_K_M" // what nearly everybody loads
	}
	z.Format = cmp.Or(z.Format, "bf16")
	return z, true
}

// smallestSized: below, weights explain no full card.
const smallestSized = 100e6

func engineOf(c *Case) string {
	switch {
	case c.In("ollama"):
		return "ollama"
	case c.In("llama.cpp", "koboldcpp", "lm-studio"), c.Says("llama-cpp-python"):
		return "llama.cpp"
	case c.In("vllm", "sglang", "tgi", "tensorrt-llm", "lmdeploy", "mlc"):
		return "vllm"
	}
	return "transformers"
}

// contextOf is the context of the log, else 4096.
func contextOf(c *Case, m *fit.Model) int {
	n := 0
	switch f := c.F(); {
	case f.Context != nil:
		n = int(f.Context.Value)
	case f.MaxModelLen != nil:
		n = int(f.MaxModelLen.Value)
	default:
		n = IntSetting(c, "n_ctx", "ctx_size", "num_ctx", "max_model_len", "context_length", "max_seq_len")
	}
	if n <= 0 || n > 1<<24 {
		n = 4096
	}
	if m != nil && m.Context > 0 {
		n = min(n, m.Context)
	}
	return n
}

// FormatOf is the format of the weights as name or arguments state it.
func FormatOf(c *Case, name string) (format string, stated bool) {
	switch {
	case SetQuantised(c, "load_in_4bit") != "":
		return cmp.Or(name, "nf4"), true
	case SetQuantised(c, "load_in_8bit") != "":
		return cmp.Or(name, "int8"), true
	}
	return name, name != ""
}

// Need is what the model takes on the card in a format, all of it there.
func (z Sizing) Need(m fit.Match, format string) (int64, bool) {
	s := z.Setting
	if s.Engine == "transformers" && slices.Contains(ggufFormats, format) {
		s.Engine = "llama.cpp" // another program runs that file
	}
	if m.Model != nil {
		s.Context = min(s.Context, max(m.Model.Context, 512))
		if n, err := m.Model.Need(format, s, -1); err == nil {
			return n.Sum(), true
		}
	}
	w, ok := fit.WeightBytes(m.Parameters, format)
	return w + BesideWeights, ok
}

// Formats are smaller ones than the present, from large to small.
func (z Sizing) Formats() []string {
	if z.server {
		return []string{"fp8", "awq-int4"}
	}
	return ggufFormats
}

var ggufFormats = []string{"Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "IQ4_XS", "Q3_K_M", "IQ3_XXS", "Q2_K", "IQ2_XS"}

// LowerQuant is the largest smaller format that fits, else the smallest of all.
func (z Sizing) LowerQuant() (format string, need int64, ok bool) {
	now, known := z.Need(z.Match, z.Format)
	for _, f := range z.Formats() {
		n, sized := z.Need(z.Match, f)
		if !sized || known && z.known && n >= now {
			continue
		}
		format, need, ok = f, n, true
		if n <= z.Have {
			break
		}
	}
	return format, need, ok
}

// Basis says where the format comes from.
func (z Sizing) Basis() string {
	if z.Match.Model == nil {
		billions := strings.TrimSuffix(fmt.Sprintf("%.1f", float64(z.Match.Parameters)/1e9), ".0")
		return fmt.Sprintf(" Estimated from the %s billion parameters in its name.", billions)
	}
	return fmt.Sprintf(" Computed from the shape of %s.", z.Match.Model.ID)
}

// Smaller is a model that fits the card: a smaller one of the family in the
// same format, else a current one.
func (z Sizing) Smaller() (name, format string, need int64, ok bool) {
	if z.Match.Model != nil {
		for _, m := range z.Match.Model.Smaller() {
			n, sized := z.Need(fit.Match{Model: m, Parameters: m.Parameters}, z.Format)
			if sized && n <= z.Have {
				return m.ID, z.Format, n, true
			}
		}
	}
	s := z.Setting
	list, _, err := fit.Choices(fit.Request{VRAM: z.Have, Setting: s})
	if err != nil || len(list) == 0 || list[0].Parameters >= z.Match.Parameters {
		return "", "", 0, false
	}
	return list[0].Model, list[0].Format, list[0].NeedBytes, true
}

// SetQuantised says that loading in few bits was asked for already.
func SetQuantised(c *Case, settings ...string) string {
	s, ok := c.Setting(settings...)
	if !ok || !strings.EqualFold(s.Value, "true") {
		return ""
	}
	return fmt.Sprintf("%s is already set (line %d).", s.Name, s.Line)
}

// Named is what the model's name says; its zero value where the log names no
// model.
func Named(c *Case) fit.Match {
	if c.Model == nil {
		return fit.Match{}
	}
	if c.named == nil || c.namedAs != c.Model.Name {
		m := fit.Find(c.Model.Name)
		c.named, c.namedAs = &m, c.Model.Name
	}
	return *c.named
}

// Quantised names the format of a model whose checkpoint is quantised already,
// "" for 16 or 32 bit and where the name does not say.
func Quantised(c *Case) string {
	switch f := strings.ToLower(Named(c).Format); {
	case f == "", strings.Contains(f, "16"), strings.Contains(f, "32"):
		return ""
	default:
		return f
	}
}

// AlreadyQuantised says why loading in 4 or 8 bit cannot help, "" if it may.
func AlreadyQuantised(c *Case) string {
	format := Quantised(c)
	if format == "" || format == "fp8" {
		return ""
	}
	return fmt.Sprintf("%s is already quantised (%s), and bitsandbytes cannot quantise it again.", quote.Told(c.Model.Name), format)
}

// WeightsIn is what the model's weights take in a format, for a model whose
// size the name tells; "" means the format that the name tells.
func WeightsIn(c *Case, format string) (int64, bool) {
	m := Named(c)
	format = cmp.Or(format, m.Format)
	if m.Model != nil {
		if w, err := m.Model.Weights(format); err == nil {
			return w.Total, true
		}
	}
	return fit.WeightBytes(m.Parameters, format)
}

// BesideWeights is what a short prompt needs beside the weights: the CUDA
// context, a small cache, activations.
const BesideWeights = 3 * units.GiB / 2
