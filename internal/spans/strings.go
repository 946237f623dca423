package spans

import "strings"

// mark is a quote mark as it was written: plain, escaped by backslashes as
// strings inside of strings have it, or an entity of HTML.
type mark struct {
	text    string // `"`, `\"`, "&quot;"
	quote   byte   // the character itself
	slashes int
}

// entities of HTML for quote marks.
var entities = [...]string{"&quot;", "&#34;", "&#x22;", "&#39;", "&#x27;", "&apos;"}

// markAt reads a quote mark at an offset; ok is false where none stands.
func (f *finder) markAt(i int) (m mark, ok bool) {
	s := f.s[i:]
	n := 0
	for n < len(s) && n < 16 && s[n] == '\\' {
		n++
	}
	if n < len(s) && (s[n] == '"' || s[n] == '\'') {
		return mark{s[:n+1], s[n], n}, true
	}
	if n == 0 && s != "" && s[0] == '&' {
		for _, e := range entities {
			if strings.HasPrefix(s, e) {
				return mark{text: e}, true
			}
		}
	}
	return mark{}, false
}

// closing finds the mark that ends a string whose inside begins at an offset,
// up to a limit; -1 if it is not there. It returns where the inside ends.
func (f *finder) closing(m mark, from, limit int) int {
	if m.quote == 0 {
		if i := strings.Index(f.s[from:limit], m.text); i >= 0 {
			return from + i
		}
		return -1
	}
	for i := from; i < limit; i++ {
		k := strings.IndexByte(f.s[i:limit], m.quote)
		if k < 0 {
			return -1
		}
		i += k
		n := 0
		for i-n-1 >= from && f.s[i-n-1] == '\\' {
			n++
		}
		// Each level of strings in strings doubles the backslashes and adds one.
		if n < m.slashes || n%(2*m.slashes+2) == m.slashes {
			return i - min(n, m.slashes)
		}
	}
	return -1
}

// String returns where the inside of the string stands that a quote mark opens
// at an offset of a line, escaped or not; ok is false where the mark is an
// apostrophe or nothing closes it.
func String(line string, at int) (from, to int, ok bool) {
	f := finder{s: line}
	m, ok := f.markAt(at)
	if !ok || !opens(line, at) {
		return 0, 0, false
	}
	from = at + len(m.text)
	to = f.closing(m, from, len(line))
	return from, to, to >= 0
}

// line is the line at an offset, without its line break. It is kept: a line of
// a megabyte may hold thousands of openings.
func (f *finder) line(at int) (start, end int) {
	if at < f.start || at > f.end || !f.lined {
		f.start, f.end, f.lined = strings.LastIndexByte(f.s[:at], '\n')+1, endOfLine(f.s, at), true
	}
	return f.start, f.end
}

func (f *finder) lineEnd(at int) int {
	_, end := f.line(at)
	return end
}

// restEnd is how far what stands at an offset can go on without a string: to the
// end of its line, or where that is all there is of a log whose line ends were
// lost, to its next record.
func (f *finder) restEnd(at int) int {
	start, end := f.line(at)
	if f.part || end-start < joined || (end-start)*10 < len(f.s)*9 || f.budget <= 0 {
		return end
	}
	i := at
	defer func() { f.budget -= i - at }()
	for ; i < min(end, at+maxReach/4); i++ {
		if digit(f.s[i]) || f.s[i] >= 'A' && f.s[i] <= 'Z' || f.s[i] == '[' {
			if !wordly(f.s[i-1]) && record(f.s[i:min(end, i+30)]) {
				return i
			}
		} else if m, ok := f.markAt(i); ok && opens(f.s, i) {
			if k := f.closing(m, i+len(m.text), min(end, at+maxReach/4)); k >= 0 {
				i = f.behind(m, k) - 1
			}
		}
	}
	return end
}

// joined is how long a line is at least that was a log of several.
const joined = 400

