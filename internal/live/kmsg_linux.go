package live

import (
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

// ringBuffer reads the kernel's messages since a time; none where this user may
// not.
func (m *Machine) ringBuffer(since time.Time) []string {
	fd, err := unix.Open(m.Root+"/dev/kmsg", unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil
	}
	defer unix.Close(fd)
	var now unix.Timespec
	if unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) != nil {
		return nil
	}
	// The kernel's clock and this one differ by little; a second is enough.
	from := now.Nano()/1000 - time.Since(since).Microseconds() - time.Second.Microseconds()
	var lines []string
	buf := make([]byte, 8<<10) // a record is at most 8 KiB
	for {
		n, err := unix.Read(fd, buf)
		if errors.Is(err, unix.EPIPE) {
			continue // some were overwritten
		}
		if err != nil || n == 0 {
			return lines
		}
		if at, line, ok := record(string(buf[:n])); ok && at >= from {
			lines = append(lines, line)
		}
	}
}
