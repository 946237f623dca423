// Package scan reads logs of any size in one pass and keeps what matters: the
// windows around words that announce a failure, and single lines that hold
// settings. Memory is bounded whatever the input.
package scan

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"unsafe"
)

// Words are what a scan looks for.
type Words struct {
	Search *Search
	// Failure says of every word of Search whether it announces a failure (a
	// window is kept) or only an informative line (the line is kept).
	Failure []bool
	// Foreign reports that what stands at an offset of a text is not the log's
	// own: a word there announces nothing. Nil: all is.
	Foreign func(text string, at int) bool
	// Spread are texts of which one stands wherever what is foreign goes over
	// several lines, sorted.
	Spread []string
}

// Segment is a run of whole lines that was kept.
type Segment struct {
	FirstLine int
	Text      []byte
}

// Excerpt is what a scan kept of a log.
type Excerpt struct {
	Segments []Segment
	Bytes    int64
	Lines    int
	// Repeats are messages that were met again outside of what was kept.
	Repeats []Repeat
	// Dropped counts failure words that are neither kept nor a repeat.
	Dropped int
}

// Bounds of what is kept.
const (
	blockSize   = 1 << 20
	carrySize   = 64 << 10 // of the block before, so that windows reach back
	wholeSize   = 256 << 10
	headSize    = 64 << 10 // arguments, versions, the load of the model
	tailSize    = 32 << 10 // the last words, if they are no keyword ("Killed")
	windowUp    = 24 << 10 // a traceback of 300 lines; not more than tailSize
	windowDown  = 8 << 10
	maxKept     = 5 << 18  // of windows
	maxLines    = 1 << 18  // of informative lines, so that they leave room for a failure at the end
	maxPerWord  = 128      // informative lines of one word
	maxLineKept = 16 << 10 // vLLM's argument lines reach 10 KiB
	usual       = 6 << 10  // of what is pasted
)

// Read scans a log. What is kept does not depend on how r delivers its bytes.
// A log of up to 256 KiB is kept whole; only a longer one needs the words. When
// r fails, the excerpt of what came before is returned with the error; when ctx
// is done, nothing is.
func Read(ctx context.Context, r io.Reader, words func() Words) (*Excerpt, error) {
	var head bytes.Buffer
	head.Grow(usual)
	n, err := head.ReadFrom(io.LimitReader(r, wholeSize+1))
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err != nil {
		return whole(head.Bytes()), fmt.Errorf("read log after %d bytes: %w", n, err)
	}
	if n <= wholeSize {
		return whole(head.Bytes()), nil
	}
	return readBlocks(ctx, io.MultiReader(&head, r), words())
}

func readBlocks(ctx context.Context, r io.Reader, words Words) (*Excerpt, error) {
	s := &scanner{done: ctx.Done(), words: words, seen: make([]int, len(words.Failure)), lineAt: 1}
	buf := make([]byte, carrySize+blockSize)
	carry := 0
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		n, err := Fill(r, buf[carry:carry+blockSize])
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		region := buf[:carry+n]
		s.spread = nil
		if s.base == 0 {
			s.keep(region, 0, headSize)
		}
		if err != nil {
			s.finish(region)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if errors.Is(err, io.EOF) {
				return &s.out, nil
			}
			return &s.out, fmt.Errorf("read log after %d bytes: %w", s.out.Bytes, err)
		}
		s.block(region, len(region)-maxMessage)
		s.flush(region, s.searched-tailSize)
		s.tally(s.searched - tailSize)
		keep := min(carrySize, len(region))
		s.advance(region[:len(region)-keep])
		carry = copy(buf, region[len(region)-keep:])
	}
}

// Fill reads until buf is full or the input ends, which is io.EOF. For
// io.ReadFull an end within buf is io.ErrUnexpectedEOF, and that is what
// readers of compressed files say of one that was cut off.
func Fill(r io.Reader, buf []byte) (n int, err error) {
	for n < len(buf) && err == nil {
		var k int
		k, err = r.Read(buf[n:])
		n += k
	}
	if n == len(buf) {
		return n, nil
	}
	return n, err
}

// finish ends a scan with its last region.
func (s *scanner) finish(region []byte) {
	s.block(region, len(region))
	end := s.base + int64(len(region))
	s.flush(region, end)
	s.keep(region, end-tailSize, end)
	s.tally(end)
	s.out.Repeats = s.list()
	s.out.Bytes = end
	s.out.Lines = s.total + countLines(region)
}

