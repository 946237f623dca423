package parsers

import (
	"slices"
	"sort"
	"strings"

	"github.com/oomdoc/oomdoc/internal/scan"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Messages also stand in source code, documentation, test lists and mail. There
// nothing failed.
var notALog = fact.Lookalike{
	ID: "quoted_message", Title: "The text quotes an out-of-memory message (source code, documentation or prose); it is not the log of a program that failed.",
	Advice: "Paste what the program itself printed, from its start to the end of the error.",
}

// dropQuoted takes out failures that are only quoted. When nothing else is
// left, the report says so.
func (s *Set) dropQuoted(f *fact.Facts, l *text.Log, found []scan.Hit) {
	if len(f.Failures) == 0 {
		return
	}
	code, report := isCode(l), reportFrom(l)
	trace := l.Mentions(`",line`) || l.Mentions("-->") || l.Mentions("traceback(mostrecentcalllast)") // a line in it that raises or asserts was run
	tellers, literal := firstPerson(l), literals{s, found}
	quote := notALog
	quote.Line = f.Failures[0].Line
	f.Failures = slices.DeleteFunc(f.Failures, func(x fact.Failure) bool {
		return l.Stopped() || code || literal.inCode(l, x, trace) || literal.inProse(l, x, tellers) || x.At >= report
	})
	if !slices.ContainsFunc(f.Failures, func(x fact.Failure) bool { return !inDocument(l, x, tellers) }) {
		f.Failures = nil
		f.Lookalikes = append(f.Lookalikes, quote)
	}
}

// codeSigns stand before a message where a program only names it.
var codeSigns = []string{
	"MustCompile(", "re.compile(", "re.search(", "re.match(", "Regex::new(", "regexp.", "Contains(", ".contains(", ".includes(", ".indexOf(", ".match(", ".test(",
	"startswith(", "endswith(", "HasPrefix(", "pattern(", "grep ", "except ", "catch (", "catch(", "logger.", "logging.error", "logging.warn", "logging.info", "logging.exception", "logging.debug", "logging.critical", "log.Print", "console.", "print(", "printf(", "println!(",
	"expect(", "#define ", "errors.New(", "Errorf(", "TORCH_CHECK", "return \"", "return '", "const ", "static ", "<!--", "- [ ]", "case \"",
}

// runSigns stand in the source lines that a traceback quotes, too.
var runSigns = []string{"assert ", "assert(", "raise ", "throw "}

// longestStatement is how long a line of source code is at most: a paste that lost its
// line ends has the code of cells and frames far before its message.
const longestStatement = 200

// inCode reports that a sign of source code stands before the message on its
// line. Tracebacks quote source lines too; the error itself follows there.
func (s literals) inCode(l *text.Log, x fact.Failure, traceback bool) bool {
	before, _, _, ok := s.aroundMessage(l, x)
	if !ok {
		return false
	}
	before = before[max(0, len(before)-longestStatement):]
	stands := func(sign string) bool { return strings.Contains(before, sign) }
	return slices.ContainsFunc(codeSigns, stands) || !traceback && slices.ContainsFunc(runSigns, stands) ||
		strings.HasPrefix(before, "// ") || strings.HasPrefix(before, "/*")
}

// inProse reports a message inside a sentence: "a colleague says CUDA out of
// memory is always the batch size", or in back-ticks in the middle of a text
// that has no figures of a failure.
func (s literals) inProse(l *text.Log, x fact.Failure, tells func(fact.Failure) bool) bool {
	before, message, after, ok := s.aroundMessage(l, x)
	if !ok || figureCount(x) > 1 {
		return false
	}
	if strings.Count(before, "`")%2 == 1 && !strings.Contains(before, " failed with error `") && !strings.Contains(before, "failed assertion `") && !strings.Contains(before, ":in `") { // Ruby's "x.rb:4:in `read'"
		around := letters(before[:strings.LastIndexByte(before, '`')]) + letters(outside(after))
		table := strings.Contains(outside(after), "|")
		return (around > 12 || table && around > 0) && !tells(x)
	}
	if i := strings.LastIndexByte(before, '"'); strings.Count(before, `"`)%2 == 1 && sentence(before[:i]) {
		_, rest, closed := strings.Cut(after, `"`)
		return closed && letters(before[:i])+letters(rest) > 60 && !tells(x)
	}
	// Only "CUDA out of memory" and its like can be part of a sentence, and none
	// that a logger calls an error.
	if !strings.HasSuffix(strings.ToLower(message), "out of memory") || l.Level(x.At) == 'E' {
		return false
	}
	last, next := strings.TrimRight(before, " "), strings.TrimLeft(after, " ")
	return figureCount(x) == 0 && last != "" && next != "" && len(last) < len(before) && len(next) < len(after) &&
		text.Letter(last[len(last)-1]) && text.Letter(next[0]) && strings.Count(before, " ") > 1
}

// aroundMessage returns a failure's literal and what stands before and after it
// on its line; ok is false where the line has none.
func (s literals) aroundMessage(l *text.Log, x fact.Failure) (before, message, after string, ok bool) {
	from, to := l.LineSpan(x.At)
	at, end := s.first(max(from, x.At), min(to, x.At+longestLine))
	if at == end || l.LineIndex(at) != l.LineIndex(x.At) {
		return "", "", "", false
	}
	return l.Around(at, end)
}

// longestLine is how far a line is searched for the literal of a failure.
const longestLine = 2 << 10

// literals are the keywords that were found in a log.
type literals struct {
	*Set
	found []scan.Hit
}

// first is the first keyword of a failure that stands between two squeezed
// offsets.
func (s literals) first(from, to int) (at, end int) {
	ix := s.find()
	start := sort.Search(len(s.found), func(i int) bool { return s.found[i].At >= from })
	for _, stop := range []int{min(from+longestLine/8, to), to} { // it is seldom far
		for _, h := range s.found[start:] {
			if h.At >= stop {
				break
			}
			owner := ix.owners[h.Word]
			if p := s.all[owner.At]; owner.Word < len(p.Keywords) && h.At+len(ix.search.Word(h.Word)) <= stop {
				return h.At, min(h.At+text.SqueezedLen(p.Keywords[owner.Word]), to)
			}
		}
	}
	return 0, 0
}

func figureCount(x fact.Failure) int {
	n := len(x.Figures.OtherProcesses)
	x.Figures.Sizes(func(string, *fact.Size) { n++ })
	x.Figures.Counts(func(string, *fact.Count) { n++ })
	return n
}

// outside drops what stands in back-ticks: s begins inside.
func outside(s string) string {
	kept := ""
	for i, part := range strings.Split(s, "`") {
		if i%2 == 1 {
			kept += part
		}
	}
	return kept
}

func letters(s string) int {
	return len(strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r > 127 || !text.Letter(byte(r)|0x20) }), ""))
}

