package local

import (
	"slices"
	"strconv"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

const mlxMetal = "mlx/mlx/backend/metal/allocator.cpp"

var MLXCards = append(guardCards, []cause.Card{
	examplesTraining, trainingCard,
	{
		ID: "mlx/prefill-guard", Kinds: []fact.Kind{fact.MetalMemory}, Said: []string{"would require ~"}, If: refusedPrompt,
		Cause: cause.ContextTooLong, Weight: cause.Decisive, Headline: "refused the prompt: {lacks} over its memory limit of {limit}",
		Means:   "The server (oMLX, or one with the same guard) estimates a prompt before it reads it. {used} was in use, with weights and caches of earlier prompts. This prompt needs {asked} more for its KV cache and attention scores. Nothing crashed; other requests go on.",
		Figures: prefillFigures,
		Cures: []cause.Cure{
			{Fix: "close_other_apps", If: nearlyFull, Title: "Free what earlier prompts and models hold", Told: "Most of the memory was in use before this prompt. Unload models you do not use and clear the cache in the server's page, or restart it. Quit browsers and other large programs.", Cost: "free"},
			{Fix: "lower_context", Title: "Shorten the prompt by {share}", Told: "Compact the conversation or start a new one in the agent, or lower its context limit. {room} is left for a prompt.", Cost: "older text is forgotten"},
			{Fix: "close_other_apps", If: when.Not(nearlyFull), Title: "Free what earlier prompts and models hold", Told: "Unload models you do not use and clear the cache in the server's page, or restart it. Quit browsers and other large programs.", Cost: "free"},
			{Fix: "raise_memory_limit", Title: "Or give the GPU more of the Mac's RAM", Told: "This sets seven eighths of the RAM until the Mac restarts; leave enough for your other programs. Raise the server's own limit too.", Kind: "shell", Text: "sudo sysctl iogpu.wired_limit_mb=$(( $(sysctl -n hw.memsize) / 1048576 * 7 / 8 ))", Cost: "too much freezes the Mac"},
			{Fix: "use_lower_quant", Title: "Or use a more quantized version of the model", Cost: "some quality"},
		},
		Sources: []string{"omlx/scheduler.py: _preflight_memory_check", "https://github.com/jundot/omlx/issues/1998"},
	},
	{
		ID: "mlx/one-buffer", Kinds: []fact.Kind{fact.MLXBuffer}, If: sizedRequest,
		Cause: cause.OversizedAllocation, Weight: cause.Strong, Headline: "asked for one array of {asked}; this Mac allows {limit} in one piece",
		Means: "An array this large is often the attention scores of a long prompt, which grow with the square of its length. It can also be the logits of a long sequence, or a large image or batch. Metal limits the size of a single buffer.",
		Not:   "Closing programs or raising the wired limit: the limit is for one buffer.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Lower the batch size", If: ownScript, Told: "Halve the batch in your script. Evaluation often has its own, larger batch size.", Cost: "Slower"},
			{Fix: "lower_context", Title: "Use a shorter sequence, or smaller images", If: ownScript, Told: "Half the length makes attention scores a quarter and logits half as large.", Cost: "Context, or detail"},
			{Fix: "efficient_attention", Title: "If attention is the large part: use MLX's own", If: ownScript, Told: "`mx.fast.scaled_dot_product_attention` does not store the scores, unlike your own softmax. Compute logits and loss in parts of the batch.", Cost: "None"},
			{Fix: "lower_context", Title: "Use a shorter prompt or sequence", Told: "Half the length makes attention scores a quarter and logits half as large. `mlx_lm.generate`: `--max-kv-size 4096` limits its cache. Other programs: their context or prompt limit; update those that do not read prompts in chunks.", Cost: "Older text is dropped"},
			{Fix: "lower_batch_size", Title: "Lower the batch size", Ways: []cause.Way{
				{For: fix.Training, Text: "`--batch-size 1 --max-seq-length 1024` of `mlx_lm.lora`"},
				{For: "Your own code", Text: "split the batch or the images; `mx.fast.scaled_dot_product_attention` instead of your own softmax, which stores the scores"},
			}, Cost: "Slower"},
			{Fix: "upgrade_version", Title: "Update mlx and mlx-lm", Told: "Newer versions read prompts in chunks.", Kind: "shell", Text: "pip install --upgrade mlx mlx-lm", Cost: "A few minutes"},
		},
		Sources: []string{mlxMetal, "mlx-lm/mlx_lm/generate.py", "mlx-lm/mlx_lm/lora.py", "mlx/python/src/fast.cpp"},
	},
	{
		ID: "mlx/resource-limit", Kinds: []fact.Kind{fact.MLXAlloc}, Said: []string{"Resource limit"},
		Cause: cause.RetainedMemory, Weight: cause.Strong, Headline: "holds too many buffers: their number is limited, not the bytes",
		Means: "Metal limits how many buffers a process may hold, and that number was reached; memory may be free. In your own code, a loop that never evaluates keeps every step's graph. In a server, buffers cached for reuse count too, so long runs reach it.",
		Not:   "A smaller quantisation or more RAM: the number of buffers counts.",
		Cures: []cause.Cure{
			{Fix: "empty_cache", Title: "Limit the buffer cache", Kind: "python", Text: "mx.set_cache_limit(8 * 1024**3)   # bytes; once, at the start\nmx.clear_cache()   # after each request or epoch", Cost: "A little speed"},
			{Fix: "detach_accumulated", Title: "In your own loop: call `mx.eval` in each step", Kind: "python", Text: "mx.eval(model.parameters(), optimizer.state)   # at the end of each step\nlosses.append(loss.item())   # the number, not the array", Cost: "None"},
			{Fix: "upgrade_version", Title: "For a server: update it, or restart it", Kind: "shell", Text: "pip install --upgrade mlx mlx-lm", Cost: "A few minutes"},
		},
		Sources: []string{mlxMetal, "https://github.com/ml-explore/mlx/pull/1718", "https://github.com/ml-explore/mlx-lm/issues/1672", "https://github.com/cubist38/mlx-openai-server/issues/188"},
	},
	{
		ID: "mlx/own-limit", Kinds: []fact.Kind{fact.MLXAlloc}, Said: []string{"Unable to allocate"}, Unsaid: []string{"Resource limit", "Train loss"}, If: requested,
		Headline: "could not get {asked} of the memory that Mac and GPU share",
		Means:    "MLX stops at a limit that depends on what macOS gives the GPU, about two thirds to three quarters of the RAM. If all steps were done, the last one (decoding a picture, say) needs more than those before it.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", If: oldMalloc, Title: "Update mlx, and the program or example", Told: "{old}Newer ones release cached memory before they refuse.", Kind: "shell", Text: "pip install --upgrade mlx", Cost: "A few minutes"},
			{Fix: "close_other_apps", Title: "Quit what holds the most memory", Told: "Open Activity Monitor, Memory, and sort by Memory. GPU and programs share the RAM, so browsers and other models count.", Cost: "Free"},
			{Fix: "upgrade_version", Title: "Update mlx, and the program or example", Told: "Newer versions release cached memory before they refuse.", Kind: "shell", Text: "pip install --upgrade mlx", Cost: "A few minutes"},
			{Fix: "half_precision", Title: "Use smaller weights or a smaller result", Ways: []cause.Way{
				{For: fix.Pictures, Text: "a smaller size, one at a time; mlx-examples' txt2image.py has `--quantize` in newer versions"},
				{For: fix.Generating, Text: "a 4-bit conversion (names end in `-4bit`), a shorter prompt"},
			}, Cost: "Some quality"},
		},
		Figures: func(c *ledger.Case) map[string]string {
			if oldMalloc(c) {
				return map[string]string{"old": "`malloc_or_wait` exists only in old versions of MLX. "}
			}
			return map[string]string{"old": ""}
		},
		Sources: []string{mlxMetal, "mlx-examples/stable_diffusion/txt2image.py"},
	},
	{
		ID: "mlx/server-later", Kinds: []fact.Kind{fact.MetalMemory}, Said: []string{"\" 200", "200 OK"},
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "answered requests, then ran out of GPU memory",
		Means: "The log shows an answered request (200) before the failure, so the model fits. Something grew since: caches of earlier prompts, a longer prompt (a coding agent sends the whole conversation each time), or several requests at once. macOS gives the GPU two thirds to three quarters of the RAM.",
		Not:   "Swap: memory that the GPU works on stays in RAM.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Limit prompt caches and concurrency", Told: "If this is mlx-lm's server, add these to its start (`mlx_lm.server --help` lists what your version has):", Kind: "config", Text: "--prompt-cache-size 1 --prompt-cache-bytes 2147483648 --prompt-concurrency 1 --decode-concurrency 1 --prefill-step-size 512", Cost: "prompts are read again more often; no requests side by side"},
			{Fix: "chunked_prefill", Title: "Limit the context in the client", Told: "Restart the server now. Then set a context limit in the agent, and start new conversations or compact sooner.", Cost: "it forgets older parts"},
			{Fix: "raise_memory_limit", Title: "Raise the GPU limit, if RAM is free", Told: "This gives the GPU four fifths of the RAM until the next restart.", Kind: "shell", Text: "sudo sysctl iogpu.wired_limit_mb=$(( $(sysctl -n hw.memsize) / 1048576 * 4 / 5 ))", Cost: "less for everything else; too much freezes the Mac"},
			{Fix: "use_lower_quant", Title: "Use a more quantized model", Told: "3 bit instead of 4, or the next smaller model.", Cost: "some quality"},
		},
		Sources: []string{"mlx-lm/mlx_lm/server.py", "mlx/mlx/backend/metal/device.cpp"},
	},
	{
		ID: "mlx/at-start", Kinds: []fact.Kind{fact.MetalMemory}, Said: startWords, Unsaid: []string{"\" 200", "200 OK", "generate.py", "generate_step", "first weight = uint32"}, If: when.All(justStarted, when.Not((*ledger.Case).Training)),
		Cause: cause.ModelTooLarge, Weight: cause.Good, Headline: "ran out of GPU memory while the model was made ready",
		Means: "The lines just before it are about loading the weights or warming up. So the weights probably do not fit beside what else is in memory: a Mac's GPU may use about two thirds to three quarters of the RAM. After a restart the old server may still hold its own copy.",
		Not:   "A shorter prompt, if none was sent yet.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "End the old server, and what else is large", Told: "Activity Monitor, Memory, sorted by Memory: end an earlier copy of this server, Ollama, LM Studio and unused browsers. Wait until their memory is free, then start again.", Cost: "free"},
			{Fix: "use_lower_quant", Title: "Use a smaller or more quantized model", Told: "The weights should take at most half of the RAM: about 0.6 GB per billion parameters at 4 bit, 1.1 at 8 bit. All experts of an MoE model count.", Cost: "quality; another download"},
			{Fix: "raise_memory_limit", Title: "If much RAM is free: give the GPU more of it", Told: "Until the next restart, four fifths of the RAM:", Kind: "shell", Text: "sudo sysctl iogpu.wired_limit_mb=$(( $(sysctl -n hw.memsize) / 1048576 * 4 / 5 ))", Cost: "less for everything else; too much freezes the Mac"},
		},
		Sources: []string{"mlx/mlx/backend/metal/device.cpp", "https://ml-explore.github.io/mlx/build/html/python/_autosummary/mlx.core.set_wired_limit.html"},
	},
	{
		ID: "mlx/working-set", Kinds: []fact.Kind{fact.MetalMemory}, Said: []string{"kIOGPUCommandBufferCallbackErrorOutOfMemory", "Insufficient Memory", "first weight = uint32"},
		Headline: "needed more memory than macOS gives the GPU",
		Means:    "Weights, KV cache and activations together exceed what macOS gives the GPU, about two thirds to three quarters of RAM by default.[[ {when}]]",
		Figures:  metalFigures,
		Cures: []cause.Cure{
			{Fix: "lower_context", If: writesText, Title: "Use a shorter prompt", Told: "Send a part of the page, file or conversation instead of all of it. Servers: lower the context, prompt cache and prefill step settings, if there are any.", Cost: "Older or other text is left out"},
			{Fix: "lower_resolution", If: quantizedWeights, Title: "Ask for less at a time", Told: "Fewer frames, a smaller picture or a shorter prompt. First unload other models of the same server.", Cost: "Detail"},
			{Fix: "lower_context", If: when.Not(when.Any(writesText, quantizedWeights)), Title: "Ask for less at a time", Ways: []cause.Way{
				{For: fix.Generating, Text: "a shorter context; in a server's settings a smaller prompt cache and smaller prefill steps, where it has them"},
				{For: fix.Pictures, Text: "fewer frames, a smaller picture, one at a time"},
			}, Cost: "Detail, or older text"},
			{Fix: "use_lower_quant", If: when.Not(quantizedWeights), Title: "Or use a smaller model", Told: "Use the 4-bit version (the name ends in `-4bit`), about 0.6 GB per billion parameters for text. If it is 4 bit already, take the next smaller model.", Cost: "Quality; another download"},
			{Fix: "upgrade_version", If: quantizedWeights, Title: "Update the program", Told: "Newer versions of MLX and its servers release cached memory earlier.", Cost: "A few minutes"},
			{Fix: "close_other_apps", Title: "Quit other programs", Told: "Activity Monitor, Memory: browsers and other models share the RAM with the GPU. If much RAM is free, give the GPU more until the next restart: `sudo sysctl iogpu.wired_limit_mb=28672` (32 GB Mac; leave at least 4 GB).", Cost: "Free"},
		},
		Sources: []string{"mlx/mlx/backend/metal/device.cpp", "mlx-lm/README.md", "https://ml-explore.github.io/mlx/build/html/python/_autosummary/mlx.core.set_wired_limit.html"},
	},
}...)

