package ollama

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/oomdoc/oomdoc/fit"
	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/era"
	"github.com/oomdoc/oomdoc/rules/program/ggml"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// byOllama: cards of buffers are for Ollama's runner alone.
func byOllama(c *ledger.Case) bool { return c.In("ollama") }

// overCard: more was asked for in one piece than the empty card has.
func overCard(c *ledger.Case) bool {
	whole := cardBytes(c)
	return whole > 0 && ledger.Requested(c) > whole
}

// split: the refused buffer holds the output matrix, which is copied there only
// where that layer stayed in system memory.
func split(c *ledger.Case) bool {
	return c.Explained != nil && strings.Contains(c.Explained.Sentence, "output matrix")
}

func layersKnown(c *ledger.Case) bool { _, of := stated(c); return of > 0 }

// lacking is at most what a last piece that was refused is short of, in whole
// GiB.
func lacking(c *ledger.Case) int64 {
	return min(max(ledger.CeilDiv(ledger.Requested(c), units.GiB), 1), 8)
}

// large: a compute buffer that only a long context makes.
func large(c *ledger.Case) bool { return ledger.Requested(c) >= 2*units.GiB && !split(c) }

// unsized: the weights were refused, and no line says how much they were.
func unsized(c *ledger.Case) bool { return ledger.Requested(c) == 0 }

// forced: the number of layers was set by hand.
var forced = []string{"layers.requested="}

// loadFigures are what the sentences about a load name.
func loadFigures(c *ledger.Case) map[string]string {
	out := map[string]string{
		"card": ggml.FailingCard(c), "plan": amountOf(c, "plan_partial"), "planfree": amountOf(c, "plan_available"), "full": amountOf(c, "plan_full"),
	}
	for _, maker := range []string{"NVIDIA ", "GeForce ", "AMD "} {
		out["card"] = strings.Replace(out["card"], maker, "", 1)
	}
	if whole := cardBytes(c); whole > 0 {
		out["whole"] = units.Amount(whole)
	}
	if keep, of := stated(c); of > 0 {
		out["keep"], out["of"] = fmt.Sprint(keep), fmt.Sprint(of)
	}
	if _, of := ggml.ContextToTry(c); of > 0 {
		out["tokens"] = ledger.Thousands(of)
	} else if held := explained(c, "tokens"); held > 0 {
		out["tokens"] = ledger.Thousands(held)
	}
	if all := allCards(c); all > 0 {
		out["cards"] = fmt.Sprintf("%d GB", all*17/20/1e9)
	}
	if n := ggml.Slots(c); n > 1 {
		out["slots"] = fmt.Sprint(n)
	}
	if onProcessor(c) {
		out["onhost"] = "The KV cache is in RAM: no layer is on the GPU, which only helps with long prompts."
	}
	if c.Contains("-git") {
		out["build"] = "`-git`"
	}
	out["length_since"] = era.Since(c, "ollama", "OLLAMA_CONTEXT_LENGTH")
	out["log"] = logOf(c)
	if era.Lacks(c, "ollama", era.OneSlot) {
		out["slots_then"] = " in this version"
	}
	at, then := ggml.PhysicalBatch(c), fewAtOnce(c)
	out["gib"], out["ub"], out["ubTo"] = fmt.Sprint(lacking(c)), fmt.Sprint(at), fmt.Sprint(then)
	out["quarter"] = units.Amount(ledger.Proportion(ledger.Requested(c), then, at))
	if graph := ledger.Sized(c, "plan_graph"); graph > 0 {
		out["graph"] = units.Amount(graph)
	}
	return out
}

// allCards is what several cards have together, 0 where one is not known.
func allCards(c *ledger.Case) int64 {
	seen, sum := map[int]bool{}, int64(0)
	for _, d := range c.Facts.Devices {
		if d.Index < 0 || seen[d.Index] {
			continue
		}
		seen[d.Index] = true
		bytes := ledger.SizeOf(d.Total)
		if card, ok := fit.Card(d.Name); ok {
			bytes = cmp.Or(bytes, card.TotalBytes)
		}
		if bytes == 0 {
			return 0
		}
		sum += bytes
	}
	if len(seen) < 2 {
		return 0
	}
	return sum
}

