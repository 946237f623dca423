package explain_test

import (
	"testing"

	"github.com/oomdoc/oomdoc/diagnose"
)

// BenchmarkCatalogue is the widest search: a number that any model may have.
func BenchmarkCatalogue(b *testing.B) {
	log := []byte("RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 151781376 bytes. Error code 12 (Cannot allocate memory)\n")
	for b.Loop() {
		diagnose.Bytes(log)
	}
}
