package parsers

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/text"
)

func TestAllocatorOptions(t *testing.T) {
	for _, tt := range []struct {
		line string
		want []fact.Setting
	}{
		{"export PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", []fact.Setting{{Name: "expandable_segments", Value: "true", Flag: "PYTORCH_CUDA_ALLOC_CONF"}}},
		{`os.environ["PYTORCH_ALLOC_CONF"] = "expandable_segments:True"`, []fact.Setting{{Name: "expandable_segments", Value: "true", Flag: "PYTORCH_ALLOC_CONF"}}},
		{"PYTORCH_HIP_ALLOC_CONF=garbage_collection_threshold:0.8,max_split_size_mb:512 python main.py", []fact.Setting{
			{Name: "max_split_size_mb", Value: "512", Flag: "PYTORCH_HIP_ALLOC_CONF"}, {Name: "garbage_collection_threshold", Value: "0.8", Flag: "PYTORCH_HIP_ALLOC_CONF"}}},
		{"  PYTORCH_CUDA_ALLOC_CONF: backend:cudaMallocAsync", []fact.Setting{{Name: "backend", Value: "cudamallocasync", Flag: "PYTORCH_CUDA_ALLOC_CONF"}}},
		{"try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.", nil},
		{"You can try PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True", nil},
		{"See documentation for Memory Management and PYTORCH_CUDA_ALLOC_CONF", nil},
		{"PYTORCH_CUDA_ALLOC_CONF=expandable_segments=True", nil}, // a mistake people make: PyTorch refuses it
	} {
		f := whole.Parse(text.NewLog(clean.Lines(tt.line, 1)))
		for i := range tt.want {
			tt.want[i].Line = 1
		}
		assert.ElementsMatch(t, tt.want, f.Settings, tt.line)
	}
}

func TestTorchVersion(t *testing.T) {
	for line, want := range map[string]string{
		"PyTorch version: 2.5.1+cu124":        "2.5",
		"torch==2.1.2":                        "2.1",
		"Torch: 2.9.0+cu128. CUDA: 8.9.":      "2.9",
		"torch 1.13.1+cu117 on Python 3.10":   "1.13",
		"created a torch 2.0 style benchmark": "",
	} {
		got := ""
		for _, x := range whole.Parse(text.NewLog(clean.Lines(line, 1))).Facts {
			if x.Name == "torch_version" {
				got = x.Text
			}
		}
		assert.Equal(t, want, got, line)
	}
}
