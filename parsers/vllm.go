package parsers

import (
	"slices"
	"strings"
)

// What vLLM's own checks say. Units are powers of 1024 also where it prints
// "GB"; a blank before the unit is not reliable.
const (
	// VLLMNoCache: nothing of the share is left for the KV cache
	// (vllm/worker/worker.py to 0.10, vllm/v1/core/kv_cache_utils.py since 0.8),
	// and its sister of --max-model-len auto (0.12 and later).
	VLLMNoCache Kind = "vllm_no_cache"
	// VLLMTokens: the cache holds fewer tokens than max_model_len (V0, 0.2.6 to
	// 0.10; Aphrodite).
	VLLMTokens Kind = "vllm_tokens"
	// VLLMCacheTooSmall: one request of max_model_len needs more cache than
	// there is (V1, 0.7 and later; with the longest length that fits since 0.8.4).
	VLLMCacheTooSmall Kind = "vllm_cache_too_small"
	// VLLMFreeTooLow: less is free at start than the share asks for
	// (vllm/v1/worker/gpu_worker.py since 0.9.1, utils.py in 2026).
	VLLMFreeTooLow Kind = "vllm_free_too_low"
	// VLLMProfileMoved: free memory grew while vLLM measured itself.
	VLLMProfileMoved Kind = "vllm_profile_moved"
	// VLLMWarmup: the sampler or pooler ran out with max_num_seqs dummies
	// (vllm/v1/worker/gpu_model_runner.py since 0.8).
	VLLMWarmup Kind = "vllm_warmup"
	// VLLMLoad: the weights did not fit (gpu_model_runner.py since 0.13,
	// vllm/model_executor/layers/linear.py in 0.11).
	VLLMLoad Kind = "vllm_load"
	// VLLMMamba: fewer state blocks than max_num_seqs on hybrid models
	// (vllm/config/compilation.py, 2026).
	VLLMMamba Kind = "vllm_mamba"
	// VLLMSwapTooLarge: swap_space is over 70 % of RAM (vllm/config.py, cache.py).
	VLLMSwapTooLarge Kind = "vllm_swap_too_large"
	// VLLMSwapFull: vLLM's own swap pool is full (vllm/core/scheduler.py, V0).
	VLLMSwapFull Kind = "vllm_swap_full"
	// VLLMKilled: the engine process ended by signal 9.
	VLLMKilled Kind = "vllm_killed"
)

var vllm = Parser{
	Name:     "vllm",
	Keywords: literals(vllmFailures),
	Context:  slices.Concat(literals(vllmLines), literals(vllmArguments), stageTexts(vllmEvidence.words)),
	Explains: map[Kind]int{
		VLLMNoCache: 4, VLLMTokens: 4, VLLMCacheTooSmall: 5, VLLMFreeTooLow: 4, VLLMProfileMoved: 4,
		VLLMWarmup: 4, VLLMLoad: 3, VLLMMamba: 5, VLLMSwapTooLarge: 4, VLLMSwapFull: 4, VLLMKilled: 3,
	},
	Parse: parseVLLM,
}

func parseVLLM(l *Log, hits []Hit, f *Facts) {
	list := slices.Concat(vllmFailures, vllmLines, vllmArguments)
	worded, others := splitHits(hits, len(list))
	before := len(f.Failures)
	parseWordings(list, l, worded, f)
	vllmEvidence.look(l, others, f)
	if len(f.Failures) == before {
		return
	}
	backend := vllmBackend(l)
	for i := range f.Failures[before:] {
		if x := &f.Failures[before+i]; x.Backend == "" {
			x.Backend = backend
		}
	}
}

