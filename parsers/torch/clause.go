package torch

import (
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/digrams"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// processClause reads reportProcessMemoryInfo's list, in NVML's order: this
// process stands anywhere among the others.
func processClause(f *fact.Facts, l *text.Log, r *reader, g *fact.Figures) {
	g.ProcessUsed = r.after("thisprocesshas")
	s := r.s
	for at := r.from; ; {
		i := strings.Index(s[at:], "process")
		if i < 0 {
			return
		}
		at += i + len("process")
		end := numberEnd(s, at, "")
		if end == at || !strings.HasPrefix(s[end:], "has") {
			continue
		}
		pid, err := strconv.Atoi(s[at:end])
		from, to := sizeAt(s, end+3)
		if err != nil || to == from || !strings.HasPrefix(s[to:], "memoryinuse") && !r.cut(to, "memoryinuse") {
			continue
		}
		if size := l.Size(from, to); size != nil {
			g.OtherProcesses = append(g.OtherProcesses, fact.Process{PID: pid, Bytes: size.Bytes, Text: size.Text, Line: size.Line, Device: -1})
		}
		r.end = max(r.end, min(to+len("memoryinuse"), len(s)))
		at = to
	}
}

// reader finds the clauses of one message in squeezed text by their literals.
type reader struct {
	l    *text.Log
	s    string
	has  *digrams.Set // of what is read; nil where few clauses are looked for
	from int
	end  int // where the last clause found ends
}

// behind returns where a literal ends, the end of the message without it.
func (r *reader) behind(literal string) int {
	i := r.has.Index(r.s[r.from:], literal)
	if i < 0 {
		return len(r.s)
	}
	return r.from + i + len(literal)
}

// after returns the size that follows a literal.
func (r *reader) after(literal string) *fact.Size {
	from, to := sizeAt(r.s, r.behind(literal))
	if from == to {
		return nil
	}
	return r.took(r.l.Size(from, to), to)
}

// countAfter returns the integer that follows a literal.
func (r *reader) countAfter(literal string) *fact.Count {
	from := r.behind(literal)
	to := numberEnd(r.s, from, "")
	if from == to || to < len(r.s) && r.s[to] == '%' {
		return nil // or a progress bar behind a message that was cut
	}
	r.end = max(r.end, to)
	return r.l.Count(from, to)
}

// before returns the size that ends right before a literal.
func (r *reader) before(literal string) *fact.Size {
	for at := r.from; ; {
		i := r.has.Index(r.s[at:], literal)
		if i < 0 {
			return nil
		}
		at += i
		if from := sizeBefore(r.s, r.from, at); from < at {
			return r.took(r.l.Size(from, at), at+len(literal))
		}
		at += len(literal)
	}
}

// cut: the whole log ends inside a literal, or right before it but behind a
// whole unit.
func (r *reader) cut(at int, literal string) bool {
	return len(r.s) == len(r.l.Squeezed()) && strings.HasPrefix(literal, r.s[at:]) && strings.HasSuffix(r.s[:at], "ib")
}

// beforeCut returns the size in front of a literal inside which the log ends,
// three letters into it or more.
func (r *reader) beforeCut(literal string) *fact.Size {
	for n := len(literal) - 1; n >= 3; n-- {
		if at := len(r.s) - n; at > r.from && r.cut(at, literal) {
			if from := sizeBefore(r.s, r.from, at); from < at {
				return r.took(r.l.Size(from, at), len(r.s))
			}
		}
	}
	return nil
}

func (r *reader) took(s *fact.Size, end int) *fact.Size {
	r.end = max(r.end, end)
	return s
}

// device reads "(GPU 0;", ". GPU 0 has", "(NPU 0;": the index inside
// CUDA_VISIBLE_DEVICES.
func (r *reader) device() *fact.Count {
	for at := r.from; ; {
		i := strings.Index(r.s[at:], "pu")
		if i < 0 {
			return nil
		}
		at += i + len("pu")
		if at-3 < r.from || r.s[at-3] != 'g' && r.s[at-3] != 'n' {
			continue
		}
		from := at
		for from < len(r.s) && from < at+3 && r.s[from] == ':' {
			from++
		}
		to := numberEnd(r.s, from, "")
		if to > from && to <= from+5 && (strings.HasPrefix(r.s[to:], ";") || strings.HasPrefix(r.s[to:], "has")) {
			r.end = max(r.end, to)
			return r.l.Count(from, to)
		}
	}
}

// numberEnd returns where the digits at an offset end, with what else may stand
// among them.
func numberEnd(s string, at int, also string) int {
	to := at
	for to < len(s) && to-at < 32 && (s[to] >= '0' && s[to] <= '9' || strings.IndexByte(also, s[to]) >= 0) {
		to++
	}
	return to
}

// numberStart returns where the digits that end at an offset begin.
func numberStart(s string, at int) int {
	for at > 0 && s[at-1] >= '0' && s[at-1] <= '9' {
		at--
	}
	return at
}

// sizeAt returns the span of a size with its unit at an offset; from == to if
// there is none.
func sizeAt(s string, at int) (from, to int) {
	to = numberEnd(s, at, ".,")
	for _, unit := range sizeUnits {
		if to > at && strings.HasPrefix(s[to:], unit) {
			return at, to + len(unit)
		}
	}
	return at, at
}

// sizeBefore returns where a size that ends at an offset begins; the offset
// itself if none does.
func sizeBefore(s string, floor, at int) int {
	for _, unit := range sizeUnits {
		if !strings.HasSuffix(s[floor:at], unit) {
			continue
		}
		from := at - len(unit)
		end := from
		for from > floor && end-from < 32 && (s[from-1] >= '0' && s[from-1] <= '9' || s[from-1] == '.' || s[from-1] == ',') {
			from--
		}
		for from < end && (s[from] == '.' || s[from] == ',') {
			from++
		}
		if from < end {
			return from
		}
	}
	return at
}

var sizeUnits = [...]string{"gib", "mib", "kib", "bytes", "gb", "mb", "kb", "tib", "tb"}
