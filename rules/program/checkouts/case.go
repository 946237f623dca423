package checkouts

import (
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/odds"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/reader"
)

// Learn notes which repository the reader runs, unless they started a program of
// which more is known. What is taken for one by a file that the repository has
// copied is none.
func Learn(c *ledger.Case, programs map[string]*program.Program) {
	x := Find(c)
	if x == nil {
		return
	}
	c.Stack = slices.DeleteFunc(slices.Clone(c.Stack), func(name string) bool { return x.copied(c, programs[name]) })
	if p := programs[c.Reader.Program]; p != nil {
		if !x.copied(c, p) {
			return
		}
		c.Reader.Program = reader.OwnScript
	}
	c.Reader.Repository = x.Repository
	if c.Reader.Work == "" && x.Work != "unknown" {
		c.Reader.Work = x.Work
	}
}

// copied: a program whose readers edit code shows in nothing but a file inside
// the repository.
func (x *Checkout) copied(c *ledger.Case, p *program.Program) bool {
	if p == nil || p.Edits != "code" || folded(p.Name) == folded(x.Name()) {
		return false
	}
	proof := slices.IndexFunc(c.Facts.Programs, func(shown fact.Program) bool { return shown.Name == p.Name })
	return proof >= 0 && slices.ContainsFunc(c.Facts.Code, func(f fact.Code) bool {
		rel := x.inside(f.File)
		return f.Own && f.Line == c.Facts.Programs[proof].Line && rel != "" && slices.ContainsFunc(slices.Concat(p.Proofs, p.Hints), func(word string) bool { return strings.Contains(rel, word) })
	})
}

// Programs are what the repository of a case knows, none where it has none.
func Programs(c *ledger.Case) []*program.Program {
	if x := Of(c); x != nil {
		own, _ := x.Program(c)
		return []*program.Program{own}
	}
	return nil
}

// general are figures of sentences that say what to make smaller where nothing is
// known of the options.
var general = []string{"{train}", "{any}", "{any_rows}", "{any_pixels}", "{any_input}", "{fewer}", "{less}", "{any_lighter}", "{lighter"}

// Cures are those of a card for a case with the settings of its repository put
// in: in the place of a sentence that holds for any program, behind one that says
// more, and as fixes of their own behind the first.
func Cures(c *ledger.Case, card *cause.Card, why string) []cause.Cure {
	cures := slices.Clone(card.Cures)
	x := Of(c)
	if x == nil || why != cause.HostMemory && !slices.Contains(fills, why) {
		return cures
	}
	own, fixes := x.Program(c)
	spelled := map[string]bool{}
	for i := range cures {
		cure := &cures[i]
		if cure.Fix == "lower_context" && own.Steps[cure.Fix] == nil && x.pictures() { // a long sample is a large picture
			cure.Fix = "lower_resolution"
		}
		if own.Steps[cure.Fix] == nil || cure.If != nil && !cure.If(c) {
			continue
		}
		spelled[cure.Fix] = true
		if cure.Told == "" || slices.ContainsFunc(general, func(figure string) bool { return strings.Contains(cure.Told, figure) }) {
			*cure = cause.Cure{Fix: cure.Fix, Title: own.Titles[cure.Fix], If: cure.If, Cost: cure.Cost}
		} else {
			cure.Own = true
		}
	}
	if !c.Training() && len(fixes) > 0 && !spelled["lower_batch_size"] { // its scripts have none, or take one at a time
		cures = slices.DeleteFunc(cures, func(cure cause.Cure) bool { return cure.Fix == "lower_batch_size" })
	}
	var more []cause.Cure
	for _, fix := range fixes {
		if !spelled[fix] {
			more = append(more, cause.Cure{Fix: fix, Title: own.Titles[fix]})
		}
	}
	first := slices.IndexFunc(cures, func(cure cause.Cure) bool { return cure.If == nil || cure.If(c) })
	return slices.Insert(cures, first+1, more...)
}

// pictures: what it works on has a width and a height, or frames.
func (x *Checkout) pictures() bool {
	return slices.Contains([]string{"vision", "image-generation", "video-generation", "rendering"}, x.Work)
}

// fills are the causes that a card's size has to do with.
var fills = []string{cause.BatchTooLarge, cause.ModelTooLarge, cause.TrainingStateTooLarge, cause.ContextTooLong, cause.OversizedAllocation, cause.Unknown}

// State puts what the authors say of the memory of a card behind why it ran out.
func State(c *ledger.Case, causes []odds.Cause) []odds.Cause {
	if x := Of(c); x != nil && len(causes) > 0 && slices.Contains(fills, causes[0].ID) && ledger.OnCard(c) {
		causes[0].Why += x.Stated(c)
	}
	return causes
}
