package fit

import (
	"fmt"
	"slices"
)

// Step is one setting changed by one step from the recommended row.
type Step struct {
	What string `json:"what"`
	// Bytes more on the card, negative where it saves.
	Bytes int64 `json:"bytes"`
	// Verdict with everything on the card: fits, tight or no.
	Verdict string `json:"verdict"`
}

// steps are what one step up or down costs: format, context, cache type, slots.
// All layers are on the card before and after, so that the difference is the
// step's alone.
func (p *Plan) steps(r Request, m *Model) []Step {
	if m == nil || p.Card == nil || m.Kind == "diffusion" || m.Layers == 0 || len(p.Rows) == 0 {
		return nil
	}
	best := p.best()
	s := r.Setting
	s.Context, s.CPUExperts = best.Context, 0
	now, err := m.Need(best.Format, s, -1)
	if err != nil {
		return nil
	}
	var out []Step
	add := func(what, format string, s Setting) {
		n, err := m.Need(format, s, -1)
		if err == nil && n.Sum() != now.Sum() {
			out = append(out, Step{what, n.Sum() - now.Sum(), n.verdict(p.Card.TotalBytes)})
		}
	}
	ladder := r.possible(p.Card, r.ladder(m))
	if i := slices.Index(ladder, best.Format); i >= 0 {
		if i > 0 {
			add(ladder[i-1]+" instead of "+best.Format, ladder[i-1], s)
		}
		if i+1 < len(ladder) {
			add(ladder[i+1]+" instead of "+best.Format, ladder[i+1], s)
		}
	}
	context := func(n int) {
		longer := s
		longer.Context = n
		add(fmt.Sprintf("a context of %d", n), best.Format, longer)
	}
	if 2*best.Context <= m.Context {
		context(2 * best.Context)
	}
	if best.Context >= 2048 {
		context(best.Context / 2)
	}
	if t := map[string]string{"f16": "q8_0", "q8_0": "q4_0"}[s.KVType]; t != "" && s.llama() && !s.NoFlashAttention {
		smaller := s
		smaller.KVType = t
		add("a cache in "+t, best.Format, smaller)
	}
	more := s
	more.Parallel++
	add("one request more at once", best.Format, more)
	return out
}

// ladder are the formats of the request's engine, whatever was asked for.
func (r Request) ladder(m *Model) []string {
	r.Formats, r.Model = nil, m.ID
	return r.formats(m)
}