// startWords are what programs print while they load the weights and try them out.
var startWords = []string{"eval all weights", "Loading model", "Loading weights", "Loaded weights", "Warming up", "Warmup"}

// justStarted: one of them stands in the last lines before the failure; further
// up, a prompt may have been read since without a word.
func justStarted(c *ledger.Case) bool {
	return slices.ContainsFunc(c.Facts.Words, func(w fact.Word) bool {
		return w.Line < c.Failure.Line && w.Line >= c.Failure.Line-4 && slices.Contains(startWords, w.Text)
	})
}

// oldMalloc: the name of the allocator's function in old versions.
func oldMalloc(c *ledger.Case) bool { return c.Contains("malloc_or_wait") }

func writesText(c *ledger.Case) bool { return c.Reader.Work == "text-inference" }

// quantizedWeights: the server's own trace shows packed weights.
func quantizedWeights(c *ledger.Case) bool { return c.Near("first weight = uint32") }

func metalFigures(c *ledger.Case) map[string]string {
	switch {
	case quantizedWeights(c):
		return map[string]string{"when": "The weights were loaded and are already quantized (uint32). So this input needs too much, or other models are in memory."}
	case writesText(c):
		return map[string]string{"when": "If a short prompt runs, the prompt was too long. If not, the model is too large."}
	}
	return map[string]string{"when": ""}
}

