package diagnose

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"io"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/oomdoc/oomdoc/internal/clean"
)

// counter counts the bytes that were read, and keeps the error that ended them:
// a buffer that looks ahead would lose it.
type counter struct {
	r   io.Reader
	n   int64
	err error
}

// maxEmpty is how often a reader may return neither bytes nor an error before it
// counts as one that never will; bufio has the same number.
const maxEmpty = 100

func (c *counter) Read(p []byte) (n int, err error) {
	for empty := 0; c.err == nil && n == 0 && len(p) > 0; empty++ {
		if empty == maxEmpty {
			c.err = io.ErrNoProgress
			break
		}
		n, c.err = c.r.Read(p)
		c.n += int64(n)
	}
	return n, c.err
}

// abandoning reads in a goroutine, so that nobody waits for it when ctx is done.
type abandoning struct {
	ctx context.Context
	r   io.Reader
}

// unblocked is a reader that returns when ctx is done.
func unblocked(ctx context.Context, r io.Reader) io.Reader {
	if ctx.Done() == nil {
		return r
	}
	return &abandoning{ctx, r}
}

func (a *abandoning) Read(p []byte) (int, error) {
	if err := a.ctx.Err(); err != nil {
		return 0, err
	}
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	go func() {
		n, err := a.r.Read(p) // the whole of p is given up with it
		done <- result{n, err}
	}()
	select {
	case got := <-done:
		return got.n, got.err
	case <-a.ctx.Done():
		return 0, a.ctx.Err()
	}
}

// utf8Reader takes a byte order mark off and converts UTF-16 (PowerShell's >
// writes it). Invalid UTF-8 is replaced later, in the windows that are kept.
func utf8Reader(r io.Reader) io.Reader {
	b := bufio.NewReaderSize(r, 1<<10) // longer reads pass it by
	head, _ := b.Peek(512)
	if order, mark := clean.UTF16(head); order != nil {
		b.Discard(mark)
		return &utf16Reader{r: b, order: order}
	}
	if bytes.HasPrefix(head, []byte("\ufeff")) {
		b.Discard(len("\ufeff"))
	}
	return b
}

// utf16Reader converts UTF-16 to UTF-8. Lone surrogates become U+FFFD, an odd
// last byte is dropped.
type utf16Reader struct {
	r     *bufio.Reader
	order binary.ByteOrder
	half  []byte // of a unit whose other byte has not come
	high  rune   // a surrogate that waits for its other half
	out   []byte // converted and not yet read
	err   error
}

func (u *utf16Reader) Read(p []byte) (int, error) {
	for len(u.out) == 0 && u.err == nil {
		u.convert()
	}
	n := copy(p, u.out)
	u.out = u.out[n:]
	if n == 0 {
		return 0, u.err
	}
	return n, nil
}

func (u *utf16Reader) convert() {
	var block [4096]byte
	n := copy(block[:], u.half)
	k, err := u.r.Read(block[n:])
	n, u.err = n+k, err
	u.half = append(u.half[:0], block[n&^1:n]...)
	u.out = u.out[:0]
	for i := 0; i+1 < n; i += 2 {
		c := rune(u.order.Uint16(block[i:]))
		switch {
		case u.high != 0:
			r := utf16.DecodeRune(u.high, c)
			u.high = 0
			u.out = utf8.AppendRune(u.out, r)
			if r == utf8.RuneError && !utf16.IsSurrogate(c) {
				u.out = utf8.AppendRune(u.out, c)
			}
		case c >= 0xd800 && c < 0xdc00:
			u.high = c
		default:
			u.out = utf8.AppendRune(u.out, c)
		}
	}
}
