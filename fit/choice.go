package fit

import (
	"cmp"
	"slices"
	"strings"
)

// current are the models worth a look today, of each family the newest that
// the catalogue has.
var current = []string{
	"qwen3.5-0.8b", "qwen3.5-2b", "qwen3.5-4b", "qwen3.5-9b", "qwen3.5-27b", "qwen3.5-35b-a3b", "qwen3.5-122b-a10b", "qwen3.5-397b-a17b",
	"qwen3-4b", "qwen3-8b", "qwen3-14b", "qwen3-32b", "qwen3-30b-a3b", "qwen3-next-80b-a3b", "qwen3-coder-480b-a35b", "qwen2.5-72b",
	"qwen3-vl-8b", "qwen3-vl-32b", "gemma-3-1b", "gemma-3-4b", "gemma-3-12b", "gemma-3-27b", "gemma-4-e2b", "gemma-4-e4b", "gemma-4-12b", "gemma-4-26b-a4b", "gemma-4-31b",
	"llama-3.2-1b", "llama-3.2-3b", "llama-3.1-8b", "llama-3.3-70b", "llama-4-scout", "llama-4-maverick",
	"ministral-3-3b", "ministral-3-8b", "ministral-3-14b", "mistral-nemo-12b", "mistral-small-24b", "mistral-small-4-119b", "mistral-large-123b",
	"gpt-oss-20b", "gpt-oss-120b", "phi-4-mini", "phi-4", "glm-4.7-flash", "glm-4.5-air-106b", "glm-4.5-355b", "glm-5",
	"deepseek-r1-distill-qwen-1.5b", "deepseek-v3.2", "kimi-k2-1t", "minimax-m2-230b", "command-a-111b", "seed-oss-36b",
	"granite-4.1-3b", "granite-4.1-8b", "granite-4.1-30b", "nemotron-3-nano-30b-a3b", "olmo-2-32b", "smollm3-3b",
}

// Choice is a model that runs well on a card.
type Choice struct {
	Model            string `json:"model"`
	Parameters       int64  `json:"parameters"`
	ActiveParameters int64  `json:"active_parameters"`
	// LongestContext that fits with everything on the card.
	LongestContext int `json:"longest_context"`
	Row
}

// Choices are today's models that fit a card whole with 4 bits a weight or
// more, each in its largest format, the largest model first. The request says
// card, engine and setting; its model is not looked at.
func Choices(r Request) ([]Choice, *PlanCard, error) {
	if err := r.checkVersion(); err != nil {
		return nil, nil, err
	}
	r.Setting = r.Setting.defaults()
	r.Server = r.engine(nil) == "llama.cpp"
	if err := r.check(); err != nil {
		return nil, nil, err
	}
	card, err := r.card()
	if err != nil || card == nil {
		return nil, card, err
	}
	var out []Choice
	for _, m := range currentModels() {
		if c, ok := r.choice(m, card); ok {
			out = append(out, c)
		}
	}
	return out, card, nil
}

// currentModels are the current models of the catalogue, the largest first.
func currentModels() []*Model {
	var out []*Model
	for _, id := range current {
		if m, ok := ModelByID(id); ok {
			out = append(out, m)
		}
	}
	slices.SortStableFunc(out, func(a, b *Model) int { return cmp.Compare(b.Parameters, a.Parameters) })
	return out
}

func (r Request) choice(m *Model, card *PlanCard) (Choice, bool) {
	s := r.Setting
	s.Context = min(s.Context, m.Context)
	if m.Parameters/2 > card.TotalBytes {
		return Choice{}, false // 4 bits a weight, before anything is counted
	}
	for _, format := range r.possible(card, r.formats(m)) {
		z, err := m.sized(format)
		if err != nil {
			continue
		}
		n, err := z.need(s, -1)
		if err != nil || n.verdict(card.TotalBytes) != "fits" || 8*(n.Weights+n.CPUWeights) < 4*m.Parameters {
			continue
		}
		return Choice{
			Model: m.ID, Parameters: m.Parameters, ActiveParameters: cmp.Or(m.ActiveParameters, m.Parameters),
			LongestContext: z.longestContext(s, card.TotalBytes-n.Reserve), Row: newRow(format, s, n, card),
		}, true
	}
	return Choice{}, false
}

// Smaller returns the smaller models of the same family, the largest first:
// those whose ids differ in the size only.
func (m *Model) Smaller() []*Model {
	family := familyOf(m.ID)
	var out []*Model
	for _, o := range Models() {
		if o.Parameters < m.Parameters && o.Kind == m.Kind && family != "" && familyOf(o.ID) == family {
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b *Model) int { return cmp.Compare(b.Parameters, a.Parameters) })
	return out
}

// familyOf cuts the size and what follows off an id: "qwen2.5-vl" of
// qwen2.5-vl-7b. It is empty where there is no size.
func familyOf(id string) string {
	parts := strings.Split(id, "-")
	for i, p := range parts[1:] {
		if sizeToken(p) > 0 {
			return strings.Join(parts[:i+1], "-")
		}
	}
	return ""
}