var vllmFailures = []wording{
	{"No available memory for the cache blocks", vllmNoCache},
	{"Cannot auto-fit max_model_len", fails(Failure{Kind: VLLMNoCache, Framework: "vllm", Phase: "kv_cache"})},
	{"that can be stored in KV cache", vllmTokens},
	{"To serve at least one request with", vllmCacheTooSmall},
	{"KV cache is needed", vllmCacheTooSmall},
	{"on startup is less than desired", vllmFreeTooLow},
	{"Error in memory profiling", vllmProfileMoved},
	{"when warming up sampler with", vllmWarmup},
	{"when warming up pooler", vllmWarmup},
	{"Failed to load model - not enough GPU memory", fails(Failure{Kind: VLLMLoad, Framework: "vllm", Phase: "load"})},
	{"Failed to create unquantized linear weights", fails(Failure{Kind: VLLMLoad, Framework: "vllm", Phase: "load"})},
	{"available Mamba cache blocks", vllmMamba},
	{"assert num_cache_lines >= batch", fails(Failure{Kind: VLLMMamba, Framework: "vllm", Phase: "graph_capture"})},
	{"Too large swap space", vllmSwap},
	{"lack of CPU swap space", fails(Failure{Kind: VLLMSwapFull, Framework: "vllm", Phase: "inference"})},
	{"Engine core initialization failed", vllmEngineFailed},
	{"EngineCore failed to start", echo("vllm")},
	{"EngineCore hit an exception", echo("vllm")},
	{"EngineCore encountered a", echo("vllm")},
	{"Worker failed with error", echo("vllm")},
	{"WorkerProc hit an exception", echo("vllm")},
	{"WorkerProc failed to start", echo("vllm")},
	{"WorkerProc initialization failed", echo("vllm")},
	{"Background loop has errored already", echo("vllm")},
	{"Background loop is stopped", echo("vllm")},
	{"Got fatal signal from worker processes", echo("vllm")},
	{"died unexpectedly, shutting down", echo("vllm")},
}

// vllmEngineFailed reads "Failed core proc(s): {'EngineCore_DP0': -9}": signal
// 9 is what the kernel's out-of-memory killer sends, 1 an exception above.
func vllmEngineFailed(m message) int {
	if !m.find(vllmSignal9, 160).Ok() {
		return echo("vllm")(m)
	}
	return m.fail(Failure{Kind: VLLMKilled, Framework: "vllm", Backend: "cpu"}, m.end)
}

var vllmSignal9 = pattern(`failedcoreproc\(s\):\{[^}]{0,80}:-9\b`)

// quotedSource reports that the literal stands in a source line of a traceback
// (Python 3.13 prints the whole statement) and that the message itself follows.
func (m message) quotedSource() bool {
	return m.precedes(`raisevalueerror(`, 24) && strings.Count(m.l.Squeezed()[m.at:min(m.at+700, len(m.l.Squeezed()))], m.l.Squeezed()[m.at:m.end]) > 1
}

func vllmNoCache(m message) int {
	if m.quotedSource() {
		return m.end
	}
	return m.fail(Failure{Kind: VLLMNoCache, Framework: "vllm", Phase: "kv_cache"}, m.end)
}

var (
	vllmTokensText = pattern(`max(?:imum)?_?(?:seq|model)_?len(?:gth)?\((?<length>INT)\)islargerthanthemaximumnumberoftokensthatcanbestoredin(?:the)?kvcache(?:\((?<tokens>INT)\))?`)
	vllmLength     = pattern(`maxseqlen\((?<length>INT)\)`)
	vllmNeeded     = pattern(`(?<needed>SIZE)kvcacheisneeded`)
	vllmAvailable  = pattern(`availablekvcachememory\((?<available>SIZE)\)`)
	vllmEstimate   = pattern(`estimatedmaximummodellengthis(?<tokens>INT)`)
)

// vllmTokens reads "The model's max seq len (N) is larger than the maximum
// number of tokens that can be stored in KV cache (M)".
func vllmTokens(m message) int {
	x := m.around(vllmTokensText, 120, 80)
	if !x.Ok() && m.precedes("islargerthanthemaximumnumberoftokens{", 60) {
		return m.end
	}
	g := Figures{MaxModelLen: x.Count("length"), KVTokens: x.Count("tokens")}
	if g.Empty() && m.quoted() {
		return m.end
	}
	return m.fail(Failure{Kind: VLLMTokens, Framework: "vllm", Phase: "kv_cache", Figures: g}, m.took(x))
}

// quoted reports that the literal is source text of a traceback: an f-string
// with its fields unfilled, or the start of a string that goes on elsewhere.
func (m message) quoted() bool {
	return m.precedes(`f"`, 80) || m.precedes(`("`, 60) || m.follows(`f"`, 120)
}

// vllmCacheTooSmall reads the V1 sentence clause by clause, for pastes cut at
// either end.
func vllmCacheTooSmall(m message) int {
	needed := m.find(vllmNeeded, 200)
	if !needed.Ok() {
		needed = m.around(vllmNeeded, 24, 40)
	}
	available := m.find(vllmAvailable, 320)
	estimate := m.find(vllmEstimate, 460)
	g := Figures{
		MaxModelLen: m.around(vllmLength, 24, 120).Count("length"), KVNeeded: needed.Size("needed"),
		KVAvailable: available.Size("available"), EstMaxModelLen: estimate.Count("tokens"),
	}
	if g.Empty() && m.quoted() {
		return m.end
	}
	return m.fail(Failure{Kind: VLLMCacheTooSmall, Framework: "vllm", Phase: "kv_cache", Figures: g}, max(m.took(needed), m.took(available), m.took(estimate)))
}

