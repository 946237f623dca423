// Package parts knows failures beside a server's own requests: an engine that is
// built, a benchmark, a pool between models.
package parts

import (
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

const look = "nvidia-smi --query-compute-apps=pid,used_memory,process_name --format=csv"

// oneSequence: the log plans for one sequence at a time, so that working memory
// is small.
func oneSequence(c *ledger.Case) bool {
	return ledger.IntSetting(c, "max_batch_size", "batch_size") == 1
}

// building fills in what one sequence at a time says of the piece.
func building(c *ledger.Case) map[string]string {
	out := map[string]string{"few": ""}
	if oneSequence(c) {
		out["few"] = "The log plans for one request at a time, so working memory is small."
	}
	return out
}

// Building is about an engine that is built: tensorrt_llm/builder.py says so.
var Building = cause.Card{
	ID: "tensorrt-llm/build-weights", Kinds: []fact.Kind{fact.TRTEngine}, Said: []string{"Engine building failed, please check the error log"}, Figures: building,
	If:    func(c *ledger.Case) bool { return ledger.Requested(c) >= 1<<30 && ledger.Requested(c) < 1<<40 },
	Cause: cause.ModelTooLarge, Weight: cause.Good,
	Headline: "could not build the engine: {asked} did not fit in GPU memory",
	Means:    "This happened while building the engine. One allocation of this size is most likely the weights, which must fit on the GPU as a whole.[[ {few}]] At 16 bit they take 2 GB per billion parameters. The log shows neither the size of the GPU nor what else is on it.",
	Not:      "A smaller KV cache or a shorter context: they do not shrink the weights.",
	Cures: []cause.Cure{
		{Fix: "use_lower_quant", Title: "Build with 4-bit or 8-bit weights", Told: "4 bit needs about a quarter of 16 bit, 8 bit half. Add this to `convert_checkpoint.py`, then build again. If another program builds for you, use its own option or a smaller model.", Kind: "config", Text: "--use_weight_only --weight_only_precision int4", Cost: "slight loss of quality"},
		{Fix: "multi_gpu", Title: "Or split the weights over two GPUs", Told: "Add `--tp_size 2` to `convert_checkpoint.py`, and start what runs the engine with `mpirun -n 2`.", Cost: "needs the second GPU at run time too"},
		{Fix: "kill_stale_process", Title: "Check that the GPU is empty before the build", Kind: "shell", Text: look, Cost: "free"},
	},
	Sources: []string{"tensorrt_llm/builder.py", "https://github.com/NVIDIA/TensorRT-LLM/blob/v0.12.0/examples/llama/convert_checkpoint.py"},
}

// isLoaded: what was refused is as large as the engine that was being loaded. Its
// file has more than the weights, which are asked for in one piece.
func isLoaded(c *ledger.Case) bool {
	w, n := ledger.SizeOf(c.F().Weights), ledger.Requested(c)
	return w > 0 && n > w*9/10 && n < w*11/10
}

// EngineWeights is about an engine that is loaded: its weights were refused.
var EngineWeights = cause.Card{
	ID: "tensorrt-llm/engine-loaded", Kinds: []fact.Kind{fact.TRTEngine}, If: isLoaded,
	Cause: cause.ModelTooLarge, Weight: cause.Decisive,
	Headline: "could not load its engine: {asked} of weights did not fit in GPU memory",
	Means:    "The engine is {weights} (\"Loaded engine size\"). TensorRT must hold all its weights on the GPU, and KV cache and working memory come on top. The log shows neither the size of the GPU nor what else is on it.",
	Figures: func(c *ledger.Case) map[string]string {
		return map[string]string{"weights": units.Amount(ledger.SizeOf(c.F().Weights))}
	},
	Not: "A smaller batch or shorter prompts, even in a new build: the weights stay as large.",
	Cures: []cause.Cure{
		{Fix: "kill_stale_process", Title: "Check that the GPU is large enough, and empty", Told: "An earlier server or a second instance holds the same weights again: end it.", Kind: "shell", Text: look, Cost: "free"},
		{Fix: "multi_gpu", Title: "Or build it for two GPUs", Told: "Use `--tp_size 2` with `convert_checkpoint.py` (when quantising: `quantize.py`), then run `trtllm-build` again. Each GPU then holds half of the weights.", Cost: "needs a second GPU"},
		{Fix: "use_lower_quant", Title: "Or build it with fewer bits", Told: "Compared with 16 bit, FP8 (`quantize.py --qformat fp8`, Ada, Hopper and newer) is half, and `--qformat int4_awq` a little over a quarter. Then run `trtllm-build` again.", Cost: "slight loss of quality"},
	},
	Sources: []string{"TensorRT-LLM/examples/quantization/quantize.py", "https://github.com/NVIDIA/TensorRT-LLM/blob/v0.12.0/examples/llama/convert_checkpoint.py"},
}

// BuildKilled is about a builder that was ended from outside.
var BuildKilled = cause.Card{
	ID: "tensorrt-llm/build-killed", Kinds: []fact.Kind{fact.KernelKill, fact.ShellKilled}, Said: []string{"trtllm-build", "Engine generation completed", "Build TensorRT engine", "build TensorRT engines."},
	If:    func(c *ledger.Case) bool { return c.Says("tensorrt-llm") },
	Cause: cause.HostMemory, Weight: cause.Strong,
	Headline: "was killed while it built an engine: most likely system RAM ran out",
	Means:    "`Killed` comes from outside, usually from Linux when RAM is full. Full GPU memory raises an error instead. The builder holds the checkpoint's weights in RAM, and the finished engine once more. The old `build.py` (2023) loads the whole model into RAM for each GPU.",
	Not:      "A smaller KV cache: nothing is served yet.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Build where more RAM is free", Told: "Have more than twice the size of the checkpoint free, on a machine with the same kind of GPU. In a container raise its limit. If this command says \"Memory cgroup\", it was the container's limit:", Kind: "shell", Text: "sudo dmesg -T | grep -i 'killed process' | tail -4; free -h", Cost: "the check is free"},
		{Fix: "lower_num_workers", Title: "With `build.py`: leave out `--parallel_build`", If: func(c *ledger.Case) bool { return c.Near("build TensorRT engines.") }, Told: "The engines are then built one after the other.", Cost: "a slower build"},
		{Fix: "add_swap", Title: "Or add swap for the build", Cost: "disk, and a slow build"},
		{Fix: "use_lower_quant", Title: "Or convert with fewer bits: `--use_weight_only`", Told: "Add it to `convert_checkpoint.py`, then build again: 8 bit is half the size.", Cost: "slight loss of quality"},
	},
	Sources: []string{"tensorrt_llm/builder.py", "tensorrt_llm/commands/build.py", "https://github.com/NVIDIA/TensorRT-LLM/blob/027cd518e3b63809a5c5799187991e7f1164fb12/examples/llama/build.py"},
}

