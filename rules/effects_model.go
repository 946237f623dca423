package rules

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/units"
)

// sizing computes with the model's name where the log's own figures do not
// reach: what the model takes in another format, of another size, on another
// card. What it says is an estimate, never put in the place of an engine's
// arithmetic on the log.
type sizing struct {
	c       *Case
	name    string
	match   fit.Match
	have    int64 // what the card offers this program
	format  string
	setting fit.Setting
	server  bool // vLLM and the like: checkpoints, no GGUF
	known   bool // the format is stated, not only usual
}

// sizingOf is false where the model or the card is not known, and in training,
// where weights are the smaller part.
func sizingOf(c *Case) (sizing, bool) {
	z := sizing{c: c, match: named(c)}
	have, ok := cardBytes(c)
	if !ok || z.match.Parameters < smallestSized || c.Training() || !onCard(c) {
		return z, false
	}
	if manyCards(c) || c.In("diffusers", "comfyui", "a1111", "exllama", "mlx", "jax", "tensorflow") {
		return z, false // a part of it, one of several models, or formats of their own
	}
	if m := z.match.Model; m != nil && (m.Kind == "diffusion" || m.Kind == "speech") {
		return z, false // pictures and sound decide, not the weights
	}
	z.name, z.have = printable(c.Model.Name), have
	z.setting = fit.Setting{Engine: engineOf(c), Context: contextOf(c, z.match.Model), KVType: "f16"}
	z.server = z.setting.Engine == "vllm"
	z.format, z.known = formatOf(c, z.match.Format)
	if z.format == "" && (z.setting.Engine == "llama.cpp" || z.setting.Engine == "ollama") {
		z.format = "Q4_K_M" // what nearly everybody loads
	}
	z.format = cmp.Or(z.format, "bf16")
	return z, true
}

// manyCards reports that the model is spread over several cards.
func manyCards(c *Case) bool {
	if d := c.F().Device; d != nil && d.Value > 0 || strings.HasPrefix(c.Failure.Source, "rank") || c.Signal("distributed") != nil || intSetting(c, "tensor_parallel_size", "tp_size", "tp") > 1 || intSetting(c, "pipeline_parallel_size") > 1 {
		return true
	}
	cards := map[int]bool{}
	for _, d := range c.Facts.Devices {
		if d.Index >= 0 && !strings.EqualFold(d.Backend, "cpu") {
			cards[d.Index] = true
		}
	}
	return len(cards) > 1
}

// smallestSized: below, weights explain no full card.
const smallestSized = 100e6

// cardBytes is what the failing card offers this program: all of it less what
// others hold.
func cardBytes(c *Case) (int64, bool) {
	f := c.F()
	switch {
	case f.Limit != nil && (c.Backend == "mps" || c.Backend == "metal"):
		return f.Limit.Bytes, true
	case f.Total != nil && f.Total.Bytes > units.GiB:
		if bytes, ok := held(c); ok && c.Others.Has() && bytes > units.GiB {
			return f.Total.Bytes - bytes, true
		}
		return f.Total.Bytes, true
	}
	bytes := int64(0)
	for _, d := range c.Facts.Devices {
		switch card, ok := fit.Card(d.Name); {
		case d.Total != nil:
			bytes = d.Total.Bytes
		case ok:
			bytes = card.TotalBytes
		}
	}
	return bytes, bytes > units.GiB
}

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
		n = intSetting(c, "n_ctx", "ctx_size", "num_ctx", "max_model_len", "context_length", "max_seq_len")
	}
	if n <= 0 || n > 1<<24 {
		n = 4096
	}
	if m != nil && m.Context > 0 {
		n = min(n, m.Context)
	}
	return n
}

// formatOf is the format of the weights as name or arguments state it.
func formatOf(c *Case, name string) (format string, stated bool) {
	switch {
	case setQuantised(c, "load_in_4bit") != "":
		return cmp.Or(name, "nf4"), true
	case setQuantised(c, "load_in_8bit") != "":
		return cmp.Or(name, "int8"), true
	}
	return name, name != ""
}

// need is what the model takes on the card in a format, all of it there.
func (z sizing) need(m fit.Match, format string) (int64, bool) {
	s := z.setting
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
	return w + besideWeights, ok
}

// formats are smaller ones than the present, from large to small.
func (z sizing) formats() []string {
	if z.server {
		return []string{"fp8", "awq-int4"}
	}
	return ggufFormats
}

var ggufFormats = []string{"Q8_0", "Q6_K", "Q5_K_M", "Q4_K_M", "IQ4_XS", "Q3_K_M", "IQ3_XXS", "Q2_K", "IQ2_XS"}

