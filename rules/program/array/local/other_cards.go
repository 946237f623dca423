package local

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
)

// WasmWords are files of ONNX Runtime for browsers.
var WasmWords = []string{"ort-wasm", "ort.min.js", "ort-web", "onnxruntime-web", "ort.wasm"}

// BufferCard is about JavaScript, in a browser or in Node.js.
var BufferCard = cause.Card{
	ID: "other/array-buffer", Kinds: []fact.Kind{fact.PlainMemory, fact.PlainHost, fact.NativeAlloc, fact.BadAlloc}, Said: append([]string{"Array buffer allocation failed", "WebAssembly.Memory(): could not allocate", "Cannot enlarge memory arrays"}, WasmWords...),
	Headline: "was refused one array in JavaScript",
	Means:    "The JavaScript engine could not give one array (ArrayBuffer), or WebAssembly's memory: a file that is read whole, as a rule a model. Such an array ends at 2 GB in older engines, WebAssembly at 4 GB (32-bit addresses), a tab often at less, whatever RAM the computer has. The message does not say how much was wanted.",
	Not:      "`--max-old-space-size`: arrays lie outside that heap. More RAM, if the file is above 2 GB.",
	Cures: []cause.Cure{
		{Fix: "use_smaller_model", Title: "A smaller or quantised model", Told: "Below 1 GB it loads nearly anywhere. transformers.js: `dtype: \"q8\"` or `\"q4\"` in place of fp32 is a quarter or an eighth.", Cost: "some quality"},
		{Fix: "restart_session", Title: "Close the tab and the browser, then try again", Told: "An array needs one free stretch of addresses; other models in the same tab, and a 32-bit browser, leave none. On phones a tab has far less.", Cost: "free"},
		{Fix: "stream_dataset", Title: "Your own code: in parts", Told: "Read the file as a stream, or in several files (ONNX: external data), in place of one array; let go what was copied.", Cost: "some rewriting"},
	},
	Sources: []string{"https://developer.mozilla.org/en-US/docs/Web/JavaScript/Reference/Errors/Invalid_array_length", "https://developer.mozilla.org/en-US/docs/WebAssembly/Reference/JavaScript_interface/Memory/Memory", "https://huggingface.co/docs/transformers.js/guides/dtypes"},
}

// FluidCard is about PaddlePaddle's pool, which its first versions took whole.
var FluidCard = cause.Card{
	ID: "other/fluid-pool", Kinds: []fact.Kind{fact.DeviceAlloc}, Said: []string{"enforce allocating <= available failed"},
	Cause: cause.LeakedProcess, Weight: cause.Strong,
	Headline: "could not take its pool at the start: {free} of the card was free, {asked} wanted",
	Means:    "PaddlePaddle of that time takes its share of the card in one piece before anything runs: 0.92 of it unless told otherwise, so {asked} is the pool, not what your network needs. Only {free} was free: something else holds the rest, as a rule an earlier run or another user.",
	Not:      "A smaller batch or network: it failed before there was either.",
	Cures: []cause.Cure{
		{Fix: "kill_stale_process", Title: "See who holds the card, and end it", Kind: "shell", Text: "nvidia-smi", Cost: "a look is free"},
		{Fix: "limit_framework_preallocation", Title: "The other has to stay: a smaller share", Told: "A part of the whole card, below what is free; before the start:", Kind: "env", Text: "export FLAGS_fraction_of_gpu_memory_to_use=0.1", Cost: "room for small networks only"},
		{Fix: "select_gpu", Title: "Or another card", Kind: "env", Text: "export CUDA_VISIBLE_DEVICES=1", Cost: "needs a free card"},
	},
	Sources: []string{"paddle/fluid/platform/gpu_info.cc", "https://www.paddlepaddle.org.cn/documentation/docs/en/guides/flags/memory_en.html"},
}
