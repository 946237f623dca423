package diagnose

import (
	"sort"
	"strings"

	"github.com/oomdoc/oomdoc/parsers"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/ggml"
	"github.com/oomdoc/oomdoc/rules"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// newCase completes a group with what the rest of the log says.
func newCase(g failureGroup, facts *fact.Facts) *ledger.Case {
	c := &ledger.Case{Failure: g.root, Chain: g.chain, Facts: facts}
	for _, x := range g.chain {
		if x.At != g.root.At {
			c.Failure.Figures.Fill(x.Figures)
		}
	}
	c.Failure.Figures.Fill(ggml.Figures(facts, c.Failure))
	complete(&c.Failure.Figures, g.root.Line, facts)
	c.Stack = stack(g, facts)
	c.Framework = framework(c.Stack)
	c.Backend = backend(g)
	c.Phase = phase(g, facts)
	c.Model = model(g, facts)
	return c
}

// framework is the most specific program that the report has a name for;
// trainers and apps without one stand in the stack only.
func framework(stack []string) string {
	for _, name := range stack {
		if _, named := rules.Rank(name); named {
			return name
		}
	}
	return "other"
}

// stack names the programs that the incident's statements and the log's
// evidence prove, the most specific first.
func stack(g failureGroup, facts *fact.Facts) []string {
	proved := map[string]bool{}
	for _, x := range g.chain {
		// A weak wording beside a sure one may be another program's.
		if x.Framework != "" && (!x.Weak || g.root.Weak) {
			proved[x.Framework] = true
		}
	}
	for _, p := range facts.Programs {
		if p.Weight >= 2 {
			proved[p.Name] = true
		}
	}
	if server := launched(facts); len(proved) == 1 && proved["pytorch"] && server != "" {
		proved[server] = true
	}
	for name := range proved { // an app that a report has no name for still fails in some other program's words
		if _, named := rules.Rank(name); named && name != "other" {
			delete(proved, "other")
			if g.root.Kind == fact.BitsAndBytes { // a library of PyTorch's, whatever runs on that
				proved["pytorch"] = true
			}
			break
		}
	}
	names := make([]string, 0, len(proved))
	for name := range proved {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool {
		a, _ := rules.Rank(names[i])
		b, _ := rules.Rank(names[j])
		if a != b {
			return a > b
		}
		return names[i] < names[j]
	})
	return names
}

// launched is the server that the only command of the log starts, "" where there
// is none, or commands of several.
func launched(facts *fact.Facts) string {
	started := ""
	for _, x := range facts.Facts {
		server, command := strings.CutSuffix(x.Name, "_command")
		if _, named := rules.Rank(server); !command || !named || server == started {
			continue
		}
		if started != "" {
			return ""
		}
		started = server
	}
	return started
}

// backend is the root's, else that of another statement.
func backend(g failureGroup) string {
	if g.root.Backend != "" {
		return g.root.Backend
	}
	for _, x := range g.chain {
		if x.Backend != "" {
			return x.Backend
		}
	}
	return ""
}

// phase is what the wording proves, else what the nearest evidence says.
func phase(g failureGroup, facts *fact.Facts) string {
	if g.root.Phase != "" {
		return g.root.Phase
	}
	for _, x := range g.chain {
		if x.Phase != "" {
			return x.Phase
		}
	}
	if phase := parsers.PhaseAt(facts, g.root); phase != "" {
		return phase
	}
	return parsers.PhaseOf(facts)
}

// complete fills in the figures that lines before the failure state: weights
// of the load line, what is left for the cache.
func complete(g *fact.Figures, line int, facts *fact.Facts) {
	var ambient fact.Figures
	for after := range 2 { // what was said before counts, else what was said after
		for _, x := range facts.Facts {
			if (x.Line > line) == (after == 1) {
				ambient.Set(x.Name, x.Size, x.Count)
			}
		}
		g.Fill(ambient)
	}
}

// model picks the mention that weighs most, the nearest before the failure.
func model(g failureGroup, facts *fact.Facts) *ledger.Model {
	var best *fact.ModelMention
	for i := range facts.Models {
		m := &facts.Models[i]
		if best == nil || m.Weight > best.Weight || m.Weight == best.Weight && m.Line <= g.root.Line {
			best = m
		}
	}
	if best == nil {
		return nil
	}
	return ledger.NewModel(best.Name, best.Line)
}