// lowerQuant is the largest smaller format that fits, else the smallest of all.
func (z sizing) lowerQuant() (format string, need int64, ok bool) {
	now, known := z.need(z.match, z.format)
	for _, f := range z.formats() {
		n, sized := z.need(z.match, f)
		if !sized || known && z.known && n >= now {
			continue
		}
		format, need, ok = f, n, true
		if n <= z.have {
			break
		}
	}
	return format, need, ok
}

// estimated is the effect of a fix by the model's size, nil where the size
// does not tell.
func estimated(c *Case, fix string) *Effect {
	z, ok := sizingOf(c)
	if !ok {
		return nil
	}
	switch fix {
	case "use_lower_quant":
		return z.effectLowerQuant()
	case "load_in_4bit":
		return z.effectLoad(c, "nf4", "4 bit")
	case "load_in_8bit":
		return z.effectLoad(c, "int8", "8 bit")
	case "half_precision":
		return z.effectLoad(c, "bf16", "16 bit")
	case "cpu_offload":
		return z.effectOffload()
	case "multi_gpu":
		return z.effectCards()
	case "use_smaller_model":
		return z.effectSmaller()
	case "bigger_gpu":
		return z.effectBigger()
	}
	return nil
}

// effect states an estimate against the card.
func (z sizing) effect(need, have int64, how string, args ...any) *Effect {
	return &Effect{NeedBytes: need, HaveBytes: have, Fits: need <= have, Basis: "estimate", Note: fmt.Sprintf(how, args...) + z.basis()}
}

func (z sizing) basis() string {
	if z.match.Model == nil {
		return fmt.Sprintf(" From the %s billion parameters of its name.", billion(z.match.Parameters))
	}
	return fmt.Sprintf(" Computed from the shape of %s.", z.match.Model.ID)
}

