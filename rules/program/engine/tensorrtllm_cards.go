package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/server/parts"
	"github.com/oomdoc/oomdoc/rules/when"
)

const (
	trtServe    = "https://github.com/NVIDIA/TensorRT-LLM/blob/main/tensorrt_llm/commands/serve.py"
	trtCreator  = "https://github.com/NVIDIA/TensorRT-LLM/blob/main/tensorrt_llm/_torch/pyexecutor/py_executor_creator.py"
	trtIssues   = "https://github.com/NVIDIA/TensorRT-LLM/issues/"
	trtFraction = "--free_gpu_memory_fraction 0.7"
)

// trtTorch: an allocation on the card by TensorRT-LLM's own Python code.
func trtTorch(c *ledger.Case) bool { return c.In("tensorrt-llm") && c.Root(onCard...) }

func trtStage(stages ...string) func(c *ledger.Case) bool {
	return func(c *ledger.Case) bool {
		for _, s := range stages {
			if c.Root(fact.TRTExecutor) && strings.HasPrefix(c.Failure.Stage, s) {
				return true
			}
		}
		return false
	}
}

// mostSequences is how many sequences TensorRT-LLM plans for unless told
// (max_batch_size of its build configuration).
const mostSequences = 2048

// trtSize reads a size that no card has: divided by the sequences that are
// planned for it may be a round size for each.
func trtSize(c *ledger.Case) map[string]string {
	out := map[string]string{"each": "", "few": ""}
	n := ledger.Requested(c)
	each := (n + mostSequences/2) / mostSequences
	half := int64(units.MiB / 2)
	off := each % half
	if _, set := c.Setting("max_batch_size"); !set && min(off, half-off) < 4<<10 && each >= half {
		out["each"], out["few"] = fmt.Sprintf("%.1f MiB", float64(each)/(1<<20)), units.Amount(8*each)
	}
	return out
}

// trtWeights tells a request that is whole layers of a known model in 16 bit.
func trtWeights(c *ledger.Case) map[string]string {
	out := map[string]string{"model_16": "", "layers": "", "square": "", "all": "", "eight": "", "four": ""}
	n := ledger.Requested(c)
	for _, m := range fit.Models() {
		layer := 2 * (2*m.Hidden*m.Heads*m.HeadDim + 2*m.Hidden*m.KVHeads*m.HeadDim + 3*m.Hidden*m.FFN)
		if !m.Gated || m.FFNLayers != nil || m.Pattern != "" || layer <= 0 || m.Layers < 8 || n < int64(m.Layers-2)*layer || n > int64(m.Layers)*layer {
			continue
		}
		square := 2 * m.Hidden * m.Hidden
		if rest := n % layer; rest != 0 && rest != square {
			continue
		}
		if n%layer != 0 {
			out["square"] = fmt.Sprintf("%d x %[1]d", m.Hidden)
		}
		all := 2 * m.Parameters
		out["model_16"], out["layers"] = fmt.Sprintf("%.0f billion parameters", float64(m.Parameters)/1e9), strconv.FormatInt(n/layer, 10)
		out["all"], out["eight"], out["four"] = units.Amount(all), units.Amount(all/2), units.Amount(all/4)
		return out
	}
	return out
}

func trtIsWeights(c *ledger.Case) bool { return trtWeights(c)["layers"] != "" }

// pidsOf are the lowest and the highest number of processes that hold something.
func pidsOf(all []fact.Process) (first, last int) {
	for _, p := range all {
		if p.Bytes < units.GiB/2 {
			continue
		}
		if first == 0 {
			first = p.PID
		}
		first, last = min(first, p.PID), max(last, p.PID)
	}
	return first, last
}

