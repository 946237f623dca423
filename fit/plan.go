package fit

import (
	"cmp"
	"fmt"
	"slices"
)

// Plan is the answer, in the shape of `oomdoc fit --json`.
type Plan struct {
	Schema string    `json:"schema"`
	Model  PlanModel `json:"model"`
	Card   *PlanCard `json:"card,omitempty"`
	Engine string    `json:"engine"`
	Rows   []Row     `json:"rows"`
	// Recommended is an index of Rows, -1 when nothing fits.
	Recommended int      `json:"recommended"`
	Command     string   `json:"command,omitempty"`
	Notes       []string `json:"notes,omitempty"`
	// Steps are what one step from the recommended row costs.
	Steps []Step `json:"steps,omitempty"`
}

// PlanModel is the model that was planned for.
type PlanModel struct {
	ID               string `json:"id"`
	Parameters       int64  `json:"parameters"`
	ActiveParameters int64  `json:"active_parameters"`
	Layers           int    `json:"layers,omitempty"`
	MaxContext       int    `json:"max_context,omitempty"`
	// Basis is catalogue, own catalogue, gguf, config, or name: only the size that
	// the name says is known.
	Basis string `json:"basis"`
	// Kind of a model that only its name tells: video, pictures, speech,
	// embeddings, proteins.
	Kind string `json:"kind,omitempty"`
}

// PlanCard is the memory that was planned for.
type PlanCard struct {
	Name       string `json:"name,omitempty"`
	TotalBytes int64  `json:"total_bytes"`
	Basis      string `json:"basis"`
	// Count of cards of that name, of which TotalBytes is the sum; 0 for one.
	Count int `json:"count,omitempty"`
	// OthersBytes is what other programs hold of this computer's cards; TotalBytes
	// is less by that.
	OthersBytes int64 `json:"others_bytes,omitempty"`
	// RAMBytes is the RAM that there is for what does not lie on the card.
	RAMBytes int64 `json:"ram_bytes,omitempty"`
	// ram is all that a Mac has, of which TotalBytes is the GPU's share.
	ram   int64
	infos []*CardInfo
	notes []string
}

// Row is one format and context.
type Row struct {
	Format          string `json:"format"`
	Context         int    `json:"context"`
	KVType          string `json:"kv_type"`
	WeightsBytes    int64  `json:"weights_bytes"`
	CPUWeightsBytes int64  `json:"cpu_weights_bytes"`
	KVBytes         int64  `json:"kv_bytes"`
	ComputeBytes    int64  `json:"compute_bytes"`
	OverheadBytes   int64  `json:"overhead_bytes"`
	ReserveBytes    int64  `json:"reserve_bytes"`
	NeedBytes       int64  `json:"need_bytes"`
	HaveBytes       *int64 `json:"have_bytes,omitempty"`
	Verdict         string `json:"verdict"`
	SpareBytes      *int64 `json:"spare_bytes,omitempty"`
	GPULayers       int    `json:"gpu_layers,omitempty"`
	TotalLayers     int    `json:"total_layers,omitempty"`
	// CPUExpertLayers is llama.cpp's --n-cpu-moe: with all layers on the card, the
	// experts of so many stay in RAM.
	CPUExpertLayers int `json:"cpu_expert_layers,omitempty"`
	// RAMBytes is what lies in RAM: weights and caches of layers that are not on
	// the card, the embeddings.
	RAMBytes int64 `json:"ram_bytes,omitempty"`
	// TokensPerSecond of one request, at most: an estimate from the bandwidth.
	TokensPerSecond float64 `json:"tokens_per_second_at_most,omitempty"`
}

