// Package child starts a command as the shell would, and listens in on what it
// prints. The command notices nothing of it: where output is a terminal it gets
// one, its streams stay apart, signals reach it, and its exit code is known.
package child

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"time"

	"golang.org/x/term"
)

// Command is what to start and where its streams lead.
type Command struct {
	Args           []string
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Heard gets the lines of both outputs as they were ended, Log their bytes as
	// they come. Either may be nil. Neither is written to by two goroutines at
	// once.
	Heard, Log io.Writer
	// Started is called with the process number when the command runs; nil for
	// no call.
	Started func(pid int)
}

// Ended is how a command ended.
type Ended struct {
	// Code is the exit code as a shell numbers it: 128 and the signal's number
	// for one that a signal ended. On Windows it is the status as it is.
	Code int
	// Signal is the number of the signal that ended it, 0 for none.
	Signal int
	PID    int
	// Began and At are when it started and ended.
	Began, At time.Time
	// Peak is the most memory that one of its processes held, in bytes; 0 where
	// the system does not tell.
	Peak int64
	// LogErr is why the log could not be written to its end, nil if it was.
	LogErr error
}

// Codes of a command that did not start, as shells number them.
const (
	NotExecutable = 126
	NotFound      = 127
)

// StartError is a command that did not start.
type StartError struct {
	Code int
	Err  error
}

func (e *StartError) Error() string { return e.Err.Error() }

func (e *StartError) Unwrap() error { return e.Err }

// Run starts the command and waits for its end. A process that it left behind
// does not keep Run waiting; what such a process prints later is lost.
func (c *Command) Run() (*Ended, error) {
	heard := &hearing{heard: c.Heard, log: c.Log}
	cmd := exec.Command(c.Args[0], c.Args[1:]...)
	lines, err := c.lay(cmd, heard)
	if err != nil {
		return nil, err
	}
	defer lines.restore()
	signals := catch()
	defer signals.stop()
	began := time.Now()
	if err := cmd.Start(); err != nil {
		lines.restore()
		return nil, startError(err)
	}
	lines.started()
	if c.Started != nil {
		c.Started(cmd.Process.Pid)
	}
	go signals.pass(cmd.Process, lines)
	cmd.Wait() // its error is the exit code, or of a stream that is not the command's
	ended := ended(cmd.ProcessState)
	ended.PID, ended.Began, ended.At = cmd.Process.Pid, began, time.Now()
	lines.drain(heard)
	heard.end()
	ended.LogErr = heard.logErr
	return ended, nil
}

func startError(err error) error {
	code := NotFound
	if errors.Is(err, fs.ErrPermission) {
		code = NotExecutable
	}
	return &StartError{Code: code, Err: err}
}

// laid are the streams of a command, and what is to be undone after it.
type laid struct {
	copies []*stream
	childs []*os.File // ends that are the command's own
	screen *screen    // nil where no output is a terminal
	undo   []func()
}

// lay gives the command its streams: a terminal for a terminal, a pipe for
// anything else, and its input as it is.
func (c *Command) lay(cmd *exec.Cmd, heard *hearing) (*laid, error) {
	l := &laid{}
	cmd.Stdin = c.Stdin
	slave, err := l.open(c, cmd)
	if err != nil {
		return nil, err
	}
	for _, out := range []struct {
		to  io.Writer
		put *io.Writer
	}{{c.Stdout, &cmd.Stdout}, {c.Stderr, &cmd.Stderr}} {
		if slave != nil && isTerminal(out.to) {
			*out.put = slave
			continue
		}
		r, w, err := os.Pipe()
		if err != nil {
			l.restore()
			return nil, err
		}
		widen(r)
		*out.put = w
		l.childs = append(l.childs, w)
		l.copies = append(l.copies, &stream{from: r, to: out.to})
	}
	for _, s := range l.copies {
		s.heard = heard
	}
	return l, nil
}

// started closes what belongs to the command alone, and begins to copy.
func (l *laid) started() {
	for _, f := range l.childs {
		f.Close()
	}
	l.childs = nil
	for _, s := range l.copies {
		s.done = make(chan struct{})
		go s.copy()
	}
}

// settle is how long outputs may stay silent after the command's end, where a
// process that it left behind holds them open.
const settle = 250 * time.Millisecond

// drain waits for what the command still printed. Our ends are closed behind it
// only: a command that closes its own before it exits (GNU's tools do) is still
// there, and the end of its terminal would kill it.
func (l *laid) drain(heard *hearing) {
	for _, s := range l.copies {
		defer s.from.Close()
		for last := int64(-1); ; {
			select {
			case <-s.done:
			case <-time.After(settle):
				if n := heard.count(); n != last {
					last = n
					continue
				}
			}
			break
		}
	}
}

// restore leaves the terminal as it was found. It may be called twice.
func (l *laid) restore() {
	for i := len(l.undo) - 1; i >= 0; i-- {
		l.undo[i]()
	}
	l.undo = nil
}

func isTerminal(x any) bool {
	f, ok := x.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}
