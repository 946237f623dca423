package array

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/fix"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/array/calls"
	"github.com/oomdoc/oomdoc/rules/when"
)

const ortCUDA = "https://onnxruntime.ai/docs/execution-providers/CUDA-ExecutionProvider.html"

var (
	inSession = when.In("load")
	// grabbed cures an arena that takes twice what is needed.
	grabbed = cause.Cure{Fix: "limit_framework_preallocation", Title: "Set `kSameAsRequested` for the arena", Told: "By default the arena grows in powers of two, so up to half may be unused.", Kind: "python", Text: "providers = [(\"CUDAExecutionProvider\", {\"arena_extend_strategy\": \"kSameAsRequested\"})]", Cost: "none worth mentioning"}
	// served: behind a server, whose settings are files.
	served = func(c *ledger.Case) bool { return c.Says("triton-server") }
)

// onnxRestCards hold where none above does.
var onnxRestCards = []cause.Card{
	{
		ID: "onnxruntime/directml", Kinds: []fact.Kind{fact.ORTDevice}, Unsaid: []string{"CUDA failure 2", "CUBLAS failure 3", "CUDNN failure"},
		Headline: "was refused memory by DirectML[[ while it {doing}]]",
		Means:    "8007000E is the Windows code for \"out of memory\"; DirectML is the Windows interface to GPUs of any maker. {stage} Either GPU memory is full, or RAM and page file together are (\"Committed\"). The message does not say which.",
		Figures:  directFigures,
		Cures: []cause.Cure{
			{Fix: "lower_resolution", If: when.In("inference"), Title: "Do less at a time", Ways: directWays, Cost: "detail"},
			{Fix: "close_other_apps", Title: "Check which memory is full", Told: "Open Task Manager, Performance, while it runs. Look at GPU, \"Dedicated GPU memory\" and Memory, \"Committed\". Close what uses it: browsers, games, another AI model.", Cost: "free"},
			{Fix: "half_precision", Title: "If GPU memory is full: use a 16-bit or lighter model", Told: "16 bit (fp16) halves weights and activations, and many models are published as fp16 ONNX. In an app, choose a lighter model from its list.", Cost: "hardly any loss"},
			{Fix: "lower_resolution", If: when.Not(when.Any(when.In("inference"), inSession)), Title: "Lower the image size or batch", Ways: directWays, Cost: "detail"},
			{Fix: "raise_pagefile", Title: "If \"Committed\" is at its limit: enlarge the page file", Told: "Run `sysdm.cpl`: Advanced, Performance Settings, Advanced, Virtual memory, Change. Choose \"System managed size\" on a drive with free space, and restart.", Cost: "disk space and a restart"},
		},
		Sources: []string{"onnxruntime/core/providers/dml/DmlExecutionProvider/src/BucketizedBufferAllocator.cpp", "https://learn.microsoft.com/en-us/windows/win32/seccrypto/common-hresult-values", "https://onnxruntime.ai/docs/execution-providers/DirectML-ExecutionProvider.html"},
	},
	{
		ID: "onnxruntime/session", Kinds: arenas, If: when.All(inSession, when.Not(calls.AtLeast(cause.Absurd))),
		Headline: "ran out of memory while loading a model",
		Means:    "It failed before the first run: the request[[ ({asked})]] is probably for this model's weights, on top of what was in memory. The message does not say whether RAM or GPU memory is full. Each session, and each instance on a server, holds its own weights and memory pool (arena).[[ {built}]]", Figures: builtElsewhere,
		Not: "A smaller batch or input: the failure comes before the first run.",
		Cures: []cause.Cure{
			restartApp,
			{Fix: "kill_stale_process", If: when.Any(codesONNX, served), Title: "Check what else is loaded", Told: "If memory is full before the start, other models or programs hold it. Load fewer models at a time, or end those programs.", Kind: "shell", Text: "nvidia-smi\nfree -h", Cost: "free"},
			{Fix: "use_smaller_model", If: when.Not(codesONNX), Title: "Choose a lighter model, or another device", Told: "In an app: choose a lighter or 16-bit (fp16) model, load fewer models at once, or select the CPU or another GPU.", Cost: "some quality, or slower"},
			{Fix: "half_precision", If: codesONNX, Title: "Use the model in 16 or 8 bit", Told: "A 16-bit export halves the weights. For the CPU, `onnxruntime.quantization.quantize_dynamic` makes them 8 bit, a quarter of 32 bit.", Cost: "a conversion; 8 bit may cost accuracy"},
			fewerThreads,
			onlyCode(grabbed),
			{Fix: "cpu_offload", If: codesONNX, Title: "Run it on the CPU", Told: "`providers=[\"CPUExecutionProvider\"]`, if the GPU was full.", Cost: "slower"},
		},
		Sources: []string{"onnxruntime/core/framework/bfc_arena.cc", ortCUDA},
	},
	{
		ID: "onnxruntime/bad-alloc", Kinds: []fact.Kind{fact.BadAlloc}, Said: []string{"ONNXRuntimeError"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of RAM (std::bad_alloc)",
		Means: "The system refused RAM; the message does not say how much. \"During initialization\" means the model: its weights, and the copies that graph optimization and prepacking make. In a run it is usually the input. An incomplete model file can ask for an absurd size: compare its size with the original's.",
		Not:   "Graphics card settings: this is RAM.",
		Cures: []cause.Cure{
			onlyCode(noCopies), restartApp, moreRAM,
			calls.PageFile,
			{Fix: calls.LookWhy.Fix, If: when.All(calls.OnLinux, when.Not(onColab)), Title: calls.LookWhy.Title, Kind: calls.LookWhy.Kind, Text: calls.LookWhy.Text, Ways: calls.LookWhy.Ways, Cost: calls.LookWhy.Cost},
			fewerThreads,
			{Fix: "use_lower_quant", Title: "Use a smaller or 8-bit model", If: codesONNX, Cost: "some quality", Told: "On a machine with more RAM, run `onnxruntime.quantization.quantize_dynamic(path, small_path)`: a quarter of 32 bit. If it fails in a run, use one sample or a smaller input."},
		},
		Sources: []string{"onnxruntime/include/onnxruntime/core/session/onnxruntime_session_options_config_keys.h", "https://onnxruntime.ai/docs/performance/model-optimizations/quantization.html"},
	},
	{
		ID: "onnxruntime/ram", Kinds: arenas, If: when.All(onCPU, when.Not(calls.AtLeast(cause.Unusual))),
		Headline: "could not get[[ {asked} of]] RAM for one layer (node)",
		Means:    "The node ran on the CPU, so this is RAM. Its result or workspace[[ ({asked})]] depends on the size of the input. Each session keeps a memory pool (arena) that grows to its largest run and does not shrink.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Use a smaller input", Told: "Scale images down first: half the width and height is a quarter of the buffer. Process long texts and audio in parts.", Cost: "detail"},
			{Fix: "lower_batch_size", Title: "Run one sample at a time", Kind: "python", Text: "y = [session.run(None, {name: x[i:i + 1]})[0] for i in range(len(x))]   # name, x: as in your call", If: func(c *ledger.Case) bool { return c.Reader.Writes("python") && c.Reader.Edits == "code" }, Cost: "more calls"},
			calls.PageFile, calls.LookWhy,
			{Fix: "lower_num_workers", Title: "Share one session and turn off the arena", Kind: "python", If: func(c *ledger.Case) bool { return c.Reader.Writes("python") }, Text: "options = onnxruntime.SessionOptions()\noptions.enable_cpu_mem_arena = False   # RAM goes back after each run\nsession = onnxruntime.InferenceSession(path, options)", Cost: "some speed"},
			calls.SwapBridge,
		},
		Sources: []string{"onnxruntime/core/framework/bfc_arena.cc", "https://onnxruntime.ai/docs/get-started/with-c.html"},
	},
	{
		ID: "onnxruntime/run", Kinds: []fact.Kind{fact.ORTAlloc}, If: when.Not(calls.AtLeast(cause.Unusual)),
		Headline: "had no memory for one layer (node)",
		Means:    "One layer wanted memory for its result or workspace[[ ({asked})]]. Its size depends on the input. The message says neither how much was free, nor whether RAM or GPU memory was full.",
		Cures: []cause.Cure{
			calls.ShorterInput, calls.SmallerInput,
			{Fix: "lower_batch_size", Title: "Run one sample at a time", Told: "Set the batch (the first side of the input) to 1.", Cost: "more calls"},
			{Fix: "close_other_apps", Title: "If the smallest input fails too: check which memory is full", Ways: []cause.Way{
				{For: "Windows", Text: "Task Manager, Performance: \"Committed\" under Memory, \"Dedicated GPU memory\" under GPU"},
				{For: "Linux", Text: "`free -h; nvidia-smi`"},
			}, Cost: "free"},
		},
		Sources: []string{"onnxruntime/core/framework/bfc_arena.cc", ortCUDA},
	},
}

