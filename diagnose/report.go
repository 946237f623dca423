package diagnose

import (
	"github.com/oomdoc/oomdoc/internal/review"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/answer"
	"github.com/oomdoc/oomdoc/rules/effect"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/odds"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Schema names the version of the report's JSON. Fields are only ever added.
const Schema = "oomdoc.report.v1"

// Types of the report, from the packages that make them, so that one import is
// enough.
type (
	Figures   = fact.Figures
	Size      = fact.Size
	Count     = fact.Count
	Process   = fact.Process
	Lookalike = fact.Lookalike
	Model     = ledger.Model
	Cause     = odds.Cause
	Evidence  = odds.Evidence
	Fix       = answer.Advice
	Step      = step.Step
	Effect    = effect.Effect
	Useless   = answer.Useless
	Beyond    = answer.Beyond
	Knowledge = answer.Knowledge
	Open      = answer.Open
	Fill      = step.Fill
	Memory    = ledger.Memory
	Entry     = ledger.Entry
	Explained = ledger.Explained
	Reader    = ledger.Reader
	// Contradiction is something that contradicted the rest of an answer.
	Contradiction = review.Contradiction
)

// Report is what [Read] found. It marshals to the JSON that schema.json
// describes, and a report read back from that JSON is equal to it.
type Report struct {
	Schema string `json:"schema"`
	// OOM says whether memory ran out in this log.
	OOM   bool  `json:"oom"`
	Input Input `json:"input"`
	// Incidents stand with the root cause first.
	Incidents []Incident `json:"incidents"`
	// Lookalikes read like out-of-memory and are something else.
	Lookalikes []Lookalike `json:"lookalikes,omitempty"`
	// Recovered are failures that the program survived.
	Recovered []Notice `json:"recovered,omitempty"`
	// Notes say what could not be read or was left out.
	Notes []string `json:"notes,omitempty"`
	// Live is what the machine said of itself, nil where nobody asked it.
	Live *Live `json:"live,omitempty"`
	// Saved says that the report was read back and not made of a log just now:
	// see [Report.AsSaved].
	Saved bool `json:"saved,omitempty"`
}

// Input is what was read.
type Input struct {
	// Name is the file's, as the caller named it; empty for standard input.
	Name  string `json:"name,omitempty"`
	Bytes int64  `json:"bytes"`
	Lines int    `json:"lines"`
}

// Notice is a failure that the program recovered from, or a warning that reads
// like one.
type Notice struct {
	ID    string `json:"id"`
	Line  int    `json:"line"`
	Title string `json:"title"`
}

// Incident is one failure that a user has to fix.
type Incident struct {
	Framework string   `json:"framework"`
	Stack     []string `json:"stack,omitempty"`
	Backend   string   `json:"backend,omitempty"`
	Phase     string   `json:"phase"`
	Line      int      `json:"line"`
	EndLine   int      `json:"end_line"`
	// Count is how often it happened, Ranks which ranks it hit.
	Count   int      `json:"count"`
	Ranks   []string `json:"ranks,omitempty"`
	Message string   `json:"message"`
	// Headline says what happened in a line, Summary in figures.
	Headline string  `json:"headline,omitempty"`
	Summary  string  `json:"summary,omitempty"`
	Figures  Figures `json:"figures"`
	// Derived amounts were computed from figures: shortfall, slack, others.
	Derived map[string]Derived `json:"derived,omitempty"`
	// Ledger are the incident's numbers, each once: total, limit, free, asked,
	// room, short, mine, slack, others, others_at_most, weights, cache, work, ram.
	// One that the log does not give is not there.
	Ledger map[string]Entry `json:"ledger,omitempty"`
	// Explained says what the bytes that were asked for are, nil where several
	// things could have that size or nothing does.
	Explained *Explained `json:"explained,omitempty"`
	Model     *Model     `json:"model,omitempty"`
	// Reader is who pasted the log: what they run, and what they can change.
	Reader Reader `json:"reader,omitzero"`
	// Memory is what filled the memory that ran out, part by part, nil where the
	// log does not say more than who held it.
	Memory *Memory `json:"memory,omitempty"`
	// BeyondCard: nothing on this card can hold the model whole.
	BeyondCard *Beyond `json:"beyond_card,omitempty"`
	Causes     []Cause `json:"causes"`
	// Knowledge is what is known of this message of this program, nil where
	// general knowledge has to do.
	Knowledge *Knowledge `json:"knowledge,omitempty"`
	// Open is what the log does not say.
	Open  []Open `json:"open,omitempty"`
	Fixes []Fix  `json:"fixes"`
	// WontHelp is usual advice that cannot help here, with the reason.
	WontHelp []Useless `json:"wont_help,omitempty"`
	// Dropped is what a last look took out of the answer because the rest of it
	// contradicts it: none on any log that is known.
	Dropped []Contradiction `json:"dropped,omitempty"`
	// Consequences are later failures that follow from this one.
	Consequences []Consequence `json:"consequences,omitempty"`
}

// Derived is an amount and the figures it was computed from.
type Derived struct {
	Bytes int64    `json:"bytes"`
	From  []string `json:"from"`
}

// Consequence is a statement that only reports an incident again.
type Consequence struct {
	Line    int    `json:"line"`
	Message string `json:"message"`
}
