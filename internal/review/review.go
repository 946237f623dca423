// Package review is the last look over a finished answer: what contradicts its
// figures, its reader or itself is dropped, and told.
//
// Nothing should be left for it to drop: a rule that fires on a log shows a fault
// in what made the answer.
package review

import (
	"slices"

	"github.com/oomdoc/oomdoc/rules/answer"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/odds"
	"github.com/oomdoc/oomdoc/rules/story"
)

// Answer is all that is said of one incident.
type Answer struct {
	Story     story.Story
	Causes    []odds.Cause
	Fixes     []answer.Advice
	Useless   []answer.Useless
	Knowledge *answer.Knowledge
}

// Contradiction is something that was dropped, and why.
type Contradiction struct {
	Rule string `json:"rule"`
	Text string `json:"text"`
}

// Rules of the last look.
const (
	TwoShortfalls = "two_shortfalls"     // a shortfall that is not the one of the figures
	NotAlone      = "not_alone"          // "fills the card by itself", and the figures give it less than 85 %
	NotMost       = "not_most"           // "most of this card", and the figures give others less than half
	WasFree       = "was_free"           // "enough" of what was refused with more free
	Refuted       = "advised_and_futile" // advised, and under "won't help"
	BelowStated   = "below_stated"       // a limit no higher than what was in use
	WrongWay      = "wrong_way"          // a setting to be lowered is raised, or the reverse
	OwnValue      = "own_value"          // the reader's own value again
	LargestLeft   = "largest_left"       // processes to end, without the largest
	NotTheirs     = "not_theirs"         // a command of a program that the reader does not have
	Announced     = "announced"          // words that end in a colon, and nothing follows
	Unmet         = "unmet_check"        // a check that the fix's own arithmetic cannot pass
)

// Look drops from an answer what contradicts itself, and says what that was. It
// may write to the answer's slices.
func Look(c *ledger.Case, a *Answer) []Contradiction {
	l := &looking{Case: c}
	l.story(&a.Story)
	for i := range a.Causes {
		l.text(&a.Causes[i].Why)
	}
	l.futile(a)
	for i := range a.Fixes {
		l.fix(&a.Fixes[i])
	}
	return l.dropped
}

type looking struct {
	*ledger.Case
	dropped []Contradiction
}

func (l *looking) drop(rule, text string) {
	l.dropped = append(l.dropped, Contradiction{rule, text})
}

// futile: what cannot help is not advised, nor are processes blamed that need
// not be ended. The advice stands first and is made for this log, so that the
// usual tip goes.
func (l *looking) futile(a *Answer) {
	a.Useless = slices.DeleteFunc(a.Useless, func(u answer.Useless) bool {
		advised := slices.ContainsFunc(a.Fixes, func(f answer.Advice) bool { return f.ID == u.ID })
		blamed := len(a.Causes) > 0 && a.Causes[0].ID == "leaked_process" && u.ID == "kill_stale_process"
		if advised || blamed {
			l.drop(Refuted, u.ID+": "+u.Why)
		}
		return advised || blamed
	})
	if k := a.Knowledge; k != nil {
		for _, f := range a.Fixes[:min(len(a.Fixes), shown)] {
			if word := answer.SpokenAgainst(l.Case, k.Not, f.Steps); word != "" {
				l.drop(Refuted, word+": "+k.Not)
				k.Not = ""
			}
		}
	}
}

// shown are the fixes that a page has.
const shown = 3

func (l *looking) fix(f *answer.Advice) {
	l.text(&f.Why)
	if e := f.Effect; e != nil {
		l.text(&e.Note)
		if e.Fits && e.Basis == "log" && !l.Limit.Has() && l.Free.Has() && l.Asked.Has() && l.Free.Bytes > l.Asked.Bytes {
			l.drop(WasFree, f.ID+": "+e.Note)
			f.Effect = nil
		}
	}
	if l.unmet(f) {
		l.drop(Unmet, f.ID+": "+f.Check)
		f.Check = ""
	}
	l.steps(f)
}
