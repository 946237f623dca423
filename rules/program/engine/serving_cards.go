package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/engine/cards"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

const (
	mistralMap = "https://github.com/EricLBuehler/mistral.rs/blob/master/mistralrs-core/src/pipeline/loaders/auto_device_map.rs"
)

// trtLoading is told by the functions that load a model, where no line says so.
var trtLoading = cause.Card{
	ID: "tensorrt-llm/loading", Kinds: onCard, If: trtTorch, Unsaid: []string{"_create_kv_cache_manager", "in warmup"},
	Said:  []string{"in _load_model", "in load_weights", "in create_weights", "in load_hf_weights", "in _load_weights_impl"},
	Cause: cause.ModelTooLarge, Weight: cause.Strong,
	Headline: "did not start: the weights do not fit in GPU memory",
	Means:    "It failed while loading the weights.[[ This process already holds {mine} of {total}.]] Buffers and KV cache come later.",
	Not:      "`--free_gpu_memory_fraction` or `--max_seq_len`: the KV cache comes after the weights.",
	Cures:    []cause.Cure{trtQuant, trtSplit, {Fix: "close_other_apps", Title: "Check what else is on the GPU", Kind: "shell", Text: look, Cost: "free"}},
	Sources:  []string{trtCreator, trtServe},
}

// teiKilled is Text Embeddings Inference on a processor.
var teiKilled = cause.Card{
	ID: "tei/killed", Kinds: killed, If: func(c *ledger.Case) bool { return c.Root(killed...) && c.Says("tei") },
	Cause: cause.HostMemory, Weight: cause.Decisive,
	Headline: "was killed: most likely system RAM ran out",
	Means:    "On a CPU, TEI needs 4 GB of RAM per billion parameters (32 bit). At its start it also computes a trial batch of up to `--max-batch-tokens` (16384 by default), which needs much more RAM with long texts.",
	Cures: []cause.Cure{
		teiTokens,
		{Fix: "raise_memory_limit", Title: "Or give the container more RAM", Told: "`docker run --memory`, `resources.limits.memory` in Kubernetes, or Docker Desktop's own limit. This shows what was killed:", Kind: "shell", Text: "sudo dmesg -T | grep -i 'killed process' | tail -4", Cost: "only if the machine has it"},
		teiSmaller,
	},
	Sources: []string{teiMain, "https://github.com/huggingface/text-embeddings-inference/blob/main/backends/src/lib.rs"},
}

// trtGraphs are TensorRT-LLM's CUDA graphs, captured after its KV cache.
var trtGraphs = cause.Card{
	ID: "tensorrt-llm/graphs", Kinds: onCard, If: trtTorch, Said: []string{"in _capture_generation_cuda_graphs", "in _run_cuda_graph_warmup", "pyexecutor/cuda_graph_runner.py"},
	Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
	Headline: "did not start: CUDA graphs did not fit beside the KV cache",
	Means:    "Weights and KV cache are in place. CUDA graphs come last, one per batch size up to 128 or `max_batch_size`. They have only what the KV cache leaves, by default a tenth of what was free.",
	Cures: []cause.Cure{
		trtSmallerCache,
		{Fix: "enforce_eager", Title: "Or capture fewer graphs", Told: "Put this into a YAML file for `--extra_llm_api_options` (1.0 and later). Larger batches then run without a graph:", Kind: "config", Text: "cuda_graph_config:\n  max_batch_size: 16", Cost: "large batches are slower"},
		trtFewer,
	},
	Sources: []string{trtServe, "https://nvidia.github.io/TensorRT-LLM/1.0.0/commands/trtllm-serve/run-benchmark-with-trtllm-serve.html"},
}

