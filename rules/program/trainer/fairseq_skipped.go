package trainer

import (
	"regexp"
	"strconv"
	"sync"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// mostLost is the share of skipped batches from which a model hardly learns.
const mostLost = 0.2

// lostPattern is the meter of fairseq's progress bar: batches skipped per step and GPU.
var lostPattern = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\boom=([01]?\.\d{1,6}|1)\b`) })

// atStart is the progress bar before the first step of an epoch.
var atStart = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`epoch 0*1:\s+0%\|.{0,200}?\b0/\d`) })

// lost is the share of batches that fairseq skipped by its own count, 0 if unknown.
func lost(c *ledger.Case) float64 {
	share := 0.0
	for _, word := range c.Facts.Talk {
		if m := lostPattern().FindStringSubmatch(word.Text); m != nil {
			share, _ = strconv.ParseFloat(m[1], 64)
		}
	}
	return min(share, 1)
}

// failedFirst: the progress bar stands at the first batch.
func failedFirst(c *ledger.Case) bool {
	for _, word := range c.Facts.Talk {
		if atStart().MatchString(word.Text) && word.Line <= c.Failure.Line {
			return true
		}
	}
	return false
}

// mostSkipped: so many batches are lost that the run is not worth going on with.
var mostSkipped = cause.Card{
	ID: "fairseq/most-skipped", Kinds: []fact.Kind{fact.TorchAlloc}, Said: []string{"Skipping batch", "skipping batch", "skipping update"},
	If: func(c *ledger.Case) bool { return lost(c) >= mostLost }, Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "goes on, but skips {lost} of its batches for lack of GPU memory", Figures: lostFigures,
	Means: "`oom=` in the progress line says so. Skipped batches teach the model nothing, and the long sentences are the ones lost: stop the run, its results will be poor.[[ {mine} of the {total} is in use while a batch is refused: weights, gradients and optimizer state stay, whatever the batch.]]",
	Not:   "Waiting: later epochs have the same batches.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Start again with a much smaller --max-tokens", Kind: "text", Text: "Halve `--max-tokens` until `oom=` stays at 0, and raise `--update-freq` by as much. A program that starts fairseq for you (ModernMT and others) usually passes such options on, or has its own for the batch.", Cost: "slower"},
		{Fix: "use_smaller_model", Title: "Or train a smaller model", Told: "Fewer layers, a narrower model (`--encoder-embed-dim`, `--decoder-embed-dim`), or a smaller vocabulary. This is what helps where the weights alone nearly fill the card.", Cost: "quality; train from the start"},
		{Fix: "bigger_gpu", Title: "Or use a larger GPU", Told: "A Transformer of the usual size trains with 8 GB or more, with room to spare from 11 GB on.", Cost: "another machine"},
	},
	Sources: []string{"fairseq/fairseq/trainer.py", "fairseq/fairseq/dataclass/configs.py"},
}

func lostFigures(c *ledger.Case) map[string]string {
	return map[string]string{"lost": strconv.Itoa(int(lost(c)*100)) + " %"}
}
