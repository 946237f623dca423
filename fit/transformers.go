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
}

// Total is the peak when the prompt passes in one piece:
//
//	weights + max(KV(prompt+new), KV(prompt) + prompt x 2 x (3 x ffn + 3.4 x hidden)) + 35 MiB
//
// The factors 3 and 3.4 are fitted on published peaks of Qwen2.5
// (transformers 4.46): median error 0.9 %. Too low by up to 34 % for AWQ of
// half a billion without a prompt, where the peak is in loading, and by 13 %
// over several cards.
func (p Peak) Total() int64 {
	return p.Weights + max(p.CacheEnd, p.CacheStart+p.Rows) + p.Slack
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
	if prompt > 16 {
		p.Slack = transformersSlack
	}
	return p, nil
}
