package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync/atomic"
	"syscall"

	"github.com/oomdoc/oomdoc/diagnose"
)

// Signals returns a context that ends with the first Ctrl-C, SIGTERM or SIGHUP;
// its cause says with which. The second one ends the process, as without us. A
// SIGHUP that is ignored, under nohup, stays so.
func Signals() context.Context {
	ctx, end := context.WithCancelCause(context.Background())
	wanted := []os.Signal{os.Interrupt, syscall.SIGTERM}
	if !signal.Ignored(syscall.SIGHUP) {
		wanted = append(wanted, syscall.SIGHUP)
	}
	caught := make(chan os.Signal, 1)
	signal.Notify(caught, wanted...)
	go func() {
		s := <-caught
		signal.Stop(caught)
		end(stopped{s})
	}()
	return ctx
}

// stopped is the cause of a context that a signal ended.
type stopped struct{ by os.Signal }

func (s stopped) Error() string { return "stopped by " + s.by.String() }

// interrupted ends a run that the user or the system stopped. There is a report
// of what was read, and the code is the one that shells give to the signal.
func interrupted(ctx context.Context) error {
	code := codeInterrupted
	var s stopped
	if errors.As(context.Cause(ctx), &s) {
		if number, ok := s.by.(syscall.Signal); ok {
			code = 128 + int(number)
		}
	}
	return &exitError{code: code}
}

// diagnosed reads a log. While it comes in, the end of ctx only cuts it off (see
// [interruptible]) and what was read is diagnosed; after that it ends the
// diagnosis, and there is no report.
func diagnosed(ctx context.Context, r io.Reader) (report *diagnose.Report, cut bool, err error) {
	judging, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	w := &watched{ctx: ctx, r: r, over: stop}
	defer context.AfterFunc(ctx, func() {
		if w.ended.Load() {
			stop()
		}
	})()
	report, err = diagnose.Read(judging, w)
	if report == nil {
		return nil, false, nil
	}
	return report, !w.ended.Load(), err
}

// watched knows whether its input came to its own end before ctx did.
type watched struct {
	ctx   context.Context
	r     io.Reader
	ended atomic.Bool
	over  func() // ctx ended as well
}

func (w *watched) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if err != nil && w.ctx.Err() == nil {
		w.ended.Store(true)
		if w.ctx.Err() != nil {
			w.over()
		}
	}
	return n, err
}

// interruptible ends its input when ctx does, also while a read waits for a pipe
// or a terminal: what was read so far is diagnosed.
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
