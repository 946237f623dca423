package ambient

import (
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Code reads which source files a log names: frames of tracebacks, and scripts
// that somebody started. Whose files they are says who reads.
var Code = text.Parser{Name: "code", Context: codeWords, Parse: parseCode}

var codeWords = []string{
	".py", "ipython-input", "Cell In[", "<stdin>", "goroutine ", ".go:", ".rs:", "(.js:", ".js:", ".mjs", "(node:", ".java:", ".cs:line", ".jl:", ".swift:",
	".cpp:", ".cc:", ".cu:", ".hpp:", ".c:",
	"Tried to allocate", // the last: PyTorch's message, see headless
}

var (
	// A frame: File "/a b/c.py", line 3, in f. Quotes get lost in pastes.
	pythonFrame = regexp.MustCompile(`File\s+(?:"([^"\n]+)"|(\S+\.py)|<?(ipython-input-[^>]+)>)[,:]?\s*(?:line\s*)?(\d+)(?:[,)]?\s*in\s+([\w<>.]+))?`)
	// A frame of IPython: ~/a/b.py in f(x), /a/b.py:12, in f(x).
	notebookFrame = regexp.MustCompile(`^\s*\[?(\S+\.pyx?|<ipython-input-[^>]+>)\S*(?::\d+,|\]\([^)]*\))?\s+in\s+([\w<>]+)`)
	notebookCell  = regexp.MustCompile(`^\s*(?:File\s+)?(?:Cell\s+)?In\s?\[\d+\]|<(?:ipython-input|stdin)`)
	// A start: python -u train.py, torchrun --nproc_per_node 2 train.py.
	pythonStart = regexp.MustCompile(`(?:^|[\s/'"\[(>])(?:python[\d.w]*(?:\.exe)?|torchrun|accelerate\s+launch|deepspeed|ipython\d?)['",]*((?:\s+['"]?[\w=./:,-]+['",]*){0,12}?)\s+['"]?([\w./\\:~-]+\.py)\b`)
	// A statement that stands alone: y = f(x), return f(x), loss.backward().
	statement = regexp.MustCompile(`^\s*(?:return |(?:[\w.\[\]]+, )*[\w.\[\]]+ [-+*/@]?= )?[\w.]+[(\[](?:[^:]|:[^ ])*$`)
	// A place of a compiled or scripted language: /a/b.go:12, main.rs:3:5.
	otherFrame = regexp.MustCompile(`([\w./\\:@~+-]+\.(?:go|rs|m?js|ts|java|cs|jl|swift|cpp|cc|cu|hpp|c)):(?:line )?\d+`)
)

// maxCode bounds the files that are kept, maxLooked the lines that are looked at,
// as a deep recursion has thousands, and notebookLines those of IPython's frame.
const (
	maxCode, maxLooked, notebookLines           = 400, 4000, 8
	longestFrame, longestSource, longestCommand = 2 << 10, 200, 30 // lines
)

func parseCode(l *text.Log, hits []text.Hit, f *fact.Facts) {
	last, looked := -1, 0
	f.Code = slices.Grow(f.Code, min(len(hits), maxCode))
	for _, h := range hits {
		i := l.LineIndex(h.At)
		if i == last {
			continue
		}
		if looked++; looked > maxLooked || len(f.Code) >= maxCode {
			return
		}
		last = i
		if h.Word == len(codeWords)-1 {
			f.Code = append(f.Code, headless(l, i-1, f.Code)...)
		} else if code, ok := codeOf(l.Lines[i].Text); ok {
			code.Line = l.Lines[i].Number
			if code.Function != "" {
				code.Source = sourceBelow(l, i)
			} else if code.Own && code.At == 0 {
				code.Args = argumentsOf(l, i, path.Base(code.File))
			}
			f.Code = append(f.Code, code)
		}
	}
}

// argumentsOf is what stands behind a script that was started, on the lines too
// over which its command goes on.
func argumentsOf(l *text.Log, i int, script string) string {
	_, args, _ := strings.Cut(l.Lines[i].Text, script)
	for k := i + 1; k < min(len(l.Lines), i+longestCommand) && len(args) < longestFrame && strings.HasSuffix(args, `\`); k++ {
		args = strings.TrimSuffix(args, `\`) + strings.TrimRight(l.Lines[k].Text, " ")
	}
	return args[:min(len(args), longestFrame)]
}

// headless is the statement above a message, where the line that names its file
// and function was cut off.
func headless(l *text.Log, i int, before []fact.Code) []fact.Code {
	for i > 0 && strings.Trim(l.Lines[i].Text, " ^~") == "" {
		i--
	}
	if i < 0 || len(before) > 0 && before[len(before)-1].Line >= l.Lines[i].Number-1 || !statement.MatchString(bounded(l.Lines[i].Text)) {
		return nil
	}
	return []fact.Code{{Function: "<cut>", Source: bounded(l.Lines[i].Text), Line: l.Lines[i].Number}}
}

// codeOf is the file that a line names.
func codeOf(s string) (fact.Code, bool) {
	if len(s) > longestFrame {
		s = s[:longestFrame]
	}
	if file, line, function, ok := frame(s); ok {
		code := codeIn(file, function, !strings.HasPrefix(file, "<frozen"))
		code.At, _ = strconv.Atoi(line)
		return code, true
	}
	if m := notebookFrame.FindStringSubmatch(s); m != nil {
		return codeIn(m[1], m[2], true), true
	}
	if notebookCell.MatchString(s) {
		return fact.Code{File: "cell.py", Function: "<module>", Own: true}, true
	}
	if m := pythonStart.FindStringSubmatch(s); m != nil {
		return codeIn(m[2], "", !strings.Contains(m[1], "-m ")), true
	}
	if m := otherFrame.FindStringSubmatch(s); m != nil {
		return codeIn(m[1], "", false), true
	}
	return fact.Code{}, false
}

// frame reads a frame of a traceback: what pythonFrame finds. Those that came
// whole are most, and need no expression.
func frame(s string) (file, line, function string, ok bool) {
	at := strings.Index(s, "File")
	if at < 0 { // cut off with the path's beginning
		file, s, _ = strings.Cut(s, `.py", line `)
		line, function, _ = strings.Cut(s, ", in ")
		return strings.TrimSpace(file) + ".py", line, function, isNumber(line) && isName(function)
	}
	if strings.Contains(s[at:], `\"`) { // out of a value of JSON
		s = strings.ReplaceAll(s, `\"`, `"`)
	}
	if rest, quoted := strings.CutPrefix(s[at:], `File "`); quoted {
		file, rest, _ = strings.Cut(rest, `"`)
		if rest, ok = strings.CutPrefix(rest, ", line "); ok && file != "" {
			line, function, _ = strings.Cut(rest, ", in ")
			if isNumber(line) && (function == "" && line == rest || isName(function)) {
				return file, line, function, true
			}
		}
	}
	if m := pythonFrame.FindStringSubmatch(s); m != nil {
		return m[1] + m[2] + m[3], m[4], m[5], true
	}
	return "", "", "", false
}

func isNumber(s string) bool { return s != "" && !strings.ContainsFunc(s, noDigit) }

func noDigit(r rune) bool { return r < '0' || r > '9' }

// isName reports what stands for a function in a frame.
func isName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return (r|0x20 < 'a' || r|0x20 > 'z') && noDigit(r) && !strings.ContainsRune("_.<>", r)
	})
}

