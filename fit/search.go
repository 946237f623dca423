package fit

import (
	"cmp"
	"sort"
)

// MostLayers is the largest number of layers that fits have bytes, -1 if even
// none does, and what they need. Of a mixture of experts llama.cpp gets all of
// them, with the experts of as few as possible in RAM. All of them need only fit; if some stay behind
// anyway, the reserve stays free too.
func (m *Model) MostLayers(format string, s Setting, have int64) (int, Need, error) {
	z, err := m.sized(format)
	if err != nil {
		return 0, Need{}, err
	}
	return z.mostLayers(s.defaults(), have)
}

func (z sized) mostLayers(s Setting, have int64) (int, Need, error) {
	all, err := z.need(s, -1)
	if err != nil || all.Sum() <= have {
		return all.Layers, all, err
	}
	if !s.llama() || z.Layers == 0 {
		return -1, all, nil
	}
	if n, ok := z.fewestCPUExperts(s, have); ok {
		return n.Layers, n, nil
	}
	// Not even that is enough: the layers take what their experts do not.
	if z.w.Experts != nil && s.splitsExperts() {
		s.CPUExperts = len(z.w.Experts)
	}
	// More layers never need less, so that the first number which is too many
	// can be searched by halves.
	n := sort.Search(all.Total, func(n int) bool {
		need, e := z.needLlama(z.w, s, n)
		err = cmp.Or(err, e)
		return e != nil || need.Sum()+need.Reserve > have
	}) - 1
	if n < 0 || err != nil {
		return -1, all, err
	}
	need, err := z.needLlama(z.w, s, n)
	return n, need, err
}

// fewestCPUExperts keeps as many experts on the card as fit it with the reserve,
// and everything else. For a mixture this is faster than whole layers in RAM:
// attention stays on the card, and of the experts a token meets few.
func (z sized) fewestCPUExperts(s Setting, have int64) (Need, bool) {
	if z.w.Experts == nil || !s.splitsExperts() {
		return Need{}, false
	}
	for n := range len(z.w.Experts) + 1 {
		s.CPUExperts = n
		need, err := z.need(s, -1)
		if err != nil {
			return Need{}, false
		}
		if need.Sum()+need.Reserve <= have {
			return need, true
		}
	}
	return Need{}, false
}

// LongestContext is the longest context, a multiple of 256, that fits have
// bytes with everything on the card; at most the model's own, 0 if none does.
func (m *Model) LongestContext(format string, s Setting, have int64) int {
	z, err := m.sized(format)
	if err != nil {
		return 0
	}
	return z.longestContext(s.defaults(), have)
}

func (z sized) longestContext(s Setting, have int64) int {
	const step = 256
	return step * (sort.Search(z.Context/step, func(i int) bool {
		s.Context = (i + 1) * step
		n, err := z.need(s, -1)
		return err != nil || n.Sum() > have
	}))
}

// FewestCPUExperts is the smallest N for llama.cpp's --n-cpu-moe N, the experts
// of the first N layers in RAM and all else on the card, that fits have bytes
// with the reserve; false for dense models and if even all experts in RAM do
// not make it fit. For a mixture this is faster than whole layers in RAM.
func (m *Model) FewestCPUExperts(format string, s Setting, have int64) (int, bool) {
	z, err := m.sized(format)
	if err != nil {
		return 0, false
	}
	need, ok := z.fewestCPUExperts(s.defaults(), have)
	return need.CPUExperts, ok
}
