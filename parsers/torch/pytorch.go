// Package torch reads PyTorch and what is written in it: the allocators'
// messages, tracebacks, NCCL, DeepSpeed, transformers and trainers.
package torch

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/digrams"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/ggml"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// PyTorch reads the messages of PyTorch's allocators.
var PyTorch = text.Parser{Name: "pytorch", Keywords: pytorchWords, Parse: parsePyTorch}

var pytorchWords = []string{
	"CUDA out of memory", "HIP out of memory", "XPU out of memory", "NPU out of memory", "Tried to allocate", "MPS backend out of memory", "total capacity", "reserved in total by", "is reserved by PyTorch",
	"would exceed allowed memory", "Allocation on device", "CUDA error: out of memory", "HIP error: out of memory", "CUDA driver error: out of memory",
	"cuda runtime error (2)", "error=2 : out of memory", "out of memory at /", "triple_chevron_launcher::launch(): out of memory", "CUBLAS_STATUS_ALLOC_FAILED", "CUBLAS_STATUS_NOT_INITIALIZED", "Unable to find a valid cuDNN algorithm",
	"CUDNN_STATUS_ALLOC_FAILED", "unable to find an engine to execute this computation", "NVML_SUCCESS == r", "Invalid buffer size:", "UR_RESULT_ERROR_OUT_OF", "PI_ERROR_OUT_OF", "size larger than 4GB",
	"Error out of memory at line", "OutOfMemoryError:", "cudaErrorMemoryAllocation", "hipErrorOutOfMemory",
	"total bytes of NDArray >", "product of dimension sizes >", "NDArray dimension length >", "may not have completed. Error: (null) Insufficient Memory", "insufficient resources when calling `cusparse",
}

func parsePyTorch(l *text.Log, hits []text.Hit, f *fact.Facts) {
	words := pytorchWords
	done := 0
	for i, h := range hits {
		before := l.Squeezed()[max(h.At-200, 0):h.At]
		if h.At < done || strings.HasSuffix(before, "mallocfailed(") || strings.HasSuffix(before, "(") && (strings.Contains(before, "bytesexhausted") || strings.Contains(before, "outofmemory(allocated")) { // git's, PHP's
			continue
		}
		word := words[h.Word]
		next := len(l.Squeezed())
		for _, later := range hits[i+1:] {
			if later.At > h.At && !slices.Contains(laterParts, words[later.Word]) && !continues(l, h.At, words[later.Word], later.At) {
				next = later.At
				break
			}
		}
		var end int
		switch word {
		case "MPS backend out of memory", "may not have completed. Error: (null) Insufficient Memory":
			end = mps(f, l, h.At, next)
		case "Invalid buffer size:", "total bytes of NDArray >", "product of dimension sizes >", "NDArray dimension length >":
			end = mpsBuffer(f, l, h.At)
		case "would exceed allowed memory", "Allocation on device":
			end = asyncAllocator(f, l, h.At, next)
		case "CUDA out of memory", "HIP out of memory", "XPU out of memory", "NPU out of memory",
			"Tried to allocate", "total capacity", "reserved in total by", "is reserved by PyTorch", "size larger than 4GB":
			end = cachingAllocator(f, l, max(done, allocatorStart(l, h.At, word)), h.At, next)
		default:
			end = rawCUDA(f, l, h.At, word)
		}
		done = max(done, end)
	}
}

// laterParts never open a message.
var laterParts = []string{"total capacity", "reserved in total by", "is reserved by PyTorch", "OutOfMemoryError:"}

// continues tells a part of the message that began at from, such as its "Tried
// to allocate", from the beginning of the next one.
func continues(l *text.Log, from int, word string, at int) bool {
	between := l.Squeezed()[from:at]
	switch word {
	case "Tried to allocate":
		return at-from < 260 && !strings.Contains(between[min(3, len(between)):], "triedtoallocate")
	case "would exceed allowed memory":
		return at-from < 64
	}
	return false
}

