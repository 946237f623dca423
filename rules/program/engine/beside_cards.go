package engine

import (
	"fmt"
	"math"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/era"
	"github.com/oomdoc/oomdoc/rules/when"
)

// killed are the ways in which a log says that the system ended a server.
var killed = []fact.Kind{fact.KernelKill, fact.ShellKilled, fact.ContainerKill}

// besideOthers is the card of a server that found others on its card. Keep says
// how two of them share one.
func besideOthers(program string, in func(*ledger.Case) bool, keep cause.Cure, source string) cause.Card {
	keep.Title = "Or keep both on one GPU, each with its share"
	return cause.Card{
		ID: program + "/beside-others", Kinds: onCard, If: when.All(in, ledger.Crowded),
		Cause: cause.LeakedProcess, Weight: cause.Strong,
		Headline: "ran out of GPU memory: other processes use {others} of the GPU's {total}",
		Means:    "This process holds only {mine}. Another one fills the GPU: a second server, an earlier start that still runs, a notebook, or another process of this job on the same GPU.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "See which process it is, and end what you do not need", Told: "Run `kill PID` if it is yours, or `docker stop` for a container. Then start again.", Kind: "shell", Text: look, Cost: "what you end stops"},
			{Fix: "select_gpu", Title: "Or start on another GPU", Told: "Set this before the command. For Docker use `--gpus '\"device=1\"'` instead of `--gpus all`:", Kind: "env", Text: "export CUDA_VISIBLE_DEVICES=1", Cost: "needs a free GPU"},
			keep,
		},
		Sources: []string{source},
	}
}

var (
	sglangKeep = cause.Cure{Fix: "lower_mem_fraction", Told: "Start the first with `--mem-fraction-static 0.45` and wait until it serves. Then start this one with 0.8: that counts from what is free then.", Cost: "smaller caches"}
	tgiKeep    = cause.Cure{Fix: "lower_mem_fraction", Told: "Start the first with `--cuda-memory-fraction 0.45` and wait until it serves. Then start this one with 0.95: it sizes its KV cache by what is free then.", Cost: "smaller caches"}
	tmKeep     = cause.Cure{Fix: "lower_mem_fraction", Told: "Start the first with `--cache-max-entry-count 0.2` and wait until it serves. Then start this one: the share counts from what is free after the weights.", Cost: "smaller caches"}
)

// sglangShareFigures are the static share that was set, for a machine on which
// CPU and GPU have one memory.
func sglangShareFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"share": ""}
	if s := setting(c, "mem_fraction_static"); s != "" && s != "None" {
		out["share"] = s
	}
	return out
}

// hicache is what fits of SGLang's second KV cache.
func hicache(c *ledger.Case) map[string]string {
	out := map[string]string{"ratio": "", "none": "This start fits only without it."}
	now := 2.0
	if _, err := fmt.Sscan(setting(c, "hicache_ratio"), &now); err != nil {
		now = 2
	}
	if c.Asked.Has() && c.Free.Has() && setting(c, "hicache_size") == "" || setting(c, "hicache_size") == "0" {
		if fits := math.Floor(now*float64(c.Free.Bytes)/float64(c.Asked.Bytes)*10) / 10; fits > 1 {
			out["ratio"], out["none"] = fmt.Sprintf("%.1f", fits), ""
		}
	}
	return out
}

// mambaSlots are the states that SGLang has, and how many requests they carry.
func mambaSlots(c *ledger.Case) map[string]string {
	out := map[string]string{"slots": "", "requests": ""}
	if x, ok := c.Fact("mamba_slots"); ok && x.Count != nil && x.Count.Value >= 3 {
		out["slots"], out["requests"] = fmt.Sprintf("%.0f", x.Count.Value), fmt.Sprintf("%.0f", math.Floor(x.Count.Value/3))
	}
	return out
}

// slotsKnown: the log says how many states there are.
func slotsKnown(c *ledger.Case) bool { return mambaSlots(c)["requests"] != "" }

