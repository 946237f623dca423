// Package plain reads programs without a parser that say in plain words, or by
// a driver's code, that memory was refused. It speaks where nothing else does.
package plain

import (
	"cmp"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Parser comes last in [All]: it speaks only where nobody else had anything to
// say about the log. Thousands of programs have a wording of their own, and
// most of them share a few phrases.
var Parser = text.Parser{
	Name: "plain", Keywords: plainPhrases,
	Explains: map[fact.Kind]int{fact.PlainDevice: 0, fact.PlainHost: 0, fact.PlainMemory: 0},
	Parse: func(l *text.Log, hits []text.Hit, f *fact.Facts) {
		if explained(f) {
			return
		}
		for _, h := range hits[:min(len(hits), maxPlain)] {
			m := text.Message{Log: l, Facts: f, At: h.At, End: min(h.At+len(text.SqueezedLiteral(plainPhrases[h.Word])), len(l.Squeezed()))}
			if refusal(m, h.Word < plainCodes) {
				plainFailure(m.Facts, m)
				return // the first says as much as all
			}
		}
	},
}

// maxPlain bounds how many places are looked at.
const maxPlain = 200

// explained reports that the log has a failure of a known wording, a look-alike,
// or a shortage that the program got over.
func explained(f *fact.Facts) bool {
	said := slices.ContainsFunc(f.Failures, func(x fact.Failure) bool { return !x.Echo })
	return said || len(f.Lookalikes) > 0 || len(f.Notices) > 0
}

// plainPhrases: the first plainCodes are names of error codes, which no sentence
// has by chance; the others are words.
var plainPhrases = append([]string{
	"CUDA_ERROR_OUT_OF_MEMORY", "hipErrorOutOfMemory", "hipErrorMemoryAllocation", "cuMemAlloc failed", "cuMemCreate failed",
	"OUT_OF_DEVICE_MEMORY", "OUT_OF_HOST_MEMORY", "OutOfDeviceMemory", "MEM_OBJECT_ALLOCATION_FAILURE",
	"CUSOLVER_STATUS_ALLOC_FAILED", "CUSPARSE_STATUS_ALLOC_FAILED", "CUFFT_ALLOC_FAILED", "CURAND_STATUS_ALLOCATION_FAILED",
	"CL_OUT_OF_RESOURCES", "0xC0000017", "0xC000012D", "E_OUTOFMEMORY", "DXGI_ERROR_OUTOFMEMORY",
}, plainWords...)

const plainCodes = 18

var plainWords = []string{
	text.OutOfMemory, "out-of-memory", "out_of_memory", "out of gpu memory", "out of video memory", "out of device memory", "out of graphics memory", "out of vram",
	"out of system memory", "out of host memory", "out of virtual memory", "memory limit exceeded", "exceeded memory limit", "memory_limit_exceeded",
	"malloc failed", "calloc failed", "realloc failed", "mmap failed", "virtualalloc failed", "could not reserve enough space for", "virtual memory exhausted",
	"insufficient memory", "insufficient vram", "insufficient gpu memory", "insufficient device memory", "insufficient system memory", "insufficient video memory",
	"not enough memory", "not enough vram", "not enough ram ", "not enough gpu ", "not enough system memory", "not enough device memory", "not enough free memory", "not enough video memory", "not enough host memory",
	"insufficient system resources", "not enough resources to load",
	"cannot allocate memory", "could not allocate", "couldn't allocate", "unable to allocate", "failed to allocate", "cannot allocate", "can't allocate",
	"memory allocation failed", "memory allocation failure", "memory allocation error", "allocation failed", "memory exhausted", "too little memory",
}

// asked are words before which a phrase only says that somebody wanted some:
// it takes a size, or a word for memory, to be about memory.
var asked = []string{"couldnotallocate", "couldn'tallocate", "unabletoallocate", "failedtoallocate", "cannotallocate", "can'tallocate", "allocationfailed"}

var memoryWords = []string{"memory", "vram", "bytes", "buffer", "tensor", "mib", "gib", "kib", "mb", "gb"}

// goesOn are words of a program that has another way, of advice and of prose.
var goesOn = []string{
	"fallingback", "fallback", "retrying", "willretry", "tryingagain", "willbeused", "instead", "skipp", "ignor", "recover", "reserving", "notfatal",
	"ifyou", "ifthe", "ifit", "incaseof", "toavoid", "avoid", "prevent", "might", "maycause", "mayrun", "canlead", "canbe", "couldlead", "canhelp", "shouldnot", "whether",
	"suchas", "likewhen", "situation", "robust", "oomkiller", "handler", "detection", "protection", "passed", "warning:", "[warn", "level=warn", "[info]", "level=info", "[debug]", "level=debug", "howto", "#define", "http",
}

// troubles stand before a phrase where it is the reason of an error.
var troubles = []string{"error", "fail", "fatal", "exception", "assert", "panic", "terminat", "abort", "what():", "cannot", "can't", "unable", "couldnot", "crash", "critical", "err(", "status", "dueto", "reason", "refused", "[e]"}

// clauses are characters after which a message begins.
const clauses = `:;-=>|([{"'!,.]*#`

// goesOnWith are words that a message goes on with.
var goesOnWith = []string{"error", "exception", "on", "for", "to", "when", "while", "tryingto", "duringthe", "allocating", "allocate"}

// refusal reports that the phrase is what a program said when it ended, and no
// sentence about memory. A code is enough for itself.
func refusal(m text.Message, code bool) bool {
	from, to := m.Line()
	s := m.Log.Squeezed()
	line, before, after := s[from:to], s[max(from, m.At-160):m.At], s[m.End:to]
	if goes := containsAny(line, goesOn); code || goes {
		return !goes
	}
	text := strings.TrimSpace(m.Log.LineText(m.At))
	if strings.Contains(text, "`") || sourceCode(before, after) { // back-ticks: documentation
		return false
	}
	phrase := s[m.At:m.End]
	if containsAny(phrase, asked) && !containsAny(s[max(from, m.At-12):min(to, m.End+90)], memoryWords) {
		return false
	}
	if containsAny(before[max(0, len(before)-70):], troubles) {
		return true
	}
	opens := before == "" || strings.IndexByte(clauses, before[len(before)-1]) >= 0
	closes := containsAny(phrase, asked) || after == "" || strings.IndexByte(clauses+"})", after[0]) >= 0 ||
		slices.ContainsFunc(goesOnWith, func(word string) bool { return strings.HasPrefix(after, word) })
	return opens && closes && strings.Count(text, " ") < 24
}

// sourceCode: the phrase is the text that a line of a program would print
// (fputs("out of memory"), or one of a list of names ('OutOfMemory', 'Overflow').
// Python shows an exception like a call, too: RuntimeError('out of memory').
func sourceCode(before, after string) bool {
	call := strings.TrimRight(before, `"'`)
	if len(call) == len(before) {
		return false
	}
	if called, ok := strings.CutSuffix(call, "("); ok {
		return !strings.HasSuffix(called, "error") && !strings.HasSuffix(called, "exception")
	}
	after = strings.TrimPrefix(after, "error")
	return after != "" && (strings.HasPrefix(after, "',") || strings.HasPrefix(after, "\",")) && strings.HasSuffix(call, ",")
}

func containsAny(s string, words []string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(s, w) })
}

