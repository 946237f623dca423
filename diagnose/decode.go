package diagnose

import (
	"bufio"
	"encoding/binary"
	"errors"
	"io"
	"unicode/utf16"
	"unicode/utf8"
)

// counter counts the bytes that were read.
type counter struct {
	r io.Reader
	n int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += int64(n)
	return n, err
}

// utf8Reader takes a byte order mark off and converts UTF-16 (PowerShell's >
// writes it). Invalid UTF-8 is replaced later, in the windows that are kept.
func utf8Reader(r io.Reader) io.Reader {
	b := bufio.NewReaderSize(r, 4<<10)
	mark, _ := b.Peek(3)
	switch {
	case len(mark) >= 2 && mark[0] == 0xff && mark[1] == 0xfe:
		b.Discard(2)
		return &utf16Reader{r: b, order: binary.LittleEndian}
	case len(mark) >= 2 && mark[0] == 0xfe && mark[1] == 0xff:
		b.Discard(2)
		return &utf16Reader{r: b, order: binary.BigEndian}
	case string(mark) == "\ufeff":
		b.Discard(3)
	}
	return b
}

// utf16Reader converts UTF-16 to UTF-8. Lone surrogates become U+FFFD, an odd
// last byte is dropped.
type utf16Reader struct {
	r     *bufio.Reader
	order binary.ByteOrder
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
	n, err := io.ReadFull(u.r, block[:])
	if errors.Is(err, io.ErrUnexpectedEOF) {
		err = io.EOF
	}
	u.err = err
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
