package ggml

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

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
	mallocSize   = text.NewPattern(`allocating(?<size>NUMmib)ondevice(?<device>\d{1,3}):(?:cuda|hip)mallocfailed`)
	mallocReason = text.NewPattern(`mallocfailed:(?<reason>[a-z]{3,24})`)
	rangeSize    = text.NewPattern(`failedtoallocate(?<memory>[a-z]\w{0,24}?(?:\[[^\]]{1,48}\])?)buffer(?:ofsize(?<size>INT))?`)
	backendSize  = text.NewPattern(`(?<backend>[a-z]+)_buffer_type_alloc_buffer:failedtoallocate(?:bufferofsize(?<bytes>INT)|(?<size>NUMmib))?`)
	alignedSize  = text.NewPattern(`(?:attemptedtoallocate|failedtoallocate)(?<size>NUMmb)`)
	vulkanSize   = text.NewPattern(`memoryallocationofsize(?<bytes>INT)failed`)
	weightsName  = text.NewPattern(`(?:unabletoallocate(?<memory>[a-z]\w{1,24}?)|failedtoallocate)buffer`)
	cacheName    = text.NewPattern(`failedtoallocatebufferfor(?<cache>kv|rs)cache`)
	outputSize   = text.NewPattern(`failedtoallocateoutputbufferofsize(?<size>NUMmib)`)
	pinnedSize   = text.NewPattern(`(?<size>(?>NUM)mi?b)ofpinnedmemory`)
	poolSize     = text.NewPattern(`\(needed(?<need>INT),(?:available|largestblockavailable)(?<have>INT)\)`)
	tensorName   = text.NewPattern(`toallocate(?<tensor>[a-z][\w.]{1,60})\(needed`)
	// Builds of 2026 say before it what their pool lacked.
	poolRefused  = text.NewPattern(`pool\[\d{1,3}\]:allocof(?<size>NUMmib)failed`)
	runtimeBlock = text.NewPattern(`currentdevice:(?<device>\d{1,3})(?:,infunction(?<function>\w{1,60}?)at)?`)
	bareCUDA     = text.NewPattern(`ggml-cuda\.cu:\d{1,6}:outofmemory`)
	metalSize    = text.NewPattern(`failedtoallocate(?:'[^']{0,24}')?buffer,size=(?<size>NUMmi?b)`)
	metalMax     = text.NewPattern(`buffer'[^']{0,24}'size(?<size>INT)islargerthanbuffermaximumof(?<limit>INT)`)
	syclSize     = text.NewPattern(`can'tallocate(?<size>INT)bytesofmemoryondevice`)
	openCLCode   = text.NewPattern(`(?:openclerror:[a-z]{4,40}:|\)error)-(?<code>\d{1,3})(?:at|ggml_assert:)[^\n]{0,150}?ggml-opencl\.cpp:`)
	guardSize    = text.NewPattern(`requiresapproximately(?:(?<size>NUM[kmgt]b)|(?<nan>nan))`)
	cannotRun    = text.NewPattern(`pre-allocatedtensor\(cache_[kv]_l\d{1,3}\)inabuffer\((?<memory>\w{2,24})\)thatcannotrun`)
	nodeContext  = text.NewPattern(`contextsizeof(?<context>INT)(?:with(?<seqs>\d{1,4})sequences?)?istoolargefortheavailable(?<where>v?ram)`)
)

