package rules

import (
	"cmp"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// TestProgramsAreSound: whatever a program says is about fixes and causes that
// exist, and holds for a case that shows next to nothing.
func TestProgramsAreSound(t *testing.T) {
	causes := map[string]bool{}
	for _, r := range cause.All() {
		causes[r.ID] = true
	}
	for _, e := range Programs() {
		name := cmp.Or(e.Name, "a family")
		empty := func() *ledger.Case { return &ledger.Case{Facts: &fact.Facts{}, Stack: []string{e.Name}} }
		for id, steps := range e.Spelled() {
			assert.Contains(t, fix.Fixes(), id, "%s: steps", name)
			assert.NotEmpty(t, steps(empty()), "%s: steps of %s for an empty case", name, id)
		}
		for id, effect := range e.Effects {
			assert.Contains(t, fix.Fixes(), id, "%s: effect", name)
			assert.Nil(t, effect(empty()), "%s: effect of %s without figures", name, id)
		}
		for id, useless := range e.Useless {
			assert.Contains(t, fix.Fixes(), id, "%s: useless", name)
			useless(empty())
		}
		for id := range e.Checks {
			assert.Contains(t, fix.Fixes(), id, "%s: check", name)
		}
		for id, clues := range e.Clues {
			assert.True(t, causes[id], "%s: clue for %s", name, id)
			for _, clue := range clues {
				assert.LessOrEqual(t, clue.Look(empty()).Weight, cause.Stated, "%s: clue for %s", name, id)
			}
		}
		for cause, remedies := range e.Remedies {
			assert.True(t, causes[cause], "%s: remedies for %s", name, cause)
			for _, m := range remedies {
				assert.Contains(t, fix.Fixes(), m.Fix, "%s: remedy for %s", name, cause)
			}
		}
	}
}

// hostile is a model's name that runs a command wherever it is not in single
// quotes.
const hostile = "x'\"; $(reboot) #\n\x1b[2J"

// TestHostileNamesInPrograms: what a log says never becomes a command of its
// own, whoever spells it.
func TestHostileNamesInPrograms(t *testing.T) {
	for _, e := range Programs() {
		for id, steps := range e.Spelled() {
			c := &ledger.Case{Facts: &fact.Facts{}, Framework: e.Name, Stack: []string{e.Name}, Model: ledger.NewModel(hostile, 1)}
			for _, s := range steps(c) {
				assert.NotContains(t, s.Text, "\x1b", "%s: %s", e.Name, id)
				if s.Kind == "shell" || s.Kind == "env" {
					assert.True(t, harmless(s.Text), "%s: %s: %s", e.Name, id, s.Text)
				}
			}
		}
	}
}

// harmless reports that a POSIX shell takes every "$(" literally.
func harmless(text string) bool {
	quote := byte(0)
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quote == '\'':
			if c == '\'' {
				quote = 0
			}
		case c == '\\':
			i++
		case c == '$' && i+1 < len(text) && text[i+1] == '(':
			return false
		case c == quote:
			quote = 0
		case quote == 0 && (c == '\'' || c == '"'):
			quote = c
		case quote == 0 && c == '#' && i > 0 && text[i-1] == ' ':
			for i < len(text) && text[i] != '\n' {
				i++
			}
		}
	}
	return quote == 0
}

func TestHarmless(t *testing.T) {
	for text, want := range map[string]bool{
		`vllm serve 'a$(b)'`:        true,
		`vllm serve "a$(b)"`:        false,
		`vllm serve a$(b)`:          false,
		`vllm serve \$(b)`:          true,
		`x 'it'\''s $(b)'`:          true,
		`x 'a' # it's a $(b)`:       true,
		`curl -d '{"m": "x'"; $(b)`: false,
	} {
		assert.Equal(t, want, harmless(text), text)
	}
}
