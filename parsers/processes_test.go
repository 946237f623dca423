package parsers

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/parsers/text"
)

// TestProcessNumbers: a number that no process can have, and one that was named
// before, are nobody to be ended.
func TestProcessNumbers(t *testing.T) {
	s := New(nil, nil)
	f := s.Parse(text.NewLog(clean.Lines("torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which 200.00 MiB is free. "+
		"Process 4242 has 2.00 GiB memory in use. Process 4194305 has 1.00 GiB memory in use. Process 4294967295 has 1.00 GiB memory in use. Process 4242 has 1.00 GiB memory in use. Process 4194304 has 1.00 GiB memory in use.\n"+
		"|  GPU   GI   CI             PID   Type   Process name              GPU Memory |\n"+
		"|    0   N/A  N/A         9000000      C   /usr/bin/python                        6000MiB |\n"+
		"|    0   N/A  N/A            4242      C   /usr/bin/python                        2048MiB |\n"+
		"|    1   N/A  N/A            4242      C   /usr/bin/python                        2048MiB |\n"+
		"|    0   N/A  N/A            4242      C   /usr/bin/python                        2048MiB |\n", 1)))
	var others, rows []int
	for _, p := range f.Failures[0].Figures.OtherProcesses {
		others = append(others, p.PID)
	}
	for _, p := range f.Processes {
		rows = append(rows, p.PID)
	}
	assert.Equal(t, []int{4242, 4194304}, others)
	assert.Equal(t, []int{4242, 4242}, rows)
}
