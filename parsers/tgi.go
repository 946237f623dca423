package parsers

import (
	"slices"
	"strings"
)

// What Hugging Face's Text Generation Inference says.
const (
	// TGIWarmup: the warm-up batch did not fit (flash_causal_lm.py). In 2023-09
	// and in the newest builds any exception of the warm-up says so.
	TGIWarmup Kind = "tgi_warmup"
	// TGIKilled: a shard ended by signal 9.
	TGIKilled Kind = "tgi_killed"
)

var tgi = Parser{
	Name:     "tgi",
	Keywords: literals(tgiFailures),
	Context:  slices.Concat(literals(tgiLines), stageTexts(tgiEvidence.words)),
	Explains: map[Kind]int{TGIWarmup: 4, TGIKilled: 3},
	Parse: func(l *Log, hits []Hit, f *Facts) {
		list := slices.Concat(tgiFailures, tgiLines)
		worded, others := splitHits(hits, len(list))
		parseWordings(list, l, worded, f)
		tgiEvidence.look(l, others, f)
	},
}

var tgiFailures = []wording{
	{"Not enough memory to handle", tgiWarmup},
	{"was signaled to shutdown with signal 9", fails(Failure{Kind: TGIKilled, Framework: "tgi", Backend: "cpu"})},
	{"encountered an error.", tgiMethod},
	{"failed to start", tgiShard},
	{"Error: ShardCannotStart", echo("tgi")},
	{"Error: Warmup(", tgiRouter},
	{"Error: WebServer(Warmup(", tgiRouter},
}

var tgiLines = []wording{
	{"warmup{max_input_length=", tgiSpan},
	{"Args { model_id:", tgiArguments},
	{"text-generation-launcher --", commandLine("tgi_command", nil)},
}

var tgiEvidence = evidence{
	program: "tgi",
	words: slices.Concat(
		frames("warmup", 5, "Method Warmup encountered", "in warmup", ":warmup:"),
		frames("inference", 4, "Method Prefill encountered", "Method Decode encountered"),
		frames("load", 4, "in get_model"),
		marks("text_generation_server/", "text_generation_launcher", "text_generation_client", "text_generation_router"),
	),
}

var tgiTokens = pattern(`handle(?:(?<total>INT)totaltokenswith)?(?<prefill>INT)prefilltokens`)

func tgiWarmup(m message) int {
	x := m.find(tgiTokens, 110)
	if !x.Ok() {
		return m.end
	}
	m.exactly("max_batch_prefill_tokens", x.Lower("prefill"))
	m.exactly("max_batch_total_tokens", x.Lower("total"))
	m.factCount("tgi_total_tokens", x.Count("total"))
	return m.fail(Failure{Kind: TGIWarmup, Framework: "tgi", Phase: "warmup"}, m.took(x))
}

// tgiMethod reads "Method Warmup encountered an error."
func tgiMethod(m message) int {
	if m.precedes("method", 24) {
		return echo("tgi")(m)
	}
	return m.end
}

// tgiRouter reads the router's last line, which repeats what the warm-up said.
func tgiRouter(m message) int {
	m.f.fail(m.l, m.at, m.end, Failure{Kind: Wrapped, Framework: "tgi", Phase: "warmup", Wrapper: true, Echo: true})
	return m.end
}

func tgiShard(m message) int {
	if m.precedes("shard", 12) {
		return echo("tgi")(m)
	}
	return m.end
}

var tgiSpanText = pattern(`max_(?<name>input_length|prefill_tokens|total_tokens|batch_size)=(?<value>INT)`)

// tgiSpan reads the settings in the name of the router's tracing span.
func tgiSpan(m message) int {
	at := m.at
	for range 4 {
		x := m.l.Find(tgiSpanText, at, m.at+160)
		if !x.Ok() {
			break
		}
		name := "max_" + x.Lower("name")
		if name == "max_prefill_tokens" {
			name = "max_batch_prefill_tokens"
		}
		m.exactly(name, x.Lower("value"))
		_, at = x.Span()
	}
	return max(at, m.end)
}

// tgiMemory are the launcher's arguments that bear on memory.
var tgiMemory = []string{
	"num_shard", "quantize", "dtype", "max_input_length", "max_input_tokens", "max_total_tokens", "max_batch_prefill_tokens",
	"max_batch_total_tokens", "max_batch_size", "cuda_memory_fraction", "kv_cache_dtype", "cuda_graphs", "max_concurrent_requests",
}

// tgiArguments reads Rust's debug form, on one line or pretty-printed.
func tgiArguments(m message) int {
	for _, a := range pythonArguments("model_id:" + m.rest()) {
		switch {
		case a.name == "model_id" && a.simple():
			m.model(a.value)
		case slices.Contains(tgiMemory, a.name) && a.simple():
			a.value = strings.Trim(a.value, ", ") // Some(\n 2,\n)
			m.set(a, true)
		}
	}
	return m.end
}
