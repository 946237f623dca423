// Package mlc knows the refusals of MLC LLM, whose start checks a sum of its own.
package mlc

import (
	"fmt"
	"math"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

const (
	mlcConfig  = "https://github.com/mlc-ai/mlc-llm/blob/main/cpp/serve/config.cc"
	mlcEngine  = "https://github.com/mlc-ai/mlc-llm/blob/main/python/mlc_llm/serve/config.py"
	mlcServe   = "https://github.com/mlc-ai/mlc-llm/blob/main/python/mlc_llm/cli/serve.py"
	mlcPackage = "https://github.com/mlc-ai/mlc-llm/blob/main/docs/deploy/android.rst"
	// mlcUnset is gpu_memory_utilization where nobody sets it.
	mlcUnset = 0.85
)

// mlcNeeds are the parts of MLC's sum, the share of the card that it needs, and
// how large a model fits instead.
func mlcNeeds(c *ledger.Case) map[string]string {
	out := map[string]string{"need": "", "buffer": "", "need_share": "", "past": "", "past_is": ", hardly enough with a KV cache", "raised": "", "billions": "", "over": "", "twice": ""}
	f := c.F()
	if f.Limit == nil || f.Weights == nil || f.ComputeBuffer == nil || f.Limit.Bytes <= 0 {
		return out
	}
	need := f.Weights.Bytes + f.ComputeBuffer.Bytes
	out["weights"], out["limit"] = units.Amount(f.Weights.Bytes), units.Amount(f.Limit.Bytes)
	out["need"], out["buffer"] = units.Amount(need), units.Amount(f.ComputeBuffer.Bytes)
	out["billions"] = fmt.Sprintf("%d billion", max(1, f.Limit.Bytes/1_200_000_000)) // half of it for weights at 0.6 GB a billion
	out["twice"] = fmt.Sprintf("%d GB", 2*int64(math.Ceil(float64(need)/1e9)))
	if over := f.Weights.Bytes - f.Limit.Bytes; over > 0 {
		out["over"] = units.Amount(over)
	}
	if u := mlcUnset * float64(need) / float64(f.Limit.Bytes); u < 0.94 {
		out["need_share"] = fmt.Sprintf("%.2f", math.Ceil(100*u)/100)
		out["raised"] = fmt.Sprintf("%.2f", min(0.95, math.Ceil(100*u)/100+0.05))
	} else {
		all := int64(float64(f.Limit.Bytes) / mlcUnset)
		if out["past"] = units.Amount(all); all < need {
			out["past_is"] = ": too little even without a KV cache"
		}
	}
	return out
}

// mlcFits: a larger share of the card holds weights and buffers.
func mlcFits(c *ledger.Case) bool { return mlcNeeds(c)["need_share"] != "" }

// mlcHeavy: the weights alone exceed what may be used.
func mlcHeavy(c *ledger.Case) bool {
	f := c.F()
	return f.Weights != nil && f.Limit != nil && f.Weights.Bytes > f.Limit.Bytes
}

// mlcBuffers: the buffers are the larger part.
func mlcBuffers(c *ledger.Case) bool {
	return ledger.SizeOf(c.F().ComputeBuffer) > ledger.SizeOf(c.F().Weights)
}

// onPhone are words of an app on a phone, which has no command line and one GPU.
var onPhone = []string{"ai.mlc.mlcchat", "ai.mlc.mlcllm", "AndroidRuntime", "MLCSwift"}

var (
	mlcBits    = cause.Cure{Fix: "use_lower_quant", Title: "Or use fewer bits", If: when.Not(mlcBuffers), Told: "Use the same model from huggingface.co/mlc-ai with `q4f16_1` in its name, or `q3f16_1`, the smallest.", Cost: "lower quality"}
	mlcSmaller = cause.Cure{Fix: "use_smaller_model", Title: "Use a smaller model", Told: "With `q4f16_1` (0.6 GB per billion parameters) up to about {billions} fit, with room for KV cache and buffers. Look at huggingface.co/mlc-ai.", Cost: "lower quality"}
	// mlcApp builds the app anew: what it loads is fixed when it is packaged.
	mlcApp   = cause.Cure{Fix: "use_lower_quant", Title: "Or package it with fewer bits and smaller buffers", Told: "Put this beside the model in mlc-package-config.json, then run `mlc_llm package` and build the app again. A `q3f16_1` build, if there is one, is about a quarter smaller than `q4f16_1`.", Kind: "config", Text: "\"overrides\": {\"prefill_chunk_size\": 128, \"context_window_size\": 1024}", Cost: "some quality, shorter conversations"}
	mlcSplit = cause.Cure{Fix: "multi_gpu", Title: "Or split it over two GPUs", If: when.Not(mlcFits), Kind: "config", Text: `--overrides "tensor_parallel_shards=2"`, Cost: "needs a second GPU"}
	mlcRaise = cause.Cure{Fix: "raise_gpu_memory_utilization", Title: "Raise `gpu_memory_utilization` to {raised}", If: when.All(mlcFits, when.Not(mlcLarge)), Told: "In Python `MLCEngine(..., engine_config=EngineConfig(gpu_memory_utilization={raised}))` (`from mlc_llm.serve.config import EngineConfig`). To a command add:", Kind: "config", Text: `--overrides "gpu_memory_utilization={raised}"`, Cost: "less for the desktop and others"}
	mlcChunk = cause.Cure{Fix: "lower_max_batched_tokens", Title: "Lower `prefill_chunk_size`", Told: "The buffers shrink with it. In Python `EngineConfig(prefill_chunk_size=512)`. To a command add:", Kind: "config", Text: `--overrides "prefill_chunk_size=512"`, Cost: "slower long prompts"}
)

// mlcFirst is mlcRaise where a twentieth of the card is enough to be worth it; a
// small one has hardly that much beside the desktop.
var mlcFirst = func() cause.Cure {
	k := mlcRaise
	k.If = when.All(mlcFits, mlcLarge)
	return k
}()

// where is a cure for some of the cases in which a card holds.
func where(holds func(*ledger.Case) bool, k cause.Cure) cause.Cure {
	k.If = holds
	return k
}

func mlcLarge(c *ledger.Case) bool { return ledger.SizeOf(c.F().Limit) >= 10*units.GiB }

// deviceWords are in the message of a driver that refused a buffer.
var deviceWords = []string{"vulkan_buffer.cc", "vulkan_device.cc", "cuda_device_api.cc", "rocm_device_api.cc", "opencl_device_api.cc", "metal_device_api.mm", "VK_ERROR_OUT_OF_DEVICE_MEMORY", "CL_OUT_OF_RESOURCES"}

// mostShares are shares above the usual one, as a command or a call sets them.
var mostShares = func() (out []string) {
	for _, share := range []string{"0.9", "0.91", "0.92", "0.93", "0.94", "0.95", "0.96", "0.97", "0.98", "0.99"} {
		out = append(out, "gpu_memory_utilization="+share)
	}
	return out
}()

// mlcRaised are MLC's sum and the share that was set.
func mlcRaised(c *ledger.Case) map[string]string {
	out := mlcNeeds(c)
	for _, word := range mostShares { // the longest last
		if c.Near(word) {
			_, out["share"], _ = strings.Cut(word, "=")
		}
	}
	return out
}

// Cards are MLC LLM's.
var Cards = []cause.Card{{
	ID: "mlc-llm/device-short", Said: []string{"context_window_size=1024", "context_window_size=2048", "context_window_size=4096"}, If: func(c *ledger.Case) bool { return ledger.OnCard(c) && c.Near(deviceWords...) },
	Cause: cause.ModelTooLarge, Weight: cause.Strong,
	Headline: "ran out of GPU memory, although its context is short",
	Means:    "The GPU driver refused a buffer; it names no size. `context_window_size` is small already, so mostly the weights fill the GPU: at q4f16_1 3B takes 2 GB, 7B 4 to 5 GB, 13B 8 GB, with buffers for a prompt beside. If your computer has integrated graphics too, MLC LLM may use the wrong GPU.",
	Not:      "Reinstalling the driver, or PyTorch's allocator variables: MLC LLM does not use PyTorch.",
	Cures: []cause.Cure{
		{Fix: "select_gpu", Title: "Check the GPU, and what else uses it", Told: "`--device vulkan:1` (or `:0`) selects it; `vulkaninfo --summary` lists the numbers. Windows: Task Manager, Performance, GPU.", Cost: "free"},
		{Fix: "use_smaller_model", Title: "Use a smaller model", Told: "At `q4f16_1` a GPU with 4 GB holds a 3B model, 6 GB a 7B.", Cost: "lower quality"},
		{Fix: "use_lower_quant", Title: "Or use fewer bits", Told: "The same model with `q3f16_1` in its name, if huggingface.co/mlc-ai has one: about a quarter smaller than `q4f16_1`.", Cost: "lower quality"},
	},
	Sources: []string{"https://github.com/mlc-ai/mlc-llm/blob/main/python/mlc_llm/cli/chat.py", "https://github.com/apache/tvm/blob/main/src/runtime/vulkan/vulkan_buffer.cc", "https://huggingface.co/mlc-ai"},
}, {
	ID: "mlc-llm/device", Said: deviceWords, If: ledger.OnCard,
	Cause: cause.ModelTooLarge, Weight: cause.Strong,
	Headline: "ran out of GPU memory",
	Means:    "The GPU driver refused a buffer; it names no size. At q4f16_1 a 3B model needs 2 to 3 GB with KV cache, 7B 5 to 6 GB, 13B 9 to 10 GB. If your computer has integrated graphics too, MLC LLM may use the wrong GPU.",
	Not:      "Reinstalling the driver, or PyTorch's allocator variables: MLC LLM does not use PyTorch.",
	Cures: []cause.Cure{
		{Fix: "use_smaller_model", Title: "Use a model that fits in GPU memory", Told: "At `q4f16_1` a GPU with 2 GB holds a 1B model, 4 GB a 3B, 6 GB a 7B; `q3f16_1` is smaller. First close what else uses the GPU (Windows: Task Manager, Performance, GPU).", Cost: "lower quality"},
		{Fix: "select_gpu", Title: "Check that it uses the right GPU", Told: "`--device vulkan:1` (or `:0`) selects it; `vulkaninfo --summary` lists the numbers.", Cost: "free"},
		{Fix: "lower_context", Title: "Or lower the context length", Told: "In builds of 2023 it is fixed when the model is compiled: update those. Add to the command:", Kind: "config", Text: `--overrides "context_window_size=2048;prefill_chunk_size=512"`, Cost: "shorter conversations"},
	},
	Sources: []string{"https://github.com/mlc-ai/mlc-llm/blob/main/python/mlc_llm/cli/chat.py", "https://github.com/apache/tvm/blob/main/src/runtime/vulkan/vulkan_buffer.cc", "https://huggingface.co/mlc-ai"},
}, {
	ID: "mlc-llm/phone", Kinds: []fact.Kind{fact.MLCBudget}, Said: onPhone, Figures: mlcNeeds,
	Cause: cause.ModelTooLarge, Weight: cause.Strong,
	Headline: "did not start: the model needs {need}, and the app may use {limit} on this phone",
	Means:    "Weights ({weights}) and buffers for a prompt ({buffer}) need {need}. MLC may use {limit}, its share of the phone's memory (`gpu_memory_utilization`, 0.85 by default).[[ The weights alone are {over} too large.]][[ If the share is 0.85 now, all of it would be {past}{past_is}.]]",
	Not:      "The message's second GPU: a phone has only one.[[ A smaller prompt chunk alone: the weights would still be {over} too large.]]",
	Cures:    []cause.Cure{mlcSmaller, mlcApp, {Fix: "bigger_gpu", Title: "Or use a phone with more memory", Told: "It should have about {twice}, so that the system keeps half.", Cost: "another phone"}},
	Sources:  []string{mlcConfig, mlcPackage},
}, {
	ID: "mlc-llm/share-set", Kinds: []fact.Kind{fact.MLCBudget}, Said: mostShares, Unsaid: onPhone, Figures: mlcRaised,
	Cause: cause.ModelTooLarge, Weight: cause.Strong,
	Headline: "did not start: it needs {need}, and {share} of the GPU is {limit}",
	Means:    "Weights ({weights}) and buffers for a prompt ({buffer}) need {need}, before any KV cache. `gpu_memory_utilization` is {share} already, so the rest of the GPU would hardly help.[[ The weights alone are {over} too large.]]",
	Not:      "A shorter context alone: the KV cache is not part of this sum.",
	Cures: []cause.Cure{
		where(when.Not(mlcHeavy), mlcChunk), mlcSmaller,
		{Fix: "use_lower_quant", Title: "Or use fewer bits", If: when.Not(mlcBuffers), Told: "The same model with `q3f16_1` in its name, if huggingface.co/mlc-ai has one: about a quarter smaller than `q4f16_1`.", Cost: "lower quality"},
		{Fix: "multi_gpu", Title: "Or split it over two GPUs", Kind: "config", Text: `--overrides "tensor_parallel_shards=2"`, Cost: "needs a second GPU"},
	},
	Sources: []string{mlcConfig, mlcEngine, mlcServe},
}, {
	ID: "mlc-llm/weights", Kinds: []fact.Kind{fact.MLCBudget}, If: mlcHeavy, Figures: mlcNeeds,
	Cause: cause.ModelTooLarge, Weight: cause.Strong,
	Headline: "did not start: the weights ({weights}) are larger than the {limit} that it may use",
	Means:    "MLC may use {limit}, its share of GPU memory (`gpu_memory_utilization`, 0.85 by default). The weights alone are larger, and buffers for a prompt need {buffer} more: {need} in total.[[ If the share is 0.85 now, all of it would be {past}, and the KV cache comes on top.]]",
	Not:      "A smaller `prefill_chunk_size` or a shorter context alone: they do not shrink the weights.",
	Cures: []cause.Cure{
		mlcSmaller, mlcBits, mlcSplit, {Fix: "raise_gpu_memory_utilization", Title: "Or raise `gpu_memory_utilization` to {raised}", If: mlcFits, Kind: "config", Text: `--overrides "gpu_memory_utilization={raised}"`, Cost: "less for the desktop and others"},
	},
	Sources: []string{mlcConfig, mlcEngine, mlcServe, mlcPackage},
}, {
	ID: "mlc-llm/budget", Kinds: []fact.Kind{fact.MLCBudget}, Figures: mlcNeeds,
	Headline: "did not start: it needs {need} and may use {limit}",
	Means:    "Weights ({weights}) and buffers for a prompt ({buffer}) need {need}. MLC may use {limit}, its share of GPU memory (`gpu_memory_utilization`, 0.85 by default).[[ If it is 0.85 now, {need_share} is enough for that; the KV cache needs more.]][[ If it is 0.85 now, even all of it ({past}) is too little for that and a KV cache.]]",
	Not:      "A shorter context alone: the KV cache is not part of this sum.",
	Cures:    []cause.Cure{mlcFirst, mlcChunk, mlcBits, mlcRaise, mlcSplit},
	Sources:  []string{mlcConfig, mlcEngine, mlcServe, mlcPackage},
}}
