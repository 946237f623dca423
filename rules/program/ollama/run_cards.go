package ollama

import (
	"fmt"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/era"
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
		if era.Lacks(c, "ollama", era.DefaultContext) { // unset it is 2048 there
			n = min(n, 2048)
		}
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

const grew = "The model was loaded; then its temporary memory on the GPU grew while it computed, and nothing was left for it. "

var runCards = []cause.Card{
	{
		ID: "ollama/vulkan-submit", Said: []string{"Not enough memory for command submission"}, If: byOllama, Figures: loadFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of memory in AMD's Vulkan driver",
		Means: "The driver (radv) could not hold at once all the buffers that one command to the GPU needs: weights and what else is there. Vulkan grants buffers before there is room for them, so it shows only here.[[ {whole} is the GPU's size.]]",
		Cures: []cause.Cure{
			does("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower: the rest runs on the CPU", layers),
			does("close_other_apps", "See what else uses the GPU, and unload it", "Another model: `ollama stop NAME`; then games, browsers, other AI programs.", "free", look),
			says("upgrade_version", "If it began with an update: try another version", "Some integrated Radeons that loaded a model with 0.32.9 failed like this from 0.32.10 on. Models are kept.", "a download"),
			otherSize,
		},
		Sources: []string{"ollama/llm/llama_server.go", threads + "17748"},
	},
	{
		ID: "ollama/cublas", Kinds: []fact.Kind{fact.CUDAHandle}, Said: ggml.HandleWords, If: byOllama, Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "filled the GPU: cuBLAS found no memory for its handle",
		Means: ggml.HandleMeans,
		Cures: []cause.Cure{
			does("fewer_gpu_layers", "Put fewer layers on the GPU: `num_gpu`", "", "slower", layers),
			does("lower_context", "Shorten the context: `num_ctx`", "", "shorter conversations", context),
			does("close_other_apps", "See what else uses the GPU", "`ollama stop NAME` unloads a second model; then games and other AI programs.", "free", look),
			update,
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/common.cuh", threads + "5395"},
	},
	{
		ID: "ollama/display", Kinds: ggml.AtWork, Said: []string{"Failed to pin framebuffer", "amdgpu_dm", "flip_done timed out"}, If: when.All(byOllama, when.Not(ledger.InHost)), Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "filled the GPU that also drives the screen",
		Means: "The graphics driver reports trouble with the screen's own image, and Ollama's temporary memory on the same GPU could not grow. Model and context leave too little room beside the desktop; temporary memory grows while it works, most with a long prompt.",
		Cures: []cause.Cure{
			either(when.Not(noReserve), does("fewer_gpu_layers", "Keep 2 GiB of the GPU out of the plan, and shorten the context", "A `num_ctx` that your program sends overrides the one set here.", "some layers run on the CPU", brim(2))),
			either(noReserve, does("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower", layers)),
			does("close_other_apps", "See what else uses the GPU", "`ollama stop NAME` unloads a second model.", "free", look),
			says("upgrade_version", "Update, or connect the monitor to the integrated graphics", "[[The log names a {build} build: use a release. ]]With the monitor on the CPU's own output, if it has one, the whole GPU is Ollama's.", "free"),
		},
		Sources: []string{threads + "11713", "ollama/envconfig/config.go"},
	},
	{
		ID: "ollama/no-context", Kinds: ggml.AtWork, Said: touch.First, If: when.All(byOllama, when.Not(ledger.InHost)), Figures: loadFigures,
		Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "found the GPU full before it loaded anything",
		Means: "The call that failed only opens the GPU. CUDA needs 200 to 500 MiB there for a context of its own and could not get it, so the GPU was full already. These lines do not say with what.",
		Not:   "A smaller model, a shorter context or fewer layers: nothing was loaded yet.",
		Cures: []cause.Cure{
			does("kill_stale_process", "See which process holds the GPU", "An `ollama` process in the list without a model in `ollama ps` is a leftover: restart Ollama. Anything else: close it.", "what it had not saved", look),
			does("restart_session", "Restart Ollama", "", "a minute", restart),
			says("select_gpu", "With several GPUs: use one that is free", "`CUDA_VISIBLE_DEVICES` with the others' numbers, set for the server.", "only where there is another"),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu", "ollama/discover/gpu.go"},
	},
	{
		ID: "ollama/opening", Kinds: ggml.AtWork, Said: touch.Opens, If: when.All(byOllama, touch.Unloaded), Figures: loadFigures,
		Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "was refused memory while it opened the GPU",
		Means: touch.OpenMeans, Not: touch.OpenNot,
		Cures: []cause.Cure{
			does("kill_stale_process", "See what is on the GPU while no model is loaded", "An `ollama` process without a model in `ollama ps` is a leftover: restart Ollama. Anything else: close it.", "what it had not saved", look),
			either(func(c *ledger.Case) bool { return c.Backend == "rocm" && !era.Lacks(c, "ollama", "OLLAMA_VULKAN") },
				does("cpu_offload", "If it is empty then: use Vulkan in place of ROCm", "Since 0.12.11; the second line hides the GPU from ROCm.", "somewhat slower as a rule", func(c *ledger.Case) []step.Step { return server(c, "OLLAMA_VULKAN=1", "ROCR_VISIBLE_DEVICES=-1") })),
			touch.Matching, update,
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/common.cuh", "ollama/envconfig/config.go", "https://github.com/ROCm/legacy-rocm-build/issues/5902", threads + "13212"},
	},
	{
		ID: "ollama/runtime-oom", Kinds: ggml.AtWork, Said: []string{runtimeOOM}, If: when.All(byOllama, when.Not(ledger.InHost), when.Not(long)), Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "ran out of GPU memory at a request, and unloaded its models",
		Means: grew + "Ollama notes that (\"runtime OOM detected\") and unloads all models, so the next request starts on an empty GPU. If it comes back, the plan leaves too little: a long prompt, an image, or another program that takes memory later.",
		Cures: []cause.Cure{
			does("fewer_gpu_layers", "Keep 2 GiB of the GPU out of the plan, and shorten the context", "A `num_ctx` that your program sends overrides the one set here.", "a few layers run on the CPU", brim(1)),
			does("close_other_apps", "See what else uses the GPU", "`ollama stop NAME` unloads a second model; then games, browsers, other AI programs.", "free", look),
			does("lower_ubatch", "Lower the prompt batch: `num_batch`", "", "slower prompts", func(c *ledger.Case) []step.Step { return modelfile(c, "num_batch 128") }),
		},
		Sources: []string{"ollama/server/sched.go", "ollama/llm/llama_server.go"},
	},
	{
		ID: "ollama/long", Kinds: ggml.AtWork, If: when.All(byOllama, when.Not(ledger.InHost), long), Figures: loadFigures,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "ran out of GPU memory while it answered, with a context of {tokens} tokens",
		Means: grew + "The KV cache for {tokens} tokens takes its part of the GPU from the start. No size is printed; a few hundred MB is usual.",
		Cures: []cause.Cure{
			does("lower_context", "Shorten the context", "Lower it where it is set: a `num_ctx` from a front end or request overrides the Modelfile.", "shorter conversations", context),
			does("quantize_kv_cache", "Use an 8-bit KV cache", "It takes about half.", "hardly any loss of quality; needs flash attention", steps["quantize_kv_cache"]),
			does("fewer_gpu_layers", "Keep 1 GiB of the GPU out of Ollama's plan", "", "a few layers run on the CPU", room(1)),
		},
		Sources: []string{"ollama/docs/faq.mdx", threads + "11997"},
	},
	{
		ID: "ollama/running-old", Kinds: ggml.AtWork, Said: ancientWords, If: when.All(byOllama, when.Not(ledger.InHost)), Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Likely, Headline: "ran out of GPU memory while it answered",
		Means: grew + "This is a version of 2024 or older, whose estimate of the layers did not count all that a long prompt or an image takes later. No size is printed; one to three layers fewer are mostly enough.",
		Cures: []cause.Cure{
			does("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower", layers),
			says("upgrade_version", "Update Ollama", "Versions from 0.3.10 on can keep a part of the GPU free, and those of 2025 measure what the model takes. Models are kept.", "a download"),
			either(func(c *ledger.Case) bool { _, of := ggml.ContextToTry(c); return of > 2048 }, does("lower_context", "Shorten the context", "", "shorter conversations", context)),
		},
		Sources: []string{threads + "3460", threads + "3765", "ollama/envconfig/config.go"}, Solved: 2,
	},
	{
		ID: "ollama/running", Kinds: ggml.AtWork, If: when.All(byOllama, when.Not(ledger.InHost)), Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Good, Headline: "ran out of GPU memory while it answered",
		Means: grew + "Ollama plans to fill the GPU nearly whole; a longer prompt, an image, or another program that takes memory later is then too much. No size is printed; a few hundred MB is usual.",
		Cures: []cause.Cure{
			either(when.Not(noReserve), does("fewer_gpu_layers", "Keep 1 GiB of the GPU out of the plan, and shorten the context", "A `num_ctx` that your program sends overrides the one set here.[[ `OLLAMA_CONTEXT_LENGTH` counts {length_since}.]]", "a few layers run on the CPU", brim(1))),
			either(noReserve, does("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower", layers)),
			either(noReserve, says("upgrade_version", "Update Ollama", "Versions from 0.3.10 on can keep a part of the GPU free (`OLLAMA_GPU_OVERHEAD`), and those of 2025 measure what the model takes. Models are kept.", "a download")),
			does("close_other_apps", "See what else uses the GPU", "`ollama stop NAME` unloads a second model; then games, browsers, other AI programs.", "free", look),
			does("lower_ubatch", "Lower the prompt batch: `num_batch`", "", "slower prompts", func(c *ledger.Case) []step.Step { return modelfile(c, "num_batch 128") }),
		},
		Sources: []string{"ollama/envconfig/config.go", threads + "9562", threads + "8597"},
	},
	{
		ID: "ollama/driver-refused", Kinds: []fact.Kind{fact.CUDAError}, If: byOllama, Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "filled the GPU; the driver's message has no figures",
		Means: "Ollama chooses how many layers go on the GPU by an estimate, and the rest of what it needs did not fit: the model takes nearly the whole GPU, another model is still loaded, or another program uses it. `ollama ps` and the GPU's monitor show which.",
		Cures: []cause.Cure{
			does("close_other_apps", "Unload other models, and close what else uses the GPU", "`ollama stop NAME` unloads a model; then games, browsers and other AI programs.", "free", look),
			does("lower_context", "Shorten the context: `num_ctx`", "", "shorter conversations", context),
			does("fewer_gpu_layers", "Put fewer layers on the GPU: `num_gpu`", "", "slower", layers),
			update,
		},
		Sources: []string{"ollama/llm/server.go", threads + "5395"},
	},
}