func (g *ggmlReader) deviceMalloc(at int) {
	if m := g.find(mallocReason, at, 0, 60); m.Ok() && !strings.HasPrefix(m.Lower("reason"), "outofmemory") {
		return // no driver, no device, an illegal access before
	}
	if from, _ := g.l.LineSpan(at); strings.Contains(g.s[from:at], "pooled_storage_manager.h") {
		return // MXNet's: see paddle.go
	}
	x := statement{kind: fact.GGMLAlloc, level: levelBuffer, at: at, end: at + len("cudamallocfailed"), backend: "cuda"}
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
func (x *statement) named(m text.Match) {
	x.memory = m.Text("memory")
	x.backend = BackendOfBuffer(x.memory)
	if strings.HasPrefix(strings.ToLower(x.memory), "backend") {
		x.memory, x.backend = "", "" // "unable to allocate backend buffer"
	}
	if index := strings.TrimLeft(x.memory, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"); x.device == nil && index != "" && m.Ok() {
		_, end, _ := m.Group("memory")
		x.device = m.Log.Count(end-len(index), end)
	}
}

func (g *ggmlReader) bufferRange(at int) {
	x := statement{kind: fact.GGMLAlloc, level: levelRange, at: at, end: at + len("alloc_tensor_range:failedtoallocate")}
	if m := g.value(rangeSize, at, 0, 160); m.Ok() {
		_, x.end = m.Span()
		x.requested, x.exact = m.Size("size"), true
		x.named(m)
	}
	g.say(x)
}

// arenaRefused is ggml_init: the computer had no memory for a context's arena.
func (g *ggmlReader) arenaRefused(at int) {
	g.say(statement{kind: fact.GGMLAlloc, level: levelDetail, at: at, end: at + len("mem_buffer!=null"), backend: "cpu", memory: "CPU"})
}

func (g *ggmlReader) graphBuffer(at int) {
	g.bufferRange(at)
	g.open.stage = "compute"
}

func (g *ggmlReader) backendBuffer(at int) {
	x := statement{kind: fact.GGMLAlloc, level: levelBuffer, at: at, end: at + 40, backend: "cpu", memory: "CPU"}
	if m := g.value(backendSize, at, 40, 100); m.Ok() {
		x.at, x.end = m.Span()
		x.requested = text.First(m.Size("bytes"), m.Size("size"))
		x.exact = m.Size("bytes") != nil
		if name := m.Lower("backend"); !HostMemory(name) {
			x.memory, x.backend = "", BackendOfBuffer(name)
		}
	}
	g.say(x)
}

func (g *ggmlReader) alignedMalloc(at int) {
	x := statement{kind: fact.GGMLAlloc, level: levelMalloc, at: at, end: at + len("ggml_aligned_malloc:"), backend: "cpu", memory: "CPU"}
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
	g.say(statement{kind: fact.GGMLAlloc, level: levelBuffer, at: at - 1, end: end, backend: "vulkan", requested: m.Size("bytes"), exact: true})
}

// vulkanDetail reads the reason that the driver gave. Of pinned memory it is
// part of a warning.
func (g *ggmlReader) vulkanDetail(at int) {
	before := g.around(at, 130, 0)
	i := strings.LastIndex(before, "ggml_vulkan:")
	if i >= 0 && strings.Contains(before[max(i-60, 0):], "pinnedmemory") {
		return
	}
	x := statement{kind: fact.GGMLAlloc, level: levelDetail, at: at, end: at + len("erroroutofdevicememory"), backend: "vulkan"}
	x.end = min(x.end, len(g.s))
	if i >= 0 {
		x.at = at - len(before) + i
	}
	if strings.Contains(before[max(i, 0):], "requestedbuffersizeexceeds") {
		x.kind = fact.GGMLLimit
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
	x := statement{kind: fact.GGMLCannotRun, level: levelRuntime, at: from, end: at + len("thatcannotruntheoperation"), stage: "kv"}
	x.named(m)
	g.say(x)
}

func (g *ggmlReader) weightsRefused(at int) {
	x := statement{kind: fact.GGMLAlloc, level: levelStage, at: at, stage: "weights"}
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
	g.say(statement{kind: fact.GGMLAlloc, level: levelStage, at: at, end: at + len("mmapfailed:cannotallocatememory"), stage: "weights", memory: "CPU", backend: "cpu"})
}

func (g *ggmlReader) cacheRefused(at int) {
	x := statement{kind: fact.GGMLAlloc, level: levelStage, at: at, end: at + len("failedtoallocatebuffer"), stage: "kv"}
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
	x := statement{kind: fact.GGMLAlloc, level: levelStage, at: at, end: min(at+len("failedtoallocatecomputebuffers"), len(g.s)), stage: "compute"}
	if strings.Contains(g.around(at, 60, 0), "kv_cache_update") {
		x.phase = "inference" // the cache is defragmented or shifted at run time
	}
	g.lmStudio(&x)
	g.say(x)
}

func (g *ggmlReader) outputRefused(at int) {
	x := statement{kind: fact.GGMLAlloc, level: levelStage, at: at, end: at + len("failedtoallocateoutputbuffer"), stage: "output"}
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
	g.say(statement{kind: fact.GGMLAlloc, level: levelStage, at: at, end: at + len("failedtoallocategraph"), stage: "compute", phase: "inference"})
}

// pipelineRetry: since 2025-12 a refused compute buffer is tried again without
// the copies for pipeline parallelism.
func (g *ggmlReader) pipelineRetry(at int) {
	g.retrying(noticePipeline, "The compute buffer for pipeline parallelism was refused; llama.cpp went on without it: slower prompts on several cards, nothing else.", at)
}

func (g *ggmlReader) pinned(at int) {
	title := "Pinned memory was refused; ordinary memory is used instead: transfers are a little slower, nothing fails."
	g.f.Notices = append(g.f.Notices, fact.Notice{ID: noticePinned, Line: g.l.Line(at), Text: g.l.LineText(at), Title: title})
	if m := g.find(pinnedSize, at, 40, 20); m.Ok() {
		g.fact("pinned_refused", m.Size("size"), nil, at)
	}
	g.done = max(g.done, at+len("ofpinnedmemory"))
}
