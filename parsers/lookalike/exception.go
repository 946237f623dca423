package lookalike

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Exceptions reads the exception of Python, or the panic of Rust, that a log
// without any failure ends in. It comes last of all.
var Exceptions = text.Parser{
	Name: "exceptions", Context: []string{"Traceback (most recent call last)", `.py", line `, "' panicked at "},
	Parse: func(l *text.Log, hits []text.Hit, f *fact.Facts) {
		if len(hits) == 0 || len(f.Failures) > 0 || slices.ContainsFunc(f.Lookalikes, func(x fact.Lookalike) bool { return x.ID != fact.MemoryMentioned }) {
			return
		}
		from := lastTraceback(l, hits)
		raised := ""
		for i, line := range l.Lines {
			if line.Number <= from || line.Number > from+longestTraceback {
				continue
			}
			said := strings.TrimSpace(line.Text)
			if at := placeOf(said); at != "" {
				raised = " (" + at + ")"
			}
			name := exceptionOf(said)
			if _, panicked, ok := strings.Cut(said, "' panicked at "); ok {
				name, said = "panic", "panicked at "+panicked
				if strings.HasSuffix(said, ":") && i+1 < len(l.Lines) { // Rust 1.73 and later: the reason stands below
					said += " " + l.Lines[i+1].Text
				}
			}
			if name != "" && (len(f.Lookalikes) == 0 || f.Lookalikes[0].Line != line.Number) {
				f.Lookalikes = append(f.Lookalikes, ended(l, line.Number, name, strings.ToValidUTF8(said[:min(len(said), longestException)], ""), raised))
				return
			}
		}
	},
}

// ended is the exception that a log ends in. Its message may speak of memory in
// words that no parser knows.
func ended(l *text.Log, line int, name, said, raised string) fact.Lookalike {
	if advice := adviceOn(l, name); advice != "" || !ofMemory(strings.ToLower(said)) {
		id, title := fact.PythonException, "The last traceback ends in this Python exception. It is not about memory."
		if name == "panic" {
			id, title = "rust_panic", "The log ends in this Rust panic. It is not about memory."
		}
		return fact.Lookalike{ID: id, Line: line, Text: said + raised, Title: title, Advice: cmp.Or(advice, "Begin at the line that the traceback leads to: print what goes in there just before (values, types, `.shape`). If your own code is right, search the program's issues for this message in quotes, and compare the installed versions (`pip list`) with those that the program asks for.")}
	}
	return fact.Mention(line, said+raised)
}

func ofMemory(said string) bool {
	has := func(word string) bool { return strings.Contains(said, word) }
	return slices.ContainsFunc([]string{" memory", "vram", "allocat", " oom"}, has) && !slices.ContainsFunc([]string{"memory format", "memory access", "memory layout"}, has)
}

// lastTraceback is the line above the last traceback's frames: its head, or,
// where a paste begins below that, the line before the last frame.
func lastTraceback(l *text.Log, hits []text.Hit) int {
	for _, h := range slices.Backward(hits) {
		if h.Word == 0 {
			return l.Line(h.At)
		}
	}
	return l.Line(hits[len(hits)-1].At) - 1
}

const longestTraceback, longestException = 400, 300 // lines, bytes

// placeOf is the file without its folder and the line of a step of a traceback,
// "" for another line.
func placeOf(line string) string {
	rest, ok := strings.CutPrefix(line, "File ")
	path, at, cut := strings.Cut(rest, ", line ")
	number := strings.IndexFunc(at+",", func(r rune) bool { return r < '0' || r > '9' })
	path = strings.Trim(path, "\"“”")
	if !ok || !cut || number == 0 || len(path) > longestException {
		return ""
	}
	return path[strings.LastIndexAny(path, `/\`)+1:] + ", line " + at[:number]
}

// exceptionOf is the name of the exception with which a line begins, "" if it
// does not: "IndentationError: expected an indented block", "module.Name".
func exceptionOf(line string) string {
	path, _, _ := strings.Cut(line, ":")
	name := strings.TrimLeft(path[strings.LastIndexByte(path, '.')+1:], "_") // torch._C._LinAlgError
	plain := strings.Trim(strings.ToLower(path), "abcdefghijklmnopqrstuvwxyz0123456789_.") == ""
	ends := slices.ContainsFunc([]string{"Error", "Exception", "Interrupt", "Exit", "Timeout"}, func(end string) bool { return strings.HasSuffix(name, end) })
	if !plain || !ends || name[0] < 'A' || name[0] > 'Z' {
		return ""
	}
	return name
}

// known are exceptions by name, and what to do about them.
var known = sync.OnceValue(func() []disguise { return section("exceptions") })

// adviceOn is what to do about an exception that is known, "" for others.
func adviceOn(l *text.Log, name string) string {
	if l.Mentions("self.modelisnotnone") {
		return "llama.cpp could not load the model file. Its own lines just before the traceback say why (`error loading model`, `failed to allocate`). Most often the download is incomplete (compare its size with the download page), or the library is too old (`pip install -U llama-cpp-python`). If memory is too small, use a smaller file: its size plus 1 to 2 GB must be free."
	}
	for _, x := range known() {
		if slices.Contains(strings.Fields(x.id), name) {
			return x.advice
		}
	}
	return ""
}
