package fronts

import (
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml"
	"github.com/oomdoc/oomdoc/rules/program/ggml/load"
	"github.com/oomdoc/oomdoc/rules/program/ggml/pool"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

var (
	guarded    = []fact.Kind{fact.LlamaGuard}
	lmSources  = []string{"https://lmstudio.ai/docs/app", "packages/lms-shared-types/src/llm/LLMLoadModelConfig.ts"}
	koboldWiki = "https://github.com/LostRuins/koboldcpp/wiki"
	// projectorFailed are words of a vision projector that failed to load, or was at work.
	projectorFailed = []string{"clip_init: failed", "failed to load clip model", "Failed to load clip model", "failed to load multimodal model", "encode_image_with_clip", "mtmd_helper_eval", "clip_image_batch_encode"}
)

// batchFallsShort: even the batch to try needs more than was free.
func batchFallsShort(c *ledger.Case) bool {
	b := load.BudgetOf(c)
	return b.Free > 0 && b.Batch > 0 && b.WithBatch(ggml.BatchToTry(c)).Sum() > b.Free
}

// koboldCards are KoboldCpp's; parts without one are llama.cpp's.
var koboldCards = []cause.Card{
	{
		ID: "koboldcpp/speech", Kinds: ggml.RefusedKinds, Said: []string{"TTS.CPP Model", "TTS Memory Requested", "kokoro_ipa.embd", "Kokoro IPA"}, Figures: speech,
		Cause: cause.SoftwareBug, Weight: cause.Strong, Headline: "could not load its speech model[[: {asked} was refused]]",
		Means: "It was loading the speech model (`--ttsmodel`), not the text model.[[ Kokoro takes 1 to 2 GiB, so {much} is out of proportion: most likely a bug, as in 1.99 to 1.99.3.]]",
		Not:   "A smaller text model or fewer GPU layers: those were not being loaded.",
		Cures: []cause.Cure{
			{Fix: "upgrade_version", Title: "Update KoboldCpp", Told: "Take 1.99.4 or later. 1.98 worked too.", Cost: "a download"},
			{Fix: "use_smaller_model", Title: "Or start without the speech model", Told: "Leave out `--ttsmodel` (Audio tab: TTS Model), or choose another one.", Cost: "it does not speak"},
			{Fix: "close_other_apps", If: when.Not(speechTooMuch), Title: "Close programs that use RAM", Cost: "free"},
		},
		Sources: []string{"https://github.com/LostRuins/koboldcpp/issues/1750", "https://github.com/LostRuins/koboldcpp/issues/1749", "https://github.com/mmwillet/TTS.cpp/issues/103"}, Solved: 1,
	},
	{
		ID: "koboldcpp/projector", Kinds: ggml.FullKinds, Said: projectorFailed, If: onGPU,
		Cause: cause.ModelTooLarge, Weight: cause.Decisive, Headline: "ran out of GPU memory for the vision part of the model",
		Means: "The vision projector (mmproj), or its work on an image, did not fit on the GPU next to the text model. KoboldCpp's automatic layer count may leave too little room for it.",
		Cures: []cause.Cure{
			does("cpu_offload", "Run the projector on the CPU", "text", "Tick `Vision Force CPU` beside the mmproj file in the launcher, or start with `--mmprojcpu`.", "images are read slowly"),
			as("fewer_gpu_layers", "Lower GPU Layers", "slower"),
		},
		Sources: []string{"koboldcpp.py", "https://github.com/LostRuins/koboldcpp/issues/1454"},
	},
	{
		ID: "koboldcpp/kv", Kinds: ggml.RefusedKinds, Unsaid: []string{"clip_init: failed"}, If: when.All(ggml.Device("kv"), when.Not(ggml.Uneven)),
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "could not load the model: its {asked} KV cache did not fit on the GPU",
		Means:   "The weights fit; the KV cache[[ for {context} tokens]] did not. It grows with Context Size. Its part on the GPU also grows with GPU Layers.",
		Not:     "A smaller batch: the cache does not depend on it.",
		Cures:   []cause.Cure{as("lower_context", "Lower Context Size", "the model sees less of the story"), as("quantize_kv_cache", "Use an 8-bit KV cache (tab Tokens: Quantize KV Cache)", "hardly any loss; older versions then have no ContextShift"), as("fewer_gpu_layers", "Lower GPU Layers", "slower")},
		Sources: []string{"koboldcpp.py", koboldWiki},
	},
	{
		ID: "koboldcpp/compute", Kinds: ggml.RefusedKinds, If: when.All(ggml.Device("compute"), when.Not(diffuses)),
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "could not load the model: a compute buffer of {asked} did not fit",
		Means: "Weights and KV cache fit; the compute buffer, which comes last, did not. It grows with the batch size and, without FlashAttention, with the context.",
		Cures: []cause.Cure{
			{Fix: "lower_ubatch", If: when.Not(batchFallsShort), Title: "Lower the batch size", Cost: "slower prompts"},
			as("lower_context", "Lower Context Size", "the model sees less of the story"), as("fewer_gpu_layers", "Lower GPU Layers", "slower"),
			{Fix: "lower_ubatch", If: batchFallsShort, Title: "Lower the batch size", Cost: "slower prompts"},
		},
		Sources: []string{"koboldcpp.py", koboldWiki},
	},
	{
		ID: "koboldcpp/running", Kinds: ggml.AtWork, If: when.All(onGPU, when.Not(diffuses)),
		Cause: cause.ModelTooLarge, Weight: cause.Good, Headline: "loaded the model, then ran out of GPU memory on a prompt",
		Means:   "Reading a prompt needs working memory on top of the model: often some hundred MB, more for a long prompt. Most often too many layers are on the GPU to leave room for it. Another program may also have taken memory.",
		Cures:   []cause.Cure{as("fewer_gpu_layers", "Lower GPU Layers by two or three", "slightly slower"), as("lower_ubatch", "Lower the batch size", "slower prompts"), as("lower_context", "Lower Context Size", "the model sees less of the story")},
		Sources: []string{"koboldcpp.py", koboldWiki},
	},
	{
		ID: "koboldcpp/weights", Kinds: ggml.RefusedKinds, If: when.All(ggml.Device("weights"), when.Not(ggml.Experts)),
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "could not load the model: its layers did not fit on the GPU",
		Means:   "The GPU had no room for the model's weights[[ ({asked})]]. GPU Layers -1 estimates a fitting number; a number that you type is not checked. The log does not show what else uses the GPU.",
		Not:     "A smaller batch: it failed on the weights.",
		Cures:   []cause.Cure{as("fewer_gpu_layers", "Lower GPU Layers", "slower"), as("close_other_apps", "Close games, browsers and other AI programs", "free"), as("use_lower_quant", "Use a smaller quantisation", "slight loss of quality")},
		Sources: []string{"koboldcpp.py", koboldWiki},
	},
}

// speech says that what a small speech model asks for is far more than it needs.
func speech(c *ledger.Case) map[string]string {
	if speechTooMuch(c) {
		return map[string]string{"much": units.Amount(c.Asked.Bytes)}
	}
	return nil
}

// speechTooMuch: no speech model needs so much.
func speechTooMuch(c *ledger.Case) bool { return c.Asked.Has() && c.Asked.Bytes >= 4*units.GiB }

// Settings of LM Studio that several cards name.
var (
	studioContext = cause.Cure{Fix: "lower_context", Title: "Lower Context Length", Cost: "shorter conversations",
		Steps: func(c *ledger.Case) []step.Step {
			if _, of := ggml.ContextToTry(c); of == 0 {
				return []step.Step{{Kind: "ui", Text: "My Models, gear icon next to the model: halve Context Length (8192 at most), then load it again"}}
			}
			return inStudio("My Models, gear icon next to the model: Context Length %d, then load it again", ggml.ContextToSet)(c)
		}}
	studioBatch  = does("lower_ubatch", "Lower Evaluation Batch Size, turn Flash Attention on", "ui", "My Models, gear icon next to the model, Advanced: halve Evaluation Batch Size (256 instead of 512), Flash Attention on", "prompts are read more slowly")
	studioLayers = cause.Cure{Fix: "fewer_gpu_layers", Title: "Lower GPU Offload (layers on the GPU)", Cost: "slower",
		Told:  "The other layers run on the CPU. If it loads, raise the number until about 1 GiB of the GPU stays free.",
		Steps: inStudio("My Models, gear icon next to the model: GPU Offload %d, then load it again", ggml.LayersToSet)}
	studioCache = cause.Cure{Fix: "quantize_kv_cache", Title: "Use an 8-bit KV cache", Cost: "hardly any loss",
		Told: "It takes half the memory and needs flash attention.",
		Kind: "ui", Text: "My Models, gear icon next to the model, Advanced: Flash Attention on, K and V Cache Quantization Type Q8_0"}
	studioEject = cause.Cure{Fix: "close_other_apps", Title: "Eject other models, close games and browsers", Cost: "free",
		Told: "A model that another chat or the local server uses stays loaded. `lms ps` lists them, `lms unload --all` ejects them."}
	studioTrust = cause.Cure{Fix: "raise_memory_limit", Title: "If you know that it fits: turn the guardrail off", Cost: "the computer may freeze",
		Kind: "ui", Text: "Settings: Model loading guardrails: Relaxed or Off; or just once: hold Alt (Option on a Mac) while you click Load"}
)

func inStudio(setting string, value func(*ledger.Case) int64) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		return []step.Step{{Kind: "ui", Text: fmt.Sprintf(setting, value(c))}}
	}
}

