package render

import (
	"strconv"

	"github.com/oomdoc/oomdoc/diagnose"
)

// event is what kind of failure an incident is, as far as a reader cares.
type event int

const (
	refused   event = iota // an allocation was refused
	killed                 // the system ended the program
	noCache                // the KV cache does not fit
	overShare              // an engine's budget is more than what is free
	overCard               // a compiler planned more than there is (XLA)
	noSystem               // a check found too little system memory
)

func eventOf(in *diagnose.Incident) event {
	f := in.Figures
	switch {
	case f.KilledRSS != nil, in.Framework == "linux-oom-killer", in.Framework == "kubernetes", in.Framework == "slurm":
		return killed
	case f.KVAvailable != nil && f.Requested == nil:
		return noCache
	case f.Desired != nil && f.Requested == nil && f.Utilization != nil:
		return overShare
	case f.Desired != nil && f.Requested == nil:
		return overCard
	case f.SystemRequired != nil && f.Requested == nil:
		return noSystem
	}
	return refused
}

// ceiling is all that there is to have: the card, or a limit below it.
func ceiling(f diagnose.Figures) *diagnose.Size {
	if f.Limit != nil && (f.Total == nil || f.Limit.Bytes < f.Total.Bytes) {
		return f.Limit
	}
	return f.Total
}

// thousands writes a count with separators: 131,072.
func thousands(v float64) string {
	s := strconv.FormatFloat(v, 'f', -1, 64)
	for i := len(s) - 3; i > 0 && s[0] != '-' && v == float64(int64(v)); i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
