package render

import (
	"strings"
	"unicode"
)

// span is a piece of running text in one style.
type span struct {
	text  string
	style style
}

type style int

const (
	plain style = iota
	strong
	code
)

// inline is running text.
type inline []span

// prose is text of the report: `code` in backticks becomes code, everything
// else is shown as it is.
func prose(s string) inline {
	parts := strings.Split(visible(s), "`")
	if len(parts)%2 == 0 {
		return inline{{visible(s), plain}} // an odd backtick is only a backtick
	}
	var out inline
	for i, part := range parts {
		switch {
		case part == "":
		case i%2 == 1:
			out = append(out, span{part, code})
		default:
			out = append(out, span{part, plain})
		}
	}
	return out
}

func bold(s string) inline    { return inline{{visible(s), strong}} }
func literal(s string) inline { return inline{{visible(s), code}} }

// join puts texts one after the other.
func join(parts ...inline) inline {
	var out inline
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// word is what may not be broken: as written, and how many columns of it will
// be seen.
type word struct {
	out  string
	seen int
	// tied words stay on the line of the word before.
	tied bool
}

// words splits running text at its blanks, as Markdown or without marks. Spans
// that touch make one word; "4.47 GiB" and "line 37" stay together.
func (in inline) words(marked bool) []word {
	var out []word
	last, open := "", false // the last word bare, and whether the next span goes on with it
	for _, sp := range in {
		fields := strings.Fields(sp.text)
		for i, f := range fields {
			piece := word{out: f, seen: columns(f)}
			if marked {
				piece.out = sp.marked(f, i == 0, i == len(fields)-1)
			}
			if i == 0 && open && sp.text[0] != ' ' {
				n := len(out) - 1
				out[n].out, out[n].seen, last = out[n].out+piece.out, out[n].seen+piece.seen, last+f
				continue
			}
			switch {
			case startsBlock(f), sp.style == code && i > 0 && breaksCode(sp.text, f):
				piece.tied = true
			default:
				piece.tied = together(last, f)
			}
			out, last = append(out, piece), f
		}
		open = len(sp.text) > 0 && sp.text[len(sp.text)-1] != ' '
	}
	return out
}

// breaksCode reports a word of code before which no line is broken: at the
// start of one it would be a fence, a rule or HTML, and nothing is escaped in code.
func breaksCode(whole, word string) bool {
	return strings.Contains(whole, "``") || strings.Trim(word, "*_") == "" || word[0] == '<'
}

// marked writes a word of the span as Markdown; the first and the last one
// carry the span's marks.
func (sp span) marked(word string, first, last bool) string {
	before, after := "", ""
	switch sp.style {
	case code:
		before, after = fences(sp.text)
	case strong:
		before, after, word = "**", "**", guarded(word)
	default:
		return guarded(word)
	}
	if first {
		word = before + word
	}
	if last {
		word += after
	}
	return word
}

// guarded is a word of running text: escaped, or as code where a processor
// would make a link of it.
func guarded(word string) string {
	if linkish(word) {
		link := strings.TrimRight(word, ".,;:!?") // the sentence's own, not the address's
		if link == "" || strings.HasSuffix(link, "`") {
			link = word
		}
		before, after := fences(link)
		return before + link + after + word[len(link):]
	}
	return escape(word)
}

// fences are the marks around a text that make it code: a text that begins or
// ends with a backtick is held off them.
func fences(text string) (before, after string) {
	before, after = ticks(text), ticks(text)
	if text = strings.TrimSpace(text); strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") {
		before, after = before+" ", " "+after
	}
	return before, after
}

// together: a number and its unit, a name and its number.
func together(a, b string) bool {
	return number(a) && unit(b) || counted(a) && number(b)
}

// number also knows the second of two: "GiB/7.582".
func number(s string) bool {
	s = strings.Trim(s[strings.LastIndexByte(s, '/')+1:], "(),.:;*~≈<≤≥-+")
	return s != "" && strings.Trim(s, "0123456789.,") == ""
}

// unit cuts what logs put right behind one: "GiB)\"}", "MB(VRAM)", "GiB/7.582".
func unit(s string) bool {
	if i := strings.IndexAny(s, "),.:;!?(\"'/"); i > 0 {
		s = s[:i]
	}
	switch s {
	case "bytes", "KiB", "MiB", "GiB", "TiB", "kB", "KB", "MB", "GB", "TB", "%", "tokens", "layers", "columns", "times":
		return true
	}
	return false
}

func counted(s string) bool {
	switch strings.ToLower(strings.TrimLeft(s, "(")) {
	case "gpu", "line", "lines", "rank", "ranks", "layer", "pid", "process", "batch":
		return true
	}
	return false
}

// wrap breaks words into lines. The first word of all is escaped if it would
// begin a block; no other line begins with such a word.
func wrap(words []word, l Layout, indent int) []string {
	var lines []string
	line, used := "", 0
	for i := 0; i < len(words); {
		chunk, width, next := chunkAt(words, i, l)
		if used > 0 && l.Width > 0 && indent+used+1+width > l.Width {
			lines, line, used = append(lines, line), "", 0
		}
		if used > 0 {
			line, used = line+" ", used+1
		}
		line, used, i = line+chunk, used+width, next
	}
	return append(lines, line)
}

// chunkAt joins a word with those tied to it.
func chunkAt(words []word, i int, l Layout) (chunk string, width, next int) {
	for next = i; next < len(words) && (next == i || words[next].tied); next++ {
		if next > i {
			chunk, width = chunk+" ", width+1
		}
		chunk += words[next].out
		if l.NoBreak {
			width += words[next].seen
		} else {
			width += columns(words[next].out)
		}
	}
	return chunk, width, next
}

// columns is how wide text is on a terminal: East Asian characters and
// pictures take two columns.
func columns(s string) int {
	n := 0
	for _, r := range s {
		switch {
		case unicode.Is(unicode.Mn, r):
		case r >= 0x1100 && unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul), r >= 0xff01 && r <= 0xff60, r >= 0x1f300 && r <= 0x1faff:
			n += 2
		default:
			n++
		}
	}
	return n
}
