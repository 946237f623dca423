package cause

// Level says how much a clue or a card tells of its cause. What the levels are
// worth stands in one table; nothing else in rules is a number that somebody
// thought of.
type Level uint8

// The levels, from what is no evidence to what the log says outright.
const (
	None     Level = iota
	Hint           // seen with the cause now and then
	Weak           // as often with another
	Fair           // in about half of such logs
	Good           // in more than half
	Likely         // in most
	Strong         // nearly always
	Decisive       // hardly anything else does that
	Stated         // the log prints the reason beside the words
)

// levels are the log-odds that evidence adds to its cause.
var levels = [...]float64{None: 0, Hint: 0.8, Weak: 1.6, Fair: 2.2, Good: 2.7, Likely: 3.3, Strong: 4, Decisive: 5, Stated: 12}

// LogOdds is what evidence of a level adds to its cause, in natural logarithms.
func (l Level) LogOdds() float64 { return levels[l] }

// Help says how well a remedy cures. Of remedies that help alike the earlier in
// their list is the better.
type Help uint8

// The levels of help.
const (
	LastResort Help = iota
	MayHelp
	Helps
	Cures
	Foremost // cures, and is to be tried before what else does
)

var helps = [...]float64{LastResort: 0.48, MayHelp: 0.66, Helps: 0.86, Cures: 1, Foremost: 1.12}

// Share is how much of what a fix for its cause is worth a remedy has.
func (h Help) Share() float64 { return helps[h] }

// InOrder are remedies that help the less the later they come.
func InOrder(fixes ...string) []Remedy {
	out := make([]Remedy, len(fixes))
	for i, fix := range fixes {
		out[i] = Remedy{Fix: fix, Fit: Cures - min(Help(i/2), Cures)}
	}
	return out
}
