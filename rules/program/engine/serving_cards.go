package engine

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
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
	Headline: "did not start: the weights do not fit on the card",
	Means:    "The traceback is in the code that makes the layers and loads the weights.[[ {mine} of {total} is this process's own already.]] Buffers and KV cache come later.",
	Not:      "`--free_gpu_memory_fraction`, `--max_seq_len`: the KV cache is allocated after the weights.",
	Cures:    []cause.Cure{trtQuant, trtSplit, {Fix: "close_other_apps", Title: "Check what else is on the card", Kind: "shell", Text: look, Cost: "free"}},
	Sources:  []string{trtCreator, trtServe},
}

// teiKilled is Text Embeddings Inference on a processor.
var teiKilled = cause.Card{
	ID: "tei/killed", Kinds: killed, If: func(c *ledger.Case) bool { return c.Root(killed...) && c.Says("tei") },
	Cause: cause.HostMemory, Weight: cause.Decisive,
	Headline: "was killed: most likely system memory (RAM) ran out",
	Means:    "On a processor TEI holds the model in 32 bit, 4 GB per billion parameters, and computes a trial batch at its start: of `--max-batch-tokens` (16384 unless set), since 1.9 of the longest text within that; attention grows with the square of the text length.",
	Cures: []cause.Cure{
		teiTokens,
		{Fix: "raise_memory_limit", Title: "Or give the container more RAM", Told: "`--memory` of `docker run`, `resources.limits.memory` in Kubernetes, Docker Desktop's own limit. Who was killed:", Kind: "shell", Text: "sudo dmesg -T | grep -i 'killed process' | tail -4", Cost: "only if the machine has it"},
		teiSmaller,
	},
	Sources: []string{teiMain, "https://github.com/huggingface/text-embeddings-inference/blob/main/backends/src/lib.rs"},
}

// trtGraphs are TensorRT-LLM's CUDA graphs, captured after its KV cache.
var trtGraphs = cause.Card{
	ID: "tensorrt-llm/graphs", Kinds: onCard, If: trtTorch, Said: []string{"in _capture_generation_cuda_graphs", "in _run_cuda_graph_warmup", "pyexecutor/cuda_graph_runner.py"},
	Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
	Headline: "did not start: CUDA graphs did not fit beside the KV cache",
	Means:    "Weights and KV cache are in place; graphs are captured last, one for each batch size up to 128 or `max_batch_size`, in what the cache leaves: a tenth of what was free unless set.[[ {room} was left, {asked} was needed.]]",
	Cures: []cause.Cure{
		trtSmallerCache,
		{Fix: "enforce_eager", Title: "Or capture fewer graphs", Told: "In a YAML file for `--extra_llm_api_options` (1.0 and later); larger batches then run without a graph:", Kind: "config", Text: "cuda_graph_config:\n  max_batch_size: 16", Cost: "large batches run slower"},
		trtFewer,
	},
	Sources: []string{trtServe, "https://nvidia.github.io/TensorRT-LLM/1.0.0/commands/trtllm-serve/run-benchmark-with-trtllm-serve.html"},
}

