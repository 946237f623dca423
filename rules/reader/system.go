// Package reader says who reads: what they run and can change, their system, the
// card's backend and the version of PyTorch that a case shows, and what goes by
// another name there. [Learn] writes it to the case.
package reader

import (
	"cmp"
	"slices"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// RefusedByAllocator: malloc or mmap said no. Of a container's or job's limit
// the kernel kills instead, so that something else refuses: a limit on address
// space, strict overcommit, or a piece larger than RAM and swap together
// (mm/util.c, __vm_enough_memory).
func RefusedByAllocator(c *ledger.Case) bool {
	if OnWindows(c) || c.Reader.OS == "wsl" || c.Backend == "metal" || c.Backend == "mps" {
		return false
	}
	if c.Root(fact.ORTAlloc) {
		return c.Backend == "cpu"
	}
	return c.Root(fact.CPUAlloc, fact.NumpyAlloc, fact.PythonMemory, fact.BadAlloc, fact.RustAlloc, fact.MmapFailed) || c.In("llama.cpp") && ledger.GGMLRefused(c) && ledger.InHost(c)
}

// monitors are the programs that show what a card holds, by backend.
var monitors = map[string]string{"rocm": "rocm-smi", "xpu": "xpu-smi ps", "npu": "npu-smi info", "mps": "Activity Monitor", "metal": "Activity Monitor", "tpu": "tpu-info"}

// Monitor is the program that shows what a card holds.
func Monitor(c *ledger.Case) string { return cmp.Or(monitors[c.Backend], "nvidia-smi") }

// OnWindows: the log proves it, or a refusal with room on the card makes it
// likely.
func OnWindows(c *ledger.Case) bool { return c.Windows() || ledger.Roomy(c) && LooksLikeWindows(c) }

// OnMac: the log proves it.
func OnMac(c *ledger.Case) bool { return c.Reader.OS == "mac" }

// LooksLikeWindows: the nominal size, or just below it in a message of PyTorch 2.1
// and later, and no list of processes (c10/cuda/driver_api.cpp was for Linux alone to 2.12).
func LooksLikeWindows(c *ledger.Case) bool {
	f := c.F()
	there := c.Reader.OS == "" && (len(c.Systems) == 0 || slices.Contains(c.Systems, "windows")) || c.Windows()
	return there && f.Total != nil && f.ProcessUsed == nil && (f.Total.Bytes%units.GiB == 0 || f.ReservedUnallocated != nil && f.Total.Bytes%units.GiB > units.GiB*92/100)
}

// ManyGPUs: a rank in the prefix, or a card other than the first.
func ManyGPUs(c *ledger.Case) bool {
	d := c.F().Device
	return c.Failure.Source != "" || d != nil && d.Value > 0
}

// HasExpandableSegments: PyTorch 2.1 and later, as far as the message tells; a
// message without an era is taken for a recent one, as are torch_npu's, whose
// wording never changed. On Windows and ROCm the option did nothing before 2026
// (pytorch pull requests 189163 and 177974).
func HasExpandableSegments(c *ledger.Case) bool {
	era, ok := c.Fact("torch_since")
	return c.Backend == "npu" || !c.Windows() && c.Backend != "rocm" && (!ok || era.Text >= "2.1")
}