// endOfLine is the end of the line at an offset, without its line break.
func endOfLine(s string, at int) int {
	i := strings.IndexByte(s[at:], '\n')
	switch {
	case i < 0:
		return len(s)
	case i > 0 && s[at+i-1] == '\r':
		return at + i - 1
	}
	return at + i
}

// behind is the offset behind the mark that ends a string whose inside ends at
// an offset: a damaged one has fewer backslashes than the one that began it.
func (f *finder) behind(m mark, end int) int {
	if m.quote == 0 {
		return min(end+len(m.text), len(f.s))
	}
	for end < len(f.s) && f.s[end] == '\\' {
		end++
	}
	return min(end+1, len(f.s))
}

// reach is how far behind its line something that began at an offset may go on:
// up to a line that begins a record of a log, where the line before it is not
// as long as the first one, which a console broke.
func (f *finder) reach(at int) int {
	start, end := f.line(at)
	width := end - start
	limit := min(len(f.s), end+maxReach, end+max(f.budget, 0))
	last := width
	for n := 0; n < maxLines; n++ {
		next := end
		for next < len(f.s) && (f.s[next] == '\r' || f.s[next] == '\n') {
			next++
			if f.s[next-1] == '\n' {
				break
			}
		}
		if next >= limit || f.s[next-1] != '\n' {
			break
		}
		stop := endOfLine(f.s, next)
		if stop > limit || record(f.s[next:stop]) && (last != width || width < 60) {
			break
		}
		end, last = stop, stop-next
	}
	return end
}

// inside returns where the inside of a string ends that begins behind a mark.
// What does not end on its line or on those that it was broken into ends with
// the line.
func (f *finder) inside(m mark, from int) (end int, closed bool) {
	line := f.lineEnd(from)
	if i := f.closing(m, from, line); i >= 0 {
		return i, true
	}
	if f.budget > 0 {
		limit := f.reach(from)
		i := f.closing(m, line, limit)
		f.budget -= limit - line
		if i >= 0 {
			return i, true
		}
	}
	return line, false
}

// skipCodes passes blanks and the colours of a terminal.
func (f *finder) skipCodes(i int) int {
	for i < len(f.s) {
		switch {
		case f.s[i] == ' ' || f.s[i] == '\t':
			i++
		case strings.HasPrefix(f.s[i:], "\x1b["):
			k := strings.IndexByte(f.s[i:min(i+16, len(f.s))], 'm')
			if k < 0 {
				return i
			}
			i += k + 1
		default:
			return i
		}
	}
	return i
}

// record reports a line that begins as a program's log or trace does.
func record(line string) bool {
	line = strings.TrimLeft(line, " \t")
	if line == "" {
		return false
	}
	if c := line[0]; c == '[' || c == '(' {
		line = line[1:]
	}
	digits := 0
	for digits < len(line) && line[digits] >= '0' && line[digits] <= '9' {
		digits++
	}
	if rest := line[digits:]; digits > 0 && len(rest) > 3 {
		return (rest[0] == '-' || rest[0] == '/') && digits == 4 && digit(rest[1]) || rest[0] == ':' && digits == 2 && digit(rest[1]) && digit(rest[2])
	}
	for _, begins := range recordStarts {
		if strings.HasPrefix(line, begins) {
			return true
		}
	}
	return false
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

// recordStarts begin lines of logs and traces.
var recordStarts = []string{
	"INFO", "WARN", "ERROR", "DEBUG", "CRITICAL", "FATAL", "Traceback (most recent", "time=", "level=", "GIN]", "rank", "EngineCore", "APIServer", "VllmWorker", "Worker", "File \"", "srv ", "slot ", "llama_", "ggml_", "build: ", "load_tensors:", "print_info:", "main: ",
	"Total VRAM", "pytorch version:", "got prompt", "Prompt executed", "Launching Web UI", "Loading weights [", "Total progress:", "!!! Exception",
	"torch.", "RuntimeError:", "Error:", "CUDA error",
}
