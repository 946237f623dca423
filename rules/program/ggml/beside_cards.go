package ggml

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/when"
)

// ownDrafts: the model drafts with layers of its own (common/speculative.cpp).
var ownDrafts = []string{"draft-mtp", "draft_mtp", "memory usage of MTP context"}

// roomForImages keeps more of the GPU free in builds that fit layers and context
// to it, and do not count the vision part.
var roomForImages = where(fitted, does("fewer_gpu_layers", "Keep room for the vision part: `--fit-target 3072`", "text", "This build fits layers and context to the free memory without counting the vision part, and leaves 1 GiB. `--fit-target 3072` leaves 3; `-ngl` has to stay out of the command.", "a few layers run on the CPU"))

// besideCards are about what is loaded beside a model, or after it.
var besideCards = []cause.Card{
	{
		ID: "llama.cpp/image", Kinds: gpuFull, Said: readsImage, If: when.All(plain, onGPU), Figures: besideNumbers,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "loaded, then ran out of memory on {gpu} while it read an image",
		Means: "The model was loaded and running. What failed is the vision part (mmproj) at work on an image[[: {asked} was refused]]. That memory grows with the image: without flash attention in the vision part, with the square of its tokens, so half the width and height is a sixteenth.",
		Not:   "A shorter context or fewer layers alone, if much was refused: the image's part stays as large.",
		Cures: []cause.Cure{
			roomForImages,
			does("lower_resolution", "Send a smaller image", "text", "Scale it down to about 1024 pixels on the longer side. For all requests: `--image-max-tokens 1024` when you start it (builds since November 2025; for models that take images of any size).", "fine print in the image gets lost"),
			does("upgrade_version", "Update llama.cpp", "text", "Builds since November 2025 use flash attention in the vision part where the GPU has it; it needs far less.", "a download"),
			does("cpu_offload", "Keep the vision part off the GPU: `--no-mmproj-offload`", "text", "Add `--no-mmproj-offload` to your command (builds since April 2025). Text stays as fast.", "each image takes much longer"),
		},
		Sources: []string{"llama.cpp/tools/mtmd/clip.cpp", "llama.cpp/common/fit.cpp", "https://github.com/ggml-org/llama.cpp/pull/16921", llamaThreads + "18111"},
	},
	{
		ID: "llama.cpp/projector", Kinds: gpuFull, Said: projects, If: when.All(plain, onGPU), Figures: besideNumbers,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "had no room on {gpu} for the vision part (mmproj) of the model", Means: "It failed at the vision projector (mmproj): the projector, or its working memory for an image, did not fit[[: {asked} was refused]]. It is loaded after the text model. Builds that fit the layers to the free memory by themselves (since December 2025) did not count it until May 2026 at least. The server may start all the same, and then fail at the first image.",
		Cures: []cause.Cure{
			does("cpu_offload", "Keep the projector off the GPU: `--no-mmproj-offload`", "text", "Add `--no-mmproj-offload` to your command (builds since April 2025). Text stays as fast; each image takes longer to read.", "images are read slowly"),
			roomForImages,
			{Fix: "lower_context", If: cacheBeside, Title: "Shorten the context: `-c {ctxHalf}`", Told: "The cache holds {kv} for {context} tokens: half of them leave {half} for the projector.", Cost: "shorter conversations"},
			{Fix: "fewer_gpu_layers", Title: "Put fewer layers on the GPU", Told: "Lower `-ngl` by 2 to 4.", Cost: "slower"},
			does("use_smaller_model", "Start without images: `--no-mmproj`", "text", "`-hf` loads the projector by itself; `--no-mmproj` leaves it out.", "no images"),
		},
		Sources: []string{"llama.cpp/tools/mtmd/clip.cpp", "llama.cpp/common/fit.cpp", llamaThreads + "18181", llamaThreads + "19980", "https://github.com/ggml-org/llama.cpp/pull/13093"}, Solved: 1,
	},
	{
		ID: "llama.cpp/mtp", Kinds: gpuFull, Said: ownDrafts, If: when.All(plain, onGPU, when.Not(buffer("weights"))), Figures: numbers,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "ran out of GPU memory with the model's own draft layers (MTP) beside it",
		Means: "With `--spec-type draft-mtp` the model drafts with layers of its own. They have a second context beside the main one, with a KV cache and a compute buffer[[: {asked} was refused]]. Builds of May 2026 make that buffer at the first request only, when the server is listening already.",
		Cures: []cause.Cure{
			keepMoreFree,
			where(buffer("compute"), told("lower_ubatch", "Lower the physical batch size", "Both contexts have such a buffer: at {ubTo} tokens instead of {ub} {asked} becomes about {ubThen}.", "slower prompts")),
			where(severalSlots, told("lower_parallel", "Serve one request at a time", "Each slot has its part of both contexts.", "others wait")),
			does("use_smaller_model", "Start without drafting", "text", "Take `--spec-type draft-mtp` and the options that begin with `--spec-draft` out of the command. The answers are the same.", "slower answers"),
			told("lower_context", "Shorten the context", "Both contexts have its length.", "shorter conversations"),
		},
		Sources: []string{"https://github.com/ggml-org/llama.cpp/pull/22673", llamaThreads + "23903"},
	},
	{
		ID: "llama.cpp/draft", Kinds: gpuFull, Said: drafts, Unsaid: ownDrafts, If: when.All(plain, onGPU), Figures: besideNumbers,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "loaded the main model; the draft model beside it did not fit on {gpu}",
		Means: "It failed at the draft model for speculative decoding (`-md`), which is loaded after the main model and has weights and a KV cache of its own[[: {asked} was refused, with {rest} left]]. Even a small draft needs 1 to 3 GiB with a long context.",
		Cures: []cause.Cure{
			{Fix: "lower_context", If: cacheBeside, Title: "Shorten the context of the main model: `-c`", Told: "{rest} is left, and the main model's cache holds {kv} for {context} tokens: half of that is {half} more room. `-c {ctxHalf}`, or keep the length with `-ctk q8_0 -ctv q8_0` and flash attention.", Cost: "shorter conversations"},
			does("use_smaller_model", "Take a smaller draft, or start without one", "text", "A draft of 0.5B to 1B at Q4 takes below 1 GiB. Without `-md` (`--model-draft`) the answers are the same, only slower.", "fewer guesses are right"),
			{Fix: "fewer_gpu_layers", Title: "Put a few layers of the main model on the CPU", Told: "Lower `-ngl` by about as many layers as make up what was refused; `-ngld 0` instead keeps the draft itself on the CPU, where it hardly helps.", Cost: "slower"},
		},
		Sources: []string{"llama.cpp/common/arg.cpp", "llama.cpp/tools/server/server-context.cpp"},
	},
	{
		ID: "llama.cpp/lora", Kinds: gpuFull, Said: loras, If: onGPU, Figures: besideNumbers,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "loaded the model; the LoRA adapter beside it did not fit on {gpu}",
		Means: "The model was loaded; then its LoRA adapter was. Each layer's part of the adapter lies where that layer lies, so most of it goes to the GPU[[: {asked} was refused]].",
		Cures: []cause.Cure{
			{Fix: "fewer_gpu_layers", Title: "Put one or two fewer layers on the GPU", Own: true, Told: "They take their part of the adapter along.", Cost: "slightly slower"},
			{Fix: "lower_context", Title: "Shorten the context", Told: "[[The cache holds {kv} for {context} tokens: half of them leave {half} more. ]]It is there before the adapter is loaded.", Own: true, Cost: "shorter conversations"},
			does("use_lower_quant", "Use a smaller quantisation of the model", "text", "The adapter stays as it is: a Q5_K_M in place of a Q8_0 frees a third of the model's size. Several adapters: load only the one in use.", "slight loss of quality"),
		},
		Sources: []string{"llama.cpp/src/llama-adapter.cpp"},
	},
	{
		ID: "llama.cpp/repack", Kinds: refused, If: when.All(plain, repacked), Figures: numbers,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was refused {asked} of system memory (RAM) for weights that it rearranges",
		Means: "To compute faster on the CPU, llama.cpp copies weights into another order while it loads (`CPU_REPACK`). Such a copy cannot stay in the mapped file: all of it, {asked}, needs free RAM at once.",
		Not:   "Fewer layers on the GPU: that needs more RAM.",
		Cures: []cause.Cure{
			does("use_mmap", "Leave the weights in the mapped file: `--no-repack`", "text", "Add `--no-repack` (`-nr`; builds since August 2025) to your command, and no `--no-mmap`.", "prompts are read slower on the CPU"),
			as("close_other_apps", "Close programs that use RAM", "free"),
			smallerQuant, smallerInstead,
		},
		Sources: []string{"llama.cpp/common/arg.cpp", "https://github.com/ggml-org/llama.cpp/pull/14990"},
	},
	{
		ID: "llama.cpp/router", Kinds: gpuFull, Said: []string{"instance name=", "spawning server instance"}, If: when.All(plain, onGPU, when.Any(bare, buffer("weights", "kv", "compute"))), Figures: numbers,
		Cause: cause.RetainedMemory, Weight: cause.Strong, Headline: "could not load a model beside those that its router keeps loaded",
		Means: "llama-server runs as a router here: it starts a server for each model that is asked for, and keeps up to 4 of them loaded.[[ {asked} was refused to this one.]] If it is the only one loaded, it is too large for the GPU by itself.",
		Cures: []cause.Cure{
			does("restart_session", "Keep one model loaded at a time: `--models-max 1`", "text", "Add `--models-max 1` to the router's command: the model used longest ago is then unloaded first.", "models load again at each change"),
			does("fewer_gpu_layers", "Or let each leave room", "text", "To keep two models side by side, give each less in the preset file (`--models-preset`): a set `ctx-size`, fewer `n-gpu-layers`.", "slower, shorter conversations"),
			smallerQuant, smallerInstead,
		},
		Sources: []string{"llama.cpp/tools/server/README.md", "llama.cpp/tools/server/server-models.cpp"},
	},
}