// tritonShm is Triton's shared memory for models in Python.
var tritonShm = cause.Card{
	ID: "triton-server/python-shm", Kinds: []fact.Kind{fact.SharedSegment}, Said: []string{"triton_python_backend_shm_region", "shared memory pool size for key", "Unable to initialize shared memory key"},
	Cause: cause.HostMemory, Weight: cause.Decisive, Figures: shmWanted,
	Headline: "ran out of shared memory (/dev/shm) for its Python models",
	Means:    "Each instance of a Python model needs a part of /dev/shm, and more for large inputs and outputs[[; this one wanted {wants} in all]]. Containers get only 64 MB of it by default. A server that was killed leaves its part there.",
	Not:      "More RAM or a larger GPU: only the size of /dev/shm matters.",
	Cures: []cause.Cure{
		{Fix: "raise_shm_size", Title: "Enlarge /dev/shm", Told: "Before the image's name in `docker run`. In Kubernetes mount an emptyDir of `medium: Memory` at /dev/shm:", Kind: "config", Text: "--shm-size={shm}g", Cost: "what is used of it counts as RAM"},
		{Fix: "restart_session", Title: "Or remove what an earlier server left", Told: "Inside the container, while no Triton runs in it, delete `/dev/shm/triton_python_backend_shm_region_*`.", Cost: "free"},
		{Fix: "lower_num_workers", Title: "Or run fewer instances of the Python models", Told: "In their config.pbtxt:", Kind: "config", Text: "instance_group [ { count: 1 } ]", Cost: "fewer requests at once"},
	},
	Sources: []string{"https://github.com/triton-inference-server/python_backend/blob/main/src/shm_manager.cc", "https://github.com/triton-inference-server/python_backend#important-notes"},
}

// shmWanted is the size of the region that Triton wanted, and a /dev/shm of twice that.
func shmWanted(c *ledger.Case) map[string]string {
	out, want := map[string]string{"wants": "", "shm": "1"}, int64(0)
	for _, before := range []string{"' to ", "requested size ("} {
		if _, rest, ok := strings.Cut(c.Failure.Message, before); ok {
			fmt.Sscanf(rest, "%d bytes", &want)
		}
	}
	if want > 0 && want < units.TiB {
		out["wants"], out["shm"] = units.Amount(want), strconv.FormatInt(max(1, (2*want+units.GiB-1)/units.GiB), 10)
	}
	return out
}

// xinferenceMore are Xinference's own refusals, and loads with Transformers.
var xinferenceMore = []cause.Card{
	{
		ID: "xinference/no-slot", Kinds: []fact.Kind{fact.PlainDevice}, Said: []string{"No available slot found for the model"},
		Cause: cause.LeakedProcess, Weight: cause.Decisive,
		Headline: "found no free GPU for the model: each GPU already has one",
		Means:    "Xinference counts models here, not memory. Versions before 1.15 give each language model its own GPU (later ones do with `XINFERENCE_ALLOW_MULTI_REPLICA_PER_GPU=0`), and all GPUs of this worker have one. Nothing was allocated yet, so the GPU may have room.",
		Not:      "A smaller model or fewer bits: no memory was asked for.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Cost: "that model is gone until launched again"},
			{Fix: "select_gpu", Title: "Or put it beside the other model on the same GPU", Told: "Update Xinference, or launch it with the GPU's number (web page: GPU Idx). If both run on vLLM, give each `--gpu_memory_utilization 0.45`.", Kind: "config", Text: "--gpu-idx 0", Cost: "both must fit"},
			{Fix: "cpu_offload", Title: "Or run it on the CPU", Told: "`--n-gpu None`; on the web page GPU Count \"CPU\". This is for small embedding and rerank models.", Cost: "slower"},
		},
		Sources: []string{"xinference/core/worker.py", "xinference/constants.py", "xinference/deploy/cmdline.py"},
	},
	{
		ID: "xinference/load", Kinds: onCard, Said: []string{"in launch_builtin_model", "in _load_model", "Failed to load model"}, If: when.All(func(c *ledger.Case) bool { return c.In("xinference") && !c.In("vllm") }, when.Not(ledger.Crowded)),
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "could not launch the model: GPU memory ran out while it loaded",
		Means:    "It failed while the engine loaded the weights. 16-bit weights take 2 GB per billion parameters, 4-bit ones about 0.6.",
		Not:      "A shorter context: it failed before any request.",
		Cures: []cause.Cure{
			{Fix: "select_gpu", If: withoutFigures, Title: "See which GPU is free, and launch it there", Own: true, Told: "`nvidia-smi` shows whether another model fills this GPU. Xinference puts embedding and rerank models (since 1.15 all models) on a GPU that others use, unless you name one.", Cost: "needs a free GPU"},
			as("use_lower_quant", "Launch it with fewer bits", "", "slight loss of quality"),
			as("multi_gpu", "Or over two GPUs", "", "needs a second GPU"),
			as("use_smaller_model", "Or a smaller size of the family", "", "lower quality"),
		},
		Sources: []string{"xinference/core/worker.py", "xinference/deploy/cmdline.py"},
	},
}

