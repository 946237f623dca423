package parsers

import "strings"

// What transformers, accelerate and bitsandbytes say before the card is ever
// asked: they compare the model with the memory that is free.
const (
	// DispatchRefused is the quantisers' check that device_map="auto" put
	// nothing on the CPU (transformers quantizers/quantizer_bnb_{4,8}bit.py and
	// accelerate utils/bnb.py, 2023-06 and later).
	DispatchRefused Kind = "dispatch_refused"
	// OffloadNeeded is a model that is larger than all cards and RAM, told as a
	// missing offload_folder (transformers modeling_utils.py 4.23 and later,
	// accelerate big_modeling.py 0.8 and later).
	OffloadNeeded Kind = "offload_needed"
	// BatchGivenUp is find_executable_batch_size at its end (accelerate
	// utils/memory.py 0.8 and later): even one sample ran out of memory.
	BatchGivenUp Kind = "batch_given_up"
)

var transformers = Parser{
	Name:     "transformers",
	Keywords: transformersWords,
	Context:  transformersContext,
	Explains: map[Kind]int{DispatchRefused: 4, OffloadNeeded: 4},
	Parse:    parseTransformers,
}

var transformersWords = []string{
	"Some modules are dispatched on the CPU or the disk. Make sure you have enough GPU RAM",
	"had weights offloaded to the disk. Please provide an",
	"to dispatch this model according to this device_map",
	"No executable batch size found, reached zero",
}

var transformersContext = []string{
	"bytes of buffer for offloaded layers, which seems does not fit",
	"because they were offloaded to the",
	"quantizer_bnb_4bit.py", "load_in_4bit=True", "quantizer_bnb_8bit.py", "load_in_8bit=True",
	"Loading checkpoint shards:",
}