const (
	tightPlan = "Ollama estimates how many layers fit on the GPU. Either that was too many[[ ({plan} planned of {planfree} free)]], or something else took memory: another model that is still loaded, a game, the desktop. "
)

var (
	leaveRoom  = either(when.Not(when.Any(layersKnown, noReserve, onProcessor)), does("fewer_gpu_layers", "Make Ollama keep {gib} GiB of the GPU free", "", "a few layers run on the CPU", func(c *ledger.Case) []step.Step { return room(lacking(c))(c) }))
	setLayers  = either(when.All(when.Any(layersKnown, noReserve), when.Not(onProcessor)), does("fewer_gpu_layers", "Put fewer layers on the GPU[[: {keep} instead of {of}]]", "", "slower", layers))
	lessAtOnce = does("lower_context", "Shorten the context and lower the prompt batch", "", "shorter conversations, slower prompts", shortAndSmall)
	smallLack  = func(c *ledger.Case) bool { return ledger.Requested(c) > 0 && ledger.Requested(c) < 2*units.GiB } // a few layers make up for it
	update     = as("upgrade_version", "Update Ollama", "a download")
	eightBit   = either(quantises, does("quantize_kv_cache", "Use an 8-bit KV cache: about half of {asked}", "", "hardly any loss of quality", steps["quantize_kv_cache"]))
	otherSize  = as("use_smaller_model", "Use a smaller model", "lower quality")
)

func shortAndSmall(c *ledger.Case) []step.Step {
	_, of := ggml.ContextToTry(c)
	n := tokens(c)
	if of == 0 && explained(c, "tokens") == 0 { // defaults were 2048 and 4096
		return append([]step.Step{told("If a front end or request sends its own `num_ctx`, lower it there.")}, modelfile(c, "num_ctx 2048", fmt.Sprintf("num_batch %d", fewAtOnce(c)))...)
	}
	return modelfile(c, fmt.Sprintf("num_ctx %d", n), fmt.Sprintf("num_batch %d", fewAtOnce(c)))
}

// fewAtOnce is a quarter of the tokens that are computed at once, 128 at most.
func fewAtOnce(c *ledger.Case) int64 { return max(min(ggml.PhysicalBatch(c)/4, 128), 32) }

// wholeText gives an embedding model context and batch for a piece of text, and
// never more than it has.
func wholeText(c *ledger.Case) []step.Step {
	n := max(min(ggml.PhysicalBatch(c)/2, 2048), 256)
	return modelfile(c, fmt.Sprintf("num_ctx %d", n), fmt.Sprintf("num_batch %d", n))
}

// unplanned: far more working memory was asked for than the plan for the text
// had counted, and the model has an image part (server.go, "projector.weights").
func unplanned(c *ledger.Case) bool {
	graph := ledger.Sized(c, "plan_graph")
	return graph > 0 && ledger.Requested(c) >= 4*graph
}

