//go:build unix

package child

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// caught are the signals that came for this process and are the command's.
type caught struct{ c chan os.Signal }

// passed are the signals that are passed on. One that was ignored when we
// started (nohup) stays so, for the command too.
var passed = []os.Signal{
	syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGWINCH, syscall.SIGPIPE,
}

func catch() *caught {
	c := &caught{c: make(chan os.Signal, 16)}
	for _, s := range passed {
		if !signal.Ignored(s) {
			signal.Notify(c.c, s)
		}
	}
	return c
}

func (c *caught) stop() {
	signal.Stop(c.c)
	close(c.c)
}

// pass gives the command what came for it, until stop.
func (c *caught) pass(p *os.Process, l *laid) {
	own := false
	if s := l.screen; s != nil && s.typed != nil {
		own = true
		s.child = p.Pid
		go s.keys()
	}
	for sig := range c.c {
		switch sig {
		case syscall.SIGPIPE:
			continue // the copy notices
		case syscall.SIGWINCH:
			if l.screen != nil {
				l.screen.resize()
			}
			if own {
				continue // the kernel told the command
			}
		case syscall.SIGINT, syscall.SIGQUIT:
			if !own && inForeground() {
				continue // a key: the terminal sent it to the command as well
			}
		}
		p.Signal(sig)
	}
}

// inForeground reports that this process, and with it the command, gets the
// signals of its terminal's keys.
func inForeground() bool {
	tty, err := os.Open("/dev/tty")
	if err != nil {
		return false
	}
	defer tty.Close()
	group, err := unix.IoctlGetInt(int(tty.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// ended reads how a process ended.
func ended(state *os.ProcessState) *Ended {
	e := &Ended{Code: state.ExitCode()}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		e.Signal = int(status.Signal())
		e.Code = 128 + e.Signal
	}
	if usage, ok := state.SysUsage().(*syscall.Rusage); ok {
		e.Peak = int64(usage.Maxrss) * maxrssUnit
	}
	return e
}

// Interrupted ends this process by the signal that ended the command, where a
// key sent it: a shell that runs a script looks for that to end the script too.
func Interrupted(sig int) {
	if syscall.Signal(sig) == syscall.SIGINT {
		signal.Reset(syscall.SIGINT)
		syscall.Kill(os.Getpid(), syscall.SIGINT)
	}
}