// lmStudioCards are LM Studio's: its guardrail, then what the engine says.
var lmStudioCards = []cause.Card{
	{
		ID: "lm-studio/guard-nan", Kinds: guarded, If: when.Fact("guard_nan"),
		Cause: cause.SoftwareBug, Weight: cause.Decisive, Headline: "refused to load the model: its own estimate failed (NaN)",
		Means: "LM Studio refused before loading anything, because its estimate of the memory came out as NaN (not a number). So nobody knows yet whether the model fits.",
		Not:   "Closing programs or a smaller context: the estimate stays NaN.",
		Cures: []cause.Cure{
			as("upgrade_version", "Update LM Studio and its runtime", "free"),
			{Fix: "raise_memory_limit", Title: "Turn the guardrail off for this load", Cost: "no protection from freezing", Kind: "ui", Text: "Settings: Model loading guardrails: Off; or just once: hold Alt (Option on a Mac) while you click Load"},
		},
		Sources: []string{"https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1038"}, Solved: 1,
	},
	{
		ID: "lm-studio/guard-context", Kinds: guarded, If: ggml.AbsurdEstimate,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "refused to load the model: it estimates {asked}, most likely for the context",
		Means: "LM Studio refused by its own estimate, before loading anything. Weights take about the size of the file, so most of this estimate is probably the context. Some models default to 128k tokens or more.",
		Not:   "A smaller quantisation alone: it does not shrink the context.",
		Cures: []cause.Cure{
			{Fix: "lower_context", Title: "Lower Context Length", Cost: "shorter conversations", Told: "8192 is enough for most chats. The estimate next to the setting changes with it.", Steps: inStudio("My Models, gear icon next to the model: Context Length %d", func(*ledger.Case) int64 { return 8192 })},
			studioCache, studioTrust,
		},
		Sources: []string{"https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1225", "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1202"}, Solved: 1,
	},
	{
		ID: "lm-studio/guard", Kinds: guarded,
		Cause: cause.ModelTooLarge, Weight: cause.Good, Headline: "refused to load the model[[: it estimates {asked}]]",
		Means:   "LM Studio's guardrail refused by an estimate, before loading anything. It compares weights, the whole context and other loaded models with what is free now, and can be too careful. `lms load --estimate-only` with the model's key shows the estimate.",
		Cures:   []cause.Cure{studioEject, studioContext, studioTrust},
		Sources: []string{"https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1562", "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1631", "https://lmstudio.ai/docs/cli/load"},
	},
	{
		ID: "lm-studio/projector", Kinds: ggml.FullKinds, Said: projectorFailed, If: onGPU,
		Cause: cause.ModelTooLarge, Weight: cause.Decisive, Headline: "ran out of GPU memory for the vision part of the model",
		Means: "LM Studio puts the vision projector on the GPU whatever GPU Offload says. The projector, or its work on an image, did not fit.",
		Cures: []cause.Cure{
			studioLayers, studioContext,
			{Fix: "use_smaller_model", Title: "Use a version without vision", Cost: "no images", Kind: "ui", Text: "Discover: choose a download of the model without the eye icon"},
		},
		Sources: []string{"https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1873", "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/2295"},
	},
	{
		ID: "lm-studio/kv-unsized", Kinds: ggml.RefusedKinds, Unsaid: []string{"clip_init: failed"}, If: when.All(ggml.Device("kv"), when.Not(above(1))),
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "could not load the model: no room for the KV cache",
		Means:   "The weights fit. The KV cache, which is reserved for the whole Context Length at once, did not. Some models default to 128k tokens or more, and Max Concurrent Predictions can multiply the cache.",
		Not:     "A smaller evaluation batch: the cache does not depend on it.",
		Cures:   []cause.Cure{studioContext, studioCache, studioLayers},
		Sources: append([]string{"https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/2319"}, lmSources...),
	},
	{
		ID: "lm-studio/kv", Kinds: ggml.RefusedKinds, Unsaid: []string{"clip_init: failed"}, If: when.All(ggml.Device("kv"), above(1)),
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "could not load the model: its {asked} KV cache did not fit on the GPU",
		Means:   "The weights fit; the KV cache[[ for {context} tokens]] did not. It grows with Context Length, and with Max Concurrent Predictions unless the cache is unified.",
		Not:     "A smaller evaluation batch: the cache does not depend on it.",
		Cures:   []cause.Cure{studioContext, studioCache, studioLayers},
		Sources: lmSources,
	},
	{
		ID: "lm-studio/compute-unsized", Kinds: ggml.RefusedKinds, If: when.All(ggml.Device("compute"), when.Not(above(1))),
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "could not load the model: no room for the compute buffer",
		Means: "Weights and KV cache fit. The compute buffer for reading prompts, which comes last, did not. It grows with Evaluation Batch Size and, without Flash Attention, with Context Length.",
		Cures: []cause.Cure{
			studioBatch, studioContext, studioLayers,
		},
		Sources: append([]string{"https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/688"}, lmSources...), Solved: 1,
	},
	{
		ID: "lm-studio/compute", Kinds: ggml.RefusedKinds, If: when.All(ggml.Device("compute"), above(1), when.Not(ggml.AbsurdGraph)),
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "could not load the model: a compute buffer of {asked} did not fit",
		Means: "Weights and KV cache fit. The compute buffer for reading prompts, which comes last, did not. It grows with Evaluation Batch Size and, without Flash Attention, with Context Length.",
		Cures: []cause.Cure{
			studioBatch, studioLayers, studioContext,
		},
		Sources: append([]string{"https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/688"}, lmSources...), Solved: 1,
	},
	{
		ID: "lm-studio/running", Kinds: ggml.AtWork, If: onGPU,
		Cause: cause.ModelTooLarge, Weight: cause.Good, Headline: "loaded the model, then ran out of GPU memory on a prompt",
		Means:   "Reading a prompt needs working memory on top of the model: often some hundred MB, more for a long prompt. Another loaded model, a game or a browser may also use part of the GPU.",
		Cures:   []cause.Cure{studioEject, studioContext, studioLayers},
		Sources: lmSources,
	},
	sharedRAM("lm-studio/shared", studioLayers, lmSources...),
	{
		ID: "lm-studio/weights", Kinds: ggml.RefusedKinds, If: when.All(ggml.Device("weights"), when.Not(ggml.Experts), when.Not(ggml.Shared)),
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "could not load the model: its weights did not fit on the GPU",
		Means: "Either GPU Offload puts more layers on the GPU than its free memory holds, or something else uses the GPU, such as another loaded model.[[ {orLimit}]] The KV cache and compute buffer will come on top.", Figures: studioFigures,
		Not: "A shorter context alone: it failed on the weights.",
		Cures: []cause.Cure{
			either(when.Not(studioVulkan), studioLayers), either(studioVulkan, studioEngine), either(studioVulkan, studioLayers), studioEject,
			{Fix: "use_lower_quant", Title: "Use a smaller quantisation", Cost: "slight loss of quality", Told: "Q4_K_M is about three quarters of a Q6_K, half of a Q8_0. Discover marks the downloads that fit."},
		},
		Sources: lmSources,
	},
}

