package render

import (
	"regexp"
	"strings"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/rules"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
)

// Cause is the page about a cause, from its rule's literal.
func Cause(r cause.Rule) Document {
	p := &page{level: 1}
	p.heading(1, prose(r.Title))
	p.paragraphs(r.Doc())
	if r.Settles != "" {
		p.say(bold("To be sure:"), prose(" "+r.Settles))
	}
	fixes := fix.Fixes()
	var items []inline
	for _, id := range r.Cures() {
		if fix, ok := fixes[id]; ok {
			items = append(items, join(literal(fix.ID), prose(": "+fix.Title)))
		}
	}
	if len(items) > 0 {
		p.heading(2, prose("What cures it, the best first"))
		p.items(items)
	}
	return p.blocks
}

// Fix is the page about a fix, with how it is done in programs.
func Fix(f fix.Fix, spellings []rules.Spelling) Document {
	p := &page{level: 1}
	p.heading(1, prose(f.Title))
	p.paragraphs(f.Doc())
	for _, x := range []inline{labelled("Costs:", f.Tradeoff), labelled("Check:", f.Check), labelled("Otherwise:", f.Next)} {
		if x != nil {
			p.say(x)
		}
	}
	p.spellings(spellings)
	var items []inline
	for _, r := range f.Cures() {
		items = append(items, join(literal(r.ID), prose(": "+r.Title)))
	}
	if len(items) > 0 {
		p.heading(2, prose("What it is for"))
		p.items(items)
	}
	return p.blocks
}

// spellings are how a fix is done: in general, then by program.
func (p *page) spellings(spellings []rules.Spelling) {
	p.heading(2, prose("How"))
	for _, s := range spellings {
		if s.Program != "" {
			p.say(bold(s.Program + ":"))
		}
		p.steps(s.Steps)
		p.say(fills(s.Steps))
	}
}

// Card is the page about a message of a program: what it means, what cures it,
// what cannot help, and where that is known from.
func Card(k *cause.Card, program string) Document {
	p := &page{level: 1}
	title := k.Headline
	if title == "" {
		title = "ran out of memory"
	}
	p.heading(1, prose(program+" "+blanks(title)))
	p.say(prose(blanks(k.Means)))
	told := map[string]bool{}
	for _, cure := range k.Cures {
		if cure.ByLine {
			continue // of thirty lines that a log may end in, each has its own
		}
		title := cure.Title
		if title == "" {
			title = fix.Fixes()[cure.Fix].Title
		}
		if told[title] { // the same for other cases
			continue
		}
		told[title] = true
		item := join(bold(strings.TrimRight(blanks(title), ".")+"."), prose(" "+blanks(cure.Told)))
		p.blocks = append(p.blocks, list{[]inline{item}, len(told)})
		var ways []inline
		for _, w := range cure.Ways {
			ways = append(ways, join(bold(w.For+":"), prose(" "+blanks(w.Text))))
		}
		p.items(ways)
		if cure.Text != "" {
			p.steps([]diagnose.Step{{Kind: cure.Kind, Text: blanks(cure.Text)}})
		}
	}
	p.say(labelled("Won't help:", blanks(k.Not)))
	p.say(prose(blanks(k.Later)))
	var sources []inline
	for _, s := range k.Sources {
		sources = append(sources, literal(s))
	}
	p.say(bold("Known from:"))
	p.items(sources)
	return p.blocks
}

// figuresOfLogs are what a card says only of a log.
var figuresOfLogs = regexp.MustCompile(`\[\[.*?\]\]|\{[a-z_0-9%.]+\}`)

// blanks is a card's sentence without what a log would put in.
func blanks(s string) string {
	return figuresOfLogs.ReplaceAllStringFunc(s, func(part string) string {
		if part[0] == '[' {
			return ""
		}
		return "..."
	})
}

func (p *page) paragraphs(doc []string) {
	for _, par := range doc {
		p.say(prose(par))
	}
}
