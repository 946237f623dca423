package render_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/render"
)

var (
	asked = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	began = asked.Add(-3 * time.Hour)
)

// besides is the report of a log and of what a machine said.
func besides(t *testing.T, log string, l *diagnose.Live) *diagnose.Report {
	t.Helper()
	l.Taken = asked
	r, err := diagnose.Read(context.Background(), strings.NewReader(log), diagnose.Beside(func() *diagnose.Live { return l }))
	require.NoError(t, err)
	require.True(t, r.OOM)
	return r
}

const killLine = "Out of memory: Killed process 4242 (python3) total-vm:51617648kB, anon-rss:33303040kB, file-rss:13008kB, shmem-rss:0kB, UID:1000 pgtables:67348kB oom_score_adj:0"

// TestLivePage: what the machine said is told as its own, apart from the log's.
func TestLivePage(t *testing.T) {
	r := besides(t, "epoch 1\nepoch 2\n", &diagnose.Live{
		Lines: []diagnose.LiveLine{{Source: "kernel log", Text: killLine}},
		Growth: &diagnose.Growth{Seconds: 600, RAM: diagnose.Series{
			Name: "RAM", Shape: diagnose.Climb, First: 1 << 30, Last: 31 << 30, Peak: 32 << 30, Bytes: []int64{1 << 30, 8 << 30, 16 << 30, 24 << 30, 32 << 30},
		}},
		Cards:   []diagnose.LiveCard{{Index: 0, Name: "NVIDIA GeForce RTX 3090", Total: 24 << 30, Used: 20 << 30}, {Index: 0, Part: "MIG 1", Total: 8 << 30, Used: 1 << 30}},
		Holders: []diagnose.LiveProcess{{PID: 77, Card: 0, Bytes: 18 << 30, Command: "python serve.py", User: "anna", Started: &began, Container: "ab12ab12ab12"}},
		Named:   []diagnose.LiveProcess{{PID: 4243, Gone: true}, {PID: 4244, Command: "python train.py", Mine: true, User: "ben", Started: &began}},
		RAM:     &diagnose.LiveRAM{Total: 32 << 30, Available: 30 << 30, Source: "/proc/meminfo"},
		Limits:  []diagnose.LiveLimit{{Name: "/job.scope", Limit: 16 << 30, Used: 1 << 30}},
	})
	page := render.Text(r, render.Options{Layout: render.Layout{Width: 100}})
	for _, want := range []string{
		"Its memory while it ran (10 min), by this machine:",
		"RAM     1.00 GiB ▁▁▁▁▃▃▃▃▅▅▅▅▇▇▇▇████ 32.00 GiB",
		"a steady climb: something is kept",
		"This machine now (12:00 UTC, not from the log):",
		"PID 4243, which the log names, is gone.",
		"PID 4244, which the log names, is still there: python train.py, yours, started 3 h ago.",
		"GPU 0, NVIDIA GeForce RTX 3090: 20.00 GiB of 24.00 GiB used; 18.00 GiB by PID 77",
		"GPU 0, MIG 1: 1.00 GiB of 8.00 GiB used.",
		"RAM: 30.00 GiB of 32.00 GiB available; no swap.",
		"by this machine (kernel log), not the log · Linux",
	} {
		assert.Contains(t, page, want)
	}
	assert.NotContains(t, page, "line 3", "the log has two")
	full := render.Text(r, render.Options{Full: true})
	assert.Contains(t, full, "kernel log | Out of memory: Killed process 4242")
	assert.Contains(t, full, "Limit of control group /job.scope: 16.00 GiB, 1.00 GiB used.")
	assert.Contains(t, full, "(python serve.py, anna's, started 3 h ago, in container ab12ab12ab12)")
	masked := render.Text(r.Redacted(), render.Options{Full: true})
	assert.NotContains(t, masked, "anna")
}

// TestLiveHostile: names that a machine gives are text, whatever they hold.
func TestLiveHostile(t *testing.T) {
	evil := "x\x1b[2J\n# heading `$(id)` <b> \u202e"
	r := besides(t, killLine+"\n", &diagnose.Live{
		Cards: []diagnose.LiveCard{{Name: evil, Part: evil}}, Holders: []diagnose.LiveProcess{{PID: 1, Bytes: 5, Command: evil, User: evil, Container: evil}},
		Named: []diagnose.LiveProcess{{PID: 1, Command: evil}}, Limits: []diagnose.LiveLimit{{Name: evil}}, RAM: &diagnose.LiveRAM{Pressure: evil},
		Growth: &diagnose.Growth{RAM: diagnose.Series{Name: evil, Bytes: []int64{-5, 0, 1 << 62}}},
	})
	for _, o := range []render.Options{{}, {Full: true}} {
		for _, page := range []string{render.Markdown(r, o), render.Text(r, o)} {
			assert.NotContains(t, page, "\x1b")
			assert.NotContains(t, page, "\u202e")
			assert.NotContains(t, page, "\n# heading")
		}
	}
}