// NewPlan says what of a model fits a card. It fails on a name, a format, a
// cache type or a card that it does not know.
func NewPlan(r Request) (Plan, error) {
	wanted := r.Setting.Context
	if err := r.checkVersion(); err != nil {
		return Plan{}, err
	}
	if r.Engine == "" && r.Known == nil {
		r.Engine = engineOf(Find(r.Model).Format)
	}
	r.Setting = r.Setting.defaults()
	r.Server = r.Engine == "" || r.Engine == "llama.cpp"
	m, pm, err := r.model()
	if err != nil {
		return Plan{}, err
	}
	if err := r.check(); err != nil {
		return Plan{}, err
	}
	card, err := r.card()
	if err != nil {
		return Plan{}, err
	}
	if err := r.checkCapability(card); err != nil {
		return Plan{}, err
	}
	if card != nil {
		card.RAMBytes = r.RAM
	}
	p := Plan{Schema: "oomdoc.fit.v1", Model: pm, Card: card, Engine: r.engine(m), Recommended: -1}
	contexts, preferred := r.contexts(m, wanted)
	for _, format := range r.possible(card, r.formats(m)) {
		need, err := r.needs(m, pm, card, format)
		if err != nil {
			return Plan{}, err
		}
		for _, context := range contexts {
			s := r.Setting
			s.Context = context
			n, err := need(s)
			if err != nil {
				return Plan{}, err
			}
			row := newRow(format, s, n, card)
			row.TokensPerSecond = p.tokensPerSecond(row)
			p.Rows = append(p.Rows, row)
		}
	}
	p.sort()
	p.recommend(preferred)
	p.finish(r, m)
	return p, nil
}

// check refuses what the engine cannot do.
func (s Setting) check() error {
	if _, ok := engineNamed(s.Engine); !ok {
		return fmt.Errorf("%w: %q", ErrEngine, s.Engine)
	}
	switch {
	case s.Draft != nil && !s.server():
		return fmt.Errorf("%w: drafts are counted for llama-server only, not for %s", ErrEngine, s.engine())
	case s.Projector && !s.llama():
		return fmt.Errorf("%w: %s has the vision tower in its checkpoint, which is counted; a projector is llama.cpp's", ErrEngine, s.engine())
	}
	return s.checkCacheType()
}

// macOS is what the system and its programs keep at least.
const macOS = 2 * GiB

func newRow(format string, s Setting, n Need, card *PlanCard) Row {
	row := Row{
		Format: format, Context: s.Context, KVType: s.KVType, WeightsBytes: n.Weights, CPUWeightsBytes: n.CPUWeights, KVBytes: n.KV,
		ComputeBytes: n.Compute, OverheadBytes: n.Overhead, ReserveBytes: n.Reserve, NeedBytes: n.Sum(),
		Verdict: "unknown", GPULayers: n.Layers, TotalLayers: n.Total, CPUExpertLayers: n.CPUExperts, RAMBytes: n.CPUWeights + n.CPUKV,
	}
	if card != nil {
		have, spare := card.TotalBytes, card.TotalBytes-n.Sum()
		row.HaveBytes, row.SpareBytes, row.Verdict = &have, &spare, n.verdict(have)
	}
	if row.Verdict == "offload" && (n.Layers == 0 || card.RAMBytes > 0 && row.RAMBytes > card.RAMBytes) {
		row.Verdict = "no"
	}
	return row
}

// needOfSize guesses for a model of which only the size is known: weights and
// cache like those of the catalogue's models of that size, no layers.
func needOfSize(pm PlanModel, format string, s Setting) (Need, error) {
	parameters := pm.Parameters
	w, ok := WeightBytes(parameters, format)
	if !ok {
		return Need{}, fmt.Errorf("%w: %q", ErrFormat, format)
	}
	if pm.Kind != "" {
		return Need{Weights: w, Overhead: s.driver(), Reserve: s.reserve(2 * GiB), Layers: 1, Total: 1}, nil
	}
	like := likeSize(parameters)
	n, err := like.Need(format, s, -1)
	n.Weights = w
	n.CPUWeights = 0
	n.Layers, n.Total = 0, 0
	return n, err
}

// likeSize is the dense model of the catalogue nearest in size that has grouped
// queries, as nearly all since 2024.
func likeSize(parameters int64) *Model {
	var best *Model
	distance := func(m *Model) float64 {
		r := float64(m.Parameters) / float64(parameters)
		return max(r, 1/r)
	}
	for _, m := range Models() {
		if m.Kind == "llm" && m.MoE == nil && m.Pattern == "" && m.KVHeads < m.Heads && (best == nil || distance(m) < distance(best)) {
			best = m
		}
	}
	return best
}