// trtRanks lists the processes on the card of a rank, but for those that are as
// small as a driver's context, and what none of them accounts for.
func trtRanks(c *ledger.Case) map[string]string {
	out := map[string]string{"count": "", "device": "", "sizes": "", "unlisted": "", "pids": "", "must": "`--tp_size` as you set it", "n": "N"}
	f := c.F()
	if f.Device == nil || len(f.OtherProcesses) == 0 {
		return out
	}
	n, least, most, all := 1, int64(0), int64(0), ledger.SizeOf(f.ProcessUsed)+ledger.SizeOf(f.Free)
	for _, p := range f.OtherProcesses {
		all += p.Bytes
		if p.Bytes < units.GiB/2 {
			continue
		}
		n++
		if least == 0 || p.Bytes < least {
			least = p.Bytes
		}
		most = max(most, p.Bytes)
	}
	if first, last := pidsOf(f.OtherProcesses); last-first == n-1 {
		out["pids"], out["must"], out["n"] = fmt.Sprintf("PIDs %d to %d", first, last), strconv.Itoa(n)+" by these processes", strconv.Itoa(n)
	}
	out["count"], out["device"] = strconv.Itoa(n), strconv.Itoa(int(f.Device.Value))
	out["sizes"] = units.Amount(least) + " to " + units.Amount(most)
	if rest := ledger.SizeOf(f.Total) - all; f.ProcessUsed != nil && rest > units.GiB {
		out["unlisted"] = units.Amount(rest)
	}
	return out
}

// trtShares are what the cache asks for: nine tenths of what is free, or less.
func trtShares(c *ledger.Case) map[string]string {
	out := map[string]string{"nine": part(c.F().Free, 0.9), "seven": part(c.F().Free, 0.7), "roomy": ""}
	if trtRoomy(c) {
		out["roomy"] = c.Free.String()
	}
	return out
}

// trtRoomy: half of the card was free.
func trtRoomy(c *ledger.Case) bool {
	return c.Free.Has() && c.Total.Has() && c.Free.Bytes*2 > c.Total.Bytes
}

var trtFirstError = cause.Cure{Fix: "upgrade_version", Title: "Look for the first error, then update TensorRT-LLM", Told: "`grep -n -i -m5 -E 'error|out of memory' LOG` (LOG: your log file) finds it above this report. If a script starts the server, print the settings that reach `KvCacheConfig`. The estimate changed several times in 2025.", Kind: "shell", Text: "pip install -U tensorrt-llm"}

var trtFewer = cause.Cure{
	Fix: "lower_batch_size", Title: "Lower `--max_batch_size` and `--max_num_tokens`",
	Told: "In Python `LLM(..., max_batch_size=16, max_num_tokens=2048)`. For `trtllm-serve` add:", Kind: "config",
	Text: "--max_batch_size 16 --max_num_tokens 2048", Cost: "more requests wait",
}

var trtSmallerCache = cause.Cure{
	Fix: "lower_mem_fraction", Title: "Lower `free_gpu_memory_fraction`",
	Told: "The KV cache then leaves more free. In Python `KvCacheConfig(free_gpu_memory_fraction=0.7)`, in Triton `kv_cache_free_gpu_mem_fraction` in the model's config.pbtxt. For `trtllm-serve` add:",
	Kind: "config", Text: trtFraction, Cost: "fewer tokens at a time",
}

var trtSplit = cause.Cure{
	Fix: "multi_gpu", Title: "Split the weights over more GPUs", Told: "With two, each holds half of the weights and the KV cache. If it runs on several already (`RANK 1` or higher in the log), use twice as many. For `trtllm-serve` add:",
	Kind: "config", Text: "--tp_size 2", Cost: "needs more GPUs",
}

var trtQuant = cause.Cure{
	Fix: "use_lower_quant", Title: "Serve a quantised checkpoint",
	Told: "Many are at huggingface.co/nvidia: FP8 is about half of 16 bit and needs Ada, Hopper or newer; FP4 is a quarter and needs Blackwell. AWQ (4 bit) runs on older GPUs.",
	Cost: "slight loss of quality",
}