// The free figure shares the total's unit: "(31.44/47.38 GiB)". 2026 adds the
// device.
var vllmFreeText = pattern(`freememoryondevice(?:(?:cuda|xpu|hip|rocm|npu):(?<device>\d{1,2}))?\((?<free>NUM)/(?<total>SIZE)\)onstartupislessthandesiredgpumemoryutilization(?:\((?<utilization>NUM),(?<desired>SIZE)\))?`)

func vllmFreeTooLow(m message) int {
	x := m.around(vllmFreeText, 70, 110)
	g := Figures{
		Device: x.Count("device"), Free: x.SizeIn("free", "gib"), Total: x.Size("total"),
		Utilization: x.Count("utilization"), Desired: x.Size("desired"),
	}
	if g.Empty() && m.quoted() {
		return m.end
	}
	return m.fail(Failure{Kind: VLLMFreeTooLow, Framework: "vllm", Phase: "startup_check", Backend: m.deviceBackend(), Figures: g}, m.took(x))
}

func (m message) deviceBackend() string {
	switch {
	case m.precedes("devicecuda:", 60):
		return "cuda"
	case m.precedes("devicexpu:", 60):
		return "xpu"
	}
	return ""
}

// V0 prints plain bytes, V1 GiB; the first figure goes to a fact.
var vllmProfileText = pattern(`initialfreememory(?<initial>BYTES),currentfreememory(?<current>BYTES)`)

func vllmProfileMoved(m message) int {
	x := m.find(vllmProfileText, 140)
	if !x.Ok() && m.quoted() {
		return m.end
	}
	m.fact("initial_free", x.Size("initial"))
	return m.fail(Failure{Kind: VLLMProfileMoved, Framework: "vllm", Phase: "startup_check", Figures: Figures{Free: x.Size("current")}}, m.took(x))
}

var vllmDummies = pattern(`with(?<seqs>INT)dummyrequests`)

// vllmWarmup reads the number of dummy requests, which is max_num_seqs exactly.
// The wording says CUDA on every platform.
func vllmWarmup(m message) int {
	x := m.find(vllmDummies, 90)
	if !x.Ok() && m.quoted() {
		return m.end
	}
	m.exactly("max_num_seqs", x.Lower("seqs"))
	return m.fail(Failure{Kind: VLLMWarmup, Framework: "vllm", Phase: "warmup"}, m.took(x))
}

var vllmMambaText = pattern(`max_num_seqs\((?<seqs>INT)\)exceedsavailablemambacacheblocks\((?<blocks>INT)\)`)

func vllmMamba(m message) int {
	x := m.around(vllmMambaText, 60, 60)
	if !x.Ok() && m.quoted() {
		return m.end
	}
	m.exactly("max_num_seqs", x.Lower("seqs"))
	if blocks := x.Count("blocks"); blocks != nil {
		m.f.Facts = append(m.f.Facts, Fact{Name: "mamba_blocks", Count: blocks, Text: m.l.LineText(m.at), Line: blocks.Line})
	}
	return m.fail(Failure{Kind: VLLMMamba, Framework: "vllm", Phase: "graph_capture"}, m.took(x))
}

// exactly notes a setting that a message gives away.
func (m message) exactly(name, value string) {
	if value != "" {
		m.f.Settings = append(m.f.Settings, Setting{Name: name, Value: strings.ReplaceAll(value, ",", ""), Line: m.l.Line(m.at), Default: true})
	}
}

var vllmSwapText = pattern(`toolargeswapspace\.?(?<asked>SIZE)outofthe(?<ram>SIZE)`)

// vllmSwap tells the refusal (over 70 % of RAM) from the warning (over 40 %).
func vllmSwap(m message) int {
	x := m.find(vllmSwapText, 90)
	if m.precedes("possibly", 8) {
		m.f.notice(m.l, m.at, "swap_space", "vLLM warns that swap_space is a large part of the RAM; it goes on.")
		return m.took(x)
	}
	if !x.Ok() {
		return m.end
	}
	return m.fail(Failure{Kind: VLLMSwapTooLarge, Framework: "vllm", Backend: "cpu", Phase: "startup_check", Figures: Figures{SystemRequired: x.Size("asked"), SystemAvailable: x.Size("ram")}}, m.took(x))
}

// notice adds a failure that was none.
func (f *Facts) notice(l *Log, at int, id, title string) {
	f.Notices = append(f.Notices, Notice{ID: id, Line: l.Line(at), Text: l.LineText(at), Title: title})
}
