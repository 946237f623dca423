package spans

import "strings"

// methods of HTTP, as request lines begin.
var methods = []string{"GET ", "POST ", "PUT ", "PATCH ", "DELETE ", "HEAD ", "OPTIONS ", "CONNECT ", "TRACE "}

// methodAt is the length of a method and its blank at the beginning of a text.
func methodAt(s string) int {
	for _, m := range methods {
		if strings.HasPrefix(s, m) {
			return len(m)
		}
	}
	return 0
}

// accessLog reads a line with "GET /path HTTP/1.1" in it: the target, and what
// servers print of headers behind it. The login stands before it.
func accessLog(f *finder, at, _ int) {
	start, end := f.line(at)
	start = max(start, f.done, f.looked, at-maxReach/4)
	f.looked = at
	line := f.s[start:at]
	method, n := -1, 0
	for i := 0; i < len(line); i++ {
		if c := line[i]; c < 'A' || c > 'Z' {
			continue
		}
		if n = methodAt(line[i:]); n > 0 && (i == 0 || !wordly(line[i-1])) {
			method = i
			break
		}
	}
	if method < 0 {
		return
	}
	if dash := strings.Index(line[:method], " - "); dash >= 0 {
		if date := strings.LastIndexByte(line[:method], '['); date > dash {
			login := strings.TrimRight(line[dash+len(" - "):date], " ")
			f.add(start+dash+len(" - "), start+dash+len(" - ")+len(login), Header)
		}
	}
	last := at // the last version on the line: a target can hold the word
	if i := strings.LastIndex(f.s[at:min(end, at+maxReach/4)], f.s[at:at+len(" HTTP/")]); i > 0 {
		last = at + i
	}
	f.add(start+method+n, last, Target)
	end = min(f.restEnd(last), last+maxReach/4)
	if i := strings.IndexByte(f.s[last:end], '"'); i >= 0 {
		after := last + i + 1
		if k := strings.IndexByte(f.s[after:end], '"'); k >= 0 {
			f.add(after+k, end, Header)
		}
	}
	f.done = max(f.done, last)
}

// target reads the request behind a word that servers print before it: the
// method stays, what follows up to the end of the line is the target.
func target(f *finder, _, end int) {
	line := f.restEnd(end)
	for i := end; i < min(line, end+200); i++ {
		if c := f.s[i]; c < 'A' || c > 'Z' || wordly(f.s[i-1]) {
			continue
		}
		if n := methodAt(f.s[i:line]); n > 0 {
			f.add(i+n, line, Target)
			return
		}
	}
}

// targetKey reads the value of a key that holds a URL, where the line has a
// method too: path=/v1/chat method=POST.
func targetKey(f *finder, at, end int) {
	begin, ok := f.behindKey(end)
	if !ok || at > 0 && wordly(f.s[at]) && wordly(f.s[at-1]) {
		return
	}
	start, stop := f.line(at)
	near := f.s[max(start, at-400):min(stop, at+400)]
	if !strings.Contains(near, "method") && !strings.Contains(near, "HTTP/") {
		return
	}
	if !f.value(begin, Target) {
		to := begin
		for to < stop && f.s[to] != ' ' && f.s[to] != ',' {
			to++
		}
		f.add(begin, to, Target)
	}
}

// header reads the value of a header: a string, or all to the end of the line.
func header(f *finder, _, end int) {
	begin, ok := f.behindKey(end)
	if !ok {
		return
	}
	if !f.value(begin, Header) {
		f.add(begin, f.restEnd(begin), Header)
	}
}
