// Package diagnose reads logs of programs that ran out of memory and says what
// happened in figures, why, and what to do about it.
//
//	report, err := diagnose.Read(ctx, os.Stdin)
//
// It works offline, keeps no state and runs nothing.
package diagnose

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/internal/review"
	"github.com/oomdoc/oomdoc/internal/scan"
	"github.com/oomdoc/oomdoc/parsers"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
	"github.com/oomdoc/oomdoc/rules"
	"github.com/oomdoc/oomdoc/rules/answer"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// reader reads logs with all that is known of programs.
var reader = sync.OnceValue(func() *parsers.Set { return parsers.New(rules.Proofs(), rules.Words()) })

// Read diagnoses a log. The report is complete when err is nil; a log without
// any out-of-memory failure gives a report with OOM false. Read is safe for
// concurrent use.
//
// When r fails, Read returns the report of what came before together with an
// error that wraps r's; a reader that returns neither bytes nor an error again
// and again fails with [io.ErrNoProgress].
//
// When ctx is done, Read returns nil and ctx.Err() within a tenth of a second,
// also while it judges and while r blocks. For that, r is read in a goroutine of
// its own (not if ctx can never be done). Where r.Read blocks, that goroutine
// ends only when the call returns; r must not be used before that, except to
// close it, which ends the call on a pipe or a connection.
func Read(ctx context.Context, r io.Reader, opts ...Option) (*Report, error) {
	var o options
	for _, set := range opts {
		set(&o)
	}
	counted := &counter{r: unblocked(ctx, r)}
	ex, err := scan.Read(ctx, utf8Reader(counted), reader().ScanWords)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	var live *Live
	if o.beside != nil {
		live = o.beside()
	}
	live.join(ex)
	report := judge(ctx, ex, live.signals()...)
	if report == nil {
		return nil, ctx.Err()
	}
	report.Input, report.Live = Input{Bytes: counted.n, Lines: ex.Lines}, live
	if live != nil {
		live.testify(report.Incidents)
	}
	if err != nil {
		report.Notes = append(report.Notes, fmt.Sprintf("Reading broke off: this is the report on the first %d bytes.", counted.n))
	}
	return report, err
}

// Bytes diagnoses a log that is in memory.
func Bytes(raw []byte) *Report {
	report, err := Read(context.Background(), bytes.NewReader(raw))
	if err != nil {
		panic(err) // a bytes.Reader has none
	}
	return report
}

// judge makes the report of what a scan kept, and of signals that stand in no
// line of it; nil when ctx is done meanwhile.
func judge(ctx context.Context, ex *scan.Excerpt, beside ...fact.Signal) *Report {
	var lines []clean.Line
	for _, s := range ex.Segments {
		if ctx.Err() != nil {
			return nil
		}
		if own := clean.Lines(valid(s.Text), s.FirstLine); lines == nil { // the only ones, mostly
			lines = own
		} else {
			lines = append(lines, own...)
		}
	}
	log := text.NewLog(lines)
	log.StopOn(ctx.Done())
	facts := reader().Parse(log)
	if ctx.Err() != nil {
		return nil
	}
	facts.Signals = append(beside, facts.Signals...)
	report := &Report{
		Schema:     Schema,
		Incidents:  []Incident{},
		Lookalikes: facts.Lookalikes,
		Notes:      facts.Notes,
	}
	for _, n := range facts.Notices {
		report.Recovered = append(report.Recovered, Notice{ID: n.ID, Line: n.Line, Title: n.Title})
	}
	groups, left := group(facts)
	if len(groups) == 0 {
		report.Lookalikes = alike(log, facts)
	}
	left += ex.Dropped + facts.Left + addRepeats(ctx, groups, ex.Repeats) + addUnread(ctx, groups, facts.Unread)
	for i, g := range groups {
		if i >= maxIncidents {
			left += g.count
			continue
		}
		if ctx.Err() != nil {
			return nil
		}
		report.Incidents = append(report.Incidents, incident(g, facts))
	}
	if left > 0 {
		report.Notes = append(report.Notes, fmt.Sprintf("%d more statements that read like failures, with other figures, are left out", left))
	}
	if report.OOM = len(report.Incidents) > 0; report.OOM && len(facts.Closed) > 0 {
		report.Notes = append(report.Notes, strings.Join(facts.Closed, ", ")+" of your command is left out above: it runs code from elsewhere or opens this machine. Add it if you meant it.")
	}
	return withoutCredentials(report)
}

func valid(text []byte) string {
	if utf8.Valid(text) { // eight bytes at a time
		return string(text)
	}
	return strings.ToValidUTF8(string(text), "\ufffd")
}

// incident judges one group of statements.
func incident(g failureGroup, facts *fact.Facts) Incident {
	c := newCase(g, facts)
	causes := rules.Judge(c)
	fixes, useless := rules.Advise(c, causes)
	a := review.Answer{Story: rules.Tell(c, causes), Causes: causes, Fixes: fixes, Useless: useless, Knowledge: rules.Known(c, causes)}
	dropped := review.Look(c, &a)
	in := Incident{
		Headline: a.Story.Headline, Summary: a.Story.Summary,
		Framework: c.Framework, Stack: c.Stack, Backend: c.Backend, Phase: c.Phase,
		Line: c.Failure.Line, EndLine: c.Failure.EndLine, Count: g.count, Ranks: g.ranks,
		Message: c.Failure.Message, Figures: c.Failure.Figures, Model: c.Model, Reader: c.Reader, Memory: c.Memory, Ledger: c.Entries(), Explained: c.Explained,
		BeyondCard: answer.BeyondCard(c, causes), Causes: a.Causes, Fixes: a.Fixes, WontHelp: a.Useless, Knowledge: a.Knowledge, Open: answer.Opens(a.Causes, a.Fixes), Dropped: dropped,
	}
	for _, x := range g.chain {
		if x.At != c.Failure.At && x.Wrapper {
			in.Consequences = append(in.Consequences, Consequence{Line: x.Line, Message: x.Message})
		}
	}
	in.Derived = derived(c)
	return in
}

func derived(c *ledger.Case) map[string]Derived {
	out := map[string]Derived{}
	for name, a := range map[string]ledger.Entry{"shortfall": c.Shortfall, "slack": c.Slack, "others": c.Others, "mine": c.Mine} {
		if a.Has() {
			out[name] = Derived{Bytes: a.Bytes, From: a.From}
		}
	}
	if len(out) == 0 {
		return nil
	}
	return out
}