// teiSize is how large a model is whose name says it; TEI hides most of a name.
func teiSize(c *ledger.Case) map[string]string {
	for _, x := range []struct{ end, words string }{{"-8B", "8 billion: about 16"}, {"-7B", "7 billion: about 14"}, {"-4B", "4 billion: about 8"}} {
		if strings.HasSuffix(strings.ToUpper(c.ModelName()), x.end) {
			return map[string]string{"model_size": "This one has " + x.words + " GB."}
		}
	}
	return map[string]string{"model_size": ""}
}

func teiLarge(c *ledger.Case) bool { return teiSize(c)["model_size"] != "" }

var teiSmaller = cause.Cure{Fix: "use_smaller_model", Title: "Use a smaller model", Told: "Most families have one: Qwen3-Embedding in 0.6B and 4B, bge in base and small.", Cost: "quality; texts must be embedded again"}

// teiLoad is Text Embeddings Inference before its trial batch.
var teiLoad = cause.Card{
	ID: "tei/load", Kinds: refusedCard, Said: []string{"Could not create backend", "Could not start backend", "Could not start Candle backend"}, Unsaid: []string{"Model backend is not healthy", "Warming up model", "could not warmup"},
	Cause: cause.ModelTooLarge, Weight: cause.Strong,
	Headline: "did not start: the weights did not fit in GPU memory",
	Means:    "It failed while loading the model.[[ {model_size}]] At 16 bit, the default on a GPU, weights take 2 GB per billion parameters. If your model is small, something else fills the GPU.",
	Figures:  teiSize,
	Not:      "A lower `--max-batch-tokens`: the trial batch comes later.",
	Cures:    []cause.Cure{where(teiLarge, teiSmaller), teiLook, where(when.Not(teiLarge), teiSmaller), {Fix: "bigger_gpu", Title: "Or use a larger GPU", Told: "TEI does not split a model over several GPUs.", Cost: "money"}},
	Sources:  []string{teiMain, "https://github.com/huggingface/text-embeddings-inference/blob/main/router/src/lib.rs"},
}