// cardWords and hostWords tell whose memory a message means, the surest first.
var cardWords = [][2]string{
	{"hip", "rocm"}, {"rocm", "rocm"}, {"vulkan", "vulkan"}, {"vk_", "vulkan"}, {"vk::", "vulkan"}, {"level_zero", "sycl"}, {"sycl", "sycl"},
	{"cuda", "cuda"}, {"cumem", "cuda"}, {"cusolver", "cuda"}, {"cusparse", "cuda"}, {"cufft", "cuda"}, {"curand", "cuda"}, {"thrust", "cuda"}, {"nvrtc", "cuda"}, {"nvidia", "cuda"},
	{"metal", "metal"}, {"mtl", "metal"}, {"npu", "npu"}, {"ascend", "npu"}, {"el0004", "npu"}, {"tpu", "tpu"},
	{"gpu", ""}, {"vram", ""}, {"device", ""}, {"devmem", ""}, {"video memory", ""}, {"opencl", ""}, {"cl_", ""}, {"wgpu", ""}, {"dxgi", ""}, {"directml", ""},
}

var hostWords = []string{"host", "system memory", "system ram", "virtual memory", "malloc", "heap", "errno", "fork", "0xc00000", " ram", "cpu", "page file", "paging file"}

// cardSigns are words one of which stands in a log that is about a card.
var cardSigns = []string{"gpu", "cuda", "vram", "opencl", "vulkan", "nvidia", "radeon", "rocm", "directx", "d3d", "opengl", "metal", "device", "torch", "tensor", "npu", "tpu", "render"}