// sourceBelow is the source line that a traceback prints below a frame's head,
// "" where there is none. IPython prints several and marks it with an arrow.
func sourceBelow(l *text.Log, head int) string {
	for i := head + 1; i < len(l.Lines) && i <= head+notebookLines; i++ {
		line := l.Lines[i].Text
		sign := strings.TrimLeft(line, " \t\n\f\r")
		sign = sign[:min(1, len(sign))]
		if sign == "-" {
			if m := arrowed.FindStringSubmatch(line); m != nil {
				return bounded(m[1])
			}
		}
		if i == head+1 && !((sign == "-" || isNumber(sign)) && numbered.MatchString(line)) {
			if _, _, _, ok := frame(line); ok || raises(line) || !indented(line) && indented(l.Lines[head].Text) {
				return ""
			}
			return bounded(line)
		}
		if strings.TrimSpace(line) == "" {
			return ""
		}
	}
	return ""
}

var (
	arrowed  = regexp.MustCompile(`^\s*-{2,}>\s*\d+\s+(.*)`)
	numbered = regexp.MustCompile(`^\s*(?:-{2,}>\s*)?\d+\b`)
	// raised is the line that ends a traceback.
	raised = regexp.MustCompile(`^\s*[\w.]*(?:Error|Exception|Traceback)\b`)
)

// raises: raised matches the line.
func raises(line string) bool {
	return (strings.Contains(line, "Error") || strings.Contains(line, "Exception") || strings.Contains(line, "Traceback")) && raised.MatchString(line)
}

func indented(line string) bool { return strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") }

func bounded(source string) string {
	source = strings.TrimSpace(source)
	if len(source) > longestSource {
		return ""
	}
	return source
}

func codeIn(file, function string, own bool) fact.Code {
	file = strings.ReplaceAll(strings.ReplaceAll(file, `\`, "/"), "//", "/") // JSON doubles Windows' separator
	return fact.Code{File: file, Function: function, Own: own && !installed(file)}
}

// installed reports a file of a package or of Python itself.
func installed(file string) bool {
	file = strings.ToLower(file)
	base := path.Base(file)
	return slices.ContainsFunc([]string{"-packages/", "/lib/python", "/lib64/python", "/lib/multiprocessing/", "/lib/runpy.py", "/lib/threading.py", "/lib/concurrent/", "/lib/asyncio/", "node_modules/", "<frozen", ".egg/", "importlib/", "conda-bld/"}, func(part string) bool {
		return strings.Contains(file, part)
	}) || ofSystem(file, "/lib/") || ofSystem(file, "/bin/") || base[0] == '_' && (base != "__init__.py" || !strings.ContainsAny(file[:min(len(file), 3)], "/:") || strings.Contains(file, "torch/"))
}

// ofSystem: the folder is the system's or an environment's, not one of a checkout,
// which often has a lib of its own.
func ofSystem(file, folder string) bool {
	before, _, found := strings.Cut(file, folder)
	above, of := path.Split(before)
	return found && (before == "" || strings.HasSuffix(above, "envs/") || slices.ContainsFunc([]string{"usr", "local", "opt", "env", "python", "conda", "forge", "mamba", "runtime"}, func(part string) bool { return strings.Contains(of, part) }))
}