func billion(n int64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", float64(n)/1e9), ".0") }

func (z sizing) effectLowerQuant() *Effect {
	format, need, ok := z.lowerQuant()
	if !ok {
		return nil
	}
	return z.effect(need, z.have, "%s with everything on the card, at %d tokens of context.", format, z.setting.Context)
}

func (z sizing) effectLoad(c *Case, format, label string) *Effect {
	if z.setting.Engine != "transformers" || format != "bf16" && alreadyQuantised(c) != "" {
		return nil
	}
	need, ok := z.need(z.match, format)
	if !ok {
		return nil
	}
	return z.effect(need, z.have, "Weights at %s with %d tokens of context.", label, z.setting.Context)
}

// effectOffload: the card takes what it can, the RAM must hold the rest.
func (z sizing) effectOffload() *Effect {
	weights, ok := z.weights()
	share := z.have - besideWeights
	if !ok || share <= 0 || weights <= share {
		return nil
	}
	return z.effect(share, z.have, "%s of the weights stay on the card and %s go to system memory: so much must be free there.", units.Format(share), units.Format(weights-share))
}

func (z sizing) weights() (int64, bool) {
	return weightsIn(z.c, z.format)
}

// effectCards: how many cards like this one hold the weights.
func (z sizing) effectCards() *Effect {
	weights, ok := z.weights()
	each := z.have - besideWeights
	if !ok || each <= 0 || weights <= each {
		return nil
	}
	n := ceilDiv(weights, each)
	return z.effect(weights/n+besideWeights, z.have, "%d cards like this one hold it at %s, each an equal part and %s beside.", n, z.format, units.Format(besideWeights))
}

// smaller is a model that fits the card: a smaller one of the family in the
// same format, else a current one.
func (z sizing) smaller() (name, format string, need int64, ok bool) {
	if z.match.Model != nil {
		for _, m := range z.match.Model.Smaller() {
			n, sized := z.need(fit.Match{Model: m, Parameters: m.Parameters}, z.format)
			if sized && n <= z.have {
				return m.ID, z.format, n, true
			}
		}
	}
	s := z.setting
	list, _, err := fit.Choices(fit.Request{VRAM: z.have, Setting: s})
	if err != nil || len(list) == 0 || list[0].Parameters >= z.match.Parameters {
		return "", "", 0, false
	}
	return list[0].Model, list[0].Format, list[0].NeedBytes, true
}

func (z sizing) effectSmaller() *Effect {
	name, format, need, ok := z.smaller()
	if !ok {
		return nil
	}
	e := z.effect(need, z.have, "For example %s in %s, with %d tokens of context, computed from its shape.", name, format, z.setting.Context)
	e.Note = strings.TrimSuffix(e.Note, z.basis())
	return e
}

func (z sizing) effectBigger() *Effect {
	need, ok := z.need(z.match, z.format)
	if !ok || need <= z.have {
		return nil
	}
	card, ok := fit.SmallestCard(need+need/20, "")
	if !ok {
		return nil
	}
	return z.effect(need, card.Bytes, "%s in %s at %d tokens: a card of %d GB, such as %s.", z.name, z.format, z.setting.Context, card.GB, card.Names[0])
}

// sizedSteps puts the figure of a fix before its steps, where the model's size
// gives one.
func sizedSteps(c *Case, fix string, steps []Step) []Step {
	z, ok := sizingOf(c)
	if !ok {
		return steps
	}
	text := ""
	switch fix {
	case "use_lower_quant":
		if format, need, ok := z.lowerQuant(); ok && need <= z.have {
			text = fmt.Sprintf("Take %s in `%s`: the largest usual format that fits this card with %d tokens of context, %s in all.", z.name, format, z.setting.Context, units.Format(need))
		}
	case "use_smaller_model":
		if name, format, need, ok := z.smaller(); ok {
			text = fmt.Sprintf("Fits this card: %s in `%s`, %s in all.", name, format, units.Format(need))
		}
	case "bigger_gpu":
		if e := z.effectBigger(); e != nil {
			text = e.Note
		}
	}
	if text == "" {
		return steps
	}
	return append([]Step{{Kind: "text", Text: text}}, steps...)
}

// Beyond says that a model cannot run on a card whole, in any usual format, by
// how much, and what would: in the report of an incident.
type Beyond struct {
	// Format is the smallest usual one; NeedBytes is what it takes.
	Format    string `json:"format"`
	NeedBytes int64  `json:"need_bytes"`
	HaveBytes int64  `json:"have_bytes"`
	// CardGB is the smallest size of card for it, Card one of them.
	CardGB int64  `json:"card_gb,omitempty"`
	Card   string `json:"card,omitempty"`
	// Model fits this card in ModelFormat.
	Model       string `json:"model,omitempty"`
	ModelFormat string `json:"model_format,omitempty"`
	Note        string `json:"note"`
}

// BeyondCard is what cannot work on the card, nil where something can or
// nothing is known.
func BeyondCard(c *Case, causes []Cause) *Beyond {
	if len(causes) == 0 || causes[0].ID != ModelTooLarge {
		return nil
	}
	z, ok := sizingOf(c)
	if !ok {
		return nil
	}
	formats := z.formats()
	b := &Beyond{Format: formats[len(formats)-1], HaveBytes: z.have}
	if b.NeedBytes, ok = z.need(z.match, b.Format); !ok || b.NeedBytes <= z.have {
		return nil
	}
	b.Note = fmt.Sprintf("No usual format of %s fits this card whole: %s with %d tokens of context still needs %s, %s more than there is.",
		z.name, b.Format, z.setting.Context, units.Format(b.NeedBytes), units.Format(b.NeedBytes-z.have))
	if card, ok := fit.SmallestCard(b.NeedBytes+b.NeedBytes/20, ""); ok {
		b.CardGB, b.Card = card.GB, card.Names[0]
		b.Note += fmt.Sprintf(" The smallest card for that has %d GB (%s).", b.CardGB, b.Card)
	}
	if name, format, _, ok := z.smaller(); ok {
		b.Model, b.ModelFormat = name, format
		b.Note += fmt.Sprintf(" A model that fits: %s in %s.", name, format)
	}
	b.Note += z.basis()
	return b
}

// failingTensor is the tensor of the model that has the size of the failed
// allocation, where the phase allows it: weights while loading, logits and
// attention matrices later.
func failingTensor(c *Case) (fit.Part, bool) {
	f := c.F()
	m := named(c).Model
	if m == nil || f.Requested == nil || !c.Root(fact.TorchAlloc, fact.TorchAsync) {
		return fit.Part{}, false
	}
	slack := int64(0)
	if strings.Contains(f.Requested.Text, "G") {
		slack = 5 * units.MiB // two decimals of a GiB
	}
	var found []fit.Part
	for _, p := range m.Explain(f.Requested.Bytes, slack) {
		if isWeight(p) == (c.Phase == "load") && c.Phase != "unknown" && precise(c, p) {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		return fit.Part{}, false // several tensors have that size: none is proved
	}
	return found[0], true
}

// precise: weights of 8 bit exist only where the format is one of 8 bit.
func precise(c *Case, p fit.Part) bool {
	return !strings.HasSuffix(p.What, ", 8 bit") || strings.Contains(quantised(c), "8") || setQuantised(c, "load_in_8bit") != ""
}

func isWeight(p fit.Part) bool {
	for _, activation := range [...]string{"logits", "attention matrix", "MLP rows"} {
		if strings.Contains(p.What, activation) {
			return false
		}
	}
	return true
}

// whyTensor says what the failed allocation is, "" where that is not known.
func whyTensor(c *Case) string {
	p, ok := failingTensor(c)
	if !ok {
		return ""
	}
	return fmt.Sprintf(" %s is the size of its %s in %s (%s bytes).", c.F().Requested.Text, p.What, named(c).Model.ID, p.Arithmetic)
}
