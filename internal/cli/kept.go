package cli

import (
	endian "encoding/binary"
	"io"
	"strings"
	"unicode/utf16"

	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/render"
)

// How many bytes of a log are kept to be shown: what a comment on GitHub can
// hold beside the answer, the most of it from the end, where programs fail.
const (
	keptHead = 8 << 10
	keptTail = 32 << 10
)

// kept holds the first and the last bytes of what it was written.
type kept struct {
	head, tail []byte
	n          int64 // bytes in all
}

// keep returns a reader that keeps what is read through it, where logs are to
// be shown.
func (s *session) keep(r io.Reader) (io.Reader, *kept) {
	if s.logs == nil {
		return r, nil
	}
	k := &kept{}
	return io.TeeReader(r, k), k
}

func (k *kept) Write(p []byte) (int, error) {
	k.n += int64(len(p))
	rest := p
	if room := min(keptHead-len(k.head), len(rest)); room > 0 {
		k.head, rest = append(k.head, rest[:room]...), rest[room:]
	}
	if len(rest) >= keptTail {
		k.tail, rest = k.tail[:0], rest[len(rest)-keptTail:]
	}
	if drop := len(k.tail) + len(rest) - keptTail; drop > 0 {
		k.tail = append(k.tail[:0], k.tail[drop:]...)
	}
	k.tail = append(k.tail, rest...)
	return len(p), nil
}

// log is what was kept of a log of so many lines, in whole lines and without
// terminal codes.
func (k *kept) log(lines int) render.Log {
	head, tail := k.head, k.tail
	whole := k.n == int64(len(head)+len(tail))
	if order, mark := clean.UTF16(head); order != nil {
		odd := int(k.n-int64(len(tail))) % 2
		head, tail = utf8Of(order, head[mark:]), utf8Of(order, tail[min(odd, len(tail)):])
	}
	if whole {
		return render.Log{Head: screened(string(head) + string(tail))}
	}
	first, last := string(head), string(tail)
	if n := strings.LastIndexByte(first, '\n'); n >= 0 {
		first = first[:n+1]
	}
	if n := strings.IndexByte(last, '\n'); n >= 0 {
		last = last[n+1:]
	}
	log := render.Log{Head: screened(first), Tail: screened(last)}
	log.Left = max(lines-strings.Count(log.Head+log.Tail, "\n"), 1)
	return log
}

// utf8Of is text in UTF-16 in UTF-8.
func utf8Of(order endian.ByteOrder, b []byte) []byte {
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = order.Uint16(b[2*i:])
	}
	return []byte(string(utf16.Decode(units)))
}

// screened is a log as a terminal shows it: of lines that were written over,
// such as progress bars, the last state.
func screened(s string) string {
	lines := strings.Split(strings.ToValidUTF8(strings.TrimPrefix(s, "\ufeff"), "\ufffd"), "\n")
	for i, line := range lines {
		line = strings.TrimRight(line, "\r")
		lines[i] = clean.Printable(line[strings.LastIndexByte(line, '\r')+1:])
	}
	return strings.Join(lines, "\n")
}
