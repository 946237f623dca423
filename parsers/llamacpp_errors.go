package parsers

import "strings"

// ggmlFailures are the wordings of failures, from the allocators of ggml up to
// the front ends. None stands in a healthy log, but for those that read as
// notices.
var ggmlFailures = []ggmlWording{
	// ggml-cuda.cu, 2024-01 on, CUDA, HIP and MUSA builds alike.
	{"cudaMalloc failed", (*ggmlReader).deviceMalloc},
	{"hipMalloc failed", (*ggmlReader).deviceMalloc},
	// ggml-alloc.c: alloc_tensor_range names the buffer in release builds since
	// spring 2025, the graph allocator since 2024-01 (_impl: late 2025).
	{"alloc_tensor_range: failed to allocate", (*ggmlReader).bufferRange},
	{"ggml_gallocr_reserve_n: failed to allocate", (*ggmlReader).graphBuffer},
	{"ggml_gallocr_reserve_n_impl: failed to allocate", (*ggmlReader).graphBuffer},
	// System memory.
	{"buffer_type_alloc_buffer: failed to allocate", (*ggmlReader).backendBuffer},
	{`data != NULL && "failed to allocate buffer"`, (*ggmlReader).backendBuffer},
	{"ggml_aligned_malloc:", (*ggmlReader).alignedMalloc},
	{"mem_buffer != NULL", (*ggmlReader).arenaRefused},
	{"ggml_calloc: failed to allocate", (*ggmlReader).alignedMalloc},
	{"ggml_malloc: failed to allocate", (*ggmlReader).alignedMalloc},
	// Vulkan, ggml-vulkan.cpp; Kompute in GPT4All.
	{"emory allocation of size", (*ggmlReader).vulkanAllocation},
	{"ErrorOutOfDeviceMemory", (*ggmlReader).vulkanDetail},
	{"ErrorOutOfHostMemory", (*ggmlReader).vulkanDetail},
	{"Error allocating vulkan memory", (*ggmlReader).vulkanDetail},
	{"that cannot run the operation", (*ggmlReader).cannotRun},
	// llama.cpp: which part it was.
	{"unable to allocate", (*ggmlReader).weightsRefused},
	{"error loading model: failed to allocate buffer", (*ggmlReader).weightsRefused},
	{"mmap failed: Cannot allocate memory", (*ggmlReader).mmapRefused},
	{"failed to allocate buffer for", (*ggmlReader).cacheRefused},
	{"llama_kv_cache_init() failed", (*ggmlReader).cacheRefused},
	{"failed to allocate compute", (*ggmlReader).computeRefused},
	{"failed to allocate output buffer", (*ggmlReader).outputRefused},
	{"failed to allocate graph", (*ggmlReader).graphRefused},
	{"error (failed to allocate memory)", (*ggmlReader).graphRefused},
	{"compute buffer allocation failed, retrying", (*ggmlReader).pipelineRetry},
	// Pinned memory: never fatal.
	{"of pinned memory", (*ggmlReader).pinned},
	{"Failed to allocate pinned memory", (*ggmlReader).pinned},
	// Run time.
	{"CUDA error: out of memory", (*ggmlReader).runtime},
	{"ROCm error: out of memory", (*ggmlReader).runtime},
	{"MUSA error: out of memory", (*ggmlReader).runtime},
	{"HIP error: out of memory", (*ggmlReader).runtime},
	{"CUDA error 2 at", (*ggmlReader).runtime},
	{"cuBLAS error 3 at", (*ggmlReader).runtime},
	{"the resource allocation failed", (*ggmlReader).runtime},
	{"ggml-cuda.cu:", (*ggmlReader).bareRuntime},
	// Arenas and plans.
	{"not enough space in the context's memory pool", (*ggmlReader).pool},
	{"not enough space in the scratch memory", (*ggmlReader).pool},
	{"not enough space in the buffer", (*ggmlReader).plan},
	// Metal, SYCL.
	{"error: failed to allocate buffer, size", (*ggmlReader).metalBuffer},
	{"ggml_metal_add_buffer: error: failed to allocate", (*ggmlReader).metalBuffer},
	{"is larger than buffer maximum of", (*ggmlReader).metalMaximum},
	{"failed with status 5", (*ggmlReader).metalCommand},
	{"kIOGPUCommandBufferCallbackErrorOutOfMemory", (*ggmlReader).metalCommand},
	{"greater than the recommended max working set size", (*ggmlReader).metalOver},
	{"ggml_metal_graph_compute:", (*ggmlReader).metalStopped},
	{"can't allocate", (*ggmlReader).syclAlloc},
	{"ggml-opencl.cpp:", (*ggmlReader).openCL},
	{"fattn buffer alloc failed", (*ggmlReader).syclRuntime},
	{"_RESULT_ERROR_OUT_OF", (*ggmlReader).syclRuntime},
	{"PI_ERROR_OUT_OF", (*ggmlReader).syclRuntime},
	// Front ends.
	{"due to insufficient system resources", (*ggmlReader).lmStudioGuard},
	{"Not enough resources to load the model", (*ggmlReader).lmStudioGuard}, // 0.4
	{"is too large for the available", (*ggmlReader).nodeGuard},
	{"GPU loading failed (out of vram", (*ggmlReader).gpt4all},
	// Callers.
	{"failed to create context with model", (*ggmlReader).caller},
	{"Failed to create llama_context", (*ggmlReader).caller},
	{"Failed to load model", (*ggmlReader).caller},
	{"unable to load model", (*ggmlReader).caller},
	{"exiting due to model loading error", (*ggmlReader).caller},
	{"Remote RPC server crashed", (*ggmlReader).caller},
}

