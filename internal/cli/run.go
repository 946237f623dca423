package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/internal/child"
	"github.com/oomdoc/oomdoc/internal/live"
	"github.com/oomdoc/oomdoc/internal/watch"
)

// runOptions are what `oomdoc run` is asked for.
type runOptions struct {
	options
	log   string
	watch bool
}

func (o *runOptions) define(fs *flag.FlagSet) {
	fs.StringVar(&o.log, "log", "", "keep the output in `FILE` as well; one that is there is overwritten")
	fs.BoolVar(&o.watch, "watch", false, "sample the memory of the program and of cards once a second")
	o.definePage(fs, outputs)
}

const runHead = `oomdoc run starts a program and explains it when it dies of memory. The program
runs as it would without; the answer follows on standard error.

Usage:
  oomdoc run [flags] -- COMMAND [ARGUMENT...]

Examples:
  oomdoc run -- python train.py
  oomdoc run --watch --log train.log -- torchrun --nproc-per-node 2 train.py

Flags:
`

const runTail = `
Exit codes are the program's own: 128 and a signal's number for one that a
signal ended, 126 and 127 where it could not be started; 2 where the call was
wrong.
`

// run is the subcommand.
func (s *session) run(ctx context.Context, args []string) error {
	o := &runOptions{}
	fs := flag.NewFlagSet("oomdoc run", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	o.define(fs)
	if err := fs.Parse(args); err != nil {
		return wrongFlag("oomdoc run", err)
	}
	if o.help {
		return s.print([]byte(runHead + flagHelp(o.define) + runTail))
	}
	if err := o.check(); err != nil {
		return err
	}
	if fs.NArg() == 0 {
		return trouble("run needs a program: oomdoc run -- python train.py")
	}
	command := &child.Command{Args: fs.Args(), Stdin: s.stdin, Stdout: s.stdout, Stderr: s.stderr}
	if o.log != "" {
		f, err := os.Create(o.log)
		if err != nil {
			return trouble("the log cannot be written: %v", err)
		}
		defer f.Close()
		command.Log = f
	}
	return s.attend(context.WithoutCancel(ctx), command, o)
}

// attend runs a command to its end and tells what it died of.
func (s *session) attend(ctx context.Context, command *child.Command, o *runOptions) error {
	a := &attended{machine: &live.Machine{}, name: filepath.Base(command.Args[0]), ready: make(chan struct{})}
	a.before = a.machine.Before()
	if o.watch {
		command.Started = func(pid int) { a.watcher = watch.Start(pid) }
	}
	if o.redact || o.format == "github" {
		s.redactor = diagnose.NewRedactor()
	}
	heard, hears := io.Pipe()
	command.Heard = hears
	reports := make(chan *diagnose.Report, 1)
	go func() {
		report, err := diagnose.Read(ctx, s.learning(heard), diagnose.Beside(func() *diagnose.Live { return a.beside(ctx) }))
		heard.CloseWithError(err) // nil or not: nobody listens any more
		reports <- report
	}()
	ended, err := command.Run()
	if err != nil {
		hears.Close()
		close(a.ready)
		return notStarted(command.Args[0], err)
	}
	a.ended = ended
	close(a.ready)
	hears.Close()
	report := <-reports
	if ended.LogErr != nil {
		fmt.Fprintf(s.stderr, "oomdoc: the log could not be written to its end: %v\n", ended.LogErr)
	}
	if err := s.tell(ctx, report, a, o); err != nil {
		return err
	}
	child.Interrupted(ended.Signal)
	if ended.Code == 0 {
		return nil
	}
	return &exitError{code: ended.Code}
}

// attended is what is known of a command beside its output.
type attended struct {
	machine *live.Machine
	before  live.Before
	name    string
	watcher *watch.Watcher // nil where nobody watches
	ready   chan struct{}  // closed when ended is known
	ended   *child.Ended   // nil where it did not start
	denied  bool           // the machine knows of no kill for memory
}

// lookBack is how long before a program's end it may have been killed: what
// happened earlier is another story.
const lookBack = 30 * time.Second

// beside is what the machine says when the program has ended.
func (a *attended) beside(ctx context.Context) *diagnose.Live {
	<-a.ready
	if a.ended == nil {
		return nil
	}
	l := &diagnose.Live{Taken: time.Now().UTC().Truncate(time.Second)}
	if a.watcher != nil {
		l.Growth = a.watcher.Stop(a.ended.Peak)
	}
	since := a.ended.At.Add(-lookBack)
	if since.Before(a.ended.Began) {
		since = a.ended.Began
	}
	d := &live.Death{Name: a.name, PID: a.ended.PID, Code: a.ended.Code, Signal: a.ended.Signal, Since: since}
	if d.Silent() {
		l.Lines, a.denied = a.machine.Lines(ctx, d, a.before)
	}
	return l
}

// tell writes the answer to standard error: standard output is the program's.
func (s *session) tell(ctx context.Context, report *diagnose.Report, a *attended, o *runOptions) error {
	if report == nil || !report.OOM {
		if a.denied {
			fmt.Fprintf(s.stderr, "oomdoc: %s was ended by signal 9, and not for memory as far as this machine tells: somebody or something sent it\n", a.name)
		}
		return nil
	}
	a.machine.Gather(ctx, report)
	if _, ok := terminal(s.stderr); ok {
		fmt.Fprintln(s.stderr)
	}
	answer := &session{stdin: s.stdin, stdout: s.stderr, stderr: s.stderr, getenv: s.getenv, redactor: s.redactor, taken: true}
	return answer.write(answer.masked([]*diagnose.Report{report}), &o.options)
}

// notStarted says why a command could not be started, with the shell's code.
func notStarted(name string, err error) error {
	var start *child.StartError
	if errors.As(err, &start) {
		return &exitError{message: fmt.Sprintf("%q cannot be started: %v", name, errors.Unwrap(start.Err)), code: start.Code}
	}
	return trouble("%q cannot be started: %v", name, err)
}
