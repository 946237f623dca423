package text_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// TestMentions: the same answers in whatever order they are asked for.
func TestMentions(t *testing.T) {
	l := text.NewLog(clean.Lines("ab x ab y ab", 1)) // squeezed: abxabyab
	for range 2 {
		assert.True(t, l.Mentions("ab"))
		assert.False(t, l.Mentions("ba"))
		assert.False(t, l.MentionsBefore("ab", 1))
		assert.True(t, l.MentionsBefore("ab", 2))
		assert.True(t, l.MentionsFrom("ab", 6))
		assert.False(t, l.MentionsFrom("ab", 7))
		for _, from := range []int{4, 0, 3, 1, 6, 7, 2, 5} {
			want := map[int]int{0: 0, 1: 3, 2: 3, 3: 3, 4: 6, 5: 6, 6: 6, 7: -1}[from]
			assert.Equal(t, want, l.Next("ab", from), "from %d", from)
		}
		assert.Equal(t, -1, l.Next("ba", 0))
	}
}