var (
	mallocSize   = pattern(`allocating(?<size>NUMmib)ondevice(?<device>\d{1,3}):(?:cuda|hip)mallocfailed`)
	mallocReason = pattern(`mallocfailed:(?<reason>[a-z]{3,24})`)
	rangeSize    = pattern(`failedtoallocate(?<memory>[a-z]\w{0,24}?(?:\[[^\]]{1,48}\])?)buffer(?:ofsize(?<size>INT))?`)
	backendSize  = pattern(`(?<backend>[a-z]+)_buffer_type_alloc_buffer:failedtoallocate(?:bufferofsize(?<bytes>INT)|(?<size>NUMmib))?`)
	alignedSize  = pattern(`(?:attemptedtoallocate|failedtoallocate)(?<size>NUMmb)`)
	vulkanSize   = pattern(`memoryallocationofsize(?<bytes>INT)failed`)
	weightsName  = pattern(`(?:unabletoallocate(?<memory>[a-z]\w{1,24}?)|failedtoallocate)buffer`)
	cacheName    = pattern(`failedtoallocatebufferfor(?<cache>kv|rs)cache`)
	outputSize   = pattern(`failedtoallocateoutputbufferofsize(?<size>NUMmib)`)
	pinnedSize   = pattern(`(?<size>(?>NUM)mi?b)ofpinnedmemory`)
	poolSize     = pattern(`\(needed(?<need>INT),(?:available|largestblockavailable)(?<have>INT)\)`)
	tensorName   = pattern(`toallocate(?<tensor>[a-z][\w.]{1,60})\(needed`)
	// Builds of 2026 say before it what their pool lacked.
	poolRefused  = pattern(`pool\[\d{1,3}\]:allocof(?<size>NUMmib)failed`)
	runtimeBlock = pattern(`currentdevice:(?<device>\d{1,3})(?:,infunction(?<function>\w{1,60}?)at)?`)
	bareCUDA     = pattern(`ggml-cuda\.cu:\d{1,6}:outofmemory`)
	metalSize    = pattern(`failedtoallocate(?:'[^']{0,24}')?buffer,size=(?<size>NUMmi?b)`)
	metalMax     = pattern(`buffer'[^']{0,24}'size(?<size>INT)islargerthanbuffermaximumof(?<limit>INT)`)
	syclSize     = pattern(`can'tallocate(?<size>INT)bytesofmemoryondevice`)
	openCLCode   = pattern(`(?:openclerror:[a-z]{4,40}:|\)error)-(?<code>\d{1,3})(?:at|ggml_assert:)[^\n]{0,150}?ggml-opencl\.cpp:`)
	guardSize    = pattern(`requiresapproximately(?:(?<size>NUM[kmgt]b)|(?<nan>nan))`)
	cannotRun    = pattern(`pre-allocatedtensor\(cache_[kv]_l\d{1,3}\)inabuffer\((?<memory>\w{2,24})\)thatcannotrun`)
	nodeContext  = pattern(`contextsizeof(?<context>INT)(?:with(?<seqs>\d{1,4})sequences?)?istoolargefortheavailable(?<where>v?ram)`)
)