func whole(text []byte) *Excerpt {
	return &Excerpt{Segments: []Segment{{FirstLine: 1, Text: text}}, Bytes: int64(len(text)), Lines: countLines(text)}
}

func countLines(text []byte) int {
	n := bytes.Count(text, newline)
	if len(text) > 0 && text[len(text)-1] != '\n' {
		n++
	}
	return n
}

var newline = []byte{'\n'}

// scanner holds the state between blocks. Offsets are absolute.
type scanner struct {
	done   <-chan struct{} // of the context
	words  Words
	seen   []int // informative lines kept, by word
	out    Excerpt
	kept   int   // bytes of windows
	lines  int   // bytes of informative lines
	asked  int   // how often a word was asked whether it is foreign
	spread *bool // whether the region has one of the texts of Spread, once that was asked

	base     int64  // of the region's first byte
	searched int64  // words that begin before it are dealt with
	lineAt   int    // line number at base
	total    int    // newlines before base
	pending  int64  // where the window that reaches beyond the last block ends
	emitted  int64  // everything before this offset was kept or passed over
	held     []span // informative lines that a window may still cover

	repeats
}

type span struct{ from, to int64 }

// block deals with the words that begin before an offset of a region.
func (s *scanner) block(region []byte, limit int) {
	if s.pending > s.emitted {
		s.kept += s.keep(region, s.emitted, s.pending)
	}
	from, enough := int(s.searched-s.base), false
	text := unsafe.String(unsafe.SliceData(region[from:]), len(region)-from)
	for _, h := range s.words.Search.Parallel(text) {
		at := from + h.At
		if at >= limit || s.stopped() {
			break // the next block looks again, when the whole message is there
		}
		abs := s.base + int64(at)
		switch {
		case s.words.Failure[h.Word]:
			s.failure(region, at)
		case !s.enough(h.Word) && abs >= s.emitted && !(s.spreads(region) && s.foreign(region, at)):
			s.seen[h.Word]++
			start, end := lineAround(region, at)
			s.lines += end - start
			s.held = append(s.held, span{s.base + int64(start), s.base + int64(end)})
			enough = enough || s.enough(h.Word)
		}
	}
	s.searched = s.base + int64(limit)
	if enough {
		s.words.Search = s.words.Search.Only(func(word int) bool { return !s.enough(word) })
	}
}

func (s *scanner) stopped() bool {
	select {
	case <-s.done:
		return true
	default:
		return false
	}
}

// enough reports a word that no more lines are kept of. It is looked for no
// longer: what a server prints every few seconds would take up a quarter of the
// time.
func (s *scanner) enough(word int) bool {
	return !s.words.Failure[word] && (s.seen[word] >= maxPerWord || s.lines >= maxLines)
}

// failure keeps the window around a word, or counts the message it begins.
func (s *scanner) failure(region []byte, at int) {
	abs := s.base + int64(at)
	message := messageAt(region, at)
	if abs < s.said {
		return // another word of the same message
	}
	s.said = abs + int64(len(message))
	if (s.kept < maxKept || s.fresh(message)) && s.foreign(region, at) {
		return
	}
	seen := s.meet(message)
	switch {
	case seen != nil && (seen.met > maxWindows || s.kept >= maxKept):
		if abs >= max(s.emitted, s.pending) {
			s.uncounted = append(s.uncounted, mention{abs, s.sample(seen, region, at)})
		}
	case s.kept >= maxKept:
		s.out.Dropped++
	default:
		s.flush(region, abs-windowUp)
		s.kept += s.keep(region, abs-windowUp, abs+windowDown)
	}
}

// Bounds on asking whether a word is foreign: how much before and behind it is
// looked at, first for its line alone, and how often all together.
const (
	foreignLine  = 4 << 10
	foreignUp    = 16 << 10
	foreignDown  = 2 << 10
	foreignAsked = 100_000
)

// foreign reports a word in what somebody else wrote into the log.
func (s *scanner) foreign(region []byte, at int) bool {
	if s.asked++; s.words.Foreign == nil || s.asked > foreignAsked {
		return false
	}
	for _, up := range [...]int{foreignLine, foreignUp} {
		if up == foreignUp && !s.spreads(region) {
			break
		}
		start, end := lineNear(region, at, up), min(len(region), at+foreignDown)
		if up == foreignUp {
			start = lineNear(region, max(at-up, 0), up)
		} else {
			end = lineEnd(region[:end], at)
		}
		if s.words.Foreign(string(region[start:end]), at-start) {
			return true
		}
	}
	return false
}

