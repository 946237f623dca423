// Package cli is the oomdoc command: flags, input, output and exit codes. It
// runs without a process, so that tests can drive it.
package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"syscall"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/internal/build"
	"github.com/oomdoc/oomdoc/internal/live"
	"github.com/oomdoc/oomdoc/internal/screen"
)

// Run is the command. Its error carries the exit code and, where it has
// something to say, the one line for standard error: see [Exit].
func Run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer, getenv func(string) string) error {
	s := &session{stdin: stdin, stdout: stdout, stderr: stderr, getenv: getenv}
	c, rest := dispatch(args)
	return c.run(s, ctx, rest)
}

// diagnose is the command without a name: it reads logs.
func (s *session) diagnose(ctx context.Context, args []string) error {
	o, err := parseFlags(args)
	if err != nil {
		return err
	}
	switch {
	case o.help:
		return s.print([]byte(help()))
	case o.version:
		return s.printVersion()
	}
	if o.format == "github" {
		s.logs = map[*diagnose.Report]*kept{}
	}
	if o.redact || o.format == "github" {
		s.redactor = diagnose.NewRedactor()
	}
	reports, broken := s.reports(ctx, o)
	s.taken = ctx.Err() != nil // a read of standard input may wait still
	switch {
	case len(reports) > 0:
	case ctx.Err() != nil:
		return interrupted(ctx)
	case broken != nil:
		return broken
	}
	if o.live {
		for _, r := range reports {
			(&live.Machine{}).Gather(context.WithoutCancel(ctx), r)
		}
	}
	if err := s.answer(s.masked(reports), o); err != nil {
		return err
	}
	switch {
	case broken != nil:
		return broken
	case ctx.Err() != nil:
		return interrupted(ctx)
	}
	return verdict(reports, o)
}

// session is one run of the command: where it reads, writes and looks up its
// environment.
type session struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	getenv         func(string) string
	// logs are kept where they are to be shown, nil elsewhere.
	logs map[*diagnose.Report]*kept
	// redactor learns from logs that are shown masked, nil elsewhere.
	redactor *diagnose.Redactor
	// on is the background of the terminal, nil until it was needed.
	on *screen.Background
	// taken: somebody else reads what is typed, so that the terminal's answer to a
	// question would be theirs.
	taken bool
}

// print writes to standard output in one go. A reader that went away (head,
// a pager that was left) is no error: nobody is there to be told.
func (s *session) print(b []byte) error {
	_, err := io.Copy(s.stdout, bytes.NewReader(b))
	if err != nil && !errors.Is(err, syscall.EPIPE) && !errors.Is(err, io.ErrClosedPipe) {
		var path *fs.PathError
		if errors.As(err, &path) {
			err = path.Err
		}
		return trouble("standard output cannot be written: %v", err)
	}
	return nil
}

// version is oomdoc's with what it was made from.
func version() string { return build.String() }
