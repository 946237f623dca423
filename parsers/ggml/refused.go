package ggml

import (
	"cmp"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// refusing is a message that memory was refused.
type refusing struct {
	is      fact.Failure // its kind is [fact.GGMLAlloc] unless it says another
	level   int
	figures *text.Pattern // with the groups of [statement.take]
	back    int           // how far before the literal the figures may begin
	ahead   int           // and how far behind its beginning they may end
	must    bool          // without the figures it is another message
	inLine  bool          // the figures end with their line: the next may begin with a digit
	look    look
}

// look looks closer; it reports false where nothing was refused.
type look func(g *ggmlReader, m text.Message, k text.Match, x *statement) bool

func (r refusing) read(g *ggmlReader, m text.Message) {
	x := statement{Failure: r.is, level: r.level}
	x.Kind, x.At, x.End = cmp.Or(x.Kind, fact.GGMLAlloc), m.At, m.End
	var k text.Match
	if r.figures != nil {
		if r.inLine {
			r.ahead = min(r.ahead, g.l.ValueEnd(m.At)-m.At)
		}
		if k = g.find(r.figures, m.At, r.back, r.ahead); r.must && !k.Ok() {
			return
		}
		x.take(k)
	}
	if r.look == nil || r.look(g, m, k, &x) {
		g.say(x)
	}
}

// What refused where: on the computer, a buffer of the driver, a part of the
// model, at run time.
var (
	onHost    = fact.Failure{Backend: "cpu", Memory: "CPU"}
	onCUDA    = fact.Failure{Backend: "cuda"}
	onROCm    = fact.Failure{Backend: "rocm"}
	onVulkan  = fact.Failure{Backend: "vulkan"}
	onMetal   = fact.Failure{Backend: "metal"}
	ofWeights = fact.Failure{Stage: "weights"}
	ofCache   = fact.Failure{Stage: "kv"}
	ofGraph   = fact.Failure{Stage: "compute"}
	computing = fact.Failure{Stage: "compute", Phase: "inference"}
	lmStudio  = fact.Failure{Kind: fact.LlamaGuard, Phase: "startup_check", Framework: "lm-studio"}
	nodeLlama = fact.Failure{Kind: fact.LlamaGuard, Phase: "startup_check", Stage: "kv"}
)

// ggmlFailures are the wordings of failures, from the allocators of ggml up to
// the front ends. None stands in a healthy log, but for those that read as
// notices.
var ggmlFailures = slices.Concat(
	// ggml-cuda.cu, 2024-01 on, CUDA, HIP and MUSA builds alike. Other reasons:
	// no driver, no device, an illegal access before.
	on(refusing{is: onCUDA, level: levelBuffer, figures: mallocFailed, back: 60, ahead: 40, must: true, look: notMXNet}.read, "cudaMalloc failed"),
	on(refusing{is: onROCm, level: levelBuffer, figures: mallocFailed, back: 60, ahead: 40, must: true, look: notMXNet}.read, "hipMalloc failed"),
	// ggml-alloc.c: alloc_tensor_range names the buffer in release builds since
	// spring 2025, the graph allocator since 2024-01 (_impl: late 2025).
	on(refusing{level: levelRange, figures: bufferNamed, ahead: 160, inLine: true}.read, "alloc_tensor_range: failed to allocate"),
	on(refusing{is: ofGraph, level: levelRange, figures: bufferNamed, ahead: 160, inLine: true}.read,
		"ggml_gallocr_reserve_n: failed to allocate", "ggml_gallocr_reserve_n_impl: failed to allocate"),
	// System memory. mem_buffer is the arena of ggml_init.
	on(refusing{is: onHost, level: levelBuffer, figures: backendSize, back: 40, ahead: 100, inLine: true}.read,
		"buffer_type_alloc_buffer: failed to allocate", `data != NULL && "failed to allocate buffer"`),
	on(refusing{is: onHost, level: levelMalloc, figures: alignedSize, ahead: 100}.read,
		"ggml_aligned_malloc:", "ggml_calloc: failed to allocate", "ggml_malloc: failed to allocate"),
	on(refusing{is: onHost, level: levelDetail}.read, "mem_buffer != NULL"),
	// Vulkan, ggml-vulkan.cpp; Kompute in GPT4All.
	on(refusing{is: onVulkan, level: levelBuffer, figures: vulkanSize, back: 1, ahead: 60, must: true}.read, "emory allocation of size"),
	on(refusing{is: onVulkan, level: levelDetail, look: vulkanReason}.read,
		"ErrorOutOfDeviceMemory", "ErrorOutOfHostMemory", "Error allocating vulkan memory"),
	// How it ends when a KV tensor exceeds the range that Vulkan can address:
	// ggml-backend.cpp of 2026.
	on(refusing{is: fact.Failure{Kind: fact.GGMLCannotRun, Stage: "kv"}, level: levelRuntime, figures: cannotRun, back: 120, ahead: 40, must: true}.read,
		"that cannot run the operation"),
	// llama.cpp: which part it was. mmap: the address space or the commit limit.
	// NumPy is "unable to allocate 7.00 GiB for an array", too.
	on(refusing{is: ofWeights, level: levelStage, figures: weightsName, ahead: 90, must: true}.read,
		"unable to allocate", "error loading model: failed to allocate buffer"),
	on(refusing{is: fact.Failure{Stage: "weights", Memory: "CPU", Backend: "cpu"}, level: levelStage}.read, "mmap failed: Cannot allocate memory"),
	on(refusing{is: ofCache, level: levelStage}.read, "failed to allocate buffer for kv cache", "llama_kv_cache_init() failed"),
	on(refusing{is: ofCache, level: levelStage}.read, "cache: ggml_backend_alloc_ctx_tensors failed"), // servers on ggml
	on(refusing{is: fact.Failure{Stage: "state"}, level: levelStage}.read, "failed to allocate buffer for rs cache"),
	on(refusing{is: ofGraph, level: levelStage, look: cacheUpdate}.read, "failed to allocate compute"),
	on(refusing{is: fact.Failure{Stage: "output"}, level: levelStage, figures: outputSize, ahead: 80}.read, "failed to allocate output buffer"),
	on(refusing{is: computing, level: levelStage, figures: graphFailed, ahead: 60, must: true}.read, "failed to allocate graph"),
	on(refusing{is: computing, level: levelStage}.read, "error (failed to allocate memory)"),
	// Since 2025-12 it is tried again without the copies for pipeline parallelism.
	on(retrying("retried_without_pipeline", "The compute buffer for pipeline parallelism was refused; llama.cpp went on without it: slower prompts on several cards, nothing else."),
		"compute buffer allocation failed, retrying"),
	on((*ggmlReader).pinned, "of pinned memory", "Failed to allocate pinned memory"), // never fatal
	// Run time. HIP and MUSA builds print CUDA's words, too.
	on(runtime("cuda", "inference"), "CUDA error: out of memory", "the resource allocation failed"),
	on(runtime("rocm", "inference"), "ROCm error: out of memory", "HIP error: out of memory"),
	on(runtime("", "inference"), "MUSA error: out of memory"),       // the report has no name for it
	on(runtime("cuda", ""), "CUDA error 2 at", "cuBLAS error 3 at"), // the builds of 2023 print it while loading too
	on(refusing{is: fact.Failure{Kind: fact.GGMLRuntime, Backend: "cuda"}, level: levelRuntime, figures: bareCUDA, ahead: 40, must: true, look: notInBlock}.read,
		"ggml-cuda.cu:"),
	// Arenas and plans.
	on(refusing{is: fact.Failure{Kind: fact.GGMLPool}, level: levelRuntime, figures: poolSize, ahead: 150, look: ofArena}.read,
		"not enough space in the context's memory pool", "not enough space in the scratch memory"),
	on(refusing{is: fact.Failure{Kind: fact.GGMLPlan}, level: levelRuntime, figures: poolSize, ahead: 150, look: plan}.read, "not enough space in the buffer"),
	// Metal, SYCL, OpenCL.
	on(refusing{is: onMetal, level: levelBuffer, figures: metalSize, ahead: 130, must: true}.read,
		"error: failed to allocate buffer, size", "ggml_metal_add_buffer: error: failed to allocate"),
	on(refusing{is: fact.Failure{Kind: fact.GGMLLimit, Backend: "metal"}, level: levelBuffer, figures: metalMax, back: 70, ahead: 60, must: true}.read,
		"is larger than buffer maximum of"),
	on(refusing{is: fact.Failure{Kind: fact.GGMLMetal, Backend: "metal", Phase: "inference"}, level: levelRuntime, look: metalCommand}.read,
		"failed with status 5", "kIOGPUCommandBufferCallbackErrorOutOfMemory"),
	on((*ggmlReader).metalOver, "greater than the recommended max working set size"),
	on((*ggmlReader).metalStopped, "ggml_metal_graph_compute:"),
	on(refusing{is: fact.Failure{Backend: "sycl"}, level: levelBuffer, figures: syclSize, ahead: 70, must: true, look: syclPool}.read, "can't allocate"),
	on(refusing{is: fact.Failure{Kind: fact.GGMLSYCL, Backend: "sycl"}, level: levelRuntime, look: atWork}.read,
		"fattn buffer alloc failed", "_RESULT_ERROR_OUT_OF", "PI_ERROR_OUT_OF", "could not create a memory object"),
	on(refusing{level: levelBuffer, figures: openCLCode, back: 220, ahead: 20, must: true, look: openCL}.read, "ggml-opencl.cpp:"),
	// Front ends. LM Studio estimates before it loads: 0.3.17 and later with how
	// much it thinks is needed, "was aborted due to" before, 0.4 the last.
	on(refusing{is: lmStudio, level: levelRuntime, figures: guardSize, ahead: 260, look: lmStudioGuard}.read,
		"due to insufficient system resources", "Not enough resources to load the model"),
	on(refusing{is: nodeLlama, level: levelRuntime, figures: nodeContext, back: 60, ahead: 40, must: true, look: nodeGuard}.read,
		"is too large for the available"),
	on(refusing{is: ofWeights, level: levelStage}.read, "GPU loading failed (out of vram", // GPT4All
		"whisper_model_load: failed to allocate memory for the model"),
	on((*ggmlReader).caller,
		"failed to create context with model", "Failed to create llama_context", "Failed to load model", "unable to load model",
		"exiting due to model loading error", "Remote RPC server crashed"),
)

var (
	mallocFailed = text.NewPattern(`(?:allocating(?<size>NUMmib)ondevice(?<device>\d{1,3}):)?(?:cuda|hip)mallocfailed(?::outofmemory|(?!:[a-z]{3}))`)
	bufferNamed  = text.NewPattern(`failedtoallocate(?<memory>[a-z]\w{0,40}?(?:(?<=cuda|rocm|hip|musa|vulkan|sycl|metal|mtl|cann|rpc)(?<device>\d{1,3}))?(?:\[[^\]]{1,48}\])?)buffer(?:ofsize(?<bytes>INT))?`) // a card's own name, "NVIDIA GeForce GT 730", ends in no device's number
	backendSize  = text.NewPattern(`(?<backend>[a-z]+)_buffer_type_alloc_buffer:failedtoallocate(?:bufferofsize(?<bytes>INT)|(?<size>NUMmib))?`)
	alignedSize  = text.NewPattern(`(?:attemptedtoallocate|failedtoallocate)(?<size>NUMmb)`)
	vulkanSize   = text.NewPattern(`memoryallocationofsize(?<bytes>INT)failed`)
	weightsName  = text.NewPattern(`(?:unabletoallocate(?:backend|(?<memory>[a-z]\w{1,24}?(?<device>\d{1,3})?))|failedtoallocate)buffer`)
	outputSize   = text.NewPattern(`failedtoallocateoutputbufferofsize(?<size>NUMmib)`)
	graphFailed  = text.NewPattern(`failedtoallocategraph(?!,reserving)`) // that is a debug line of the scheduler: it plans anew
	pinnedSize   = text.NewPattern(`(?<pinned_refused>(?>NUM)mi?b)ofpinnedmemory`)
	poolSize     = text.NewPattern(`\(needed(?<bytes>INT),(?:available|largestblockavailable)(?<free>INT)\)|assertionfailed:`)
	ofTensor     = text.NewPattern(`toallocate[a-z][\w.]{1,60}\.weight\(needed`)
	// Builds of 2026 say before it what their pool lacked.
	poolRefused  = text.NewPattern(`pool\[\d{1,3}\]:allocof(?<size>NUMmib)failed`)
	runtimeBlock = text.NewPattern(`currentdevice:(?<device>\d{1,3})(?:,infunction\w{1,60}?at)?`)
	bareCUDA     = text.NewPattern(`ggml-cuda\.cu:\d{1,6}:outofmemory`)
	metalSize    = text.NewPattern(`failedtoallocate(?:'(?<part>[^']{0,24})')?buffer,size=(?<size>NUMmi?b)`)
	metalMax     = text.NewPattern(`buffer'(?<part>[^']{0,24})'size(?<bytes>INT)islargerthanbuffermaximumof(?<limit>INT)`)
	syclSize     = text.NewPattern(`can'tallocate(?<bytes>INT)bytesofmemoryondevice`)
	openCLCode   = text.NewPattern(`(?<call>openclerror:[a-z]{4,40}:|\)error)-(?<code>\d{1,3})(?:at|ggml_assert:)[^\n]{0,150}?ggml-opencl\.cpp:`)
	guardSize    = text.NewPattern(`requiresapproximately(?:(?<need>NUM[kmgt]b)|(?<nan>nan))`)
	cannotRun    = text.NewPattern(`pre-allocatedtensor\(cache_[kv]_l\d{1,3}\)inabuffer\((?<memory>[a-z_]{2,20}(?<device>\d{1,3})?)\)thatcannotruntheoperation`)
	nodeContext  = text.NewPattern(`contextsizeof(?<context>INT)(?:with(?<n_seq_max>\d{1,4})sequences?)?istoolargefortheavailable(?<where>v?ram)`)
)

// notMXNet: its pool says "cudaMalloc failed" too, see paddle.go.
func notMXNet(g *ggmlReader, m text.Message, _ text.Match, _ *statement) bool {
	from, _ := g.l.LineSpan(m.At)
	return !strings.Contains(g.s[from:m.At], "pooled_storage_manager.h")
}

// vulkanReason reads the reason that the driver gave. Of pinned memory it is
// part of a warning.
func vulkanReason(g *ggmlReader, m text.Message, _ text.Match, x *statement) bool {
	before := g.s[max(m.At-130, 0):m.At]
	i := strings.LastIndex(before, "ggml_vulkan:")
	if i >= 0 {
		if strings.Contains(before[max(i-60, 0):], "pinnedmemory") {
			return false
		}
		x.At -= len(before) - i
	}
	if strings.Contains(before[max(i, 0):], "requestedbuffersizeexceeds") {
		x.Kind = fact.GGMLLimit
	}
	return true
}

// cacheUpdate: the cache is defragmented or shifted at run time.
func cacheUpdate(_ *ggmlReader, m text.Message, _ text.Match, x *statement) bool {
	if m.Precedes("kv_cache_update", 60) {
		x.Phase = "inference"
	}
	return true
}

func (g *ggmlReader) pinned(m text.Message) {
	g.notice("pinned_memory", "Pinned memory was refused; ordinary memory is used instead: transfers are a little slower, nothing fails.", m)
	g.find(pinnedSize, m.At, 40, 20).States(m.Facts, nil)
	g.done = max(g.done, m.End)
}
