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
		out["few"] = "The log plans for one sequence at a time, so working memory is small."
	}
	return out
}

// Building is about an engine that is built: tensorrt_llm/builder.py says so.
var Building = cause.Card{
	ID: "tensorrt-llm/build-weights", Kinds: []fact.Kind{fact.TRTEngine}, Said: []string{"Engine building failed, please check the error log"}, Figures: building,
	If:    func(c *ledger.Case) bool { return ledger.Requested(c) >= 1<<30 && ledger.Requested(c) < 1<<40 },
	Cause: cause.ModelTooLarge, Weight: cause.Good,
	Headline: "could not build the engine: {asked} was refused in one piece",
	Means:    "This is the build, not the serving. One piece of this size is most likely the weights, which the card must hold whole.[[ {few}]] At 16 bit they take 2 GB per billion parameters. The log shows neither the card's size nor what is on it.",
	Not:      "A lower share for the KV cache, a shorter context: they do not shrink the weights.",
	Cures: []cause.Cure{
		{Fix: "use_lower_quant", Title: "Build with 4-bit or 8-bit weights", Told: "At 4 bit about a quarter of 16 bit, at 8 bit half. Added to `convert_checkpoint.py`, then build again; a program that builds for you has an option of its own, or takes a smaller model.", Kind: "config", Text: "--use_weight_only --weight_only_precision int4", Cost: "slight loss of quality"},
		{Fix: "multi_gpu", Title: "Or split the weights over two cards", Told: "`--tp_size 2` for `convert_checkpoint.py`, and `mpirun -n 2` before what runs the engine.", Cost: "needs the second card at run time too"},
		{Fix: "kill_stale_process", Title: "Check that the card is empty before the build", Kind: "shell", Text: look, Cost: "free"},
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
	Headline: "could not load its engine: {asked} of weights did not fit on the card",
	Means:    "The engine is {weights} (\"Loaded engine size\"), and {asked} was refused in one piece: its weights. TensorRT must have all of them on the card, and KV cache and working memory come on top. The log shows neither the card's size nor what else was on it.",
	Figures: func(c *ledger.Case) map[string]string {
		return map[string]string{"weights": units.Amount(ledger.SizeOf(c.F().Weights))}
	},
	Not: "A smaller batch or shorter prompts, also in a new build: the weights stay as large.",
	Cures: []cause.Cure{
		{Fix: "kill_stale_process", Title: "Check that the card is large enough, and empty", Told: "An earlier server, or a second instance of the engine, holds the same weights once more: end it.", Kind: "shell", Text: look, Cost: "free"},
		{Fix: "multi_gpu", Title: "Or build it for two cards", Told: "`--tp_size 2` for `convert_checkpoint.py` (the quantising script: `quantize.py`), then `trtllm-build` again. Half of the weights is then on each; the engine runs with two ranks.", Cost: "needs a second card"},
		{Fix: "use_lower_quant", Title: "Or build it with fewer bits", Told: "From 16 bit: FP8 (`quantize.py --qformat fp8`, Ada, Hopper and newer) is half, `--qformat int4_awq` a little over a quarter; then `trtllm-build` again.", Cost: "slight loss of quality"},
	},
	Sources: []string{"TensorRT-LLM/examples/quantization/quantize.py", "https://github.com/NVIDIA/TensorRT-LLM/blob/v0.12.0/examples/llama/convert_checkpoint.py"},
}

// BuildKilled is about a builder that was ended from outside.
var BuildKilled = cause.Card{
	ID: "tensorrt-llm/build-killed", Kinds: []fact.Kind{fact.KernelKill, fact.ShellKilled}, Said: []string{"trtllm-build", "Engine generation completed", "Build TensorRT engine", "build TensorRT engines."},
	If:    func(c *ledger.Case) bool { return c.Says("tensorrt-llm") },
	Cause: cause.HostMemory, Weight: cause.Strong,
	Headline: "was killed while it built an engine: most likely system memory (RAM) ran out",
	Means:    "`Killed` comes from outside, as a rule from the kernel when RAM is full; a full card raises an error instead. The builder has the checkpoint's weights in RAM, and the finished engine once more before it writes the file. The old `build.py` of the examples (2023) reads the whole Hugging Face model into RAM for each rank, and with `--parallel_build` for all ranks at once.",
	Not:      "A smaller share for the KV cache: nothing is served yet.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Build where there is more RAM", Told: "More than twice the size of the checkpoint free, on a machine with the same kind of card; in a container raise its limit. This shows whether it was the limit (\"Memory cgroup\") or the machine:", Kind: "shell", Text: "sudo dmesg -T | grep -i 'killed process' | tail -4; free -h", Cost: "a look is free"},
		{Fix: "lower_num_workers", Title: "With `build.py`: leave out `--parallel_build`", If: func(c *ledger.Case) bool { return c.Near("build TensorRT engines.") }, Told: "The ranks are then built one after the other. Later versions convert once (`convert_checkpoint.py`, one `--workers`) and build from the parts.", Cost: "a slower build"},
		{Fix: "add_swap", Title: "Or add swap for the build", Cost: "disk, and a slow build"},
		{Fix: "use_lower_quant", Title: "Or convert with fewer bits: `--use_weight_only`", Told: "For `convert_checkpoint.py`, then build again: weights and engine of half the size.", Cost: "little quality"},
	},
	Sources: []string{"tensorrt_llm/builder.py", "tensorrt_llm/commands/build.py", "https://github.com/NVIDIA/TensorRT-LLM/blob/027cd518e3b63809a5c5799187991e7f1164fb12/examples/llama/build.py"},
}

