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

const grew = "The model was loaded. While it works it needs some more GPU memory, and no room was left for that. "

var runCards = []cause.Card{
	{
		ID: "ollama/vulkan-submit", Said: []string{"Not enough memory for command submission"}, If: byOllama, Figures: loadFigures,
		Cause: cause.ModelTooLarge, Weight: cause.Strong, Headline: "ran out of memory in AMD's Vulkan driver",
		Means: "AMD's driver (radv) hands out memory before there is room for all of it, so a full GPU shows only when the work begins. The model and everything else on the GPU need more than it has[[ ({whole})]].",
		Cures: []cause.Cure{
			does("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower: the rest runs on the CPU", layers),
			does("close_other_apps", "See what else uses the GPU, and unload it", "`ollama stop NAME` unloads another model. Then close games, browsers and other AI programs.", "free", look),
			says("upgrade_version", "If it began with an update: try another version", "Some integrated Radeons failed like this from 0.32.10 on, although 0.32.9 worked. Your models are kept.", "a download"),
			otherSize,
		},
		Sources: []string{"ollama/llm/llama_server.go", threads + "17748"},
	},
	{
		ID: "ollama/cublas", Kinds: []fact.Kind{fact.CUDAHandle}, Said: ggml.HandleWords, If: byOllama, Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "left too little GPU memory for cuBLAS to start",
		Means: ggml.HandleMeans,
		Cures: []cause.Cure{
			does("fewer_gpu_layers", "Put fewer layers on the GPU: `num_gpu`", "", "slower", layers),
			does("lower_context", "Shorten the context: `num_ctx`", "", "shorter conversations", context),
			does("close_other_apps", "See what else uses the GPU", "`ollama stop NAME` unloads a second model. Then close games and other AI programs.", "free", look),
			update,
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/common.cuh", threads + "5395"},
	},
	{
		ID: "ollama/display", Kinds: ggml.AtWork, Said: []string{"Failed to pin framebuffer", "amdgpu_dm", "flip_done timed out"}, If: when.All(byOllama, when.Not(ledger.InHost)), Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "filled the GPU that also drives the screen",
		Means: "The GPU is so full that its driver could not even keep the screen's image in it. Ollama left too little room for the desktop and for its own work, which needs more memory at a long prompt.",
		Cures: []cause.Cure{
			either(when.Not(noReserve), does("fewer_gpu_layers", "Make Ollama keep 2 GiB of the GPU free, and shorten the context", "If your program sends its own `num_ctx`, lower it there.", "some layers run on the CPU", brim(2))),
			either(noReserve, does("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower", layers)),
			does("close_other_apps", "See what else uses the GPU", "`ollama stop NAME` unloads a second model.", "free", look),
			says("upgrade_version", "Connect the monitor to the integrated graphics", "If your CPU has graphics, plug the monitor into the mainboard. Ollama then has the whole GPU.[[ The log also names a {build} build: use a release.]]", "free"),
		},
		Sources: []string{threads + "11713", "ollama/envconfig/config.go"},
	},
	{
		ID: "ollama/no-context", Kinds: ggml.AtWork, Said: touch.First, If: when.All(byOllama, when.Not(ledger.InHost)), Figures: loadFigures,
		Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "found the GPU full before it loaded anything",
		Means: "The call that failed only opens the GPU, which takes 200 to 500 MiB. Even that was not free, so something else already fills it. These lines do not say what.",
		Not:   "A smaller model, a shorter context or fewer layers: nothing was loaded yet.",
		Cures: []cause.Cure{
			does("kill_stale_process", "See what uses the GPU", "An `ollama` process on the GPU without a model in `ollama ps` is a leftover: restart Ollama. Anything else: close it.", "unsaved work in it is lost", look),
			does("restart_session", "Restart Ollama", "", "a minute", restart),
			says("select_gpu", "With several GPUs: use one that is free", "Set `CUDA_VISIBLE_DEVICES` to the number of a free GPU for the server.", "only where there is another"),
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/ggml-cuda.cu", "ollama/discover/gpu.go"},
	},
	{
		ID: "ollama/opening", Kinds: ggml.AtWork, Said: touch.Opens, If: when.All(byOllama, touch.Unloaded), Figures: loadFigures,
		Cause: cause.LeakedProcess, Weight: cause.Strong, Headline: "got an out-of-memory error while it opened the GPU",
		Means: touch.OpenMeans, Not: touch.OpenNot,
		Cures: []cause.Cure{
			does("kill_stale_process", "See what uses the GPU while no model is loaded", "An `ollama` process on the GPU without a model in `ollama ps` is a leftover: restart Ollama. Anything else: close it.", "unsaved work in it is lost", look),
			either(func(c *ledger.Case) bool { return c.Backend == "rocm" && !era.Lacks(c, "ollama", "OLLAMA_VULKAN") },
				does("cpu_offload", "If the GPU is empty: use Vulkan instead of ROCm", "This works since 0.12.11; the second line hides the GPU from ROCm.", "usually somewhat slower", func(c *ledger.Case) []step.Step { return server(c, "OLLAMA_VULKAN=1", "ROCR_VISIBLE_DEVICES=-1") })),
			touch.Matching, update,
		},
		Sources: []string{"llama.cpp/ggml/src/ggml-cuda/common.cuh", "ollama/envconfig/config.go", "https://github.com/ROCm/legacy-rocm-build/issues/5902", threads + "13212"},
	},
	{
		ID: "ollama/runtime-oom", Kinds: ggml.AtWork, Said: []string{runtimeOOM}, If: when.All(byOllama, when.Not(ledger.InHost), when.Not(long)), Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "ran out of GPU memory at a request, and unloaded its models",
		Means: grew + "Ollama then unloads all models (\"runtime OOM detected\"), so the next request starts on an empty GPU. If it happens again, a long prompt, an image or another program needs more room than Ollama leaves.",
		Cures: []cause.Cure{
			does("fewer_gpu_layers", "Make Ollama keep 2 GiB of the GPU free, and shorten the context", "If your program sends its own `num_ctx`, lower it there.", "a few layers run on the CPU", brim(1)),
			does("close_other_apps", "See what else uses the GPU", "`ollama stop NAME` unloads a second model. Then close games, browsers and other AI programs.", "free", look),
			does("lower_ubatch", "Lower the prompt batch: `num_batch`", "", "slower prompts", func(c *ledger.Case) []step.Step { return modelfile(c, "num_batch 128") }),
		},
		Sources: []string{"ollama/server/sched.go", "ollama/llm/llama_server.go"},
	},
	{
		ID: "ollama/long", Kinds: ggml.AtWork, If: when.All(byOllama, when.Not(ledger.InHost), long), Figures: loadFigures,
		Cause: cause.ContextTooLong, Weight: cause.Strong, Headline: "ran out of GPU memory while it answered, with a context of {tokens} tokens",
		Means: grew + "A KV cache for {tokens} tokens takes a large part of the GPU from the start. Usually only a few hundred MB are missing.",
		Cures: []cause.Cure{
			does("lower_context", "Shorten the context", "If a front end or request sends its own `num_ctx`, lower it there.", "shorter conversations", context),
			either(quantises, does("quantize_kv_cache", "Use an 8-bit KV cache", "It takes about half.", "hardly any loss of quality", steps["quantize_kv_cache"])),
			does("fewer_gpu_layers", "Make Ollama keep 1 GiB of the GPU free", "", "a few layers run on the CPU", room(1)),
		},
		Sources: []string{"ollama/docs/faq.mdx", threads + "11997"},
	},
	{
		ID: "ollama/running-old", Kinds: ggml.AtWork, Said: ancientWords, If: when.All(byOllama, when.Not(ledger.InHost)), Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Likely, Headline: "ran out of GPU memory while it answered",
		Means: grew + "This version is from 2024 or older; it does not count everything that a long prompt or an image needs. One to three fewer layers on the GPU are usually enough.",
		Cures: []cause.Cure{
			does("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower", layers),
			says("upgrade_version", "Update Ollama", "Newer versions estimate much better. Your models are kept.", "a download"),
			either(func(c *ledger.Case) bool { _, of := ggml.ContextToTry(c); return of > 2048 }, does("lower_context", "Shorten the context", "", "shorter conversations", context)),
		},
		Sources: []string{threads + "3460", threads + "3765", "ollama/envconfig/config.go"}, Solved: 2,
	},
	{
		ID: "ollama/running", Kinds: ggml.AtWork, If: when.All(byOllama, when.Not(ledger.InHost)), Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Good, Headline: "ran out of GPU memory while it answered",
		Means: grew + "Ollama fills the GPU nearly to the brim. A longer prompt, an image or another program is then too much. Usually only a few hundred MB are missing.",
		Cures: []cause.Cure{
			either(when.Not(noReserve), does("fewer_gpu_layers", "Make Ollama keep 1 GiB of the GPU free, and shorten the context", "If your program sends its own `num_ctx`, lower it there.[[ `OLLAMA_CONTEXT_LENGTH` works {length_since}.]]", "a few layers run on the CPU", brim(1))),
			either(noReserve, does("fewer_gpu_layers", "Put fewer layers on the GPU", "", "slower", layers)),
			either(noReserve, says("upgrade_version", "Update Ollama", "Newer versions estimate much better, and 0.3.10 and later can keep room free (`OLLAMA_GPU_OVERHEAD`). Your models are kept.", "a download")),
			does("close_other_apps", "See what else uses the GPU", "`ollama stop NAME` unloads a second model. Then close games, browsers and other AI programs.", "free", look),
			does("lower_ubatch", "Lower the prompt batch: `num_batch`", "", "slower prompts", func(c *ledger.Case) []step.Step { return modelfile(c, "num_batch 128") }),
		},
		Sources: []string{"ollama/envconfig/config.go", threads + "9562", threads + "8597"},
	},
	{
		ID: "ollama/driver-refused", Kinds: []fact.Kind{fact.CUDAError}, If: byOllama, Figures: loadFigures,
		Cause: cause.BudgetMisconfigured, Weight: cause.Strong, Headline: "ran out of GPU memory; the message has no figures",
		Means: "Three things usually cause this: the model fills nearly the whole GPU, another model is still loaded, or another program uses the GPU.",
		Cures: []cause.Cure{
			does("close_other_apps", "Unload other models, and close what else uses the GPU", "`ollama stop NAME` unloads a model that is listed. Then close games, browsers and other AI programs.", "free", look),
			does("lower_context", "Shorten the context: `num_ctx`", "", "shorter conversations", context),
			does("fewer_gpu_layers", "Put fewer layers on the GPU: `num_gpu`", "", "slower", layers),
			update,
		},
		Sources: []string{"ollama/llm/server.go", threads + "5395"},
	},
}
