package cli

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"errors"
	"io"

	"github.com/klauspost/compress/zstd"
)

// compressed are the formats that are unpacked on the way, by their first
// bytes.
var compressed = []struct {
	magic, name string
	open        func(io.Reader) (io.Reader, error)
}{
	{"\x1f\x8b", "gzip", func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) }},
	{"\x28\xb5\x2f\xfd", "zstd", func(r io.Reader) (io.Reader, error) {
		d, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxZstdWindow))
		if err != nil {
			return nil, err
		}
		return d, nil
	}},
}

// unpackers are the programs that unpack what can be had of a damaged file.
var unpackers = map[string]string{"gzip": "zcat", "zstd": "zstdcat"}

// maxZstdWindow is what zstd -19 needs, and bounds the memory.
const maxZstdWindow = 16 << 20

// unpacked returns what a compressed input holds, and the name of its format;
// any other input as it is.
func unpacked(r *bufio.Reader, head []byte) (io.Reader, string, error) {
	for _, c := range compressed {
		if bytes.HasPrefix(head, []byte(c.magic)) {
			in, err := c.open(r)
			return in, c.name, err
		}
	}
	return r, "", nil
}

// damaged says what is wrong with a compressed input, "" if it is something
// else.
func damaged(err error) string {
	var corrupt flate.CorruptInputError
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "is cut off"
	case errors.Is(err, zstd.ErrWindowSizeExceeded):
		return "was compressed with a window that is too large to read (zstd --long or --ultra)"
	case errors.As(err, &corrupt), errors.Is(err, gzip.ErrChecksum), errors.Is(err, gzip.ErrHeader), errors.Is(err, zstd.ErrCRCMismatch), errors.Is(err, zstd.ErrMagicMismatch):
		return "is damaged"
	}
	return ""
}
