// Package plain reads programs without a parser that say in plain words, or by
// a driver's code, that memory was refused. It speaks where nothing else does.
package plain

import (
	"cmp"
	_ "embed"
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
		said := slices.ContainsFunc(f.Failures, func(x fact.Failure) bool { return !x.Echo })
		crashed := func(x fact.Lookalike) bool { return x.ID == "segfault" } // C code that goes on without its memory
		other := slices.ContainsFunc(f.Lookalikes, func(x fact.Lookalike) bool { return !crashed(x) })
		if said || other || len(f.Notices) > 0 {
			return // a known wording, a look-alike, or a shortage that the program got over
		}
		var mention []fact.Lookalike // the first line that speaks of memory in a failure's words
		for _, h := range hits[:min(len(hits), maxPlain)] {
			m := text.Message{Log: l, Facts: f, At: h.At, End: min(h.At+text.SqueezedLen(plainPhrases[h.Word]), len(l.Squeezed()))}
			if refusal(m, h.Word) {
				f.Lookalikes = slices.DeleteFunc(f.Lookalikes, crashed)
				plainFailure(m.Facts, m)
				readHint(f, m)
				return // the first says as much as all
			}
			if mention == nil && len(f.Lookalikes) == 0 {
				mention = mentioned(m)
			}
		}
		f.Lookalikes = append(f.Lookalikes, mention...)
	},
}

// maxPlain bounds how many places are looked at.
const maxPlain = 200

// phrases are at what a line is looked at: a section of codes, one of words and
// one of other languages, with a blank line between them.
//
//go:embed phrases.txt
var phrases string

var plainCodes, plainWords, plainPhrases = sections()

func sections() (codes, words int, all []string) {
	for line := range strings.Lines(phrases) {
		if line = strings.TrimSuffix(line, "\n"); line == "" {
			codes, words = words, len(all)
		} else if line[0] != '#' {
			all = append(all, line)
		}
	}
	return codes, words, all
}

// asked are words before which a phrase only says that somebody wanted some:
// it takes a size, or a word for memory, to be about memory.
var asked = []string{"cannotallocate", "cannotalloc", "notabletoallocate", "unabletoalloc", "couldnotalloc", "can'talloc", "cannotmap", "couldnotmap", "failedtomap", "failtoallocate", "couldnotallocate", "couldn'tallocate", "unabletoallocate", "failedtoallocate", "cannotallocate", "cannotreallocate", "failedtoreallocate", "couldnotreallocate", "unabletoreallocate", "attempttoallocate", "can'tallocate", "allocationfailed", "failedtomalloc", "failedallocating", "errorallocating", "failedtoalloc", "allocationof", "couldnotreserveenoughspacefor", "toacquire"}

var memoryWords = []string{"memory", "vram", "bytes", "buffer", "tensor", "pages", "kvcache", "mib", "gib", "kib", "mb", "gb"}

// goesOn are words of a program that has another way, of advice and of prose.
var goesOn = []string{
	"fallingback", "fallback", "retrying", "willretry", "tryingagain", "willbeused", "instead", "skipp", "ignor", "recover", "reserving", "notfatal", "operationnotsupported",
	"ifyou", "ifthe", "ifit", "incaseof", "toavoid", "avoid", "prevent", "might", "maycause", "mayrun", "canlead", "canbe", "couldlead", "canhelp", "shouldnot", "whether",
	"suchas", "likewhen", "situation", "robust", "oomkiller", ")killer", "started", "handler", "detection", "protection", "passed", "warning:", "[warn", "level=warn", "[info]", "level=info", "[debug]", "level=debug", "howto", "#define", "http:", "https:",
}

// troubles stand before a phrase where it is the reason of an error.
var troubles = []string{"error", "fail", "fatal", "exception", "assert", "panic", "terminat", "abort", "what():", "cannot", "can't", "unable", "couldnot", "crash", "critical", "err(", "status", "dueto", "reason", "refused", "[e]"}

// clauses are characters after which a message begins.
const clauses = `:;-=>|([{"'!,.]*#`

// leads are how a message begins in front of a phrase.
var leads = []string{"hasrun", "thereis", "therewas", "systemis", "deviceis", "gpuis", "serveris", "machineis", "wehave", "does"}

// goesOnWith are words that a message goes on with.
var goesOnWith = []string{"error", "exception", "on", "in", "for", "to", "when", "while", "tryingto", "during", "allocating", "allocate", "isavailable"}

// ended are words of the same line that tell of the end of a program or a job.
var ended = []string{"abort", "terminat", "killed", "killing", "exiting", "exited", "failed", "crash", "stopping", "shutting", "shutdown", "couldnotget", "restart", "refused", "givingup", "cannotcontinue", "exceed", "notsufficient"}

