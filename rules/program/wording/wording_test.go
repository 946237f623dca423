package wording_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/rules/program/wording"
)

// TestCalledFutile: a card's sentence speaks against a fix by its everyday name,
// and not against one way to use it.
func TestCalledFutile(t *testing.T) {
	for name, c := range map[string]struct {
		not, fix string
		want     bool
	}{
		"alone in its sentence": {"A smaller batch: the check is for one request.", "lower_batch_size", true},
		"one of several":        {"A smaller image, fewer steps: no work on it had begun.", "lower_resolution", true},
		"second sentence":       {"Swap: the limit stays. Restarting: it is full again at once.", "restart_session", true},
		"one way to use it":     {"A smaller batch alone: the weights are too large.", "lower_batch_size", false},
		"another fix":           {"A smaller batch: the check is for one request.", "lower_context", false},
		"a fix without a name":  {"A smaller batch: the check is for one request.", "select_gpu", false},
		"by another name":       {"Closing programs, `empty_cache()`: the card is too small.", "close_other_apps", true},
		"nothing said":          {"", "select_gpu", false},
	} {
		t.Run(name, func(t *testing.T) { assert.Equal(t, c.want, wording.CalledFutile(c.not, c.fix)) })
	}
}
