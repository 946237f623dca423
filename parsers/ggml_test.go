package parsers

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/internal/clean"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/parsers/ggml"
	"github.com/oomdoc/oomdoc/parsers/text"
)

func read(pasted string) *fact.Facts { return whole.Parse(text.NewLog(clean.Lines(pasted, 1))) }

func TestBufferNames(t *testing.T) {
	for name, want := range map[string]struct {
		backend string
		host    bool
	}{
		"CUDA0": {"cuda", false}, "ROCm1": {"rocm", false}, "Vulkan0": {"vulkan", false}, "SYCL0": {"sycl", false}, "Metal": {"metal", false}, "MTL0": {"metal", false},
		"CANN0": {"npu", false}, "OpenCL": {"", false}, "CPU": {"cpu", true}, "CPU_Mapped": {"cpu", true}, "CPU_REPACK": {"cpu", true}, "AMX": {"cpu", true},
		"CUDA_Host": {"cuda", true}, "ROCm_Host": {"rocm", true}, "Vulkan_Host": {"vulkan", true}, "Metal_Mapped": {"metal", false},
	} {
		assert.Equal(t, want.backend, ggml.BackendOfBuffer(name), name)
		assert.Equal(t, want.host, fact.HostMemory(name), name)
	}
}

// One refusal is up to five lines; whatever of them is there makes one failure
// with the exact bytes, the stage and the place.
func TestRefusalStatements(t *testing.T) {
	lines := []string{
		"ggml_backend_cuda_buffer_type_alloc_buffer: allocating 16384.00 MiB on device 1: cudaMalloc failed: out of memory",
		"alloc_tensor_range: failed to allocate CUDA1 buffer of size 17179869184",
		"llama_init_from_model: failed to initialize the context: failed to allocate buffer for kv cache",
	}
	for mask := 1; mask < 1<<len(lines); mask++ {
		var text []string
		for i, line := range lines {
			if mask>>i&1 == 1 {
				text = append(text, line)
			}
		}
		f := read(strings.Join(text, "\n"))
		require.Len(t, f.Failures, 1, "%q", text)
		x := f.Failures[0]
		assert.Equal(t, fact.GGMLAlloc, x.Kind)
		if mask&4 != 0 {
			assert.Equal(t, "kv", x.Stage, "%q", text)
		}
		if mask&3 != 0 {
			require.NotNil(t, x.Figures.Requested, "%q", text)
			assert.EqualValues(t, 17179869184, x.Figures.Requested.Bytes)
			assert.EqualValues(t, 1, x.Figures.Device.Value)
			assert.Equal(t, "cuda", x.Backend)
		}
	}
}

// HIP and MUSA builds print CUDA's words; the device lines tell.
func TestROCmSaysCUDA(t *testing.T) {
	f := read("ggml_cuda_init: found 1 ROCm devices:\n  Device 0: AMD Radeon RX 7900 XT, gfx1100 (0x1100), VMM: no, Wave Size: 32\n" +
		"ggml_backend_cuda_buffer_type_alloc_buffer: allocating 100.00 MiB on device 0: cudaMalloc failed: out of memory\n")
	require.Len(t, f.Failures, 1)
	assert.Equal(t, "rocm", f.Failures[0].Backend)
	require.Len(t, f.Devices, 1)
	assert.Equal(t, "AMD Radeon RX 7900 XT", f.Devices[0].Name)
}

// In builds of late 2025 the last column is unsigned: 17592186028735 is
// -15681.
func TestMemoryTableWraps(t *testing.T) {
	for _, rest := range []string{"-15681", "17592186028735"} {
		f := read("llama_memory_breakdown_print: |   - CUDA0 (RTX 3090)   | 24124 = 23860 + (15946 = 15364 +     411 +     170) +      " + rest + " |")
		require.Len(t, f.Facts, 1, rest)
		assert.EqualValues(t, -15681<<20, f.Facts[0].Size.Bytes)
		require.Len(t, f.Devices, 1)
		assert.EqualValues(t, 24124<<20, f.Devices[0].Total.Bytes)
		assert.EqualValues(t, 23860<<20, f.Devices[0].Free.Bytes)
		assert.Empty(t, f.Failures)
	}
}

// MB of recommendedMaxWorkingSetSize are powers of 1000 since January 2024 and
// of 1024 before.
func TestMetalWorkingSet(t *testing.T) {
	for text, want := range map[string]int64{
		"ggml_metal_init: recommendedMaxWorkingSetSize  =  5726.63 MB":                                                                                5726630000,
		"ggml_metal_init: recommendedMaxWorkingSetSize  = 49152.00 MB\nggml_metal_add_buffer: allocated 'data            ' buffer, size = 100.00 MB":  49152 << 20,
		"ggml_metal_init: recommendedMaxWorkingSetSize  = 49152.00 MiB\nggml_metal_add_buffer: allocated 'data            ' buffer, size = 100.00 MB": 49152 << 20,
	} {
		f := read(text)
		require.NotEmpty(t, f.Facts, text)
		assert.InDelta(t, want, f.Facts[0].Size.Bytes, 1e6, text)
	}
}

func TestCommandLine(t *testing.T) {
	f := read("$ ./llama-server -m /models/a.gguf -ngl 99 -c 8192 -ub 1024 -fa \\\n  -ctk q8_0 --n-cpu-moe 12 -ts 3,1\n")
	got := map[string]string{}
	for _, s := range f.Settings {
		got[s.Name] = s.Value
	}
	assert.Equal(t, map[string]string{"n_gpu_layers": "99", "ctx_size": "8192", "ubatch_size": "1024", "flash_attn": "on", "cache_type_k": "q8_0", "n_cpu_moe": "12", "tensor_split": "3,1"}, got)
}
