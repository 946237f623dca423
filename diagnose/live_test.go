package diagnose_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
)

func besides(l *diagnose.Live) diagnose.Option {
	return diagnose.Beside(func() *diagnose.Live { return l })
}

const kernelKill = "Memory cgroup out of memory: Killed process 4242 (python3) total-vm:201064kB, anon-rss:189312kB, file-rss:6672kB, shmem-rss:0kB, UID:0 pgtables:436kB oom_score_adj:0"

// TestLinesOfTheMachine: a log without a word is judged by what the machine
// says, and the report tells the two apart.
func TestLinesOfTheMachine(t *testing.T) {
	log := "epoch 1\nstep 1\nstep 2\n"
	assert.False(t, diagnose.Bytes([]byte(log)).OOM)
	live := &diagnose.Live{Taken: time.Unix(1_800_000_000, 0).UTC(), Lines: []diagnose.LiveLine{{Source: "kernel log", Text: kernelKill}}}
	r, err := diagnose.Read(context.Background(), strings.NewReader(log), besides(live))
	require.NoError(t, err)
	require.True(t, r.OOM)
	assert.Equal(t, 3, r.Input.Lines)
	assert.EqualValues(t, len(log), r.Input.Bytes)
	assert.Equal(t, 4, r.Incidents[0].Line)
	assert.Equal(t, 4, r.Live.Lines[0].Line)
	raw, err := json.Marshal(r)
	require.NoError(t, err)
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	require.NoError(t, err)
	assert.NoError(t, strictSchema(t).Validate(document))
	back, err := diagnose.Decode(bytes.NewReader(raw))
	require.NoError(t, err)
	assert.Equal(t, r.Live, back.Live)
}

// TestGrowthSettles: a steady climb that somebody watched makes a leak of what
// could be anything; a jump does not.
func TestGrowthSettles(t *testing.T) {
	const gib = 1 << 30
	log := `  File "train.py", line 9, in <module>
    loss.backward()
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 8.00 GiB of which 10.00 MiB is free. Including non-PyTorch memory, this process has 7.90 GiB memory in use. Of the allocated memory 7.50 GiB is allocated by PyTorch, and 100.00 MiB is reserved by PyTorch but unallocated.
`
	with := func(shape string) diagnose.Incident {
		growth := &diagnose.Growth{Seconds: 300, Cards: []diagnose.Series{{Name: "GPU 0", Shape: shape, First: gib, Last: 8 * gib, Peak: 8 * gib, Bytes: []int64{gib, 8 * gib}}}}
		r, err := diagnose.Read(context.Background(), strings.NewReader(log), besides(&diagnose.Live{Growth: growth}))
		require.NoError(t, err)
		return r.Incidents[0]
	}
	climb, jump := with(diagnose.Climb), with(diagnose.Jump)
	assert.Equal(t, "retained_memory", climb.Causes[0].ID)
	assert.NotEqual(t, "retained_memory", jump.Causes[0].ID)
	last := climb.Causes[0].Evidence[len(climb.Causes[0].Evidence)-1]
	assert.Equal(t, "GPU 0 rose steadily, from 1.00 GiB to 8.00 GiB in 300 s", last.Text)
	assert.Equal(t, 4, last.Line)
}

// ExampleBeside: what the caller knows of the machine is judged with the log.
func ExampleBeside() {
	kernel := func() *diagnose.Live {
		return &diagnose.Live{Lines: []diagnose.LiveLine{{Source: "kernel log", Text: kernelKill}}}
	}
	report, err := diagnose.Read(context.Background(), strings.NewReader("epoch 1\n"), diagnose.Beside(kernel))
	if err != nil {
		panic(err)
	}
	fmt.Println(report.OOM, report.Incidents[0].Line > report.Input.Lines)
	// Output: true true
}
