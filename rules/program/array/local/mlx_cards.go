package local

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

const mlxMetal = "mlx/mlx/backend/metal/allocator.cpp"

var MLXCards = []cause.Card{
	{
		ID: "mlx/one-buffer", Kinds: []fact.Kind{fact.MLXBuffer}, If: sizedRequest,
		Cause: cause.OversizedAllocation, Weight: cause.Strong,
		Headline: "wanted one array of {asked}; this Mac gives {limit} in one piece",
		Means:    "Metal has a largest size for one buffer, {limit} on this Mac, and one array of {asked} was wanted. How much memory is free plays no part. As a rule such an array is the attention scores of a long prompt, which grow with the square of its length, or the logits of a whole long sequence.",
		Not:      "Closing programs or raising the wired limit: the bound is for one buffer.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "A shorter prompt or sequence", Told: "Half the length makes scores a quarter and logits half as large. On the command line the cache can be bounded, too (with your own `--model`):", Kind: "shell", Text: "mlx_lm.generate --prompt - --max-kv-size 4096 < prompt.txt", Cost: "Older text is dropped"},
			{Fix: "lower_batch_size", Title: "Less at once", Ways: []cause.Way{
				{For: fix.Training, Text: "`--batch-size 1 --max-seq-length 1024` of `mlx_lm.lora`"},
				{For: "Your own code", Text: "split the batch or the images; `mx.fast.scaled_dot_product_attention` in place of a softmax of your own, which holds the scores"},
			}, Cost: "Slower"},
			{Fix: "upgrade_version", Title: "A newer mlx and mlx-lm", Told: "Prompts are read in pieces there.", Kind: "shell", Text: "pip install --upgrade mlx mlx-lm", Cost: "A few minutes"},
		},
		Sources: []string{mlxMetal, "mlx-lm/mlx_lm/generate.py", "mlx-lm/mlx_lm/lora.py", "mlx/python/src/fast.cpp"},
	},
	{
		ID: "mlx/resource-limit", Kinds: []fact.Kind{fact.MLXAlloc}, Said: []string{"Resource limit"},
		Cause: cause.RetainedMemory, Weight: cause.Strong,
		Headline: "holds too many buffers: a limit of their number, not of bytes",
		Means:    "Metal bounds how many buffers a process may hold, and the limit is that count; much memory may be free. In your own code: a loop that never evaluates keeps every step's graph. In a server: buffers kept for reuse count as well, so that long runs reach it.",
		Not:      "A smaller quantisation or more RAM: it is the number of arrays that counts.",
		Cures: []cause.Cure{
			{Fix: "empty_cache", Title: "Keep fewer buffers in the cache", Kind: "python", Text: "mx.set_cache_limit(8 * 1024**3)   # bytes; once, at the start\nmx.clear_cache()   # after each request or epoch", Cost: "A little speed"},
			{Fix: "detach_accumulated", Title: "Your own loop: evaluate in each step", Kind: "python", Text: "mx.eval(model.parameters(), optimizer.state)   # at the end of each step\nlosses.append(loss.item())   # the number, not the array", Cost: "None"},
			{Fix: "upgrade_version", Title: "A server: update, else restart it", Kind: "shell", Text: "pip install --upgrade mlx mlx-lm", Cost: "A few minutes; reports of it go on in 2026"},
		},
		Sources: []string{mlxMetal, "https://github.com/ml-explore/mlx/pull/1718", "https://github.com/ml-explore/mlx-lm/issues/1672", "https://github.com/cubist38/mlx-openai-server/issues/188"},
	},
	{
		ID: "mlx/server-later", Kinds: []fact.Kind{fact.MetalMemory}, Said: []string{"\" 200", "200 OK"},
		Cause: cause.ContextTooLong, Weight: cause.Strong,
		Headline: "served requests, and then one needed more than macOS lends the GPU",
		Means:    "The log shows an answered request (200) before the crash, so the model fits. What grew is beside it: the caches of earlier prompts that the server keeps, a longer prompt (a coding agent sends all of it each time), or several requests at once. macOS lends the GPU two thirds to three quarters of the RAM.",
		Not:      "Lowering `--max-tokens` alone: it bounds the answer, and the prompt is the large part. Swap: what the GPU works on stays in RAM.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Let the server keep and compute less at once", Told: "Added to its start (current mlx-lm; `mlx_lm.server --help` lists what yours has):", Kind: "config", Text: "--prompt-cache-size 1 --prompt-cache-bytes 2147483648 --prompt-concurrency 1 --decode-concurrency 1 --prefill-step-size 512", Cost: "prompts are read again more often; no requests side by side"},
			{Fix: "chunked_prefill", Title: "Shorter conversations in the client", Told: "A context limit (32k) in the agent, and new conversations or its compacting sooner; restart the server now.", Cost: "it forgets older parts"},
			{Fix: "raise_memory_limit", Title: "Lend the GPU more, where RAM is left", Told: "Four fifths of the RAM, until the next restart.", Kind: "shell", Text: "sudo sysctl iogpu.wired_limit_mb=$(( $(sysctl -n hw.memsize) / 1048576 * 4 / 5 ))", Cost: "less for everything else; too much freezes the Mac"},
			{Fix: "use_lower_quant", Title: "Or a smaller conversion of the model", Told: "3 bit in place of 4, or the next smaller model.", Cost: "some quality"},
		},
		Sources: []string{"mlx-lm/mlx_lm/server.py", "mlx/mlx/backend/metal/device.cpp"},
	},
	{
		ID: "mlx/working-set", Kinds: []fact.Kind{fact.MetalMemory}, Said: []string{"kIOGPUCommandBufferCallbackErrorOutOfMemory", "Insufficient Memory"},
		Cause: cause.ModelTooLarge, Weight: cause.Good,
		Headline: "needed more than macOS lends the GPU",
		Means:    "Metal refused the work: weights, cache and activations together passed what macOS lends the GPU, about two thirds to three quarters of RAM unless set otherwise. If it dies at the first token, the model is too large; if at a long prompt or after a while, it is the context.",
		Not:      "Swap: memory that the GPU works on has to stay in RAM.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "It dies at long prompts: bound the cache", Ways: []cause.Way{
				{For: "A server (oMLX, LM Studio, mlx_lm.server)", Text: "in its settings a shorter context, a smaller prompt cache (oMLX: hot cache) and smaller prefill steps, where it has them; restart it, for it keeps the caches of earlier requests."},
				{For: "The command line", Text: "`mlx_lm.generate --prompt - --max-kv-size 4096 < prompt.txt`, with the `--model` that you use today."},
			}, Cost: "Older text is dropped from the cache"},
			{Fix: "use_lower_quant", Title: "It dies at once: a 4-bit model", Kind: "text", Text: "Take the 4-bit conversion of the same model (names end in `-4bit`): about 0.6 GB per billion parameters.", Cost: "Little quality; another download"},
			{Fix: "close_other_apps", Title: "Quit what holds memory", Told: "Activity Monitor, Memory: browsers and other models; the GPU and programs share the same RAM. With much of it free, lend the GPU more, until the next restart: `sudo sysctl iogpu.wired_limit_mb=28672` (on a Mac of 32 GB; leave 4 GB at least).", Cost: "Free"},
		},
		Sources: []string{"mlx/mlx/backend/metal/device.cpp", "mlx-lm/README.md", "https://ml-explore.github.io/mlx/build/html/python/_autosummary/mlx.core.set_wired_limit.html"},
	},
}

func sizedRequest(c *ledger.Case) bool { return c.F().Requested != nil && c.F().Limit != nil }
