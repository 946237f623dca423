package parsers

import "slices"

// What SGLang's scheduler and memory pools say (python/sglang/srt). Its GB are
// powers of 1024.
const (
	// SGLangStatic: the static share leaves nothing for the KV pool
	// (model_runner.py to early 2026, model_runner_kv_cache_mixin.py since).
	SGLangStatic Kind = "sglang_static"
	// SGLangState is the same for the states of hybrid models (2026).
	SGLangState Kind = "sglang_state"
	// SGLangTokens: the token pool has no room for the next step.
	SGLangTokens Kind = "sglang_tokens"
	// SGLangSlots: no free request slot.
	SGLangSlots Kind = "sglang_slots"
	// FlashInferWorkspace: FlashInfer's fixed workspace is too small for a batch
	// (AlignedAllocator); the card is not full.
	FlashInferWorkspace Kind = "flashinfer_workspace"
	// SGLangUnbalanced: one card has less free memory than the others.
	SGLangUnbalanced Kind = "sglang_unbalanced"
	// SGLangLeak: the pool's own books do not add up.
	SGLangLeak Kind = "sglang_leak"
	// MemorySaver: torch_memory_saver could not take back what it had paused.
	MemorySaver Kind = "memory_saver"
)

var sglang = Parser{
	Name:     "sglang",
	Keywords: literals(sglangFailures),
	Context:  slices.Concat(literals(sglangLines), stageTexts(sglangEvidence.words)),
	Explains: map[Kind]int{SGLangStatic: 4, SGLangState: 4, SGLangTokens: 4, SGLangSlots: 4, FlashInferWorkspace: 3, SGLangUnbalanced: 4, SGLangLeak: 3, MemorySaver: 3},
	Parse: func(l *Log, hits []Hit, f *Facts) {
		list := slices.Concat(sglangFailures, sglangLines)
		worded, others := splitHits(hits, len(list))
		parseWordings(list, l, worded, f)
		sglangEvidence.look(l, others, f)
	},
}

var sglangFailures = []wording{
	{"try to increase --mem-fraction-static", sglangStatic},
	{"leave no GPU memory for the KV cache under", sglangStatic},
	{"is larger than the profiled value -", sglangStatic},
	{"Not enough GPU memory for hybrid state cache", fails(Failure{Kind: SGLangState, Framework: "sglang", Phase: "kv_cache"})},
	{"out of memory. Try to lower your batch size", sglangTokensOut},
	{"alloc_req_slots runs out of memory", fails(Failure{Kind: SGLangSlots, Framework: "sglang", Phase: "inference"})},
	{"in AlignedAllocator", flashInferWorkspace},
	{"The memory capacity is unbalanced", sglangUnbalanced},
	{"allocator memory leak detected", fails(Failure{Kind: SGLangLeak, Framework: "sglang", Phase: "inference"})},
	{"KV cache pool leak detected", fails(Failure{Kind: SGLangLeak, Framework: "sglang", Phase: "inference"})},
	{"cudaError error: 2 (out of memory)", fails(Failure{Kind: MemorySaver, Framework: "torch_memory_saver", Backend: "cuda"})},
	{"cuda graph failed:", sglangCapture},
	{"Scheduler hit an exception", echo("sglang")},
	{"Received sigquit from a child process", echo("sglang")},
	{"scheduler is dead. Please check", echo("sglang")},
}

var sglangLines = []wording{
	{"server_args=ServerArgs(", sglangArguments},
	{"sglang.launch_server", commandLine("sglang_command", sglangShort)},
	{"sglang serve", commandLine("sglang_command", sglangShort)},
	{"Load weight begin.", sglangLoad},
	{"Load weight end.", sglangLoad},
	{"KV Cache is allocated.", sglangPool},
	{"Decode out of memory happened", sglangRetracted},
	{"KV cache pool is full. Retract requests", sglangRetracted},
	{"CUDA_ERROR_OUT_OF_MEMORY (may not be an issue", sglangRetried},
}

var sglangEvidence = evidence{
	program: "sglang",
	words: slices.Concat(
		frames("graph_capture", 7, "srt/model_executor/cuda_graph_runner.py", "in init_cuda_graphs", "in init_device_graphs"),
		frames("kv_cache", 6, "in init_memory_pool", "in profile_max_num_token", "srt/mem_cache/memory_pool.py"),
		frames("load", 5, "srt/model_loader/", "Failed to initialize lk_moe"),
		frames("inference", 3, "in forward_batch_generation", "in run_batch", "in event_loop_normal", "in event_loop_overlap"),
		frames("inference", 2, "in forward_extend", "in forward_decode"),
		steps("load", "Load weight begin"),
		steps("kv_cache", "Load weight end"),
		steps("graph_capture", "Memory pool end", "Capture cuda graph begin"),
		steps("inference", "Capture cuda graph end", "The server is fired up", "Prefill batch", "Decode batch"),
		marks("sglang/srt/", "sgl_jax/srt/", "sglang-jax", outOfMemory),
	),
	process: func(source string) bool {
		return len(source) > 2 && source[:2] == "TP" && source[2] >= '0' && source[2] <= '9'
	},
}

var (
	sglangFraction = pattern(`mem[-_]fraction[-_]static=(?<fraction>NUM)`)
	sglangFloor    = pattern(`raise--mem-fraction-staticabove(?<floor>NUM)`)
)

