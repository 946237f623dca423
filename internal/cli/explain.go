package cli

import (
	"context"
	"flag"
	"fmt"
	"sort"
	"strings"

	"github.com/oomdoc/oomdoc/render"
	"github.com/oomdoc/oomdoc/rules"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
)

func (o *options) defineExplain(fs *flag.FlagSet) { o.defineLook(fs, []string{"markdown", "text"}) }

// explain prints what a cause, a fix or a message of a program means, from its own
// literal, or lists causes and fixes.
func (s *session) explain(ctx context.Context, args []string) error {
	o := &options{}
	files, err := readFlags("oomdoc explain", o.defineExplain, args)
	if err != nil {
		return err
	}
	if o.help {
		return s.helpOn(ctx, []string{"explain"})
	}
	o.files = files
	if err := o.check(); err != nil {
		return err
	}
	if len(o.files) > 1 {
		return trouble("explain takes one ID; oomdoc explain lists them")
	}
	if len(o.files) == 0 {
		return s.print([]byte(catalogue()))
	}
	doc, ok := explained(strings.ToLower(o.files[0]))
	if !ok {
		return trouble("there is no cause, fix or message %q%s; oomdoc explain lists them", o.files[0], meant(strings.ReplaceAll(strings.ToLower(o.files[0]), "-", "_"), allIDs()))
	}
	layout, colored := s.layout(o)
	if o.format == "text" {
		return s.print([]byte(doc.Text(layout)))
	}
	return s.printMarkdown(doc.Markdown(layout), colored, o)
}

// catalogue lists every ID with its title.
func catalogue() string {
	var b strings.Builder
	b.WriteString("Causes:\n")
	for _, r := range cause.All() {
		fmt.Fprintf(&b, "  %-30s %s\n", r.ID, r.Title)
	}
	b.WriteString("\nFixes:\n")
	fixes := fix.Fixes()
	ids := make([]string, 0, len(fixes))
	for id := range fixes {
		ids = append(ids, id)
	}
	sort.Strings(ids)
	for _, id := range ids {
		fmt.Fprintf(&b, "  %-30s %s\n", id, fixes[id].Title)
	}
	b.WriteString("\noomdoc explain ID tells more about one of them.\n")
	return b.String()
}

func explained(id string) (render.Document, bool) {
	if card, program := rules.Card(id); card != nil {
		return render.Card(card, program), true
	}
	id = strings.ReplaceAll(id, "-", "_")
	for _, r := range cause.All() {
		if r.ID == id {
			return render.Cause(r), true
		}
	}
	fix, ok := fix.Fixes()[id]
	if !ok {
		return nil, false
	}
	return render.Fix(fix, rules.Spellings(fix)), true
}