// studioVulkan: the engine is llama.cpp's Vulkan build, and no size is known that
// would say whether memory or the driver's limit of one buffer refused.
func studioVulkan(c *ledger.Case) bool { return onVulkan(c) && !above(1)(c) }

func studioFigures(c *ledger.Case) map[string]string {
	out := ggml.Numbers(c)
	out["orLimit"] = ""
	if studioVulkan(c) {
		out["orLimit"] = "If memory looks free: with Vulkan a tensor may exceed the driver's limit for one buffer (often 4 GiB; Gemma 3n has such a tensor), or the GPU shares the RAM."
	}
	return out
}

// studioEngine takes another build of llama.cpp.
var studioEngine = cause.Cure{Fix: "upgrade_version", Title: "Try another engine: CUDA or ROCm instead of Vulkan, or another version", Cost: "a download", Told: "If it loads there with the same settings, the limit was Vulkan's.", Kind: "ui", Text: "Settings, Runtime: GGUF engine; install the one for your GPU, or choose the version before, then load again"}

// studioUnnamed is about a buffer of which LM Studio's log does not say what it
// was for.
var studioUnnamed = cause.Card{
	ID: "lm-studio/unnamed", Kinds: []fact.Kind{fact.GGMLAlloc}, If: when.All(onGPU, bare, above(1)),
	Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "could not load the model: {asked} did not fit on the GPU",
	Means:   "The log ends before the line that says what it was for: weights, the KV cache for the whole Context Length, or working memory. LM Studio's estimate can miss some of that, so a model marked as fitting can still fail.",
	Cures:   []cause.Cure{studioLayers, studioContext, studioEject, studioCache},
	Sources: append([]string{"https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/2133"}, lmSources...),
}

