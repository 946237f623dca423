package explain_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/oomdoc/oomdoc/diagnose"
)

// Cases are logs with made-up figures; want is the sentence, "" for none.
var cases = []struct{ name, log, want string }{
	{"numpy's shape", "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 4.47 GiB for an array with shape (20000, 30000) and data type float64",
		"4.47 GiB is one array: 20,000 x 30,000 x 8 bytes."},
	{"numpy's record", "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 37.3 GiB for an array with shape (2500000000,) and data type [('id', '<u8'), ('name', 'S8')]",
		"37.30 GiB is one array: 2,500,000,000 x 16 bytes."},
	{"a shape that is not the size", "numpy.core._exceptions._ArrayMemoryError: Unable to allocate 9.99 GiB for an array with shape (20000, 30000) and data type float64", ""},
	{"TensorFlow's batch", "ResourceExhaustedError: OOM when allocating tensor with shape[48,256,75,75] and type float on /job:localhost/replica:0/task:0/device:GPU:0 by allocator GPU_0_bfc",
		"276,480,000 bytes is one array: 48 (batch) x 256 x 75 x 75 x 4 bytes."},
	{"a pool of ggml", "ggml_new_tensor_impl: not enough space in the context's memory pool (needed 301465600, available 268435456)",
		"301,465,600 bytes is what a pool of fixed size inside the program would have to hold, not a request to the machine: the pool (256 MiB), what is missing (32 MiB)."},
	{"below zero, sign extended", "RuntimeError: [enforce fail at alloc_cpu.cpp:75] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate 18446744072635809792 bytes. Error code 12 (Cannot allocate memory)",
		"The size in the message is a negative number (-1,073,741,824) read as a huge one, as when a count above 2^31 overflows 32 bits."},
	{"a total below zero, which nobody asked for", "E tensorflow/core/common_runtime/direct_session.cc:135] Internal: failed initializing StreamExecutor for CUDA device ordinal 0: Internal: failed call to cuDevicePrimaryCtxRetain: CUDA_ERROR_OUT_OF_MEMORY; total memory reported: 18446744072635809792", ""},
	{"above an exabyte", "RuntimeError: CUDA out of memory. Tried to allocate more than 1EB memory.",
		"The size in the message is not a real size: a length was probably overwritten, negative or never set."},
	{"more than any card has", "RuntimeError: CUDA out of memory. Tried to allocate 3125.00 GiB (GPU 0; 23.70 GiB total capacity; 1.00 GiB already allocated; 21.00 GiB free; 1.20 GiB reserved in total by PyTorch)",
		"3.05 TiB is more than any GPU has: probably the number itself is wrong, or two large counts were multiplied."},
	{"ONNX's square", "[E:onnxruntime:, sequential_executor.cc:514 ExecuteKernel] Non-zero status code returned while running MatMul node. Name:'MatMul_3' Status Message: /onnxruntime_src/onnxruntime/core/framework/bfc_arena.cc:376 void* onnxruntime::BFCArena::AllocateRawInternal(size_t, bool) Failed to allocate memory for requested buffer of size 9604000000",
		"9,604,000,000 bytes is one number for each pair of items: 49,000 (items) x 49,000 (items) x 4 bytes."},
	{"no square", "[E:onnxruntime:, sequential_executor.cc:514 ExecuteKernel] Non-zero status code returned while running MatMul node. Name:'MatMul_3' Status Message: /onnxruntime_src/onnxruntime/core/framework/bfc_arena.cc:376 void* onnxruntime::BFCArena::AllocateRawInternal(size_t, bool) Failed to allocate memory for requested buffer of size 9604000100", ""},
	{"a cache of a model that is named", `llama_new_context_with_model: n_ctx      = 65536
ggml_backend_cuda_buffer_type_alloc_buffer: allocating 8192.00 MiB on device 0: cudaMalloc failed: out of memory
llama_kv_cache_init: failed to allocate buffer for kv cache
llama_init_from_gpt_params: error: failed to create context with model 'models/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf'`,
		"8.00 GiB is the KV cache of 65,536 tokens: 65,536 tokens x 32 layers x 4,096 bytes, as in llama-3.1-8b."},
	{"the same with a byte more", `llama_new_context_with_model: n_ctx      = 65536
ggml_backend_cpu_buffer_type_alloc_buffer: failed to allocate buffer of size 8589984633
llama_kv_cache_init: failed to allocate buffer for kv cache
llama_init_from_gpt_params: error: failed to create context with model 'models/Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf'`, ""},
	{"a size with many readings", "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.55 GiB of which 1.87 GiB is free.", ""},
	{"CLIP's table, exact", "RuntimeError: [enforce fail at ..\\c10\\core\\impl\\alloc_cpu.cpp:72] data. DefaultCPUAllocator: not enough memory: you tried to allocate 151781376 bytes.",
		"151,781,376 bytes is the size of the token embeddings of CLIP's text encoder in 32 bit: 49,408 (vocabulary) x 768 (width) x 4 bytes."},
	{"a power of two is nobody's", "RuntimeError: [enforce fail at ..\\c10\\core\\impl\\alloc_cpu.cpp:72] data. DefaultCPUAllocator: not enough memory: you tried to allocate 134217728 bytes.", ""},
}

func TestExplained(t *testing.T) {
	for _, x := range cases {
		t.Run(x.name, func(t *testing.T) {
			r := diagnose.Bytes([]byte(x.log + "\n"))
			require.NotEmpty(t, r.Incidents)
			e := r.Incidents[0].Explained
			if x.want == "" {
				require.Nil(t, e)
				return
			}
			require.NotNil(t, e)
			assert.Equal(t, x.want, e.Sentence)
			product := int64(1)
			for _, term := range e.Terms {
				product *= term.Value
			}
			if len(e.Terms) > 0 {
				assert.Equal(t, e.Bytes, product)
			}
			sum := int64(0)
			for _, p := range e.Parts {
				sum += p.Bytes
			}
			if len(e.Parts) > 0 {
				assert.Equal(t, e.Bytes, sum)
			}
			assert.False(t, strings.HasSuffix(e.Sentence, ".."))
		})
	}
}

// TestLower: what follows for the setting, where the log says what was free.
func TestLower(t *testing.T) {
	log := `INFO engine.py:97] Initializing an LLM engine with config: model='Qwen/Qwen2.5-7B-Instruct', max_num_seqs=1024
ERROR: CUDA out of memory occurred when warming up sampler with 1024 dummy requests. Please try lowering ` + "`max_num_seqs` or `gpu_memory_utilization`" + ` when initializing the engine.
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1.74 GiB. GPU 0 has a total capacity of 23.57 GiB of which 605.88 MiB is free. Of the allocated memory 20.21 GiB is allocated by PyTorch, and 185.98 MiB is reserved by PyTorch but unallocated.
`
	r := diagnose.Bytes([]byte(log))
	require.NotEmpty(t, r.Incidents)
	e := r.Incidents[0].Explained
	require.NotNil(t, e)
	assert.Equal(t, "1.74 GiB is the sampler's sorted copy of the logits: 1,024 (sequences) x 152,064 (vocabulary) x 12 bytes, as in qwen2.5-7b.", e.Sentence)
	assert.Equal(t, "qwen2.5-7b", e.Model)
	require.NotNil(t, e.Lower)
	assert.Equal(t, "lower_max_num_seqs", e.Lower.Fix)
	assert.InDelta(t, 330, e.Lower.To, 15) // 605.88 of 1781.75 MiB, a twentieth left free
}
