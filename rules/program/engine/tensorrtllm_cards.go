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

var trtFirstError = cause.Cure{Fix: "upgrade_version", Title: "Look for the first error, then update TensorRT-LLM", Told: "`grep -n -i -m5 -E 'error|out of memory' LOG` finds the refusal above this report. A script or harness that starts it: print the settings that reach `KvCacheConfig`. The estimate of the share changed several times in 2025.", Kind: "shell", Text: "pip install -U tensorrt-llm"}

var trtFewer = cause.Cure{
	Fix: "lower_batch_size", Title: "Lower `--max_batch_size` and `--max_num_tokens`",
	Told: "Added to your `trtllm-serve` command; in Python `LLM(..., max_batch_size=16, max_num_tokens=2048)`:", Kind: "config",
	Text: "--max_batch_size 16 --max_num_tokens 2048", Cost: "more requests wait",
}

var trtSmallerCache = cause.Cure{
	Fix: "lower_mem_fraction", Title: "Lower `free_gpu_memory_fraction`",
	Told: "The KV cache then takes less of what is free. In Python `KvCacheConfig(free_gpu_memory_fraction=0.7)`; in Triton `kv_cache_free_gpu_mem_fraction` in the model's config.pbtxt; added to `trtllm-serve`:",
	Kind: "config", Text: trtFraction, Cost: "fewer tokens at a time",
}

var trtSplit = cause.Cure{
	Fix: "multi_gpu", Title: "Split the weights over two cards", Told: "Each then holds half of weights and KV cache. Added to `trtllm-serve`:",
	Kind: "config", Text: "--tp_size 2", Cost: "needs a second card",
}

var trtQuant = cause.Cure{
	Fix: "use_lower_quant", Title: "Serve a quantised checkpoint",
	Told: "NVIDIA publishes many at huggingface.co/nvidia with FP8 or FP4 in the name: about half or a quarter of 16 bit. FP8 needs Ada, Hopper or newer, FP4 Blackwell; AWQ (4 bit) runs on older cards.",
	Cost: "slight loss of quality",
}

