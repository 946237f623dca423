package lookalike

import (
	"cmp"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Exceptions reads the exception of Python that a log without any failure ends
// in. It comes last of all.
var Exceptions = text.Parser{
	Name: "exceptions", Context: []string{"Traceback (most recent call last)", `.py", line `},
	Parse: func(l *text.Log, hits []text.Hit, f *fact.Facts) {
		if len(hits) == 0 || len(f.Failures) > 0 || slices.ContainsFunc(f.Lookalikes, func(x fact.Lookalike) bool { return x.ID != fact.MemoryMentioned }) {
			return
		}
		from := lastTraceback(l, hits)
		raised := ""
		for _, line := range l.Lines {
			if line.Number <= from || line.Number > from+longestTraceback {
				continue
			}
			said := strings.TrimSpace(line.Text)
			if at := placeOf(said); at != "" {
				raised = " (" + at + ")"
			}
			if name := exceptionOf(said); name != "" && (len(f.Lookalikes) == 0 || f.Lookalikes[0].Line != line.Number) {
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
		return fact.Lookalike{ID: fact.PythonException, Line: line, Text: said + raised, Title: "The last traceback ends in this Python exception, which is not about memory.", Advice: cmp.Or(advice, "Search for it together with the program's name; the lines above it say where it comes from.")}
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

const (
	longestTraceback = 400 // lines
	longestException = 300 // bytes
)

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
	name := path[strings.LastIndexByte(path, '.')+1:]
	plain := strings.Trim(strings.ToLower(path), "abcdefghijklmnopqrstuvwxyz0123456789_.") == ""
	ends := slices.ContainsFunc([]string{"Error", "Exception", "Interrupt", "Exit", "Timeout"}, func(end string) bool { return strings.HasSuffix(name, end) })
	if !plain || !ends || name[0] < 'A' || name[0] > 'Z' {
		return ""
	}
	return name
}

// exceptionAdvice is what to do about exceptions that are not about memory.
var exceptionAdvice = []struct {
	names  []string
	advice string
}{
	{[]string{"SyntaxError", "IndentationError", "TabError"}, "The file that the line above it names is not valid Python, so none of it ran. Undo the last edit there (`git diff` shows it, `git checkout -- FILE` reverts it), or reinstall the program."},
	{[]string{"ModuleNotFoundError", "ImportError"}, "A package is missing, or has another version than the program needs. Install its requirements with the Python that it runs in (`python -m pip install -r requirements.txt`)."},
	{[]string{"FileNotFoundError", "NotADirectoryError", "PermissionError"}, "Check the path that it names: whether it exists, is spelled right, and the program may read it."},
	{[]string{"KeyboardInterrupt", "SystemExit"}, "It was stopped, or ended itself; the lines above say why."},
	{[]string{"AttributeError", "NameError", "KeyError", "TypeError"}, "The code uses a name, field or argument that is not there: a slip in the file that the line above it names, or two packages whose versions do not fit each other. Install the versions that the program's requirements name."},
	{[]string{"AssertionError"}, "A check failed and does not say why. Paste what the program printed just before the traceback, too."},
}

// adviceOn is what to do about an exception that is known, "" for others.
func adviceOn(l *text.Log, name string) string {
	if l.Mentions("self.modelisnotnone") {
		return "llama.cpp did not load the file, and this check does not say why; its own lines just before the traceback do (`error loading model`, `failed to allocate`). Most often the download is incomplete (compare its size with the page's), the library is older than the file, or memory is too small: the file's size and 1 to 2 GB more must be free."
	}
	for _, x := range exceptionAdvice {
		if slices.Contains(x.names, name) {
			return x.advice
		}
	}
	return ""
}
