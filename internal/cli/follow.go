package cli

import (
	"context"
	"flag"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/internal/follow"
	"github.com/oomdoc/oomdoc/render"
)

// followOptions are what `oomdoc follow` is asked for.
type followOptions struct {
	options
	fromStart bool
}

func (o *followOptions) define(fs *flag.FlagSet) {
	fs.BoolVar(&o.fromStart, "from-start", false, "answer the failures that a file has already, too")
	o.definePage(fs, spoken)
}

const followHead = `oomdoc follow answers failures as they happen, in files that grow or in what a
program prints. It goes on over rotated and truncated files, and waits for one
that is not there yet.

Usage:
  oomdoc follow [flags] FILE...
  PROGRAM 2>&1 | oomdoc follow -

Examples:
  oomdoc follow /var/log/vllm.log
  journalctl -fu ollama | oomdoc follow -
  oomdoc follow --format json *.log | while read -r report; do ...

Flags:
`

const followTail = `
Lines are counted from the first that was read, over rotations. A failure that
comes again within the hour is told in one line; in JSON each is an object.

Exit codes:
  0  the input has ended, and there was a failure
  1  the input has ended without one
  2  a file could not be read, or the call was wrong
  130  interrupted
`

// spoken are the formats in which an answer can stand alone.
var spoken = []string{"markdown", "text", "json"}

// follow is the subcommand.
func (s *session) follow(ctx context.Context, args []string) error {
	o := &followOptions{}
	files, err := readFlags("oomdoc follow", o.define, args)
	if err != nil {
		return err
	}
	if o.help {
		return s.print([]byte(followHead + flagHelp(o.define) + followTail))
	}
	if err := o.check(); err != nil {
		return err
	}
	if len(files) == 0 {
		return trouble("follow needs a file, or - for standard input: PROGRAM 2>&1 | oomdoc follow -")
	}
	if o.redact {
		s.redactor = diagnose.NewRedactor()
	}
	s.taken = slices.Contains(files, "-")
	f := &followed{session: s, options: &o.options, seen: map[string]*sighting{}, several: len(files) > 1}
	troubles := make([]error, len(files))
	var all sync.WaitGroup
	for i, name := range files {
		in, old := f.open(ctx, name, o.fromStart) // all, before the first is read: they grow meanwhile
		all.Go(func() { troubles[i] = f.file(ctx, name, in, old) })
	}
	all.Wait()
	for _, err := range troubles {
		if err != nil {
			return err
		}
	}
	switch {
	case ctx.Err() != nil:
		return interrupted(ctx)
	case !f.any:
		return errNothing
	}
	return nil
}

// followed are several inputs whose answers go to one output.
type followed struct {
	*session
	options *options
	several bool

	mu   sync.Mutex
	any  bool
	seen map[string]*sighting
}

// sighting is when a failure was told in full, and how often it came since.
type sighting struct {
	told  time.Time
	times int
}

// open gives an input, and how many of its lines are not to be answered.
func (f *followed) open(ctx context.Context, name string, fromStart bool) (in io.Reader, old func() int) {
	none := func() int { return 0 }
	if name == "-" {
		return &interruptible{ctx, &ending{r: f.stdin}}, none
	}
	file := follow.New(ctx, name)
	file.Missing = func() { f.note("%q is not there yet; waiting for it", name) }
	if fromStart {
		return file, none
	}
	return file, file.Old
}

// file follows one input to its end. One that cannot be read says so at once:
// the others go on.
func (f *followed) file(ctx context.Context, name string, in io.Reader, old func() int) error {
	err := diagnose.Each(context.WithoutCancel(ctx), f.learning(in), func(in diagnose.Incident) error {
		if in.Line <= old() {
			return nil
		}
		return f.tell(name, in)
	})
	if _, ours := err.(*exitError); err == nil || ours {
		return err
	}
	err = unreadable(input{called: fmt.Sprintf("%q", name)}, err)
	f.note("%v", err)
	return &exitError{code: codeTrouble}
}

func (f *followed) note(format string, args ...any) {
	f.mu.Lock()
	defer f.mu.Unlock()
	fmt.Fprintf(f.stderr, "oomdoc: "+format+"\n", args...)
}

// tell writes an answer as soon as there is one.
func (f *followed) tell(name string, in diagnose.Incident) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.any = true
	r := &diagnose.Report{Schema: diagnose.Schema, OOM: true, Incidents: []diagnose.Incident{in}}
	r.Input.Lines = in.EndLine
	if name != "-" {
		r.Input.Name = name
	}
	if f.redactor != nil {
		r = f.redactor.Report(r)
	}
	if f.options.format == "json" {
		line, err := indented([]*diagnose.Report{r}, "")
		if err != nil {
			return trouble("%v", err)
		}
		return f.print(line)
	}
	now := time.Now()
	where := now.Format("15:04:05")
	if f.several && name != "-" {
		where = name + ", " + where
	}
	if again := f.again(name, &r.Incidents[0], now); again > 1 {
		return f.print(fmt.Appendf(nil, "%s: again (%d): %s, line %d\n", render.Plain(where), again, render.Plain(r.Incidents[0].Headline), in.Line))
	}
	layout, colored := f.layout(f.options)
	page := render.Options{Layout: layout, Brief: f.options.brief, Full: f.options.full, Name: where}
	told := render.Markdown(r, page)
	if f.options.format == "text" {
		told = render.Text(r, page)
	}
	out, err := f.finished(told, colored, f.options)
	if err != nil {
		return err
	}
	return f.print(append(out, '\n'))
}

// Repeats are told in a line for this long, and so many of them are known.
const (
	repeatsFor  = time.Hour
	maxSighting = 256
)

// again counts how often a failure came since it was told in full: 1 is now.
func (f *followed) again(name string, in *diagnose.Incident, now time.Time) int {
	key := name + "\x00" + in.Framework + "\x00" + strings.Map(notDigit, in.Headline)
	s := f.seen[key]
	if s == nil || now.Sub(s.told) > repeatsFor {
		if len(f.seen) >= maxSighting {
			clear(f.seen)
		}
		s = &sighting{told: now}
		f.seen[key] = s
	}
	s.times++
	return s.times
}

func notDigit(r rune) rune {
	if r >= '0' && r <= '9' {
		return -1
	}
	return r
}
