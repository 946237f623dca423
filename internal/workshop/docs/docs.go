// Package docs makes the pages under docs/ from the literals of the rules: a
// page for each cause and each fix, and the index. A test holds the files to
// them.
package docs

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/internal/review"
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
	b.WriteString("Why memory runs out, what can be done about it, and [the questions that everybody asks](questions.md). How sizes are computed: [fit.md](fit.md); tried on real programs: [lab.md](lab.md). In issues, pull requests and jobs: [action.md](action.md). Making a release: [release.md](release.md). What [strangers wrote](strangers.md) into a log. How sure causes are: [confidence.md](confidence.md). What [leaves your machine](privacy.md). What is [taken for a failure](detection.md), and how often wrongly.\n\n")
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
		b.WriteString("### " + strings.Join(s.programs, ", ") + "\n\n" + s.other() + steps(s.steps))
	}
	b.WriteString("## Costs and checks\n\n")
	fmt.Fprintf(&b, "**What it costs:** %s\n\n**How to see that it worked:** %s\n\n**If it did not:** %s\n", f.Tradeoff, f.Check, f.Next)
	b.WriteString("\n## Causes it is good for\n\n")
	general, causes := f.Cures(), 0
	for _, r := range general {
		fmt.Fprintf(&b, "- [%s](../causes/%s.md)\n", r.Title, r.ID)
		causes++
	}
	for _, r := range cause.All() {
		if in := curesIn(f.ID, r.ID); len(in) > 0 && !slices.ContainsFunc(general, func(x cause.Rule) bool { return x.ID == r.ID }) {
			fmt.Fprintf(&b, "- [%s](../causes/%s.md), in some programs: %s\n", r.Title, r.ID, strings.Join(in, ", "))
			causes++
		}
	}
	if causes == 0 {
		b.WriteString("- None that is out of memory: it is for what only reads like it.\n")
	}
	return b.String()
}

// curesIn are the programs in which a fix is good for a cause, by their remedies
// and cards.
func curesIn(fix, cause string) []string {
	var out []string
	for _, p := range rules.Programs() {
		for _, q := range append([]*program.Program{p}, p.Like...) {
			named := slices.ContainsFunc(q.Remedies[cause], func(m remedy) bool { return m.Fix == fix })
			for _, k := range q.Cards {
				named = named || k.Cause == cause && slices.ContainsFunc(k.Cures, func(x cure) bool { return x.Fix == fix })
			}
			if named && p.Name != "" && !slices.Contains(out, p.Name) {
				out = append(out, p.Name)
			}
		}
	}
	return out
}

type (
	remedy = cause.Remedy
	cure   = cause.Cure
)

// languages of code fences, by what a step is quoted for.
var languages = map[string]string{"sh": "sh", "python": "python", "yaml": "yaml", "toml": "toml", "modelfile": "dockerfile", "dockerfile": "dockerfile"}

func steps(list []step.Step) string {
	var b strings.Builder
	for _, s := range step.Marked(list, false) {
		b.WriteString(block(s))
	}
	return b.String()
}

// block is words, or what is pasted under a line that says where it goes and
// what it takes.
func block(s step.Step) string {
	if s.Kind == "text" || s.Kind == "ui" {
		return s.Text + "\n\n"
	}
	return "*" + place(s) + use(s) + "*\n\n```" + cmp.Or(languages[s.Target], "text") + "\n" + s.Text + "\n```\n\n"
}

// place is where a step goes.
func place(s step.Step) string {
	first, _, _ := strings.Cut(s.Text, "\n")
	switch {
	case s.Kind == "env":
		return "In the shell that starts the program"
	case s.Kind == "shell":
		return "In a shell"
	case s.Kind == "python":
		return "In your code"
	case s.Kind == "modelfile":
		return "In a Modelfile"
	case s.Target == "yaml":
		return "In a configuration in YAML"
	case s.Target == "toml":
		return "In a configuration in TOML"
	case strings.HasPrefix(first, "-"):
		return options
	}
	return "In the program's settings"
}

const options = "Options of the program's command"

// use is what a step takes before it can be used.
func use(s step.Step) string {
	switch s.Applies {
	case step.Adapt:
		return "; adapt the pattern:"
	case step.FillIn:
		var told []string
		for _, f := range s.Fill {
			told = append(told, "`"+f.Name+"`: "+f.With)
		}
		return "; fill in " + strings.Join(told, ", ") + ":"
	}
	if place(s) == options {
		return ", as they stand:"
	}
	return ", as it stands:"
}

// spelling is how programs spell a fix, as far as it is the same for every
// case.
type spelling struct {
	programs []string
	of       *program.Program
	id       string
	steps    []step.Step
}

// other is what the fix is called and costs there, where that differs.
func (s spelling) other() string {
	told := ""
	if title := s.of.Titles[s.id]; title != "" {
		told = "**" + strings.TrimRight(title, ".") + ".** "
	}
	if cost := s.of.Costs[s.id]; cost != "" {
		told += "Costs: " + cost
	}
	if told == "" {
		return ""
	}
	return strings.TrimSpace(told) + "\n\n"
}

// spellings returns how each program spells a fix: its own way, else that of the
// first that it is like.
func spellings(id string) []spelling {
	var out []spelling
	for _, p := range rules.Programs() {
		if p.Name == "" {
			continue
		}
		family := append([]*program.Program{p}, p.Like...)
		i := slices.IndexFunc(family, func(q *program.Program) bool { return q.Spelled()[id] != nil })
		if i < 0 {
			continue
		}
		c := &ledger.Case{Facts: &fact.Facts{}, Framework: p.Name, Stack: []string{p.Name}, Phase: "unknown"}
		steps := family[i].Spelled()[id](c)
		if !startable(c, steps) {
			continue // meant for another member of the family
		}
		if at := slices.IndexFunc(out, func(s spelling) bool { return s.of == family[i] }); at >= 0 {
			out[at].programs = append(out[at].programs, p.Name)
			continue
		}
		out = append(out, spelling{programs: []string{p.Name}, of: family[i], id: id, steps: steps})
	}
	return out
}

// startable: every command of the steps comes with the programs of the case.
func startable(c *ledger.Case, steps []step.Step) bool {
	return !slices.ContainsFunc(steps, func(s step.Step) bool {
		if s.Kind != "shell" {
			return false
		}
		for line := range strings.Lines(s.Text) {
			if command := review.Started(line); command != "" && !rules.Theirs(c, command) {
				return true
			}
		}
		return false
	})
}
