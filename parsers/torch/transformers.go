package torch

import (
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Transformers reads transformers and accelerate.
var Transformers = text.Parser{
	Name:     "transformers",
	Keywords: transformersWords,
	Context:  transformersContext,
	Explains: map[fact.Kind]int{fact.DispatchRefused: 4, fact.OffloadNeeded: 4},
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

func parseTransformers(l *text.Log, hits []text.Hit, f *fact.Facts) {
	s := l.Squeezed()
	shards(f, l, hits)
	for _, h := range hits {
		if h.Word >= len(transformersWords) {
			transformersState(f, l, h)
			continue
		}
		end := min(h.At+len(strings.ReplaceAll(transformersWords[h.Word], " ", "")), len(s))
		x := fact.Failure{Framework: "transformers", Phase: "load"}
		switch h.Word {
		case 0:
			x.Kind, x.Backend, x.Stage = fact.DispatchRefused, "cuda", "weights"
			x.Message = "Some modules are dispatched on the CPU or the disk. Make sure you have enough GPU RAM to fit the quantized model."
			end = clauseEnd(s, end, "quantizedmodel.")
		case 1, 2:
			x.Kind, x.Stage = fact.OffloadNeeded, "weights"
			end = clauseEnd(s, end, "forthem.", "shouldbeoffloaded.")
		case 3:
			x.Kind, x.Phase, x.Wrapper = fact.BatchGivenUp, "", true
		}
		text.Fail(f, l, h.At, end, x)
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

var shardsDone = text.NewPattern(`loadingcheckpointshards:(?<percent>\d{1,3})%`)

// shards says whether the model was still loading when the log ends: only the
// last state of the progress bar counts. A bar that begins again behind a full
// one is a second model.
func shards(f *fact.Facts, l *text.Log, hits []text.Hit) {
	for i := len(hits) - 1; i >= 0; i-- {
		if hits[i].Word != shardsWord {
			continue
		}
		at := hits[i].At
		if l.Find(shardsDone, at, at+60).Lower("percent") != "100" {
			f.Signals = append(f.Signals, fact.Signal{ID: "loading", Line: l.Line(at), Text: l.LineText(at)})
			secondModel(f, l, hits[:i])
		}
		return
	}
}

func secondModel(f *fact.Facts, l *text.Log, earlier []text.Hit) {
	for _, h := range earlier {
		if h.Word == shardsWord && l.Find(shardsDone, h.At, h.At+60).Lower("percent") == "100" {
			f.Signals = append(f.Signals, fact.Signal{ID: "second_model", Line: l.Line(h.At), Text: l.LineText(h.At)})
			return
		}
	}
}

var offloadBuffer = text.NewPattern(`currentmodelrequires(?<n>INT)bytesofbuffer`)

// transformersState reads what was already done to make the model fit, and accelerate's warnings that part of the model is not on the
// card (utils/modeling.py 0.28, big_modeling.py 0.25 and later).
func transformersState(f *fact.Facts, l *text.Log, h text.Hit) {
	line, text := l.Line(h.At), l.LineText(h.At)
	switch word := transformersContext[h.Word-len(transformersWords)]; word {
	case "Loading checkpoint shards:":
		return
	case "quantizer_bnb_4bit.py", "load_in_4bit=True", "quantizer_bnb_8bit.py", "load_in_8bit=True":
		name := "load_in_8bit"
		if strings.Contains(word, "4bit") {
			name = "load_in_4bit"
		}
		f.Settings = append(f.Settings, fact.Setting{Name: name, Value: "true", Line: line})
		return
	case "bytes of buffer for offloaded layers, which seems does not fit":
		if m := l.Find(offloadBuffer, h.At-60, h.At+30); m.Ok() {
			f.Facts = append(f.Facts, fact.Fact{Name: "offload_buffer", Size: m.SizeIn("n", "bytes"), Text: text, Line: line})
		}
	}
	f.Signals = append(f.Signals, fact.Signal{ID: "offloaded", Line: line, Text: text})
}
