package clues

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// linesOfRanks are those within which the ranks of one job fail.
const linesOfRanks = 150

// Interleaved: two processes wrote their tracebacks at once, so that the line of
// the script which both began with stands there twice before the first message.
func Interleaved(c *ledger.Case) bool { return ledger.Once(c, "pytorch/interleaved", interleaved) }

func interleaved(c *ledger.Case) bool {
	heads := map[fact.Code]bool{}
	for _, f := range c.Facts.Code {
		if f.Function != "<module>" || !f.Own || f.Line > c.Failure.Line || c.Failure.Line-f.Line > linesOfRanks {
			continue
		}
		head := fact.Code{File: f.File, At: f.At}
		if heads[head] && !slices.ContainsFunc(c.Facts.Failures, func(x fact.Failure) bool { return x.Line < f.Line && f.Line-x.Line < linesOfRanks }) {
			return true
		}
		heads[head] = true
	}
	return false
}

// severalRanks: the log shows a job of several processes.
func severalRanks(c *ledger.Case) bool {
	return c.Signal("distributed") != nil || strings.HasPrefix(c.Failure.Source, "rank") || Interleaved(c)
}

// alike are the failures of the same kind near this one that another process wrote:
// a message may stand there twice.
func alike(c *ledger.Case) (out []fact.Failure) {
	for _, x := range c.Facts.Failures {
		again := x.Source == c.Failure.Source && (x.Source != "" || x.Message == c.Failure.Message)
		if x.Kind == c.Failure.Kind && x.Line != c.Failure.Line && !again && max(x.Line-c.Failure.Line, c.Failure.Line-x.Line) < linesOfRanks && x.Figures.Device != nil {
			out = append(out, x)
		}
	}
	return out
}

// held is what the process of a failure had of its card.
func held(x fact.Failure) int64 {
	f := x.Figures
	return max(ledger.SizeOf(f.ProcessUsed), ledger.SizeOf(f.Reserved), ledger.SizeOf(f.Allocated)+max(ledger.SizeOf(f.ReservedUnallocated), 0))
}

// RankFailed is what another rank of the job held of this very card when it failed
// there too; 0 where none did. What it held is among what this process misses.
func RankFailed(c *ledger.Case) int64 {
	if c.F().Device == nil || !c.Others.Has() || !c.Mine.Has() || !severalRanks(c) {
		return 0
	}
	for _, x := range alike(c) {
		if b := held(x); x.Figures.Device.Value == c.F().Device.Value && b >= units.GiB && b <= c.Others.Bytes+64*units.MiB {
			return b
		}
	}
	return 0
}

// Cards names the cards on which ranks failed alike, "" for only one.
func Cards(c *ledger.Case) string {
	if c.F().Device == nil || RankFailed(c) > 0 {
		return ""
	}
	cards := []int{int(c.F().Device.Value)}
	for _, x := range alike(c) {
		cards = append(cards, int(x.Figures.Device.Value))
	}
	slices.Sort(cards)
	if cards = slices.Compact(cards); len(cards) < 2 {
		return ""
	}
	names := make([]string, len(cards))
	for i, n := range cards {
		names[i] = fmt.Sprint(n)
	}
	last := len(names) - 1
	if last > 4 {
		return fmt.Sprintf("%d of its GPUs", len(names))
	}
	return "GPU " + strings.Join(names[:last], ", ") + " and " + names[last]
}

// BesideRank says how the log shows that other ranks of the job are on this card.
func BesideRank(c *ledger.Case) string {
	if b := RankFailed(c); b > 0 {
		return "Two ranks failed on this same GPU: this one holds " + c.Mine.String() + ", the other " + units.Amount(b) + " of it"
	}
	if p := listedRank(c); p != nil {
		return fmt.Sprintf("Process %d, which holds %s of this GPU, is another rank of this launch: the launcher's lines name it", p.PID, units.Amount(p.Bytes))
	}
	return "Other processes hold " + c.Others.String() + " of this GPU, most likely other ranks of this launch"
}

// listedRank is a process which the message lists on this card and the launcher's
// lines name, nil for none.
func listedRank(c *ledger.Case) *fact.Process {
	others := c.F().OtherProcesses
	if i := slices.IndexFunc(others, func(p fact.Process) bool {
		return p.PID != c.OurPID && slices.ContainsFunc(c.Facts.Facts, func(x fact.Fact) bool {
			return x.Name == "rank_pid" && x.Count != nil && int(x.Count.Value) == p.PID
		})
	}); i >= 0 {
		return &others[i]
	}
	return nil
}

// RankBeside reports that another rank of the same job is on this card: its
// launcher's lines or its own failure show it.
func RankBeside(c *ledger.Case) bool { return listedRank(c) != nil || RankFailed(c) > 0 }
