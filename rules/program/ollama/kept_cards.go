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
var keepLess = does("lower_context", "Bound the prompts that are kept: `LLAMA_ARG_CACHE_RAM`", "In MiB for each loaded model; 0 keeps none. It counts since 0.30.", "an earlier conversation is read again when it comes back", func(c *ledger.Case) []step.Step {
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
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "was ended for its system memory (RAM), where it keeps earlier prompts",
		Means: "Since 0.30 Ollama runs llama-server, which keeps earlier prompts in RAM to use them again: up to 8 GiB for each loaded model, even if the model itself is all on the GPU. `ollama ps` does not count it. With prompts that change it fills within some hundred requests. The log does not show how full it was.",
		Not:   "Fewer layers on the GPU: they would need more RAM.",
		Cures: []cause.Cure{
			keepLess,
			does("lower_parallel", "Keep one model loaded at a time", "Each has a server with prompts of its own.", "models load again at each change", func(c *ledger.Case) []step.Step { return inPod(c, "OLLAMA_MAX_LOADED_MODELS", "1") }),
			says("raise_memory_limit", "Or raise the memory limit", "Count what of the weights is not on a GPU, 1 to 2 GB of work, and 8 GiB of prompts for each model. Kubernetes: `resources.limits.memory`; Docker: `docker update --memory 24g --memory-swap 24g ollama`.", "only if the machine has it"),
		},
		Sources: []string{"ollama/llm/llama_server.go", "llama.cpp/common/arg.cpp", threads + "18264"},
	},
	{
		ID: "ollama/engine-leak", Kinds: []fact.Kind{fact.KernelKill, fact.OOMD}, Said: []string{"--ollama-engine", "starting ollama engine", "source=runner.go"}, If: when.All(byOllama, func(c *ledger.Case) bool { return era.Lacks(c, "ollama", era.EngineFrees) }),
		Cause: cause.HostMemory, Weight: cause.Decisive, Headline: "was ended by Linux; this version leaks system memory with every token",
		Means: "Versions before 0.6.6 do not give back the input tensors of the new engine (Gemma 3, Mistral Small 3.1): each token leaves some of them in RAM, and long answers or many requests fill it, however much there is. Images leaked until 0.6.8.[[ It held {rss} when it was killed.]]",
		Not:   "Swap or a higher limit: it only takes longer.",
		Figures: func(c *ledger.Case) map[string]string {
			out := map[string]string{"rss": ""}
			if x := c.F().KilledRSS; x != nil {
				out["rss"] = units.Amount(x.Bytes)
			}
			return out
		},
		Cures: []cause.Cure{
			does("upgrade_version", "Update Ollama", "To 0.6.8 or later.", "a download", steps["upgrade_version"]),
			does("restart_session", "Until then, restart it now and then", "`ollama stop NAME` frees the same.", "the model loads again", restart),
			says("lower_batch_size", "Bound the length of answers", "`num_predict` 2048 in the request's options: an answer that does not end leaks until it is killed.", "long answers are cut"),
		},
		Sources: []string{"https://github.com/ollama/ollama/commit/f50d69125", "https://github.com/ollama/ollama/commit/8e8f2c6d6", threads + "10040", threads + "9934"},
	},
	{
		// Continue sends a context length with each request (core/llm/llms/Ollama.ts).
		ID: "ollama/continue", Kinds: denied, If: checked, Said: []string{"Provider: ollama", "continue.dev", "Continue.continue"}, Figures: systemFigures,
		Cause: cause.HostMemory, Weight: cause.Strong, Headline: "refused to load the model for Continue: {lack} of system memory short",
		Means: checks + "{shape} Continue asks for a context of its own with each request: 8192 tokens unless set (32,768 before October 2025), where Ollama's own default is 4096 on small GPUs. That is why a model can run in `ollama run` and be refused here.",
		Not:   noLayer, Later: noSwap,
		Cures: []cause.Cure{
			either(halfShort, takeLess),
			{Fix: "lower_context", Title: "Lower `contextLength` in Continue's config.yaml", Cost: "less of your code is read at once", Kind: "config", Text: "models:\n  - name: NAME   # your entry\n    provider: ollama\n    model: MODEL\n    defaultCompletionOptions:\n      contextLength: 2048"},
			does("close_other_apps", "Unload the other models, then try again", "Continue keeps a model loaded for 30 minutes (`keepAlive: 1800`); one for autocomplete or embeddings counts too. `ollama stop NAME` frees it.", "free", look),
			raise, takeLess,
		},
		Sources: append([]string{"https://github.com/continuedev/continue/blob/main/core/llm/llms/Ollama.ts", "https://github.com/continuedev/continue/blob/main/docs/customize/model-providers/top-level/ollama.mdx", "https://github.com/continuedev/continue/blob/main/docs/reference.mdx"}, systemFiles...),
	},
}