var directWays = []cause.Way{
	{For: fix.Pictures, Text: "one image or stream at a time (in an app, set threads or streams to 1), in tiles if offered. Half the width and height is a quarter of the activations."},
	{For: "Other input", Text: "shorter inputs, one sample per run."},
}

// directFigures say what DirectML was doing.
func directFigures(c *ledger.Case) map[string]string {
	switch c.Phase {
	case "load":
		return map[string]string{"doing": "loaded a model", "stage": "It failed while loading a model's weights, on top of what was loaded before."}
	case "inference":
		return map[string]string{"doing": "ran the model", "stage": "It failed while running the model, when this input's activations come on top of the weights."}
	}
	return map[string]string{"doing": "", "stage": "If it fails at the first run, suspect the model; if later, a large input."}
}

// ocrCards are about models that read text in pictures, servers, and programs that
// go on without the card.
var ocrCards = []cause.Card{
	{
		ID: "onnxruntime/fallback-killed", Kinds: []fact.Kind{fact.ORTAlloc}, Said: []string{"(signal 9)", "waitpid returned 9", "signal 9 (SIGKILL)", "exitcode: -9", "exit code -9"}, Unsaid: []string{"tritonserver"}, If: when.Not(calls.AtLeast(cause.Unusual)),
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "could not get {asked} for one layer; then a worker was killed (signal 9)",
		Means: "Two things happened. First a layer wanted {asked} and was refused; its input decides the size. Then signal 9 ended a process: usually the system or a container limit, because RAM was full. A program that falls back to the CPU needs that much RAM for its second try.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Give the worker more RAM", Told: "Docker Compose: raise or remove `mem_limit` for that service. Docker Desktop and WSL: raise the memory in their settings. `sudo dmesg | grep -i oom` shows which process was killed, and whether a container limit did it.", Cost: "less for others"},
			{Fix: "lower_num_workers", Title: "Run one worker at a time", Told: "Each worker holds its own models. Use the program's setting for workers or concurrency.", Cost: "slower"},
			{Fix: "lower_context", Title: "Use a smaller or shorter input", Told: "Split the file that was being processed: long audio or video in parts, large images scaled down.", Cost: "several runs"},
			calls.SwapBridge,
		},
		Sources: []string{"onnxruntime/core/framework/bfc_arena.cc", "https://docs.docker.com/engine/containers/resource_constraints/"},
	},
	{
		ID: "triton-server/onnx-node", Kinds: []fact.Kind{fact.ORTAlloc}, If: func(c *ledger.Case) bool { return served(c) && onCardWork(c) && !inSession(c) },
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "had no memory for {asked} in one layer of an ONNX model",
		Means: "The size and batch of the request decide how much one layer needs. Every model and instance on the server holds its weights and a memory pool (arena) as large as its largest request needed. So a model added last can fail. The message does not say whether RAM or GPU memory was full.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Send smaller batches or inputs", Told: "Send half the batch from the client, or lower `max_batch_size` in the model's `config.pbtxt`. For images, halve width and height.", Cost: "more requests"},
			{Fix: "lower_num_workers", Title: "Use one instance per model, load fewer models", Told: "To move a model to another card, add `gpus: [ 1 ]` after `KIND_GPU`. In each model's `config.pbtxt`:", Kind: "config", Text: "instance_group [ { count: 1 kind: KIND_GPU } ]", Cost: "less in parallel"},
			{Fix: "limit_framework_preallocation", Title: "Set `arena_extend_strategy` to 1", Told: "In the `config.pbtxt` of the ONNX models. By default the arena grows in powers of two, so up to half may be unused:", Kind: "config", Text: "parameters { key: \"arena_extend_strategy\" value: { string_value: \"1\" } }", Cost: "none worth mentioning"},
		},
		Sources: []string{"https://github.com/triton-inference-server/onnxruntime_backend", "onnxruntime/core/framework/bfc_arena.cc"},
	},
	{
		ID: "triton-server/onnx-load", Kinds: arenas, If: func(c *ledger.Case) bool { return served(c) && inSession(c) && !calls.AtLeast(cause.Absurd)(c) },
		Headline: "ran out of memory while loading an ONNX model",
		Means:    "It failed before the first request: the memory[[ ({asked})]] is probably for this model's weights, on top of what was loaded. Every instance holds the weights again. The message does not say whether RAM or GPU memory was full.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "Check what else is on the card", Told: "Look for other models of this server and other programs. `--cuda-memory-pool-byte-size` at its start reserves a pool too:", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			{Fix: "half_precision", Title: "Export the model in 16 bit", Told: "`onnxconverter_common.float16.convert_float_to_float16(model)`, or export fp16 where it was trained. It halves 32-bit weights (4 GB per billion parameters).", Cost: "hardly any loss"},
			{Fix: "lower_num_workers", Title: "Use one instance, load fewer models", Told: "In `config.pbtxt` (`KIND_CPU` without a GPU):", Kind: "config", Text: "instance_group [ { count: 1 kind: KIND_GPU } ]", Cost: "less in parallel"},
		},
		Sources: []string{"https://github.com/triton-inference-server/onnxruntime_backend", "onnxruntime/core/framework/bfc_arena.cc"},
	},
	{
		ID: "onnxruntime/ocr", Kinds: []fact.Kind{fact.ORTAlloc}, Said: []string{"Name:'p2o.", "Name:'p2o", "RapidOCR", "rapidocr", "PaddleOCR"}, If: when.Not(calls.AtLeast(cause.Absurd)),
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "had no memory[[ for {asked}]] in one layer of an OCR model",
		Means: "This looks like a PaddleOCR model, as RapidOCR and others run them. The text detector gets the whole image, so its need grows with width x height. The message does not say whether RAM or GPU memory was full; without a CUDA build it is RAM. The memory pool keeps what its largest image needed.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Limit the image side (`max_side_len`)", Told: "RapidOCR: set `max_side_len` (C#, Java, C++: `maxSideLen`) to 1024. PaddleOCR: `det_limit_side_len=960, det_limit_type=\"max\"`. Or scale images down first and cut long scans into parts.", Cost: "Small print may be missed"},
			{Fix: "restart_session", Title: "Use one engine, one image at a time", Told: "Create the engine once and reuse it, without parallel calls. Restart the process after some hundred images to free the pool.", Cost: "Loads again"},
			{Fix: "raise_memory_limit", Title: "Check for 32 bit and memory limits", Told: "A 32-bit application stops at about 2 GB. A container has its own limit.", Cost: "Free to look"},
		},
		Sources: []string{"https://rapidai.github.io/RapidOCRDocs/", "https://github.com/PaddlePaddle/Paddle2ONNX", "onnxruntime/core/framework/bfc_arena.cc"},
	},
}
