package torch

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// Transformers reads transformers and accelerate.
var Transformers = text.Parser{
	Name:     "transformers",
	Context:  []string{"Loading checkpoint shards:"}, // the progress bar of from_pretrained
	Explains: map[fact.Kind]int{fact.DispatchRefused: 4, fact.OffloadNeeded: 4},
}.Reading(transformersFailures, transformersLines, shards)

var transformersFailures = []text.Wording{
	text.On("Some modules are dispatched on the CPU or the disk. Make sure you have enough GPU RAM", refuses(fact.Failure{
		Kind: fact.DispatchRefused, Framework: "transformers", Backend: "cuda", Phase: "load", Stage: "weights",
		Message: "Some modules are dispatched on the CPU or the disk. Make sure you have enough GPU RAM to fit the quantized model.",
	})),
	text.On("had weights offloaded to the disk. Please provide an", refuses(offloadNeeded)),
	text.On("to dispatch this model according to this device_map", refuses(offloadNeeded)),
	text.On("No executable batch size found, reached zero", text.Quotes(fact.Failure{Kind: fact.BatchGivenUp, Framework: "transformers", Wrapper: true})),
}

var offloadNeeded = fact.Failure{Kind: fact.OffloadNeeded, Framework: "transformers", Phase: "load", Stage: "weights"}

// transformersLines show what was already done to make the model fit.
var transformersLines = slices.Concat(
	text.OnAny(quantized("load_in_4bit"), "quantizer_bnb_4bit.py", "load_in_4bit=True"),
	text.OnAny(quantized("load_in_8bit"), "quantizer_bnb_8bit.py", "load_in_8bit=True"),
)

func quantized(setting string) func(text.Message) int {
	return func(m text.Message) int {
		m.Facts.Settings = append(m.Facts.Settings, fact.Setting{Name: setting, Value: "true", Line: m.Log.Line(m.At)})
		return m.End
	}
}

var refusalEnd = text.NewPattern(`quantizedmodel\.|forthem\.|shouldbeoffloaded\.`)

// refuses makes the reader of a refusal up to the words that end it.
func refuses(x fact.Failure) func(text.Message) int {
	return func(m text.Message) int {
		end := max(m.End, m.Took(m.Log.Find(refusalEnd, m.End, m.End+160)))
		text.Fail(m.Facts, m.Log, m.At, end, x)
		return end
	}
}

var (
	shardsDone = text.NewPattern(`^loadingcheckpointshards:100%`)
	shardsRead = text.NewPattern(`^loadingcheckpointshards:\d{1,2}%[^0-9]{0,160}(?<shards_read>\d{1,3})/(?<shards_all>\d{1,3})\[`)
)

// shards says whether the model was still loading when the log ends: only the
// last state of the progress bar counts. A bar that begins again behind a full
// one is a second model.
func shards(l *text.Log, bars []text.Hit, f *fact.Facts) {
	done := func(bar text.Hit) bool { return l.Find(shardsDone, bar.At, bar.At+60).Ok() }
	if len(bars) == 0 || done(bars[len(bars)-1]) {
		return
	}
	last := bars[len(bars)-1].At
	l.Signal(f, "loading", last)
	l.Find(shardsRead, last, last+240).States(f, nil)
	if i := slices.IndexFunc(bars, done); i >= 0 {
		l.Signal(f, "second_model", bars[i].At)
	}
}