// mistralPlan is mistral.rs' own estimate before it loads.
var mistralPlan = cause.Card{
	ID: "mistral.rs/plan", Kinds: []fact.Kind{fact.RustDriver}, If: func(c *ledger.Case) bool { return c.Failure.Stage == "plan" },
	Cause: cause.ModelTooLarge, Weight: cause.Decisive,
	Headline: "did not load: by its own estimate the model fits neither in GPU memory nor in RAM",
	Figures: func(c *ledger.Case) map[string]string {
		x, _ := c.Fact("plan_over_mb")
		if x.Count == nil {
			return map[string]string{"plan_over_mb": ""}
		}
		return map[string]string{"plan_over_mb": ledger.Thousands(int64(x.Count.Value))}
	},
	Means: "Before loading, mistral.rs adds up layers, KV cache and working memory and compares them with what GPUs and RAM have free.[[ {plan_over_mb} MB are missing.]] Nothing was allocated. Without `--isq`, weights of a 16-bit model count at 16 bit.",
	Not:   "Driver settings: the driver was not asked for anything.",
	Cures: []cause.Cure{
		{Fix: "use_lower_quant", Title: "Quantise the model while it loads", Told: "4 bit is about a quarter of 16 bit; a GGUF file with fewer bits does the same:", Steps: mistralSets("--isq 4", "--isq Q4K"), Cost: "slight loss of quality"},
		{Fix: "lower_context", Title: "Or plan for shorter and fewer requests", Told: "The plan assumes 4096 tokens and one request by default:", Kind: "config", Text: "--max-seq-len 2048 --max-batch-size 1", Cost: "longer requests may fail"},
		{Fix: "use_smaller_model", Title: "Or free memory, or use a smaller model", Told: "Memory that other programs use is not counted as free: check `nvidia-smi` and `free -h`.", Cost: "lower quality"},
	},
	Sources: []string{mistralMap, mistralArgs + "model.rs"},
}

const (
	deepspeedKV     = "https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/inference/v2/ragged/kv_cache.py"
	deepspeedConfig = "https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/inference/config.py"
)

// DeepSpeedServing are about DeepSpeed's inference: its kernels, and MII.
var DeepSpeedServing = []cause.Card{
	{
		ID: "deepspeed/mii-cache", Said: []string{"inference/v2/ragged/kv_cache.py", "memory to allocate KV-caches. Required"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "MII did not start: the KV cache did not fit beside the weights",
		Means:    "After the weights, MII gives all free GPU memory except 1 GB to the KV cache. If little is free after the weights, they are too large for this GPU. Otherwise that 1 GB is too little, or something else took memory.",
		Not:      "A lower `max_new_tokens`: the cache has its full size from the start.",
		Cures: []cause.Cure{
			{Fix: "lower_mem_fraction", Title: "Keep more GPU memory outside the cache", Told: "In bytes; this is 3 GB:", Kind: "python", Text: "mii.pipeline(model, inference_engine_config={\"state_manager\": {\"memory_config\": {\"mode\": \"reserve\", \"size\": 3_000_000_000}}})   # model: as in your call", Cost: "fewer tokens at a time"},
			{Fix: "multi_gpu", Title: "Or split the weights over two GPUs", Told: "Use `tensor_parallel=2` in the call, and start with `deepspeed --num_gpus 2 SCRIPT`.", Cost: "needs a second GPU"},
			{Fix: "use_lower_quant", Title: "Or load 6-bit weights", Told: "Use `quantization_mode=\"wf6af16\"` in the call, with a float16 checkpoint on A100, RTX 30, RTX 40 or similar GPUs.", Cost: "slight loss of quality"},
		},
		Sources: []string{deepspeedKV, "https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/inference/v2/ragged/manager_configs.py", "https://github.com/deepspeedai/DeepSpeed-MII/blob/main/mii/config.py"},
	},
	{
		ID: "deepspeed/workspace", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Workspace can't be allocated"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "ran out of GPU memory for the workspace of DeepSpeed's inference kernels",
		Means:    "These kernels reserve one block for `max_out_tokens` and the batch, from what was free at the first call.[[ They wanted at least {asked}; {free} was free.]] The weights are loaded by then.",
		Not:      "PyTorch's allocator settings: this block does not come from its allocator.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Turn DeepSpeed off", Told: "In an app, untick its DeepSpeed option and restart it. In your own code, run the model without `deepspeed.init_inference`.", Cost: "slower"},
			{Fix: "lower_batch_size", Title: "Or lower the batch and the length", Told: "Use a batch of 1 where the program has one. In code, lower `max_out_tokens` in `init_inference` (1024 by default), but not below prompt plus answer.", Cost: "slower, or shorter answers"},
			{Fix: "kill_stale_process", Title: "Free the GPU, then restart the program", Told: "It measures free memory only once, at the first call, so it must be restarted.", Kind: "shell", Text: look, Cost: "free"},
		},
		Sources: []string{"https://github.com/deepspeedai/DeepSpeed/blob/master/csrc/transformer/inference/includes/inference_context.h", deepspeedConfig},
	},
	{
		ID: "deepspeed/init-inference", Kinds: onCard, Said: []string{"in init_inference", "in _apply_injection_policy", "module_inject/replace_module.py"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory in `deepspeed.init_inference`",
		Means:    "It moves the model to the GPU. With `replace_with_kernel_inject=True` it also copies each layer's weights. If your model is on the GPU already, it is there twice for a while.",
		Not:      "A shorter prompt: nothing was generated yet.",
		Cures: []cause.Cure{
			{Fix: "half_precision", Title: "Load the model into system RAM first, in 16 bit", Told: "Leave out `.cuda()` and `device_map`: init_inference moves the model layer by layer.", Kind: "python", Text: "model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float16)   # name: as in your call", Cost: "RAM for the weights"},
			{Fix: "multi_gpu", Title: "Or split it over two GPUs", Told: "Use `tensor_parallel=dict(tp_size=2)` in init_inference (`mp_size=2` before 0.7.6), and start with `deepspeed --num_gpus 2 SCRIPT`.", Cost: "needs a second GPU"},
			{Fix: "cpu_offload", Title: "Or leave the kernels out", Told: "`replace_with_kernel_inject=False` needs no copies. ZeRO inference (stage 3 with `offload_param`) keeps weights in system RAM.", Cost: "slower"},
		},
		Sources: []string{deepspeedConfig, "https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/module_inject/replace_module.py"},
	},
}

