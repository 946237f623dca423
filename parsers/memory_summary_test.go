package parsers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// box is the part of torch.cuda.memory_summary() that counts.
func box(device, counts string, rows ...string) string {
	bar := "|" + strings.Repeat("-", 75) + "|\n"
	return bar + "|                  PyTorch CUDA memory summary, device ID " + device + "                 |\n" + bar +
		"|            " + counts + "         |\n" + bar + strings.Join(rows, "\n") + "\n" + bar
}

func TestMemorySummary(t *testing.T) {
	tests := []struct {
		name, log string
		facts     map[string]int64
		failures  int
	}{
		{
			name: "1.4 to 1.10, KB", log: box("0", "CUDA OOMs: 0            |        cudaMalloc retries: 3",
				"| Allocated memory      |  512000 KB |  900000 KB |  123456 MB |  122956 MB |",
				"| GPU reserved memory   |  983040 KB |  983040 KB |  983040 KB |       0 B  |",
				"| Non-releasable memory |  120000 KB |  130000 KB |   99999 MB |   99882 MB |"),
			facts: map[string]int64{"torch_allocated": 512000 * units.KiB, "torch_allocated_peak": 900000 * units.KiB, "torch_reserved": 983040 * units.KiB, "non_releasable": 120000 * units.KiB},
		},
		{
			name: "1.11 and later, GiB", log: box("1", "CUDA OOMs: 12           |        cudaMalloc retries: 14",
				"| Allocated memory      |     71 GiB |     77 GiB |    812 TiB |    811 TiB |",
				"| GPU reserved memory   |     78 GiB |     78 GiB |    140 GiB |     62 GiB |",
				"| Non-releasable memory |      6 GiB |      7 GiB |    401 TiB |    401 TiB |"),
			facts: map[string]int64{"torch_allocated": 71 * units.GiB, "torch_reserved": 78 * units.GiB, "non_releasable": 6 * units.GiB}, failures: 1,
		},
		{
			name: "cudaMallocAsync counts no fragments", log: box("0", "CUDA OOMs: 1            |        cudaMalloc retries: 0",
				"| Allocated memory      |   3101 MiB |  15320 MiB |      0 B   |      0 B   |",
				"| GPU reserved memory   |   3200 MiB |  15360 MiB |      0 B   |      0 B   |",
				"| Non-releasable memory |      0 B   |      0 B   |      0 B   |      0 B   |"),
			facts: map[string]int64{"torch_allocated": 3101 * units.MiB, "non_releasable": -1}, failures: 1,
		},
		{
			name: "the box of another card",
			log: "CUDA out of memory. Tried to allocate 2.00 GiB (GPU 1; 8.00 GiB total capacity; 7.21 GiB already allocated; 0.10 GiB free)\n" +
				box("0", "CUDA OOMs: 0            |        cudaMalloc retries: 0", "| Allocated memory      |    100 MiB |    100 MiB |    100 MiB |      0 B   |"),
			facts: map[string]int64{"torch_allocated": -1}, failures: 1,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := whole.Parse(text.NewLog(clean.Lines(tt.log, 1)))
			assert.Len(t, f.Failures, tt.failures)
			for name, want := range tt.facts {
				got := int64(-1)
				for _, x := range f.Facts {
					if x.Name == name {
						got = x.Size.Bytes
					}
				}
				assert.Equal(t, want, got, name)
			}
		})
	}
}

func TestKernelTasks(t *testing.T) {
	kill := "\nOut of memory: Killed process 77 (python) total-vm:900kB, anon-rss:800kB, file-rss:0kB, shmem-rss:0kB"
	tests := []struct{ name, log string }{
		{"up to 4.14", "[ pid ]   uid  tgid total_vm      rss nr_ptes nr_pmds swapents oom_score_adj name\n[   31]  1000    31   500000   262144     100       3        0             0 my server" + kill},
		{"4.15 to 6.7", "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n[     31]  1000    31   500000   262144   126976      158          -250 my server" + kill},
		{"6.8 and later, dmesg -T", "[Tue Mar 11 02:14:07 2025] [  pid  ]   uid  tgid total_vm      rss rss_anon rss_file rss_shmem pgtables_bytes swapents oom_score_adj name\n[Tue Mar 11 02:14:07 2025] [     31]  1000    31   500000   262144   262000      144         0   126976      158             0 my server" + kill},
		{"the table of an earlier kill", "[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n[     9]  1000    9   500000   9   126976      158          -250 old\noom-kill:constraint=CONSTRAINT_NONE,nodemask=(null)\n" +
			"[  pid  ]   uid  tgid total_vm      rss pgtables_bytes swapents oom_score_adj name\n[     31]  1000    31   500000   262144   126976      158          -250 my server" + kill},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := whole.Parse(text.NewLog(clean.Lines(tt.log, 1)))
			if assert.Len(t, f.Tasks, 1) {
				assert.Equal(t, 31, f.Tasks[0].PID)
				assert.Equal(t, units.GiB, f.Tasks[0].Bytes)
				assert.Equal(t, "my server", f.Tasks[0].Name)
			}
		})
	}
}