// ownScript: Python that the reader writes, not a program with a page.
func ownScript(c *ledger.Case) bool { return !c.In("text-generation-webui", "xinference", "localai") }

// pythonProofs are files of tracebacks that only the binding has.
var pythonProofs = []string{"ValueError: Failed to create llama_context", "llama_cpp.server", "llama_cpp/llama.py", "for LlamaCpp"}

// pythonCards are llama-cpp-python's.
var pythonCards = []cause.Card{
	{
		ID: "llama-cpp-python/projector", Kinds: ggml.FullKinds, Said: projectorFailed, If: when.All(onGPU, ownScript),
		Cause: cause.ModelTooLarge, Weight: cause.Decisive, Headline: "ran out of GPU memory for the vision part of the model",
		Means:   "The vision projector (`clip_model_path`), or its work on an image, did not fit on the GPU next to the text model.",
		Cures:   []cause.Cure{inPython("fewer_gpu_layers", "Lower `n_gpu_layers`", "n_gpu_layers=%d", "slower", ggml.LayersToSet), inPython("lower_context", "Lower `n_ctx`", "n_ctx=%d", "shorter conversations", ggml.ContextToSet)},
		Sources: []string{"llama_cpp/llama_chat_format.py"},
	},
	{
		ID: "llama-cpp-python/again", Kinds: ggml.FullKinds, If: func(c *ledger.Case) bool {
			return c.Signal("notebook") != nil && ggml.Device("weights")(c) && ownScript(c)
		},
		Cause: cause.RetainedMemory, Weight: cause.Fair, Headline: "could not load the weights; an earlier cell may still hold a model",
		Means: "In a notebook a `Llama` object from an earlier cell keeps its memory until you close it or the kernel ends. If there is none, the weights are simply larger than the free memory.",
		Cures: []cause.Cure{
			does("restart_session", "Close the old model, or restart the kernel", "python", "llm.close()\ndel llm", "free"),
			inPython("fewer_gpu_layers", "Lower `n_gpu_layers`", "n_gpu_layers=%d", "slower", ggml.LayersToSet),
		},
		Sources: []string{"llama_cpp/llama.py"},
	},
}

