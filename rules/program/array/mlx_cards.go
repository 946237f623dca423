package array

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
)

const mlxMetal = "mlx/mlx/backend/metal/allocator.cpp"

var mlxCards = []cause.Card{
	{
		ID: "mlx/one-buffer", Kinds: []fact.Kind{fact.MLXBuffer}, If: sizedRequest,
		Cause: cause.OversizedAllocation, Weight: 0.82,
		Means: "One array of {asked} was wanted, and Metal gives at most {limit} in one piece on this Mac. How much memory is free plays no part. As a rule it is attention over a long prompt, or logits of a whole long sequence.",
		Not:   "Closing programs or raising the wired limit: the bound is for a single buffer.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Shorten the prompt, or prefill in steps", Kind: "shell", Text: "mlx_lm.generate --prompt - --max-kv-size 4096 < prompt.txt   # add the --model that you use today", Cost: "Older text is dropped from the cache"},
			{Fix: "lower_batch_size", Title: "Halve the batch", Kind: "text", Text: "In training: `--batch-size 1` of `mlx_lm.lora`, and shorter samples with `--max-seq-length`.", Cost: "Slower per sample"},
		},
		Sources: []string{mlxMetal, "mlx-lm/mlx_lm/generate.py", "mlx-lm/mlx_lm/lora.py"},
	},
	{
		ID: "mlx/resource-limit", Kinds: []fact.Kind{fact.MLXAlloc}, Said: []string{"Resource limit"},
		Cause: cause.RetainedMemory, Weight: 0.7,
		Means: "The limit is a count of buffers, not of bytes; much memory may be free. In your own code: a loop that never evaluates keeps every step's graph. In a server: buffers kept in MLX's cache count too, and long runs reach it.",
		Not:   "A smaller quantisation or more RAM: it is the number of arrays that counts.",
		Cures: []cause.Cure{
			{Fix: "empty_cache", Title: "Keep fewer buffers in the cache", Kind: "python", Text: "mx.set_cache_limit(8 * 1024**3)   # bytes; once, at the start\nmx.clear_cache()   # after each request or epoch", Cost: "A little speed"},
			{Fix: "detach_accumulated", Title: "Your own loop: evaluate in each step", Kind: "python", Text: "mx.eval(model.parameters(), optimizer.state)   # at the end of each step\nlosses.append(loss.item())   # the number, not the array", Cost: "None"},
			{Fix: "upgrade_version", Title: "A server: update, else restart it", Kind: "shell", Text: "pip install --upgrade mlx mlx-lm", Cost: "A few minutes; reports of it go on in 2026"},
		},
		Sources: []string{mlxMetal, "https://github.com/ml-explore/mlx/pull/1718", "https://github.com/ml-explore/mlx-lm/issues/1672", "https://github.com/cubist38/mlx-openai-server/issues/188"},
	},
	{
		ID: "mlx/working-set", Kinds: []fact.Kind{fact.MetalMemory}, Said: []string{"kIOGPUCommandBufferCallbackErrorOutOfMemory", "Insufficient Memory"},
		Cause: cause.ModelTooLarge, Weight: 0.55,
		Means: "Metal refused the work: weights, cache and activations together passed what macOS lends the GPU, about two thirds to three quarters of RAM. If it starts and dies at a long prompt, the context is it; if at the first token, the model.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "It dies at long prompts: bound the cache", Kind: "shell", Text: "mlx_lm.generate --prompt - --max-kv-size 4096 < prompt.txt   # add the --model that you use today", Cost: "Older text is dropped from the cache"},
			{Fix: "use_lower_quant", Title: "It dies at once: a 4-bit model", Kind: "text", Text: "Take the 4-bit conversion of the same model (names end in `-4bit`): about 0.6 GB per billion parameters.", Cost: "Little quality; another download"},
			{Fix: "close_other_apps", Title: "Quit what holds memory", Kind: "text", Text: "Activity Monitor, Memory: quit browsers and other models. GPU and programs share the same RAM.", Cost: "Free"},
		},
		Sources: []string{"mlx/mlx/backend/metal/device.cpp", "mlx-lm/README.md"},
	},
}

func sizedRequest(c *ledger.Case) bool { return c.F().Requested != nil && c.F().Limit != nil }
