package digrams_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/internal/digrams"
)

func TestContain(t *testing.T) {
	const s = "cudaoutofmemory.triedtoallocate2.00gib(gpu0;23.69gibtotalcapacity;"
	set := digrams.Of(s)
	for from := range len(s) {
		for to := from; to <= len(s); to++ {
			assert.True(t, set.Contain(s, s[from:to]), s[from:to])
		}
	}
	for _, other := range []string{"alreadyallocated", "totalcapactyof", "free;", "xpuoutofmemory", "acitytotal", "\x00"} {
		assert.Equal(t, strings.Contains(s, other), set.Contain(s, other), other)
	}
	assert.Equal(t, strings.Index(s, "2.00gib"), set.Index(s, "2.00gib"))
	assert.Equal(t, strings.Index(s, "2.00gib"), (*digrams.Set)(nil).Index(s, "2.00gib"))
	assert.True(t, set.All("totalcapacity.tried"), "pairs of it, not in this order")
	assert.False(t, set.All("xpuout"))
}
