package parsers

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/parsers/fact"
)

func namesProved(f *fact.Facts) (names []string) {
	for _, p := range f.Programs {
		names = append(names, p.Name)
	}
	return names
}

// Programs are known by their own lines beside a library's message.
func TestOwnLines(t *testing.T) {
	for line, program := range map[string]string{
		"steps:   0%|          | 1/2100 [00:03<2:05:32,  3.59s/it, loss=0.473]":        "kohya",
		"steps:  41%|████▏     | 870/2100 [52:11<1:13:40,  3.60s/it, avr_loss=0.0812]": "kohya",
		"gpttype_load_model: error: failed to load model 'nemo.gguf'":                  "koboldcpp",
		"Load Text Model OK: False": "koboldcpp",
	} {
		assert.Contains(t, namesProved(read(line+"\nCUDA error: out of memory")), program, line)
	}
	for _, line := range []string{
		"Steps:   1%|▏         | 5/500 [00:10<16:40,  2.02s/it, loss=0.0123, lr=0.0001]", // diffusers
		"Epoch 1:  12%|█▎        | 31/250 [00:10<01:10,  3.10it/s, loss=0.473]",
	} {
		assert.NotContains(t, namesProved(read(line+"\nCUDA error: out of memory")), "kohya", line)
	}
}

// From 2.9 on PyTorch ends a driver's error with where it is documented.
func TestDocumentationHint(t *testing.T) {
	for name, backend := range map[string]string{"cudaErrorMemoryAllocation": "cuda", "hipErrorOutOfMemory": "rocm"} {
		hint := "Search for `" + name + "' in https://docs.example.org/api.html for more information.\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect."
		f := read(hint)
		require.Len(t, f.Failures, 1, name)
		assert.Equal(t, backend, f.Failures[0].Backend)
		assert.Len(t, read("torch.AcceleratorError: CUDA error: out of memory\n"+hint).Failures, 1)
	}
}

// A bar that begins a line is no part of it, and the table no document.
func TestBareMemoryTable(t *testing.T) {
	f := read("| memory breakdown [MiB]        | total    free     self   model   context   compute    unaccounted |\n" +
		"|   - SYCL0 (Arc Pro B65)       | 32656 = 31827 + (20798 = 20583 +     142 +      72) +      -19970 |\n" +
		"|   - Host                      |                    416 =   409 +       0 +       7                |\n" +
		"ggml_backend_sycl_buffer_type_alloc_buffer: can't allocate 21583194624 Bytes of memory on device\n" +
		"failed to load model, check the path\nmain: exiting due to model loading error\nsrv  operator(): cleaning up before exit\n")
	require.NotEmpty(t, f.Failures)
	require.Len(t, f.Devices, 1)
	assert.EqualValues(t, 31827<<20, f.Devices[0].Free.Bytes)
	f = read("|   - CUDA0 (RTX 3090) | 24126 = 1024 + (22000 = 15000 +    6000 +    1000) +        1102 |")
	require.Len(t, f.Devices, 1)
	assert.Nil(t, f.Devices[0].Free, "what was left beside the model")
}