// allocatorStart backs up over what a cut or shortened message has before the
// clause that was found.
func allocatorStart(l *text.Log, at int, word string) int {
	switch word {
	case "total capacity", "reserved in total by", "is reserved by PyTorch":
		from, _ := l.LineSpan(at)
		return min(max(from, at-400), at)
	case "size larger than 4GB":
		return max(at-60, 0)
	}
	return at
}

// cachingAllocator reads the allocator's message clause by clause: each clause
// stands on its own literal, so that a message cut at its head, at its tail or
// in the middle still gives what is left of it. Versions 1.0 to 2.10, CUDA,
// ROCm, XPU (IPEX and native) and NPU.
func cachingAllocator(f *fact.Facts, l *text.Log, start, at, next int) int {
	s := l.Squeezed()
	limit := min(next, at+2600)
	has := digrams.Of(s[max(start-24, 0):limit])
	r := reader{l: l, s: s[:limit], has: &has, from: start, end: at}
	var g fact.Figures
	g.Requested = r.after("triedtoallocate")
	g.Total = cmp.Or(r.before("totalcapacity"), r.before("total"), r.after("totalcapacityof"), r.after("totalcapactyof"), r.after("hastotal"))
	g.Free = cmp.Or(r.after("ofwhich"), r.before("free;"), r.before("free)"), r.before("fre"))
	g.Allocated = cmp.Or(r.before("alreadyallocated"), r.before("already"), r.after("oftheallocatedmemory"))
	g.Reserved = cmp.Or(r.before("reservedintotalbypytorch"), r.before("reservedintotal"), r.before("res")) // the last word may be cut
	g.ReservedUnallocated = cmp.Or(r.before("isreservedbypytorchbutunallocated"), r.before("isreservedbypytorch"), r.beforeCut("isreservedbypytorch"), r.before("cached)"), r.before("cached;"), r.before("cached"))
	g.Limit = r.before("allowed;")
	g.Device = r.device()
	if g.Total == nil && g.Device != nil { // the line was cut, or another one written over its middle
		g.Total = r.after("gpu" + strconv.Itoa(int(g.Device.Value)) + ";")
	}
	processClause(f, l, &r, &g)
	if g.Empty() && r.end == at && !strings.Contains(s[at:min(at+24, len(s))], "outofmemory") {
		return at + 1
	}
	kind := fact.TorchAlloc
	if strings.Contains(s[start:min(start+120, len(s))], "sizelargerthan4gb") {
		kind = fact.XPUBlock
	}
	end := r.end
	if end == at {
		end = min(at+len("cudaoutofmemory"), len(s))
	}
	if i := r.has.Index(r.s[at:], beyondAnySize); i >= 0 && i < 60 {
		end = max(end, at+i+len(beyondAnySize))
		l.Signal(f, "absurd_size", at)
	}
	if title := recovered(l, start, end); title != "" {
		f.Notices = append(f.Notices, fact.Notice{ID: "training_continued", Line: l.Line(at), Text: l.LineText(at), Title: title})
		return end
	}
	era(f, l, s[max(start-24, 0):min(limit, end+420)], &has, end) // with the exception's name
	text.Fail(f, l, start, closing(s, end), fact.Failure{Kind: kind, Framework: "pytorch", Backend: allocatorBackend(s[max(start-4, 0):min(limit, end+420)], &has), Figures: g})
	return end
}

// beyondAnySize is what the allocators say of a size above 2^60 instead of the
// figure (kLargestSize in CUDACachingAllocator.cpp): a number that was no size.
const beyondAnySize = "morethan1ebmemory"

// recovered says how a program went on after the allocator's message, "" if it
// did not: fairseq (trainer.py) drops the batch, FSDP (_state_dict_utils.py)
// hands out the tensor itself.
func recovered(l *text.Log, start, end int) string {
	s := l.Squeezed()
	after := s[end:min(end+700, len(s))]
	if i := strings.Index(after, "attemptingtorecoverfromoom"); i >= 0 && l.MentionsFrom(",num_updates=", end+i) {
		return "fairseq dropped a batch that did not fit, and training went on."
	}
	if strings.Contains(s[max(start-200, 0):start], "userwarning:failedtoclone()tensor") {
		return "FSDP could not copy a tensor and saved the tensor itself; the run went on."
	}
	return ""
}

