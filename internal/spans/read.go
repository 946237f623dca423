package spans

import "strings"

// toLineEnd makes the reader of a line whose rest belongs to a request.
func toLineEnd(check func(f *finder, at, end int) bool) func(f *finder, at, end int) {
	return func(f *finder, at, end int) {
		if check == nil || check(f, at, end) {
			f.mixed(end, f.restEnd(end))
		}
	}
}

// mixed adds a text up to an offset, or up to where a string ends that begins in
// it: its strings as prompts, lists of numbers as tokens, the rest as what a
// request says of itself.
func (f *finder) mixed(from, to int) {
	from = max(from, f.done)
	for i := from; i < to; {
		m, ok := f.markAt(i)
		switch {
		case ok && opens(f.s, i):
			begin := i + len(m.text)
			end, closed := f.inside(m, begin)
			f.add(from, begin, Request)
			f.add(begin, end, Prompt)
			from, i = end, end
			if closed {
				i = f.behind(m, end)
			}
			if i > to {
				to = f.lineEnd(i) // broken by a console: the rest of it follows
			}
		case f.s[i] == '[' && i+1 < to && digit(f.s[i+1]) && strings.HasSuffix(strings.TrimRight(f.s[max(from, i-12):i], ` =:"'`), "ids"):
			end := i + 1
			for end < to && (digit(f.s[end]) || f.s[end] == ',' || f.s[end] == ' ') {
				end++
			}
			f.add(from, i+1, Request)
			f.add(i+1, end, Tokens)
			from, i = end, end
		default:
			i++
		}
	}
	f.add(from, to, Request)
}

// opens reports that a quote mark at an offset begins a string: it does not
// stand in a word, as an apostrophe does.
func opens(s string, i int) bool {
	if i == 0 {
		return true
	}
	c := s[i-1]
	if c == 'b' || c == 'r' || c == 'f' { // a string of Python
		if i == 1 {
			return true
		}
		c = s[i-2]
	}
	return strings.IndexByte(" \t\n([{<,:=/|;>", c) >= 0 || c == 'm' && strings.Contains(s[max(0, i-8):i], "\x1b[")
}

// value makes the reader of what a key has: a string, or a list or a dictionary
// with all that is in it.
func value(kind Kind) func(f *finder, at, end int) {
	return func(f *finder, at, end int) {
		if begin, ok := f.behindKey(end); ok {
			f.value(begin, kind)
		}
	}
}

// behindKey returns where the value of a key stands whose name ends at an
// offset: behind `": `, `=`, `': `.
func (f *finder) behindKey(end int) (begin int, ok bool) {
	i := f.skipCodes(end)
	if m, quoted := f.markAt(i); quoted {
		i = f.skipCodes(i + len(m.text))
	}
	if i >= len(f.s) || f.s[i] != ':' && f.s[i] != '=' {
		return 0, false
	}
	return f.skipCodes(i + 1), true
}

// value adds the value that begins at an offset and reports whether one does.
func (f *finder) value(i int, kind Kind) bool {
	if i < len(f.s) && (f.s[i] == 'b' || f.s[i] == 'f') {
		if m, ok := f.markAt(i + 1); ok && m.slashes == 0 {
			i++
		}
	}
	if i >= len(f.s) {
		return false
	}
	if m, ok := f.markAt(i); ok {
		begin := i + len(m.text)
		end, _ := f.inside(m, begin)
		f.add(begin, end, kind)
		return true
	}
	if c := f.s[i]; c == '[' || c == '{' || c == '(' {
		end, _ := f.bracket(i)
		f.mixed(i+1, end)
		return true
	}
	return false
}

// numbers makes the reader of a list of a tokenizer's numbers.
func numbers(f *finder, _, end int) {
	i, ok := f.behindKey(end)
	if !ok || i >= len(f.s) || f.s[i] != '[' {
		return
	}
	list := func(from, limit int) int {
		for from < limit && (digit(f.s[from]) || strings.IndexByte(", \r\n.[-", f.s[from]) >= 0) {
			from++
		}
		return from
	}
	line := f.lineEnd(i)
	to := list(i+1, line)
	if to == line && f.budget > 0 {
		limit := f.reach(i)
		f.budget -= limit - line
		to = list(to, limit)
	}
	f.add(i+1, to, Tokens)
}

// braces makes the reader of a struct in braces or of a call: all of it is a
// request.
func braces(f *finder, _, end int) {
	to, _ := f.bracket(end - 1)
	f.mixed(end, to)
}

// bracket returns where the bracket at an offset closes: the offset of its
// partner, or the end of the line where there is none within reach.
func (f *finder) bracket(open int) (end int, closed bool) {
	line := f.lineEnd(open)
	if end, ok := f.partner(open, line); ok {
		return end, true
	}
	if f.budget > 0 {
		limit := f.reach(open)
		end, ok := f.partner(open, limit)
		f.budget -= limit - open
		if ok {
			return end, true
		}
	}
	return line, false
}

// partner finds the bracket that closes the one at an offset.
func (f *finder) partner(open, limit int) (int, bool) {
	depth := 0
	for i := open; i < limit; i++ {
		switch c := f.s[i]; c {
		case '(', '[', '{':
			depth++
		case ')', ']', '}':
			if depth--; depth == 0 {
				return i, true
			}
		case '"', '\'', '\\', '&':
			m, ok := f.markAt(i)
			if !ok || !opens(f.s, i) {
				continue
			}
			end := f.closing(m, i+len(m.text), limit)
			if end < 0 {
				return 0, false
			}
			i = f.behind(m, end) - 1
		}
	}
	return 0, false
}
