package parsers

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/ambient"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

func TestProcessRow(t *testing.T) {
	tests := []struct {
		name string
		row  string
		want fact.Process
		ok   bool
	}{
		{"driver 375", "    1     13386    C   /xx/xxx/caffe             1205MiB |", fact.Process{PID: 13386, Bytes: 1205 * units.MiB, Name: "/xx/xxx/caffe", Text: "1205MiB", Device: 1}, true},
		{"dead process", "    0     31794    C   Unknown Error                                 5371MiB |", fact.Process{PID: 31794, Bytes: 5371 * units.MiB, Name: "Unknown Error", Text: "5371MiB"}, true},
		{"driver 535", "0   N/A  N/A      7541    C+G   ...kit/python/bin/python3       54MiB |", fact.Process{PID: 7541, Bytes: 54 * units.MiB, Name: "...kit/python/bin/python3", Text: "54MiB"}, true},
		{"MIG", "0    7    0      46310      C   python     9873MiB |", fact.Process{PID: 46310, Bytes: 9873 * units.MiB, Name: "python", Text: "9873MiB"}, true},
		{"Windows", "0   N/A  N/A      7541    C+G   C:\\python.exe       N/A      |", fact.Process{}, false},
		{"none", " No running processes found                                                 |", fact.Process{}, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := ambient.ProcessRow(tt.row)
			assert.Equal(t, tt.ok, ok)
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestTables(t *testing.T) {
	tests := []struct {
		name, log, fact string
		want            int64
	}{
		{"free -h", "total        used        free      shared  buff/cache   available\nMem:           119Gi        75Gi       1.3Gi       385Mi        43Gi        43Gi", "mem_available", 43 * units.GiB},
		{"free", "total used free shared buff/cache available\nMem: 32779524 9000000 1000000 0 22779524 23000000", "mem_available", 23000000 * units.KiB},
		{"free -m", "total used free shared buff/cache available\nMem: 257088 131148 135934 1120 2517 125939", "mem_available", 125939 * units.MiB},
		{"free before 2014", "total       used       free     shared    buffers     cached\nMem:   32108     6502     25605         10        118       2479\n-/+ buffers/cache: 3904      28203", "mem_available", 28203 * units.MiB},
		{"docker stats", "MEM USAGE / LIMIT\n70543acfcb25   dev2    0.03%     4.898GiB / 5GiB      97.95%    39.3GB / 709MB", "docker_limit", 5 * units.GiB},
		{"DeepSpeed", "MA 26.38 GB         Max_MA 26.38 GB         CA 26.71 GB         Max_CA 27 GB", "torch_reserved", 28679644119},
		{"sbatch", "#SBATCH --mem=32G", "job_limit", 32 * units.GiB},
		{"Snakemake", "resources: mem_mb=14000, mem_mib=13352", "job_limit", 14000 * 1000 * 1000},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := int64(-1)
			for _, x := range whole.Parse(text.NewLog(clean.Lines(tt.log, 1))).Facts {
				if x.Name == tt.fact {
					got = x.Size.Bytes
				}
			}
			assert.Equal(t, tt.want, got)
		})
	}
}

func TestGpustatOwners(t *testing.T) {
	f := whole.Parse(text.NewLog(clean.Lines("[1] NVIDIA A40 | 41'C,  97 % | 40103 / 46068 MB | anna:python/4242(39771M) gdm(4M)", 1)))
	assert.Equal(t, []fact.Process{{PID: 4242, Bytes: 39771 * units.MiB, Name: "anna:python", Text: "39771M", Line: 1, Device: 1}}, f.Processes)
}
