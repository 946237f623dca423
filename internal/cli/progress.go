package cli

import (
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/oomdoc/oomdoc/internal/units"
)

// unmoved is how long a terminal waits before it is told what is going on.
const unmoved = 2 * time.Second

// progress counts what is read of an input.
type progress struct {
	r    io.Reader
	read atomic.Int64
}

func (p *progress) Read(b []byte) (int, error) {
	n, err := p.r.Read(b)
	p.read.Add(int64(n))
	return n, err
}

// showing tells a terminal how far reading is, where it takes more than two
// seconds, until done is called. Who types the input knows that it is waited for.
func (s *session) showing(in *input) (done func()) {
	_, terminalOut := terminal(s.stderr)
	if _, typed := terminal(in.r); !terminalOut || typed {
		return func() {}
	}
	size, read := position(in)
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		shown := false
		for wait := time.After(unmoved); ; wait = time.After(unmoved / 4) {
			select {
			case <-stop:
				if shown {
					fmt.Fprint(s.stderr, "\r\x1b[K")
				}
				return
			case <-wait:
			}
			fmt.Fprintf(s.stderr, "\r\x1b[Koomdoc: %s", state(in.called, read(), size))
			shown = true
		}
	}()
	return func() {
		close(stop)
		<-stopped
	}
}

// state is how far reading is: with its share where the size is known.
func state(called string, read, size int64) string {
	switch {
	case size > 0:
		return fmt.Sprintf("reading %s: %s of %s (%d %%)", called, units.Amount(read), units.Amount(size), min(read*100/size, 100))
	case read == 0:
		return fmt.Sprintf("waiting for %s; Ctrl-C ends it", called)
	}
	return fmt.Sprintf("read %s of %s; its end is waited for, Ctrl-C answers what came", units.Amount(read), called)
}

// position is the size of an input, 0 where it is not known, and how to learn
// how much of it was read.
func position(in *input) (size int64, read func() int64) {
	if f, ok := in.r.(*os.File); ok {
		if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
			return info.Size(), func() int64 {
				at, _ := f.Seek(0, io.SeekCurrent)
				return at
			}
		}
	}
	p := &progress{r: in.r}
	in.r = p
	return 0, p.read.Load
}