func (g *ggmlReader) deviceMalloc(at int) {
	if m := g.find(mallocReason, at, 0, 60); m.Ok() && !strings.HasPrefix(m.Lower("reason"), "outofmemory") {
		return // no driver, no device, an illegal access before
	}
	if from, _ := g.l.LineSpan(at); strings.Contains(g.s[from:at], "pooled_storage_manager.h") {
		return // MXNet's: see paddle.go
	}
	x := statement{kind: GGMLAlloc, level: levelBuffer, at: at, end: at + len("cudamallocfailed"), backend: "cuda"}
	if strings.HasPrefix(g.s[at:], "hip") {
		x.backend = "rocm"
	}
	if m := g.find(mallocSize, at, 60, 24); m.Ok() {
		x.at, x.end = m.Span()
		x.requested, x.device = m.Size("size"), m.Count("device")
	}
	if strings.HasPrefix(g.s[x.end:], ":outofmemory") {
		x.end += len(":outofmemory")
	}
	g.say(x)
}

// named fills in the buffer's name with what it says.
func (x *statement) named(m Match) {
	x.memory = m.Text("memory")
	x.backend = backendOfBuffer(x.memory)
	if strings.HasPrefix(strings.ToLower(x.memory), "backend") {
		x.memory, x.backend = "", "" // "unable to allocate backend buffer"
	}
	if index := strings.TrimLeft(x.memory, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"); x.device == nil && index != "" && m.Ok() {
		_, end, _ := m.group("memory")
		x.device = m.log.count(end-len(index), end)
	}
}

func (g *ggmlReader) bufferRange(at int) {
	x := statement{kind: GGMLAlloc, level: levelRange, at: at, end: at + len("alloc_tensor_range:failedtoallocate")}
	if m := g.value(rangeSize, at, 0, 160); m.Ok() {
		_, x.end = m.Span()
		x.requested, x.exact = m.Size("size"), true
		x.named(m)
	}
	g.say(x)
}

// arenaRefused is ggml_init: the computer had no memory for a context's arena.
func (g *ggmlReader) arenaRefused(at int) {
	g.say(statement{kind: GGMLAlloc, level: levelDetail, at: at, end: at + len("mem_buffer!=null"), backend: "cpu", memory: "CPU"})
}

func (g *ggmlReader) graphBuffer(at int) {
	g.bufferRange(at)
	g.open.stage = "compute"
}

func (g *ggmlReader) backendBuffer(at int) {
	x := statement{kind: GGMLAlloc, level: levelBuffer, at: at, end: at + 40, backend: "cpu", memory: "CPU"}
	if m := g.value(backendSize, at, 40, 100); m.Ok() {
		x.at, x.end = m.Span()
		x.requested = first(m.Size("bytes"), m.Size("size"))
		x.exact = m.Size("bytes") != nil
		if name := m.Lower("backend"); !HostMemory(name) {
			x.memory, x.backend = "", backendOfBuffer(name)
		}
	}
	g.say(x)
}

func (g *ggmlReader) alignedMalloc(at int) {
	x := statement{kind: GGMLAlloc, level: levelMalloc, at: at, end: at + len("ggml_aligned_malloc:"), backend: "cpu", memory: "CPU"}
	if m := g.find(alignedSize, at, 0, 100); m.Ok() {
		_, x.end = m.Span()
		x.requested = m.Size("size")
	}
	g.say(x)
}

func (g *ggmlReader) vulkanAllocation(at int) {
	m := g.find(vulkanSize, at, 1, 60)
	if !m.Ok() {
		return
	}
	_, end := m.Span()
	g.say(statement{kind: GGMLAlloc, level: levelBuffer, at: at - 1, end: end, backend: "vulkan", requested: m.Size("bytes"), exact: true})
}

