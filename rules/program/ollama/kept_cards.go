package ollama

import (
	"slices"

	"github.com/oomdoc/oomdoc/internal/units"
	"github.com/oomdoc/oomdoc/parsers/fact"
	"github.com/oomdoc/oomdoc/rules/cause"
	"github.com/oomdoc/oomdoc/rules/ledger"
	"github.com/oomdoc/oomdoc/rules/program/era"
	prompts "github.com/oomdoc/oomdoc/rules/program/ggml/kept"
	"github.com/oomdoc/oomdoc/rules/step"
	"github.com/oomdoc/oomdoc/rules/when"
)

// keepLess bounds the prompts that each llama-server of Ollama's keeps: it reads
// the variable from Ollama's environment (llm/llama_server.go, os.Environ).
var keepLess = does("lower_context", "Limit the saved prompts: `LLAMA_ARG_CACHE_RAM`", "The value is in MiB for each loaded model; 0 turns it off (0.30 and later).", "an earlier conversation has to be read again", func(c *ledger.Case) []step.Step {
	return inPod(c, "LLAMA_ARG_CACHE_RAM", "1024")
})

// inPod sets a variable of the server, in Kubernetes where that ended it.
func inPod(c *ledger.Case, name, value string) []step.Step {
	if c.Root(fact.ContainerKill) && c.Near("OOMKilled", "kubernetes", "kubepods") {
		return []step.Step{{Kind: "config", Text: "env:   # of Ollama's container, in the Deployment or Helm values\n  - name: " + name + "\n    value: \"" + value + "\""}}
	}
	return server(c, name+"="+value)
}

// keptCards are about system memory that grows while Ollama runs.
var keptCards = []cause.Card{
	{
		ID: "ollama/prompts-kept", Kinds: append(slices.Clone(prompts.Kills), fact.OllamaKilled), Said: prompts.Words, If: byOllama,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was killed because system memory (RAM) ran out; it keeps earlier prompts there",
		Means: "Since 0.30 Ollama keeps earlier prompts in RAM to reuse them: up to 8 GiB for each loaded model, even if the model itself is on the GPU. `ollama ps` does not show this. The log does not show how full it was.",
		Not:   "Fewer layers on the GPU: they would need more RAM.",
		Cures: []cause.Cure{
			keepLess,
			does("lower_parallel", "Keep one model loaded at a time", "Each loaded model keeps its own prompts.", "models load again at each change", func(c *ledger.Case) []step.Step { return inPod(c, "OLLAMA_MAX_LOADED_MODELS", "1") }),
			says("raise_memory_limit", "Or raise the memory limit", "It needs the weights that are not on a GPU, plus 8 GiB for each model, plus 1 to 2 GB. Kubernetes: `resources.limits.memory`. Docker: `docker update --memory 24g --memory-swap 24g ollama`.", "only if the machine has it"),
		},
		Sources: []string{"ollama/llm/llama_server.go", "llama.cpp/common/arg.cpp", threads + "18264"},
	},
	{
		ID: "ollama/engine-leak", Kinds: []fact.Kind{fact.KernelKill, fact.OOMD}, Said: []string{"--ollama-engine", "starting ollama engine", "source=runner.go"}, If: when.All(byOllama, func(c *ledger.Case) bool { return era.Lacks(c, "ollama", era.EngineFrees) }),
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "was killed by Linux: this version has a memory leak that fills RAM",
		Means: "Versions before 0.6.6 have a memory leak in the new engine (Gemma 3, Mistral Small 3.1). Each token leaves some data in RAM, so long answers or many requests fill it, however much there is. Images leaked until 0.6.8.",
		Not:   "Swap or a higher limit: it only takes longer to fill.",
		Figures: func(c *ledger.Case) map[string]string {
			out := map[string]string{"rss": ""}
			if x := c.F().KilledRSS; x != nil {
				out["rss"] = units.Amount(x.Bytes)
			}
			return out
		},
		Cures: []cause.Cure{
			does("upgrade_version", "Update Ollama", "Take 0.6.8 or later.", "a download", steps["upgrade_version"]),
			does("restart_session", "Until then, restart it now and then", "`ollama stop NAME` frees the leaked memory too.", "the model loads again", restart),
			says("lower_batch_size", "Limit the length of answers", "Set `num_predict` to 2048 in the request's options, so that no answer runs on forever.", "long answers are cut"),
		},
		Sources: []string{"https://github.com/ollama/ollama/commit/f50d69125", "https://github.com/ollama/ollama/commit/8e8f2c6d6", threads + "10040", threads + "9934"},
	},
	{
		// Continue sends a context length with each request (core/llm/llms/Ollama.ts).
		ID: "ollama/continue", Kinds: denied, If: checked, Said: []string{"Provider: ollama", "continue.dev", "Continue.continue"}, Figures: systemFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "refused to load the model for Continue: {lack} of system memory (RAM) is missing",
		Means: checks + "{shape} Continue sends its own context length with each request, 8192 tokens by default (32,768 before October 2025). So a model can work in `ollama run` and be refused here.",
		Not:   noLayer, Later: noSwap,
		Cures: []cause.Cure{
			either(halfShort, takeLess),
			{Fix: "lower_context", Title: "Lower `contextLength` in Continue's config.yaml", Cost: "less of your code is read at once", Kind: "config", Text: "models:\n  - name: Local   # as your entry is called\n    provider: ollama\n    model: MODELNAME\n    defaultCompletionOptions:\n      contextLength: 2048"},
			does("close_other_apps", "Unload the other models, then try again", "Continue keeps each model loaded for 30 minutes (`keepAlive: 1800`), those for autocomplete and embeddings too. `ollama stop NAME` frees one.", "free", look),
			raise, takeLess,
		},
		Sources: append([]string{"https://github.com/continuedev/continue/blob/main/core/llm/llms/Ollama.ts", "https://github.com/continuedev/continue/blob/main/docs/customize/model-providers/top-level/ollama.mdx", "https://github.com/continuedev/continue/blob/main/docs/reference.mdx"}, systemFiles...),
	},
}
