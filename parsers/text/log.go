// Package text is the machinery of parsers: the [Log] with its squeezed text,
// patterns, wordings, frames and arguments. It knows no program.
//
// It is for the parsers beside it and may change with any version.
package text

import (
	"slices"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
)

// Log is the text that parsers read: cleaned lines, and the same text squeezed
// (lower case, no white space), in which patterns match whatever wrapping and
// joining did to the paste. A Log is not safe for concurrent use.
type Log struct {
	Lines []clean.Line

	text     string
	starts   []int32 // offset in text of every line
	squeezed clean.Squeezed
	typed    map[int]bool // by line number, of those that were asked for
	commands []int8       // by index, of those that were asked for: 1 a command by itself, -1 none
	records  []int        // lines on which servers print their arguments
	recorded map[string]bool
	asked    map[string]*places // of whole texts
	stop     <-chan struct{}
	Timeouts int
}

// NewLog prepares lines for parsing.
func NewLog(lines []clean.Line) *Log {
	lines = groupSources(lines)
	size := 0
	for _, l := range lines {
		size += len(l.Text) + 1
	}
	var b strings.Builder
	b.Grow(size)
	starts := make([]int32, len(lines))
	for i, l := range lines {
		starts[i] = int32(b.Len())
		b.WriteString(l.Text)
		b.WriteByte('\n')
	}
	text := b.String()
	return &Log{Lines: lines, text: text, starts: starts, squeezed: clean.Squeeze(text)}
}

// StopOn makes all that reads the log end soon after a channel is closed: what
// was found by then is of no use.
func (l *Log) StopOn(done <-chan struct{}) { l.stop = done }

// Stopped reports that the channel of [Log.StopOn] is closed.
func (l *Log) Stopped() bool {
	select {
	case <-l.stop:
		return true
	default:
		return false
	}
}

// groupSources brings lines of one rank together where several ranks
// interleave, so that a message of several lines is whole.
func groupSources(lines []clean.Line) []clean.Line {
	for i := 0; i < len(lines); {
		j, mixed := i, false
		for ; j < len(lines) && lines[j].Source != ""; j++ {
			mixed = mixed || lines[j].Source != lines[i].Source
		}
		if mixed {
			order := map[string]int{}
			for _, l := range lines[i:j] {
				if _, ok := order[l.Source]; !ok {
					order[l.Source] = len(order)
				}
			}
			run := lines[i:j]
			sort.SliceStable(run, func(a, b int) bool { return order[run[a].Source] < order[run[b].Source] })
		}
		i = max(j, i+1)
	}
	return lines
}

// Squeezed returns the squeezed text that patterns match.
func (l *Log) Squeezed() string { return l.squeezed.Lower }

// LineIndex returns the index in Lines of a squeezed offset.
func (l *Log) LineIndex(at int) int {
	at = min(max(at, 0), len(l.squeezed.At)-1)
	offset := l.squeezed.At[at]
	return sort.Search(len(l.starts), func(i int) bool { return l.starts[i] > offset }) - 1
}

func (l *Log) line(at int) clean.Line { return l.Lines[l.LineIndex(at)] }

// Line returns the line number of a squeezed offset.
func (l *Log) Line(at int) int { return l.line(at).Number }

// LineText returns the cleaned line at a squeezed offset.
func (l *Log) LineText(at int) string { return l.line(at).Text }

// Source returns the rank or process whose prefix the line at an offset bears.
func (l *Log) Source(at int) string { return l.line(at).Source }

// Program returns the unit or container whose prefix the line at an offset
// bears.
func (l *Log) Program(at int) string { return l.line(at).Program }

// Level is what a prefix says of the line at an offset: see [clean.Line.Level].
func (l *Log) Level(at int) byte { return l.line(at).Level }

// Typed reports that what stands at an offset is part of a command that
// somebody typed: see [clean.Line.Typed]. It may have gone on behind a
// backslash, or have been broken by the console.
func (l *Log) Typed(at int) bool {
	i := l.LineIndex(at)
	is := l.command(i)
	for k := i; !is && k > 0 && k > i-maxContinued && l.goesOn(k-1); k-- {
		is = l.command(k - 1)
	}
	if is {
		l.Type(i)
	}
	return is
}

// Type takes the line of an index for one that somebody typed.
func (l *Log) Type(i int) {
	if l.typed == nil {
		l.typed = map[int]bool{}
	}
	l.typed[l.Lines[i].Number] = true
}

