package ollama

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/ggml"
	"github.com/oomdoc/oomdoc/rules/program/ggml/touch"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// brim keeps a part of the card free and the context short, where the version
// has both.
func brim(gib int64) func(*ledger.Case) []step.Step {
	return func(c *ledger.Case) []step.Step {
		n, _ := ggml.ContextToTry(c)
		variables := []string{fmt.Sprintf("OLLAMA_GPU_OVERHEAD=%d", gib*units.GiB), fmt.Sprintf("OLLAMA_CONTEXT_LENGTH=%d", n), "OLLAMA_NUM_PARALLEL=1"}
		if modern(c) {
			variables[0] = fmt.Sprintf("LLAMA_ARG_FIT_TARGET=%d", (gib+1)*1024)
		}
		return server(c, variables...)
	}
}

// long: the context is long enough to fill a card by itself.
func long(c *ledger.Case) bool {
	_, of := ggml.ContextToTry(c)
	return of >= 16384
}

const grew = "The model had loaded; then the scratch memory on the card grew while it computed, and nothing was left. "

var runCards = []cause.Card{
	{
		ID: "ollama/display", Kinds: ggml.AtWork, Said: []string{"Failed to pin framebuffer", "amdgpu_dm", "flip_done timed out"}, If: when.All(byOllama, when.Not(ledger.InHost)), Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "filled the card that also drives your screen",
		Means: "The graphics driver could not place the screen's own image (-12: no memory), and seconds later Ollama's scratch memory could not grow. Model and context were planned to the brim on the card of the desktop; scratch memory grows while it works, so a longer prompt tips it over. No sizes are printed, nor the model.",
		Not:   "Loading it again as it was: it loads, and fails when it works.",
		Cures: []cause.Cure{
			either(when.Not(noReserve), does("fewer_gpu_layers", "Keep 2 GiB of the GPU out of the plan, and shorten the context", "A `num_ctx` that your program sends wins over the one set here.", "some layers run on the processor", brim(2))),
			either(noReserve, does("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower", layers)),
			does("close_other_apps", "See what else uses the GPU", "A second model: `ollama stop NAME`. RAM full instead: close programs.", "free", look),
			says("upgrade_version", "Update, or connect the monitor to the integrated graphics", "[[The log names a {build} build: take a release. ]]With the monitor on the processor's own output, if it has one, the whole card is Ollama's.", "free"),
		},
		Sources: []string{threads + "11713", "ollama/envconfig/config.go"},
	},
	{
		ID: "ollama/no-context", Kinds: ggml.AtWork, Said: touch.First, If: when.All(byOllama, when.Not(ledger.InHost)), Figures: loadFigures,
		Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "found the card full before it loaded anything",
		Means: "The call that failed only looks at the card. CUDA makes its own context for that, 200 to 500 MiB, and not even these were to be had: the card was full already; of what, these lines do not say. Model and context were not reached.",
		Not:   "A smaller model, a shorter context, fewer layers: nothing was loaded yet.",
		Cures: []cause.Cure{
			does("kill_stale_process", "See which process holds the GPU", "An `ollama` process in the list without a model in `ollama ps` is a leftover: restart Ollama. Anything else: close it.", "what it had not saved", look),
			does("restart_session", "Restart Ollama", "", "a minute", restart),
			says("select_gpu", "With several GPUs: use one that is free", "`CUDA_VISIBLE_DEVICES` with the others' numbers, set for the server.", "only where there is another"),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu", "ollama/discover/gpu.go"},
	},
	{
		ID: "ollama/long", Kinds: ggml.AtWork, If: when.All(byOllama, when.Not(ledger.InHost), long), Figures: loadFigures,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "ran out of graphics memory at work: a context of {tokens} tokens",
		Means: grew + "The cache for {tokens} tokens takes its part of the card from the start, and the scratch memory grows with the prompt on top. No size is printed; a few hundred MB is usual.",
		Cures: []cause.Cure{
			does("lower_context", "Shorten the context", "Lower it where it is set: a `num_ctx` from a front end or request wins over the Modelfile.", "shorter conversations", context),
			does("quantize_kv_cache", "Use an 8-bit KV cache", "Takes about half of the cache.", "hardly any loss; needs flash attention", steps["quantize_kv_cache"]),
			does("fewer_gpu_layers", "Keep 1 GiB of the GPU out of Ollama's plan", "", "a few layers run on the processor", room(1)),
		},
		Sources: []string{"ollama/docs/faq.mdx", threads + "11997"},
	},
	{
		ID: "ollama/running-old", Kinds: ggml.AtWork, Said: ancientWords, If: when.All(byOllama, when.Not(ledger.InHost)), Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Likely, Headline: "ran out of graphics memory at work: its plan left no reserve",
		Means: grew + "This is a version of 2024 or older: it filled the card by an estimate that did not count what a long prompt or an image takes later. No size is printed; one to three layers fewer are mostly enough.",
		Not:   "More RAM: the card was what ran full.",
		Cures: []cause.Cure{
			does("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower", layers),
			says("upgrade_version", "Update Ollama", "Versions from 0.3.10 on can keep a part of the card free, and those of 2025 measure what the model takes. Models are kept.", "a download"),
			either(func(c *ledger.Case) bool { _, of := ggml.ContextToTry(c); return of > 2048 }, does("lower_context", "Shorten the context", "", "shorter conversations", context)),
		},
		Sources: []string{threads + "3460", threads + "3765", "ollama/envconfig/config.go"}, Solved: 2,
	},
	{
		ID: "ollama/running", Kinds: ggml.AtWork, If: when.All(byOllama, when.Not(ledger.InHost)), Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Good, Headline: "ran out of graphics memory while it answered",
		Means: grew + "Ollama fills the card nearly to the brim by plan; a longer prompt, an image, or another program that takes some of it after that tips it over. No size is printed: a few hundred MB is usual.",
		Not:   "More RAM: the card was what ran full.",
		Cures: []cause.Cure{
			either(when.Not(noReserve), does("fewer_gpu_layers", "Keep 1 GiB of the GPU out of the plan, and shorten the context", "A `num_ctx` that your program sends wins over the one set here.[[ `OLLAMA_CONTEXT_LENGTH` counts {length_since}.]]", "a few layers run on the processor", brim(1))),
			either(noReserve, does("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower", layers)),
			either(noReserve, says("upgrade_version", "Update Ollama", "Versions from 0.3.10 on can keep a part of the card free (`OLLAMA_GPU_OVERHEAD`), and those of 2025 measure what the model takes. Models are kept.", "a download")),
			does("close_other_apps", "See what else uses the GPU", "A second model: `ollama stop NAME`; else games, browsers, other AI programs.", "free", look),
			does("lower_ubatch", "Lower the prompt batch: `num_batch`", "", "slower prompts", func(c *ledger.Case) []step.Step { return modelfile(c, "num_batch 128") }),
		},
		Sources: []string{"ollama/envconfig/config.go", threads + "9562", threads + "8597"},
	},
}