// outsidePyTorch is what this process holds beside PyTorch's memory, if that is
// more than libraries need.
func outsidePyTorch(c *ledger.Case) map[string]string {
	f := c.F()
	used := ledger.SizeOf(f.ProcessUsed)
	if all := ledger.SizeOf(f.Total) - ledger.SizeOf(f.Free); f.Free != nil && ledger.Near(all, used, 16*units.MiB) {
		used = all // as the books count it
	}
	out := used - ledger.SizeOf(f.Allocated) - ledger.SizeOf(f.ReservedUnallocated)
	figures := map[string]string{"outside": "", "unused": ""}
	if c.Slack.Has() && c.Shortfall.Has() && c.Slack.Bytes < c.Shortfall.Bytes {
		figures["unused"] = c.Slack.String()
	}
	if f.ProcessUsed != nil && f.Allocated != nil && out >= 4*units.GiB {
		figures["outside"] = units.Amount(out)
	}
	return figures
}

// sglangMoreCards are about what SGLang keeps beside weights and KV pool.
var sglangMoreCards = []cause.Card{
	besideOthers("sglang", func(c *ledger.Case) bool { return c.In("sglang") }, sglangKeep, sglangTuning),
	{
		ID: "sglang/hicache", Said: []string{"Please reduce the size of the hierarchical cache"}, Figures: hicache,
		If:    func(c *ledger.Case) bool { return strings.Contains(c.Failure.Message, "hierarchical cache") },
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "did not start: system RAM is too small for the hierarchical cache",
		Means:    "`--enable-hierarchical-cache` keeps a second KV cache in system RAM, which must be larger than the one on the GPU. By default it is twice as large (`--hicache-ratio`), for each GPU. SGLang also leaves 10 GB of RAM to other programs.",
		Not:      "A lower `--context-length`: both caches are sized by shares.",
		Cures: []cause.Cure{
			{Fix: "lower_swap_space", If: func(c *ledger.Case) bool { return hicache(c)["ratio"] != "" }, Title: "Lower `--hicache-ratio`", Told: "Instead of yours, in your start command:", Kind: "config", Text: "--hicache-ratio {ratio}", Cost: "fewer cached prompts"},
			{Fix: "lower_mem_fraction", If: func(c *ledger.Case) bool { return hicache(c)["ratio"] == "" }, Title: "Leave out `--enable-hierarchical-cache`", Told: "The KV cache on the GPU works without it. The one in RAM must be larger, and that much RAM is not free.", Cost: "fewer cached prompts"},
			{Fix: "close_other_apps", Title: "Or free system RAM", Told: "`free -h` shows what is available. SGLang counts the host's RAM, even in a container.", Cost: "free"},
			{Fix: "raise_mem_fraction", Title: "Or make the KV cache on the GPU smaller", Told: "A lower `--mem-fraction-static` shrinks both.", Cost: "fewer requests at a time"},
		},
		Sources: []string{sglangCode + "mem_cache/memory_pool_host.py", sglangCode + "server_args.py"},
	},
	{
		ID: "sglang/lora-pool", Kinds: onCard, Said: []string{"srt/lora/mem_pool.py", "srt/lora/lora_manager.py", "in init_lora_manager"}, If: when.All(sglangCard, when.Not(when.In("inference"))),
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "did not start: the buffers for LoRA adapters did not fit",
		Means:    "After the weights SGLang reserves buffers for `--max-loras-per-batch` adapters (8 by default) of the largest rank, in every layer.[[ The weights took {weights}.]] The KV cache comes after them.",
		Not:      "`--mem-fraction-static` or `--context-length`: they size the KV cache, which comes later.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower `--max-loras-per-batch`", Told: "The buffers shrink with it. Add to your start command:", Kind: "config", Text: "--max-loras-per-batch 2", Cost: "fewer adapters at a time"},
			{Fix: "lower_num_workers", Title: "Or limit the rank to what your adapters need", Told: "`--max-lora-rank 16` (July 2025 and later; see `r` in their adapter_config.json). One adapter of a high rank makes all buffers larger; merge it into the weights instead.", Cost: "adapters of a higher rank are refused"},
			sglangQuant,
		},
		Sources: []string{sglangCode + "lora/mem_pool.py", sglangCode + "model_executor/model_runner.py"},
	},
	{
		ID: "sglang/mamba-slots", Kinds: []fact.Kind{fact.SGLangState}, If: func(c *ledger.Case) bool { return c.Failure.Stage == "slots" }, Figures: mambaSlots,
		Cause: cause.BatchTooLarge, Weight: cause.Decisive,
		Headline: "ran out of state slots of a hybrid model, not of GPU memory",
		Means:    "A running request of a hybrid model (Mamba, linear attention) needs one state slot, with the prefix cache up to three.[[ There are {slots}, enough for {requests} requests at a time with the prefix cache.]] The number was fixed at the start; no memory was refused.",
		Not:      "A smaller `--chunked-prefill-size` or context: a state has the same size for any prompt length.",
		Cures: []cause.Cure{
			where(slotsKnown, cause.Cure{Fix: "lower_max_num_seqs", Title: "Lower `--max-running-requests`", Told: "This is a third of the slots. Add to your start command:", Kind: "config", Text: "--max-running-requests {requests}", Cost: "others wait"}),
			where(when.Not(slotsKnown), as("lower_max_num_seqs", "Lower `--max-running-requests`", "", "others wait")),
			{Fix: "raise_mem_fraction", Title: "Or give the states more memory", Told: "`--mamba-full-memory-ratio` divides memory between states and KV cache; the default is 0.9 (October 2025 and later):", Kind: "config", Text: "--mamba-full-memory-ratio 1.8", Cost: "fewer tokens in the KV cache"},
			{Fix: "upgrade_version", Title: "Or turn the prefix cache off, and update", Told: "With `--disable-radix-cache` a request needs one slot. Some versions of late 2025 did not free the slots of finished requests.", Cost: "repeated prompts are computed again"},
		},
		Sources: []string{sglangCode + "mem_cache/common.py", sglangCode + "mem_cache/memory_pool.py", sglangCode + "server_args.py"},
	},
	{
		ID: "sglang/retracted-all", Kinds: []fact.Kind{fact.SGLangTokens}, Said: []string{"even after retracting all", "No space left for only one request"},
		Cause: cause.ContextTooLong, Weight: cause.Decisive,
		Headline: "ran out of KV cache with only one request left",
		Means:    "A single request fills the whole KV cache (`max_total_num_tokens` in the first lines). SGLang had already paused all others, and there was still no room for its next token. GPU memory itself was not short.",
		Not:      "A lower `--max-running-requests`: only one request was left.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Limit a request to less than the KV cache holds", Told: "Use nine tenths of `max_total_num_tokens`, or a smaller `max_tokens` in the request itself:", Kind: "config", Text: "--context-length 16384", Cost: "longer requests are refused"},
			as("raise_mem_fraction", "Or make the KV cache larger", "By 0.05 at most, while `available_gpu_mem` in the first lines stays above 2 GB.", "less for CUDA graphs and requests"),
			as("quantize_kv_cache", "Or use an 8-bit KV cache", "About twice as many tokens fit. If neither helps with sliding-window or speculative models, update SGLang.", "a little quality"),
		},
		Sources: []string{sglangCode + "managers/schedule_batch.py", sglangTuning},
	},
	{
		ID: "sglang/logprobs", Kinds: onCard, Said: []string{"in get_token_logprobs", "in compute_temp_top_p_normalized_logprobs", "in process_input_logprobs", "input_logprobs = torch.", "all_logprobs = torch."}, If: sglangCard,
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory while computing log-probabilities of a prompt",
		Means:    "A request asked for log-probabilities of its prompt. SGLang then computes scores of the whole vocabulary for every prompt token of a chunk: {asked} was needed, {room} was left. Normally it does so only for the last token.",
		Cures: []cause.Cure{
			{Fix: "lower_max_batched_tokens", Title: "Ask for log-probabilities of the answer only", Told: "Use `\"logprob_start_len\": -1` in the request (in the OpenAI API no `echo`). If you need those of the prompt, lower `--chunked-prefill-size`.", Own: true, Cost: "slower long prompts"},
			{Fix: "upgrade_version", If: func(c *ledger.Case) bool { return !era.Lacks(c, "sglang", "SGLANG_ENABLE_LOGITS_PROCESSER_CHUNK") }, Title: "Or let SGLang compute them in parts", Told: "In versions from November 2025 on, before the start:", Kind: "env", Text: "export SGLANG_ENABLE_LOGITS_PROCESSER_CHUNK=1", Cost: "a little slower"},
			sglangLess,
		},
		Sources: []string{sglangCode + "layers/logits_processor.py", sglangCode + "environ.py", sglangCode + "managers/io_struct.py"},
	},
	{
		ID: "sglang/pinned", Kinds: onCard, If: func(c *ledger.Case) bool { return c.In("sglang") && withoutFigures(c) }, Said: []string{"in maybe_offload_to_cpu", "in pin_memory", "pin_memory=True", "srt/mem_cache/memory_pool_host.py"},
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "could not get pinned system RAM; GPU memory was not short",
		Means:    "`--cpu-offload-gb` and the hierarchical cache use pinned system RAM, which cannot be swapped out. RAM was short, a container limits locked memory, or WSL allows only a part of its RAM. CUDA calls it \"out of memory\" in all cases.",
		Not:      "A lower `--mem-fraction-static`: GPU memory was not short.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Raise the limit on locked memory", Told: "Add this before the image's name in `docker run`; in WSL also raise `memory=` in .wslconfig:", Kind: "config", Text: "--ulimit memlock=-1 --ipc=host", Cost: "free"},
			{Fix: "use_lower_quant", Title: "Or leave the option out, and load smaller weights", Told: "Without `--cpu-offload-gb`: a 4-bit checkpoint (AWQ or GPTQ in its name) takes about a third of 16 bit.", Cost: "slight loss of quality"},
			{Fix: "close_other_apps", Title: "Check the free RAM", Told: "Run `free -h` while it starts; swap does not count.", Cost: "free"},
		},
		Sources: []string{sglangCode + "utils/offloader.py", sglangCode + "mem_cache/memory_pool_host.py"},
	},
	{
		ID: "sglang/piecewise", Kinds: onCard, If: sglangCard, Said: []string{"Capture piecewise CUDA graph begin", "piecewise_cuda_graph_runner.py"},
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "did not start: CUDA graphs for prompts did not fit in GPU memory",
		Means:    "SGLang captures these graphs for prompts of up to `--piecewise-cuda-graph-max-tokens` tokens. By default that is `--chunked-prefill-size`, so the largest graph needs as much as a whole chunk. That did not fit beside weights and KV cache.",
		Not:      "A higher `--mem-fraction-static`: it leaves less for the graphs.",
		Cures: []cause.Cure{
			{Fix: "enforce_eager", Title: "Capture them for shorter prompts", Told: "Longer chunks then run without a graph. To turn them off, add `--disable-piecewise-cuda-graph`; in older versions leave out `--enable-piecewise-cuda-graph`.", Kind: "config", Text: "--piecewise-cuda-graph-max-tokens 1024", Cost: "longer prompts are a little slower"},
			sglangLess, sglangChunk,
		},
		Sources: []string{sglangCode + "server_args.py", sglangCode + "model_executor/piecewise_cuda_graph_runner.py", "https://docs.sglang.io/advanced_features/piecewise_cuda_graph.html"},
	},
	{
		ID: "sglang/start", Kinds: onCard, If: when.All(sglangCard, ledger.FillsAlone, when.Not(when.In("load"))), Phases: []string{"unknown"}, Said: []string{"in init_tp_model_worker", "in init_model_worker", "scheduler is dead. Please check", "Initialization failed. Please see the error messages above"}, Unsaid: []string{"event_loop_", "in forward_batch_generation", "in init_device_graphs", "in init_cuda_graphs", "in init_memory_pool", "in load_model"}, Figures: outsidePyTorch,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong,
		Headline: "ran out of GPU memory during its start",
		Means:    "If the line `Load weight end` does not stand above the error, the weights are too large. If it does, the KV cache or CUDA graphs did not fit beside them. {mine} of {total} is its own.[[ {outside} of that is outside PyTorch: communication between GPUs (DeepEP, symmetric memory), CUDA graphs or kernel workspaces.]]",
		Not:      "[[`expandable_segments`: only {unused} is reserved and unused.]]",
		Cures: []cause.Cure{
			{Fix: "lower_mem_fraction", Title: "If `Load weight end` is there, lower `--mem-fraction-static`", Told: "By 0.08 at a time, until it starts.", Own: true, Cost: "a smaller KV cache"},
			{Fix: "use_lower_quant", Title: "If not, load smaller weights or use more GPUs", Told: "Use an FP8, AWQ or GPTQ version of the model, or `--tp-size` with twice as many GPUs.", Cost: "slight loss of quality"},
			{Fix: "upgrade_version", Title: "If much is outside PyTorch, turn off what keeps it", Told: "To test, start without speculative decoding, DeepEP (`--moe-a2a-backend`) and `--enable-symm-mem`.", Cost: "slower"},
		},
		Sources: []string{sglangTuning, sglangCode + "managers/tp_worker.py", sglangCode + "server_args.py"},
	},
	{
		ID: "sglang/killed", Kinds: killed, If: func(c *ledger.Case) bool { return c.Root(killed...) && c.Says("sglang") }, Figures: sglangShareFigures,
		Cause: cause.HostMemory, Weight: cause.Decisive,
		Headline: "was killed: system RAM ran out",
		Means:    "Each process loads checkpoint files through system RAM; `--cpu-offload-gb` (per GPU) and the hierarchical cache stay there. Where CPU and GPU share memory (DGX Spark, Jetson, APUs), weights and KV cache use it too[[, and a static share of {share} leaves too little for the system]].",
		Not:      "A smaller `--chunked-prefill-size`: it saves only GPU memory.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Check the kernel's log: was it a limit or the whole machine?", Told: "\"Memory cgroup\" means a container's limit: raise it (`docker run --memory`, in Kubernetes `resources.limits.memory`). Otherwise the machine was full: end large programs or add swap.", Kind: "shell", Text: "sudo dmesg -T | grep -i 'killed process' | tail -4", Cost: "the check is free"},
			{Fix: "lower_mem_fraction", If: func(c *ledger.Case) bool { return ledger.IntSetting(c, "tp_size", "tp") < 2 }, Title: "If CPU and GPU share memory, lower `--mem-fraction-static`", Told: "Leave at least 10 GB for the system and compilers.", Own: true, Cost: "a smaller KV cache"},
			{Fix: "lower_swap_space", If: when.Not(when.Set("cpu_offload_gb", "0")), Title: "Leave out `--cpu-offload-gb` and `--enable-hierarchical-cache`", Told: "Use a checkpoint in `.safetensors` files: `.bin` files are read whole by every process.", Cost: "more must fit on the GPU"},
			{Fix: "add_swap", Title: "Or add swap space while it loads", Cost: "disk"},
		},
		Sources: []string{sglangCode + "server_args.py", sglangCode + "model_loader/loader.py", sglangCode + "mem_cache/memory_pool_host.py"},
	},
}
