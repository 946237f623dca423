package server

import (
	"cmp"
	"slices"
	"strings"

	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/engine/cards"
	"github.com/oomdoc/oomdoc/rules/program/era"
	"github.com/oomdoc/oomdoc/rules/program/server/stage"
	"github.com/oomdoc/oomdoc/rules/program/server/vllm"
	"github.com/oomdoc/oomdoc/rules/when"
)

// What most cards about loading say.
const (
	noShareYet  = "`--gpu-memory-utilization`, `--max-model-len`, `--enforce-eager`: they have no effect while the weights load."
	quantised   = "{fewer_bits}[[ With room for the KV cache, one such GPU holds about {in16} billion parameters at 16 bit, or {in4} at 4 bit.]]"
	halvesThem  = "Each then holds {halves}.[[ {second}]] Use a number that divides the model's attention heads: 2, 4 or 8."
	offloadCost = "In GiB per GPU; free system RAM must hold it. Every token then reads that part over the slow bus."
)

// otherGPU is for a start that found its card in use.
var otherGPU = cause.Cure{Fix: "select_gpu", If: when.Not(stage.Schedules), Title: "Or use another GPU", Told: "Put `CUDA_VISIBLE_DEVICES=N` in front of your command. N is the index of a free one:", Kind: "shell", Text: "nvidia-smi --query-gpu=index,name,memory.free,memory.total --format=csv", Cost: "needs a free GPU"}

