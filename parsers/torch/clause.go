package torch

import (
	"strconv"
	"strings"

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
		end := at
		for end < len(s) && s[end] >= '0' && s[end] <= '9' {
			end++
		}
		if end == at || !strings.HasPrefix(s[end:], "has") {
			continue
		}
		pid, err := strconv.Atoi(s[at:end])
		from, to := sizeAt(s, end+3)
		if err != nil || to == from || !strings.HasPrefix(s[to:], "memoryinuse") {
			continue
		}
		if size := l.Size(from, to); size != nil {
			g.OtherProcesses = append(g.OtherProcesses, fact.Process{PID: pid, Bytes: size.Bytes, Text: size.Text, Line: size.Line, Device: -1})
		}
		r.end = max(r.end, to+len("memoryinuse"))
		at = to
	}
}

// reader finds the clauses of one message in squeezed text by their literals.
type reader struct {
	l    *text.Log
	s    string
	from int
	end  int // where the last clause found ends
}

// after returns the size that follows a literal.
func (r *reader) after(literal string) *fact.Size {
	i := strings.Index(r.s[r.from:], literal)
	if i < 0 {
		return nil
	}
	from, to := sizeAt(r.s, r.from+i+len(literal))
	if from == to {
		return nil
	}
	return r.took(r.l.Size(from, to), to)
}

// countAfter returns the integer that follows a literal.
func (r *reader) countAfter(literal string) *fact.Count {
	i := strings.Index(r.s[r.from:], literal)
	if i < 0 {
		return nil
	}
	from := r.from + i + len(literal)
	to := from
	for to < len(r.s) && r.s[to] >= '0' && r.s[to] <= '9' && to-from < 9 {
		to++
	}
	if from == to {
		return nil
	}
	if to < len(r.s) && r.s[to] == '%' {
		return nil // a progress bar behind a message that was cut
	}
	r.end = max(r.end, to)
	return r.l.Count(from, to)
}

// before returns the size that ends right before a literal.
func (r *reader) before(literal string) *fact.Size {
	for at := r.from; ; {
		i := strings.Index(r.s[at:], literal)
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

func (r *reader) took(s *fact.Size, end int) *fact.Size {
	r.end = max(r.end, end)
	return s
}

// device reads "(GPU 0;", ". GPU 0 has", "(NPU 0;": the index inside
// CUDA_VISIBLE_DEVICES.
func (r *reader) device() *fact.Count {
	for _, literal := range [...]string{"gpu", "npu"} {
		for at := r.from; ; {
			i := strings.Index(r.s[at:], literal)
			if i < 0 {
				break
			}
			at += i + len(literal)
			from := at
			for from < len(r.s) && r.s[from] == ':' {
				from++
			}
			to := from
			for to < len(r.s) && r.s[to] >= '0' && r.s[to] <= '9' && to-from < 5 {
				to++
			}
			if to > from && to < len(r.s) && (r.s[to] == ';' || strings.HasPrefix(r.s[to:], "has")) {
				r.end = max(r.end, to)
				return r.l.Count(from, to)
			}
		}
	}
	return nil
}

// sizeAt returns the span of a size with its unit at an offset; from == to if
// there is none.
func sizeAt(s string, at int) (from, to int) {
	to = at
	for to < len(s) && to-at < 32 && (s[to] >= '0' && s[to] <= '9' || s[to] == '.' || s[to] == ',') {
		to++
	}
	if to == at {
		return at, at
	}
	for _, unit := range sizeUnits {
		if strings.HasPrefix(s[to:], unit) {
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