// vulkanDetail reads the reason that the driver gave. Of pinned memory it is
// part of a warning.
func (g *ggmlReader) vulkanDetail(at int) {
	before := g.around(at, 130, 0)
	i := strings.LastIndex(before, "ggml_vulkan:")
	if i >= 0 && strings.Contains(before[max(i-60, 0):], "pinnedmemory") {
		return
	}
	x := statement{kind: GGMLAlloc, level: levelDetail, at: at, end: at + len("erroroutofdevicememory"), backend: "vulkan"}
	x.end = min(x.end, len(g.s))
	if i >= 0 {
		x.at = at - len(before) + i
	}
	if strings.Contains(before[max(i, 0):], "requestedbuffersizeexceeds") {
		x.kind = GGMLLimit
	}
	g.say(x)
}

// cannotRun is how Vulkan ends when a KV tensor exceeds the range it can
// address: ggml-backend.cpp of 2026.
func (g *ggmlReader) cannotRun(at int) {
	m := g.find(cannotRun, at, 120, 10)
	if !m.Ok() {
		return
	}
	from, _ := m.Span()
	x := statement{kind: GGMLCannotRun, level: levelRuntime, at: from, end: at + len("thatcannotruntheoperation"), stage: "kv"}
	x.named(m)
	g.say(x)
}

func (g *ggmlReader) weightsRefused(at int) {
	x := statement{kind: GGMLAlloc, level: levelStage, at: at, stage: "weights"}
	m := g.find(weightsName, at, 0, 90)
	if !m.Ok() {
		return // numpy's "Unable to allocate 7.00 GiB for an array"
	}
	_, x.end = m.Span()
	x.named(m)
	g.say(x)
}

// mmapRefused is the address space or the commit limit, not the card.
func (g *ggmlReader) mmapRefused(at int) {
	g.say(statement{kind: GGMLAlloc, level: levelStage, at: at, end: at + len("mmapfailed:cannotallocatememory"), stage: "weights", memory: "CPU", backend: "cpu"})
}

func (g *ggmlReader) cacheRefused(at int) {
	x := statement{kind: GGMLAlloc, level: levelStage, at: at, end: at + len("failedtoallocatebuffer"), stage: "kv"}
	if m := g.find(cacheName, at, 0, 60); m.Ok() {
		_, x.end = m.Span()
		if m.Lower("cache") == "rs" {
			x.stage = "state"
		}
	} else if !strings.HasPrefix(g.s[at:], "llama_kv_cache_init()") {
		return
	}
	g.lmStudio(&x)
	g.say(x)
}

// lmStudio tells LM Studio's own line by its capital: llama.cpp puts the
// function before it.
func (g *ggmlReader) lmStudio(x *statement) {
	line := g.l.LineText(x.at)
	if i := strings.Index(line, "Failed to initialize the context"); i == 0 || i > 0 && !strings.Contains(line[:i], "llama_") {
		x.framework = "lm-studio"
	}
}

func (g *ggmlReader) computeRefused(at int) {
	x := statement{kind: GGMLAlloc, level: levelStage, at: at, end: min(at+len("failedtoallocatecomputebuffers"), len(g.s)), stage: "compute"}
	if strings.Contains(g.around(at, 60, 0), "kv_cache_update") {
		x.phase = "inference" // the cache is defragmented or shifted at run time
	}
	g.lmStudio(&x)
	g.say(x)
}

func (g *ggmlReader) outputRefused(at int) {
	x := statement{kind: GGMLAlloc, level: levelStage, at: at, end: at + len("failedtoallocateoutputbuffer"), stage: "output"}
	if m := g.find(outputSize, at, 0, 80); m.Ok() {
		_, x.end = m.Span()
		x.requested = m.Size("size")
	}
	g.say(x)
}

func (g *ggmlReader) graphRefused(at int) {
	if strings.Contains(g.around(at, 0, 60), "graph,reserving") {
		return // a debug line of the scheduler: it plans anew
	}
	g.say(statement{kind: GGMLAlloc, level: levelStage, at: at, end: at + len("failedtoallocategraph"), stage: "compute", phase: "inference"})
}

// pipelineRetry: since 2025-12 a refused compute buffer is tried again without
// the copies for pipeline parallelism.
func (g *ggmlReader) pipelineRetry(at int) {
	g.retrying(noticePipeline, "The compute buffer for pipeline parallelism was refused; llama.cpp went on without it: slower prompts on several cards, nothing else.", at)
}

