//go:build unix

package screen

import (
	"os"
	"os/signal"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"
)

// mostHeard bounds what is read after a question: two answers and some keys.
const mostHeard = 1 << 10

// ask puts the question. The terminal's modes are as before when it returns, and
// what was typed meanwhile is handed back where the system allows it (Linux often
// does not since 6.2).
func ask(in, out *os.File, wait time.Duration) heard {
	fd := int(in.Fd())
	if !ours(in) || !term.IsTerminal(int(out.Fd())) {
		return heard{}
	}
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return heard{}
	}
	held := make(chan os.Signal, 1)
	signal.Notify(held, syscall.SIGQUIT, syscall.SIGTSTP) // these would leave the terminal as it is
	defer func() {
		signal.Stop(held)
		select {
		case s := <-held:
			syscall.Kill(os.Getpid(), s.(syscall.Signal))
		default:
		}
	}()
	modes := *before
	modes.Lflag &^= unix.ICANON | unix.ECHO
	modes.Cc[unix.VMIN], modes.Cc[unix.VTIME] = 0, 1 // a read waits for a tenth of a second
	if unix.IoctlSetTermios(fd, setTermios, &modes) != nil {
		return heard{}
	}
	defer unix.IoctlSetTermios(fd, setTermios, before)
	if n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 0); err != nil || n > 0 {
		return heard{} // what was typed ahead is somebody else's
	}
	if _, err := out.WriteString(question); err != nil {
		return heard{}
	}
	h := listen(fd, time.Now().Add(wait))
	for _, key := range h.typed {
		unix.IoctlSetPointerInt(fd, handBack, int(key)|int(key)<<24) // the byte that is read is the first one in memory
	}
	return h
}

// ours reports a terminal in whose foreground this process is. One in the
// background would be stopped when it sets modes.
func ours(in *os.File) bool {
	group, err := unix.IoctlGetInt(int(in.Fd()), unix.TIOCGPGRP)
	return err == nil && group == unix.Getpgrp()
}

// listen reads until the last answer is there or time is up.
func listen(fd int, until time.Time) heard {
	var all []byte
	var h heard
	for buf := make([]byte, 256); !h.done && len(all) < mostHeard && time.Now().Before(until); h = hear(all) {
		n, err := unix.Read(fd, buf)
		if err != nil && err != unix.EINTR {
			break
		}
		all = append(all, buf[:max(n, 0)]...)
	}
	return h
}