// firstPerson tells a user's report from documentation, by the lines around a
// message. Each line is looked at once, however many failures are near it.
func firstPerson(l *text.Log) func(fact.Failure) bool {
	told := map[int]bool{}
	return func(x fact.Failure) bool {
		at := l.LineIndex(x.At)
		for i := max(at-aroundReport, 0); i < min(at+aroundReport+1, len(l.Lines)); i++ {
			tells, known := told[i]
			if !known {
				t := " " + strings.ToLower(l.Lines[i].Text) + " "
				tells = strings.Contains(t, " i ") && !codeLine(strings.TrimSpace(t)) || strings.Contains(t, " i'm ") || strings.Contains(t, " my ") || strings.ContainsAny(t, "我私저")
				told[i] = tells
			}
			if tells {
				return true
			}
		}
		return false
	}
}

// aroundReport is how many lines around a message a user tells about it.
const aroundReport = 10

// sentence reports the beginning of one: words and nothing that a log has.
func sentence(s string) bool {
	words := strings.Fields(s)
	return len(words) > 2 && !strings.ContainsAny(s, "0123456789[]{}=/<>|_\\")
}

// reportFrom returns the squeezed offset behind which the text is a report of
// this program, which quotes lines of another log; the end if there is none.
func reportFrom(l *text.Log) int {
	s := l.Squeezed()
	if !strings.Contains(s, "whattodo") { // seldom begun, so soon searched
		return len(s)
	}
	cause := strings.Index(s, "cause:")
	if cause < 0 || !strings.Contains(s[cause:], "whattodo") || !strings.Contains(s[cause:], "costs:") {
		return len(s)
	}
	return cause
}

