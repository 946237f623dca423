// Package clean takes the damage off pasted logs: terminal codes, carriage
// returns, line prefixes of loggers and orchestrators, quote marks, boxes,
// HTML. Line numbers are kept, so that evidence can be pointed at.
package clean

import (
	"encoding/json"
	"html"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/oomdoc/oomdoc/internal/spans"
)

// Line is one line of a log without its furniture.
type Line struct {
	// Number counts from 1. Parts of one physical line that a progress bar
	// separated by carriage returns share it.
	Number int
	// Text is valid UTF-8 without control characters.
	Text string
	// Source is the rank or process that a prefix names ("rank3", "Worker_TP0
	// pid=160"); lines of one source belong together when ranks interleave.
	Source string
	// Program is the unit or container that journald or docker compose puts
	// before the line ("ollama", "ollama-1 |").
	Program string
	// Inner says that the line begins at a line end that was written as \n: it is
	// a line of a message, and nobody typed it.
	Inner bool
	// Logged says that a logger's prefix was taken off: a time, a level, a
	// process.
	Logged bool
	// Level is what a prefix says of the line: 'E' an error or worse, 'W' a
	// warning, 'I' less; 0 where none does.
	Level byte
	// Date is the day that its stamp says: see [DateOf].
	Date int
	// Width is the columns of the physical line that ends here, prefixes and
	// all: what tells that a console broke it. 0 where an escaped break ends it.
	Width int
}

// maxLine is the longest line that is handled whole, in bytes: vLLM's argument
// lines reach 10 KiB. What is longer becomes several lines of one number, or
// everything that looks at the line of a word would be quadratic.
const maxLine = 16 << 10

// Lines splits text and cleans every line; the first one has number first.
//
// What strangers wrote into the log ([spans.Find]) is left out: nobody who reads
// the lines can take it for the program's words.
func Lines(text string, first int) []Line {
	parts := make([]part, 0, strings.Count(text, "\n")+1)
	for number := first; text != ""; number++ {
		line, rest, _ := strings.Cut(text, "\n")
		text = rest
		for line != "" {
			piece, more := line, ""
			i := strings.IndexByte(line, '\r')
			if i >= 0 {
				piece, more = line[:i], line[i+1:]
			}
			line = more
			if i >= 0 && progressBar(piece) {
				continue // overwritten by what follows
			}
			if piece != "" || more == "" {
				parts = appendEscaped(parts, unwrap(piece), number)
			}
		}
	}
	blank(parts, first > 1)
	lines := make([]Line, 0, len(parts))
	for _, p := range parts {
		lines = appendPieces(lines, p)
	}
	return lines
}

// part is a line as it was printed: its prefixes are still there.
type part struct {
	text          string
	number, width int
	inner         bool
}

// blank takes out what strangers wrote, which may go over several lines. Within
// says that the lines are out of the midst of a log.
func blank(parts []part, within bool) {
	size := len(parts)
	for _, p := range parts {
		size += len(p.text)
	}
	var b strings.Builder
	b.Grow(size)
	for _, p := range parts {
		b.WriteString(p.text)
		b.WriteByte('\n')
	}
	all := b.String()
	left := ""
	if within {
		left = spans.BlankPart(all)
	} else {
		left = spans.Blank(all)
	}
	if len(left) == len(all) {
		return
	}
	for i := range parts {
		parts[i].text, left, _ = strings.Cut(left, "\n")
	}
}

// progressBar reports a bar of tqdm without a caption: " 45%|####5     | 9/20
// [00:01<00:02,  5.00it/s]".
func progressBar(s string) bool {
	s = strings.TrimSpace(s)
	percent, rest, ok := strings.Cut(s, "%|")
	return ok && digits(percent) && len(percent) <= 3 && strings.HasSuffix(rest, "]") && len(rest) < 160
}

