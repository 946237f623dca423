// Package server reads servers of language models: vLLM, SGLang, TGI,
// TensorRT-LLM, LMDeploy, MLC LLM and Ray.
package server

import (
	"slices"
	"strings"
	"sync"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// VLLM reads vLLM and its forks.
var VLLM = text.Parser{
	Name:    "vllm",
	Context: text.StageTexts(vllmEvidence.Words),
	Explains: map[fact.Kind]int{
		fact.VLLMNoCache: 4, fact.VLLMTokens: 4, fact.VLLMCacheTooSmall: 5, fact.VLLMFreeTooLow: 4, fact.VLLMProfileMoved: 4,
		fact.VLLMWarmup: 4, fact.VLLMLoad: 3, fact.VLLMMamba: 5, fact.VLLMSwapTooLarge: 4, fact.VLLMSwapFull: 4, fact.VLLMKilled: 3,
	},
}.Reading(vllmFailures, slices.Concat(vllmLines, vllmArguments), func(l *text.Log, others []text.Hit, f *fact.Facts) {
	vllmEvidence.Look(l, others, f)
	vllmRanks(l, f)
	backend := sync.OnceValue(func() string { return vllmBackend(l) })
	for i := range f.Failures {
		if x := &f.Failures[i]; x.Framework == "vllm" && x.Backend == "" {
			x.Backend = backend()
		}
	}
})

var vllmFailures = slices.Concat(
	[]text.Wording{
		text.On("No available memory for the cache blocks", vllmFails(fact.VLLMNoCache, "kv_cache", 0, 0, nil)),
		text.On("not enough Metal memory for KV cache", vllmMetal), text.On("Paged attention: computed num_blocks too low", vllmMetal),
		text.On("Cannot auto-fit max_model_len", text.Fails(fact.Failure{Kind: fact.VLLMNoCache, Framework: "vllm", Phase: "kv_cache"})),
		// "The model's max seq len (N) is larger than the maximum number of tokens
		// that can be stored in KV cache (M)".
		text.On("that can be stored in KV cache", vllmFails(fact.VLLMTokens, "kv_cache", 120, 80, text.NewPattern(`max(?:imum)?_?(?:seq|model)_?len(?:gth)?\((?<max_model_len>INT)\)islargerthanthemaximumnumberoftokens`+
			`thatcanbestoredin(?:the)?kvcache(?:\((?<kv_tokens>INT)\))?`))),
		text.On("To serve at least one request with", vllmCacheTooSmall), text.On("KV cache is needed", vllmCacheTooSmall),
		// The free figure shares the total's unit: "(31.44/47.38 GiB)". 2026 adds the
		// device.
		text.On("on startup is less than desired", vllmFails(fact.VLLMFreeTooLow, "startup_check", 70, 110, text.NewPattern(`freememoryondevice(?:(?:cuda|xpu|hip|rocm|npu):(?<device>\d{1,2}))?\((?<free_gib>NUM)/(?<total>SIZE)\)`+
			`onstartupislessthandesiredgpumemoryutilization(?:\((?<utilization>NUM),(?<desired>SIZE)\))?`))),
		// V0 prints plain bytes, V1 GiB.
		text.On("Error in memory profiling", vllmFails(fact.VLLMProfileMoved, "startup_check", 0, 140, text.NewPattern(`initialfreememory(?:(?<initial_free>SIZE)|BYTES),currentfreememory(?:(?<free>SIZE)|(?<free_bytes>INT))`))),
		text.On("when warming up sampler with", vllmWarmup), text.On("when warming up pooler", vllmWarmup),
		text.On("Failed to load model - not enough GPU memory", text.Fails(fact.Failure{Kind: fact.VLLMLoad, Framework: "vllm", Phase: "load"})), text.On("Failed to create unquantized linear weights", text.Fails(fact.Failure{Kind: fact.VLLMLoad, Framework: "vllm", Phase: "load"})),
		text.On("available Mamba cache blocks", vllmFails(fact.VLLMMamba, "graph_capture", 60, 60, text.NewPattern(`max_num_seqs\((?<is_max_num_seqs>INT)\)exceedsavailablemambacacheblocks\((?<mamba_blocks>INT)\)`))),
		text.On("because no memory is available", text.When(text.Fails(fact.Failure{Kind: fact.PlainHost, Framework: "vllm", Backend: "cpu", Stage: "lmcache"}), text.Beside("lmcache"))), text.On("assert num_cache_lines >= batch", text.Fails(fact.Failure{Kind: fact.VLLMMamba, Framework: "vllm", Phase: "graph_capture"})),
		text.On("Too large swap space", vllmSwap), text.On("lack of CPU swap space", text.Fails(fact.Failure{Kind: fact.VLLMSwapFull, Framework: "vllm", Phase: "inference"})),
		text.On("Engine core initialization failed", vllmEngineFailed),
	},
	text.OnAny(text.Echo("vllm"), "EngineCore failed to start", "EngineCore hit an exception", "EngineCore encountered a",
		"Worker failed with error", "WorkerProc hit an exception", "WorkerProc failed to start", "WorkerProc initialization failed",
		"Background loop has errored already", "Background loop is stopped", "Got fatal signal from worker processes",
		"died unexpectedly, shutting down"),
)

// vllmFails makes the reader of a refusal whose figures a pattern finds, if it
// has any. A source line of a traceback is none.
func vllmFails(kind fact.Kind, phase string, before, after int, p *text.Pattern) func(text.Message) int {
	return func(m text.Message) int {
		var k text.Match
		if p != nil {
			k = m.Around(p, before, after)
		}
		if !k.Ok() && quoted(m) {
			return m.End
		}
		return m.FailWith(fact.Failure{Kind: kind, Framework: "vllm", Phase: phase}, k)
	}
}

var vllmMetalPlan = text.NewPattern(`metal_limit=(?<limit>SIZE),fraction=(?<utilization>NUM),usable_metal=(?<usable>SIZE),model_memory=(?<weights>SIZE),overhead=(?<overhead>SIZE)(?:.{0,200}?,kv_budget=(?<left>SIZE))?`)

func vllmMetal(m text.Message) int { // its GB are powers of 1000
	k := m.Find(vllmMetalPlan, 500)
	f, size := fact.Figures{Utilization: k.Count("utilization")}, func(name string) *fact.Size { return m.Log.Decimal(k, name) }
	f.Total, f.Limit, f.Weights, f.ActivationPeak, f.KVAvailable = size("limit"), size("usable"), size("weights"), size("overhead"), size("left")
	return m.Fail(fact.Failure{Kind: fact.VLLMNoCache, Framework: "vllm", Backend: "metal", Phase: "kv_cache", Figures: f}, m.Took(k))
}

// quoted reports that the literal stands in a source line of a traceback
// (Python 3.13 prints the whole statement) and that the message itself follows.
func quoted(m text.Message) bool {
	s := m.Log.Squeezed()
	return (m.Precedes(`("`, 60) || m.Precedes(`f"`, 80)) && strings.Contains(s[m.End:min(m.End+700, len(s))], s[m.At:m.End])
}

// vllmWarmup reads the number of dummy requests, which is max_num_seqs exactly.
// The wording says CUDA on every platform.
var vllmWarmup = vllmFails(fact.VLLMWarmup, "warmup", 0, 90, text.NewPattern(`with(?<is_max_num_seqs>INT)dummyrequests`))

// vllmEngineFailed reads "Failed core proc(s): {'EngineCore_DP0': -9}": signal
// 9 is what the kernel's out-of-memory killer sends, 1 an exception above.
func vllmEngineFailed(m text.Message) int {
	if m.Find(vllmSignal9, 160).Ok() {
		return m.Fail(fact.Failure{Kind: fact.VLLMKilled, Framework: "vllm", Backend: "cpu"}, m.End)
	}
	return text.Echo("vllm")(m)
}

var (
	vllmSignal9   = text.NewPattern(`failedcoreproc\(s\):\{[^}]{0,80}:-9\b`)
	vllmLength    = text.NewPattern(`maxseqlen\((?<max_model_len>INT)\)`)
	vllmNeeded    = text.NewPattern(`(?<kv_needed>SIZE)kvcacheisneeded`)
	vllmAvailable = text.NewPattern(`availablekvcachememory\((?<kv_available>SIZE)\)`)
	vllmEstimate  = text.NewPattern(`estimatedmaximummodellengthis(?<est_max_model_len>INT)`)
)

// vllmCacheTooSmall reads the V1 sentence clause by clause, for pastes cut at
// either end.
func vllmCacheTooSmall(m text.Message) int {
	length, needed := m.Around(vllmLength, 24, 120), m.Around(vllmNeeded, 24, 200)
	available, estimate := m.Find(vllmAvailable, 320), m.Find(vllmEstimate, 460)
	if !length.Ok() && !needed.Ok() && !available.Ok() && !estimate.Ok() && quoted(m) {
		return m.End
	}
	return m.FailWith(fact.Failure{Kind: fact.VLLMCacheTooSmall, Framework: "vllm", Phase: "kv_cache"}, length, needed, available, estimate)
}

var vllmSwapText = text.NewPattern(`toolargeswapspace\.?(?<system_required>SIZE)outofthe(?<system_available>SIZE)`)

// vllmSwap tells the refusal (over 70 % of RAM) from the warning (over 40 %).
func vllmSwap(m text.Message) int {
	if m.Precedes("possibly", 8) {
		m.Notice(fact.Notice{ID: "swap_space", Title: "vLLM warns that swap_space is a large part of the RAM; it goes on."})
		return m.End
	}
	return text.FailsIf(fact.Failure{Kind: fact.VLLMSwapTooLarge, Framework: "vllm", Backend: "cpu", Phase: "startup_check"}, 0, 90, vllmSwapText)(m)
}
