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
	grabbed = cause.Cure{Fix: "limit_framework_preallocation", Title: "Set `kSameAsRequested` for the arena", Told: "By default it grows in powers of two, so up to half may be unused.", Kind: "python", Text: "providers = [(\"CUDAExecutionProvider\", {\"arena_extend_strategy\": \"kSameAsRequested\"})]", Cost: "none worth mentioning"}
	// served: behind a server, whose settings are files.
	served = func(c *ledger.Case) bool { return c.Says("triton-server") }
)

// onnxRestCards hold where none above does.
var onnxRestCards = []cause.Card{
	{
		ID: "onnxruntime/directml", Kinds: []fact.Kind{fact.ORTDevice}, Unsaid: []string{"CUDA failure 2", "CUBLAS failure 3", "CUDNN failure"},
		Headline: "was refused memory by DirectML[[ while it {doing}]]",
		Means:    "DirectML is the Windows interface to cards of any maker; 8007000E is the Windows code for \"out of memory\". It says neither how much nor which memory. {stage} Either the card's memory is full, or what Windows may promise of RAM and page file together (\"Committed\").",
		Figures:  directFigures,
		Cures: []cause.Cure{
			{Fix: "lower_resolution", If: when.In("inference"), Title: "Do less at a time", Ways: directWays, Cost: "detail"},
			{Fix: "close_other_apps", Title: "Check which memory is full", Told: "Task Manager, Performance, while it runs: GPU, \"Dedicated GPU memory\"; Memory, \"Committed\". Close what uses it: browsers, games, another model.", Cost: "free"},
			{Fix: "half_precision", Title: "If the card is full: a 16-bit or lighter model", Told: "16 bit is half of its weights and activations: many models are published as fp16 ONNX; an app lists lighter ones.", Cost: "hardly any loss"},
			{Fix: "lower_resolution", If: when.Not(when.Any(when.In("inference"), inSession)), Title: "Lower the image size or batch", Ways: directWays, Cost: "detail"},
			{Fix: "raise_pagefile", Title: "If \"Committed\" is at its limit: enlarge the page file", Told: "Advanced system settings, Performance, Settings, Advanced, Virtual memory: system managed; restart.", Cost: "disk space and a restart"},
		},
		Sources: []string{"onnxruntime/core/providers/dml/DmlExecutionProvider/src/BucketizedBufferAllocator.cpp", "https://learn.microsoft.com/en-us/windows/win32/seccrypto/common-hresult-values", "https://onnxruntime.ai/docs/execution-providers/DirectML-ExecutionProvider.html"},
	},
	{
		ID: "onnxruntime/session", Kinds: arenas, If: when.All(inSession, when.Not(calls.AtLeast(cause.Absurd))),
		Headline: "had no room for a model while creating its session",
		Means:    "The failure is before the first run: the request[[ ({asked})]] is for the weights of this model, beside what was in memory already. The allocator has the same name for RAM and for the card, and the message does not say which. Each session, and each instance on a server, holds its own weights and arena.[[ {built}]]", Figures: builtElsewhere,
		Not: "A smaller batch or input: the failure comes before the first run.",
		Cures: []cause.Cure{
			restartApp,
			{Fix: "kill_stale_process", If: when.Any(codesONNX, served), Title: "Check what else is loaded", Told: "If memory is full before the start, other models of the same program or server, or another program, hold it: load fewer at a time, or end it.", Kind: "shell", Text: "nvidia-smi\nfree -h", Cost: "free"},
			{Fix: "use_smaller_model", If: when.Not(codesONNX), Title: "Choose a lighter model, or another device", Told: "In an app: a lighter or 16-bit (fp16) model, fewer models at once; or the CPU or another card as its device.", Cost: "some quality, or slower"},
			{Fix: "half_precision", If: codesONNX, Title: "Use the model in 16 or 8 bit", Told: "A 16-bit export halves the weights; for the CPU, `onnxruntime.quantization.quantize_dynamic` makes them 8 bit, a quarter.", Cost: "a conversion; 8 bit may cost accuracy"},
			fewerThreads,
			onlyCode(grabbed),
			{Fix: "cpu_offload", If: codesONNX, Title: "Run it on the CPU", Told: "`providers=[\"CPUExecutionProvider\"]`, if it was the card.", Cost: "slower"},
		},
		Sources: []string{"onnxruntime/core/framework/bfc_arena.cc", ortCUDA},
	},
	{
		ID: "onnxruntime/bad-alloc", Kinds: []fact.Kind{fact.BadAlloc}, Said: []string{"ONNXRuntimeError"},
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was refused RAM (std::bad_alloc)",
		Means: "The system refused RAM; the message has no size. \"During initialization\" it is the model: weights, and copies of them that the graph optimizer and the packing for the CPU make beside the file's. In a run it is the input. A file that was cut off can ask for an absurd size: compare its size with its source's.",
		Not:   "Graphics card settings: this is RAM.",
		Cures: []cause.Cure{
			onlyCode(noCopies), restartApp, moreRAM,
			calls.PageFile,
			{Fix: calls.LookWhy.Fix, If: when.All(calls.OnLinux, when.Not(onColab)), Title: calls.LookWhy.Title, Kind: calls.LookWhy.Kind, Text: calls.LookWhy.Text, Ways: calls.LookWhy.Ways, Cost: calls.LookWhy.Cost},
			fewerThreads,
			{Fix: "use_lower_quant", Title: "Use a smaller or 8-bit model", If: codesONNX, Cost: "some quality", Told: "`onnxruntime.quantization.quantize_dynamic(path, small_path)` on a machine with more RAM: about a quarter of 32 bit. In a run: one sample, or a smaller input."},
		},
		Sources: []string{"onnxruntime/include/onnxruntime/core/session/onnxruntime_session_options_config_keys.h", "https://onnxruntime.ai/docs/performance/model-optimizations/quantization.html"},
	},
	{
		ID: "onnxruntime/ram", Kinds: arenas, If: when.All(onCPU, when.Not(calls.AtLeast(cause.Unusual))),
		Headline: "was refused[[ {asked} of]] RAM in one node",
		Means:    "The node ran on the CPU, so this is RAM. Its result or working memory[[, {asked},]] follows from the size of the input. Each session keeps an arena that grows to its largest run and is not given back.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Use a smaller input", Told: "Scale images down first: half the width and height is a quarter of the buffer; long texts and audio in parts.", Cost: "detail"},
			{Fix: "lower_batch_size", Title: "Run one sample at a time", Kind: "python", Text: "y = [session.run(None, {name: x[i:i + 1]})[0] for i in range(len(x))]   # name, x: as in your call", If: func(c *ledger.Case) bool { return c.Reader.Writes("python") && c.Reader.Edits == "code" }, Cost: "more calls"},
			calls.PageFile, calls.LookWhy,
			{Fix: "lower_num_workers", Title: "Share one session, turn off the arena", Kind: "python", If: func(c *ledger.Case) bool { return c.Reader.Writes("python") }, Text: "options = onnxruntime.SessionOptions()\noptions.enable_cpu_mem_arena = False   # RAM goes back after each run\nsession = onnxruntime.InferenceSession(path, options)", Cost: "some speed"},
			calls.SwapBridge,
		},
		Sources: []string{"onnxruntime/core/framework/bfc_arena.cc", "https://onnxruntime.ai/docs/get-started/with-c.html"},
	},
	{
		ID: "onnxruntime/run", Kinds: []fact.Kind{fact.ORTAlloc}, If: when.Not(calls.AtLeast(cause.Unusual)),
		Headline: "had no room for the buffer of one node",
		Means:    "A node wanted memory for its result or its working memory[[, {asked},]]. The message says neither how much was free, nor whether it is RAM or the card. Such buffers follow from the size of the input.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Use a smaller input", Told: "Half the width and height is a quarter of the buffer, half the length a half to a quarter; possible if the model's input size is free (its shape shows names, not numbers).", Cost: "detail"},
			{Fix: "lower_batch_size", Title: "Run one sample at a time", Told: "Set the first side of the input to 1.", Cost: "more calls"},
			{Fix: "close_other_apps", Title: "If the smallest input fails too: check which memory is full", Ways: []cause.Way{
				{For: "Windows", Text: "Task Manager, Performance: \"Committed\" under Memory, \"Dedicated GPU memory\" under GPU"},
				{For: "Linux", Text: "`free -h; nvidia-smi`"},
			}, Cost: "free"},
		},
		Sources: []string{"onnxruntime/core/framework/bfc_arena.cc", ortCUDA},
	},
}

