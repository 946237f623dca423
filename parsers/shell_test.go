package parsers

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// TestShellKill: a shell's word for signal 9 is read behind what editors and bars
// leave before it, and between lines that look like a document's.
func TestShellKill(t *testing.T) {
	for name, pasted := range map[string]string{
		"an editor's build": "[build] [26/90] Building CUDA object src/cuda/mix.cu.o\n[build] Killed\n[build] FAILED: [code=137] src/cuda/mix.cu.o\n",
		"zsh behind a bar":  "Loading checkpoint shards:   0%|          | 0/3 [00:00<?, ?it/s][1]    40112 killed     python ask.py --device cpu\n",
		"zsh's job":         "[1]  + 40112 killed     python ask.py\n",
		"a job's script":    "-- total memory      263921012.0 kB\n-- available         250010428.0 kB\n-- 48 cores\n\nslurm_script: line 14: 38294 Killed                  assemble -t 64 reads.fastq\n-- total memory      263921012.0 kB\n-- available         250010428.0 kB\n-- 48 cores\n",
	} {
		t.Run(name, func(t *testing.T) {
			found := whole.Parse(text.NewLog(clean.Lines(pasted, 1))).Failures
			if assert.NotEmpty(t, found) {
				assert.Contains(t, []fact.Kind{fact.ShellKilled, fact.BuildKilled}, found[0].Kind)
			}
		})
	}
}
