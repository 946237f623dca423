package child

import (
	"os"

	"golang.org/x/sys/unix"
)

const (
	getTermios = unix.TCGETS
	maxrssUnit = 1 << 10 // getrusage(2) counts KiB
)

// widen makes a pipe hold more, so that the command waits less for us.
func widen(f *os.File) {
	if c, err := f.SyscallConn(); err == nil {
		c.Control(func(fd uintptr) { unix.FcntlInt(fd, unix.F_SETPIPE_SZ, 1<<20) })
	}
}