// vllmLoadCards are about weights that are being loaded or packed.
var vllmLoadCards = []cause.Card{
	{
		ID: "vllm/wake-up", Kinds: onCard, Said: []string{"in wake_up", "cumem_allocator.cpp", "device_allocator/cumem.py"}, If: func(c *ledger.Case) bool { return c.Near("in wake_up") },
		Cause: cause.RetainedMemory, Weight: cause.Strong, Figures: vllmFigures,
		Headline: "could not get its GPU memory back after sleep mode",
		Means:    "In sleep mode vLLM frees its GPU memory. At `wake_up` it could not get it back, because something else uses it now. In a training loop that is usually the trainer: gradients, optimizer state, or PyTorch's cache.",
		Not:      "`--max-model-len`: the KV cache fills the share at any length.",
		Cures: []cause.Cure{
			{Fix: "empty_cache", Title: "Empty the trainer's cache before the wake-up", Told: "In the trainer, before `llm.wake_up()`: `gc.collect(); torch.cuda.empty_cache()`. Without a trainer, `nvidia-smi` shows what uses the memory.", Cost: "free"},
			added("lower_gpu_memory_utilization", "Lower `gpu_memory_utilization`", "Lower it step by step, until the trainer and vLLM fit side by side.", "a smaller KV cache"),
			{Fix: "cpu_offload", Title: "Or offload the trainer while vLLM generates", Told: "This moves parameters and optimizer state to system RAM. In verl: `actor_rollout_ref.actor.fsdp_config.param_offload=True actor_rollout_ref.actor.fsdp_config.optimizer_offload=True`.", Cost: "slower steps"},
		},
		Sources: []string{"vllm/device_allocator/cumem.py", vllmThreads + "issues/16663"},
	},
	{
		ID: "vllm/load-draft", Kinds: onCard, Phases: []string{"load"}, Said: startsDraft,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Figures: loadFigures,
		Headline: "did not start: the draft model did not fit beside the main model",
		Means:    "The main model is loaded. The draft model for speculative decoding comes after it and did not fit. The KV cache still has to come.",
		Not:      "`--gpu-memory-utilization`: it has no effect while weights load.",
		Cures: []cause.Cure{
			tell("use_smaller_model", "Start without the draft model", "Leave out `--speculative-config`. If vLLM then starts with memory to spare, try a smaller or quantised draft model.", "slower tokens, same answers"),
			vllm.Words("use_lower_quant", "Or load a smaller version of the main model", quantised, "slight loss of quality"),
			added("multi_gpu", "Or split it over more GPUs", halvesThem, "needs more GPUs"),
		},
		Sources: []string{"vllm/v1/worker/gpu/spec_decode/speculator.py", "https://github.com/wtdcode/vllm-backport/issues/34"},
	},
	{
		ID: "vllm/load-repack", Kinds: onCard, Phases: []string{"load"}, Said: []string{"in process_weights_after_loading", "marlin_utils", "in gptq_marlin_repack", "in repack"},
		Cause: cause.ModelTooLarge, Weight: cause.Likely, Figures: loadFigures,
		Headline: "did not start: it ran out of GPU memory while converting the loaded weights",
		Means:    "The weights were read, but converting them for a kernel (Marlin, FP8, MoE) needs extra memory for a moment: a layer, or all its experts, twice. A model that fits afterwards can fail here.",
		Not:      "`--gpu-memory-utilization` or `--max-model-len`: they have no effect while weights load.",
		Cures: []cause.Cure{
			as("upgrade_version", "Update vLLM: versions from 2026 convert one layer at a time", "flags may have changed"),
			added("multi_gpu", "Or split it over more GPUs", halvesThem, "needs more GPUs"),
			vllm.Words("use_lower_quant", "Or load a smaller version of the model", quantised, "slight loss of quality"),
		},
		Sources: []string{"vllm/model_executor/model_loader/utils.py", vllmThreads + "pull/47851", vllmThreads + "issues/21864"}, Solved: 1,
	},
	{
		ID: "vllm/load-bitsandbytes", Kinds: onCard, Phases: []string{"load"}, Said: []string{"bitsandbytes_loader.py", "quantization/bitsandbytes.py", "in _unquantized_generator", "in quantize_4bit"},
		Cause: cause.ModelTooLarge, Weight: cause.Likely, Figures: loadFigures,
		Headline: "did not start: loading the weights with bitsandbytes did not fit in GPU memory",
		Means:    "The weights are converted to 4 bit while they load. Single tensors and the parts that stay unconverted are on the GPU at 16 bit, so the peak is above the size of the 4-bit model.",
		Not:      "`--gpu-memory-utilization`: it has no effect while weights load.",
		Cures: []cause.Cure{
			tell("use_lower_quant", "Load a checkpoint that is already 4 bit", "Search the model's name with AWQ or GPTQ on huggingface.co and serve it without `--quantization`. Nothing is converted on the GPU, and it is faster.", "another download"),
			as("use_smaller_model", "Or use a smaller model", "lower quality"),
		},
		Sources: []string{"vllm/model_executor/model_loader/bitsandbytes_loader.py"},
	},
	{
		ID: "vllm/lora-slots", Kinds: onCard, Said: []string{"in create_lora_weights", "in _create_lora_modules", "in create_lora_manager", "in load_lora_model"}, Phases: []string{"load", "warmup", "kv_cache", "unknown"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Decisive, Figures: loadFigures,
		Headline: "did not start: the buffers for LoRA adapters did not fit",
		Means:    "At start vLLM reserves buffers for LoRA adapters beside the weights: `max_loras` times `max_lora_rank` in all layers, however small your adapters are.",
		Not:      "Smaller adapters alone: the buffers have the size of `--max-lora-rank`.",
		Cures: []cause.Cure{
			{Fix: "lower_parallel", Title: "Lower `--max-loras` and `--max-lora-rank`", Told: "The rank must be that of your largest adapter (`r` in its adapter_config.json). These are the defaults; rank 8 is smaller still:", Kind: "config", Text: "--max-loras 1 --max-lora-rank 16", Cost: "fewer adapters at a time"},
			vllm.Words("use_lower_quant", "Or load a smaller version of the base model", quantised, "slight loss of quality"),
			{Fix: "lower_batch_size", Title: "If you use one adapter only, merge it", Told: "PEFT's `merge_and_unload()` adds it to the weights. Then start without `--enable-lora`.", Cost: "no switching between adapters"},
		},
		Sources: []string{"vllm/lora/layers", "vllm/config/lora.py", vllmThreads + "issues/29049"},
	},
	{
		ID: "vllm/load-others", Kinds: onCard, If: heldByOthers,
		Cause: cause.LeakedProcess, Weight: cause.Strong, Figures: loadFigures,
		Headline: "ran out of GPU memory: other processes use {others} of it",
		Means:    "vLLM itself holds {mine}; {others} of {total} is used outside this process. Usually that is another server, an earlier start that still runs, or a second process of the same job on this GPU.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Find what uses the GPU and end what is yours", Told: "Look for `VLLM::EngineCore`, `VLLM::Worker` or python of an earlier start. Stop its container or run `kill PID`. In a container other processes may be hidden: look on the host.", Kind: "shell", Text: "nvidia-smi", Cost: "what you end stops"},
			vllm.Given(vllm.OnNVIDIA, otherGPU), vllm.Given(when.Any(stage.Schedules, when.Not(vllm.OnNVIDIA)), as("select_gpu", "Or use another GPU", "needs a free GPU")),
			vllm.Given(stage.OnAscend, vllm.Words("use_lower_quant", "Or load a model that fits beside it", "Set `gpu_memory_utilization` to what is left of the GPU. A W8A8 checkpoint (ModelSlim, `--quantization ascend`) is half of 16 bit.", "slight loss of quality")),
			vllm.Given(when.Not(stage.OnAscend), vllm.Words("use_lower_quant", "Or load a model that fits beside it", "Set `gpu_memory_utilization` to what is left of the GPU. {fewer_bits}", "slight loss of quality")),
		},
		Sources: []string{"vllm/model_executor/model_loader/base_loader.py", vllmThreads + "issues/188"},
	},
	{
		ID: "vllm/load-weights", Kinds: onCard, If: when.All(stage.LoadingWeights, notOthers),
		Cause: cause.ModelTooLarge, Weight: cause.Decisive, Figures: loadFigures,
		Headline: "ran out of GPU memory{moment}while loading the weights",
		Means:    "[[{would}]]{failed}. vLLM already holds {mine} of {total}, and the KV cache still has to come.[[ By the model's name the weights are about {in_all} in all.]]",
		Not:      noShareYet,
		Cures: []cause.Cure{
			vllm.Given(vllm.Unread, vllm.Flags("use_lower_quant", "Add `--quantization ascend`", "The model's name says W8A8, but the command does not. Checkpoints made with ModelSlim need this option. {where}", "none", vllm.Option("quantization", "ascend"))),
			vllm.Given(when.All(stage.OnAscend, when.Not(vllm.Unread)), vllm.Words("use_lower_quant", "Load a smaller version of the model", "A W8A8 checkpoint (made by ModelSlim, on modelscope.cn) with `--quantization ascend` is half of 16 bit.", "slight loss of quality")),
			vllm.Given(noConversion, vllm.Words("use_lower_quant", "Load a smaller version of the model", quantised, "slight loss of quality")),
			added("use_lower_quant", "Load a smaller version of the model", quantised+" Or let vLLM convert this one to 4 bit while it loads (`pip install bitsandbytes`). {where}", "slight loss of quality"),
			vllm.Given(when.Not(vllm.WouldFit), added("multi_gpu", "Or split the weights over more GPUs", halvesThem, "needs more GPUs")),
			vllm.Given(vllm.WouldFit, vllm.Words("upgrade_version", "Or use the vLLM version that the model's page names", "An older version may read this format differently or not split all layers. With several machines, check that every process runs and has its own GPU.", "an update to test")),
			vllm.Given(when.All(when.Not(stage.OnAscend), vllm.MostStays), added("cpu_offload", "Or keep a part in system RAM", offloadCost, "much slower")),
		},
		Sources: []string{"vllm/model_executor/model_loader/base_loader.py", "vllm/model_executor/layers/linear.py", "vllm/config/offload.py"},
	},
	{
		ID: "vllm/load-bare", Kinds: onCard, If: when.All(aboveShare, notOthers),
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Figures: loadFigures,
		Headline: "filled the GPU with its own tensors[[: {mine} of {total}]]",
		Means:    "Most likely the weights do not fit: PyTorch holds more than vLLM's share ({from}: {share_gib}), which does not apply while weights load. If a line `Model loading took … GiB` with a much smaller number stands above the error, the trial run failed instead.",
		Not:      "`expandable_segments`[[: only {slack} is unused]]. A higher `--gpu-memory-utilization`: it gives weights and trial run no more room.",
		Cures: []cause.Cure{
			{Fix: "use_lower_quant", Title: "If the weights did not load, use smaller ones", Told: quantised, Cost: "slight loss of quality"},
			added("multi_gpu", "Or split them over more GPUs", halvesThem+" If you use several already: twice as many.", "needs more GPUs"),
			vllm.Flags("lower_max_num_seqs", "If they had loaded, make the trial run smaller", "", "shorter and fewer requests", vllm.Option("max_model_len", "4096"), vllm.Option("max_num_seqs", "16"), vllm.Option("max_num_batched_tokens", "4096")),
		},
		Sources: []string{"vllm/v1/worker/gpu_worker.py", "vllm/model_executor/model_loader/base_loader.py"},
	},
	{
		ID: "vllm/load-refused", Kinds: []fact.Kind{fact.VLLMLoad},
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Figures: loadFigures,
		Headline: "could not load the model: its weights do not fit in the free GPU memory",
		Means:    "vLLM itself reports that the weights do not fit. The message does not say whether something else was using the GPU.",
		Not:      "A lower `--gpu-memory-utilization`, which vLLM suggests: it frees nothing for the weights.",
		Cures: []cause.Cure{
			vllm.Words("use_lower_quant", "Load a smaller version of the model", quantised, "slight loss of quality"),
			added("multi_gpu", "Or split the weights over more GPUs", halvesThem, "needs more GPUs"),
			typed("kill_stale_process", "Check that the GPU is empty before the start", "nvidia-smi", "free"),
		},
		Sources: []string{"vllm/v1/worker/gpu_model_runner.py", "vllm/model_executor/layers/linear.py"},
	},
}