var transformersProofs = []proof{
	{word: "site-packages/transformers/", program: "transformers", weight: 2}, {word: `site-packages\transformers\`, program: "transformers", weight: 2},
	{word: "dist-packages/transformers/", program: "transformers", weight: 2}, {word: "src/transformers/", program: "transformers", weight: 2},
	{word: "Loading checkpoint shards:", program: "transformers", weight: 2},
	{word: "site-packages/deepspeed/", program: "deepspeed", weight: 2}, {word: "dist-packages/deepspeed/", program: "deepspeed", weight: 2}, {word: "DeepSpeed/deepspeed/", program: "deepspeed", weight: 2},
	{word: "site-packages/accelerate/", program: "accelerate", weight: 1}, {word: `site-packages\accelerate\`, program: "accelerate", weight: 1},
	{word: "==((====))==", program: "unsloth", weight: 2}, {word: "-packages/unsloth/", program: "unsloth", weight: 2}, {word: `-packages\unsloth\`, program: "unsloth", weight: 2}, {word: "unsloth_compiled_cache", program: "unsloth", weight: 2},
	{word: "llamafactory/", program: "llama-factory", weight: 2}, {word: `llamafactory\`, program: "llama-factory", weight: 2}, {word: "llmtuner/", program: "llama-factory", weight: 2}, {word: "LLaMA-Factory/", program: "llama-factory", weight: 2},
	{word: "axolotl/", program: "axolotl", weight: 2, beside: []string{"src/", "cli/", "train.py", "utils/", "core/", "monkeypatch/"}}, {word: "[axolotl.", program: "axolotl", weight: 2}, {word: "axolotl.cli", program: "axolotl", weight: 2},
	{word: "-packages/trl/", program: "trl", weight: 2}, {word: `-packages\trl\`, program: "trl", weight: 2},
	{word: "-packages/peft/", program: "peft", weight: 2}, {word: `-packages\peft\`, program: "peft", weight: 2},
	{word: "-packages/lightning/", program: "lightning", weight: 2}, {word: "-packages/pytorch_lightning/", program: "lightning", weight: 2}, {word: `-packages\pytorch_lightning\`, program: "lightning", weight: 2},
}

func parseTransformers(l *Log, hits []Hit, f *Facts) {
	s := l.Squeezed()
	f.shards(l, hits)
	for _, h := range hits {
		if h.Word >= len(transformersWords) {
			f.transformersState(l, h)
			continue
		}
		end := min(h.At+len(strings.ReplaceAll(transformersWords[h.Word], " ", "")), len(s))
		x := Failure{Framework: "transformers", Phase: "load"}
		switch h.Word {
		case 0:
			x.Kind, x.Backend, x.Stage = DispatchRefused, "cuda", "weights"
			x.Message = "Some modules are dispatched on the CPU or the disk. Make sure you have enough GPU RAM to fit the quantized model."
			end = clauseEnd(s, end, "quantizedmodel.")
		case 1, 2:
			x.Kind, x.Stage = OffloadNeeded, "weights"
			end = clauseEnd(s, end, "forthem.", "shouldbeoffloaded.")
		case 3:
			x.Kind, x.Phase, x.Wrapper = BatchGivenUp, "", true
		}
		f.fail(l, h.At, end, x)
	}
}

// clauseEnd returns where one of the literals that end a message ends, if it
// follows closely.
func clauseEnd(s string, at int, literals ...string) int {
	for _, literal := range literals {
		if i := strings.Index(s[at:min(at+160, len(s))], literal); i >= 0 {
			return at + i + len(literal)
		}
	}
	return at
}

// shardsWord is the progress bar of from_pretrained.
var shardsWord = len(transformersWords) + len(transformersContext) - 1

var shardsDone = pattern(`loadingcheckpointshards:(?<percent>\d{1,3})%`)

// shards says whether the model was still loading when the log ends: only the
// last state of the progress bar counts. A bar that begins again behind a full
// one is a second model.
func (f *Facts) shards(l *Log, hits []Hit) {
	for i := len(hits) - 1; i >= 0; i-- {
		if hits[i].Word != shardsWord {
			continue
		}
		at := hits[i].At
		if l.Find(shardsDone, at, at+60).Lower("percent") != "100" {
			f.Signals = append(f.Signals, Signal{ID: "loading", Line: l.Line(at), Text: l.LineText(at)})
			f.secondModel(l, hits[:i])
		}
		return
	}
}

func (f *Facts) secondModel(l *Log, earlier []Hit) {
	for _, h := range earlier {
		if h.Word == shardsWord && l.Find(shardsDone, h.At, h.At+60).Lower("percent") == "100" {
			f.Signals = append(f.Signals, Signal{ID: "second_model", Line: l.Line(h.At), Text: l.LineText(h.At)})
			return
		}
	}
}

var offloadBuffer = pattern(`currentmodelrequires(?<n>INT)bytesofbuffer`)

// transformersState reads what was already done to make the model fit, and accelerate's warnings that part of the model is not on the
// card (utils/modeling.py 0.28, big_modeling.py 0.25 and later).
func (f *Facts) transformersState(l *Log, h Hit) {
	line, text := l.Line(h.At), l.LineText(h.At)
	switch word := transformersContext[h.Word-len(transformersWords)]; word {
	case "Loading checkpoint shards:":
		return
	case "quantizer_bnb_4bit.py", "load_in_4bit=True", "quantizer_bnb_8bit.py", "load_in_8bit=True":
		name := "load_in_8bit"
		if strings.Contains(word, "4bit") {
			name = "load_in_4bit"
		}
		f.Settings = append(f.Settings, Setting{Name: name, Value: "true", Line: line})
		return
	case "bytes of buffer for offloaded layers, which seems does not fit":
		if m := l.Find(offloadBuffer, h.At-60, h.At+30); m.Ok() {
			f.Facts = append(f.Facts, Fact{Name: "offload_buffer", Size: m.SizeIn("n", "bytes"), Text: text, Line: line})
		}
	}
	f.Signals = append(f.Signals, Signal{ID: "offloaded", Line: line, Text: text})
}