func (g *ggmlReader) pinned(at int) {
	title := "Pinned memory was refused; ordinary memory is used instead: transfers are a little slower, nothing fails."
	g.f.Notices = append(g.f.Notices, Notice{ID: noticePinned, Line: g.l.Line(at), Text: g.l.LineText(at), Title: title})
	if m := g.find(pinnedSize, at, 40, 20); m.Ok() {
		g.fact("pinned_refused", m.Size("size"), nil, at)
	}
	g.done = max(g.done, at+len("ofpinnedmemory"))
}

// runtime reads the block that ggml prints on any CUDA error. PyTorch has the
// same words: see rawCUDA.
func (g *ggmlReader) runtime(at int) {
	if !ggmlSpeaks(g.s, at) {
		return
	}
	x := statement{kind: GGMLRuntime, level: levelRuntime, at: at, end: min(at+len("cudaerror:outofmemory"), len(g.s)), backend: "cuda", phase: "inference"}
	if strings.HasPrefix(g.s[at:], "rocm") || strings.HasPrefix(g.s[at:], "hip") || strings.Contains(g.around(at, 0, 360), "hipmalloc(") {
		x.backend = "rocm"
	}
	if strings.HasPrefix(g.s[at:], "musa") {
		x.backend = "" // the report has no name for it
	}
	if m := g.find(runtimeBlock, at, 0, 260); m.Ok() {
		_, x.end = m.Span()
		x.device = m.Count("device")
	}
	if strings.HasPrefix(g.s[at:], "cudaerror2at") || strings.HasPrefix(g.s[at:], "cublaserror3at") {
		x.phase = "" // the builds of 2023 print it while loading too
	}
	if m := g.l.Find(poolRefused, at-260, at); m.Ok() {
		x.requested = m.Size("size")
	}
	g.say(x)
}

// bareRuntime is koboldcpp's "ggml-cuda.cu:5871: out of memory".
func (g *ggmlReader) bareRuntime(at int) {
	m := g.find(bareCUDA, at, 0, 40)
	if !m.Ok() || strings.Contains(g.around(at, 120, 0), "cudaerror2at") {
		return
	}
	_, end := m.Span()
	g.say(statement{kind: GGMLRuntime, level: levelRuntime, at: at, end: end, backend: "cuda"})
}

// ggmlSpeaks tells ggml's "CUDA error: out of memory" from PyTorch's.
func ggmlSpeaks(s string, at int) bool {
	after, before := s[at:min(at+320, len(s))], s[max(at-200, 0):at]
	if strings.Contains(after, "currentdevice:") || strings.Contains(after, "ggml") {
		return true
	}
	if strings.HasSuffix(before, "runtimeerror:") || strings.Contains(after, "torch") || strings.Contains(after, "cudakernelerrors") {
		return false
	}
	for _, word := range [...]string{"ggml", "llama_", "llama.cpp", "encode_image_with_clip", "ollama", "whilerunningthemodel"} {
		if strings.Contains(before, word) {
			return true
		}
	}
	return false
}

// pool reads an arena of the program that is too small: nothing of the
// system's. Needed and available are both counted from the arena's start.
func (g *ggmlReader) pool(at int) {
	x := statement{kind: GGMLPool, level: levelRuntime, at: at, end: min(at+len("notenoughspaceinthecontext'smemorypool"), len(g.s))}
	x.sized(g, at)
	x.figures.Limit = x.figures.Free
	g.say(x)
}

func (g *ggmlReader) plan(at int) {
	if strings.HasPrefix(g.s[at+len("notenoughspaceinthebuffer"):], `"`) && g.open != nil {
		return // the assertion that follows the message
	}
	x := statement{kind: GGMLPlan, level: levelRuntime, at: at, end: at + len("notenoughspaceinthebuffer")}
	if m := g.find(tensorName, at, 0, 140); m.Ok() {
		if strings.HasSuffix(m.Lower("tensor"), ".weight") {
			x.phase = "load"
		}
	}
	x.sized(g, at)
	if last := len(g.refusals) - 1; x.requested == nil && last >= 0 && g.refusals[last].kind == GGMLPlan {
		return
	}
	if x.requested == nil && strings.Contains(g.around(at, 0, 160), "(needed") {
		return // "ggml-alloc.c:99: not enough space in the buffer", said again with figures
	}
	g.say(x)
}

