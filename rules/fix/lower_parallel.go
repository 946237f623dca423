package fix

import "github.com/oomdoc/oomdoc/rules/step"

var lowerParallel = Fix{
	ID:       "lower_parallel",
	Title:    "Serve fewer requests at a time",
	Tradeoff: "Requests wait for each other.",
	Cost:     0.2,
	Check:    "The log's KV cache is smaller by the same factor.",
	Next:     "Shorten the context.",
	Steps:    step.Paste("shell", "llama-server -m model.gguf --parallel 1   # Ollama: OLLAMA_NUM_PARALLEL=1 for the server"),
}
