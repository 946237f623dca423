// Package server reads servers of language models: vLLM, SGLang, TGI,
// TensorRT-LLM, LMDeploy, MLC LLM and Ray.
package server

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// VLLM reads vLLM and its forks.
var VLLM = text.Parser{
	Name:     "vllm",
	Keywords: text.Literals(vllmFailures),
	Context:  slices.Concat(text.Literals(vllmLines), text.Literals(vllmArguments), text.StageTexts(vllmEvidence.Words)),
	Explains: map[fact.Kind]int{
		fact.VLLMNoCache: 4, fact.VLLMTokens: 4, fact.VLLMCacheTooSmall: 5, fact.VLLMFreeTooLow: 4, fact.VLLMProfileMoved: 4,
		fact.VLLMWarmup: 4, fact.VLLMLoad: 3, fact.VLLMMamba: 5, fact.VLLMSwapTooLarge: 4, fact.VLLMSwapFull: 4, fact.VLLMKilled: 3,
	},
	Parse: parseVLLM,
}

func parseVLLM(l *text.Log, hits []text.Hit, f *fact.Facts) {
	list := slices.Concat(vllmFailures, vllmLines, vllmArguments)
	worded, others := text.SplitHits(hits, len(list))
	before := len(f.Failures)
	text.ParseWordings(list, l, worded, f)
	vllmEvidence.Look(l, others, f)
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

var vllmFailures = []text.Wording{
	text.On("No available memory for the cache blocks", vllmNoCache),
	text.On("Cannot auto-fit max_model_len", text.Fails(fact.Failure{Kind: fact.VLLMNoCache, Framework: "vllm", Phase: "kv_cache"})),
	text.On("that can be stored in KV cache", vllmTokens),
	text.On("To serve at least one request with", vllmCacheTooSmall),
	text.On("KV cache is needed", vllmCacheTooSmall),
	text.On("on startup is less than desired", vllmFreeTooLow),
	text.On("Error in memory profiling", vllmProfileMoved),
	text.On("when warming up sampler with", vllmWarmup),
	text.On("when warming up pooler", vllmWarmup),
	text.On("Failed to load model - not enough GPU memory", text.Fails(fact.Failure{Kind: fact.VLLMLoad, Framework: "vllm", Phase: "load"})),
	text.On("Failed to create unquantized linear weights", text.Fails(fact.Failure{Kind: fact.VLLMLoad, Framework: "vllm", Phase: "load"})),
	text.On("available Mamba cache blocks", vllmMamba),
	text.On("assert num_cache_lines >= batch", text.Fails(fact.Failure{Kind: fact.VLLMMamba, Framework: "vllm", Phase: "graph_capture"})),
	text.On("Too large swap space", vllmSwap),
	text.On("lack of CPU swap space", text.Fails(fact.Failure{Kind: fact.VLLMSwapFull, Framework: "vllm", Phase: "inference"})),
	text.On("Engine core initialization failed", vllmEngineFailed),
	text.On("EngineCore failed to start", text.Echo("vllm")),
	text.On("EngineCore hit an exception", text.Echo("vllm")),
	text.On("EngineCore encountered a", text.Echo("vllm")),
	text.On("Worker failed with error", text.Echo("vllm")),
	text.On("WorkerProc hit an exception", text.Echo("vllm")),
	text.On("WorkerProc failed to start", text.Echo("vllm")),
	text.On("WorkerProc initialization failed", text.Echo("vllm")),
	text.On("Background loop has errored already", text.Echo("vllm")),
	text.On("Background loop is stopped", text.Echo("vllm")),
	text.On("Got fatal signal from worker processes", text.Echo("vllm")),
	text.On("died unexpectedly, shutting down", text.Echo("vllm")),
}

// vllmEngineFailed reads "Failed core proc(s): {'EngineCore_DP0': -9}": signal
// 9 is what the kernel's out-of-memory killer sends, 1 an exception above.
func vllmEngineFailed(m text.Message) int {
	if !m.Find(vllmSignal9, 160).Ok() {
		return text.Echo("vllm")(m)
	}
	return m.Fail(fact.Failure{Kind: fact.VLLMKilled, Framework: "vllm", Backend: "cpu"}, m.End)
}

var vllmSignal9 = text.NewPattern(`failedcoreproc\(s\):\{[^}]{0,80}:-9\b`)

// quotedSource reports that the literal stands in a source line of a traceback
// (Python 3.13 prints the whole statement) and that the message itself follows.
func quotedSource(m text.Message) bool {
	return m.Precedes(`raisevalueerror(`, 24) && strings.Count(m.Log.Squeezed()[m.At:min(m.At+700, len(m.Log.Squeezed()))], m.Log.Squeezed()[m.At:m.End]) > 1
}

func vllmNoCache(m text.Message) int {
	if quotedSource(m) {
		return m.End
	}
	return m.Fail(fact.Failure{Kind: fact.VLLMNoCache, Framework: "vllm", Phase: "kv_cache"}, m.End)
}

var (
	vllmTokensText = text.NewPattern(`max(?:imum)?_?(?:seq|model)_?len(?:gth)?\((?<length>INT)\)islargerthanthemaximumnumberoftokensthatcanbestoredin(?:the)?kvcache(?:\((?<tokens>INT)\))?`)
	vllmLength     = text.NewPattern(`maxseqlen\((?<length>INT)\)`)
	vllmNeeded     = text.NewPattern(`(?<needed>SIZE)kvcacheisneeded`)
	vllmAvailable  = text.NewPattern(`availablekvcachememory\((?<available>SIZE)\)`)
	vllmEstimate   = text.NewPattern(`estimatedmaximummodellengthis(?<tokens>INT)`)
)

// vllmTokens reads "The model's max seq len (N) is larger than the maximum
// number of tokens that can be stored in KV cache (M)".
func vllmTokens(m text.Message) int {
	x := m.Around(vllmTokensText, 120, 80)
	if !x.Ok() && m.Precedes("islargerthanthemaximumnumberoftokens{", 60) {
		return m.End
	}
	g := fact.Figures{MaxModelLen: x.Count("length"), KVTokens: x.Count("tokens")}
	if g.Empty() && quoted(m) {
		return m.End
	}
	return m.Fail(fact.Failure{Kind: fact.VLLMTokens, Framework: "vllm", Phase: "kv_cache", Figures: g}, m.Took(x))
}

// quoted reports that the literal is source text of a traceback: an f-string
// with its fields unfilled, or the start of a string that goes on elsewhere.
func quoted(m text.Message) bool {
	return m.Precedes(`f"`, 80) || m.Precedes(`("`, 60) || m.Follows(`f"`, 120)
}

// vllmCacheTooSmall reads the V1 sentence clause by clause, for pastes cut at
// either end.
func vllmCacheTooSmall(m text.Message) int {
	needed := m.Find(vllmNeeded, 200)
	if !needed.Ok() {
		needed = m.Around(vllmNeeded, 24, 40)
	}
	available := m.Find(vllmAvailable, 320)
	estimate := m.Find(vllmEstimate, 460)
	g := fact.Figures{
		MaxModelLen: m.Around(vllmLength, 24, 120).Count("length"), KVNeeded: needed.Size("needed"),
		KVAvailable: available.Size("available"), EstMaxModelLen: estimate.Count("tokens"),
	}
	if g.Empty() && quoted(m) {
		return m.End
	}
	return m.Fail(fact.Failure{Kind: fact.VLLMCacheTooSmall, Framework: "vllm", Phase: "kv_cache", Figures: g}, max(m.Took(needed), m.Took(available), m.Took(estimate)))
}

// The free figure shares the total's unit: "(31.44/47.38 GiB)". 2026 adds the
// device.
var vllmFreeText = text.NewPattern(`freememoryondevice(?:(?:cuda|xpu|hip|rocm|npu):(?<device>\d{1,2}))?\((?<free>NUM)/(?<total>SIZE)\)onstartupislessthandesiredgpumemoryutilization(?:\((?<utilization>NUM),(?<desired>SIZE)\))?`)

func vllmFreeTooLow(m text.Message) int {
	x := m.Around(vllmFreeText, 70, 110)
	g := fact.Figures{
		Device: x.Count("device"), Free: x.SizeIn("free", "gib"), Total: x.Size("total"),
		Utilization: x.Count("utilization"), Desired: x.Size("desired"),
	}
	if g.Empty() && quoted(m) {
		return m.End
	}
	return m.Fail(fact.Failure{Kind: fact.VLLMFreeTooLow, Framework: "vllm", Phase: "startup_check", Backend: deviceBackend(m), Figures: g}, m.Took(x))
}

func deviceBackend(m text.Message) string {
	switch {
	case m.Precedes("devicecuda:", 60):
		return "cuda"
	case m.Precedes("devicexpu:", 60):
		return "xpu"
	}
	return ""
}

// V0 prints plain bytes, V1 GiB; the first figure goes to a fact.
var vllmProfileText = text.NewPattern(`initialfreememory(?<initial>BYTES),currentfreememory(?<current>BYTES)`)

func vllmProfileMoved(m text.Message) int {
	x := m.Find(vllmProfileText, 140)
	if !x.Ok() && quoted(m) {
		return m.End
	}
	m.Fact("initial_free", x.Size("initial"))
	return m.Fail(fact.Failure{Kind: fact.VLLMProfileMoved, Framework: "vllm", Phase: "startup_check", Figures: fact.Figures{Free: x.Size("current")}}, m.Took(x))
}

var vllmDummies = text.NewPattern(`with(?<seqs>INT)dummyrequests`)

// vllmWarmup reads the number of dummy requests, which is max_num_seqs exactly.
// The wording says CUDA on every platform.
func vllmWarmup(m text.Message) int {
	x := m.Find(vllmDummies, 90)
	if !x.Ok() && quoted(m) {
		return m.End
	}
	exactly(m, "max_num_seqs", x.Lower("seqs"))
	return m.Fail(fact.Failure{Kind: fact.VLLMWarmup, Framework: "vllm", Phase: "warmup"}, m.Took(x))
}

var vllmMambaText = text.NewPattern(`max_num_seqs\((?<seqs>INT)\)exceedsavailablemambacacheblocks\((?<blocks>INT)\)`)

func vllmMamba(m text.Message) int {
	x := m.Around(vllmMambaText, 60, 60)
	if !x.Ok() && quoted(m) {
		return m.End
	}
	exactly(m, "max_num_seqs", x.Lower("seqs"))
	if blocks := x.Count("blocks"); blocks != nil {
		m.Facts.Facts = append(m.Facts.Facts, fact.Fact{Name: "mamba_blocks", Count: blocks, Text: m.Log.LineText(m.At), Line: blocks.Line})
	}
	return m.Fail(fact.Failure{Kind: fact.VLLMMamba, Framework: "vllm", Phase: "graph_capture"}, m.Took(x))
}

// exactly notes a setting that a message gives away.
func exactly(m text.Message, name, value string) {
	if value != "" {
		m.Facts.Settings = append(m.Facts.Settings, fact.Setting{Name: name, Value: strings.ReplaceAll(value, ",", ""), Line: m.Log.Line(m.At), Default: true})
	}
}

var vllmSwapText = text.NewPattern(`toolargeswapspace\.?(?<asked>SIZE)outofthe(?<ram>SIZE)`)

// vllmSwap tells the refusal (over 70 % of RAM) from the warning (over 40 %).
func vllmSwap(m text.Message) int {
	x := m.Find(vllmSwapText, 90)
	if m.Precedes("possibly", 8) {
		notice(m.Facts, m.Log, m.At, "swap_space", "vLLM warns that swap_space is a large part of the RAM; it goes on.")
		return m.Took(x)
	}
	if !x.Ok() {
		return m.End
	}
	return m.Fail(fact.Failure{Kind: fact.VLLMSwapTooLarge, Framework: "vllm", Backend: "cpu", Phase: "startup_check", Figures: fact.Figures{SystemRequired: x.Size("asked"), SystemAvailable: x.Size("ram")}}, m.Took(x))
}

// notice adds a failure that was none.
func notice(f *fact.Facts, l *text.Log, at int, id, title string) {
	f.Notices = append(f.Notices, fact.Notice{ID: id, Line: l.Line(at), Text: l.LineText(at), Title: title})
}
