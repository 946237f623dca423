package render

import (
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

// Fix is the page about a fix.
func Fix(f fix.Fix) Document {
	p := &page{level: 1}
	p.heading(1, prose(f.Title))
	p.paragraphs(f.Doc())
	for _, x := range []inline{labelled("Costs:", f.Tradeoff), labelled("Check:", f.Check), labelled("Otherwise:", f.Next)} {
		if x != nil {
			p.say(x)
		}
	}
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

func (p *page) paragraphs(doc []string) {
	for _, par := range doc {
		p.say(prose(par))
	}
}
