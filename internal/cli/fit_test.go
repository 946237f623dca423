package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/workshop/cputime"
)

func fitRun(args ...string) (string, error) {
	var out, errs bytes.Buffer
	err := Run(context.Background(), append([]string{"fit"}, args...), strings.NewReader(""), &out, &errs, func(string) string { return "" })
	return out.String(), err
}

// Every model of the catalogue gets an answer, whatever the engine.
func TestFitAnswersForEveryModel(t *testing.T) {
	t.Parallel()
	for _, engine := range fit.Engines() {
		for _, m := range fit.Models() {
			out, err := fitRun(m.ID, "--vram", "24GiB", "--engine", engine)
			if err != nil {
				assert.Contains(t, err.Error(), "not established", "%s %s", m.ID, engine)
				continue
			}
			first, _, _ := strings.Cut(out, "\n")
			assert.Contains(t, first, m.ID, engine)
		}
	}
}

// Names come from strangers' logs and from slips of the keyboard.
func TestFitTakesAnyName(t *testing.T) {
	for _, name := range []string{"", " ", "--", "\x1b[31mred", "a/b/c:d", "🦙", strings.Repeat("x", 1<<16), "99999999999B", "qwen3-8b\n", "../../etc", "%s%n"} {
		out, err := fitRun("--vram", "8GiB", "--", name)
		if err == nil {
			assert.NotContains(t, out, "\x1b")
			continue
		}
		assert.Empty(t, out)
		assert.NotContains(t, err.Error(), "\n")
		assert.Less(t, len(err.Error()), 1000, "%.40q", name)
	}
}

func TestSmiLine(t *testing.T) {
	d, ok := smiLine(" NVIDIA L4, 23034, 23029, Disabled\n")
	require.True(t, ok)
	assert.Equal(t, fit.Device{Name: "NVIDIA L4", Total: 23034 << 20, Free: 23029 << 20}, d)
	for _, line := range []string{"", "NVIDIA GB10, [N/A], [N/A], [N/A]", "x, -1, 2, Enabled", "a, b", "No devices were found"} {
		_, ok := smiLine(line)
		assert.False(t, ok, line)
	}
}

// Each source of this computer's memory is optional, and named where it spoke.
func TestMachine(t *testing.T) {
	none := func(context.Context, string, ...string) (string, error) { return "", errors.New("not there") }
	meminfo := &fstest.MapFile{Data: []byte("MemTotal:       65000000 kB\nMemAvailable:   48000000 kB\n")}
	tests := []struct {
		name    string
		machine machine
		devices int
		note    string
	}{
		{"nothing", machine{files: fstest.MapFS{}, run: none, os: "linux"}, 0, ""},
		{"nvidia", machine{files: fstest.MapFS{"proc/meminfo": meminfo}, os: "linux", run: func(context.Context, string, ...string) (string, error) {
			return "NVIDIA GeForce RTX 3090, 24576, 20000, Enabled\nNVIDIA GeForce RTX 3060, 12288, 12000, Disabled\n", nil
		}}, 2, "nvidia-smi shows"},
		{"amd", machine{files: fstest.MapFS{
			"sys/class/drm/card1/device/mem_info_vram_total": {Data: []byte("17163091968\n")},
			"sys/class/drm/card1/device/mem_info_vram_used":  {Data: []byte("1073741824\n")},
			"sys/class/drm/card1-DP-1/status":                {Data: []byte("connected\n")},
		}, run: none, os: "linux"}, 1, "/sys/class/drm shows"},
		{"intel", machine{files: fstest.MapFS{"sys/class/drm/card0/lmem_total_bytes": {Data: []byte("17079205888")}}, run: none, os: "linux"}, 1, "Intel card"},
		{"apple", machine{files: fstest.MapFS{}, os: "darwin", run: func(_ context.Context, name string, _ ...string) (string, error) {
			if name != "sysctl" {
				return "", errors.New("not there")
			}
			return "Apple M2 Max\n68719476736\n", nil
		}}, 1, "sysctl shows"},
	}
	for _, tt := range tests {
		var r fit.Request
		notes := strings.Join(tt.machine.look(context.Background(), &r), " ")
		assert.Len(t, r.Devices, tt.devices, tt.name)
		assert.Contains(t, notes, tt.note, tt.name)
		if tt.devices == 0 {
			continue
		}
		r.Model, r.Contexts = "qwen3-4b", []int{4096}
		p, err := fit.NewPlan(r)
		require.NoError(t, err, tt.name)
		var free int64
		for _, d := range r.Devices {
			free += d.Free
		}
		assert.LessOrEqual(t, p.Card.TotalBytes, free, tt.name)
		assert.Equal(t, "free on this computer", p.Card.Basis)
	}
	r := fit.Request{Card: "RTX 3090"}
	assert.Empty(t, tests[1].machine.look(context.Background(), &r), "another computer's card")
	assert.Zero(t, r.RAM)
}

// A call takes 50 ms of the processor at most, whatever is asked.
func TestFitIsQuick(t *testing.T) {
	for _, args := range [][]string{
		{"llama-3.1-405b", "--vram", "24GiB"}, {"kimi-k2-1t", "--gpu", "3090+3060"}, {"deepseek-r1", "--vram", "8GiB"}, {"--vram", "80GiB"}, {"wan2.2-a14b", "--gpu", "4090"},
		{"lama-3.1-8bb-zz", "--vram", "8GiB"}, {"qwen3-30b-a3b", "--gpu", "T4", "--engine", "vllm"},
	} {
		assert.Less(t, cputime.Least(50*time.Millisecond, func() { fitRun(args...) }), 50*time.Millisecond, "%v", args)
	}
}

// An answer takes well under 50 ms; the largest model has the most layers.
func BenchmarkFit(b *testing.B) {
	for _, name := range []string{"llama-3.1-405b", "kimi-k2-1t", "lama-3.1-8bb-zz", strings.Repeat("qwen", 300)} {
		b.Run(name[:8], func(b *testing.B) {
			for b.Loop() {
				fitRun(name, "--vram", "24GiB")
			}
		})
	}
	b.Run("card", func(b *testing.B) {
		for b.Loop() {
			fitRun("--vram", "80GiB")
		}
	})
}