// appendPieces adds a line, in pieces where it is too long.
func appendPieces(lines []Line, p part) []Line {
	for s := p.text; ; {
		at := len(s)
		if at > maxLine {
			for at = maxLine; at > maxLine-utf8.UTFMax && !utf8.RuneStart(s[at]); at-- {
			}
		}
		line := strip(s[:at])
		line.Number, line.Inner, line.Width, line.Date = p.number, p.inner, p.width, DateOf(s[:at])
		lines = append(lines, line)
		if s = s[at:]; s == "" {
			return lines
		}
	}
}

// readable takes HTML and terminal codes off.
func readable(s string) string {
	if isHTML(s) {
		s = html.UnescapeString(dropTags(s))
	}
	if strings.Contains(s, `\u00`) {
		s = jsonEscapes.Replace(s)
	}
	return Printable(s) // last: an entity can stand for a control character
}

// jsonEscapes are those of Go's encoder, which hide a frame's "<module>".
var jsonEscapes = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

// isHTML reports a closing tag or a common entity.
func isHTML(s string) bool {
	if strings.IndexByte(s, '<') >= 0 && strings.Contains(s, "</") {
		return true
	}
	return strings.IndexByte(s, '&') >= 0 &&
		(strings.Contains(s, "&lt;") || strings.Contains(s, "&#") || strings.Contains(s, "&quot;") || strings.Contains(s, "&nbsp;"))
}

// unwrap takes a line out of what docker's json-file driver and journalctl -o
// export put around it.
func unwrap(s string) string {
	if strings.HasPrefix(s, `{"log":"`) {
		var entry struct {
			Log string `json:"log"`
		}
		if json.Unmarshal([]byte(s), &entry) == nil {
			return strings.TrimRight(entry.Log, "\r\n")
		}
	}
	return strings.TrimPrefix(s, "MESSAGE=")
}