// sized reads "(needed A, available B)".
func (x *statement) sized(g *ggmlReader, at int) {
	if m := g.find(poolSize, at, 0, 150); m.Ok() {
		from, end := m.Span()
		if from-x.end < 100 {
			x.end = end
			x.requested, x.exact, x.figures.Free = m.Size("need"), true, m.Size("have")
		}
	}
}

func (g *ggmlReader) metalBuffer(at int) {
	m := g.find(metalSize, at, 0, 130)
	if !m.Ok() {
		return
	}
	_, end := m.Span()
	g.say(statement{kind: GGMLAlloc, level: levelBuffer, at: at, end: end, backend: "metal", requested: m.Size("size"), stage: metalStage(g.s[at:end])})
}

func (g *ggmlReader) metalMaximum(at int) {
	m := g.find(metalMax, at, 70, 60)
	if !m.Ok() {
		return
	}
	from, end := m.Span()
	x := statement{kind: GGMLLimit, level: levelBuffer, at: from, end: end, backend: "metal", requested: m.Size("size"), exact: true}
	x.figures.Limit = m.Size("limit")
	x.stage = metalStage(g.s[from:end])
	g.say(x)
}

// metalStage: the builds of 2023 name their buffers, and 'data' is the file.
func metalStage(message string) string {
	if strings.Contains(message, "'data'") {
		return "weights"
	}
	return ""
}

// metalCommand reads a command buffer that failed. Status 5 alone only says
// that it failed; code 00000008 that it was memory, others that it was not.
func (g *ggmlReader) metalCommand(at int) {
	if strings.Contains(g.around(at, 120, 0), "commandbufferexecutionfailed") {
		return // MLX: see mlx.go
	}
	after := g.around(at, 0, 260)
	x := statement{kind: GGMLMetal, level: levelRuntime, at: at, end: min(at+len("failedwithstatus5"), len(g.s)), backend: "metal", phase: "inference"}
	i := strings.Index(after, "error:")
	switch {
	case strings.Contains(after, "erroroutofmemory"), strings.Contains(after, "insufficientmemory"):
		x.end = at + max(strings.Index(after, "erroroutofmemory")+len("erroroutofmemory"), strings.Index(after, "insufficientmemory")+len("insufficientmemory"))
	case i >= 0 && strings.Contains(after[i:], "kiogpucommandbuffer"):
		g.lookalike("metal_gpu_error", at, "A Metal command buffer failed for another reason than memory.", "Read the code in brackets: 00000004 only follows an earlier GPU error, 00000001 is a page fault and 00000002 a hang. Update llama.cpp and macOS.")
		return
	default:
		x.weak = true
	}
	g.overruled()
	g.say(x)
}

// overruled drops the warnings about Metal's recommended size where the error
// they warned of follows.
func (g *ggmlReader) overruled() {
	for n := len(g.refusals) - 1; n >= 0 && g.refusals[n].retry != nil && g.refusals[n].retry.id == noticeMetal; n-- {
		g.refusals = g.refusals[:n]
	}
}

// metalOver: more is allocated than Metal recommends. It runs as long as the
// system finds memory, so the last one counts, and only if nothing works after.
func (g *ggmlReader) metalOver(at int) {
	end := at + len("greaterthantherecommendedmaxworkingsetsize")
	if last := len(g.refusals) - 1; last >= 0 && g.refusals[last].kind == GGMLMetal {
		r := g.refusals[last]
		r.end, g.done = end, end
		return
	}
	title := "More was allocated than Metal recommends; it ran all the same."
	g.say(statement{kind: GGMLMetal, level: levelRuntime, at: at, end: end, backend: "metal", weak: true})
	g.open.retry = &retry{noticeMetal, title}
}

// metalStopped: a line of the graph's evaluation is printed when it fails.
func (g *ggmlReader) metalStopped(at int) {
	if strings.Contains(g.around(at, 0, 80), "failedwithstatus") {
		return // read as such
	}
	for _, r := range g.refusals {
		if r.kind == GGMLMetal {
			r.phase, r.weak, r.retry = "inference", false, nil
			r.end = max(r.end, at)
		}
	}
}

