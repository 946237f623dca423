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
	Headline: "could not get memory for one array in JavaScript",
	Means:    "The JavaScript engine refused one array (ArrayBuffer) or WebAssembly memory, often for a model file that is read whole. An array is limited to 2 GB in older engines, WebAssembly usually to 4 GB, and a browser tab often to less, whatever RAM the computer has.",
	Not:      "`--max-old-space-size`: such arrays lie outside that heap.",
	Cures: []cause.Cure{
		{Fix: "use_smaller_model", Title: "Use a smaller or quantized model", Told: "transformers.js: `dtype: \"q8\"` is a quarter of fp32, `\"q4\"` an eighth.", Cost: "some quality"},
		{Fix: "restart_session", Title: "Restart the browser", Told: "Close other tabs and models first. A 32-bit browser has less room, and phones allow far less per tab.", Cost: "free"},
		{Fix: "stream_dataset", Title: "In your own code: read in parts", Told: "Read the file as a stream, or split it into several files (ONNX: external data).", Cost: "some rewriting"},
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
	Cause: cause.RetainedMemory, Weight: cause.Strong, Headline: "used up its GPU memory after many steps: {asked} more was wanted, {free} free",
	Means: "Early PaddlePaddle takes GPU memory in chunks, by default 92 % of the card. {asked} is the next chunk, not what one batch needs: many steps ran before the first was full. Either one batch was larger than all before (longer sequences), or something is kept from step to step.",
	Cures: []cause.Cure{
		{Fix: "lower_batch_size", Title: "Lower the batch size and the longest sequence", Told: "Limit the tokens per batch, not only its samples, and leave out the longest samples.", Cost: "slower"},
		{Fix: "limit_framework_preallocation", Title: "Take smaller chunks", Told: "Then the {free} that is left can be used too. Before the start:", Kind: "env", Text: "export FLAGS_fraction_of_gpu_memory_to_use=0.1", Cost: "none worth mentioning"},
		{Fix: "upgrade_version", Title: "If `nvidia-smi` climbs step by step: update PaddlePaddle", Told: "Later versions grow their pool as needed and free tensors earlier.", Cost: "changes in the script"},
	},
	Sources: []string{"paddle/fluid/platform/gpu_info.cc", "https://www.paddlepaddle.org.cn/documentation/docs/en/guides/flags/memory_en.html"},
}

// FluidCard is about PaddlePaddle's pool, which its first versions took whole.
var FluidCard = cause.Card{
	ID: "other/fluid-pool", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"enforce allocating <= available failed"}, If: when.Not(stepped),
	Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "could not reserve its share of the card: {asked} wanted, {free} free",
	Means: "Early PaddlePaddle takes 92 % of the card in one request at its start. So {asked} is that share, not what your network needs. Something else holds the rest, usually an earlier run or another user.",
	Not:   "A smaller batch or network: the pool does not depend on it.",
	Cures: []cause.Cure{
		{Fix: "kill_stale_process", Title: "End other processes on the card", Told: "End leftover runs of yours by PID; otherwise wait or use another card.", Kind: "shell", Text: "nvidia-smi", Cost: "a look is free"},
		{Fix: "limit_framework_preallocation", Title: "Lower the share of the card", Told: "Set a fraction of the whole card, below what is free. Before the start:", Kind: "env", Text: "export FLAGS_fraction_of_gpu_memory_to_use=0.1", Cost: "room for small networks only"},
		{Fix: "select_gpu", Title: "Use another card", Kind: "env", Text: "export CUDA_VISIBLE_DEVICES=1", Cost: "needs a free card"},
	},
	Sources: []string{"paddle/fluid/platform/gpu_info.cc", "https://www.paddlepaddle.org.cn/documentation/docs/en/guides/flags/memory_en.html"},
}
