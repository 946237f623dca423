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

// TestCutClause: a size in front of a clause inside which the log ends is read,
// one that lost its own end or whose clause cannot be told is not.
func TestCutClause(t *testing.T) {
	const head = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 512.00 MiB. GPU 0 has a total capacity of 23.65 GiB of which 310.06 MiB is free. "
	s := New(nil, nil)
	for _, x := range []struct {
		tail          string
		other, unused int64
	}{
		{"Process 77 has 3.50 GiB", 3758096384, 0},
		{"Process 77 has 3.50 GiB mem", 3758096384, 0},
		{"Process 77 has 3.5", 0, 0},
		{"Process 77 has 3.50 G", 0, 0},
		{"Process 77 has 3.50 GiB of something", 0, 0},
		{"Of the allocated memory 19.20 GiB is allocated by PyTorch, and 410.50 MiB is res", 0, 430440448},
		{"Of the allocated memory 19.20 GiB is allocated by PyTorch, and 410.50 MiB is", 0, 0},
		{"Of the allocated memory 19.20 GiB is allocated by PyTorch, and 410.50 MiB is rest", 0, 0},
	} {
		f := s.Parse(text.NewLog(clean.Lines(head+x.tail, 1))).Failures[0].Figures
		var other, unused int64
		for _, p := range f.OtherProcesses {
			other += p.Bytes
		}
		if f.ReservedUnallocated != nil {
			unused = f.ReservedUnallocated.Bytes
		}
		assert.Equal(t, x.other, other, x.tail)
		assert.Equal(t, x.unused, unused, x.tail)
	}
}