func (g *ggmlReader) syclAlloc(at int) {
	m := g.find(syclSize, at, 0, 70)
	if !m.Ok() {
		return
	}
	_, end := m.Span()
	x := statement{kind: GGMLAlloc, level: levelBuffer, at: at, end: end, backend: "sycl", requested: m.Size("size"), exact: true}
	if !strings.Contains(g.around(at, 50, 0), "buffer_type") {
		x.stage, x.phase = "compute", "inference" // the pool of the run time
	}
	g.say(x)
}

// syclRuntime reads the oneAPI runtime's codes, where ggml is at work: PyTorch
// has them too.
func (g *ggmlReader) syclRuntime(at int) {
	if !strings.Contains(g.s, "ggml") && g.program == "" {
		return
	}
	g.say(statement{kind: GGMLSYCL, level: levelRuntime, at: at, end: min(at+len("_result_error_out_of_device_memory"), len(g.s)), backend: "sycl"})
}

// openCL reads "ggml_opencl: clCreateBuffer(...) error -61 at ggml-opencl.cpp:1339"
// and CLBlast's "OpenCL error: clEnqueueNDRangeKernel: -4", which an assertion
// follows. -4 is memory of the card refused, -6 that of the host, -61 a buffer
// above the largest that the device gives; other codes are other troubles.
func (g *ggmlReader) openCL(at int) {
	m := g.find(openCLCode, at, 220, len("ggml-opencl.cpp:"))
	if !m.Ok() {
		return
	}
	from, _ := m.Span()
	x := statement{kind: GGMLAlloc, level: levelBuffer, at: from, end: at + len("ggml-opencl.cpp:")}
	switch m.Lower("code") {
	case "4":
		x.phase = "inference" // a kernel or a copy
		if strings.Contains(g.s[from:at], "createbuffer") {
			x.stage, x.phase = "compute", ""
		}
	case "61":
		x.kind = GGMLLimit
	case "6":
		if strings.Contains(g.s[from:at], "queue") {
			return // the driver refused the device
		}
		x.backend, x.memory = "cpu", "CPU"
	default:
		return
	}
	g.say(x)
}

// lmStudioGuard reads LM Studio's estimate before it loads: "Model loading was
// stopped due to insufficient system resources" (0.3.17 and later, with how much
// it thinks is needed), "was aborted due to" before.
func (g *ggmlReader) lmStudioGuard(at int) {
	if strings.HasPrefix(g.s[at:], "dueto") && !strings.Contains(g.around(at, 60, 0), "modelloading") {
		return
	}
	x := statement{kind: LlamaGuard, level: levelRuntime, at: at, end: at + len("duetoinsufficientsystemresources"), phase: "startup_check", framework: "lm-studio"}
	if m := g.find(guardSize, at, 0, 260); m.Ok() {
		_, x.end = m.Span()
		x.figures.SystemRequired = g.l.decimal(m, "size") // LM Studio's GB are powers of 1000
		if m.Lower("nan") != "" {
			g.f.Facts = append(g.f.Facts, Fact{Name: "guard_nan", Text: g.l.LineText(at), Line: g.l.Line(at)})
		}
	}
	g.say(x)
}

func (g *ggmlReader) nodeGuard(at int) {
	m := g.find(nodeContext, at, 60, 40)
	if !m.Ok() {
		return
	}
	from, end := m.Span()
	x := statement{kind: LlamaGuard, level: levelRuntime, at: from, end: end, phase: "startup_check", stage: "kv"}
	x.figures.Context = m.Count("context")
	g.fact("n_seq_max", nil, m.Count("seqs"), at)
	if m.Lower("where") == "ram" {
		x.backend, x.memory = "cpu", "CPU"
	}
	g.say(x)
}

func (g *ggmlReader) gpt4all(at int) {
	g.say(statement{kind: GGMLAlloc, level: levelStage, at: at, end: at + len("gpuloadingfailed(outofvram"), stage: "weights"})
}

func (g *ggmlReader) caller(at int) {
	from, to := g.l.LineSpan(at)
	g.callers = append(g.callers, statement{at: from, end: max(min(to, from+400), at+8)})
	g.modelInQuotes(at)
}