// sglangStatic reads the refusal at start and, in 2026, the floor it names. A
// negative profiled value is the same in advance.
func sglangStatic(m message) int {
	fraction, floor := m.around(sglangFraction, 20, 140), m.find(sglangFloor, 160)
	if m.follows("profiledvalue", 40) {
		fraction = Match{}
	}
	m.factCount("fraction_floor", floor.Count("floor"))
	return m.fail(Failure{Kind: SGLangStatic, Framework: "sglang", Phase: "kv_cache", Figures: Figures{Utilization: fraction.Count("fraction")}}, max(m.took(fraction), m.took(floor)))
}

var (
	sglangWanted    = pattern(`trytoallocate(?<wanted>INT)tokens`)
	sglangAvailable = pattern(`ava(?:il|li)abletokens:(?<available>INT)`)
	sglangReason    = pattern(`(?:prefill|decode)outofmemory\.`)
)

// sglangTokensOut reads "Decode out of memory. Try to lower your batch size."
// Its figures are tokens of the pool, no bytes.
func sglangTokensOut(m message) int {
	if !m.around(sglangReason, 16, 24).Ok() {
		return m.end
	}
	wanted, available := m.find(sglangWanted, 120), m.find(sglangAvailable, 160)
	m.factCount("tokens_wanted", wanted.Count("wanted"))
	return m.fail(Failure{Kind: SGLangTokens, Framework: "sglang", Phase: "inference", Figures: Figures{KVTokens: available.Count("available")}}, max(m.took(wanted), m.took(available)))
}

var flashInferText = pattern(`failedtoallocatememoryfor[a-z0-9_]{1,60}withsize(?<size>INT)`)

func flashInferWorkspace(m message) int {
	x := m.around(flashInferText, 160, 20)
	if !x.Ok() {
		return m.end
	}
	return m.fail(Failure{Kind: FlashInferWorkspace, Phase: "inference", Figures: Figures{Requested: x.SizeIn("size", "bytes")}}, m.end)
}

var sglangBalance = pattern(`min_per_gpu_memory=(?<least>(?>NUM))[^\]]{0,90}?local_gpu_memory=(?<local>NUM)`)

// sglangUnbalanced reads raw floats in GiB: the smallest free of all cards and
// that of this one.
func sglangUnbalanced(m message) int {
	x := m.find(sglangBalance, 260)
	m.fact("local_free", x.SizeIn("local", "gib"))
	return m.fail(Failure{Kind: SGLangUnbalanced, Framework: "sglang", Phase: "startup_check", Figures: Figures{Free: x.SizeIn("least", "gib")}}, m.took(x))
}

// sglangCapture is appended to any error of the graph capture; what failed
// stands behind it.
func sglangCapture(m message) int {
	if m.precedes("capture", 20) {
		from, to := m.line()
		m.f.fail(m.l, from, to, Failure{Kind: Wrapped, Framework: "sglang", Phase: "graph_capture", Wrapper: true, Echo: true})
	}
	return m.end
}

// sglangShort are SGLang's short and alternative options.
var sglangShort = map[string]string{"--tp": "tp_size", "--dp": "dp_size", "--model": "model_path", "--tensor-parallel-size": "tp_size"}

// sglangMemory are the arguments that bear on memory.
var sglangMemory = []string{
	"mem_fraction_static", "max_running_requests", "max_total_tokens", "chunked_prefill_size", "max_prefill_tokens", "context_length",
	"cpu_offload_gb", "tp_size", "dp_size", "dtype", "kv_cache_dtype", "quantization", "cuda_graph_max_bs", "disable_cuda_graph", "page_size", "speculative_algorithm",
}

// sglangArguments reads the one line with all arguments, defaults resolved.
func sglangArguments(m message) int {
	for _, a := range pythonArguments(m.rest()) {
		switch {
		case a.name == "model_path" && a.simple():
			m.model(a.value)
		case slices.Contains(sglangMemory, a.name) && a.simple():
			m.set(a, true)
		}
	}
	return m.end
}

var (
	sglangFreeText  = pattern(`availmem=(?<free>SIZE)`)
	sglangUsageText = pattern(`memusage=(?<weights>SIZE)`)
)

// sglangLoad reads what is free before and after the weights.
func sglangLoad(m message) int {
	free, weights := m.find(sglangFreeText, 120), m.find(sglangUsageText, 140)
	if m.follows("loadweightbegin", 20) {
		m.fact("initial_free", free.Size("free"))
		return m.took(free)
	}
	m.fact("free", free.Size("free"))
	m.fact("weights", weights.Size("weights"))
	return max(m.took(free), m.took(weights))
}

var sglangPoolText = pattern(`(?:,ksize:(?<k>SIZE),vsize:(?<v>SIZE)|,kvsize:(?<kv>SIZE))`)

// sglangPool reads the size of the KV pool: keys and values, or both in one
// where attention is latent.
func sglangPool(m message) int {
	x := m.find(sglangPoolText, 120)
	pool := x.Size("kv")
	if k, v := x.Size("k"), x.Size("v"); k != nil && v != nil {
		pool = &Size{Bytes: k.Bytes + v.Bytes, Text: k.Text + " + " + v.Text, Line: k.Line}
	}
	m.fact("kv_pool", pool)
	return m.took(x)
}

func sglangRetracted(m message) int {
	m.f.notice(m.l, m.at, "sglang_retracted", "The KV pool was full and SGLang put requests back into the queue: slower, no failure.")
	return m.end
}

func sglangRetried(m message) int {
	m.f.notice(m.l, m.at, "memory_saver_retried", "torch_memory_saver got no memory at once; PyTorch frees its cache and tries again.")
	return m.end
}
