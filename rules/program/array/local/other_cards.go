package local

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

// WasmWords are files of ONNX Runtime for browsers.
var WasmWords = []string{"ort-wasm", "ort.min.js", "ort-web", "onnxruntime-web", "ort.wasm"}

// BufferCard is about JavaScript, in a browser or in Node.js.
var BufferCard = cause.Card{
	ID: "other/array-buffer", Kinds: []fact.Kind{fact.PlainMemory, fact.PlainHost, fact.NativeAlloc, fact.BadAlloc}, Said: append([]string{"Array buffer allocation failed", "WebAssembly.Memory(): could not allocate", "Cannot enlarge memory arrays"}, WasmWords...),
	Headline: "was refused memory for one array in JavaScript",
	Means:    "The JavaScript engine could not give one array (ArrayBuffer), or memory for WebAssembly. Usually it is a file that is read as a whole, often a model. An array ends at 2 GB in older engines, WebAssembly usually at 4 GB, a browser tab often at less, whatever RAM the computer has. The message does not say how much was wanted.",
	Not:      "`--max-old-space-size`: such arrays lie outside that heap.",
	Cures: []cause.Cure{
		{Fix: "use_smaller_model", Title: "Use a smaller or quantised model", Told: "transformers.js: `dtype: \"q8\"` or `\"q4\"` instead of fp32 is a quarter or an eighth.", Cost: "some quality"},
		{Fix: "restart_session", Title: "Restart the browser", Told: "An array needs one free stretch of addresses. Other models in the same tab, and a 32-bit browser, leave less; phones allow far less per tab.", Cost: "free"},
		{Fix: "stream_dataset", Title: "In your own code: read in parts", Told: "Read the file as a stream, or in several files (ONNX: external data), instead of one array.", Cost: "some rewriting"},
	},
	Sources: []string{"https://developer.mozilla.org/en-US/docs/Web/JavaScript/Reference/Errors/Invalid_array_length", "https://developer.mozilla.org/en-US/docs/WebAssembly/Reference/JavaScript_interface/Memory/Memory", "https://huggingface.co/docs/transformers.js/guides/dtypes"},
}

// stepped: many steps had gone well before.
func stepped(c *ledger.Case) bool {
	s := c.Signal("many_steps")
	return s != nil && s.Line < c.Failure.Line
}

// FluidAgain is its pool when it was used up.
var FluidAgain = cause.Card{
	ID: "other/fluid-again", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"enforce allocating <= available failed"}, If: stepped,
	Cause: cause.RetainedMemory, Weight: cause.Strong, Headline: "used up its pool after many steps: {asked} more was wanted, {free} free",
	Means: "Early PaddlePaddle takes memory of the card in chunks, 0.92 of it by default. {asked} is the next chunk, not what one batch needs: the first one was full after many good steps. Either one batch was larger than all before (longer sequences), or something is kept from step to step.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Lower the batch size and the longest sequence", Told: "Bound the tokens of a batch, not only its samples; leave out the longest samples.", Cost: "slower"},
		{Fix: "limit_framework_preallocation", Title: "Take smaller chunks", Told: "Then the {free} that is left can be used, too; before the start:", Kind: "env", Text: "export FLAGS_fraction_of_gpu_memory_to_use=0.1", Cost: "none worth mentioning"},
		{Fix: "upgrade_version", Title: "If `nvidia-smi` climbs step by step: update PaddlePaddle", Told: "Later versions grow their pool as needed and free tensors earlier.", Cost: "changes in the script"},
	},
	Sources: []string{"paddle/fluid/platform/gpu_info.cc", "https://www.paddlepaddle.org.cn/documentation/docs/en/guides/flags/memory_en.html"},
}

// FluidCard is about PaddlePaddle's pool, which its first versions took whole.
var FluidCard = cause.Card{
	ID: "other/fluid-pool", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"enforce allocating <= available failed"}, If: when.Not(stepped),
	Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "could not take its pool: {free} of the card was free, {asked} wanted",
	Means: "Early PaddlePaddle takes its share of the card in one request at the start, 0.92 of it by default. So {asked} is the pool, not what your network needs. Only {free} was free: something else holds the rest, usually an earlier run or another user.",
	Not:   "A smaller batch or network: the pool does not depend on it.",
	Cures: []cause.Cure{
		{Fix: "kill_stale_process", Title: "End other processes on the card", Kind: "shell", Text: "nvidia-smi", Cost: "a look is free"},
		{Fix: "limit_framework_preallocation", Title: "Lower the share of the card", Told: "As a part of the whole card, below what is free; before the start:", Kind: "env", Text: "export FLAGS_fraction_of_gpu_memory_to_use=0.1", Cost: "room for small networks only"},
		{Fix: "select_gpu", Title: "Use another card", Kind: "env", Text: "export CUDA_VISIBLE_DEVICES=1", Cost: "needs a free card"},
	},
	Sources: []string{"paddle/fluid/platform/gpu_info.cc", "https://www.paddlepaddle.org.cn/documentation/docs/en/guides/flags/memory_en.html"},
}
