package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/oomdoc/oomdoc/diagnose"
)

// largestMasked is how much of a log is masked: names are learned first and
// masked then, so it is held in memory, some four times over.
const largestMasked = 64 << 20

const redactHead = `oomdoc redact writes a log with what is private in it masked: keys,
passwords, prompts, names of users, hosts, folders and files, addresses. One
name is one pseudonym throughout (USER1, HOST2, KEY1). Figures and line numbers
stay, and oomdoc says the same of it. Look it through before you publish it.

Usage:
  oomdoc redact [FILE]       read a file of up to 64 MiB, or standard input

Examples:
  oomdoc redact crash.log > masked.log
  tail -n 2000 server.log | oomdoc redact

Flags:
`

// redact is the subcommand.
func (s *session) redact(ctx context.Context, args []string) error {
	files, ok, err := s.bare("redact", args)
	if err != nil || !ok {
		return err
	}
	if len(files) > 1 {
		return trouble("redact takes one file, not %d, since what it writes is one log", len(files))
	}
	in := s.standardInput()
	if len(files) == 1 && files[0] != "-" {
		in.name, in.called = files[0], fmt.Sprintf("%q", files[0])
		f, err := os.Open(in.name)
		if err != nil {
			return unreadable(in, err)
		}
		defer f.Close()
		in.r = f
	} else {
		s.greet()
	}
	log, err := whole(ctx, in)
	if err != nil {
		return err
	}
	return s.print(diagnose.NewRedactor().Log(log))
}

// whole reads all of a log, unpacked. An interrupt leaves nothing: half a log
// that looks like all of it would be no help to anybody.
func whole(ctx context.Context, in input) ([]byte, error) {
	r, head, err := open(ctx, &in)
	if err != nil {
		return nil, unreadable(in, err)
	}
	if ctx.Err() != nil {
		return nil, interrupted(ctx)
	}
	if err := unfit(in, head, len(head) < sniffed); err != nil {
		return nil, err
	}
	var log bytes.Buffer
	n, err := io.Copy(&log, io.LimitReader(r, largestMasked+1))
	switch {
	case err != nil:
		return nil, unreadable(in, err)
	case ctx.Err() != nil:
		return nil, interrupted(ctx)
	case n > largestMasked:
		return nil, trouble("%s is larger than the 64 MiB that are masked at once; give the part around the failure: tail -c 50M FILE | oomdoc redact", in.called)
	}
	return log.Bytes(), nil
}

// learning is a log that the names of --redact are learned from on the way.
func (s *session) learning(r io.Reader) io.Reader {
	if s.redactor == nil {
		return r
	}
	return io.TeeReader(r, s.redactor)
}