// trtCards are TensorRT-LLM's.
var trtCards = []cause.Card{
	{
		ID: "tensorrt-llm/huge", Kinds: []fact.Kind{fact.TorchAlloc}, If: func(c *ledger.Case) bool {
			return trtTorch(c) && c.Asked.Has() && c.Total.Has() && c.Asked.Bytes > c.Total.Bytes
		},
		Cause: cause.OversizedAllocation, Weight: cause.Decisive, Figures: trtSize,
		Headline: "asked for {asked} in one piece, on a {total} card",
		Means:    "Such a size usually follows from the configured limits.[[ TensorRT-LLM plans for 2048 requests at once unless told otherwise, and {asked} / 2048 is {each} each, which fits a model with a fixed state per request (Mamba and its hybrids), though the log does not name the buffer.]]",
		Not:      "`expandable_segments`, or ending other processes: the request stays larger than the card.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower `--max_batch_size`", Told: "[[That is {few} instead, if it is {each} for each request. ]]Added to your `trtllm-serve` command; in Python `LLM(..., max_batch_size=8)`:", Kind: "config", Text: "--max_batch_size 8", Cost: "more requests wait"},
			{Fix: "lower_context", Title: "Limit the lengths as well", Told: "If it is still refused:", Kind: "config", Text: "--max_num_tokens 2048 --max_seq_len 4096", Cost: "longer requests are refused"},
			{Fix: "upgrade_version", Title: "If it still asks for as much, update and report it", Told: "Add the traceback above this error to the report.", Kind: "shell", Text: "pip install -U tensorrt-llm"},
		},
		Sources: []string{trtServe, trtIssues + "8642"},
	},
	{
		ID: "tensorrt-llm/ranks", Kinds: onCard, Phases: []string{"load"}, If: trtRanksTogether,
		Cause: cause.DeviceImbalance, Weight: cause.Strong, Figures: trtRanks,
		Headline: "loaded several ranks of one job onto GPU {device}",
		Means:    "{count} processes[[ ({pids})]] are on GPU {device} while the weights load, this one and others of {sizes}: most likely workers of one job, which should have a card each.[[ {unlisted} more is held by something that the message does not list.]]",
		Not:      "Batch or cache settings, `expandable_segments`: the ranks would still share a card.",
		Cures: []cause.Cure{
			{Fix: "select_gpu", Title: "Check how many cards the job sees", Told: "In the server's container this must show as many cards as there are ranks ({must}):", Ways: []cause.Way{
				{For: "Docker", Text: "`--gpus all --ipc=host`."}, {For: "Kubernetes", Text: "`nvidia.com/gpu: {n}` under limits."}, {For: "Slurm", Text: "`--gpus-per-node={n}`, without `--gpus-per-task=1`."}, {For: "A variable is set", Text: "`unset CUDA_VISIBLE_DEVICES`."},
			}, Kind: "shell", Text: "nvidia-smi -L\necho \"$CUDA_VISIBLE_DEVICES\"\npython3 -c \"import torch; print(torch.cuda.device_count())\"", Cost: "free"},
			{Fix: "multi_gpu", Title: "If there are fewer cards, lower `--tp_size`", Told: "As many ranks as cards; weights and KV cache must fit into that number times {total}.", Cost: "perhaps a smaller model"},
			{Fix: "upgrade_version", Title: "If all are visible, update TensorRT-LLM", Told: "First stop the whole job and check with `nvidia-smi` that each card is empty.", Kind: "shell", Text: "pip install -U tensorrt-llm"},
		},
		Sources: []string{trtServe, trtIssues + "7818", trtIssues + "6281"},
	},
	{
		ID: "tensorrt-llm/load", Kinds: onCard, Phases: []string{"load"}, If: trtTorch,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "did not start: the weights do not fit on the card",
		Means:    "It failed while the weights were loading.[[ {mine} of {total} is this process's own already.]] Buffers and KV cache come later.",
		Not:      "`--free_gpu_memory_fraction`, `--max_seq_len`: the KV cache is allocated after the weights.",
		Cures:    []cause.Cure{trtSplit, trtQuant, {Fix: "close_other_apps", Title: "Check what else is on the card", Kind: "shell", Text: look, Cost: "free"}},
		Sources:  []string{trtCreator, trtServe},
	},
	trtLoading, trtGraphs,
	{
		ID: "tensorrt-llm/convert", Kinds: onCard, Said: []string{"model_params[f'model.layers", "convert_checkpoint.py", "convert_and_load_weights_into_trtllm", "load_weights_from_hf_model"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory while converting the checkpoint",
		Means:    "This is the conversion, before an engine is built. It loads the Hugging Face model onto the card and stacks its matrices there, so that some weights exist twice for a moment.[[ {mine} of {total} was its own.]] The engine itself may still fit.",
		Not:      "A smaller batch or length: the conversion does not use them.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Convert in system memory", Told: "The RAM must hold the whole model at 16 bit. Added to your `convert_checkpoint.py` command (Llama, Mixtral and most others have it):", Kind: "config", Text: "--load_model_on_cpu", Cost: "slower, once"},
			{Fix: "lower_num_workers", Title: "Convert one rank at a time: `--workers 1`", Told: "Each worker holds its own copy."},
			{Fix: "multi_gpu", Title: "If the engine is too large as well, split it", Told: "`--tp_size 2` writes a checkpoint for two cards; combine it with the first step."},
		},
		Sources: []string{"https://github.com/NVIDIA/TensorRT-LLM/blob/v0.12.0/examples/llama/convert_checkpoint.py", trtIssues + "1519"},
	},
	{
		ID: "tensorrt-llm/serving", Kinds: onCard, If: trtTorch,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "ran out of graphics memory beside its KV cache",
		Means:    "By default the KV cache takes nine tenths of what is free after the weights. Activations, CUDA graphs and images have only the rest.[[ {room} was left, {asked} was needed.]] The message does not show how much of this process is KV cache.",
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
		Means:    "The plugin that the message names plans its scratch space for the largest batch that the engine must accept: `max_batch_size` x `max_input_len` (or `max_num_tokens`), and beams. So the limits of this build ask for {asked}, or this version computes the size wrongly, as some did for mixtures of experts. The weights are not the problem.",
		Not:      "A larger workspace (`setMemoryPoolLimit`), which the message recommends: unless you limit it, the pool is the whole card already.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Build with smaller limits: `--max_batch_size`, `--max_num_tokens`", Told: "Once it builds, raise them again one at a time.", Ways: []cause.Way{
				{For: "trtllm-build", Text: "`--max_batch_size 4 --max_num_tokens 2048 --max_seq_len 4096 --max_beam_width 1`"},
				{For: "build.py", Text: "`--max_batch_size 1 --max_input_len 1024 --max_output_len 512`; with `--use_inflight_batching --enable_context_fmha` also `--max_num_tokens 2048`"},
			}, Cost: "longer requests are refused, more wait"},
			{Fix: "upgrade_version", Title: "Use a release, and the examples of the same tag", Told: "If the size hardly changes with the limits, the version is at fault. A build script of `main` with the library of a release failed this way: `git checkout` the tag that `pip show tensorrt_llm` names, or update both.", Cost: "a new build"},
			{Fix: "multi_gpu", Title: "Or split it over more cards", Told: "Twice the present `--tp_size` (in `build.py` also `--world_size`); with trtllm-build set it for `convert_checkpoint.py`.", Cost: "needs the cards at run time too"},
		},
		Sources: []string{"https://github.com/NVIDIA/TensorRT-LLM/blob/v0.7.1/examples/llama/build.py", trtIssues + "770", trtIssues + "841", trtIssues + "2688"},
	},
	{
		ID: "tensorrt-llm/kv-cache", Kinds: []fact.Kind{fact.TRTExecutor}, If: trtStage("kvcache"),
		Cause: cause.BudgetMisconfigured, Weight: cause.Good, Figures: trtShares,
		Headline: "did not start: its KV cache was refused[[, with {roomy} of {total} free]]",
		Means:    "The weights are loaded.[[ By default the KV cache takes nine tenths of what is free, which would be {nine} of {free}; what was set here the report does not show.]] The report shows only what was free before; the refusal itself, with its reason, stands higher up. It may be that another rank or program took memory in between, that the driver refused one piece that large or memory that is pinned in RAM, or that this version estimates the share wrongly.",
		Cures: []cause.Cure{
			where(trtRoomy, trtFirstError),
			{Fix: "lower_mem_fraction", Title: "Lower `free_gpu_memory_fraction`", Told: "[[That asks for {seven}. ]]If a lower value fails in the same way, it is not the share: look at the first error of the first rank. In Python `KvCacheConfig(free_gpu_memory_fraction=0.7)`; added to `trtllm-serve`:", Kind: "config", Text: trtFraction, Cost: "fewer tokens at a time"},
			where(when.Not(trtRoomy), trtFirstError),
			{Fix: "lower_batch_size", Title: "Or lower `--max_batch_size` and `--max_num_tokens`", Kind: "config", Text: "--max_batch_size 16 --max_num_tokens 2048", Cost: "more requests wait"},
		},
		Sources: []string{trtCreator, trtIssues + "5872"},
	},
	{
		ID: "tensorrt-llm/executor-model", Kinds: []fact.Kind{fact.TRTExecutor}, If: func(c *ledger.Case) bool { return c.Failure.Stage == "model" },
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "did not start: the model did not fit on the card",
		Means:    "The report says that the model itself could not be created.[[ {free} of {total} was free before.]] That memory must hold all weights of a rank and the activations of one batch of `max_num_tokens` (8192 by default).",
		Not:      "`--free_gpu_memory_fraction`: the KV cache comes later.",
		Cures:    []cause.Cure{trtSplit, trtQuant, {Fix: "lower_max_batched_tokens", Title: "If it nearly fits, lower `--max_num_tokens`", Kind: "config", Text: "--max_num_tokens 2048", Cost: "slower long prompts"}},
		Sources:  []string{trtCreator, trtServe},
	},
	{
		ID: "tensorrt-llm/executor-rest", Kinds: []fact.Kind{fact.TRTExecutor},
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "did not start: the buffers for a batch did not fit",
		Means:    "The weights are loaded. The size of the buffers that did not fit follows from `max_num_tokens` and `max_batch_size` (8192 and 2048 unless set).[[ {free} of {total} was free for them.]]",
		Cures: []cause.Cure{
			{Fix: "lower_max_batched_tokens", Title: "Lower `--max_num_tokens` and `--max_batch_size`", Told: "Raise them again, one at a time, once it starts. Added to `trtllm-serve`:", Kind: "config", Text: "--max_num_tokens 2048 --max_batch_size 16", Cost: "slower long prompts, more requests wait"},
			trtSmallerCache, trtSplit,
		},
		Sources: []string{trtCreator, trtServe, trtIssues + "5950"},
	},
	{
		ID: "tensorrt-llm/engine-weights", Kinds: []fact.Kind{fact.TRTEngine}, If: trtIsWeights,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Figures: trtWeights,
		Headline: "could not build the engine: its 16-bit weights need {asked} in one piece",
		Means:    "The builder asked the GPU for {asked}. To the byte that is {layers} layers[[ and a matrix of {square}]] of a model of {model_16} at 16 bit, so these are weights. The log does not show whether the card is too small or in use. All weights are {all}; the card must have more than that free, because activations and KV cache come on top.",
		Not:      "A smaller `--max_batch_size` or `--max_input_len` alone: they do not shrink the weights.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Check what is on the card", Told: "If the card is large enough but in use, end that job if it is yours and build again.", Kind: "shell", Text: look, Cost: "free"},
			{Fix: "use_lower_quant", Title: "Build with 8-bit weights", Told: "About {eight}; `int4` about {four}, with more loss. Added to `build.py` (later versions: `convert_checkpoint.py`), with a new output folder:", Kind: "config", Text: "--use_weight_only --weight_only_precision int8", Cost: "little quality"},
			{Fix: "multi_gpu", Title: "Or keep 16 bit on two cards", Told: "{eight} on each: `--world_size 2 --tp_size 2` for `build.py`, later `--tp_size 2` for `convert_checkpoint.py`, and `mpirun -n 2` before what runs it.", Cost: "needs the second card at run time too"},
		},
		Sources: []string{"https://github.com/NVIDIA/TensorRT-LLM/blob/v0.5.0/examples/llama/build.py", trtIssues + "346"},
	},
	parts.Building, parts.EngineWeights,
	{
		ID: "tensorrt-llm/engine", Kinds: []fact.Kind{fact.TRTEngine},
		Cause: cause.ModelTooLarge, Weight: cause.Fair,
		Headline: "was refused graphics memory for an engine",
		Means:    "TensorRT allocates the weights of an engine in one piece, and in another the working memory for the largest shapes that it was built for.[[ {asked} was refused: if that is about the size of the engine file (\"Loaded engine size\"), it was the weights.]] The log shows neither the card's size nor what was on it.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Check what holds the card", Told: "End what is yours, then try again.", Kind: "shell", Text: look, Cost: "free"},
			{Fix: "lower_batch_size", Title: "If it was not the weights, build for smaller shapes", Kind: "text", Text: "`trtllm-build --max_batch_size 8 --max_num_tokens 2048 --max_seq_len 4096`.", Cost: "larger inputs are refused"},
			{Fix: "half_precision", Title: "If it was the weights, build with fewer bits", Told: "`--use_weight_only` for `convert_checkpoint.py`, then build again: 8 bit, half of 16.", Cost: "little quality"},
		},
		Sources: []string{"https://docs.nvidia.com/deeplearning/tensorrt/latest/reference/command-line-programs.html", "https://github.com/NVIDIA/TensorRT-LLM/blob/v0.12.0/tensorrt_llm/commands/build.py"},
	},
	{
		ID: "tensorrt-llm/cache-short", Kinds: []fact.Kind{fact.TRTCacheTooSmall}, Figures: parts.FullRequest,
		Cause: cause.ContextTooLong, Weight: cause.Good,
		Headline: "did not start: the KV cache holds less than one request of full length",
		Means:    "[[The cache has room for {tokens} tokens, and one request of full length may take {full}. ]]The KV cache that fits holds less than one request of `max_seq_len`. Either that length is more than you need, or something else takes the memory: another program, a second instance of the model, or a small share.",
		Not:      "A smaller batch alone: the check is for one request.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Lower `max_seq_len`", Ways: []cause.Way{
				{For: "trtllm-serve", Text: "`--max_seq_len` with the length that you need."}, {For: "An engine built by hand", Text: "build it again with a smaller `--max_seq_len` (before 0.11 `--max_input_len` and `--max_output_len`)."},
			}, Cost: "longer ones are refused"},
			{Fix: "raise_mem_fraction", Title: "Raise `free_gpu_memory_fraction`", Ways: []cause.Way{
				{For: "trtllm-serve", Text: "`--free_gpu_memory_fraction 0.95` (0.9 is the default)."}, {For: "Triton", Text: "`kv_cache_free_gpu_mem_fraction` in config.pbtxt; two instances on a card share it: 0.45 each."},
			}, Cost: "less for everything else"},
			{Fix: "close_other_apps", Title: "Check what else is on the card", Kind: "shell", Text: look, Cost: "free"},
		},
		Sources: []string{trtServe, "https://github.com/NVIDIA/TensorRT-LLM/blob/main/cpp/tensorrt_llm/batch_manager"},
	},
	{
		ID: "tensorrt-llm/pinned", Kinds: []fact.Kind{fact.TRTRuntime}, If: func(c *ledger.Case) bool { return c.Failure.Stage == "pinned" },
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "was refused pinned system memory, not graphics memory",
		Means:    "The call that failed, cudaHostAlloc, allocates system memory (RAM) that cannot be swapped out. Either RAM was short, or a limit on locked memory is set, as is usual in containers. The card may be empty.",
		Not:      "A smaller `free_gpu_memory_fraction`: it concerns the card.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the limits of the container", Told: "Added to `docker run`:", Kind: "config", Text: "--ipc=host --ulimit memlock=-1 --ulimit stack=67108864", Cost: "free"},
			{Fix: "close_other_apps", Title: "Check the free RAM", Told: "`free -h` while it starts. Swap does not count for pinned memory.", Cost: "free"},
			{Fix: "lower_swap_space", Title: "Shrink the host cache", Told: "If you set a KV cache in system memory (`kv_cache_host_memory_bytes` in Triton, `host_cache_size` in `KvCacheConfig`), make it smaller.", Cost: "less reuse of prompts"},
		},
		Sources: []string{"https://github.com/NVIDIA/TensorRT-LLM/blob/main/cpp/include/tensorrt_llm/runtime/tllmBuffers.h", trtIssues + "1670"},
	},
	{
		ID: "tensorrt-llm/engine-fills", Kinds: []fact.Kind{fact.TRTRuntime, fact.TRTCacheTooSmall}, If: func(c *ledger.Case) bool {
			return c.Total.Has() && c.Free.Has() && c.Free.Bytes*20 < c.Total.Bytes
		},
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "loaded its engine, and only {free} of {total} is left for the KV cache",
		Means:    "With the engine and its buffers loaded, {free} of {total} was left, too little for a KV cache. Engine and buffers fill the card, unless another program holds a part of it (`nvidia-smi` before the start shows).",
		Not:      "`free_gpu_memory_fraction`: it only divides the {free} that is left.",
		Cures: []cause.Cure{
			{Fix: "use_smaller_model", Title: "Use fewer bits or a smaller model", Told: "At 4 bit a model takes about 0.7 GiB per billion parameters, and 1 to 2 GiB should stay free. If it is at 4 bit already, take a smaller one.", Cost: "lower quality"},
			{Fix: "lower_batch_size", Title: "If little is missing, shrink the engine's buffers", Ways: []cause.Way{
				{For: "trtllm-serve", Text: "add `--max_batch_size 1 --max_num_tokens 1024 --max_seq_len 2048`."},
				{For: "An engine built by hand", Text: "build it again with smaller `--max_batch_size`, `--max_input_len` and `--max_seq_len`."},
			}, Cost: "one short request at a time"},
			{Fix: "bigger_gpu", Title: "Or use a larger card", Cost: "money"},
			{Fix: "kill_stale_process", Title: "Check what else is on the card", Kind: "shell", Text: look, Cost: "free"},
		},
		Sources: []string{trtServe, "https://github.com/NVIDIA/TensorRT-LLM/blob/main/cpp/tensorrt_llm/batch_manager"},
	},
	inTriton,
	{
		ID: "tensorrt-llm/runner", Kinds: []fact.Kind{fact.TRTRuntime}, Said: []string{"model_runner_cpp.py"},
		Headline: "was refused graphics memory in an engine that a script runs",
		Means:    "`ModelRunnerCpp` loads the engine, makes buffers for the batch, beams and lengths of its build, and gives nine tenths of what is free to the KV cache. What is made later has only the rest. The message names no size.",
		Cures: []cause.Cure{
			{Fix: "lower_mem_fraction", Title: "Give the KV cache less: 0.5 instead of 0.9", Told: "For `examples/run.py`, where its `--help` lists it; in your own script an argument of `ModelRunnerCpp.from_dir`:", Kind: "config", Text: "--kv_cache_free_gpu_memory_fraction 0.5", Cost: "fewer tokens at a time"},
			{Fix: "lower_batch_size", Title: "Or build the engine for less", Told: "A quarter of `--max_batch_size`, half of `--max_input_len`, one beam; without `--gather_context_logits` if you do not read them.", Cost: "longer requests are refused"},
			{Fix: "kill_stale_process", Title: "Check what else is on the card", Kind: "shell", Text: look, Cost: "free"},
		},
		Sources: []string{"TensorRT-LLM/examples/run.py", "TensorRT-LLM/examples/utils.py", "TensorRT-LLM/tensorrt_llm/commands/build.py"},
	},
	{
		ID: "tensorrt-llm/runtime", Kinds: []fact.Kind{fact.TRTRuntime},
		Cause: cause.BatchTooLarge, Weight: cause.Fair,
		Headline: "was refused graphics memory in its C++ runtime",
		Means:    "The message names no size. This runtime allocates buffers by the engine's batch size and lengths, then by default nine tenths of the free memory for the KV cache. `nvidia-smi` before the start shows whether something else is on the card.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower batch size and lengths", Ways: []cause.Way{
				{For: "An engine built by hand", Text: "build it again with a quarter of `--max_batch_size`, half of `--max_input_len` (`--max_seq_len`), and one beam."},
				{For: "trtllm-serve", Text: "add `--max_batch_size 16 --max_num_tokens 2048 --max_seq_len 4096`."},
			}, Cost: "longer requests are refused, more wait"},
			{Fix: "lower_mem_fraction", Title: "Lower `free_gpu_memory_fraction`", Ways: []cause.Way{
				{For: "trtllm-serve", Text: "`" + trtFraction + "` (0.9 is the default)."}, {For: "Triton", Text: "`kv_cache_free_gpu_mem_fraction` 0.7 in config.pbtxt; with several instances on a card 0.9 divided by their number."},
			}, Cost: "fewer tokens at a time"},
			{Fix: "kill_stale_process", Title: "Check what else is on the card", Kind: "shell", Text: look, Cost: "free"},
		},
		Sources: []string{trtServe, "https://github.com/NVIDIA/TensorRT-LLM/blob/main/cpp/include/tensorrt_llm/runtime/tllmBuffers.h", trtIssues + "401"},
	},
}
