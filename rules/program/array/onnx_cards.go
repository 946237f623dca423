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
	grabbed = cause.Cure{Fix: "limit_framework_preallocation", Title: "Let its arena take only what is asked for", Told: "It grows in powers of two by default, so that up to half may lie unused.", Kind: "python", Text: "providers = [(\"CUDAExecutionProvider\", {\"arena_extend_strategy\": \"kSameAsRequested\"})]", Cost: "none worth mentioning"}
	// served: behind a server, whose settings are files.
	served = func(c *ledger.Case) bool { return c.Says("triton-server") }
)

// onnxRestCards hold where none above does.
var onnxRestCards = []cause.Card{
	{
		ID: "onnxruntime/directml", Kinds: []fact.Kind{fact.ORTDevice}, Unsaid: []string{"CUDA failure 2"},
		Headline: "was refused memory by DirectML[[ while it {doing}]]",
		Means:    "DirectML is Windows' way to the card of any maker; 8007000E is Windows' code for \"no memory\", and says neither how much nor of which kind. {stage} Windows counts two things, and either can be at its end: the card's memory, and what all programs together were promised of RAM and page file (\"Committed\").",
		Not:      "`nvidia-smi`, CUDA's settings: another interface.",
		Figures:  directFigures,
		Cures: []cause.Cure{
			{Fix: "close_other_apps", Title: "See which of the two is full", Told: "Task Manager, Performance, while it runs: GPU, \"Dedicated GPU memory\"; Memory, \"Committed\". Close what holds it: browsers, games, another model.", Cost: "free"},
			{Fix: "half_precision", Title: "The card is full: the model in 16 bit", Told: "Half of its weights and of its work: many models are published as fp16 ONNX; Microsoft's Olive converts others.", Cost: "hardly any loss"},
			{Fix: "lower_resolution", Title: "Or less at once", Ways: []cause.Way{
				{For: fix.Pictures, Text: "512 x 512 first (half the width and height is a quarter), one image at a time; a program of several models (text encoder, UNet, VAE) should hold one at a time."},
				{For: "Other input", Text: "one sample for each run, shorter ones."},
			}, Cost: "detail"},
			{Fix: "raise_pagefile", Title: "\"Committed\" is at its limit: a larger page file", Told: "Advanced system settings, Performance, Settings, Advanced, Virtual memory: system managed; restart.", Cost: "disk space and a restart"},
		},
		Sources: []string{"onnxruntime/core/providers/dml/DmlExecutionProvider/src/BucketizedBufferAllocator.cpp", "https://learn.microsoft.com/en-us/windows/win32/seccrypto/common-hresult-values", "https://onnxruntime.ai/docs/execution-providers/DirectML-ExecutionProvider.html"},
	},
	{
		ID: "onnxruntime/session", Kinds: arenas, If: when.All(inSession, when.Not(calls.AtLeast(cause.Absurd))),
		Headline: "had no room for a model while its session was made",
		Means:    "It failed before the first run: what was wanted[[ ({asked})]] is for the weights of this model, beside what was there already. The allocator has the same name for RAM and for the card, and the message does not say which. Each session, and each instance on a server, has weights and an arena of its own; the arena grows in powers of two unless told otherwise, so a request may be twice what is needed.",
		Not:      "A smaller batch or input: none was computed yet.",
		Cures: []cause.Cure{
			{Fix: "kill_stale_process", Title: "See what was there before", Told: "Before the start: full already means other models of the same program or server, or another program. Load fewer at a time, or end it.", Kind: "shell", Text: "nvidia-smi\nfree -h", Cost: "free"},
			{Fix: "half_precision", Title: "The model in 16 or 8 bit", Told: "A 16-bit export is half the weights; for the processor `onnxruntime.quantization.quantize_dynamic` makes 8 bit of them, a quarter.", Cost: "a conversion; 8 bit may cost accuracy"},
			{Fix: "lower_num_workers", If: served, Title: "One instance of it, and fewer models", Told: "In config.pbtxt; in the CUDA options of the backend `arena_extend_strategy` \"1\" takes only what is asked for:", Kind: "config", Text: "instance_group [ { count: 1 kind: KIND_GPU } ]", Cost: "less in parallel"},
			{Fix: "limit_framework_preallocation", If: when.Not(served), Title: grabbed.Title, Told: grabbed.Told, Kind: grabbed.Kind, Text: grabbed.Text, Cost: grabbed.Cost},
			{Fix: "cpu_offload", Title: "Or on the processor", Told: "`providers=[\"CPUExecutionProvider\"]`, if it was the card.", Cost: "slower"},
		},
		Sources: []string{"onnxruntime/core/framework/bfc_arena.cc", ortCUDA},
	},
	{
		ID: "onnxruntime/ram", Kinds: arenas, If: when.All(onCPU, when.Not(calls.AtLeast(cause.Unusual))),
		Headline: "was refused[[ {asked} of]] RAM in one node",
		Means:    "The node ran on the processor, so it was the computer's RAM. Its result or working memory[[, {asked},]] follows from the size of the input; each session and each thread with one keeps an arena that grows to its largest run and is not given back.",
		Not:      "A smaller model file: the buffer is for activations. Settings for a graphics card.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Smaller input", Told: "Scale images down before they go in: half the width and height is a quarter of the buffer; long texts and sounds in parts.", Cost: "detail"},
			{Fix: "lower_batch_size", Title: "One sample for each run", Kind: "python", Text: "y = [session.run(None, {name: x[i:i + 1]})[0] for i in range(len(x))]   # name, x: as in your call", If: func(c *ledger.Case) bool { return c.Reader.Writes("python") && c.Reader.Edits == "code" }, Cost: "more calls"},
			calls.PageFile, calls.LookWhy,
			{Fix: "lower_num_workers", Title: "One session for all threads, without the arena", Kind: "python", If: func(c *ledger.Case) bool { return c.Reader.Writes("python") }, Text: "options = onnxruntime.SessionOptions()\noptions.enable_cpu_mem_arena = False   # RAM goes back after each run\nsession = onnxruntime.InferenceSession(path, options)", Cost: "some speed"},
			calls.SwapBridge,
		},
		Sources: []string{"onnxruntime/core/framework/bfc_arena.cc", "https://onnxruntime.ai/docs/get-started/with-c.html"},
	},
	{
		ID: "onnxruntime/run", Kinds: []fact.Kind{fact.ORTAlloc}, If: when.Not(calls.AtLeast(cause.Unusual)),
		Headline: "had no room for a buffer of one node",
		Means:    "A node wanted memory for its result or its work[[, {asked},]] and the message does not say more: neither how much there was, nor whether it was RAM or the card, for the allocator has the same name in both. Such buffers follow from the size of the input.",
		Not:      "A smaller model file, if it fails with large input only.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Smaller input", Told: "Half the width and height is a quarter of the buffer, half the length a half to a quarter; where the model takes it (its shape shows names, not numbers).", Cost: "detail"},
			{Fix: "lower_batch_size", Title: "One sample for each run", Told: "The first side of the input at 1.", Cost: "more calls"},
			{Fix: "close_other_apps", Title: "The smallest input fails as well: see which memory is full", Ways: []cause.Way{
				{For: "Windows", Text: "Task Manager, Performance: \"Committed\" under Memory, \"Dedicated GPU memory\" under GPU"},
				{For: "Linux", Text: "`free -h; nvidia-smi`"},
			}, Cost: "free"},
		},
		Sources: []string{"onnxruntime/core/framework/bfc_arena.cc", ortCUDA},
	},
}

