package parsers

import (
	"cmp"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// prefixes are the programs that the cut prefix of a line proves: by the kind of
// a Ray worker ("(WorkerDict pid=160) "), and by the container or system unit
// ("tabbyapi-1  | ", "ollama[1418]: ").
type prefixes struct{ workers, units map[string]string }

// prefixesOf parts proofs that only a prefix can hold from those of the text.
func prefixesOf(proofs []fact.Proof) ([]fact.Proof, prefixes) {
	p := prefixes{workers: map[string]string{}, units: map[string]string{}}
	for _, x := range proofs {
		worker, ok := strings.CutSuffix(x.Word, " pid=")
		switch {
		case x.Unit:
			p.units[x.Word] = x.Program
		case ok && strings.HasPrefix(worker, "("):
			p.workers[worker[1:]] = x.Program
		}
	}
	return slices.DeleteFunc(slices.Clone(proofs), func(x fact.Proof) bool { return x.Unit }), p
}

// read looks at every line that has a worker's prefix, and at the container or
// unit of those that tell of a failure: others of a log only ran beside it.
func (p prefixes) read(l *text.Log, f *fact.Facts) {
	last := ""
	for i := range l.Lines {
		if source := l.Lines[i].Source; source != "" && source != last {
			worker, _, _ := strings.Cut(source, " pid=")
			proved(f, p.workers[worker], l.Lines[i].Number)
			last = source
		}
	}
	for _, x := range f.Failures { // "-vllm" is of "intel-gpu-vllm" too
		name := unitName(l.Program(x.At))
		proved(f, cmp.Or(p.units[name], p.units[name[max(strings.LastIndexByte(name, '-'), 0):]]), x.Line)
	}
}

// unitName is a container's or unit's name without its number: "tabbyapi-1",
// "ollama_1", "ollama.service".
func unitName(name string) string {
	name = strings.TrimSuffix(strings.TrimSuffix(strings.ToLower(name), " |"), ".service")
	bare := strings.TrimRight(name, "0123456789")
	if bare != name && len(bare) > 1 && (strings.HasSuffix(bare, "-") || strings.HasSuffix(bare, "_")) {
		name = bare[:len(bare)-1]
	}
	return name
}

// proved notes a program once.
func proved(f *fact.Facts, program string, line int) {
	if program == "" || slices.ContainsFunc(f.Programs, func(x fact.Program) bool { return x.Name == program && x.Weight >= 2 }) {
		return
	}
	f.Programs = append(f.Programs, fact.Program{Name: program, Line: line, Weight: 2})
}
