//go:build unix

package child

import (
	"os"
	"os/exec"
	"syscall"
	"time"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// screen is the terminal that the command has, beside the one that we have.
type screen struct {
	master *os.File // our end
	ours   *os.File // the terminal that we write to
	typed  *os.File // where the user types, nil where that is no terminal
	raw    *term.State
	child  int
}

// open makes a terminal for the command where an output is one. Where the user
// types into a terminal as well, it becomes the command's own, with its own
// session: keys go to it as they are, Ctrl-C too.
func (l *laid) open(c *Command, cmd *exec.Cmd) (*os.File, error) {
	ours, ok := firstTerminal(c.Stdout, c.Stderr)
	if !ok {
		return nil, nil
	}
	master, slave, err := pty.Open()
	if err != nil {
		return nil, err
	}
	s := &screen{master: master, ours: ours}
	l.screen = s
	l.childs = append(l.childs, slave)
	s.resize()
	if state, err := term.GetState(int(ours.Fd())); err == nil {
		term.Restore(int(slave.Fd()), state) // the user's settings (stty)
	}
	if typed, ok := firstTerminal(c.Stdin); ok {
		cmd.Stdin = slave
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
		s.typed = typed
		if s.raw, err = term.MakeRaw(int(typed.Fd())); err != nil {
			return nil, err
		}
		l.undo = append(l.undo, func() { term.Restore(int(typed.Fd()), s.raw) })
	} else {
		term.MakeRaw(int(slave.Fd())) // line ends are made by our terminal, which was not set to raw
	}
	l.copies = append(l.copies, &stream{from: master, to: ours})
	return slave, nil
}

func firstTerminal(of ...any) (*os.File, bool) {
	for _, x := range of {
		if f, ok := x.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
			return f, true
		}
	}
	return nil, false
}

// resize gives the command's terminal the size of ours.
func (s *screen) resize() {
	if size, err := pty.GetsizeFull(s.ours); err == nil {
		pty.Setsize(s.master, size)
	}
}

// suspend is the key that stops a program (Ctrl-Z) where stty left it.
const suspend = 0x1a

// keys passes keys on. Ctrl-Z would be lost: the kernel stops no process whose
// parent is in another session, so it is done here.
func (s *screen) keys() {
	buf := make([]byte, 4<<10)
	for {
		n, err := s.typed.Read(buf)
		if n > 0 {
			if _, lost := s.master.Write(buf[:n]); lost != nil {
				return
			}
			if n == 1 && buf[0] == suspend {
				s.suspended()
			}
		}
		if err != nil {
			return
		}
	}
}

// suspended stops the command and then this process, as the shell expects, and
// goes on with both when it is continued.
func (s *screen) suspended() {
	if !s.stopsOnKey() {
		return // an editor takes the key itself, or a shell in it minds its jobs
	}
	time.Sleep(50 * time.Millisecond) // for those that tidy up before they stop
	syscall.Kill(-s.child, syscall.SIGSTOP)
	term.Restore(int(s.typed.Fd()), s.raw)
	syscall.Kill(0, syscall.SIGTSTP) // this process's group: the whole job
	time.Sleep(50 * time.Millisecond)
	term.MakeRaw(int(s.typed.Fd()))
	s.resize()
	syscall.Kill(-s.child, syscall.SIGCONT)
}

// stopsOnKey reports that the command is in the foreground of its terminal and
// left the key to it.
func (s *screen) stopsOnKey() bool {
	group, err := unix.IoctlGetInt(int(s.master.Fd()), unix.TIOCGPGRP)
	if err != nil || group != s.child {
		return false
	}
	modes, err := unix.IoctlGetTermios(int(s.master.Fd()), getTermios)
	return err == nil && modes.Lflag&unix.ISIG != 0 && modes.Cc[unix.VSUSP] == suspend
}
