package parsers

// phaseSignals say which phase a signal proves, the strongest first.
var phaseSignals = []struct{ signal, phase string }{
	{"optimizer_step", "training"}, {"backward", "training"}, {"training", "training"},
	{"eval_accumulate", "inference"}, {"validating", "inference"},
	{"generating", "inference"}, {"loading", "load"}, {"inferring", "inference"},
}

// PhaseOf returns the phase that the signals of a log prove, or "unknown".
func PhaseOf(f *Facts) string {
	for _, p := range phaseSignals {
		for _, s := range f.Signals {
			if s.ID == p.signal {
				return p.phase
			}
		}
	}
	return "unknown"
}

// Specificity orders kinds by how much they explain: of several statements
// about one crash the highest is the root.
func Specificity(k Kind) int {
	for _, p := range All() {
		if n, ok := p.Explains[k]; ok {
			return n
		}
	}
	return 2
}
