package parsers

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Lines around a failure whose words may tell what was going on, how much of
// each is read, and of how many failures.
const (
	talkBefore   = 14
	talkAfter    = 6
	talkLength   = 300
	talkFailures = 4
)

// talk keeps the program's own words around the first failures: what progress
// lines, prefixes and its report of the failure say. Frames and their source
// lines are code, which is read elsewhere, and the allocator's sentence is the
// same in every program.
func talk(l *text.Log, f *fact.Facts) {
	at, next := 0, 0 // of lines that were not read yet
	told := len(f.Stages) > 0 || PhaseOf(f) != "unknown"
	for i := range f.Failures[:min(len(f.Failures), talkFailures)] {
		x := &f.Failures[i]
		for at < len(l.Lines) && l.Lines[at].Number < x.Line {
			at++
		}
		for k := max(next, at-talkBefore); k < len(l.Lines) && l.Lines[k].Number <= x.EndLine+talkAfter; k++ {
			next = k + 1
			line := l.Lines[k].Text[:min(len(l.Lines[k].Text), talkLength)]
			if !strings.HasPrefix(line, "    ") && !strings.Contains(line, `File "`) && !strings.Contains(line, `File \"`) {
				f.Talk = append(f.Talk, fact.Word{Text: line, Line: l.Lines[k].Number})
				if !told && x.Framework == "pytorch" && l.Lines[k].Number <= x.EndLine && atWork(line) {
					f.Stages = append(f.Stages, fact.Stage{Phase: "inference", Line: l.Lines[k].Number})
				}
			}
		}
	}
}

// doing are the words of progress lines and reports that tell of input at work
// in a model that is not trained.
var doing = strings.Fields("encoding rendering generate transcribing transcription diarization scoring predicting predict inferring evaluating segmenting detecting upscaling inpaint inpainting denoising reranking")

// atWork reports a line that has one of them, not in quotes as one of several
// tasks of a model.
func atWork(line string) bool {
	words := strings.FieldsFunc(strings.ToLower(line), func(r rune) bool { return (r < 'a' || r > 'z') && r != '\'' })
	return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(doing, w) })
}