// era notes which versions print a message like this one, and which variable
// its hint names: fixes must be spelled for that version.
func era(f *fact.Facts, l *text.Log, message string, pairs *digrams.Set, at int) {
	has := func(s string) bool { return pairs.Contain(message, s) }
	era := ""
	switch {
	case has("hasatotalcapactyof"):
		era = "2.1"
	case has("pytorch_alloc_conf"):
		era = "2.9"
	case has("hasatotalcapacityof"):
		era = "2.2"
	case has("max_split_size_mb"), has("ifreserved"), has("cuda.outofmemoryerror"): // the exception since 1.13
		era = "1.10"
	case has("reservedintotalby"):
		era = "1.4"
	case has("totalcapacity;"):
		era = "1.0"
	}
	if has("cached)") { // "reserved in total by PyTorch" since 1.4
		f.Facts = append(f.Facts, fact.Fact{Name: "torch_until", Text: "1.3", Line: l.Line(at)})
	}
	if era != "" {
		f.Facts = append(f.Facts, fact.Fact{Name: "torch_since", Text: era, Line: l.Line(at)})
	}
	for _, variable := range [...]string{"pytorch_hip_alloc_conf", "pytorch_cuda_alloc_conf", "pytorch_npu_alloc_conf", "pytorch_alloc_conf"} {
		if has(variable) {
			f.Facts = append(f.Facts, fact.Fact{Name: "alloc_conf_variable", Text: strings.ToUpper(variable), Line: l.Line(at)})
			return
		}
	}
}

// closing takes in the bracket or full stop that ends a clause.
func closing(s string, end int) int {
	if end < len(s) && (s[end] == ')' || s[end] == '.') {
		return end + 1
	}
	return end
}

// allocatorBackend reads who speaks: hipify rewrites "CUDA", by version in the hint too.
func allocatorBackend(message string, pairs *digrams.Set) string {
	has := func(s string) bool { return pairs.Contain(message, s) }
	switch {
	case has("hipoutofmemory"), has("pytorch_hip_alloc_conf"), has("hipgraphs"):
		return "rocm"
	case has("xpuoutofmemory"), has("sizelargerthan4gb"):
		return "xpu"
	case has("npuoutofmemory"), has("(npu"):
		return "npu"
	}
	return "cuda"
}

// asyncAllocator reads the seven lines of the cudaMallocAsync backend, however
// they were joined. From PyTorch 2.4 on the message is cut after "Allocation
// on device" and has no figures.
func asyncAllocator(f *fact.Facts, l *text.Log, at, next int) int {
	s := l.Squeezed()
	start := at
	if i := strings.LastIndex(s[max(at-40, 0):at+1], "allocationondevice"); i >= 0 {
		start = max(at-40, 0) + i
	}
	cut := strings.HasPrefix(s[at:], "allocationondevice")
	raised := strings.HasSuffix(s[:start], allocationRaised)
	switch {
	case raised:
		start -= len(allocationRaised)
	case cut && !reportsAllocation(s, at) && !reportsItself(l, at):
		return at + 1
	}
	r := reader{l: l, s: s[:min(next, at+500)], from: start, end: at}
	g := fact.Figures{
		Allocated: r.after("currentlyallocated:"),
		Requested: r.after("requested:"),
		Total:     r.after("devicelimit:"),
		Free:      cmp.Or(r.after("free(accordingtocuda):"), r.after("free(accordingtotops):")),
		Limit:     r.after("memoryfraction):"),
		Device:    r.countAfter("allocationondevice"),
	}
	end := r.end
	if end == at {
		end = at + len("wouldexceedallowedmemory")
		if cut {
			end = at + len("allocationondevice")
		}
	}
	// Without the exception's name it is ComfyUI, which repeats the message.
	text.Fail(f, l, start, min(end, len(s)), fact.Failure{Kind: fact.TorchAsync, Framework: "pytorch", Backend: "cuda", Figures: g, Wrapper: cut && !raised && g.Empty()})
	return end
}

