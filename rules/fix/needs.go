package fix

import (
	"slices"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// Needs is what a fix presupposes of who reads and of what was done already; its
// zero value suits everybody. A fix that a program spells in its own way is for
// that program's readers.
type Needs struct {
	// works are the kinds of work for which it means something; nil: any.
	works []string
	// notFor are those for which it means nothing.
	notFor []string
	// training: something is trained; inference: nothing is.
	training, inference bool
	// python: a line of Python can be put into what failed.
	python bool
	// own: it means nothing but by a program's own setting.
	own bool
	// without is the measure, of those that the log can show, that it would only
	// repeat.
	without string
	// size: what was asked for is a size, of which less can be wanted.
	size bool
	// branch is the case for which it holds where the log does not say, and told
	// what to do then, in a sentence without a subject.
	branch, told string
}

var (
	language  = []string{"text-inference", "text-training", "embedding"}
	pictures  = []string{"image-generation", "video-generation", "vision"}
	generated = []string{"text-inference", "text-training", "image-generation", "video-generation"}
	trained   = []string{"text-training", "vision", "audio", "graph", "science", "embedding"}
	noNetwork = []string{"rendering", "build", "data"}
)

// Suits reports that the fix is for who reads a case; own, that a program of the
// case spells it in its own way.
func (f Fix) Suits(c *ledger.Case, own bool) bool {
	n, r := f.Needs, c.Reader
	switch {
	case own && !(n.size && noSize(c)):
		return true
	case n.own && r.Program != "" && !c.In("llama.cpp"),
		n.training && !c.Training() && (c.Phase == "inference" || c.Phase == "load" || r.Work == "text-inference"),
		n.inference && c.Training(),
		n.size && noSize(c),
		n.python && (r.Edits == "flags" || r.Edits == "admin" || r.Language != "" && r.Language != "python"),
		r.Work == "" && (ownCode(c) || c.In("tensorflow")) && n.works != nil && !n.training && !n.python, // for work of one kind, of which nothing shows
		r.Work != "" && slices.Contains(n.notFor, r.Work),
		r.Work != "" && n.works != nil && !slices.Contains(n.works, r.Work) && !(n.training && c.Training()):
		return false
	}
	return true
}

// noSize: what was asked for is garbage, not a size.
func noSize(c *ledger.Case) bool {
	return ledger.AbsurdSize(c) || ledger.Requested(c) >= cause.Absurd || c.Root(fact.TorchAlloc) && ledger.Requested(c) >= cause.Absurd/16
}

// Presumes reports that the fix is for work of one kind where the log shows none
// of it: training, or what only some programs do.
func (f Fix) Presumes(c *ledger.Case) bool {
	n := f.Needs
	return n.training && !c.Training() || c.Reader.Work == "" && c.Reader.Program == "" && n.works != nil && !n.training
}

// AnyWork reports that the fix means something for every kind of work.
func (f Fix) AnyWork() bool { return f.Needs.works == nil && !f.Needs.training }

// Refuted says why the fix cannot help here, "" where it may.
func (f *Fix) Refuted(c *ledger.Case) string {
	switch {
	case f.Needs.without != "" && ledger.Has(c, f.Needs.without):
		return "The log shows that it is on already."
	case f.Useless != nil:
		return f.Useless(c)
	}
	return ""
}

// Branch is the case for which the fix holds where the log does not say what kind
// of work it was, and what to do then; "" where it says, or where the fix holds
// in any.
func (f Fix) Branch(c *ledger.Case) (branch, told string) {
	n := f.Needs
	training, work := c.Training(), c.Reader.Work
	switch {
	case n.branch == "",
		c.Reader.Program != "" && c.Reader.Edits != "code", // whose settings say what it does
		c.Asked.Has() && c.Ceiling().Has() && c.Asked.Bytes > c.Ceiling().Bytes,
		work != "" && c.Phase != "unknown",
		work != "" && n.works != nil,
		n.branch == "Training" && (training || c.Phase == "inference" || work == "text-inference"),
		n.inference && c.Phase == "inference":
		return "", ""
	}
	return n.branch, n.told
}

// InWords tells the fix without any program's spelling.
func (f Fix) InWords() string {
	if f.Told != "" {
		return f.Told
	}
	return f.Title + "."
}
