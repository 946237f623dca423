package server

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// SGLang reads SGLang.
var SGLang = text.Parser{
	Name:    "sglang",
	Context: text.StageTexts(sglangEvidence.Words),
	Explains: map[fact.Kind]int{
		fact.SGLangStatic: 4, fact.SGLangState: 4, fact.SGLangTokens: 4, fact.SGLangSlots: 4, fact.FlashInferWorkspace: 3,
		fact.SGLangUnbalanced: 4, fact.SGLangLeak: 3, fact.MemorySaver: 3,
	},
}.Reading(sglangFailures, sglangLines, sglangEvidence.Look)

var sglangFailures = []text.Wording{
	text.On("try to increase --mem-fraction-static", sglangStatic),
	text.On("leave no GPU memory for the KV cache under", sglangStatic),
	text.On("is larger than the profiled value -", sglangStatic),
	text.On("Not enough GPU memory for hybrid state cache", text.Fails(fact.Failure{Kind: fact.SGLangState, Framework: "sglang", Phase: "kv_cache"})),
	text.On("Out of memory even after retracting all", text.Fails(fact.Failure{Kind: fact.SGLangTokens, Framework: "sglang", Phase: "inference"})), text.On("out of memory. Try to lower your batch size", sglangTokensOut), text.On("No space left for only one request", text.Fails(fact.Failure{Kind: fact.SGLangTokens, Framework: "sglang", Phase: "inference"})), text.On("out of memory. This should", sglangTokensOut),
	text.On("alloc_req_slots runs out of memory", text.Fails(fact.Failure{Kind: fact.SGLangSlots, Framework: "sglang", Phase: "inference"})), text.On("Not enough host memory available. Requesting", text.FailsIf(fact.Failure{Kind: fact.PlainHost, Framework: "sglang", Backend: "cpu", Phase: "kv_cache"}, 0, 120, text.NewPattern(`requesting(?<requested>SIZE)butonlyhave(?<free>SIZE)free`))), text.On("Not enough space for mamba", text.FailsWith(fact.Failure{Kind: fact.SGLangState, Framework: "sglang", Stage: "slots"}, 0, 200, text.NewPattern(`mamba_pool\.size=(?<mamba_slots>INT)`))),
	text.On("in AlignedAllocator", text.FailsIf(fact.Failure{Kind: fact.FlashInferWorkspace, Phase: "inference"}, 160, 20,
		text.NewPattern(`memoryfor[a-z0-9_]{1,60}withsize(?<requested_bytes>INT)`))),
	// Raw floats in GiB: the smallest free of all cards.
	text.On("The memory capacity is unbalanced", text.FailsWith(fact.Failure{Kind: fact.SGLangUnbalanced, Framework: "sglang", Phase: "startup_check"},
		0, 260, text.NewPattern(`min_per_gpu_memory=(?<free_gib>NUM)`))),
	text.On("allocator memory leak detected", text.Fails(fact.Failure{Kind: fact.SGLangLeak, Framework: "sglang", Phase: "inference"})),
	text.On("KV cache pool leak detected", text.Notices("sglang_pool_leak", "SGLang warns that its count of cached tokens does not add up; it goes on.")),
	text.On("cudaError error: 2 (out of memory)", text.Fails(fact.Failure{Kind: fact.MemorySaver, Framework: "torch_memory_saver", Backend: "cuda"})),
	// It is appended to any error of the graph capture; what failed stands behind it.
	text.On("cuda graph failed:", text.When(text.Fails(fact.Failure{Kind: fact.Wrapped, Framework: "sglang", Phase: "graph_capture", Wrapper: true, Echo: true}),
		text.Before("capture", 20))),
	text.On("Scheduler hit an exception", text.Echo("sglang")), text.On("Received sigquit from a child process", text.Echo("sglang")),
	text.On("scheduler is dead. Please check", text.Echo("sglang")),
}

var sglangLines = []text.Wording{
	text.On("sglang:v0.", text.SaysVersion("sglang_version", serverRelease)), text.On("sglang: 0.", text.SaysVersion("sglang_version", serverRelease)), text.On("sglang==0.", text.SaysVersion("sglang_version", serverRelease)), text.On("server_args=ServerArgs(", arguments("", only(sglangMemory...))), // all arguments, defaults resolved
	text.On("sglang.launch_server", commandLine("sglang_command", sglangShort)),
	text.On("sglang serve", commandLine("sglang_command", sglangShort)),
	text.On("Load weight begin.", text.States(0, 60, text.NewPattern(`availmem=(?<sglang_before>SIZE)`))), text.On("Load weight end.", text.States(0, 140, text.NewPattern(`availmem=(?<free>SIZE)(?:,memusage=(?<weights>SIZE))?`))),
	text.On("KV Cache is allocated.", sglangPool), text.On("KV Cache allocated.", sglangPool),
	text.On("Decode out of memory happened", sglangRetracted),
	text.On("KV cache pool is full. Retract requests", sglangRetracted),
	text.On("CUDA_ERROR_OUT_OF_MEMORY (may not be an issue", text.Notices("memory_saver_retried",
		"torch_memory_saver got no memory at once; PyTorch frees its cache and tries again.")),
}

