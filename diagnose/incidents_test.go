package diagnose_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
)

func torchLine(requested, free string) string {
	return fmt.Sprintf("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate %s GiB. GPU 0 has a total capacity of 23.65 GiB of which %s GiB is free. Including non-PyTorch memory, this process has 22.10 GiB memory in use. Of the allocated memory 21.50 GiB is allocated by PyTorch, and 120.00 MiB is reserved by PyTorch but unallocated.\n", requested, free)
}

func TestIncidents(t *testing.T) {
	calm := strings.Repeat("INFO step done\n", 400)
	for _, tt := range []struct {
		name   string
		log    string
		counts []int
	}{
		{"nothing", calm, []int{}},
		{"one", torchLine("2.00", "1.20"), []int{1}},
		{"printed twice by a re-raise", torchLine("2.00", "1.20") + "\nDuring handling of the above exception, another exception occurred:\n\n" + torchLine("2.00", "1.20"), []int{2}},
		{"a server that fails every minute", strings.Repeat(torchLine("2.00", "1.20")+calm, 223), []int{223}},
		{"two restarts with other settings", torchLine("2.00", "1.20") + calm + torchLine("4.00", "1.31"), []int{1, 1}},
		{"a later copy without figures", torchLine("2.00", "1.20") + "ERROR: CUDA out of memory.\n", []int{2}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			counts := []int{}
			for _, in := range diagnose.Bytes([]byte(tt.log)).Incidents {
				counts = append(counts, in.Count)
			}
			assert.Equal(t, tt.counts, counts)
		})
	}
}

// TestRanks: eight ranks are one incident, with the figures of the worst.
func TestRanks(t *testing.T) {
	var b strings.Builder
	for rank := range 8 {
		fmt.Fprintf(&b, "[rank%d]: %s", rank, torchLine("2.00", fmt.Sprintf("1.%d0", 9-rank)))
	}
	r := diagnose.Bytes([]byte(b.String()))
	require.Len(t, r.Incidents, 1)
	in := r.Incidents[0]
	assert.Equal(t, 8, in.Count)
	assert.Len(t, in.Ranks, 8)
	assert.Equal(t, "1.20 GiB", in.Figures.Free.Text)
}

// TestOwnProcess: a container sees itself under its host number.
func TestOwnProcess(t *testing.T) {
	r := diagnose.Bytes([]byte("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 250.00 MiB. GPU 0 has a total capacity of 79.26 GiB of which 104.75 MiB is free. Process 1007710 has 79.14 GiB memory in use. Of the allocated memory 77.07 GiB is allocated by PyTorch, and 1.57 GiB is reserved by PyTorch but unallocated."))
	require.Len(t, r.Incidents, 1)
	f := r.Incidents[0].Figures
	require.Len(t, f.OtherProcesses, 1)
	assert.True(t, f.OtherProcesses[0].Own)
	assert.Equal(t, f.OtherProcesses[0].Bytes, f.ProcessUsed.Bytes)
	for _, fix := range r.Incidents[0].Fixes {
		assert.NotEqual(t, "kill_stale_process", fix.ID, "that would end the very process that failed")
	}
}

// TestRepeatsOfALargeLog: what a scan only counted is part of the incident that
// it repeats, and other failures are found among it.
func TestRepeatsOfALargeLog(t *testing.T) {
	calm := strings.Repeat("INFO step done\n", 400)
	log := strings.Repeat(torchLine("2.00", "1.20")+"INFO again\n", 5000) + torchLine("4.00", "1.31") + calm + strings.Repeat("[rank1]: "+torchLine("2.00", "1.20"), 70) + calm
	r := diagnose.Bytes([]byte(log))
	counts := []int{}
	for _, in := range r.Incidents {
		counts = append(counts, in.Count)
	}
	assert.Equal(t, []int{5070, 1}, counts)
	assert.Empty(t, r.Notes)
}
