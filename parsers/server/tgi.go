package server

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// TGI reads text-generation-inference.
var TGI = text.Parser{
	Name:     "tgi",
	Context:  text.StageTexts(tgiEvidence.Words),
	Explains: map[fact.Kind]int{fact.TGIWarmup: 4, fact.TGIKilled: 3},
}.Reading(tgiFailures, tgiLines, tgiEvidence.Look)

var tgiFailures = []text.Wording{
	text.On("Not enough memory to handle", tgiWarmup),
	text.On("was signaled to shutdown with signal 9", text.Fails(fact.Failure{Kind: fact.TGIKilled, Framework: "tgi", Backend: "cpu"})),
	text.On("encountered an error.", text.When(text.Echo("tgi"), text.Before("method", 24))), // "Method Warmup encountered an error."
	text.On("failed to start", text.When(text.Echo("tgi"), text.Before("shard", 12))),
	text.On("Error: ShardCannotStart", text.Echo("tgi")),
	text.On("Error: Warmup(", tgiRouter),
	text.On("Error: WebServer(Warmup(", tgiRouter),
}

var tgiLines = []text.Wording{
	text.On("batch{batch_size=", text.States(0, 40, text.NewPattern(`batch_size=(?:(?<tgi_decoding>INT)\}:decode|(?<tgi_reading>INT)\}:prefill)`))), // the router's span
	text.On("warmup{max_input_length=", tgiSpan), text.On("ghcr.io/huggingface/", commandLine("tgi_command", nil)), text.On("text-generation-inference:", text.SaysVersion("tgi_version", serverRelease)),
	text.On("Args { model_id:", arguments("model_id:", only(tgiMemory...))), // Rust's debug form, on one line or pretty-printed
	text.On("text-generation-launcher --", commandLine("tgi_command", nil)),
}

var tgiEvidence = text.Evidence{
	Program: "tgi",
	Words: slices.Concat(
		text.Frames("warmup", 5, "Method Warmup encountered", "in warmup", ":warmup:"),
		text.Frames("inference", 4, "Method Prefill encountered", "Method Decode encountered"),
		text.Frames("load", 1, "ShardCannotStart", "Shard 0 failed to start", "Shard 1 failed to start", "Shard 2 failed to start", "Shard 3 failed to start"), // not after the warm-up: launcher/src/main.rs
		text.Frames("load", 4, "in get_model", "Error when initializing model", "in get_tensor", "in get_sharded", "in get_weights_col", "in get_weights_row", "in get_multi_weights_col", "weights.get_", "TensorParallelColumnLinear.load(", "TensorParallelRowLinear.load("),
		text.Marks("text_generation_server/", "text_generation_launcher", "text_generation_client", "text_generation_router"),
	),
}

var tgiWarmup = text.FailsIf(fact.Failure{Kind: fact.TGIWarmup, Framework: "tgi", Phase: "warmup"}, 0, 110, text.NewPattern(`handle(?:(?<is_max_batch_total_tokens>(?<tgi_total_tokens>INT))totaltokenswith)?(?<is_max_batch_prefill_tokens>INT)prefilltokens`))

// tgiRouter reads the router's last line, which repeats what the warm-up said.
var tgiRouter = text.Quotes(fact.Failure{Kind: fact.Wrapped, Framework: "tgi", Phase: "warmup", Wrapper: true, Echo: true})

// tgiSpan reads the settings in the name of the router's tracing span.
var tgiSpan = text.States(0, 320, text.NewPattern(`max_input_length=(?<is_max_input_length>INT)`+
	`(?:max_prefill_tokens=(?<is_max_batch_prefill_tokens>INT))?(?:max_total_tokens=(?<is_max_total_tokens>INT))?`+
	`(?:max_batch_size=(?<is_max_batch_size>INT))?`))

// tgiMemory are the launcher's arguments that bear on memory.
var tgiMemory = []string{
	"num_shard", "quantize", "dtype", "max_input_length", "max_input_tokens", "max_total_tokens", "max_batch_prefill_tokens",
	"max_batch_total_tokens", "max_batch_size", "cuda_memory_fraction", "kv_cache_dtype", "cuda_graphs", "max_concurrent_requests",
}
