package ggml

import (
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/when"
)

var (
	guarded    = []fact.Kind{fact.LlamaGuard}
	lmSources  = []string{"https://lmstudio.ai/docs/app", "packages/lms-shared-types/src/llm/LLMLoadModelConfig.ts"}
	koboldWiki = "https://github.com/LostRuins/koboldcpp/wiki"
)

// koboldCards are KoboldCpp's; parts without one are llama.cpp's.
var koboldCards = []cause.Card{
	{
		ID: "koboldcpp/projector", Kinds: gpuFull, Said: projects, If: onGPU,
		Cause: cause.ModelTooLarge, Weight: 0.7,
		Means: "The text model was in place; the vision projector (mmproj), or its work on an image, found no room on the card. KoboldCpp's automatic layers leave little for it.",
		Cures: []cause.Cure{
			does("cpu_offload", "Keep the projector off the card", "text", "Tick `Vision Force CPU` beside the mmproj file in the launcher, or start with `--mmprojcpu`.", "images are read slowly"),
			as("fewer_gpu_layers", "Or fewer layers on the card", "slower"),
		},
		Sources: []string{"koboldcpp.py", "https://github.com/LostRuins/koboldcpp/issues/1454"},
	},
	{
		ID: "koboldcpp/kv", Kinds: refused, If: when.All(device("kv"), when.Not(uneven)),
		Cause: cause.ContextTooLong, Weight: 0.82,
		Means:   "The weights fit; the KV cache found no room: {asked}. It grows with the context size of the launcher and with the layers on the card; Low VRAM keeps it in system memory instead.",
		Not:     "A smaller BLAS batch: the cache does not depend on it.",
		Cures:   []cause.Cure{as("lower_context", "A smaller context size", "shorter memory of the story"), as("quantize_kv_cache", "Or an 8-bit cache", "slight loss; no ContextShift"), as("fewer_gpu_layers", "Or fewer GPU layers", "slower")},
		Sources: []string{"koboldcpp.py", koboldWiki},
	},
	{
		ID: "koboldcpp/compute", Kinds: refused, If: when.All(device("compute"), when.Not(diffuses)),
		Cause: cause.BatchTooLarge, Weight: 0.55,
		Means:   "Weights and cache had room; the working buffer, {asked}, found none. It grows with the BLAS batch size and, without FlashAttention, with the context. Only about that much is missing.",
		Cures:   []cause.Cure{as("lower_ubatch", "A smaller BLAS batch", "slower prompts"), as("lower_context", "Or a smaller context size", "shorter memory of the story"), as("fewer_gpu_layers", "Or fewer GPU layers", "slightly slower")},
		Sources: []string{"koboldcpp.py", koboldWiki},
	},
	{
		ID: "koboldcpp/weights", Kinds: refused, If: when.All(device("weights"), when.Not(mixtureOfExperts)),
		Cause: cause.ModelTooLarge, Weight: 0.78,
		Means:   "The card refused the model's layers, {asked}, before any context was made. The launcher's automatic layers go by the file's size and by what was free when it looked; a number typed by hand is not checked.",
		Not:     "A smaller context or batch: neither was reached.",
		Cures:   []cause.Cure{as("fewer_gpu_layers", "Fewer GPU layers", "slower"), as("use_lower_quant", "Or a smaller quantisation", "slight loss of quality"), as("close_other_apps", "Close games and browsers", "free")},
		Sources: []string{"koboldcpp.py", koboldWiki},
	},
}

// lmStudioCards are LM Studio's: its guardrail, then what the engine says.
var lmStudioCards = []cause.Card{
	{
		ID: "lm-studio/guard-nan", Kinds: guarded, If: when.Fact("guard_nan"),
		Cause: cause.SoftwareBug, Weight: 0.88,
		Means: "No memory was asked for: LM Studio's guardrail computed its estimate as NaN for this kind of model and refused because of that.",
		Not:   "Closing programs or a smaller context: the estimate stays NaN.",
		Cures: []cause.Cure{
			as("upgrade_version", "Update LM Studio and its runtime", "free"),
			does("raise_memory_limit", "Or switch the guardrail off for this load", "ui", "Settings (developer mode or power user): Model loading guardrails: Off; or hold Alt (Option on a Mac) and choose Load anyway", "no protection from freezing"),
		},
		Sources: []string{"https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1038"}, Solved: 1,
	},
	{
		ID: "lm-studio/guard-context", Kinds: guarded, If: absurdEstimate,
		Cause: cause.ContextTooLong, Weight: 0.8,
		Means: "LM Studio refused by its own estimate before it loaded anything. {asked} is far more than the file: nearly all of it is the context, which some models take at 128k and more by themselves.",
		Not:   "A smaller quantisation: it changes the small part of that sum.",
		Cures: []cause.Cure{
			as("lower_context", "Set the context length you need", "shorter conversations"),
			as("quantize_kv_cache", "Or an 8-bit cache", "slight loss of quality"),
			does("raise_memory_limit", "If you know that it fits: guardrail off", "ui", "Settings: Model loading guardrails: Relaxed or Off", "the computer may freeze"),
		},
		Sources: []string{"https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1225", "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1202"}, Solved: 1,
	},
	{
		ID: "lm-studio/guard", Kinds: guarded,
		Cause: cause.ModelTooLarge, Weight: 0.6,
		Means: "LM Studio's guardrail refused by an estimate; nothing was loaded. It counts weights and the whole context, and what another loaded model holds as taken, so it can be too careful.",
		Cures: []cause.Cure{
			does("restart_session", "Eject other models first", "ui", "Developer or chat page: eject every loaded model, then load this one", "free"),
			as("lower_context", "Then a shorter context", "shorter conversations"),
			does("raise_memory_limit", "If you know that it fits: guardrail off", "ui", "Settings: Model loading guardrails: Relaxed or Off", "the computer may freeze"),
		},
		Sources: []string{"https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1562", "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1631"},
	},
	{
		ID: "lm-studio/projector", Kinds: gpuFull, Said: projects, If: onGPU,
		Cause: cause.ModelTooLarge, Weight: 0.65,
		Means: "It is a vision model: the text part was in place, and the vision projector, which LM Studio always puts on the card, or its work on an image found no room.",
		Cures: []cause.Cure{
			as("fewer_gpu_layers", "Leave it room: lower GPU Offload", "slower"),
			as("lower_context", "Or a shorter context", "shorter conversations"),
			does("use_smaller_model", "Or a version without vision", "ui", "Discover: choose a download of the model without the eye sign", "no images"),
		},
		Sources: []string{"https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1873", "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/2295"},
	},
	{
		ID: "lm-studio/kv", Kinds: refused, If: device("kv"),
		Cause: cause.ContextTooLong, Weight: 0.82,
		Means:   "The weights fit; the cache for the context did not: {asked}. It grows with Context Length and with Max Concurrent Predictions.",
		Not:     "A smaller evaluation batch: the cache does not depend on it.",
		Cures:   []cause.Cure{as("lower_context", "A shorter context", "shorter conversations"), as("quantize_kv_cache", "Or an 8-bit cache", "slight loss of quality"), as("fewer_gpu_layers", "Or lower GPU Offload", "slower")},
		Sources: lmSources,
	},
	{
		ID: "lm-studio/weights", Kinds: refused, If: when.All(device("weights"), when.Not(mixtureOfExperts)),
		Cause: cause.ModelTooLarge, Weight: 0.78,
		Means: "The card refused the weights, {asked}, before any context was made. GPU Offload asks for more layers than the free memory holds, or something else is on the card, such as another loaded model.",
		Not:   "A shorter context: it failed before any was made.",
		Cures: []cause.Cure{
			as("fewer_gpu_layers", "Lower GPU Offload", "slower"),
			does("restart_session", "Eject other models", "ui", "Developer or chat page: eject every loaded model, then load this one", "free"),
			as("use_lower_quant", "Or download a smaller quantisation", "slight loss of quality"),
		},
		Sources: lmSources,
	},
}

