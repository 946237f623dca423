package diagnose_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
)

// each collects the incidents of a log.
func each(t *testing.T, r io.Reader) []diagnose.Incident {
	t.Helper()
	var out []diagnose.Incident
	require.NoError(t, diagnose.Each(context.Background(), r, func(in diagnose.Incident) error {
		out = append(out, in)
		return nil
	}))
	return out
}

// pieces delivers a log in pieces of any size.
type pieces struct {
	r   io.Reader
	rnd *rand.Rand
}

func (p *pieces) Read(b []byte) (int, error) {
	return p.r.Read(b[:min(len(b), 1+p.rnd.IntN(2000))])
}

// TestEachFindsWhatReadFinds: over all logs, in whatever pieces they come.
func TestEachFindsWhatReadFinds(t *testing.T) {
	t.Parallel()
	logs, err := filepath.Glob("../testdata/logs/*/*.log")
	require.NoError(t, err)
	rnd := rand.New(rand.NewPCG(1, 2))
	oom, same := 0, 0
	for i, name := range logs {
		if testing.Short() && i%10 != 0 {
			continue
		}
		raw, want := read(t, name)
		got := each(t, &pieces{bytes.NewReader(raw), rnd})
		if !want.OOM {
			continue
		}
		oom++
		if !assert.NotEmpty(t, got, name) {
			continue
		}
		for _, in := range got {
			if in.Causes[0].ID == want.Incidents[0].Causes[0].ID && in.Framework == want.Incidents[0].Framework {
				same++
				break
			}
		}
	}
	t.Logf("%d of %d answered alike", same, oom)
	assert.GreaterOrEqual(t, same*100, oom*98)
}

const settled = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate %d.00 MiB. GPU 0 has a total capacity of 8.00 GiB of which 10.00 MiB is free. Including non-PyTorch memory, this process has 7.90 GiB memory in use. Of the allocated memory 7.50 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.\n"

// TestEachTellsAtOnce: what was said is told while the log is still open.
func TestEachTellsAtOnce(t *testing.T) {
	t.Parallel()
	r, w := io.Pipe()
	found := make(chan diagnose.Incident, 8)
	done := make(chan error, 1)
	go func() {
		done <- diagnose.Each(context.Background(), r, func(in diagnose.Incident) error { found <- in; return nil })
	}()
	fmt.Fprintf(w, "step 1\nstep 2\n"+settled, 20)
	in := <-found // after a second of silence
	assert.Equal(t, 3, in.Line)
	fmt.Fprint(w, "restarting\n")
	fmt.Fprint(w, strings.TrimSuffix(fmt.Sprintf(settled, 30), "\n")) // its end does not come
	in = <-found
	assert.Equal(t, 5, in.Line)
	assert.Contains(t, in.Message, "30.00 MiB")
	fmt.Fprint(w, "\n"+strings.Repeat("a healthy line\n", 1000))
	fmt.Fprintf(w, settled+strings.Repeat("a healthy line\n", 1000), 40)
	in = <-found // without any silence
	assert.Equal(t, 1006, in.Line)
	w.Close()
	require.NoError(t, <-done)
	assert.Empty(t, found)
}

// TestEachRemembersTheStart: an hour later it still knows what was started.
func TestEachRemembersTheStart(t *testing.T) {
	start := "INFO 03-01 08:00:00 [api_server.py:1287] vLLM API server version 0.9.1\nINFO 03-01 08:00:00 [cli_args.py:309] non-default args: {'model': 'Qwen/Qwen2.5-7B-Instruct', 'max_model_len': 32768}\n"
	r := io.MultiReader(strings.NewReader(start), io.LimitReader(&endless{line: "INFO 03-01 09:00:00 [loggers.py:118] Engine 000: Avg prompt throughput: 12.1 tokens/s\n"}, 64<<20), strings.NewReader(fmt.Sprintf(settled, 20)))
	got := each(t, r)
	require.Len(t, got, 1)
	assert.Equal(t, "vllm", got[0].Framework)
	require.NotNil(t, got[0].Model)
	assert.Equal(t, "Qwen/Qwen2.5-7B-Instruct", got[0].Model.Name)
}

// endless repeats a line.
type endless struct {
	line string
	at   int
}

func (e *endless) Read(b []byte) (int, error) {
	n := 0
	for n < len(b) {
		k := copy(b[n:], e.line[e.at:])
		n, e.at = n+k, (e.at+k)%len(e.line)
	}
	return n, nil
}