// trtCards are TensorRT-LLM's.
var trtCards = []cause.Card{
	{
		ID: "tensorrt-llm/huge", Kinds: []fact.Kind{fact.TorchAlloc}, If: func(c *ledger.Case) bool {
			return trtTorch(c) && c.Asked.Has() && c.Total.Has() && c.Asked.Bytes > c.Total.Bytes
		},
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Figures: trtSize,
		Headline: "asked for {asked} at once, on a GPU with {total}",
		Means:    "Such a size usually follows from the configured limits.[[ TensorRT-LLM plans for 2048 requests at once by default. {asked} / 2048 is {each} each, which fits a model with a fixed state per request (Mamba and its hybrids), but the log does not name the buffer.]]",
		Not:      "`expandable_segments` or ending other processes: the request stays larger than the GPU.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower `--max_batch_size`", Told: "[[That needs {few} instead, if it is {each} per request. ]]In Python `LLM(..., max_batch_size=8)`; for `trtllm-serve` add:", Kind: "config", Text: "--max_batch_size 8", Cost: "more requests wait"},
			{Fix: "lower_context", Title: "Limit the lengths as well", Told: "If it still fails, add:", Kind: "config", Text: "--max_num_tokens 2048 --max_seq_len 4096", Cost: "longer requests are refused"},
			{Fix: "upgrade_version", Title: "If it still asks for as much, update and report it", Told: "Add the traceback above this error to the report.", Kind: "shell", Text: "pip install -U tensorrt-llm"},
		},
		Sources: []string{trtServe, trtIssues + "8642"},
	},
	{
		ID: "tensorrt-llm/ranks", Kinds: onCard, Phases: []string{"load"}, If: trtRanksTogether,
		Cause: cause.DeviceImbalance, Weight: cause.Strong, Figures: trtRanks,
		Headline: "loaded several processes of one job onto GPU {device}",
		Means:    "{count} processes[[ ({pids})]] are on GPU {device} while the weights load, the others with {sizes}. Most likely they are workers of one job, which should have one GPU each.[[ Something that the message does not list uses {unlisted} more.]]",
		Not:      "Batch or cache settings, `expandable_segments`: the processes would still share a GPU.",
		Cures: []cause.Cure{
			{Fix: "select_gpu", Title: "Check how many GPUs the job sees", Told: "In the server's container this must show as many GPUs as there are workers ({must}):", Ways: []cause.Way{
				{For: "Docker", Text: "`--gpus all --ipc=host`."}, {For: "Kubernetes", Text: "`nvidia.com/gpu: {n}` under limits."}, {For: "Slurm", Text: "`--gpus-per-node={n}`, without `--gpus-per-task=1`."}, {For: "A variable is set", Text: "`unset CUDA_VISIBLE_DEVICES`."},
			}, Kind: "shell", Text: "nvidia-smi -L\necho \"$CUDA_VISIBLE_DEVICES\"\npython3 -c \"import torch; print(torch.cuda.device_count())\"", Cost: "free"},
			{Fix: "multi_gpu", Title: "If there are fewer GPUs, lower `--tp_size`", Told: "Use as many as there are GPUs. Weights and KV cache must fit into that number times {total}.", Cost: "perhaps a smaller model"},
			{Fix: "upgrade_version", Title: "If all GPUs are visible, update TensorRT-LLM", Told: "First stop the whole job and check with `nvidia-smi` that each GPU is empty.", Kind: "shell", Text: "pip install -U tensorrt-llm"},
		},
		Sources: []string{trtServe, trtIssues + "7818", trtIssues + "6281"},
	},
	{
		ID: "tensorrt-llm/load", Kinds: onCard, Phases: []string{"load"}, If: trtTorch,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "did not start: the weights do not fit in GPU memory",
		Means:    "It failed while loading the weights.[[ This process already holds {mine} of {total}.]] Buffers and KV cache come later.",
		Not:      "`--free_gpu_memory_fraction` or `--max_seq_len`: the KV cache comes after the weights.",
		Cures:    []cause.Cure{trtQuant, trtSplit, {Fix: "close_other_apps", Title: "Check what else is on the GPU", Kind: "shell", Text: look, Cost: "free"}},
		Sources:  []string{trtCreator, trtServe},
	},
	trtLoading, trtGraphs,
	{
		ID: "tensorrt-llm/convert", Kinds: onCard, Said: []string{"model_params[f'model.layers", "convert_checkpoint.py", "convert_and_load_weights_into_trtllm", "load_weights_from_hf_model"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory while converting the checkpoint",
		Means:    "This is the conversion, before an engine is built. It loads the Hugging Face model onto the GPU and merges its matrices there, so some weights exist twice for a moment. The engine itself may still fit.",
		Not:      "A smaller batch or length: the conversion does not use them.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Convert in system RAM", Told: "RAM must hold the whole model at 16 bit. Add to your `convert_checkpoint.py` command (Llama, Mixtral and most others have it):", Kind: "config", Text: "--load_model_on_cpu", Cost: "slower, once"},
			{Fix: "lower_num_workers", Cost: "slower", Title: "Convert for one GPU at a time: `--workers 1`", Told: "Each worker holds its own copy of the model."},
			{Fix: "multi_gpu", Cost: "needs a second GPU", Title: "If the engine is too large as well, split it", Told: "`--tp_size 2` writes a checkpoint for two GPUs; combine it with the first step."},
		},
		Sources: []string{"https://github.com/NVIDIA/TensorRT-LLM/blob/v0.12.0/examples/llama/convert_checkpoint.py", trtIssues + "1519"},
	},
	{
		ID: "tensorrt-llm/serving", Kinds: onCard, If: trtTorch,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "ran out of GPU memory beside its KV cache",
		Means:    "By default the KV cache takes nine tenths of what is free after the weights. Requests, CUDA graphs and images have only the rest.",
		Not:      "Shorter answers: the KV cache has its full size from the start.",
		Cures:    []cause.Cure{trtSmallerCache, trtFewer, trtQuant},
		Sources:  []string{trtServe},
	},
}

