// Package cputime measures work for tests: what a busy machine does meanwhile
// does not count.
package cputime

import (
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Of returns how long a function keeps the processor busy, as far as it runs in
// one goroutine.
func Of(f func()) time.Duration {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	start := used()
	f()
	return used() - start
}

// used is what the thread has used up.
func used() time.Duration {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t); err != nil {
		panic(err) // Linux has this clock since 2.6.12
	}
	return time.Duration(t.Nano())
}