// TestEachIsBounded: months of a log, with failures in between and lines that
// never end, are read in the memory of a moment.
func TestEachIsBounded(t *testing.T) {
	if testing.Short() {
		t.Skip("reads a quarter of a gibibyte")
	}
	diagnose.Bytes([]byte(fmt.Sprintf(settled, 1)))
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	most := uint64(0)
	seen := 0
	var parts []io.Reader
	for i := range 64 {
		parts = append(parts, io.LimitReader(&endless{line: "INFO load_tensors: model size = 4.5 GiB, llama_model_loader: arch = llama\n"}, 2<<20),
			io.LimitReader(&endless{line: "\r 45%|####5     | 9/20 [00:01<00:02,  5.00it/s]"}, 2<<20), strings.NewReader("\n"+fmt.Sprintf(settled, i+1)))
	}
	require.NoError(t, diagnose.Each(context.Background(), io.MultiReader(parts...), func(diagnose.Incident) error {
		seen++
		if seen%16 == 0 {
			runtime.GC()
			runtime.ReadMemStats(&after)
			most = max(most, after.HeapAlloc)
		}
		return nil
	}))
	assert.Equal(t, 64, seen)
	assert.Less(t, int64(most)-int64(before.HeapAlloc), int64(16<<20))
}

// TestEachEnds as its context, its reader and its caller say.
func TestEachEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	r, w := io.Pipe()
	defer w.Close()
	time.AfterFunc(50*time.Millisecond, cancel)
	assert.ErrorIs(t, diagnose.Each(ctx, r, nil), context.Canceled)

	broken := errors.New("broken pipe")
	got := 0
	err := diagnose.Each(context.Background(), io.MultiReader(strings.NewReader(fmt.Sprintf(settled, 20)), failing{broken}), func(diagnose.Incident) error { got++; return nil })
	assert.Equal(t, broken, err)
	assert.Equal(t, 1, got, "what was read before it is told")

	enough := errors.New("enough")
	err = diagnose.Each(context.Background(), strings.NewReader(fmt.Sprintf(settled, 20)), func(diagnose.Incident) error { return enough })
	assert.Equal(t, enough, err)
	assert.Empty(t, each(t, strings.NewReader("")))
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// TestEachReadsPowerShell: what > writes there, a byte at a time.
func TestEachReadsPowerShell(t *testing.T) {
	var wide bytes.Buffer
	wide.WriteString("\xff\xfe")
	for _, c := range []byte("step 1\r\n" + fmt.Sprintf(settled, 20)) {
		wide.Write([]byte{c, 0})
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	got := each(t, io.MultiReader(bytes.NewReader(wide.Bytes()[:9]), &pieces{bytes.NewReader(wide.Bytes()[9:]), rnd}))
	require.Len(t, got, 1)
	assert.Equal(t, 2, got[0].Line)
}

// ExampleEach watches a log that has no end.
func ExampleEach() {
	log := strings.NewReader("step 1\n" + fmt.Sprintf(settled, 20) + "restarted\n")
	err := diagnose.Each(context.Background(), log, func(in diagnose.Incident) error {
		fmt.Println(in.Line, in.Framework, in.Causes[0].ID)
		return nil
	})
	fmt.Println(err)
	// Output:
	// 2 pytorch batch_too_large
	// <nil>
}

// FuzzEach: in whatever pieces a log comes, incidents stand in it, one after
// the other, and each is of lines that had come.
func FuzzEach(f *testing.F) {
	f.Add([]byte(fmt.Sprintf("step 1\n"+settled, 20)), uint64(1))
	f.Add([]byte("\xff\xfea\x00\n\x00"), uint64(2))
	f.Add([]byte(strings.Repeat("Killed\n", 3)+"\r\r\r"), uint64(3))
	f.Fuzz(func(t *testing.T, raw []byte, seed uint64) {
		if len(raw) > 1<<16 {
			t.Skip()
		}
		r := &pieces{bytes.NewReader(raw), rand.New(rand.NewPCG(seed, 1))}
		require.NoError(t, diagnose.Each(context.Background(), r, func(in diagnose.Incident) error {
			assert.True(t, 1 <= in.Line && in.Line <= in.EndLine && in.EndLine <= bytes.Count(raw, []byte{'\n'})+1, "lines %d to %d", in.Line, in.EndLine)
			return nil
		}))
	})
}
