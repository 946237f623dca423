// Package webui reads programs with a page of their own, for pictures and
// text: ComfyUI, AUTOMATIC1111, InvokeAI, text-generation-webui, TabbyAPI.
package webui

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// parser makes a parser of wordings: of failures, and of lines that inform.
func parser(name string, explains map[fact.Kind]int, failures, lines []text.Wording) text.Parser {
	all := slices.Concat(failures, lines)
	return text.Parser{
		Name: name, Keywords: text.Literals(failures), Context: text.Literals(lines), Explains: explains,
		Parse: func(l *text.Log, hits []text.Hit, f *fact.Facts) { text.ParseWordings(all, l, hits, f) },
	}
}

// says makes the reader of a failure that is quoted without the rest of its line.
func says(x fact.Failure) func(text.Message) int {
	return func(m text.Message) int {
		text.Fail(m.Facts, m.Log, m.At, m.End, x)
		return m.End
	}
}

// signals makes the reader of a line that shows what goes on.
func signals(id string) func(text.Message) int {
	return func(m text.Message) int {
		m.Facts.Signals = append(m.Facts.Signals, fact.Signal{ID: id, Line: m.Log.Line(m.At), Text: m.Log.LineText(m.At)})
		return m.End
	}
}

// sets makes the reader of an option, whose value is group n.
func sets(name string, p *text.Pattern, within int) func(text.Message) int {
	return func(m text.Message) int {
		text.Setting(m.Facts, m.Find(p, within), name)
		return m.End
	}
}

// anySlash adds the paths of Windows.
func anySlash(list []text.Proof) []text.Proof {
	for _, p := range list {
		p.Word = strings.ReplaceAll(p.Word, "/", `\`)
		list = append(list, p)
	}
	return list
}
