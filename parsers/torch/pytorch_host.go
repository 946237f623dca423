package torch

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// HostPyTorch reads what PyTorch says of the computer's memory.
var HostPyTorch = text.Parser{Name: "pytorch-host", Keywords: hostPyTorchWords, Explains: map[fact.Kind]int{fact.WorkerKilled: 4, fact.SharedMemory: 4}, Parse: parsePyTorchHost}

var hostPyTorchWords = []string{
	"DefaultCPUAllocator", "enforce fail at CPUAllocator", "enforce fail at alloc_cpu", "$ Torch: not enough memory", "posix_memalign(",
	"WinError 1455", "os error 1455", "Unexpected error 1455",
	"Unexpected bus error encountered in worker", "is killed by signal: Bus error", "is killed by signal: Killed",
	"failed (exitcode: -9)", "Signal 9 (SIGKILL) received by PID", "unable to mmap",
	"unable to write to file </torch_", "exits with return code = -9",
}

func parsePyTorchHost(l *text.Log, hits []text.Hit, f *fact.Facts) {
	s := l.Squeezed()
	done := 0
	for _, h := range hits {
		if h.At < done {
			continue
		}
		word := hostPyTorchWords[h.Word]
		end := min(h.At+len(strings.ReplaceAll(word, " ", "")), len(s))
		x := fact.Failure{Framework: "pytorch", Backend: "cpu"}
		switch word {
		case "DefaultCPUAllocator", "enforce fail at CPUAllocator", "enforce fail at alloc_cpu", "posix_memalign(", "$ Torch: not enough memory":
			r := reader{l: l, s: s[:min(h.At+420, len(s))], from: h.At, end: end}
			x.Kind = fact.CPUAlloc
			x.Figures.Requested = r.after("triedtoallocate")
			if x.Figures.Requested == nil {
				x.Message = l.LineText(h.At) // the clause that was found says little
			}
			done = max(done, min(h.At+240, len(s)))
			end = r.end
		case "WinError 1455", "os error 1455", "Unexpected error 1455":
			x.Kind = fact.CommitLimit
			if after := s[end:min(end+400, len(s))]; !strings.Contains(after, `torch\lib`) && !strings.Contains(after, "torch/lib") && !strings.Contains(after, `\torch\`) {
				x.Framework = "windows" // safetensors and others: the number alone proves no program
			}
			done = end + 120
		case "Unexpected bus error encountered in worker", "is killed by signal: Bus error", "unable to write to file </torch_":
			x.Kind = fact.SharedMemory
		case "is killed by signal: Killed":
			x.Kind = fact.WorkerKilled
		case "failed (exitcode: -9)", "Signal 9 (SIGKILL) received by PID", "exits with return code = -9":
			x.Kind, x.Weak = fact.RankKilled, true
		case "unable to mmap":
			if !strings.Contains(s[h.At:min(h.At+500, len(s))], "cannotallocatememory") {
				continue
			}
			r := reader{l: l, s: s[:min(h.At+120, len(s))], from: h.At, end: end}
			x.Kind, x.Phase = fact.MmapFailed, "load"
			x.Figures.Requested = r.after("unabletommap")
			end = r.end
		}
		done = max(done, end)
		text.Fail(f, l, h.At, end, x)
	}
}