// mistralSets is a setting in the spelling of the log's program: `mistralrs
// serve` is of late January 2026, `mistralrs-server` before.
func mistralSets(now, old string) func(c *ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		if before(c, 20260127) || c.Near("mistralrs-server") || c.Near("Model failed with error") && !c.Near("prompt step - Model failed", "completion step - Model failed") {
			return []step.Step{{Kind: "config", Text: old}}
		}
		return []step.Step{{Kind: "config", Text: now}}
	}
}

// AphroditeCards are Aphrodite's, a fork of vLLM whose files have other names.
var AphroditeCards = []cause.Card{cards.AphroditeTrial, {
	ID: "aphrodite/request", Kinds: onCard, If: when.All(ledger.FillsAlone, func(c *ledger.Case) bool {
		return c.In("aphrodite") && c.Phase != "load" && c.Phase != "kv_cache" && c.Phase != "graph_capture"
	}),
	Said:  []string{"in execute_model", "modeling/sampling/", "modeling/layers/sampler.py", "Engine loop has died", "engine_step"},
	Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
	Headline: "ran out of GPU memory on a request",
	Means:    "Weights and KV cache take their share of the GPU (0.9 or 0.92 by default) at the start. Requests have only the rest. Many requests at once need most, because the sampler works on the whole vocabulary for each.",
	Not:      "A shorter context alone: the KV cache keeps its share.",
	Cures: []cause.Cure{
		{Fix: "lower_gpu_memory_utilization", Title: "Lower `--gpu-memory-utilization`", Own: true, Cost: "a smaller cache"},
		{Fix: "lower_max_num_seqs", Title: "Or serve fewer requests at a time", Told: "The default is 256, on some large GPUs 1024.", Own: true, Cost: "others wait"},
		{Fix: "use_lower_quant", Title: "Or load a version with fewer bits", Told: "Use a GGUF, EXL3 (before 2026 EXL2), AWQ or GPTQ version of the model.", Cost: "slight loss of quality"},
	},
	Sources: []string{"https://github.com/aphrodite-engine/aphrodite-engine/blob/main/aphrodite/engine/args_tools.py", "aphrodite/engine/arg_utils.py"},
}}