var directWays = []cause.Way{
	{For: fix.Pictures, Text: "one image or stream at a time (an app: streams or threads at 1), in tiles where it has them; half the width and height is a quarter of the activations."},
	{For: "Other input", Text: "shorter inputs, one sample per run."},
}

// directFigures say what DirectML was doing.
func directFigures(c *ledger.Case) map[string]string {
	switch c.Phase {
	case "load":
		return map[string]string{"doing": "loaded a model", "stage": "It failed while a session was made: that model's weights, beside what was loaded before."}
	case "inference":
		return map[string]string{"doing": "ran the model", "stage": "It failed in a run: the activations of this input, beside the weights."}
	}
	return map[string]string{"doing": "", "stage": "A failure at the first run points to the model, a later one to a large input."}
}

// ocrCards are about models that read text in pictures, servers, and programs that
// go on without the card.
var ocrCards = []cause.Card{
	{
		ID: "onnxruntime/fallback-killed", Kinds: []fact.Kind{fact.ORTAlloc}, Said: []string{"(signal 9)", "waitpid returned 9", "signal 9 (SIGKILL)", "exitcode: -9", "exit code -9"}, Unsaid: []string{"tritonserver"}, If: when.Not(calls.AtLeast(cause.Unusual)),
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was refused {asked} in one node; then a worker was killed (signal 9)",
		Means: "Two things went wrong. A node of the network wanted {asked} and was refused, which follows from the size of its input. Then a process was ended by signal 9: usually the system or a container's limit, because RAM was full. A program that falls back to the CPU after the first needs that much RAM for the second.",
		Cures: []cause.Cure{
			{Fix: "raise_memory_limit", Title: "Give the worker more RAM", Told: "Docker Compose: a larger `mem_limit` for that service, or none; Docker Desktop and WSL: more memory in its settings. `dmesg | grep -i oom` on the machine shows who was killed, and whether a container's limit did it.", Cost: "less for others"},
			{Fix: "lower_num_workers", Title: "Run one worker at a time", Told: "Each holds its own models and arena: half of the present number, by the program's own setting.", Cost: "slower"},
			{Fix: "lower_context", Title: "Use a smaller or shorter input", Told: "Cut the file that is named beside the error (long audio or video in parts, large images scaled down): the buffer follows from its size.", Cost: "several runs"},
			calls.SwapBridge,
		},
		Sources: []string{"onnxruntime/core/framework/bfc_arena.cc", "https://docs.docker.com/engine/containers/resource_constraints/"},
	},
	{
		ID: "triton-server/onnx-node", Kinds: []fact.Kind{fact.ORTAlloc}, If: func(c *ledger.Case) bool { return served(c) && onCardWork(c) && !inSession(c) },
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "had no room for a buffer of {asked} in one node of an ONNX model",
		Means: "One node wanted {asked} for its result or its working memory, which follows from the size and batch of the request. Every model and instance on the server holds weights and an arena that keeps what its largest request needed, so a model added last can fail. The message does not say whether it is RAM or the card.",
		Cures: []cause.Cure{
			{Fix: "lower_batch_size", Title: "Send smaller batches or inputs", Told: "Half of the present batch from the client, or a lower `max_batch_size` in the model's config.pbtxt; half the width and height of images.", Cost: "more requests"},
			{Fix: "lower_num_workers", Title: "Use one instance per model, load fewer models", Told: "In config.pbtxt of each model; or another card for some of them (`gpus: [ 1 ]`):", Kind: "config", Text: "instance_group [ { count: 1 kind: KIND_GPU } ]", Cost: "less in parallel"},
			{Fix: "limit_framework_preallocation", Title: "Set `arena_extend_strategy` to 1", Told: "In config.pbtxt of the ONNX models; by default the arena grows in powers of two, so up to half may be unused:", Kind: "config", Text: "parameters { key: \"arena_extend_strategy\" value: { string_value: \"1\" } }", Cost: "none worth mentioning"},
		},
		Sources: []string{"https://github.com/triton-inference-server/onnxruntime_backend", "onnxruntime/core/framework/bfc_arena.cc"},
	},
	{
		ID: "triton-server/onnx-load", Kinds: arenas, If: func(c *ledger.Case) bool { return served(c) && inSession(c) && !calls.AtLeast(cause.Absurd)(c) },
		Headline: "had no room for an ONNX model while loading it",
		Means:    "It failed while the session was made: the request[[ ({asked})]] is for the weights of this model, beside what was in memory already. Every instance holds the weights once more. The message does not say whether it is RAM or the card.",
		Cures: []cause.Cure{
			{Fix: "half_precision", Title: "Export the model in 16 bit", Told: "Half the weights of a 32-bit model: `onnxconverter_common.float16.convert_float_to_float16(model)`, or an fp16 export where it was trained. In 32 bit the weights take 4 GB for each billion parameters.", Cost: "hardly any loss"},
			{Fix: "kill_stale_process", Title: "Check what else is on the card", Told: "Other models of this server, `--cuda-memory-pool-byte-size` of its start (a pool taken in advance), another program:", Kind: "shell", Text: "nvidia-smi", Cost: "free"},
			{Fix: "lower_num_workers", Title: "Use one instance, load fewer models", Told: "In config.pbtxt (`KIND_CPU` without a card):", Kind: "config", Text: "instance_group [ { count: 1 kind: KIND_GPU } ]", Cost: "less in parallel"},
		},
		Sources: []string{"https://github.com/triton-inference-server/onnxruntime_backend", "onnxruntime/core/framework/bfc_arena.cc"},
	},
	{
		ID: "onnxruntime/ocr", Kinds: []fact.Kind{fact.ORTAlloc}, Said: []string{"Name:'p2o.", "Name:'p2o", "RapidOCR", "rapidocr", "PaddleOCR"}, If: when.Not(calls.AtLeast(cause.Absurd)),
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "had no room for {asked} in a node of an OCR model",
		Means: "This is a PaddleOCR model (RapidOCR and others run them). The text detector gets the whole image, so its need grows with width x height: {asked} is for one layer. The allocator has the same name for RAM and for the card; without a CUDA build it is RAM. It keeps what its largest image needed.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Limit the image side (`max_side_len`)", Told: "RapidOCR: `max_side_len` (C#, Java, C++: `maxSideLen`) at 1024 to 2000; PaddleOCR: `det_limit_side_len=960, det_limit_type=\"max\"`. Or scale it down before, and cut long scans into parts.", Cost: "Small print may be missed"},
			{Fix: "restart_session", Title: "Use one engine, one image at a time", Told: "Create the engine once and reuse it, without parallel calls; a new process after some hundred images frees what the arena keeps.", Cost: "Loads again"},
			{Fix: "raise_memory_limit", Title: "Check for 32 bit and memory limits", Told: "A 32-bit application ends at 2 GB; a container has its own limit.", Cost: "Free to look"},
		},
		Sources: []string{"https://rapidai.github.io/RapidOCRDocs/", "https://github.com/PaddlePaddle/Paddle2ONNX", "onnxruntime/core/framework/bfc_arena.cc"},
	},
}
