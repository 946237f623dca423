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
		out["onhost"] = "The KV cache itself lies in RAM: no layer is on the GPU, which only computes long prompts."
	}
	if c.Contains("-git") {
		out["build"] = "`-git`"
	}
	out["length_since"] = era.Since(c, "ollama", "OLLAMA_CONTEXT_LENGTH")
	out["log"] = logOf(c)
	if era.Lacks(c, "ollama", era.OneSlot) {
		out["slots_then"] = " in versions of that time"
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
	tightPlan = "Ollama estimates how many layers fit on the GPU, and the estimate was too tight[[ ({plan} planned of {planfree} free)]], or something else took memory (another model that is still loaded, a game, the desktop). "
)

var (
	leaveRoom  = either(when.Not(when.Any(layersKnown, noReserve, onProcessor)), does("fewer_gpu_layers", "Keep {gib} GiB of the GPU out of Ollama's plan", "A few layers then run on the CPU.", "slower", func(c *ledger.Case) []step.Step { return room(lacking(c))(c) }))
	setLayers  = either(when.All(when.Any(layersKnown, noReserve), when.Not(onProcessor)), does("fewer_gpu_layers", "Put fewer layers on the GPU[[: {keep} instead of {of}]]", "", "slower", layers))
	lessAtOnce = does("lower_context", "Shorten the context and lower the prompt batch", "", "shorter conversations, slower prompts", shortAndSmall)
	smallLack  = func(c *ledger.Case) bool { return ledger.Requested(c) > 0 && ledger.Requested(c) < 2*units.GiB } // a few layers make up for it
	update     = as("upgrade_version", "Update Ollama", "a download")
	eightBit   = does("quantize_kv_cache", "Use an 8-bit KV cache: about half of {asked}", "", "hardly any loss of quality; needs flash attention", steps["quantize_kv_cache"])
	otherSize  = as("use_smaller_model", "Use a smaller model", "lower quality")
)

