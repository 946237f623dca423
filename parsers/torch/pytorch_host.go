package torch

import (
	"cmp"
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// HostPyTorch reads what PyTorch says of the computer's memory.
var HostPyTorch = text.Parser{
	Name:     "pytorch-host",
	Explains: map[fact.Kind]int{fact.WorkerKilled: 4, fact.SharedMemory: 4},
}.Reading(hostPyTorchFailures, nil, nil)

var hostPyTorchFailures = slices.Concat(
	text.OnAny(cpuAllocator, "DefaultCPUAllocator", "enforce fail at CPUAllocator", "enforce fail at alloc_cpu", "$ Torch: not enough memory", "posix_memalign(&data"),
	text.OnAny(commitLimit, "WinError 1455", "os error 1455", "Unexpected error 1455", "failed with errno=1455", "(error code: 1455)", "(DOS error/errno=1455)", "Errno 1455]", "error msg: The paging file is too small"),
	text.OnAny(text.When(commitLimit, text.Before("virtualalloc", 60), text.Before("mapview", 60), text.Before("filemapping", 60), text.Before("createprocess", 60), text.Before("heapalloc", 60), text.Before("loadlibrary", 60)), "failed: 1455", "failed 1455", "with error 1455", "error code 1455"), // a bare number may count failed tests
	text.OnAny(text.Unless(text.When(commitLimit, text.Before(":", 1), text.Beside("dllloadfailed", "error1455", "errno=1455")), text.Before("returnedcode1455:", 20)), pagingFileWords...),
	text.OnAny(text.Quotes(fact.Failure{Kind: fact.SharedMemory, Framework: "pytorch", Backend: "cpu"}),
		"Unexpected bus error encountered in worker", "is killed by signal: Bus error", "unable to write to file </torch_"),
	text.OnAny(text.Quotes(fact.Failure{Kind: fact.WorkerKilled, Framework: "pytorch", Backend: "cpu"}), "is killed by signal: Killed", "background worker is 6 feet under", "If there is none then your RAM was full"),
	text.OnAny(text.FailsAlone(fact.Failure{Kind: fact.RankKilled, Framework: "pytorch", Backend: "cpu", Weak: true}), // its line names the rank and its process
		"failed (exitcode: -9)", "Signal 9 (SIGKILL) received by PID", "exits with return code = -9"), text.OnAny(mmapRefused, "unable to mmap"),
)

// pagingFileWords are Windows' message of error 1455 in its languages, for programs
// that print it without the number, such as Python's "DLL load failed".
var pagingFileWords = []string{"The paging file is too small for this operation to complete", "Il file di paging è troppo piccolo", "Die Auslagerungsdatei ist zu klein", "Le fichier de pagination est insuffisant", "El archivo de paginación es demasiado pequeño", "O arquivo de paginação é muito pequeno", "Файл подкачки слишком мал", "Plik stronicowania jest za mały", "页面文件太小", "分頁檔太小", "ページング ファイルが小さすぎるため", "페이징 파일이 너무 작습니다", "disk belleği dosyası çok küçük", "Het wisselbestand is te klein", "Stránkovací soubor je příliš malý", "A lapozófájl túl kicsi"}

func cpuAllocator(m text.Message) int {
	if m.Follows("withnegativenumber", 160) {
		return m.End // a size that overflowed: nothing was asked of the system
	}
	s := m.Log.Squeezed()
	r := reader{l: m.Log, s: s[:min(m.At+420, len(s))], from: m.At, end: m.End}
	x := fact.Failure{Kind: fact.CPUAlloc, Framework: "pytorch", Backend: "cpu"}
	x.Figures.Requested = cmp.Or(r.after("triedtoallocate"), r.after("triedtoreallocate"))
	if m.Mentions(".lua:") {
		x.Framework = "other" // Torch7
	}
	if x.Figures.Requested == nil {
		x.Message = m.Log.LineText(m.At) // the clause that was found says little
	}
	text.Fail(m.Facts, m.Log, m.At, r.end, x)
	return max(r.end, m.At+240)
}

// virtualAlloc is Go's mem_windows.go, GHC's osCommitMemory, Unreal's OnOutOfMemory and Java's os_windows.cpp.
var virtualAlloc = text.NewPattern(`(?:virtualallocof|failedtocommit|memoryallocating|commit_memory\(0x[0-9a-f]{1,16},)(?<requested_bytes>\d{1,18})(?:bytes|,)`)

var torchLibrary = text.NewPattern(`torch[\\/]lib|\\torch\\`)

func commitLimit(m text.Message) int {
	x := fact.Failure{Kind: fact.CommitLimit, Framework: "pytorch", Backend: "cpu"}
	if !m.Log.Find(torchLibrary, m.End, m.End+400).Ok() {
		x.Framework = "windows" // safetensors and others: the number alone proves no program
	}
	m.Around(virtualAlloc, 160, 0).States(m.Facts, &x.Figures)
	return text.Quotes(x)(m) + 120
}

func mmapRefused(m text.Message) int {
	if !m.Follows("cannotallocatememory", 500) {
		return m.End
	}
	r := reader{l: m.Log, s: m.Log.Squeezed()[:min(m.End+text.MaxWindow, len(m.Log.Squeezed()))], from: m.At, end: m.End}
	x := fact.Failure{Kind: fact.MmapFailed, Framework: "pytorch", Backend: "cpu", Phase: "load"}
	x.Figures.Requested = r.after("unabletommap")
	text.Fail(m.Facts, m.Log, m.At, r.end, x)
	return r.end
}