// inPython is an argument where the model is created, as words: the call has
// other arguments that the log does not show.
func inPython(fix, title, argument, cost string, value func(*ledger.Case) int64) cause.Cure {
	return cause.Cure{Fix: fix, Title: title, Cost: cost, Steps: func(c *ledger.Case) []step.Step {
		return []step.Step{{Kind: "text", Text: fmt.Sprintf("Where the model is created, `Llama(...)` (LangChain: `LlamaCpp(...)`): `"+argument+"`.", value(c))}}
	}}
}

// whisperCards are whisper.cpp's: nothing there depends on the length of a file.
var whisperCards = []cause.Card{
	pool.Loading("whisper.cpp"),
	{
		ID: "whisper.cpp/ram", Kinds: []fact.Kind{fact.GGMLAlloc, fact.GGMLLimit, fact.GGMLRuntime}, If: ledger.InHost, Figures: speechFigures,
		Cause: cause.HostMemory, Weight: cause.Strong,
		Headline: "ran out of system memory (RAM): {asked} for the model was refused",
		Means:    "Here the model is loaded into RAM in one block, and transcribing takes up to 1 GB more.[[ {build32}]]",
		Not:      "Cutting the audio into pieces: it failed while loading the model. `-ng`: it saves no RAM.",
		Cures: []cause.Cure{
			{Fix: "use_lower_quant", Title: "Use a quantised model", Told: "`ggml-large-v3-turbo-q5_0.bin` (0.5 GiB), `ggml-medium-q5_0.bin` (0.5 GiB) or `ggml-small-q5_1.bin` (0.2 GiB) from huggingface.co/ggerganov/whisper.cpp, or in a clone {fetch}. Pass the file with `-m`.", Cost: "hardly any loss"},
			{Fix: "close_other_apps", Title: "Close other programs, or enlarge the page file or swap", Told: "{swap}", Cost: "free"},
			does("use_smaller_model", "Use a smaller model", "text", "The next smaller one, such as `ggml-small.bin` or `ggml-base.bin`, with `-m`.", "more mistakes"),
		},
		Sources: []string{"whisper.cpp/README.md", "whisper.cpp/models/README.md", "whisper.cpp/models/download-ggml-model.cmd"},
	},
	{
		ID: "whisper.cpp/processors", Kinds: []fact.Kind{fact.GGMLAlloc, fact.GGMLLimit, fact.GGMLRuntime}, If: when.All(onGPU, severalStates),
		Cause: cause.BatchTooLarge, Weight: cause.Decisive, Headline: "ran out of GPU memory: `-p` runs several copies of its working memory",
		Means: "With `-p` (processors) above 1, whisper.cpp makes caches and working memory for each processor: about 0.7 GB each with a large model, all on the GPU.[[ The model and a first set fit; {asked} more did not.]]",
		Not:   "Cutting the audio into pieces: memory does not grow with its length.",
		Cures: []cause.Cure{
			does("lower_parallel", "Leave out `-p`", "text", "Remove `-p` from the command. The GPU computes one piece at a time anyway. `-t` (threads) may stay.", "hardly slower on a GPU"),
			does("use_lower_quant", "Use a quantised or turbo model", "text", "Download `ggml-large-v3-turbo-q5_0.bin` from huggingface.co/ggerganov/whisper.cpp and pass it with `-m`. It is a fifth of large-v3.", "hardly any loss"),
			does("cpu_offload", "Run it on the CPU", "text", "Add `-ng` (`--no-gpu`).", "several times slower"),
		},
		Sources: []string{"whisper.cpp/src/whisper.cpp", "whisper.cpp/examples/cli/cli.cpp"},
	},
	{
		ID: "whisper.cpp/model", Kinds: []fact.Kind{fact.GGMLAlloc, fact.GGMLLimit, fact.GGMLRuntime}, If: onGPU,
		Cause: cause.ModelTooLarge, Weight: cause.Strong,
		Headline: "ran out of GPU memory for this model",
		Means:    "whisper.cpp reads audio 30 seconds at a time, so its memory depends on the model: about 4 GB for large, 2 for medium, 1 for small. The GPU is too small for that, or something else uses it: check `nvidia-smi` or Task Manager.",
		Not:      "Cutting the audio into pieces: memory does not grow with its length.",
		Cures: []cause.Cure{
			does("use_lower_quant", "Use a quantised or turbo model", "text", "Download `ggml-large-v3-turbo-q5_0.bin` from huggingface.co/ggerganov/whisper.cpp and pass it with `-m` (in an app: choose it among its models). It is a fifth of large-v3 and nearly as good.", "hardly any loss"),
			does("use_smaller_model", "Use a smaller model", "text", "`ggml-medium-q5_0.bin` or `ggml-small.bin` with `-m`. Do not set `-p` (processors): each one takes more memory.", "more mistakes"),
			does("cpu_offload", "Run it on the CPU", "text", "Add `-ng` (`--no-gpu`); in an app, switch the GPU off in its settings.", "several times slower"),
		},
		Sources: []string{"whisper.cpp/README.md", "whisper.cpp/examples/cli/cli.cpp", "whisper.cpp/models/download-ggml-model.sh"},
	},
}

