package text

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
)

// stageWord is text that shows how far a program had come. One without a phase
// only shows that the program took part: a path or a name of its own.
type stageWord struct {
	word, Phase string
	Frame       bool
	Inner       int
}

// Frames, steps and marks make stage words: functions of a traceback that prove
// a phase, lines after which a phase begins, and what only proves the program.
func Frames(phase string, inner int, words ...string) []stageWord {
	return Each(words, func(w string) stageWord { return stageWord{w, phase, true, inner} })
}

// Steps are lines after which a phase begins.
func Steps(phase string, words ...string) []stageWord {
	return Each(words, func(w string) stageWord { return stageWord{word: w, Phase: phase} })
}

// Marks are words that only prove the program.
func Marks(words ...string) []stageWord { return Steps("", words...) }

// StageTexts are the words alone.
func StageTexts(list []stageWord) []string {
	return Each(list, func(s stageWord) string { return s.word })
}

// Evidence is what shows that a program ran the failing code.
type Evidence struct {
	Program string
	Words   []stageWord
	// process knows the names in its prefixes: they prove it where they stand
	// before a failure ("out of memory" must be one of the words).
	Process func(source string) bool
	// after are named figures of its own lines, with the phase that follows them.
	After map[string]string
}

// OutOfMemory and ncclError are words at which the prefix of a line is looked
// at.
const (
	OutOfMemory = "out of memory"
	NcclError   = "NCCL error"
)

// Look says whether the program ran the failing code, and how far it had come.
// Words that other programs' tracebacks have too count only if it did.
func (e Evidence) Look(l *Log, hits []Hit, f *fact.Facts) {
	line := e.proof(l, hits, f)
	if line == 0 {
		return
	}
	f.Programs = append(f.Programs, fact.Program{Name: e.Program, Line: line, Weight: 2})
	for _, h := range hits {
		if s := e.Words[h.Word]; s.Phase != "" {
			f.Stages = append(f.Stages, fact.Stage{Phase: s.Phase, Line: l.Line(h.At), Frame: s.Frame, Inner: s.Inner})
		}
	}
	for _, x := range f.Facts {
		if phase, ok := e.After[x.Name]; ok {
			f.Stages = append(f.Stages, fact.Stage{Phase: phase, Line: x.Line})
		}
	}
}

// proof returns a line that proves the program, 0 if none does.
func (e Evidence) proof(l *Log, hits []Hit, f *fact.Facts) int {
	for _, x := range f.Failures {
		if x.Framework == e.Program {
			return x.Line
		}
	}
	for _, h := range hits {
		s := e.Words[h.Word]
		byPrefix := s.word == OutOfMemory || s.word == NcclError
		if byPrefix && e.Process(l.Source(h.At)) || !byPrefix && s.Phase == "" && ownPath(l.LineText(h.At), s.word) {
			return l.Line(h.At)
		}
	}
	for _, x := range f.Facts {
		if _, ok := e.After[x.Name]; ok {
			return x.Line
		}
	}
	return 0
}

// ownPath reports that a word of a path begins a name there: "vllm/engine/" is
// not a part of "nanovllm/engine/".
func ownPath(line, word string) bool {
	if !strings.Contains(word, "/") || !nameByte(word[0]) {
		return true
	}
	line, word = strings.ReplaceAll(strings.ToLower(line), `\`, "/"), strings.ToLower(word)
	before := strings.Split(line, word)
	before = before[:len(before)-1] // none: it is broken over two lines, or not there at all
	return len(before) == 0 || slices.ContainsFunc(before, func(s string) bool { return s == "" || !nameByte(s[len(s)-1]) })
}

func nameByte(b byte) bool {
	return b == '_' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z' || b >= '0' && b <= '9'
}

// NamedLike makes a test of prefixes by the beginnings of names.
func NamedLike(beginnings ...string) func(string) bool {
	return func(source string) bool {
		return slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(source, b) })
	}
}

// SplitHits parts the hits of wordings from those of the words behind them,
// which then count from 0.
func SplitHits(hits []Hit, wordings int) (worded, others []Hit) {
	if !slices.ContainsFunc(hits, func(h Hit) bool { return h.Word >= wordings }) {
		return hits, nil
	}
	for _, h := range hits {
		if h.Word < wordings {
			worded = append(worded, h)
		} else {
			others = append(others, Hit{Word: h.Word - wordings, At: h.At})
		}
	}
	return worded, others
}

// Echo makes the reader of a wrapper. Any failure makes it, of memory or not,
// so that alone it proves no shortage.
func Echo(framework string) func(Message) int {
	return Fails(fact.Failure{Kind: fact.Wrapped, Framework: framework, Wrapper: true, Echo: true})
}
