package review

import (
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules"
	"github.com/oomdoc/oomdoc/rules/answer"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/program/wording"
	"github.com/oomdoc/oomdoc/rules/step"
)

// steps drops those steps of a fix that are at fault. Where none is left the fix
// is told in words.
func (l *looking) steps(f *answer.Advice) {
	had := len(f.Steps)
	f.Steps = slices.DeleteFunc(f.Steps, func(s step.Step) bool {
		rule := l.wrong(f.ID, s)
		if rule != "" {
			l.drop(rule, s.Text)
		}
		return rule != ""
	})
	for i := range f.Steps {
		if s := &f.Steps[i]; s.Kind == "text" {
			s.Text = l.lowered(f.ID, s.Text)
			l.text(&s.Text)
		}
	}
	if n := len(f.Steps); n > 0 {
		if s := &f.Steps[n-1]; s.Kind == "text" && strings.HasSuffix(s.Text, ":") {
			l.drop(Announced, s.Text)
			s.Text = strings.TrimSpace(wording.Without(s.Text, len(s.Text)-1))
			if s.Text == "" {
				f.Steps = f.Steps[:n-1]
			}
		}
	}
	if had > 0 && len(f.Steps) == 0 {
		f.Steps = []step.Step{{Kind: "text", Text: fix.FixesByID()[f.ID].InWords(), Applies: step.Adapt, Target: "text"}}
	}
}

// wrong returns the rule that a step breaks, "" for none.
func (l *looking) wrong(id string, s step.Step) string {
	switch {
	case s.Kind == "text", s.Kind == "ui":
		return ""
	case id == "raise_memory_limit" && step.BelowStated(l.Case, s.Text):
		return BelowStated
	case step.WrongWay(l.Case, id, s.Text):
		return WrongWay
	case !answer.StartsAgain(id) && step.Taken(l.Case, s):
		return OwnValue
	case s.Kind == "shell" && l.leavesLargest(s.Text):
		return LargestLeft
	case s.Kind == "shell" && !l.allTheirs(s.Text):
		return NotTheirs
	}
	return ""
}

// leavesLargest: of the processes that the log lists, smaller ones are ended
// than one that stays.
func (l *looking) leavesLargest(text string) bool {
	var ended []int
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "kill" {
			continue
		}
		for _, word := range words[1:] {
			if pid, err := strconv.Atoi(word); err == nil && pid > 0 {
				ended = append(ended, pid)
			}
		}
	}
	largest, most := 0, int64(0)
	for _, p := range l.F().OtherProcesses {
		if p.PID > 1 && p.PID != l.OurPID && !p.Own && p.Bytes > most {
			largest, most = p.PID, p.Bytes
		}
	}
	listed := slices.ContainsFunc(l.F().OtherProcesses, func(p fact.Process) bool { return slices.Contains(ended, p.PID) })
	return listed && largest != 0 && !slices.Contains(ended, largest)
}

// allTheirs: every line starts something that is there.
func (l *looking) allTheirs(text string) bool {
	for line := range strings.Lines(text) {
		if command := Started(line); command != "" && !rules.Theirs(l.Case, command) {
			return false
		}
	}
	return true
}

// Started is the program that a line of a shell starts: the first word that sets
// no variable, "" for none.
func Started(line string) string {
	words := strings.Fields(line)
	for i, word := range words {
		name, _, assigns := strings.Cut(word, "=")
		switch {
		case strings.HasPrefix(word, "#"):
			return ""
		case word == "sudo", word == "env", assigns && strings.IndexFunc(name, notName) < 0:
		case (word == "python" || word == "python3") && len(words) > i+2 && words[i+1] == "-m":
			return words[i+2]
		default:
			return word
		}
	}
	return ""
}

func notName(r rune) bool {
	return !(r == '_' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9')
}
