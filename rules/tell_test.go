package rules_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

// TestTell: a sentence names a setting only where its value could stand in a
// command; what is optional falls away with it.
func TestTell(t *testing.T) {
	for _, x := range []struct {
		name, value, want string
		ok                bool
	}{
		{"plain", "23,23", "`--gpu-split 23,23` gives those GB to the weights. It is 23,23 now.", true},
		{"substitution", "23,$(id)", "", false},
		{"backtick", "23`id`", "", false},
		{"two commands", "23;id", "", false},
		{"blank", "23 24", "", false},
	} {
		t.Run(x.name, func(t *testing.T) {
			c := &ledger.Case{Facts: &fact.Facts{Settings: []fact.Setting{{Name: "gpu_split", Value: x.value, Line: 1}}}}
			card := &cause.Card{}
			got, ok := card.Tell(c, "`--gpu-split {gpu_split}` gives those GB to the weights.[[ It is {gpu_split} now.]]")
			assert.Equal(t, x.ok, ok)
			assert.Equal(t, x.want, got)
			got, ok = card.Tell(c, "The weights come first.[[ It is {gpu_split} now.]]")
			assert.True(t, ok)
			assert.Equal(t, x.ok, got != "The weights come first.")
		})
	}
}
