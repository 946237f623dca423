package cputime

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

func TestLeast(t *testing.T) {
	calls := 0
	assert.Less(t, Least(time.Hour, func() { calls++ }), time.Second)
	assert.Equal(t, 1, calls, "a first try below the limit is enough")

	calls = 0
	took := Least(time.Nanosecond, func() { calls++; work() })
	assert.Equal(t, tries+1, calls)
	assert.Greater(t, took, usual/4, "work takes what work takes")
}

func TestLeastOfASlowStart(t *testing.T) {
	calls := 0
	took := Least(usual/4, func() {
		if calls++; calls == 1 {
			work()
		}
	})
	assert.Equal(t, 2, calls)
	assert.Less(t, took, usual/4)
}

func BenchmarkWork(b *testing.B) {
	for b.Loop() {
		work()
	}
}
