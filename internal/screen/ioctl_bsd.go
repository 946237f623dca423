//go:build unix && !linux

package screen

import "golang.org/x/sys/unix"

const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
	handBack   = 0x80017472 // TIOCSTI; OpenBSD has it no more and says so
)