// Benchmark is about TensorRT-LLM's benchmarks/python.
var Benchmark = cause.Card{
	ID: "tensorrt-llm/benchmark", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Said: []string{"caught while allocating memory; skipping"}, If: func(c *ledger.Case) bool { return c.In("tensorrt-llm") },
	Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "skipped a configuration of its benchmark: GPU memory ran out",
	Means:    "`benchmark.py` builds one engine for `max_batch_size` and the longest input and output, whatever batch you measure. The KV cache and inputs of this configuration did not fit beside its weights and working memory.",
	Not:      "Fewer or smaller values of `--batch_size`: the engine stays as large.",
	Cures: []cause.Cure{
		{Fix: "lower_max_num_seqs", Title: "Lower `--max_batch_size` to the largest batch that you measure", Told: "By default it is the model's value in `allowed_configs.py`. Add to `benchmark.py`:", Kind: "config", Text: "--max_batch_size N   # the largest batch that you measure", Cost: "larger batches cannot be measured"},
		{Fix: "lower_context", Title: "Or lower `--max_input_len` and `--max_output_len`", Told: "Lower `--input_output_len` with them, and measure long and short lengths in separate runs.", Cost: "several runs"},
		{Fix: "use_lower_quant", Title: "Or use `--enable_fp8` and `--fp8_kv_cache`", Told: "On Ada, Hopper and newer GPUs: about half of the weights and of the KV cache.", Cost: "other numbers than at 16 bit"},
	},
	Sources: []string{"https://github.com/NVIDIA/TensorRT-LLM/blob/v0.10.0/benchmarks/python/benchmark.py"},
}

