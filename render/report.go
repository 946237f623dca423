package render

import (
	"strings"

	"github.com/oomdoc/oomdoc/diagnose"
)

// Options say how a report is shown.
type Options struct {
	Layout
	// Brief shows what happened, the cause and the first fix only; Full all that
	// is known: evidence, checks, further fixes.
	Brief, Full bool
	// Terse leaves out what is least needed: 0 nothing, Tersest all that a
	// screen of 24 lines has no room for.
	Terse int
	// Name stands above the report, where there are several.
	Name string
}

// Tersest is the shortest form of the answer.
const Tersest = 5

// Markdown writes a report as Markdown.
func Markdown(r *diagnose.Report, o Options) string { return Report(r, o).Markdown(o.Layout) }

// Text writes a report as plain text.
func Text(r *diagnose.Report, o Options) string { return Report(r, o).Text(o.Layout) }

// Report lays a report out.
func Report(r *diagnose.Report, o Options) Document {
	p := &page{report: r, options: o, level: 1}
	if o.Name != "" {
		p.heading(1, literal(o.Name))
		p.level = 2
	}
	if r.Saved {
		p.say(bold("A saved report:"), prose(" it was read from a file, and anybody can have written it. Commands that this version of oomdoc would not give itself are shown as text."))
	}
	if len(r.Incidents) == 0 {
		p.noIncident()
		return p.blocks
	}
	first := &r.Incidents[0]
	switch {
	case o.Brief:
		p.heading(p.level, headline(first))
		p.say(prose(first.Summary))
		p.briefly(first)
	case o.Full:
		p.everything(first)
	default:
		p.answer(first)
	}
	return p.blocks
}

// page is a document in the making.
type page struct {
	report  *diagnose.Report
	options Options
	level   int // of the first heading
	short   int // how much is left out for the sake of few words
	blocks  Document
}

func (p *page) heading(level int, title inline) {
	p.blocks = append(p.blocks, heading{level, title})
}

func (p *page) say(parts ...inline) {
	if body := join(parts...); len(body) > 0 {
		p.blocks = append(p.blocks, paragraph{body})
	}
}

func (p *page) items(items []inline) {
	if len(items) > 0 {
		p.blocks = append(p.blocks, list{items: items})
	}
}

func (p *page) show(language, body string) {
	if body != "" {
		p.blocks = append(p.blocks, listing{language, body})
	}
}

// headline is what happened in a line; reports of before it was written have
// their cause's title.
func headline(in *diagnose.Incident) inline {
	switch {
	case in.Headline != "":
		return prose(in.Headline)
	case len(in.Causes) > 0:
		return prose(in.Causes[0].Title)
	}
	return prose("Memory ran out")
}

// ended is a sentence with its full stop.
func ended(s string) string {
	if s == "" || strings.ContainsAny(s[len(s)-1:], ".!?:") {
		return s
	}
	return s + "."
}