// aboveShare: a log that shows no phase, where live tensors alone are more than
// the share of the card, which bounds all but the loading.
func aboveShare(c *ledger.Case) bool {
	f, total := c.F(), cardTotal(c)
	now, _ := vllmShare.now(c)
	return stage.OnCard(c) && c.Phase == "unknown" && total > 0 && f.Allocated != nil && !stage.CacheTaken(c) && !c.Contains("private pools") &&
		float64(f.Allocated.Bytes) > (now+0.03)*float64(total) && c.Slack.Has() && c.Slack.Bytes < max(128<<20, total/512)
}

// neverServed: vLLM says that it failed before it was ready.
func neverServed(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Chain, func(x fact.Failure) bool {
		return slices.ContainsFunc([]string{"Engine core initialization failed", "EngineCore failed to start", "WorkerProc failed to start", "WorkerProc initialization failed"}, func(w string) bool { return strings.Contains(x.Message, w) })
	})
}

// loadFigures add how large a model the card holds.
func loadFigures(c *ledger.Case) map[string]string {
	out := vllmFigures(c)
	out["moment"], out["failed"] = " ", "It failed while vLLM was loading the weights"
	if c.Phase != "load" && !c.Root(fact.VLLMLoad) { // by its figures
		out["moment"], out["failed"] = ", most likely ", "Most likely it was loading the weights, because almost nothing of what it holds is unused"
	}
	if out["or_weights"] = ""; !vllm.SpareReserve(c) {
		out["or_weights"], out["neither"] = "S", "with neither, most likely the weights (the oldest versions print no such line)"
	}
	if out["or_request"] = "or a request"; neverServed(c) {
		out["or_request"] = ""
	}
	if out["trial_of"] = "`max_num_batched_tokens` tokens (2,048 to 16,384 by default)"; vllm.WholePrompts(c) {
		out["trial_of"] = "a prompt of full length (`max_model_len`)"
	}
	if total := cardTotal(c); total > 4<<30 {
		room := total * 3 / 4
		out["in16"], out["in4"] = grouped(float64(room/2/1e9)), grouped(float64(room*10/7/1e9))
	}
	if out["would"] = vllm.Would(c); out["would"] == "" {
		out["in_all"] = out["named"]
	}
	if c.Reader.Ranks > 1 {
		out["ranks"] = grouped(float64(c.Reader.Ranks))
	}
	return out
}

// noConversion: vLLM's own conversion to 4 bit is for dense layers on NVIDIA
// cards; experts were refused by it for long, other cards need builds of their
// own, and what is quantised already stays as it is.
func noConversion(c *ledger.Case) bool {
	return when.Set("quantization", "")(c) || c.Backend != "cuda" && c.Backend != "" || era.Lacks(c, "vllm", "--quantization bitsandbytes") || cmp.Or(ledger.Quantised(c), cards.FormatInFrames(c)) != "" || slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool { return strings.Contains(x.File, "fused_moe") })
}