// scarce are phrases that say soon of what there was too little.
var scarce = []string{"noenough", "nosufficient", "lackof", "lacks", "shortageof", "shortof", "notenough", "insufficient", "nothaveenough", "n'thaveenough", "n'tenough", "notsufficient"}

// scarceNoun is what there is too little of, behind one of [scarce].
var scarceNoun = text.NewPattern(`^[a-z: -]{0,40}?(?:memory|vram|ram(?![a-z])|systemresources|resourcestoload)`)

// needsEnd are phrases that say nothing without one of them.
var needsEnd = []string{"allocationof", "mallocofsize", "toomuchmemory", "nofreememory", "nomorememory", "memorylimitof", "memorylimit(", "bmemorylimit", "memlimit"}

// needsMore are phrases that need figures of which one is too large.
var needsMore = []string{"exceededrequested", "butonly", "exceedsmaximum", "exceedstheavailable", "exceedsavailable", "gbavailable", "gibavailable", "mbavailable", "mibavailable", "requiredmemory", "yourgpuhas", "gpuhasonly", "onlyhas"}

// blanks stand in a message as a program's source has it, before it is filled in.
var blanks = []string{"%d", "%s", "%u", "%zu", "%lu", "%llu", "%ld", "{}", "{0}", "${"}

// refusal reports that the phrase is what a program said when it ended, and no
// sentence about memory. A code is enough for itself.
func refusal(m text.Message, word int) bool {
	p := placed(m)
	foreign := word >= plainWords
	switch level := m.Log.Level(m.At); {
	case containsAny(p.line, goesOn):
		return false
	case word < plainCodes:
		return true
	case strings.Count(p.shown, "`") > 1 && level != 'E' && !containsAny(p.before, troubles), sourceCode(p.before, p.after), containsAny(p.after, blanks), !p.ofMemory(m):
		return false // back-ticks: documentation
	case level == 'E', containsAny(p.before[max(0, len(p.before)-70):], troubles):
		return true
	case level == 'I':
		return false
	case outweighed(amounts(m)):
		return containsAny(p.line, append(memoryWords[:4:4], "ram"))
	case strings.Count(p.shown, " ") >= 24:
		return false
	}
	return p.opens() && (foreign || p.closes())
}

// mentioned is a line with a failure's words of memory beside an error that is no [refusal].
func mentioned(m text.Message) []fact.Lookalike {
	p := placed(m)
	if sourceCode(p.before, p.after) || containsAny(p.after, blanks) || !p.ofMemory(m) || m.Log.Level(m.At) != 'E' && !p.ended && !containsAny(p.before, troubles) {
		return nil
	}
	return []fact.Lookalike{fact.Mention(m.Log.Line(m.At), strings.ToValidUTF8(p.shown[:min(len(p.shown), text.MaxQuote)], ""))}
}

// place is a phrase in its line, all squeezed but what is shown.
type place struct {
	line, before, phrase, after, shown string
	ended                              bool // the line tells of an end
	ran                                bool // somebody ran out of it
}

func placed(m text.Message) place {
	from, to := m.Line()
	s := m.Log.Squeezed()
	p := place{strings.ReplaceAll(s[from:to], "unrecover", "fatal"), s[max(from, m.At-160):m.At], s[m.At:m.End], s[m.End:to], strings.TrimSpace(m.Log.LineText(m.At)), containsAny(s[from:to], ended), false}
	if before, ran := strings.CutSuffix(p.before, "ran"); ran && !strings.HasSuffix(before, `"`) {
		p.before, p.ran = before, true
	}
	return p
}

// ofMemory reports that the phrase is about memory, and leaves out of what
// follows it the noun that says so.
func (p *place) ofMemory(m text.Message) bool {
	switch {
	case slices.Contains(scarce, p.phrase):
		noun := m.Log.Find(scarceNoun, m.End, m.End+min(len(p.after), 60))
		if !noun.Ok() {
			return false
		}
		_, end := noun.Span()
		p.after = p.after[end-m.End:]
	case slices.Contains(needsEnd, p.phrase) && !p.ended:
		return false
	case slices.Contains(needsMore, p.phrase):
		return outweighed(amounts(m)) && containsAny(p.line, append(memoryWords[:4:4], "ram"))
	case containsAny(p.phrase, asked):
		return containsAny(p.before[max(0, len(p.before)-12):]+p.after[:min(len(p.after), 90)], memoryWords) || len(amounts(m)) > 0
	}
	return true
}

// opens reports that a message begins at the phrase, or soon before it.
func (p *place) opens() bool {
	return p.before == "" || p.ran && strings.Count(p.shown, " ") < 16 || strings.IndexByte(clauses, p.before[len(p.before)-1]) >= 0 || slices.ContainsFunc(leads, func(lead string) bool { return strings.HasSuffix(p.before, lead) }) || p.ended && strings.Count(p.shown, " ") < 16
}