var sglangEvidence = text.Evidence{
	Program: "sglang",
	Words: slices.Concat(
		text.Frames("graph_capture", 7, "srt/model_executor/cuda_graph_runner.py", "in init_cuda_graphs", "in init_device_graphs"),
		text.Frames("kv_cache", 6, "in init_memory_pool", "in profile_max_num_token", "srt/mem_cache/memory_pool.py"),
		text.Frames("load", 5, "srt/model_loader/", "in make_layers", "make_layers(", "in load_model", "self.load_model()", "Failed to initialize lk_moe"), text.Marks("Load weight begin. avail mem=", "Memory pool end. avail mem=", "Capture piecewise CUDA graph begin", "KV Cache is allocated. #tokens:", "Child process unexpectedly failed with"),
		text.Frames("inference", 3, "in forward_batch_generation", "in run_batch", "in event_loop_normal", "in event_loop_overlap"),
		text.Frames("inference", 2, "in forward_extend", "in forward_decode", "in forward_fill_batch", "in forward_prefill_batch", "in forward_decode_batch", "in exposed_step"),
		text.Steps("load", "Load weight begin"),
		text.Steps("kv_cache", "Load weight end"),
		text.Steps("graph_capture", "Memory pool end", "Capture cuda graph begin", "Capture piecewise CUDA graph begin"),
		text.Steps("inference", "Capture cuda graph end", "The server is fired up", "Prefill batch", "Decode batch"),
		text.Marks("sglang/srt/", "sgl_jax/srt/", "sglang-jax", text.OutOfMemory),
	),
	Process: func(source string) bool {
		return len(source) > 2 && source[:2] == "TP" && source[2] >= '0' && source[2] <= '9'
	},
}

var (
	sglangFraction = text.NewPattern(`mem[-_]fraction[-_]static=(?<utilization>NUM)`)
	sglangFloor    = text.NewPattern(`raise--mem-fraction-staticabove(?<fraction_floor>NUM)`)
)

// sglangStatic reads the refusal at start and, in 2026, the floor it names. A
// negative profiled value is the same in advance.
func sglangStatic(m text.Message) int {
	x := fact.Failure{Kind: fact.SGLangStatic, Framework: "sglang", Phase: "kv_cache"}
	if m.Follows("profiledvalue", 40) {
		return m.FailWith(x, m.Find(sglangFloor, 160))
	}
	return m.FailWith(x, m.Around(sglangFraction, 20, 140), m.Find(sglangFloor, 160))
}

var (
	sglangWanted    = text.NewPattern(`trytoallocate(?<tokens_wanted>INT)tokens`)
	sglangAvailable = text.NewPattern(`ava(?:il|li)abletokens:(?<kv_tokens>INT)`)
	sglangReason    = text.NewPattern(`(?:prefill|decode)outofmemory\.`)
)

// sglangTokensOut reads "Decode out of memory. Try to lower your batch size.", and
// "Prefill out of memory. This should nerver happen." of 0.1.
// Its figures are tokens of the pool, no bytes.
func sglangTokensOut(m text.Message) int {
	if !m.Around(sglangReason, 16, 24).Ok() {
		return m.End
	}
	return m.FailWith(fact.Failure{Kind: fact.SGLangTokens, Framework: "sglang", Phase: "inference"}, m.Find(sglangWanted, 120), m.Find(sglangAvailable, 160))
}

// sglangShort are SGLang's short and alternative options.
var sglangShort = map[string]string{"--tp": "tp_size", "--dp": "dp_size", "--model": "model_path", "--tensor-parallel-size": "tp_size"}

// sglangMemory are the arguments that bear on memory.
var sglangMemory = []string{
	"mem_fraction_static", "max_running_requests", "max_total_tokens", "chunked_prefill_size", "max_prefill_tokens", "context_length",
	"cpu_offload_gb", "tp_size", "dp_size", "dtype", "kv_cache_dtype", "quantization", "cuda_graph_max_bs", "disable_cuda_graph", "page_size", "speculative_algorithm", "max_loras_per_batch", "hicache_ratio", "hicache_size", "max_mamba_cache_size",
}

var sglangPoolText = text.NewPattern(`(?:,ksize:(?<k>SIZE),vsize:(?<v>SIZE)|,kvsize:(?<kv>SIZE))`)

// sglangPool reads the size of the KV pool: keys and values, or both in one
// where attention is latent.
func sglangPool(m text.Message) int {
	x := m.Find(sglangPoolText, 120)
	pool := x.Size("kv")
	if k, v := x.Size("k"), x.Size("v"); k != nil && v != nil {
		pool = &fact.Size{Bytes: k.Bytes + v.Bytes, Text: k.Text + " + " + v.Text, Line: k.Line}
	}
	m.Fact("kv_pool", pool)
	return m.Took(x)
}

var sglangRetracted = text.Notices("sglang_retracted", "The KV pool was full and SGLang put requests back into the queue, to compute them again: slower, no failure. Once in a while that is usual. If it comes often: `--schedule-conservativeness 1.3` (1.0 is the default) or a lower `--max-running-requests` admits fewer at a time; a higher `--mem-fraction-static` (0.02 more) makes the pool larger, where `available_gpu_mem` in the start lines is above 8 GB. A smaller model or ending other programs is not needed.")
