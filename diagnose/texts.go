package diagnose

import (
	"slices"

	"github.com/oomdoc/oomdoc/internal/redact"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// holdsCredentials reports that a key or a password stands in a text of the
// report. It asks each field by name, for reflection takes several times as long;
// a test holds it to all of them.
func holdsCredentials(r *Report) bool {
	var k keys
	k.in(r.Schema, r.Input.Name)
	k.in(r.Notes...)
	for _, x := range r.Lookalikes {
		k.in(x.ID, x.Title, x.Advice, x.Text)
	}
	for _, x := range r.Recovered {
		k.in(x.ID, x.Title)
	}
	for i := range r.Incidents {
		k.inIncident(&r.Incidents[i])
	}
	return k.found
}

// keys looks for keys and passwords until it has found one.
type keys struct {
	found bool
	// seen are long texts that hold none: lines repeat the message, fixes the
	// reason.
	seen [24]string
	n    int
}

// long is a text that takes longer to read than to compare.
const long = 60

func (k *keys) in(texts ...string) {
	for _, s := range texts {
		if k.found || len(s) >= long && slices.Contains(k.seen[:], s) {
			continue
		}
		k.found = redact.Credentials(s) != s
		if len(s) >= long {
			k.seen[k.n%len(k.seen)] = s
			k.n++
		}
	}
}

func (k *keys) inIncident(in *Incident) {
	k.in(in.Framework, in.Backend, in.Phase, in.Headline, in.Summary)
	k.in(in.Stack...)
	k.in(in.Ranks...)
	k.inFigures(&in.Figures)
	k.in(in.Message)
	for _, c := range in.Causes {
		for _, e := range c.Evidence {
			k.in(e.Text)
		}
		k.in(c.ID, c.Title, c.Settles, c.Card, c.Why)
	}
	k.inNumbers(in)
	for i := range in.Fixes {
		k.inFix(&in.Fixes[i])
	}
	for _, x := range in.WontHelp {
		k.in(x.ID, x.Title, x.Why)
	}
	for _, x := range in.Open {
		k.in(x.Question, x.Settle)
	}
	for _, x := range in.Dropped {
		k.in(x.Rule, x.Text)
	}
	for _, x := range in.Consequences {
		k.in(x.Message)
	}
	if x := in.Knowledge; x != nil {
		k.in(x.ID, x.Not, x.Later)
		k.in(x.Sources...)
	}
}

func (k *keys) inFigures(f *Figures) {
	f.Sizes(func(_ string, s *Size) { k.in(s.Text) })
	f.Counts(func(_ string, c *Count) { k.in(c.Text) })
	for _, p := range f.OtherProcesses {
		k.in(p.Name, p.Text)
	}
}

// inNumbers is what the numbers of an incident are called.
func (k *keys) inNumbers(in *Incident) {
	r := &in.Reader
	k.in(r.Program, r.Repository, r.Work, r.Edits, r.OS, r.Language)
	if m := in.Model; m != nil {
		k.in(m.Name, m.Format, m.Basis)
	}
	if m := in.Memory; m != nil {
		k.in(m.Of, m.Basis)
		for _, p := range m.Parts {
			k.in(p.ID, p.Basis)
		}
	}
	if b := in.BeyondCard; b != nil {
		k.in(b.Format, b.Card, b.Model, b.ModelFormat, b.Note)
	}
	x := in.Explained
	if x == nil {
		return
	}
	k.in(x.What, x.Model, x.Cause, x.Asked, x.Sentence)
	k.inTerms(x.Terms)
	for _, p := range x.Parts {
		k.in(p.What)
		k.inTerms(p.Terms)
	}
	if x.Lower != nil {
		k.in(x.Lower.Name, x.Lower.Fix)
	}
}

func (k *keys) inTerms(terms []ledger.Term) {
	for _, t := range terms {
		k.in(t.Name)
	}
}

func (k *keys) inFix(f *Fix) {
	k.in(f.Why, f.ID, f.Addresses, f.Branch, f.Title, f.Tradeoff, f.Check, f.Next)
	for _, s := range f.Steps {
		k.in(s.Kind, s.Text, s.For, s.Applies, s.Target)
		for _, x := range s.Fill {
			k.in(x.Name, x.With)
		}
	}
	if e := f.Effect; e != nil {
		k.in(e.Basis, e.Note, e.Certainty, e.Counted)
	}
}