// directFigures say what DirectML was doing.
func directFigures(c *ledger.Case) map[string]string {
	switch c.Phase {
	case "load":
		return map[string]string{"doing": "loaded a model", "stage": "It failed while a session was made: the weights of that model, beside what was loaded before."}
	case "inference":
		return map[string]string{"doing": "ran the model", "stage": "It failed in a run: the work on this input, beside the weights."}
	}
	return map[string]string{"doing": "", "stage": "At the first run it is the model, later the work on a large input."}
}

// ocrCards are about models that read text in pictures.
var ocrCards = []cause.Card{
	{
		ID: "onnxruntime/ocr", Kinds: []fact.Kind{fact.ORTAlloc}, Said: []string{"Name:'p2o.", "Name:'p2o", "RapidOCR", "rapidocr", "PaddleOCR"}, If: when.Not(calls.AtLeast(cause.Absurd)),
		Cause: cause.BatchTooLarge, Weight: cause.Strong,
		Headline: "had no room for {asked} in a node of an OCR model: the image is large",
		Means:    "Names that begin with `p2o.` are models of PaddleOCR (RapidOCR and its like run them). The finder of text gets the whole image, and what it keeps grows with width x height: {asked} is a single layer's. The allocator has one name for RAM and for the card; without a CUDA build it is RAM. It keeps what its largest image needed, so after several images less is left.",
		Not:      "A quantised model: the buffer is for the image.",
		Cures: []cause.Cure{
			{Fix: "lower_resolution", Title: "Cap the image's side", Told: "RapidOCR: `max_side_len` (C#, Java, C++: `maxSideLen`) at 1024 to 2000; PaddleOCR: `det_limit_side_len=960, det_limit_type=\"max\"`. Or scale it down before, and cut long scans into parts.", Cost: "Small print may be missed"},
			{Fix: "restart_session", Title: "One alone works, several fail: one engine, one at a time", Told: "Make the engine once and reuse it, no parallel calls; a new one (or process) after some hundred images gives back what the arena keeps.", Cost: "Loads again"},
			{Fix: "raise_memory_limit", Title: "A 64-bit build, and the limit of what it runs in", Told: "A 32-bit application ends at 2 GB; a container's or Java's native memory has a limit of its own.", Cost: "Free to look"},
		},
		Sources: []string{"https://rapidai.github.io/RapidOCRDocs/", "https://github.com/PaddlePaddle/Paddle2ONNX", "onnxruntime/core/framework/bfc_arena.cc"},
	},
}
