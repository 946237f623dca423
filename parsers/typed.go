package parsers

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/argv"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// startFacts hold the words of a server's command line, parted by NUL;
// lineSignals hold a command line.
var (
	startFacts  = []string{"vllm_command", "sglang_command", "tgi_command", "lmdeploy_command"}
	lineSignals = []string{"command_line", "llama_command"}
)

// distrust takes back what only typed lines say: all of a start that the
// program's own record of its arguments outranks, and of the others what runs
// foreign code or opens the machine.
func distrust(f *fact.Facts, l *text.Log) {
	var starts []int
	for _, x := range f.Facts {
		if slices.Contains(startFacts, x.Name) {
			starts = append(starts, x.Line)
		}
	}
	outranked := l.Outranked(starts)
	f.Facts = slices.DeleteFunc(f.Facts, func(x fact.Fact) bool {
		return slices.Contains(startFacts, x.Name) && slices.Contains(outranked, x.Line)
	})
	f.Models = slices.DeleteFunc(f.Models, func(x fact.ModelMention) bool { return slices.Contains(outranked, x.Line) })
	f.Settings = slices.DeleteFunc(f.Settings, func(x fact.Setting) bool { return x.Flag != "" && slices.Contains(outranked, x.Line) })

	var left []string
	closed := func(words []string) []string {
		kept, names := argv.Closed(words, l.HasRecorded)
		left = append(left, names...)
		return kept
	}
	for i, x := range f.Facts {
		if slices.Contains(startFacts, x.Name) {
			f.Facts[i].Text = strings.Join(closed(strings.Split(x.Text, "\x00")), "\x00")
		}
	}
	for i, x := range f.Signals {
		if slices.Contains(lineSignals, x.ID) && l.TypedOn(x.Line) {
			f.Signals[i].Text = strings.Join(closed(strings.Fields(x.Text)), " ")
		}
	}
	f.Settings = slices.DeleteFunc(f.Settings, func(x fact.Setting) bool {
		return x.Flag != "" && l.TypedOn(x.Line) && argv.Opens(x.Name, x.Value) && !l.HasRecorded(x.Name)
	})
	slices.Sort(left)
	f.Closed = slices.Compact(left)
}
