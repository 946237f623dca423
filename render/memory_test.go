package render_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
	"github.com/oomdoc/oomdoc/render"
)

// TestMemoryOfEveryLog: parts add up to the total, whatever the log, and the
// bar stays within the page.
func TestMemoryOfEveryLog(t *testing.T) {
	logs, err := filepath.Glob("../testdata/logs/*/*.log")
	require.NoError(t, err)
	drawn := 0
	for _, path := range logs {
		raw, err := os.ReadFile(path)
		require.NoError(t, err)
		report := diagnose.Bytes(raw)
		for _, in := range report.Incidents {
			if in.Memory == nil {
				continue
			}
			drawn++
			assertAddsUp(t, in.Memory, path)
		}
		for _, width := range []int{40, 61, 80, 200} {
			for _, line := range barLines(render.Markdown(report, render.Options{Layout: render.Layout{Width: width}})) {
				assert.LessOrEqual(t, len([]rune(line)), width, "%s: %q", path, line)
			}
		}
	}
	assert.Greater(t, drawn, 100)
}

func assertAddsUp(t *testing.T, m *diagnose.Memory, name string) {
	t.Helper()
	sum := int64(0)
	for _, p := range m.Parts {
		assert.Positive(t, p.Bytes, "%s: %s", name, p.ID)
		sum += p.Bytes
	}
	assert.Equal(t, m.TotalBytes, sum, name)
	assert.GreaterOrEqual(t, len(m.Parts), 2, name)
}

// barLines are the lines of the first listing with a bar.
func barLines(page string) []string {
	for _, block := range strings.Split(page, "```") {
		if strings.ContainsAny(block, "█▓▒░▞▚▄") {
			return strings.Split(block, "\n")
		}
	}
	return nil
}

// TestNothingFree: what a message says to be used up is not called free.
func TestNothingFree(t *testing.T) {
	page := render.Markdown(diagnose.Bytes([]byte("torch.cuda.OutOfMemoryError: CUDA out of memory. Tried to allocate 94.00 MiB (GPU 0; 6.00 GiB total capacity; 5.09 GiB already allocated; 0 bytes free; 5.19 GiB reserved in total by PyTorch)")), render.Options{})
	assert.Contains(t, page, "driver and other programs")
	assert.NotContains(t, page, "others or free")
}

// TestMemory: what the figures of a log give, part by part.
func TestMemory(t *testing.T) {
	const llama = `ggml_cuda_init: found 1 CUDA devices:
  Device 0: NVIDIA GeForce RTX 3060, compute capability 8.6, VMM: yes
llama_model_load_from_file_impl: using device CUDA0 (NVIDIA GeForce RTX 3060) - 11800 MiB free
load_tensors: offloaded 33/33 layers to GPU
load_tensors:        CUDA0 model buffer size =  4403.49 MiB
load_tensors:   CPU_Mapped model buffer size =   281.81 MiB
llama_kv_cache_unified:      CUDA0 KV buffer size =  WHAT MiB
ggml_backend_cuda_buffer_type_alloc_buffer: allocating 4360.00 MiB on device 0: cudaMalloc failed: out of memory
ggml_gallocr_reserve_n: failed to allocate CUDA0 buffer of size 4571791360
`
	const torch = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB of which 512.00 MiB is free. " +
		"Including non-PyTorch memory, this process has 7.25 GiB memory in use. Of the allocated memory WHAT is allocated by PyTorch, and 256.00 MiB is reserved by PyTorch but unallocated.\n"
	const profile = "INFO model_runner.py:1110] Loading model weights took 5.7900 GB\n" +
		"INFO worker.py:267] the current vLLM instance can use total_gpu_memory (23.68GiB) x gpu_memory_utilization (0.90) = 21.31GiB\n" +
		"INFO worker.py:267] model weights take 5.79GiB; non_torch_memory takes 0.08GiB; PyTorch activation peak memory takes WHAT; the rest of the memory reserved for KV Cache is 13.43GiB.\n" +
		"ValueError: The model's max seq len (131072) is larger than the maximum number of tokens that can be stored in KV cache (110000). Try increasing `gpu_memory_utilization` or decreasing `max_model_len` when initializing the engine.\n"
	tests := []struct {
		name, log, what string
		want            []string
	}{
		{"buffers of llama.cpp", llama, "6144.00", []string{"weights", "kv_cache", "free"}},
		{"more than the device had", llama, "16384.00", nil},
		{"PyTorch", torch, "6.50 GiB", []string{"tensors", "reserved_unused", "driver", "other_processes", "free"}},
		{"PyTorch with more than the card has", torch, "11.50 GiB", nil},
		{"vLLM's profile", profile, "2.01GiB", []string{"weights", "kv_cache", "compute", "driver", "outside_the_share"}},
		{"a profile over its card", profile, "9.01GiB", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			report := diagnose.Bytes([]byte(strings.ReplaceAll(tt.log, "WHAT", tt.what)))
			require.NotEmpty(t, report.Incidents)
			m := report.Incidents[0].Memory
			if tt.want == nil {
				assert.Nil(t, m)
				return
			}
			require.NotNil(t, m)
			assertAddsUp(t, m, tt.name)
			var got []string
			for _, p := range m.Parts {
				got = append(got, p.ID)
			}
			assert.Equal(t, tt.want, got)
		})
	}
}