// closes reports that the message ends behind the phrase, or goes on as one does.
func (p *place) closes() bool {
	return p.ended || containsAny(p.phrase, asked) || p.after == "" || p.after[0] >= 0x80 || strings.IndexByte(clauses+"})", p.after[0]) >= 0 ||
		slices.ContainsFunc(goesOnWith, func(word string) bool { return strings.HasPrefix(p.after, word) })
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
// Xinference's model actor catches torch.cuda's exception (xinference/core/model.py).
var cardWords = [][2]string{
	{"hip", "rocm"}, {"rocm", "rocm"}, {"vulkan", "vulkan"}, {"vk_", "vulkan"}, {"vk::", "vulkan"}, {"vkallocate", "vulkan"}, {"level_zero", "sycl"}, {"sycl", "sycl"},
	{"cuda", "cuda"}, {"cumem", "cuda"}, {"cusolver", "cuda"}, {"cusparse", "cuda"}, {"cufft", "cuda"}, {"curand", "cuda"}, {"thrust", "cuda"}, {"nvrtc", "cuda"}, {"nvidia", "cuda"}, {"nvenc", "cuda"},
	{"metal", "metal"}, {"mtl", "metal"}, {"iogpu", "metal"}, {"npu", "npu"}, {"ascend", "npu"}, {"el0004", "npu"}, {"tpu", "tpu"},
	{"model actor is", ""}, {"gpu", ""}, {"vram", ""}, {"device", ""}, {"devmem", ""}, {"tt_fatal", ""}, {" dram buffer across", ""}, {"video memory", ""}, {"opencl", ""}, {"cl_", ""}, {"wgpu", ""}, {"dxgi", ""}, {"gl_out_of_memory", ""}, {"texture", ""}, {"command submission", ""}, {"directml", ""},
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
		at := strings.Index(line, row[0])
		if at >= 0 && (len(row[0]) > 3 || at == 0 || row[0] == "gpu" || !text.Letter(line[at-1])) { // "output" is no TPU, "input" no NPU
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
	if x.Kind == fact.PlainMemory && m.Precedes("thrust::system::system_error", 60) {
		x.Kind, x.Backend = fact.PlainDevice, "cuda"
	}
	host := containsAny(line, hostWords) || !m.Mentions(cardSigns...) // or nothing in the log is about a card
	if x.Kind == fact.PlainMemory && host || containsAny(line, []string{"out_of_host_memory", "host memory", "hostalloc", "hostregister", "on host:", "pinned", "page-locked", "lowmemorykiller"}) {
		x.Kind, x.Backend = fact.PlainHost, "cpu"
	}
	if program, ok := named(line, plainNames); ok {
		x.Framework = program
	}
	k, told := m.Log.Find(plainSize, m.At, to), amounts(m)
	x.Figures.Requested = cmp.Or(k.Size("want"), k.Size("bytes"), m.Log.Find(plainSizeBefore, from, m.At).Size("want"), told[wanted], text.RawBytes(m.Log.Find(plainSizeBelow, to, to+60), "want"))
	x.Figures.ProcessUsed = told[used]
	if x.Kind == fact.PlainDevice {
		x.Figures.Free, x.Figures.Total = told[available], told[limit]
	} else {
		x.Figures.SystemAvailable, x.Figures.Limit = told[available], told[limit]
	}
	if told[wanted] != nil && told[available] != nil && containsAny(m.Log.Squeezed()[from:to], []string{"kvcache"}) {
		x.Phase, x.Figures.KVNeeded, x.Figures.KVAvailable = "kv_cache", told[wanted], told[available]
	}
	if counted := m.Log.Find(countedPattern, max(m.At-4000, 0), m.At); counted.Ok() && x.Kind == fact.PlainDevice {
		x.Figures.Free, x.Figures.Total = counted.Size("free"), counted.Size("total")
	}
	text.Fail(m.Facts, m.Log, from, to, x)
}

// countedPattern is cudaMemGetInfo's count as programs print it, in bytes.
var countedPattern = text.NewPattern(`memory:free=(?<free>\d{8,14}),total=(?<total>\d{9,14})`)

var (
	plainSize       = text.NewPattern(`(?:alloc(?:at(?:e|ing))?|request(?:ed)?|wanted|needed|size|for)(?>(?:another|buffer|tensor|memory|size|with|of|a|[:=(]){0,3})(?:(?<want>SIZE)|(?<bytes>\d{5,18})(?:\)|,|$|\.(?!\d)))`)
	plainSizeBefore = text.NewPattern(`(?:allocate|allocating|allocationof|devicestream(?:0x)?[0-9a-f]+size)(?<want>SIZE)`) // the last is FAISS's
	plainSizeBelow  = text.NewPattern(`^tryingtoallocate:(?<want>\d{5,16})bwith`)                                           // Unity's next line
)