// isCode reports that most lines are statements of a programming language, and
// none is a traceback.
func isCode(l *text.Log) bool {
	page := strings.HasPrefix(l.Squeezed(), "<!doctypehtml") || strings.HasPrefix(l.Squeezed(), "<html")
	if page || isGoFile(l) { // whatever a page quotes, no program ended there
		return true
	}
	code, all, seen := 0, 0, map[string]bool{}
	for _, line := range l.Lines {
		t := strings.TrimSpace(strings.TrimLeft(line.Text, "+-"))
		if t == "" || seen[t] && strings.HasSuffix(t, ")") { // programs repeat their messages
			continue
		}
		seen[t] = true
		if traceLine(t) {
			return false
		}
		all++
		if !line.Logged && codeLine(t) { // a logger's head stands before no statement
			code++
		}
		if all == 400 && code*10 < all*3 {
			return false // no longer in doubt
		}
	}
	return all >= 4 && code*10 >= all*6
}

// isGoFile reports a whole file of Go, whatever logs its strings hold.
func isGoFile(l *text.Log) bool {
	for _, line := range l.Lines {
		if t := strings.TrimSpace(line.Text); strings.HasPrefix(t, "package ") {
			return strings.Count(t, " ") == 1 && strings.Contains(l.Squeezed(), "func")
		} else if t != "" && !strings.HasPrefix(t, "//") {
			return false
		}
	}
	return false
}

// traceLine reports a line of a trace, or an error as a program prints it.
func traceLine(t string) bool {
	name, _, found := strings.Cut(t, ": ")
	return found && !strings.ContainsAny(name, " ('\"") && (strings.HasSuffix(name, "Error") || strings.HasSuffix(name, "Exception")) ||
		strings.Contains(t, "Traceback (most recent") || strings.HasPrefix(t, `File "`) ||
		strings.HasPrefix(t, "Error in ") && (strings.HasSuffix(t, ")") || strings.HasSuffix(t, ":")) || strings.HasPrefix(t, "Error using ") || // R, MATLAB
		t == "Stacktrace:" || strings.HasPrefix(t, "@ ") && (strings.Contains(t, ".jl:") || strings.Contains(t, " 0x")) || // Julia, glog
		(strings.HasPrefix(t, "at ") || strings.HasPrefix(t, "bei ")) && strings.Contains(t, "(") || // JavaScript, Java, pybind; .NET in German
		strings.HasPrefix(t, "stack backtrace") || strings.HasPrefix(t, "--->")
}

var codeStarts = []string{
	"def ", "class ", "import ", "from ", "func ", "fn ", "package ", "return", "if ", "elif ", "else", "for ", "while ", "try", "except", "catch", "raise ", "throw ", "with ",
	"var ", "let ", "const ", "use ", "pub ", "#include", "assert", "}", "{", ")", "//", "/*", "* ", "@", "self.", "logger.", "print(", "switch ", "case ", "end", "async ", "await ", "r'", `r"`,
}

func codeLine(t string) bool {
	if (strings.HasPrefix(t, `{"`) || strings.HasPrefix(t, "{'") || strings.HasPrefix(t, `"`)) && strings.Contains(t, ":") {
		return false // a log in JSON
	}
	last := t[len(t)-1]
	return slices.ContainsFunc(codeStarts, func(start string) bool { return strings.HasPrefix(t, start) }) || strings.HasSuffix(t, ": int") || last == '{' || last == ';' || last == '(' || last == '}' && len(t) < 100 || last == ')' && strings.Contains(t, "(") && !strings.Contains(t, ": ")
}