// Benchmark is about TensorRT-LLM's benchmarks/python.
var Benchmark = cause.Card{
	ID: "tensorrt-llm/benchmark", Kinds: []fact.Kind{fact.TorchAlloc, fact.TorchAsync}, Said: []string{"caught while allocating memory; skipping"}, If: func(c *ledger.Case) bool { return c.In("tensorrt-llm") },
	Cause: cause.BatchTooLarge, Weight: cause.Strong,
	Headline: "skipped a configuration of its benchmark: graphics memory ran out",
	Means:    "`benchmark.py` builds one engine for `max_batch_size` and the longest input and output, and allocates its working memory in advance (`execution context memory` in the log), whatever batch is measured. KV cache and inputs of this configuration then did not fit beside it and the weights.",
	Not:      "Fewer or smaller values of `--batch_size`, while the engine stays as large.",
	Cures: []cause.Cure{
		{Fix: "lower_max_num_seqs", Title: "Lower `--max_batch_size` to the largest batch that you measure", Told: "Unless set it is the model's of `allowed_configs.py`. Added to `benchmark.py`:", Kind: "config", Text: "--max_batch_size 32", Cost: "larger batches cannot be measured"},
		{Fix: "lower_context", Title: "Or lower `--max_input_len` and `--max_output_len`", Told: "Together with `--input_output_len`, in separate runs for long and short ones.", Cost: "several runs"},
		{Fix: "use_lower_quant", Title: "Or take `--enable_fp8` and `--fp8_kv_cache`", Told: "On Ada, Hopper and newer cards; about half of the weights and of the cache.", Cost: "other numbers than at 16 bit"},
	},
	Sources: []string{"https://github.com/NVIDIA/TensorRT-LLM/blob/v0.10.0/benchmarks/python/benchmark.py"},
}

// CUDAPool is about Triton's own memory on the card.
var CUDAPool = cause.Card{
	ID: "triton-server/cuda-pool", Kinds: []fact.Kind{fact.PlainDevice}, If: func(c *ledger.Case) bool { return c.Failure.Stage == "cuda-pool" },
	Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
	Headline: "could not pass a tensor to a Python model: its own CUDA pool was full",
	Means:    "Triton passes tensors between models through a pool on the card, 64 MB unless set. It was too small for one tensor, so Triton used pinned system memory, and the Python model could not copy that. The card itself need not be full.",
	Not:      "A smaller model, or closing other programs: the pool has a fixed size.",
	Cures: []cause.Cure{
		{Fix: "raise_memory_limit", Title: "Start Triton with a larger CUDA pool", Told: "`GPU:bytes`, once for each card; several tensors at a time need as many times their size. Added to `tritonserver` (this is 512 MiB on GPU 0):", Kind: "config", Text: "--cuda-memory-pool-byte-size=0:536870912", Cost: "that much of the card"},
		{Fix: "lower_batch_size", Title: "Or pass less at a time", Told: "A smaller `max_batch_size`, fewer frames or a lower resolution in a request, fewer instances.", Cost: "slower"},
		{Fix: "cpu_offload", Title: "Or let the Python model take its inputs in system memory", Told: "That is the default: leave `FORCE_CPU_ONLY_INPUT_TENSORS` with \"no\" out of its `config.pbtxt`.", Cost: "a copy for each request"},
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
	Headline: "ended a model's process: graphics memory ran out in a request",
	Means:    "Xinference says this where PyTorch ran out of graphics memory while the model worked on a request, and ends that process. Calls by the model's old uid then fail with `Model not found`. The lines do not show which of the models on the card is large.",
	Not:      "More RAM or swap.",
	Cures: []cause.Cure{
		{Fix: "lower_context", Title: "Send less at once, then launch the model again", Told: "Shorter prompts and histories; for embeddings and reranking 8 to 16 texts a request. After a new launch use the new uid, or set one (`--model-uid`).", Cost: "more requests"},
		{Fix: "use_lower_quant", Title: "Or launch it with fewer bits", Told: "`--quantization` with one of those that the launch page lists (AWQ or GPTQ Int4, a GGUF Q4_K_M).", Cost: "slight loss of quality"},
		{Fix: "select_gpu", Title: "Or give each model a card of its own", Told: "`nvidia-smi` shows what shares the card; `--gpu-idx 1` launches the model on another one.", Cost: "needs a free card"},
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
		return "; what reads images, and the embedding, stay at 16 bit beside them"
	}
	return ""
}