// command is [clean.Line.Typed] of a line, asked once.
func (l *Log) command(i int) bool {
	if l.commands == nil {
		l.commands = make([]int8, len(l.Lines))
	}
	if l.commands[i] == 0 {
		l.commands[i] = -1
		if l.Lines[i].Typed() {
			l.commands[i] = 1
		}
	}
	return l.commands[i] > 0
}

// maxContinued is over how many lines a command goes on.
const maxContinued = 30

// goesOn reports a line that the next one belongs to, if it is a command.
func (l *Log) goesOn(i int) bool {
	s := strings.TrimRight(l.Lines[i].Text, " ")
	return strings.HasSuffix(s, `\`) || strings.HasSuffix(s, "^") || strings.HasSuffix(s, "`") || l.Lines[i].Width >= wrapWidth && !l.Lines[i+1].Logged
}

// TypedOn reports a line of which [Log.Typed] was true.
func (l *Log) TypedOn(line int) bool { return l.typed[line] }

// Records notes that a server prints its own arguments at an offset.
func (l *Log) Records(at int) { l.records = append(l.records, l.Line(at)) }

// Recorded notes an argument among them that is not to be believed of a typed
// line alone.
func (l *Log) Recorded(name string) {
	if l.recorded == nil {
		l.recorded = map[string]bool{}
	}
	l.recorded[name] = true
}

// HasRecorded reports such an argument, by an option's name.
func (l *Log) HasRecorded(flag string) bool { return l.recorded[SettingName(flag)] }

// Outranked are those of the lines of typed starts that count for nothing: a
// server printed its own arguments, and the line is not the last one before it.
func (l *Log) Outranked(starts []int) []int {
	if len(l.records) == 0 {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(starts), func(line int) bool {
		return slices.ContainsFunc(l.records, func(r int) bool {
			return line < r && !slices.ContainsFunc(starts, func(other int) bool { return other > line && other < r })
		})
	})
}

// ValueEnd returns the squeezed offset up to which a value on the line at an
// offset may reach: the end of the line, or of what it was wrapped into.
func (l *Log) ValueEnd(at int) int {
	i := l.LineIndex(at)
	for last := min(i+mostWrapped, len(l.Lines)-1); i < last && l.Lines[i].Width >= wrapWidth && !progressBar(l.Lines[i+1].Text); {
		i++
	}
	return min(l.Offset(i+1), at+MaxWindow)
}

// mostWrapped is how many lines a console makes of one at most: a value of a few
// KiB in narrow windows.
const mostWrapped = 64

// wrapWidth is the shortest line that a console can have broken.
const wrapWidth = 76

// progressBar reports tqdm's " 45%|####5     | 9/20 [00:01<00:02]".
func progressBar(s string) bool {
	i := strings.Index(s, "%|")
	return i > 0 && i <= 4
}

// Offset returns the squeezed offset at which a line of Lines begins; behind
// the last line that of the end.
func (l *Log) Offset(i int) int {
	if i == len(l.starts) {
		return len(l.squeezed.At)
	}
	return sort.Search(len(l.squeezed.At), func(k int) bool { return l.squeezed.At[k] >= l.starts[i] })
}

// LineSpan returns the squeezed offsets at which the line at an offset begins
// and ends.
func (l *Log) LineSpan(at int) (from, to int) {
	i := l.LineIndex(at)
	return l.Offset(i), l.Offset(i + 1)
}

// InItsCase returns the text between two squeezed offsets in its own case, but
// without white space.
func (l *Log) InItsCase(from, to int) string {
	out := make([]byte, 0, to-from)
	for _, offset := range l.squeezed.At[from:to] {
		out = append(out, l.text[offset])
	}
	return string(out)
}

// Around returns what stands before, between and after two squeezed offsets on
// the line of the first; ok is false where they do not lie on it.
func (l *Log) Around(at, end int) (before, between, after string, ok bool) {
	i := l.LineIndex(at)
	text := l.Lines[i].Text
	start, stop := int(l.squeezed.At[at]-l.starts[i]), int(l.squeezed.At[end-1]-l.starts[i])+1
	if start < 0 || stop > len(text) || start > stop {
		return "", "", "", false
	}
	return text[max(0, start-maxAround):start], text[start:stop], text[stop:min(len(text), stop+maxAround)], true
}

// maxAround is how far a line is looked at around a message.
const maxAround = 2 << 10

// Text returns the text as written between two squeezed offsets. Line breaks
// become blanks, or nothing where they split a word that a console wrapped.
func (l *Log) Text(from, to int) string {
	from, to = max(from, 0), min(to, len(l.squeezed.At))
	if from >= to {
		return ""
	}
	a, b := l.span(from, to)
	s := l.text[a:b]
	if !strings.ContainsAny(s, "\n\\`*") && !strings.Contains(s, "  ") {
		return s
	}
	s = strings.ReplaceAll(s, `\n`, " ")
	s = strings.ReplaceAll(s, "\n", l.lineJoin(a))
	return strings.Join(strings.Fields(s), " ")
}

// span returns the offsets in the text of a squeezed span, whole characters.
func (l *Log) span(from, to int) (a, b int) {
	a, b = int(l.squeezed.At[from]), int(l.squeezed.At[to-1])+1
	for a > 0 && !utf8.RuneStart(l.text[a]) {
		a--
	}
	for b < len(l.text) && !utf8.RuneStart(l.text[b]) {
		b++
	}
	return a, b
}

// Joined is [Log.Text] for whole lines of one message: between two of them
// stands a blank however long the first is.
func (l *Log) Joined(from, to int) string {
	var parts []string
	for from < to {
		_, end := l.LineSpan(from)
		end = max(min(end, to), from+1)
		parts = append(parts, l.Text(from, end))
		from = end
	}
	return strings.Join(parts, " ")
}

// lineJoin says what a line break stood for: nothing if the console broke full
// lines, a blank otherwise.
func (l *Log) lineJoin(offset int) string {
	i := sort.Search(len(l.starts), func(i int) bool { return int(l.starts[i]) > offset }) - 1
	if i >= 0 && l.Lines[i].Width >= wrapWidth && !strings.HasSuffix(l.Lines[i].Text, " ") && !strings.HasSuffix(l.Lines[i].Text, ".") {
		return ""
	}
	return " "
}

// figureText is [Log.Text] for a number with its unit: breaks inside vanish.
func (l *Log) figureText(from, to int) string {
	a, b := l.span(from, to)
	s := l.text[a:b]
	if strings.Count(s, " ") < 2 && !strings.ContainsAny(s, "\n\t") && strings.TrimSpace(s) == s {
		return strings.Clone(s)
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(s, "\n", "")), " ")
}

