package ggml

import (
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/when"
)

// ownDrafts: the model drafts with layers of its own (common/speculative.cpp).
var ownDrafts = []string{"draft-mtp", "draft_mtp", "memory usage of MTP context"}

// roomForImages keeps more of the GPU free in builds that fit layers and context
// to it, and do not count the vision part.
var roomForImages = where(fitted, does("fewer_gpu_layers", "Keep room for the vision part: `--fit-target 3072`", "text", "Add `--fit-target 3072`, and leave `-ngl` out of the command. This build fits the layers to the free GPU memory and leaves only 1 GiB; older ones do not count the vision part.", "a few layers run on the CPU"))

// besideCards are about what is loaded beside a model, or after it.
var besideCards = []cause.Card{
	{
		ID: "llama.cpp/image", Kinds: gpuFull, Said: readsImage, If: when.All(plain, onGPU), Figures: besideNumbers,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "loaded, then ran out of memory on {gpu} while it read an image",
		Means: "The model was loaded; then the GPU had too little memory for the vision part (mmproj) to read an image. What that needs grows fast with the image's size: without flash attention there, half the width and height needs about a sixteenth.",
		Not:   "A smaller quantisation: what the image needs stays as large.",
		Cures: []cause.Cure{
			roomForImages,
			does("lower_resolution", "Send a smaller image", "text", "Scale it down to 1024 pixels or less on the longer side. Or limit every image: start with `--image-max-tokens 1024` (builds since November 2025, models that take images of any size).", "fine print in the image gets lost"),
			does("upgrade_version", "Update llama.cpp", "text", "Builds since November 2025 use flash attention for the vision part where the GPU supports it. That needs far less memory.", "a download"),
			does("cpu_offload", "Keep the vision part off the GPU: `--no-mmproj-offload`", "text", "The CPU then reads the images; text stays as fast. Builds since April 2025 have the option.", "each image takes much longer"),
		},
		Sources: []string{"llama.cpp/tools/mtmd/clip.cpp", "llama.cpp/common/fit.cpp", "https://github.com/ggml-org/llama.cpp/pull/16921", llamaThreads + "18111"},
	},
	{
		ID: "llama.cpp/projector", Kinds: gpuFull, Said: projects, If: when.All(plain, onGPU), Figures: besideNumbers,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "had no room on {gpu} for the vision part (mmproj) of the model", Means: "Images are read by a second, smaller model, the vision projector (mmproj). It is loaded after the text model, which left too little GPU memory for it. Builds since December 2025 fit the layers to the GPU by themselves, but only newer ones count this part.",
		Cures: []cause.Cure{
			does("cpu_offload", "Keep the projector off the GPU: `--no-mmproj-offload`", "text", "It then runs on the CPU; text stays as fast. Builds since April 2025 have the option.", "images are read slowly"),
			roomForImages,
			{Fix: "lower_context", If: cacheBeside, Title: "Shorten the context: `-c {ctxHalf}`", Told: "The KV cache for {context} tokens takes {kv}. Half the tokens free {half} for the projector.", Cost: "shorter conversations"},
			{Fix: "fewer_gpu_layers", Title: "Put fewer layers on the GPU", Told: "Find `offloaded N/M layers to GPU` in the log, and set `-ngl` to N minus 2 to 4.", Cost: "slower"},
			does("use_smaller_model", "If you need no images: `--no-mmproj`", "text", "`-hf` loads the projector by itself; `--no-mmproj` leaves it out. With `--mmproj` in the command, take that out.", "no images"),
		},
		Sources: []string{"llama.cpp/tools/mtmd/clip.cpp", "llama.cpp/common/fit.cpp", llamaThreads + "18181", llamaThreads + "19980", "https://github.com/ggml-org/llama.cpp/pull/21489", "https://github.com/ggml-org/llama.cpp/pull/13093"}, Solved: 1,
	},
	{
		ID: "llama.cpp/mtp", Kinds: gpuFull, Said: ownDrafts, If: when.All(plain, onGPU, when.Not(buffer("weights"))), Figures: numbers,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "ran out of GPU memory with MTP drafting turned on",
		Means: "`--spec-type draft-mtp` makes answers faster, but needs more GPU memory: the draft layers have a second context, with its own KV cache and compute buffer. Builds of May 2026 allocate that buffer only at the first request, so the server can start and fail later.",
		Cures: []cause.Cure{
			keepMoreFree,
			where(buffer("compute"), told("lower_ubatch", "Lower the physical batch size", "At `-ub {ubTo}` instead of {ub} this buffer takes about {ubThen}; the main context has one too, which shrinks as well:", "slower prompts")),
			where(severalSlots, told("lower_parallel", "Serve one request at a time", "Each slot takes room in both contexts:", "others wait")),
			does("use_smaller_model", "Start without drafting", "text", "Remove `--spec-type draft-mtp` and all options that begin with `--spec-draft`. Answers have the same quality.", "slower answers"),
			told("lower_context", "Shorten the context", "", "shorter conversations"),
		},
		Sources: []string{"https://github.com/ggml-org/llama.cpp/pull/22673", llamaThreads + "23903"},
	},
	{
		ID: "llama.cpp/draft", Kinds: gpuFull, Said: drafts, Unsaid: ownDrafts, If: when.All(plain, onGPU), Figures: besideNumbers,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "loaded the main model; the draft model beside it did not fit on {gpu}",
		Means: "The draft model (`-md`, for speculative decoding) is loaded after the main model. It needs GPU memory for its own weights and KV cache[[, and only {rest} was left]]. With a long context even a small draft can take 1 to 3 GiB.",
		Cures: []cause.Cure{
			{Fix: "lower_context", If: cacheBeside, Title: "Shorten the context: `-c {ctxHalf}`", Told: "The main model's KV cache for {context} tokens takes {kv}. Half the tokens free {half}. To keep the length, try `-fa on -ctk q8_0 -ctv q8_0` instead.", Cost: "shorter conversations"},
			does("use_smaller_model", "Take a smaller draft, or start without one", "text", "A 0.5B or 0.6B draft at Q4 has below 0.5 GiB of weights. Without `-md` (`--model-draft`) the answers are the same, only slower.", "slower answers"),
			{Fix: "fewer_gpu_layers", Title: "Put a few layers of the main model on the CPU", Told: "Find `offloaded N/M layers to GPU` in the log, and set `-ngl` to N minus 2 to 4. `-ngld 0` keeps the draft on the CPU instead, where it hardly speeds anything up.", Cost: "slower"},
		},
		Sources: []string{"llama.cpp/common/arg.cpp", "llama.cpp/tools/server/server-context.cpp"},
	},
	{
		ID: "llama.cpp/lora", Kinds: gpuFull, Said: loras, If: onGPU, Figures: besideNumbers,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "loaded the model; the LoRA adapter beside it did not fit on {gpu}",
		Means: "The LoRA adapter is loaded after the model, which left too little GPU memory for it. Most of it goes to the GPU: its part for each layer lies where that layer lies.",
		Cures: []cause.Cure{
			{Fix: "fewer_gpu_layers", Title: "Put slightly fewer layers on the GPU", Own: true, Told: "Their part of the adapter moves to RAM with them.", Cost: "slightly slower"},
			{Fix: "lower_context", Title: "Shorten the context", Told: "[[The KV cache for {context} tokens takes {kv}: half the tokens free {half}. ]]", Own: true, Cost: "shorter conversations"},
			does("use_lower_quant", "Use a smaller quantisation of the model", "text", "Q5_K_M instead of Q8_0 frees about a third of the model's size. The adapter still works with it. With several `--lora` options, load only the one you use.", "slight loss of quality"),
		},
		Sources: []string{"llama.cpp/src/llama-adapter.cpp"},
	},
	{
		ID: "llama.cpp/repack", Kinds: refused, If: when.All(plain, repacked), Figures: numbers,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "ran out of system memory (RAM): {asked} for a rearranged copy of the weights",
		Means: "To run faster on the CPU, llama.cpp copies weights into another order while it loads (`CPU_REPACK`). That copy cannot stay in the model file on disk, so all {asked} must fit into free RAM at once.",
		Not:   "Fewer layers on the GPU: that needs more RAM.",
		Cures: []cause.Cure{
			does("use_mmap", "Turn that copy off: `--no-repack`", "text", "Add `--no-repack` (builds since August 2025), and leave out `--no-mmap`. The weights are then read from the file as needed.", "prompts are read slower on the CPU"),
			as("close_other_apps", "Close programs that use RAM", "free"),
			smallerQuant, smallerInstead,
		},
		Sources: []string{"llama.cpp/common/arg.cpp", "https://github.com/ggml-org/llama.cpp/pull/14990"},
	},
	{
		ID: "llama.cpp/router", Kinds: gpuFull, Said: []string{"instance name=", "spawning server instance"}, If: when.All(plain, onGPU, when.Any(bare, buffer("weights", "kv", "compute"))), Figures: numbers,
		Cause: cause.RetainedMemory, Weight: cause.Strong, Headline: "did not have enough GPU memory to load another model in router mode",
		Means: "llama-server runs as a router here. It loads each model that is asked for, and keeps up to 4 loaded at the same time unless told otherwise. If no other model was loaded, this one is too large for the GPU by itself.",
		Cures: []cause.Cure{
			does("restart_session", "Keep one model loaded at a time: `--models-max 1`", "text", "Add it to the router's command. It then unloads the old model before it loads the next.", "models load again at each change"),
			does("fewer_gpu_layers", "To keep two models loaded: give each less", "text", "In the preset file (`--models-preset`) set a small `ctx-size` and fewer `n-gpu-layers` for each model.", "slower, shorter conversations"),
			smallerQuant, smallerInstead,
		},
		Sources: []string{"llama.cpp/tools/server/README.md", "llama.cpp/tools/server/server-models.cpp"},
	},
}