// allocationRaised is the exception's name before its message.
const allocationRaised = "outofmemoryerror:"

// reportsAllocation: "Allocation on device" is all that is left of the message
// since 2.4. ComfyUI repeats it behind its own words or before its tips;
// elsewhere the words mean nothing.
func reportsAllocation(s string, at int) bool {
	before, after := s[max(at-100, 0):at], s[at:min(at+100, len(s))]
	return strings.Contains(before, "exceptionduringprocessing!!!") || strings.HasSuffix(before, "exceptionmessage:") || strings.Contains(before, "erroroccurredwhenexecuting") ||
		strings.Contains(after, "wouldexceedallowedmemory") || strings.Contains(after, "thiserrormeansyouranoutofmemory")
}

// reportsItself: a node of ComfyUI caught it and says so in words of its own ("OOM
// during VAE encoding: Allocation on device"), and the prompt did not come to its end
// all the same.
func reportsItself(l *text.Log, at int) bool {
	said, ok := strings.CutSuffix(l.Squeezed()[max(at-80, 0):at], ":")
	said = said[strings.LastIndexAny(said, ")]|%")+1:]
	return ok && (strings.Contains(said, "oom") || strings.Contains(said, "error") || strings.Contains(said, "failed")) && l.Next("promptexecutedin", at) < 0
}

// mps reads MPSAllocator.mm's message, 1.13 and later; "GB" there is GiB.
func mps(f *fact.Facts, l *text.Log, at, next int) int {
	r := reader{l: l, s: l.Squeezed()[:min(next, at+700)], from: at, end: at + len("mpsbackendoutofmemory")}
	g := fact.Figures{
		Allocated:        r.after("mpsallocated:"),
		OtherAllocations: r.after("otherallocations:"),
		Limit:            r.after("maxallowed:"),
		Requested:        r.after("triedtoallocate"),
	}
	text.Fail(f, l, at, closing(l.Squeezed(), r.end), fact.Failure{Kind: fact.MPSAlloc, Framework: "pytorch", Backend: "mps", Figures: g})
	return r.end
}

// mpsBuffer reads "Invalid buffer size: 635.13 GB": one buffer above Metal's
// maxBufferLength, without a word about memory.
func mpsBuffer(f *fact.Facts, l *text.Log, at int) int {
	r := reader{l: l, s: l.Squeezed(), from: at, end: at}
	g := fact.Figures{Requested: r.after("invalidbuffersize:")}
	if g.Requested == nil && strings.HasPrefix(r.s[at:], "invalid") { // the others are MPSNDArray.mm's, without a figure
		return at + 1
	}
	text.Fail(f, l, at, max(r.end, at+len("totalbytesofndarray")), fact.Failure{Kind: fact.MPSBuffer, Framework: "pytorch", Backend: "mps", Figures: g})
	return r.end
}

// whose is who printed the driver's words. A program of C++ does it in other letters
// as a rule (darknet "CUDA Error:", ITK "CUDA ERROR:"), or nothing else is of Python.
func whose(l *text.Log, at, end int) (fact.Kind, string) {
	s, mentions := l.Squeezed(), func(words ...string) bool { return slices.ContainsFunc(words, l.Mentions) }
	switch {
	case strings.Contains(s[end:min(end+30, len(s))], "error_out_of_memory)"):
		return fact.CUDAError, "other" // Julia's CUDAdrv adds the code and its name
	case mentions("torch", "c10", "runtimeerror", ".py", "python"):
	case !strings.Contains(l.Text(at, end), "error:"), mentions("terminatecalled", "coredumped", ".cpp:", ".cu:"):
		return fact.PlainDevice, "other"
	}
	return fact.CUDAError, "pytorch"
}

// bitsAndBytesFile is csrc/ops.cu, or csrc/pythonInterface.c for paged optimizers.
var bitsAndBytesFile = text.NewPattern(`^erroroutofmemoryatline\d+infile[^"]{0,240}?(?:ops\.cu|pythoninterface\.c(?:pp)?)`)