// plainNames are names by which a line tells whose message it is.
var plainNames = [][2]string{
	{"torch", "pytorch"}, {"tensorflow", "tensorflow"}, {"jax", "jax"}, {"onnxruntime", "onnxruntime"}, {"sglang", "sglang"}, {"vllm", "vllm"},
	{"ollama", "ollama"}, {"lm studio", "lm-studio"}, {"lmstudio", "lm-studio"}, {"koboldcpp", "koboldcpp"}, {"ggml", "llama.cpp"}, {"llama_", "llama.cpp"},
	{"cupy", "cupy"}, {"mlx", "mlx"}, {"candle", "candle"},
}

// named is what the first word of a table that stands in a line says.
func named(line string, table [][2]string) (string, bool) {
	for _, row := range table {
		if strings.Contains(line, row[0]) {
			return row[1], true
		}
	}
	return "", false
}

// plainFailure adds the failure, with what its line says of whose memory it was
// and how much was wanted.
func plainFailure(f *fact.Facts, m text.Message) {
	from, to := m.Line()
	line := strings.ToLower(m.Log.LineText(m.At))
	x := fact.Failure{Kind: fact.PlainMemory, Framework: "other", Weak: true}
	if backend, ok := named(line, cardWords); ok {
		x.Kind, x.Backend = fact.PlainDevice, backend
	}
	if x.Kind == fact.PlainMemory && containsAny(line, hostWords) || strings.Contains(line, "out_of_host_memory") || strings.Contains(line, "host memory") {
		x.Kind, x.Backend = fact.PlainHost, "cpu"
	}
	if x.Kind == fact.PlainMemory && !m.Mentions(cardSigns...) {
		x.Kind, x.Backend = fact.PlainHost, "cpu" // nothing in the log is about a card
	}
	if program, ok := named(line, plainNames); ok {
		x.Framework = program
	}
	k := m.Log.Find(plainSize, m.At, to)
	x.Figures.Requested = cmp.Or(k.Size("want"), k.Size("bytes"), m.Log.Find(plainSizeBefore, from, m.At).Size("want"))
	if counted := m.Log.Find(countedPattern, max(m.At-4000, 0), m.At); counted.Ok() && x.Kind == fact.PlainDevice {
		x.Figures.Free, x.Figures.Total = counted.Size("free"), counted.Size("total")
	}
	text.Fail(m.Facts, m.Log, from, to, x)
}

// countedPattern is cudaMemGetInfo's count as programs print it, in bytes.
var countedPattern = text.NewPattern(`memory:free=(?<free>\d{8,14}),total=(?<total>\d{9,14})`)

var (
	plainSize       = text.NewPattern(`(?:allocat(?:e|ing)|request(?:ed)?|wanted|needed|size|for)(?>(?:another|buffer|tensor|memory|size|with|of|a|[:=(]){0,3})(?:(?<want>SIZE)|(?<bytes>\d{5,18})(?:\)|,|$|\.))`)
	plainSizeBefore = text.NewPattern(`(?:allocate|allocating|allocationof|devicestream(?:0x)?[0-9a-f]+size)(?<want>SIZE)`) // the last is FAISS's
)
