// Package docs makes the pages under docs/ from the literals of the rules: a
// page for each cause and each fix, and the index. A test holds the files to
// them.
package docs

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program"
	"github.com/oomdoc/oomdoc/rules/step"
)

// Pages returns every generated page by its path under docs/.
func Pages() map[string]string {
	pages := map[string]string{"README.md": index()}
	for _, r := range cause.All() {
		pages["causes/"+r.ID+".md"] = causePage(r)
	}
	for _, id := range fixIDs() {
		pages["fixes/"+id+".md"] = fixPage(fix.Fixes()[id])
	}
	return pages
}

func fixIDs() []string { return slices.Sorted(maps.Keys(fix.Fixes())) }

const generated = "<!-- Made from the literals in rules/ by go test ./internal/workshop/docs -update: edit those. -->\n\n"

func index() string {
	var b strings.Builder
	b.WriteString(generated + "# What oomdoc knows\n\n")
	b.WriteString("Why memory runs out, what can be done about it, and [the questions that everybody asks](questions.md). How sizes are computed: [fit.md](fit.md); tried on real programs: [lab.md](lab.md). In issues, pull requests and jobs: [action.md](action.md). Making a release: [release.md](release.md). What [strangers wrote](strangers.md) into a log. What [leaves your machine](privacy.md). What is [taken for a failure](detection.md), and how often wrongly.\n\n")
	b.WriteString("## Causes\n\n")
	for _, r := range cause.All() {
		fmt.Fprintf(&b, "- [%s](causes/%s.md) `%s`\n", r.Title, r.ID, r.ID)
	}
	b.WriteString("\n## Fixes\n\n")
	for _, id := range fixIDs() {
		fmt.Fprintf(&b, "- [%s](fixes/%s.md) `%s`\n", fix.Fixes()[id].Title, id, id)
	}
	return b.String()
}

func causePage(r cause.Rule) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s# %s\n\n`%s`\n\n%s\n", generated, r.Title, r.ID, strings.Join(r.Doc(), "\n\n"))
	fmt.Fprintf(&b, "\n## To be sure\n\n%s\n", r.Settles)
	b.WriteString("\n## What helps\n\n")
	for _, id := range r.Cures() {
		f := fix.Fixes()[id]
		fmt.Fprintf(&b, "- [%s](../fixes/%s.md). Costs: %s\n", f.Title, f.ID, f.Tradeoff)
	}
	b.WriteString("\nThe order is the general one; a report ranks them by the figures of the log and by the program.\n")
	return b.String()
}

func fixPage(f fix.Fix) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s# %s\n\n`%s`\n\n%s\n", generated, f.Title, f.ID, strings.Join(f.Doc(), "\n\n"))
	b.WriteString("\n## How\n\nIn general; a report spells it for the program, version and model of the log.\n\n")
	b.WriteString(steps(f.Steps(&ledger.Case{Facts: &fact.Facts{}})))
	for _, s := range spellings(f.ID) {
		fmt.Fprintf(&b, "### %s\n\n%s", strings.Join(s.programs, ", "), steps(s.steps))
	}
	b.WriteString("## Costs and checks\n\n")
	fmt.Fprintf(&b, "**What it costs:** %s\n\n**How to see that it worked:** %s\n\n**If it did not:** %s\n", f.Tradeoff, f.Check, f.Next)
	if cures := f.Cures(); len(cures) > 0 {
		b.WriteString("\n## Causes it is good for\n\n")
		for _, r := range cures {
			fmt.Fprintf(&b, "- [%s](../causes/%s.md)\n", r.Title, r.ID)
		}
	}
	return b.String()
}

// languages of code fences, by the kind of a step.
var languages = map[string]string{"shell": "sh", "env": "sh", "python": "python", "config": "yaml", "modelfile": "dockerfile"}

func steps(list []step.Step) string {
	var b strings.Builder
	for _, s := range list {
		b.WriteString(block(s))
	}
	return b.String()
}

func block(s step.Step) string {
	language, code := languages[s.Kind]
	if !code {
		return s.Text + "\n\n"
	}
	return "```" + language + "\n" + s.Text + "\n```\n\n"
}

// spelling is how programs spell a fix, as far as it is the same for every
// case.
type spelling struct {
	programs []string
	steps    []step.Step
}

// spellings returns how each program spells a fix, those that spell it alike
// together.
func spellings(id string) []spelling {
	var out []spelling
	for _, p := range rules.Programs() {
		if steps := p.Spelled()[id]; steps != nil {
			names := like(p)
			c := &ledger.Case{Facts: &fact.Facts{}, Framework: names[0], Stack: names[:1], Phase: "unknown"}
			spelled := spelling{programs: names, steps: steps(c)}
			if i := slices.IndexFunc(out, func(x spelling) bool { return reflect.DeepEqual(x.steps, spelled.steps) }); i >= 0 {
				out[i].programs = append(out[i].programs, names...)
				continue
			}
			out = append(out, spelled)
		}
	}
	return out
}

// like are the names of a program and of those that have its entries too.
func like(p *program.Program) []string {
	names := []string{p.Name}
	for _, q := range rules.Programs() {
		if slices.Contains(q.Like, p) {
			names = append(names, q.Name)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" })
}