// numberEnd cuts a number off where the next line's digits were run into it: a
// progress bar, a date. What a console wrapped goes on like the number.
func (l *Log) numberEnd(from, to int) int {
	s := l.squeezed.Lower
	if to-from < 2 || l.squeezed.At[to-1]-l.squeezed.At[from] == int32(to-1-from) {
		return to // no line break inside
	}
	for i := from + 1; i < to; i++ {
		gap := l.text[l.squeezed.At[i-1]+1 : l.squeezed.At[i]]
		if !digit(s[i-1]) || !digit(s[i]) || !strings.Contains(gap, "\n") {
			continue
		}
		end := i
		for end < len(s) && digit(s[end]) {
			end++
		}
		if strings.Contains(gap, "\n\n") || end < len(s) && strings.IndexByte("%:-/|", s[end]) >= 0 {
			return i
		}
	}
	return to
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// Size reads the size between two squeezed offsets, nil if it is no amount.
func (l *Log) Size(from, to int) *fact.Size { return l.size(from, to, "", units.Parse) }

func (l *Log) size(from, to int, unit string, parse func(string) (int64, bool)) *fact.Size {
	to = l.numberEnd(from, to)
	bytes, ok := parse(strings.ReplaceAll(l.squeezed.Lower[from:to], "_", "") + unit)
	if !ok {
		return nil
	}
	return &fact.Size{Bytes: bytes, Text: l.figureText(from, to), Line: l.Line(from)}
}

// Count reads the number between two squeezed offsets, nil if it is none.
func (l *Log) Count(from, to int) *fact.Count {
	to = l.numberEnd(from, to)
	v, ok := units.Number(l.squeezed.Lower[from:to], false)
	if !ok {
		return nil
	}
	return &fact.Count{Value: v, Text: l.figureText(from, to), Line: l.Line(from)}
}

// Decimal returns a captured size of a program whose GB are powers of 1000.
func (l *Log) Decimal(m Match, group string) *fact.Size { return m.size(group, "", units.ParseDecimal) }
