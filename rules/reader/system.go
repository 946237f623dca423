// Package reader says who reads: the system, the card's backend and the version
// of PyTorch that a case shows, and what goes by another name there.
package reader

import (
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// RefusedByAllocator: malloc or mmap said no. Of a container's or job's limit
// the kernel kills instead, so that something else refuses: a limit on address
// space, strict overcommit, or a piece larger than RAM and swap together
// (mm/util.c, __vm_enough_memory).
func RefusedByAllocator(c *ledger.Case) bool {
	if OnWindows(c) || c.Signal("wsl") != nil || c.Backend == "metal" || c.Backend == "mps" {
		return false
	}
	if c.Root(fact.ORTAlloc) {
		return c.Backend == "cpu"
	}
	return c.Root(fact.CPUAlloc, fact.NumpyAlloc, fact.PythonMemory, fact.BadAlloc, fact.RustAlloc, fact.MmapFailed) || c.In("llama.cpp") && ledger.GGMLRefused(c) && ledger.InHost(c)
}

// OnWindows: paths, error 1455, a refusal with room on the card, or the wording
// that only the Windows build of the CPU allocator has ("not enough memory" for
// "can't allocate memory").
func OnWindows(c *ledger.Case) bool {
	return c.Windows() || ledger.Roomy(c) && LooksLikeWindows(c) || c.Root(fact.CPUAlloc) && c.Contains("not enough memory") && !c.Contains("$ torch")
}

// LooksLikeWindows: the nominal size to the byte, and no list of processes.
func LooksLikeWindows(c *ledger.Case) bool {
	f := c.F()
	return f.Total != nil && f.Total.Bytes%units.GiB == 0 && f.ProcessUsed == nil && !c.In("vllm", "sglang", "tgi", "tensorrt-llm") // which run on Linux alone
}