// spreads reports a region in which something foreign may go over several lines.
func (s *scanner) spreads(region []byte) bool {
	if s.spread == nil {
		first, stands := byte(0), false
		has := slices.ContainsFunc(s.words.Spread, func(text string) bool {
			if text[0] != first { // half of them begin with one that is seldom met
				first, stands = text[0], bytes.IndexByte(region, text[0]) >= 0
			}
			return stands && bytes.Contains(region, []byte(text))
		})
		s.spread = &has
	}
	return *s.spread
}

// past returns the beginning of the first line from an offset on that does not
// begin in what somebody else wrote: cut in two, it could no longer be told.
func (s *scanner) past(region []byte, at, limit int) int {
	if at <= 0 || at >= len(region) || !s.spreads(region) {
		return at
	}
	start := lineNear(region, max(at-foreignUp, 0), foreignUp)
	text := string(region[start:min(len(region), at+foreignUp)])
	for n := 0; n < foreignLines && at < limit && at-start < len(text) && s.words.Foreign(text, at-start); n++ {
		at = lineEnd(region, at)
	}
	return min(at, limit)
}

// foreignLines bounds how far a window is moved.
const foreignLines = 100

// flush keeps the informative lines before an offset. They are held back until
// no window can reach over them: a window keeps the lines between them as well.
func (s *scanner) flush(region []byte, before int64) {
	n := 0
	for n < len(s.held) && s.held[n].from < before {
		s.keep(region, s.held[n].from, s.held[n].to)
		n++
	}
	s.held = append(s.held[:0], s.held[n:]...)
}

// keep takes whole lines of a window into the excerpt, as far as the region
// reaches; the rest is pending. It returns how many bytes it took.
func (s *scanner) keep(region []byte, from, to int64) int {
	from = max(from, s.emitted, s.base)
	s.pending = max(s.pending, to)
	end := min(to, s.base+int64(len(region)))
	if from >= end {
		return 0
	}
	start := int(from - s.base)
	if from != s.emitted || from == 0 {
		start = lineStart(region, start)
		start = max(start, int(s.emitted-s.base), 0)
	}
	stop := int(end - s.base)
	if end == to && region[stop-1] != '\n' {
		stop = lineEnd(region, stop)
	}
	if to-from > foreignLine {
		if s.base+int64(start) != s.emitted {
			start = s.past(region, start, stop)
		}
		if end == to {
			stop = s.past(region, stop, len(region))
		}
	}
	text := region[start:stop]
	if len(text) == 0 {
		return 0
	}
	s.add(Segment{FirstLine: s.lineAt + bytes.Count(region[:start], newline), Text: bytes.Clone(text)}, s.base+int64(start) == s.emitted)
	s.emitted = s.base + int64(stop)
	s.cover(s.base+int64(start), s.emitted)
	return len(text)
}

// add appends a segment, joining it to the last one where they touch.
func (s *scanner) add(seg Segment, touches bool) {
	if n := len(s.out.Segments); touches && n > 0 {
		s.out.Segments[n-1].Text = append(s.out.Segments[n-1].Text, seg.Text...)
		return
	}
	s.out.Segments = append(s.out.Segments, seg)
}

// advance moves the base over what is no longer needed.
func (s *scanner) advance(passed []byte) {
	n := bytes.Count(passed, newline)
	s.lineAt += n
	s.total += n
	s.base += int64(len(passed))
}

// lineAround returns the span of the line at an offset, cut to maxLineKept
// around it.
func lineAround(text []byte, at int) (start, end int) {
	start, end = lineNear(text, at, maxLineKept/2), at+maxLineKept
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		end = min(end, at+i+1)
	}
	return start, end // beyond the region where the line goes on: the rest is pending
}

func lineStart(text []byte, at int) int {
	return bytes.LastIndexByte(text[:at], '\n') + 1
}

// lineNear is lineStart, or so many bytes before the offset where the line begins
// further up: a log of one line is not searched again for each word in it.
func lineNear(text []byte, at, most int) int {
	from := max(at-most, 0)
	return from + lineStart(text[from:], at-from)
}

func lineEnd(text []byte, at int) int {
	if i := bytes.IndexByte(text[at:], '\n'); i >= 0 {
		return at + i + 1
	}
	return len(text)
}
