package fit

// transformersSlack is fitted: cuBLAS workspace and small buffers.
const transformersSlack = 35 * MiB

// Peak is what transformers' generate takes at batch 1 on one card, with flash
// or memory-efficient attention.
type Peak struct {
	Weights int64
	// CacheEnd is the cache of prompt and answer, CacheStart of the prompt.
	CacheEnd, CacheStart int64
	// Rows are the activations of the prompt when it passes in one piece.
	Rows int64
	// Slack is small buffers.
	Slack int64
	// Loading is a copy of the head that AWQ of a tied model had beside the
	// weights while it loaded (transformers 4.46; no longer in 4.51).
	Loading int64
}

// Total is the peak when the prompt passes in one piece:
//
//	weights + max(KV(prompt+new), KV(prompt) + prompt x 2 x (3 x ffn + 3.4 x hidden)) + 35 MiB
//
// or that of loading. The factors 3 and 3.4 are fitted on published peaks of
// Qwen2.5 (transformers 4.46): median error 0.9 %.
func (p Peak) Total() int64 {
	return p.Weights + max(p.Loading, max(p.CacheEnd, p.CacheStart+p.Rows)+p.Slack)
}

// Over is the sum of the peaks of several cards that share the layers: each
// holds the rows of the prompt when it is its turn.
func (p Peak) Over(cards int) Peak {
	p.Rows *= int64(max(1, cards))
	return p
}

// Resident is Total without the rows: weights, cache and slack. Published peaks
// of Qwen3 (transformers 4.51) are this to 0.1 %.
func (p Peak) Resident() int64 { return p.Weights + p.CacheEnd + p.Slack }

// TransformersPeak sizes a generation of new tokens after a prompt.
func (m *Model) TransformersPeak(format string, prompt, generated int) (Peak, error) {
	w, err := m.Weights(format)
	if err != nil {
		return Peak{}, err
	}
	return m.transformersPeak(w, prompt, generated)
}

func (m *Model) transformersPeak(w Weights, prompt, generated int) (Peak, error) {
	end, err := m.KV(KVOptions{Context: prompt + generated, exactCells: true, FullWindow: true})
	if err != nil {
		return Peak{}, err
	}
	start, err := m.KV(KVOptions{Context: prompt, exactCells: true, FullWindow: true})
	if err != nil {
		return Peak{}, err
	}
	p := Peak{Weights: w.Total + w.Vision, CacheEnd: end.Total(), CacheStart: start.Total()}
	p.Rows = int64(float64(prompt) * 2 * (3*float64(m.ffnWidth()) + 3.4*float64(m.Hidden)))
	p.Slack = transformersSlack
	if m.Tied && w.Format == "awq-int4" {
		p.Loading = 2 * m.Vocab * m.Hidden
	}
	return p, nil
}
