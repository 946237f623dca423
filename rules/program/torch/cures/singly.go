package cures

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// SingleSample: the log states a batch of one.
func SingleSample(c *ledger.Case) bool { return ledger.IntSetting(c, step.BatchSettings...) == 1 }

// adapting are what cures say that make a step smaller and know a batch of one.
var adapting = []string{AnyWork, "[[{any_rows}]]", "[[{any_pixels}]]", "[[{any_input}]]"}

// Singly puts the size of a sample in the place of a smaller batch where the log
// states a batch of one, shorter pieces where recordings are only processed, and
// AMD's fused kernels on such a card, in all cards.
func Singly(cards []cause.Card) []cause.Card {
	for i := range cards {
		list := make([]cause.Cure, 0, len(cards[i].Cures))
		for _, cure := range cards[i].Cures {
			if cure.Told == NoScores.Told {
				list = append(list, byCard(cure)...)
				continue
			}
			if cure.Fix != "lower_batch_size" || !slices.ContainsFunc(adapting, func(told string) bool { return strings.Contains(cure.Told, told) }) {
				list = append(list, cure)
				continue
			}
			batch, recording, picture, other := cure, cure, cure, cure
			batch.If = when.All(cure.If, when.Not(recordings))
			recording.Fix, recording.Title, recording.If, recording.Cost = "lower_context", "Process the recording in shorter pieces", when.All(cure.If, recordings), "slower; the pieces have to be joined"
			recording.Told, recording.Ways = "Use the program's chunk option, or split long recordings into chunks of 30 to 60 seconds yourself. In your own code, add `torch.no_grad()`.", nil
			picture.Fix, picture.Title, picture.If, picture.Cost = "lower_resolution", "Use smaller images or crops", when.All(cure.If, SingleSample, sizedPictures), "detail"
			other.Fix, other.Title, other.If, other.Cost = "lower_context", "Use shorter or smaller samples", when.All(cure.If, SingleSample, when.Not(when.Any(sizedPictures, recordings))), "what is cut is lost"
			list = append(list, batch, recording, picture, other)
		}
		cards[i].Cures = list
	}
	return cards
}

// recordings: sound goes through a model that is only used.
func recordings(c *ledger.Case) bool { return c.Reader.Work == "audio" && !c.Training() }

// sizedPictures: the work is pictures, or an option of the script says how large
// they are.
func sizedPictures(c *ledger.Case) bool {
	_, sized := c.Setting(fact.OptionSize)
	_, long := c.Setting(fact.OptionLength)
	return sized && !long || c.Reader.Work == "vision" || c.Reader.Work == "image-generation"
}

// Only is a cure with a condition more.
func Only(holds func(*ledger.Case) bool, cure cause.Cure) cause.Cure {
	cure.If = when.All(holds, cure.If)
	return cure
}
