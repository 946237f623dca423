package fit

import "cmp"

// projectorBuffer is what the vision tower computes with: 248 MiB were measured
// for a tower of 0.46 B, 322 for one of 0.4.
const projectorBuffer = 300 * MiB

// beside adds the models that run beside the main one: the projector, and a
// draft with all its layers on the card and a cache as long.
func (s Setting) beside(m *Model, n *Need) error {
	if s.Projector && m.VisionParameters > 0 {
		n.Weights += 2 * m.VisionParameters
		n.Compute += projectorBuffer
	}
	if s.Draft == nil {
		return nil
	}
	d := s
	d.Draft, d.Projector, d.KVType, d.CPUExperts, d.Cards = nil, false, "f16", 0, 1
	z, err := s.Draft.sized(cmp.Or(s.DraftFormat, "Q8_0"))
	if err != nil {
		return err
	}
	need, err := z.needLlama(z.w, d, -1)
	if err != nil {
		return err
	}
	n.Weights, n.KV, n.Compute, n.CPUWeights = n.Weights+need.Weights, n.KV+need.KV, n.Compute+need.Compute, n.CPUWeights+need.CPUWeights
	return nil
}