// CUDAPool is about Triton's own memory on the card.
var CUDAPool = cause.Card{
	ID: "triton-server/cuda-pool", Kinds: []fact.Kind{fact.PlainDevice}, If: func(c *ledger.Case) bool { return c.Failure.Stage == "cuda-pool" },
	Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
	Headline: "could not pass a tensor to a Python model: its CUDA memory pool was full",
	Means:    "Triton passes tensors between models through a GPU memory pool, 64 MB by default. One tensor did not fit, so Triton used pinned system RAM, and the Python model could not copy that. The GPU itself need not be full.",
	Not:      "A smaller model or closing other programs: the pool has a fixed size.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Start Triton with a larger CUDA pool", Told: "The value is `GPU:bytes`, once for each GPU; several tensors at a time need as many times their size. Add to `tritonserver` (this is 512 MiB on GPU 0):", Kind: "config", Text: "--cuda-memory-pool-byte-size=0:536870912", Cost: "that much GPU memory"},
		{Fix: "lower_batch_size", Title: "Or pass less at a time", Told: "Use a smaller `max_batch_size`, fewer frames or a lower resolution per request, or fewer instances.", Cost: "slower"},
		{Fix: "cpu_offload", Title: "Or let the Python model take its inputs in system RAM", Told: "That is the default: remove `FORCE_CPU_ONLY_INPUT_TENSORS` with \"no\" from its `config.pbtxt`.", Cost: "an extra copy per request"},
	},
	Sources: []string{"https://github.com/triton-inference-server/server/blob/main/src/command_line_parser.cc", "https://github.com/triton-inference-server/python_backend/blob/main/README.md"},
}

// Xinference are cards of its model processes: xinference/core/model.py says so
// of torch.cuda.OutOfMemoryError alone.
var Xinference = cause.Card{
	ID: "xinference/actor", Kinds: []fact.Kind{fact.PlainMemory, fact.PlainDevice}, If: func(c *ledger.Case) bool {
		return strings.Contains(strings.ToLower(c.Failure.Message), "model actor is out of memory")
	},
	Cause: cause.Unknown, Weight: cause.Good,
	Headline: "ended a model's process: GPU memory ran out in a request",
	Means:    "The model ran out of GPU memory while it worked on a request, and Xinference ended its process. Calls with its old uid then fail with `Model not found`. The log does not show what else is on the GPU.",
	Not:      "More system RAM or swap.",
	Cures: []cause.Cure{
		{Fix: "lower_context", Title: "Send less at once, then launch the model again", Told: "Use shorter prompts and histories; for embeddings and reranking 8 to 16 texts per request. After the new launch use the new uid, or set one with `--model-uid`.", Cost: "more requests"},
		{Fix: "use_lower_quant", Title: "Or launch it with fewer bits", Told: "Choose another Quantization on the launch page, or `--quantization` on the command line (AWQ or GPTQ Int4, a GGUF Q4_K_M).", Cost: "slight loss of quality"},
		{Fix: "select_gpu", Title: "Or give each model its own GPU", Told: "`nvidia-smi` shows what shares the GPU. `--gpu-idx 1` launches the model on another one.", Cost: "needs a free GPU"},
	},
	Sources: []string{"xinference/core/model.py", "xinference/deploy/cmdline.py"},
}

// FullRequest is what the check compares: the cache's tokens, and the blocks of a
// request times the tokens of a block.
func FullRequest(c *ledger.Case) map[string]string {
	out := map[string]string{"tokens": "", "full": ""}
	block, _ := c.Fact("trt_block")
	blocks, ok := c.Fact("trt_blocks")
	if ok && c.F().KVTokens != nil {
		out["tokens"], out["full"] = ledger.Thousands(int64(c.F().KVTokens.Value)), ledger.Thousands(int64(block.Count.Value*blocks.Count.Value))
	}
	return out
}

// VisionStays says what a quantised model that reads images has beside that.
func VisionStays(c *ledger.Case) string {
	if strings.Contains(strings.ToLower(c.ModelName()), "vl") {
		return "; the image encoder and the embedding stay at 16 bit"
	}
	return ""
}
