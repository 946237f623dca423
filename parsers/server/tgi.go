package server

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// TGI reads text-generation-inference.
var TGI = text.Parser{
	Name:     "tgi",
	Keywords: text.Literals(tgiFailures),
	Context:  slices.Concat(text.Literals(tgiLines), text.StageTexts(tgiEvidence.Words)),
	Explains: map[fact.Kind]int{fact.TGIWarmup: 4, fact.TGIKilled: 3},
	Parse: func(l *text.Log, hits []text.Hit, f *fact.Facts) {
		list := slices.Concat(tgiFailures, tgiLines)
		worded, others := text.SplitHits(hits, len(list))
		text.ParseWordings(list, l, worded, f)
		tgiEvidence.Look(l, others, f)
	},
}

var tgiFailures = []text.Wording{
	text.On("Not enough memory to handle", tgiWarmup),
	text.On("was signaled to shutdown with signal 9", text.Fails(fact.Failure{Kind: fact.TGIKilled, Framework: "tgi", Backend: "cpu"})),
	text.On("encountered an error.", tgiMethod),
	text.On("failed to start", tgiShard),
	text.On("Error: ShardCannotStart", text.Echo("tgi")),
	text.On("Error: Warmup(", tgiRouter),
	text.On("Error: WebServer(Warmup(", tgiRouter),
}

var tgiLines = []text.Wording{
	text.On("warmup{max_input_length=", tgiSpan),
	text.On("Args { model_id:", tgiArguments),
	text.On("text-generation-launcher --", commandLine("tgi_command", nil)),
}

var tgiEvidence = text.Evidence{
	Program: "tgi",
	Words: slices.Concat(
		text.Frames("warmup", 5, "Method Warmup encountered", "in warmup", ":warmup:"),
		text.Frames("inference", 4, "Method Prefill encountered", "Method Decode encountered"),
		text.Frames("load", 4, "in get_model"),
		text.Marks("text_generation_server/", "text_generation_launcher", "text_generation_client", "text_generation_router"),
	),
}

var tgiTokens = text.NewPattern(`handle(?:(?<total>INT)totaltokenswith)?(?<prefill>INT)prefilltokens`)

func tgiWarmup(m text.Message) int {
	x := m.Find(tgiTokens, 110)
	if !x.Ok() {
		return m.End
	}
	exactly(m, "max_batch_prefill_tokens", x.Lower("prefill"))
	exactly(m, "max_batch_total_tokens", x.Lower("total"))
	factCount(m, "tgi_total_tokens", x.Count("total"))
	return m.Fail(fact.Failure{Kind: fact.TGIWarmup, Framework: "tgi", Phase: "warmup"}, m.Took(x))
}

// tgiMethod reads "Method Warmup encountered an error."
func tgiMethod(m text.Message) int {
	if m.Precedes("method", 24) {
		return text.Echo("tgi")(m)
	}
	return m.End
}

// tgiRouter reads the router's last line, which repeats what the warm-up said.
func tgiRouter(m text.Message) int {
	text.Fail(m.Facts, m.Log, m.At, m.End, fact.Failure{Kind: fact.Wrapped, Framework: "tgi", Phase: "warmup", Wrapper: true, Echo: true})
	return m.End
}

func tgiShard(m text.Message) int {
	if m.Precedes("shard", 12) {
		return text.Echo("tgi")(m)
	}
	return m.End
}

var tgiSpanText = text.NewPattern(`max_(?<name>input_length|prefill_tokens|total_tokens|batch_size)=(?<value>INT)`)

// tgiSpan reads the settings in the name of the router's tracing span.
func tgiSpan(m text.Message) int {
	at := m.At
	for range 4 {
		x := m.Log.Find(tgiSpanText, at, m.At+160)
		if !x.Ok() {
			break
		}
		name := "max_" + x.Lower("name")
		if name == "max_prefill_tokens" {
			name = "max_batch_prefill_tokens"
		}
		exactly(m, name, x.Lower("value"))
		_, at = x.Span()
	}
	return max(at, m.End)
}

// tgiMemory are the launcher's arguments that bear on memory.
var tgiMemory = []string{
	"num_shard", "quantize", "dtype", "max_input_length", "max_input_tokens", "max_total_tokens", "max_batch_prefill_tokens",
	"max_batch_total_tokens", "max_batch_size", "cuda_memory_fraction", "kv_cache_dtype", "cuda_graphs", "max_concurrent_requests",
}

// tgiArguments reads Rust's debug form, on one line or pretty-printed.
func tgiArguments(m text.Message) int {
	for _, a := range text.PythonArguments("model_id:" + rest(m)) {
		switch {
		case a.Name == "model_id" && a.Simple():
			model(m, a.Value)
		case slices.Contains(tgiMemory, a.Name) && a.Simple():
			a.Value = strings.Trim(a.Value, ", ") // Some(\n 2,\n)
			set(m, a, true)
		}
	}
	return m.End
}