// Printable drops terminal codes (real escapes and their residue: "^[[0m",
// "#033[2m", "[36m"), control, zero-width and direction characters, and
// replaces invalid UTF-8, exotic blanks and curly quotes by plain ones.
func Printable(s string) string {
	if plain(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		if n := escapeLen(s[i:]); n > 0 {
			i += n
			continue
		}
		if c := s[i]; c < utf8.RuneSelf {
			if c >= ' ' && c != 0x7f {
				b.WriteByte(c)
			} else if c == '\t' {
				b.WriteByte(' ')
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		writeRune(&b, r)
	}
	return b.String()
}

func writeRune(b *strings.Builder, r rune) {
	switch {
	case r == '\u00a0' || r >= '\u2000' && r <= '\u200a' || r == '\u202f' || r == '\u3000' || r == '\u2028' || r == '\u2029':
		b.WriteByte(' ')
	case r == '\u2018' || r == '\u2019':
		b.WriteByte('\'')
	case r == '\u201c' || r == '\u201d':
		b.WriteByte('"')
	case unicode.Is(unicode.Cf, r), r >= 0x80 && r < 0xa0, unseen(r): // directions, zero widths, soft hyphens, tags; C1
	default:
		b.WriteRune(r) // an invalid byte arrives as U+FFFD
	}
}

// unseen reports a letter or a mark that shows nothing: in a command it would
// stand unnoticed (Unicode's Default_Ignorable_Code_Point, less what is Cf; the
// empty Braille pattern).
func unseen(r rune) bool {
	return r == '\u034f' || r == '\u115f' || r == '\u1160' || r == '\u17b4' || r == '\u17b5' || r >= '\u180b' && r <= '\u180f' || r == '\u2065' || r == '\u2800' ||
		r == '\u3164' || r >= '\ufe00' && r <= '\ufe0f' || r == '\uffa0' || r >= '\ufff0' && r <= '\ufff8' || r >= 0xe0000 && r <= 0xe0fff
}

// plain reports that nothing in s needs a rewrite: printable ASCII with no
// sign of a terminal code.
func plain(s string) bool {
	for i := range len(s) {
		if telling[s[i]] && (s[i] < ' ' || s[i] >= 0x7f || escapeLen(s[i:]) > 0) {
			return false
		}
	}
	return true
}

// telling are the bytes that are no plain text, or may begin a terminal code.
var telling = func() (is [256]bool) {
	for c := range is {
		is[c] = c < ' ' || c >= 0x7f || strings.ContainsRune(`[^#\`, rune(c))
	}
	return is
}()

// escapeLen returns the length of the terminal code that s starts with, or 0.
func escapeLen(s string) int {
	switch s[0] {
	case 0x1b:
		if len(s) == 1 {
			return 1
		}
		switch s[1] {
		case '[':
			return 2 + csiLen(s[2:], false)
		case ']', 'P', '_', '^':
			return stringEscapeLen(s)
		}
		return 2
	case '^':
		if strings.HasPrefix(s, "^[[") {
			return withPrefix(3, csiLen(s[3:], true))
		}
		if s == "^M" {
			return 2
		}
	case '#':
		if strings.HasPrefix(s, "#033[") {
			return withPrefix(5, csiLen(s[5:], true))
		}
	case '\\':
		for _, p := range [...]string{`\u001b[`, `\x1b[`, `\033[`, `\e[`} {
			if strings.HasPrefix(s, p) {
				return withPrefix(len(p), csiLen(s[len(p):], true))
			}
		}
	case '[':
		if n := csiLen(s[1:], true); n > 0 && s[n] == 'm' {
			return 1 + n
		}
	}
	return 0
}

func withPrefix(prefix, rest int) int {
	if rest == 0 {
		return 0
	}
	return prefix + rest
}

// csiLen is the length of "0;36m" and its like. Strict wants a final letter
// that colours or clears, since residue looks like ordinary text.
func csiLen(s string, strict bool) int {
	i := 0
	for i < len(s) && i < 16 && (s[i] >= '0' && s[i] <= '9' || s[i] == ';' || !strict && s[i] >= ' ' && s[i] < '@') {
		i++
	}
	if i == len(s) || strict && (i == 0 || s[i] != 'm' && s[i] != 'K' && s[i] != 'A' && s[i] != 'J') || s[i] < '@' || s[i] > '~' {
		if strict {
			return 0
		}
		return i
	}
	return i + 1
}

// stringEscapeLen covers OSC, DCS and their like, ended by BEL or ESC \. An
// unended one takes its introducer alone, or text would vanish.
func stringEscapeLen(s string) int {
	for i := 2; i < len(s); i++ {
		if s[i] == 0x07 {
			return i + 1
		}
		if s[i] == 0x1b {
			if i+1 < len(s) && s[i+1] == '\\' {
				return i + 2
			}
			return i
		}
	}
	return 2
}

// dropTags removes HTML tags; a "<" that opens none stays.
func dropTags(s string) string {
	var b strings.Builder
	for {
		i := strings.IndexByte(s, '<')
		if i < 0 || i+1 >= len(s) {
			break
		}
		end := strings.IndexByte(s[i:], '>')
		if end < 0 || !isTag(s[i+1:i+end]) {
			b.WriteString(s[:i+1])
			s = s[i+1:]
			continue
		}
		b.WriteString(s[:i])
		s = s[i+end+1:]
	}
	b.WriteString(s)
	return b.String()
}

// isTag tells "/b" and "span class=x" from a name in angle brackets, such as
// PyTorch's "unable to write to file </torch_76_3625483894>".
func isTag(inside string) bool {
	name, _, _ := strings.Cut(strings.Trim(inside, "/"), " ")
	for i := 0; i < len(name); i++ {
		c := name[i] | 0x20
		if !(c >= 'a' && c <= 'z' || i > 0 && name[i] >= '0' && name[i] <= '9') {
			return false
		}
	}
	return name != ""
}
