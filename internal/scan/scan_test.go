package scan

import (
	"bytes"
	"context"
	"fmt"
	"math/rand"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSearchFindsWhatIndexFinds(t *testing.T) {
	words := []string{"out of memory", "oom", "memory", "cudamalloc failed", "failed"}
	s := NewSearch(words)
	r := rand.New(rand.NewSource(1))
	pieces := append([]string{" ", "o", "mem", "Out Of Memory", "CUDAMALLOC", "x", "fail", "\n"}, words...)
	for range 200 {
		var b strings.Builder
		for range 30 {
			b.WriteString(pieces[r.Intn(len(pieces))])
		}
		text := b.String()
		var want []Hit
		lower := strings.ToLower(text)
		for at := range lower {
			for w, word := range words {
				if strings.HasPrefix(lower[at:], word) {
					want = append(want, Hit{Word: w, At: at})
				}
			}
		}
		assert.ElementsMatch(t, want, s.All(text), "%q", text)
	}
}

func TestSearchOnly(t *testing.T) {
	s := NewSearch([]string{"out of memory", "memory", "oom"})
	fewer := s.Only(func(word int) bool { return word != 1 })
	assert.Equal(t, []Hit{{Word: 2, At: 0}, {Word: 0, At: 5}}, fewer.All("oom: out of memory"))
	assert.Equal(t, []Hit{{Word: 2, At: 0}, {Word: 0, At: 5}, {Word: 1, At: 12}}, s.All("oom: out of memory"))
}

func testWords() Words {
	return Words{Search: NewSearch([]string{"out of memory", "non-default args"}), Failure: []bool{true, false}}
}

// bigLog has a settings line, much that is healthy, and a failure at the end.
func bigLog(lines int) string {
	var b strings.Builder
	b.WriteString("INFO non-default args: {'model': 'x'}\n")
	for i := range lines {
		fmt.Fprintf(&b, "INFO engine step %d, GPU KV cache usage: 12.3%%\n", i)
	}
	b.WriteString("RuntimeError: CUDA out of memory\nlast line")
	return b.String()
}

func TestReadKeepsWindowsAndSettings(t *testing.T) {
	log := bigLog(100_000)
	ex, err := Read(context.Background(), strings.NewReader(log), testWords)
	require.NoError(t, err)
	assert.EqualValues(t, len(log), ex.Bytes)
	assert.Equal(t, 100_003, ex.Lines)
	require.Len(t, ex.Segments, 2)
	assert.Equal(t, 1, ex.Segments[0].FirstLine)
	assert.True(t, strings.HasPrefix(string(ex.Segments[0].Text), "INFO non-default args: {'model': 'x'}\nINFO engine step 0,"))
	assert.InDelta(t, headSize, len(ex.Segments[0].Text), 100)
	text := string(ex.Segments[1].Text)
	assert.True(t, strings.HasSuffix(text, "RuntimeError: CUDA out of memory\nlast line"))
	assert.True(t, strings.HasPrefix(text, "INFO engine step "))
	assert.Equal(t, 100_003, ex.Segments[1].FirstLine+strings.Count(text, "\n"))
	assert.Less(t, len(text), tailSize+200)
}

func TestReadKeepsShortLogsWhole(t *testing.T) {
	ex, err := Read(context.Background(), strings.NewReader("a\nb\n"), testWords)
	require.NoError(t, err)
	assert.Equal(t, []Segment{{FirstLine: 1, Text: []byte("a\nb\n")}}, ex.Segments)
	assert.Equal(t, 2, ex.Lines)
}

func TestReadDoesNotDependOnChunks(t *testing.T) {
	var b strings.Builder
	for i := range 40 {
		b.WriteString(bigLog(900 * (i%3 + 1)))
		b.WriteString("\n")
	}
	want, err := Read(context.Background(), strings.NewReader(b.String()), testWords)
	require.NoError(t, err)
	got, err := Read(context.Background(), iotest.OneByteReader(strings.NewReader(b.String())), testWords)
	require.NoError(t, err)
	assert.Equal(t, want, got)
}

func TestReadIsBounded(t *testing.T) {
	var flood strings.Builder
	for i := range 300_000 {
		fmt.Fprintf(&flood, "RuntimeError: CUDA out of memory, again and again and again, request %d\n", i)
	}
	ex, err := Read(context.Background(), strings.NewReader(flood.String()), testWords)
	require.NoError(t, err)
	assert.LessOrEqual(t, kept(ex), maxKept+2*blockSize)
	assert.Positive(t, ex.Dropped)
	assert.Equal(t, 300_000, ex.Lines)
}

func kept(ex *Excerpt) int {
	n := 0
	for _, s := range ex.Segments {
		n += len(s.Text)
	}
	return n
}

// TestReadCountsRepeats: of a message that comes again and again some windows
// are kept, and every other one is counted, wherever it stands.
func TestReadCountsRepeats(t *testing.T) {
	const message = "CUDA out of memory. Tried to allocate 2.00 GiB"
	for _, between := range []int{0, 1, 37, 900, 20_000} {
		var log strings.Builder
		want := 0
		for i := 0; log.Len() < 6<<20; i++ {
			fmt.Fprintf(&log, "%06d %s\n%s", i, message, strings.Repeat("all is well\n", between))
			want++
		}
		ex, err := Read(context.Background(), strings.NewReader(log.String()), testWords)
		require.NoError(t, err)
		got := 0
		for _, s := range ex.Segments {
			got += bytes.Count(s.Text, []byte(message))
		}
		for _, r := range ex.Repeats {
			got += r.Count
			assert.Contains(t, string(r.Text), message)
		}
		assert.Equal(t, want, got, "%d lines between", between)
		assert.Zero(t, ex.Dropped)
		assert.LessOrEqual(t, len(ex.Repeats), 1)
		assert.LessOrEqual(t, kept(ex), (maxWindows+1)*(windowUp+windowDown)+headSize+tailSize)
	}
}

func TestReadErrors(t *testing.T) {
	ex, err := Read(context.Background(), iotest.ErrReader(assert.AnError), testWords)
	assert.ErrorIs(t, err, assert.AnError)
	assert.Zero(t, ex.Bytes)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = Read(ctx, strings.NewReader("x"), testWords)
	assert.ErrorIs(t, err, context.Canceled)
}

func BenchmarkSearch(b *testing.B) {
	text := bytes.Repeat([]byte("INFO: 127.0.0.1:42 - \"POST /v1/chat/completions HTTP/1.1\" 200 OK\n"), 16<<10)
	s := NewSearch([]string{"out of memory", "cudamalloc failed", "oom-kill", "no available memory"})
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		s.All(string(text))
	}
}
