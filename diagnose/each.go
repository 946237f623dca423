package diagnose

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"time"

	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/internal/scan"
)

// Bounds of what [Each] keeps of a log that has no end.
const (
	eachHead     = 32 << 10  // how the program started
	eachLines    = 128 << 10 // settings that it told later, the newest
	eachBefore   = 24 << 10  // a failure's traceback
	eachAfter    = 8 << 10   // what only reports it again
	eachTogether = 256 << 10 // failure upon failure
	eachSilence  = time.Second
)

// Each reads a log that may have no end, and calls found for every incident as
// soon as it is complete: when the log has gone on for a while after it, has
// been silent for a second, or ends. Its lines are counted from the first that
// was read. What led to it is looked for in the lines before it, in how the
// program started and in what it said of its settings; memory is bounded,
// however long the log is. A failure that comes again is an incident again.
//
// Each returns nil at the log's end, the error of found or of r as it is, and
// ctx.Err() when ctx is done. It reads in a goroutine of its own, which ends
// when r.Read returns; found is called from the calling one.
func Each(ctx context.Context, r io.Reader, found func(Incident) error) error {
	type read struct {
		text []byte
		err  error
	}
	reads, taken := make(chan read), make(chan struct{})
	defer close(taken)
	go func() {
		for in := arriving(r); ; {
			buf := make([]byte, 64<<10)
			n, err := in.Read(buf)
			select {
			case reads <- read{buf[:n], err}:
			case <-taken:
				return
			}
			if err != nil {
				return
			}
		}
	}()
	t := &tail{ctx: ctx, words: reader().ScanWords(), found: found, line: 1, first: 1}
	silence := time.NewTimer(eachSilence)
	defer silence.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-silence.C:
			err = t.tell(true)
		case got := <-reads:
			silence.Reset(eachSilence)
			if err = t.read(got.text, got.err != nil); err == nil && got.err != nil {
				t.failed = len(t.recent) > 0 // the last words may be short: "Killed"
				if err = t.tell(true); err == nil && got.err != io.EOF {
					err = got.err
				}
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

// arriving is a reader of UTF-8 that passes on what comes when it comes.
func arriving(r io.Reader) io.Reader {
	head := make([]byte, 4<<10)
	n, err := r.Read(head)
	head = head[:n]
	rest := r
	if err != nil {
		rest = failing{err}
	}
	if order, mark := clean.UTF16(head); order != nil {
		return &utf16Reader{r: bufio.NewReader(io.MultiReader(bytes.NewReader(head[mark:]), rest)), order: order}
	}
	return io.MultiReader(bytes.NewReader(bytes.TrimPrefix(head, []byte("\ufeff"))), rest)
}

// failing is a reader that has failed, or ended, already.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// tail is what is kept of a log that goes on.
type tail struct {
	ctx   context.Context
	words scan.Words
	found func(Incident) error

	head    []byte // from line 1 on
	told    bool   // an incident was told: what follows is no head any more
	lines   []scan.Segment
	held    int    // bytes of lines
	recent  []byte // whole lines that were not told
	first   int    // number of recent's first line
	line    int    // number of the next line
	part    []byte // of the line that has not ended
	failure int    // offset in recent of the first failure, when failed
	last    int    // of the last one
	failed  bool
}

// longestLine is where a line that does not end is cut: a progress bar.
const longestLine = 16 << 10

// read takes what arrived, and tells the incidents that are complete.
func (t *tail) read(b []byte, end bool) error {
	t.part = append(t.part, b...)
	whole := bytes.LastIndexByte(t.part, '\n') + 1
	if whole == 0 && (len(t.part) > longestLine || end) {
		whole = len(t.part)
	}
	block := t.part[:whole]
	t.look(block)
	t.part = append(t.part[:0], t.part[whole:]...)
	if end && len(t.part) > 0 {
		return t.read(nil, true)
	}
	return t.tell(false)
}

// look searches whole lines for words of failures and of settings.
func (t *tail) look(block []byte) {
	if len(block) == 0 {
		return
	}
	from, text := len(t.recent), string(block)
	t.recent = append(t.recent, block...)
	at, number := 0, t.line
	for _, h := range t.words.Search.All(text) {
		number += bytes.Count(block[at:h.At], newline)
		at = h.At
		if t.words.Failure[h.Word] {
			if !t.failed {
				t.failed, t.failure = true, from+h.At
			}
			t.last = from + h.At
			continue
		}
		t.keep(number, lineOf(block, h.At))
	}
	t.line += bytes.Count(block, newline)
}

var newline = []byte{'\n'}

// lineOf is the line around an offset.
func lineOf(text []byte, at int) []byte {
	start := bytes.LastIndexByte(text[:at], '\n') + 1
	if end := bytes.IndexByte(text[at:], '\n'); end >= 0 {
		return text[start : at+end+1]
	}
	return text[start:]
}

// keep remembers a line that tells of settings, and forgets the oldest.
func (t *tail) keep(number int, line []byte) {
	if n := len(t.lines); len(line) > longestLine || n > 0 && t.lines[n-1].FirstLine == number {
		return
	}
	t.lines = append(t.lines, scan.Segment{FirstLine: number, Text: bytes.Clone(line)})
	t.held += len(line)
	for t.held > eachLines {
		t.held -= len(t.lines[0].Text)
		t.lines = t.lines[1:]
	}
}

// tell judges what is complete. now means that nothing follows for the time
// being.
func (t *tail) tell(now bool) error {
	if now && len(t.part) > 0 {
		t.look(t.part) // a line without its end, for the time being
		t.part = t.part[:0]
	}
	if !t.failed {
		t.forget(len(t.recent) - eachBefore)
		return nil
	}
	if !now && len(t.recent)-t.last < eachAfter && len(t.recent)-t.failure < eachTogether {
		return nil
	}
	report := judge(t.ctx, t.excerpt())
	if report == nil {
		return t.ctx.Err()
	}
	first := t.first
	t.failed, t.told = false, true
	t.forget(len(t.recent))
	for _, in := range report.Incidents {
		if in.Line < first {
			continue
		}
		if err := t.found(in); err != nil {
			return err
		}
	}
	return nil
}

// excerpt is all that is kept, in the order of its lines.
func (t *tail) excerpt() *scan.Excerpt {
	ex := &scan.Excerpt{}
	next := 1
	if len(t.head) > 0 {
		ex.Segments = append(ex.Segments, scan.Segment{FirstLine: 1, Text: t.head})
		next += bytes.Count(t.head, newline)
	}
	for _, l := range t.lines {
		if l.FirstLine >= next && l.FirstLine < t.first {
			ex.Segments = append(ex.Segments, l)
		}
	}
	ex.Segments = append(ex.Segments, scan.Segment{FirstLine: t.first, Text: t.recent})
	return ex
}

// forget drops the first bytes of recent, in whole lines. What a program said
// first stays as its head.
func (t *tail) forget(n int) {
	if n <= 0 {
		return
	}
	if end := bytes.IndexByte(t.recent[n-1:], '\n'); end >= 0 {
		n += end
	}
	n = min(n, len(t.recent))
	gone := t.recent[:n]
	if !t.told && len(t.head) < eachHead {
		t.head = append(t.head, gone...)
	}
	t.first += bytes.Count(gone, newline)
	t.recent = append(t.recent[:0], t.recent[n:]...)
}