func requested(c *ledger.Case) bool { return c.F().Requested != nil }

func sizedRequest(c *ledger.Case) bool { return c.F().Requested != nil && c.F().Limit != nil }

// refusedPrompt: the guard's message has all its figures.
func refusedPrompt(c *ledger.Case) bool {
	f := c.F()
	return f.Requested != nil && f.ProcessUsed != nil && f.Limit != nil && f.ProcessUsed.Bytes < f.Limit.Bytes && f.ProcessUsed.Bytes+f.Requested.Bytes > f.Limit.Bytes
}

// nearlyFull: little more than weights and old caches fits.
func nearlyFull(c *ledger.Case) bool {
	f := c.F()
	return f.ProcessUsed.Bytes > f.Limit.Bytes-f.Limit.Bytes/20
}

// prefillFigures are what the ceiling leaves for a prompt, and by how much it
// must be shorter if its need grows with its length (scores grow faster).
func prefillFigures(c *ledger.Case) map[string]string {
	f := c.F()
	room := f.Limit.Bytes - f.ProcessUsed.Bytes
	share := (f.Requested.Bytes-room)*20/f.Requested.Bytes + 1 // in twentieths, up
	return map[string]string{
		"used": units.Amount(f.ProcessUsed.Bytes), "room": units.Amount(room), "lacks": units.Amount(f.Requested.Bytes - room),
		"share": strconv.FormatInt(min(share*5, 95), 10) + " %",
	}
}

// ownScript: a script of the reader's own is in the traceback, and none of the
// packages that run language models.
func ownScript(c *ledger.Case) bool {
	own := slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool { return x.Own })
	return own && !slices.ContainsFunc(c.Facts.Code, func(x fact.Code) bool {
		return strings.Contains(x.File, "mlx_") || strings.Contains(x.File, "mlx-lm") || strings.Contains(x.File, "omlx")
	})
}