// tritonShm is Triton's shared memory for models in Python.
var tritonShm = cause.Card{
	ID: "triton-server/python-shm", Kinds: []fact.Kind{fact.SharedSegment}, Said: []string{"triton_python_backend_shm_region", "shared memory pool size for key", "Unable to initialize shared memory key"},
	Cause: cause.HostMemory, Weight: cause.Decisive, Figures: shmWanted,
	Headline: "has too little shared memory (/dev/shm) for its Python models",
	Means:    "Each instance of a Python model takes a region of /dev/shm at the start, and more for large inputs and outputs[[; this one wanted {wants} in all]]. A container has 64 MB of it unless told otherwise. Regions of a server that was killed stay there.",
	Not:      "More RAM or a larger card: the limit is that of /dev/shm.",
	Cures: []cause.Cure{
		{Fix: "raise_shm_size", Title: "Enlarge /dev/shm", Told: "Before the image's name in `docker run`; in Kubernetes mount an emptyDir of `medium: Memory` at /dev/shm:", Kind: "config", Text: "--shm-size={shm}g", Cost: "none"},
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
		Headline: "found no card for the model: each already has one",
		Means:    "Xinference counts models, not bytes: versions before 1.15 (later ones with `XINFERENCE_ALLOW_MULTI_REPLICA_PER_GPU=0`) give a language model a card for itself, and all cards of this worker have a model. Nothing was allocated yet; the card may have room.",
		Not:      "A smaller model or fewer bits: no memory was asked for.",
		Cures: []cause.Cure{
			{Fix: "restart_session", Cost: "that model is gone until launched again"},
			{Fix: "select_gpu", Title: "Or put it beside the other on the same card", Told: "Update Xinference, or launch it with the card's number (web page: GPU Idx). On vLLM both need a share: `--gpu_memory_utilization 0.45` each.", Kind: "config", Text: "--gpu-idx 0", Cost: "both must fit"},
			{Fix: "cpu_offload", Title: "Or run it on the processor", Told: "`--n-gpu None`; on the web page GPU Count \"CPU\": for small embedding and rerank models.", Cost: "slower"},
		},
		Sources: []string{"xinference/core/worker.py", "xinference/constants.py", "xinference/deploy/cmdline.py"},
	},
	{
		ID: "xinference/load", Kinds: onCard, Said: []string{"in launch_builtin_model", "in _load_model", "Failed to load model"}, If: when.All(func(c *ledger.Case) bool { return c.In("xinference") && !c.In("vllm") }, when.Not(ledger.Crowded)),
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "could not launch the model: graphics memory ran out while it loaded",
		Means:    "It failed while the engine loaded the weights.[[ {mine} of {total} was this model's own when {asked} more was refused.]] 16-bit weights take 2 GB per billion parameters, 4-bit ones about 0.6.",
		Not:      "A shorter context: it failed before a request.",
		Cures: []cause.Cure{
			{Fix: "select_gpu", If: withoutFigures, Title: "See which card is free, and launch it there", Own: true, Told: "The message has no figures: `nvidia-smi` shows whether another model fills that card. Embedding and rerank models, since 1.15 all models, are put on a card that others use, unless it is named.", Cost: "needs a free card"},
			as("use_lower_quant", "Launch it with fewer bits", "", "slight loss of quality"),
			as("multi_gpu", "Or over two cards", "", "needs a second card"),
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

var teiSmaller = cause.Cure{Fix: "use_smaller_model", Title: "Take a smaller model", Told: "Most families have one: Qwen3-Embedding in 0.6B and 4B, bge in base and small.", Cost: "quality; texts must be embedded again"}

// teiLoad is Text Embeddings Inference before its trial batch.
var teiLoad = cause.Card{
	ID: "tei/load", Kinds: refusedCard, Said: []string{"Could not create backend", "Could not start backend", "Could not start Candle backend"}, Unsaid: []string{"Model backend is not healthy", "Warming up model", "could not warmup"},
	Cause: cause.ModelTooLarge, Weight: cause.Strong,
	Headline: "did not start: the weights did not fit on the card",
	Means:    "It failed while the model was loaded, before a trial batch.[[ {model_size}]] At 16 bit (the default on a card) weights take 2 GB per billion parameters; a small model here means that something else fills the card.",
	Figures:  teiSize,
	Not:      "A lower `--max-batch-tokens`: the trial batch comes later.",
	Cures:    []cause.Cure{where(teiLarge, teiSmaller), teiLook, where(when.Not(teiLarge), teiSmaller), {Fix: "bigger_gpu", Title: "Or use a larger card", Told: "TEI does not split a model over cards.", Cost: "money"}},
	Sources:  []string{teiMain, "https://github.com/huggingface/text-embeddings-inference/blob/main/router/src/lib.rs"},
}

// mistralPlan is mistral.rs' own estimate before it loads.
var mistralPlan = cause.Card{
	ID: "mistral.rs/plan", Kinds: []fact.Kind{fact.RustDriver}, If: func(c *ledger.Case) bool { return c.Failure.Stage == "plan" },
	Cause: cause.ModelTooLarge, Weight: cause.Decisive,
	Headline: "did not load: by its own estimate the model fits neither card nor RAM",
	Figures: func(c *ledger.Case) map[string]string {
		x, _ := c.Fact("plan_over_mb")
		if x.Count == nil {
			return map[string]string{"plan_over_mb": ""}
		}
		return map[string]string{"plan_over_mb": ledger.Thousands(int64(x.Count.Value))}
	},
	Means: "Before it loads, mistral.rs adds up layers, KV cache and activations for the lengths that it plans, and compares with what cards and RAM have free.[[ {plan_over_mb} MB are missing.]] Nothing was allocated. Without `--isq` weights count at 16 bit.",
	Not:   "Settings of the driver: nothing was asked of it.",
	Cures: []cause.Cure{
		{Fix: "use_lower_quant", Title: "Quantise while it loads", Told: "4 bit is about a quarter of 16; a GGUF of fewer bits does the same:", Steps: mistralSets("--isq 4", "--isq Q4K"), Cost: "slight loss of quality"},
		{Fix: "lower_context", Title: "Or plan for less", Told: "4096 tokens and one request are the defaults of the plan:", Kind: "config", Text: "--max-seq-len 2048 --max-batch-size 1", Cost: "longer requests may fail"},
		{Fix: "use_smaller_model", Title: "Or free memory, or use a smaller model", Told: "What other programs hold of card and RAM is not counted as free: `nvidia-smi`, `free -h`.", Cost: "quality"},
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
		Means:    "After the weights MII gives all free memory but 1 GB to the KV cache.[[ {asked} was wanted and {free} was free.]] If little is free after the weights, they are too large for this card; otherwise that gigabyte is too little, or something else took memory in between.",
		Not:      "A lower `max_new_tokens`: the cache has its size from the start.",
		Cures: []cause.Cure{
			{Fix: "lower_mem_fraction", Title: "Keep more of the card outside the cache", Told: "In bytes; 3 GB here:", Kind: "python", Text: "mii.pipeline(model, inference_engine_config={\"state_manager\": {\"memory_config\": {\"mode\": \"reserve\", \"size\": 3_000_000_000}}})   # model: as in your call", Cost: "fewer tokens at a time"},
			{Fix: "multi_gpu", Title: "Or split the weights over two cards", Told: "`tensor_parallel=2` in the call, started with `deepspeed --num_gpus 2 SCRIPT`.", Cost: "needs a second card"},
			{Fix: "use_lower_quant", Title: "Or load 6-bit weights", Told: "`quantization_mode=\"wf6af16\"` in the call: float16 checkpoints, on A100, RTX 30 and 40 and their like.", Cost: "slight loss of quality"},
		},
		Sources: []string{deepspeedKV, "https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/inference/v2/ragged/manager_configs.py", "https://github.com/deepspeedai/DeepSpeed-MII/blob/main/mii/config.py"},
	},
	{
		ID: "deepspeed/workspace", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"Workspace can't be allocated"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "found no room on the card for the workspace of DeepSpeed's inference kernels",
		Means:    "These kernels reserve one block for `max_out_tokens` and the batch, from what was free on the card at the first call.[[ They wanted at least {asked}; {free} was free.]] The weights are loaded by then. The log does not show what else is on the card.",
		Not:      "Allocator settings of PyTorch: this block does not come from its allocator.",
		Cures: []cause.Cure{
			{Fix: "cpu_offload", Title: "Switch DeepSpeed off", Told: "In an app take the tick out of its option and restart it. In your own code run the model without `deepspeed.init_inference`.", Cost: "slower"},
			{Fix: "lower_batch_size", Title: "Or lower the batch, and the length", Told: "A batch of 1 where the program has one; in code a lower `max_out_tokens` in `init_inference` (1024 by default), not below prompt plus answer.", Cost: "slower, or shorter answers"},
			{Fix: "kill_stale_process", Title: "Free the card, then restart the program", Told: "What is free is measured once, at the first call, so a program that goes on after this error stays short.", Kind: "shell", Text: look, Cost: "free"},
		},
		Sources: []string{"https://github.com/deepspeedai/DeepSpeed/blob/master/csrc/transformer/inference/includes/inference_context.h", deepspeedConfig},
	},
	{
		ID: "deepspeed/init-inference", Kinds: onCard, Said: []string{"in init_inference", "in _apply_injection_policy", "module_inject/replace_module.py"},
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of graphics memory in `deepspeed.init_inference`",
		Means:    "It moves the model to the card. With `replace_with_kernel_inject=True` it also copies each layer's weights into layers of its own, so a model that is on the card already is there twice for a while.[[ {asked} was refused with {free} free.]]",
		Not:      "A shorter prompt: nothing was generated yet.",
		Cures: []cause.Cure{
			{Fix: "half_precision", Title: "Load the model in 16 bit into system memory first", Told: "Without `.cuda()` or `device_map`: init_inference moves it layer by layer.", Kind: "python", Text: "model = AutoModelForCausalLM.from_pretrained(name, torch_dtype=torch.float16)   # name: as in your call", Cost: "RAM for the weights"},
			{Fix: "multi_gpu", Title: "Or split it over the cards", Told: "`tensor_parallel=dict(tp_size=2)` in init_inference (`mp_size=2` in versions before 0.7.6), started with `deepspeed --num_gpus 2 SCRIPT`.", Cost: "needs a second card"},
			{Fix: "cpu_offload", Title: "Or leave the kernels out", Told: "`replace_with_kernel_inject=False` needs no copies; ZeRO inference (stage 3 with `offload_param`) keeps weights in RAM.", Cost: "slower"},
		},
		Sources: []string{deepspeedConfig, "https://github.com/deepspeedai/DeepSpeed/blob/master/deepspeed/module_inject/replace_module.py"},
	},
}

// mistralSets is a setting in the spelling of the log's program: `mistralrs
// serve` is of late January 2026, `mistralrs-server` before.
func mistralSets(now, old string) func(c *ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		if before(c, 20260127) || c.Near("mistralrs-server") {
			return []step.Step{{Kind: "config", Text: old}}
		}
		return []step.Step{{Kind: "config", Text: now}}
	}
}

// AphroditeCards are Aphrodite's, a fork of vLLM whose files have other names.
var AphroditeCards = []cause.Card{{
	ID: "aphrodite/request", Kinds: onCard, If: when.All(ledger.FillsAlone, func(c *ledger.Case) bool {
		return c.In("aphrodite") && c.Phase != "load" && c.Phase != "kv_cache" && c.Phase != "graph_capture"
	}),
	Said:  []string{"in execute_model", "modeling/sampling/", "modeling/layers/sampler.py", "Engine loop has died", "engine_step"},
	Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
	Headline: "ran out of graphics memory on a request, beside its share of the card",
	Means:    "Weights and KV cache take their share of the card (0.9 or 0.92 unless set) at the start and keep it; what a step computes has only the rest.[[ {asked} was needed, {room} was left.]] Samplers sort all logits of all running requests, so many requests at once need most.",
	Not:      "A shorter context alone: the cache keeps its share.",
	Cures: []cause.Cure{
		{Fix: "lower_gpu_memory_utilization", Title: "Lower `--gpu-memory-utilization`", Own: true, Cost: "a smaller cache"},
		{Fix: "lower_max_num_seqs", Title: "Or serve fewer requests at a time", Told: "256 unless set, on some large cards 1024.", Own: true, Cost: "others wait"},
		{Fix: "use_lower_quant", Title: "Or load fewer bits", Told: "A GGUF, EXL3 (before 2026 EXL2), AWQ or GPTQ checkpoint of the same model.", Cost: "slight loss of quality"},
	},
	Sources: []string{"https://github.com/aphrodite-engine/aphrodite-engine/blob/main/aphrodite/engine/args_tools.py", "aphrodite/engine/arg_utils.py"},
}}
