package cli

import (
	"context"
	"io"
	"os"
)

// interruptible ends its input when the user presses Ctrl-C, also while a read
// waits for a pipe or a terminal: what was read so far is diagnosed.
type interruptible struct {
	ctx context.Context
	r   io.Reader
}

func (i *interruptible) Read(p []byte) (int, error) {
	if i.ctx.Err() != nil {
		return 0, io.EOF
	}
	if regular(i.r) {
		return i.r.Read(p)
	}
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	go func() {
		n, err := i.r.Read(p)
		done <- result{n, err}
	}()
	select {
	case got := <-done:
		if got.err != nil && i.ctx.Err() != nil {
			got.err = io.EOF // cut off by the interrupt
		}
		return got.n, got.err
	case <-i.ctx.Done():
		return 0, io.EOF // nobody looks at p any more
	}
}

// regular reports a plain file, from which a read does not wait.
func regular(r io.Reader) bool {
	if e, ok := r.(*ending); ok {
		r = e.r
	}
	f, ok := r.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode().IsRegular()
}
