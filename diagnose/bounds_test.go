package diagnose_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
)

// TestCountsAll: a failure that is said more often than messages are read is
// counted all the same, in logs that are kept whole and in longer ones.
func TestCountsAll(t *testing.T) {
	const line = "RuntimeError: CUDA error: out of memory\n"
	for _, times := range []int{3, 1000, 1100, 5000, 6500, 20_000} {
		r := diagnose.Bytes([]byte(strings.Repeat(line, times)))
		require.Len(t, r.Incidents, 1, "%d times", times)
		assert.Equal(t, times, r.Incidents[0].Count, "%d times", times)
		assert.Empty(t, r.Notes, "%d times", times)
	}
}

// TestCountsOthers: of failures with other figures each time those that are not
// reported are counted.
func TestCountsOthers(t *testing.T) {
	var b strings.Builder
	const times = 2000
	for i := range times {
		fmt.Fprintf(&b, "RuntimeError: CUDA out of memory. Tried to allocate %d.00 MiB (GPU 0)\n", 100+i)
	}
	r := diagnose.Bytes([]byte(b.String()))
	counted := 0
	for _, in := range r.Incidents {
		counted += in.Count
	}
	require.Len(t, r.Notes, 1)
	var left int
	_, err := fmt.Sscanf(r.Notes[0], "%d more statements", &left)
	require.NoError(t, err)
	assert.Equal(t, times, counted+left)
}

// soon is how long after the end of its context a reading may last. Wall time:
// the machine may be busy, so that the best of some tries counts.
const soon = 100 * time.Millisecond

// TestStopsInJudging: the context ends a reading wherever it is.
func TestStopsInJudging(t *testing.T) {
	log := heap(rand.New(rand.NewPCG(3, 4)), true) // takes half a second and more
	start := time.Now()
	diagnose.Bytes([]byte(log))
	whole := time.Since(start)
	for _, tenths := range []int{0, 1, 3, 5, 8} {
		var late time.Duration
		for range 5 {
			ctx, stop := context.WithTimeout(t.Context(), whole*time.Duration(tenths)/10)
			r, err := diagnose.Read(ctx, strings.NewReader(log))
			deadline, _ := ctx.Deadline()
			late = time.Since(deadline)
			stop()
			if err == nil {
				late = 0 // it was faster this time
				continue
			}
			assert.ErrorIs(t, err, context.DeadlineExceeded)
			assert.Nil(t, r)
			if late < soon {
				break
			}
		}
		t.Logf("%d tenths into it: %v late", tenths, late)
		assert.Less(t, late, soon, "%d tenths into it", tenths)
	}
}

// TestBlockedReader: a reader that blocks does not keep Read, and its goroutine
// ends with the call.
func TestBlockedReader(t *testing.T) {
	r, w, err := os.Pipe()
	require.NoError(t, err)
	defer w.Close()
	for name, before := range map[string]string{"at once": "", "after some text": torchLine("2.00", "1.20"), "after much": strings.Repeat("all is well\n", 100_000)} {
		ctx, stop := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer stop()
		ended := make(chan struct{})
		got, err := diagnose.Read(ctx, io.MultiReader(strings.NewReader(before), &tells{r, ended}))
		assert.ErrorIs(t, err, context.DeadlineExceeded, name)
		assert.Nil(t, got, name)
		_, err = io.WriteString(w, "x")
		require.NoError(t, err)
		<-ended
	}
}

// tells says when a call returns.
type tells struct {
	r     io.Reader
	ended chan struct{}
}

func (r *tells) Read(p []byte) (int, error) {
	defer close(r.ended)
	return r.r.Read(p[:1])
}

// TestSpinningReader: a reader that gives nothing for ever is left.
func TestSpinningReader(t *testing.T) {
	for _, ctx := range []context.Context{context.Background(), t.Context()} {
		r, err := diagnose.Read(ctx, io.MultiReader(strings.NewReader(torchLine("2.00", "1.20")), spinning{}))
		assert.ErrorIs(t, err, io.ErrNoProgress)
		require.NotNil(t, r)
		assert.True(t, r.OOM)
	}
	r, err := diagnose.Read(t.Context(), iotest.ErrReader(errors.New("no disk")))
	assert.ErrorContains(t, err, "no disk")
	assert.False(t, r.OOM)
}

type spinning struct{}

func (spinning) Read([]byte) (int, error) { return 0, nil }
