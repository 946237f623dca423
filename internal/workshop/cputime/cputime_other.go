//go:build !linux

package cputime

import "time"

// Of returns how long a function takes.
func Of(f func()) time.Duration {
	start := time.Now()
	f()
	return time.Since(start)
}
