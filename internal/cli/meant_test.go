package cli

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestMeant(t *testing.T) {
	known := []string{"run", "follow", "explain", "fit", "context_too_long", "format"}
	for word, want := range map[string]string{
		"folow": " (did you mean follow?)", "fromat": " (did you mean format?)", "contxt_too_long": " (did you mean context_too_long?)",
		"explian": " (did you mean explain?)", "rnu": " (did you mean run?)", "": "", "crash.log": "", "x": "", "frobnicate": "",
	} {
		assert.Equal(t, want, meant(word, known), word)
	}
}

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"a", "", 1}, {"abc", "abc", 0}, {"abc", "acb", 1}, {"kitten", "sitting", 3}, {"watch", "wach", 1}} {
		assert.Equal(t, c.want, distance(c.a, c.b), c.a)
		assert.Equal(t, c.want, distance(c.b, c.a), c.a)
	}
}