// trtEngineCards are those of its executor and of engines.
var trtEngineCards = []cause.Card{
	{
		ID: "tensorrt-llm/scratch", Said: []string{"bytes of scratch space, but only"}, If: func(c *ledger.Case) bool { return strings.Contains(c.Failure.Message, "scratch space") },
		Cause: cause.OversizedAllocation, Weight: cause.Decisive,
		Headline: "could not build the engine: a plugin wants {asked} of scratch space",
		Means:    "The plugin reserves scratch space for the largest batch that the engine must accept: `max_batch_size` x `max_input_len` (or `max_num_tokens`), and beams. So the limits of this build are too high, or this version computes the size wrongly, as some did for mixture-of-experts models.",
		Not:      "A larger workspace (`setMemoryPoolLimit`), which the message suggests: by default it is the whole GPU already.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Build with smaller limits: `--max_batch_size`, `--max_num_tokens`", Told: "Once it builds, raise them again one at a time.", Ways: []cause.Way{
				{For: "trtllm-build", Text: "`--max_batch_size 4 --max_num_tokens 2048 --max_seq_len 4096 --max_beam_width 1`"},
				{For: "build.py", Text: "`--max_batch_size 1 --max_input_len 1024 --max_output_len 512`; with `--use_inflight_batching --enable_context_fmha` also `--max_num_tokens 2048`"},
			}, Cost: "longer requests are refused, more wait"},
			{Fix: "upgrade_version", Title: "Use a release, and the examples of the same tag", Told: "If the size hardly changes with the limits, the version is at fault. Do not mix build scripts of `main` with a release: `git checkout` the tag that `pip show tensorrt_llm` names.", Cost: "a new build"},
			{Fix: "multi_gpu", Title: "Or split it over more GPUs", Told: "Double `--tp_size` (in `build.py` also `--world_size`); with trtllm-build set it for `convert_checkpoint.py`.", Cost: "needs the GPUs at run time too"},
		},
		Sources: []string{"https://github.com/NVIDIA/TensorRT-LLM/blob/v0.7.1/examples/llama/build.py", trtIssues + "770", trtIssues + "841", trtIssues + "2688"},
	},
	{
		ID: "tensorrt-llm/kv-cache", Kinds: []fact.Kind{fact.TRTExecutor}, If: trtStage("kvcache"),
		Cause: cause.BudgetMisconfigured, Weight: cause.Good, Figures: trtShares,
		Headline: "did not start: it could not allocate its KV cache[[, with {roomy} of {total} free]]",
		Means:    "The weights are loaded, but the KV cache was refused. The reason is the first error further up.[[ By default the cache takes nine tenths of what is free, {nine} of {free}.]] Another process may have taken memory in between, the driver may have refused such a large piece or pinned RAM, or this version estimates wrongly.",
		Cures: []cause.Cure{
			where(trtRoomy, trtFirstError),
			{Fix: "lower_mem_fraction", Title: "Lower `free_gpu_memory_fraction`", Told: "[[That asks for {seven}. ]]In Python `KvCacheConfig(free_gpu_memory_fraction=0.7)`. If a lower value fails in the same way, look at the first error instead. For `trtllm-serve` add:", Kind: "config", Text: trtFraction, Cost: "fewer tokens at a time"},
			where(when.Not(trtRoomy), trtFirstError),
			{Fix: "lower_batch_size", Title: "Or lower `--max_batch_size` and `--max_num_tokens`", Kind: "config", Text: "--max_batch_size 16 --max_num_tokens 2048", Cost: "more requests wait"},
		},
		Sources: []string{trtCreator, trtIssues + "5872"},
	},
	{
		ID: "tensorrt-llm/executor-model", Kinds: []fact.Kind{fact.TRTExecutor}, If: func(c *ledger.Case) bool { return c.Failure.Stage == "model" },
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "did not start: the model did not fit in GPU memory",
		Means:    "The report says that the model itself could not be created. The free memory must hold the weights and the working memory of one batch of `max_num_tokens` (8192 by default).",
		Not:      "`--free_gpu_memory_fraction`: the KV cache comes later.",
		Cures:    []cause.Cure{trtSplit, trtQuant, {Fix: "lower_max_batched_tokens", Title: "If it nearly fits, lower `--max_num_tokens`", Kind: "config", Text: "--max_num_tokens 2048", Cost: "slower long prompts"}},
		Sources:  []string{trtCreator, trtServe},
	},
	{
		ID: "tensorrt-llm/executor-rest", Kinds: []fact.Kind{fact.TRTExecutor},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "did not start: the buffers for a batch did not fit in GPU memory",
		Means:    "The weights are loaded. The buffers that did not fit grow with `max_num_tokens` and `max_batch_size` (8192 and 2048 by default).",
		Cures: []cause.Cure{
			{Fix: "lower_max_batched_tokens", Title: "Lower `--max_num_tokens` and `--max_batch_size`", Told: "Once it starts, raise them again one at a time. For `trtllm-serve` add:", Kind: "config", Text: "--max_num_tokens 2048 --max_batch_size 16", Cost: "slower long prompts, more requests wait"},
			trtSmallerCache, trtSplit,
		},
		Sources: []string{trtCreator, trtServe, trtIssues + "5950"},
	},
	{
		ID: "tensorrt-llm/engine-weights", Kinds: []fact.Kind{fact.TRTEngine}, If: trtIsWeights,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Figures: trtWeights,
		Headline: "could not build the engine: its 16-bit weights need {asked} in one piece",
		Means:    "{asked} is exactly {layers} layers[[ and a matrix of {square}]] of a model with {model_16} at 16 bit, so these are weights. All weights are {all}; the GPU must have more than that free. The log does not show whether it is too small or in use.",
		Not:      "A smaller `--max_batch_size` or `--max_input_len` alone: they do not shrink the weights.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Check what is on the GPU", Told: "If it is large enough but in use, end that job if it is yours and build again.", Kind: "shell", Text: look, Cost: "free"},
			{Fix: "use_lower_quant", Title: "Build with 8-bit weights", Told: "They take about {eight}, with `int4` about {four} and more loss. Add to `build.py` (later versions: `convert_checkpoint.py`), with a new output folder:", Kind: "config", Text: "--use_weight_only --weight_only_precision int8", Cost: "slight loss of quality"},
			{Fix: "multi_gpu", Title: "Or keep 16 bit on two GPUs", Told: "{eight} on each: `--world_size 2 --tp_size 2` for `build.py`, later `--tp_size 2` for `convert_checkpoint.py`. Run it with `mpirun -n 2`.", Cost: "needs the second GPU at run time too"},
		},
		Sources: []string{"https://github.com/NVIDIA/TensorRT-LLM/blob/v0.5.0/examples/llama/build.py", trtIssues + "346"},
	},
	parts.Building, parts.EngineWeights,
	{
		ID: "tensorrt-llm/engine", Kinds: []fact.Kind{fact.TRTEngine},
		Cause: cause.ModelTooLarge, Weight: cause.Fair,
		Headline: "ran out of GPU memory for an engine",
		Means:    "TensorRT allocates the engine's weights in one piece, and the working memory for its largest shapes in another.[[ If {asked} is about the size of the engine file (\"Loaded engine size\"), it was the weights.]] The log shows neither the size of the GPU nor what else uses it.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Check what uses the GPU", Told: "End what is yours, then try again.", Kind: "shell", Text: look, Cost: "free"},
			{Fix: "lower_batch_size", Title: "If it was not the weights, build for smaller shapes", Kind: "text", Text: "`trtllm-build --max_batch_size 8 --max_num_tokens 2048 --max_seq_len 4096`.", Cost: "larger inputs are refused"},
			{Fix: "half_precision", Title: "If it was the weights, build with fewer bits", Told: "Use `--use_weight_only` with `convert_checkpoint.py`, then build again: 8 bit is half of 16 bit.", Cost: "slight loss of quality"},
		},
		Sources: []string{"https://docs.nvidia.com/deeplearning/tensorrt/latest/reference/command-line-programs.html", "https://github.com/NVIDIA/TensorRT-LLM/blob/v0.12.0/tensorrt_llm/commands/build.py"},
	},
	{
		ID: "tensorrt-llm/cache-short", Kinds: []fact.Kind{fact.TRTCacheTooSmall}, Figures: parts.FullRequest,
		Cause: cause.ContextTooLong, Weight: cause.Good,
		Headline: "did not start: the KV cache holds less than one request of full length",
		Means:    "[[The cache has room for {tokens} tokens, and one request of full length may take {full}. ]]Either `max_seq_len` is longer than you need, or something else takes the memory: another program, a second instance of the model, or a small share for the cache.",
		Not:      "A smaller batch alone: this check is for one request.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Lower `max_seq_len`", Ways: []cause.Way{
				{For: "trtllm-serve", Text: "`--max_seq_len` with the length that you need."}, {For: "An engine built by hand", Text: "build it again with a smaller `--max_seq_len` (before 0.11 `--max_input_len` and `--max_output_len`)."},
			}, Cost: "longer ones are refused"},
			{Fix: "raise_mem_fraction", Title: "Raise `free_gpu_memory_fraction`", Ways: []cause.Way{
				{For: "trtllm-serve", Text: "`--free_gpu_memory_fraction 0.95` (0.9 is the default)."}, {For: "Triton", Text: "`kv_cache_free_gpu_mem_fraction` in config.pbtxt; two instances on a card share it: 0.45 each."},
			}, Cost: "less for other programs"},
			{Fix: "close_other_apps", Title: "Check what else is on the GPU", Kind: "shell", Text: look, Cost: "free"},
		},
		Sources: []string{trtServe, "https://github.com/NVIDIA/TensorRT-LLM/blob/main/cpp/tensorrt_llm/batch_manager"},
	},
	{
		ID: "tensorrt-llm/pinned", Kinds: []fact.Kind{fact.TRTRuntime}, If: func(c *ledger.Case) bool { return c.Failure.Stage == "pinned" },
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "could not get pinned system RAM; GPU memory was not short",
		Means:    "cudaHostAlloc, the call that failed, allocates system RAM that cannot be swapped out. Either RAM was short, or locked memory is limited, as is usual in containers. The GPU may be empty.",
		Not:      "A smaller `free_gpu_memory_fraction`: it affects only GPU memory.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the limits of the container", Told: "Add to `docker run`:", Kind: "config", Text: "--ipc=host --ulimit memlock=-1 --ulimit stack=67108864", Cost: "free"},
			{Fix: "close_other_apps", Title: "Check the free RAM", Told: "Run `free -h` while it starts. Swap does not count for pinned memory.", Cost: "free"},
			{Fix: "lower_swap_space", Title: "Make the host cache smaller", Told: "If you set a KV cache in system RAM, lower it (`kv_cache_host_memory_bytes` in Triton, `host_cache_size` in `KvCacheConfig`).", Cost: "less reuse of prompts"},
		},
		Sources: []string{"https://github.com/NVIDIA/TensorRT-LLM/blob/main/cpp/include/tensorrt_llm/runtime/tllmBuffers.h", trtIssues + "1670"},
	},
	{
		ID: "tensorrt-llm/engine-fills", Kinds: []fact.Kind{fact.TRTRuntime, fact.TRTCacheTooSmall}, If: func(c *ledger.Case) bool {
			return c.Total.Has() && c.Free.Has() && c.Free.Bytes*20 < c.Total.Bytes
		},
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "loaded its engine, but only {free} of {total} is left for the KV cache",
		Means:    "With the engine and its buffers loaded, too little is left for a KV cache. They fill the GPU, unless another program uses part of it: check `nvidia-smi` before the start.",
		Not:      "`free_gpu_memory_fraction`: it only divides the {free} that is left.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", Title: "Use fewer bits or a smaller model", Told: "At 4 bit a model takes about 0.7 GiB per billion parameters, and 1 to 2 GiB should stay free. If it is 4 bit already, use a smaller one.", Cost: "lower quality"},
			{Fix: "lower_batch_size", Title: "If little is missing, shrink the engine's buffers", Ways: []cause.Way{
				{For: "trtllm-serve", Text: "add `--max_batch_size 1 --max_num_tokens 1024 --max_seq_len 2048`."},
				{For: "An engine built by hand", Text: "build it again with smaller `--max_batch_size`, `--max_input_len` and `--max_seq_len`."},
			}, Cost: "one short request at a time"},
			{Fix: "bigger_gpu", Title: "Or use a larger GPU", Cost: "money"},
			{Fix: "kill_stale_process", Title: "Check what else is on the GPU", Kind: "shell", Text: look, Cost: "free"},
		},
		Sources: []string{trtServe, "https://github.com/NVIDIA/TensorRT-LLM/blob/main/cpp/tensorrt_llm/batch_manager"},
	},
	inTriton,
	{
		ID: "tensorrt-llm/runner", Kinds: []fact.Kind{fact.TRTRuntime}, Said: []string{"model_runner_cpp.py"},
		Headline: "ran out of GPU memory in an engine that a script runs",
		Means:    "`ModelRunnerCpp` loads the engine, allocates buffers for the batch, beams and lengths of its build, and gives nine tenths of the rest to the KV cache. Everything later has only what remains. The message names no size.",
		Cures: []cause.Cure{
			{Fix: "lower_mem_fraction", Title: "Give the KV cache less: 0.5 instead of 0.9", Told: "Add it to `examples/run.py` if its `--help` lists it. In your own script it is an argument of `ModelRunnerCpp.from_dir`:", Kind: "config", Text: "--kv_cache_free_gpu_memory_fraction 0.5", Cost: "fewer tokens at a time"},
			{Fix: "lower_batch_size", Title: "Or build the engine for smaller batches", Told: "Use a quarter of `--max_batch_size`, half of `--max_input_len` and one beam. Leave out `--gather_context_logits` if you do not need it.", Cost: "longer requests are refused"},
			{Fix: "kill_stale_process", Title: "Check what else is on the GPU", Kind: "shell", Text: look, Cost: "free"},
		},
		Sources: []string{"TensorRT-LLM/examples/run.py", "TensorRT-LLM/examples/utils.py", "TensorRT-LLM/tensorrt_llm/commands/build.py"},
	},
	{
		ID: "tensorrt-llm/runtime", Kinds: []fact.Kind{fact.TRTRuntime},
		Cause: cause.BatchTooLarge, Weight: cause.Fair,
		Headline: "ran out of GPU memory in its C++ runtime",
		Means:    "The message names no size. The runtime allocates buffers by the engine's batch size and lengths, then by default nine tenths of the free memory for the KV cache. `nvidia-smi` before the start shows whether something else uses the GPU.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower batch size and lengths", Ways: []cause.Way{
				{For: "An engine built by hand", Text: "build it again with a quarter of `--max_batch_size`, half of `--max_input_len` (`--max_seq_len`), and one beam."},
				{For: "trtllm-serve", Text: "add `--max_batch_size 16 --max_num_tokens 2048 --max_seq_len 4096`."},
			}, Cost: "longer requests are refused, more wait"},
			{Fix: "lower_mem_fraction", Title: "Lower `free_gpu_memory_fraction`", Ways: []cause.Way{
				{For: "trtllm-serve", Text: "`" + trtFraction + "` (0.9 is the default)."}, {For: "Triton", Text: "`kv_cache_free_gpu_mem_fraction` 0.7 in config.pbtxt; with several instances on a card 0.9 divided by their number."},
			}, Cost: "fewer tokens at a time"},
			{Fix: "kill_stale_process", Title: "Check what else is on the GPU", Kind: "shell", Text: look, Cost: "free"},
		},
		Sources: []string{trtServe, "https://github.com/NVIDIA/TensorRT-LLM/blob/main/cpp/include/tensorrt_llm/runtime/tllmBuffers.h", trtIssues + "401"},
	},
}
