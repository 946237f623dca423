package child

import (
	"os"
	"os/exec"
	"os/signal"
)

// screen: there is none on Windows, where programs see a pipe.
type screen struct{}

func (l *laid) open(*Command, *exec.Cmd) (*os.File, error) { return nil, nil }

func widen(*os.File) {}

// caught keeps Ctrl-C from ending this process before the command, which gets
// it from the console itself.
type caught struct{ c chan os.Signal }

func catch() *caught {
	c := &caught{c: make(chan os.Signal, 1)}
	signal.Notify(c.c, os.Interrupt)
	return c
}

func (c *caught) stop() {
	signal.Stop(c.c)
	close(c.c)
}

func (c *caught) pass(*os.Process, *laid) {
	for range c.c {
		continue
	}
}

func ended(state *os.ProcessState) *Ended {
	return &Ended{Code: state.ExitCode()}
}

// Interrupted does nothing: no signal ends a process on Windows.
func Interrupted(int) {}
