package ledger

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
)

// Ladder is a run that tried one size after the other.
type Ladder struct {
	// Of is what the program calls the size: "tokens", "batch_size".
	Of string
	// Worked is the largest size that came through, Tried the one at work when it
	// failed.
	Worked, Tried int64
}

// ladderWithin is how many lines before a failure the size stands that was at
// work: the frames of a traceback lie between.
const ladderWithin = 80

// LadderOf is false where the log shows no such run.
func LadderOf(c *Case) (Ladder, bool) {
	tried, ok := c.Fact("ladder_tried")
	worked, _ := c.Fact("ladder_worked")
	if !ok || tried.Count == nil || worked.Count == nil || tried.Line > c.Failure.Line || c.Failure.Line-tried.Line > ladderWithin {
		return Ladder{}, false
	}
	l := Ladder{Of: tried.Text, Worked: int64(worked.Count.Value), Tried: int64(tried.Count.Value)}
	next := tried.Line
	for i := len(c.Facts.Facts) - 1; i >= 0; i-- {
		x := &c.Facts.Facts[i]
		if x.Name != "ladder_tried" || x.Line >= next {
			continue
		}
		between := func(f fact.Failure) bool { return f.Line >= x.Line && f.Line < next }
		failed := int64(x.Count.Value) == l.Worked && slices.ContainsFunc(c.Facts.Failures, between)
		next = x.Line
		if !failed {
			continue
		}
		// That size had failed, too: what worked is what had worked before it.
		for k := range c.Facts.Facts {
			if w := &c.Facts.Facts[k]; w.Name == "ladder_worked" && w.Line == x.Line {
				l.Worked = int64(w.Count.Value)
			}
		}
	}
	return l, true
}
