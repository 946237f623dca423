package parsers

import (
	"slices"
	"strings"
)

// stageWord is text that shows how far a program had come. One without a phase
// only shows that the program took part: a path or a name of its own.
type stageWord struct {
	word, phase string
	frame       bool
	inner       int
}

// frames, steps and marks make stage words: functions of a traceback that prove
// a phase, lines after which a phase begins, and what only proves the program.
func frames(phase string, inner int, words ...string) []stageWord {
	return stageWords(stageWord{phase: phase, frame: true, inner: inner}, words)
}

func steps(phase string, words ...string) []stageWord {
	return stageWords(stageWord{phase: phase}, words)
}

func marks(words ...string) []stageWord { return stageWords(stageWord{}, words) }

func stageWords(like stageWord, words []string) []stageWord {
	out := make([]stageWord, len(words))
	for i, w := range words {
		out[i] = like
		out[i].word = w
	}
	return out
}

func stageTexts(list []stageWord) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = s.word
	}
	return out
}

// evidence is what shows that a program ran the failing code.
type evidence struct {
	program string
	words   []stageWord
	// process knows the names in its prefixes: they prove it where they stand
	// before a failure ("out of memory" must be one of the words).
	process func(source string) bool
	// after are named figures of its own lines, with the phase that follows them.
	after map[string]string
}

// outOfMemory and ncclError are words at which the prefix of a line is looked
// at.
const (
	outOfMemory = "out of memory"
	ncclError   = "NCCL error"
)

// look says whether the program ran the failing code, and how far it had come.
// Words that other programs' tracebacks have too count only if it did.
func (e evidence) look(l *Log, hits []Hit, f *Facts) {
	line := e.proof(l, hits, f)
	if line == 0 {
		return
	}
	f.Programs = append(f.Programs, Program{Name: e.program, Line: line, Weight: 2})
	for _, h := range hits {
		if s := e.words[h.Word]; s.phase != "" {
			f.Stages = append(f.Stages, Stage{Phase: s.phase, Line: l.Line(h.At), Frame: s.frame, Inner: s.inner})
		}
	}
	for _, x := range f.Facts {
		if phase, ok := e.after[x.Name]; ok {
			f.Stages = append(f.Stages, Stage{Phase: phase, Line: x.Line})
		}
	}
}

// proof returns a line that proves the program, 0 if none does.
func (e evidence) proof(l *Log, hits []Hit, f *Facts) int {
	for _, x := range f.Failures {
		if x.Framework == e.program {
			return x.Line
		}
	}
	for _, h := range hits {
		s := e.words[h.Word]
		byPrefix := s.word == outOfMemory || s.word == ncclError
		if byPrefix && e.process(l.Source(h.At)) || !byPrefix && s.phase == "" {
			return l.Line(h.At)
		}
	}
	for _, x := range f.Facts {
		if _, ok := e.after[x.Name]; ok {
			return x.Line
		}
	}
	return 0
}

// namedLike makes a test of prefixes by the beginnings of names.
func namedLike(beginnings ...string) func(string) bool {
	return func(source string) bool {
		return slices.ContainsFunc(beginnings, func(b string) bool { return strings.HasPrefix(source, b) })
	}
}

// splitHits parts the hits of wordings from those of the words behind them,
// which then count from 0.
func splitHits(hits []Hit, wordings int) (worded, others []Hit) {
	for _, h := range hits {
		if h.Word < wordings {
			worded = append(worded, h)
		} else {
			others = append(others, Hit{Word: h.Word - wordings, At: h.At})
		}
	}
	return worded, others
}

// echo makes the reader of a wrapper. Any failure makes it, of memory or not,
// so that alone it proves no shortage.
func echo(framework string) func(message) int {
	return func(m message) int {
		from, to := m.line()
		m.f.fail(m.l, from, to, Failure{Kind: Wrapped, Framework: framework, Wrapper: true, Echo: true})
		return m.end
	}
}

// Wrapped is a statement that only reports that something failed elsewhere.
const Wrapped Kind = "wrapped"