// severalStates: the cache of a second state was made or refused
// (whisper_full_parallel, whisper_init_state).
func severalStates(c *ledger.Case) bool {
	signal := c.Signal("llama_command")
	if signal == nil {
		return false
	}
	words := strings.Fields(signal.Text)
	for i, w := range words[:max(len(words)-1, 0)] {
		if (w == "-p" || w == "--processors") && words[i+1] != "1" && strings.Trim(words[i+1], "0123456789") == "" {
			return true
		}
	}
	return false
}

// speechFigures say where models come from on the reader's system, and what a
// program of 32 bit can have.
func speechFigures(c *ledger.Case) map[string]string {
	out := map[string]string{"fetch": "`sh models/download-ggml-model.sh large-v3-turbo-q5_0`", "swap": "`free -h` shows what is free; with swap it loads, slowly; a container's limit counts too."}
	if c.Windows() {
		out["fetch"] = "`models\\download-ggml-model.cmd large-v3-turbo-q5_0`"
		out["swap"] = "Task Manager, Performance, Memory: \"Committed\" near its limit means the page file is too small (System, Advanced, Performance: Settings, Advanced, Virtual memory)."
	} else if c.Reader.OS == "mac" {
		out["swap"] = "Activity Monitor, tab Memory, shows what uses most."
	}
	if ledger.Requested(c) > 3<<29 {
		out["build32"] = "If much RAM is free: a 32-bit build (Win32, armv7) gets 2 to 3 GB at most; use the x64 one."
	}
	return out
}