// ownScript: Python that the reader writes, not a program with a page.
func ownScript(c *ledger.Case) bool { return !c.In("text-generation-webui", "xinference", "localai") }

// pythonProofs are files of tracebacks that only the binding has.
var pythonProofs = []string{"ValueError: Failed to create llama_context", "llama_cpp.server", "llama_cpp/llama.py", "for LlamaCpp"}

// pythonCards are llama-cpp-python's.
var pythonCards = []cause.Card{
	{
		ID: "llama-cpp-python/projector", Kinds: gpuFull, Said: projects, If: when.All(onGPU, ownScript),
		Cause: cause.ModelTooLarge, Weight: 0.65,
		Means:   "The text model was in place; the vision projector of the chat handler (`clip_model_path`), or its work on an image, found no room on the card.",
		Cures:   []cause.Cure{as("fewer_gpu_layers", "Leave it room: fewer layers on the card", "slower"), as("lower_context", "Or a shorter context", "shorter conversations")},
		Sources: []string{"llama_cpp/llama_chat_format.py"},
	},
	{
		ID: "llama-cpp-python/again", Kinds: gpuFull, If: func(c *ledger.Case) bool { return c.Signal("notebook") != nil && device("weights")(c) && ownScript(c) },
		Cause: cause.RetainedMemory, Weight: 0.5,
		Means: "This runs in a notebook. A `Llama` object from an earlier cell, even one whose creation failed halfway, keeps its memory until it is closed or the kernel ends, and the card then refuses the second.",
		Cures: []cause.Cure{
			does("restart_session", "Close the old model, or restart the kernel", "python", "llm.close()\ndel llm", "free"),
			as("fewer_gpu_layers", "Then fewer layers on the card", "slower"),
		},
		Sources: []string{"llama_cpp/llama.py"},
	},
}

// whisperCards are whisper.cpp's: nothing there depends on the length of a file.
var whisperCards = []cause.Card{
	{
		ID: "whisper.cpp/model", Kinds: []fact.Kind{fact.GGMLAlloc, fact.GGMLLimit, fact.GGMLRuntime}, If: onGPU,
		Cause: cause.ModelTooLarge, Weight: 0.8,
		Headline: "ran out of the card's memory with this model",
		Means:    "[[It was refused {asked} on the card. ]]whisper.cpp takes audio in pieces of 30 seconds, so that its memory follows the model alone: about 4 GB for large, 2 for medium, 1 for small. The card had less free than that: it is small for this model, or something else is on it; `nvidia-smi` (any system: the task manager) tells.",
		Not:      "Cutting the audio into pieces: memory does not grow with its length.",
		Cures: []cause.Cure{
			does("use_lower_quant", "Use a quantised or turbo model", "text", "Download `ggml-large-v3-turbo-q5_0.bin` (`models/download-ggml-model.sh large-v3-turbo-q5_0`) and pass it with `-m`: a fifth of large-v3, nearly as good.", "hardly any loss"),
			does("use_smaller_model", "Or a smaller one", "text", "`ggml-medium-q5_0.bin` or `ggml-small.bin` with `-m`; `-p` (processors) above 1 makes a state for each: leave it at 1.", "more mistakes"),
			does("cpu_offload", "Or run it without the card", "text", "Add `-ng` (`--no-gpu`).", "several times slower"),
		},
		Sources: []string{"whisper.cpp/README.md", "whisper.cpp/examples/cli/cli.cpp", "whisper.cpp/models/download-ggml-model.sh"},
	},
}