// rawCUDA reads what has no figures.
func rawCUDA(f *fact.Facts, l *text.Log, at int, word string) int {
	s := l.Squeezed()
	end := min(at+len(strings.ReplaceAll(word, " ", "")), len(s))
	x := fact.Failure{Framework: "pytorch", Backend: "cuda"}
	if strings.HasPrefix(word, "HIP") || strings.HasPrefix(word, "hip") {
		x.Backend = "rocm"
	}
	switch word {
	case "CUDA error: out of memory", "HIP error: out of memory":
		if ggml.Speaks(s, at) {
			return end // the same words: see llamacpp.go
		}
		x.Kind, x.Framework = whose(l, at, end)
	case "cuda runtime error (2)", "error=2 : out of memory", "CUDA driver error: out of memory", "triple_chevron_launcher::launch(): out of memory":
		x.Kind = fact.CUDAError
		x.Framework = map[bool]string{true: "other", false: "pytorch"}[l.Mentions(".lua:")] // Torch7
	case "out of memory at /": // THC's message, up to 0.4, whatever its head was typed like
		if strings.HasSuffix(s[:at], "(2):") && strings.HasSuffix(s[:at-len("(2):")], "error") || !strings.Contains(s[at:min(at+200, len(s))], "thc") {
			return end
		}
		x.Kind = fact.CUDAError
	case "cudaErrorMemoryAllocation", "hipErrorOutOfMemory": // also the last line of 2.9 and later ("Search for `...' in https://...") where the first is cut off
		before := s[max(at-80, 0):at]
		if len(f.Failures) > 0 || strings.Contains(before, "bad_alloc") || !strings.HasSuffix(before, "searchfor") && !l.Mentions("torch") && (!l.Mentions(".py") || strings.Contains(s[at:min(at+160, len(s))], ".cu:")) {
			return end // RMM and thrust: see cupy.go; compiled programs: see plain
		}
		x.Kind = fact.CUDAError
	case "CUBLAS_STATUS_ALLOC_FAILED", "CUBLAS_STATUS_NOT_INITIALIZED", "Unable to find a valid cuDNN algorithm", "CUDNN_STATUS_ALLOC_FAILED", "unable to find an engine to execute this computation", "insufficient resources when calling `cusparse":
		if before := s[max(at-100, 0):at]; strings.Contains(before, "cuda_blas.cc") || strings.Contains(before, "cuda_dnn.cc") || strings.Contains(before, "cublaserror(") || strings.Contains(s[max(at-14, 0):at], "failure") {
			return end // TensorFlow, Rust, ONNX Runtime and CNTK: see there
		}
		x.Kind, x.Weak = fact.CUDAHandle, word == "CUBLAS_STATUS_NOT_INITIALIZED" || strings.HasPrefix(word, "unable")
		near := s[max(at-60, 0):min(end+40, len(s))] // the libraries' own code, which any program prints
		x.Framework = map[bool]string{true: "pytorch", false: "other"}[l.Mentions("torch") || l.Mentions(".py\"") || strings.Contains(near, "error:cudnn_status") || strings.Contains(near, "error:cublas_status") || strings.Contains(near, "runtimeerror:") || !strings.HasPrefix(word, "CU")]
	case "NVML_SUCCESS == r":
		if !strings.Contains(s[at:min(at+120, len(s))], "cudacachingallocator") {
			return end
		}
		x.Kind = fact.NVMLAssert
	case "UR_RESULT_ERROR_OUT_OF", "PI_ERROR_OUT_OF":
		if l.Mentions("ggml") || l.Mentions("sycl0:") {
			return end // ggml's SYCL backend: see llamacpp.go
		}
		x.Kind, x.Backend = fact.XPURuntime, "xpu"
	case "Error out of memory at line":
		x.Kind, x.Framework = fact.BitsAndBytes, "other"
		if m := l.Find(bitsAndBytesFile, at, at+400); m.Ok() {
			_, end = m.Span()
			x.Message = l.Text(at, end)
		}
	default: // a bare OutOfMemoryError
		return end
	}
	x.Message = cmp.Or(x.Message, l.LineText(at))
	text.Fail(f, l, at, end, x)
	return end
}