func shortAndSmall(c *ledger.Case) []step.Step {
	n, of := ggml.ContextToTry(c)
	if of == 0 && explained(c, "tokens") == 0 { // defaults were 2048 and 4096
		return append([]step.Step{told("A front end's or request's own `num_ctx` overrides this: lower it there.")}, modelfile(c, "num_ctx 2048", fmt.Sprintf("num_batch %d", fewAtOnce(c)))...)
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
			does("kill_stale_process", "See which process holds the GPU, and end it", "It may be an earlier run, a notebook or another model server; `ollama stop NAME` unloads a model of Ollama's own.", "what it had not saved", look),
			says("fewer_gpu_layers", "Keep both: leave the layers to Ollama", "If the request, Modelfile or front end sets `num_gpu`, remove it: Ollama then counts what fits into {had}.", "slower"),
		},
		Sources: []string{"ollama/discover/gpu.go", "ollama/llm/server.go"},
	},
	{
		ID: "ollama/num-gpu", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Device("weights")), Said: forced, Unsaid: []string{"layers.requested=-1"}, Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "put more layers on the GPU than fit: `num_gpu` was set by hand",
		Means: "`num_gpu` is set (`layers.requested` in the log), so Ollama put that many layers on the GPU without counting, and the weights, {asked}, did not fit. It is set in a Modelfile, in a front end's model settings or in the request's options.",
		Cures: []cause.Cure{
			says("fewer_gpu_layers", "Remove `num_gpu`", "Take `num_gpu` out of the request or Modelfile; in a front end set it back to its default. `ollama ps` then shows what Ollama chooses (\"30%/70% CPU/GPU\").", "free"),
			otherSize,
		},
		Sources: []string{"ollama/llm/server.go", threads + "9170"},
	},
	{
		ID: "ollama/weights-over", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Device("weights", ""), overCard, when.Not(ggml.Shared)), Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "planned {asked} of weights for one GPU: more than it has",
		Means: "It asked for {asked} in one piece, and a GPU of {whole}[[ ({card})]] cannot give that even when it is empty; KV cache and working memory would come on top. Too many layers were chosen for it, by Ollama's plan or by a `num_gpu` that is set.",
		Not:   "Closing other programs: the weights alone are too large.",
		Cures: []cause.Cure{
			does("fewer_gpu_layers", "Put about 15 % fewer layers on the GPUs", "", "slower: the rest runs on the CPU", layers),
			says("upgrade_version", "Update Ollama", "The split of a model over several GPUs was reworked several times. Newer versions can also keep room on each: `OLLAMA_GPU_OVERHEAD=1073741824` (1 GiB; 0.3.10 to 0.24), `LLAMA_ARG_FIT_TARGET=2048` (MiB; from 0.30 on), set for the server. Models are kept.", "a download"),
			says("use_lower_quant", "Use a smaller quantisation of the model", "[[Up to about {cards} fits on all GPUs together with a short context. ]]`ollama list` shows its size now; tags with fewer bits are on its page at ollama.com/library.", "slight loss of quality"),
		},
		Sources: []string{threads + "3683", "ollama/envconfig/config.go"}, Solved: 1,
	},
	{
		ID: "ollama/vision", Kinds: ggml.FullKinds, Said: ggml.Projects, If: when.All(byOllama, when.Not(ledger.InHost), when.Not(ggml.AbsurdGraph)), Figures: loadFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Likely, Headline: "ran out of GPU memory on the image part of the model",
		Means: "It failed at the image part of the model: the vision projector, or the work on an image, did not fit[[: {asked} more was wanted]]. Older versions do not count all of that when they choose the layers for the GPU.",
		Cures: []cause.Cure{
			does("fewer_gpu_layers", "Keep 2 GiB of the GPU out of Ollama's plan", "", "slower", room(2)),
			update,
			says("use_smaller_model", "Send smaller images, or use a smaller vision model", "Images of 1024 pixels or less take fewer tokens in most vision models.", "less detail"),
		},
		Sources: []string{"https://github.com/ollama/ollama/pull/16866", threads + "16496"}, Solved: 1,
	},
	{
		ID: "ollama/one-request", Kinds: ggml.RefusedKinds, Said: []string{runtimeOOM}, If: when.All(byOllama, ggml.Device("compute"), large), Figures: loadFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory: one request needed {asked} of working memory",
		Means: "The model was loaded and ran; the working memory for one request was refused. {asked} usually comes from what that request holds: a large image or document, a long prompt, or a long `num_ctx` without flash attention.",
		Cures: []cause.Cure{
			says("lower_batch_size", "Send less in one request", "Send a document page by page, and one image at a time, scaled down first (1024 pixels are enough for most text).", "more requests"),
			does("lower_context", "Shorten the context and lower the prompt batch", "", "shorter conversations, slower prompts", shortAndSmall),
			does("enable_flash_attention", "Turn on flash attention", "", "free", steps["enable_flash_attention"]),
		},
		Sources: []string{"ollama/llm/llama_server.go", "ollama/envconfig/config.go"},
	},
	{
		ID: "ollama/at-request", Kinds: ggml.RefusedKinds, Said: []string{runtimeOOM}, If: when.All(byOllama, ggml.Device("compute"), when.Not(large)), Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Good, Headline: "ran out of GPU memory at a request: {asked} of working memory did not fit",
		Means: "The model was loaded; the working memory for a request was refused: at most {asked} is missing. Where two models take turns, the usual reason is the other one: it stays loaded for 5 minutes after its last use. Otherwise the plan was too tight.",
		Cures: []cause.Cure{
			does("close_other_apps", "See which models are loaded, and unload the others", "`ollama stop NAME` unloads one. For good: `OLLAMA_MAX_LOADED_MODELS=1` for the server, or `\"keep_alive\": 0` in the request before.", "models load again at each change", look),
			lessAtOnce,
			does("lower_gpu_memory_utilization", "Keep 2 GiB of the GPU free: `LLAMA_ARG_FIT_TARGET`", "", "a few layers run on the CPU", room(1)),
		},
		Sources: []string{"ollama/llm/llama_server.go", "ollama/docs/faq.mdx"},
	},
	{
		ID: "ollama/embedding", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Device("compute"), ggml.WholeTexts), Figures: loadFigures,
		Cause: cause.BatchTooLarge, Weight: cause.Strong, Headline: "ran out of GPU memory: the embedding model reads {ub} tokens at once",
		Means: "Since 0.30 an embedding model computes a whole text at once: 2048 tokens, or as `num_batch` and the context allow, {ub} here. That working memory, {asked}, did not fit beside what is loaded. Without flash attention it grows with the square of that length.",
		Cures: []cause.Cure{
			does("lower_context", "Shorten the context of the embedding model", "Pieces for embeddings mostly have 512 to 2048 tokens. `num_ctx` and `num_batch` in the request's options, or a copy of the model:", "longer texts are cut", wholeText),
			does("cpu_offload", "Run the embedding model on the CPU", "The chat model then keeps the GPU: `\"options\": {\"num_gpu\": 0}` in the request, or a copy of it:", "slower", func(c *ledger.Case) []step.Step { return modelfile(c, "num_gpu 0") }),
			does("enable_flash_attention", "Turn on flash attention", "", "free where card and model have it", steps["enable_flash_attention"]),
		},
		Sources: []string{"ollama/llm/llama_server.go", "ollama/envconfig/config.go"},
	},
	{
		ID: "ollama/image-graph", Kinds: ggml.RefusedKinds, Said: []string{"projector.weights", "projector.graph"}, If: when.All(byOllama, ggml.Device("compute"), unplanned, when.Not(manyRequests)), Figures: loadFigures,
		Cause: cause.SoftwareBug, Weight: cause.Strong, Headline: "asked for {asked} of working memory, where {graph} was planned: the image part",
		Means: "The plan counts {graph} of working memory for the text. {asked} was asked for: the image part of the model, which the new engine reserves for the largest image that it takes, and which these versions did not count.",
		Not:   "A shorter context: the image part stays as large.",
		Cures: []cause.Cure{
			does("upgrade_version", "Update Ollama", "Later versions measure the image part, and those since 0.30 run it with flash attention or on the CPU.", "a download", steps["upgrade_version"]),
			says("use_smaller_model", "Until then, take another vision model", "`ollama run gemma3:4b` takes images of one size only and needs little for them; for text alone a model without image part.", "other answers"),
			does("fewer_gpu_layers", "Or run this model on the CPU", "", "slow", func(c *ledger.Case) []step.Step { return modelfile(c, "num_gpu 0") }),
		},
		Sources: []string{"ollama/llm/llama_server.go", threads + "10507"},
	},
	{
		ID: "ollama/requests", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Device("kv", "compute"), manyRequests, when.Not(ggml.AbsurdGraph), when.Not(ggml.WholeTexts)), Figures: loadFigures,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "ran out of GPU memory: it makes room for [[{slots} ]]requests at once",
		Means: "The weights fit; {asked} for the context did not. Ollama makes room for [[{slots} ]]requests at a time, each with the whole `num_ctx`[[ ({tokens} tokens)]]. Versions before 0.10 could choose several by themselves.",
		Cures: []cause.Cure{
			either(ggml.Device("kv"), does("lower_parallel", "Serve one request at a time", "", "others wait", func(c *ledger.Case) []step.Step { return server(c, "OLLAMA_NUM_PARALLEL=1") })),
			either(ggml.Device("compute"), does("lower_parallel", "Serve one request at a time, with flash attention", "The first divides what the context takes; the second keeps the working memory small where card and model have it.", "others wait", func(c *ledger.Case) []step.Step {
				return server(c, "OLLAMA_NUM_PARALLEL=1", "OLLAMA_FLASH_ATTENTION=1")
			})),
			either(ggml.Device("kv"), does("lower_context", "Shorten the context", "", "shorter conversations", context)),
			either(ggml.Device("compute"), lessAtOnce), either(ggml.Device("kv"), eightBit), leaveRoom, setLayers,
		},
		Sources: []string{"ollama/envconfig/config.go", "ollama/docs/faq.mdx"},
	},
	{
		ID: "ollama/flash-attention", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Device("compute"), ggml.ScoresFill), Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Good, Headline: "ran out of GPU memory: attention without flash attention",
		Means: "Weights and cache fit; the working buffer of {asked} did not. Flash attention is off, and most of the buffer is the attention matrix over the context[[ of {tokens} tokens]], which flash attention does not store.",
		Cures: []cause.Cure{
			does("enable_flash_attention", "Turn on flash attention", "", "free where card and model have it", steps["enable_flash_attention"]),
			does("lower_context", "Shorten the context", "", "shorter conversations", context), leaveRoom, setLayers,
		},
		Sources: []string{"ollama/docs/faq.mdx", "ollama/envconfig/config.go"},
	},
	{
		ID: "ollama/kv", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Device("kv")), Figures: loadFigures,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "ran out of GPU memory: the context is too long for what the weights leave",
		Means: "The weights fit; the KV cache for the context[[ of {tokens} tokens]] did not: {asked}. The length comes from the request or front end (`num_ctx`), the Modelfile, `OLLAMA_CONTEXT_LENGTH`, or the version: since 0.15.5 Ollama sets 32k by itself with 24 GiB of GPU memory, 256k with 48 GiB.",
		Cures: []cause.Cure{
			does("lower_context", "Shorten the context", "A `num_ctx` that a front end sends overrides this: lower it there.", "shorter conversations", context), eightBit, setLayers, leaveRoom,
		},
		Sources: []string{"ollama/docs/context-length.mdx", "ollama/docs/faq.mdx"},
	},
	{
		ID: "ollama/kv-unsized", Kinds: ggml.RefusedKinds, If: when.All(byOllama, stage("kv"), unsized), Figures: loadFigures,
		Cause: cause.ContextTooLong, Weight: cause.Good, Headline: "had no room for the KV cache of the context",
		Means: "The weights were in place; the KV cache comes next and was refused. A line or two above this in the server's log, {log}, stands how large it was and whether GPU or RAM refused it (`... allocating N MiB on device 0`, or `CPU buffer`). It grows with `num_ctx` times the requests that may run at once[[, which was up to 4 unless set{slots_then}]].",
		Cures: []cause.Cure{
			either(func(c *ledger.Case) bool { return era.Lacks(c, "ollama", era.OneSlot) }, does("lower_parallel", "Serve one request at a time: `OLLAMA_NUM_PARALLEL=1`", "The cache is then up to four times smaller.", "others wait", func(c *ledger.Case) []step.Step { return server(c, "OLLAMA_NUM_PARALLEL=1") })),
			does("lower_context", "Shorten the context", "", "shorter conversations", context),
			does("close_other_apps", "See what else is loaded", "A second model takes its own weights and cache.", "free", look),
			does("quantize_kv_cache", "Use an 8-bit KV cache: about half", "", "hardly any loss of quality; needs flash attention", steps["quantize_kv_cache"]),
		},
		Sources: []string{"ollama/envconfig/config.go", "ollama/docs/faq.mdx", "llama.cpp/src/llama-kv-cache.cpp"},
	},
	{
		ID: "ollama/compute-no-flash", Kinds: ggml.RefusedKinds, Said: []string{"flash attention enabled but not supported"}, If: when.All(byOllama, ggml.Device("compute"), when.Not(ggml.AbsurdGraph)), Figures: loadFigures,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "ran out of GPU memory: working memory of {asked} for the context",
		Means: "Weights and cache were in; the working buffer was refused. Flash attention is set, but Ollama does not use it for this model or GPU (the log says so), so the buffer grows with the context[[ ({tokens} tokens)]] times the prompt tokens that are read at once.",
		Cures: []cause.Cure{
			does("lower_context", "Shorten the context and lower the prompt batch", "{ubTo} instead of {ub} tokens at once take about {quarter} instead of {asked}.", "shorter conversations, slower prompts", shortAndSmall),
			setLayers, leaveRoom, update,
		},
		Sources: []string{"ollama/llm/server.go", threads + "9782"},
	},
	{
		ID: "ollama/compute-split", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Device("compute"), split, when.Not(ggml.AbsurdGraph)), Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "put too much of the model on the GPU: {asked} of working memory did not fit",
		Means:   "Weights and cache were in; the last piece was refused, so at most {asked} is missing. By its size it holds the output matrix, whose layer stayed in RAM: Ollama put a part of the model there, and its plan was too tight[[ ({plan} of {planfree} free)]], or another model, a game or the desktop took memory.",
		Cures:   []cause.Cure{leaveRoom, setLayers, lessAtOnce, otherSize},
		Sources: []string{"ollama/envconfig/config.go", "llama.cpp/src/llama-context.cpp", threads + "9782"},
	},
	{
		ID: "ollama/compute-large", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Device("compute"), large, when.Not(ggml.AbsurdGraph)), Figures: loadFigures,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "ran out of GPU memory: working memory of {asked} for the context",
		Means: "Weights and cache were in; the last piece, the working buffer, was refused. One this large usually grows with the context[[ ({tokens} tokens)]] times the prompt tokens that are read at once: it is attention over the whole context, which flash attention does not store.[[ {onhost}]]",
		Cures: []cause.Cure{
			does("lower_context", "Shorten the context and lower the prompt batch", "The buffer follows both: {ubTo} instead of {ub} tokens at once take about {quarter} instead of {asked}.", "shorter conversations, slower prompts", shortAndSmall),
			either(func(c *ledger.Case) bool { return era.Lacks(c, "ollama", "OLLAMA_FLASH_ATTENTION") }, says("upgrade_version", "Update Ollama, then turn on flash attention", "0.1.39 and later have `OLLAMA_FLASH_ATTENTION=1` for the server: most of this buffer is then not needed. Models are kept.", "a download")),
			does("enable_flash_attention", "Turn on flash attention with an 8-bit KV cache", "Where the model has it; the 8-bit cache needs it.", "hardly any loss", steps["quantize_kv_cache"]),
			leaveRoom, setLayers,
			either(when.All(onProcessor, func(c *ledger.Case) bool { return c.Backend == "cuda" }), does("cpu_offload", "Hide the GPU from Ollama", "No layer is on it here. Without it prompts are read by the CPU, in RAM.", "slower prompts", func(c *ledger.Case) []step.Step { return server(c, "CUDA_VISIBLE_DEVICES=-1") })),
		},
		Sources: []string{"ollama/docs/faq.mdx", threads + "8667"},
	},
	{
		ID: "ollama/compute", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Device("compute"), when.Not(ggml.AbsurdGraph)), Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Good, Headline: "put too much of the model on the GPU: {asked} of working memory did not fit",
		Means:   "Weights and cache were in; the last piece, the working buffer, was refused: at most {asked} is missing. " + strings.TrimSpace(tightPlan),
		Cures:   []cause.Cure{leaveRoom, setLayers, lessAtOnce, either(smallLack, update), either(when.Not(smallLack), otherSize)},
		Sources: []string{"ollama/envconfig/config.go", threads + "8471"},
	},
	{
		ID: "ollama/experts", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Device("weights"), ggml.Experts, when.Not(unsized)), Figures: loadFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "planned more layers for the GPU than fit: {asked} of weights refused",
		Means: "The model is a mixture of experts, whose layers are large, and Ollama planned more of them than fit: {asked} in one piece was more than was free. KV cache and working memory would have come on top. Ollama has no option of its own that keeps just the experts in RAM.",
		Not:   "A shorter context alone: the weights were refused before any cache.",
		Cures: []cause.Cure{
			either(layersKnown, does("fewer_gpu_layers", "Put {keep} instead of {of} layers on the GPU", "", "slower", layers)),
			either(when.Not(layersKnown), does("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower", layers)),
			does("lower_gpu_memory_utilization", "Keep a part of the GPU out of Ollama's plan", "Here 4 GiB; raise it until the model loads.", "a few layers run on the CPU", room(4)),
			says("use_smaller_model", "Run this model in llama.cpp", "Its `--n-cpu-moe` keeps experts in RAM and all else on the GPU, which is faster than whole layers in RAM.", "another program"),
		},
		Sources: []string{threads + "8447", "ollama/envconfig/config.go", "llama.cpp/common/arg.cpp"}, Solved: 1,
	},
	{
		ID: "ollama/weights-unsized", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Device("weights"), unsized), Figures: loadFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "did not load the model: its weights did not fit on the GPU",
		Means: "The buffer for the layers that Ollama wanted on the GPU was refused. Either the plan was too tight, or something else is on the GPU: another model that is still loaded, a game, the desktop. The server's log above this says how large the buffer was and what was free.",
		Not:   "A shorter context alone: the weights were refused before any cache.",
		Cures: []cause.Cure{
			does("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower: the rest runs on the CPU", layers),
			does("close_other_apps", "See what uses the GPU, and unload it", "Another model, or this one from an earlier start: `ollama stop NAME`; then games and other AI programs.", "free", look),
			otherSize,
		},
		Sources: []string{"ollama/llm/server.go", threads + "5764", threads + "11265"},
	},
	{
		ID: "ollama/weights", Kinds: ggml.RefusedKinds, If: when.All(byOllama, ggml.Device("weights"), when.Not(modern)), Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Good, Headline: "planned more weights for the GPU than it gave: {asked} refused",
		Means: "Ollama asked the GPU for its layers' weights in one piece, {asked}, and less was free. " + tightPlan + "KV cache and working memory would have come on top.",
		Not:   "A shorter context alone: the weights were refused before any cache.",
		Cures: []cause.Cure{
			does("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower: the rest runs on the CPU", layers),
			does("close_other_apps", "See what else uses the GPU, and unload it", "`ollama stop NAME` unloads a model that `ollama ps` lists; then games and other AI programs.", "free", look),
			either(when.Not(noReserve), does("lower_gpu_memory_utilization", "Keep 1 GiB of the GPU out of Ollama's plan", "", "a few layers run on the CPU", room(1))), update,
		},
		Sources: []string{"ollama/envconfig/config.go", threads + "8447", threads + "8471"}, Solved: 1,
	},
	{
		ID: "ollama/modern", Kinds: ggml.RefusedKinds, Said: modernWords, If: when.All(byOllama, ggml.Device("", "weights")), Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "did not start the model: the GPU refused memory[[: {asked} in one piece]]",
		Means: "Since 0.30 Ollama runs llama-server, which fits the layers to what is free and keeps 1 GiB; it was refused all the same. A `num_gpu` that is set switches that off, and what another program takes in between is not counted.",
		Cures: []cause.Cure{
			does("fewer_gpu_layers", "Keep 2 GiB of the GPU free: `LLAMA_ARG_FIT_TARGET`", "If a Modelfile or request sets `num_gpu`, remove that first.", "a few layers run on the CPU", room(1)),
			does("close_other_apps", "See what uses the GPU, and unload it", "`ollama stop NAME` unloads a model that it lists; then games and other AI programs.", "free", look),
			does("lower_context", "Shorten the context", "", "shorter conversations", context), otherSize,
		},
		Sources: []string{"ollama/llm/llama_server.go", "ollama/envconfig/config.go", "llama.cpp/common/fit.cpp"},
	},
	{
		ID: "ollama/part-large", Kinds: ggml.BufferKinds, If: when.All(byOllama, ggml.Device(""), when.Not(ggml.Shared), func(c *ledger.Case) bool { return ledger.Requested(c) >= 3*units.GiB }), Figures: loadFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "planned more for the GPU than it gave: {asked} in one piece was refused",
		Means: "A piece of {asked} is usually the weights of the layers that Ollama planned for this GPU, and less was free. Either the plan was too tight, or something else is there: another model that is still loaded, a game, the desktop.",
		Cures: []cause.Cure{
			does("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower: the rest runs on the CPU", layers),
			does("close_other_apps", "See what uses the GPU, and unload it", "`ollama stop NAME` unloads a model that it lists; then games and other AI programs.", "free", look),
			does("lower_gpu_memory_utilization", "Keep 2 GiB of the GPU out of Ollama's plan", "", "a few layers run on the CPU", room(2)),
		},
		Sources: []string{"ollama/llm/server.go", threads + "8447"},
	},
	{
		ID: "ollama/part", Kinds: ggml.BufferKinds, If: when.All(byOllama, ggml.Device(""), when.Not(ggml.Shared)), Figures: loadFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Good, Headline: "did not load the model: the GPU refused memory",
		Means: "The runner ended because the GPU gave no more memory[[ ({asked} was asked for)]]; these lines do not say for which part of the model. The model is too large, another one is still loaded, or the plan was too tight. The server's log shows more above this: {log}.",
		Cures: []cause.Cure{
			does("close_other_apps", "See what uses the GPU, and unload it", "Another model, or this one from an earlier start: `ollama stop NAME`; then games and other AI programs.", "free", look),
			does("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower", room(1)), otherSize,
		},
		Sources: []string{"ollama/llm/server.go", threads + "5113", threads + "5764"},
	},
}