var loadCards = []cause.Card{
	{
		ID: "ollama/card-taken", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Device("weights", "kv", "compute", ""), ggml.Taken, when.Not(ggml.WholeTexts)), Figures: ggml.TakenFigures,
		Cause: cause.LeakedProcess, Weight: cause.Decisive, Headline: ggml.TakenHeadline, Means: ggml.TakenMeans,
		Cures: []cause.Cure{
			does("kill_stale_process", "See what uses the GPU, and close it", "Often it is another Ollama model (`ollama stop NAME` unloads it), an earlier run, a notebook or a game.", "unsaved work in it is lost", look),
			says("fewer_gpu_layers", "To keep both: remove `num_gpu`", "If the request, Modelfile or front end sets `num_gpu`, remove it. Ollama then puts only as many layers on the GPU as fit into {had}.", "slower"),
		},
		Sources: []string{"ollama/discover/gpu.go", "ollama/llm/server.go"},
	},
	{
		ID: "ollama/num-gpu", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Device("weights"), when.Not(unsized)), Said: forced, Unsaid: []string{"layers.requested=-1"}, Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "put more layers on the GPU than fit: `num_gpu` was set by hand",
		Means: "With `num_gpu` set (`layers.requested` in the log), Ollama puts that many layers on the GPU without checking that they fit. It may be set in the Modelfile, in your front end's model settings or in the request's options.",
		Cures: []cause.Cure{
			says("fewer_gpu_layers", "Remove `num_gpu`", "Delete it from the request or Modelfile, or set it back to default in the front end. Ollama then chooses itself; `ollama ps` shows what (\"30%/70% CPU/GPU\").", "free"),
			otherSize,
		},
		Sources: []string{"ollama/llm/server.go", threads + "9170"},
	},
	{
		ID: "ollama/weights-over", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Device("weights", ""), overCard, when.Not(ggml.Shared)), Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "tried to put {asked} on one GPU: more than it has",
		Means: "A GPU with {whole}[[ ({card})]] cannot hold that even when it is empty. Too many layers were put on it, by Ollama's own estimate or because `num_gpu` is set.",
		Not:   "Closing other programs: this is more than the empty GPU has.",
		Cures: []cause.Cure{
			does("fewer_gpu_layers", "Put fewer layers on the GPU", "If `num_gpu` is set somewhere, remove it first.", "slower: the rest runs on the CPU", layers),
			says("upgrade_version", "Update Ollama", "Newer versions estimate better. They can also keep room on each GPU: set `OLLAMA_GPU_OVERHEAD=1073741824` (1 GiB; 0.3.10 to 0.24) or `LLAMA_ARG_FIT_TARGET=2048` (MiB; from 0.30 on) for the server. Your models are kept.", "a download"),
			says("use_lower_quant", "Use a smaller quantisation of the model", "[[Up to about {cards} fits on all GPUs together with a short context. ]]`ollama list` shows its size now. Smaller tags (such as `q4_K_M`) are on its page at ollama.com/library.", "slight loss of quality"),
		},
		Sources: []string{threads + "3683", "ollama/envconfig/config.go"}, Solved: 1,
	},
	{
		ID: "ollama/vision", Kinds: ggml.FullKinds, Said: ggml.Projects, If: when.All(byOllama, when.Not(ledger.InHost), when.Not(ggml.AbsurdGraph)), Figures: loadFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory on the image part of the model",
		Means: "Vision models need extra GPU memory to read images, and that did not fit beside the text part. Older versions do not count all of it when they choose the layers for the GPU.",
		Cures: []cause.Cure{
			does("fewer_gpu_layers", "Make Ollama keep 2 GiB of the GPU free", "", "slower", room(2)),
			update,
			says("use_smaller_model", "Send smaller images, or use a smaller vision model", "Scale images down to 1024 pixels or less on the longer side. Or try `ollama run gemma3:4b`.", "less detail"),
		},
		Sources: []string{"https://github.com/ollama/ollama/pull/16866", threads + "16496"}, Solved: 1,
	},
	{
		ID: "ollama/one-request", Kinds: ggml.RefusedKinds, Said: []string{runtimeOOM}, If: when.All(byOllama, ggml.Device("compute"), large), Figures: loadFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory: one request needed {asked} of working memory",
		Means: "The model was loaded; then one request needed more than was left. An amount this large usually comes from the request itself: a large image or document, a long prompt, or a long `num_ctx` without flash attention.",
		Cures: []cause.Cure{
			says("lower_batch_size", "Send less in one request", "Send documents page by page, and one image at a time. Scale images down first; 1024 pixels are enough for most text.", "more requests"),
			does("lower_context", "Shorten the context and lower the prompt batch", "", "shorter conversations, slower prompts", shortAndSmall),
			either(when.Not(flashOn), does("enable_flash_attention", "Turn on flash attention", "", "free", steps["enable_flash_attention"])),
		},
		Sources: []string{"ollama/llm/llama_server.go", "ollama/envconfig/config.go"},
	},
	{
		ID: "ollama/at-request", Kinds: ggml.RefusedKinds, Said: []string{runtimeOOM}, If: when.All(byOllama, ggml.Device("compute"), when.Not(large)), Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Good, Headline: "ran out of GPU memory at a request: {asked} of working memory did not fit",
		Means: "The model was loaded; then a request needed a little more than was left, {asked} at most. If you use two models, the other one is the usual reason: it stays loaded for 5 minutes after its last use. Otherwise Ollama filled the GPU too tightly.",
		Cures: []cause.Cure{
			does("close_other_apps", "See which models are loaded, and unload the others", "`ollama stop NAME` unloads one. To keep only one loaded, set `OLLAMA_MAX_LOADED_MODELS=1` for the server, or send `\"keep_alive\": 0` with requests to the other.", "models load again at each change", look),
			lessAtOnce,
			does("lower_gpu_memory_utilization", "Keep 2 GiB of the GPU free: `LLAMA_ARG_FIT_TARGET`", "", "a few layers run on the CPU", room(1)),
		},
		Sources: []string{"ollama/llm/llama_server.go", "ollama/docs/faq.mdx"},
	},
	{
		ID: "ollama/embedding", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Device("compute"), ggml.WholeTexts, when.Not(unsized)), Figures: loadFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory: the embedding model reads {ub} tokens at once",
		Means: "Since 0.30 Ollama's embedding models process a whole text at once, here up to {ub} tokens. The working memory for that did not fit beside what is loaded. Without flash attention it grows with the square of the length.",
		Cures: []cause.Cure{
			does("lower_context", "Shorten the context of the embedding model", "Texts for embeddings usually have 512 to 2048 tokens. Set `num_ctx` and `num_batch` in the request's options, or make a copy of the model:", "longer texts are cut", wholeText),
			does("cpu_offload", "Run the embedding model on the CPU", "The chat model then has the GPU for itself. Send `\"options\": {\"num_gpu\": 0}` in the request, or make a copy of the model:", "slower", func(c *ledger.Case) []step.Step { return modelfile(c, "num_gpu 0") }),
			either(when.Not(flashOn), does("enable_flash_attention", "Turn on flash attention", "", "free where GPU and model support it", steps["enable_flash_attention"])),
		},
		Sources: []string{"ollama/llm/llama_server.go", "ollama/envconfig/config.go"},
	},
	{
		ID: "ollama/image-graph", Kinds: ggml.RefusedKinds, Said: []string{"projector.weights", "projector.graph"}, If: when.All(byOllama, ggml.Device("compute"), unplanned, when.Not(manyRequests)), Figures: loadFigures,
		Cause: cause.SoftwareBug, Weight: cause.Strong, Headline: "ran out of GPU memory: it had not counted the image part of the model",
		Means: "Ollama planned {graph} of working memory, but needed {asked}. The rest is for images: this version reserves memory for the largest image that the model takes, and does not count it when it chooses the layers.",
		Not:   "A shorter context: the image part stays as large.",
		Cures: []cause.Cure{
			does("upgrade_version", "Update Ollama", "Later versions count the image part. Versions since 0.30 run it with flash attention or on the CPU.", "a download", steps["upgrade_version"]),
			says("use_smaller_model", "Until then, take another vision model", "`ollama run gemma3:4b` needs little memory for images. If you only need text, use a model without vision.", "other answers"),
			does("fewer_gpu_layers", "Or run this model on the CPU", "", "slow", func(c *ledger.Case) []step.Step { return modelfile(c, "num_gpu 0") }),
		},
		Sources: []string{"ollama/llm/llama_server.go", threads + "10507"},
	},
	{
		ID: "ollama/requests", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Device("kv", "compute"), manyRequests, when.Not(unsized), when.Not(ggml.AbsurdGraph), when.Not(ggml.WholeTexts)), Figures: loadFigures,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "ran out of GPU memory: it makes room for [[{slots} ]]requests at once",
		Means: "The weights fit, but the memory for the context did not. Ollama reserves the whole `num_ctx`[[ ({tokens} tokens)]] for each of [[{slots} ]]requests at the same time. Versions before 0.10 could choose several by themselves.",
		Cures: []cause.Cure{
			either(ggml.Device("kv"), does("lower_parallel", "Serve one request at a time", "", "others wait", func(c *ledger.Case) []step.Step { return server(c, "OLLAMA_NUM_PARALLEL=1") })),
			either(ggml.Device("compute"), does("lower_parallel", "Serve one request at a time, with flash attention", "One request needs the context only once. Flash attention keeps the working memory small where the GPU and the model support it.", "others wait", func(c *ledger.Case) []step.Step {
				return server(c, "OLLAMA_NUM_PARALLEL=1", "OLLAMA_FLASH_ATTENTION=1")
			})),
			either(ggml.Device("kv"), does("lower_context", "Shorten the context", "", "shorter conversations", context)),
			either(ggml.Device("compute"), lessAtOnce), either(ggml.Device("kv"), eightBit), leaveRoom, setLayers,
		},
		Sources: []string{"ollama/envconfig/config.go", "ollama/docs/faq.mdx"},
	},
	{
		ID: "ollama/flash-attention", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Device("compute"), ggml.ScoresFill), Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Good, Headline: "ran out of GPU memory because flash attention is off",
		Means: "Weights and KV cache fit; the working memory did not. Most of it is the attention matrix for the context[[ of {tokens} tokens]]. Flash attention does not need that matrix.",
		Cures: []cause.Cure{
			does("enable_flash_attention", "Turn on flash attention", "", "free where GPU and model support it", steps["enable_flash_attention"]),
			does("lower_context", "Or shorten the context", "", "shorter conversations", withoutFlash), leaveRoom, setLayers,
		},
		Sources: []string{"ollama/docs/faq.mdx", "ollama/envconfig/config.go"},
	},
	{
		ID: "ollama/kv", Kinds: ggml.RefusedKinds, Unsaid: ggml.Projects, If: when.All(byOllama, ggml.Device("kv"), when.Not(unsized)), Figures: loadFigures,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "ran out of GPU memory: the context is too long",
		Means: "The weights fit; the KV cache for the context[[ of {tokens} tokens]] did not. Your front end, the request (`num_ctx`), the Modelfile or `OLLAMA_CONTEXT_LENGTH` may set a long one. Since 0.15.5 Ollama itself sets 32k tokens with 24 GiB of GPU memory, 256k with 48 GiB.",
		Cures: []cause.Cure{
			does("lower_context", "Shorten the context", "If a front end sends its own `num_ctx`, lower it there.", "shorter conversations", context), eightBit, setLayers, leaveRoom,
		},
		Sources: []string{"ollama/docs/context-length.mdx", "ollama/docs/faq.mdx"},
	},
	{
		ID: "ollama/kv-unsized", Kinds: ggml.RefusedKinds, If: when.All(byOllama, stage("kv"), unsized), Figures: loadFigures,
		Cause: cause.ContextTooLong, Weight: cause.Good, Headline: "had too little memory left for the KV cache of the context",
		Means: "The weights were loaded; the KV cache comes next and did not fit. It grows with `num_ctx` times the number of parallel requests[[ (up to 4 by default{slots_then})]]. The server's log shows just above this whether GPU memory (`on device 0`) or RAM (`CPU buffer`) was short: {log}.",
		Cures: []cause.Cure{
			either(func(c *ledger.Case) bool { return era.Lacks(c, "ollama", era.OneSlot) }, does("lower_parallel", "Serve one request at a time: `OLLAMA_NUM_PARALLEL=1`", "The cache is then up to four times smaller.", "others wait", func(c *ledger.Case) []step.Step { return server(c, "OLLAMA_NUM_PARALLEL=1") })),
			does("lower_context", "Shorten the context", "", "shorter conversations", context),
			does("close_other_apps", "See what else is loaded", "A second loaded model takes memory for its own weights and cache.", "free", look),
			either(quantises, does("quantize_kv_cache", "Use an 8-bit KV cache: about half", "", "hardly any loss of quality", steps["quantize_kv_cache"])),
		},
		Sources: []string{"ollama/envconfig/config.go", "ollama/docs/faq.mdx", "llama.cpp/src/llama-kv-cache.cpp"},
	},
	{
		ID: "ollama/compute-no-flash", Kinds: ggml.RefusedKinds, Said: []string{"flash attention enabled but not supported"}, Unsaid: flashWords, If: when.All(byOllama, ggml.Device("compute"), when.Not(ggml.AbsurdGraph)), Figures: loadFigures,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "ran out of GPU memory: working memory of {asked} for the context did not fit",
		Means: "Weights and KV cache fit; the working memory did not. Ollama cannot use flash attention for this model or GPU (the log says so). Without it this memory grows with the context[[ ({tokens} tokens)]] times the prompt batch.",
		Cures: []cause.Cure{
			does("lower_context", "Shorten the context and lower the prompt batch", "A `num_batch` of {ubTo} instead of {ub} needs about {quarter}.", "shorter conversations, slower prompts", shortAndSmall),
			setLayers, leaveRoom, update,
		},
		Sources: []string{"ollama/llm/server.go", threads + "9782"},
	},
	{
		ID: "ollama/compute-split", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Device("compute"), split, when.Not(ggml.AbsurdGraph)), Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "put too much of the model on the GPU: {asked} of working memory did not fit",
		Means:   "Weights and KV cache fit; the working memory, which comes last, did not. So {asked} at most is missing. Ollama put as many layers on the GPU as it thought would fit, and that was too many[[ ({plan} of {planfree} free)]], or another program took memory.",
		Cures:   []cause.Cure{leaveRoom, setLayers, lessAtOnce, otherSize},
		Sources: []string{"ollama/envconfig/config.go", "llama.cpp/src/llama-context.cpp", threads + "9782"},
	},
	{
		ID: "ollama/compute-large", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Device("compute"), large, when.Not(ggml.AbsurdGraph)), Figures: loadFigures,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "ran out of GPU memory: working memory of {asked} for the context did not fit",
		Means: "Weights and KV cache fit; the working memory did not. When it is this large, it usually comes from a long context[[ ({tokens} tokens)]] without flash attention. It grows with the context times the prompt batch.[[ {onhost}]]",
		Cures: []cause.Cure{
			does("lower_context", "Shorten the context and lower the prompt batch", "A `num_batch` of {ubTo} instead of {ub} needs about {quarter}; a shorter context lowers it further.", "shorter conversations, slower prompts", shortAndSmall),
			either(func(c *ledger.Case) bool { return era.Lacks(c, "ollama", "OLLAMA_FLASH_ATTENTION") }, says("upgrade_version", "Update Ollama, then turn on flash attention", "0.1.39 and later have `OLLAMA_FLASH_ATTENTION=1` for the server. It saves most of this memory. Your models are kept.", "a download")),
			either(quantises, does("enable_flash_attention", "Turn on flash attention with an 8-bit KV cache", "It works only for models that support it.", "hardly any loss", steps["quantize_kv_cache"])),
			leaveRoom, setLayers,
			either(when.All(onProcessor, func(c *ledger.Case) bool { return c.Backend == "cuda" }), does("cpu_offload", "Hide the GPU from Ollama", "No layer is on it here. The CPU then does all the work, in RAM.", "slower prompts", func(c *ledger.Case) []step.Step { return server(c, "CUDA_VISIBLE_DEVICES=-1") })),
		},
		Sources: []string{"ollama/docs/faq.mdx", threads + "8667"},
	},
	{
		ID: "ollama/compute", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Device("compute"), when.Not(ggml.AbsurdGraph), when.Not(unsized)), Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Good, Headline: "put too much of the model on the GPU: {asked} of working memory did not fit",
		Means:   "Weights and KV cache fit; the working memory, which comes last, did not. So {asked} at most is missing. " + strings.TrimSpace(tightPlan),
		Cures:   []cause.Cure{leaveRoom, setLayers, lessAtOnce, either(smallLack, update), either(when.Not(smallLack), otherSize)},
		Sources: []string{"ollama/envconfig/config.go", threads + "8471"},
	},
	{
		ID: "ollama/experts", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Device("weights"), ggml.Experts, when.Not(unsized)), Figures: loadFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "put more layers on the GPU than fit: {asked} of weights",
		Means: "This is a mixture-of-experts (MoE) model, and its layers are large. Ollama's estimate put too many of them on the GPU. KV cache and working memory still come on top. Ollama has no option of its own to keep only the experts in RAM.",
		Not:   "A shorter context alone: the weights come first, and they did not fit.",
		Cures: []cause.Cure{
			either(layersKnown, does("fewer_gpu_layers", "Put {keep} instead of {of} layers on the GPU", "", "slower", layers)),
			either(when.Not(layersKnown), does("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower", layers)),
			does("lower_gpu_memory_utilization", "Or make Ollama keep 4 GiB of the GPU free", "If it still fails, raise it.", "a few layers run on the CPU", room(4)),
			says("use_smaller_model", "Run this model in llama.cpp", "Its option `--n-cpu-moe` keeps experts in RAM and everything else on the GPU. That is faster than whole layers in RAM.", "another program"),
		},
		Sources: []string{threads + "8447", "ollama/envconfig/config.go", "llama.cpp/common/arg.cpp"}, Solved: 1,
	},
	{
		ID: "ollama/weights-unsized", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Device("weights"), unsized), Figures: loadFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "did not load the model: its weights did not fit on the GPU",
		Means: "Either Ollama's estimate put too many layers on the GPU, or something else uses it: another model that is still loaded, a game, the desktop. The server's log above this line shows how much it asked for and what was free.",
		Not:   "A shorter context alone: the weights come first, and they did not fit.",
		Cures: []cause.Cure{
			does("close_other_apps", "See what uses the GPU, and unload it", "`ollama stop NAME` unloads a model that is still loaded. Then close games and other AI programs.", "free", look),
			does("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower: the rest runs on the CPU", layers),
			otherSize,
		},
		Sources: []string{"ollama/llm/server.go", threads + "5764", threads + "11265"},
	},
	{
		ID: "ollama/weights", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Device("weights"), when.Not(modern), when.Not(unsized)), Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Good, Headline: "put more of the model on the GPU than fits: {asked} of weights",
		Means: tightPlan + "KV cache and working memory still come on top of the weights.",
		Not:   "A shorter context alone: the weights come first, and they did not fit.",
		Cures: []cause.Cure{
			does("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower: the rest runs on the CPU", layers),
			does("close_other_apps", "See what else uses the GPU, and unload it", "`ollama stop NAME` unloads a model that is still loaded. Then close games and other AI programs.", "free", look),
			either(when.Not(noReserve), does("lower_gpu_memory_utilization", "Make Ollama keep 1 GiB of the GPU free", "", "a few layers run on the CPU", room(1))), update,
		},
		Sources: []string{"ollama/envconfig/config.go", threads + "8447", threads + "8471"}, Solved: 1,
	},
	{
		ID: "ollama/modern", Kinds: ggml.RefusedKinds, Said: modernWords, If: when.All(byOllama, ggml.Device("", "weights")), Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "did not start the model: the GPU had too little memory[[ for {asked} more]]",
		Means: "Since 0.30 Ollama runs llama-server, which puts only as many layers on the GPU as fit, and keeps 1 GiB free. That was not enough here. A set `num_gpu` turns this off, and another program may have taken memory in between.",
		Cures: []cause.Cure{
			does("fewer_gpu_layers", "Make Ollama keep 2 GiB of the GPU free: `LLAMA_ARG_FIT_TARGET`", "If a Modelfile, front end or request sets `num_gpu`, remove that first.", "a few layers run on the CPU", room(1)),
			does("close_other_apps", "See what uses the GPU, and unload it", "`ollama stop NAME` unloads a model that is listed. Then close games and other AI programs.", "free", look),
			does("lower_context", "Shorten the context", "", "shorter conversations", context), otherSize,
		},
		Sources: []string{"ollama/llm/llama_server.go", "ollama/envconfig/config.go", "llama.cpp/common/fit.cpp"},
	},
	{
		ID: "ollama/part-large", Kinds: ggml.BufferKinds, If: when.All(byOllama, ggml.Device(""), when.Not(ggml.Shared), func(c *ledger.Case) bool { return ledger.Requested(c) >= 3*units.GiB }), Figures: loadFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "put more on the GPU than fits: {asked} did not fit",
		Means: "An amount this large is usually the weights of the layers for this GPU. Either Ollama's estimate put too many layers there, or something else uses the GPU: another model that is still loaded, a game, the desktop.",
		Cures: []cause.Cure{
			does("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower: the rest runs on the CPU", layers),
			does("close_other_apps", "See what uses the GPU, and unload it", "`ollama stop NAME` unloads a model that is listed. Then close games and other AI programs.", "free", look),
			does("lower_gpu_memory_utilization", "Make Ollama keep 2 GiB of the GPU free", "", "a few layers run on the CPU", room(2)),
		},
		Sources: []string{"ollama/llm/server.go", threads + "8447"},
	},
	{
		ID: "ollama/part", Kinds: ggml.BufferKinds, If: when.All(byOllama, ggml.Device(""), when.Not(ggml.Shared)), Figures: loadFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "did not load the model: the GPU had too little free memory",
		Means: "These lines do not say for which part of the model. It is too large for this GPU, another model is still loaded, or Ollama's estimate put too many layers on the GPU. The server's log shows more: {log}.",
		Cures: []cause.Cure{
			does("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower", room(1)),
			does("close_other_apps", "See what uses the GPU, and unload it", "`ollama stop NAME` unloads a model that is still loaded. Then close games and other AI programs.", "free", look), otherSize,
		},
		Sources: []string{"ollama/llm/server.go", threads + "5113", threads + "5764"},
	},
}