// sort puts the best first: what fits before what is tight, offloaded or too
// large; among those the longer context, then the larger format. Formats that
// harm a model come after a better one with some layers in RAM.
func (p *Plan) sort() {
	slices.SortStableFunc(p.Rows, func(a, b Row) int {
		if c := cmp.Compare(p.rank(a), p.rank(b)); c != 0 {
			return c
		}
		switch a.Verdict {
		case "offload":
			return cmp.Or(cmp.Compare(p.coarse(a), p.coarse(b)), cmp.Compare(weightShare(b), weightShare(a)))
		case "no":
			return cmp.Compare(a.NeedBytes+a.RAMBytes, b.NeedBytes+b.RAMBytes)
		}
		return cmp.Or(cmp.Compare(p.coarse(a), p.coarse(b)), cmp.Compare(b.Context, a.Context), cmp.Compare(b.WeightsBytes+b.CPUWeightsBytes, a.WeightsBytes+a.CPUWeightsBytes))
	})
}

func (p *Plan) rank(r Row) int {
	harmful := p.bits(r) < 3.5
	switch {
	case (r.Verdict == "fits" || r.Verdict == "unknown") && !harmful:
		return 0
	case r.Verdict == "tight" && !harmful:
		return 1
	case r.Verdict == "offload" && p.coarse(r) == 0 && 2*r.GPULayers >= r.TotalLayers:
		return 2
	case r.Verdict == "no":
		return 5
	case r.Verdict == "offload":
		return 4
	}
	return 3
}

// bits a weight.
func (p *Plan) bits(r Row) float64 {
	return 8 * float64(r.WeightsBytes+r.CPUWeightsBytes) / float64(max(1, p.Model.Parameters))
}

// coarse is 1 for less than 4 bits a weight: a longer context is not worth that.
func (p *Plan) coarse(r Row) int {
	if p.bits(r) < 4 {
		return 1
	}
	return 0
}

// weightShare is how much of the weights lies on the card.
func weightShare(r Row) float64 {
	return float64(r.WeightsBytes) / float64(max(1, r.WeightsBytes+r.CPUWeightsBytes))
}

// recommend puts the best row with a context first, or leaves the best of all
// there where none with it runs.
func (p *Plan) recommend(context int) {
	if p.Card == nil || len(p.Rows) == 0 || p.Rows[0].Verdict == "no" {
		return
	}
	p.Recommended = 0
	i := slices.IndexFunc(p.Rows, func(r Row) bool { return r.Context == context && r.Verdict != "no" })
	if i > 0 {
		best := p.Rows[i]
		p.Rows = slices.Insert(slices.Delete(p.Rows, i, i+1), 0, best)
	}
}

// finish adds the command and the notes.
func (p *Plan) finish(r Request, m *Model) {
	if p.Recommended >= 0 && p.Model.Kind == "" {
		switch row := p.Rows[p.Recommended]; {
		case p.Engine == "diffusers":
			p.Command = pictureCall(r.Setting, row)
		case p.Engine == "faster-whisper":
			p.Command = speechCall(m, row)
		case r.runs(row.Format):
			p.Command = command(r, row)
		}
	}
	p.Notes = append(p.notes(r, m), p.roomNotes(r)...)
	p.Steps = p.steps(r, m)
}

// Recommend is the best row for a model in have bytes at a context: the largest
// GGUF format that fits, else the layers of Q4_K_M that can be offloaded.
// It is false when not a single layer fits.
func (m *Model) Recommend(have int64, context int) (Row, bool) {
	s, card := Setting{Context: context}.defaults(), &PlanCard{TotalBytes: have}
	formats := ggufFormats(m)
	need := func(format string) (Need, error) {
		_, n, err := m.MostLayers(format, s, have)
		return n, err
	}
	for _, verdict := range []string{"fits", "tight"} {
		for _, f := range formats {
			if n, err := need(f); err == nil && n.verdict(have) == verdict {
				return newRow(f, s, n, card), true
			}
		}
	}
	usual := "Q4_K_M"
	if len(formats) == 1 {
		usual = formats[0]
	}
	n, err := need(usual)
	row := newRow(usual, s, n, card)
	return row, err == nil && row.Verdict == "offload"
}
