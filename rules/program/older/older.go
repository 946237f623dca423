// Package older has learning libraries of the time before PyTorch, which are
// still used: Caffe, MXNet, Torch7 and darknet.
package older

import (
	"regexp"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/step"
)

// steps are those of a program by fix.
type steps = map[string]func(*ledger.Case) []step.Step

// cures are the same remedies for whatever filled the card, and those of the
// system memory (RAM).
func cures(card, host []cause.Remedy) map[string][]cause.Remedy {
	out := map[string][]cause.Remedy{cause.HostMemory: host}
	for _, id := range []string{cause.BatchTooLarge, cause.ContextTooLong, cause.ModelTooLarge, cause.OversizedAllocation, cause.RetainedMemory, cause.Fragmentation, cause.Unknown} {
		out[id] = card
	}
	return out
}

var look = cause.Cure{Fix: "kill_stale_process", Title: "Check what else uses the GPU", Told: "Run `nvidia-smi` before your program starts. If GPU memory is already nearly full, end the listed processes that you no longer need.", Cost: "A look is free"}

// said is what a pattern finds in the program's own lines around the failure, ""
// where it finds nothing: the last above the failure.
func said(c *ledger.Case, p *regexp.Regexp) string {
	found := ""
	for _, word := range c.Facts.Talk {
		if m := p.FindStringSubmatch(word.Text); m != nil && (found == "" || word.Line <= c.Failure.Line) {
			found = m[1]
		}
	}
	return found
}

var ofCard = []fact.Kind{fact.PlainDevice, fact.DeviceAlloc, fact.CUDAError, fact.PlainMemory}

// trainingCard is about an older library that trains on a card.
func trainingCard(id, headline, means string, first, second cause.Cure, sources ...string) cause.Card {
	return cause.Card{
		ID: id, Kinds: append([]fact.Kind{fact.RMMAlloc}, ofCard...), Headline: headline, Means: means,
		Not:     "More RAM or swap: the GPU does not use them.",
		Cures:   []cause.Cure{first, look, second},
		Sources: sources,
	}
}
