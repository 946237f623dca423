package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/internal/cli/clip"
)

// input is one thing to read.
type input struct {
	name   string // as the user wrote it; "" for standard input and the clipboard
	called string // for messages: `"crash.log"`, "standard input"
	r      io.Reader
	format string // of the compression, "" for none
	found  bool   // in a folder: nobody said that it is a log
}

const pipeHint = "pipe a log in: PROGRAM 2>&1 | oomdoc (2>&1 takes the error messages along)"

// reports reads what the options name. What could be read comes with the error
// of what could not.
func (s *session) reports(ctx context.Context, o *options) ([]*diagnose.Report, error) {
	switch {
	case o.paste:
		raw, err := clip.Read(ctx, clip.System(s.getenv))
		if err != nil {
			return nil, trouble("%v", err)
		}
		return s.read(ctx, input{called: "the clipboard", r: bytes.NewReader(raw)})
	case o.fromReport != "":
		return s.readFile(o.fromReport, func(in input) ([]*diagnose.Report, error) { return readReports(in, in.r) })
	case len(o.files) == 0:
		s.greet()
		return s.read(ctx, s.standardInput())
	}
	return s.files(ctx, o.files)
}

func (s *session) standardInput() input { return input{called: "standard input", r: s.stdin} }

// greet tells somebody who typed "oomdoc" what it waits for.
func (s *session) greet() {
	if _, ok := terminal(s.stdin); ok {
		fmt.Fprintf(s.stderr, "Paste the crash, then press %s (oomdoc --help shows other ways).\n", endOfInput)
	}
}

// readFile opens a file, or standard input for "-".
func (s *session) readFile(name string, read func(input) ([]*diagnose.Report, error)) ([]*diagnose.Report, error) {
	if name == "-" {
		return read(s.standardInput())
	}
	in := input{name: name, called: fmt.Sprintf("%q", name)}
	f, err := os.Open(name)
	if err != nil {
		return nil, unreadable(in, err)
	}
	defer f.Close()
	in.r = f
	return read(in)
}

// read diagnoses a log. A saved report is none: it is shown only where it was
// asked for, since a log can be made to look like one.
func (s *session) read(ctx context.Context, in input) ([]*diagnose.Report, error) {
	defer s.showing(&in)()
	r, head, err := open(ctx, &in)
	if err != nil {
		return nil, unreadable(in, err)
	}
	if ctx.Err() != nil && len(head) == 0 {
		return nil, nil
	}
	if err := unfit(in, head, len(head) < sniffed); err != nil {
		if in.found {
			return nil, nil
		}
		return nil, err
	}
	whole, log := s.keep(s.learning(r))
	report, cut, err := diagnosed(ctx, whole)
	if report == nil {
		return nil, nil // interrupted
	}
	report.Input.Name = in.name
	if log != nil {
		s.logs[report] = log
	}
	if err != nil {
		return []*diagnose.Report{report}, brokenOff(in, err)
	}
	if cut {
		report.Notes = append(report.Notes, fmt.Sprintf("Reading was interrupted: this is the report on the first %d bytes.", report.Input.Bytes))
	}
	return []*diagnose.Report{report}, nil
}

// open unpacks an input where it must be, and returns its first bytes as well. An
// error behind them comes again when they are read.
func open(ctx context.Context, in *input) (*bufio.Reader, []byte, error) {
	raw := bufio.NewReaderSize(&interruptible{ctx, &ending{r: in.r}}, sniffed)
	head, err := raw.Peek(sniffed)
	if err != nil && !errors.Is(err, io.EOF) && len(head) == 0 {
		return nil, nil, err
	}
	r, format, err := unpacked(raw, head)
	if format == "" || err != nil {
		in.format = format
		return raw, head, err
	}
	in.format = format
	text := bufio.NewReaderSize(&interruptible{ctx, &ending{r: r}}, sniffed)
	head, err = text.Peek(sniffed)
	if errors.Is(err, io.EOF) || len(head) > 0 {
		err = nil
	}
	return text, head, err
}

// ending keeps the end of its input: a terminal that said it once, at Ctrl-D,
// would otherwise be read again and wait for a second one.
type ending struct {
	r   io.Reader
	err error
}

func (e *ending) Read(p []byte) (n int, err error) {
	if e.err == nil {
		n, e.err = e.r.Read(p)
	}
	return n, e.err
}

// readReports decodes one saved report or several, one after the other.
func readReports(in input, r io.Reader) ([]*diagnose.Report, error) {
	var reports []*diagnose.Report
	limited := &io.LimitedReader{R: r, N: maxSaved}
	for d := json.NewDecoder(limited); ; {
		var raw json.RawMessage
		err := d.Decode(&raw)
		if limited.N <= 0 || len(reports) > maxReports {
			return nil, trouble("%s is more than a file of saved reports can be: %d MiB and %d reports", in.called, maxSaved>>20, maxReports)
		}
		if errors.Is(err, io.EOF) && len(reports) > 0 {
			return reports, nil
		}
		if err != nil {
			return nil, notReport(in, err)
		}
		report, err := diagnose.Decode(bytes.NewReader(raw))
		if err != nil {
			return nil, notReport(in, err)
		}
		reports = append(reports, report.AsSaved())
	}
}

// Bounds of what --from-report reads.
const (
	maxSaved   = 32 << 20
	maxReports = 1000
)

func notReport(in input, err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return unreadable(in, err)
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		err = fmt.Errorf("it is cut off or no JSON, at character %d", syntax.Offset)
	}
	return trouble("%s is not a report that oomdoc --format json wrote: %v", in.called, err)
}

// brokenOff says why an input could not be read to its end; there is a report of
// what came before.
func brokenOff(in input, err error) error {
	if what := damaged(err); what != "" && in.format != "" {
		return trouble("%s %s (%s, %v): the report is on what could be unpacked; copy it again for the rest", in.called, what, in.format, errors.Unwrap(err))
	}
	return trouble("%s cannot be read to its end: %v: the report is on what came before", in.called, reason(err))
}

// reason is an error without the name of a file, which is told already.
func reason(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	return err
}

// unreadable says why a file cannot be read and what to do about it.
func unreadable(in input, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return trouble("there is no file %s%s; name the file that holds the log, or %s", in.called, meantCommand(in.name), pipeHint)
	case errors.Is(err, fs.ErrPermission):
		return trouble("%s may not be read by this user; make it readable, or pipe it in: sudo cat FILE | oomdoc", in.called)
	}
	if what := damaged(err); what != "" && in.format != "" {
		return trouble("%s %s (%s, %v); copy it again, or give what can be unpacked: %s FILE | oomdoc", in.called, what, in.format, err, unpackers[in.format])
	}
	return trouble("%s cannot be read: %v; copy it to a plain file, or %s", in.called, reason(err), pipeHint)
}
